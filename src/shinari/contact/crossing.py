"""Nothing passes through: certifies the straight ways of a substep, and mends those on which things would cross.

A pair is safe when its distance at the start exceeds what both move relative to each other. For the others additive
conservative advancement finds the time of impact (Li, Kaufman and Jiang 2021, Codimensional Incremental Potential
Contact, algorithm 1): it only takes distances, never looks for roots and stops before the pair is closer than a part of
its distance. Ways that meet are pushed apart at their end along the normal of the impact, as in an inelastic impact;
what still meets after a few rounds moves as one: the mean of its ways, weighted by mass (Provot 1997, Collision and
self-collision handling in cloth model dedicated to design garments; Bridson et al. 2002, section 7.4).
"""

import numba
import numpy as np

from shinari.contact.proximity import gap_vector, pair_weights
from shinari.contact.rows import TANGLED, relative, shift
from shinari.maths.function import FLAGS, function
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, reciprocal, scale, sub

# A way is safe when the pair keeps this part of its distance, or of its gap where that is less, all along.
KEPT = np.float32(0.2)
# An impact is pushed apart to this part.
PARTED = np.float32(0.4)
STEPS = 60
NEARER, FARTHER = np.float32(0.1), np.float32(0.9)
QUARTER = np.float32(0.25)


