"""Where a triangle lies on a straight edge, or on a generator of a round side: one contact that stands for all of it.

All points of the chord along which the triangle lies on the line are as deep as each other, and the deepest is at one
end or the other, as the triangle tilts by a rounding. A contact that jumps between both ends lets each of them fall
in turn, and the sheet trembles without end. So the contact is the middle of the chord while both ends are
equally deep, and goes to the deeper one as they differ:

         e0 ______c_______ e1           c = e0 + p (e1 - e0),    p = 1/2 + (h0 - h1) / (2 band), from 0 to 1
      ------------------------ line     h: distances of the ends

It is less deep than the deepest point by at most an eighth of the band. Beyond an end of the line, as at a corner of a
box, the deepest point is one end of the chord.
"""

import numpy as np

from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, add, cross, dot, scale, sub
from shinari.shapes.kernels.dispatch import distance_and_normal, feature, straight
from shinari.shapes.kernels.revolution import clamp
from shinari.systems.colliders.element_points import blend

HALF = np.float32(0.5)
# Band of distances, as a part of the distance to keep.
BAND = np.float32(0.1)


@steady
def cut(a, b, c):
    """Weights of the two points where a plane cuts a triangle, by the heights of its corners; the same two: nowhere."""
    zero, one = ZERO * a, ONE + ZERO * a
    up_a, up_b, up_c = a > zero, b > zero, c > zero
    if up_b == up_c:
        u, v = (zero, zero) if up_a == up_b else (a / (a - b), a / (a - c))
        return (one - u, u, zero), (one - v, zero, v)
    if up_a == up_c:
        u, v = b / (b - c), b / (b - a)
        return (zero, one - u, u), (v, one - v, zero)
    u, v = c / (c - a), c / (c - b)
    return (u, zero, one - u), (zero, v, one - v)


@steady
def chord(line, q, n, corners):
    """Weights of the ends of the chord along which a triangle lies on a line; the same ones: there is none.

    Args:
        line: Its direction and half of its length.
        q: Deepest point of the triangle.
        n: Normal there.
        corners: Corners of the triangle.
    """
    (t, half), (x0, x1, x2) = line, corners
    # the plane of the line and the normal cuts the triangle in the chord
    m = cross(t, n)
    w0, w1 = cut(dot(m, sub(x0, q)), dot(m, sub(x1, q)), dot(m, sub(x2, q)))
    start, end, here = dot(t, blend(w0, x0, x1, x2)), dot(t, blend(w1, x0, x1, x2)), dot(t, q)
    first, last = clamp(start, -half, half), clamp(end, -half, half)
    if abs(here) > half:
        # beyond the end of the line: from the deepest point to the end of the chord on the line, if one is
        side = ONE if here > half else -ONE
        inner = min(side * start, side * end)
        first, last = here, side * max(inner, -half) if inner < half else here
    if first == last or start == end:
        return w0, w0
    # a short chord is rounded: no farther than its ends
    along, rate, zero = sub(w1, w0), ONE / (end - start), ZERO * start
    first, last = clamp((first - start) * rate, zero, zero + ONE), clamp((last - start) * rate, zero, zero + ONE)
    return add(w0, scale(along, first)), add(w0, scale(along, last))


@steady
def middle_of_chord(kind, s, b, n, reach, corners):
    """Weights of the contact of a triangle with a convex solid.

    Args:
        kind: Kind of the solid.
        s: Its numbers.
        b: Weights of the deepest point.
        n: Normal there.
        reach: Distance to keep [m].
        corners: Corners of the triangle, in the axes of the solid.
    """
    line = straight(kind, n, s)
    if line[1] == ZERO:
        return b
    x0, x1, x2 = corners
    q = blend(b, x0, x1, x2)
    _, _, flat = feature(kind, s, q, reach, n, reach)
    if flat:
        return b
    w0, w1 = chord(line, q, n, corners)
    along = sub(w1, w0)
    if dot(along, along) == ZERO:
        return b
    h0, _ = distance_and_normal(kind, blend(w0, x0, x1, x2), s, ())
    h1, _ = distance_and_normal(kind, blend(w1, x0, x1, x2), s, ())
    return add(w0, scale(along, clamp(HALF + HALF * (h0 - h1) / (BAND * reach), ZERO * h0, ONE + ZERO * h0)))
