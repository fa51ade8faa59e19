"""The part of a mesh that is near a triangle or segment: its patch, pairs of both that may touch.

A patch is found in the tree of the mesh, with a slack: while no corner goes farther than that, relative to the mesh, no
other pair can touch.

    mesh vertex v, triangle a b c      the nearest points are v and a point of the triangle
    mesh edge, edge a b                a point of each
"""

import numpy as np

from shinari.compute import Field, Record, kernel, real
from shinari.compute.kernels import STEADY
from shinari.compute.scan import Offsets
from shinari.geometry.proximity import segment_weights, triangle_weights
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, reciprocal, scale, sub
from shinari.shapes.kernels.mesh_distance import MeshFields
from shinari.systems.colliders.contact_list import THIRD
from shinari.systems.colliders.element_points import (
    blend,
    largest_of,
    longest_path,
    vertices,
)
from shinari.systems.colliders.mesh_features import MeshFeatures
from shinari.systems.colliders.records import Colliders, ContactParticles, Contacts

# How far an element may go, in its own size, before its patch is looked for again.
SLACK = np.float32(0.3)
# The same where nothing is near, as a multiple.
WIDE = np.float32(8.0)
# A pair takes part in a substep when it is nearer than this times the distance to keep, or may come so near.
WATCHED = np.float32(1.05)
# Slot of a pair: the edge of the element, or the whole triangle.
TRIANGLE = 3
# Room for pairs beyond those that were counted.
SPARE = 4


class Sides(Record):
    """Triangles and segments, in the order of their list."""

    points = Field(np.uint32, 3)
    own = Field(np.uint8, doc="which edges are theirs and not of one before: bits 0 (ab), 1 (bc), 2 (ca)")


class Patches(Record):
    """The part of a mesh that is near an element; a row for each contact of the list of elements."""

    at = Field(real, (3, 3), unit="m", doc="corners when it was found, in the axes of the mesh")
    slack = Field(real, unit="m", doc="how far the corners may go from there; negative: not found yet")
    travelled = Field(real, unit="m", doc="how far its particles had gone since the detection when it was found")
    seen = Field(real, (3, 3), unit="m", doc="corners when the pairs that take part were found, in these axes")
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
    plane = Field(
        real,
        4,
        doc="normal in these axes, towards the element, 0 where that is behind the feature; and its "
        "largest product with a point of the feature [m]",
    )
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


@steady
def start_patch(m, ends, begins, reach, own, mesh, patches, fields, features):
    """Look for a patch: set its slack, and return how many pairs there can be; -1 where nothing is near.

    Args:
        m: The contact.
        ends: Corners now, in the axes of the mesh.
        begins: The same at the start of the substep.
        reach: Distance within which pairs take part [m].
        own: Bits of the edges of the element.
        mesh: Number of the mesh.
        patches: The patches.
        fields: Distance fields of the meshes.
        features: Features of the meshes.
    """
    patches.at[m, 0], patches.at[m, 1], patches.at[m, 2] = ends
    patches.fast[m], patches.free[m] = True, -reach
    patches.count[m] = patches.active[m] = 0
    centre = scale(add(ends[0], add(ends[1], ends[2])), THIRD)
    size = longest_path(ends, (centre, centre, centre))
    # beyond its own size a displacement is left to the certificates: a patch would be the whole mesh
    slack = SLACK * size + min(longest_path(ends, begins), size)
    for wide in range(2):
        patches.slack[m] = slack if wide == 1 else WIDE * slack
        low, high = box_around(ends, patches.slack[m] + reach)
        if not is_near(low, high, mesh, fields):
            patches.free[m] = patches.slack[m]
            return -1
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
    return total


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


@steady
def plane_of(features, f, n):
    """Plane along n that touches a feature from above: n, and its largest product with a point of the feature."""
    return n[0], n[1], n[2], dot(n, features.origin[f]) + max(dot(n, features.along[f]), ZERO)


