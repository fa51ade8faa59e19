"""Contact rows of grains: as those of other balls, but what a row did in the last substep is its first guess.

A heap of many layers rests only when each contact carries what is above it. One sweep in a substep does not find that
anew, so the multiplier L >= 0 of a row and the friction H of its plane are kept, as part of the state, and each substep
only mends them. What overlaps when a substep begins comes out without velocity (Macklin et al. 2014, section 4.4):

    way . n >= -gap, L >= 0, one of the two equal          |H| <= mu L, along the slip when equal

A sweep may take back what the guess has pushed too much. All is done in ways of the substep: L has the unit kg m.
"""

import numba
import numpy as np

from shinari.contact.particle.pair_rows import BLOCK, WORTH, meeting, upright
from shinari.contact.surface.rows import combined
from shinari.maths.function import STEADY, steady
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, reciprocal, scale, sub

# Grains that push stay in contact up to a gap of this part of their distance: what comes out of an overlap opens gaps
# on its other side, and contacts that lost their push at each of them would let a tall heap sink into itself.
SLOP = np.float32(0.02)


@steady
def answer(n, depth, before, way, old, held, first, second, softness, mobility):
    """What a row does.

    Args:
        n: Normal.
        depth: Depth now [m], negative where there is a gap.
        before: Depth at the start of the substep [m].
        way: Relative way of the substep [m].
        old: Multiplier so far [kg m].
        held: Friction so far [kg m].
        first: Friction and static friction of the first surface.
        second: Those of the second.
        softness: Compliance / h^2.
        mobility: Sum of the inverse masses.

    Returns:
        New multiplier and new friction.
    """
    push = max(old + (depth - before) / mobility, ZERO)
    if softness > ZERO:
        push = max(old + (depth - softness * old) / (mobility + softness), ZERO)
    sliding, sticking = combined(first[0], second[0]), combined(first[1], second[1])
    wanted = sub(held, scale(way, ONE / mobility))
    wanted = sub(wanted, scale(n, dot(n, wanted)))
    length = norm(wanted)
    share = ONE if length <= sticking * push else min(sliding * push * reciprocal(length), ONE)
    return push, scale(wanted, share)


@steady
def start_block(first, last, indices, keeps, shifts, groups, bodies, pushes, holds, escape):
    """Begin consecutive rows; arguments as of `start_grains`."""
    for r in range(first, last):
        i, j, keep = indices[r, 0], indices[r, 1], keeps[r]
        b = (bodies[i, 0] - bodies[j, 0], bodies[i, 1] - bodies[j, 1], bodies[i, 2] - bodies[j, 2])
        if len(shifts) > 1:
            g, f = groups[i], groups[j]
            b = add(b, (shifts[g, 0] - shifts[f, 0], shifts[g, 1] - shifts[f, 1], shifts[g, 2] - shifts[f, 2]))
        way = (bodies[i, 4] - bodies[j, 4], bodies[i, 5] - bodies[j, 5], bodies[i, 6] - bodies[j, 6])
        a, push = sub(b, way), pushes[r]
        before = keep - norm(a)
        if push > ZERO or before > ZERO:
            n, hold = upright(a, b), (holds[r, 0], holds[r, 1], holds[r, 2])
            hold = sub(hold, scale(n, dot(n, hold)))
            holds[r, 0], holds[r, 1], holds[r, 2] = hold
            w0, w1 = bodies[i, 3], bodies[j, 3]
            loud = add(scale(n, push), hold)
            move = add(loud, scale(n, min(max(before, ZERO), escape) / (w0 + w1)))
            bodies[i, 0] += w0 * move[0]
            bodies[i, 1] += w0 * move[1]
            bodies[i, 2] += w0 * move[2]
            bodies[j, 0] -= w1 * move[0]
            bodies[j, 1] -= w1 * move[1]
            bodies[j, 2] -= w1 * move[2]
            bodies[i, 4] += w0 * loud[0]
            bodies[i, 5] += w0 * loud[1]
            bodies[i, 6] += w0 * loud[2]
            bodies[j, 4] -= w1 * loud[0]
            bodies[j, 5] -= w1 * loud[1]
            bodies[j, 6] -= w1 * loud[2]


