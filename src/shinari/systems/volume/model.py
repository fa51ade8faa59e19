"""Model of enclosed volumes that are kept or inflated."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shinari.model.model import Model
from shinari.model.state import State
from shinari.model.system_model import BoundSystems, SystemModel

if TYPE_CHECKING:
    from shinari.systems.volume.system import Volumes


MULTIPLIERS = "volumes/multipliers"


@dataclass(frozen=True)
class VolumesModel(SystemModel):
    """Closed meshes that keep their volume.

    Attributes:
        objects: Which of the objects each mesh is the surface of, (K,) int64.
        triangles: Particles of the faces of all meshes, outward, mesh after mesh, (F, 3) uint32.
        face_chunks: First face, last face (exclusive), mesh, and a particle of the mesh, by chunk, (C, 4) int64.
        vertices: Particles of all meshes, mesh after mesh, (V,) uint32.
        vertex_chunks: The same for vertices, (D, 4) int64.
        offsets: Where the faces of each vertex start, (V + 1,) int64.
        faces: Faces of each vertex, one vertex after another, (3 F,) uint32.
        volumes: Volumes that the meshes are to have [m^3], (K,) float64.
        compliance: Compliance [m^3/Pa], (K,) float64.
    """

    objects: np.ndarray
    triangles: np.ndarray
    face_chunks: np.ndarray
    vertices: np.ndarray
    vertex_chunks: np.ndarray
    offsets: np.ndarray
    faces: np.ndarray
    volumes: np.ndarray
    compliance: np.ndarray
    multipliers = (MULTIPLIERS,)

    def start(self, model: Model) -> dict[str, np.ndarray]:
        """The multipliers of the last substep, (K,) float64."""
        return {MULTIPLIERS: np.zeros(len(self.volumes))}

    def bind(self, bound: BoundSystems) -> "list[Volumes]":
        """The meshes of one simulation."""
        from shinari.systems.volume.system import Volumes

        return [Volumes(self, bound.model, bound.state, bound.settings, bound.particles)]

    def measured(self, model: Model, state: State) -> np.ndarray:
        """Volumes now [m^3], (K,)."""
        sizes = self.face_chunks[:, 1] - self.face_chunks[:, 0]
        mesh, corner = np.repeat(self.face_chunks[:, 2:], sizes, axis=0).T
        x = state.x[:, :3].astype(np.float64)
        a, b, c = np.swapaxes(x[self.triangles], 0, 1)
        parts = ((a - x[corner]) * np.cross(b - a, c - a)).sum(axis=1) / 6.0
        return np.bincount(mesh, weights=parts, minlength=len(self.objects))

    def torn(self, model: Model, state: State) -> np.ndarray:
        """Which meshes have lost a face, so that nothing is kept in them, (K,)."""
        open_objects = [f.object_number for f in model.tearable_meshes if not f.present(state.broken[f.block]).all()]
        return np.isin(self.objects, open_objects)

    def energy(self, model: Model, state: State, h: float) -> tuple[float, float, float]:
        """No kinetic energy of its own, and 1/2 C^2 / compliance [J]."""
        soft = (self.compliance > 0.0) & ~self.torn(model, state)
        error = (self.measured(model, state) - self.volumes)[soft]
        return 0.0, 0.0, 0.5 * float((error**2 / self.compliance[soft]).sum())
