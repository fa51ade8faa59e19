"""A uniform grid over points: which ones lie in a cell, in memory next to each other.

Cells are numbered along x, then y, then z, in a table that repeats itself in all directions: cell (i, j, k) of space is
entry (i mod nx, j mod ny, k mod nz). A table as large as the bounding box is an ordinary grid; points spread farther
than that share entries with points far away, which the distance test of a search rejects. So the domain has no bounds,
a row of cells stays contiguous, and the 27 cells around a point are 27 entries, since no side is shorter than three:
nothing is found twice.

Points are brought into the order of the cells by counting (Green 2008, Particle simulation using CUDA), first into
buckets of consecutive cells, then within each, so that all threads work on memory that fits their caches. Inside a cell
they keep the order of their indices: the result does not depend on the number of threads.
"""

import math
from collections.abc import Sequence

import numba
import numpy as np
from numpy.typing import NDArray

from shinari.contact.buffers import grown
from shinari.errors import ShinariError
from shinari.maths.function import STEADY

# Searches count first and write later: both must come to the same answer for a pair, from either side, in the vector
# part of a loop and in its rest. So the arithmetic of the broad phase is taken as written.
EXACT = {**STEADY, "fastmath": False}

# A cell is this much larger than asked, more than the rounding of its number: see `cell_number`.
SLACK = 1e-5
# More cells in a row than this are not numbered: their coordinates would round by more than SLACK.
MOST_CELLS = 2**31
# Entries of the table for each point when space has more cells than that.
ENTRIES = 2
FEWEST_ENTRIES = 4096
BUCKETS = 1024
# No side of the table is shorter: the cells before, at and after one are three entries.
FEWEST = 3
# Points for which it is worth waking one more thread.
SHARE = 4096


