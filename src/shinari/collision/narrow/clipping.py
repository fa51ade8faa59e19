"""Where two projected faces overlap: the corners of the overlap, with the gap at each.

Both faces are projected along the contact normal (`shinari.collision.narrow.faces`). One, the incident one, is clipped
by the edges of the other, the reference (Sutherland and Hodgman 1974, Reentrant polygon clipping), and the plane of the
reference gives the gap. A corner keeps the numbers of the two edges between which it lies: its feature.

Columns of the table:
    0 to 3   u, v, w, label of the vertices of one face
    4 to 7   the same of the other
    8 to 12  the corners: u, v, w on the incident face, feature, gap
"""

import numpy as np

from shinari.collision.narrow.faces import ROOM
from shinari.collision.narrow.rows import BEFORE, FEW_POINTS
from shinari.maths.function import steady
from shinari.shapes.kernels.projection import LARGEST_LABEL

CORNERS = 8
MORE = 1.001
"""Part by which a length or area has to be larger than one that was found before."""
LEVEL, TOUCH = 300.0, 100.0
"""Lengths in units of the one that counts as nothing, where four corners are chosen: of a pair that had points before,
depths that differ by less are equal; and corners with a smaller gap touch."""
KEPT, FAINT = 1.5, 1e-6
"""Weight of a corner that the pair had before, and factor on that of one that does not touch, where four are chosen."""
WEIGHT = 0
"""Column of the weights."""
STEEP = 0.05
"""Cosine between normal and face under which a face is seen edge-on and gives no gaps."""
BASE = 2 * LARGEST_LABEL
"""A corner between the edges k and l has the feature BASE k + l."""
FEATURES = BASE * BASE + 16
"""All features are below this number."""


@steady
def outline_edge(table, k, count, column, side):
    """Start and direction of edge k of a polygon, so that its inside is on the left."""
    after = k + 1 if k + 1 < count else 0
    x, y = table[k, column], table[k, column + 1]
    return x, y, side * (table[after, column] - x), side * (table[after, column + 1] - y)


@steady
def clip_once(table, count, at, to, line, label, slack):
    """Clip the polygon in columns `at` by one line, into columns `to`.

    Returns:
        The number of vertices and the columns where they are; it stays where it is when nothing is cut off.
    """
    x0, y0, ex, ey = line
    lowest = np.inf
    for i in range(count):
        lowest = min(lowest, ex * (table[i, at + 1] - y0) - ey * (table[i, at] - x0))
    if lowest >= -slack:
        return count, at
    new = 0
    last = count - 1
    px, py, pw, pl = table[last, at], table[last, at + 1], table[last, at + 2], table[last, at + 3]
    pd = ex * (py - y0) - ey * (px - x0) + slack
    for i in range(count):
        x, y, w, name = table[i, at], table[i, at + 1], table[i, at + 2], table[i, at + 3]
        d = ex * (y - y0) - ey * (x - x0) + slack
        if (pd >= 0.0) != (d >= 0.0) and new < ROOM:
            t = pd / (pd - d)
            table[new, to] = px + t * (x - px)
            table[new, to + 1] = py + t * (y - py)
            table[new, to + 2] = pw + t * (w - pw)
            table[new, to + 3] = pl if d >= 0.0 else label
            new += 1
        if d >= 0.0 and new < ROOM:
            table[new, to] = x
            table[new, to + 1] = y
            table[new, to + 2] = w
            table[new, to + 3] = name
            new += 1
        px, py, pw, pl, pd = x, y, w, name, d
    return new, to


@steady
def clip_polygon(table, count, at, other_count, other, side, slack):
    """Clip the polygon in columns `at` by the one in columns `other`. Returns the number of vertices and their columns.

    `side` is 1.0 when the other polygon is written counter-clockwise, else -1.0. It is enlarged by `slack`, so that a
    corner that lies on an edge does not change its feature with rounding.
    """
    first = at
    for k in range(other_count):
        line = outline_edge(table, k, other_count, other, side)
        length = np.sqrt(line[2] * line[2] + line[3] * line[3])
        to = CORNERS if at == first else first
        count, at = clip_once(table, count, at, to, line, LARGEST_LABEL + table[k, other + 3], slack * length)
    return count, at


