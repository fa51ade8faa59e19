"""Particles against solids: stop at the surface, with Coulomb friction.

A particle moves in a substep from a to b, both in the frame of the solid at the start and at the end, so that a moving
solid is a moving frame. Where b lies in the solid the particle is put back to the surface; where the way from a to b
enters a bounded solid, to the plane that touches it where it was entered, so that nothing comes out on the far side.

Friction takes from the slip of the substep up to mu times the correction along the normal (Macklin et al. 2014, Unified
Particle Physics, eq. 24): all of it sticks, less slides. What was inside already at the start comes out at a limited
speed and gains no velocity by it.

The velocity of a contact goes into the velocities at once, and the prediction moves with the position: far from the
origin a position in single precision has no room for the mu g h^2 that friction takes in a substep.
"""

import numba
import numpy as np

from shinari.contact.shapes import CONTAINER, LAST_UNBOUNDED, distance, surface_normal
from shinari.maths.function import FLAGS, function
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, reciprocal, scale, sub

TRACES = 24
SAME_SIDE = np.float32(0.7)
TOUCH = np.float32(1e-3)


@function
def turn(m, v):
    """Rotate by the matrix in the first nine numbers of a pose."""
    return (
        m[0] * v[0] + m[1] * v[1] + m[2] * v[2],
        m[3] * v[0] + m[4] * v[1] + m[5] * v[2],
        m[6] * v[0] + m[7] * v[1] + m[8] * v[2],
    )


@function
def turn_back(m, v):
    """Rotate by the transpose."""
    return (
        m[0] * v[0] + m[3] * v[1] + m[6] * v[2],
        m[1] * v[0] + m[4] * v[1] + m[7] * v[2],
        m[2] * v[0] + m[5] * v[1] + m[8] * v[2],
    )


@function
def touching_plane(kind, s, fields, a, b, radius, gap_a, gap_b):
    """Normal of the contact and depth of b below its plane, for a way from a to b; depth 0 when there is none.

    `gap_a` and `gap_b` are the distances of the particle's surface, negative inside.
    """
    way = sub(b, a)
    length = norm(way)
    if kind <= LAST_UNBOUNDED or length == ZERO:
        return surface_normal(kind, b, s, fields), max(-gap_b, ZERO)
    # march along the way, each time to the plane that touches the solid where it is nearest: a convex solid lies behind
    # it; what starts inside, be it by rounding alone, has entered where it is
    t, gap = length - length, gap_a
    for _ in range(TRACES):
        if gap <= TOUCH * length or t >= length:
            break
        at = add(a, scale(way, t / length))
        closing = -dot(surface_normal(kind, at, s, fields), way)
        t = t + gap * length / closing if closing > ZERO else length
        gap = distance(kind, add(a, scale(way, t / length)), s, fields) - radius
    if t >= length:
        return surface_normal(kind, b, s, fields), max(-gap_b, ZERO)
    hit = add(a, scale(way, t / length))
    n = surface_normal(kind, hit, s, fields)
    here = surface_normal(kind, b, s, fields)
    if gap_b < ZERO and dot(n, here) > SAME_SIDE:
        return here, -gap_b
    return n, max(-dot(n, sub(b, hit)) - min(gap, ZERO), ZERO)


@function
def resolve(kind, size, fields, a, b, reach, friction, escape):
    """Correction of b and the part of it that brings no velocity, in the frame of the solid.

    Returns:
        Correction, correction without velocity: tuples of three [m].
    """
    zero = (b[0] - b[0], b[1] - b[1], b[2] - b[2])
    # a ball in a container is a point in a smaller one: its corners are as sharp
    margin = min(reach, min(size[0], min(size[1], size[2]))) if kind == CONTAINER else reach - reach
    s, radius = (size[0] - margin, size[1] - margin, size[2] - margin, size[3]), reach - margin
    gap_b = distance(kind, b, s, fields) - radius
    if gap_b >= norm(sub(b, a)):
        return zero, zero
    gap_a = distance(kind, a, s, fields) - radius
    n, depth = touching_plane(kind, s, fields, a, b, radius, gap_a, gap_b)
    if depth <= ZERO:
        return zero, zero
    before = max(-gap_a, ZERO)
    push = max(depth - before, ZERO)
    out = min(depth - push, escape)
    slip = add(sub(b, a), scale(n, push))
    along = sub(slip, scale(n, dot(n, slip)))
    length = norm(along)
    hold = min(friction * push * reciprocal(length), ONE)
    return sub(scale(n, push + out), scale(along, hold)), scale(n, out)


@numba.njit(parallel=True, cache=True, **FLAGS)
def collide(
    x, predicted, velocities, radii, owners, mine, groups, kinds, sizes, fields, theirs, before, after, h, speed
):
    """Keep all free particles out of all solids.

    Args:
        x: Positions and inverse mass, (N, 4).
        predicted: Predicted positions, (N, 3); they move with the positions.
        velocities: Velocities of the prediction [m/s], (N, 3); contacts change them.
        radii: Distance to keep [m], (N,).
        owners: Thing of each particle, (N,).
        mine: Friction, static friction, restitution and compliance of each thing, (T, 4); negative friction: as the
            solid's.
        groups: Group of each particle, (N,).
        kinds: Kind of each solid, (K,).
        sizes: Numbers of each solid, (K, 4).
        fields: Distance fields of the meshes among them.
        theirs: The same of each solid, (K, 4).
        before: Pose of each solid at the start of the substep relative to each group, (G, K, 12): matrix, position.
        after: The same at its end.
        h: Substep [s].
        speed: Speed at which what was inside comes out [m/s].
    """
    rate = ONE / h
    for i in numba.prange(len(x)):
        if x[i, 3] <= ZERO:
            continue
        g = groups[i]
        for k in range(len(kinds)):
            p0, p1 = before[g, k], after[g, k]
            now = (x[i, 0], x[i, 1], x[i, 2])
            was = (
                x[i, 0] - predicted[i, 0] + h * velocities[i, 0],
                x[i, 1] - predicted[i, 1] + h * velocities[i, 1],
                x[i, 2] - predicted[i, 2] + h * velocities[i, 2],
            )
            start = sub(now, was)
            a = turn_back(p0, (start[0] - p0[9], start[1] - p0[10], start[2] - p0[11]))
            b = turn_back(p1, (now[0] - p1[9], now[1] - p1[10], now[2] - p1[11]))
            mu, own = theirs[k, 0], mine[owners[i], 0]
            mu = mu if own < ZERO else np.sqrt(mu * own)
            correction, silent = resolve(kinds[k], sizes[k], fields, a, b, radii[i], mu, h * speed)
            correction, silent = turn(p1, correction), turn(p1, silent)
            for c in range(3):
                x[i, c] = now[c] + correction[c]
                predicted[i, c] += x[i, c] - now[c]
                velocities[i, c] += (correction[c] - silent[c]) * rate
