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


@inlined
def way_to(p, f, triangles, x, shifts):
    """Weights of the point of a triangle that is nearest to p, and the way there."""
    i0, i1, i2 = triangles[f, 0], triangles[f, 1], triangles[f, 2]
    a, b, c = sub(place(x, shifts, i0), p), sub(place(x, shifts, i1), p), sub(place(x, shifts, i2), p)
    w = triangle_weights(a, b, c)
    return w, add(add(scale(a, w[0]), scale(b, w[1])), scale(c, w[2]))


@numba.njit(cache=True, **STEADY)
def distances_of(pairs, particles, triangles, radii, x, shifts, distances):
    """Distance of particle and triangle of each pair (P, 2) [m], (P,)."""
    for r in range(len(pairs)):
        p, f = place(x, shifts, particles[pairs[r, 0]]), pairs[r, 1]
        _, way = way_to(p, f, triangles, x, shifts)
        distances[r] = norm(way) - radii[triangles[f, 0]]


@steady
def nearest_of(c, particles, offsets, candidates, triangles, radii, x, shifts, reach, chosen, weights, normals):
    """Nearest triangle of one particle; -1 when none is near."""
    i = particles[c]
    p = place(x, shifts, i)
    best = reach
    chosen[c] = -1
    for k in range(offsets[c], offsets[c + 1]):
        f = candidates[k]
        w, way = way_to(p, f, triangles, x, shifts)
        distance = norm(way) - radii[triangles[f, 0]]
        if distance < best:
            best = distance
            n, _ = direction_and_length(neg(way))
            chosen[c] = f
            weights[c, 0], weights[c, 1], weights[c, 2] = w
            normals[c, 0], normals[c, 1], normals[c, 2] = n


@numba.njit(parallel=True, cache=True, **STEADY)
def find_nearest(threads, particles, offsets, candidates, triangles, radii, x, shifts, reach, chosen, weights, normals):
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


@inlined
def looked_up(table, q):
    """Share of a half space at q, a distance over the support; the table goes from -1 to 1."""
    # in this order what is no number becomes the lower end
    at = HALF * (min(ONE, max(-ONE, q)) + ONE) * np.float32(len(table) - 1)
    k = min(np.int64(at), len(table) - 2)
    return table[k] + (at - np.float32(k)) * (table[k + 1] - table[k])


@steady
def share_one(
    c, kernel, inverse2, weight_scale, support, table, rank, ids, chosen, weights, normals, triangles, radii, shifts, x,
    own, offsets, indices, sums
):  # fmt: skip
    """See `share`."""
    f = chosen[c]
    if f < 0:
        return
    i = rank[ids[c]]
    n = (normals[c, 0], normals[c, 1], normals[c, 2])
    i0, i1, i2 = triangles[f, 0], triangles[f, 1], triangles[f, 2]
    a, b, d = place(x, shifts, i0), place(x, shifts, i1), place(x, shifts, i2)
    point = add(add(scale(a, weights[c, 0]), scale(b, weights[c, 1])), scale(d, weights[c, 2]))
    here = (own[i, 0], own[i, 1], own[i, 2])
    level = dot(n, point)
    missing = looked_up(table, (dot(n, here) - level - radii[i0]) / support)
    for k in range(offsets[i], offsets[i + 1]):
        j = indices[k]
        other = (own[j, 0], own[j, 1], own[j, 2])
        way = sub(here, other)
        there = weight_scale * weight(kernel, dot(way, way) * inverse2)
        missing -= there if dot(n, other) < level else ZERO
    sums[i] += max(missing, ZERO)


@numba.njit(parallel=True, cache=True, **STEADY)
def share(
    threads, kernel, inverse2, weight_scale, support, table, rank, ids, chosen, weights, normals, triangles, radii,
    shifts, x, own, offsets, indices, sums
):  # fmt: skip
    """Add to the densities what of the half space behind the nearest triangle is not filled by fluid.

    Args:
        threads: Threads.
        kernel: Number of the kernel.
        inverse2: 1 / support^2 [1/m^2].
        weight_scale: See `Smoothing.weight_scale`.
        support: Support [m].
        table: Relative density of a half space at distances from minus the support to the support, (K,).
        rank: Place of each fluid particle, (P,).
        ids: Fluid particles near sheets, (C,).
        chosen: Triangle of each, or -1, (C,).
        weights: Weights of its corners, (C, 3).
        normals: From the sheet to the particle, (C, 3).
        triangles: Corners, (F, 3).
        radii: Half the thickness [m], (N,).
        shifts: Origin of the group of each particle from that of the fluids, (N, 3).
        x: Positions, (N, 4).
        own: Positions of the fluid, (n, 4).
        offsets: Where the neighbours of each start, (n + 1,).
        indices: The neighbours.
        sums: Added to, (n,).
    """
    count = len(ids)
    for t in numba.prange(threads):
        for c in range(share_of(count, t, threads), share_of(count, t + 1, threads)):
            share_one(
                c, kernel, inverse2, weight_scale, support, table, rank, ids, chosen, weights, normals, triangles,
                radii, shifts, x, own, offsets, indices, sums
            )  # fmt: skip
