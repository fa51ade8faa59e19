"""Triangles and segments against mesh colliders: a contact for each feature of the mesh that is near.

A triangle touches a mesh between its vertices where a vertex of the mesh lies on it, or where an edge of the mesh
crosses one of its own. Such pairs are listed in its patch of the mesh; a substep takes those that may touch, and each
of them is a contact with its own normal, friction and load:

    C = n . (q - y) - r >= 0           q, y: nearest points of the element and the mesh, r: distance to keep
                                       n: along q - y, in the normal cone of the feature of the mesh

Nearest points are those of now, not of the start of the substep: n turns while a triangle slides over a bump. Where q
went through the surface in this substep, or was inside the solid before, n points back. What touches with a vertex of
the element is left to `shinari.systems.colliders.mesh_particles`.
"""

import numpy as np

from shinari.collision.law import combined_surface
from shinari.compute import Program, kernel, real
from shinari.compute.kernels import STEADY
from shinari.compute.scan import Offsets, Scan
from shinari.maths.function import steady
from shinari.maths.poses import rotate_vector, to_local
from shinari.maths.vec3 import ONE, ZERO, add, dot, neg, norm, reciprocal, scale, sub
from shinari.model.particles import Clock, Particles
from shinari.shapes.kernels.all_distances import is_mesh, is_solid_mesh, mesh_distance
from shinari.shapes.kernels.mesh_distance import MeshFields
from shinari.systems.colliders.collide import TWO, contact_change, place, previous_position, record, surface_of
from shinari.systems.colliders.contact_list import ContactList
from shinari.systems.colliders.element_bounds import some_moved
from shinari.systems.colliders.element_points import (
    AT_VERTEX,
    blend,
    blend_of,
    inverse_mass_at,
    largest_of,
    local_path,
    longest_path,
    move_vertices,
    vertex_weights,
    vertices,
)
from shinari.systems.colliders.mesh_features import MeshFeatures
from shinari.systems.colliders.mesh_patches import (
    WATCHED,
    PairCounts,
    Pairs,
    Patches,
    Sides,
    ask_for_room,
    fill_patch,
    forget_patch,
    is_beyond,
    nearest,
    own_sides,
    plane_of,
    reserve,
    start_patch,
)
from shinari.systems.colliders.records import Colliders, ContactParticles, Contacts, Items, Poses

# Sines of the angle by which a normal may lie outside of a cone: to be a contact, and to take part in the substep.
OUTSIDE, NEARLY_OUTSIDE = np.float32(5e-3), np.float32(0.03)
# Where an element goes farther in a substep than this part of its radius, nearest points are those of each pass.
FAST = np.float32(0.1)
# Pairs that take part are found again where a corner has gone by this part of the distance to keep; and nearest points
# in a pass where a pair has slid by so much.
STILL = SLID = np.float32(0.02)

MeshArguments = tuple[Colliders, Poses, MeshFields]
Moving = tuple[Particles, ContactParticles]


class MeshElements:
    """Contacts of triangles and segments with mesh colliders.

    Args:
        contact_list: Elements and the colliders near them.
        features: Features of the meshes.
        precision: Floating point type.
    """

    def __init__(self, contact_list: ContactList, features: MeshFeatures, precision: type) -> None:
        self._list, self._features = contact_list, features
        points = contact_list.elements.points
        self._sides = Sides(points=points, own=own_sides(points))
        self.patches, self.pairs = Patches.zeros(0, precision), Pairs.zeros(0, precision)
        self._counts, self._flags = PairCounts.zeros(1), Offsets.zeros(1)
        self._scan = Scan(self._flags)

    @property
    def records(self) -> tuple[Patches, Pairs, MeshFeatures]:
        """The patches, their pairs and the features."""
        return self.patches, self.pairs, self._features

    def record_begin(self, p: Program) -> None:
        """A step begins: there are no pairs."""
        p.copy(0, (self._counts.used, 0))

    def record_forget(self, p: Program) -> None:
        """The list of contacts was made anew: all patches are to be found."""
        total = self._list.counts.contacts, 0
        p.require(self.patches, total)
        p.launch(forget_patch, self.patches, count=total)

    def record_refresh(self, p: Program, solids: MeshArguments, moving: Moving, h: float) -> None:
        """Take the pairs that may touch in the substep, and look for patches that are not known any more."""
        colliders, poses, fields = solids
        total, counts, contacts = (self._list.counts.contacts, 0), self._counts, self._list.contacts
        near = self.patches, self.pairs, contacts, self._sides, colliders
        records = *near, poses, fields, self._features, *moving
        p.launch(refresh_patch, *records, h, count=total, grain=64)
        self._scan.make_room(p, total)
        p.launch(ask_for_room, self.patches, self._flags, count=total, grain=1024)
        self._scan.record(p, total)
        p.copy(self._scan.total, (counts.added, 0))
        p.serial(reserve, counts)
        p.require(self.pairs, (counts.used, 0))
        found = fields, self._features, moving[1], self._flags, counts
        p.launch(fill_patch, *near, *found, count=total, grain=64)
        p.launch(take_new_patch, *records, h, count=total, grain=64)

    def record_project(self, p: Program, solids: MeshArguments, moving: Moving, clock: Clock, speed: float) -> None:
        """Solve all pairs once."""
        records = self._list.items, self._list.contacts, self.patches, self.pairs, self._features
        colliders, poses, _ = solids
        starts = self._list.colours.start
        p.launch(project_pairs, *records, colliders, poses, *moving, clock, speed, colours=starts, grain=64)


