r"""Signed distance of a convex shape from its support function.

With h(n) = n . support(n) the signed distance of a point q is the largest of n . q - h(n) over unit vectors n, outside
and inside. Outside, the nearest point is found from farthest points (Gilbert, Johnson, Keerthi 1988, A fast procedure
for computing the distance between complex objects). Inside, q is first moved out along the best direction known, just
clear of the shape; the direction to the nearest point from there is a better one, and so on. What is found is never
more than the true distance.
"""

from typing import Any

import numpy as np

from shinari.compute.kernels import Function
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, add, cross, direction_and_length, dot, norm, reciprocal, scale, sub

MOST_STEPS, MOST_ROUNDS = 32, 6
NEAR = np.float32(1e-12)
"""Part of the squared distance that may be left between what is found and its bound."""
CLEAR = np.float32(1e-2)
"""How far a point inside is moved out, over the size."""
TOUCH = np.float32(1e-6)
"""Distance below which a point counts as inside, over the size."""


@steady
def on_segment(p, q):
    """Weight of q in the point of a segment that is nearest to the origin, and the squared distance."""
    e = sub(q, p)
    t = min(max(-dot(p, e) * reciprocal(dot(e, e)), ZERO), ONE)
    at = add(p, scale(e, t))
    return t, dot(at, at)


@steady
def on_triangle(p, q, r):
    """Weights of the corners in the point of a triangle that is nearest to the origin, and the squared distance."""
    n = cross(sub(q, p), sub(r, p))
    squared = dot(n, n)
    u, v, w = dot(n, cross(q, r)), dot(n, cross(r, p)), dot(n, cross(p, q))
    inside = u > ZERO and v > ZERO and w > ZERO and squared > ZERO
    per = reciprocal(u + v + w) if inside else ZERO * u
    height = dot(n, p)
    t0, d0 = on_segment(p, q)
    t1, d1 = on_segment(q, r)
    t2, d2 = on_segment(r, p)
    first, second = d0 <= d1 and d0 <= d2, d1 <= d2
    a = ONE - t0 if first else (ZERO * t0 if second else t2)
    b = t0 if first else (ONE - t1 if second else ZERO * t0)
    c = ZERO * t0 if first else (t1 if second else ONE - t2)
    least = min(d0, min(d1, d2))
    return (
        u * per if inside else a,
        v * per if inside else b,
        w * per if inside else c,
        height * height * reciprocal(squared) if inside else least,
    )


@steady
def combined(u, p, v, q, w, r):
    """Point u p + v q + w r."""
    return add(scale(p, u), add(scale(q, v), scale(r, w)))


@steady
def corners_used(u, p, v, q, w, r):
    """Corners whose weight is zero are replaced by one whose weight is not."""
    full = p if u > ZERO else (q if v > ZERO else r)
    return p if u > ZERO else full, q if v > ZERO else full, r if w > ZERO else full


@steady
def first_of(one, two, a, b, c):
    """The first of three vectors that is chosen."""
    return (
        a[0] if one else (b[0] if two else c[0]),
        a[1] if one else (b[1] if two else c[1]),
        a[2] if one else (b[2] if two else c[2]),
    )


def search_by(support: Any) -> Function:
    """`direction_from(q, s, n)` of a convex shape by its support function; compiled with it."""

    @steady
    def direction_from(q, s, n):
        """The best direction to a point outside, from a direction n on, and the distance along it."""
        s0 = sub(q, support(n, s))
        s1, s2, at = s0, s0, s0
        best, squared = dot(n, s0), dot(s0, s0)
        for _ in range(MOST_STEPS):
            length = np.sqrt(squared)
            if length <= ZERO:
                break
            d = scale(at, ONE / length)
            new = sub(q, support(d, s))
            gap = dot(d, new)
            if gap > best:
                n, best = d, gap
            if length - gap <= NEAR * length:
                break
            u0, v0, w0, d0 = on_triangle(s0, s1, new)
            u1, v1, w1, d1 = on_triangle(s1, s2, new)
            u2, v2, w2, d2 = on_triangle(s2, s0, new)
            least = min(d0, min(d1, d2))
            if not least < squared:
                break
            one, two = d0 <= least, d1 <= least
            u, v, w = first_of(one, two, (u0, v0, w0), (u1, v1, w1), (u2, v2, w2))
            p, r = first_of(one, two, s0, s1, s2), first_of(one, two, s1, s2, s0)
            at = combined(u, p, v, r, w, new)
            s0, s1, s2 = corners_used(u, p, v, r, w, new)
            squared = dot(at, at)
        return n, best

    return direction_from


def distance_by(support: Any) -> Function:
    """`distance(q, s)` of a convex shape by its support function; compiled with it."""
    direction_from = search_by(support)

    @steady
    def distance(q, s):
        """Signed distance and normal."""
        zero = ZERO * q[0]
        one = ONE + zero
        n, length = direction_and_length(q)
        n = n if length > ZERO else (zero, one, zero)
        gap, size = dot(n, sub(q, support(n, s))), zero
        for k in range(6):
            side = one if k < 3 else -one
            i = k % 3
            m = (side if i == 0 else zero, side if i == 1 else zero, side if i == 2 else zero)
            there = support(m, s)
            size = max(size, norm(there))
            value = dot(m, sub(q, there))
            if value > gap:
                n, gap = m, value
        for _ in range(MOST_ROUNDS):
            apart = gap > TOUCH * size
            out = zero if apart else CLEAR * size - gap
            m, found = direction_from(add(q, scale(n, out)), s, n)
            found = dot(m, sub(q, support(m, s)))
            gain = found - gap
            if gain > ZERO:
                n, gap = m, found
            if apart or gain <= TOUCH * TOUCH * size:
                break
        return gap, n

    return distance
