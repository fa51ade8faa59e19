"""Pairs of elements whose boxes overlap: which of them may touch before the next detection."""

import numpy as np

from shinari.collision.broad.pairs import first_from
from shinari.compute import kernel, scratch, shared
from shinari.compute.kernels import STEADY
from shinari.compute.scan import Offsets
from shinari.geometry.overlaps import BoxPairs
from shinari.geometry.proximity import gap_vector, straight_weights
from shinari.maths.function import steady
from shinari.maths.vec3 import ZERO, norm, reciprocal, scale
from shinari.systems.surface_contact.affine_frame import STRETCH
from shinari.systems.surface_contact.elements import OWN, SECOND
from shinari.systems.surface_contact.lanes import store_vector, vector_at
from shinari.systems.surface_contact.pair_points import points_of, separation
from shinari.systems.surface_contact.records import (
    Candidates,
    ContactParticles,
    Filtered,
    Joints,
    Objects,
    Paths,
    RowCounts,
    Side,
)

# Two objects as one number: first KEY + second.
KEY = 65536
# Pairs nearer than so many times what they keep come first among the rows.
NEAR = np.float32(1.1)
# Pairs that are measured at once.
BATCH = 16


@steady
def chosen(side, r, paths):
    """Whether a particle of an element is astray."""
    i, j, k = side.points[r]
    return paths.outside[i] or paths.outside[j] or paths.outside[k]


@shared
def ignore_each_other(key: int, objects: Objects) -> bool:
    """Whether two objects ignore each other."""
    at = first_from(key, objects.ignored, 0, len(objects))
    return at < len(objects) and objects.ignored[at] == key


@steady
def may_collide(a, b, objects):
    """Whether two objects, or an object and itself, may touch through edges and triangles."""
    if not (objects.takes_part[a] and objects.takes_part[b]):
        return False
    if a == b:
        return not objects.alone[a]
    return not ignore_each_other(min(a, b) * KEY + max(a, b), objects)


@steady
def are_far_along(i, j, arcs, reach):
    """Whether two points of a rope are far enough from each other along it to touch."""
    along = abs(arcs[i] - arcs[j])
    return min(along, reach[1] - along) >= reach[0]


@shared(fastmath=STEADY)
def objects_may_collide(i: int, j: int, contact_particles: ContactParticles, objects: Objects) -> bool:
    """Whether the objects of two particles may meet, and, along a rope, at these places."""
    a, b = np.int64(contact_particles.object_index[i]), np.int64(contact_particles.object_index[j])
    if a != b:
        return not ignore_each_other(min(a, b) * KEY + max(a, b), objects)
    return not objects.alone[a] and are_far_along(i, j, contact_particles.arc, objects.reach_along[a])


@steady
def elements_may_collide(edges, i0, i1, i2, i3, contact_particles, objects):
    """Whether the objects of a point and a triangle, or of two edges, may meet, and, along a rope, at these places."""
    a, b = np.int64(contact_particles.object_index[i0]), np.int64(contact_particles.object_index[i2])
    if a != b:
        return not ignore_each_other(min(a, b) * KEY + max(a, b), objects)
    reach, arcs = objects.reach_along[a], contact_particles.arc
    if reach[0] <= ZERO:
        return not objects.alone[a]
    far = are_far_along(i0, i2, arcs, reach) and are_far_along(i0, i3, arcs, reach)
    far = far and are_far_along(i1, i2, arcs, reach) and are_far_along(i1, i3, arcs, reach) if edges else far
    return not objects.alone[a] and far


@shared
def joined(i: int, j: int, joints: Joints) -> bool:
    """Whether two particles are one, or share an edge or a row."""
    found = i == j
    for k in range(joints.start[i], joints.start[i + 1]):
        found = found or joints.neighbour[k] == j
    return found


@steady
def meet_at_seam(edges, vertex, i0, i1, i2, i3):
    """Whether a point and a triangle, or two edges, have a vertex in common, sewn together of several."""
    a, b, c, d = vertex[i0], vertex[i1], vertex[i2], vertex[i3]
    return a in (c, d) or (b in (c, d) if edges else a == b)


@steady
def pair_of(r, pairs, mode):
    """Elements of a pair of boxes: of the first table, and of the second."""
    p, q = pairs.boxes[r]
    return (np.int64(q), np.int64(p)) if mode == SECOND else (np.int64(p), np.int64(q))


@steady
def store_particle(lanes, n, k, i, origin, paths):
    """Write the place of particle n of a pair relative to that of the first, and the corners of its box."""
    place = paths.place[i]
    store_vector(lanes, 9 * n, k, (place[0] - origin[0], place[1] - origin[1], place[2] - origin[2]))
    store_vector(lanes, 9 * n + 3, k, paths.low[i])
    store_vector(lanes, 9 * n + 6, k, paths.high[i])


@steady
def lowest(n, lanes, row, k):
    """Least n . x in the box of a particle."""
    low, high = vector_at(lanes, row + 3, k), vector_at(lanes, row + 6, k)
    return (
        n[0] * (low[0] if n[0] > ZERO else high[0])
        + n[1] * (low[1] if n[1] > ZERO else high[1])
        + n[2] * (low[2] if n[2] > ZERO else high[2])
    )


@steady
def highest(n, lanes, row, k):
    """Largest n . x in the box of a particle."""
    return -lowest((-n[0], -n[1], -n[2]), lanes, row, k)


