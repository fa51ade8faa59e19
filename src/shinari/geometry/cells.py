"""Points sorted into the cells of a grid."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shinari.compute import Field, Record
from shinari.compute.counting import counting_sort


class Points(Record):
    """Points, N rows."""

    place = Field(np.float64, 3, unit="m")
    by_cell = Field(np.int64, doc="points cell after cell")


class Starts(Record):
    """Cells, and one more."""

    start = Field(np.int64, doc="first point of the cell")


class GridBounds(Record):
    """One row: where the grid is and how many cells it has."""

    low = Field(np.float64, 3, unit="m")
    edge = Field(np.float64, unit="m")
    counts = Field(np.int64, 3, doc="cells along each axis")


@dataclass(frozen=True)
class Cells:
    """A grid of cubes with the points in them; cell (x, y, z) is number (x n_y + y) n_z + z."""

    points: Points
    starts: Starts
    bounds: GridBounds


def sort_into_cells(points: NDArray[np.float64], edge: float) -> Cells:
    """Sort points (N, 3) [m], one at least, into cells of an edge [m]; it grows until there are few cells per point."""
    low, extent = points.min(axis=0), np.ptp(points, axis=0)
    edge = max(edge, 1e-300)
    while np.prod(np.floor(extent / edge) + 1.0) > 4.0 * len(points) + 8.0:
        edge *= 2.0
    counts = (np.floor(extent / edge) + 1.0).astype(np.int64)
    cells = np.minimum(((points - low) / edge).astype(np.int64), counts - 1)
    order, starts = counting_sort((cells[:, 0] * counts[1] + cells[:, 1]) * counts[2] + cells[:, 2], int(counts.prod()))
    bounds = GridBounds(low=low[None].astype(np.float64), edge=np.array([edge]), counts=counts[None])
    return Cells(Points(place=np.ascontiguousarray(points, np.float64), by_cell=order), Starts(start=starts), bounds)
