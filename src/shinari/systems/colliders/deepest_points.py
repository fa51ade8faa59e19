"""Contacts of elements with colliders at their deepest points, which are kept from one search to the next.

A search for the deepest point of a triangle tells more than where it touches: a convex solid lies behind the plane that
touches it there. While the vertices have moved with that point, but for a small part of the distance to keep, it is
still the deepest one, and the solid is its plane. An element that was apart from the solid is so while it is apart from
the plane. Where an element goes far in a substep its path is searched each time.
"""

import numpy as np

from shinari.collision.law import combined_surface
from shinari.compute import Field, Kernel, Record, kernel, real
from shinari.compute.kernels import STEADY
from shinari.compute.once import once
from shinari.maths.function import steady
from shinari.maths.poses import rotate_vector, rotate_vector_back, to_local, to_world
from shinari.maths.vec3 import ONE, ZERO, dot, norm, scale, sub
from shinari.model.particles import Clock, Particles
from shinari.shapes.kernels.all_distances import is_mesh
from shinari.shapes.kernels.dispatch import distance_and_normal
from shinari.shapes.kernels.mesh_distance import MeshFields
from shinari.shapes.registry import LAST_CONVEX
from shinari.systems.colliders.collide import (
    contact_change,
    place,
    previous_position,
    record,
    remember,
    response,
    surface_of,
)
from shinari.systems.colliders.elements import (
    AT_VERTEX,
    ROUNDS,
    SMALL,
    THIRD,
    blend,
    blend_of,
    deepest,
    inverse_mass_at,
    largest_of,
    least_of,
    local_path,
    longest_path,
    move_vertices,
    some_moved,
    vertex_weights,
    vertices,
)
from shinari.systems.colliders.records import Colliders, ContactParticles, Contacts, Items, Poses

# What a search has found.
UNKNOWN, NEAR, APART = 0, 1, 2
# Parts of the radius: how far a vertex may move otherwise than the deepest point, and go in a substep without a search.
SLID, FAST = np.float32(0.02), np.float32(0.5)


class DeepestPoints(Record):
    """What the last searches have found; a row for each contact of the list."""

    known = Field(np.int64, doc="UNKNOWN, NEAR or APART")
    vertices = Field(real, (3, 3), unit="m", doc="where the vertices were, relative to their origin")
    normal = Field(real, 3, doc="normal of the solid at the deepest point, world axes")
    height = Field(real, unit="m", doc="distance of the deepest point; APART: least gap of the element to the plane")


@kernel
def forget_deepest(m, found: DeepestPoints):
    """The list of contacts was made anew."""
    found.known[m] = UNKNOWN


@steady
def keep_deepest(found, m, known, x, n, height):
    """Keep what a search has found of an element with its vertices at x."""
    found.known[m], found.normal[m], found.height[m] = known, n, height
    found.vertices[m, 0], found.vertices[m, 1], found.vertices[m, 2] = x


@steady
def moved_since(found, m, x):
    """Displacements of the vertices since the search."""
    return (
        sub(x[0], found.vertices[m, 0]),
        sub(x[1], found.vertices[m, 1]),
        sub(x[2], found.vertices[m, 2]),
    )


@steady
def largest_square(moved):
    """Square of the longest of three vectors."""
    return max(dot(moved[0], moved[0]), max(dot(moved[1], moved[1]), dot(moved[2], moved[2])))


@steady
def least_rise(n, moved):
    """How far three points have moved along a normal, at least."""
    return min(dot(n, moved[0]), min(dot(n, moved[1]), dot(n, moved[2])))


@steady
def along_normal(weights, moved, n):
    """How far a point of an element has moved along a normal, and the vertices less that."""
    a, b, c = moved
    along = dot(n, blend(weights, a, b, c))
    rise = scale(n, along)
    return along, (sub(a, rise), sub(b, rise), sub(c, rise))


