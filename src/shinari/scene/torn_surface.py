"""The triangles of a thing that can tear, as results show them: each with corners of its own."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shinari.scene import check

if TYPE_CHECKING:
    from shinari.model import Model
    from shinari.state import State


@dataclass(frozen=True)
class TornSurface:
    """Triangles of a cloth, or all faces of the tetrahedra of a soft body, that do not share vertices.

    Files of results keep the triangles that they begin with. So that a tear opens in them, a triangle that is gone, or
    that lies inside, is drawn as a point: its three corners are at the first of them.

    Attributes:
        vertices: Corners where the thing was put [m], (3 F, 3) float64.
        corners: Particle of each corner, triangle by triangle, (F, 3), local indices.
        tetrahedra: Tetrahedra that the triangles are the faces of, four each; None: triangles of a cloth.
    """

    vertices: np.ndarray
    corners: np.ndarray
    tetrahedra: np.ndarray | None = None

    @property
    def faces(self) -> np.ndarray:
        """Triangles, (F, 3): corner after corner."""
        return np.arange(3 * len(self.corners)).reshape(-1, 3)

    def vertices_now(self, model: "Model", state: "State", particles: range, threads: int) -> np.ndarray:
        """Corners in the world [m], (3 F, 3); see `Visual`."""
        from shinari.solver.tearing import elements_left

        slots = model.slots[particles.start : particles.stop]
        left = elements_left(model, state, int(model.owners[slots[0]]))
        assert left is not None
        return self._drawn(state.positions[particles.start : particles.stop], left)

    def velocities_now(self, model: "Model", state: "State", particles: range, threads: int) -> np.ndarray:
        """Velocities of the corners [m/s], (3 F, 3); see `Visual`."""
        return state.velocities[particles.start : particles.stop][self.corners].reshape(-1, 3)

    def _drawn(self, points: np.ndarray, left: np.ndarray) -> np.ndarray:
        seen = left
        if self.tetrahedra is not None:
            # a face is seen when just one of its tetrahedra is still there
            inside = np.repeat(left, 4)
            ordered = np.sort(self.corners, axis=1)
            _, which = np.unique(ordered, axis=0, return_inverse=True)
            which = which.reshape(-1)
            seen = inside & (np.bincount(which, weights=inside)[which] == 1.0)
        drawn = points[self.corners]
        drawn[~seen] = drawn[~seen][:, :1]
        return drawn.reshape(-1, 3)

    def check(self, thing: str, count: int) -> None:
        """Refuse what would lead outside of arrays; see `Visual`."""
        check.index_rows(thing, "corners", self.corners, 3, count)
        check.array(thing, "vertices", self.vertices, (3 * len(self.corners), 3))
        if self.tetrahedra is not None:
            rows = check.index_rows(thing, "tetrahedra", self.tetrahedra, 4, count)
            if len(self.corners) != 4 * len(rows):
                check.array(thing, "corners", self.corners, (4 * len(rows), 3))


def torn_surface(vertices: np.ndarray, faces: np.ndarray | None, tetrahedra: np.ndarray | None = None) -> TornSurface:
    """The surface of a cloth with these faces, or of a soft body with these tetrahedra."""
    if tetrahedra is not None:
        sides = np.array(((0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)))
        faces = np.asarray(tetrahedra, np.int64)[:, sides].reshape(-1, 3)
    corners = np.asarray(faces, np.int64)
    return TornSurface(np.asarray(vertices, np.float64)[corners].reshape(-1, 3), corners, tetrahedra)
