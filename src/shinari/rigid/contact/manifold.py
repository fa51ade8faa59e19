"""Points of contact between two shapes: up to four.

What a pair is asked, from the cheapest on:

1. Balls and pairs of capsules have closed forms, and what touches a plane its lowest face.
2. Else the direction along which the two are farthest apart: for two boxes from their fifteen axes, for others from
   the normals of their faces first. Above the margin there is nothing to do.
3. The faces that look at each other along it are clipped by each other. When a corner is as deep as the direction says,
   it is the right one: the faces, or a face and an edge, touch there.
4. Else the direction is improved from the farthest points (`shinari.rigid.contact.gjk`), and the nearest points are a
   contact if no corner is as deep.
5. Of shapes other than two boxes that overlap by more than `DEEP`, a second way out is sought from centre to centre.
   What is found parts them and is the least of those around it; where they overlap by a third of their size or so,
   there may be a shorter one elsewhere.

The order of kinds is fixed inside, so that a pair and its mirror image have the same contacts.
"""

import numpy as np

from shinari.maths.function import steady
from shinari.rigid.contact.axes import best_axis
from shinari.rigid.contact.borrow import borrow, borrow_shapes
from shinari.rigid.contact.box_axes import EDGES, FACE_A, box_axis, edge_points
from shinari.rigid.contact.clipping import FEATURES
from shinari.rigid.contact.faces import NONE, face_size
from shinari.rigid.contact.gjk import refine
from shinari.rigid.contact.overlap import overlap, write_corners
from shinari.rigid.contact.planes import plane_manifold
from shinari.rigid.contact.poses import origin, tangents
from shinari.rigid.contact.round import ball_manifold, capsules_manifold
from shinari.rigid.contact.rows import WIDTH, mirror, write_row
from shinari.rigid.contact.shapes import BOX, CAPSULE, PLANE, SPHERE, core_radius, extent
from shinari.rigid.contact.support import lowest_pair
from shinari.rigid.contact.vectors import add, direction_and_length, dot, sub

NEAREST = FEATURES - 1
"""Feature of a pair of nearest points."""
DEEP = 2e-3
"""Overlap over the size of the smaller shape from which the way out is also sought from centre to centre."""
TOLERANCE = 1e-5
"""Length by which gaps may differ and count as equal, over the size of the smaller shape."""


@steady
def manifold(shapes, a, pose_a, b, pose_b, margin, out):
    """Write the contacts of two shapes.

    Args:
        shapes: Arrays of shapes (`shinari.rigid.contact.shapes.Shapes`).
        a: First shape.
        b: Second shape.
        pose_a: Its pose in the world, a rotation matrix by rows and a position, twelve numbers.
        pose_b: Pose of the second.
        margin: Points with a gap below it are written [m].
        out: Rows (8, 14), C-contiguous float64. Of each contact: core point of a [m] and its radius [m], core point of
            b and its radius, unit normal from b to a, gap n . (core_a - core_b) - radii [m], feature (a whole number
            below `shinari.rigid.contact.clipping.FEATURES`, the same for the same feature), and 1 when the normal
            turns with a, 0 when with b. Rows beyond the count are used for work.

    Returns:
        The number of contacts.
    """
    shapes, out = borrow_shapes(shapes), borrow(out)
    swapped = shapes.kind[a] > shapes.kind[b]
    first, second = (b, a) if swapped else (a, b)
    pose_first, pose_second = (pose_b, pose_a) if swapped else (pose_a, pose_b)
    kind_first, kind_second = shapes.kind[first], shapes.kind[second]
    if kind_first == PLANE:
        count = plane_manifold(shapes, first, pose_first, second, pose_second, margin, out)
    elif kind_first == SPHERE:
        count = ball_manifold(shapes, first, pose_first, second, pose_second, margin, out)
    elif kind_first == CAPSULE and kind_second == CAPSULE:
        count = capsules_manifold(shapes, first, pose_first, second, pose_second, margin, out)
    else:
        count = convex_manifold(shapes, first, pose_first, second, pose_second, margin, out)
    if swapped:
        mirror(out, count)
    return count


@steady
def convex_manifold(shapes, a, pose_a, b, pose_b, margin, out):
    """Contacts of two cores that are not both points or both segments."""
    size_a = (shapes.size[a, 0], shapes.size[a, 1], shapes.size[a, 2])
    size_b = (shapes.size[b, 0], shapes.size[b, 1], shapes.size[b, 2])
    kind_a, kind_b = shapes.kind[a], shapes.kind[b]
    radius_a, radius_b = core_radius(kind_a, size_a), core_radius(kind_b, size_b)
    limit = margin + radius_a + radius_b
    offset = sub(origin(pose_a), origin(pose_b))
    size = min(extent(kind_a, size_a), extent(kind_b, size_b))
    slack = TOLERANCE * size
    exact = kind_a == BOX and kind_b == BOX
    if exact:
        gap, way, i, j, n = box_axis(size_a, pose_a, size_b, pose_b, offset, limit, slack)
        if gap >= limit:
            return 0
        if way == EDGES:
            on_a, on_b, feature, between = edge_points(size_a, pose_a, i, size_b, pose_b, j, offset, n, slack)
            if between:
                at = origin(pose_b)
                write_row(out, NONE, add(at, on_a), 0.0, add(at, on_b), 0.0, n, gap, float(feature), 0.0)
                return 1
        of_a = way == FACE_A
    else:
        n, gap, of_a = best_axis(shapes, a, pose_a, b, pose_b, offset, limit, slack)
        if gap >= limit:
            return 0
    rows = face_size(shapes, a) + face_size(shapes, b)
    table = out if rows <= len(out) else np.empty((rows, WIDTH))
    near_a, near_b = offset, offset
    count, lowest, side = NONE, np.inf, 1.0
    for attempt in range(2):
        t1, t2 = tangents(n)
        count, lowest, side = overlap(shapes, a, pose_a, b, pose_b, offset, (t1, t2, n), of_a, limit, slack, table)
        fits = lowest <= gap + slack
        if attempt == 1 or (fits and (exact or gap > -DEEP * size)):
            break
        from_n, from_gap = n, gap
        if fits:
            from_n, length = direction_and_length(offset)
            from_n = from_n if length > 0.0 else n
            on_a, on_b = lowest_pair(shapes, a, pose_a, b, pose_b, from_n)
            from_gap = dot(from_n, add(offset, sub(on_a, on_b)))
        m, found, on_a, on_b = refine(shapes, a, pose_a, b, pose_b, offset, from_n, from_gap, size)
        if found >= limit:
            return 0
        if fits and found <= gap + slack:
            break
        n, gap, near_a, near_b, of_a = m, found, on_a, on_b, False
    t1, t2 = tangents(n)
    start, radii = origin(pose_b), (radius_a, radius_b)
    missed = lowest > gap + slack
    first = 1 if missed else 0
    count = write_corners(table, count, side, (t1, t2, n), start, radii, slack, out, first, 4 - first)
    if missed:
        gap = gap - radius_a - radius_b
        write_row(out, NONE, add(start, near_a), radius_a, add(start, near_b), radius_b, n, gap, float(NEAREST), 0.0)
    return count + first
