"""Directions worth trying between two convex shapes: along faces, and from centre to centre."""

import numpy as np

from shinari.collision.narrow.support import lowest_pair
from shinari.maths.function import steady
from shinari.maths.poses import rotate_vector, rotate_vector_back
from shinari.maths.vec3 import add, direction_and_length, dot, neg, sub
from shinari.shapes.kernels.dispatch import own_axis


@steady
def best_axis(shapes, poses, a, b, offset, enough, tolerance):
    """The best of the directions that are tried.

    Args:
        shapes: The shapes.
        poses: Their poses.
        a: First shape.
        b: Second shape.
        offset: Origin of a minus origin of b [m].
        enough: Gap between the cores above which the search ends [m].
        tolerance: A later direction has to be better than an earlier one by this length [m].

    Returns:
        Unit vector from b to a, the gap of the cores along it [m], and whether it is a normal of a.
    """
    pose_a, pose_b = poses.pose[a], poses.pose[b]
    count_a, count_b = shapes.axes[a], shapes.axes[b]
    to_a, _ = direction_and_length(rotate_vector_back(pose_b, offset))
    to_b, _ = direction_and_length(rotate_vector_back(pose_a, neg(offset)))
    best, best_gap, of_a = (0.0, 1.0, 0.0), -np.inf, False
    pair = (0.0, 0.0, 0.0)  # of a point of a and one of b, a - b
    for k in range(count_a + count_b + 1):
        if k == 0:
            n, length = direction_and_length(offset)
            n = n if length > 0.0 else (0.0, 1.0, 0.0)
        elif k <= count_b:
            n = rotate_vector(pose_b, own_axis(shapes, b, k - 1, to_a))
        else:
            n = neg(rotate_vector(pose_a, own_axis(shapes, a, k - count_b - 1, to_b)))
        # No pair of points is nearer along n than the gap: those found before rule out most directions.
        if k > 0 and dot(n, pair) <= best_gap:
            continue
        from_a, from_b = lowest_pair(shapes, poses, a, b, n)
        here = add(offset, sub(from_a, from_b))
        gap = dot(n, here)
        if gap > best_gap + (tolerance if k > 1 else 0.0):
            best, best_gap, of_a, pair = n, gap, k > count_b, here
            if gap > enough:
                break
    return best, best_gap, of_a
