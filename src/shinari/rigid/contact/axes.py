"""Directions worth trying between two convex shapes: along faces, and from centre to centre."""

import numpy as np

from shinari.maths.function import steady
from shinari.maths.poses import turn, turn_back
from shinari.maths.vec3 import add, direction_and_length, dot, neg, sub
from shinari.rigid.contact.shapes import BOX, CAPSULE, CONE, CYLINDER, HULL
from shinari.rigid.contact.support import lowest_pair


@steady
def face_count(shapes, g):
    """How many normals of a shape are tried."""
    kind = shapes.kind[g]
    if kind == BOX:
        return 6
    if kind == CAPSULE:
        return 1
    if kind == CYLINDER:
        return 3
    if kind == CONE:
        return 2
    h = shapes.hull[g]
    return shapes.face_starts[h + 1] - shapes.face_starts[h] if kind == HULL else 0


@steady
def face_normal(shapes, g, k, toward):
    """Outward normal k of a shape in local axes; of a round side the one that looks along `toward`."""
    kind = shapes.kind[g]
    if kind == HULL:
        f = shapes.face_starts[shapes.hull[g]] + k
        return shapes.planes[f, 0], shapes.planes[f, 1], shapes.planes[f, 2]
    if kind == BOX:
        s = 1.0 if k < 3 else -1.0
        i = k % 3
        return (s if i == 0 else 0.0), (s if i == 1 else 0.0), (s if i == 2 else 0.0)
    across = np.sqrt(toward[0] * toward[0] + toward[2] * toward[2])
    c, s = (toward[0] / across, toward[2] / across) if across > 0.0 else (1.0, 0.0)
    if kind == CYLINDER and k > 0:
        return 0.0, (1.0 if k == 1 else -1.0), 0.0
    if kind == CONE:
        if k > 0:
            return 0.0, -1.0, 0.0
        return shapes.size[g, 2] * c, shapes.size[g, 3], shapes.size[g, 2] * s
    return c, 0.0, s


@steady
def best_axis(shapes, poses, a, b, offset, enough, tolerance):
    """The best of the directions that are tried.

    Args:
        shapes: The shapes.
        poses: Their poses.
        a: First shape.
        b: Second shape.
        offset: Origin of a minus origin of b [m].
        enough: A gap between the cores above it is enough to know [m].
        tolerance: A later direction has to be better than an earlier one by this length [m].

    Returns:
        Unit vector from b to a, the gap of the cores along it [m], and whether it is a normal of a.
    """
    pose_a, pose_b = poses.pose[a], poses.pose[b]
    count_a, count_b = face_count(shapes, a), face_count(shapes, b)
    to_a, _ = direction_and_length(turn_back(pose_b, offset))
    to_b, _ = direction_and_length(turn_back(pose_a, neg(offset)))
    best, best_gap, of_a = (0.0, 1.0, 0.0), -np.inf, False
    pair = (0.0, 0.0, 0.0)  # of a point of a and one of b, a - b
    for k in range(count_a + count_b + 1):
        if k == 0:
            n, length = direction_and_length(offset)
            n = n if length > 0.0 else (0.0, 1.0, 0.0)
        elif k <= count_b:
            n = turn(pose_b, face_normal(shapes, b, k - 1, to_a))
        else:
            n = neg(turn(pose_a, face_normal(shapes, a, k - count_b - 1, to_b)))
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
