"""Which solids are near which particles and elements, found once a step and again when something leaves its margin.

Each particle has a margin: twice the way it would go in a step, and a bit. A solid is near it when the gap is smaller,
and stays out of question otherwise until the particle has gone so far, relative to the solid, that its way in a substep
could reach it. That is checked before every projection, so nothing is missed; each time that the lists are made anew in
a step the margins double. All kernels write by particle or element: the lists do not depend on the threads.
"""

import numpy as np

from shinari.compute import convert, function, kernel, real
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.poses import to_local
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, scale, sub
from shinari.model.particles import Clock, Origins, Particles
from shinari.shapes.box import CONTAINER, box_distance
from shinari.shapes.plane import PLANE
from shinari.shapes.registry import LAST_UNBOUNDED
from shinari.systems.colliders.collide import TWO, place, previous_position
from shinari.systems.colliders.contact_list import NO_BIT, ONE_BIT, THIRD, WORD
from shinari.systems.colliders.records import (
    Colliders,
    ContactParticles,
    Elements,
    Ignored,
    Marks,
    Motion,
    Poses,
    Search,
    Sums,
)

# Particles in a block of sums.
CHUNK = 2048
QUARTER = np.float32(0.25)
# A thread takes most of its items four or eight at a time, with an approximate root, and the rest one by one: what
# decides whether there is a detection must not depend on that.
length = function(norm.py_func, fastmath=frozenset())


@steady
def drift_of(reference, far, at):
    """Twice the distance that a collider is expected to move past a point until the end of the step."""
    return TWO * length(sub(to_local(far, at), to_local(reference, at)))


@steady
def least_gap(kind, q, s, lows, highs, k):
    """Lower bound of the distance of a point from solid k: from its surface if it has no end, else from its box."""
    if kind == PLANE:
        return dot(q, (s[0], s[1], s[2])) - s[3]
    if kind == CONTAINER:
        return -box_distance(q, s)
    x = max(max(lows[k, 0] - q[0], q[0] - highs[k, 0]), ZERO)
    y = max(max(lows[k, 1] - q[1], q[1] - highs[k, 1]), ZERO)
    z = max(max(lows[k, 2] - q[2], q[2] - highs[k, 2]), ZERO)
    return np.sqrt(x * x + y * y + z * z)


@kernel(mixed=True)
def advance_poses(at, poses: Poses, motion: Motion, colliders: Colliders, origins: Origins, clock: Clock):
    """Take the pose of a moving collider at the end of a substep as that at the start of the next."""
    count = len(colliders)
    g, k = at // count, at % count
    if not colliders.moves[k]:
        return
    poses.before[at] = poses.after[at]
    row, like = (clock.substep[0] + 1) * count + k, poses.after[at, 0]
    for c in range(9):
        poses.after[at, c] = convert(motion.pose[row, c], like)
    for c in range(3):
        poses.after[at, 9 + c] = convert(motion.pose[row, 9 + c] - origins.position[g, c], like)


@kernel(mixed=True)
def start_pose(at, poses: Poses, motion: Motion, colliders: Colliders, origins: Origins):
    """A step begins: the pose of a collider at its start."""
    count = len(colliders)
    g, k = at // count, at % count
    like = poses.after[at, 0]
    for c in range(9):
        poses.after[at, c] = convert(motion.pose[k, c], like)
    for c in range(3):
        poses.after[at, 9 + c] = convert(motion.pose[k, 9 + c] - origins.position[g, c], like)
    poses.before[at] = poses.after[at]


@kernel
def start_search(_, search: Search, ahead: real):
    """A step begins: the lists are to be made, with these margins in displacements of a step."""
    search.stale[0], search.factor[0], search.detections[0] = 1, ahead, 0


