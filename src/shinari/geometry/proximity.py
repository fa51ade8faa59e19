"""Nearest points of a point and a triangle, and of two segments, as weights of the four particles.

        0                    0------1         The vector from the second to the first is sum b_i x_i: for a point and
        |                       |             a triangle b = (1, -u, -v, -w), u + v + w = 1; for two segments
     1--+--2  3              2--+---3         b = (1 - s, s, -(1 - t), -t).

Ericson 2005, Real-Time Collision Detection, sections 5.1.5 and 5.1.9. Points are relative to the first, so that single
precision keeps the digits of short distances.
"""

import numpy as np

from shinari.compute import real, shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, reciprocal, scale, sub

PARALLEL = np.float32(1e-6)
Vector = tuple[real, real, real]


@steady
def clamp01(value):
    """The value brought between 0 and 1."""
    return min(max(value, ZERO), ONE)


@steady
def share(part, whole):
    """Part / whole between 0 and 1, and 0 where there is no whole."""
    return clamp01(part * reciprocal(whole))


@steady
def triangle_weights(a, b, c):
    """Weights (u, v, w) of the point of a triangle that is nearest to the origin."""
    ab, ac = sub(b, a), sub(c, a)
    d1, d2 = -dot(ab, a), -dot(ac, a)
    d3, d4 = -dot(ab, b), -dot(ac, b)
    d5, d6 = -dot(ab, c), -dot(ac, c)
    va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
    zero = ab[0] - ab[0]
    one = zero + ONE
    if d1 <= ZERO and d2 <= ZERO:
        return one, zero, zero
    if d3 >= ZERO and d4 <= d3:
        return zero, one, zero
    if d6 >= ZERO and d5 <= d6:
        return zero, zero, one
    if vc <= ZERO and d1 >= ZERO and d3 <= ZERO:
        v = share(d1, d1 - d3)
        return one - v, v, zero
    if vb <= ZERO and d2 >= ZERO and d6 <= ZERO:
        w = share(d2, d2 - d6)
        return one - w, zero, w
    if va <= ZERO and d4 >= d3 and d5 >= d6:
        w = share(d4 - d3, (d4 - d3) + (d5 - d6))
        return zero, one - w, w
    whole = reciprocal(va + vb + vc)
    v, w = vb * whole, vc * whole
    return one - v - w, v, w


@steady
def nearest_weights(y, a, b, c):
    """Weights of the point of a triangle nearest to y, without branches; for a degenerate one it lies on an edge."""
    ap, ab, ac = sub(y, a), sub(b, a), sub(c, a)
    bb, cc, bc = dot(ab, ab), dot(ac, ac), dot(ab, ac)
    pb, pc = dot(ap, ab), dot(ap, ac)
    over = reciprocal(bb * cc - bc * bc)
    u, v = (cc * pb - bc * pc) * over, (bb * pc - bc * pb) * over
    r = min(max(pb * reciprocal(bb), ZERO), ONE)
    s = min(max(pc * reciprocal(cc), ZERO), ONE)
    t = min(max((bb - bc + pc - pb) * reciprocal(bb + cc - bc - bc), ZERO), ONE)
    on_ab, on_ac = sub(ap, scale(ab, r)), sub(ap, scale(ac, s))
    on_bc = sub(sub(ap, scale(ab, ONE - t)), scale(ac, t))
    d1, d2, d3 = dot(on_ab, on_ab), dot(on_ac, on_ac), dot(on_bc, on_bc)
    inside = over > ZERO and u >= ZERO and v >= ZERO and u + v <= ONE
    along_ab, along_ac = d1 <= d2 and d1 <= d3, d2 <= d3
    wb = u if inside else (r if along_ab else (ZERO if along_ac else ONE - t))
    wc = v if inside else (ZERO if along_ab else (s if along_ac else t))
    return ONE - wb - wc, wb, wc


@steady
def segment_weights(p, q, r):
    """Places (s, t) along the segments from the origin to p and from q to r that are nearest to each other."""
    d2 = sub(r, q)
    a, e = dot(p, p), dot(d2, d2)
    b, c, f = dot(p, d2), -dot(p, q), -dot(d2, q)
    across = a * e - b * b
    s = clamp01((b * f - c * e) / across) if across > PARALLEL * a * e else ZERO * a
    t = share(b * s + f, e)
    # once t is known the best s follows, and the other way round: exact where one of them was clamped
    s = share(b * t - c, a)
    t = share(b * s + f, e)
    return s, t


@steady
def pair_weights(edges, a, b, c):
    """Signed weights of four particles; positions are those of the last three relative to the first."""
    if edges:
        s, t = segment_weights(a, b, c)
        return ONE - s, s, t - ONE, -t
    u, v, w = triangle_weights(a, b, c)
    return u - u + ONE, -u, -v, -w


@steady
def straight_weights(edges, a, b, c):
    """`pair_weights` without branches where `edges` is known, for loops that vectorise."""
    zero = ZERO * a[0]
    if edges:
        s, t = segment_weights(a, b, c)
        return ONE - s, s, t - ONE, -t
    u, v, w = nearest_weights((zero, zero, zero), a, b, c)
    return zero + ONE, -u, -v, -w


@shared(fastmath=STEADY)
def nearest_points(edges: bool, a: Vector, b: Vector, c: Vector) -> tuple[real, real, real, real]:
    """`pair_weights`, compiled once."""
    return pair_weights(edges, a, b, c)


@steady
def gap_vector(weights, a, b, c):
    """Vector from the second point to the first."""
    return add(add(scale(a, weights[1]), scale(b, weights[2])), scale(c, weights[3]))


@steady
def pair_distance(edges, a, b, c):
    """Distance [m] of a point and a triangle, or of two segments."""
    return norm(gap_vector(pair_weights(edges, a, b, c), a, b, c))
