"""Parts: what moves particles and is not made of rows with a fixed number of points.

Rods with frames, clusters of shape matching and the volume of a closed mesh are parts. A part is built once with the
model, brings the arrays that it changes into the state, and is called by the step where the algorithm needs it.
"""

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from shinari.model import Model
    from shinari.settings import Settings
    from shinari.solver.system import System
    from shinari.solver.workspace import Workspace
    from shinari.state import State


class PartModel(Protocol):
    """What of a part never changes."""

    @property
    def name(self) -> str:
        """What it is called in messages."""
        ...

    def start(self, model: "Model") -> dict[str, np.ndarray]:
        """Arrays that change while the scene runs, by names of their own such as `"rods/frames"`."""
        ...

    def bind(self, model: "Model", state: "State", settings: "Settings", work: "Workspace") -> "System":
        """The part for a simulation; `state.parts` holds the arrays that `start` gave."""
        ...

    def energy(self, model: "Model", state: "State") -> tuple[float, float]:
        """Kinetic energy beyond that of the particles, and elastic energy [J]."""
        ...

    def angular_momentum(self, model: "Model", state: "State") -> np.ndarray:
        """Angular momentum beyond that of the particles [kg m^2/s], (3,)."""
        ...


@runtime_checkable
class Strained(Protocol):
    """A part whose particles are strained and pulled; see `shinari.point_values`."""

    def point_strains(self, model: "Model", state: "State", x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Strains of what particles are part of; one that is named several times has their mean.

        Args:
            model: The model.
            state: Its state.
            x: Positions in solver order as the user sees them [m], (N, 4) float64.

        Returns:
            Particles in solver order, (K,), and their strains, (K,).
        """
        ...

    def point_forces(self, state: "State", h: float) -> tuple[np.ndarray, np.ndarray]:
        """Particles in solver order, (K,), and a force on each in the last substep of length h [s], (K,) [N]."""
        ...
