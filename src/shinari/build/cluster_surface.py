"""Binds a surface to the particles of a lump: each vertex moves with the clusters of the particles nearest to it."""

import numba
import numpy as np
from numpy.typing import NDArray

from shinari.maths.function import STEADY, steady
from shinari.scene.cluster_surface import ClusterSurface

# Particles that a vertex listens to.
CORNERS = 4


def bind(vertices: NDArray[np.float64], faces: NDArray[np.integer], points: NDArray[np.float64]) -> ClusterSurface:
    """A surface bound to particles, by the inverse squares of their distances.

    Args:
        vertices: Vertices at rest [m], (V, 3).
        faces: Vertex indices, (F, 3).
        points: Particles at rest [m], (N, 3).
    """
    corners, squares = nearest(vertices, points, min(CORNERS, len(points)))
    least = np.maximum(squares, 1e-6 * np.maximum(squares.mean(axis=1, keepdims=True), np.finfo(float).tiny))
    weights = 1.0 / least
    weights /= weights.sum(axis=1, keepdims=True)
    return ClusterSurface(np.ascontiguousarray(vertices, np.float64), faces.astype(np.int64), corners, weights)


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
    low, extent = points.min(axis=0), np.ptp(points, axis=0)
    # about two points a cell, were they even
    edge = max(float(np.cbrt(2.0 * np.prod(np.maximum(extent, 1e-3 * extent.max())) / len(points))), 1e-300)
    while np.prod(np.floor(extent / edge) + 1.0) > 4.0 * len(points) + 8.0:
        edge *= 2.0
    counts = (np.floor(extent / edge) + 1.0).astype(np.int64)
    cells = np.minimum(((points - low) / edge).astype(np.int64), counts - 1)
    keys = (cells[:, 0] * counts[1] + cells[:, 1]) * counts[2] + cells[:, 2]
    order = np.argsort(keys, kind="stable")
    starts = np.searchsorted(keys[order], np.arange(counts.prod() + 1))
    numbers, squares = np.empty((len(places), count), np.int64), np.empty((len(places), count))
    search(np.ascontiguousarray(places, np.float64), points, low, edge, counts, starts, order, numbers, squares)
    return numbers, squares


@numba.njit(parallel=True, cache=True, **STEADY)
def search(places, points, low, edge, counts, starts, order, numbers, squares):
    """Look in rings of cells around each place, until no nearer point can be in the next."""
    for i in numba.prange(len(places)):
        search_one(i, places, points, low, edge, counts, starts, order, numbers, squares)


@steady
def search_one(i, places, points, low, edge, counts, starts, order, numbers, squares):
    """Fill row i."""
    count = numbers.shape[1]
    for k in range(count):
        numbers[i, k], squares[i, k] = np.int64(-1), np.inf
    nx, ny, nz = counts[0], counts[1], counts[2]
    cx = min(max(np.int64(np.floor((places[i, 0] - low[0]) / edge)), 0), nx - 1)
    cy = min(max(np.int64(np.floor((places[i, 1] - low[1]) / edge)), 0), ny - 1)
    cz = min(max(np.int64(np.floor((places[i, 2] - low[2]) / edge)), 0), nz - 1)
    for ring in range(max(nx, max(ny, nz))):
        # nothing in this ring is nearer than the cells between, unless the place is outside of the grid: farther then
        between = edge * (ring - 1)
        if ring > 0 and squares[i, count - 1] <= between * between:
            break
        for x in range(max(cx - ring, 0), min(cx + ring + 1, nx)):
            for y in range(max(cy - ring, 0), min(cy + ring + 1, ny)):
                border = abs(x - cx) == ring or abs(y - cy) == ring
                step = 1 if border or ring == 0 else 2 * ring
                for z in range(cz - ring, cz + ring + 1, step):
                    if z >= 0 and z < nz:
                        cell = (x * ny + y) * nz + z
                        for k in range(starts[cell], starts[cell + 1]):
                            insert(i, order[k], places, points, numbers, squares)


@steady
def insert(i, j, places, points, numbers, squares):
    """Put point j where it belongs among the nearest to place i."""
    a, b, c = places[i, 0] - points[j, 0], places[i, 1] - points[j, 1], places[i, 2] - points[j, 2]
    square = a * a + b * b + c * c
    k = numbers.shape[1]
    while k > 0 and (
        square < squares[i, k - 1] or (square == squares[i, k - 1] and (numbers[i, k - 1] < 0 or j < numbers[i, k - 1]))
    ):
        if k < numbers.shape[1]:
            numbers[i, k], squares[i, k] = numbers[i, k - 1], squares[i, k - 1]
        k -= 1
    if k < numbers.shape[1]:
        numbers[i, k], squares[i, k] = j, square