@numba.njit(parallel=True, cache=True, **FLAGS)
def ways(threads, begin, x, mean, lengths):
    """Length of the way of each particle from `begin` (N, 3) to x, less the mean way (3,)."""
    count = len(begin)
    for t in numba.prange(threads):
        for i in range(count * t // threads, count * (t + 1) // threads):
            dx, dy, dz = (x[i, 0] - begin[i, 0] - mean[0], x[i, 1] - begin[i, 1] - mean[1],
                          x[i, 2] - begin[i, 2] - mean[2])  # fmt: skip
            lengths[i] = np.sqrt(dx * dx + dy * dy + dz * dz)


@function
def kept_distance(distance, gap):
    """Distance below which a pair must not come."""
    return KEPT * min(distance, gap)


@function
def step_of(begin, x, i):
    """Way of a particle."""
    return x[i, 0] - begin[i, 0], x[i, 1] - begin[i, 1], x[i, 2] - begin[i, 2]


@function
def impact(edges, a, b, c, w0, w1, w2, w3, least):
    """Time of impact, 1 when there is none, of a pair whose particles move by w0 to w3.

    `a`, `b`, `c` are the last three relative to the first; the pair counts as meeting nearer than about `least`.
    """
    mean = scale(add(add(w0, w1), add(w2, w3)), QUARTER)
    w0, w1, w2, w3 = sub(w0, mean), sub(w1, mean), sub(w2, mean), sub(w3, mean)
    fastest = max(norm(w0), norm(w1)) + max(norm(w2), norm(w3)) if edges else \
        norm(w0) + max(norm(w1), max(norm(w2), norm(w3)))  # fmt: skip
    v1, v2, v3 = sub(w1, w0), sub(w2, w0), sub(w3, w0)
    distance = norm(gap_vector(pair_weights(edges, a, b, c), a, b, c))
    time = ZERO * least
    stop = NEARER * (distance - least)
    for _ in range(STEPS):
        # no pair is nearer than `least` before it has gone its distance less that
        advance = FARTHER * (distance - least) / fastest
        if time + advance >= ONE or fastest <= ZERO:
            return ONE + time - time
        time = time + advance
        p, q, r = add(a, scale(v1, time)), add(b, scale(v2, time)), add(c, scale(v3, time))
        distance = norm(gap_vector(pair_weights(edges, p, q, r), p, q, r))
        if distance - least < stop:
            return time
    return time


@numba.njit(parallel=True, cache=True, **FLAGS)
def find_impacts(
    threads, points, indices, gaps, distances, begin, x, groups, origins, lengths, times
):  # fmt: skip
    """Fill `times` (M,) with the time of impact of each candidate, 1 where its way is safe.

    Args:
        threads: Threads to use.
        points: Rows before this one are a point and a triangle, the others two edges.
        indices: Particles of each row, (M, 4).
        gaps: Distance that each row keeps [m], (M,).
        distances: Distances at the start [m], (M,).
        begin: Positions at the start, (N, 3).
        x: Positions at the end, and inverse mass, (N, 4).
        groups: Group of each particle, (N,).
        origins: Origin of each group, (G, 3), in the precision of the positions.
        lengths: Lengths of the ways less their mean, (N,).
        times: Filled.
    """
    count = len(indices)
    for t in numba.prange(threads):
        for r in range(count * t // threads, count * (t + 1) // threads):
            times[r] = ONE
            edges = r >= points
            i0, i1, i2, i3 = indices[r, 0], indices[r, 1], indices[r, 2], indices[r, 3]
            move = max(lengths[i2], lengths[i3])
            move += max(lengths[i0], lengths[i1]) if edges else lengths[i0]
            move = move if edges else max(move, lengths[i0] + lengths[i1])
            distance = distances[r]
            least = kept_distance(distance, gaps[r])
            if distance - least > move or distance <= TANGLED * gaps[r]:
                continue
            a = relative(begin, i0, i1, shift(groups, origins, i0, i1))
            b = relative(begin, i0, i2, shift(groups, origins, i0, i2))
            c = relative(begin, i0, i3, shift(groups, origins, i0, i3))
            times[r] = impact(edges, a, b, c, step_of(begin, x, i0), step_of(begin, x, i1), step_of(begin, x, i2),
                              step_of(begin, x, i3), least)  # fmt: skip


@numba.njit(cache=True, **FLAGS)
def part(hits, times, points, indices, gaps, distances, begin, x, groups, origins, impulses, h):
    """Push the ends of ways that meet apart along the normal of the impact, one pair after the other."""
    for at in range(len(hits)):
        r = hits[at]
        edges = r >= points
        i0, i1, i2, i3 = indices[r, 0], indices[r, 1], indices[r, 2], indices[r, 3]
        o1, o2 = shift(groups, origins, i0, i1), shift(groups, origins, i0, i2)
        o3 = shift(groups, origins, i0, i3)
        w0, w1, w2, w3 = step_of(begin, x, i0), step_of(begin, x, i1), step_of(begin, x, i2), step_of(begin, x, i3)
        time = times[r]
        a = add(relative(begin, i0, i1, o1), scale(sub(w1, w0), time))
        b = add(relative(begin, i0, i2, o2), scale(sub(w2, w0), time))
        c = add(relative(begin, i0, i3, o3), scale(sub(w3, w0), time))
        w = pair_weights(edges, a, b, c)
        way = gap_vector(w, a, b, c)
        n = scale(way, reciprocal(norm(way)))
        ends = gap_vector(w, relative(x, i0, i1, o1), relative(x, i0, i2, o2), relative(x, i0, i3, o3))
        depth = PARTED * min(distances[r], gaps[r]) - dot(n, ends)
        m0, m1, m2, m3 = w[0] * x[i0, 3], w[1] * x[i1, 3], w[2] * x[i2, 3], w[3] * x[i3, 3]
        mobility = w[0] * m0 + w[1] * m1 + w[2] * m2 + w[3] * m3
        if depth <= ZERO or mobility <= ZERO:
            continue
        for k in range(3):
            push = n[k] * depth / mobility
            x[i0, k] += m0 * push
            x[i1, k] += m1 * push
            x[i2, k] += m2 * push
            x[i3, k] += m3 * push
            impulses[r, k] += push / h


@function
def root(zone, i):
    """Name of the zone of a particle."""
    while zone[i] != i:
        zone[i] = zone[zone[i]]
        i = zone[i]
    return i


@numba.njit(cache=True, **FLAGS)
def move_as_one(hits, indices, begin, x, zone, mass, way):
    """Give all particles of an impact zone the mean of their ways, that of its fixed ones if it has any.

    `zone` (N,) names the zone of each particle and grows from call to call; `mass` (N,) and `way` (N, 3) are scratch.
    """
    for at in range(len(hits)):
        r = hits[at]
        first = root(zone, np.int64(indices[r, 0]))
        for k in range(1, 4):
            other = root(zone, np.int64(indices[r, k]))
            low, high = min(first, other), max(first, other)
            zone[high] = low
            first = low
    for i in range(len(zone)):
        mass[i] = 0.0
        way[i, 0], way[i, 1], way[i, 2] = 0.0, 0.0, 0.0
    for i in range(len(zone)):
        z = root(zone, i)
        # a fixed particle outweighs all others
        m = 1.0 / x[i, 3] if x[i, 3] > ZERO else 1e30
        mass[z] += m
        for k in range(3):
            way[z, k] += m * (np.float64(x[i, k]) - np.float64(begin[i, k]))
    for i in range(len(zone)):
        z = root(zone, i)
        if x[i, 3] > ZERO and (z != i or mass[z] > 1.5 / x[i, 3]):
            for k in range(3):
                x[i, k] = begin[i, k] + way[z, k] / mass[z]
