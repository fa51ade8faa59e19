"""The spin that velocities derived from positions lose.

In a substep h a particle goes from x to x* = x + h v, matching pushes it by d, without a torque about x*, and contacts
by e, at x* + d; its new velocity is v' = v + (d + e) / h. The angular momentum about the new places has then changed by

    sum m (d + e) cross v - m d cross e / h = sum m h v' cross v - m d cross (v' - v)

beside what the contacts have given. A lump that turns by an angle f in a substep would lose f^2 of its spin, to first
order, as with any method whose velocities are differences of positions. It is given back as a rotation of the lump as a
whole, so that nothing inside turns for it: v' += w cross (x - c), with the inertia J of the lump as it is now and J w
the opposite of that change.
"""

import numba
import numpy as np

from shinari.maths.function import STEADY, steady
from shinari.maths.polar import solve_symmetric
from shinari.shape_matching.kernels import THIN, ZERO


@numba.njit(parallel=True, cache=True, **STEADY)
def spin_sums(parts, pieces, starts, particles, x, v, before, moves, h, growth, sums):
    """Sums over pieces of lumps: mass, m r, m r r^T and the change of spin, with r counted from the first particle.

    Args:
        parts: How many threads share the pieces.
        pieces: Lump, first and end of the particles of each piece, (K, 3).
        starts: First particle of each lump, (L + 1,).
        particles: Particles of the lumps, (P,).
        x: Positions and inverse mass, (N, 4).
        v: Velocities [m/s], (N, 3).
        before: Velocities of the prediction [m/s], (P, 3).
        moves: How far matching has moved each in this substep [m], (P, 3).
        h: Substep [s].
        growth: What makes the velocities those before damping.
        sums: Filled, (K, 13).
    """
    count = len(pieces)
    for t in numba.prange(parts):
        for k in range(count * t // parts, count * (t + 1) // parts):
            piece_sums(k, particles[starts[pieces[k, 0]]], pieces, particles, x, v, before, moves, h, growth, sums)


@steady
def piece_sums(k, origin, pieces, particles, x, v, before, moves, h, growth, sums):
    """Sums of piece k."""
    ox, oy, oz = np.float64(x[origin, 0]), np.float64(x[origin, 1]), np.float64(x[origin, 2])
    mass = cx = cy = cz = xx = yy = zz = yz = zx = xy = lx = ly = lz = ZERO
    for p in range(pieces[k, 1], pieces[k, 2]):
        i = particles[p]
        m = np.float64(1.0) / x[i, 3] if x[i, 3] > 0.0 else ZERO
        a, b, c = x[i, 0] - ox, x[i, 1] - oy, x[i, 2] - oz
        d, e, f = np.float64(moves[p, 0]), np.float64(moves[p, 1]), np.float64(moves[p, 2])
        a1, b1, c1 = growth * v[i, 0], growth * v[i, 1], growth * v[i, 2]
        a0, b0, c0 = np.float64(before[p, 0]), np.float64(before[p, 1]), np.float64(before[p, 2])
        mass, cx, cy, cz = mass + m, cx + m * a, cy + m * b, cz + m * c
        xx, yy, zz = xx + m * a * a, yy + m * b * b, zz + m * c * c
        yz, zx, xy = yz + m * b * c, zx + m * c * a, xy + m * a * b
        lx += m * (h * (b1 * c0 - c1 * b0) - (e * (c1 - c0) - f * (b1 - b0)))
        ly += m * (h * (c1 * a0 - a1 * c0) - (f * (a1 - a0) - d * (c1 - c0)))
        lz += m * (h * (a1 * b0 - b1 * a0) - (d * (b1 - b0) - e * (a1 - a0)))
    sums[k, 0], sums[k, 1], sums[k, 2], sums[k, 3] = mass, cx, cy, cz
    sums[k, 4], sums[k, 5], sums[k, 6] = xx, yy, zz
    sums[k, 7], sums[k, 8], sums[k, 9] = yz, zx, xy
    # of velocities that are damped
    sums[k, 10], sums[k, 11], sums[k, 12] = lx / growth, ly / growth, lz / growth


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