@steady
def start_in_end_axes(before, after, moves, particles, i, h):
    """Where a vertex was at the start of the substep, carried along by a solid that moves."""
    start = previous_position(particles.x, particles.predicted, particles.v, h, i)
    return to_world(after, to_local(before, start)) if moves else start


@steady
def is_far(contacts, found, m, far, first, moves):
    """Whether an element cannot touch after it has gone so far; the first pass of a substep begins its contact."""
    if first:
        contacts.normal_correction[m], contacts.friction_correction[m] = ZERO, (ZERO, ZERO, ZERO)
        found.known[m] = UNKNOWN if moves else found.known[m]
        # a search must not depend on when an element was passed over
        if found.known[m] != NEAR:
            contacts.weights[m] = THIRD, THIRD, THIRD
    return far < contacts.bound[m]


@steady
def rests_apart(found, m, x, stride):
    """Whether an element that was apart from a solid cannot have come to it."""
    return found.height[m] + least_rise(found.normal[m], moved_since(found, m, x)) >= stride


@steady
def follow_last_search(m, i, k, solid, limits, found, contacts, colliders, moving, clock):
    """Keep an element out of a solid by what the last search has found; whether that was possible.

    Args:
        m: The contact.
        i: Particles.
        k: The solid.
        solid: Its poses at the start and at the end of the substep.
        limits: 1 / h^2, and how far what was inside comes out at most [m].
        found: What the last searches have found.
        contacts: Contacts.
        colliders: Colliders.
        moving: Particles, and what contacts know of them.
        clock: Where the step is.
    """
    particles, contact_particles = moving
    stride, x = largest_of(contact_particles.displacement, i), places_of(particles, i)
    if found.known[m] == APART:
        return rests_apart(found, m, x, stride)
    radius = least_of(contact_particles.radius, i)
    if found.known[m] != NEAR or stride > FAST * radius:
        return False
    along, off = along_normal(contacts.weights[m], moved_since(found, m, x), found.normal[m])
    holds = largest_square(off) <= SLID * SLID * radius * radius
    if holds:
        height = found.height[m] + along
        follow_plane(m, i, k, height, solid, limits, found, contacts, colliders, moving, clock)
    return holds


@steady
def follow_plane(m, i, k, height, solid, limits, found, contacts, colliders, moving, clock):
    """Keep the deepest point of an element at a height [m] out of the plane of a solid."""
    particles, contact_particles = moving
    share, n, old = vertex_weights(contacts.weights[m], i), found.normal[m], contacts.normal_correction[m]
    w, depth = inverse_mass_at(particles.x, i, share), blend_of(contact_particles.radius, i, share) - height
    # what touches at a vertex is left to the vertex
    alone = max(share[0], max(share[1], share[2])) > AT_VERTEX
    if (depth > ZERO or old > ZERO) and w > ZERO and not alone:
        h, x, (before, after) = clock.substep_length[0], places_of(particles, i), solid
        moves, law = colliders.moves[k], combined_surface(surface_of(contact_particles, i[0]), colliders.surface[k])
        displacement = blend(
            share,
            sub(x[0], start_in_end_axes(before, after, moves, particles, i[0], h)),
            sub(x[1], start_in_end_axes(before, after, moves, particles, i[1], h)),
            sub(x[2], start_in_end_axes(before, after, moves, particles, i[2], h)),
        )
        overlap = depth + dot(n, displacement)
        correction, silent, normal_correction, friction_correction = contact_change(
            n, (depth, max(overlap, ZERO)), displacement, w, law, (old, contacts.friction_correction[m]), limits
        )
        rate = ONE / h
        remember(contacts, m, normal_correction, friction_correction, n, max(-overlap, ZERO))
        record(contacts.impulse, m, sub(correction, silent), rate / w)
        move_vertices(contact_particles, particles, i, share, w, correction, silent, clock, rate)


@steady
def knowledge(kind, near, late, slow, apart):
    """What is known of an element after a search: nothing where its path has to be searched again."""
    if kind > LAST_CONVEX or late:
        return UNKNOWN
    if near:
        return NEAR if slow else UNKNOWN
    return APART if apart else UNKNOWN


