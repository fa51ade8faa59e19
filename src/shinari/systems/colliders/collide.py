"""A point against a solid: stop at the surface, with Coulomb friction, compliance and restitution.

A point moves in a substep from a to b, both in the frame of the solid at the start and at the end, so that a moving
solid is a moving frame. Where b lies in the solid the point is put back to the surface; where the way from a to b
enters a bounded solid, to the plane that touches it where it was entered, so that nothing comes out on the far side.
What was inside already at the start comes out at a limited speed and gains no velocity by it.

The push along the normal adds up over the iterations of a substep, and so does what friction takes from the slip of the
substep: all of it while it stays below mu_s times the push, otherwise mu_k times the push (Macklin et al. 2014, Unified
Particle Physics, eq. 24). A contact with a compliance is an XPBD row C + alpha lambda / h^2 = 0, lambda >= 0 (Macklin
et al. 2016, eq. 18); it brings all of its velocity, since resting deep inside is what it is for.

The velocity of a contact goes into the velocities at once, and the prediction moves with the position: far from the
origin a position in single precision has no room for the mu g h^2 that friction takes in a substep.
"""

import numpy as np

from shinari.collision.law import combined_surface, friction, normal_response, recoil, recovery, tangential
from shinari.compute import Kernel, kernel, real, shared
from shinari.compute.kernels import STEADY, Shared
from shinari.compute.once import once
from shinari.maths.function import steady
from shinari.maths.poses import rotate_vector, rotate_vector_back, to_local, to_world
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, reciprocal, scale, sub
from shinari.model.contact_passes import LAST_BITS, NOTICEABLE, was_moved
from shinari.model.particles import Clock, Particles
from shinari.shapes.box import CONTAINER
from shinari.shapes.kernels.all_distances import Four, Vector, distances, is_mesh
from shinari.shapes.kernels.mesh_distance import MeshFields
from shinari.shapes.registry import LAST_CONVEX, LAST_UNBOUNDED
from shinari.systems.colliders.records import Colliders, ContactParticles, Contacts, Items, Poses
from shinari.systems.colliders.supports import Supports, has_new_push, lie_on, take_push

TRACES = 24
SAME_SIDE = np.float32(0.7)
TOUCH = np.float32(1e-3)
FAR = np.float32(1e30)
HALF, TWO = np.float32(0.5), np.float32(2.0)


@steady
def place(x, i):
    """Position of a particle."""
    return x[i, 0], x[i, 1], x[i, 2]


@steady
def surface_of(contact_particles, i):
    """Friction, static friction, restitution and compliance of a particle."""
    return contact_particles.surface[contact_particles.object_index[i]]


@steady
def displacement_of(x, predicted, velocities, h, i):
    """Displacement of a particle in this substep so far."""
    return (
        x[i, 0] - predicted[i, 0] + h * velocities[i, 0],
        x[i, 1] - predicted[i, 1] + h * velocities[i, 1],
        x[i, 2] - predicted[i, 2] + h * velocities[i, 2],
    )


@steady
def previous_position(x, predicted, velocities, h, i):
    """Where a particle was when the substep began."""
    return sub(place(x, i), displacement_of(x, predicted, velocities, h, i))


@steady
def convex_reach(kind, like):
    """Distance up to which a solid that is no mesh lies behind each plane that touches it; -1: it is not convex."""
    zero = ZERO * like
    return zero + np.float32(np.inf) if kind <= LAST_CONVEX else zero - ONE


