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

import numba
import numpy as np

from shinari.contact.broad.grid import share_of
from shinari.fluid.kernels import slope, weight
from shinari.fluid.model import PRESSURES
from shinari.fluid.moves import move
from shinari.fluid.pressure import REORDERED

if TYPE_CHECKING:
    from shinari.fluid.model import FluidModel
    from shinari.fluid.part import Fluid

f32 = np.float32
ZERO = f32(0.0)


@numba.njit(**REORDERED)
def repel_part(
    t, threads, kernel, inverse2, scale, x, sizes, phases, powers, references, inverse_masses, offsets, indices, ways
):  # fmt: skip
    """One thread's part of `repel`."""
    for i in range(share_of(len(ways), t, threads), share_of(len(ways), t + 1, threads)):
        px, py, pz, own, phase = x[i, 0], x[i, 1], x[i, 2], sizes[i], phases[i]
        sx = sy = sz = scale * ZERO
        for k in range(np.uint64(offsets[i]), np.uint64(offsets[i + 1])):
            j = indices[k]
            dx, dy, dz = px - x[j, 0], py - x[j, 1], pz - x[j, 2]
            q2 = (dx * dx + dy * dy + dz * dz) * inverse2
            w, other = weight(kernel, q2), phases[j]
            s = own * (w * references[phase]) ** powers[phase] + sizes[j] * (w * references[other]) ** powers[other]
            s *= slope(0, q2)
            sx, sy, sz = sx + s * dx, sy + s * dy, sz + s * dz
        s = -scale * inverse_masses[i]
        ways[i, 0], ways[i, 1], ways[i, 2] = s * sx, s * sy, s * sz


@numba.njit(parallel=True, cache=True, **REORDERED)
def repel(
    threads, kernel, inverse2, scale, x, sizes, phases, powers, references, inverse_masses, offsets, indices, ways
):  # fmt: skip
    """Where the artificial pressures push each particle, (n, 3) [m].

    Args:
        threads: Threads.
        kernel: Number of the kernel of f.
        inverse2: 1 / support^2 [1/m^2].
        scale: `Smoothing.slope_scale` of the spiky kernel.
        x: Positions [m], (n, 4).
        sizes: k |L| of each particle [kg m^2], (n,).
        phases: Fluid of each particle, (n,).
        powers: n of each fluid.
        references: 1 / W(dq) of each fluid.
        inverse_masses: [1/kg], (n,).
        offsets: Where the neighbours of each start, (n + 1,).
        indices: The neighbours.
        ways: Filled.
    """
    if threads == 1:
        repel_part(
            0, threads, kernel, inverse2, scale, x, sizes, phases, powers, references, inverse_masses, offsets,
            indices, ways,
        )  # fmt: skip
    else:
        for t in numba.prange(threads):
            repel_part(
                t, threads, kernel, inverse2, scale, x, sizes, phases, powers, references, inverse_masses, offsets,
                indices, ways,
            )  # fmt: skip


class Tensile:
    """The correction, as a push of `Fluid`."""

    def __init__(self, fluids: "FluidModel", real: type) -> None:
        smoothing, materials = fluids.smoothing, fluids.materials
        self._strengths = np.array([m.tensile_correction for m in materials]).astype(real)
        self._powers = np.array([m.tensile_power for m in materials])
        near = [float(weight.py_func(smoothing.kernel, m.tensile_distance**2)) for m in materials]
        self._references = (1.0 / np.array(near)).astype(real)
        self._scale = real(replace(smoothing, kernel=0).slope_scale)

    def __call__(self, fluid: "Fluid", threads: int) -> None:
        """Move the particles by what the pressures of the last substep give."""
        sizes = self._strengths[fluid.phases] * np.abs(fluid.state.parts[PRESSURES][fluid.order])
        sizes /= sizes.dtype.type(fluid.pressure_scale)
        repel(
            threads, fluid.model.smoothing.kernel, fluid.inverse2, self._scale, fluid.x, sizes, fluid.phases,
            self._powers, self._references, fluid.inverse_masses, fluid.offsets, fluid.indices, fluid.ways,
        )  # fmt: skip
        move(threads, fluid.particles, fluid.ways, fluid.x, fluid.state.x)
