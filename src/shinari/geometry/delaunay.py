"""Delaunay triangles of points in the plane, point by point.

Lawson 1977, Software for C1 surface interpolation: a point divides the triangle that holds it, or the two at the edge
on which it lies, and edges are swapped while the circle around a triangle holds the corner opposite. After each step
the triangles cover the plane once, whatever is rounded: signs that rounding may have made count as zero (Shewchuk 1997,
Adaptive precision floating-point arithmetic), and points on one circle keep the edges that they have. Points come in
the order of a Hilbert curve, so that the walk from the last triangle to the next is short.
"""

import numpy as np
from numpy.typing import NDArray

from shinari.compute import Field, Record, function, kernel, shared
from shinari.compute.program import run_once
from shinari.geometry.ordering import hilbert_order

FAR = 50.0
"""Distance of the corners of the first triangle from the middle, in sizes of the set of points."""
EXACT: frozenset[str] = frozenset()
# bounds of the rounding of both determinants over the sum of the sizes of their terms
TURN_ROUNDING, CIRCLE_ROUNDING = 4.0e-16, 1.2e-15


class Sites(Record):
    """Points, and the corners of the first triangle."""

    x = Field(np.float64, 2)


class Order(Record):
    """Order in which points are inserted."""

    site = Field(np.int64)


class Triangles(Record):
    """Triangles, counter-clockwise."""

    corner = Field(np.int64, 3)
    across = Field(np.int64, 3, doc="triangle at the side opposite to each corner; -1: none")


class Stack(Record):
    """Triangles whose side opposite to corner 0 is to be looked at."""

    triangle = Field(np.int64)


class Used(Record):
    """One row."""

    triangles = Field(np.int64)


