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

from shinari.contact.buffers import grown
from shinari.fluid.tension import ATTRACTION
from shinari.fluid.wall_table import POINTS, PUSH, wall_table

if TYPE_CHECKING:
    from shinari.fluid.kernels import Smoothing
    from shinari.fluid.model import FluidModel
    from shinari.fluid.part import Fluid


def wetting(smoothing: "Smoothing") -> tuple[float, float]:
    """Work of the force for A = 1 on all layers together, per particle of a layer, and P [1/m]."""
    support, spacing = smoothing.support, smoothing.spacing
    distances, pushes = np.linspace(-support, support, POINTS), wall_table(smoothing)[PUSH]
    most = float(np.interp(0.5 * spacing, distances, pushes))
    total = 0.0
    for layer in range(int(support / spacing) + 1):
        way = np.linspace((layer + 0.5) * spacing, support, 2 * POINTS)
        push = np.interp(way, distances, pushes)
        total += float(np.trapezoid(push * np.maximum(1.0 - push / most, 0.0), way)) if way[0] < support else 0.0
    return total, most


class Adhesion:
    """Attraction of solids, as a force of `Fluid`."""

    def __init__(self, fluids: "FluidModel", h: float, real: type) -> None:
        work, most = wetting(fluids.smoothing)
        works = np.array([(2.0 * m.adhesion - (1.0 - ATTRACTION) * min(2.0 * m.adhesion, 1.0)) * m.surface_tension
                          for m in fluids.materials])  # fmt: skip
        # the multiplier of a force A grad c is -h^2 A
        self._multipliers = (-(h**2) * works * fluids.smoothing.spacing**2 / work).astype(real)
        self._h, self._most, self._changes = real(h), real(most), None

    def __call__(self, fluid: "Fluid", threads: int) -> None:
        """Change `fluid.v`, and push the solids the other way."""
        self._changes = grown(self._changes, len(fluid.v), fluid.v.dtype)
        changes, one = self._changes[: len(fluid.v)], fluid.v.dtype.type(1.0)
        changes[:] = fluid.x[:, 3]
        parts = np.maximum(one - np.sqrt((fluid.pulls**2).sum(axis=1)) / self._most, fluid.v.dtype.type(0.0))
        fluid.x[:, 3] = self._multipliers[fluid.phases] * parts
        for boundary in fluid.boundaries:
            boundary.push(fluid, threads)
        fluid.v -= (fluid.x[:, 3] * fluid.inverse_masses / self._h)[:, None] * fluid.pulls
        fluid.x[:, 3] = changes
