"""Kernels of `shinari.fluid.sheets`."""

import numba
import numpy as np

from shinari.contact.broad.grid import share_of
from shinari.contact.surface.proximity import triangle_weights
from shinari.fluid.kernels import weight
from shinari.maths.function import STEADY, inlined, steady
from shinari.maths.vec3 import ONE, ZERO, add, direction_and_length, dot, neg, norm, scale, sub

FAR, HALF = np.float32(1e30), np.float32(0.5)


@inlined
def place(x, shifts, i):
    """Position of a particle relative to the origin of the group of the fluids."""
    return x[i, 0] + shifts[i, 0], x[i, 1] + shifts[i, 1], x[i, 2] + shifts[i, 2]


@numba.njit(cache=True, **STEADY)
def boxes_of(triangles, radii, x, shifts, low, high):
    """Boxes of triangles (F, 3) with their thickness, in the frame of the fluids."""
    for f in range(len(triangles)):
        for c in range(3):
            a, b = FAR, -FAR
            for k in range(3):
                i = triangles[f, k]
                at = x[i, c] + shifts[i, c]
                a, b = min(a, at - radii[i]), max(b, at + radii[i])
            low[f, c], high[f, c] = a, b


@numba.njit(cache=True, **STEADY)
def farther(who, x, before):
    """Square of the largest way of particles (K,) from (K, 3) to (N, 3) [m^2]."""
    most = 0.0
    for k in range(len(who)):
        i = who[k]
        a, b, c = x[i, 0] - before[k, 0], x[i, 1] - before[k, 1], x[i, 2] - before[k, 2]
        most = max(most, a * a + b * b + c * c)
    return most


@steady
def nearest_of(c, particles, offsets, candidates, triangles, radii, x, shifts, reach, chosen, weights, normals):
    """Nearest triangle of one particle; -1 when none is near."""
    i = particles[c]
    p = place(x, shifts, i)
    best = reach
    chosen[c] = -1
    for k in range(offsets[c], offsets[c + 1]):
        f = candidates[k]
        i0, i1, i2 = triangles[f, 0], triangles[f, 1], triangles[f, 2]
        a, b, d = sub(place(x, shifts, i0), p), sub(place(x, shifts, i1), p), sub(place(x, shifts, i2), p)
        u, v, w = triangle_weights(a, b, d)
        way = add(add(scale(a, u), scale(b, v)), scale(d, w))
        distance = norm(way) - radii[i0]
        if distance < best:
            best = distance
            n, _ = direction_and_length(neg(way))
            chosen[c] = f
            weights[c, 0], weights[c, 1], weights[c, 2] = u, v, w
            normals[c, 0], normals[c, 1], normals[c, 2] = n


@numba.njit(parallel=True, cache=True, **STEADY)
def nearest(threads, particles, offsets, candidates, triangles, radii, x, shifts, reach, chosen, weights, normals):
    """Nearest triangle of each particle, the weights of the nearest point, and the normal from there.

    Args:
        threads: Threads.
        particles: Particles in solver order, (C,).
        offsets: Where the candidates of each start, (C + 1,).
        candidates: Triangles.
        triangles: Their corners, (F, 3).
        radii: Half the thickness of each particle [m], (N,).
        x: Positions at the start of the substep, (N, 3).
        shifts: Origin of the group of each particle from that of the fluids, (N, 3).
        reach: Distance from the surface up to which a triangle counts [m].
        chosen: Filled with the triangle, or -1, (C,).
        weights: Filled with the weights of its corners, (C, 3).
        normals: Filled, (C, 3).
    """
    count = len(particles)
    for t in numba.prange(threads):
        for c in range(share_of(count, t, threads), share_of(count, t + 1, threads)):
            nearest_of(
                c, particles, offsets, candidates, triangles, radii, x, shifts, reach, chosen, weights, normals
            )  # fmt: skip


@numba.njit(cache=True, **STEADY)
def count_corners(chosen, triangles, uses):
    """How many particles each corner has, (N,)."""
    for f in chosen:
        if f >= 0:
            for k in range(3):
                uses[triangles[f, k]] = 0
    for f in chosen:
        if f >= 0:
            for k in range(3):
                uses[triangles[f, k]] += 1


@inlined
def looked_up(table, q):
    """Share and push of a half space at q, a distance over the support; the table goes from -1 to 1."""
    at = HALF * (min(max(q, -ONE), ONE) + ONE) * np.float32(len(table) - 1)
    k = min(np.int64(at), len(table) - 2)
    part = at - np.float32(k)
    return table[k, 0] + part * (table[k + 1, 0] - table[k, 0]), table[k, 1] + part * (table[k + 1, 1] - table[k, 1])


