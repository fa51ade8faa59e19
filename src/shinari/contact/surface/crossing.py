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

from shinari.contact.surface.proximity import gap_vector, pair_weights
from shinari.contact.surface.rows import TANGLED, relative, shift
from shinari.maths.function import STEADY, inlined, steady
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, reciprocal, scale, sub

# A way is safe when the pair keeps this part of its gap all along, or nearly its distance where that is less already.
KEPT, NEARLY = np.float32(0.2), np.float32(0.9)
# An impact is pushed apart to this part of the gap, or to the distance at the start where that is less.
PARTED = np.float32(0.4)
STEPS = 60
NEARER, FARTHER = np.float32(0.1), np.float32(0.9)
QUARTER = np.float32(0.25)
FIXED = 1e6


@numba.njit(cache=True, **STEADY)
def mean_of(values, who):
    """Mean of the vectors (N, 3) of the particles `who`, added in their order, (3,) float64."""
    total = np.zeros(3)
    for i in who:
        for c in range(3):
            total[c] += values[i, c]
    return total / len(who)


@numba.njit(cache=True, **STEADY)
def ways(begin, x, mean, lengths):
    """Length of the way of each particle from `begin` (N, 3) to x, less the mean way (3,)."""
    for i in range(len(begin)):
        dx, dy, dz = (x[i, 0] - begin[i, 0] - mean[0], x[i, 1] - begin[i, 1] - mean[1],
                      x[i, 2] - begin[i, 2] - mean[2])  # fmt: skip
        lengths[i] = np.sqrt(dx * dx + dy * dy + dz * dz)


@steady
def kept_distance(distance, gap):
    """Distance below which a pair must not come."""
    return min(KEPT * gap, NEARLY * distance)


@inlined
def step_of(begin, x, i):
    """Way of a particle."""
    return x[i, 0] - begin[i, 0], x[i, 1] - begin[i, 1], x[i, 2] - begin[i, 2]


@steady
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
            return ZERO * time + ONE
        time = time + advance
        p, q, r = add(a, scale(v1, time)), add(b, scale(v2, time)), add(c, scale(v3, time))
        distance = norm(gap_vector(pair_weights(edges, p, q, r), p, q, r))
        if distance - least < stop:
            return time
    return time


@steady
def find_impacts_range(
    begin_row, end_row, edges, indices, gaps, distances, begin, x, groups, origins, lengths, times
):  # fmt: skip
    """Rows from one to another, see `find_impacts`."""
    for r in range(begin_row, end_row):
        times[r] = ONE
        two = edges[r]
        i0, i1, i2, i3 = indices[r, 0], indices[r, 1], indices[r, 2], indices[r, 3]
        move = max(lengths[i2], lengths[i3])
        move += max(lengths[i0], lengths[i1]) if two else lengths[i0]
        move = move if two else max(move, lengths[i0] + lengths[i1])
        distance = distances[r]
        least = kept_distance(distance, gaps[r])
        if distance - least > move or distance <= TANGLED * gaps[r]:
            continue
        a = relative(begin, i0, i1, shift(groups, origins, i0, i1))
        b = relative(begin, i0, i2, shift(groups, origins, i0, i2))
        c = relative(begin, i0, i3, shift(groups, origins, i0, i3))
        times[r] = impact(two, a, b, c, step_of(begin, x, i0), step_of(begin, x, i1), step_of(begin, x, i2),
                          step_of(begin, x, i3), least)  # fmt: skip