@steady
def clearance(edges, lanes, k):
    """Least n . (p - q), p in the boxes of the first element, q in those of the second, n their shortest distance.

    The distance comes second. It has no branches, so that several pairs are measured at once.
    """
    a, b, c = vector_at(lanes, 9, k), vector_at(lanes, 18, k), vector_at(lanes, 27, k)
    separating_vector = gap_vector(straight_weights(edges, a, b, c), a, b, c)
    distance = norm(separating_vector)
    n = scale(separating_vector, reciprocal(distance))
    first, other = lowest(n, lanes, 0, k), lowest(n, lanes, 9, k) if edges else highest(n, lanes, 9, k)
    second = max(highest(n, lanes, 18, k), highest(n, lanes, 27, k))
    return min(first, other) - second if edges else first - max(other, second), distance


@kernel
def count_batches(_, counts: RowCounts):
    """Batches of the pairs of boxes that overlap."""
    counts.batches[0] = (counts.overlaps[0] + BATCH - 1) // BATCH


@kernel(fastmath=STEADY)
def measure_pairs(
    b, counts: RowCounts, pairs: BoxPairs, first: Side, second: Side, paths: Paths,
    contact_particles: ContactParticles, filtered: Filtered, flags: Offsets, edges: bool, mode: int,
):  # fmt: skip
    """Whether a plane across the shortest distance keeps two elements a gap apart in their boxes, for a batch."""
    begin = b * BATCH
    count = min(BATCH, counts.overlaps[0] - begin)
    radius, like = contact_particles.radius, paths.place[0, 0]
    lanes, gaps, clear, apart = (
        scratch((36, BATCH), like),
        scratch(BATCH, like),
        scratch(BATCH, like),
        scratch(BATCH, like),
    )
    for k in range(BATCH):
        # the last batch repeats its last pair
        p, q = pair_of(begin + min(k, count - 1), pairs, mode)
        i0, i1, i2, i3 = points_of(p, q, first, second, edges)
        origin = paths.place[i0]
        store_particle(lanes, 0, k, i0, origin, paths)
        store_particle(lanes, 1, k, i1, origin, paths)
        store_particle(lanes, 2, k, i2, origin, paths)
        store_particle(lanes, 3, k, i3, origin, paths)
        gaps[k] = radius[i0] + radius[i2 if edges else i1]
    if edges:
        for k in range(BATCH):
            clear[k], apart[k] = clearance(True, lanes, k)
    else:
        for k in range(BATCH):
            clear[k], apart[k] = clearance(False, lanes, k)
    for k in range(count):
        # a clearance that is not a number keeps its pair
        flags.start[begin + k], filtered.distance[begin + k] = not clear[k] > STRETCH * gaps[k], apart[k]


@kernel(fastmath=STEADY)
def filter_pair(
    r,
    pairs: BoxPairs,
    first: Side,
    second: Side,
    paths: Paths,
    contact_particles: ContactParticles,
    objects: Objects,
    joints: Joints,
    filtered: Filtered,
    flags: Offsets,
    edges: bool,
    mode: int,
):
    """Whether a pair that no plane keeps apart may touch, and the distance that it keeps."""
    if flags.start[r] == 0:
        return
    flags.start[r] = 0
    p, q = pair_of(r, pairs, mode)
    i0, i1, i2, i3 = points_of(p, q, first, second, edges)
    j = i2 if edges else i1
    # a pair of two chosen elements is found from both
    if mode == OWN and p >= q and chosen(second, q, paths):
        return
    if mode == SECOND and chosen(first, p, paths):
        return
    free = contact_particles.free
    if contact_particles.inactive[i0] or not (free[i0] or free[i1] or free[i2] or free[i3]):
        return
    gap = contact_particles.radius[i0] + contact_particles.radius[j]
    if not elements_may_collide(edges, i0, i1, i2, i3, contact_particles, objects):
        return
    k, a = i2 if edges else i0, np.int64(contact_particles.object_index[i0])
    if objects.has_room[a] and contact_particles.object_index[j] == a:
        filtered.gap[r], flags.start[r] = gap, gap > ZERO
        return
    near = joined(i0, i2, joints) or joined(i0, i3, joints) or joined(i1, k, joints)
    near = near or (edges and joined(i1, i3, joints))
    if near:
        if contact_particles.object_index[j] != a:
            return
        # across a seam, too, elements with a common vertex meet there
        if meet_at_seam(edges, contact_particles.vertex, i0, i1, i2, i3):
            return
        # neighbours of one sheet keep the distance that they have at rest where it is less
        gap = min(gap, norm(separation(edges, contact_particles.rest, i0, i1, i2, i3)))
    filtered.gap[r] = gap
    flags.start[r] = gap > ZERO


@kernel
def gather_pair(
    r, pairs: BoxPairs, first: Side, second: Side, filtered: Filtered, flags: Offsets, candidates: Candidates,
    counts: RowCounts, edges: bool, mode: int
):  # fmt: skip
    """Write a pair that is kept."""
    if flags.start[r + 1] > flags.start[r]:
        at = counts.found[0] + flags.start[r]
        p, q = pair_of(r, pairs, mode)
        candidates.points[at] = points_of(p, q, first, second, edges)
        candidates.edges[at], candidates.gap[at] = edges, filtered.gap[r]
        candidates.near[at] = filtered.distance[r] < NEAR * filtered.gap[r]
