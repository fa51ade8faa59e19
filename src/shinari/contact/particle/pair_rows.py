"""Contact rows of two balls: |xi - xj| >= d.

          way of the substep                 a: xj to xi at its start, b: now
      a  . . . . > hit                       hit: where the way from a to b first comes within d
                  |  .                       n = b / |b|, or hit / d when b lies beyond: fast balls stop at the plane
                 (d)   . > b                 that touches where they met, whatever the substep
                  xj

What of the overlap came in the substep is pushed back and brings velocity. What earlier substeps of the step have left
brings velocity too, up to a limited speed: without that memory one sweep in a substep does not stop a heap that lands.
What overlapped when the step began comes out at the limited speed and brings none. With a compliance the row is one of
XPBD (Macklin et al. 2016, eq. 18) and all of its push brings velocity. Friction takes from the slip of the substep up
to mu times the push, all of it when that is enough (Macklin et al. 2014, Unified Particle Physics, eq. 24).

A sweep works on bodies: position, inverse mass and way of the balls side by side, in the order of the grid. Rows are
cut into blocks; those of one colour share no ball that can move, and run at once.
"""

import numba
import numpy as np

from shinari.contact.surface.rows import combined
from shinari.maths.function import STEADY, steady
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, reciprocal, scale, sub

BLOCK = 64
# Blocks of a colour for which it is worth waking the threads.
WORTH = 8
# Cosine up to which the place now and the place of entry count as the same side.
SAME_SIDE = np.float32(0.7)


@steady
def upright(a, fallback):
    """Unit vector of a; of the fallback where a is zero; upwards where both are."""
    length = norm(a)
    if length > ZERO:
        return scale(a, ONE / length)
    length = norm(fallback)
    if length > ZERO:
        return scale(fallback, ONE / length)
    return length, length + ONE, length


@steady
def meeting(a, b, way, keep):
    """Normal and depth of b below the plane of contact, negative or zero when there is none; and what overlapped at a.

    Args:
        a: From the second ball to the first at the start of the substep.
        b: The same now.
        way: b - a.
        keep: Distance to keep.
    """
    aa, bb, ab, length = dot(a, a), dot(b, b), dot(a, way), dot(way, way)
    zero = keep - keep
    c = aa - keep * keep
    inside, outside = c <= ZERO, bb >= keep * keep
    # it enters and leaves again where it comes nearest on the way, and within the distance
    passes = ab < ZERO and ab + length > ZERO and ab * ab > length * c
    if outside and not inside and not passes:
        return (zero, zero, zero), zero, zero
    root = -ab + np.sqrt(max(ab * ab - length * c, ZERO))
    t = zero if inside or root <= ZERO else min(c / root, ONE)
    entry = upright(add(a, scale(way, t)), b)
    here = upright(b, entry)
    same = dot(entry, here) > SAME_SIDE
    if outside and inside and same:
        return (zero, zero, zero), zero, zero
    before = max(keep - np.sqrt(aa), ZERO)
    if same and not outside:
        return here, keep - np.sqrt(bb), before
    return entry, keep - dot(entry, b), before


@steady
def response(n, depth, before, way, quiet, old, first, second, softness, mobility, escape):
    """What a row does about its depth.

    Args:
        n: Normal.
        depth: Depth now [m], positive.
        before: Depth at the start of the substep [m].
        way: Relative way of the substep [m].
        quiet: The part of `before` that comes out without velocity [m].
        old: Multiplier of the row so far in this substep.
        first: Friction and static friction of the first surface.
        second: Those of the second.
        softness: Compliance / h^2.
        mobility: Sum of the inverse masses.
        escape: How far what overlapped may come out [m].

    Returns:
        Relative correction that brings velocity, and how much of the length along n brings none; change of the
        multiplier.
    """
    fresh = max(depth - before, ZERO)
    left = min(max(depth - fresh - quiet, ZERO), escape)
    change = (fresh + left) / mobility
    out = min(depth - fresh - left, escape - left)
    if softness > ZERO:
        change, out = max((depth - softness * old) / (mobility + softness), -old), ZERO * out
    push = change * mobility
    along = sub(way, scale(n, dot(n, way)))
    slip = norm(along)
    sliding, sticking = combined(first[0], second[0]), combined(first[1], second[1])
    # no slip is all held; a compliant row that pulls back holds nothing
    hold = ONE if slip <= sticking * push else min(max(sliding * push, ZERO) * reciprocal(slip), ONE)
    return sub(scale(n, push), scale(along, hold)), out, change


# Rows are solved in functions of a whole block, whose arrays are counted once: a function of one row that is given the
# arrays would count their references anew for each row, which takes ten times as long as the row.


