"""Which pieces of bodies are near which particles and elements, found once a step and again when one leaves its margin.

As in `shinari.systems.colliders.detection`, but a body has a margin of its own: what a particle and a body have gone
since the detection adds up to more than the distance that two points on them can have come nearer.

A contact that has pushed in the step stays in the list until the step ends, so that its impulse is reported.
"""

import numpy as np

from shinari.collision.broad.pairs import Keys, contains, first_from
from shinari.collision.narrow.pose_records import Vector
from shinari.compute import kernel, shared
from shinari.compute.kernels import STEADY
from shinari.compute.scan import Offsets
from shinari.maths.function import steady
from shinari.maths.quaternion import rotate
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, scale, sub
from shinari.model.particles import Origins, Particles
from shinari.systems.colliders.collide import place, previous_position
from shinari.systems.colliders.element_bounds import unknown_plane
from shinari.systems.coupling.records import (
    BodyShapeTable,
    BodySweeps,
    Boxes,
    Candidates,
    ContactParticles,
    Contacts,
    Counts,
    Items,
    Passes,
    Progress,
    Sums,
)
from shinari.systems.coupling.response import to_shape_local
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.integration import rotation_vector_between
from shinari.systems.surface_contact.records import RowCounts

CHUNK = 1024
THIRD = 1.0 / 3.0


@kernel(fastmath=STEADY)
def measure_body_shape(k, body_shapes: BodyShapeTable, frames: Frames, body_sweeps: BodySweeps):
    """How far any point of a piece has gone since the detection, with its displacement in this substep, at most."""
    b = body_shapes.frame[k]
    here, turned = frames.x[b], frames.q[b]
    far = norm(sub(here, body_sweeps.reference_x[b])) + norm(sub(here, frames.x0[b]))
    angle = norm(rotation_vector_between(body_sweeps.reference_q[b], turned)) + norm(
        rotation_vector_between(frames.q0[b], turned)
    )
    body_shapes.travel[k] = far + angle * body_shapes.reach[k]


@kernel
def check_body_shapes(_, body_shapes: BodyShapeTable, progress: Progress):
    """Whether a piece has left its margin."""
    for k in range(len(body_shapes)):
        if not (body_shapes.travel[k] <= body_shapes.margin[k]):
            progress.stale[0] = 1


@kernel(fastmath=STEADY)
def check_particle(
    i, contact_particles: ContactParticles, particles: Particles, progress: Progress, h: float, first: int
):  # fmt: skip
    """Measure the path of a particle; whether it has left its margin, with its displacement in the substep."""
    now = place(particles.x, i)
    start = previous_position(particles.x, particles.predicted, particles.v, h, i)
    gone = norm(sub(now, contact_particles.detected_position[i])) + norm(sub(now, start))
    if first != 0:
        # a substep does not begin where the last one was seen
        contact_particles.path[i] += norm(sub(start, contact_particles.last_position[i])) + norm(sub(now, start))
    else:
        contact_particles.path[i] += norm(sub(now, contact_particles.last_position[i]))
    contact_particles.last_position[i] = now
    if not (gone <= contact_particles.margin[i]):
        # whoever writes it, it is a one
        progress.stale[0] = 1


@kernel(fastmath=STEADY)
def sum_squares(k, particles: Particles, sums: Sums):
    """Sum of the squares of the speeds of a block of particles."""
    total = 0.0
    for i in range(k * CHUNK, min((k + 1) * CHUNK, len(particles))):
        v = particles.v[i]
        total += np.float64(v[0]) * v[0] + np.float64(v[1]) * v[1] + np.float64(v[2]) * v[2]
    sums.squares[k] = total


@kernel(fastmath=STEADY)
def begin_detection(_, progress: Progress, sums: Sums, count: np.int64, fall: float):
    """By how much speeds may change in a step: the fall, and a quarter of what they are in the mean.

    Args:
        _: 0.
        progress: Receives it.
        sums: Sums of the squares of speeds.
        count: Particles.
        fall: What gravity adds to a speed in a step [m/s].
    """
    total = 0.0
    for k in range(len(sums)):
        total += sums.squares[k]
    progress.drop[0] = fall + 0.25 * np.sqrt(total / count)


@kernel(fastmath=STEADY)
def set_margin(i, contact_particles: ContactParticles, particles: Particles, progress: Progress, dt: float, h: float):
    """Margin of a particle, and where it is."""
    now = place(particles.x, i)
    stride = norm(sub(now, previous_position(particles.x, particles.predicted, particles.v, h, i)))
    speed = max(norm(place(particles.v, i)), stride / h)
    contact_particles.margin[i] = max(
        progress.factor[0] * dt * (speed + progress.drop[0]) + contact_particles.radius[i], stride
    )
    contact_particles.path[i], contact_particles.detected_position[i] = ZERO * stride, now
    contact_particles.last_position[i] = now


