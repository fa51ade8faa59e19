"""Pushes of contacts with bodies: how a point gives its share to the vertices, and the pushes a substep begins with."""

import numpy as np

from shinari.collision.law import combined_surface, tangential
from shinari.collision.narrow.pose_records import Vector
from shinari.compute import kernel, shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, add, dot, scale, sub
from shinari.model.particles import Origins, Particles
from shinari.systems.colliders.collide import place, previous_position
from shinari.systems.colliders.element_points import blend, inverse_mass_at, vertex_weights, vertices
from shinari.systems.colliders.supports import BODY, is_on_body
from shinari.systems.coupling.heavy_pairs import forgets, leaves_support, note_pinch, record_impulse
from shinari.systems.coupling.records import BodyShapeTable, BodySweeps, ContactParticles, Contacts, Counts, Items
from shinari.systems.coupling.response import apply_reaction
from shinari.systems.coupling.supported_points import (
    follow_bodies,
    push_particle,
    supported_inverse_mass,
    supports_of,
)
from shinari.systems.rigid.frames import Frames

# Which contacts: all, those that leave bodies beneath an item alone, and those that press on what lies on a body.
ALL, BENEATH, PRESSING = 0, 1, 2


@steady
def particle_previous_position(particles, i, h):
    """Where a particle was when the substep began, relative to its origin."""
    return previous_position(particles.x, particles.predicted, particles.v, h, i)


@steady
def share_push(contact_particles, bodies, i, between, weights, pushes, grip, rate):
    """Move the vertices of an element by their shares of what pushes a point; returns the sum of `push_particle`.

    `bodies`: particles, origins, pieces, frames and bodies in sweeps.
    """
    records = contact_particles, *bodies
    first = push_vertex(i[0], between, weights[0], pushes, grip, rate, *records)
    second = push_vertex(i[1], between, weights[1], pushes, grip, rate, *records)
    third = push_vertex(i[2], between, weights[2], pushes, grip, rate, *records)
    return add(add(first, second), third)


@shared(fastmath=STEADY)
def push_vertex(
    i: int,
    between: bool,
    weight: float,
    pushes: tuple[Vector, Vector, Vector],
    grip: float,
    rate: float,
    contact_particles: ContactParticles,
    particles: Particles,
    origins: Origins,
    body_shapes: BodyShapeTable,
    frames: Frames,
    body_sweeps: BodySweeps,
) -> Vector:
    """Move a particle by its share, if it has one and can move; its body takes what that has stopped."""
    w, lost = particles.x[i, 3], scale(pushes[0], ZERO)
    if w > ZERO and weight > ZERO:
        origin = origins.position[particles.origin_index[i]]
        push, hold = contact_particles.push[i], place(contact_particles.hold, i)
        lost = push_particle(contact_particles, particles, i, between, w * weight, pushes, grip, rate)
        fresh, along = contact_particles.push[i] - push, sub(place(contact_particles.hold, i), hold)
        if is_on_body(contact_particles, i) and (fresh != ZERO or dot(along, along) > ZERO):
            stopped = scale(add(scale(contact_particles.normal[i], fresh), along), 1.0 / np.float64(w))
            b = body_shapes.frame[BODY - contact_particles.solid[i]]
            arm = sub(add(origin, particle_previous_position(particles, i, ONE / rate)), frames.x0[b])
            apply_reaction(frames, body_sweeps, b, arm, stopped, scale(stopped, 0.0), rate)
    return lost


@steady
def less_lost(push, friction_multiplier, n, lost):
    """Pushes along n and of friction without what neither side was given: taken back later, it would drive the body."""
    return max(push - dot(n, lost), 0.0), sub(friction_multiplier, tangential(lost, n))


@steady
def clear_multiplier(contacts, m):
    """A contact does not push."""
    contacts.multiplier[m], contacts.friction_multiplier[m] = 0.0, (0.0, 0.0, 0.0)