@steady
def solve_block(
    first, last, indices, keeps, shifts, groups, owners, surfaces, bodies, silent, pushes, impulses, normals, rate,
    escape
):  # fmt: skip
    """Solve consecutive rows in order; arguments as of `sweep`."""
    for r in range(first, last):
        i, j, keep = indices[r, 0], indices[r, 1], keeps[r]
        b = (bodies[i, 0] - bodies[j, 0], bodies[i, 1] - bodies[j, 1], bodies[i, 2] - bodies[j, 2])
        if len(shifts) > 1:
            g, f = groups[i], groups[j]
            b = add(b, (shifts[g, 0] - shifts[f, 0], shifts[g, 1] - shifts[f, 1], shifts[g, 2] - shifts[f, 2]))
        way = (bodies[i, 4] - bodies[j, 4], bodies[i, 5] - bodies[j, 5], bodies[i, 6] - bodies[j, 6])
        n, depth, before = meeting(sub(b, way), b, way, keep)
        if depth > ZERO:
            w0, w1 = bodies[i, 3], bodies[j, 3]
            one, two = owners[i], owners[j]
            quiet = min(before, silent[r])
            silent[r] = quiet
            old = pushes[r] if len(pushes) > 0 else quiet - quiet
            loud, out, change = response(
                n, depth, before, way, quiet, old, (surfaces[one, 0], surfaces[one, 1]),
                (surfaces[two, 0], surfaces[two, 1]), (surfaces[one, 3] + surfaces[two, 3]) * rate * rate, w0 + w1,
                escape
            )  # fmt: skip
            if len(pushes) > 0:
                pushes[r] = old + change
            move, inverse = add(loud, scale(n, out)), ONE / (w0 + w1)
            p0, p1, scaled = w0 * inverse, w1 * inverse, inverse * rate
            bodies[i, 0] += p0 * move[0]
            bodies[i, 1] += p0 * move[1]
            bodies[i, 2] += p0 * move[2]
            bodies[j, 0] -= p1 * move[0]
            bodies[j, 1] -= p1 * move[1]
            bodies[j, 2] -= p1 * move[2]
            bodies[i, 4] += p0 * loud[0]
            bodies[i, 5] += p0 * loud[1]
            bodies[i, 6] += p0 * loud[2]
            bodies[j, 4] -= p1 * loud[0]
            bodies[j, 5] -= p1 * loud[1]
            bodies[j, 6] -= p1 * loud[2]
            impulses[r, 0] += scaled * loud[0]
            impulses[r, 1] += scaled * loud[1]
            impulses[r, 2] += scaled * loud[2]
            normals[r, 0], normals[r, 1], normals[r, 2] = n[0], n[1], n[2]


@steady
def rebound_block(
    first, last, indices, particles, owners, surfaces, x, velocities, before, pushes, impulses, normals, slow
):  # fmt: skip
    """Restitution of consecutive rows in order; arguments as of `rebounds`.

    The speed of approach is the one at the start of the substep, or the one that a neighbour's rebound has just
    brought.
    """
    for r in range(first, last):
        if pushes[r] > ZERO:
            i, j = indices[r, 0], indices[r, 1]
            e = max(surfaces[owners[i], 2], surfaces[owners[j], 2])
            p, q = particles[i], particles[j]
            w0, w1, n = x[p, 3], x[q, 3], (normals[r, 0], normals[r, 1], normals[r, 2])
            u = (velocities[p, 0] - velocities[q, 0], velocities[p, 1] - velocities[q, 1],
                 velocities[p, 2] - velocities[q, 2])  # fmt: skip
            u0 = (before[p, 0] - before[q, 0], before[p, 1] - before[q, 1], before[p, 2] - before[q, 2])
            now = dot(n, u)
            approach = min(dot(n, u0), now)
            bounces = approach < -slow and e > ZERO
            change = max(-e * approach - now, ZERO) / (w0 + w1) if bounces else ZERO * now
            velocities[p, 0] += w0 * change * n[0]
            velocities[p, 1] += w0 * change * n[1]
            velocities[p, 2] += w0 * change * n[2]
            velocities[q, 0] -= w1 * change * n[0]
            velocities[q, 1] -= w1 * change * n[1]
            velocities[q, 2] -= w1 * change * n[2]
            impulses[r, 0] += change * n[0]
            impulses[r, 1] += change * n[1]
            impulses[r, 2] += change * n[2]


