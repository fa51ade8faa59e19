"""Pushes of contacts with bodies: how a point gives its share to the vertices, and the pushes a substep begins with."""

from shinari.collision.law import combined_surface, tangential
from shinari.compute import kernel, shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, add, dot, scale, sub
from shinari.model.particles import Origins, Particles
from shinari.systems.colliders.collide import previous_position
from shinari.systems.colliders.element_points import blend, inverse_mass_at, vertex_weights, vertices
from shinari.systems.coupling.heavy_pairs import forgets, note_pinch, record_impulse
from shinari.systems.coupling.records import BodyShapeTable, BodySweeps, ContactParticles, Contacts, Counts, Items
from shinari.systems.coupling.response import apply_reaction
from shinari.systems.coupling.supported_points import push_particle, supported_inverse_mass, supports_of
from shinari.systems.rigid.frames import Frames


@steady
def particle_previous_position(particles, i, h):
    """Where a particle was when the substep began, relative to its origin."""
    return previous_position(particles.x, particles.predicted, particles.v, h, i)


@steady
def share_push(contact_particles, particles, i, weights, pushes, grip, rate):
    """Move the vertices of an element by their shares of what pushes a point; returns the sum of `push_particle`."""
    first = push_vertex(contact_particles, particles, i[0], weights[0], pushes, grip, rate)
    second = push_vertex(contact_particles, particles, i[1], weights[1], pushes, grip, rate)
    third = push_vertex(contact_particles, particles, i[2], weights[2], pushes, grip, rate)
    return add(add(first, second), third)


@steady
def push_vertex(contact_particles, particles, i, weight, pushes, grip, rate):
    """Move a particle by its share, if it has one and can move."""
    w = particles.x[i, 3]
    if w > ZERO and weight > ZERO:
        return push_particle(contact_particles, particles, i, w * weight, pushes, grip, rate)
    return scale(pushes[0], ZERO)


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
    """Apply the push of a contact in the last sweep, or its opposite."""
    rate = ONE / h
    e, b = contacts.item[m], body_shapes.frame[contacts.body_shape[m]]
    i = vertices(items.points[e])
    weights, still = contacts.weights[m], (0.0, 0.0, 0.0)
    start = blend(
        weights,
        particle_previous_position(particles, i[0], h),
        particle_previous_position(particles, i[1], h),
        particle_previous_position(particles, i[2], h),
    )
    start = add(origins.position[particles.origin_index[i[0]]], start)
    along, rubs = scale(contacts.normal[m], sign * contacts.multiplier[m]), scale(contacts.friction_multiplier[m], sign)
    law = combined_surface(contact_particles.surface[i[0]], body_shapes.surface[contacts.body_shape[m]])
    lost = share_push(contact_particles, particles, i, weights, (along, rubs, still), law[1], rate)
    given = sub(add(along, rubs), lost)
    if sign > ZERO:
        contacts.multiplier[m], contacts.friction_multiplier[m] = less_lost(
            contacts.multiplier[m], contacts.friction_multiplier[m], contacts.normal[m], lost
        )
    record_impulse(contacts, m, given, rate)
    apply_reaction(frames, body_sweeps, b, sub(start, frames.x0[b]), given, still, rate)


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
):
    """Begin a substep with the pushes of the last one: what rests is carried before anything is looked at.

    What is not `settled` begins anew: of an element that lay flat on the piece the deepest point went from corner to
    corner, and what stopped an impact is no load. A point that has lost its support gives way more than before, and is
    pushed that much less.
    """
    for m in range(counts.contacts[0]):
        if not contacts.settled[m] or forgets(m, contacts, items, body_shapes, body_sweeps):
            clear_multiplier(contacts, m)
            contacts.settled[m] = True
        if contacts.multiplier[m] > ZERO:
            note_pinch(m, contacts, items, contact_particles, counts.contacts[0], body_shapes, frames, body_sweeps)
            i = vertices(items.points[contacts.item[m]])
            part = vertex_weights(contacts.weights[m], i)
            w, b = inverse_mass_at(particles.x, i, part), body_shapes.frame[contacts.body_shape[m]]
            other = frames.inverse_mass[b]
            supports = supports_of(contact_particles, particles, i, part)
            now, _ = supported_inverse_mass(w, supports, contacts.normal[m], 0.0, other)
            left = min((contacts.along[m] + other) / (now + other), 1.0) if now + other > ZERO else 0.0
            contacts.multiplier[m] *= left
            contacts.friction_multiplier[m] = scale(contacts.friction_multiplier[m], left)
            apply_stored_multiplier(
                1.0, m, contacts, items, contact_particles, particles, origins, body_shapes, frames, body_sweeps, h
            )
