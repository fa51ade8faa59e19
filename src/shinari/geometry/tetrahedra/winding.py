"""Generalised winding number: how often a surface goes around a point, and so whether the point is inside.

The solid angle under which the triangles are seen, over 4 pi (Jacobson, Kavan, Sorkine-Hornung 2013): 1 inside a
closed surface and 0 outside, 2 where two parts overlap, and in between near a hole, as if a soap film closed it.
Triangles that are far away for their size are taken together (Barill et al. 2018, Fast winding numbers for soups and
clouds): a branch of the tree of boxes counts as one dipole at its middle, which is the first term of their series.
"""

import numpy as np
from numpy.typing import NDArray

from shinari.compute import Field, Record, kernel, shared
from shinari.compute.kernels import STEADY
from shinari.compute.program import run_once
from shinari.geometry.bvh import Tree
from shinari.maths.function import steady
from shinari.maths.vec3 import cross, dot, norm, sub

FAR = 2.5
"""A branch is one dipole from this many times its radius on: off by 0.03 at most (`test_tetrahedra`)."""
_QUARTER = 0.25 / np.pi


class Winding:
    """A surface that can be asked how often it goes around a point.

    Args:
        corners: Triangles, counter-clockwise seen from outside, (T, 3, 3).

    Attributes:
        tree: Boxes of the triangles.
        triangles: The triangles in the order of the tree.
        leaves: Where the triangles of each leaf start.
        dipoles: The nodes of the tree.
    """

    def __init__(self, corners: NDArray[np.float64]) -> None:
        self.tree = Tree(corners.mean(axis=1), np.float64)
        self.tree.refit(corners.min(axis=1), corners.max(axis=1), 1)
        ordered = np.ascontiguousarray(corners[self.tree.order], np.float64)
        self.triangles = Triangles(corner=ordered)
        self.leaves = Leaves(first=self.tree.firsts.astype(np.int64))
        self.dipoles = _dipoles(ordered, self.tree.firsts, self.tree.nodes)

    def numbers(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Winding number of each point, (P,).

        Args:
            points: Positions, (P, 3).
        """
        queries = Queries(point=np.ascontiguousarray(points, np.float64), number=np.zeros(len(points)))
        run_once(wind, queries, self.triangles, self.leaves, self.dipoles, count=len(points), grain=64)
        return queries.number


class Triangles(Record):
    """Triangles in the order of the tree, T rows."""

    corner = Field(np.float64, (3, 3), unit="m")


class Leaves(Record):
    """Leaves of the tree, and one more."""

    first = Field(np.int64, doc="first triangle")


class Dipoles(Record):
    """Nodes of the tree, twice as many as leaves: the children of node n are 2 n and 2 n + 1, the root is 1."""

    area = Field(np.float64, 3, unit="m^2", doc="sum of the area vectors")
    middle = Field(np.float64, 3, unit="m")
    far = Field(np.float64, unit="m^2", doc="square of the distance from which on the sum is all that counts")


class Queries(Record):
    """Points, P rows."""

    point = Field(np.float64, 3, unit="m")
    number = Field(np.float64, doc="winding number")


def _dipoles(corners: NDArray[np.float64], firsts: NDArray[np.int64], boxes: NDArray[np.float64]) -> Dipoles:
    """Sum of the area vectors of each node, their middle weighted by area, and the square of `FAR` radii."""
    leaves = len(firsts) - 1
    doubled = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.linalg.norm(doubled, axis=1)
    sums = np.zeros((2 * leaves, 7))
    terms = np.concatenate([0.5 * doubled, areas[:, None] * corners.sum(axis=1) / 3.0, areas[:, None]], axis=1)
    sums[leaves:] = np.add.reduceat(terms, firsts[:-1])
    level = leaves // 2
    while level > 0:
        sums[level : 2 * level] = sums[2 * level : 4 * level : 2] + sums[2 * level + 1 : 4 * level : 2]
        level //= 2
    middle = sums[:, 3:6] / np.where(sums[:, 6:] > 0.0, sums[:, 6:], 1.0)
    reach = np.maximum(middle - boxes[:, :3], boxes[:, 3:] - middle)[1:]
    far = np.zeros(2 * leaves)
    far[1:] = FAR**2 * (reach**2).sum(axis=1)
    return Dipoles(area=sums[:, :3].copy(), middle=middle, far=far)


@steady
def _solid_angle(q, triangles, i):
    """Solid angle of triangle i seen from q (van Oosterom and Strackee 1983)."""
    a, b, c = sub(triangles.corner[i, 0], q), sub(triangles.corner[i, 1], q), sub(triangles.corner[i, 2], q)
    x, y, z = norm(a), norm(b), norm(c)
    return 2.0 * np.arctan2(dot(a, cross(b, c)), x * y * z + dot(a, b) * z + dot(b, c) * x + dot(c, a) * y)


Vector = tuple[float, float, float]


@shared(fastmath=STEADY)
def winding_number(q: Vector, triangles: Triangles, leaves: Leaves, dipoles: Dipoles) -> float:
    """Winding number of one point."""
    count = len(leaves) - 1
    angle, node = 0.0, 1
    while True:
        r = sub(dipoles.middle[node], q)
        square = dot(r, r)
        if square > dipoles.far[node]:
            angle += dot(r, dipoles.area[node]) / (square * np.sqrt(square))
        elif node >= count:
            for i in range(leaves.first[node - count], leaves.first[node - count + 1]):
                angle += _solid_angle(q, triangles, i)
        else:
            node = 2 * node
            continue
        # on to the next branch: up while this was the second child
        node += 1
        while node % 2 == 0:
            node //= 2
        if node == 1:
            return _QUARTER * angle


@kernel(fastmath=STEADY)
def wind(p, queries: Queries, triangles: Triangles, leaves: Leaves, dipoles: Dipoles):
    """Winding number of each point."""
    queries.number[p] = winding_number(queries.point[p], triangles, leaves, dipoles)
