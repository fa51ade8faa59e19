"""Queries of closed meshes."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.build.topology import boundary_edges
from shinari.build.volumes import volume_of
from shinari.errors import SceneError
from shinari.scene.handle import Handle
from shinari.solver.volume import MULTIPLIERS

if TYPE_CHECKING:
    from shinari.scene.scene import Scene
    from shinari.settings import Settings
    from shinari.state import State


class VolumeAnswers:
    """Pressures and volumes."""

    scene: "Scene"
    state: "State"
    settings: "Settings"

    def pressure(self, of: Handle | str) -> float:
        """Pressure inside a closed mesh above that outside [Pa], in the last substep; see `Scene.add_volume`.

        Raises:
            SceneError: The volume of that thing is not kept.
        """
        thing = self.scene.find("pressure", "of", of, Handle)
        names = [volume.thing for volume in self.scene.volumes]
        if thing.name not in names:
            raise SceneError(f"pressure: of: the volume of {thing.name!r} is not kept; see Scene.add_volume")
        return float(self.state.parts[MULTIPLIERS][names.index(thing.name)]) / self.settings.substep**2

    def volume(self, of: Handle | str) -> float:
        """Volume inside the closed mesh of an object [m^3].

        Raises:
            SceneError: The thing has no closed mesh.
        """
        thing = self.scene.find("volume", "of", of, Handle)
        x = self.state.positions[thing.particles.start : thing.particles.stop]
        faces = next(group.faces for group in self.scene.groups if group.name == thing.name)
        if faces is None or len(boundary_edges(faces)):
            raise SceneError(f"volume: of: {thing.name!r} has no closed mesh")
        return abs(volume_of(x.astype(np.float64), faces))
