"""Adhesion: particles are drawn to solids.

    E_i = -A c_i,       F_i = A grad c_i          c: what solids contribute to the density of a particle

A is such that a fluid which lies against a plane, layer after layer of its lattice, gains the work of adhesion
2 a sigma for each area, with a the adhesion of the material and 2 sigma the work of parting the fluid. By Young and
Dupre that work is sigma (1 + cos theta), with theta the angle of contact. The force is a negative multiplier of the
density of the solids alone, so that they know already how to take the opposite force.
"""

from typing import TYPE_CHECKING

import numpy as np

from shinari.contact.buffers import grown
from shinari.fluid.wall_table import missing

if TYPE_CHECKING:
    from shinari.fluid.model import FluidModel
    from shinari.fluid.part import Fluid


class Adhesion:
    """Attraction of solids, as a force of `Fluid`."""

    def __init__(self, fluids: "FluidModel", h: float, real: type) -> None:
        smoothing = fluids.smoothing
        layers = (np.arange(int(smoothing.support / smoothing.spacing) + 1) + 0.5) * smoothing.spacing
        shares = sum(missing(smoothing, float(d)) for d in layers)
        works = np.array([2.0 * m.adhesion * m.surface_tension for m in fluids.materials])
        # the multiplier of a force A grad c is -h^2 A
        self._multipliers = (-(h**2) * works * smoothing.spacing**2 / shares).astype(real)
        self._h, self._changes = real(h), None

    def __call__(self, fluid: "Fluid", threads: int) -> None:
        """Change `fluid.v`, and push the solids the other way."""
        self._changes = grown(self._changes, len(fluid.v), fluid.v.dtype)
        changes = self._changes[: len(fluid.v)]
        changes[:] = fluid.x[:, 3]
        fluid.x[:, 3] = self._multipliers[fluid.phases]
        for boundary in fluid.boundaries:
            boundary.push(fluid, threads)
        fluid.v -= (fluid.x[:, 3] * fluid.inverse_masses / self._h)[:, None] * fluid.pulls
        fluid.x[:, 3] = changes
