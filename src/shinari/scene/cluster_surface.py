"""The visible surface of a lump: it moves with the clusters of the particles that are nearest to each vertex."""

from dataclasses import dataclass

import numpy as np

from shinari import check
from shinari.errors import SceneError


@dataclass(frozen=True, eq=False)
class ClusterSurface:
    """A surface bound to the clusters of a lump.

    A vertex goes with the particles nearest to it; the way from each of them to the vertex is turned and stretched as
    the clusters of the particle are.

    Attributes:
        vertices: Vertices at rest, where the lump was put [m], (V, 3).
        faces: Vertex indices, (F, 3).
        corners: Particles near each vertex, local indices, (V, K).
        weights: Their weights, of sum 1, (V, K).
    """

    vertices: np.ndarray
    faces: np.ndarray
    corners: np.ndarray
    weights: np.ndarray

    def check(self, label: str, count: int) -> None:
        """Refuse wrong shapes and indices; see `Visual`."""
        vertices = check.array(label, "visual: vertices", self.vertices, (None, 3))
        check.index_rows(label, "visual: faces", self.faces, 3, len(vertices))
        width = np.shape(self.corners)[1] if np.ndim(self.corners) == 2 else 1
        corners = check.index_rows(label, "visual: corners", self.corners, width, count)
        check.array(label, "visual: weights", self.weights, (len(vertices), width))
        if len(corners) != len(vertices):
            raise SceneError(f"{label}: visual: corners: expected {len(vertices)} rows, got {len(corners)}")
