"""Particles against mesh colliders.

As `shinari.systems.colliders.collide`, with fewer looks for the nearest triangle: where a particle has hardly moved
since the last look of the substep, the surface there is a plane; and a particle whose displacement is short, and less
than its distance from the surface, has not gone through it: its path needs no search.
"""

import numpy as np

from shinari.collision.law import combined_surface
from shinari.compute import Field, Record, kernel, real
from shinari.compute.kernels import STEADY
from shinari.maths.poses import rotate_vector, rotate_vector_back, to_local
from shinari.maths.vec3 import ONE, ZERO, dot, norm, sub
from shinari.model.contact_passes import was_moved
from shinari.model.particles import Clock, Particles
from shinari.shapes.kernels.all_distances import is_mesh, mesh_distance
from shinari.shapes.kernels.mesh_distance import MeshFields
from shinari.systems.colliders.collide import (
    apply_correction,
    contact_change,
    place,
    previous_position,
    record,
    remember,
    response,
    slack,
    surface_of,
)
from shinari.systems.colliders.records import Colliders, ContactParticles, Contacts, Items, Poses
from shinari.systems.colliders.supports import Supports, lie_on, take_push

# Parts of its radius: how far a particle may go from where it looked, and in a substep without a search of its path.
STILL, SLOW = np.float32(0.01), np.float32(0.05)
respond_to_solid = response(True)


class Looks(Record):
    """The last looks of particles for the nearest triangles of meshes; a row for each contact of the list."""

    known = Field(np.bool_, doc="whether there was one in this substep")
    at = Field(real, 3, unit="m", doc="position then, in the axes of the mesh")
    normal = Field(real, 3, doc="normal there, in these axes")
    distance = Field(real, unit="m", doc="distance there")


@kernel
def forget_look(m, looks: Looks):
    """The list of contacts was made anew."""
    looks.known[m] = False


@kernel(fastmath=STEADY)
def project_mesh_particle(
    p, items: Items, contacts: Contacts, colliders: Colliders, poses: Poses, fields: MeshFields, particles: Particles,
    contact_particles: ContactParticles, supports: Supports, looks: Looks, clock: Clock, speed: real
):  # fmt: skip
    """Keep a particle out of the meshes near it; scalar as that of `project_particles`."""
    h = clock.substep_length[0]
    rate = ONE / h
    i = np.int64(items.item[p])
    if clock.local[0] != 0 and not was_moved(clock, contact_particles.moved_in, i):
        return
    w, row = particles.x[i, 3], np.int64(particles.origin_index[i]) * len(colliders)
    for m in range(items.first[p], items.end[p]):
        k = np.int64(contacts.solid[m])
        if not is_mesh(colliders.kind[k]):
            continue
        if clock.first[0] != 0:
            contacts.normal_correction[m], contacts.friction_correction[m] = ZERO, (ZERO, ZERO, ZERO)
            looks.known[m] = False
        if contact_particles.path[i] < contacts.bound[m]:
            continue
        take_push(supports, contacts, m, i, rate / w)
        pose, radius = poses.after[row + k], contact_particles.radius[i]
        a = to_local(poses.before[row + k], previous_position(particles.x, particles.predicted, particles.v, h, i))
        b = to_local(pose, place(particles.x, i))
        old = contacts.normal_correction[m], rotate_vector_back(pose, contacts.friction_correction[m])
        law = combined_surface(surface_of(contact_particles, i), colliders.surface[k])
        limits = rate * rate, h * speed
        step, n, value = sub(b, looks.at[m]), looks.normal[m], looks.distance[m]
        if looks.known[m] and norm(step) <= STILL * radius:
            value = value + dot(n, step)
        else:
            value, n = mesh_distance(b, np.int64(colliders.size[k, 0]), fields)
            looks.known[m], looks.at[m] = True, b
            looks.normal[m], looks.distance[m] = n, value
        displacement = sub(b, a)
        length, depth = norm(displacement), radius - value
        before = max(depth + dot(n, displacement), ZERO)
        touches, gap = depth > ZERO or old[0] > ZERO, max(-depth - dot(n, displacement), ZERO)
        if length < -depth:
            touches, gap = False, -depth
        elif length <= SLOW * radius and length < value:
            if touches:
                correction, silent, normal_correction, friction_correction = contact_change(
                    n, (depth, before), displacement, w, law, old, limits
                )
            else:
                gap = -depth
        else:
            touches, correction, silent, n, normal_correction, friction_correction, gap = respond_to_solid(
                colliders.kind[k], colliders.size[k], fields, a, b, radius, w, law, old[0], old[1], limits
            )
        apart = slack(gap, radius, length)
        contacts.bound[m] = -ONE if colliders.moves[k] or touches else contact_particles.path[i] + apart
        if not touches:
            continue
        remember(contacts, m, normal_correction, rotate_vector(pose, friction_correction), rotate_vector(pose, n), gap)
        correction, silent = rotate_vector(pose, correction), rotate_vector(pose, silent)
        apply_correction(contact_particles, particles, i, ONE, correction, silent, clock, rate)
        record(contacts.impulse, m, sub(correction, silent), rate / w)
        # along the normal alone: it may be another one from vertex to vertex, and friction would tie what they hold
        lie_on(
            supports,
            i,
            k,
            rotate_vector(pose, n),
            particles.x,
            (ZERO, ZERO, ZERO, law[3]),
            (poses.before[row + k], pose),
        )