@once
def project_elements() -> Kernel:
    """Kernel that keeps the deepest points of an element out of the colliders near it; as `project_particles`.

    A contact keeps the weights of the point, from which the next search in the same substep starts. Meshes are left to
    `shinari.systems.colliders.mesh_elements`.
    """
    respond_to_solid = response(False)

    @kernel(fastmath=STEADY)
    def project_element(
        p, items: Items, contacts: Contacts, colliders: Colliders, poses: Poses, fields: MeshFields,
        particles: Particles, contact_particles: ContactParticles, found: DeepestPoints, clock: Clock, speed: real,
    ):  # fmt: skip
        h = clock.substep_length[0]
        rate = ONE / h
        i = vertices(items.points[p])
        if clock.local[0] != 0 and not some_moved(clock, contact_particles.moved_in, i):
            return
        row = np.int64(particles.origin_index[i[0]]) * len(colliders)
        for m in range(items.first[p], items.end[p]):
            k = np.int64(contacts.solid[m])
            far, moves = largest_of(contact_particles.travelled, i), colliders.moves[k]
            if is_mesh(colliders.kind[k]) or is_far(contacts, found, m, far, clock.first[0] != 0, moves):
                continue
            before, pose, limits = poses.before[row + k], poses.after[row + k], (rate * rate, h * speed)
            moving = particles, contact_particles
            if follow_last_search(m, i, k, (before, pose), limits, found, contacts, colliders, moving, clock):
                continue
            kind, s, radius = colliders.kind[k], colliders.size[k], least_of(contact_particles.radius, i)
            law = combined_surface(surface_of(contact_particles, i[0]), colliders.surface[k])
            for again in range(ROUNDS):
                ends, begins = local_path(before, pose, particles, i, h)
                largest_displacement = (
                    longest_path(ends, begins) if moves else largest_of(contact_particles.displacement, i)
                )
                near, late, low, height, n, b = deepest(
                    distance_and_normal, kind, s, (), contacts.weights[m], radius, largest_displacement, again == 0,
                    ends, begins,
                )  # fmt: skip
                contacts.bound[m] = -ONE if near or again > 0 or moves else low - far
                slow = largest_displacement <= FAST * radius
                known = knowledge(kind, near, late, slow, again == 0 and not moves)
                keep_deepest(found, m, known, places_of(particles, i), rotate_vector(pose, n), height)
                share = vertex_weights(b, i)
                w = inverse_mass_at(particles.x, i, share)
                if again == 0:
                    contacts.weights[m] = b
                if not near or w <= ZERO:
                    break
                # what touches at a vertex is left to the vertex
                touches = max(share[0], max(share[1], share[2])) <= AT_VERTEX
                if touches:
                    contacts.weights[m] = b
                    reach = blend_of(contact_particles.radius, i, share)
                    touches, correction, silent, n, normal_correction, friction_correction, gap = respond_to_solid(
                        kind,
                        s,
                        fields,
                        blend(b, begins[0], begins[1], begins[2]),
                        blend(b, ends[0], ends[1], ends[2]),
                        reach,
                        w,
                        law,
                        contacts.normal_correction[m],
                        rotate_vector_back(pose, contacts.friction_correction[m]),
                        limits,
                    )
                if touches:
                    remember(
                        contacts,
                        m,
                        normal_correction,
                        rotate_vector(pose, friction_correction),
                        rotate_vector(pose, n),
                        gap,
                    )
                    correction, silent = rotate_vector(pose, correction), rotate_vector(pose, silent)
                    record(contacts.impulse, m, sub(correction, silent), rate / w)
                    move_vertices(contact_particles, particles, i, share, w, correction, silent, clock, rate)
                if not late and (not touches or norm(correction) <= SMALL * reach):
                    break

    return project_element


@steady
def places_of(particles, i):
    """Positions of three particles."""
    return place(particles.x, i[0]), place(particles.x, i[1]), place(particles.x, i[2])
