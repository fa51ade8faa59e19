"""The direction between two convex cores along which their gap is largest, and their nearest points.

The points a - b of two convex sets form a convex set, and their signed distance is that of the origin from it. While
the sets are apart, the point of it nearest to the origin is found from its farthest points alone (Gilbert, Johnson,
Keerthi 1988, A fast procedure for computing the distance between complex objects). Where they overlap or touch, a is
first moved out along the best direction known, just clear of b; the direction to the nearest point from there is a
better one, and so on. The fixed point is a least translation that parts them: what flat faces and edges give after one
or two rounds. The best direction seen is kept, so that no round makes it worse.

A simplex is held as a triangle; a segment or a point is one with equal corners. The origin is always outside, so that
of a tetrahedron only the three triangles at the new corner matter.
"""

import numpy as np

from shinari.collision.narrow.pose_records import Vector
from shinari.collision.narrow.support import lowest_pair
from shinari.compute import shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import add, cross, dot, scale, sub

MOST_STEPS = 48
MOST_ROUNDS = 8
NEAR = 1e-12
"""Largest gap between the squared distance and its bound, relative to the squared distance."""
CLEAR = 1e-2
"""How far the cores are moved apart where they overlap, over their size."""
TOUCH = 1e-6
"""Gap over the size of the cores below which they count as in contact."""


@steady
def on_segment(p, q):
    """Weight of q in the point of a segment that is nearest to the origin, and the squared distance."""
    e = sub(q, p)
    squared = dot(e, e)
    t = -dot(p, e) / squared if squared > 0.0 else 0.0
    t = min(max(t, 0.0), 1.0)
    at = add(p, scale(e, t))
    return t, dot(at, at)


@shared(fastmath=STEADY)
def on_triangle(p: Vector, q: Vector, r: Vector) -> tuple[float, float, float, float]:
    """Weights of the corners in the point of a triangle that is nearest to the origin, and the squared distance."""
    n = cross(sub(q, p), sub(r, p))
    squared = dot(n, n)
    u, v, w = dot(n, cross(q, r)), dot(n, cross(r, p)), dot(n, cross(p, q))
    if u > 0.0 and v > 0.0 and w > 0.0 and squared > 0.0:
        total = u + v + w
        height = dot(n, p)
        return u / total, v / total, w / total, height * height / squared
    t, d0 = on_segment(p, q)
    a, b, c, least = 1.0 - t, t, 0.0, d0
    t, d1 = on_segment(q, r)
    if d1 < least:
        a, b, c, least = 0.0, 1.0 - t, t, d1
    t, d2 = on_segment(r, p)
    if d2 < least:
        a, b, c, least = t, 0.0, 1.0 - t, d2
    return a, b, c, least


@steady
def combined(u, p, v, q, w, r):
    """Point u p + v q + w r."""
    return add(scale(p, u), add(scale(q, v), scale(r, w)))


@steady
def compact(u, p, v, q, w, r):
    """Corners whose weight is zero are replaced by one whose weight is not."""
    full = p if u > 0.0 else (q if v > 0.0 else r)
    return p if u > 0.0 else full, q if v > 0.0 else full, r if w > 0.0 else full


@steady
def nearest(shapes, poses, a, b, offset, n, best):
    """Direction to the point of a - b that is nearest to the origin; the cores must be apart.

    Args:
        shapes: The shapes.
        poses: Their poses.
        a: First shape.
        b: Second shape.
        offset: Origin of a minus origin of b, with their separation [m].
        n: A unit vector from b to a to start with.
        best: Gap along n.

    Returns:
        The best unit vector, the gap along it, and the nearest point of a, about its origin in world axes [m].
    """
    from_a, from_b = lowest_pair(shapes, poses, a, b, n)
    s0 = s1 = s2 = add(offset, sub(from_a, from_b))
    a0 = a1 = a2 = from_a
    u, v, w = 1.0, 0.0, 0.0
    at, point = s0, from_a
    squared = dot(at, at)
    for _ in range(MOST_STEPS):
        length = np.sqrt(squared)
        if length <= 0.0:
            break
        d = scale(at, 1.0 / length)
        from_a, from_b = lowest_pair(shapes, poses, a, b, d)
        s = add(offset, sub(from_a, from_b))
        gap = dot(d, s)
        if gap > best:
            n, best = d, gap
        if length - gap <= NEAR * length:
            break
        u0, v0, w0, d0 = on_triangle(s0, s1, s)
        u1, v1, w1, d1 = on_triangle(s1, s2, s)
        u2, v2, w2, d2 = on_triangle(s2, s0, s)
        least = min(d0, min(d1, d2))
        if not least < squared:
            break
        squared = least
        if d0 <= least:
            u, v, w = u0, v0, w0
            p, q, pa, qa = s0, s1, a0, a1
        elif d1 <= least:
            u, v, w = u1, v1, w1
            p, q, pa, qa = s1, s2, a1, a2
        else:
            u, v, w = u2, v2, w2
            p, q, pa, qa = s2, s0, a2, a0
        at = combined(u, p, v, q, w, s)
        point = combined(u, pa, v, qa, w, from_a)
        s0, s1, s2 = compact(u, p, v, q, w, s)
        a0, a1, a2 = compact(u, pa, v, qa, w, from_a)
        squared = dot(at, at)
    return n, best, point


@steady
def refine(shapes, poses, a, b, offset, n, gap, size):
    """Improve a direction until no small turn makes the gap along it larger.

    Args:
        shapes: The shapes.
        poses: Their poses.
        a: First shape.
        b: Second shape.
        offset: Origin of a minus origin of b [m].
        n: Unit vector from b to a, the best of some.
        gap: Gap along it [m].
        size: Size of the smaller one [m].

    Returns:
        Unit vector, gap along it, and the nearest points of both, about the origin of b [m].
    """
    from_a, from_b = lowest_pair(shapes, poses, a, b, n)
    point = from_a
    for _ in range(MOST_ROUNDS):
        apart = gap > TOUCH * size
        out = 0.0 if apart else CLEAR * size - gap
        m, _, at = nearest(shapes, poses, a, b, add(offset, scale(n, out)), n, gap + out)
        from_a, from_b = lowest_pair(shapes, poses, a, b, m)
        found = dot(m, add(offset, sub(from_a, from_b)))
        gain = found - gap
        if gain >= -1e-9 * size:
            point = at
        if gain > 0.0:
            n, gap = m, found
        if apart or gain <= 1e-9 * size:
            break
    on_a = add(offset, point)
    return n, gap, on_a, sub(on_a, scale(n, gap))