@steady
def solve_grains(
    first, last, indices, keeps, shifts, groups, owners, surfaces, bodies, pushes, holds, normals, rate
):  # fmt: skip
    """Solve consecutive rows in order; arguments as of `sweep_grains`."""
    for r in range(first, last):
        i, j, keep = indices[r, 0], indices[r, 1], keeps[r]
        b = (bodies[i, 0] - bodies[j, 0], bodies[i, 1] - bodies[j, 1], bodies[i, 2] - bodies[j, 2])
        if len(shifts) > 1:
            g, f = groups[i], groups[j]
            b = add(b, (shifts[g, 0] - shifts[f, 0], shifts[g, 1] - shifts[f, 1], shifts[g, 2] - shifts[f, 2]))
        way = (bodies[i, 4] - bodies[j, 4], bodies[i, 5] - bodies[j, 5], bodies[i, 6] - bodies[j, 6])
        a, old = sub(b, way), pushes[r]
        n, depth, before = meeting(a, b, way, keep)
        if depth > ZERO or old > ZERO:
            if depth <= ZERO:
                n, depth, before = upright(b, a), keep - norm(b), keep - norm(a)
                before = before if before > -SLOP * keep else ZERO * before
            w0, w1 = bodies[i, 3], bodies[j, 3]
            one, two = owners[i], owners[j]
            held = (holds[r, 0], holds[r, 1], holds[r, 2])
            push, hold = answer(
                n, depth, before, way, old, held, (surfaces[one, 0], surfaces[one, 1]),
                (surfaces[two, 0], surfaces[two, 1]), (surfaces[one, 3] + surfaces[two, 3]) * rate * rate, w0 + w1
            )  # fmt: skip
            loud = add(scale(n, push - old), sub(hold, held))
            bodies[i, 0] += w0 * loud[0]
            bodies[i, 1] += w0 * loud[1]
            bodies[i, 2] += w0 * loud[2]
            bodies[j, 0] -= w1 * loud[0]
            bodies[j, 1] -= w1 * loud[1]
            bodies[j, 2] -= w1 * loud[2]
            bodies[i, 4] += w0 * loud[0]
            bodies[i, 5] += w0 * loud[1]
            bodies[i, 6] += w0 * loud[2]
            bodies[j, 4] -= w1 * loud[0]
            bodies[j, 5] -= w1 * loud[1]
            bodies[j, 6] -= w1 * loud[2]
            pushes[r] = push
            holds[r, 0], holds[r, 1], holds[r, 2] = hold
            normals[r, 0], normals[r, 1], normals[r, 2] = n


