"""Vorticity confinement: gives whirls back what smoothing takes from them.

    w_i = sum_j (-grad W_ij) x (v_j - v_i) / M           curl of the velocity, M the first moment of the kernel
    n   = grad |w| / |grad |w||                          towards the middle of a whirl
    a_i = e s n x w_i                                    s the spacing, e without a dimension

Fedkiw, Stam, Jensen 2001, section 3; on particles Macklin and Mueller 2013, equations 15 and 16. Dividing by M, summed
over a lattice, makes the curl of a rigid rotation exactly twice its angular velocity there. It is a force from nowhere:
inside a whirl that lies all within the fluid the sum is near zero, but nothing keeps momentum or energy.
"""

from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Field, Kernel, Program, Record, kernel, real
from shinari.compute.once import once
from shinari.maths.vec3 import add, cross, dot, scale, sub
from shinari.systems.fluid.effects.base import Coefficients, Effect, coefficients
from shinari.systems.fluid.records import FluidParticles, Neighbours, Offsets, difference
from shinari.systems.fluid.smoothing import slope

if TYPE_CHECKING:
    from shinari.systems.fluid.model import FluidModel
    from shinari.systems.fluid.smoothing import Smoothing
    from shinari.systems.fluid.system import Fluid

ZERO = np.float32(0.0)
TINY = np.float32(1e-30)


class Curls(Record):
    """One row for each particle."""

    value = Field(real, 4, unit="1/s", doc="curl of the velocity, and its length")


@once
def find_curl(smoothing: int) -> Kernel:
    """Kernel for the curl of the velocity; `moment` is `Smoothing.slope_scale` over the first moment."""

    @kernel
    def curl_of(
        i, fluid: FluidParticles, curls: Curls, neighbours: Neighbours, offsets: Offsets, inverse2: real, moment: real
    ):
        p, v = fluid.x[i], fluid.v[i]
        none = inverse2 * ZERO
        c = none, none, none
        for k in range(offsets.start[i], offsets.start[i + 1]):
            j = neighbours.place[k]
            d, r2 = difference(p, fluid.x[j])
            s, r = slope(smoothing, r2 * inverse2), cross(d, sub(fluid.v[j], v))
            c = c[0] + s * r[0], c[1] + s * r[1], c[2] + s * r[2]
        c = scale(c, moment)
        curls.value[i] = c[0], c[1], c[2], np.sqrt(dot(c, c))

    return curl_of


@once
def confine(smoothing: int) -> Kernel:
    """Kernel that adds the force of confinement; `table` has strength times spacing times substep [m s]."""

    @kernel
    def confine_velocity(
        i, fluid: FluidParticles, curls: Curls, table: Coefficients, neighbours: Neighbours, offsets: Offsets,
        inverse2: real,
    ):  # fmt: skip
        p, c = fluid.x[i], curls.value[i]
        none = inverse2 * ZERO
        g = none, none, none
        for k in range(offsets.start[i], offsets.start[i + 1]):
            j = neighbours.place[k]
            d, r2 = difference(p, fluid.x[j])
            s = (curls.value[j, 3] - c[3]) * slope(smoothing, r2 * inverse2)
            g = g[0] + s * d[0], g[1] + s * d[1], g[2] + s * d[2]
        s = table.value[fluid.phase[i]] / max(np.sqrt(dot(g, g)), TINY) if fluid.inverse_mass[i] > ZERO else none
        fluid.v[i] = add(fluid.v[i], scale(cross(g, c), s))

    return confine_velocity


def first_moment(smoothing: "Smoothing") -> float:
    """What the gradient of a linear field comes out as, over what it is: -sum x . grad W / d on the lattice."""
    r2 = (smoothing.lattice() ** 2).sum(axis=1)
    total = sum(r * float(slope.py_func(smoothing.kernel_id, r / smoothing.support**2)) for r in r2[r2 > 0.0])
    return -smoothing.slope_scale * total / smoothing.dimensions


class Vorticity(Effect):
    """Vorticity confinement."""

    field, phase, order = "vorticity", "velocity", 2

    def __init__(self, fluids: "FluidModel", h: float, real: type) -> None:
        strengths = np.array([m.vorticity for m in fluids.materials])
        self._table = coefficients(h * fluids.smoothing.spacing * strengths, real)
        self._moment = fluids.smoothing.slope_scale / first_moment(fluids.smoothing)
        self._curls: Curls = Curls.zeros(len(fluids.particles), real)

    def record(self, p: Program, fluid: "Fluid") -> None:
        """Change the velocities."""
        rows, neighbours, offsets = fluid.records
        number, lists = fluid.model.smoothing.kernel_id, (neighbours, offsets, fluid.inverse2)
        p.launch(find_curl(number), rows, self._curls, *lists, self._moment, count=fluid.count)
        p.launch(confine(number), rows, self._curls, self._table, *lists, count=fluid.count)