@steady
def contact_plane(distance_and_normal, kind, s, reach, fields, a, b, radius, gap_b, normal_b):
    """Normal of the contact, depth of b below its plane (negative above it) and depth of a in the solid, at least 0.

    `gap_b` and `normal_b` are the distance of the particle's surface and the normal at b; up to a distance `reach` from
    it all of the solid is behind each plane that touches it; -1 where it is not convex.
    """
    displacement = sub(b, a)
    length = norm(displacement)
    # march along the way, each time to the plane that touches the solid where it is nearest: a convex solid lies behind
    # it; one that is not convex is no nearer than its distance. What starts inside has entered where it is
    trace = kind > LAST_UNBOUNDED
    t = length - length
    gap_a, gap, n, hit = gap_b, gap_b, normal_b, b
    for k in range(TRACES):
        hit = add(a, scale(displacement, t * reciprocal(length)))
        value, n = distance_and_normal(kind, hit, s, fields)
        gap = value - radius
        gap_a = gap if k == 0 else gap_a
        if gap <= TOUCH * length or not trace:
            break
        closing = -dot(n, displacement)
        ahead = gap * length / closing if closing > ZERO else length
        t = t + (ahead if value <= reach else gap)
        if t >= length:
            break
    # the same distance, compiled at two places, may differ by a rounding that would look like a push
    before = max(-gap_b if length == ZERO else -gap_a, ZERO)
    if not trace or t >= length or length == ZERO or (gap_b < ZERO and dot(n, normal_b) > SAME_SIDE):
        return normal_b, -gap_b, before
    return n, -dot(n, sub(b, hit)) - gap, before


@steady
def contact_change(n, depths, displacement, w, law, old, limits):
    """What the law of contact makes of a point that is too deep.

    Args:
        n: Normal.
        depths: Depth now, and at the start of the substep, at least 0 [m].
        displacement: Of the point in this substep [m].
        w: Its inverse mass [1/kg].
        law: Friction, static friction, restitution and compliance of the pair.
        old: Corrections along the normal and by friction so far in this substep [m].
        limits: 1 / h^2, and how far what was inside comes out at most [m].

    Returns:
        Correction, part of it that brings no velocity, and the corrections along the normal and by friction so far.
    """
    depth, before = depths
    old_normal_correction, old_friction_correction = old
    inverse_h2, escape = limits
    scaled_compliance = law[3] * inverse_h2 / w
    change = normal_response(depth, depth - before, old_normal_correction, scaled_compliance, ONE, ZERO * depth)
    out = ZERO * depth if scaled_compliance > ZERO else recovery(min(depth, before), escape)
    normal_correction = old_normal_correction + change
    friction_correction = friction(sub(old_friction_correction, tangential(displacement, n)), normal_correction, law)
    correction = add(scale(n, change + out), sub(friction_correction, old_friction_correction))
    return correction, scale(n, out), normal_correction, friction_correction


@steady
def respond(
    distance_and_normal, kind, size, fields, a, b, reach, w, law, old_normal_correction, old_friction_correction, limits
):
    """How a solid moves a point, all in the frame of the solid.

    Args:
        distance_and_normal: The function of the shapes.
        kind: Kind of the solid.
        size: Its numbers.
        fields: Distance fields of meshes.
        a: Point at the start of the substep.
        b: Point now.
        reach: Distance that it keeps [m].
        w: Its inverse mass [1/kg].
        law: Friction, static friction, restitution and compliance of the pair.
        old_normal_correction: Push along the normal so far in this substep [m].
        old_friction_correction: What friction has moved so far in this substep [m].
        limits: 1 / h^2, and how far what was inside comes out at most [m].

    Returns:
        Whether it touches, correction, part of it that brings no velocity, normal, push and hold so far, and the gap at
        the start of the substep, or now when it does not touch.
    """
    zero = (b[0] - b[0], b[1] - b[1], b[2] - b[2])
    # a ball in a container is a point in a smaller one: its corners are as sharp
    margin = min(reach, min(size[0], min(size[1], size[2]))) if kind == CONTAINER else reach - reach
    s, radius = (size[0] - margin, size[1] - margin, size[2] - margin, size[3]), reach - margin
    value, normal = distance_and_normal(kind, b, s, fields)
    gap_b = value - radius
    displacement = sub(b, a)
    if gap_b >= norm(displacement):
        return False, zero, zero, zero, old_normal_correction, old_friction_correction, gap_b
    behind = convex_reach(kind, radius)
    n, depth, before = contact_plane(distance_and_normal, kind, s, behind, fields, a, b, radius, gap_b, normal)
    if depth <= ZERO and old_normal_correction <= ZERO:
        return False, zero, zero, zero, old_normal_correction, old_friction_correction, gap_b
    correction, silent, normal_correction, friction_correction = contact_change(
        n, (depth, before), displacement, w, law, (old_normal_correction, old_friction_correction), limits
    )
    gap_a = max(dot(n, sub(a, b)) - depth, ZERO)
    return True, correction, silent, n, normal_correction, friction_correction, gap_a


