"""The nearest of many points to each of many places, by the cells of a grid."""

import numpy as np
from numpy.typing import NDArray

from shinari.compute import Field, Record, function, kernel
from shinari.compute.kernels import STEADY
from shinari.compute.program import run_once
from shinari.geometry.cells import GridBounds, Points, Starts, sort_into_cells


def nearest(
    places: NDArray[np.float64], points: NDArray[np.float64], count: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The points nearest to each place.

    Args:
        places: Places [m], (V, 3).
        points: Points [m], (N, 3).
        count: How many, at most N.

    Returns:
        Their numbers, nearest first and the lower number first among equals, (V, count), and squares of their
        distances [m^2].
    """
    extent = np.ptp(points, axis=0)
    # about two points a cell, were they even
    edge = float(np.cbrt(2.0 * np.prod(np.maximum(extent, 1e-3 * extent.max())) / len(points)))
    cells = sort_into_cells(points, edge)
    queries = Queries(place=np.ascontiguousarray(places, np.float64))
    found = Found(point=np.full(len(places) * count, -1), square=np.full(len(places) * count, np.inf))
    run_once(
        find_nearest, queries, found, cells.points, cells.starts, cells.bounds, count, count=len(places), grain=64
    )  # fmt: skip
    return found.point.reshape(-1, count), found.square.reshape(-1, count)


class Queries(Record):
    """Places, V rows."""

    place = Field(np.float64, 3, unit="m")


class Found(Record):
    """The points nearest to each place, nearest first, place after place."""

    point = Field(np.int64)
    square = Field(np.float64, unit="m^2", doc="square of the distance")


@function(fastmath=STEADY)
def cell_along(x, low, edge, count):
    """Number of the cell of a coordinate along an axis, the nearest one outside of the grid."""
    return min(max(np.int64(np.floor((x - low) / edge)), 0), count - 1)


@kernel(fastmath=STEADY)
def find_nearest(
    i, queries: Queries, found: Found, points: Points, starts: Starts, bounds: GridBounds, number: np.int64
):
    """Look in rings of cells around a place, until no nearer point can be in the next."""
    place, low, edge = queries.place[i], bounds.low[0], bounds.edge[0]
    nx, ny, nz = bounds.counts[0]
    cx, cy = cell_along(place[0], low[0], edge, nx), cell_along(place[1], low[1], edge, ny)
    cz = cell_along(place[2], low[2], edge, nz)
    for ring in range(max(nx, max(ny, nz))):
        # nothing in this ring is nearer than the cells between, unless the place is outside of the grid: farther then
        between = edge * (ring - 1)
        if ring > 0 and found.square[(i + 1) * number - 1] <= between * between:
            break
        for x in range(max(cx - ring, 0), min(cx + ring + 1, nx)):
            for y in range(max(cy - ring, 0), min(cy + ring + 1, ny)):
                border = abs(x - cx) == ring or abs(y - cy) == ring
                step = 1 if border or ring == 0 else 2 * ring
                for z in range(cz - ring, cz + ring + 1, step):
                    if z >= 0 and z < nz:
                        cell = (x * ny + y) * nz + z
                        for k in range(starts.start[cell], starts.start[cell + 1]):
                            insert(i * number, (i + 1) * number, points.by_cell[k], place, points, found)


@function(fastmath=STEADY)
def insert(first, last, j, place, points, found):
    """Put point j where it belongs among the nearest to a place, which are the rows from `first` to `last`."""
    p = points.place[j]
    a, b, c = place[0] - p[0], place[1] - p[1], place[2] - p[2]
    square = a * a + b * b + c * c
    k = last
    while k > first:
        other, number = found.square[k - 1], found.point[k - 1]
        if not (square < other or (square == other and (number < 0 or j < number))):
            break
        if k < last:
            found.point[k], found.square[k] = number, other
        k -= 1
    if k < last:
        found.point[k], found.square[k] = j, square
