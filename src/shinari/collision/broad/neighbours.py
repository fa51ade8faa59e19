"""Neighbour lists: for each point all others within reach, as fluids gather them.

One cell after another: the points around the cell are copied next to each other, so that the distances from each point
of the cell are computed several at a time. Lists are counted, then written where the sums of the counts say: their
memory is exact and the same for any number of threads.
"""

import numpy as np
from numpy.typing import NDArray

from shinari.collision.broad.grid import Cells, Grid, ImmediateGrid, Levels, SortedPoints
from shinari.collision.broad.neighbourhood import ROOM, find_ranges, gather
from shinari.compute import Field, Program, Record, function, kernel, real, scratch
from shinari.compute.kernels import AS_WRITTEN
from shinari.compute.scan import Offsets, Scan

# Room of the lists beyond what they need, as a part of it: they are most of the memory of a fluid.
LITTLE = 0.03125


# The points around a cell are filled up to a multiple of this with points far away: loops over them have no rest.
BATCH = 32
FAR = np.float32(np.inf)


@function(fastmath=AS_WRITTEN)
def pad(total, near_x):
    """Fill up to a multiple of BATCH; returns how many points there are then."""
    full = (total + BATCH - 1) & -BATCH
    for k in range(total, full):
        near_x[k] = FAR
    return full


class Neighbours(Record):
    """The lists, one after the other."""

    place = Field(np.uint32, doc="sorted place of a neighbour; ascending in each list")


class Reach(Record):
    """One row."""

    squared = Field(real, unit="m^2")


@kernel(fastmath=AS_WRITTEN)
def count_neighbours(e, ordered: SortedPoints, cells: Cells, levels: Levels, reach: Reach, offsets: Offsets):
    """Lengths of the lists of the points of a cell."""
    first, last = np.int64(cells.start[e]), np.int64(cells.start[e + 1])
    if first == last:
        return
    squared = reach.squared[0]
    near_x, near_y, near_z = scratch(1024, squared), scratch(1024, squared), scratch(1024, squared)
    places, ranges = scratch(1024, np.uint32(0)), scratch((18, 2), 0)
    n, total = find_ranges(e, 0, cells, levels, ranges)
    fits = total <= ROOM
    if fits:
        gather(ordered, ranges, n, near_x, near_y, near_z, places)
        total = pad(total, near_x)
    for a in range(first, last):
        x, y, z = ordered.x[a], ordered.y[a], ordered.z[a]
        found = np.int32(-1)
        if fits:
            for k in range(total & -BATCH):
                dx, dy, dz = x - near_x[k], y - near_y[k], z - near_z[k]
                found += np.int32(dx * dx + dy * dy + dz * dz < squared)
        else:
            for r in range(n):
                for q in range(ranges[r, 0], ranges[r, 1]):
                    dx, dy, dz = x - ordered.x[q], y - ordered.y[q], z - ordered.z[q]
                    found += np.int32(dx * dx + dy * dy + dz * dz < squared)
        # a point without a place is not even close to itself
        offsets.start[a] = max(found, np.int32(0))