@steady
def outside_of_cone(features, f, n):
    """Largest sine of the angle by which a direction lies outside of the cone of a feature: 0 at most inside."""
    sine = ZERO * n[0] - ONE
    for each in range(features.wall_start[f], features.wall_start[f + 1]):
        sine = max(sine, dot(n, features.wall[each]))
    return sine


@steady
def side_of(features, f, solid, n, begin, inside, least):
    """1 or -1 for the side of a feature on which an element is, along the unit vector n to it; 0: it is no contact.

    Args:
        features: The features.
        f: The feature.
        solid: Whether the mesh is closed.
        n: Unit vector from the mesh to the element.
        begin: Height of the point along n when the substep began: negative where it went through.
        inside: Whether it was inside then.
        least: By how much a normal may be outside of the cone.
    """
    # of a solid the outer side is known; of a sheet that where the point was
    back = dot(n, features.out[f]) < ZERO if solid else begin < ZERO
    if back and solid and not (begin < ZERO or inside):
        return 0
    sine = outside_of_cone(features, f, neg(n) if back and solid else n)
    if back and not solid:
        sine = min(sine, outside_of_cone(features, f, neg(n)))
    return 0 if sine > least else (-1 if back else 1)


@steady
def take_pairs(m, paths, radius, solid, mesh, patches, pairs, fields, features):
    """Take the pairs of a patch that may touch in the substep, and put them first.

    Args:
        m: The contact.
        paths: Corners now and at the start of the substep, in the axes of the mesh.
        radius: Largest distance that they keep [m].
        solid: Whether the mesh is closed.
        mesh: Its number.
        patches: The patches.
        pairs: Their pairs.
        fields: Distance fields of the meshes.
        features: Features of the meshes.
    """
    ends, begins = paths
    first = patches.first[m]
    seen = patches.seen[m, 0], patches.seen[m, 1], patches.seen[m, 2]
    if not patches.fast[m] and max(longest_path(ends, seen), longest_path(begins, seen)) <= STILL * radius:
        for r in range(first, first + patches.active[m]):
            pairs.normal_correction[r], pairs.friction_correction[r] = ZERO, (ZERO, ZERO, ZERO)
        return
    known = patches.at[m, 0], patches.at[m, 1], patches.at[m, 2]
    gone, displacement = max(longest_path(ends, known), longest_path(begins, known)), longest_path(ends, begins)
    watched, fast, active = WATCHED * radius + TWO * displacement, displacement > FAST * radius, 0
    patches.fast[m] = fast
    patches.seen[m, 0], patches.seen[m, 1], patches.seen[m, 2] = ends
    for r in range(first, first + patches.count[m]):
        if pairs.distance[r] - gone > watched:
            continue
        f, slot, plane = np.int64(pairs.feature[r]), np.int64(pairs.slot[r]), pairs.plane[r]
        if is_beyond(plane, slot, ends, watched):
            continue
        w, y, gap = nearest(slot, features.origin[f], features.along[f], ends)
        distance = norm(gap)
        n = scale(gap, reciprocal(distance))
        if distance > watched:
            pairs.plane[r] = plane_of(features, f, n)
            continue
        start = blend(w, begins[0], begins[1], begins[2])
        begin, inside = dot(n, sub(start, y)), False
        if solid and begin >= ZERO and dot(n, features.out[f]) < ZERO and distance < radius:
            inside = mesh_distance(start, mesh, fields)[0] < ZERO
        side = side_of(features, f, solid, n, begin, inside, NEARLY_OUTSIDE)
        if side == 0 and not fast:
            continue
        # the active ones come first
        other, found = first + active, pairs.distance[r]
        pairs.feature[r], pairs.slot[r] = pairs.feature[other], pairs.slot[other]
        pairs.distance[r], pairs.plane[r] = pairs.distance[other], pairs.plane[other]
        pairs.feature[other], pairs.slot[other], pairs.distance[other] = f, slot, found
        pairs.inside[other] = inside
        pairs.weights[other], pairs.point[other] = w, y
        # a point in front, but outside of the cone, is no contact until it comes near along another direction
        front = dot(n, features.out[f]) >= ZERO if solid else begin >= ZERO
        pairs.plane[other] = plane_of(features, f, n if side == 0 and front else scale(n, np.float32(side)))
        pairs.normal_correction[other], pairs.friction_correction[other] = ZERO, (ZERO, ZERO, ZERO)
        active += 1
    patches.active[m] = active


