"""Positions of particles after each substep, of which a user of a simulation sees only the last."""

import numpy as np

import shinari as sn
from shinari.compute import Field, Program, Record, kernel, real
from shinari.model.particles import Clock, Particles
from shinari.model.system import System
from shinari.solver.bound_systems import BoundSystems


class Positions(Record):
    """Positions after the substeps of a step, N rows for each substep."""

    x = Field(real, 3, unit="m", doc="position relative to the origin of the particle")


@kernel
def store_position(i, particles: Particles, clock: Clock, positions: Positions, count: np.int64):
    """Store the position of a particle after a substep."""
    x = particles.x[i]
    positions.x[clock.substep[0] * count + i] = x[0], x[1], x[2]


class Trace(System):
    """Stores the positions of all particles after each substep of a simulation, from now on."""

    order = 1000

    def __init__(self, simulation: sn.Simulation) -> None:
        bound: BoundSystems = simulation._run.bound
        self._bound, self._count = bound, bound.model.particle_count
        self._positions = Positions.zeros(self._count * bound.settings.substeps, bound.particles.precision)
        bound._by_model.append((None, [self]))
        bound._connect()

    def record_finish(self, p: Program) -> None:
        """A substep is over."""
        records = self._bound.particles, self._bound.clock, self._positions
        p.launch(store_position, *records, self._count, count=self._count)

    def of_step(self, particles: range) -> np.ndarray:
        """Positions of particles after the substeps of the last step [m], (substeps, n, 3)."""
        model, own = self._bound.model, self._positions.x.reshape(-1, self._count, 3)
        world = own + self._bound.origins.position[model.origin_index].astype(np.float64)
        return world[:, model.slots[np.asarray(particles)]]
