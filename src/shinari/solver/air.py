"""Wind and drag on triangles.

A triangle of area A and normal n that moves at u relative to the air feels, split along and across its normal,

    F = -(rho / 2) A |u| (C_n u_n + C_t u_t),    u_n = (u . n) n,  u_t = u - u_n

shared equally by its corners. Taken explicitly a light cloth in strong wind overshoots the wind and gains energy, so
the force of a corner is divided by 1 + n h w c, with w its inverse mass, c the force per velocity and n the triangles
of the particle: that is the implicit step of the same law with |u| held and n triangles alike, and whatever they are,
all of them together can at most bring the particle to the speed of the air.
"""

import numba
import numpy as np

from shinari.maths.function import FLAGS
from shinari.maths.vec3 import ONE, cross, dot, norm, reciprocal, scale, sub

# divided by, since a third in single precision would serve float64 too
THREE, SIX = np.float32(3.0), np.float32(6.0)


@numba.njit(parallel=True, cache=True, **FLAGS)
def corner_kicks(triangles, drag, offsets, x, velocities, wind, h, kicks):
    """Change of velocity of each corner in a substep, into kicks (3 F, 3) [m/s]; offsets (N + 1,) count triangles."""
    real = x.dtype.type
    for t in numba.prange(len(triangles)):
        i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        p = (x[i, 0], x[i, 1], x[i, 2])
        edge, side = sub((x[j, 0], x[j, 1], x[j, 2]), p), sub((x[k, 0], x[k, 1], x[k, 2]), p)
        normal = cross(edge, side)
        double_area = norm(normal)
        n = scale(normal, reciprocal(double_area))
        u = (
            (velocities[i, 0] + velocities[j, 0] + velocities[k, 0]) / THREE - wind[0],
            (velocities[i, 1] + velocities[j, 1] + velocities[k, 1]) / THREE - wind[1],
            (velocities[i, 2] + velocities[j, 2] + velocities[k, 2]) / THREE - wind[2],
        )
        along = scale(n, dot(u, n))
        across = sub(u, along)
        rate = double_area * norm(u) / SIX
        normal_rate, tangential_rate = rate * drag[t, 0], rate * drag[t, 1]
        for corner in range(3):
            c = triangles[t, corner]
            w = h * x[c, 3]
            nw = real(offsets[c + 1] - offsets[c]) * w
            a = -w * normal_rate / (ONE + nw * normal_rate)
            b = -w * tangential_rate / (ONE + nw * tangential_rate)
            at = 3 * t + corner
            kicks[at, 0] = a * along[0] + b * across[0]
            kicks[at, 1] = a * along[1] + b * across[1]
            kicks[at, 2] = a * along[2] + b * across[2]


@numba.njit(parallel=True, cache=True, **FLAGS)
def gather_kicks(corners, offsets, kicks, velocities):
    """Add the kicks of its corners to the velocity of each particle."""
    for i in numba.prange(len(velocities)):
        for at in range(offsets[i], offsets[i + 1]):
            c = corners[at]
            velocities[i, 0] += kicks[c, 0]
            velocities[i, 1] += kicks[c, 1]
            velocities[i, 2] += kicks[c, 2]
