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

import numpy as np
from numpy.typing import NDArray

from shinari.compute import Field, Record, colouring, kernel, shared
from shinari.compute.counting import by_smallest, counting_sort
from shinari.compute.program import load_kernels, run_once

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
    # rows that are renumbered are coloured next
    load_kernels(count_lines, order_particles, find_key, *colouring.KERNELS)
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
        places = Places(line=(rows[by_smallest(rows, len(order))] * _POINT // _LINE).ravel())
        stamps = Stamps(last=np.full(len(order) * _POINT // _LINE + 1, -1))
        counted = Count.zeros(1)
        run_once(count_lines, places, stamps, counted, _WINDOW * table.shape[1], count=1)
        lines, windows = lines + int(counted.lines[0]), windows + -(-len(rows) // _WINDOW)
    return lines / max(windows, 1)


class Places(Record):
    """Points of rows, row after row."""

    line = Field(np.int64, doc="line of memory of the point")


class Stamps(Record):
    """Lines of memory."""

    last = Field(np.int64, doc="window in which it was last touched")


class Count(Record):
    """One row: the result."""

    lines = Field(np.int64, doc="distinct lines, summed over windows of rows")


@kernel
def count_lines(_, places: Places, stamps: Stamps, count: Count, window: np.int64):
    """Count the distinct lines of each window of so many points."""
    lines = 0
    for at in range(len(places)):
        line, here = places.line[at], at // window
        if stamps.last[line] != here:
            stamps.last[line] = here
            lines += 1
    count.lines[0] = lines


def hilbert_order(positions: NDArray[np.float64]) -> NDArray[np.int64]:
    """Particles along a Hilbert curve through their bounding cube, shape (N,); Skilling 2004. Ties keep their order."""
    if len(positions) == 0:
        return np.zeros(0, np.int64)
    low = positions.min(axis=0)
    extent = float((positions.max(axis=0) - low).max())
    scale = (2**_LEVELS - 1) / extent if extent > 0.0 else 0.0
    cells = Cells(cell=((positions - low) * scale).astype(np.int64, order="C"), key=np.zeros(len(positions), np.int64))
    run_once(find_key, cells, count=len(cells))
    return np.argsort(cells.key, kind="stable")


class Cells(Record):
    """Cells of points along the axes, N rows."""

    cell = Field(np.int64, 3)
    key = Field(np.int64, doc="distance along the curve")


@kernel
def find_key(i, cells: Cells):
    """Distance of a cell along the curve: Skilling, Programming the Hilbert curve, AxestoTranspose."""
    bit = 1 << (_LEVELS - 1)
    while bit > 1:
        mask = bit - 1
        for axis in range(3):
            if cells.cell[i, axis] & bit:
                cells.cell[i, 0] ^= mask
            else:
                swap = (cells.cell[i, 0] ^ cells.cell[i, axis]) & mask
                cells.cell[i, 0] ^= swap
                cells.cell[i, axis] ^= swap
        bit >>= 1
    x, y, z = cells.cell[i]
    y ^= x
    z ^= y
    flip = 0
    bit = 1 << (_LEVELS - 1)
    while bit > 1:
        if z & bit:
            flip ^= bit - 1
        bit >>= 1
    key = 0
    for k in range(_LEVELS):
        level = _LEVELS - 1 - k
        key = key << 3 | ((x ^ flip) >> level & 1) << 2 | ((y ^ flip) >> level & 1) << 1 | ((z ^ flip) >> level & 1)
    cells.key[i] = key


def cuthill_mckee_order(indices: Sequence[NDArray[np.integer]], particle_count: int) -> NDArray[np.int64]:
    """Particles by reverse Cuthill-McKee, shape (N,): breadth first from a far end of each component, then reversed.

    Args:
        indices: Tables of rows, each of shape (M, P); a row links each of its particles to the next one.
        particle_count: N, the number of particles.
    """
    links = [table[:, slot : slot + 2] for table in indices for slot in range(table.shape[1] - 1)]
    pairs = np.ascontiguousarray(np.concatenate(links), dtype=np.int64)
    # both ends of each pair are neighbours of each other, in the order of the pairs
    places, offsets = counting_sort(pairs.ravel(), particle_count)
    links = Links(neighbour=pairs.ravel()[places ^ 1])
    particles = Particles(
        start=offsets,
        order=np.zeros(particle_count + 1, np.int64),
        seen=np.full(particle_count + 1, -1),
        done=np.zeros(particle_count + 1, np.bool_),
    )
    run_once(order_particles, particles, links, count=1)
    return particles.order[:particle_count][::-1].copy()


class Particles(Record):
    """Particles, N + 1 rows."""

    start = Field(np.int64, doc="first of its neighbours")
    order = Field(np.int64, doc="particles in the order of the search")
    seen = Field(np.int64, doc="number of the last search that has seen it")
    done = Field(np.bool_, doc="whether its component is finished")


class Links(Record):
    """Neighbours, particle after particle, with repetitions."""

    neighbour = Field(np.int64)


@shared
def search_component(particles: Particles, links: Links, start: int, mark: int, first: int) -> int:
    """Visit the component of `start`, neighbours by degree; writes from `order[first]` on, returns where it ended."""
    order, seen, starts = particles.order, particles.seen, particles.start
    order[first] = start
    seen[start] = mark
    head, tail = first, first + 1
    while head < tail:
        particle = order[head]
        head += 1
        fresh = tail
        for at in range(starts[particle], starts[particle + 1]):
            other = links.neighbour[at]
            if seen[other] == mark:
                continue
            seen[other] = mark
            degree = starts[other + 1] - starts[other]
            hole = tail  # insertion sort of the fresh ones by degree, over the last few only: a hub has many
            while hole > max(fresh, tail - 32) and starts[order[hole - 1] + 1] - starts[order[hole - 1]] > degree:
                order[hole] = order[hole - 1]
                hole -= 1
            order[hole] = other
            tail += 1
    return tail


@kernel
def order_particles(_, particles: Particles, links: Links):
    """Cuthill-McKee, not reversed: component after component, each from the far end of a search."""
    first, mark = 0, 0
    for particle in range(len(particles) - 1):
        if not particles.done[particle]:
            last = search_component(particles, links, particle, mark, first)
            for _search in range(2):  # the last one visited is far from the start: twice gives nearly a diameter
                if last - first < 3:
                    break
                mark += 1
                last = search_component(particles, links, particles.order[last - 1], mark, first)
            mark += 1
            for at in range(first, last):
                particles.done[particles.order[at]] = True
            first = last
