"""The points around a cell of a grid, gathered next to each other: what every search on the grid does first."""

import numba
import numpy as np

from shinari.contact.broad.grid import EXACT, share_of

# Numbers of what is gathered, until a cell has more around it.
FIRST_ROOM = 1024
# Rows of cells around one are 9, and each is two ranges where the table repeats.
RANGES = 18
U = np.uint64


@numba.njit(**EXACT)
def around(c, side):
    """Numbers of a cell and of those before and after it along an axis, ascending; the table repeats."""
    edge = c == 0 or c == side - 1
    return 0 if edge else c - 1, 1 if c == 0 else (side - 2 if c == side - 1 else c), side - 1 if edge else c + 1


@numba.njit(**EXACT)
def ranges_around(entry, starts, sides, ranges):
    """Sorted points in the 27 cells around an entry of the table, as ascending ranges.

    Args:
        entry: The cell in the middle.
        starts: First point of each cell.
        sides: Of the table.
        ranges: Receives the first and the last + 1 of each range, (RANGES, 2).

    Returns:
        Number of ranges, number of points.
    """
    nx, ny = sides[0], sides[1]
    row = entry // nx
    x, y, z = entry - row * nx, row % ny, row // ny
    first, last = max(x - 1, 0), min(x + 2, nx)
    n, total = 0, 0
    for k in around(z, sides[2]):
        for j in around(y, ny):
            base = (k * ny + j) * nx
            if x == nx - 1:
                ranges[n, 0], ranges[n, 1] = starts[base], starts[base + 1]
                total += ranges[n, 1] - ranges[n, 0]
                n += 1
            ranges[n, 0], ranges[n, 1] = starts[base + first], starts[base + last]
            total += ranges[n, 1] - ranges[n, 0]
            n += 1
            if x == 0:
                ranges[n, 0], ranges[n, 1] = starts[base + nx - 1], starts[base + nx]
                total += ranges[n, 1] - ranges[n, 0]
                n += 1
    return n, total


@numba.njit(**EXACT)
def gather(columns, ranges, n, near, places):
    """Copy the points of n ranges into `near` (4, room) and where they came from into `places` (room,)."""
    # unsigned numbers: Numba then has no negative ones to look after, and the copies become vector instructions
    m = U(0)
    for r in range(n):
        first = U(ranges[r, 0])
        for p in range(ranges[r, 1] - ranges[r, 0]):
            to, at = m + U(p), first + U(p)
            near[0, to], near[1, to], near[2, to] = columns[0, at], columns[1, at], columns[2, at]
            near[3, to] = columns[3, at]
            places[to] = at
        m += U(ranges[r, 1] - ranges[r, 0])


@numba.njit(**EXACT)
def first_of_cell(entries, part, parts):
    """First point of a part of the sorted points; parts are cut between cells."""
    p = share_of(len(entries), part, parts)
    while 0 < p < len(entries) and entries[p] == entries[p - 1]:
        p += 1
    return p
