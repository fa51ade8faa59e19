"""What the rows of a cloth need of its mesh: its edges, its hinges, and how much sheet each of them stands for.

None of it depends on the material, so that a change of the material of a cloth that runs computes none of it anew.
"""

from collections.abc import Callable

import numpy as np

from shinari.compute.once import cached_property
from shinari.constraints import dihedral, isometric_bend
from shinari.geometry.topology import corner_areas, cross_edges, edge_keys, edge_rows, edges
from shinari.scene.objects import ParticleObject
from shinari.systems.rows.rest_shape import RestShape

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
        rest: Its rest shape.
        faces: Triangles, (F, 3).
        hinges: Pairs of triangles with a common edge, as its ends and the two far corners, (H, 4).
        folds: Which of them are at fold lines, (H,).

    Raises:
        SceneError: More than two triangles meet at an edge.
    """

    def __init__(self, cloth: ParticleObject) -> None:
        assert cloth.faces is not None
        self.faces, self.tailoring = cloth.faces, cloth.tailoring
        self.rest = RestShape(cloth)
        self.hinges = self.rest.hinges
        self.folds = np.zeros(len(self.hinges), bool)
        if self.tailoring is not None:
            self.folds = np.isin(edge_keys(self.hinges), edge_keys(self.tailoring.folds))
        self._shares: dict[float, tuple[np.ndarray, np.ndarray]] = {}
        self._bending: dict[str, np.ndarray] = {}

    @cached_property
    def face_areas(self) -> np.ndarray:
        """Area of each triangle [m^2], (F,)."""
        return corner_areas(self.rest.corners)

    @cached_property
    def across(self) -> np.ndarray:
        """The far corners of each hinge, (H, 2)."""
        return cross_edges(self.hinges)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """Which hinges turn about the diagonal of a quad, (H,)."""
        x = self.rest.hinge_points

        def length(a: int, b: int) -> np.ndarray:
            return np.linalg.norm(x[:, a] - x[:, b], axis=1)

        longest = np.max([length(0, 2), length(1, 2), length(0, 3), length(1, 3)], axis=0)
        found = length(0, 1) > DIAGONAL * longest
        # a seam has an edge on each side
        found[len(found) - self.rest.seams :] = False
        return found

    @cached_property
    def edges(self) -> np.ndarray:
        """Edges, (E, 2)."""
        return edges(self.faces)

    @cached_property
    def edge_squares(self) -> np.ndarray:
        """Square of the length of each edge [m^2], (E,)."""
        return self.rest.squares(self.edges, self.faces)

    @cached_property
    def is_shear(self) -> np.ndarray:
        """Which edges are diagonals of quads, or across one, (E,)."""
        pairs = np.concatenate([self.hinges[self.diagonal, :2], self.across[self.diagonal]])
        return np.isin(edge_keys(self.edges), edge_keys(pairs))

    @cached_property
    def other_diagonals(self) -> np.ndarray:
        """The diagonal of each quad that is no edge, (Q, 2)."""
        return self.across[self.diagonal]

    @cached_property
    def across_lengths(self) -> np.ndarray:
        """Distance of the far corners of each hinge [m], (H,)."""
        return np.linalg.norm(self.rest.hinge_points[:, 2] - self.rest.hinge_points[:, 3], axis=1)

    def shares(self, in_quad: float) -> tuple[np.ndarray, np.ndarray]:
        """Squared length over the area of the sheet that a row stands for: of edges, (E,), and other diagonals, (Q,).

        Args:
            in_quad: Part of the area of a triangle that counts in a quad.
        """
        if in_quad not in self._shares:
            points = self.rest.hinge_points[self.diagonal]
            areas = self._edge_areas(_quad_weights(self.faces, self.hinges[self.diagonal, :2], in_quad))
            quads = in_quad * dihedral.face_areas(points)
            across = np.sum((points[:, 2] - points[:, 3]) ** 2, axis=1)
            self._shares[in_quad] = self.edge_squares / areas, across / quads
        return self._shares[in_quad]

    def bending_factor(self, model: str) -> np.ndarray:
        """Compliance of each hinge times the bending stiffness of the sheet, (H,)."""
        if model not in self._bending:
            self._bending[model] = HINGE_FAMILIES * _BENDING[model](self.rest.hinge_points)
        return self._bending[model]

    def stiffness(self, vertices: np.ndarray) -> np.ndarray | float:
        """Factor of the stiffness of rows, the mean of those of their vertices (M, K), (M,)."""
        if self.tailoring is None or self.tailoring.stiffness is None:
            return 1.0
        return self.tailoring.stiffness[vertices].mean(axis=1)

    def _edge_areas(self, weights: np.ndarray) -> np.ndarray:
        """Weighted area of the triangles at each edge together [m^2], (E,)."""
        sides = np.concatenate([self.faces[:, side] for side in ((0, 1), (1, 2), (2, 0))])
        return np.bincount(edge_rows(sides, self.edges), np.tile(weights * self.face_areas, 3), len(self.edges))


def _quad_weights(faces: np.ndarray, diagonals: np.ndarray, weight: float) -> np.ndarray:
    """The weight for triangles that have a diagonal (D, 2) as a side, one for the others, (F,)."""
    sides = np.stack([edge_keys(faces[:, [a, b]]) for a, b in ((0, 1), (1, 2), (2, 0))], axis=1)
    return np.where(np.isin(sides, edge_keys(diagonals)).any(axis=1), weight, 1.0)
