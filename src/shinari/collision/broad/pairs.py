"""Pairs of balls that are close: where contacts between particles begin.

Balls are divided into levels by radius, each with a table of its own whose cells fit its largest balls. A ball looks
for others in its own level and in those of larger balls, never in a finer one, where it would cover many cells. Within
a level the ball that comes first in the order of the cells has the pair.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shinari.collision.broad.grid import MOST_LEVELS, Cells, Extent, Grid, Levels, Points, SortedPoints, cell_number
from shinari.collision.broad.neighbourhood import RANGES, find_ranges
from shinari.compute import Field, Program, Record, convert, function, kernel, scratch
from shinari.compute.kernels import AS_WRITTEN
from shinari.compute.program import Cell
from shinari.compute.scan import Offsets, Scan
from shinari.errors import ShinariError

# Balls behind the first one of a cell that are copied next to each other; where there are more they are read where they
# lie. So many that are far away follow them: loops over them have no rest.
BEHIND, LANES = 256, 8
COLUMNS = BEHIND + LANES
# Balls of a cell for which that is worth it.
SHARED = 4
FAR = np.float32(np.inf)
# No ball has so many pairs.
ALL = 2**62


class Keys(Record):
    """A sorted list of pairs, each as one number."""

    key = Field(np.int64)


@function
def first_from(key, keys, begin, end):
    """Row of the first of ascending keys from `begin` on that is not below a key; `end` where there is none."""
    low, high = begin, end
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


@function
def contains(keys, key):
    """Whether a key is in a sorted list."""
    at = first_from(key, keys.key, 0, len(keys))
    return at < len(keys) and keys.key[at] == key


class BallPairs(Record):
    """Pairs of balls that are close, each once."""

    balls = Field(np.uint32, 2, doc="rows of the points; pairs with the same first ball stand together")


@function(fastmath=AS_WRITTEN)
def balls_overlap(x, y, z, r, ordered, k, margin):
    """Whether a ball and the one at the sorted place k are closer than a margin."""
    dx, dy, dz = x - ordered.x[k], y - ordered.y[k], z - ordered.z[k]
    reach = r + ordered.w[k] + margin
    return dx * dx + dy * dy + dz * dz < reach * reach


@function(fastmath=AS_WRITTEN)
def entry_in(level, x, y, z, levels, extent):
    """Entry of the cell of a level in which a point lies."""
    low, inverse, sides = extent.low[0], levels.inverse[level], levels.sides[level]
    i, j = cell_number(x, low[0], inverse, sides[0]), cell_number(y, low[1], inverse, sides[1])
    return levels.first[level] + (cell_number(z, low[2], inverse, sides[2]) * sides[1] + j) * sides[0] + i


@function(fastmath=AS_WRITTEN)
def own_level(e, levels):
    """Level of an entry."""
    own = 0
    while own < len(levels) - 1 and e >= levels.first[own + 1]:
        own += 1
    return own


@function(fastmath=AS_WRITTEN)
def gather_behind(first, ordered, ranges, n, near, names):
    """Copy the balls of n ranges behind a sorted place next to each other, then balls far away; if there is room.

    What stands at `first + k` has the pairs with column k and those behind it. Returns how many columns there are.
    """
    total = 0
    for row in range(n):
        total += max(ranges[row, 1] - max(ranges[row, 0], first + 1), 0)
    if total <= BEHIND:
        m = 0
        for row in range(n):
            begin = max(ranges[row, 0], first + 1)
            count = max(ranges[row, 1] - begin, 0)
            for k in range(count):
                near[0, m + k], near[1, m + k] = ordered.x[begin + k], ordered.y[begin + k]
                near[2, m + k], near[3, m + k] = ordered.z[begin + k], ordered.w[begin + k]
                names[m + k] = ordered.index[begin + k]
            m += count
        for k in range(LANES):
            near[0, m + k], near[3, m + k] = FAR, ordered.w[first]
    return total


@function(fastmath=AS_WRITTEN)
def overlaps_column(x, y, z, r, near, k, margin):
    """Whether a ball and the one in a column are closer than a margin; as `balls_overlap`."""
    dx, dy, dz = x - near[0, k], y - near[1, k], z - near[2, k]
    reach = r + near[3, k] + margin
    return dx * dx + dy * dy + dz * dz < reach * reach


@function(fastmath=AS_WRITTEN)
def look_in_ranges(a, after, margin, ordered, ranges, n, pairs, at, end, write):
    """Count or write the pairs of the ball at a sorted place with those of n ranges that stand after a place."""
    x, y, z, r, i = ordered.x[a], ordered.y[a], ordered.z[a], ordered.w[a], ordered.index[a]
    for row in range(n):
        for k in range(max(ranges[row, 0], after + 1), ranges[row, 1]):
            if write:
                if at == end:
                    break
                # write always, keep what is close: no branch to guess
                pairs.balls[at] = i, ordered.index[k]
            at += np.int64(balls_overlap(x, y, z, r, ordered, k, margin))
    return at


@function(fastmath=AS_WRITTEN)
def count_columns(begin, count, x, y, z, r, near, margin):
    """How many columns a ball is closer to than a margin."""
    found = 0
    for k in range(count):
        found += np.int64(overlaps_column(x, y, z, r, near, begin + k, margin))
    return found


@function(fastmath=AS_WRITTEN)
def write_columns(begin, count, x, y, z, r, near, margin, close, hits):
    """List the columns that a ball is closer to than a margin; returns how many."""
    for k in range(count):
        close[k] = overlaps_column(x, y, z, r, near, begin + k, margin)
    # write always, keep what is close: no branch to guess
    found = 0
    for k in range(count):
        hits[found] = begin + k
        found += np.int64(close[k])
    return found


@function
def have_pairs(first, last, ordered, offsets):
    """Whether balls at sorted places have pairs to be written."""
    found = False
    for a in range(first, last):
        i = np.int64(ordered.index[a])
        found |= offsets.start[i + 1] > offsets.start[i]
    return found


@function(fastmath=AS_WRITTEN)
def look_around(e, ordered, cells, levels, extent, offsets, pairs, write):
    """Count the pairs of the balls of a cell at the rows of the balls, or write them where their offsets say."""
    first, last = np.int64(cells.start[e]), np.int64(cells.start[e + 1])
    if first == last or (write and not have_pairs(first, last, ordered, offsets)):
        return
    own, margin = own_level(e, levels), convert(extent.margin[0], ordered.x[first])
    ranges, others = scratch((RANGES, 2), 0), scratch((RANGES, 2), 0)
    near, total = scratch((4, COLUMNS), ordered.x[first]), BEHIND + 1
    names, hits = scratch(COLUMNS, np.uint32(0)), scratch(COLUMNS, np.uint32(0))
    close = scratch(COLUMNS, np.uint8(0))
    n, _ = find_ranges(e, own, cells, levels, ranges)
    if last - first >= SHARED:
        total = gather_behind(first, ordered, ranges, n, near, names)
    for a in range(first, last):
        x, y, z, r, i = ordered.x[a], ordered.y[a], ordered.z[a], ordered.w[a], ordered.index[a]
        at, end = (offsets.start[i], offsets.start[np.int64(i) + 1]) if write else (0, ALL)
        # in its own level a ball has the pairs with those behind it
        if total <= BEHIND and at < end:
            begin = a - first
            count = (total - begin + LANES - 1) & -LANES
            if write:
                found = write_columns(begin, count, x, y, z, r, near, margin, close, hits)
                for k in range(found):
                    pairs.balls[at + k] = i, names[hits[k]]
                at += found
            else:
                at += count_columns(begin, count, x, y, z, r, near, margin)
        elif at < end:
            at = look_in_ranges(a, a, margin, ordered, ranges, n, pairs, at, end, write)
        for level in range(own + 1, len(levels)):
            if levels.count[level] > 0 and at < end:
                entry = entry_in(level, x, y, z, levels, extent)
                m, _ = find_ranges(entry, level, cells, levels, others)
                at = look_in_ranges(a, -1, margin, ordered, others, m, pairs, at, end, write)
        if not write:
            offsets.start[i] = at


@kernel(fastmath=AS_WRITTEN, mixed=True)
def count_pairs(
    e, ordered: SortedPoints, cells: Cells, levels: Levels, extent: Extent, offsets: Offsets, pairs: BallPairs
):
    """Number of pairs of each ball of a cell."""
    look_around(e, ordered, cells, levels, extent, offsets, pairs, False)


@kernel(fastmath=AS_WRITTEN, mixed=True)
def fill_pairs(
    e, ordered: SortedPoints, cells: Cells, levels: Levels, extent: Extent, offsets: Offsets, pairs: BallPairs
):
    """Pairs of each ball of a cell."""
    look_around(e, ordered, cells, levels, extent, offsets, pairs, True)


class PairSearch:
    """Finds the pairs of balls that are closer than a margin, which is 0 unless `grid.extent.margin` is set.

    The pairs whose first ball is row i of the points stand at the rows `offsets.start[i]` to `offsets.start[i + 1]`.
    The second ball comes later in the order of the cells.

    Args:
        points: Centre and radius of each ball.

    Attributes:
        grid: The balls by level and cell.
        offsets: Where the pairs of each ball start.
        pairs: The pairs.
        total: Cell with the number of pairs.
    """

    def __init__(self, points: Points) -> None:
        self.grid = Grid(points, MOST_LEVELS)
        self.offsets = Offsets.zeros(len(points) + 1, points.precision)
        self.pairs = BallPairs.zeros(8 * len(points), points.precision)
        self.scan = Scan(self.offsets)
        self.total = self.scan.total

    def record_find(self, p: Program, count: Cell) -> None:
        """Record the search among the first `count` balls. The run stops where they are spread too far."""
        grid = self.grid
        records = grid.ordered, grid.cells, grid.levels, grid.extent, self.offsets, self.pairs
        grid.record_build(p, count)
        p.launch(count_pairs, *records, count=(grid.extent.entries, 0))
        self.scan.record(p, count)
        p.require(self.pairs, self.total)
        p.launch(fill_pairs, *records, count=(grid.extent.entries, 0))


class PairFinder:
    """Finds the pairs of balls in arrays at once, outside of a program.

    Args:
        radii: Radius of each ball [m], (N,), finite, not negative.

    Raises:
        ShinariError: A radius is negative or not finite.
    """

    def __init__(self, radii: ArrayLike) -> None:
        self.radii = np.array(radii, np.float64)
        if not (np.isfinite(self.radii).all() and (self.radii >= 0.0).all()):
            raise ShinariError("radii: must be finite and not negative")
        self._search: PairSearch | None = None
        self._find = Program()

    def find(self, points: NDArray[np.floating], margin: float, threads: int) -> NDArray[np.uint32]:
        """All pairs i < j with |xi - xj| < ri + rj + margin, each once, sorted by i, then by j.

        Args:
            points: (N, 3) or (N, 4), finite; a fourth column is not read.
            margin: [m], not negative; it and the radii are rounded to the type of the points.
            threads: Threads to work on, at most.

        Returns:
            Pairs (M, 2).

        Raises:
            ShinariError: The margin is negative, or the points are spread over more cells than can be numbered.
        """
        if not margin >= 0.0:
            raise ShinariError(f"margin: must not be negative, is {margin}")
        if len(points) != len(self.radii):
            raise ShinariError(f"points: {len(self.radii)} radii but {len(points)} points")
        search = self._search
        if search is None or search.grid.points.precision != points.dtype.type:
            search = self._search = PairSearch(Points.zeros(len(points), points.dtype.type))
            self._find = Program()
            search.record_find(self._find, len(points))
        grid = search.grid
        grid.points.at[:, :3], grid.points.at[:, 3] = points[:, :3], self.radii
        grid.extent.margin[0] = margin
        self._find.run(threads)
        grid.check()
        pairs = np.sort(search.pairs.balls[: search.offsets.start[-1]], axis=1)
        return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
