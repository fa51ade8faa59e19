"""One layer of points on, or a little below, the surface of a solid: the particles of Akinci et al. 2012.

A box gets the shell of a lattice, a ball a spiral (Fibonacci lattice). Every other surface is covered densely, the
points are brought to the depth asked for, and then thinned: each point that stays removes those that are too near.
Nothing is drawn by chance: the same solid has the same points each time.
"""

import math

import numpy as np
from numpy.typing import NDArray

from shinari.compute import Field, Record, kernel
from shinari.compute.program import run_once
from shinari.errors import SceneError
from shinari.geometry.cells import GridBounds, Points, Starts, sort_into_cells
from shinari.shapes.base import Shape, shape_mesh
from shinari.shapes.box import Box
from shinari.shapes.kernels.encode import signed_distance
from shinari.shapes.mesh import Mesh
from shinari.shapes.sphere import Sphere

# Points before they are thinned, in each square of the spacing.
DENSE = 24
# Points that stay are no nearer than this part of the spacing. They then have about one square of the spacing each.
APART = 0.83
# Steps towards the depth, and how near a point has to come, as part of the spacing.
STEPS, CLOSE = 12, 0.1
# Points of a solid, at most: what is more is a slip in the unit of the spacing, or a ground far larger than the fluid.
MOST_POINTS = 4_000_000
GOLDEN = math.pi * (3.0 - math.sqrt(5.0))


def surface_points(shape: Shape, spacing: float, depth: float = 0.0) -> NDArray[np.float64]:
    """Points on the surface of a solid, evenly spaced.

    Args:
        shape: The solid; a plane or a height field has no end.
        spacing: Distance of the points, about [m].
        depth: How far below the surface they lie [m]. Where a solid is thinner than twice that they lie as deep as it
            goes. Those of a sheet lie on it.

    Returns:
        Points in the axes of the shape [m], (N, 3), at least one.

    Raises:
        SceneError: There would be too many.
    """
    size = np.ptp(shape_mesh(shape)[0], axis=0)
    if float((size[[1, 2, 0]] * size).sum()) > MOST_POINTS * spacing**2:
        raise SceneError(
            f"surface points {spacing:g} m apart on a {type(shape).__name__} of {size.max():.3g} m would be more than "
            f"{MOST_POINTS}"
        )
    if isinstance(shape, Box):
        return _shell(np.array(shape.size) + (2.0 if shape.inside else -2.0) * depth, spacing)
    if isinstance(shape, Sphere):
        return _spiral(shape.radius - depth, spacing)
    points = _dense(*shape_mesh(shape), spacing)
    if not (isinstance(shape, Mesh) and not shape.solid):
        points = _sink(shape, points, spacing, depth)
    return points[_thinned(points, APART * spacing)]


def _shell(edges: NDArray[np.float64], spacing: float) -> NDArray[np.float64]:
    """Lattice points on the faces of a box; one sheet, line or point of them where edges are not positive."""
    edges = np.maximum(edges, 0.0)
    counts = np.round(edges / spacing).astype(int)
    # an edge that is not flat has two ends
    counts[(counts == 0) & (edges > 0.5 * spacing)] = 1
    axes = [np.linspace(-0.5, 0.5, n + 1) * e if n else np.zeros(1) for n, e in zip(counts, edges, strict=True)]
    index = np.stack(np.meshgrid(*[np.arange(n + 1) for n in counts], indexing="ij"), axis=-1).reshape(-1, 3)
    index = index[((index == 0) | (index == counts)).any(axis=1)]
    return np.stack([axes[k][index[:, k]] for k in range(3)], axis=1)