@steady
def is_beyond(plane, slot, points, reach):
    """Whether an element, or an edge of it, is all farther than a distance above a plane that touches a feature."""
    n = plane[0], plane[1], plane[2]
    a, b, c = dot(n, points[0]), dot(n, points[1]), dot(n, points[2])
    p, q = (a if slot == 0 else (b if slot == 1 else c)), (b if slot == 0 else (c if slot == 1 else a))
    lowest = min(a, min(b, c)) if slot == TRIANGLE else min(p, q)
    return lowest - plane[3] >= reach


@kernel(fastmath=STEADY)
def fill_patch(
    m, patches: Patches, pairs: Pairs, contacts: Contacts, sides: Sides, colliders: Colliders, fields: MeshFields,
    features: MeshFeatures, contact_particles: ContactParticles, flags: Offsets, counts: PairCounts
):  # fmt: skip
    """Write the pairs of a patch that is looked for."""
    if patches.wanted[m] < 0:
        return
    if patches.wanted[m] > patches.room[m]:
        patches.first[m], patches.room[m] = counts.before[0] + flags.start[m], patches.wanted[m] + SPARE
    e, mesh = contacts.item[m], np.int64(colliders.size[np.int64(contacts.solid[m]), 0])
    i = vertices(sides.points[e])
    points = patches.at[m, 0], patches.at[m, 1], patches.at[m, 2]
    far = patches.slack[m] + WATCHED * (largest_of(contact_particles.radius, i) + patches.half[m])
    low, high = box_around(points, far)
    own = np.int64(sides.own[e])
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
                            gap = nearest(slot, o, u, points)[2]
                            distance = norm(gap)
                            if distance <= far:
                                pairs.feature[at], pairs.slot[at], pairs.distance[at] = f, slot, distance
                                pairs.plane[at] = plane_of(features, f, scale(gap, reciprocal(distance)))
                                at += 1
        node = following
    patches.count[m] = at - patches.first[m]


@steady
def is_far(m, starts, ends, patches):
    """Whether a triangle keeps off a mesh wherever it goes between two places."""
    known = patches.at[m, 0], patches.at[m, 1], patches.at[m, 2]
    return max(longest_path(starts, known), longest_path(ends, known)) < patches.free[m]


@steady
def reach_of_patch(m, points, patches, radius):
    """Distance of a triangle up to which the patch tells the features that are near [m]."""
    known = patches.at[m, 0], patches.at[m, 1], patches.at[m, 2]
    return patches.slack[m] + WATCHED * (radius + patches.half[m]) - longest_path(points, known) - patches.half[m]


@steady
def distance_of_patch(m, points, patches, pairs, features, radius):
    """A lower bound of the distance of a triangle from the features of a mesh [m]."""
    known = patches.at[m, 0], patches.at[m, 1], patches.at[m, 2]
    gone = longest_path(points, known)
    least = reach_of_patch(m, points, patches, radius) + patches.half[m]
    for r in range(patches.first[m], patches.first[m] + patches.count[m]):
        if pairs.distance[r] - gone < least:
            f = np.int64(pairs.feature[r])
            gap = nearest(np.int64(pairs.slot[r]), features.origin[f], features.along[f], points)[2]
            least = min(least, norm(gap))
    return least - patches.half[m]


@steady
def keeps_off(m, points, patches, pairs, features, radius, reach):
    """Whether a triangle is farther than a distance [m] from the features of a mesh; most are above their planes."""
    known = patches.at[m, 0], patches.at[m, 1], patches.at[m, 2]
    gone, far = longest_path(points, known), reach + patches.half[m]
    off = reach_of_patch(m, points, patches, radius) >= reach
    for r in range(patches.first[m], patches.first[m] + patches.count[m]):
        slot, f = np.int64(pairs.slot[r]), np.int64(pairs.feature[r])
        if off and pairs.distance[r] - gone < far and not is_beyond(pairs.plane[r], slot, points, far):
            off = norm(nearest(slot, features.origin[f], features.along[f], points)[2]) >= far
    return off
