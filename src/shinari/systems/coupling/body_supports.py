"""Particles that lie on a heavy body, for another one that presses on them or on their triangles and segments.

         ball        |  P      The ball is stopped as by the body beneath the vertices: these give way along that only,
       o-------o     v         and what they are pushed into it, it takes at once,
    ---------------  ^ g
          body                     w(n) = w (1 - (n . g)^2) + wB,      wB: how far the body gives way along g

as on a collider, see `shinari.systems.colliders.supports`. Both bodies are heavy for the particle, which passes on what
it is pressed by. Of two bodies that are near, the lower one is that beneath.

A substep begins with the pushes of bodies beneath, which are the weight of the particles alone; then planes are known,
and what presses on them follows. The plane moves on with its body. The contact of the particle with that counts what
was stopped, for its friction and for the force, until the substep ends: elements press anew in the next one.
"""

import numpy as np

from shinari.collision.law import COMPLIANCE, combined_surface, tangential
from shinari.collision.narrow.fields import BodyFields, Four, distances
from shinari.collision.narrow.pose_records import Vector
from shinari.compute import Kernel, kernel, shared
from shinari.compute.kernels import STEADY
from shinari.compute.once import once
from shinari.maths.function import steady
from shinari.maths.poses import rotate_vector
from shinari.maths.quaternion import rotate, rotate_back
from shinari.maths.vec3 import ZERO, add, dot, norm, scale, sub
from shinari.model.particles import Origins, Particles
from shinari.model.spins import bounded
from shinari.systems.colliders.collide import place
from shinari.systems.colliders.element_points import vertices
from shinari.systems.colliders.supports import BODY, is_on_body, lies_on_ground
from shinari.systems.coupling.heavy_pairs import CARRIES, leaves_support, record_impulse
from shinari.systems.coupling.records import (
    BodyShapeTable,
    ContactParticles,
    Contacts,
    Counts,
    Gravity,
    Items,
)
from shinari.systems.coupling.response import effective_inverse_mass, to_shape_local
from shinari.systems.coupling.stored_pushes import particle_previous_position
from shinari.systems.rigid.frames import Frames

# A particle is near a body up to this part of the distance that it keeps.
NEAR = 0.1
# Sines of slopes that differ by less are the same: the first body of the scene is the one beneath.
SAME = 0.1


@kernel
def forget_body_support(i, contact_particles: ContactParticles, first: int):
    """Bodies are about to be solved: nothing lies on one, but what has stopped a push in this substep."""
    zero, free = ZERO * contact_particles.radius[i], not lies_on_ground(contact_particles, i)
    if free and (first != 0 or not contact_particles.push[i] > ZERO):
        contact_particles.solid[i] = 0
        contact_particles.push[i] = contact_particles.noted_push[i] = zero
        contact_particles.hold[i] = contact_particles.noted_hold[i] = zero, zero, zero
    contact_particles.pressed[i] = False


@once
def find_body_supports(meshes: bool) -> Kernel:
    """Kernel that finds what lies on a heavy body, for scenes with or without meshes."""
    distance_and_normal = distances(meshes)

    @shared(fastmath=STEADY)
    def height(
        body_shapes: BodyShapeTable, fields: BodyFields, k: int, x: Vector, q: Four, point: Vector
    ) -> tuple[float, Vector]:
        """Distance from a piece and normal of that in the world, its frame at x and turned by q."""
        local = to_shape_local(body_shapes, k, x, q, point)
        value, n = distance_and_normal(body_shapes.kind[k], local, body_shapes.size[k], fields)
        return value, rotate(q, rotate_vector(body_shapes.local_pose[k], n))

    @kernel(fastmath=STEADY)
    def find_supports(
        _, counts: Counts, contacts: Contacts, items: Items, contact_particles: ContactParticles, particles: Particles,
        origins: Origins, body_shapes: BodyShapeTable, fields: BodyFields, frames: Frames, gravity: Gravity,
        h: float
    ):  # fmt: skip
        """Find the particles that lie on a heavy body, of the contacts of particles; on the lowest, where two meet."""
        up = scale(gravity.acceleration[0], -1.0)
        for m in range(counts.contacts[0]):
            i, k = items.points[contacts.item[m], 0], contacts.body_shape[m]
            b, law = body_shapes.frame[k], combined_surface(contact_particles.surface[i], body_shapes.surface[k])
            heavy = frames.inverse_mass[b] < CARRIES * contact_particles.average[i]
            held = contact_particles.push[i] > ZERO
            mine = contact_particles.solid[i] == BODY - k
            if heavy and law[COMPLIANCE] <= ZERO and (mine or not held):
                origin, here = origins.position[particles.origin_index[i]], place(particles.x, i)
                path = add(origin, particle_previous_position(particles, i, h)), add(origin, here)
                value, n = height(body_shapes, fields, k, frames.x[b], frames.q[b], path[1])
                before, _ = height(body_shapes, fields, k, frames.x0[b], frames.q0[b], path[0])
                radius = np.float64(contact_particles.radius[i])
                high, before = value - radius, before - radius
                # what has come into the body in this substep it will be kept out of
                low = high - min(max(before, high), 0.0)
                known = contact_particles.solid[i] != 0
                lower = known and dot(up, n) > dot(up, place(contact_particles.normal, i)) + SAME * norm(up)
                if held:
                    # along another normal what it has stopped would not be given back
                    n = place(contact_particles.normal, i)
                    stand_on_body(contact_particles, i, k, sub(path[1], scale(n, low)), body_shapes, frames)
                elif high < NEAR * radius and (not known or lower):
                    contact_particles.solid[i], contact_particles.normal[i] = BODY - k, n
                    contact_particles.grip[i] = law[0]
                    contact_particles.yields[i] = effective_inverse_mass(frames, b, sub(path[1], frames.x[b]), n)
                    stand_on_body(contact_particles, i, k, sub(path[1], scale(n, low)), body_shapes, frames)

    return find_supports


