"""Contact rows: two points, each a mean of particles, that keep a distance along a normal.

             x0                C = n . (b0 x0 + b1 x1 + b2 x2 + b3 x3) - d >= 0,   grad_i = b_i n
              |  n
        x1---(+)---x2          n and b_i from the nearest points of point and triangle, or of two edges, at the start of
              x3               the substep: from the side on which they are, a row holds even what has gone through

What C fell in the substep is pushed back and gives velocity; what overlapped at its start comes out at a limited speed
and gives none. Friction takes from the slip of the substep up to mu times the push, all of it when that is enough
(Macklin et al. 2014, Unified Particle Physics, eq. 24). With a compliance the row is one of XPBD (Macklin et al. 2016).
"""

import numba
import numpy as np

from shinari.contact.surface.proximity import gap_vector, pair_weights
from shinari.maths.function import STEADY, inlined, steady
from shinari.maths.vec3 import ONE, ZERO, add, direction_and_length, dot, norm, reciprocal, scale, sub

# A row takes part when the distance at the start, less what the prediction takes from it, is below this times its gap.
WATCHED = np.float32(1.5)
# Cosine between the normals at the start and now up to which a pair counts as still on its side.
SAME_SIDE = np.float32(0.2)
# Speed [m/s] up to which what overlapped at the start does bring velocity when it is pushed out: layers that lie on
# each other overlap by what a sweep leaves, and would sink into each other for ever if that were put right silently.
LIVELY = np.float32(0.1)
# Part of what overlapped at the start that comes out in a substep: all at once, it would hit what lies behind.
RECOVERY = np.float32(0.1)
# Nearer than this part of the gap two things count as crossing already: the way between them has no direction.
TANGLED = np.float32(1e-4)


@inlined
def shift(groups, origins, i, j):
    """Origin of the group of particle j relative to that of particle i; exact, since origins are whole metres."""
    g, f = groups[j], groups[i]
    return origins[g, 0] - origins[f, 0], origins[g, 1] - origins[f, 1], origins[g, 2] - origins[f, 2]


@inlined
def relative(x, i, j, offset):
    """Position of particle j relative to particle i."""
    return x[j, 0] - x[i, 0] + offset[0], x[j, 1] - x[i, 1] + offset[1], x[j, 2] - x[i, 2] + offset[2]


@inlined
def evaluate(
    r, watched, edges, indices, x, velocities, groups, origins, h, travels, weights, normals, shifts, starts,
    distances, approach, bases
):  # fmt: skip
    """Nearest points, normal and distance of a row; only its distance when it stays farther than `watched`."""
    i0, i1, i2, i3 = indices[r, 0], indices[r, 1], indices[r, 2], indices[r, 3]
    o1, o2 = shift(groups, origins, i0, i1), shift(groups, origins, i0, i2)
    o3 = shift(groups, origins, i0, i3)
    a, b, c = relative(x, i0, i1, o1), relative(x, i0, i2, o2), relative(x, i0, i3, o3)
    w = pair_weights(edges[r], a, b, c)
    way = gap_vector(w, a, b, c)
    distance = norm(way)
    n = scale(way, reciprocal(distance))
    speed = ZERO * h
    for k in range(3):
        speed += n[k] * (
            w[0] * velocities[i0, k] + w[1] * velocities[i1, k] + w[2] * velocities[i2, k] + w[3] * velocities[i3, k]
        )
    starts[r] = distance
    bases[r] = distance + travels[i0, 0] + travels[i1, 0] + travels[i2, 0] + travels[i3, 0]
    near = distance + min(speed, ZERO) * h < watched
    if near:
        weights[r, 0], weights[r, 1], weights[r, 2], weights[r, 3] = w[0], w[1], w[2], w[3]
        normals[r, 0], normals[r, 1], normals[r, 2] = n[0], n[1], n[2]
        shifts[r] = w[1] * dot(n, o1) + w[2] * dot(n, o2) + w[3] * dot(n, o3)
        distances[r] = distance
        approach[r] = speed
    return near


