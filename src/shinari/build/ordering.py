"""Order in memory: numbers the particles so that rows which are solved together touch few cache lines.

Meshes from files come in any order, and a sweep over a shuffled one waits for memory at each row. Two orders are
tried, a Hilbert curve through the rest positions and reverse Cuthill-McKee on the graph of the rows, and measured by
the number of 64-byte lines that 64 consecutive rows touch. The order that the user gave stays if it is about as good,
as that of a regular grid, row by row, always is.

Mean lines per 64 rows, measured over the edges of three meshes:

| order                 | grid of 1155 x 1155 | sphere, 164k vertices | lattice of 40 x 40 x 40 |
|-----------------------|---------------------|-----------------------|-------------------------|
| as given              | 10.0                | 24.9                  | 14.7                    |
| shuffled              | 68.8                | 68.7                  | 68.5                    |
| Hilbert               | 10.3                | 12.0                  | 14.2                    |
| reverse Cuthill-McKee | 10.2                | 11.2                  | 14.1                    |
"""

from collections.abc import Sequence

import numba
import numpy as np
from numpy.typing import NDArray

from shinari.build.colouring import _sorted_by_smallest

#: A new order must touch this share of the lines of the given one, or fewer, to be worth the renumbering.
GAIN = 0.7

_LINE = 64  # bytes
_POINT = 12  # bytes of a position in float32
_WINDOW = 64  # rows
_LEVELS = 20  # bits per axis of the Hilbert curve