@shared(fastmath=STEADY)
def apply_stored_multiplier(
    sign: float,
    m: int,
    contacts: Contacts,
    items: Items,
    contact_particles: ContactParticles,
    particles: Particles,
    origins: Origins,
    body_shapes: BodyShapeTable,
    frames: Frames,
    body_sweeps: BodySweeps,
    h: float,
) -> None:
    """Apply the push of a contact in the last sweep, or its opposite.

    A point that has lost its support yields more than before, and is pushed that much less.
    """
    rate, k = ONE / h, contacts.body_shape[m]
    i, b = vertices(items.points[contacts.item[m]]), body_shapes.frame[k]
    between = leaves_support(i, k, contact_particles, body_shapes, frames)
    origin = origins.position[particles.origin_index[i[0]]]
    follow_bodies(contact_particles, i, origin, body_shapes, frames)
    part, other = vertex_weights(contacts.weights[m], i), frames.inverse_mass[b]
    w, supports = inverse_mass_at(particles.x, i, part), supports_of(contact_particles, particles, i, part, between)
    now, _ = supported_inverse_mass(w, supports, contacts.normal[m], 0.0, other)
    left = min((contacts.along[m] + other) / (now + other), 1.0) if now + other > ZERO else 0.0
    contacts.multiplier[m] *= left
    contacts.friction_multiplier[m] = scale(contacts.friction_multiplier[m], left)
    contacts.along[m] = now
    weights, still = contacts.weights[m], (0.0, 0.0, 0.0)
    start = blend(
        weights,
        particle_previous_position(particles, i[0], h),
        particle_previous_position(particles, i[1], h),
        particle_previous_position(particles, i[2], h),
    )
    start = add(origin, start)
    along, rubs = scale(contacts.normal[m], sign * contacts.multiplier[m]), scale(contacts.friction_multiplier[m], sign)
    law = combined_surface(contact_particles.surface[i[0]], body_shapes.surface[k])
    bodies = particles, origins, body_shapes, frames, body_sweeps
    lost = share_push(contact_particles, bodies, i, between, weights, (along, rubs, still), law[1], rate)
    given = sub(add(along, rubs), lost)
    if sign > ZERO:
        contacts.multiplier[m], contacts.friction_multiplier[m] = less_lost(
            contacts.multiplier[m], contacts.friction_multiplier[m], contacts.normal[m], lost
        )
    record_impulse(contacts, m, given, rate)
    apply_reaction(frames, body_sweeps, b, sub(start, frames.x0[b]), given, still, rate)


@steady
def take_back(m, contacts, items, contact_particles, particles, origins, body_shapes, frames, body_sweeps, h):
    """Take back the push of a contact, if it pushes."""
    if contacts.multiplier[m] > ZERO:
        apply_stored_multiplier(
            -1.0, m, contacts, items, contact_particles, particles, origins, body_shapes, frames, body_sweeps, h
        )
        clear_multiplier(contacts, m)


@kernel
def count_kept(_, counts: Counts, contacts: Contacts, body_shapes: BodyShapeTable, body_sweeps: BodySweeps):
    """A substep ends: sum what pushes each body, and what of that goes on to the next substep."""
    for m in range(counts.contacts[0]):
        b, push = body_shapes.frame[contacts.body_shape[m]], contacts.multiplier[m]
        body_sweeps.pushed[b] += push
        body_sweeps.kept[b] += push if contacts.settled[m] else 0.0


@kernel(fastmath=STEADY)
def apply_stored_multipliers(
    _,
    counts: Counts,
    contacts: Contacts,
    items: Items,
    contact_particles: ContactParticles,
    particles: Particles,
    origins: Origins,
    body_shapes: BodyShapeTable,
    frames: Frames,
    body_sweeps: BodySweeps,
    h: float,
    which: int,
):
    """Begin a substep with the pushes of the last one: what rests is carried before anything is looked at.

    What is not `settled` begins anew: of an element that lay flat on the piece the deepest point went from corner to
    corner, and what stopped an impact is no load.
    """
    for m in range(counts.contacts[0]):
        if not contacts.settled[m] or forgets(m, contacts, items, contact_particles, body_shapes, frames, body_sweeps):
            clear_multiplier(contacts, m)
            contacts.settled[m] = True
        i, k = vertices(items.points[contacts.item[m]]), contacts.body_shape[m]
        between = leaves_support(i, k, contact_particles, body_shapes, frames)
        if contacts.multiplier[m] > ZERO and (which == ALL or between == (which == BENEATH)):
            note_pinch(m, contacts, items, contact_particles, counts.contacts[0], body_shapes, frames, body_sweeps)
            apply_stored_multiplier(
                1.0, m, contacts, items, contact_particles, particles, origins, body_shapes, frames, body_sweeps, h
            )
