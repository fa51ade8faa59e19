"""Tensile correction: an artificial pressure between near particles, so that they do not clump.

    dx_i = -w_i sum_j (k_i |L_i| f_ij^n + k_j |L_j| f_ij^n) grad W_ij          f = W(r) / W(dq)

Under a negative pressure particles attract each other the more the nearer they are, and gather in clumps (Monaghan
2000, whose section 4 takes a part k of the pressures of the pair, as here). Macklin and Mueller 2013, equation 13, add
a constant in each iteration instead, whose effect grows with the iterations. Here the multipliers L of the last substep
push once, at the start of a substep: the force is a part k of the pressure, whatever the step and the iterations.

The gradient is always the spiky one, which does not vanish between particles that have come together.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Field, Kernel, Program, Record, kernel, real
from shinari.compute.once import once
from shinari.systems.fluid.effects.base import Effect
from shinari.systems.fluid.gather import move
from shinari.systems.fluid.records import FluidParticles, Members, Neighbours, Offsets, difference
from shinari.systems.fluid.smoothing import SPIKY, slope, weight

if TYPE_CHECKING:
    from shinari.systems.fluid.model import FluidModel
    from shinari.systems.fluid.system import Fluid

ZERO = np.float32(0.0)


class Corrections(Record):
    """The correction of each fluid."""

    strength = Field(real, doc="k over the scale of pressures", unit="kg m^2/Pa")
    power = Field(real, doc="n")
    reference = Field(real, doc="1 / W(dq)")


@kernel
def read_pressure(i, fluid: FluidParticles, members: Members, corrections: Corrections):
    """Put k |L| of the last substep into the last column of x."""
    fluid.x[i, 3] = corrections.strength[fluid.phase[i]] * abs(members.pressure[fluid.member[i]])


@once
def repel(smoothing: int) -> Kernel:
    """Kernel for the displacement by the artificial pressures; `slope_scale` is that of the spiky kernel."""

    @kernel
    def repel_particle(
        i, fluid: FluidParticles, corrections: Corrections, neighbours: Neighbours, offsets: Offsets, inverse2: real,
        slope_scale: real,
    ):  # fmt: skip
        p, phase = fluid.x[i], fluid.phase[i]
        power, reference = corrections.power[phase], corrections.reference[phase]
        none = inverse2 * ZERO
        u = none, none, none
        for k in range(offsets.start[i], offsets.start[i + 1]):
            j = neighbours.place[k]
            q, other = fluid.x[j], fluid.phase[j]
            d, r2 = difference(p, q)
            w = weight(smoothing, r2 * inverse2)
            s = p[3] * (w * reference) ** power + q[3] * (w * corrections.reference[other]) ** corrections.power[other]
            s *= slope(SPIKY, r2 * inverse2)
            u = u[0] + s * d[0], u[1] + s * d[1], u[2] + s * d[2]
        s = -slope_scale * fluid.inverse_mass[i]
        fluid.displacement[i] = s * u[0], s * u[1], s * u[2]

    return repel_particle


class Tensile(Effect):
    """The correction."""

    field, phase, order = "tensile_correction", "position", 1

    def __init__(self, fluids: "FluidModel", h: float, real: type) -> None:
        smoothing, materials = fluids.smoothing, fluids.materials
        self._strengths = np.array([m.tensile_correction for m in materials])
        near = [float(weight.py_func(smoothing.kernel_id, m.tensile_distance**2)) for m in materials]
        self._corrections: Corrections = Corrections.zeros(len(materials), real)
        self._corrections.power[...] = [m.tensile_power for m in materials]
        self._corrections.reference[...] = 1.0 / np.array(near)
        self._scale = replace(smoothing, kernel_id=SPIKY).slope_scale

    def record(self, p: Program, fluid: "Fluid") -> None:
        """Move the particles by what the pressures of the last substep give."""
        self._corrections.strength[...] = self._strengths / fluid.pressure_scale
        rows, neighbours, offsets = fluid.records
        p.launch(read_pressure, rows, fluid.members, self._corrections, count=fluid.count)
        scales = fluid.inverse2, self._scale
        kernel = repel(fluid.model.smoothing.kernel_id)
        p.launch(kernel, rows, self._corrections, neighbours, offsets, *scales, count=fluid.count)
        p.launch(move, rows, fluid.particles, count=fluid.count)