@numba.njit(parallel=True, cache=True, **STEADY)
def start_grains(threads, order, offsets, indices, keeps, shifts, groups, bodies, pushes, holds, escape):
    """Let each row push as in the last substep, and what overlaps come out, by `escape` [m] at most.

    Other arguments as of `sweep_grains`.
    """
    count = len(indices)
    for colour in range(len(offsets) - 1):
        begin, end = offsets[colour], offsets[colour + 1]
        share = end - begin
        if threads == 1 or share < WORTH:
            for k in range(begin, end):
                start_block(order[k] * BLOCK, min(order[k] * BLOCK + BLOCK, count), indices, keeps, shifts, groups,
                            bodies, pushes, holds, escape)  # fmt: skip
        else:
            for t in numba.prange(threads):
                for k in range(begin + share * t // threads, begin + share * (t + 1) // threads):
                    start_block(order[k] * BLOCK, min(order[k] * BLOCK + BLOCK, count), indices, keeps, shifts, groups,
                                bodies, pushes, holds, escape)  # fmt: skip


@numba.njit(parallel=True, cache=True, **STEADY)
def sweep_grains(
    threads, order, offsets, indices, keeps, shifts, groups, owners, surfaces, bodies, pushes, holds, normals, rate
):  # fmt: skip
    """Solve all rows once.

    Args:
        threads: Threads to use.
        order: Blocks by colour, (B,).
        offsets: Where each colour starts, (C + 1,).
        indices: Bodies of each row, (M, 2).
        keeps: Distance that each row keeps [m], (M,).
        shifts: Origin of each group relative to any place, (G, 3); not used where there is only one.
        groups: Group of each body, (P,).
        owners: Thing of each body, (P,).
        surfaces: Friction, static friction, restitution and compliance of each thing, (T, 4).
        bodies: Position, inverse mass, way in this substep, (P, 8).
        pushes: Multiplier of each row [kg m], (M,).
        holds: Friction of each row on its first body [kg m], (M, 3).
        normals: Normal of each row when it last pushed, (M, 3).
        rate: 1 / h [1/s].
    """
    count = len(indices)
    for colour in range(len(offsets) - 1):
        begin, end = offsets[colour], offsets[colour + 1]
        share = end - begin
        if threads == 1 or share < WORTH:
            for k in range(begin, end):
                solve_grains(order[k] * BLOCK, min(order[k] * BLOCK + BLOCK, count), indices, keeps, shifts, groups,
                             owners, surfaces, bodies, pushes, holds, normals, rate)  # fmt: skip
        else:
            for t in numba.prange(threads):
                for k in range(begin + share * t // threads, begin + share * (t + 1) // threads):
                    solve_grains(order[k] * BLOCK, min(order[k] * BLOCK + BLOCK, count), indices, keeps, shifts,
                                 groups, owners, surfaces, bodies, pushes, holds, normals, rate)  # fmt: skip


@numba.njit(parallel=True, cache=True, **STEADY)
def collect(pushes, holds, normals, rate, impulses):
    """Add to the impulses of the rows [N s], (M, 3), what they did in a substep; arguments as of `sweep_grains`."""
    for r in numba.prange(len(pushes)):
        for k in range(3):
            impulses[r, k] += rate * (pushes[r] * normals[r, k] + holds[r, k])


@numba.njit(cache=True, **STEADY)
def recall(indices, particles, count, pairs, known_pushes, known_holds, pushes, holds):
    """Give each row what its pair did before.

    Args:
        indices: Bodies of each row, (M, 2).
        particles: Particle of each body, (P,).
        count: Particles of the scene.
        pairs: Pairs of particles, (K, 2).
        known_pushes: Multiplier of each [kg m], (K,).
        known_holds: Friction of each on its first particle [kg m], (K, 3).
        pushes: Filled, (M,); 0 where the pair is not known.
        holds: Filled, (M, 3).
    """
    # pairs by their smaller particle
    offsets = np.zeros(count + 2, np.int64)
    for k in range(len(pairs)):
        offsets[min(pairs[k, 0], pairs[k, 1]) + np.uint32(2)] += 1
    for i in range(count):
        offsets[i + 2] += offsets[i + 1]
    items = np.empty(len(pairs), np.int64)
    for k in range(len(pairs)):
        low = min(pairs[k, 0], pairs[k, 1]) + np.uint32(1)
        items[offsets[low]] = k
        offsets[low] += 1
    for r in range(len(indices)):
        p, q = particles[indices[r, 0]], particles[indices[r, 1]]
        low, high = min(p, q), max(p, q)
        pushes[r] = ZERO
        holds[r, 0] = holds[r, 1] = holds[r, 2] = ZERO
        for at in range(offsets[low], offsets[low + np.uint32(1)]):
            k = items[at]
            one, other = pairs[k, 0], pairs[k, 1]
            if max(one, other) == high:
                pushes[r] = known_pushes[k]
                sign = ONE if one == p else -ONE
                for c in range(3):
                    holds[r, c] = sign * known_holds[k, c]
