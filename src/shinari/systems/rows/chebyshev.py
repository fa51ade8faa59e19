"""Chebyshev acceleration of Jacobi sweeps (Wang 2015, A Chebyshev Semi-Iterative Approach, algorithm 1).

The result of an iteration is extrapolated from that of the one before the last,

    x <- omega (x - x_before) + x_before

and the multipliers with it, as they belong together.
"""

import numpy as np

from shinari.compute import Field, Program, Record, kernel, real
from shinari.model.particles import Clock, Particles
from shinari.model.settings import Settings
from shinari.model.system import System
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.systems.rows.jacobi import PLAIN_ITERATIONS, chebyshev_weight
from shinari.systems.rows.row_access import Multipliers
from shinari.systems.rows.system import BlockSolver


class Positions(Record):
    """Positions after the last iterations, N rows."""

    last = Field(real, 4)
    before = Field(real, 4)


class Values(Record):
    """Multipliers after the last iterations, flat."""

    last = Field(real)
    before = Field(real)


class Weights(Record):
    """Weight omega of each iteration; 0: it stays as it is."""

    omega = Field(real)


@kernel
def extrapolate_position(i, particles: Particles, history: Positions, weights: Weights, clock: Clock, after: int):
    """Replace a position by the accelerated one."""
    omega, x = weights.omega[clock.iteration[0] + after], particles.x[i]
    if omega > np.float32(0.0):
        b = history.before[i]
        x = (x[0] - b[0]) * omega + b[0], (x[1] - b[1]) * omega + b[1], (x[2] - b[2]) * omega + b[2], x[3]
        particles.x[i] = x
    history.before[i] = history.last[i]
    history.last[i] = x


@kernel
def extrapolate_multiplier(i, multipliers: Multipliers, history: Values, weights: Weights, clock: Clock, after: int):
    """Replace a multiplier by the accelerated one."""
    omega, value = weights.omega[clock.iteration[0] + after], multipliers.value[i]
    if omega > np.float32(0.0):
        value = (value - history.before[i]) * omega + history.before[i]
        multipliers.value[i] = value
    history.before[i] = history.last[i]
    history.last[i] = value


class ChebyshevModel(SystemModel):
    """The acceleration, if the settings ask for it."""

    def bind(self, bound: BoundSystems) -> "list[Chebyshev]":
        """The acceleration of all rows of a simulation."""
        if bound.settings.sweep != "chebyshev":
            return []
        multipliers = [solver.multipliers for solver in bound.all_bound(BlockSolver)]
        return [Chebyshev(bound.particles, multipliers, bound.settings, bound.clock)]


class Chebyshev(System):
    """Positions and multipliers of the last two iterations."""

    order = 62
    can_rest = True
    on_device = True

    def __init__(self, particles: Particles, multipliers: list[Multipliers], settings: Settings, clock: Clock) -> None:
        precision = particles.precision
        self._clock = clock
        self._weights = Weights.zeros(settings.iterations, precision)
        weight = 1.0
        for k in range(settings.iterations):
            weight = chebyshev_weight(k, weight, settings.spectral_radius)
            self._weights.omega[k] = weight if k >= PLAIN_ITERATIONS else 0.0
        self._positions = particles, Positions.zeros(len(particles), precision)
        self._multipliers = [(values, Values.zeros(len(values), precision)) for values in multipliers]

    def record_project(self, p: Program, first: bool) -> None:
        """Accelerate the result of an iteration."""
        scalars = self._weights, self._clock, int(not first)
        p.launch(extrapolate_position, *self._positions, *scalars, count=len(self._positions[0]))
        for values, history in self._multipliers:
            p.launch(extrapolate_multiplier, values, history, *scalars, count=len(values))
