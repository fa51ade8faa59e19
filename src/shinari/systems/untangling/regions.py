r"""Regions of surfaces that contours bound, and the contours.

          region 1              An edge of A that pierces a triangle of B joins nothing: the other edges
    o-----o-----o               join the points of each region. Two edges lie next to each other on a contour when
    |  \  |  \  |   A           they end the same intersection of two triangles: a triangle at the edge, and the
  ==x===x=x===x=x== contour     one that it pierces. One of them may be an edge of B that pierces A: then the roles
    o-----o-----o               are swapped.
          region 2

Baraff, Witkin and Kass 2003, Untangling cloth, section 5; regions are found without orientation of the surfaces.
"""

import numpy as np

from shinari.compute import Program, kernel
from shinari.maths.function import steady
from shinari.maths.union_find import root, unite
from shinari.systems.untangling.records import (
    Contours,
    Crossings,
    FacePairs,
    SheetEdges,
    SheetPoints,
    SheetTriangles,
    TangleState,
)
from shinari.systems.untangling.search import CrossingSearch

# Slots of the hash for each crossing.
SLOTS = 8
NONE = -1
MIX = 0x9E3779B97F4A7C1


class RegionFinder:
    """Finds regions and contours.

    Attributes:
        contours: Contours, a row for each crossing.
    """

    def __init__(self, search: CrossingSearch) -> None:
        self._search, self.contours = search, Contours.zeros(0)
        self._pairs = FacePairs.zeros(0)

    def record(self, p: Program) -> None:
        """Record that they are found."""
        search, state = self._search, self._search.state
        points, edges, triangles, crossings = search.points, search.edges, search.triangles, search.crossings
        p.launch(clear_point, points, count=len(points), grain=4096)
        p.launch(clear_edge, edges, count=len(edges), grain=4096)
        p.serial(block_edges, state, crossings, edges, triangles, points)
        p.serial(join_points, edges, points)
        p.serial(count_slots, state)
        p.require(self._pairs, (state.slots, 0))
        p.require(self.contours, (state.crossings, 0))
        p.launch(clear_slot, self._pairs, count=(state.slots, 0), grain=4096)
        p.launch(clear_contour, self.contours, count=(state.crossings, 0), grain=4096)
        p.serial(join_crossings, state, crossings, edges, self.contours, self._pairs)


@kernel
def clear_point(i, points: SheetPoints):
    """A particle is a region of its own."""
    points.region[i], points.size[i], points.opponents[i] = i, points.area[i], np.uint64(0)
    points.blocked[i] = points.near[i] = points.pulled[i] = False


@kernel
def clear_edge(e, edges: SheetEdges):
    """An edge pierces nothing."""
    edges.crossed[e] = False


@steady
def has_corner(triangles, t, i):
    """Whether a particle is a corner of a triangle."""
    a, b, c = triangles.points[t]
    return i in (a, b, c)


@kernel
def block_edges(
    _, state: TangleState, crossings: Crossings, edges: SheetEdges, triangles: SheetTriangles, points: SheetPoints
):  # fmt: skip
    """Mark edges that pierce triangles, and particles at which both curves of a contour meet.

    There a triangle at the edge and the one that it pierces have a corner in common.
    """
    for c in range(state.crossings[0]):
        e, t = crossings.edge[c], crossings.triangle[c]
        edges.crossed[e] = True
        for side in range(2):
            f = edges.face[e, side]
            if f != NONE:
                for k in range(3):
                    i = triangles.points[f, k]
                    if has_corner(triangles, t, i):
                        points.blocked[i] = True


@kernel
def join_points(_, edges: SheetEdges, points: SheetPoints):
    """Join the ends of edges that pierce nothing."""
    for e in range(len(edges)):
        i, j = np.int64(edges.points[e, 0]), np.int64(edges.points[e, 1])
        if not (edges.crossed[e] or points.blocked[i] or points.blocked[j]):
            low, high = unite(points.region, i, j)
            if low != high:
                points.size[low] += points.size[high]
    for i in range(len(points)):
        points.region[i] = root(points.region, i)


@kernel
def count_slots(_, state: TangleState):
    """Room for the pairs of triangles."""
    state.slots[0] = SLOTS * state.crossings[0]


@kernel
def clear_slot(k, pairs: FacePairs):
    """A slot is free."""
    pairs.key[k] = NONE


@kernel
def clear_contour(c, contours: Contours):
    """A crossing is a contour of its own."""
    contours.first[c], contours.swapped[c], contours.ends[c] = c, 0, (0, 0)
    contours.small[c], contours.region[c] = (np.inf, np.inf), (NONE, NONE)
    contours.along[c] = 0.0, 0.0, 0.0


@steady
def contour_of(contours, c):
    """First crossing of the contour of a crossing, and whether the roles are swapped."""
    swapped = contours.swapped[c]
    while contours.first[c] != c:
        c = contours.first[c]
        swapped ^= contours.swapped[c]
    return c, swapped


@kernel
def join_crossings(
    _, state: TangleState, crossings: Crossings, edges: SheetEdges, contours: Contours, pairs: FacePairs
):  # fmt: skip
    """Join crossings that lie next to each other on a contour."""
    slots = state.slots[0]
    for c in range(state.crossings[0]):
        t = crossings.triangle[c]
        for side in range(2):
            f = edges.face[crossings.edge[c], side]
            if f == NONE:
                continue
            low, high = min(f, t), max(f, t)
            key = (low << 32) | high
            at = ((key * MIX) & 0x7FFFFFFFFFFFFFFF) % slots
            while pairs.key[at] != NONE and pairs.key[at] != key:
                at = (at + 1) % slots
            if pairs.key[at] == NONE:
                pairs.key[at], pairs.crossing[at] = key, c
                continue
            other = pairs.crossing[at]
            swap = 0 if crossings.triangle[other] == t else 1
            a, own = contour_of(contours, c)
            b, its = contour_of(contours, other)
            if a != b:
                first, second = min(a, b), max(a, b)
                contours.first[second] = first
                contours.swapped[second] = own ^ its ^ swap
    for c in range(state.crossings[0]):
        first, swapped = contour_of(contours, c)
        contours.first[c], contours.swapped[c] = first, swapped
