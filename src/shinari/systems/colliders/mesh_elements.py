"""Triangles and segments against mesh colliders: a contact for each feature of the mesh that is near.

A triangle touches a mesh between its vertices where a vertex of the mesh lies on it, or where an edge of the mesh
crosses one of its own. Such pairs are candidates while the triangle stays near where they were found, its patch of the
mesh; a substep takes those that may touch, and each of them is a contact with its own normal, friction and load.

    mesh vertex v, triangle a b c      y = v,               q the nearest point of the triangle
    mesh edge, edge a b                y, q                 the nearest points of both

    C = n . (q - y) - r >= 0           n along q - y, in the normal cone of the feature of the mesh

Nearest points are those of now, not of the start of the substep: n turns while a triangle slides over a bump. Where q
went through the surface in this substep, or is inside the solid, n points back.
"""

import numpy as np

from shinari.collision.law import combined_surface
from shinari.compute import Field, Program, Record, kernel, real, shared
from shinari.compute.kernels import STEADY
from shinari.compute.scan import Offsets, Scan
from shinari.geometry.proximity import segment_weights, triangle_weights
from shinari.maths.function import steady
from shinari.maths.poses import rotate_vector, to_local
from shinari.maths.vec3 import ONE, ZERO, add, dot, neg, norm, reciprocal, scale, sub
from shinari.model.particles import Particles
from shinari.shapes.kernels.all_distances import mesh_distance
from shinari.shapes.kernels.mesh_distance import MeshFields
from shinari.shapes.mesh import MESH
from shinari.systems.colliders.collide import contact_change, is_mesh, place, previous_position, record
from shinari.systems.colliders.contact_list import ContactList
from shinari.systems.colliders.elements import (
    AT_VERTEX,
    THIRD,
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
from shinari.systems.colliders.records import Colliders, ContactParticles, Contacts, Elements, Items, Poses

# How far an element may go, in its own size, before its patch is looked for again.
SLACK = np.float32(0.3)
# The same where nothing is near, as a multiple.
WIDE = np.float32(8.0)
# A pair takes part in a substep when it is nearer than this times the distance to keep, or may come so near.
WATCHED = np.float32(1.05)
# Sines of the angle by which a normal may lie outside of a cone: to be a contact, and to take part in the substep.
OUTSIDE, NEARLY_OUTSIDE = np.float32(5e-3), np.float32(0.03)
# Where an element goes farther in a substep than this part of its radius, nearest points are those of each pass.
FAST = np.float32(0.1)
# Pairs that take part are found again where a corner has gone by this part of the distance to keep.
STILL = np.float32(0.02)
# A pair is looked at again in a substep when it has slid by this part of the distance to keep.
SLID = np.float32(0.02)
# Slot of a pair: the edge of the element, or the whole triangle.
TRIANGLE = 3
SPARE = 4


class OwnSides(Record):
    """Elements, in the order of their list."""

    sides = Field(np.uint8, doc="which edges are theirs and not of an element before: bits 0 (ab), 1 (bc), 2 (ca)")


class Patches(Record):
    """The part of a mesh that is near an element; a row for each contact of the list of elements."""

    at = Field(real, (3, 3), unit="m", doc="corners when it was found, in the axes of the mesh")
    slack = Field(real, unit="m", doc="how far the corners may go from there; negative: not found yet")
    travelled = Field(real, unit="m", doc="how far its particles had gone since the detection when it was found")
    seen = Field(real, (3, 3), unit="m", doc="corners when the pairs that take part were found, in these axes")
    still = Field(np.bool_, doc="whether they have hardly gone from there")
    first = Field(np.int64, doc="first of its pairs")
    room = Field(np.int64, doc="pairs that there is room for")
    count = Field(np.int64, doc="pairs")
    fast = Field(np.bool_, doc="whether its nearest points are to be found in each pass")
    active = Field(np.int64, doc="pairs that take part in this substep, the first ones")
    wanted = Field(np.int64, doc="most pairs that may be found now; negative: none are looked for")
    free = Field(real, unit="m", doc="distance of the whole element from the mesh, or less, beyond what it keeps")
    half = Field(real, unit="m", doc="half of the thickness of a mesh that is a sheet")


class Pairs(Record):
    """Pairs of an element, or an edge of it, and a feature of a mesh."""

    feature = Field(np.uint32)
    slot = Field(np.uint8, doc="edge of the element, or TRIANGLE")
    distance = Field(real, unit="m", doc="when it was found")
    inside = Field(np.bool_, doc="whether the point of the element was inside a solid when the substep began")
    weights = Field(real, 3, doc="weights of the point of the element that touches")
    point = Field(real, 3, unit="m", doc="point of the mesh that it touches, in the axes of the mesh")
    normal = Field(real, 3, doc="in these axes; 0 where it is not known")
    normal_correction = Field(real, unit="m", doc="displacement along the normal so far in this substep")
    friction_correction = Field(real, 3, unit="m", doc="displacement by friction so far, axes of the mesh")


class PairCounts(Record):
    """One row."""

    used = Field(np.int64, doc="rows of the pairs in use")
    before = Field(np.int64, doc="the same before those that are found now")
    added = Field(np.int64, doc="rows for those that are found now")


def own_sides(elements: np.ndarray) -> np.ndarray:
    """Bits of the edges that belong to each element (E, 3), (E,) uint8."""
    sides = np.stack([elements, np.roll(elements, -1, axis=1)], axis=2).reshape(-1, 2).astype(np.int64)
    low, high = sides.min(axis=1), sides.max(axis=1)
    _, first = np.unique(low << 32 | high, return_index=True)
    own = np.zeros(len(sides), np.uint8)
    own[first] = 1
    own[low == high] = 0
    return (own.reshape(-1, 3) * np.array([1, 2, 4], np.uint8)).sum(axis=1, dtype=np.uint8)


class MeshElements:
    """Contacts of triangles and segments with mesh colliders.

    Args:
        contact_list: Elements and the colliders near them.
        features: Features of the meshes.
        precision: Floating point type.
    """

    def __init__(self, contact_list: ContactList, features: MeshFeatures, precision: type) -> None:
        self._list, self._features = contact_list, features
        self._sides = OwnSides(sides=own_sides(contact_list.elements.points))
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

    def record_refresh(self, p: Program, solids: tuple[Record, ...], moving: tuple[Record, ...], h: float) -> None:
        """Find the patches that are not known, and the pairs that take part."""
        total, contacts = (self._list.counts.contacts, 0), self._list.contacts
        colliders, poses, fields = solids
        near = self.patches, contacts, self._list.elements, colliders, poses, fields
        p.launch(check_patch, *near, self._features, *moving, self._sides, h, count=total, grain=64)
        self._scan.make_room(p, total)
        p.launch(ask_for_room, self.patches, self._flags, count=total, grain=1024)
        self._scan.record(p, total)
        p.copy(self._scan.total, (self._counts.added, 0))
        p.serial(reserve, self._counts)
        p.require(self.pairs, (self._counts.used, 0))
        p.launch(
            fill_patch, self.patches, self.pairs, contacts, colliders, fields, self._features, self._sides,
            moving[1], self._list.elements, self._flags, self._counts, count=total, grain=64
        )  # fmt: skip
        p.launch(
            refresh_patch, self.patches, self.pairs, contacts, self._list.elements, colliders, poses, fields,
            self._features, *moving, h, count=total, grain=64
        )  # fmt: skip

    def record_project(
        self, p: Program, solids: tuple[Record, ...], moving: tuple[Record, ...], h: float, speed: float
    ) -> None:
        """Solve all pairs once."""
        records = self._list.items, self._list.contacts, self.patches, self.pairs, self._features
        colliders, poses, _ = solids
        starts = self._list.colours.start
        p.launch(project_pairs, *records, colliders, poses, *moving, h, speed, colours=starts, grain=64)


@kernel
def forget_patch(m, patches: Patches):
    """A patch of a list that was made anew is not known."""
    patches.slack[m], patches.room[m], patches.count[m], patches.active[m] = np.float32(-1.0), 0, 0, 0
    patches.wanted[m], patches.fast[m] = -1, True


@steady
def box_around(points, reach):
    """Corners of the box around a triangle that is thickened."""
    a, b, c = points
    low = (
        min(a[0], min(b[0], c[0])) - reach,
        min(a[1], min(b[1], c[1])) - reach,
        min(a[2], min(b[2], c[2])) - reach,
    )
    high = (
        max(a[0], max(b[0], c[0])) + reach,
        max(a[1], max(b[1], c[1])) + reach,
        max(a[2], max(b[2], c[2])) + reach,
    )
    return low, high


@steady
def overlaps_node(low, high, i, boxes):
    """Whether a box overlaps a node."""
    return (
        boxes[i, 0] <= high[0]
        and boxes[i, 1] <= high[1]
        and boxes[i, 2] <= high[2]
        and boxes[i, 3] >= low[0]
        and boxes[i, 4] >= low[1]
        and boxes[i, 5] >= low[2]
    )


@steady
def overlaps_feature(low, high, o, u):
    """Whether a box overlaps that of an edge, or a vertex."""
    return (
        o[0] + min(u[0], ZERO) <= high[0]
        and o[1] + min(u[1], ZERO) <= high[1]
        and o[2] + min(u[2], ZERO) <= high[2]
        and o[0] + max(u[0], ZERO) >= low[0]
        and o[1] + max(u[1], ZERO) >= low[1]
        and o[2] + max(u[2], ZERO) >= low[2]
    )


@steady
def is_vertex(u):
    """Whether a feature without an edge: a vertex."""
    return u[0] == ZERO and u[1] == ZERO and u[2] == ZERO


@steady
def is_near(low, high, mesh, fields):
    """Whether a box overlaps a leaf of the tree of a mesh."""
    node, end, near = np.int64(fields.extents[mesh, 4]), np.int64(fields.extents[mesh, 5]), False
    while node < end:
        following = np.int64(fields.links[node, 0])
        if overlaps_node(low, high, node, fields.boxes):
            following = node + 1
            near = fields.links[node, 2] > fields.links[node, 1]
            following = end if near else following
        node = following
    return near


@kernel(fastmath=STEADY)
def check_patch(
    m, patches: Patches, contacts: Contacts, elements: Elements, colliders: Colliders, poses: Poses,
    fields: MeshFields, features: MeshFeatures, particles: Particles, contact_particles: ContactParticles,
    sides: OwnSides, h: real
):  # fmt: skip
    """See whether a patch is to be looked for, and how many pairs there can be."""
    patches.wanted[m] = -1
    k, e = np.int64(contacts.solid[m]), contacts.item[m]
    kind = colliders.kind[k]
    if not is_mesh(kind):
        return
    i = vertices(elements.points[e])
    travelled = largest_of(contact_particles.travelled, i)
    patches.still[m] = patches.slack[m] >= ZERO and patches.count[m] == 0
    if patches.still[m] and not colliders.moves[k] and travelled + patches.travelled[m] <= patches.slack[m]:
        return
    at = np.int64(particles.origin_index[i[0]]) * len(colliders) + k
    ends, begins = local_path(poses.before[at], poses.after[at], particles, i, h)
    known = patches.at[m, 0], patches.at[m, 1], patches.at[m, 2]
    if max(longest_path(ends, known), longest_path(begins, known)) <= patches.slack[m]:
        seen = patches.seen[m, 0], patches.seen[m, 1], patches.seen[m, 2]
        gone = max(longest_path(ends, seen), longest_path(begins, seen))
        patches.still[m] = gone <= STILL * largest_of(contact_particles.radius, i) and not patches.fast[m]
        return
    patches.still[m], patches.fast[m], patches.travelled[m] = False, True, travelled
    mesh = np.int64(colliders.size[k, 0])
    half = max(fields.frames[mesh, 5], ZERO)
    patches.at[m, 0], patches.at[m, 1], patches.at[m, 2] = ends
    patches.half[m], patches.free[m] = half, np.float32(-1.0)
    patches.count[m] = patches.active[m] = 0
    centre = scale(add(ends[0], add(ends[1], ends[2])), THIRD)
    reach = WATCHED * (largest_of(contact_particles.radius, i) + half)
    slack = SLACK * longest_path(ends, (centre, centre, centre)) + longest_path(ends, begins)
    for wide in range(2):
        patches.slack[m] = slack if wide == 1 else WIDE * slack
        low, high = box_around(ends, patches.slack[m] + reach)
        if not is_near(low, high, mesh, fields):
            patches.free[m] = patches.slack[m]
            return
    own = np.int64(sides.sides[e])
    own_edges = (own & 1) + ((own >> 1) & 1) + ((own >> 2) & 1)
    node, end, total = np.int64(fields.extents[mesh, 4]), np.int64(fields.extents[mesh, 5]), 0
    while node < end:
        following = np.int64(fields.links[node, 0])
        if overlaps_node(low, high, node, fields.boxes):
            following = node + 1
            first, last = np.int64(fields.links[node, 1]), np.int64(fields.links[node, 2])
            for f in range(features.start[first], features.start[last]):
                o, u = features.origin[f], features.along[f]
                if overlaps_feature(low, high, o, u):
                    total += 1 if is_vertex(u) else own_edges
        node = following
    patches.wanted[m] = total


@kernel
def ask_for_room(m, patches: Patches, flags: Offsets):
    """Room for pairs that a patch lacks."""
    wanted = patches.wanted[m]
    flags.start[m] = wanted + SPARE if wanted > patches.room[m] else 0


@kernel
def reserve(_, counts: PairCounts):
    """Take rows."""
    counts.before[0] = counts.used[0]
    counts.used[0] += counts.added[0]


@steady
def nearest(slot, o, u, points):
    """Nearest points of an element, or an edge of it, and a feature.

    Returns:
        Weights of the point of the element, the point of the mesh, and the vector from it to that of the element.
    """
    a, b, c = sub(points[0], o), sub(points[1], o), sub(points[2], o)
    if slot == TRIANGLE:
        w = triangle_weights(a, b, c)
        return w, o, blend(w, a, b, c)
    p, q = (a if slot == 0 else (b if slot == 1 else c)), (b if slot == 0 else (c if slot == 1 else a))
    s, t = segment_weights(sub(q, p), (-p[0], -p[1], -p[2]), sub(u, p))
    zero, one = ZERO * s, ONE - s
    w = (
        one if slot == 0 else (zero if slot == 1 else s),
        s if slot == 0 else (one if slot == 1 else zero),
        zero if slot == 0 else (s if slot == 1 else one),
    )
    along = scale(u, t)
    return w, add(o, along), sub(add(p, scale(sub(q, p), s)), along)


@kernel(fastmath=STEADY)
def fill_patch(
    m, patches: Patches, pairs: Pairs, contacts: Contacts, colliders: Colliders, fields: MeshFields,
    features: MeshFeatures, sides: OwnSides, contact_particles: ContactParticles, elements: Elements,
    flags: Offsets, counts: PairCounts
):  # fmt: skip
    """Write the pairs of a patch that is looked for."""
    if patches.wanted[m] < 0:
        return
    if patches.wanted[m] > patches.room[m]:
        patches.first[m], patches.room[m] = counts.before[0] + flags.start[m], patches.wanted[m] + SPARE
    e, mesh = contacts.item[m], np.int64(colliders.size[np.int64(contacts.solid[m]), 0])
    i = vertices(elements.points[e])
    points = patches.at[m, 0], patches.at[m, 1], patches.at[m, 2]
    far = patches.slack[m] + WATCHED * (largest_of(contact_particles.radius, i) + patches.half[m])
    low, high = box_around(points, far)
    own = np.int64(sides.sides[e])
    node, end, at = np.int64(fields.extents[mesh, 4]), np.int64(fields.extents[mesh, 5]), patches.first[m]
    while node < end:
        following = np.int64(fields.links[node, 0])
        if overlaps_node(low, high, node, fields.boxes):
            following = node + 1
            first, last = np.int64(fields.links[node, 1]), np.int64(fields.links[node, 2])
            for f in range(features.start[first], features.start[last]):
                o, u = features.origin[f], features.along[f]
                if overlaps_feature(low, high, o, u):
                    whole = is_vertex(u)
                    for slot in range(TRIANGLE if whole else 0, TRIANGLE + 1 if whole else TRIANGLE):
                        if slot == TRIANGLE or (own >> slot) & 1 == 1:
                            distance = norm(nearest(slot, o, u, points)[2])
                            if distance <= far:
                                pairs.feature[at], pairs.slot[at], pairs.distance[at] = f, slot, distance
                                at += 1
        node = following
    patches.count[m] = at - patches.first[m]


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


@kernel(fastmath=STEADY)
def refresh_patch(
    m, patches: Patches, pairs: Pairs, contacts: Contacts, elements: Elements, colliders: Colliders, poses: Poses,
    fields: MeshFields, features: MeshFeatures, particles: Particles, contact_particles: ContactParticles, h: real
):  # fmt: skip
    """Take the pairs of a patch that may touch in the substep, and put them first."""
    k, e = np.int64(contacts.solid[m]), contacts.item[m]
    kind = colliders.kind[k]
    if not is_mesh(kind):
        return
    contacts.normal_correction[m] = ZERO
    first = patches.first[m]
    if patches.still[m] or patches.count[m] == 0:
        for r in range(first, first + patches.active[m]):
            pairs.normal_correction[r], pairs.friction_correction[r] = ZERO, (ZERO, ZERO, ZERO)
        return
    i = vertices(elements.points[e])
    at = np.int64(particles.origin_index[i[0]]) * len(colliders) + k
    ends, begins = local_path(poses.before[at], poses.after[at], particles, i, h)
    known = patches.at[m, 0], patches.at[m, 1], patches.at[m, 2]
    gone = max(longest_path(ends, known), longest_path(begins, known))
    displacement, radius = longest_path(ends, begins), largest_of(contact_particles.radius, i) + patches.half[m]
    watched = WATCHED * radius + displacement + displacement
    fast, solid, mesh = displacement > FAST * radius, kind == MESH, np.int64(colliders.size[k, 0])
    active = 0
    patches.fast[m] = fast
    patches.seen[m, 0], patches.seen[m, 1], patches.seen[m, 2] = ends
    for r in range(first, first + patches.count[m]):
        if pairs.distance[r] - gone > watched:
            continue
        f, slot = np.int64(pairs.feature[r]), np.int64(pairs.slot[r])
        w, y, gap = nearest(slot, features.origin[f], features.along[f], ends)
        distance = norm(gap)
        if distance > watched:
            continue
        n = scale(gap, reciprocal(distance))
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
        pairs.distance[r] = pairs.distance[other]
        pairs.feature[other], pairs.slot[other], pairs.distance[other] = f, slot, found
        pairs.inside[other] = inside
        pairs.weights[other], pairs.point[other] = w, y
        pairs.normal[other] = scale(n, np.float32(side))
        pairs.normal_correction[other], pairs.friction_correction[other] = ZERO, (ZERO, ZERO, ZERO)
        active += 1
    patches.active[m] = active


@kernel(fastmath=STEADY)
def project_pairs(
    p, items: Items, contacts: Contacts, patches: Patches, pairs: Pairs, features: MeshFeatures, colliders: Colliders,
    poses: Poses, particles: Particles, contact_particles: ContactParticles, h: real, speed: real
):  # fmt: skip
    """Keep an element off the features of its patches."""
    i, rate = vertices(items.points[p]), ONE / h
    for m in range(items.first[p], items.end[p]):
        if patches.active[m] == 0:
            continue
        k = np.int64(contacts.solid[m])
        at = np.int64(particles.origin_index[i[0]]) * len(colliders) + k
        before, pose = poses.before[at], poses.after[at]
        for r in range(patches.first[m], patches.first[m] + patches.active[m]):
            weights, y, n = pairs.weights[r], pairs.point[r], pairs.normal[r]
            x = blend(weights, place(particles.x, i[0]), place(particles.x, i[1]), place(particles.x, i[2]))
            end, old = to_local(pose, x), pairs.normal_correction[r]
            gap, reach = sub(end, y), blend_of(contact_particles.radius, i, weights) + patches.half[m]
            height = dot(n, gap)
            if height >= reach and old <= ZERO and not patches.fast[m]:
                continue
            if patches.fast[m] or norm(sub(gap, scale(n, height))) > SLID * reach:
                # it has slid since these were the nearest points
                ends, begins = local_path(before, pose, particles, i, h)
                solid, inside = colliders.kind[k] == MESH, pairs.inside[r]
                weights, y, n, height = touching(
                    np.int64(pairs.feature[r]), np.int64(pairs.slot[r]), solid, inside, (ends, begins), features
                )
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
            law = combined_surface(contact_particles.surface[i[0]], colliders.surface[k])
            correction, silent, normal_correction, friction_correction = contact_change(
                n, (depth, max(reach - first, ZERO)), sub(end, start), w, law, (old, pairs.friction_correction[r]),
                (rate * rate, h * speed),
            )  # fmt: skip
            pairs.normal_correction[r], pairs.friction_correction[r] = normal_correction, friction_correction
            pairs.weights[r], pairs.point[r], pairs.normal[r] = weights, y, n
            correction, silent = rotate_vector(pose, correction), rotate_vector(pose, silent)
            record(contacts.impulse, m, sub(correction, silent), rate / w)
            move_vertices(contact_particles, particles, i, share, w, correction, silent, rate)
            add_to_mean(contacts, m, max(normal_correction - old, ZERO), weights, rotate_vector(pose, n), first - reach)


@steady
def is_far(m, starts, ends, patches):
    """Whether a triangle keeps off a mesh wherever it goes between two places."""
    known = patches.at[m, 0], patches.at[m, 1], patches.at[m, 2]
    return max(longest_path(starts, known), longest_path(ends, known)) < patches.free[m]


@steady
def distance_of_patch(m, points, patches, pairs, features, radius):
    """A lower bound of the distance of a triangle from the features of a mesh [m]."""
    known = patches.at[m, 0], patches.at[m, 1], patches.at[m, 2]
    gone = longest_path(points, known)
    least = patches.slack[m] + WATCHED * (radius + patches.half[m]) - gone
    for r in range(patches.first[m], patches.first[m] + patches.count[m]):
        if pairs.distance[r] - gone < least:
            f = np.int64(pairs.feature[r])
            gap = nearest(np.int64(pairs.slot[r]), features.origin[f], features.along[f], points)[2]
            least = min(least, norm(gap))
    return least - patches.half[m]


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
