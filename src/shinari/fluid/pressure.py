"""The density constraint of each particle, and the pushes of its solution.

    C_i = sum_j W_ij + walls - 1 <= 0            relative density: one term for each neighbour, itself and the solids
    dx_i = -w_i sum_j (L_i + L_j) grad W_ij      L >= 0: multiplier, a pressure times V h^2

Macklin and Mueller 2013, equations 1 to 12, with masses and multipliers as in Macklin et al. 2016: L adds up over the
iterations, is never negative as a whole (a particle may give back what an earlier iteration pushed too far), and is a
pressure. Each sum is gathered by the particle that it belongs to: no two threads write to the same place.
"""

import numba
import numpy as np

from shinari.contact.broad.grid import share_of
from shinari.fluid.kernels import slope, weight
from shinari.maths.function import FLAGS

f32 = np.float32
ZERO, ONE = f32(0.0), f32(1.0)

# Sums over neighbours are taken in vectors, so their order is free; products are then not contracted, because a kernel
# that comes from the cache is optimised a second time and would contract others.
REORDERED = FLAGS | {"fastmath": FLAGS["fastmath"] - {"contract"}}


@numba.njit(**REORDERED)
def densities_part(t, threads, kernel, inverse2, scale, x, offsets, indices, sums):
    """One thread's part of `densities`."""
    for i in range(share_of(len(sums), t, threads), share_of(len(sums), t + 1, threads)):
        px, py, pz = x[i, 0], x[i, 1], x[i, 2]
        total = ONE * scale * ZERO
        for k in range(np.uint64(offsets[i]), np.uint64(offsets[i + 1])):
            j = indices[k]
            dx, dy, dz = px - x[j, 0], py - x[j, 1], pz - x[j, 2]
            total += weight(kernel, (dx * dx + dy * dy + dz * dz) * inverse2)
        sums[i] = (total + weight(kernel, inverse2 * ZERO)) * scale


@numba.njit(parallel=True, cache=True, **REORDERED)
def densities(threads, kernel, inverse2, scale, x, offsets, indices, sums):
    """Relative density of each particle by itself and its neighbours, (n,).

    Args:
        threads: Threads.
        kernel: Number of the kernel.
        inverse2: 1 / support^2 [1/m^2].
        scale: What one neighbour contributes, see `Smoothing.weight_scale`.
        x: Positions [m], (n, 4).
        offsets: Where the neighbours of each start, (n + 1,).
        indices: The neighbours.
        sums: Filled.
    """
    if threads == 1:
        densities_part(0, threads, kernel, inverse2, scale, x, offsets, indices, sums)
    else:
        for t in numba.prange(threads):
            densities_part(t, threads, kernel, inverse2, scale, x, offsets, indices, sums)


@numba.njit(**REORDERED)
def stiffnesses_part(t, threads, kernel, inverse2, scale, x, inverse_masses, offsets, indices, pulls, stiffness):
    """One thread's part of `stiffnesses`."""
    for i in range(share_of(len(stiffness), t, threads), share_of(len(stiffness), t + 1, threads)):
        px, py, pz = x[i, 0], x[i, 1], x[i, 2]
        gx, gy, gz, others = pulls[i, 0], pulls[i, 1], pulls[i, 2], scale * ZERO
        for k in range(np.uint64(offsets[i]), np.uint64(offsets[i + 1])):
            j = indices[k]
            dx, dy, dz = px - x[j, 0], py - x[j, 1], pz - x[j, 2]
            r2 = dx * dx + dy * dy + dz * dz
            s = scale * slope(kernel, r2 * inverse2)
            gx, gy, gz = gx + s * dx, gy + s * dy, gz + s * dz
            others += inverse_masses[j] * (s * s) * r2
        stiffness[i] += others + inverse_masses[i] * (gx * gx + gy * gy + gz * gz)


@numba.njit(parallel=True, cache=True, **REORDERED)
def stiffnesses(threads, kernel, inverse2, scale, x, inverse_masses, offsets, indices, pulls, stiffness):
    """Add sum_k w_k |grad_k C_i|^2 over a particle and its neighbours to what solids have put there, (n,) [1/(kg m^2)].

    Args:
        threads: Threads.
        kernel: Number of the kernel.
        inverse2: 1 / support^2 [1/m^2].
        scale: See `Smoothing.slope_scale`.
        x: Positions [m], (n, 4).
        inverse_masses: [1/kg], (n,).
        offsets: Where the neighbours of each start, (n + 1,).
        indices: The neighbours.
        pulls: Gradient of C_i in x_i by solids [1/m], (n, 3).
        stiffness: Added to.
    """
    if threads == 1:
        stiffnesses_part(0, threads, kernel, inverse2, scale, x, inverse_masses, offsets, indices, pulls, stiffness)
    else:
        for t in numba.prange(threads):
            stiffnesses_part(t, threads, kernel, inverse2, scale, x, inverse_masses, offsets, indices, pulls, stiffness)


@numba.njit(**REORDERED)
def displacements_part(t, threads, kernel, inverse2, scale, x, inverse_masses, offsets, indices, pulls, ways):
    """One thread's part of `displacements`."""
    for i in range(share_of(len(ways), t, threads), share_of(len(ways), t + 1, threads)):
        px, py, pz, own = x[i, 0], x[i, 1], x[i, 2], x[i, 3]
        sx = sy = sz = scale * ZERO
        for k in range(np.uint64(offsets[i]), np.uint64(offsets[i + 1])):
            j = indices[k]
            dx, dy, dz = px - x[j, 0], py - x[j, 1], pz - x[j, 2]
            s = (own + x[j, 3]) * slope(kernel, (dx * dx + dy * dy + dz * dz) * inverse2)
            sx, sy, sz = sx + s * dx, sy + s * dy, sz + s * dz
        w = inverse_masses[i]
        ways[i, 0] = -w * (scale * sx + own * pulls[i, 0])
        ways[i, 1] = -w * (scale * sy + own * pulls[i, 1])
        ways[i, 2] = -w * (scale * sz + own * pulls[i, 2])


@numba.njit(parallel=True, cache=True, **REORDERED)
def displacements(threads, kernel, inverse2, scale, x, inverse_masses, offsets, indices, pulls, ways):
    """Where the multipliers push each particle, (n, 3) [m].

    Args:
        threads: Threads.
        kernel: Number of the kernel.
        inverse2: 1 / support^2 [1/m^2].
        scale: See `Smoothing.slope_scale`.
        x: Positions [m], and multiplier of each particle [kg m^2], (n, 4).
        inverse_masses: [1/kg], (n,).
        offsets: Where the neighbours of each start, (n + 1,).
        indices: The neighbours.
        pulls: Gradient of C_i in x_i by solids [1/m], (n, 3).
        ways: Filled.
    """
    if threads == 1:
        displacements_part(0, threads, kernel, inverse2, scale, x, inverse_masses, offsets, indices, pulls, ways)
    else:
        for t in numba.prange(threads):
            displacements_part(t, threads, kernel, inverse2, scale, x, inverse_masses, offsets, indices, pulls, ways)