@steady
def share_one(
    c, first, kernel, inverse2, weight_scale, reach, table, rank, ids, chosen, weights, normals, triangles, radii,
    shifts, x, uses, own, offsets, indices, pulls, sums, all_pulls, stiffness
):  # fmt: skip
    """See `share`."""
    f = chosen[c]
    pulls[c, 0] = pulls[c, 1] = pulls[c, 2] = ZERO * reach
    if f < 0:
        return
    i = rank[ids[c]]
    n = (normals[c, 0], normals[c, 1], normals[c, 2])
    i0, i1, i2 = triangles[f, 0], triangles[f, 1], triangles[f, 2]
    u, v, w = weights[c, 0], weights[c, 1], weights[c, 2]
    point = add(add(scale(place(x, shifts, i0), u), scale(place(x, shifts, i1), v)), scale(place(x, shifts, i2), w))
    here = (own[i, 0], own[i, 1], own[i, 2])
    level = dot(n, point)
    there, push = looked_up(table, (dot(n, here) - level - radii[i0]) / reach)
    # what of the half space is filled by fluid
    filled = ZERO * reach
    for k in range(offsets[i], offsets[i + 1]):
        j = indices[k]
        other = (own[j, 0], own[j, 1], own[j, 2])
        way = sub(here, other)
        behind = dot(n, other) < level
        filled += weight(kernel, dot(way, way) * inverse2) if behind else ZERO
    missing = there - weight_scale * filled
    if missing <= ZERO:
        return
    sums[i] += missing
    pull = -push * min(missing / there, ONE)
    for k in range(3):
        pulls[c, k] = pull * n[k]
        all_pulls[i, k] += pull * n[k]
    if first:
        mobility = u * u * x[i0, 3] * uses[i0] + v * v * x[i1, 3] * uses[i1] + w * w * x[i2, 3] * uses[i2]
        stiffness[i] += pull * pull * mobility


@numba.njit(parallel=True, cache=True, **STEADY)
def share(
    threads, first, kernel, inverse2, weight_scale, reach, table, rank, ids, chosen, weights, normals, triangles, radii,
    shifts, x, uses, own, offsets, indices, pulls, sums, all_pulls, stiffness
):  # fmt: skip
    """Add what sheets contribute to the density of particles.

    Args:
        threads: Threads.
        first: Whether to add to the stiffness.
        kernel: Number of the kernel.
        inverse2: 1 / support^2 [1/m^2].
        weight_scale: See `Smoothing.weight_scale`.
        reach: Support [m].
        table: Relative density of a half space and its slope [1/m], see `wall_table`, (K, 2).
        rank: Place of each fluid particle, (P,).
        ids: Fluid particles near sheets, (C,).
        chosen: Triangle of each, or -1, (C,).
        weights: Weights of its corners, (C, 3).
        normals: From the sheet to the particle, (C, 3).
        triangles: Corners, (F, 3).
        radii: Half the thickness [m], (N,).
        shifts: Origin of the group of each particle from that of the fluids, (N, 3).
        x: Positions and inverse mass, (N, 4).
        uses: Particles of each corner, (N,).
        own: Positions of the fluid, (n, 4).
        offsets: Where the neighbours of each start, (n + 1,).
        indices: The neighbours.
        pulls: Filled with the gradient of the contribution [1/m], (C, 3).
        sums: Added to, (n,).
        all_pulls: Added to, (n, 3).
        stiffness: Added to: corners move too, and each answers to all of its particles at once (Tonge et al. 2012).
    """
    count = len(ids)
    for t in numba.prange(threads):
        for c in range(share_of(count, t, threads), share_of(count, t + 1, threads)):
            share_one(
                c, first, kernel, inverse2, weight_scale, reach, table, rank, ids, chosen, weights, normals, triangles,
                radii, shifts, x, uses, own, offsets, indices, pulls, sums, all_pulls, stiffness
            )  # fmt: skip


@numba.njit(cache=True, **STEADY)
def push_corners(rank, ids, chosen, weights, pulls, triangles, own, rate, x, impulses):
    """Push corners by the multipliers in the last column of `own` (n, 4); add to the impulses on the fluid [N s]."""
    for c in range(len(ids)):
        f = chosen[c]
        if f >= 0:
            multiplier = own[rank[ids[c]], 3]
            for k in range(3):
                push = multiplier * pulls[c, k]
                impulses[c, k] -= push * rate
                for corner in range(3):
                    i = triangles[f, corner]
                    x[i, k] += x[i, 3] * weights[c, corner] * push