class Grid:
    """Points sorted by cell.

    The arrays are valid until the next `build`, which uses their memory again.

    Attributes:
        order: Index of each sorted point, (N,) uint32.
        columns: x, y, z of the sorted points and a fourth number of each, (4, N), in the precision of the points.
        entries: Entry of the table of each sorted point, (N,) uint32, ascending.
        starts: Entry e holds the sorted points `starts[e]` to `starts[e + 1]`, (nx ny nz + 1,) uint32.
        sides: nx, ny, nz.
        low: Corner where the cells start (three floats) [m].
        inverse: Cells in a metre [1/m].
    """

    def __init__(self) -> None:
        self.low = (0.0, 0.0, 0.0)
        self.inverse = 1.0
        self.sides = (FEWEST, FEWEST, FEWEST)
        self._order = self._columns = self._entries = self._starts = None
        self._numbers = self._moved = self._histogram = self._extrema = None
        self._edges = np.empty(BUCKETS + 1, np.int64)
        self._all = np.empty(0, np.uint32)
        self._none = {kind: np.empty(0, kind) for kind in (np.float32, np.float64)}

    def build(
        self,
        points: NDArray[np.floating],
        reach: float,
        threads: int,
        members: NDArray[np.uint32] | None = None,
        fourth: NDArray[np.floating] | None = None,
    ) -> None:
        """Sort points into cells of the size of the reach.

        Args:
            points: C-contiguous, (N, 3) or (N, 4), finite; a fourth column is not read.
            reach: Distance up to which neighbours will be sought [m], positive.
            threads: Threads to work on, at most.
            members: Indices of the points to take, ascending; all by default.
            fourth: Number of each point to carry along, (N,), of the type of the points; 0 by default.

        Raises:
            ShinariError: The points are spread over more cells than can be numbered.
        """
        if members is None:
            if len(self._all) < len(points):
                self._all = np.arange(1.5 * len(points) + 1, dtype=np.uint32)
            members = self._all[: len(points)]
        if fourth is None:
            fourth = self._none[points.dtype.type]
        count = len(members)
        threads = max(1, min(threads, count // SHARE))
        self._lay_out(points, members, reach, threads)
        nx, ny, nz = self.sides
        entries = nx * ny * nz
        shift = max(0, (entries - 1).bit_length() - (BUCKETS - 1).bit_length())

        self._order = grown(self._order, count, np.uint32)
        self._columns = grown(self._columns, 4 * count, points.dtype)
        self._entries = grown(self._entries, count, np.uint32)
        self._starts = grown(self._starts, entries + 1, np.uint32)
        self._numbers = grown(self._numbers, count, np.uint32)
        self._moved = grown(self._moved, count, np.uint32, 2)
        self._histogram = grown(self._histogram, threads, np.int64, BUCKETS)
        self.order, self.columns = self._order[:count], self._columns[: 4 * count].reshape(4, count)
        self.entries, self.starts = self._entries[:count], self._starts[: entries + 1]

        numbers, moved, histogram = self._numbers[:count], self._moved[:count], self._histogram[:threads]
        sides = np.uint32(nx), np.uint32(ny), np.uint32(nz)
        _number(points, members, self.low, self.inverse, sides, shift, threads, numbers, histogram)
        _into_buckets(members, numbers, shift, threads, histogram, self._edges, moved)
        _within_buckets(
            points, fourth, moved, shift, threads, self._edges, self.starts, self.order, self.columns, self.entries
        )

    def _lay_out(self, points, members, reach, threads):
        """Choose where the cells start, their size and the sides of the table."""
        self.inverse = 1.0 / (reach * (1.0 + SLACK))
        if not len(members):
            self.low, self.sides = (0.0, 0.0, 0.0), (FEWEST, FEWEST, FEWEST)
            return
        self._extrema = grown(self._extrema, threads, np.float64, 6)
        _bounds(points, members, threads, self._extrema)
        low, high = self._extrema[:threads, :3].min(axis=0), self._extrema[:threads, 3:].max(axis=0)
        cells = (high - low) * self.inverse
        if not cells.max() < MOST_CELLS:
            raise ShinariError(
                f"points are spread over {(high - low).max():.3g} m, too far to find neighbours within "
                f"{reach:.3g} m: a point has flown away"
            )
        self.low = (float(low[0]), float(low[1]), float(low[2]))
        # one empty cell at the end keeps the two ends of a table that does not repeat apart
        wanted = [max(int(c) + 2, FEWEST) for c in cells]
        self.sides = table_sides(wanted, max(FEWEST_ENTRIES, ENTRIES * len(members)))


def table_sides(wanted: list[int], entries: int) -> tuple[int, int, int]:
    """Sides of a table of at most about so many entries, from FEWEST to as long as wanted.

    A side that is shorter than wanted is prime, so that what repeats in space at round distances does not fall on the
    same entries again and again.
    """
    sides = [0, 0, 0]
    left = entries
    for rank, axis in enumerate(sorted(range(3), key=lambda a: wanted[a])):
        share = max(FEWEST, math.floor(left ** (1.0 / (3 - rank))))
        sides[axis] = wanted[axis] if wanted[axis] <= share else _prime(share, sides)
        left = max(1, left // sides[axis])
    return sides[0], sides[1], sides[2]


def _prime(least: int, taken: Sequence[int]) -> int:
    """The first prime from `least` on that is not taken: a diagonal then meets all entries before it repeats."""
    value = max(least, FEWEST)
    while value in taken or any(value % d == 0 for d in range(2, math.isqrt(value) + 1)):
        value += 1
    return value


@numba.njit(**EXACT)
def share_of(count, part, parts):
    """First item of a part when a count of them is divided evenly."""
    return count * part // parts


@numba.njit(**EXACT)
def bounds_part(t, points, members, threads, extrema):
    """One thread's part of `_bounds`."""
    first, last = share_of(len(members), t, threads), share_of(len(members), t + 1, threads)
    m = members[first]
    x0, y0, z0 = points[m, 0], points[m, 1], points[m, 2]
    x1, y1, z1 = x0, y0, z0
    for p in range(first, last):
        m = members[p]
        x, y, z = points[m, 0], points[m, 1], points[m, 2]
        x0, y0, z0 = min(x0, x), min(y0, y), min(z0, z)
        x1, y1, z1 = max(x1, x), max(y1, y), max(z1, z)
    extrema[t, 0], extrema[t, 1], extrema[t, 2] = x0, y0, z0
    extrema[t, 3], extrema[t, 4], extrema[t, 5] = x1, y1, z1


@numba.njit(parallel=True, cache=True, **EXACT)
def _bounds(points, members, threads, extrema):
    """Smallest and largest coordinates of each thread's points, (threads, 6)."""
    if threads == 1:
        bounds_part(0, points, members, threads, extrema)
    else:
        for t in numba.prange(threads):
            bounds_part(t, points, members, threads, extrema)


@numba.njit(**EXACT)
def cell_number(x, low, inverse, side):
    """Number of a cell along one axis, in the table.

    In double precision, whose rounding is less than 1e-6 of a cell up to MOST_CELLS: points within reach are never put
    more than one cell apart.
    """
    cell = np.uint32((np.float64(x) - low) * inverse)
    return cell % side if cell >= side else cell


@numba.njit(**EXACT)
def number_part(t, points, members, low, inverse, sides, shift, threads, numbers, histogram):
    """One thread's part of `_number`."""
    first, last = share_of(len(members), t, threads), share_of(len(members), t + 1, threads)
    histogram[t, :] = 0
    for p in range(first, last):
        m = members[p]
        x = cell_number(points[m, 0], low[0], inverse, sides[0])
        y = cell_number(points[m, 1], low[1], inverse, sides[1])
        z = cell_number(points[m, 2], low[2], inverse, sides[2])
        entry = np.uint32((z * sides[1] + y) * sides[0] + x)
        numbers[p] = entry
        histogram[t, entry >> shift] += 1


@numba.njit(parallel=True, cache=True, **EXACT)
def _number(points, members, low, inverse, sides, shift, threads, numbers, histogram):
    """Entry of each point, and for each thread how many fall into each bucket."""
    if threads == 1:
        number_part(0, points, members, low, inverse, sides, shift, threads, numbers, histogram)
    else:
        for t in numba.prange(threads):
            number_part(t, points, members, low, inverse, sides, shift, threads, numbers, histogram)


@numba.njit(**EXACT)
def into_buckets_part(t, members, numbers, shift, threads, histogram, edges, moved):
    """One thread's part of `_into_buckets`."""
    for p in range(share_of(len(members), t, threads), share_of(len(members), t + 1, threads)):
        entry = numbers[p]
        bucket = entry >> shift
        at = histogram[t, bucket]
        histogram[t, bucket] = at + 1
        moved[at, 0] = entry
        moved[at, 1] = members[p]


@numba.njit(parallel=True, cache=True, **EXACT)
def _into_buckets(members, numbers, shift, threads, histogram, edges, moved):
    """Bring (entry, index) into the order of the buckets; `edges` receives where each bucket starts."""
    total = 0
    for b in range(histogram.shape[1]):
        edges[b] = total
        for t in range(threads):
            n = histogram[t, b]
            histogram[t, b] = total
            total += n
    edges[histogram.shape[1]] = total
    if threads == 1:
        into_buckets_part(0, members, numbers, shift, threads, histogram, edges, moved)
    else:
        for t in numba.prange(threads):
            into_buckets_part(t, members, numbers, shift, threads, histogram, edges, moved)


@numba.njit(**EXACT)
def within_buckets_part(t, points, fourth, moved, shift, threads, edges, starts, order, columns, entries):
    """One thread's part of `_within_buckets`."""
    starts[0] = 0
    buckets, size, last_entry = len(edges) - 1, 1 << shift, len(starts) - 1
    begin, end = share_of(len(order), t, threads), share_of(len(order), t + 1, threads)
    for b in range(buckets):
        if (edges[b + 1] <= begin and t > 0) or (edges[b + 1] > end and t < threads - 1):
            continue
        low, high = min(b * size, last_entry), min((b + 1) * size, last_entry)
        for e in range(low, high):
            starts[e + 1] = 0
        for p in range(edges[b], edges[b + 1]):
            starts[moved[p, 0] + 1] += 1
        at = edges[b]
        for e in range(low, high):
            n = starts[e + 1]
            starts[e + 1] = at
            at += n
        for p in range(edges[b], edges[b + 1]):
            entry, m = moved[p, 0], moved[p, 1]
            at = starts[entry + 1]
            starts[entry + 1] = at + 1
            order[at] = m
            entries[at] = entry
            columns[0, at], columns[1, at], columns[2, at] = points[m, 0], points[m, 1], points[m, 2]
            columns[3, at] = fourth[m] if len(fourth) else 0


@numba.njit(parallel=True, cache=True, **EXACT)
def _within_buckets(points, fourth, moved, shift, threads, edges, starts, order, columns, entries):
    """Sort each bucket by counting; buckets are divided among the threads by the number of their points."""
    if threads == 1:
        within_buckets_part(0, points, fourth, moved, shift, threads, edges, starts, order, columns, entries)
    else:
        for t in numba.prange(threads):
            within_buckets_part(t, points, fourth, moved, shift, threads, edges, starts, order, columns, entries)
