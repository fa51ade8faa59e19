"""Queries about rods."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.scene.rod import RodHandle
from shinari.systems.rods.model import RodLoads, RodModel

if TYPE_CHECKING:
    from shinari.model.simulation_view import Running


class RodQueries:
    """Frames and loads of rods."""

    def __init__(self, run: "Running") -> None:
        self._run = run

    def frames(self, rod: RodHandle | str) -> np.ndarray:
        """Frames of a rod, unit quaternions w x y z with the third axis along each segment, (S, 4): a writable view.

        A clamped frame goes, in the next step, evenly and on the short way from where it was to where it was written.

        Raises:
            SceneError: It is no rod of this scene.
        """
        segments = self._segments(rod)
        return self._run.state.system_arrays["rods/frames"][segments.start : segments.stop]

    def loads(self, rod: RodHandle | str) -> RodLoads:
        """Internal forces and moments of a rod in the last substep, in world axes.

        Raises:
            SceneError: It is no rod of this scene.
        """
        segments = self._segments(rod)
        rods = self._run.model.find(RodModel)
        assert rods is not None  # there is a rod
        return rods.loads(self._run.state, self._run.settings.substep, segments)

    def _segments(self, rod: RodHandle | str) -> range:
        return self._run.scene.find("simulation", "rod", rod, RodHandle).segments
