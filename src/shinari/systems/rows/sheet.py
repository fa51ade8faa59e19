"""What the rows of a cloth need of its mesh: its edges, its hinges, and how much sheet each of them stands for.

None of it depends on the material, so that a change of the material of a cloth that runs computes none of it anew.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np

from shinari.constraints import dihedral, isometric_bend
from shinari.geometry.topology import cross_edges, edges, face_normals_areas, hinges
from shinari.scene.objects import ParticleObject

# An edge is the diagonal of a quad when it is longer than the other sides of both its triangles by this factor.
DIAGONAL = 1.05

# The hinge energies weigh each edge by a third of the triangles at it. In a sheet that is rolled up only the edges
# along the roll bend, one family in three, so together they store three times k_b / 2 per area and squared curvature:
# exactly so on equilateral triangles (Seung and Nelson 1988, Defects in Flexible Membranes, sqrt(3) / 2 of the hinge
# constant) and on square grids along the axes.
HINGE_FAMILIES = 3.0

_BENDING: dict[str, Callable] = {
    "dihedral": dihedral.compliance_factor,
    "isometric": isometric_bend.compliance_factor,
}


class Sheet:
    """The mesh of a cloth at rest; most of it is computed when it is first asked for.

    Args:
        cloth: The cloth.

    Attributes:
        positions: Positions at rest [m], (N, 3).
        faces: Triangles, (F, 3).
        hinges: Pairs of triangles with a common edge, as its ends and the two far corners, (H, 4).

    Raises:
        SceneError: More than two triangles meet at an edge.
    """

    def __init__(self, cloth: ParticleObject) -> None:
        assert cloth.faces is not None
        self.positions, self.faces = cloth.positions, cloth.faces
        self.hinges = hinges(self.faces, f"cloth {cloth.name!r}")
        self._shares: dict[float, tuple[np.ndarray, np.ndarray]] = {}
        self._bending: dict[str, np.ndarray] = {}

    @cached_property
    def face_areas(self) -> np.ndarray:
        """Area of each triangle [m^2], (F,)."""
        return face_normals_areas(self.positions, self.faces)[1]

    @cached_property
    def across(self) -> np.ndarray:
        """The far corners of each hinge, (H, 2)."""
        return cross_edges(self.hinges)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """Which hinges turn about the diagonal of a quad, (H,)."""
        x, bends = self.positions, self.hinges

        def length(a: int, b: int) -> np.ndarray:
            return np.linalg.norm(x[bends[:, a]] - x[bends[:, b]], axis=1)

        longest = np.max([length(0, 2), length(1, 2), length(0, 3), length(1, 3)], axis=0)
        return length(0, 1) > DIAGONAL * longest

    @cached_property
    def edges(self) -> np.ndarray:
        """Edges, (E, 2)."""
        return edges(self.faces)

    @cached_property
    def is_shear(self) -> np.ndarray:
        """Which edges are diagonals of quads, or across one, (E,)."""
        pairs = np.concatenate([self.hinges[self.diagonal, :2], self.across[self.diagonal]])
        return np.isin(_key(self.edges), _key(pairs))

    @cached_property
    def other_diagonals(self) -> np.ndarray:
        """The diagonal of each quad that is no edge, (Q, 2)."""
        return self.across[self.diagonal]

    @cached_property
    def bends(self) -> np.ndarray:
        """Far corners of the hinges that are not within a quad, (B, 2)."""
        return self.across[~self.diagonal]

    def shares(self, in_quad: float) -> tuple[np.ndarray, np.ndarray]:
        """Squared length over the area of the sheet that a row stands for: of edges, (E,), and other diagonals, (Q,).

        Args:
            in_quad: Part of the area of a triangle that counts in a quad.
        """
        if in_quad not in self._shares:
            x, diagonals = self.positions, self.hinges[self.diagonal, :2]
            areas = self._edge_areas(_quad_weights(self.faces, diagonals, in_quad))
            quads = in_quad * dihedral.face_areas(x[self.hinges[self.diagonal]])
            lengths = (np.sum((x[p[:, 0]] - x[p[:, 1]]) ** 2, axis=1) for p in (self.edges, self.other_diagonals))
            first, second = (square / area for square, area in zip(lengths, (areas, quads), strict=True))
            self._shares[in_quad] = first, second
        return self._shares[in_quad]

    def bending_factor(self, model: str) -> np.ndarray:
        """Compliance of each hinge times the bending stiffness of the sheet, (H,)."""
        if model not in self._bending:
            self._bending[model] = HINGE_FAMILIES * _BENDING[model](self.positions[self.hinges])
        return self._bending[model]

    def _edge_areas(self, weights: np.ndarray) -> np.ndarray:
        """Weighted area of the triangles at each edge together [m^2], (E,)."""
        areas = weights * self.face_areas
        keys = _key(self.edges)
        order = np.argsort(keys)
        total = np.zeros(len(self.edges))
        for a, b in ((0, 1), (1, 2), (2, 0)):
            at = order[np.searchsorted(keys[order], _key(self.faces[:, [a, b]]))]
            np.add.at(total, at, areas)
        return total


def _quad_weights(faces: np.ndarray, diagonals: np.ndarray, weight: float) -> np.ndarray:
    """The weight for triangles that have a diagonal (D, 2) as a side, one for the others, (F,)."""
    sides = np.stack([_key(faces[:, [a, b]]) for a, b in ((0, 1), (1, 2), (2, 0))], axis=1)
    return np.where(np.isin(sides, _key(diagonals)).any(axis=1), weight, 1.0)


def _key(pairs: np.ndarray) -> np.ndarray:
    """One number for each undirected pair of indices."""
    low, high = np.minimum(pairs[:, 0], pairs[:, 1]), np.maximum(pairs[:, 0], pairs[:, 1])
    return low.astype(np.int64) << 32 | high.astype(np.int64)