@steady
def refresh_range(
    begin_row, end_row, edges, indices, gaps, x, velocities, groups, origins, h, travels, weights, normals, shifts,
    starts, distances, approach, active, multipliers, bases
):  # fmt: skip
    """Rows from one to another, see `refresh`."""
    for r in range(begin_row, end_row):
        i0, i1, i2, i3 = indices[r, 0], indices[r, 1], indices[r, 2], indices[r, 3]
        least = bases[r] - (travels[i0, 0] + travels[i1, 0] + travels[i2, 0] + travels[i3, 0])
        ahead = travels[i0, 1] + travels[i1, 1] + travels[i2, 1] + travels[i3, 1]
        watched = WATCHED * gaps[r]
        multipliers[r] = ZERO
        near = False
        starts[r] = least
        if least - ahead < watched:
            near = evaluate(r, watched, edges, indices, x, velocities, groups, origins, h, travels, weights, normals,
                            shifts, starts, distances, approach, bases)  # fmt: skip
        active[r] = near and starts[r] > TANGLED * gaps[r]


@numba.njit(parallel=True, cache=True, **STEADY)
def refresh(
    threads, edges, indices, gaps, x, velocities, groups, origins, h, travels, weights, normals, shifts, starts,
    distances, approach, active, multipliers, bases
):  # fmt: skip
    """Take the nearest points, normals and distances of all candidates from the positions at the start of a substep.

    What cannot have come near since its distance was last taken is passed over.

    Args:
        threads: Threads to use.
        edges: Whether each row is two edges and not a point and a triangle, (M,).
        indices: Particles of each row, (M, 4).
        gaps: Distance that each row keeps [m], (M,).
        x: Positions and inverse mass, (N, 4).
        velocities: Velocities that the prediction will use [m/s], (N, 3).
        groups: Group of each particle, (N,).
        origins: Origin of each group, (G, 3), in the precision of the positions.
        h: Substep [s].
        travels: How far each particle has travelled in this step, and how far it will in this substep, both less the
            mean of all [m], (N, 2).
        weights: Filled with b, (M, 4).
        normals: Filled with n, (M, 3).
        shifts: Filled with the part of n . gap vector that comes from the origins of the groups, (M,).
        starts: Filled with the distances [m], (M,), or with a lower bound where that is enough.
        distances: Filled with the distances [m], (M,); what comes out silently adds to them.
        approach: Filled with the relative velocity along n [m/s], (M,).
        active: Filled with whether the row may push in this substep, (M,).
        multipliers: Set to zero, (M,).
        bases: Distance when it was last taken plus what its particles had travelled [m], (M,); -inf: never taken.
    """
    count = len(indices)
    # one call for one thread and for many: compiled at two places it could round differently
    for t in numba.prange(threads):
        refresh_range(
            count * t // threads, count * (t + 1) // threads, edges, indices, gaps, x, velocities, groups,
            origins, h, travels, weights, normals, shifts, starts, distances, approach, active, multipliers, bases
        )  # fmt: skip


@inlined
def moved(x, predicted, velocities, h, i):
    """Way of a particle in this substep so far."""
    return (
        x[i, 0] - predicted[i, 0] + h * velocities[i, 0],
        x[i, 1] - predicted[i, 1] + h * velocities[i, 1],
        x[i, 2] - predicted[i, 2] + h * velocities[i, 2],
    )


@steady
def combined(first, second):
    """Coefficient of two surfaces: the geometric mean, the other where one is negative, 0 where both are."""
    if first < ZERO:
        return max(second, ZERO)
    return first if second < ZERO else np.sqrt(first * second)


