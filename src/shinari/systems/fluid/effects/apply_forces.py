"""Moves the particles of fluids by what forces add to their velocities, at the start of a substep."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Program, kernel, real
from shinari.systems.fluid.effects.base import Effect
from shinari.systems.fluid.gather import move
from shinari.systems.fluid.records import FluidParticles

if TYPE_CHECKING:
    from shinari.systems.fluid.system import Fluid


@kernel
def clear_velocity(i, fluid: FluidParticles, zero: real):
    """Forces begin with no velocity."""
    fluid.v[i] = zero, zero, zero


@kernel
def follow_velocity(i, fluid: FluidParticles, h: real):
    """Displacement by a velocity in a substep."""
    v = fluid.v[i]
    fluid.displacement[i] = h * v[0], h * v[1], h * v[2]


class Forces(Effect):
    """Moves the particles by what forces add to their velocities in a substep."""

    def __init__(self, forces: list[Effect], h: float) -> None:
        self._forces, self._h = forces, h

    def begin(self, fluid: "Fluid", ends: np.ndarray) -> None:
        """A step begins: for each of the forces, too."""
        for force in self._forces:
            force.begin(fluid, ends)

    def record(self, p: Program, fluid: "Fluid") -> None:
        """Change the positions."""
        p.launch(clear_velocity, fluid.rows, 0.0, count=fluid.count)
        for force in self._forces:
            force.record(p, fluid)
        p.launch(follow_velocity, fluid.rows, self._h, count=fluid.count)
        p.launch(move, fluid.rows, fluid.particles, count=fluid.count)