@kernel(fastmath=STEADY)
def refresh_patch(
    m, patches: Patches, pairs: Pairs, contacts: Contacts, sides: Sides, colliders: Colliders, poses: Poses,
    fields: MeshFields, features: MeshFeatures, particles: Particles, contact_particles: ContactParticles, h: real
):  # fmt: skip
    """A substep begins: take the pairs of a patch, or count those of one that is not known."""
    patches.wanted[m] = -1
    k, e = np.int64(contacts.solid[m]), contacts.item[m]
    if not is_mesh(colliders.kind[k]):
        return
    contacts.normal_correction[m] = ZERO
    i = vertices(sides.points[e])
    travelled = largest_of(contact_particles.travelled, i)
    known, nothing = patches.slack[m] >= ZERO, patches.count[m] == 0
    if known and nothing and not colliders.moves[k] and travelled + patches.travelled[m] <= patches.slack[m]:
        return
    at, mesh = np.int64(particles.origin_index[i[0]]) * len(colliders) + k, np.int64(colliders.size[k, 0])
    ends, begins = local_path(poses.before[at], poses.after[at], particles, i, h)
    half = max(fields.frames[mesh, 5], ZERO)
    radius = largest_of(contact_particles.radius, i) + half
    then = patches.at[m, 0], patches.at[m, 1], patches.at[m, 2]
    if max(longest_path(ends, then), longest_path(begins, then)) <= patches.slack[m]:
        take_pairs(m, (ends, begins), radius, is_solid_mesh(colliders.kind[k]), mesh, patches, pairs, fields, features)
    else:
        patches.half[m], patches.travelled[m] = half, travelled
        own = np.int64(sides.own[e])
        patches.wanted[m] = start_patch(m, ends, begins, WATCHED * radius, own, mesh, patches, fields, features)


@kernel(fastmath=STEADY)
def take_new_patch(
    m, patches: Patches, pairs: Pairs, contacts: Contacts, sides: Sides, colliders: Colliders, poses: Poses,
    fields: MeshFields, features: MeshFeatures, particles: Particles, contact_particles: ContactParticles, h: real
):  # fmt: skip
    """Take the pairs of a patch that was found in this substep."""
    if patches.wanted[m] < 0:
        return
    k, i = np.int64(contacts.solid[m]), vertices(sides.points[contacts.item[m]])
    at, mesh = np.int64(particles.origin_index[i[0]]) * len(colliders) + k, np.int64(colliders.size[k, 0])
    paths, solid = local_path(poses.before[at], poses.after[at], particles, i, h), is_solid_mesh(colliders.kind[k])
    radius = largest_of(contact_particles.radius, i) + patches.half[m]
    take_pairs(m, paths, radius, solid, mesh, patches, pairs, fields, features)


