"""Adhesion: particles are drawn to solids.

    F_i = A grad c_i (1 - |grad c_i| / P)        c: what solids contribute to the density of a particle

P is |grad c| at a plane for a particle that touches it, half a spacing away: there the attraction ends, so that it
holds what comes off and does not press what lies against the solid. A is such that a fluid that comes to lie against a
plane, layer after layer of its lattice, gains the work of adhesion 2 a sigma for each area, with a the adhesion of the
material and 2 sigma the work of parting the fluid; by Young and Dupre that is sigma (1 + cos theta), with theta the
angle of contact. What surface tension gains already, where a wall is no surface, is left out. The force is a negative
multiplier of the density of the solids alone, so that they know already how to take the opposite force.
"""

from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Program, kernel, real
from shinari.systems.fluid.effects.base import Coefficients, Effect, coefficients
from shinari.systems.fluid.effects.tension import ATTRACTION
from shinari.systems.fluid.records import FluidParticles
from shinari.systems.fluid.wall_table import POINTS, PUSH, wall_table

if TYPE_CHECKING:
    from shinari.systems.fluid.model import FluidModel
    from shinari.systems.fluid.smoothing import Smoothing
    from shinari.systems.fluid.system import Fluid

ZERO, ONE = np.float32(0.0), np.float32(1.0)


@kernel
def attract(i, fluid: FluidParticles, table: Coefficients, most: real, inverse_h: real):
    """Add the force to the velocity; put its multiplier into the last column of x, and keep what stood there.

    `table` has the multipliers -h^2 A, `most` is P.
    """
    g, v, x = fluid.gradient[i], fluid.v[i], fluid.x[i]
    part = max(ONE - np.sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]) / most, ZERO)
    change = table.value[fluid.phase[i]] * part
    s = -change * fluid.inverse_mass[i] * inverse_h
    fluid.v[i] = v[0] + s * g[0], v[1] + s * g[1], v[2] + s * g[2]
    fluid.direction[i], fluid.x[i, 3] = x[3], change


@kernel
def restore_change(i, fluid: FluidParticles):
    """Put back what stood in the last column of x."""
    fluid.x[i, 3] = fluid.direction[i]


def wetting(smoothing: "Smoothing") -> tuple[float, float]:
    """Work of the force for A = 1 on all layers together, per particle of a layer, and P [1/m]."""
    support, spacing = smoothing.support, smoothing.spacing
    distances, pushes = np.linspace(-support, support, POINTS), wall_table(smoothing)[PUSH]
    most = float(np.interp(0.5 * spacing, distances, pushes))
    total = 0.0
    for layer in range(int(support / spacing) + 1):
        distance = np.linspace((layer + 0.5) * spacing, support, 2 * POINTS)
        push = np.interp(distance, distances, pushes)
        total += (
            float(np.trapezoid(push * np.maximum(1.0 - push / most, 0.0), distance)) if distance[0] < support else 0.0
        )
    return total, most


class Adhesion(Effect):
    """Attraction of solids, as a force."""

    field, phase, order = "adhesion", "force", 2

    def __init__(self, fluids: "FluidModel", h: float, real: type) -> None:
        work, most = wetting(fluids.smoothing)
        works = np.array([(2.0 * m.adhesion - (1.0 - ATTRACTION) * min(2.0 * m.adhesion, 1.0)) * m.surface_tension
                          for m in fluids.materials])  # fmt: skip
        # the multiplier of a force A grad c is -h^2 A
        self._multipliers = coefficients(-(h**2) * works * fluids.smoothing.spacing**2 / work, real)
        self._h, self._most = h, most

    def record(self, p: Program, fluid: "Fluid") -> None:
        """Change the velocities, and push the solids the other way."""
        p.launch(attract, fluid.rows, self._multipliers, self._most, 1.0 / self._h, count=fluid.count)
        for boundary in fluid.boundaries:
            boundary.record_impulses(p, False)
        p.launch(restore_change, fluid.rows, count=fluid.count)
