"""Queries about grains that turn."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.errors import SceneError
from shinari.model.spins import SPINS
from shinari.scene.handle import Handle

if TYPE_CHECKING:
    from shinari.model.simulation_view import Running


class GrainQueries:
    """Angular velocities of grains.

    Args:
        run: The scene that runs.
    """

    def __init__(self, run: "Running") -> None:
        self._run = run

    def angular_velocities(self, grains: Handle | str) -> np.ndarray:
        """Angular velocities of grains that turn, in world axes [rad/s], (N, 3); a copy.

        Raises:
            SceneError: They are no grains of this scene, or do not turn.
        """
        run = self._run
        found = run.scene.find("simulation", "grains", grains, Handle)
        obj = next(each for each in run.scene.particle_objects if each.name == found.name)
        if SPINS not in run.state.system_arrays or getattr(obj.material, "rolling_friction", None) is None:
            raise SceneError(
                f"{obj.kind} {obj.name!r}: angular_velocities: do not turn; grains whose material has a "
                f"rolling_friction do"
            )
        return run.state.system_arrays[SPINS][run.model.slots[found.particles.start : found.particles.stop]]