@steady
def clip_segment(table, at, other_count, other, side, slack):
    """Clip the segment in columns `at` by the polygon in columns `other`, in place. Returns the number of its ends."""
    x0, y0, w0, l0 = table[0, at], table[0, at + 1], table[0, at + 2], table[0, at + 3]
    x1, y1, w1, l1 = table[1, at], table[1, at + 1], table[1, at + 2], table[1, at + 3]
    low, high = 0.0, 1.0
    for k in range(other_count):
        x, y, ex, ey = outline_edge(table, k, other_count, other, side)
        keep = slack * np.sqrt(ex * ex + ey * ey)
        d0 = ex * (y0 - y) - ey * (x0 - x) + keep
        d1 = ex * (y1 - y) - ey * (x1 - x) + keep
        if d0 < 0.0 and d1 < 0.0:
            return 0
        t = d0 / (d0 - d1) if d0 != d1 else 0.0
        label = LARGEST_LABEL + table[k, other + 3]
        if d0 < 0.0 and t > low:
            low, l0 = t, label
        if d1 < 0.0 and t < high:
            high, l1 = t, label
    if low > high:
        return 0
    write_segment(table, at, (x0, y0, w0, l0), (x1, y1, w1, l1), low, high)
    return 2


@steady
def clip_segments(table, at, other, slack):
    """Cut the segment in columns `at` down to where it runs beside that in columns `other`, in place.

    Returns:
        2, or 0 when they do not lie on each other: then they have one nearest pair of points, and no more.
    """
    x0, y0, w0, l0 = table[0, at], table[0, at + 1], table[0, at + 2], table[0, at + 3]
    x1, y1, w1, l1 = table[1, at], table[1, at + 1], table[1, at + 2], table[1, at + 3]
    x, y = table[0, other], table[0, other + 1]
    ex, ey = table[1, other] - x, table[1, other + 1] - y
    squared = ex * ex + ey * ey
    if squared <= slack * slack:
        return 0
    s0 = (ex * (x0 - x) + ey * (y0 - y)) / squared
    s1 = (ex * (x1 - x) + ey * (y1 - y)) / squared
    low, high = 0.0, 1.0
    if s0 == s1:
        return 0
    for end in range(2):
        t = (end - s0) / (s1 - s0)
        label = LARGEST_LABEL + table[end, other + 3]
        entering = (s1 > s0) == (end == 0)
        if entering and t > low:
            low, l0 = t, label
        if not entering and t < high:
            high, l1 = t, label
    if low > high:
        return 0
    length = np.sqrt(squared)
    side0 = (ex * (y0 + low * (y1 - y0) - y) - ey * (x0 + low * (x1 - x0) - x)) / length
    side1 = (ex * (y0 + high * (y1 - y0) - y) - ey * (x0 + high * (x1 - x0) - x)) / length
    if max(abs(side0), abs(side1)) > slack:
        return 0
    write_segment(table, at, (x0, y0, w0, l0), (x1, y1, w1, l1), low, high)
    return 2


@steady
def write_segment(table, at, start, end, low, high):
    """Write the part of a segment between two parameters."""
    for k in range(2):
        t = low if k == 0 else high
        table[k, at] = start[0] + t * (end[0] - start[0])
        table[k, at + 1] = start[1] + t * (end[1] - start[1])
        table[k, at + 2] = start[2] + t * (end[2] - start[2])
        table[k, at + 3] = start[3] if k == 0 else end[3]


@steady
def plane_of(table, count, column, m):
    """The plane of a face: a point of it and the slopes of w along u and v; of a segment, the slope along itself.

    Returns:
        Five numbers and whether the face can be used: one that is seen edge-on cannot.
    """
    x, y, w = table[0, column], table[0, column + 1], table[0, column + 2]
    if count == 2:
        ex, ey, ew = table[1, column] - x, table[1, column + 1] - y, table[1, column + 2] - w
        squared = ex * ex + ey * ey
        per = ew / squared if squared > 0.0 else 0.0
        return (x, y, w, per * ex, per * ey), squared > STEEP * STEEP * ew * ew
    return (x, y, w, -m[0] / m[2], -m[1] / m[2]), abs(m[2]) > STEEP


@steady
def corners(table, count, at, plane, sign, limit):
    """Move the corners with a gap below a limit to the columns `CORNERS`, with their features and gaps.

    Args:
        table: The table.
        count: Number of vertices of the clipped face.
        at: Its columns.
        plane: Of the reference face, from `plane_of`.
        sign: 1.0 if the incident face is that of a, on whose side w grows; else -1.0.
        limit: Largest gap between the cores [m].

    Returns:
        The number of corners and the lowest gap of all, infinite without any.
    """
    x, y, w, slope_u, slope_v = plane
    before = table[count - 1, at + 3] if count > 0 else 0.0
    kept, lowest = 0, np.inf
    for i in range(count):
        u, v, here, label = table[i, at], table[i, at + 1], table[i, at + 2], table[i, at + 3]
        gap = sign * (here - (w + slope_u * (u - x) + slope_v * (v - y)))
        lowest = min(lowest, gap)
        if gap < limit:
            table[kept, CORNERS] = u
            table[kept, CORNERS + 1] = v
            table[kept, CORNERS + 2] = here
            table[kept, CORNERS + 3] = BASE * before + label
            table[kept, CORNERS + 4] = gap
            kept += 1
        before = label
    return kept, lowest