def delaunay(points: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Delaunay triangles of points.

    Args:
        points: Points, (N, 2); of points at one place only one is used.

    Returns:
        Triangles, counter-clockwise, (F, 3), with those that join the points to three more far away, numbered from N;
        and the triangles opposite to their corners, -1 for none, (F, 3).
    """
    count = len(points)
    middle, size = points.mean(axis=0), float(np.ptp(points, axis=0).max()) or 1.0
    far = middle + FAR * size * np.array([[-1.0, -1.0], [1.0, -1.0], [0.0, 1.0]])
    sites = Sites(x=np.concatenate([points, far]) - middle)
    order = Order(site=hilbert_order(np.column_stack([points, np.zeros(count)])).astype(np.int64))
    triangles, stack, used = Triangles.zeros(2 * count + 1), Stack.zeros(2 * count + 16), Used.zeros(1)
    run_once(insert_all, sites, order, triangles, stack, used, count=1)
    last = int(used.triangles[0])
    return triangles.corner[:last].copy(), triangles.across[:last].copy()


@function(fastmath=EXACT)
def _turn(sites, a, b, c):
    """Twice the area of a triangle; 0 where its sign is not certain."""
    p, q, r = sites.x[a], sites.x[b], sites.x[c]
    left, right = (p[0] - r[0]) * (q[1] - r[1]), (p[1] - r[1]) * (q[0] - r[0])
    found = left - right
    return found if abs(found) > TURN_ROUNDING * (abs(left) + abs(right)) else 0.0


@function(fastmath=EXACT)
def _in_circle(sites, a, b, c, d):
    """Whether d certainly lies in the circle through the corners of a counter-clockwise triangle."""
    p, q, r, s = sites.x[a], sites.x[b], sites.x[c], sites.x[d]
    ax, ay, bx, by, cx, cy = p[0] - s[0], p[1] - s[1], q[0] - s[0], q[1] - s[1], r[0] - s[0], r[1] - s[1]
    aa, bb, cc = ax * ax + ay * ay, bx * bx + by * by, cx * cx + cy * cy
    found = aa * (bx * cy - by * cx) + bb * (cx * ay - cy * ax) + cc * (ax * by - ay * bx)
    terms = aa * (abs(bx * cy) + abs(by * cx)) + bb * (abs(cx * ay) + abs(cy * ax))
    terms += cc * (abs(ax * by) + abs(ay * bx))
    return found > CIRCLE_ROUNDING * terms


@shared(fastmath=EXACT)
def locate(sites: Sites, triangles: Triangles, start: int, used: int, site: int) -> int:
    """The triangle in which a point lies: always over a side that has the point beyond it."""
    t = start
    for step in range(4 * used + 16):
        following = -1
        for turn in range(3):
            k = (turn + step) % 3  # no fixed order of the sides, so that the walk cannot go round in circles
            corner, across = triangles.corner[t], triangles.across[t]
            a = corner[1] if k == 0 else corner[2] if k == 1 else corner[0]
            b = corner[2] if k == 0 else corner[0] if k == 1 else corner[1]
            beyond = across[0] if k == 0 else across[1] if k == 1 else across[2]
            if following < 0 and beyond >= 0 and _turn(sites, a, b, site) < 0.0:
                following = beyond
        if following < 0:
            return t
        t = following
    return t


@shared(fastmath=EXACT)
def replace_across(triangles: Triangles, t: int, old: int, new: int) -> int:
    """Let the side of triangle t at an old triangle be at a new one."""
    if t >= 0:
        p, q, r = triangles.across[t]
        triangles.across[t] = new if p == old else p, new if q == old else q, new if r == old else r
    return t


@shared(fastmath=EXACT)
def rotate(triangles: Triangles, t: int, first: int) -> int:
    """Number the corners of a triangle so that the given one, 0 to 2, is the first."""
    a, b, c = triangles.corner[t]
    p, q, r = triangles.across[t]
    if first == 1:
        triangles.corner[t], triangles.across[t] = (b, c, a), (q, r, p)
    elif first == 2:
        triangles.corner[t], triangles.across[t] = (c, a, b), (r, p, q)
    return t


@shared(fastmath=EXACT)
def divide_triangle(triangles: Triangles, stack: Stack, used: int, t: int, site: int) -> int:
    """Divide a triangle at a point inside; how many triangles are to be looked at."""
    a, b, c = triangles.corner[t]
    p, q, r = triangles.across[t]
    u, v = used, used + 1
    triangles.corner[t], triangles.across[t] = (site, b, c), (p, u, v)
    triangles.corner[u], triangles.across[u] = (site, c, a), (q, v, t)
    triangles.corner[v], triangles.across[v] = (site, a, b), (r, t, u)
    replace_across(triangles, q, t, u)
    replace_across(triangles, r, t, v)
    stack.triangle[0], stack.triangle[1], stack.triangle[2] = t, u, v
    return 3


@shared(fastmath=EXACT)
def divide_side(triangles: Triangles, stack: Stack, used: int, t: int, site: int) -> int:
    """Divide the side opposite to corner 0 of a triangle, and its neighbour; how many are to be looked at."""
    s = triangles.across[t, 0]
    d0, d1, _ = triangles.across[s]
    rotate(triangles, s, 0 if d0 == t else 1 if d1 == t else 2)
    a, b, c = triangles.corner[t]
    _, q, r = triangles.across[t]
    d, _, _ = triangles.corner[s]  # the side is c, b there
    _, m, n = triangles.across[s]
    u, v = used, used + 1
    triangles.corner[t], triangles.across[t] = (site, a, b), (r, s, u)
    triangles.corner[u], triangles.across[u] = (site, c, a), (q, t, v)
    triangles.corner[v], triangles.across[v] = (site, d, c), (n, u, s)
    triangles.corner[s], triangles.across[s] = (site, b, d), (m, v, t)
    replace_across(triangles, q, t, u)
    replace_across(triangles, n, s, v)
    stack.triangle[0], stack.triangle[1], stack.triangle[2], stack.triangle[3] = t, u, v, s
    return 4


@shared(fastmath=EXACT)
def swap_side(sites: Sites, triangles: Triangles, t: int) -> int:
    """Swap the side opposite to corner 0 when the circle holds the corner beyond; the triangle there, or -1."""
    s = triangles.across[t, 0]
    if s < 0:
        return -1
    d0, d1, _ = triangles.across[s]
    rotate(triangles, s, 0 if d0 == t else 1 if d1 == t else 2)
    p, a, b = triangles.corner[t]
    d, _, _ = triangles.corner[s]  # the side is b, a there
    if not _in_circle(sites, p, a, b, d) or _turn(sites, p, a, d) <= 0.0 or _turn(sites, p, d, b) <= 0.0:
        return -1
    _, q, r = triangles.across[t]
    _, m, n = triangles.across[s]
    triangles.corner[t], triangles.across[t] = (p, a, d), (m, s, r)
    triangles.corner[s], triangles.across[s] = (p, d, b), (n, q, t)
    replace_across(triangles, m, s, t)
    replace_across(triangles, q, t, s)
    return s


@kernel(fastmath=EXACT)
def insert_all(_, sites: Sites, order: Order, triangles: Triangles, stack: Stack, used: Used):
    """Insert all points, one after the other."""
    count = len(order)
    triangles.corner[0], triangles.across[0] = (count, count + 1, count + 2), (-1, -1, -1)
    last, t = 1, 0
    for number in range(count):
        site = order.site[number]
        t = locate(sites, triangles, t, last, site)
        a, b, c = triangles.corner[t]
        on_a, on_b = _turn(sites, b, c, site) == 0.0, _turn(sites, c, a, site) == 0.0
        on_c = _turn(sites, a, b, site) == 0.0
        sides = np.int64(on_a) + np.int64(on_b) + np.int64(on_c)
        if sides > 1:  # a point is there already
            continue
        if sides == 1:
            rotate(triangles, t, 0 if on_a else 1 if on_b else 2)
            waiting = divide_side(triangles, stack, last, t, site)
        else:
            waiting = divide_triangle(triangles, stack, last, t, site)
        last += 2
        while waiting > 0:
            waiting -= 1
            t = stack.triangle[waiting]
            other = swap_side(sites, triangles, t)
            if other >= 0:
                stack.triangle[waiting], stack.triangle[waiting + 1] = t, other
                waiting += 2
    used.triangles[0] = last
