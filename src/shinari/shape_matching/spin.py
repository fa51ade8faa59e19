"""The spin that velocities derived from positions lose.

Matching pushes without a torque about the positions x* that were predicted. The new positions are x* + d, so with the
new velocities v the angular momentum is sum m x* cross v, which is what it was, plus sum m d cross v. That is the loss:
a lump that turns by an angle f in a substep would lose f^2 of its spin in it, to first order, as with any method whose
velocities are differences of positions. It is given back as a rotation of the lump as a whole, so that nothing inside
turns for it: v += w cross (x - c), with the inertia J of the lump as it is now, J w = -sum m d cross v.
"""

import numba
import numpy as np

from shinari.maths.function import STEADY, steady
from shinari.maths.polar import solve_symmetric
from shinari.shape_matching.kernels import THIN, ZERO


@numba.njit(parallel=True, cache=True, **STEADY)
def spin_sums(parts, pieces, starts, particles, x, v, moves, sums):
    """Sums over pieces of lumps: mass, m r, m r r^T and m d cross v, with r counted from the first particle.

    Args:
        parts: How many threads share the pieces.
        pieces: Lump, first and end of the particles of each piece, (K, 3).
        starts: First particle of each lump, (L + 1,).
        particles: Particles of the lumps, (P,).
        x: Positions and inverse mass, (N, 4).
        v: Velocities [m/s], (N, 3).
        moves: How far matching has moved each in this substep [m], (P, 3).
        sums: Filled, (K, 13).
    """
    count = len(pieces)
    for t in numba.prange(parts):
        for k in range(count * t // parts, count * (t + 1) // parts):
            piece_sums(k, particles[starts[pieces[k, 0]]], pieces, particles, x, v, moves, sums)


@steady
def piece_sums(k, origin, pieces, particles, x, v, moves, sums):
    """Sums of piece k."""
    ox, oy, oz = np.float64(x[origin, 0]), np.float64(x[origin, 1]), np.float64(x[origin, 2])
    mass = cx = cy = cz = xx = yy = zz = yz = zx = xy = lx = ly = lz = ZERO
    for p in range(pieces[k, 1], pieces[k, 2]):
        i = particles[p]
        m = np.float64(1.0) / x[i, 3] if x[i, 3] > 0.0 else ZERO
        a, b, c = x[i, 0] - ox, x[i, 1] - oy, x[i, 2] - oz
        d, e, f = np.float64(moves[p, 0]), np.float64(moves[p, 1]), np.float64(moves[p, 2])
        s, t, u = np.float64(v[i, 0]), np.float64(v[i, 1]), np.float64(v[i, 2])
        mass, cx, cy, cz = mass + m, cx + m * a, cy + m * b, cz + m * c
        xx, yy, zz = xx + m * a * a, yy + m * b * b, zz + m * c * c
        yz, zx, xy = yz + m * b * c, zx + m * c * a, xy + m * a * b
        lx, ly, lz = lx + m * (e * u - f * t), ly + m * (f * s - d * u), lz + m * (d * t - e * s)
    sums[k, 0], sums[k, 1], sums[k, 2], sums[k, 3] = mass, cx, cy, cz
    sums[k, 4], sums[k, 5], sums[k, 6] = xx, yy, zz
    sums[k, 7], sums[k, 8], sums[k, 9] = yz, zx, xy
    sums[k, 10], sums[k, 11], sums[k, 12] = lx, ly, lz


@numba.njit(cache=True, **STEADY)
def lump_spins(piece_starts, starts, particles, x, sums, held, spins):
    """Centre, and change of angular velocity [rad/s], of each lump, (L, 6); none where a particle of it is held."""
    for g in range(len(held)):
        spin_of(g, particles[starts[g]], piece_starts, x, sums, held, spins)


@steady
def spin_of(g, origin, piece_starts, x, sums, held, spins):
    """Centre and spin of one lump."""
    first = piece_starts[g]
    for k in range(first + 1, piece_starts[g + 1]):
        for column in range(13):
            sums[first, column] += sums[k, column]
    mass = sums[first, 0] if sums[first, 0] > ZERO else np.float64(1.0)
    a, b, c = sums[first, 1] / mass, sums[first, 2] / mass, sums[first, 3] / mass
    xx, yy, zz = sums[first, 4] - mass * a * a, sums[first, 5] - mass * b * b, sums[first, 6] - mass * c * c
    yz, zx, xy = sums[first, 7] - mass * b * c, sums[first, 8] - mass * c * a, sums[first, 9] - mass * a * b
    least = THIN * (xx + yy + zz)
    torque = (-sums[first, 10], -sums[first, 11], -sums[first, 12])
    spin, _ = solve_symmetric((yy + zz + least, zz + xx + least, xx + yy + least), (-yz, -zx, -xy), torque)
    some = not held[g] and least > ZERO
    spins[g, 0], spins[g, 1], spins[g, 2] = x[origin, 0] + a, x[origin, 1] + b, x[origin, 2] + c
    for k in range(3):
        spins[g, 3 + k] = spin[k] if some else ZERO


@numba.njit(parallel=True, cache=True, **STEADY)
def spin_up(parts, particles, lumps, x, v, spins):
    """Add the spin of its lump to the velocity of each particle."""
    count = len(particles)
    for t in numba.prange(parts):
        for p in range(count * t // parts, count * (t + 1) // parts):
            i, g = particles[p], lumps[p]
            a, b, c = x[i, 0] - spins[g, 0], x[i, 1] - spins[g, 1], x[i, 2] - spins[g, 2]
            v[i, 0] += spins[g, 4] * c - spins[g, 5] * b
            v[i, 1] += spins[g, 5] * a - spins[g, 3] * c
            v[i, 2] += spins[g, 3] * b - spins[g, 4] * a
