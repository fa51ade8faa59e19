"""Pairs of balls that are close: what particles against particles start from.

Balls are divided into levels by radius, each with a grid of its own whose cells fit its largest balls. A ball looks
for others in its own level and in those of larger balls, never in a finer one, where it would cover many cells.
"""

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from shinari.contact.broad.grid import EXACT, SHARE, Grid, share_of
from shinari.contact.broad.neighbourhood import FIRST_ROOM, RANGES, U, ranges_around
from shinari.contact.buffers import grown
from shinari.errors import ShinariError

# Radii of a level differ by a factor of two; what is smaller than 2^-9 of the largest shares the last one.
MOST_LEVELS = 10
# Partners of one ball that are sorted by insertion.
FEW = 48


class PairFinder:
    """Finds the pairs of balls closer than a margin, and keeps the memory for them.

    Args:
        radii: Radius of each ball [m], (N,), finite, not negative.

    Raises:
        ShinariError: A radius is negative or not finite.
    """

    def __init__(self, radii: ArrayLike) -> None:
        self.radii = np.array(radii, np.float64)
        if not (np.isfinite(self.radii).all() and (self.radii >= 0.0).all()):
            raise ShinariError("radii: must be finite and not negative")
        largest = self.radii.max(initial=0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            level = np.minimum(np.floor(np.log2(largest / self.radii)), MOST_LEVELS - 1)
        level[np.isnan(level)] = 0
        # from the smallest balls to the largest
        self._members = [np.flatnonzero(level == number).astype(np.uint32) for number in range(MOST_LEVELS - 1, -1, -1)]
        self._members = [members for members in self._members if len(members)]
        self._largest = [float(self.radii[members].max()) for members in self._members]
        self._grids = [Grid() for _ in self._members]
        self._typed = self.radii
        self._offsets = self._cursors = self._pairs = self._grouped = None

    def find(self, points: NDArray[np.floating], margin: float, threads: int) -> NDArray[np.uint32]:
        """All pairs i < j with |xi - xj| < ri + rj + margin, each once, sorted by i, then by j.

        Args:
            points: C-contiguous, (N, 3) or (N, 4), finite; a fourth column is not read.
            margin: [m], not negative; it and the radii are rounded to the type of the points.
            threads: Threads to work on, at most.

        Returns:
            Pairs (M, 2), valid until the next call.

        Raises:
            ShinariError: The margin is negative, or the points are spread over more cells than can be numbered.
        """
        if not margin >= 0.0:
            raise ShinariError(f"margin: must not be negative, is {margin}")
        if len(points) != len(self.radii):
            raise ShinariError(f"points: {len(self.radii)} radii but {len(points)} points")
        if self._typed.dtype != points.dtype:
            self._typed = self.radii.astype(points.dtype)
        threads = max(1, min(threads, len(points) // SHARE))
        for grid, members, largest in zip(self._grids, self._members, self._largest, strict=True):
            # balls of radius zero without a margin are never close: any cell will do
            reach = 2.0 * largest + margin
            grid.build(points, reach if reach > 0.0 else 1.0, threads, members, self._typed)

        count = len(points)
        self._offsets = grown(self._offsets, count + 1, np.int64)
        self._cursors = grown(self._cursors, count, np.int64)
        offsets, cursors = self._offsets[: count + 1], self._cursors[:count]
        wide = points.dtype.type(margin)
        cursors[:] = 0
        none = np.empty((0, 2), np.uint32)
        self._search(wide, threads, cursors, none)
        _sum(cursors, offsets)
        self._pairs = grown(self._pairs, int(offsets[count]), np.uint32, 2)
        pairs = self._pairs[: offsets[count]]
        self._search(wide, threads, cursors, pairs)
        if len(self._grids) > 1:
            self._grouped = grown(self._grouped, len(pairs), np.uint32, 2)
            grouped = self._grouped[: len(pairs)]
            _group(pairs, cursors, offsets, grouped)
            pairs = grouped
        _sort(pairs, offsets, threads)
        return pairs

    def _search(self, margin, threads, cursors, pairs):
        """Let each level look in itself and in all coarser ones: count pairs, or write them if there is room."""
        for a, fine in enumerate(self._grids):
            for b, coarse in enumerate(self._grids[a:]):
                _look(
                    fine.columns,
                    fine.order,
                    fine.entries,
                    coarse.columns,
                    coarse.order,
                    coarse.starts,
                    coarse.sides,
                    coarse.low,
                    coarse.inverse,
                    margin,
                    b == 0,
                    max(1, min(threads, len(fine.order) // SHARE)),
                    cursors,
                    pairs,
                )


@numba.njit(**EXACT)
def entry_of(columns, p, low, inverse, sides):
    """Entry of the table for a point that need not be within the bounds of the grid."""
    x = np.int64(np.floor((np.float64(columns[0, p]) - low[0]) * inverse)) % sides[0]
    y = np.int64(np.floor((np.float64(columns[1, p]) - low[1]) * inverse)) % sides[1]
    z = np.int64(np.floor((np.float64(columns[2, p]) - low[2]) * inverse)) % sides[2]
    return (z * sides[1] + y) * sides[0] + x


@numba.njit(**EXACT)
def look_part(
    t, columns, order, entries, columns_b, order_b, starts, sides, low, inverse, margin, same, threads, cursors, pairs
):
    """One thread's part of `_look`."""
    write = len(pairs) > 0
    hits = np.empty(FIRST_ROOM, np.uint32)
    ranges = np.empty((RANGES, 2), np.int64)
    held, n, total = np.int64(-1), 0, 0
    for p in range(share_of(len(order), t, threads), share_of(len(order), t + 1, threads)):
        entry = np.int64(entries[p]) if same else entry_of(columns, p, low, inverse, sides)
        if entry != held:
            held = entry
            n, total = ranges_around(entry, starts, sides, ranges)
            if total > len(hits):
                hits = np.empty(2 * total, np.uint32)
        x, y, z, r, i = columns[0, p], columns[1, p], columns[2, p], columns[3, p], order[p]
        # within a level the ball with the smaller index has the pair
        least = np.uint32(i + 1) if same else np.uint32(0)
        # write always, keep what is close: no branch to guess
        found = U(0)
        for row in range(n):
            for k in range(U(ranges[row, 0]), U(ranges[row, 1])):
                dx, dy, dz = x - columns_b[0, k], y - columns_b[1, k], z - columns_b[2, k]
                reach = r + columns_b[3, k] + margin
                j = order_b[k]
                hits[found] = j
                found += U((dx * dx + dy * dy + dz * dz < reach * reach) & (j >= least))
        at = cursors[i]
        cursors[i] = at + np.int64(found)
        if write:
            for k in range(found):
                pairs[U(at) + k, 0], pairs[U(at) + k, 1] = min(i, hits[k]), max(i, hits[k])


@numba.njit(parallel=True, cache=True, **EXACT)
def _look(
    columns, order, entries, columns_b, order_b, starts, sides, low, inverse, margin, same, threads, cursors, pairs
):
    """Pairs of one level with another, or with itself: then those where the partner has the larger index.

    Each ball writes its own pairs, at its cursor, and moves it by their number. Without room for pairs it only moves.
    """
    if threads == 1:
        look_part(
            0,
            columns,
            order,
            entries,
            columns_b,
            order_b,
            starts,
            sides,
            low,
            inverse,
            margin,
            same,
            threads,
            cursors,
            pairs,
        )
    else:
        for t in numba.prange(threads):
            look_part(
                t,
                columns,
                order,
                entries,
                columns_b,
                order_b,
                starts,
                sides,
                low,
                inverse,
                margin,
                same,
                threads,
                cursors,
                pairs,
            )


@numba.njit(cache=True, **EXACT)
def _sum(cursors, offsets):
    """Offsets from counts; the cursors are set to the start of each list."""
    total = 0
    for i in range(len(cursors)):
        offsets[i] = total
        total += cursors[i]
        cursors[i] = offsets[i]
    offsets[len(cursors)] = total


@numba.njit(cache=True, **EXACT)
def _group(pairs, cursors, offsets, grouped):
    """Bring pairs into the order of their first index, and renew the offsets."""
    offsets[:] = 0
    for k in range(len(pairs)):
        offsets[pairs[k, 0] + 1] += 1
    for i in range(len(cursors)):
        offsets[i + 1] += offsets[i]
        cursors[i] = offsets[i]
    for k in range(len(pairs)):
        at = cursors[pairs[k, 0]]
        cursors[pairs[k, 0]] = at + 1
        grouped[at, 0], grouped[at, 1] = pairs[k, 0], pairs[k, 1]


@numba.njit(**EXACT)
def sort_part(t, pairs, offsets, threads):
    """One thread's part of `_sort`."""
    count = len(offsets) - 1
    for i in range(share_of(count, t, threads), share_of(count, t + 1, threads)):
        first, last = offsets[i], offsets[i + 1]
        if last - first > FEW:
            pairs[first:last, 1] = np.sort(pairs[first:last, 1].copy())
            continue
        for k in range(first + 1, last):
            j, hole = pairs[k, 1], k
            while hole > first and pairs[hole - 1, 1] > j:
                pairs[hole, 1] = pairs[hole - 1, 1]
                hole -= 1
            pairs[hole, 1] = j


@numba.njit(parallel=True, cache=True, **EXACT)
def _sort(pairs, offsets, threads):
    """Sort the pairs of each first index by the second."""
    if threads == 1:
        sort_part(0, pairs, offsets, threads)
    else:
        for t in numba.prange(threads):
            sort_part(t, pairs, offsets, threads)
