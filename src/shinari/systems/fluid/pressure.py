"""The density constraint of each particle, and the displacements of its solution.

    C_i = sum_j W_ij + walls - 1 <= 0            relative density: one term for each neighbour, itself and the solids
    dx_i = -w_i sum_j (L_i + L_j) grad W_ij      L >= 0: multiplier, a pressure times V h^2

Macklin and Mueller 2013, equations 1 to 12, with masses and multipliers as in Macklin et al. 2016: L adds up over the
iterations, is never negative as a whole (a particle may give back what an earlier iteration pushed too far), and is a
pressure. Each sum is gathered by the particle that it belongs to: no two threads write to the same place.

The kernels are made for one smoothing kernel, by its number; scales are those of `Smoothing`, inverse2 = 1 / support^2.
"""

import numpy as np

from shinari.compute import Kernel, kernel, real
from shinari.compute.once import once
from shinari.systems.fluid.records import FluidParticles, Neighbours, Offsets, difference
from shinari.systems.fluid.smoothing import slope, weight

ZERO = np.float32(0.0)


@once
def densities(smoothing: int) -> Kernel:
    """Kernel for the relative density of a particle by itself and its neighbours; it clears the gradient by solids."""

    @kernel
    def find_density(
        i, fluid: FluidParticles, neighbours: Neighbours, offsets: Offsets, inverse2: real, weight_scale: real
    ):
        p = fluid.x[i]
        total = weight(smoothing, inverse2 * ZERO)
        for k in range(offsets.start[i], offsets.start[i + 1]):
            _, r2 = difference(p, fluid.x[neighbours.place[k]])
            total += weight(smoothing, r2 * inverse2)
        fluid.density[i] = total * weight_scale
        none = inverse2 * ZERO
        fluid.gradient[i] = none, none, none

    return find_density


@kernel
def clear_solve(i, fluid: FluidParticles, zero: real):
    """A solve begins: no multipliers, nothing from solids."""
    fluid.gradient[i] = zero, zero, zero
    fluid.density[i] = zero
    fluid.stiffness[i] = zero
    fluid.multiplier[i] = zero


@once
def stiffnesses(smoothing: int) -> Kernel:
    """Kernel that adds sum_k w_k |grad_k C_i|^2 over a particle and its neighbours to what solids have put there.

    And their densities, which the first iteration need not sum up again.
    """

    @kernel
    def add_stiffness(
        i, fluid: FluidParticles, neighbours: Neighbours, offsets: Offsets, inverse2: real, slope_scale: real,
        weight_scale: real
    ):  # fmt: skip
        p, g = fluid.x[i], fluid.gradient[i]
        others, total = inverse2 * ZERO, weight(smoothing, inverse2 * ZERO)
        for k in range(offsets.start[i], offsets.start[i + 1]):
            j = neighbours.place[k]
            d, r2 = difference(p, fluid.x[j])
            total += weight(smoothing, r2 * inverse2)
            s = slope_scale * slope(smoothing, r2 * inverse2)
            g = g[0] + s * d[0], g[1] + s * d[1], g[2] + s * d[2]
            others += fluid.inverse_mass[j] * (s * s) * r2
        own = fluid.inverse_mass[i] * (g[0] * g[0] + g[1] * g[1] + g[2] * g[2])
        fluid.stiffness[i] += others + own
        fluid.density[i] += total * weight_scale

    return add_stiffness


@once
def displacements(smoothing: int) -> Kernel:
    """Kernel for the displacement of a particle by the multipliers in the last column of x."""

    @kernel
    def find_displacement(
        i, fluid: FluidParticles, neighbours: Neighbours, offsets: Offsets, inverse2: real, slope_scale: real
    ):
        p = fluid.x[i]
        own = p[3]
        none = inverse2 * ZERO
        u = none, none, none
        for k in range(offsets.start[i], offsets.start[i + 1]):
            q = fluid.x[neighbours.place[k]]
            d, r2 = difference(p, q)
            s = (own + q[3]) * slope(smoothing, r2 * inverse2)
            u = u[0] + s * d[0], u[1] + s * d[1], u[2] + s * d[2]
        w, g = fluid.inverse_mass[i], fluid.gradient[i]
        fluid.displacement[i] = (
            -w * (slope_scale * u[0] + own * g[0]),
            -w * (slope_scale * u[1] + own * g[1]),
            -w * (slope_scale * u[2] + own * g[2]),
        )

    return find_displacement
