"""The body-centred cubic lattice and how its tetrahedra are cut: tables for isosurface stuffing.

Lattice points are the corners of cubes (kind 0) and their centres (kind 1). Black edges, of one cell, join neighbours
of one kind; red edges, sqrt(3)/2 cells, join a centre to the eight corners of its cube. A tetrahedron has two black
edges that lie opposite and cross at a right angle, P between two centres and Q between two corners, and four red ones;
all are congruent. Twelve belong to a cube: for each axis, four around the edge from its centre to that of the next.

A lattice point is inside (+1), outside (-1), or has been moved onto the surface (0). A black or red edge between inside
and outside is cut. What remains of a tetrahedron is a convex body whose corners are its inside and surface points and
the cuts; it falls into at most three tetrahedra, and their diagonals on a face must be the same from both sides. So the
corners have ranks that are known on each face alone: a cut on a black edge, then an even lattice point (the sum of its
indices), an odd one, a cut on a red edge. Each polygon is split from its corner of the highest rank, and the body from
that of its highest one: the diagonals that Labelle and Shewchuk (2007, Isosurface stuffing) prove good.
"""

from collections.abc import Iterable
from itertools import product

import numpy as np
from numpy.typing import NDArray

NODES = 10
"""Of a lattice tetrahedron: even P, odd P, even Q, odd Q, then the cuts on its edges."""
PAIRS = ((0, 1), (2, 3), (0, 2), (0, 3), (1, 2), (1, 3))
"""Ends of the edges: two black, four red; cut 4 + e lies on edge e."""
_TRIANGLES = ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1))
_RANK = (2, 1, 2, 1, 3, 3, 0, 0, 0, 0)
_POINTS = np.array([[0.5, 0, 0], [-0.5, 0, 0], [0, 0.5, 0.5], [0, -0.5, 0.5]])
_PLACES = np.concatenate([_POINTS, [0.5 * (_POINTS[i] + _POINTS[j]) for i, j in PAIRS]])

SLOTS = 14
"""Edges of a cube: black ones from its first corner along x, y, z, those from its centre, red ones to its corners."""


def stencils() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What remains of a lattice tetrahedron.

    Returns:
        Where the tetrahedra of each case start, (82,), and their nodes, (S, 4), positive if the lattice tetrahedron is.
        Case: the sum of (sign + 1) 3^k over its points k.
    """
    lists = [_stencil(signs[::-1]) for signs in product((-1, 0, 1), repeat=4)]
    first = np.concatenate([[0], np.cumsum([len(tetrahedra) for tetrahedra in lists])])
    return first, np.array([tetrahedron for tetrahedra in lists for tetrahedron in tetrahedra], np.int64)


def _stencil(signs: tuple[int, ...]) -> list[list[int]]:
    if 1 not in signs:
        return []
    polygons = [_clipped(triangle, signs) for triangle in _TRIANGLES]
    if -1 in signs:
        polygons.append(_section(signs))
    polygons = [polygon for polygon in polygons if len(polygon) > 2]
    apex = _highest({node for polygon in polygons for node in polygon})
    result = []
    for polygon in polygons:
        if apex in polygon:
            continue
        at = polygon.index(_highest(polygon))
        around = polygon[at:] + polygon[:at]
        result += [[apex, around[0], around[k], around[k + 1]] for k in range(1, len(around) - 1)]
    return [_positive(tetrahedron) for tetrahedron in result]


def _highest(nodes: Iterable[int]) -> int:
    return min(nodes, key=lambda node: (-_RANK[node], node))


def _clipped(triangle: tuple[int, int, int], signs: tuple[int, ...]) -> list[int]:
    """The part of a face that is not outside, around."""
    polygon = []
    for k in range(3):
        here, there = triangle[k], triangle[(k + 1) % 3]
        if signs[here] >= 0:
            polygon.append(here)
        if signs[here] * signs[there] < 0:
            polygon.append(_cut(here, there))
    return polygon


def _section(signs: tuple[int, ...]) -> list[int]:
    """The polygon along the surface, around."""
    above, below = ([k for k in range(4) if signs[k] == side] for side in (1, -1))
    cuts = [_cut(i, j) for i in above for j in below]
    if len(above) == len(below) == 2:
        cuts[2], cuts[3] = cuts[3], cuts[2]
    return cuts + [k for k in range(4) if signs[k] == 0]


def _cut(i: int, j: int) -> int:
    return 4 + PAIRS.index((min(i, j), max(i, j)))


def _positive(tetrahedron: list[int]) -> list[int]:
    a, b, c, d = _PLACES[tetrahedron]
    turn = np.linalg.det([b - a, c - a, d - a]) * _ORIENTATION < 0.0
    return tetrahedron[:2] + tetrahedron[:1:-1] if turn else tetrahedron


_ORIENTATION = np.sign(np.linalg.det(_POINTS[1:] - _POINTS[0]))


def lattice_tetrahedra() -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The twelve tetrahedra of a cube, for an even and an odd cube.

    Returns:
        Points, (2, 12, 4, 4): cube relative to this one and kind of the even P, odd P, even Q, odd Q. Edges,
        (2, 12, 6, 4): cube and slot of each. Turned, (2, 12): 1 if it is negative in that order.
    """
    points, edges = np.zeros((2, 12, 4, 4), np.int64), np.zeros((2, 12, 6, 4), np.int64)
    turned = np.zeros((2, 12), np.int64)
    unit = np.eye(3, dtype=np.int64)
    for parity, axis, side in product((0, 1), range(3), range(4)):
        b, c = unit[(axis + 1) % 3], unit[(axis + 2) % 3]
        square = (0 * b, b, b + c, c)
        ends = [unit[axis] + square[side], unit[axis] + square[(side + 1) % 4]]
        centres = [0 * b, unit[axis]]
        pairs = [sorted(pair, key=lambda cube: (parity + cube.sum()) % 2) for pair in (centres, ends)]
        corners = [(*cube, kind) for kind, pair in ((1, pairs[0]), (0, pairs[1])) for cube in pair]
        number = 4 * axis + side
        points[parity, number] = corners
        edges[parity, number] = [_edge(corners[i], corners[j]) for i, j in PAIRS]
        places = np.array([np.array(corner[:3]) + 0.5 * corner[3] for corner in corners])
        turned[parity, number] = np.linalg.det(places[1:] - places[0]) < 0.0
    return points, edges, turned


def _edge(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    """Cube and slot of the edge between two lattice points."""
    one, two = np.array(first[:3]), np.array(second[:3])
    if first[3] == second[3]:
        step = np.abs(two - one)
        return (*np.minimum(one, two), 3 * first[3] + int(step.argmax()))
    x, y, z = two - one  # from a centre to a corner of its cube
    return (*one, 6 + 4 * x + 2 * y + z)
