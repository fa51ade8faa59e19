"""A surface inside tetrahedra, as it was bound to them; see `shinari.geometry.embedding`."""

from dataclasses import dataclass

import numpy as np

from shinari import check
from shinari.errors import SceneError


@dataclass(frozen=True, eq=False)
class EmbeddedSurface:
    """A surface inside a mesh of tetrahedra: each vertex keeps its barycentric coordinates in one of them.

    Attributes:
        vertices: Vertices at rest, where the object was put [m], (V, 3) float64.
        faces: Triangles, (F, 3) int64.
        corners: Particles of the tetrahedron of each vertex, (V, 4) uint32, local indices.
        weights: Barycentric coordinates there, (V, 4) float64; they sum to one, and one is negative where the vertex
            lies outside of its tetrahedron.
    """

    vertices: np.ndarray
    faces: np.ndarray
    corners: np.ndarray
    weights: np.ndarray

    def check(self, label: str, count: int) -> None:
        """Refuse wrong shapes and indices; see `shinari.scene.visual.Visual`."""
        vertices = check.array(label, "visual: vertices", self.vertices, (None, 3))
        check.index_rows(label, "visual: faces", self.faces, 3, len(vertices))
        corners = check.index_rows(label, "visual: corners", self.corners, 4, count)
        check.array(label, "visual: weights", self.weights, (len(vertices), 4))
        if len(corners) != len(vertices):
            raise SceneError(f"{label}: visual: corners: expected {len(vertices)} rows, got {len(corners)}")
