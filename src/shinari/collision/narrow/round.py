"""Contacts of balls with everything bounded, and of capsules with capsules, in closed form."""

import numpy as np

from shinari.collision.narrow.convex import Shapes
from shinari.collision.narrow.pose_records import Poses
from shinari.collision.narrow.rows import Rows, separated, write_row
from shinari.compute import shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.poses import origin, rotate_vector, rotate_vector_back
from shinari.maths.vec3 import add, cross, direction_and_length, dot, neg, scale, sub
from shinari.shapes.hull import HULL, hull_distance
from shinari.shapes.kernels.dispatch import distance_and_normal
from shinari.shapes.kernels.projection import NONE

SAME = 1e-9
"""Sine of an angle that counts as none, and a distance over the radii that has no direction."""
TAKEN = 1e-3
"""Distance of two pairs of places on two capsules that count as one, over their radii."""
LEVEL = 1e-3
"""How much deeper than at its ends two capsules have to meet between them to meet there too, over their radii."""


@shared(fastmath=STEADY)
def ball_manifold(shapes: Shapes, poses: Poses, a: int, b: int, margin: float, out: Rows) -> int:
    """Contact of a ball a with a bounded shape b: one point or none."""
    pose_a, pose_b = poses.pose[a], poses.pose[b]
    radius = shapes.size[a, 0]
    offset = sub(origin(pose_a), origin(pose_b))
    q = rotate_vector_back(pose_b, offset)
    kind = shapes.kind[b]
    s = (shapes.size[b, 0], shapes.size[b, 1], shapes.size[b, 2], shapes.size[b, 3])
    if kind == HULL:
        square = dot(q, q)
        if square > (s[0] + radius + margin) * (s[0] + radius + margin):
            return separated(out, np.sqrt(square) - s[0] - radius)
        distance, normal = hull_distance(shapes, b, q)
    else:
        distance, normal = distance_and_normal(kind, q, s, ())
    if distance - radius >= margin:
        return separated(out, distance - radius)
    n = rotate_vector(pose_b, normal)
    other = shapes.radius[b]
    centre = origin(pose_a)
    write_row(out, NONE, centre, radius, sub(centre, scale(n, distance + other)), other, n, distance - radius, 0.0, 0.0)
    return 1


@steady
def on_axis(p, centre, axis, half):
    """Place of the point of a segment that is nearest to p: its distance from the centre along the axis."""
    return min(max(dot(sub(p, centre), axis), -half), half)


@steady
def crossing(apart, u, half_a, w, half_b):
    """Places of the nearest points of two segments, from their centres (Ericson 2004, Real-Time Collision Detection).

    `apart` is the centre of the first minus that of the second. The third result says whether both lie between the
    ends.
    """
    c, du, dw = dot(u, w), dot(apart, u), dot(apart, w)
    det = 1.0 - c * c
    if det <= 1e-12:
        return 0.0, 0.0, False
    s, t = (c * dw - du) / det, (dw - c * du) / det
    return s, t, abs(s) < half_a and abs(t) < half_b


@steady
def across_both(u, w):
    """Unit vector across two axes, for segments that meet."""
    n, length = direction_and_length(cross(u, w))
    if length > SAME:
        return n
    n, length = direction_and_length((-u[1], u[0], 0.0))
    return n if length > 0.0 else (1.0, 0.0, 0.0)


@steady
def capsule_end(k, apart, u, half_a, w, half_b):
    """Places on two segments for end k: of the first (0, 1) or of the second (2, 3), and the nearest of the other."""
    sign = 1.0 if k % 2 == 1 else -1.0
    if k < 2:
        s = sign * half_a
        return s, on_axis(add(apart, scale(u, s)), (0.0, 0.0, 0.0), w, half_b)
    t = sign * half_b
    return on_axis(scale(w, t), apart, u, half_a), t


@shared(fastmath=STEADY)
def capsules_manifold(shapes: Shapes, poses: Poses, a: int, b: int, margin: float, out: Rows) -> int:
    """Contacts of two capsules: where they cross, or else up to two of their ends, each with its own normal."""
    pose_a, pose_b = poses.pose[a], poses.pose[b]
    half_a, half_b = shapes.size[a, 1], shapes.size[b, 1]
    radius_a, radius_b = shapes.size[a, 0], shapes.size[b, 0]
    u, w = (pose_a[1], pose_a[4], pose_a[7]), (pose_b[1], pose_b[4], pose_b[7])
    apart = sub(origin(pose_a), origin(pose_b))
    reach = radius_a + radius_b
    limit = margin + reach
    far = np.sqrt(dot(apart, apart)) - half_a - half_b
    if far >= limit:
        return separated(out, far - reach)
    # The two lowest ends: the second is another pair of points, so a pair of ends is not taken twice.
    s0 = t0 = s1 = t1 = 0.0
    k0 = k1 = -1.0
    d0 = d1 = np.inf
    for k in range(4):
        s, t = capsule_end(k, apart, u, half_a, w, half_b)
        away = sub(add(apart, scale(u, s)), scale(w, t))
        d = np.sqrt(dot(away, away))
        same = k0 >= 0.0 and abs(s - s0) + abs(t - t0) <= TAKEN * reach
        if d < d0 - 1e-6 * reach and not same:
            s1, t1, d1, k1 = s0, t0, d0, k0
            s0, t0, d0, k0 = s, t, d, float(k)
        elif d < d1 and not same and not (k1 >= 0.0 and abs(s - s1) + abs(t - t1) <= TAKEN * reach):
            s1, t1, d1, k1 = s, t, d, float(k)
    s, t, between = crossing(apart, u, half_a, w, half_b)
    away = sub(add(apart, scale(u, s)), scale(w, t))
    d = np.sqrt(dot(away, away))
    nearest = (min(d, d0) if between else d0) - TAKEN * reach
    count = NONE
    if between and d < d0 - LEVEL * reach and d < limit:
        capsule_row(out, count, pose_a, radius_a, pose_b, radius_b, u, s, w, t, 4.0)
        count += 1
    if d0 < limit:
        capsule_row(out, count, pose_a, radius_a, pose_b, radius_b, u, s0, w, t0, k0)
        count += 1
    if d1 < limit and k1 >= 0.0:
        capsule_row(out, count, pose_a, radius_a, pose_b, radius_b, u, s1, w, t1, k1)
        count += 1
    return int(count) if count > 0 else separated(out, nearest - reach)


@steady
def capsule_row(out, i, pose_a, radius_a, pose_b, radius_b, u, s, w, t, feature):
    """Write the contact between two places on the axes of two capsules."""
    on_a = add(origin(pose_a), scale(u, s))
    on_b = add(origin(pose_b), scale(w, t))
    n, length = direction_and_length(sub(on_a, on_b))
    if length <= SAME * (radius_a + radius_b):
        n = across_both(u, w)
        n = n if dot(n, sub(origin(pose_a), origin(pose_b))) >= 0.0 else neg(n)
    gap = dot(n, sub(on_a, on_b)) - radius_a - radius_b
    write_row(out, i, on_a, radius_a, on_b, radius_b, n, gap, feature, 0.0)
