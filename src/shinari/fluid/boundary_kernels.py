"""Points of solids and other particles in the density of a fluid, and the pushes between the two.

    C_i += sum_b V_b W_ib                       V_b: volume of a point in those of a particle of the fluid
    dx_i -= w_i sum_b (L_i + L_b) V_b grad W    the same push, turned round, acts on what carries the point

Akinci et al. 2012, Versatile rigid-fluid coupling. The multiplier L_b of a point is the mean of those of the particles
around it, each brought to the depth of the point in a fluid at rest (Adami, Hu, Adams 2012, equation 27). With it the
pressure half way between a point and a layer of particles is that of this depth: a floating box finds its draught. A
grain alone in the fluid gets the gradient of the pressure once, not twice, as it would with L_b = L_i.
"""

import numba
import numpy as np

from shinari.contact.broad.grid import share_of
from shinari.fluid.kernels import slope, weight
from shinari.fluid.pressure import REORDERED
from shinari.maths.function import STEADY

f32 = np.float32
ZERO, ONE, THREE = f32(0.0), f32(1.0), f32(3.0)


@numba.njit(**REORDERED)
def shares_part(
    t, threads, kernel, inverse2, weight_scale, slope_scale, x, near, offsets, points, at, volumes, sums, pulls
):  # fmt: skip
    """One thread's part of `shares`."""
    for a in range(share_of(len(near), t, threads), share_of(len(near), t + 1, threads)):
        i = near[a]
        px, py, pz = x[i, 0], x[i, 1], x[i, 2]
        total = gx = gy = gz = weight_scale * ZERO
        for k in range(np.uint64(offsets[a]), np.uint64(offsets[a + 1])):
            b = points[k]
            dx, dy, dz = px - at[b, 0], py - at[b, 1], pz - at[b, 2]
            q2 = (dx * dx + dy * dy + dz * dz) * inverse2
            total += volumes[b] * weight(kernel, q2)
            s = volumes[b] * slope(kernel, q2)
            gx, gy, gz = gx + s * dx, gy + s * dy, gz + s * dz
        sums[i] += weight_scale * total
        pulls[i, 0] += slope_scale * gx
        pulls[i, 1] += slope_scale * gy
        pulls[i, 2] += slope_scale * gz


@numba.njit(parallel=True, cache=True, **REORDERED)
def shares(threads, kernel, inverse2, weight_scale, slope_scale, x, near, offsets, points, at, volumes, sums, pulls):
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
        at: Where the points are [m], (M, 3).
        volumes: Their volumes, as multiples of that of a particle of the fluid, (M,).
        sums: Relative densities, (n,); added to.
        pulls: Gradients [1/m], (n, 3); added to.
    """
    if threads == 1:
        shares_part(
            0, threads, kernel, inverse2, weight_scale, slope_scale, x, near, offsets, points, at, volumes, sums, pulls
        )  # fmt: skip
    else:
        for t in numba.prange(threads):
            shares_part(
                t, threads, kernel, inverse2, weight_scale, slope_scale, x, near, offsets, points, at, volumes, sums,
                pulls,
            )  # fmt: skip


@numba.njit(**STEADY)
def lend_part(
    t, threads, kernel, inverse2, fall, x, inverse_masses, totals, touched, starts, places, at, lent, changes
):  # fmt: skip
    """One thread's part of `lend`."""
    fx, fy, fz = fall
    for p in range(share_of(len(touched), t, threads), share_of(len(touched), t + 1, threads)):
        b = touched[p]
        total = whole = inverse2 * ZERO
        for k in range(np.uint64(starts[p]), np.uint64(starts[p + 1])):
            i = places[k]
            dx, dy, dz = at[b, 0] - x[i, 0], at[b, 1] - x[i, 1], at[b, 2] - x[i, 2]
            share = weight(kernel, (dx * dx + dy * dy + dz * dz) * inverse2)
            own, w = totals[i], inverse_masses[i]
            deeper = (fx * dx + fy * dy + fz * dz) / w if w > ZERO else ZERO
            least, most = min(own, ZERO), max(own, THREE * own)
            total += share * min(max(own + deeper, least), most)
            whole += share
        new = total / whole if whole > ZERO else ZERO
        changes[b] = new - lent[b]
        lent[b] = new


@numba.njit(parallel=True, cache=True, **STEADY)
def lend(
    threads, kernel, inverse2, fall, x, inverse_masses, totals, touched, starts, places, at, lent, changes
):  # fmt: skip
    """Multipliers of the points, from those of the particles around them.

    What lies deeper adds to a multiplier at most twice as much as it is: at a surface and in a spray there is little
    pressure, and none in free fall.

    Args:
        threads: Threads.
        kernel: Number of the kernel.
        inverse2: 1 / support^2 [1/m^2].
        fall: Gravity times h^2 [m], three numbers.
        x: Particles of the fluid [m], (n, 4).
        inverse_masses: [1/kg], (n,).
        totals: Multipliers of the substep so far [kg m^2], (n,).
        touched: Points that have particles near them, (T,).
        starts: Where the particles of each start, (T + 1,).
        places: The particles, (K,).
        at: Where the points are [m], (M, 3).
        lent: Multipliers of the points so far, (M,); changed.
        changes: By how much they have changed, (M,); filled.
    """
    if threads == 1:
        lend_part(
            0, threads, kernel, inverse2, fall, x, inverse_masses, totals, touched, starts, places, at, lent, changes
        )  # fmt: skip
    else:
        for t in numba.prange(threads):
            lend_part(
                t, threads, kernel, inverse2, fall, x, inverse_masses, totals, touched, starts, places, at, lent,
                changes,
            )  # fmt: skip


