"""Generalised winding number: how often a surface goes around a point, and so whether the point is inside.

The solid angle under which the triangles are seen, over 4 pi (Jacobson, Kavan, Sorkine-Hornung 2013): 1 inside a
closed surface and 0 outside, 2 where two parts overlap, and in between near a hole, as if a soap film closed it.
Triangles that are far away for their size are taken together (Barill et al. 2018, Fast winding numbers for soups and
clouds): a branch of the tree of boxes counts as one dipole at its middle, which is the first term of their series.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from shinari.contact.broad.bvh import Tree
from shinari.maths.function import STEADY, steady

FAR = 2.5
"""A branch is one dipole from this many times its radius on: off by 0.03 at most (`test_tetrahedra`)."""
SHARE = 64
"""Points of a piece of work."""
_QUARTER = 0.25 / np.pi


class Winding:
    """A surface that can be asked how often it goes around a point.

    Args:
        corners: Triangles, counter-clockwise seen from outside, (T, 3, 3).

    Attributes:
        tree: Boxes of the triangles.
        corners: The triangles in the order of the tree.
        dipoles: Of each node: the sum of its area vectors, their middle, and the square of the distance from which on
            they are all that counts, (2 leaves, 7).
    """

    def __init__(self, corners: NDArray[np.float64]) -> None:
        self.tree = Tree(corners.mean(axis=1), np.float64)
        self.tree.refit(corners.min(axis=1), corners.max(axis=1), 1)
        self.corners = np.ascontiguousarray(corners[self.tree.order])
        self.dipoles = np.zeros((len(self.tree.nodes), 7))
        _sum_up(self.corners, self.tree.firsts, self.tree.nodes, self.dipoles)

    def numbers(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Winding number of each point, (P,).

        Args:
            points: Positions, (P, 3), C-contiguous.
        """
        result = np.zeros(len(points))
        _wind(points, self.corners, self.tree.firsts, self.dipoles, result)
        return result


@numba.njit(cache=True, **STEADY)
def _sum_up(corners, firsts, boxes, dipoles):
    """Sum of the area vectors of each node, their middle weighted by area, and the square of `FAR` radii."""
    leaves = len(firsts) - 1
    weights = np.zeros(2 * leaves)
    for leaf in range(leaves):
        n = leaves + leaf
        for i in range(firsts[leaf], firsts[leaf + 1]):
            ab, ac = corners[i, 1] - corners[i, 0], corners[i, 2] - corners[i, 0]
            x, y, z = ab[1] * ac[2] - ab[2] * ac[1], ab[2] * ac[0] - ab[0] * ac[2], ab[0] * ac[1] - ab[1] * ac[0]
            area = np.sqrt(x * x + y * y + z * z)
            weights[n] += area
            dipoles[n, 0] += 0.5 * x
            dipoles[n, 1] += 0.5 * y
            dipoles[n, 2] += 0.5 * z
            for c in range(3):
                dipoles[n, 3 + c] += area * (corners[i, 0, c] + corners[i, 1, c] + corners[i, 2, c]) / 3.0
    for n in range(leaves - 1, 0, -1):
        weights[n] = weights[2 * n] + weights[2 * n + 1]
        for c in range(6):
            dipoles[n, c] = dipoles[2 * n, c] + dipoles[2 * n + 1, c]
    for n in range(1, 2 * leaves):
        square = 0.0
        for c in range(3):
            middle = dipoles[n, 3 + c] / weights[n]
            dipoles[n, 3 + c] = middle
            square += max(middle - boxes[n, c], boxes[n, 3 + c] - middle) ** 2
        dipoles[n, 6] = FAR**2 * square


@steady
def _solid_angle(q, corners, i):
    """Solid angle of triangle i seen from q (van Oosterom and Strackee 1983)."""
    ax, ay, az = corners[i, 0, 0] - q[0], corners[i, 0, 1] - q[1], corners[i, 0, 2] - q[2]
    bx, by, bz = corners[i, 1, 0] - q[0], corners[i, 1, 1] - q[1], corners[i, 1, 2] - q[2]
    cx, cy, cz = corners[i, 2, 0] - q[0], corners[i, 2, 1] - q[1], corners[i, 2, 2] - q[2]
    a, b, c = np.sqrt(ax * ax + ay * ay + az * az), np.sqrt(bx * bx + by * by + bz * bz), 0.0
    c = np.sqrt(cx * cx + cy * cy + cz * cz)
    volume = ax * (by * cz - bz * cy) + ay * (bz * cx - bx * cz) + az * (bx * cy - by * cx)
    ab, bc, ca = ax * bx + ay * by + az * bz, bx * cx + by * cy + bz * cz, cx * ax + cy * ay + cz * az
    return 2.0 * np.arctan2(volume, a * b * c + ab * c + bc * a + ca * b)


@steady
def winding_number(q, corners, firsts, dipoles):
    """Winding number of one point."""
    leaves = len(firsts) - 1
    angle, node = 0.0, 1
    while True:
        x, y, z = dipoles[node, 3] - q[0], dipoles[node, 4] - q[1], dipoles[node, 5] - q[2]
        square = x * x + y * y + z * z
        if square > dipoles[node, 6]:
            dipole = x * dipoles[node, 0] + y * dipoles[node, 1] + z * dipoles[node, 2]
            angle += dipole / (square * np.sqrt(square))
        elif node >= leaves:
            for i in range(firsts[node - leaves], firsts[node - leaves + 1]):
                angle += _solid_angle(q, corners, i)
        else:
            node = 2 * node
            continue
        # on to the next branch: up while this was the second child
        node += 1
        while node % 2 == 0:
            node //= 2
        if node == 1:
            return _QUARTER * angle


@numba.njit(parallel=True, cache=True, **STEADY)
def _wind(points, corners, firsts, dipoles, result):
    for share in numba.prange((len(points) + SHARE - 1) // SHARE):
        for p in range(share * SHARE, min(len(points), (share + 1) * SHARE)):
            result[p] = winding_number((points[p, 0], points[p, 1], points[p, 2]), corners, firsts, dipoles)
