"""Parts: what moves particles and is not made of rows with a fixed number of points.

Rods with frames, clusters of shape matching and the volume of a closed mesh are parts. A part is built once with the
model, brings the arrays that it changes into the state, and is called by the step where the algorithm needs it.
"""

from typing import TYPE_CHECKING, Protocol, TypeVar, runtime_checkable

import numpy as np

from shinari.scene.body import Body
from shinari.solver.particles import Clock, Groups, Particles

if TYPE_CHECKING:
    from shinari.model import Model
    from shinari.scene.scene import Scene
    from shinari.settings import Settings
    from shinari.solver.system import System
    from shinari.state import State


class StepRecords(Protocol):
    """Records that all systems of a simulation share."""

    @property
    def particles(self) -> Particles:
        """The particles."""
        ...

    @property
    def groups(self) -> Groups:
        """Their groups."""
        ...

    @property
    def clock(self) -> Clock:
        """Where the step is."""
        ...


class PartModel(Protocol):
    """What of a part never changes."""

    @property
    def name(self) -> str:
        """What it is called in messages."""
        ...

    def start(self, model: "Model") -> dict[str, np.ndarray]:
        """Arrays that change while the scene runs, by names of their own such as `"rods/frames"`."""
        ...

    def bind(self, model: "Model", state: "State", settings: "Settings", work: "StepRecords") -> "System":
        """The part for a simulation; `state.parts` holds the arrays that `start` gave."""
        ...

    def energy(self, model: "Model", state: "State") -> tuple[float, float]:
        """Kinetic energy beyond that of the particles, and elastic energy [J]."""
        ...

    def angular_momentum(self, model: "Model", state: "State") -> np.ndarray:
        """Angular momentum beyond that of the particles [kg m^2/s], (3,)."""
        ...


S = TypeVar("S")


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


class HeldModel(PartModel, Protocol):
    """The part that holds particles at rigid bodies."""

    def forces(self, state: "State", h: float) -> np.ndarray:
        """Forces with which the particles pull at their places in the last substep of length h [s], (M, 3) [N]."""
        ...


class MemberModel(Protocol):
    """Particles that keep off each other as balls."""

    @property
    def grains(self) -> np.ndarray:
        """Which objects are grains, (T,) bool."""
        ...

    def start(self, real: type) -> dict[str, np.ndarray]:
        """Arrays of the state."""
        ...


class BodiesModel(Protocol):
    """The rigid bodies and joints of a scene."""

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The bodies."""
        ...

    def start(self) -> dict[str, np.ndarray]:
        """Arrays of the state."""
        ...

    def kinetic(self, state: "State") -> float:
        """Kinetic energy [J]."""
        ...

    def gravitational(self, state: "State", gravity: np.ndarray) -> float:
        """Potential energy in gravity, zero at the world's origin [J]."""
        ...

    def elastic(self, state: "State", h: float) -> float:
        """Elastic energy of the joints [J]; `h` is the substep [s]."""
        ...

    def momentum(self, state: "State") -> np.ndarray:
        """Linear momentum [kg m/s], (3,)."""
        ...

    def angular_momentum(self, state: "State", about: np.ndarray) -> np.ndarray:
        """Angular momentum about a point [kg m^2/s], (3,)."""
        ...


class Running(Protocol):
    """A simulation as the queries of its systems see it; settings, model and pins may be others at the next call."""

    @property
    def scene(self) -> "Scene":
        """The scene as it was built."""
        ...

    @property
    def model(self) -> "Model":
        """The model."""
        ...

    @property
    def state(self) -> "State":
        """The state."""
        ...

    @property
    def settings(self) -> "Settings":
        """The settings."""
        ...

    @property
    def threads(self) -> int:
        """Threads to use."""
        ...

    def bound(self, kind: type[S]) -> S:
        """The system of a class; there must be one."""
        ...