@numba.njit(**STEADY)
def pushes_part(
    t, threads, kernel, inverse2, scale, x, inverse_masses, near, offsets, points, pairs, at, volumes, changes, ways,
    pushes,
):  # fmt: skip
    """One thread's part of `push_apart`."""
    for a in range(share_of(len(near), t, threads), share_of(len(near), t + 1, threads)):
        i = near[a]
        px, py, pz, own = x[i, 0], x[i, 1], x[i, 2], x[i, 3]
        sx = sy = sz = scale * ZERO
        for k in range(np.uint64(offsets[a]), np.uint64(offsets[a + 1])):
            b, m = points[k], pairs[k]
            dx, dy, dz = px - at[b, 0], py - at[b, 1], pz - at[b, 2]
            s = scale * volumes[b] * slope(kernel, (dx * dx + dy * dy + dz * dz) * inverse2)
            more, all_of_it = changes[b] * s, (own + changes[b]) * s
            sx, sy, sz = sx + more * dx, sy + more * dy, sz + more * dz
            pushes[m, 0] -= all_of_it * dx
            pushes[m, 1] -= all_of_it * dy
            pushes[m, 2] -= all_of_it * dz
        w = inverse_masses[i]
        ways[i, 0] -= w * sx
        ways[i, 1] -= w * sy
        ways[i, 2] -= w * sz


@numba.njit(parallel=True, cache=True, **STEADY)
def push_apart(
    threads, kernel, inverse2, scale, x, inverse_masses, near, offsets, points, pairs, at, volumes, changes, ways,
    pushes,
):  # fmt: skip
    """Add to the ways of the particles what the multipliers of the points push, and tell the pushes of all pairs.

    What a particle's own multiplier pushes is in `ways` already, by `Fluid.pulls`.

    Args:
        threads: Threads.
        kernel: Number of the kernel.
        inverse2: 1 / support^2 [1/m^2].
        scale: See `Smoothing.slope_scale`.
        x: Particles of the fluid [m], and the change of the multiplier of each, (n, 4).
        inverse_masses: [1/kg], (n,).
        near: Those that have points near them, (A,).
        offsets: Where the points of each start, (A + 1,).
        points: The points near them, (K,).
        pairs: Pair of a particle and a carrier that each belongs to, (K,).
        at: Where the points are [m], (M, 3).
        volumes: See `shares`.
        changes: Changes of the multipliers of the points, (M,).
        ways: (n, 3); added to.
        pushes: Push on the particle of each pair [kg m], (P, 3); added to.
    """
    if threads == 1:
        pushes_part(
            0, threads, kernel, inverse2, scale, x, inverse_masses, near, offsets, points, pairs, at, volumes, changes,
            ways, pushes,
        )  # fmt: skip
    else:
        for t in numba.prange(threads):
            pushes_part(
                t, threads, kernel, inverse2, scale, x, inverse_masses, near, offsets, points, pairs, at, volumes,
                changes, ways, pushes,
            )  # fmt: skip


@numba.njit(cache=True, **STEADY)
def gradients(kernel, inverse2, scale, x, near, offsets, points, pairs, at, volumes, found):
    """Gradient of C_i by the points of each pair [1/m], (P, 3); arguments as of `push_apart`."""
    for a in range(len(near)):
        i = near[a]
        for k in range(np.uint64(offsets[a]), np.uint64(offsets[a + 1])):
            b, m = points[k], pairs[k]
            dx, dy, dz = x[i, 0] - at[b, 0], x[i, 1] - at[b, 1], x[i, 2] - at[b, 2]
            s = scale * volumes[b] * slope(kernel, (dx * dx + dy * dy + dz * dz) * inverse2)
            found[m, 0] += s * dx
            found[m, 1] += s * dy
            found[m, 2] += s * dz


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
def push_particles_back(threads, particles, touched, starts, pairs, pushes, x):
    """Give particles of others the opposite of what they push, each its own.

    Args:
        threads: Threads.
        particles: Particle in solver order of each point, (M,).
        touched: Points that have particles of the fluid near them, (T,).
        starts: Where the pairs of each start, (T + 1,).
        pairs: The pairs, (K,).
        pushes: (P, 3).
        x: Positions in solver order, and inverse masses, (N, 4); changed.
    """
    for p in numba.prange(len(touched)):
        s = particles[touched[p]]
        w = x[s, 3]
        sx = sy = sz = w * ZERO
        for k in range(starts[p], starts[p + 1]):
            m = pairs[k]
            sx, sy, sz = sx + pushes[m, 0], sy + pushes[m, 1], sz + pushes[m, 2]
        x[s, 0] -= w * sx
        x[s, 1] -= w * sy
        x[s, 2] -= w * sz
