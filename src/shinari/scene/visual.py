"""Surfaces that are shown in place of the particles of a thing, and move with them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from shinari.errors import SceneError
from shinari.scene import check

if TYPE_CHECKING:
    from shinari.model import Model
    from shinari.state import State


class Visual(Protocol):
    """A surface with vertices of its own that follows the particles of an object.

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

    def vertices_now(self, model: "Model", state: "State", particles: range, threads: int) -> np.ndarray:
        """Vertices in the world [m], (V, 3).

        Args:
            model: The model of the object.
            state: Its state.
            particles: Global indices of the particles of the object.
            threads: Threads to use.
        """
        ...

    def velocities_now(self, model: "Model", state: "State", particles: range, threads: int) -> np.ndarray:
        """Velocities of the vertices [m/s], (V, 3); the arguments are those of `vertices_now`."""
        ...

    def check(self, thing: str, count: int) -> None:
        """Refuse indices outside of arrays, in a changed file.

        Args:
            thing: Name of the thing, for messages.
            count: Particles of the object.

        Raises:
            SceneError: A shape or an index is wrong.
        """
        ...


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

    def vertices_now(self, model: "Model", state: "State", particles: range, threads: int) -> np.ndarray:
        """Vertices in the world [m], (V, 3); see `Visual`."""
        slots = model.slots[particles.start : particles.stop]
        # tetrahedra share rows, so their particles share an origin
        return self._blended(slots, state.x, state.origins[model.groups[slots[0]]], threads)

    def velocities_now(self, model: "Model", state: "State", particles: range, threads: int) -> np.ndarray:
        """Velocities of the vertices [m/s], (V, 3); see `Visual`."""
        return self._blended(model.slots[particles.start : particles.stop], state.v, np.zeros(3), threads)

    def check(self, thing: str, count: int) -> None:
        """Refuse wrong shapes and indices; see `Visual`."""
        vertices = check.array(thing, "visual: vertices", self.vertices, (None, 3))
        check.index_rows(thing, "visual: faces", self.faces, 3, len(vertices))
        corners = check.index_rows(thing, "visual: corners", self.corners, 4, count)
        check.array(thing, "visual: weights", self.weights, (len(vertices), 4))
        if len(corners) != len(vertices):
            raise SceneError(f"{thing}: visual: corners: expected {len(vertices)} rows, got {len(corners)}")

    def _blended(self, slots: np.ndarray, values: np.ndarray, origin: np.ndarray, threads: int) -> np.ndarray:
        from shinari.solver.skinning import blend

        return blend(self.corners, self.weights, slots, values, origin, threads)