@kernel(fastmath=STEADY)
def set_shape_margin(k, body_shapes: BodyShapeTable, frames: Frames, progress: Progress, dt: float):
    """Margin of a piece, and where its middle is; it was measured from the pose of now."""
    b = body_shapes.frame[k]
    speed = norm(frames.v[b]) + norm(frames.w[b]) * body_shapes.reach[k] + progress.drop[0]
    body_shapes.margin[k] = max(progress.factor[0] * dt * speed, body_shapes.travel[k])
    body_shapes.middle[k] = add(frames.x[b], rotate(frames.q[b], body_shapes.centre[k]))


@kernel
def set_reference(b, frames: Frames, body_sweeps: BodySweeps):
    """Keep the pose of a frame at a detection; its path begins."""
    body_sweeps.reference_x[b], body_sweeps.reference_q[b] = frames.x[b], frames.q[b]
    body_sweeps.last_x[b], body_sweeps.last_q[b], body_sweeps.path[b] = frames.x[b], frames.q[b], (0.0, 0.0)


@kernel(fastmath=STEADY)
def set_boxes(_, boxes: Boxes, contact_particles: ContactParticles, particles: Particles, origins: Origins):
    """Boxes around the margins of all particles of each object in the world."""
    for t in range(len(boxes)):
        boxes.low[t], boxes.high[t] = (np.inf, np.inf, np.inf), (-np.inf, -np.inf, -np.inf)
    for i in range(len(particles)):
        t, reach = (
            np.int64(contact_particles.object[i]),
            np.float64(contact_particles.margin[i] + contact_particles.radius[i]),
        )
        at = add(origins.position[particles.origin_index[i]], place(particles.x, i))
        low, high = boxes.low[t], boxes.high[t]
        boxes.low[t] = min(low[0], at[0] - reach), min(low[1], at[1] - reach), min(low[2], at[2] - reach)
        boxes.high[t] = max(high[0], at[0] + reach), max(high[1], at[1] + reach), max(high[2], at[2] + reach)


@steady
def list_object(t, at, boxes, passes, body_shapes, candidates):
    """List the pieces that may be near an object from row `at` on, or count them (-1)."""
    low, high, n = boxes.low[t], boxes.high[t], 0
    for k in range(len(body_shapes)):
        reach, c = body_shapes.radius[k] + body_shapes.margin[k], body_shapes.middle[k]
        near = low[0] <= c[0] + reach and low[1] <= c[1] + reach and low[2] <= c[2] + reach
        near = near and c[0] - reach <= high[0] and c[1] - reach <= high[1] and c[2] - reach <= high[2]
        if near and not passes.passes[t * len(body_shapes) + k]:
            if at >= 0:
                candidates.body_shape[at + n] = k
            n += 1
    return n


@kernel
def count_candidates(
    _, boxes: Boxes, passes: Passes, body_shapes: BodyShapeTable, candidates: Candidates, progress: Progress
):  # fmt: skip
    """Count the pieces that may be near each object."""
    total = 0
    for t in range(len(boxes)):
        boxes.start[t] = total
        total += list_object(t, -1, boxes, passes, body_shapes, candidates)
        boxes.end[t] = total
    progress.candidates[0] = total


@kernel
def list_candidates(t, boxes: Boxes, passes: Passes, body_shapes: BodyShapeTable, candidates: Candidates):
    """List the pieces that may be near an object."""
    list_object(t, boxes.start[t], boxes, passes, body_shapes, candidates)


@shared(fastmath=STEADY)
def is_near(point: Vector, reach: float, k: int, body_shapes: BodyShapeTable, frames: Frames) -> bool:
    """Whether a point is nearer than `reach` to the box of piece k."""
    away, most, b = sub(point, body_shapes.middle[k]), reach + body_shapes.radius[k], body_shapes.frame[k]
    if dot(away, away) > most * most:
        return False
    q, low, high = (
        to_shape_local(body_shapes, k, frames.x[b], frames.q[b], point),
        body_shapes.low[k],
        body_shapes.high[k],
    )
    x = max(max(low[0] - q[0], q[0] - high[0]), 0.0)
    y = max(max(low[1] - q[1], q[1] - high[1]), 0.0)
    z = max(max(low[2] - q[2], q[2] - high[2]), 0.0)
    return np.sqrt(x * x + y * y + z * z) <= reach


@kernel
def keep_contact(m, contacts: Contacts, old: Contacts):
    """Copy a contact before the list is made anew."""
    old.item[m], old.body_shape[m], old.multiplier[m], old.friction_multiplier[m] = (
        contacts.item[m], contacts.body_shape[m], contacts.multiplier[m], contacts.friction_multiplier[m]
    )  # fmt: skip
    old.normal[m], old.gap[m], old.weights[m] = contacts.normal[m], contacts.gap[m], contacts.weights[m]
    old.impulse[m], old.along[m] = contacts.impulse[m], contacts.along[m]


@steady
def has_impulse(contacts, m):
    """Whether a contact has pushed in this step."""
    p = contacts.impulse[m]
    return p[0] != ZERO or p[1] != ZERO or p[2] != ZERO


