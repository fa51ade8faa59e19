"""Models of systems: what of a system never changes while a scene runs.

`solver.build` makes one for each system that a scene needs. It names the arrays that the system changes, which become
part of the state; binds the system to the arrays of a simulation; and answers queries about a state.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from shinari.model.particles import Clock, Origins, Particles, UserState

if TYPE_CHECKING:
    from shinari.compute import Program
    from shinari.model.model import ConstraintBlock, Model
    from shinari.model.settings import Settings
    from shinari.model.state import State
    from shinari.model.system import System
    from shinari.scene.contents import Contents

T = TypeVar("T")

# No particles.
NOBODY = np.zeros(0, np.int64)
NOBODY.flags.writeable = False


class BoundSystems(Protocol):
    """A simulation and its bound systems, as models of systems see it; `shinari.solver.bound_systems` has the class.

    Attributes:
        scene: The scene.
        model: Its model.
        state: The state.
        settings: The settings.
        grabs: What is grabbed.
        particles: The particles.
        origins: Origins that positions are relative to.
        user: Particles as the user reads and writes them.
        clock: Where the step is.
        moved_in: Number of the pass over the contacts that last moved each particle noticeably, (N,).
        new_program: A program that is played where the simulation runs, on the host or on a GPU.
    """

    scene: "Contents"
    model: "Model"
    state: "State"
    settings: "Settings"
    grabs: list[Any]
    particles: Particles
    origins: Origins
    user: UserState
    clock: Clock
    moved_in: np.ndarray
    new_program: "Callable[[], Program]"

    def all_bound(self, kind: type[T]) -> list[T]:
        """The systems of a kind that are bound so far, whether they take part or not."""
        ...

    def find(self, kind: type[T]) -> T | None:
        """The system of a kind, or None."""
        ...

    def get(self, kind: type[T]) -> T:
        """The system of a kind, which there is."""
        ...


class SystemModel:
    """The constant part of a system. A model overrides what its system has.

    Attributes:
        growing: Names of the arrays of `start` whose number of rows changes from step to step.
        multipliers: Names of those that hold forces times the square of a substep.
        rebound: Whether its systems are bound anew after constraint rows were released, because what can be in contact
            has changed.
    """

    growing: tuple[str, ...] = ()
    multipliers: tuple[str, ...] = ()
    rebound: bool = False

    def start(self, model: "Model") -> dict[str, np.ndarray]:
        """Arrays that change while the scene runs, by names of their own such as `"rods/frames"`."""
        return {}

    def bind(self, bound: BoundSystems) -> "Sequence[System]":
        """The systems of a simulation; `bound.state.system_arrays` holds the arrays that `start` gave."""
        raise NotImplementedError

    def with_materials(self, scene: "Contents") -> "SystemModel":
        """The same system with the materials of a scene that differs in nothing else."""
        return self

    def with_pins(self, scene: "Contents", model: "Model") -> "SystemModel":
        """The same system with the pins of a scene that differs in nothing else, and its model."""
        return self

    def changes_parameters(self, model: "Model", block: "ConstraintBlock") -> bool:
        """Whether its systems change parameters of the rows of a block."""
        return False

    def update_parameters(self, model: "Model", state: "State", block: "ConstraintBlock", values: np.ndarray) -> None:
        """Change the parameters (M, width) of the rows of a block to those that they have in a state."""

    def warn(self, scene: "Contents", model: "Model") -> None:
        """Warn of what is wrong at the start.

        Warns:
            ContactWarning: Objects overlap where they were put.
        """

    @property
    def workload(self) -> int:
        """Work of a substep, in rows of a constraint; decides about the number of threads."""
        return 0

    @property
    def solid_names(self) -> list[str]:
        """Names of objects without particles that can be in contact, beside colliders."""
        return []

    def inactive(self, state: "State") -> np.ndarray:
        """Particles that take no part now, in solver order, (K,) int64."""
        return NOBODY

    def energy(self, model: "Model", state: "State", h: float) -> tuple[float, float, float]:
        """Kinetic and gravitational energy beyond that of particles, and elastic energy [J]; h is the substep [s]."""
        return 0.0, 0.0, 0.0

    def momentum(self, state: "State") -> np.ndarray:
        """Momentum beyond that of particles [kg m/s], (3,)."""
        return np.zeros(3)

    def angular_momentum(self, model: "Model", state: "State", about: np.ndarray) -> np.ndarray:
        """Angular momentum about a point [m] beyond that of particles [kg m^2/s], (3,)."""
        return np.zeros(3)

    def forces(self, kind: str, state: "State", h: float) -> np.ndarray | None:
        """Forces of all rows of a kind in the last substep of length h [s], (M, 3) [N]; None: it has no such rows."""
        return None

    def point_strains(self, model: "Model", state: "State", x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Strains at particles; one that is named several times has their mean. See `shinari.solver.point_values`.

        Args:
            model: The model.
            state: Its state.
            x: Positions in solver order as the user sees them [m], (N, 4) float64.

        Returns:
            Particles in solver order, (K,), and their strains, (K,).
        """
        return np.zeros(0, np.int64), np.zeros(0)

    def point_forces(self, state: "State", h: float) -> tuple[np.ndarray, np.ndarray]:
        """Particles in solver order, (K,), and a force on each in the last substep of length h [s], (K,) [N]."""
        return np.zeros(0, np.int64), np.zeros(0)
