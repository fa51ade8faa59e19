"""Vorticity confinement: gives whirls back what smoothing takes from them.

    w_i = sum_j (-grad W_ij) x (v_j - v_i) / M           curl of the velocity, M the first moment of the kernel
    n   = grad |w| / |grad |w||                          towards the middle of a whirl
    a_i = e s n x w_i                                    s the spacing, e without a dimension

Fedkiw, Stam, Jensen 2001, section 3; on particles Macklin and Mueller 2013, equations 15 and 16. Dividing by M, summed
over a lattice, makes the curl of a rigid rotation exactly twice its angular velocity there. It is a force from nowhere:
inside a whirl that lies all within the fluid the sum is near zero, but nothing keeps momentum or energy.
"""

from typing import TYPE_CHECKING

import numba
import numpy as np

from shinari.contact.broad.grid import share_of
from shinari.contact.buffers import grown
from shinari.fluid.kernels import slope
from shinari.fluid.pressure import REORDERED

if TYPE_CHECKING:
    from shinari.fluid.kernels import Smoothing
    from shinari.fluid.model import FluidModel
    from shinari.fluid.part import Fluid

f32 = np.float32
ZERO = f32(0.0)
TINY = f32(1e-30)


@numba.njit(**REORDERED)
def curls_part(t, threads, kernel, inverse2, scale, x, v, offsets, indices, curls):
    """One thread's part of `curls_of`."""
    for i in range(share_of(len(v), t, threads), share_of(len(v), t + 1, threads)):
        px, py, pz, vx, vy, vz = x[i, 0], x[i, 1], x[i, 2], v[i, 0], v[i, 1], v[i, 2]
        cx = cy = cz = scale * ZERO
        for k in range(np.uint64(offsets[i]), np.uint64(offsets[i + 1])):
            j = indices[k]
            dx, dy, dz = x[j, 0] - px, x[j, 1] - py, x[j, 2] - pz
            s = slope(kernel, (dx * dx + dy * dy + dz * dz) * inverse2)
            ux, uy, uz = v[j, 0] - vx, v[j, 1] - vy, v[j, 2] - vz
            cx, cy, cz = cx + s * (dy * uz - dz * uy), cy + s * (dz * ux - dx * uz), cz + s * (dx * uy - dy * ux)
        cx, cy, cz = -scale * cx, -scale * cy, -scale * cz
        curls[i, 0], curls[i, 1], curls[i, 2] = cx, cy, cz
        curls[i, 3] = np.sqrt(cx * cx + cy * cy + cz * cz)


@numba.njit(parallel=True, cache=True, **REORDERED)
def curls_of(threads, kernel, inverse2, scale, x, v, offsets, indices, curls):
    """Curl of the velocity at each particle, and its length [1/s], (n, 4).

    Args:
        threads: Threads.
        kernel: Number of the kernel.
        inverse2: 1 / support^2 [1/m^2].
        scale: `Smoothing.slope_scale` over the first moment.
        x: Positions [m], (n, 4).
        v: Velocities [m/s], (n, 3).
        offsets: Where the neighbours of each start, (n + 1,).
        indices: The neighbours.
        curls: Filled.
    """
    if threads == 1:
        curls_part(0, threads, kernel, inverse2, scale, x, v, offsets, indices, curls)
    else:
        for t in numba.prange(threads):
            curls_part(t, threads, kernel, inverse2, scale, x, v, offsets, indices, curls)


@numba.njit(**REORDERED)
def confine_part(t, threads, kernel, inverse2, x, curls, phases, table, inverse_masses, offsets, indices, v):
    """One thread's part of `confine`."""
    for i in range(share_of(len(v), t, threads), share_of(len(v), t + 1, threads)):
        px, py, pz, own = x[i, 0], x[i, 1], x[i, 2], curls[i, 3]
        gx = gy = gz = own * ZERO
        for k in range(np.uint64(offsets[i]), np.uint64(offsets[i + 1])):
            j = indices[k]
            dx, dy, dz = px - x[j, 0], py - x[j, 1], pz - x[j, 2]
            s = (curls[j, 3] - own) * slope(kernel, (dx * dx + dy * dy + dz * dz) * inverse2)
            gx, gy, gz = gx + s * dx, gy + s * dy, gz + s * dz
        length = np.sqrt(gx * gx + gy * gy + gz * gz)
        s = table[phases[i]] / max(length, TINY) if inverse_masses[i] > ZERO else own * ZERO
        cx, cy, cz = curls[i, 0], curls[i, 1], curls[i, 2]
        v[i, 0] += s * (gy * cz - gz * cy)
        v[i, 1] += s * (gz * cx - gx * cz)
        v[i, 2] += s * (gx * cy - gy * cx)


@numba.njit(parallel=True, cache=True, **REORDERED)
def confine(threads, kernel, inverse2, x, curls, phases, table, inverse_masses, offsets, indices, v):
    """Add the force of confinement.

    Args:
        threads: Threads.
        kernel: Number of the kernel.
        inverse2: 1 / support^2 [1/m^2].
        x: Positions [m], (n, 4).
        curls: Curl of the velocity, and its length [1/s], (n, 4).
        phases: Fluid of each particle, (n,).
        table: Strength times spacing times substep for each fluid [m s].
        inverse_masses: [1/kg], (n,).
        offsets: Where the neighbours of each start, (n + 1,).
        indices: The neighbours.
        v: Velocities [m/s], (n, 3); changed.
    """
    if threads == 1:
        confine_part(0, threads, kernel, inverse2, x, curls, phases, table, inverse_masses, offsets, indices, v)
    else:
        for t in numba.prange(threads):
            confine_part(t, threads, kernel, inverse2, x, curls, phases, table, inverse_masses, offsets, indices, v)


def first_moment(smoothing: "Smoothing") -> float:
    """What the gradient of a linear field comes out as, over what it is: -sum x . grad W / d on the lattice."""
    r2 = (smoothing.lattice() ** 2).sum(axis=1)
    total = sum(r * float(slope.py_func(smoothing.kernel, r / smoothing.support**2)) for r in r2[r2 > 0.0])
    return -smoothing.slope_scale * total / smoothing.dimensions


class Vorticity:
    """Vorticity confinement, as an effect of `Fluid`."""

    def __init__(self, fluids: "FluidModel", h: float, real: type) -> None:
        strengths = np.array([m.vorticity for m in fluids.materials])
        self._table = (h * fluids.smoothing.spacing * strengths).astype(real)
        self._scale = real(fluids.smoothing.slope_scale / first_moment(fluids.smoothing))
        self._curls = None

    def __call__(self, fluid: "Fluid", threads: int) -> None:
        """Change `fluid.v`."""
        self._curls = grown(self._curls, len(fluid.v), fluid.v.dtype, 4)
        curls, kernel = self._curls[: len(fluid.v)], fluid.model.smoothing.kernel
        curls_of(
            threads, kernel, fluid.inverse2, self._scale, fluid.x, fluid.v, fluid.offsets, fluid.indices, curls
        )  # fmt: skip
        confine(
            threads, kernel, fluid.inverse2, fluid.x, curls, fluid.phases, self._table, fluid.inverse_masses,
            fluid.offsets, fluid.indices, fluid.v,
        )  # fmt: skip