@kernel(fastmath=AS_WRITTEN)
def fill_neighbours(
    e, ordered: SortedPoints, cells: Cells, levels: Levels, reach: Reach, offsets: Offsets, neighbours: Neighbours
):
    """Write the lists of the points of a cell."""
    first, last = np.int64(cells.start[e]), np.int64(cells.start[e + 1])
    if first == last:
        return
    squared = reach.squared[0]
    near_x, near_y, near_z = scratch(1024, squared), scratch(1024, squared), scratch(1024, squared)
    places, ranges, hits = scratch(1024, np.uint32(0)), scratch((18, 2), 0), scratch(1024, np.uint32(0))
    close = scratch(1024, np.uint8(0))
    n, total = find_ranges(e, 0, cells, levels, ranges)
    fits = total <= ROOM
    if fits:
        gather(ordered, ranges, n, near_x, near_y, near_z, places)
        total = pad(total, near_x)
    for a in range(first, last):
        x, y, z = ordered.x[a], ordered.y[a], ordered.z[a]
        at = offsets.start[a]
        if fits:
            for k in range(total & -BATCH):
                dx, dy, dz = x - near_x[k], y - near_y[k], z - near_z[k]
                close[k] = dx * dx + dy * dy + dz * dz < squared
            # write always, keep what is close: no branch to guess
            found = 0
            for k in range(total & -BATCH):
                hits[found] = k
                found += np.int64(close[k])
            # the point itself is among them, where its own place would stand: what follows moves up by one
            for k in range(offsets.start[a + 1] - at):
                place = np.int64(places[hits[k]])
                neighbours.place[at + k] = places[hits[k + np.int64(place >= a)]]
        else:
            for r in range(n):
                for q in range(ranges[r, 0], ranges[r, 1]):
                    dx, dy, dz = x - ordered.x[q], y - ordered.y[q], z - ordered.z[q]
                    if dx * dx + dy * dy + dz * dz < squared and q != a:
                        neighbours.place[at] = q
                        at += 1


class NeighbourSearch:
    """Neighbour lists of the sorted points of a grid.

    The list of the point at the sorted place a stands at the rows `offsets.start[a]` to `offsets.start[a + 1]`.

    Args:
        grid: The points, with one level.

    Attributes:
        offsets: Where each list starts.
        neighbours: The lists.
        reach: Squared distance up to which points are neighbours; set it with `set_reach`.
        total: Cell with the length of all lists.
    """

    def __init__(self, grid: Grid) -> None:
        count, precision = len(grid.points), grid.points.precision
        self.grid, self.reach = grid, Reach.zeros(1, precision)
        self.offsets, self.neighbours = Offsets.zeros(count + 1, precision), Neighbours.zeros(0, precision)
        self._scan = Scan(self.offsets)
        self.total = self._scan.total

    def set_reach(self, reach: float) -> None:
        """Distance up to which points are neighbours [m], positive; rounded to the type of the points."""
        self.grid.levels.reach[0] = reach
        self.reach.squared[0] = self.grid.points.precision(reach) ** 2

    def record_find(self, p: Program) -> None:
        """Record the search among the points that the grid was built of."""
        grid = self.grid
        records = grid.ordered, grid.cells, grid.levels, self.reach, self.offsets
        entries = (grid.extent.entries, 0)
        p.launch(count_neighbours, *records, count=entries)
        self._scan.record(p, (grid.extent.points, 0))
        p.require(self.neighbours, self.total, spare=LITTLE)
        p.launch(fill_neighbours, *records, self.neighbours, count=entries)


class NeighbourLists:
    """Finds the neighbours of points in arrays at once, outside of a program.

    Attributes:
        grid: The points sorted by cell.
    """

    def __init__(self) -> None:
        self.grid = ImmediateGrid()
        self._found: NeighbourSearch | None = None
        self._find = Program()

    def find(
        self, points: NDArray[np.floating], reach: float, threads: int
    ) -> tuple[NDArray[np.int32], NDArray[np.uint32]]:
        """All pairs with |xi - xj| < reach, as a list for each point in the order of the grid.

        The point at place a is the given point `grid.order[a]`. Its neighbours are at the places
        `indices[offsets[a]:offsets[a + 1]]`, ascending, without a itself. Who keeps the points in this order needs no
        other numbering.

        Args:
            points: (N, 3) or (N, 4), finite; a fourth column is not read.
            reach: [m], positive; rounded to the type of the points.
            threads: Threads to work on, at most.

        Returns:
            Offsets (N + 1,) and indices (M,), valid until the next call.

        Raises:
            ShinariError: The points are spread over more cells than can be numbered.
        """
        self.grid.build(points, reach, threads)
        assert self.grid.grid is not None
        if self._found is None or self._found.grid is not self.grid.grid:
            self._found = NeighbourSearch(self.grid.grid)
            self._find = Program()
            self._found.record_find(self._find)
        found = self._found
        found.set_reach(reach)
        self._find.run(threads)
        return found.offsets.start, found.neighbours.place[: found.offsets.start[-1]]