@steady
def stand_on_body(contact_particles, i, k, at, body_shapes, frames):
    """Note the point of piece k that particle i lies on."""
    b = body_shapes.frame[k]
    contact_particles.foot[i] = rotate_back(frames.q[b], sub(at, frames.x[b]))


@kernel
def find_pressed(_, counts: Counts, contacts: Contacts, items: Items, contact_particles: ContactParticles,
                 body_shapes: BodyShapeTable, frames: Frames):  # fmt: skip
    """Find the particles on a body whose elements are near another heavy one, of the contacts of elements."""
    for m in range(counts.contacts[0]):
        i = vertices(items.points[contacts.item[m]])
        if not leaves_support(i, contacts.body_shape[m], contact_particles, body_shapes, frames):
            for c in range(3):
                contact_particles.pressed[i[c]] = True


@kernel
def forget_unpressed(i, contact_particles: ContactParticles):
    """What no heavy body is near on the other side needs no support."""
    idle = not contact_particles.pressed[i] and not contact_particles.push[i] > ZERO
    if idle and is_on_body(contact_particles, i):
        contact_particles.solid[i] = 0


@steady
def add_push(contacts, m, push):
    """Add a push to what contact m has pushed in this substep [kg m]."""
    n = contacts.normal[m]
    contacts.multiplier[m] = max(contacts.multiplier[m] + dot(n, push), 0.0)
    contacts.friction_multiplier[m] = add(contacts.friction_multiplier[m], tangential(push, n))


@kernel(fastmath=STEADY)
def count_stopped(
    _, counts: Counts, contacts: Contacts, items: Items, contact_particles: ContactParticles, particles: Particles,
    rate: float
):  # fmt: skip
    """Enter what bodies have stopped since the last time into their contacts."""
    for m in range(counts.contacts[0]):
        i = items.points[contacts.item[m], 0]
        push, hold = contact_particles.push[i], contact_particles.hold[i]
        fresh = push - contact_particles.noted_push[i]
        along = sub(hold, contact_particles.noted_hold[i])
        on_it = contact_particles.solid[i] == BODY - contacts.body_shape[m]
        if on_it and (fresh != ZERO or dot(along, along) > ZERO):
            stopped = scale(add(scale(contact_particles.normal[i], fresh), along), 1.0 / particles.x[i, 3])
            contact_particles.noted_push[i], contact_particles.noted_hold[i] = push, hold
            add_push(contacts, m, stopped)
            record_impulse(contacts, m, stopped, rate)


@kernel(fastmath=STEADY)
def forget_passed(
    _, counts: Counts, contacts: Contacts, items: Items, contact_particles: ContactParticles, particles: Particles
):
    """A substep ends: elements will press anew in the next one, and what their bodies stop is not to be kept twice."""
    for m in range(counts.contacts[0]):
        i, w = items.points[contacts.item[m], 0], np.float64(particles.x[items.points[contacts.item[m], 0], 3])
        if contact_particles.solid[i] == BODY - contacts.body_shape[m] and w > 0.0:
            stopped = scale(contact_particles.normal[i], contact_particles.noted_push[i])
            add_push(contacts, m, scale(add(stopped, contact_particles.noted_hold[i]), -1.0 / w))
            most = np.float64(contact_particles.grip[i]) * contacts.multiplier[m]
            contacts.friction_multiplier[m] = bounded(contacts.friction_multiplier[m], most)
