"""The lowest point of a few planes over a triangle: where a convex solid is deepest, or nearest, to it.

The distance from a convex solid is a convex function, nowhere less than the greatest of the planes that touch the solid
(Kelley 1960, The Cutting-Plane Method for Solving Convex Programs). Each look at a point gives a plane, as its heights
at the three corners, and the next look is where the planes are lowest. The lowest height is a lower bound.
"""

import numpy as np

from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, cross, scale

# Planes that are kept.
PLANES = 4
FAR = np.float32(1e30)


@steady
def greatest(planes, count, u):
    """The greatest of linear functions over a triangle, given at its corners, where it has the weights u."""
    most = planes[0, 0] * u[0] + planes[0, 1] * u[1] + planes[0, 2] * u[2]
    for k in range(1, count):
        most = max(most, planes[k, 0] * u[0] + planes[k, 1] * u[1] + planes[k, 2] * u[2])
    return most


@steady
def lowest_of_planes(planes, count):
    """Least value over a triangle of the greatest of linear functions, and where it is, as weights.

    It is a corner, where two of them are equal on an edge, or where three are equal inside.
    """
    zero = planes[0, 0] - planes[0, 0]
    one = zero + ONE
    weights = one, zero, zero
    least = greatest(planes, count, weights)
    for corner in range(1, 3):
        u = zero, one if corner == 1 else zero, zero if corner == 1 else one
        value = greatest(planes, count, u)
        if value < least:
            least, weights = value, u
    for i in range(1, count):
        for j in range(i):
            d = planes[i, 0] - planes[j, 0], planes[i, 1] - planes[j, 1], planes[i, 2] - planes[j, 2]
            for edge in range(3):
                first = d[0] if edge == 0 else (d[1] if edge == 1 else d[2])
                second = d[1] if edge == 0 else (d[2] if edge == 1 else d[0])
                if first * second < zero:
                    t = first / (first - second)
                    rest = one - t
                    u = (rest, t, zero) if edge == 0 else ((zero, rest, t) if edge == 1 else (t, zero, rest))
                    value = greatest(planes, count, u)
                    if value < least:
                        least, weights = value, u
            for k in range(j):
                n = cross(d, (planes[i, 0] - planes[k, 0], planes[i, 1] - planes[k, 1], planes[i, 2] - planes[k, 2]))
                total = n[0] + n[1] + n[2]
                if total != zero and min(n[0] / total, min(n[1] / total, n[2] / total)) >= zero:
                    u = scale(n, one / total)
                    value = greatest(planes, count, u)
                    if value < least:
                        least, weights = value, u
    return least, weights


@steady
def keep_plane(planes, count, plane, u, least):
    """Keep a plane that was found at the weights u, if it is higher there than all others by more than `least` [m].

    Two that are one would drive a third out that is needed. Where there is no room it takes the place of the one that
    is lowest there: those that the point was found from are the highest. Returns how many there are.
    """
    height = plane[0] * u[0] + plane[1] * u[1] + plane[2] * u[2]
    if count > 0 and height - greatest(planes, count, u) <= least:
        return count
    at = count
    if count == PLANES:
        at, lowest = 0, height + FAR
        for k in range(PLANES):
            other = planes[k, 0] * u[0] + planes[k, 1] * u[1] + planes[k, 2] * u[2]
            if other < lowest:
                at, lowest = k, other
    planes[at, 0], planes[at, 1], planes[at, 2] = plane
    return min(count + 1, PLANES)