def _spiral(radius: float, spacing: float) -> NDArray[np.float64]:
    """Points on a ball, one for each square of the spacing; its centre when it has no radius."""
    if radius <= 0.0:
        return np.zeros((1, 3))
    n = max(1, round(4.0 * math.pi * radius**2 / spacing**2))
    k = np.arange(n) + 0.5
    y = 1.0 - 2.0 * k / n
    flat = np.sqrt(1.0 - y * y)
    return radius * np.stack([flat * np.cos(GOLDEN * k), y, flat * np.sin(GOLDEN * k)], axis=1)


def _dense(vertices: NDArray[np.float64], faces: NDArray[np.integer], spacing: float) -> NDArray[np.float64]:
    """Many points on triangles, by area: on each a sequence that leaves no gaps (Roberts 2018, the R2 sequence)."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    areas = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)
    counts = np.ceil(DENSE * areas / spacing**2).astype(int)
    face = np.repeat(np.arange(len(faces)), counts)
    k = np.arange(len(face)) - np.repeat(np.cumsum(counts) - counts, counts)
    root = 1.32471795724474602596
    u, v = (0.5 + k / root) % 1.0, (0.5 + k / root**2) % 1.0
    over = u + v > 1.0
    u, v = np.where(over, 1.0 - u, u)[:, None], np.where(over, 1.0 - v, v)[:, None]
    return a[face] + u * (b - a)[face] + v * (c - a)[face]


def _sink(shape: Shape, points: NDArray[np.float64], spacing: float, depth: float) -> NDArray[np.float64]:
    """Bring points to a depth below the surface; those that find no place so deep go where it is deepest."""
    eps = 1e-3 * spacing
    missing = signed_distance(shape, points) + depth
    for _ in range(STEPS):
        gradient = np.stack(
            [signed_distance(shape, points + e) - signed_distance(shape, points - e) for e in eps * np.eye(3)], axis=1
        )
        gradient /= np.maximum(np.linalg.norm(gradient, axis=1), 1e-3 * eps)[:, None]
        tried = points - missing[:, None] * gradient
        left = signed_distance(shape, tried) + depth
        better = np.abs(left) < np.abs(missing)
        # where the gradient turns round, at the middle of something thin, half of the way is nearer to it
        points = np.where(better[:, None], tried, points - 0.5 * missing[:, None] * gradient)
        missing = np.where(better, left, signed_distance(shape, points) + depth)
    return points[missing <= max(CLOSE * spacing, float(missing.min()) + CLOSE * spacing)]


def _thinned(points: NDArray[np.float64], apart: float) -> NDArray[np.int64]:
    """Points that stay when each one removes all later ones nearer than a distance."""
    cells, stays = sort_into_cells(points, apart), Stays(stays=np.ones(len(points), bool))
    run_once(thin, cells.points, cells.starts, cells.bounds, stays, apart * apart, count=1)
    return np.flatnonzero(stays.stays)


class Stays(Record):
    """Points, N rows."""

    stays = Field(np.bool_)


@kernel(fastmath=frozenset())
def thin(_, points: Points, starts: Starts, bounds: GridBounds, stays: Stays, squared: np.float64):
    """Go through the points in their order; each that stays removes all others nearer than a distance."""
    low, edge = bounds.low[0], bounds.edge[0]
    nx, ny, nz = bounds.counts[0]
    for p in range(len(points)):
        if stays.stays[p]:
            q = points.place[p]
            x, y, z = int((q[0] - low[0]) / edge), int((q[1] - low[1]) / edge), int((q[2] - low[2]) / edge)
            for i in range(max(x - 1, 0), min(x + 2, nx)):
                for j in range(max(y - 1, 0), min(y + 2, ny)):
                    row = (i * ny + j) * nz
                    first, last = starts.start[row + max(z - 1, 0)], starts.start[row + min(z + 2, nz)]
                    for k in range(first, last):
                        other = points.by_cell[k]
                        r = points.place[other]
                        dx, dy, dz = q[0] - r[0], q[1] - r[1], q[2] - r[2]
                        if other != p and dx * dx + dy * dy + dz * dz < squared:
                            stays.stays[other] = False
