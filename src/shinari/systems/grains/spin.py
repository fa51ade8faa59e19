"""Spins of grains: part of the state, of energy and of angular momentum."""

import math
from dataclasses import dataclass

import numpy as np

from shinari.compute import Program, kernel, real
from shinari.maths.vec3 import scale
from shinari.model.model import Model
from shinari.model.spins import INERTIA, SPINS, Spins, rolling_coefficients, spins_of
from shinari.model.state import State
from shinari.model.system import System
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.scene.contents import Contents


@dataclass(frozen=True)
class SpinModel(SystemModel):
    """Grains that turn.

    Attributes:
        start_rates: Angular velocities of all particles at the start [rad/s], in solver order, (N, 3).
        inertias: Moments of inertia [kg m^2], (N,); 0 of what does not turn.
    """

    start_rates: np.ndarray
    inertias: np.ndarray

    def start(self, model: Model) -> dict[str, np.ndarray]:
        """Angular velocities of all particles."""
        return {SPINS: self.start_rates.astype(model.real)}

    def bind(self, bound: BoundSystems) -> "list[SpinSystem]":
        """The spins of a simulation, if there are any."""
        spins = spins_of(bound.scene, bound.model, bound.state)
        return [SpinSystem(spins, math.exp(-bound.model.damping * bound.settings.substep))] if spins else []

    def energy(self, model: Model, state: State, h: float) -> tuple[float, float, float]:
        """Kinetic energy of the spins [J]."""
        w = state.system_arrays[SPINS].astype(np.float64)
        return 0.5 * float(self.inertias @ np.einsum("nc,nc->n", w, w)), 0.0, 0.0

    def angular_momentum(self, model: Model, state: State, about: np.ndarray) -> np.ndarray:
        """Angular momentum of the spins [kg m^2/s], (3,)."""
        return self.inertias @ state.system_arrays[SPINS].astype(np.float64)


class SpinSystem(System):
    """Damping of spins.

    A scene with them is never at rest: a grain may spin for ever without rolling away.

    Args:
        spins: The spins.
        decay: What is left of them after a substep.
    """

    order = 20
    on_device = True

    def __init__(self, spins: Spins, decay: float) -> None:
        self._spins, self._decay = spins, decay

    def record_velocities(self, p: Program) -> None:
        """Record that spins are damped as velocities are."""
        if self._decay < 1.0:
            p.launch(damp_spin, self._spins, self._decay, count=len(self._spins), grain=4096)


@kernel
def damp_spin(i, spins: Spins, decay: real):
    """Damp the spin of a particle."""
    spins.rate[i] = scale(spins.rate[i], decay)


def build_spins(scene: Contents, model: Model) -> SpinModel | None:
    """The spins of a scene; None where no grain turns."""
    rolling = rolling_coefficients(scene)
    if not (rolling >= 0.0).any():
        return None
    still = [np.zeros((len(obj.positions), 3)) for obj in scene.particle_objects]
    given = [obj.angular_velocities for obj in scene.particle_objects]
    rates = np.empty((model.particle_count, 3))
    rates[model.slots] = np.concatenate([a if b is None else b for a, b in zip(still, given, strict=True)])
    inverse = model.inverse_masses.astype(np.float64)
    turns = (rolling[model.owners] >= 0.0) & (inverse > 0.0)
    masses = np.divide(1.0, inverse, out=np.zeros(len(inverse)), where=turns)
    rates[~turns] = 0.0
    return SpinModel(rates, INERTIA * masses * model.radii.astype(np.float64) ** 2)
