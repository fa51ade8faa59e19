"""Between the particles of the solver and those of the fluids, which have an order of their own."""

import numba
import numpy as np

from shinari.maths.function import STEADY

ZERO = np.float32(0.0)


@numba.njit(parallel=True, cache=True, **STEADY)
def take(threads, particles, x, out):
    """Positions of some particles, (n, 4)."""
    for i in numba.prange(len(particles)):
        s = particles[i]
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = x[s, 0], x[s, 1], x[s, 2], x[s, 3]


@numba.njit(parallel=True, cache=True, **STEADY)
def bring(threads, particles, x, out):
    """Positions of some particles, (n, 4); the last column stays as it is."""
    for i in numba.prange(len(particles)):
        s = particles[i]
        out[i, 0], out[i, 1], out[i, 2] = x[s, 0], x[s, 1], x[s, 2]


@numba.njit(parallel=True, cache=True, **STEADY)
def move(threads, particles, ways, own, x):
    """Move particles (n,) by ways (n, 3), in their own order (n, 4) and in that of the solver (N, 4)."""
    for i in numba.prange(len(particles)):
        s = particles[i]
        for k in range(3):
            moved = x[s, k] + ways[i, k]
            own[i, k] = moved
            x[s, k] = moved


@numba.njit(cache=True, **STEADY)
def farthest(x, before):
    """Square of the largest way from (n, 3) to (n, 4) [m^2]."""
    most = ZERO
    for i in range(len(before)):
        dx, dy, dz = x[i, 0] - before[i, 0], x[i, 1] - before[i, 1], x[i, 2] - before[i, 2]
        most = max(most, dx * dx + dy * dy + dz * dz)
    return most