@once
def response(meshes: bool) -> Shared:
    """`respond` for scenes with or without meshes, compiled once; `fields` is a record."""
    distance_and_normal = distances(meshes)

    @shared(fastmath=STEADY)
    def respond_to_solid(
        kind: int,
        size: Four,
        fields: MeshFields,
        a: Vector,
        b: Vector,
        reach: real,
        w: real,
        law: Four,
        old_normal_correction: real,
        old_friction_correction: Vector,
        limits: tuple[real, real],
    ) -> tuple[bool, Vector, Vector, Vector, real, Vector, real]:
        return respond(
            distance_and_normal,
            kind,
            size,
            fields,
            a,
            b,
            reach,
            w,
            law,
            old_normal_correction,
            old_friction_correction,
            limits,
        )

    return respond_to_solid


@once
def project_particles() -> Kernel:
    """Kernel that keeps a particle out of the colliders near it, but for meshes: `project_mesh_particle`.

    Its scalar: the speed [m/s] at which what was inside comes out.
    """
    respond_to_solid = response(False)

    @kernel(fastmath=STEADY)
    def project_particle(
        p,
        items: Items,
        contacts: Contacts,
        colliders: Colliders,
        poses: Poses,
        fields: MeshFields,
        particles: Particles,
        contact_particles: ContactParticles,
        supports: Supports,
        clock: Clock,
        speed: real,
    ):
        h = clock.substep_length[0]
        rate = ONE / h
        i, first = np.int64(items.item[p]), clock.first[0] != 0
        if contact_particles.path[i] < items.bound[p]:
            return
        if clock.local[0] != 0 and not was_moved(clock, contact_particles.moved_in, i):
            return
        if not first and contact_particles.path[i] == contact_particles.settled[i] and not has_new_push(supports, i):
            return
        w, row = particles.x[i, 3], np.int64(particles.origin_index[i]) * len(colliders)
        least, pushed, moved = FAR + ZERO * h, False, False
        for m in range(items.first[p], items.end[p]):
            k = np.int64(contacts.solid[m])
            if is_mesh(colliders.kind[k]):
                continue
            if first:
                contacts.normal_correction[m], contacts.friction_correction[m] = ZERO, (ZERO, ZERO, ZERO)
            if contact_particles.path[i] < contacts.bound[m]:
                least = min(least, contacts.bound[m])
                continue
            moved = moved or colliders.moves[k]
            take_push(supports, contacts, m, i, rate / w)
            pose = poses.after[row + k]
            a = to_local(poses.before[row + k], previous_position(particles.x, particles.predicted, particles.v, h, i))
            b = to_local(pose, place(particles.x, i))
            law = combined_surface(surface_of(contact_particles, i), colliders.surface[k])
            touches, correction, silent, n, normal_correction, friction_correction, gap = respond_to_solid(
                colliders.kind[k],
                colliders.size[k],
                fields,
                a,
                b,
                contact_particles.radius[i],
                w,
                law,
                contacts.normal_correction[m],
                rotate_vector_back(pose, contacts.friction_correction[m]),
                (rate * rate, h * speed),
            )
            apart = slack(gap, contact_particles.radius[i], norm(sub(b, a)))
            # what it pushed in this substep is forgotten when the next one begins
            kept = colliders.moves[k] or touches or contacts.normal_correction[m] > ZERO
            contacts.bound[m] = -ONE if kept else contact_particles.path[i] + apart
            least = min(least, contacts.bound[m])
            if not touches:
                continue
            pushed = True
            remember(
                contacts, m, normal_correction, rotate_vector(pose, friction_correction), rotate_vector(pose, n), gap
            )
            correction, silent = rotate_vector(pose, correction), rotate_vector(pose, silent)
            apply_correction(contact_particles, particles, i, ONE, correction, silent, clock, rate)
            record(contacts.impulse, m, sub(correction, silent), rate / w)
            lie_on(supports, i, k, rotate_vector(pose, n), particles.x, law, (poses.before[row + k], pose))
        items.bound[p] = least
        # one convex collider at rest leaves it on its surface; of several, one may push it into another
        alone = len(colliders) == 1 and not moved
        contact_particles.settled[i] = contact_particles.path[i] if alone or not pushed else -ONE

    return project_particle


