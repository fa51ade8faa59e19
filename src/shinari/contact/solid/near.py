"""Which solids are near which particles and elements, found once a step and again when something leaves its margin.

Each particle has a margin: twice the way it would go in a step, and a bit. A solid is near it when the gap is smaller,
and stays out of question otherwise until the particle has gone so far, relative to the solid, that its way in a substep
could reach it. That is checked before every projection, so nothing is missed; each time that the lists are made anew in
a step the margins double. All kernels write by particle or element: the lists do not depend on the threads.
"""

import numba
import numpy as np

from shinari.contact.broad.grid import EXACT
from shinari.contact.solid.collide import TWO, into, place, start_of
from shinari.contact.solid.shapes import CONTAINER, LAST_UNBOUNDED, PLANE, box_distance
from shinari.maths.function import STEADY, steady
from shinari.maths.vec3 import ZERO, add, dot, norm, scale, sub

THIRD = np.float32(1.0 / 3.0)
WORD = 64
# A thread takes most of its items four or eight at a time, with an approximate root, and the rest one by one: what
# decides whether there is a detection must not depend on that.
length = numba.njit(**EXACT)(norm.py_func)


@steady
def set_bit(masks, i, k):
    """Mark solid k in row i."""
    masks[i, k // WORD] |= np.uint64(1) << np.uint64(k % WORD)


@steady
def drift_of(reference, far, g, k, at):
    """Twice the way that a solid is expected to go past a point until the end of the step; 0 for one at rest."""
    return TWO * length(sub(into(far[g, k], at), into(reference[g, k], at)))


@steady
def least_gap(kind, q, s, lows, highs, k):
    """Lower bound of the distance of a point from solid k: from its surface if it has no end, else from its box."""
    if kind == PLANE:
        return dot(q, (s[0], s[1], s[2])) - s[3]
    if kind == CONTAINER:
        return -box_distance(q, s)
    x = max(max(lows[k, 0] - q[0], q[0] - highs[k, 0]), ZERO)
    y = max(max(lows[k, 1] - q[1], q[1] - highs[k, 1]), ZERO)
    z = max(max(lows[k, 2] - q[2], q[2] - highs[k, 2]), ZERO)
    return np.sqrt(x * x + y * y + z * z)


@steady
def mark_particles(
    begin, end, masks, places, margins, gone, ways, factor, dt, drop, x, predicted, velocities,
    radii, owners, ignored, groups, moves, kinds, sizes, lows, highs, before, after, far, h
):  # fmt: skip
    """Set the margin of particles, remember where they are, and mark the solids near them."""
    for i in range(begin, end):
        g = groups[i]
        now, start = place(x, i), start_of(x, predicted, velocities, h, i)
        speed = max(length(place(velocities, i)), length(sub(now, start)) / h)
        margin = factor * dt * (speed + drop) + radii[i]
        stride = length(sub(now, start))
        margins[i], gone[i], ways[i] = max(margin, stride), stride, stride
        places[i, 0], places[i, 1], places[i, 2] = now
        for word in range(masks.shape[1]):
            masks[i, word] = np.uint64(0)
        if x[i, 3] <= ZERO:
            continue
        for k in range(len(kinds)):
            q = into(after[g, k], now)
            bound = margins[i] + radii[i]
            if moves[k]:
                way = length(sub(q, into(before[g, k], start)))
                bound = max(margin + drift_of(after, far, g, k, now), way) + radii[i]
            if not ignored[owners[i], k] and least_gap(kinds[k], q, sizes[k], lows, highs, k) <= bound:
                set_bit(masks, i, k)


@steady
def mark_elements(
    begin, end, masks, elements, margins, x, predicted, velocities, radii, owners, ignored, groups,
    moves, kinds, sizes, lows, highs, before, after, far, h
):  # fmt: skip
    """Mark the solids near elements. A flat solid is left to their particles: one of them is always the deepest."""
    for e in range(begin, end):
        i0, i1, i2 = elements[e, 0], elements[e, 1], elements[e, 2]
        for word in range(masks.shape[1]):
            masks[e, word] = np.uint64(0)
        if max(x[i0, 3], max(x[i1, 3], x[i2, 3])) <= ZERO:
            continue
        g = groups[i0]
        x0, x1, x2 = place(x, i0), place(x, i1), place(x, i2)
        s0 = start_of(x, predicted, velocities, h, i0)
        s1 = start_of(x, predicted, velocities, h, i1)
        s2 = start_of(x, predicted, velocities, h, i2)
        centre = scale(add(x0, add(x1, x2)), THIRD)
        extent = max(length(sub(x0, centre)), max(length(sub(x1, centre)), length(sub(x2, centre))))
        margin = max(margins[i0], max(margins[i1], margins[i2]))
        radius = max(radii[i0], max(radii[i1], radii[i2]))
        for k in range(len(kinds)):
            if kinds[k] <= LAST_UNBOUNDED or ignored[owners[i0], k]:
                continue
            q, q0, q1, q2 = (
                into(after[g, k], centre), into(after[g, k], x0), into(after[g, k], x1), into(after[g, k], x2)
            )  # fmt: skip
            bound = margin + radius
            if moves[k]:
                way = max(
                    length(sub(q0, into(before[g, k], s0))),
                    max(length(sub(q1, into(before[g, k], s1))), length(sub(q2, into(before[g, k], s2)))),
                )
                drift = max(
                    drift_of(after, far, g, k, x0), max(drift_of(after, far, g, k, x1), drift_of(after, far, g, k, x2))
                )
                bound = max(margin + drift, way) + radius
            if least_gap(kinds[k], q, sizes[k], lows, highs, k) <= bound + extent:
                set_bit(masks, e, k)


@steady
def any_strayed(
    begin, end, places, margins, gone, ways, movers, x, predicted, velocities, groups, reference, before, after, far, h
):
    """Measure how far particles have gone, with their way in the substep; True when one leaves its margin by it."""
    strayed = False
    for i in range(begin, end):
        g = groups[i]
        now, start, then = place(x, i), start_of(x, predicted, velocities, h, i), place(places, i)
        ways[i] = length(sub(now, start))
        gone[i] = length(sub(now, then)) + ways[i]
        strayed |= not (gone[i] <= margins[i])
        for m in range(len(movers)):
            k = movers[m]
            q, was = into(after[g, k], now), into(before[g, k], start)
            past = length(sub(q, into(reference[g, k], then))) + length(sub(q, was))
            strayed |= not (past <= margins[i] + drift_of(reference, far, g, k, then))
    return strayed


@numba.njit(parallel=True, cache=True, **STEADY)
def strayed(
    threads,
    flags,
    places,
    margins,
    gone,
    ways,
    movers,
    x,
    predicted,
    velocities,
    groups,
    reference,
    before,
    after,
    far,
    h,
):
    """Whether any particle has left its margin; `flags` (threads,) is scratch."""
    n = len(x)
    if threads == 1:
        return any_strayed(
            0, n, places, margins, gone, ways, movers, x, predicted, velocities, groups, reference, before, after, far,
            h
        )  # fmt: skip
    for t in numba.prange(threads):
        flags[t] = any_strayed(
            n * t // threads, n * (t + 1) // threads, places, margins, gone, ways, movers, x, predicted, velocities,
            groups, reference, before, after, far, h
        )  # fmt: skip
    return flags[:threads].any()


@numba.njit(cache=True, **STEADY)
def count_marks(masks):
    """Rows with a mark, and marks."""
    rows = marks = 0
    for i in range(len(masks)):
        found = 0
        for word in range(masks.shape[1]):
            rest = masks[i, word]
            while rest != np.uint64(0):
                rest &= rest - np.uint64(1)
                found += 1
        rows += found > 0
        marks += found
    return rows, marks


@numba.njit(cache=True, **STEADY)
def list_marks(masks, items, offsets, solids):
    """Rows with a mark, ascending; where the solids of each start; the solids of each, ascending."""
    row = mark = 0
    offsets[0] = 0
    for i in range(len(masks)):
        first = mark
        for word in range(masks.shape[1]):
            rest, k = masks[i, word], word * WORD
            while rest != np.uint64(0):
                if rest & np.uint64(1) != np.uint64(0):
                    solids[mark] = k
                    mark += 1
                rest >>= np.uint64(1)
                k += 1
        if mark > first:
            items[row] = i
            row += 1
            offsets[row] = mark
