"""Which points are near which particles of a fluid, seen from both sides.

The points are sorted into a grid of their own, once where they stand still, and each particle looks into the cells
around it. Both sides are written by counting, so that they are the same for any number of threads.
"""

import numba
import numpy as np

from shinari.contact.broad.grid import EXACT, ImmediateGrid, share_of
from shinari.contact.broad.neighbourhood import RANGES, ranges_around


class PointLists:
    """Pairs of particles and points within reach; valid until the next `find`.

    Attributes:
        near: Particles that have points near them, (A,) uint32, ascending.
        offsets: Where the points of each start, (A + 1,).
        points: The points, (K,) uint32.
        pairs: Pair of a particle and a carrier that each belongs to, (K,) uint32.
        pair_places: Particle of each pair, (P,) uint32.
        pair_owners: Carrier of each pair, (P,) uint32.
        touched: Points that have particles near them, (T,), ascending.
        starts: Where the particles of each start, (T + 1,).
        places: The particles, (K,) uint32.
        point_pairs: The pair that each belongs to, (K,) uint32.
    """

    def __init__(self) -> None:
        self._grid = ImmediateGrid()

    def sort(self, at: np.ndarray, reach: float, threads: int) -> None:
        """Take the points from where they are [m], (M, 3), to be found within a reach [m]."""
        self._reach = reach
        self._grid.build(at, reach, threads)

    def find(
        self, x: np.ndarray, phases: np.ndarray, owners: np.ndarray, kinds: np.ndarray, ignored: np.ndarray,
        threads: int,
    ) -> None:  # fmt: skip
        """List the points near particles.

        Args:
            x: Particles of the fluid [m], (n, 4).
            phases: Fluid of each, (n,).
            owners: Carrier of each point, (M,) uint32.
            kinds: What it is for `ignored`, (M,).
            ignored: Which kinds each fluid passes through, (F, kinds) uint8.
            threads: Threads.
        """
        grid = self._grid
        cells = (grid.columns, grid.starts, grid.sides, grid.low, grid.inverse, x.dtype.type(self._reach) ** 2)
        # a call of a function with these arrays for each candidate would cost more than all the rest
        whom = (bool(ignored.any()), phases, kinds[grid.order], ignored)
        counts = np.empty(len(x), np.int64)
        _count(threads, x, *whom, *cells, counts)
        self.near = np.flatnonzero(counts).astype(np.uint32)
        self.offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts[self.near])])
        self.points = np.empty(self.offsets[-1], np.uint32)
        _fill(threads, x, *whom, *cells, self.near, self.offsets, grid.order, self.points)
        self._pair(owners)
        whole, order = transposed(self.points, len(owners))
        self.touched = np.flatnonzero(np.diff(whole))
        self.starts = np.append(whole[self.touched], len(order))
        self.places = np.repeat(self.near, np.diff(self.offsets))[order]
        self.point_pairs = self.pairs[order]

    def _pair(self, owners: np.ndarray) -> None:
        """Number the pairs of particles and carriers."""
        count = len(self.points)
        if len(owners) == int(owners[-1]) + 1:
            # each point has a carrier of its own
            self.pairs, self.pair_owners = np.arange(count, dtype=np.uint32), owners[self.points]
            self.pair_places = np.repeat(self.near, np.diff(self.offsets))
            return
        self.pairs, places, carriers = (np.empty(count, np.uint32) for _ in range(3))
        pairs = _number(self.near, self.offsets, self.points, owners, self.pairs, places, carriers)
        self.pair_places, self.pair_owners = places[:pairs].copy(), carriers[:pairs].copy()


@numba.njit(cache=True, **EXACT)
def transposed(items, count):
    """Where each of a count of numbers stands in a list: where its places start, (count + 1,), and the places."""
    offsets, order = np.zeros(count + 1, np.int64), np.empty(len(items), np.uint32)
    for k in range(len(items)):
        offsets[items[k] + 1] += 1
    for b in range(count):
        offsets[b + 1] += offsets[b]
    for k in range(len(items)):
        b = items[k]
        order[offsets[b]] = k
        offsets[b] += 1
    for b in range(count, 0, -1):
        offsets[b] = offsets[b - 1]
    offsets[0] = 0
    return offsets, order


