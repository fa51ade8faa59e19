"""Queries about closed meshes."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.errors import SceneError
from shinari.geometry.topology import boundary_edges
from shinari.scene.handle import Handle
from shinari.systems.volume.build import volume_of
from shinari.systems.volume.model import MULTIPLIERS

if TYPE_CHECKING:
    from shinari.model.simulation_view import Running


class VolumeQueries:
    """Pressures and volumes."""

    def __init__(self, run: "Running") -> None:
        self._run = run

    def pressure(self, of: Handle | str) -> float:
        """Pressure inside a closed mesh above that outside [Pa], in the last substep; see `Scene.add_volume`.

        It is what the sheet as it is solved carries: far too little where that is stiff and light and the substeps are
        few, see docs/methods/volume.md.

        Raises:
            SceneError: The volume of that object is not kept.
        """
        known = self._run.scene.find("pressure", "of", of, Handle)
        names = [volume.object_name for volume in self._run.scene.volumes]
        if known.name not in names:
            raise SceneError(f"pressure: of: the volume of {known.name!r} is not kept; see Scene.add_volume")
        return (
            float(self._run.state.system_arrays[MULTIPLIERS][names.index(known.name)]) / self._run.settings.substep**2
        )

    def volume(self, of: Handle | str) -> float:
        """Volume inside the closed mesh of an object [m^3].

        Raises:
            SceneError: The object has no closed mesh.
        """
        known = self._run.scene.find("volume", "of", of, Handle)
        x = self._run.state.positions[known.particles.start : known.particles.stop]
        faces = next(obj.faces for obj in self._run.scene.particle_objects if obj.name == known.name)
        if faces is None or len(boundary_edges(faces)):
            raise SceneError(f"volume: of: {known.name!r} has no closed mesh")
        return abs(volume_of(x.astype(np.float64), faces))