@inlined
def solve(r, edges, indices, weights, normals, shifts, gaps, distances, owners, surfaces, groups, origins, x, predicted,
          velocities, multipliers, impulses, h, reach):  # fmt: skip
    """Solve one row; return what it overlapped, as part of its gap.

    `reach` is how far what overlapped at the start may come out [m].
    """
    i0, i1, i2, i3 = indices[r, 0], indices[r, 1], indices[r, 2], indices[r, 3]
    b0, b1, b2, b3 = weights[r, 0], weights[r, 1], weights[r, 2], weights[r, 3]
    n = (normals[r, 0], normals[r, 1], normals[r, 2])
    place = shifts[r]
    for k in range(3):
        place += n[k] * (b0 * x[i0, k] + b1 * x[i1, k] + b2 * x[i2, k] + b3 * x[i3, k])
    old = multipliers[r]
    if place >= gaps[r] and old == ZERO:
        return ZERO * h
    # The normal of the start tells the side. Where the points are still on it, the nearest points of now tell more:
    # what slides along a flat sheet comes nearer along the tilted normals of features beside it without touching them.
    a = relative(x, i0, i1, shift(groups, origins, i0, i1))
    b = relative(x, i0, i2, shift(groups, origins, i0, i2))
    c = relative(x, i0, i3, shift(groups, origins, i0, i3))
    now = pair_weights(edges[r], a, b, c)
    m, length = direction_and_length(gap_vector(now, a, b, c))
    if dot(m, n) > SAME_SIDE:
        b0, b1, b2, b3 = now
        n, place = m, length
        weights[r, 0], weights[r, 1], weights[r, 2], weights[r, 3] = now
        normals[r, 0], normals[r, 1], normals[r, 2] = n
        shifts[r] = (
            b1 * dot(n, shift(groups, origins, i0, i1)) + b2 * dot(n, shift(groups, origins, i0, i2))
            + b3 * dot(n, shift(groups, origins, i0, i3))
        )  # fmt: skip
    depth = gaps[r] - place
    m0, m1, m2, m3 = b0 * x[i0, 3], b1 * x[i1, 3], b2 * x[i2, 3], b3 * x[i3, 3]
    mobility = b0 * m0 + b1 * m1 + b2 * m2 + b3 * m3
    first, second = owners[i0], owners[i2]
    softness = (surfaces[first, 3] + surfaces[second, 3]) / (h * h)
    # what overlapped at the start comes out silently; a compliant row is in equilibrium at some depth and pushes
    before = max(gaps[r] - distances[r] - LIVELY * h, ZERO) if softness == ZERO else depth - depth
    push = max(depth - before, ZERO)
    out = min(RECOVERY * max(depth - push, ZERO), reach) if softness == ZERO else depth - depth
    change = push / mobility if softness == ZERO else max((depth - softness * old) / (mobility + softness), -old)
    push = change * mobility
    if mobility <= ZERO or (push == ZERO and out == ZERO):
        return ZERO * h
    move = push + out
    # friction: the relative way of the two points in this substep, along the surface
    slip = add(
        add(scale(moved(x, predicted, velocities, h, i0), b0), scale(moved(x, predicted, velocities, h, i1), b1)),
        add(scale(moved(x, predicted, velocities, h, i2), b2), scale(moved(x, predicted, velocities, h, i3), b3)),
    )
    slip = sub(slip, scale(n, dot(n, slip)))
    length = norm(slip)
    sliding = combined(surfaces[first, 0], surfaces[second, 0])
    sticking = combined(surfaces[first, 1], surfaces[second, 1])
    hold = ONE if length <= sticking * push else min(sliding * push * reciprocal(length), ONE)
    inverse = ONE / mobility
    for k in range(3):
        along = (n[k] * move - hold * slip[k]) * inverse
        quiet = n[k] * out * inverse
        x[i0, k] += m0 * along
        x[i1, k] += m1 * along
        x[i2, k] += m2 * along
        x[i3, k] += m3 * along
        predicted[i0, k] += m0 * quiet
        predicted[i1, k] += m1 * quiet
        predicted[i2, k] += m2 * quiet
        predicted[i3, k] += m3 * quiet
        impulses[r, k] += (along - quiet) / h
    multipliers[r] = old + change
    distances[r] += out
    return push / gaps[r]


@steady
def solve_blocks(
    begin, end, order, block, edges, indices, weights, normals, shifts, gaps, distances, active, owners, surfaces,
    groups, origins, x, predicted, velocities, multipliers, impulses, h, reach
):  # fmt: skip
    """Solve the active rows of blocks, in order; return the largest overlap found, as part of the gap."""
    worst = ZERO * h
    for k in range(begin, end):
        first = np.int64(order[k]) * block
        for r in range(first, min(first + block, len(indices))):
            if active[r]:
                overlap = solve(r, edges, indices, weights, normals, shifts, gaps, distances, owners, surfaces, groups,
                                origins, x, predicted, velocities, multipliers, impulses, h, reach)  # fmt: skip
                worst = max(worst, overlap)
    return worst