@numba.njit(**EXACT)
def cell_of(x, low, inverse, side):
    """Number of a cell along one axis of a table that repeats, for any place."""
    return np.int64(np.floor((np.float64(x) - low) * inverse)) % side


@numba.njit(**EXACT)
def cells_around(x, i, starts, sides, low, inverse, ranges):
    """Sorted points in the cells around particle i, see `ranges_around`."""
    cx = cell_of(x[i, 0], low[0], inverse, sides[0])
    cy = cell_of(x[i, 1], low[1], inverse, sides[1])
    cz = cell_of(x[i, 2], low[2], inverse, sides[2])
    return ranges_around((cz * sides[1] + cy) * sides[0] + cx, starts, sides, ranges)


@numba.njit(**EXACT)
def count_part(t, threads, x, some, phases, kinds, ignored, columns, starts, sides, low, inverse, squared, counts):
    """One thread's part of `_count`."""
    ranges = np.empty((RANGES, 2), np.int64)
    for i in range(share_of(len(counts), t, threads), share_of(len(counts), t + 1, threads)):
        n, _ = cells_around(x, i, starts, sides, low, inverse, ranges)
        found = 0
        for r in range(n):
            for p in range(ranges[r, 0], ranges[r, 1]):
                dx, dy, dz = x[i, 0] - columns[0, p], x[i, 1] - columns[1, p], x[i, 2] - columns[2, p]
                close = dx * dx + dy * dy + dz * dz < squared
                if some:
                    close = close and ignored[phases[i], kinds[p]] == 0
                found += close
        counts[i] = found


@numba.njit(parallel=True, cache=True, **EXACT)
def _count(threads, x, some, phases, kinds, ignored, columns, starts, sides, low, inverse, squared, counts):
    """Points near each particle, (n,)."""
    if threads == 1:
        count_part(0, threads, x, some, phases, kinds, ignored, columns, starts, sides, low, inverse, squared, counts)
    else:
        for t in numba.prange(threads):
            count_part(
                t, threads, x, some, phases, kinds, ignored, columns, starts, sides, low, inverse, squared, counts
            )


@numba.njit(**EXACT)
def fill_part(
    t, threads, x, some, phases, kinds, ignored, columns, starts, sides, low, inverse, squared, near, offsets, order,
    points,
):  # fmt: skip
    """One thread's part of `_fill`."""
    ranges = np.empty((RANGES, 2), np.int64)
    for a in range(share_of(len(near), t, threads), share_of(len(near), t + 1, threads)):
        i = near[a]
        n, _ = cells_around(x, i, starts, sides, low, inverse, ranges)
        at = offsets[a]
        for r in range(n):
            for p in range(ranges[r, 0], ranges[r, 1]):
                dx, dy, dz = x[i, 0] - columns[0, p], x[i, 1] - columns[1, p], x[i, 2] - columns[2, p]
                close = dx * dx + dy * dy + dz * dz < squared
                if some:
                    close = close and ignored[phases[i], kinds[p]] == 0
                if close:
                    points[at] = order[p]
                    at += 1


@numba.njit(parallel=True, cache=True, **EXACT)
def _fill(
    threads, x, some, phases, kinds, ignored, columns, starts, sides, low, inverse, squared, near, offsets, order,
    points,
):  # fmt: skip
    """Write the points of each particle."""
    if threads == 1:
        fill_part(
            0, threads, x, some, phases, kinds, ignored, columns, starts, sides, low, inverse, squared, near, offsets,
            order, points,
        )  # fmt: skip
    else:
        for t in numba.prange(threads):
            fill_part(
                t, threads, x, some, phases, kinds, ignored, columns, starts, sides, low, inverse, squared, near,
                offsets, order, points,
            )  # fmt: skip


@numba.njit(cache=True, **EXACT)
def _number(near, offsets, points, owners, pairs, pair_places, pair_owners):
    """Number the carriers of each particle's points as they come; the number of pairs."""
    count = 0
    for a in range(len(near)):
        first = count
        for k in range(offsets[a], offsets[a + 1]):
            owner = owners[points[k]]
            m = first
            while m < count and pair_owners[m] != owner:
                m += 1
            if m == count:
                pair_places[m], pair_owners[m] = near[a], owner
                count += 1
            pairs[k] = m
    return count
