"""Points of contact between two shapes: up to four.

The tests for a pair, from the cheapest on:

1. Balls and pairs of capsules have closed forms, and a plane meets the lowest face of the other shape.
2. Else the direction along which the two are farthest apart: for two boxes from their fifteen axes, for others from
   the normals of their faces first. Above the margin there is nothing to do.
3. The opposing faces are clipped by each other. When a corner is as deep as the overlap along the direction, the
   direction is right: the faces, or a face and an edge, are in contact there.
4. Else the direction is improved from the farthest points (`shinari.collision.narrow.gjk`). The nearest points are a
   contact if no corner is as deep.
5. Of shapes other than two boxes that overlap by more than `DEEP`, a second direction is sought from centre to centre.
   It separates them and is a local minimum of the overlap; where they overlap by about a third of their size, a
   smaller one may exist elsewhere.

The order of kinds is fixed, so that a pair and its mirror image have the same contacts: the kind of the first shape is
not above that of the second.
"""

import numpy as np

from shinari.collision.narrow.axes import best_axis
from shinari.collision.narrow.box_axes import EDGES, FACE_A, box_axis, edge_points
from shinari.collision.narrow.clipping import FEATURES
from shinari.collision.narrow.convex import Shapes
from shinari.collision.narrow.gjk import refine
from shinari.collision.narrow.hull_axes import hull_axis
from shinari.collision.narrow.overlap import overlap, write_corners
from shinari.collision.narrow.pose_records import Poses, Vector, tangents
from shinari.collision.narrow.rows import Rows, separated, write_row
from shinari.collision.narrow.support import lowest_pair
from shinari.compute import shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.poses import origin, rotate_vector_back
from shinari.maths.vec3 import add, direction_and_length, dot, sub
from shinari.shapes.hull import HULL
from shinari.shapes.kernels.projection import NONE

NEAREST = FEATURES - 1
"""Feature of a pair of nearest points."""
DEEP = 2e-3
"""Overlap over the size of the smaller shape above which the direction is also sought from centre to centre."""
FLAT = 0.95
"""Cosine between the direction across two edges and a normal of each box above which their faces lie on each other.

One point would not hold them: of two cubes that were pressed together one stayed a quarter of its size in the other."""
LYING = 0.99
"""Cosine between the direction across two edges and a normal of one box above which an edge lies on a face of it.

It touches the face at both ends of what they share. With a contact at the deeper end alone the other end fell, and
heaps never came to rest."""
TOLERANCE = 1e-5
"""Length by which gaps may differ and count as equal, over the size of the smaller shape."""


@steady
def core_of(shapes, g):
    """Radius around the core of a shape, and its size [m]."""
    return shapes.radius[g], shapes.extent[g]


@steady
def slope(pose, n):
    """Cosine between a direction and the axis of a box that is nearest to it."""
    x, y, z = rotate_vector_back(pose, n)
    return max(abs(x), max(abs(y), abs(z)))


@steady
def edges_cross(pose_a, pose_b, n):
    """Whether two edges touch in a point along n: no face lies on a face, and no edge on a face."""
    slope_a, slope_b = slope(pose_a, n), slope(pose_b, n)
    return min(slope_a, slope_b) < FLAT and max(slope_a, slope_b) < LYING


@shared(fastmath=STEADY)
def boxes_manifold(shapes: Shapes, poses: Poses, a: int, b: int, margin: float, rows: Rows) -> int:
    """Write the contacts of two boxes; see `convex_manifold`."""
    pose_a, pose_b = poses.pose[a], poses.pose[b]
    size_a = (shapes.size[a, 0], shapes.size[a, 1], shapes.size[a, 2])
    size_b = (shapes.size[b, 0], shapes.size[b, 1], shapes.size[b, 2])
    offset = sub(origin(pose_a), origin(pose_b))
    slack = TOLERANCE * min(core_of(shapes, a)[1], core_of(shapes, b)[1])
    gap, axis_kind, i, j, n = box_axis(size_a, pose_a, size_b, pose_b, offset, margin, slack)
    if gap >= margin:
        return separated(rows, gap)
    if axis_kind == EDGES and edges_cross(pose_a, pose_b, n):
        on_a, on_b, feature, between = edge_points(size_a, pose_a, i, size_b, pose_b, j, offset, n, slack)
        if between:
            at = origin(pose_b)
            write_row(rows, NONE, add(at, on_a), 0.0, add(at, on_b), 0.0, n, gap, float(feature), 0.0)
            return 1
    return face_contacts(shapes, poses, a, b, n, gap, axis_kind == FACE_A, True, margin, rows)