@numba.njit(parallel=True, cache=True, **STEADY)
def project(
    threads, order, offsets, block, edges, indices, weights, normals, shifts, gaps, distances, active, owners,
    surfaces, groups, origins, x, predicted, velocities, multipliers, impulses, h, reach, found
):  # fmt: skip
    """Solve all active rows, block after block; blocks of one colour share no free particle.

    Args:
        threads: Threads to use.
        order: Blocks by colour, (B,).
        offsets: Where each colour starts, (colours + 1,).
        block: Rows in a block.
        edges: Whether each row is two edges, (M,).
        indices: Particles of each row, (M, 4).
        weights: b of each row, (M, 4).
        normals: n of each row, (M, 3).
        shifts: Part of n . gap vector that comes from the origins of the groups, (M,).
        gaps: Distance that each row keeps [m], (M,).
        distances: Distances at the start of the substep [m] and what came out since, (M,).
        active: Whether each row may push, (M,).
        owners: Thing of each particle, (N,).
        surfaces: Friction, static friction, restitution and compliance of each thing, (T, 4).
        groups: Group of each particle, (N,).
        origins: Origin of each group, (G, 3).
        x: Positions and inverse mass, (N, 4).
        predicted: Predicted positions, (N, 3); what comes out silently moves them.
        velocities: Velocities of the prediction [m/s], (N, 3).
        multipliers: Sum of the pushes over their inverse masses in this substep [kg m], (M,).
        impulses: Impulse of each row on its first point, summed over the step [N s], (M, 3).
        h: Substep [s].
        reach: How far what overlapped at the start may come out [m].
        found: Raised to the largest overlap that each thread finds, as part of the gap, (threads,).
    """
    for colour in range(len(offsets) - 1):
        begin, end = offsets[colour], offsets[colour + 1]
        parts = min(threads, end - begin)
        for t in numba.prange(parts):
            low, high = begin + (end - begin) * t // parts, begin + (end - begin) * (t + 1) // parts
            overlap = solve_blocks(low, high, order, block, edges, indices, weights, normals, shifts, gaps, distances,
                                   active, owners, surfaces, groups, origins, x, predicted, velocities, multipliers,
                                   impulses, h, reach)  # fmt: skip
            found[t] = max(found[t], overlap)


@numba.njit(cache=True, **STEADY)
def bounce(indices, weights, normals, approach, multipliers, owners, surfaces, x, velocities, impulses, slow):
    """Restitution: rows that pushed leave at e times the speed of approach (Mueller et al. 2020, eq. 34).

    Slower than `slow` [m/s], what gravity gives in a substep or two, nothing bounces.
    """
    for r in range(len(indices)):
        if multipliers[r] <= ZERO or approach[r] >= -slow:
            continue
        i0, i1, i2, i3 = indices[r, 0], indices[r, 1], indices[r, 2], indices[r, 3]
        e = max(surfaces[owners[i0], 2], surfaces[owners[i2], 2])
        if e <= ZERO:
            continue
        b0, b1, b2, b3 = weights[r, 0], weights[r, 1], weights[r, 2], weights[r, 3]
        m0, m1, m2, m3 = b0 * x[i0, 3], b1 * x[i1, 3], b2 * x[i2, 3], b3 * x[i3, 3]
        speed = ZERO * slow
        for k in range(3):
            speed += normals[r, k] * (
                b0 * velocities[i0, k] + b1 * velocities[i1, k] + b2 * velocities[i2, k] + b3 * velocities[i3, k]
            )
        change = max(-e * approach[r] - speed, ZERO) * reciprocal(b0 * m0 + b1 * m1 + b2 * m2 + b3 * m3)
        for k in range(3):
            kick = change * normals[r, k]
            velocities[i0, k] += m0 * kick
            velocities[i1, k] += m1 * kick
            velocities[i2, k] += m2 * kick
            velocities[i3, k] += m3 * kick
            impulses[r, k] += kick