@kernel(fastmath=STEADY)
def project_pairs(
    p, items: Items, contacts: Contacts, patches: Patches, pairs: Pairs, features: MeshFeatures, colliders: Colliders,
    poses: Poses, particles: Particles, contact_particles: ContactParticles, clock: Clock, speed: real
):  # fmt: skip
    """Keep an element off the features of its patches."""
    i, h = vertices(items.points[p]), clock.substep_length[0]
    rate = ONE / h
    if clock.local[0] != 0 and not some_moved(clock, contact_particles.moved_in, i):
        return
    for m in range(items.first[p], items.end[p]):
        if patches.active[m] == 0:
            continue
        k = np.int64(contacts.solid[m])
        at = np.int64(particles.origin_index[i[0]]) * len(colliders) + k
        before, pose = poses.before[at], poses.after[at]
        farthest, corners = largest_of(contact_particles.radius, i) + patches.half[m], corners_in(pose, particles, i)
        for r in range(patches.first[m], patches.first[m] + patches.active[m]):
            plane, slot, old = pairs.plane[r], np.int64(pairs.slot[r]), pairs.normal_correction[r]
            if old <= ZERO and is_beyond(plane, slot, corners, farthest):
                continue
            weights, y, n = pairs.weights[r], pairs.point[r], (plane[0], plane[1], plane[2])
            x = blend(weights, place(particles.x, i[0]), place(particles.x, i[1]), place(particles.x, i[2]))
            end, fast, f = to_local(pose, x), patches.fast[m], np.int64(pairs.feature[r])
            gap, reach = sub(end, y), blend_of(contact_particles.radius, i, weights) + patches.half[m]
            height = dot(n, gap)
            if height >= reach and old <= ZERO and not fast:
                continue
            if fast or norm(sub(gap, scale(n, height))) > SLID * reach:
                # it has slid since these were the nearest points
                ends, begins = local_path(before, pose, particles, i, h)
                solid, inside = is_solid_mesh(colliders.kind[k]), pairs.inside[r]
                weights, y, n, height = touching(f, slot, solid, inside, (ends, begins), features)
                if n[0] == ZERO and n[1] == ZERO and n[2] == ZERO:
                    continue
                end, reach = blend(weights, ends[0], ends[1], ends[2]), \
                    blend_of(contact_particles.radius, i, weights) + patches.half[m]  # fmt: skip
            share = vertex_weights(weights, i)
            w = inverse_mass_at(particles.x, i, share)
            depth = reach - height
            # what touches at a vertex is left to the vertex
            alone = max(share[0], max(share[1], share[2])) > AT_VERTEX
            if (depth <= ZERO and old <= ZERO) or w <= ZERO or alone:
                continue
            starts = (
                previous_position(particles.x, particles.predicted, particles.v, h, i[0]),
                previous_position(particles.x, particles.predicted, particles.v, h, i[1]),
                previous_position(particles.x, particles.predicted, particles.v, h, i[2]),
            )
            start = to_local(before, blend(weights, starts[0], starts[1], starts[2]))
            first = dot(n, sub(start, y))
            law = combined_surface(surface_of(contact_particles, i[0]), colliders.surface[k])
            correction, silent, normal_correction, friction_correction = contact_change(
                n, (depth, max(reach - first, ZERO)), sub(end, start), w, law, (old, pairs.friction_correction[r]),
                (rate * rate, h * speed),
            )  # fmt: skip
            pairs.normal_correction[r], pairs.friction_correction[r] = normal_correction, friction_correction
            pairs.weights[r], pairs.point[r], pairs.plane[r] = weights, y, plane_of(features, f, n)
            correction, silent = rotate_vector(pose, correction), rotate_vector(pose, silent)
            record(contacts.impulse, m, sub(correction, silent), rate / w)
            move_vertices(contact_particles, particles, i, share, w, correction, silent, clock, rate)
            corners = corners_in(pose, particles, i)
            add_to_mean(contacts, m, max(normal_correction - old, ZERO), weights, rotate_vector(pose, n), first - reach)


@steady
def corners_in(pose, particles, i):
    """Vertices of an element now, in the axes of a collider."""
    x = particles.x
    return to_local(pose, place(x, i[0])), to_local(pose, place(x, i[1])), to_local(pose, place(x, i[2]))


@steady
def touching(f, slot, solid, inside, paths, features):
    """Nearest points of an element and a feature now: weights, point of the mesh, normal and height along it [m].

    The normal is 0 where they are no contact.
    """
    ends, begins = paths
    weights, y, gap = nearest(slot, features.origin[f], features.along[f], ends)
    distance = norm(gap)
    n = scale(gap, reciprocal(distance))
    begin = dot(n, sub(blend(weights, begins[0], begins[1], begins[2]), y))
    side = np.float32(side_of(features, f, solid, n, begin, inside, OUTSIDE))
    return weights, y, scale(n, side), side * distance


@steady
def add_to_mean(contacts, m, push, weights, n, gap):
    """The contact of the whole element is the mean of its pairs in the substep, by what they push."""
    before = contacts.normal_correction[m]
    total = before + push
    if total > ZERO:
        part = push / total
        contacts.weights[m] = add(scale(contacts.weights[m], ONE - part), scale(weights, part))
        contacts.normal[m] = add(scale(contacts.normal[m], ONE - part), scale(n, part))
        contacts.gap[m] = max((ONE - part) * contacts.gap[m] + part * gap, ZERO)
        contacts.normal_correction[m] = total
