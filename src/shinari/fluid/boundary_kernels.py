"""Points of solids and other particles in the density of a fluid, and the pushes between the two.

    C_i += sum_b V_b W_ib               V_b: volume of a point, as a multiple of that of a particle of the fluid
    dx_i -= w_i L_i sum_b V_b grad W    the same push, turned round, acts on what carries the point

Akinci et al. 2012, Versatile rigid-fluid coupling. The push is the gradient of the density, with the multiplier of the
particle alone: what lies in a fluid then gets its buoyancy by virtual work, whether it is a grain or a ship. Solids
carry the other half of the pressure of the layer that lies on them by their contacts, at half a spacing.
"""

import numba
import numpy as np

from shinari.contact.broad.grid import share_of
from shinari.fluid.kernels import slope, weight
from shinari.maths.function import STEADY

f32 = np.float32
ZERO = f32(0.0)


@numba.njit(**STEADY)
def shares_part(
    t, threads, kernel, inverse2, weight_scale, slope_scale, x, near, offsets, points, pairs, at, volumes, sums, pulls,
    gradients,
):  # fmt: skip
    """One thread's part of `shares`."""
    for a in range(share_of(len(near), t, threads), share_of(len(near), t + 1, threads)):
        i = near[a]
        px, py, pz = x[i, 0], x[i, 1], x[i, 2]
        total = gx = gy = gz = weight_scale * ZERO
        for k in range(offsets[a], offsets[a + 1]):
            m = pairs[k]
            gradients[m, 0] = gradients[m, 1] = gradients[m, 2] = ZERO
        for k in range(offsets[a], offsets[a + 1]):
            b, m = points[k], pairs[k]
            dx, dy, dz = px - at[b, 0], py - at[b, 1], pz - at[b, 2]
            q2 = (dx * dx + dy * dy + dz * dz) * inverse2
            total += volumes[b] * weight(kernel, q2)
            s = slope_scale * volumes[b] * slope(kernel, q2)
            dx, dy, dz = s * dx, s * dy, s * dz
            gx, gy, gz = gx + dx, gy + dy, gz + dz
            gradients[m, 0] += dx
            gradients[m, 1] += dy
            gradients[m, 2] += dz
        sums[i] += weight_scale * total
        pulls[i, 0] += gx
        pulls[i, 1] += gy
        pulls[i, 2] += gz


@numba.njit(parallel=True, cache=True, **STEADY)
def shares(
    threads, kernel, inverse2, weight_scale, slope_scale, x, near, offsets, points, pairs, at, volumes, sums, pulls,
    gradients,
):  # fmt: skip
    """Add what points contribute to the relative densities and to their gradients.

    Args:
        threads: Threads.
        kernel: Number of the kernel.
        inverse2: 1 / support^2 [1/m^2].
        weight_scale: See `Smoothing.weight_scale`.
        slope_scale: See `Smoothing.slope_scale`.
        x: Particles of the fluid [m], (n, 4).
        near: Those that have points near them, (A,).
        offsets: Where the points of each start, (A + 1,).
        points: The points near them, (K,).
        pairs: Pair of a particle and a carrier that each belongs to, (K,).
        at: Where the points are [m], (M, 3).
        volumes: Their volumes, as multiples of that of a particle of the fluid, (M,).
        sums: Relative densities, (n,); added to.
        pulls: Gradients [1/m], (n, 3); added to.
        gradients: The part of each pair, (P, 3); filled.
    """
    if threads == 1:
        shares_part(
            0, threads, kernel, inverse2, weight_scale, slope_scale, x, near, offsets, points, pairs, at, volumes, sums,
            pulls, gradients,
        )  # fmt: skip
    else:
        for t in numba.prange(threads):
            shares_part(
                t, threads, kernel, inverse2, weight_scale, slope_scale, x, near, offsets, points, pairs, at, volumes,
                sums, pulls, gradients,
            )  # fmt: skip


@numba.njit(cache=True, **STEADY)
def stiffen(pair_places, pair_owners, gives, wholes, stiffness):
    """Add to the stiffness of each particle how far the carriers give way to it and to all others at once.

    What n particles push at once moves by the sum of their pushes. The sum over a row of the matrix of such a carrier,
    by the inequality of Cauchy and Schwarz at most a_i sum_j a_j with a^2 = grad w grad, bounds what they bring about;
    splitting the mass does the same (Tonge, Benevolenski, Voroshilov 2012).

    Args:
        pair_places: Particle of each pair, (P,).
        pair_owners: Carrier of each, (P,).
        gives: a of each, (P,).
        wholes: Scratch, (O,).
        stiffness: (n,); added to.
    """
    for m in range(len(pair_places)):
        wholes[pair_owners[m]] = gives[m] * ZERO
    for m in range(len(pair_places)):
        wholes[pair_owners[m]] += gives[m]
    for m in range(len(pair_places)):
        stiffness[pair_places[m]] += gives[m] * wholes[pair_owners[m]]


@numba.njit(parallel=True, cache=True, **STEADY)
def sums_of_points(threads, starts, pairs, pushes, sums):
    """Sum of the pushes of each point that is touched, (T, 3).

    Args:
        threads: Threads.
        starts: Where the pairs of each start, (T + 1,).
        pairs: The pairs, (K,).
        pushes: (P, 3).
        sums: Filled.
    """
    for p in numba.prange(len(sums)):
        sx = sy = sz = pushes[0, 0] * ZERO
        for k in range(starts[p], starts[p + 1]):
            m = pairs[k]
            sx, sy, sz = sx + pushes[m, 0], sy + pushes[m, 1], sz + pushes[m, 2]
        sums[p, 0], sums[p, 1], sums[p, 2] = sx, sy, sz