@steady
def area(table, i, j, k):
    """Twice the signed area between three corners."""
    ux, uy = table[j, CORNERS] - table[i, CORNERS], table[j, CORNERS + 1] - table[i, CORNERS + 1]
    vx, vy = table[k, CORNERS] - table[i, CORNERS], table[k, CORNERS + 1] - table[i, CORNERS + 1]
    return ux * vy - uy * vx


@steady
def squared(table, i, j):
    """Squared distance of two corners in the projection."""
    u, v = table[i, CORNERS] - table[j, CORNERS], table[i, CORNERS + 1] - table[j, CORNERS + 1]
    return u * u + v * v


@steady
def had(table, i):
    """Whether the pair had the feature of a corner before."""
    there = False
    for k in range(FEW_POINTS):
        there |= table[k, BEFORE] == table[i, CORNERS + 3]
    return there


@steady
def weigh_corners(table, count, slack, radii):
    """Write the weights of corners over the outlines, which nobody needs once they are clipped.

    Returns:
        How many touch, and the rows of the first four of them.
    """
    first = second = third = fourth = touching = 0
    for i in range(count):
        weight = KEPT if had(table, i) else 1.0
        touches = table[i, CORNERS + 4] < radii + weight * TOUCH * slack
        table[i, WEIGHT] = weight if touches else FAINT * weight
        if touches:
            first = i if touching == 0 else first
            second = i if touching == 1 else second
            third = i if touching == 2 else third
            fourth = i if touching == 3 else fourth
            touching += 1
    return touching, (first, second, third, fourth)


@steady
def deepest_corner(table, count, slack):
    """The deepest corner; of equally deep ones the outermost, and of those that are nearly equal in this the first.

    With points before, depths are equal that differ by less than `LEVEL`: which one is the deepest of a body that rocks
    changes from step to step.
    """
    lowest, u_mean, v_mean = np.inf, 0.0, 0.0
    for i in range(count):
        lowest = min(lowest, table[i, CORNERS + 4])
        u_mean += table[i, CORNERS] / count
        v_mean += table[i, CORNERS + 1] / count
    # where faces that lie on each other are nearly equal, their outlines also cross halfway between their corners
    equal = lowest + slack * (LEVEL if table[0, BEFORE] >= 0.0 else 1.0)
    deepest, most = 0, -1.0
    for i in range(count):
        u, v = table[i, CORNERS] - u_mean, table[i, CORNERS + 1] - v_mean
        distance = table[i, WEIGHT] * (u * u + v * v)
        if table[i, CORNERS + 4] <= equal and distance > MORE * most:
            deepest, most = i, distance
    return deepest


@steady
def farthest_corner(table, count, i, j, k):
    """The corner that is farthest from the nearest of three; one of them may occur again."""
    far, most = i, 0.0
    for c in range(count):
        nearest = min(min(squared(table, c, i), squared(table, c, j)), squared(table, c, k))
        if table[c, WEIGHT] * nearest > MORE * most:
            far, most = c, table[c, WEIGHT] * nearest
    return far


@steady
def pick_four(table, count, slack, radii):
    """Four of more than four corners: the deepest, the farthest from it, and the two that span most area with those.

    Corners that touch go before others, which carry nothing, and those that the pair had before go before new ones, so
    that a body that rocks a little keeps its corners: where they flickered from step to step, each change pushed what
    lay on them, and heaps did not come to rest.

    Args:
        table: The table; see also `shinari.collision.narrow.rows.BEFORE`.
        count: Number of corners.
        slack: Length that counts as nothing [m].
        radii: Sum of the radii of both shapes around their cores [m].

    Returns:
        Their rows; a row that occurs again stands for none.
    """
    touching, those = weigh_corners(table, count, slack, radii)
    if touching == 4:
        return those
    deepest = deepest_corner(table, count, slack)
    far = farthest_corner(table, count, deepest, deepest, deepest)
    left, right = deepest, deepest
    high, low = 0.0, 0.0
    for i in range(count):
        spanned = table[i, WEIGHT] * area(table, deepest, far, i) if i != far else 0.0
        if spanned > MORE * high:
            left, high = i, spanned
        if spanned < MORE * low:
            right, low = i, spanned
    if left == deepest:
        left = farthest_corner(table, count, deepest, far, right)
    elif right == deepest:
        right = farthest_corner(table, count, deepest, far, left)
    return deepest, far, left, right
