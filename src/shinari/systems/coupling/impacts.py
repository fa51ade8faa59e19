"""Which contacts stop an impact: their pushes are no load, and do not go on to the next substep.

It is one where a body comes nearer to what an item lies on, or to the body on the other side of it, by more than
gravity brings it in a substep, or where the item came from farther. How fast bodies come is told by the velocities with
which the substep begins: what joints and contacts are expected to answer is no impact.
"""

from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import ZERO, add, dot, reciprocal, scale, sub
from shinari.model.particles import Origins, Particles
from shinari.systems.colliders.collide import place
from shinari.systems.colliders.element_points import blend, inverse_mass_at, vertex_weights, vertices
from shinari.systems.colliders.supports import BODY, is_on_body
from shinari.systems.coupling.heavy_pairs import opposite_of
from shinari.systems.coupling.records import (
    BodyShapeTable,
    BodySweeps,
    ContactParticles,
    Contacts,
    Counts,
    Items,
)
from shinari.systems.coupling.response import start_velocity
from shinari.systems.rigid.frames import Frames

# An item lies on something where that leaves it less than this part of its inverse mass along the normal.
SUPPORTED = 0.5


@steady
def with_support(contact_particles, i, part, motions):
    """Mean of the motions of what the vertices of a point lie on [m], of those that lie on anything."""
    first = part[0] if contact_particles.solid[i[0]] != 0 else 0.0 * part[0]
    second = part[1] if contact_particles.solid[i[1]] != 0 else 0.0 * part[1]
    third = part[2] if contact_particles.solid[i[2]] != 0 else 0.0 * part[2]
    total = add(add(scale(motions[0], first), scale(motions[1], second)), scale(motions[2], third))
    return scale(total, reciprocal(first + second + third))


@steady
def ground_motion(contact_particles, i, part):
    """Displacement in the substep of what a point lies on [m]."""
    motion = contact_particles.motion
    motions = place(motion, i[0]), place(motion, i[1]), place(motion, i[2])
    return with_support(contact_particles, i, part, motions)


@steady
def carried(frames, body_sweeps, b, point, h):
    """Displacement of a point of a body in the substep at the velocity at its start [m]."""
    return scale(start_velocity(body_sweeps, b, sub(point, frames.x0[b])), h)


@steady
def carried_below(contact_particles, bodies, i, point, h):
    """Displacement in the substep of what particle i lies on; of a body, at the velocity at its start [m]."""
    _, _, body_shapes, frames, body_sweeps = bodies
    motion = place(contact_particles.motion, i)
    if is_on_body(contact_particles, i):
        motion = carried(frames, body_sweeps, body_shapes.frame[BODY - contact_particles.solid[i]], point, h)
    return motion


@kernel(fastmath=STEADY)
def forget_impacts(
    _, counts: Counts, contacts: Contacts, items: Items, contact_particles: ContactParticles, particles: Particles,
    origins: Origins, body_shapes: BodyShapeTable, frames: Frames, body_sweeps: BodySweeps, h: float, slow: float
):  # fmt: skip
    """A substep ends: the pushes of contacts that stop an impact do not go on, nor those on the other side of an item.

    It is one beyond a displacement of `slow` [m].
    """
    bodies = particles, origins, body_shapes, frames, body_sweeps
    for m in range(counts.contacts[0]):
        if contacts.multiplier[m] <= ZERO:
            continue
        i, b = vertices(items.points[contacts.item[m]]), body_shapes.frame[contacts.body_shape[m]]
        part = vertex_weights(contacts.weights[m], i)
        supported = contacts.along[m] < SUPPORTED * inverse_mass_at(particles.x, i, part)
        across = -1
        if i[0] == i[1]:
            across = opposite_of(contacts, m, counts.contacts[0], body_shapes, frames, contact_particles, i[0])[0]
        if supported or across >= 0:
            now = blend(part, place(particles.x, i[0]), place(particles.x, i[1]), place(particles.x, i[2]))
            point, gap = add(origins.position[particles.origin_index[i[0]]], now), contacts.gap[m]
            comes = carried(frames, body_sweeps, b, point, h)
            if supported:
                motions = (
                    carried_below(contact_particles, bodies, i[0], point, h),
                    carried_below(contact_particles, bodies, i[1], point, h),
                    carried_below(contact_particles, bodies, i[2], point, h),
                )
                comes = sub(comes, with_support(contact_particles, i, part, motions))
            else:
                there = body_shapes.frame[contacts.body_shape[across]]
                comes = sub(comes, carried(frames, body_sweeps, there, point, h))
                gap = max(gap, contacts.gap[across])
            if gap > slow or dot(contacts.normal[m], comes) > slow:
                contacts.settled[m] = False
                if across >= 0:
                    contacts.settled[across] = False
