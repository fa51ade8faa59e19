"""Queries of rods."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.rods.model import RodLoads, RodModel
from shinari.scene.rod import RodHandle

if TYPE_CHECKING:
    from shinari.model import Model
    from shinari.scene.scene import Scene
    from shinari.settings import Settings
    from shinari.state import State


class RodAnswers:
    """Frames and loads of rods."""

    scene: "Scene"
    state: "State"
    model: "Model"
    settings: "Settings"

    def frames(self, rod: RodHandle | str) -> np.ndarray:
        """Frames of a rod, unit quaternions w x y z with the third axis along each segment, (S, 4): a writable view.

        A clamped frame goes, in the next step, evenly and on the short way from where it was to where it was written.

        Raises:
            SceneError: It is no rod of this scene.
        """
        segments = self._segments(rod)
        return self.state.parts["rods/frames"][segments.start : segments.stop]

    def rod_loads(self, rod: RodHandle | str) -> RodLoads:
        """Internal forces and moments of a rod in the last substep, in world axes.

        Raises:
            SceneError: It is no rod of this scene.
        """
        segments = self._segments(rod)
        rods = next(part for part in self.model.parts if isinstance(part, RodModel))
        return rods.loads(self.state, self.settings.substep, segments)

    def _segments(self, rod: RodHandle | str) -> range:
        return self.scene.find("simulation", "rod", rod, RodHandle).segments