@kernel(fastmath=STEADY)
def measure_item(e, items: Items, contact_particles: ContactParticles, particles: Particles, origins: Origins):
    """Where an item is, and how far pieces are near it."""
    i0, i1, i2 = items.points[e]
    x0, x1, x2 = place(particles.x, i0), place(particles.x, i1), place(particles.x, i2)
    centre = scale(add(x0, add(x1, x2)), np.float32(THIRD))
    extent = max(norm(sub(x0, centre)), max(norm(sub(x1, centre)), norm(sub(x2, centre))))
    margin = max(contact_particles.margin[i0], max(contact_particles.margin[i1], contact_particles.margin[i2]))
    radius = max(contact_particles.radius[i0], max(contact_particles.radius[i1], contact_particles.radius[i2]))
    items.middle[e] = add(origins.position[particles.origin_index[i0]], centre)
    items.free[e] = max(particles.x[i0, 3], max(particles.x[i1, 3], particles.x[i2, 3])) > ZERO
    items.reach[e] = np.float64(margin) + radius + extent if contact_particles.active[i0] else -1.0


@shared(fastmath=STEADY)
def list_item(
    e: int,
    at: int,
    items: Items,
    boxes: Boxes,
    candidates: Candidates,
    held: Keys,
    body_shapes: BodyShapeTable,
    frames: Frames,
    contacts: Contacts,
    old: Contacts,
    counts: Counts,
) -> int:
    """List the pieces near an item, and those that it has touched in this step, ascending.

    Args:
        e: The item.
        at: Row of the first contact; -1 to count only.
        items: The items.
        boxes: Candidates of each object.
        candidates: Pieces that may be near.
        held: Keys item * pieces + piece of items that are attached to the bodies of pieces.
        body_shapes: The pieces.
        frames: The frames.
        contacts: Receives the contacts.
        old: The contacts before.
        counts: How many of these there are.

    Returns:
        The number of contacts.
    """
    n, t, reach, point, free = 0, items.object[e], items.reach[e], items.middle[e], items.free[e]
    o = first_from(e, old.item, 0, counts.old[0])
    c, end = boxes.start[t], boxes.end[t]
    while True:
        k = candidates.body_shape[c] if c < end and reach >= ZERO else len(body_shapes)
        was = old.body_shape[o] if o < counts.old[0] and old.item[o] == e else len(body_shapes)
        here = min(k, was)
        if here == len(body_shapes):
            break
        near, known = False, was == here
        if k == here and (free or frames.inverse_mass[body_shapes.frame[k]] > ZERO):
            near = is_near(point, reach + body_shapes.margin[k], k, body_shapes, frames)
            near = near and not contains(held, e * len(body_shapes) + k)
        if near or (known and has_impulse(old, o)):
            if at >= 0:
                m = at + n
                contacts.item[m], contacts.body_shape[m], contacts.settled[m] = e, here, True
                contacts.bound[m], contacts.plane[m] = (-1.0, -1.0, -1.0), unknown_plane(ONE)
                if known:
                    contacts.multiplier[m], contacts.friction_multiplier[m], contacts.normal[m] = (
                        old.multiplier[o],
                        old.friction_multiplier[o],
                        old.normal[o],
                    )
                    contacts.gap[m], contacts.weights[m] = old.gap[o], old.weights[o]
                    contacts.impulse[m], contacts.along[m] = old.impulse[o], old.along[o]
                else:
                    contacts.multiplier[m], contacts.gap[m], contacts.along[m] = 0.0, 0.0, 0.0
                    contacts.friction_multiplier[m] = contacts.normal[m] = contacts.impulse[m] = 0.0, 0.0, 0.0
                    contacts.weights[m] = 1.0, 0.0, 0.0
            n += 1
        c += 1 if k == here else 0
        o += 1 if known else 0
    return n


@kernel
def count_item(
    e, offsets: Offsets, items: Items, boxes: Boxes, candidates: Candidates, held: Keys, body_shapes: BodyShapeTable,
    frames: Frames, contacts: Contacts, old: Contacts, counts: Counts
):  # fmt: skip
    """Count the contacts of an item."""
    offsets.start[e] = list_item(e, -1, items, boxes, candidates, held, body_shapes, frames, contacts, old, counts)


@kernel
def fill_item(
    e, offsets: Offsets, items: Items, boxes: Boxes, candidates: Candidates, held: Keys, body_shapes: BodyShapeTable,
    frames: Frames, contacts: Contacts, old: Contacts, counts: Counts
):  # fmt: skip
    """List the contacts of an item."""
    at = offsets.start[e]
    if offsets.start[e + 1] > at:
        list_item(e, at, items, boxes, candidates, held, body_shapes, frames, contacts, old, counts)


@kernel
def end_detection(_, progress: Progress):
    """The lists are made; if they have to be made again in the step, margins are twice as wide."""
    progress.stale[0], progress.factor[0] = 0, 2.0 * progress.factor[0]
    progress.detections[0] += 1


@kernel
def press_on_layers(_, points: Counts, elements: Counts, rows: RowCounts):
    """Tell whether bodies may press on layers."""
    if points.contacts[0] + elements.contacts[0] > 0:
        rows.pressing[0] = 1