@shared(fastmath=STEADY)
def convex_manifold(shapes: Shapes, poses: Poses, a: int, b: int, margin: float, rows: Rows) -> int:
    """Write the contacts of two convex shapes that are not both balls or both capsules.

    Args:
        shapes: The shapes.
        poses: Their poses in the world.
        a: First shape.
        b: Second shape.
        margin: Points with a gap below it are written [m].
        rows: Rows (ROOM, 14); without contacts see `shinari.collision.narrow.rows.separated`. Of each contact:
            core point of a [m] and its radius [m], core point of b and its radius,
            unit normal from b to a, gap n . (core_a - core_b) - radii [m], feature (a whole number below
            `shinari.collision.narrow.clipping.FEATURES`, the same for the same feature), and 1 when the normal turns
            with a, 0 when with b. Rows beyond the count are used for work.

    Returns:
        The number of contacts.
    """
    radius_a, size_a = core_of(shapes, a)
    radius_b, size_b = core_of(shapes, b)
    limit = margin + radius_a + radius_b
    offset = sub(origin(poses.pose[a]), origin(poses.pose[b]))
    slack, hulls = TOLERANCE * min(size_a, size_b), shapes.kind[a] == HULL and shapes.kind[b] == HULL
    if hulls:
        n, gap, of_a = hull_axis(shapes, poses, a, b, offset, limit, slack, rows)
    else:
        n, gap, of_a = best_axis(shapes, poses, a, b, offset, limit, slack)
    if gap >= limit:
        return separated(rows, gap - radius_a - radius_b, n if hulls else (0.0, 0.0, 0.0))
    return face_contacts(shapes, poses, a, b, n, gap, of_a, hulls, margin, rows)


@shared(fastmath=STEADY)
def face_contacts(
    shapes: Shapes,
    poses: Poses,
    a: int,
    b: int,
    n: Vector,
    gap: float,
    of_a: bool,
    exact: bool,
    margin: float,
    rows: Rows,
) -> int:
    """Contacts where the faces along a direction overlap, or at the nearest points along a better direction.

    Args:
        shapes: The shapes.
        poses: Their poses in the world.
        a: First shape.
        b: Second shape.
        n: Unit vector from b to a.
        gap: Gap of the cores along it [m].
        of_a: Whether it is a normal of a.
        exact: Whether the gap is known to be the largest.
        margin: Points with a gap below it are written [m].
        rows: See `convex_manifold`.

    Returns:
        The number of contacts.
    """
    radius_a, size_a = core_of(shapes, a)
    radius_b, size_b = core_of(shapes, b)
    limit, size = margin + radius_a + radius_b, min(size_a, size_b)
    slack = TOLERANCE * size
    start = origin(poses.pose[b])
    offset = sub(origin(poses.pose[a]), start)
    near_a, near_b = offset, offset
    count, lowest, side = NONE, np.inf, 1.0
    for attempt in range(2):
        t1, t2 = tangents(n)
        count, lowest, side = overlap(shapes, poses, a, b, offset, (t1, t2, n), of_a, limit, slack, rows)
        fits = lowest <= gap + slack
        if attempt == 1 or (fits and (exact or gap > -DEEP * size)):
            break
        from_n, from_gap = n, gap
        if fits:
            from_n, length = direction_and_length(offset)
            from_n = from_n if length > 0.0 else n
            on_a, on_b = lowest_pair(shapes, poses, a, b, from_n)
            from_gap = dot(from_n, add(offset, sub(on_a, on_b)))
        m, found, on_a, on_b = refine(shapes, poses, a, b, offset, from_n, from_gap, size)
        if found >= limit:
            return separated(rows, found - radius_a - radius_b)
        if fits and found <= gap + slack:
            break
        n, gap, near_a, near_b, of_a = m, found, on_a, on_b, False
    t1, t2 = tangents(n)
    missed = lowest > gap + slack
    first = 1 if missed else 0
    count = write_corners(rows, count, side, (t1, t2, n), start, (radius_a, radius_b), slack, first, 4 - first)
    if missed:
        gap = gap - radius_a - radius_b
        write_row(rows, NONE, add(start, near_a), radius_a, add(start, near_b), radius_b, n, gap, float(NEAREST), 0.0)
    return count + first if count + first > 0 else separated(rows, margin)
