"""An edge of a mesh that has entered a convex shape near a corner of it, where its nearest face tells nothing.

Of the directions u in the cone of the edge, between the normals of its two faces, the one is sought along which the
shape lies least below the edge: gap(u) = min over the shape of x . u - p . u, with p on the edge. The points of the
shape that are lowest just before and just after that direction span the edge of it that crosses the one of the mesh.
"""

import numpy as np

from shinari.collision.narrow.convex import Shapes
from shinari.collision.narrow.mesh_pool import NUMBERS, line_at, relative, write_point
from shinari.collision.narrow.pose_records import Vector
from shinari.collision.narrow.rows import FEATURE, GAP
from shinari.compute import shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.poses import rotate_vector
from shinari.maths.vec3 import add, cross, dot, neg, norm, scale, sub
from shinari.shapes.kernels.dispatch import support
from shinari.shapes.mesh import MESH
from shinari.shapes.registry import LAST_CONVEX, LAST_UNBOUNDED

# Directions that are tried in a cone, and how often the best is refined.
TRIED, REFINED = 8, 20
# Part of the turn to each side of the best direction at which its edge is looked for.
ASIDE = 0.01
# Part of the distance between two directions that a refinement keeps: the golden section.
GOLDEN = 0.6180339887498949


@steady
def turned(first, second, t):
    """The unit vector at a part of the turn between two vectors, about."""
    u = add(scale(first, 1.0 - t), scale(second, t))
    return scale(u, 1.0 / norm(u))


@shared(fastmath=STEADY)
def lowest(y: int, u: Vector, shapes: Shapes) -> Vector:
    """The lowest point of the core of a shape along u, in its axes."""
    return support(shapes, y, neg(u))


@steady
def gap_along(y, u, p, shapes):
    """Gap of the core of shape y from point p along u [m]."""
    return dot(sub(lowest(y, u, shapes), p), u)


@steady
def least_overlap(y, p, first, second, shapes):
    """The part of the turn between two vectors at which the gap of shape y from point p along it is largest."""
    best, most = 0, -np.inf
    for i in range(TRIED + 1):
        gap = gap_along(y, turned(first, second, i / TRIED), p, shapes)
        best, most = (i, gap) if gap > most else (best, most)
    low, high = max(best - 1, 0) / TRIED, min(best + 1, TRIED) / TRIED
    for _ in range(REFINED):
        one, other = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        u, v = turned(first, second, one), turned(first, second, other)
        better = gap_along(y, u, p, shapes) > gap_along(y, v, p, shapes)
        low, high = (low, other) if better else (one, high)
    return 0.5 * (low + high)


@steady
def crossing(number, a, b, poses, features, shapes):
    """Where an edge crosses the convex shape with the least overlap.

    The edge is that of the point of the pool with this number; the other arguments are those of `count_crossing`.

    Returns:
        Gap [m], infinite where the edge of a solid does not cross a convex shape; the point on the edge and the normal
        from the shape to the mesh, in the axes of the shape.
    """
    x, y = (b, a) if number % 2 == 1 else (a, b)
    convex = LAST_UNBOUNDED < shapes.kind[y] <= LAST_CONVEX
    # of another shape it is the number of a corner
    k = number // 2 // NUMBERS if shapes.kind[x] == MESH and convex else 0
    row, rel = features.cone_starts[k], relative(poses.pose[x], poses.pose[y])
    start, along = line_at(features.lines[k], rel)
    if shapes.kind[x] != MESH or not convex or features.cone_starts[k + 1] != row + 2 or norm(along) == 0.0:
        return np.inf, start, along
    one, two = features.cones[row], features.cones[row + 1]
    one, two = rotate_vector(rel, (one[0], one[1], one[2])), rotate_vector(rel, (two[0], two[1], two[2]))
    # the normal of a face is at right angles to the direction into it, and against the other
    first, second = sub(scale(one, dot(one, two)), two), sub(scale(two, dot(one, two)), one)
    first, second = scale(first, 1.0 / norm(first)), scale(second, 1.0 / norm(second))
    t = least_overlap(y, start, first, second, shapes)
    u = turned(first, second, t)
    left = lowest(y, turned(first, second, max(t - ASIDE, 0.0)), shapes)
    right = lowest(y, turned(first, second, min(t + ASIDE, 1.0)), shapes)
    side = cross(along, u)
    before, after = dot(sub(left, start), side), dot(sub(right, start), side)
    part = min(max(before / (before - after), 0.0), 1.0) if before != after else 0.0
    at = dot(sub(add(scale(left, 1.0 - part), scale(right, part)), start), along) / dot(along, along)
    gap = gap_along(y, u, start, shapes) - shapes.radius[y]
    return gap if 0.0 <= at <= 1.0 else np.inf, add(start, scale(along, at)), neg(u)


@steady
def count_crossing(pool, n, limit, most, a, b, poses, features, shapes):
    """Of the points outside of their cones below a limit [m], count the one whose edge crosses with the least overlap.

    Args:
        pool: The points; that one becomes a point inside its cone.
        n: Points in the pool.
        limit: Gap [m] from which on a point is not looked at.
        most: Largest overlap [m] that counts.
        a: First shape of the pair.
        b: Second shape.
        poses: Poses of the shapes.
        features: Features of the meshes.
        shapes: The shapes.

    Returns:
        Its gap [m]; 0: there is none.
    """
    chosen, least, q, normal = -1, -most, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for i in range(n):
        if pool[i, FEATURE] < 0.0 and pool[i, GAP] < limit:
            gap, at, out = crossing(-1 - np.int64(pool[i, FEATURE]), a, b, poses, features, shapes)
            if least < gap < 0.0:
                chosen, least, q, normal = i, gap, at, out
    if chosen < 0:
        return 0.0
    number = -1 - np.int64(pool[chosen, FEATURE])
    y = a if number % 2 == 1 else b
    pool[chosen, FEATURE] = float(number)
    write_point(pool, chosen, q, normal, least, 0.0, shapes.radius[y], poses.pose[y])
    return least
