"""The points around a cell of a grid: where every search on the grid begins."""

from typing import Annotated, Any

import numpy as np

from shinari.collision.broad.grid import Cells, Levels
from shinari.compute import View, function, shared
from shinari.compute.kernels import AS_WRITTEN

# Points around a cell that are copied next to each other; where there are more they are read where they lie.
ROOM = 1024
# Rows of cells around one are 9, and each is two ranges where the table repeats.
RANGES = 18


@function
def around(c, side):
    """Numbers of a cell and of those before and after it along an axis, ascending; the table repeats."""
    edge = c == 0 or c == side - 1
    return 0 if edge else c - 1, 1 if c == 0 else (side - 2 if c == side - 1 else c), side - 1 if edge else c + 1


@function
def ranges_of_level(entry, starts, sides, ranges, base):
    """Sorted points in the 27 cells around an entry of a table, as ascending ranges.

    Args:
        entry: The cell in the middle.
        starts: First point of each cell.
        sides: Of the table.
        ranges: Receives the first and the last + 1 of each range, (RANGES, 2).
        base: Entry at which the table begins.

    Returns:
        Number of ranges, number of points.
    """
    nx, ny = sides[0], sides[1]
    row = (entry - base) // nx
    x, y, z = entry - base - row * nx, row % ny, row // ny
    first, last = max(x - 1, 0), min(x + 2, nx)
    n, total = 0, 0
    for k in around(z, sides[2]):
        for j in around(y, ny):
            at = base + (k * ny + j) * nx
            if x == nx - 1:
                ranges[n, 0], ranges[n, 1] = starts[at], starts[at + 1]
                total += ranges[n, 1] - ranges[n, 0]
                n += 1
            ranges[n, 0], ranges[n, 1] = starts[at + first], starts[at + last]
            total += ranges[n, 1] - ranges[n, 0]
            n += 1
            if x == 0:
                ranges[n, 0], ranges[n, 1] = starts[at + nx - 1], starts[at + nx]
                total += ranges[n, 1] - ranges[n, 0]
                n += 1
    return n, total


@shared
def find_ranges(
    entry: int, level: int, cells: Cells, levels: Levels, ranges: Annotated[Any, View(np.int64, 2)]
) -> tuple[int, int]:
    """Sorted points in the 27 cells around an entry of a level, as ascending ranges.

    Args:
        entry: The cell in the middle.
        level: Its level.
        cells: The table.
        levels: Sizes of the tables.
        ranges: Receives the first and the last + 1 of each range, RANGES rows.

    Returns:
        Number of ranges, number of points.
    """
    return ranges_of_level(entry, cells.start, levels.sides[level], ranges, levels.first[level])


@function(fastmath=AS_WRITTEN)
def gather(ordered, ranges, n, near_x, near_y, near_z, places):
    """Copy the points of n ranges next to each other, and where they came from into `places`; ROOM rows each."""
    m = 0
    for r in range(n):
        first = ranges[r, 0]
        count = ranges[r, 1] - first
        for k in range(count):
            near_x[m + k], near_y[m + k], near_z[m + k] = (
                ordered.x[first + k],
                ordered.y[first + k],
                ordered.z[first + k],
            )
            places[m + k] = first + k
        m += count