@kernel(mixed=True)
def look_ahead(at, poses: Poses, motion: Motion, colliders: Colliders, origins: Origins):
    """Keep the pose of a collider at a detection, and where it will be at the end of the step."""
    count = len(colliders)
    g, k = at // count, at % count
    poses.reference[at], poses.far[at] = poses.after[at], poses.after[at]
    if not colliders.moves[k]:
        return
    row, like = len(motion) - count + k, poses.far[at, 0]
    for c in range(9):
        poses.far[at, c] = convert(motion.pose[row, c], like)
    for c in range(3):
        poses.far[at, 9 + c] = convert(motion.pose[row, 9 + c] - origins.position[g, c], like)


@kernel
def store_velocity(i, contact_particles: ContactParticles, particles: Particles):
    """Keep the velocity at the start of the substep, for restitution."""
    contact_particles.start_velocity[i] = particles.v[i]


@kernel
def sum_squares(b, sums: Sums, particles: Particles):
    """Sum of the squares of the speeds of a block of particles."""
    total = 0.0
    for i in range(b * CHUNK, min((b + 1) * CHUNK, len(particles))):
        v = particles.v[i]
        total += np.float64(dot(v, v))
    sums.squares[b] = total


@kernel
def begin_search(_, search: Search, sums: Sums, particles: Particles, fall: real):
    """By how much speeds may change in a step: the fall [m/s], and a quarter of what they are in the mean."""
    total = 0.0
    for b in range(len(sums)):
        total += sums.squares[b]
    search.drop[0] = fall + QUARTER * np.sqrt(convert(total / len(particles), fall))


@kernel
def finish_search(_, search: Search):
    """The lists are made; the next detection of the step uses twice the margins."""
    search.stale[0] = 0
    search.factor[0] = search.factor[0] + search.factor[0]
    search.detections[0] += 1


@kernel(fastmath=STEADY)
def mark_particle(
    i,
    marks: Marks,
    contact_particles: ContactParticles,
    particles: Particles,
    colliders: Colliders,
    poses: Poses,
    ignored: Ignored,
    search: Search,
    h: real,
    dt: real,
):
    """Set the margin of a particle, remember where it is, and mark the colliders near it."""
    count = len(colliders)
    words = (count + WORD - 1) // WORD
    row, owner = np.int64(particles.origin_index[i]) * count, np.int64(contact_particles.object_index[i]) * count
    now, start = place(particles.x, i), previous_position(particles.x, particles.predicted, particles.v, h, i)
    radius, stride = contact_particles.radius[i], length(sub(now, start))
    speed = max(length(particles.v[i]), stride / h)
    margin = search.factor[0] * dt * (speed + search.drop[0]) + radius
    contact_particles.margin[i] = max(margin, stride)
    if contact_particles.has_elements[0]:
        contact_particles.displacement[i] = contact_particles.travelled[i] = stride
    contact_particles.detected_position[i] = contact_particles.last_position[i] = now
    stays = count == 1 and not colliders.moves[0] and contact_particles.settled[i] == contact_particles.path[i]
    contact_particles.path[i], contact_particles.settled[i] = ZERO * radius, ZERO * radius if stays else -ONE
    free = particles.x[i, 3] > ZERO
    for w in range(words):
        bits = NO_BIT
        for k in range(w * WORD, min(w * WORD + WORD, count) if free else 0):
            q = to_local(poses.after[row + k], now)
            bound = max(margin, stride) + radius
            if colliders.moves[k]:
                largest_displacement = length(sub(q, to_local(poses.before[row + k], start)))
                bound = (
                    max(margin + drift_of(poses.after[row + k], poses.far[row + k], now), largest_displacement) + radius
                )
            gap = least_gap(colliders.kind[k], q, colliders.size[k], colliders.low, colliders.high, k)
            if not ignored.passes[owner + k] and gap <= bound:
                bits |= ONE_BIT << np.uint64(k - w * WORD)
        marks.word[i * words + w] = bits


