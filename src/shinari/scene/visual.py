"""Surfaces that are shown in place of the particles of an object, and move with them."""

from typing import Protocol

import numpy as np


class Visual(Protocol):
    """A surface with vertices of its own that follows the particles of an object.

    `shinari.api.visual_surfaces` says where they are now.

    Attributes:
        vertices: Vertices at rest, where the object was put [m], (V, 3).
        faces: Triangles, (F, 3), indices of these vertices.
        corners: Particles that each vertex goes with, local indices, (V, K).
        weights: Their weights, which sum to one, (V, K).
    """

    @property
    def vertices(self) -> np.ndarray:
        """Vertices at rest [m], (V, 3)."""
        ...

    @property
    def faces(self) -> np.ndarray:
        """Triangles, (F, 3)."""
        ...

    @property
    def corners(self) -> np.ndarray:
        """Particles of each vertex, (V, K)."""
        ...

    @property
    def weights(self) -> np.ndarray:
        """Their weights, (V, K)."""
        ...

    def check(self, label: str, count: int) -> None:
        """Refuse indices outside of arrays, in a changed file.

        Args:
            label: Name of the object, for messages.
            count: Particles of the object.

        Raises:
            SceneError: A shape or an index is wrong.
        """
        ...