@numba.njit(parallel=True, cache=True, **STEADY)
def find_impacts(
    threads, edges, indices, gaps, distances, begin, x, groups, origins, lengths, times
):  # fmt: skip
    """Fill `times` (M,) with the time of impact of each candidate, 1 where its way is safe.

    Args:
        threads: Threads to use.
        edges: Whether each row is two edges and not a point and a triangle, (M,).
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
        find_impacts_range(
            count * t // threads, count * (t + 1) // threads, edges, indices, gaps, distances, begin, x, groups,
            origins, lengths, times
        )  # fmt: skip


@numba.njit(cache=True, **STEADY)
def part(hits, times, edges, indices, gaps, distances, begin, x, groups, origins, impulses, h):
    """Push the ends of ways that meet apart along the normal of the impact, one pair after the other."""
    for at in range(len(hits)):
        r = hits[at]
        two = edges[r]
        i0, i1, i2, i3 = indices[r, 0], indices[r, 1], indices[r, 2], indices[r, 3]
        o1, o2 = shift(groups, origins, i0, i1), shift(groups, origins, i0, i2)
        o3 = shift(groups, origins, i0, i3)
        w0, w1, w2, w3 = step_of(begin, x, i0), step_of(begin, x, i1), step_of(begin, x, i2), step_of(begin, x, i3)
        time = times[r]
        a = add(relative(begin, i0, i1, o1), scale(sub(w1, w0), time))
        b = add(relative(begin, i0, i2, o2), scale(sub(w2, w0), time))
        c = add(relative(begin, i0, i3, o3), scale(sub(w3, w0), time))
        w = pair_weights(two, a, b, c)
        way = gap_vector(w, a, b, c)
        n = scale(way, reciprocal(norm(way)))
        ends = gap_vector(w, relative(x, i0, i1, o1), relative(x, i0, i2, o2), relative(x, i0, i3, o3))
        depth = min(PARTED * gaps[r], distances[r]) - dot(n, ends)
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


@steady
def root(zone, i):
    """Name of the zone of a particle."""
    while zone[i] != i:
        zone[i] = zone[zone[i]]
        i = zone[i]
    return i


@numba.njit(cache=True, **STEADY)
def join_zones(hits, indices, zone):
    """Join the zones (N,) of all particles of rows that still meet; a zone has the name of its first particle."""
    for at in range(len(hits)):
        first = root(zone, np.int64(indices[hits[at], 0]))
        for k in range(1, 4):
            other = root(zone, np.int64(indices[hits[at], k]))
            low, high = min(first, other), max(first, other)
            zone[high] = low
            first = low
    for i in range(len(zone)):
        zone[i] = root(zone, i)


def move_as_one(zone: np.ndarray, begin: np.ndarray, x: np.ndarray) -> None:
    """Move each zone of more than one particle rigidly, with the mean and the spin of its ways.

    Weighted by mass, so that momentum and angular momentum are those of the ways; what is fixed outweighs the rest.

    Args:
        zone: Name of the zone of each particle, (N,).
        begin: Positions at the start of the ways, (N, 3).
        x: Positions at their end and inverse mass, (N, 4); free particles of zones are moved.
    """
    names, sizes = np.unique(zone, return_counts=True)
    for name in names[sizes > 1]:
        members = np.flatnonzero(zone == name)
        start, inverse = begin[members].astype(np.float64), x[members, 3].astype(np.float64)
        way = x[members, :3].astype(np.float64) - start
        free = inverse > 0.0
        heaviest = 1.0 / inverse[free].min() if free.any() else 1.0
        mass = np.where(free, 1.0 / np.where(free, inverse, 1.0), FIXED * heaviest)
        total = mass.sum()
        centre, mean = mass @ start / total, mass @ way / total
        arm = start - centre
        spin = mass @ np.cross(arm, way - mean)
        inertia = (mass[:, None, None] * ((arm**2).sum(axis=1)[:, None, None] * np.eye(3)
                   - arm[:, :, None] * arm[:, None, :])).sum(axis=0)  # fmt: skip
        angle = np.linalg.pinv(inertia, rcond=1e-9, hermitian=True) @ spin
        size = float(np.linalg.norm(angle))
        turned = arm
        if size > 0.0:
            axis = angle / size
            turned = arm * np.cos(size) + np.cross(axis, arm) * np.sin(size)
            turned += np.outer(arm @ axis, axis) * (1.0 - np.cos(size))
        ends = centre + mean + turned
        x[members[free], :3] = ends[free]