@kernel(fastmath=STEADY)
def mark_element(
    e,
    marks: Marks,
    elements: Elements,
    contact_particles: ContactParticles,
    particles: Particles,
    colliders: Colliders,
    poses: Poses,
    ignored: Ignored,
    h: real,
):
    """Mark the colliders near an element. A flat one is left to its particles: one of them is always the deepest."""
    count = len(colliders)
    words = (count + WORD - 1) // WORD
    points, x = elements.points[e], particles.x
    i0, i1, i2 = np.int64(points[0]), np.int64(points[1]), np.int64(points[2])
    free = max(x[i0, 3], max(x[i1, 3], x[i2, 3])) > ZERO
    row, owner = np.int64(particles.origin_index[i0]) * count, np.int64(contact_particles.object_index[i0]) * count
    x0, x1, x2 = place(x, i0), place(x, i1), place(x, i2)
    s0 = previous_position(x, particles.predicted, particles.v, h, i0)
    s1 = previous_position(x, particles.predicted, particles.v, h, i1)
    s2 = previous_position(x, particles.predicted, particles.v, h, i2)
    centre = scale(add(x0, add(x1, x2)), THIRD)
    extent = max(length(sub(x0, centre)), max(length(sub(x1, centre)), length(sub(x2, centre))))
    margin = max(contact_particles.margin[i0], max(contact_particles.margin[i1], contact_particles.margin[i2]))
    radius = max(contact_particles.radius[i0], max(contact_particles.radius[i1], contact_particles.radius[i2]))
    for w in range(words):
        bits = NO_BIT
        for k in range(w * WORD, min(w * WORD + WORD, count) if free else 0):
            if colliders.kind[k] > LAST_UNBOUNDED and not ignored.passes[owner + k]:
                after, bound = poses.after[row + k], margin + radius
                if colliders.moves[k]:
                    before, far = poses.before[row + k], poses.far[row + k]
                    largest_displacement = max(
                        length(sub(to_local(after, x0), to_local(before, s0))),
                        max(
                            length(sub(to_local(after, x1), to_local(before, s1))),
                            length(sub(to_local(after, x2), to_local(before, s2))),
                        ),
                    )
                    drift = max(drift_of(after, far, x0), max(drift_of(after, far, x1), drift_of(after, far, x2)))
                    bound = max(margin + drift, largest_displacement) + radius
                q = to_local(after, centre)
                gap = least_gap(colliders.kind[k], q, colliders.size[k], colliders.low, colliders.high, k)
                if gap <= bound + extent:
                    bits |= ONE_BIT << np.uint64(k - w * WORD)
        marks.word[e * words + w] = bits


@kernel(fastmath=STEADY)
def check_margin(i, contact_particles: ContactParticles, particles: Particles, search: Search, h: real):
    """Measure how far a particle has gone, with its displacement in the substep; ask for a detection beyond its margin.

    All particles that do write the same.
    """
    now, start = place(particles.x, i), previous_position(particles.x, particles.predicted, particles.v, h, i)
    stride = length(sub(now, start))
    gone = length(sub(now, contact_particles.detected_position[i])) + stride
    if contact_particles.has_elements[0]:
        contact_particles.displacement[i], contact_particles.travelled[i] = stride, gone
    contact_particles.path[i] += length(sub(now, contact_particles.last_position[i]))
    contact_particles.last_position[i] = now
    if not (gone <= contact_particles.margin[i]):
        search.stale[0] = 1


@kernel(fastmath=STEADY)
def check_moving(
    i,
    contact_particles: ContactParticles,
    particles: Particles,
    colliders: Colliders,
    poses: Poses,
    search: Search,
    h: real,
):
    """Ask for a detection where a moving collider may have come nearer to a particle than its margin tells."""
    now, start, then = place(particles.x, i), previous_position(particles.x, particles.predicted, particles.v, h, i), \
        contact_particles.detected_position[i]  # fmt: skip
    row = np.int64(particles.origin_index[i]) * len(colliders)
    for k in range(len(colliders)):
        if colliders.moves[k]:
            reference, far = poses.reference[row + k], poses.far[row + k]
            q, was = to_local(poses.after[row + k], now), to_local(poses.before[row + k], start)
            past = length(sub(q, to_local(reference, then))) + length(sub(q, was))
            if not (past <= contact_particles.margin[i] + drift_of(reference, far, then)):
                search.stale[0] = 1