@steady
def remember(contacts, m, normal_correction, friction_correction, n, gap):
    """Write the state of a contact."""
    contacts.normal_correction[m], contacts.friction_correction[m], contacts.normal[m], contacts.gap[m] = (
        normal_correction,
        friction_correction,
        n,
        gap,
    )


@steady
def slack(gap, radius, displacement):
    """Distance that a particle at a gap may move before it can touch.

    It keeps a gap at its end up to the gap itself, and cannot have gone through as long as the surface at its middle
    ends farther away than its displacement in the substep.
    """
    return min(gap, HALF * (gap + radius - displacement))


@steady
def apply_correction(contact_particles, particles, i, share, correction, silent, clock, rate):
    """Move a particle by a share of the correction of a contact."""
    note_displacement(contact_particles, i, share * norm(correction), clock)
    move(particles.x, particles.predicted, particles.v, i, share, correction, silent, rate)
    contact_particles.last_position[i] = place(particles.x, i)


@steady
def note_displacement(contact_particles, i, length, clock):
    """Note that a contact moves a particle by a length, and in which pass it last did so noticeably."""
    if contact_particles.has_elements[0]:
        contact_particles.travelled[i] += TWO * length
    contact_particles.path[i] += length
    if length > NOTICEABLE * contact_particles.radius[i]:
        contact_particles.moved_in[i] = clock.contact_pass[0] & LAST_BITS


@steady
def move(x, predicted, velocities, i, share, correction, silent, rate):
    """Move a particle by a share of a correction; the silent part of it brings no velocity."""
    moved = x[i, 0] + share * correction[0], x[i, 1] + share * correction[1], x[i, 2] + share * correction[2]
    predicted[i, 0] += moved[0] - x[i, 0]
    predicted[i, 1] += moved[1] - x[i, 1]
    predicted[i, 2] += moved[2] - x[i, 2]
    x[i, 0], x[i, 1], x[i, 2] = moved
    velocities[i, 0] += share * (correction[0] - silent[0]) * rate
    velocities[i, 1] += share * (correction[1] - silent[1]) * rate
    velocities[i, 2] += share * (correction[2] - silent[2]) * rate


@steady
def record(impulses, m, change, mass):
    """Add an impulse."""
    impulses[m, 0] += mass * change[0]
    impulses[m, 1] += mass * change[1]
    impulses[m, 2] += mass * change[2]


@kernel(fastmath=STEADY)
def bounce_particle(
    p,
    items: Items,
    contacts: Contacts,
    colliders: Colliders,
    poses: Poses,
    particles: Particles,
    contact_particles: ContactParticles,
    gx: real,
    gy: real,
    gz: real,
    slow: real,
    h: real,
):
    """Restitution of a particle; g is the acceleration of gravity [m/s^2]; slower than `slow` [m/s] nothing bounces."""
    i = np.int64(items.item[p])
    row = np.int64(particles.origin_index[i]) * len(colliders)
    for m in range(items.first[p], items.end[p]):
        k = np.int64(contacts.solid[m])
        law = combined_surface(surface_of(contact_particles, i), colliders.surface[k])
        if contacts.normal_correction[m] <= ZERO or law[2] <= ZERO:
            continue
        here = place(particles.x, i)
        carried = scale(sub(here, to_world(poses.before[row + k], to_local(poses.after[row + k], here))), ONE / h)
        start, now = sub(contact_particles.start_velocity[i], carried), sub(particles.v[i], carried)
        change = recoil(contacts.normal[m], contacts.gap[m], start, now, law, (gx, gy, gz), slow, h)
        particles.v[i] = add(particles.v[i], change)
        record(contacts.impulse, m, change, ONE / particles.x[i, 3])
