"""The states of many worlds as arrays with an axis of worlds in front."""

from typing import Any

import numpy as np

from shinari import check
from shinari.attributes import OwnAttributes
from shinari.errors import SceneError
from shinari.solver.device_state import Gpu, Host


class WorldStates(OwnAttributes):
    """The states of all worlds. Arrays are views, writable; an array that is assigned is copied in.

    They mean what those of `Simulation.state` mean, with an axis of worlds in front.
    """

    _label = "worlds"

    def __init__(self, arrays: dict[str, np.ndarray], device: Host | Gpu) -> None:
        self._arrays, self._device = device.arrays(arrays), device

    def on_device(self, name: str) -> Any:
        """Positions or velocities of all worlds as they are on the GPU, without a copy, until the next step.

        Values written there act on the next step; finish it before (`torch.cuda.synchronize()`).

        Args:
            name: `"positions"` or `"velocities"`.

        Returns:
            An object with `__cuda_array_interface__` and `__dlpack__`, (W, N, 3); see `State.on_device`.

        Raises:
            SceneError: The worlds run on the host.
        """
        check.choice("worlds", "name", name, ("positions", "velocities"))
        lent = self._device.lend(self._arrays, name)
        if lent is None:
            raise SceneError(f"worlds: {name}: on_device needs worlds with device='cuda'")
        return lent

    @property
    def positions(self) -> np.ndarray:
        """Positions of the particles [m], (W, N, 3)."""
        return self._arrays["positions"]

    @positions.setter
    def positions(self, value: Any) -> None:
        self._assign("positions", value)

    @property
    def velocities(self) -> np.ndarray:
        """Velocities of the particles [m/s], (W, N, 3)."""
        return self._arrays["velocities"]

    @velocities.setter
    def velocities(self, value: Any) -> None:
        self._assign("velocities", value)

    @property
    def body_positions(self) -> np.ndarray:
        """Origins of the rigid bodies [m], (W, B, 3) float64."""
        return self._arrays["parts/bodies/positions"]

    @body_positions.setter
    def body_positions(self, value: Any) -> None:
        self._assign("parts/bodies/positions", value)

    @property
    def body_rotations(self) -> np.ndarray:
        """Rotations of the rigid bodies, unit quaternions w x y z, (W, B, 4) float64."""
        return self._arrays["parts/bodies/rotations"]

    @body_rotations.setter
    def body_rotations(self, value: Any) -> None:
        self._assign("parts/bodies/rotations", value)

    @property
    def body_velocities(self) -> np.ndarray:
        """Velocities of the centres of mass of the rigid bodies [m/s], (W, B, 3) float64."""
        return self._arrays["parts/bodies/velocities"]

    @body_velocities.setter
    def body_velocities(self, value: Any) -> None:
        self._assign("parts/bodies/velocities", value)

    @property
    def body_angular_velocities(self) -> np.ndarray:
        """Angular velocities of the rigid bodies in world axes [rad/s], (W, B, 3) float64."""
        return self._arrays["parts/bodies/angular_velocities"]

    @body_angular_velocities.setter
    def body_angular_velocities(self, value: Any) -> None:
        self._assign("parts/bodies/angular_velocities", value)

    def _assign(self, name: str, value: Any) -> None:
        field, target = name.removeprefix("parts/").replace("bodies/", "body_"), self._arrays[name]
        array = check.shaped("worlds", field, value)
        if array.dtype.kind not in "fiu" or array.shape not in (target.shape, target.shape[1:]):
            one = f" or {target.shape[1:]} for all worlds" if target.shape[1:] else ""
            raise SceneError(
                f"worlds: {field}: expected numbers of shape {target.shape}{one}, got {check.short(array)}"
            )
        if not np.isfinite(array).all():
            raise SceneError(f"worlds: {field}: a value is no finite number")
        with np.errstate(over="ignore"):  # infinity is caught as divergence
            target[...] = array