def locality_order(positions: NDArray[np.floating], indices: Sequence[NDArray[np.integer]]) -> NDArray[np.int64]:
    """Choose an order of the particles in which rows touch nearby memory.

    Args:
        positions: Rest positions [m], shape (N, 3).
        indices: Tables of rows, each of shape (M, P), by particle.

    Returns:
        A permutation, shape (N,): new particle k is the given particle `order[k]`; the identity if that is about as
        good.

    Raises:
        ValueError: A wrong shape, or an index outside of the particles.
    """
    points = np.ascontiguousarray(positions, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 3:
        raise ValueError(f"positions must have the shape (N, 3), not {points.shape}")
    count = len(points)
    tables = [_checked(table, count) for table in indices]
    tables = [table for table in tables if table.size and table.shape[1] > 1]
    identity = np.arange(count, dtype=np.int64)
    if not tables:
        return identity
    best, fewest = identity, GAIN * lines_touched(identity, tables)
    for order in (cuthill_mckee_order(tables, count), hilbert_order(points)):
        touched = lines_touched(order, tables)
        if touched < fewest:
            best, fewest = order, touched
    return best


def _checked(table: NDArray[np.integer], count: int) -> NDArray[np.int64]:
    """A table of rows as C-contiguous int64, its indices within the particles."""
    rows = np.asarray(table)
    if rows.ndim != 2 or rows.dtype.kind not in "iu":
        raise ValueError(f"indices must be integers of shape (rows, points), not {rows.dtype} of shape {rows.shape}")
    if rows.size and (rows.min() < 0 or rows.max() >= count):
        raise ValueError(f"indices must lie in [0, {count}), found {rows.min()} to {rows.max()}")
    return np.ascontiguousarray(rows, dtype=np.int64)


def lines_touched(order: NDArray[np.int64], indices: Sequence[NDArray[np.integer]]) -> float:
    """Mean number of 64-byte lines of float32 positions that 64 rows touch, after a renumbering.

    Args:
        order: New particle k is the given particle `order[k]`, shape (N,).
        indices: Tables of rows, each of shape (M, P), by given particle; taken by smallest new particle, as inside
            a colour.
    """
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    lines = windows = 0
    for table in indices:
        rows = place[table]
        found = _lines(rows, _sorted_by_smallest(rows, len(order)), len(order))
        lines, windows = lines + found[0], windows + found[1]
    return lines / max(windows, 1)


@numba.njit(cache=True)
def _lines(rows, order, particle_count):
    """Distinct lines, summed over windows of rows, and the number of windows."""
    stamp = np.full(particle_count * _POINT // _LINE + 1, -1, np.int64)
    lines = 0
    for at in range(order.size):
        window = at // _WINDOW
        for slot in range(rows.shape[1]):
            line = rows[order[at], slot] * _POINT // _LINE
            if stamp[line] != window:
                stamp[line] = window
                lines += 1
    return lines, (order.size + _WINDOW - 1) // _WINDOW


def hilbert_order(positions: NDArray[np.float64]) -> NDArray[np.int64]:
    """Particles along a Hilbert curve through their bounding cube, shape (N,); Skilling 2004. Ties keep their order."""
    if len(positions) == 0:
        return np.zeros(0, np.int64)
    low = positions.min(axis=0)
    extent = float((positions.max(axis=0) - low).max())
    scale = (2**_LEVELS - 1) / extent if extent > 0.0 else 0.0
    return np.argsort(_hilbert_keys(positions, low, scale), kind="stable")


@numba.njit(cache=True)
def _hilbert_keys(positions, low, scale):
    """Distance along the curve of each point's cell: Skilling, Programming the Hilbert curve, AxestoTranspose."""
    keys = np.empty(len(positions), np.int64)
    x = np.empty(3, np.int64)
    for particle in range(len(positions)):
        for axis in range(3):
            x[axis] = np.int64((positions[particle, axis] - low[axis]) * scale)
        bit = 1 << (_LEVELS - 1)
        while bit > 1:
            mask = bit - 1
            for axis in range(3):
                if x[axis] & bit:
                    x[0] ^= mask
                else:
                    swap = (x[0] ^ x[axis]) & mask
                    x[0] ^= swap
                    x[axis] ^= swap
            bit >>= 1
        x[1] ^= x[0]
        x[2] ^= x[1]
        flip = 0
        bit = 1 << (_LEVELS - 1)
        while bit > 1:
            if x[2] & bit:
                flip ^= bit - 1
            bit >>= 1
        key = 0
        for level in range(_LEVELS - 1, -1, -1):
            for axis in range(3):
                key = (key << 1) | (((x[axis] ^ flip) >> level) & 1)
        keys[particle] = key
    return keys


def cuthill_mckee_order(indices: Sequence[NDArray[np.integer]], particle_count: int) -> NDArray[np.int64]:
    """Particles by reverse Cuthill-McKee, shape (N,): breadth first from a far end of each component, then reversed.

    Args:
        indices: Tables of rows, each of shape (M, P); a row links each of its particles to the next one.
        particle_count: N, the number of particles.
    """
    links = [table[:, slot : slot + 2] for table in indices for slot in range(table.shape[1] - 1)]
    pairs = np.ascontiguousarray(np.concatenate(links), dtype=np.int64)
    return _cuthill_mckee(*_neighbours(pairs, particle_count))[::-1].copy()


@numba.njit(cache=True)
def _neighbours(pairs, particle_count):
    """Both ends of each pair as neighbours of each other: offsets (N + 1,), neighbours (2 E,), with repetitions."""
    offsets = np.zeros(particle_count + 1, np.int64)
    for pair in range(len(pairs)):
        offsets[pairs[pair, 0] + 1] += 1
        offsets[pairs[pair, 1] + 1] += 1
    for particle in range(particle_count):
        offsets[particle + 1] += offsets[particle]
    cursor = offsets[:-1].copy()
    neighbours = np.empty(2 * len(pairs), np.int64)
    for pair in range(len(pairs)):
        i, j = pairs[pair, 0], pairs[pair, 1]
        neighbours[cursor[i]] = j
        cursor[i] += 1  # before the other end is written: a row may name a particle twice
        neighbours[cursor[j]] = i
        cursor[j] += 1
    return offsets, neighbours


@numba.njit(cache=True)
def _breadth_first(offsets, neighbours, start, seen, mark, order, first):
    """Visit the component of `start`, neighbours by degree; writes from `order[first]` on, returns where it ended."""
    order[first] = start
    seen[start] = mark
    head, tail = first, first + 1
    while head < tail:
        particle = order[head]
        head += 1
        fresh = tail
        for at in range(offsets[particle], offsets[particle + 1]):
            other = neighbours[at]
            if seen[other] == mark:
                continue
            seen[other] = mark
            degree = offsets[other + 1] - offsets[other]
            hole = tail  # insertion sort of the fresh ones by degree, over the last few only: a hub has many
            while hole > max(fresh, tail - 32) and offsets[order[hole - 1] + 1] - offsets[order[hole - 1]] > degree:
                order[hole] = order[hole - 1]
                hole -= 1
            order[hole] = other
            tail += 1
    return tail


@numba.njit(cache=True)
def _cuthill_mckee(offsets, neighbours):
    """Cuthill-McKee, not reversed: component after component, each from the far end of a search."""
    count = offsets.size - 1
    order = np.empty(count, np.int64)
    seen = np.full(count, -1, np.int64)
    done = np.zeros(count, np.bool_)
    first = 0
    mark = 0
    for particle in range(count):
        if done[particle]:
            continue
        start = particle
        last = _breadth_first(offsets, neighbours, start, seen, mark, order, first)
        for _ in range(2):  # the last one visited is far from the start: twice gives nearly a diameter
            if last - first < 3:
                break
            start = order[last - 1]
            mark += 1
            last = _breadth_first(offsets, neighbours, start, seen, mark, order, first)
        mark += 1
        for at in range(first, last):
            done[order[at]] = True
        first = last
    return order
