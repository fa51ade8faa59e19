"""Restitution: the velocities after an impact, as in the velocity pass of Mueller et al. 2020, section 3.6.

An impact ends a substep at the place to which the bounce would have led, e (|v| h - gap), and with the velocity e |v|
along the normal. The positions alone would give another one, so that the velocities are corrected: by impulses at the
points that have bounced, found for all bodies that hang together by the system of the positions, with its joints; then
by their friction.
"""

import math

import numba
import numpy as np

from shinari.maths.function import STEADY
from shinari.maths.vec3 import dot, scale, sub
from shinari.rigid.contact.vectors import cross
from shinari.rigid.line_search import APART
from shinari.rigid.motion import symmetric_times, vector, velocity_at
from shinari.rigid.points import weight_along, write_point


@numba.njit(cache=True, **STEADY)
def write_bounces(count, first, normals, law, fast, stiff, status, v, w, frames, arms, h, force, stiffness):
    """Write the elements of the points: those that bounce get their speed, the others that touch come no nearer."""
    for p in range(count):
        e = first + p
        n = vector(normals, p)
        for c in range(6):
            force[e, c] = 0.0
        for c in range(12):
            stiffness[e, c] = 0.0
        if status[p] == APART:
            continue
        ra, rb = (arms[e, 0], arms[e, 1], arms[e, 2]), (arms[e, 3], arms[e, 4], arms[e, 5])
        apart = sub(velocity_at(v, w, frames[e, 0], ra), velocity_at(v, w, frames[e, 1], rb))
        speed, goal = dot(n, apart), -law[p, 2] * fast[p]
        if fast[p] < 0.0 or speed < 0.0:
            pull = stiff[p] * (goal - speed) * h
            write_point(e, n, stiff[p], 0.0, (0.0, 0.0, 0.0), scale(n, pull), force, stiffness)


@numba.njit(cache=True, **STEADY)
def drop_pulls(count, first, normals, force, stiffness, motion):
    """Take points out that would have to pull; whether there were any."""
    found = False
    for p in range(count):
        e = first + p
        n, k = vector(normals, p), stiffness[e, 0] + stiffness[e, 1] + stiffness[e, 2]
        if k > 0.0 and dot(n, vector(force, e)) - k * dot(n, vector(motion, e)) < 0.0:
            found = True
            for c in range(6):
                force[e, c] = 0.0
            for c in range(12):
                stiffness[e, c] = 0.0
    return found


@numba.njit(cache=True, **STEADY)
def rub(
    count, first, normals, mus, fast, frames, arms, force, stiffness, motion, v, w, inverse_mass, inverse_inertia, h
):
    """Friction of the impulses of a bounce: what stops the slip, within its cone, point by point."""
    for p in range(count):
        e = first + p
        n, k = vector(normals, p), stiffness[e, 0] + stiffness[e, 1] + stiffness[e, 2]
        if fast[p] == 0.0 or k == 0.0:
            continue
        most = mus[p] * h * max(dot(n, vector(force, e)) - k * dot(n, vector(motion, e)), 0.0)
        a, b = frames[e, 0], frames[e, 1]
        ra, rb = (arms[e, 0], arms[e, 1], arms[e, 2]), (arms[e, 3], arms[e, 4], arms[e, 5])
        apart = sub(velocity_at(v, w, a, ra), velocity_at(v, w, b, rb))
        slip = sub(apart, scale(n, dot(n, apart)))
        speed = math.sqrt(dot(slip, slip))
        if speed == 0.0:
            continue
        way = scale(slip, -1.0 / speed)
        push = scale(way, min(speed / weight_along(a, b, ra, rb, way, inverse_mass, inverse_inertia), most))
        for i, r, sign in ((a, ra, 1.0), (b, rb, -1.0)):
            if inverse_mass[i] > 0.0:
                turn = symmetric_times(inverse_inertia, i, cross(r, push))
                for c in range(3):
                    v[i, c] += sign * inverse_mass[i] * push[c]
                    w[i, c] += sign * turn[c]


def speed_up(v: np.ndarray, w: np.ndarray, moved: np.ndarray, h: float) -> None:
    """Add the motions of a substep (F, 6) to the velocities."""
    v += moved[:, :3] / h
    w += moved[:, 3:] / h