@numba.njit(parallel=True, cache=True, **STEADY)
def sweep(
    threads, order, offsets, indices, keeps, shifts, groups, owners, surfaces, bodies, silent, pushes, impulses,
    normals, rate, escape
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
        silent: What overlapped when the step began [m], (M,); no less where the row has not touched yet.
        pushes: Multiplier of each row in this substep [kg m], (M,); empty where no surface needs it.
        impulses: Impulse of each row on its first body, summed over the step [N s], (M, 3).
        normals: Normal of each row when it last pushed, (M, 3).
        rate: 1 / h [1/s].
        escape: How far what overlapped at the start may come out [m].
    """
    count = len(indices)
    for colour in range(len(offsets) - 1):
        begin, end = offsets[colour], offsets[colour + 1]
        share = end - begin
        if threads == 1 or share < WORTH:
            for k in range(begin, end):
                solve_block(order[k] * BLOCK, min(order[k] * BLOCK + BLOCK, count), indices, keeps, shifts, groups,
                            owners, surfaces, bodies, silent, pushes, impulses, normals, rate, escape)  # fmt: skip
        else:
            for t in numba.prange(threads):
                for k in range(begin + share * t // threads, begin + share * (t + 1) // threads):
                    solve_block(order[k] * BLOCK, min(order[k] * BLOCK + BLOCK, count), indices, keeps, shifts, groups,
                                owners, surfaces, bodies, silent, pushes, impulses, normals, rate,
                                escape)  # fmt: skip


@numba.njit(parallel=True, cache=True, **STEADY)
def rebounds(
    threads, order, offsets, indices, particles, owners, surfaces, x, velocities, before, pushes, impulses, normals,
    slow
):  # fmt: skip
    """Restitution of all rows that pushed: they leave at e times the speed of approach (Mueller et al. 2020, eq. 34).

    Args:
        threads: Threads to use.
        order: Blocks by colour, (B,).
        offsets: Where each colour starts, (C + 1,).
        indices: Bodies of each row, (M, 2).
        particles: Particle of each body, (P,).
        owners: Thing of each body, (P,).
        surfaces: Friction, static friction, restitution and compliance of each thing, (T, 4).
        x: Positions and inverse mass, (N, 4).
        velocities: Velocities [m/s], (N, 3).
        before: Velocities at the start of the substep [m/s], (N, 3).
        pushes: Multiplier of each row in this substep, (M,).
        impulses: Impulse of each row on its first body, summed over the step [N s], (M, 3).
        normals: Normal of each row when it last pushed, (M, 3).
        slow: Speed of approach up to which nothing bounces [m/s].
    """
    count = len(indices)
    for colour in range(len(offsets) - 1):
        begin, end = offsets[colour], offsets[colour + 1]
        share = end - begin
        for t in numba.prange(threads):
            for k in range(begin + share * t // threads, begin + share * (t + 1) // threads):
                rebound_block(order[k] * BLOCK, min(order[k] * BLOCK + BLOCK, count), indices, particles, owners,
                              surfaces, x, velocities, before, pushes, impulses, normals, slow)  # fmt: skip


@numba.njit(parallel=True, cache=True, **STEADY)
def gather(threads, particles, x, predicted, velocities, h, origin, drift, margins, bodies, ways, left):
    """Bring the particles to their bodies; `left` (threads,) tells whether one is farther from its origin than allowed.

    Args:
        threads: Threads to use.
        particles: Particle of each body, (P,).
        x: Positions and inverse mass, (N, 4).
        predicted: Predicted positions, (N, 3).
        velocities: Velocities of the prediction [m/s], (N, 3).
        h: Substep [s].
        origin: Positions at the detection, (P, 3).
        drift: What all have moved since [m], (3,).
        margins: How far each may be from where it drifted [m], (P,).
        bodies: Filled with position, inverse mass and way, (P, 8).
        ways: Filled with the ways, (P, 3).
        left: Filled, (threads,).
    """
    for t in numba.prange(threads):
        gone = False
        for p in range(len(particles) * t // threads, len(particles) * (t + 1) // threads):
            i = particles[p]
            away = ZERO * h
            for k in range(3):
                at = x[i, k]
                off = at - origin[p, k] - drift[k]
                away += off * off
                bodies[p, k] = at
                ways[p, k] = bodies[p, 4 + k] = at - predicted[i, k] + h * velocities[i, k]
            bodies[p, 3] = x[i, 3]
            gone |= away > margins[p] * margins[p]
        left[t] = gone


@numba.njit(parallel=True, cache=True, **STEADY)
def scatter(threads, particles, bodies, ways, x, predicted, velocities, h, origin, drift, margins, left):
    """Bring what the rows changed back to the particles; arguments as of `gather`.

    The prediction moves with the position, and the velocity takes what of it brings velocity: so it keeps digits that
    a position has no room for.
    """
    rate = ONE / h
    for t in numba.prange(threads):
        gone = False
        for p in range(len(particles) * t // threads, len(particles) * (t + 1) // threads):
            i = particles[p]
            away = ZERO * h
            for k in range(3):
                at, now = x[i, k], bodies[p, k]
                change = bodies[p, 4 + k] - ways[p, k]
                off = now - origin[p, k] - drift[k]
                away += off * off
                if x[i, 3] > ZERO and (now != at or change != ZERO):
                    x[i, k] = now
                    predicted[i, k] += now - at
                    velocities[i, k] += change * rate
            gone |= away > margins[p] * margins[p]
        left[t] = gone
