"""Neighbour lists: for each point all others within reach, as fluids and grains gather them.

One cell after another: the points around the cell are copied next to each other, so that the distances from each point
of the cell are computed several at a time. Lists are counted, then written where the sums of the counts say: their
memory is exact and the same for any number of threads.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from shinari.contact.broad.grid import EXACT, SHARE, Grid
from shinari.contact.broad.neighbourhood import FIRST_ROOM, RANGES, U, first_of_cell, gather, ranges_around
from shinari.contact.buffers import grown


class NeighbourLists:
    """Finds the neighbours of points, and keeps the memory for them.

    Attributes:
        grid: The points sorted by cell: `grid.order`, `grid.columns`.
    """

    def __init__(self) -> None:
        self.grid = Grid()
        self._offsets = self._indices = None

    def find(
        self, points: NDArray[np.floating], reach: float, threads: int
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """All pairs with |xi - xj| < reach, as a list for each point in the order of the grid.

        The point at place a is the given point `grid.order[a]`. Its neighbours are at the places
        `indices[offsets[a]:offsets[a + 1]]`, ascending, without a itself. Who keeps the points in this order needs no
        other numbering.

        Args:
            points: C-contiguous, (N, 3) or (N, 4), finite; a fourth column is not read.
            reach: [m], positive; rounded to the type of the points.
            threads: Threads to work on, at most.

        Returns:
            Offsets (N + 1,) and indices (M,), valid until the next call.

        Raises:
            ShinariError: The points are spread over more cells than can be numbered.
        """
        count = len(points)
        threads = max(1, min(threads, count // SHARE))
        grid = self.grid
        grid.build(points, reach, threads)
        self._offsets = grown(self._offsets, count + 1, np.int64)
        offsets = self._offsets[: count + 1]
        squared = points.dtype.type(reach) ** 2
        _count(grid.columns, grid.entries, grid.starts, grid.sides, squared, threads, offsets)
        self._indices = grown(self._indices, int(offsets[count]), np.uint32)
        indices = self._indices[: offsets[count]]
        _fill(grid.columns, grid.entries, grid.starts, grid.sides, squared, threads, offsets, indices)
        return offsets, indices


@numba.njit(**EXACT)
def count_part(t, columns, entries, starts, sides, squared, threads, offsets):
    """One thread's part of `_count`."""
    near, places = np.empty((4, FIRST_ROOM), columns.dtype), np.empty(FIRST_ROOM, np.uint32)
    ranges = np.empty((RANGES, 2), np.int64)
    p, end = first_of_cell(entries, t, threads), first_of_cell(entries, t + 1, threads)
    while p < end:
        entry = np.int64(entries[p])
        n, total = ranges_around(entry, starts, sides, ranges)
        if total > len(places):
            near, places = np.empty((4, 2 * total), columns.dtype), np.empty(2 * total, np.uint32)
        gather(columns, ranges, n, near, places)
        last = np.int64(starts[entry + 1])
        for a in range(p, last):
            x, y, z = columns[0, a], columns[1, a], columns[2, a]
            found = np.int32(-1)
            for k in range(total):
                dx, dy, dz = x - near[0, k], y - near[1, k], z - near[2, k]
                found += np.int32(dx * dx + dy * dy + dz * dz < squared)
            # a point without a place is not even close to itself
            offsets[a + 1] = max(found, np.int32(0))
        p = last


@numba.njit(parallel=True, cache=True, **EXACT)
def _count(columns, entries, starts, sides, squared, threads, offsets):
    """Where each list starts, (N + 1,)."""
    if threads == 1:
        count_part(0, columns, entries, starts, sides, squared, threads, offsets)
    else:
        for t in numba.prange(threads):
            count_part(t, columns, entries, starts, sides, squared, threads, offsets)
    offsets[0] = 0
    for a in range(len(entries)):
        offsets[a + 1] += offsets[a]


@numba.njit(**EXACT)
def fill_part(t, columns, entries, starts, sides, squared, threads, offsets, indices):
    """One thread's part of `_fill`."""
    near, places = np.empty((4, FIRST_ROOM), columns.dtype), np.empty(FIRST_ROOM, np.uint32)
    close, hits = np.empty(FIRST_ROOM, np.uint8), np.empty(FIRST_ROOM, np.uint32)
    ranges = np.empty((RANGES, 2), np.int64)
    p, end = first_of_cell(entries, t, threads), first_of_cell(entries, t + 1, threads)
    while p < end:
        entry = np.int64(entries[p])
        n, total = ranges_around(entry, starts, sides, ranges)
        if total > len(places):
            near, places = np.empty((4, 2 * total), columns.dtype), np.empty(2 * total, np.uint32)
            close, hits = np.empty(2 * total, np.uint8), np.empty(2 * total, np.uint32)
        gather(columns, ranges, n, near, places)
        last = np.int64(starts[entry + 1])
        for a in range(p, last):
            x, y, z = columns[0, a], columns[1, a], columns[2, a]
            for k in range(total):
                dx, dy, dz = x - near[0, k], y - near[1, k], z - near[2, k]
                close[k] = dx * dx + dy * dy + dz * dz < squared
            # write always, keep what is close: no branch to guess
            found = U(0)
            for k in range(total):
                hits[found] = k
                found += U(close[k])
            # the point itself is among them, where its own place would stand: what follows moves up by one
            at = U(offsets[a])
            for k in range(offsets[a + 1] - offsets[a]):
                place = places[hits[U(k)]]
                indices[at + U(k)] = places[hits[U(k) + U(place >= a)]]
        p = last


@numba.njit(parallel=True, cache=True, **EXACT)
def _fill(columns, entries, starts, sides, squared, threads, offsets, indices):
    """Write the lists."""
    if threads == 1:
        fill_part(0, columns, entries, starts, sides, squared, threads, offsets, indices)
    else:
        for t in numba.prange(threads):
            fill_part(t, columns, entries, starts, sides, squared, threads, offsets, indices)
