"""Triangles of polygons: fans of the faces of files, and points on a triangular lattice inside a border.

Points of the lattice keep off the border by most of a spacing, so that its edges belong to the Delaunay triangulation.
"""

import numpy as np
from numpy.typing import NDArray

from shinari.errors import SceneError
from shinari.geometry.delaunay import delaunay
from shinari.geometry.flat_shape import doubled_areas

KEEP_OFF = 0.6
"""Distance of the inner points from the border, in spacings."""
_SMALL = 1e-5


def fan_out(polygons: list[list[int]]) -> np.ndarray:
    """Triangles, shape (F, 3), of polygons; each fans out from its first corner, which is right when it is convex."""
    triangles = [(face[0], face[i], face[i + 1]) for face in polygons for i in range(1, len(face) - 1)]
    return np.array(triangles, np.int64).reshape(-1, 3)


def triangulate_polygon(
    border: NDArray[np.float64], spacing: float, label: str = "polygon"
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Triangles of about equal size in a polygon.

    Args:
        border: Points along the border, counter-clockwise, about a spacing apart, (B, 2).
        spacing: Length of the edges [m].
        label: What messages name.

    Returns:
        Points, those of the border first, (V, 2), and triangles, counter-clockwise, (F, 3).

    Raises:
        SceneError: The border crosses itself or is narrower than the spacing.
    """
    points = np.concatenate([border, _lattice(border, spacing)])
    faces, across = delaunay(points)
    # the side opposite to corner k runs from corner k + 1 to k + 2
    begin, end = faces[:, [1, 2, 0]], faces[:, [2, 0, 1]]
    count = len(border)
    forth = (begin < count) & (end == (begin + 1) % count)
    back = (end < count) & (begin == (end + 1) % count)
    found = np.zeros(count, bool)
    found[begin[forth]] = True
    if not found.all():
        at = border[np.argmin(found)]
        raise SceneError(
            f"{label}: the border at ({at[0]:.4g}, {at[1]:.4g}) m crosses itself or is narrower than the spacing of "
            f"{spacing:g} m there; take a smaller spacing"
        )
    faces = faces[_inside(faces, across, forth | back, len(points))]
    return points, faces[doubled_areas(points[faces]) > _SMALL * spacing**2]


def _lattice(border: NDArray[np.float64], spacing: float) -> NDArray[np.float64]:
    """Points of a triangular lattice inside of a border, away from it."""
    low, high = border.min(axis=0), border.max(axis=0)
    rows = np.arange(low[1], high[1], spacing * np.sqrt(0.75))
    columns = np.arange(low[0] - spacing, high[0] + spacing, spacing)
    x, y = np.meshgrid(columns, rows)
    x[1::2] += 0.5 * spacing
    inside = _rows_inside(x, rows, border)
    points = np.stack([x[inside], y[inside]], axis=1)
    # four points on one circle have two triangulations; a bit of irregularity decides
    points += np.random.default_rng(0).uniform(-1e-3, 1e-3, points.shape) * spacing
    number = np.full(x.shape, -1)
    number[inside] = np.arange(len(points))
    edge, at = _near_border(border, spacing, low, number)
    a, along = border[edge], (np.roll(border, -1, axis=0) - border)[edge]
    from_a = points[at] - a
    part = np.clip((from_a * along).sum(axis=1) / np.maximum((along**2).sum(axis=1), 1e-300), 0.0, 1.0)
    keep = np.ones(len(points), bool)
    keep[at[np.linalg.norm(from_a - part[:, None] * along, axis=1) <= KEEP_OFF * spacing]] = False
    return points[keep]


def _rows_inside(x: NDArray[np.float64], rows: NDArray[np.float64], border: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which points of a lattice (R, C), row by row at its height, lie in a polygon: crossed oddly often before."""
    ends = np.roll(border, -1, axis=0)
    low, high = np.minimum(border[:, 1], ends[:, 1]), np.maximum(border[:, 1], ends[:, 1])
    first = np.searchsorted(rows, low)
    count = np.searchsorted(rows, high) - first
    edge, row = _each(count, first)
    a, b = border[edge], ends[edge]
    crossing = a[:, 0] + (rows[row] - a[:, 1]) / (b[:, 1] - a[:, 1]) * (b[:, 0] - a[:, 0])
    # one number for row and place: rows lie farther apart than any places in them
    least, wide = min(x.min(), border[:, 0].min()), 2.0 * (np.ptp(x) + np.ptp(border[:, 0]))
    every = np.arange(len(rows))[:, None]
    before = np.searchsorted(np.sort(row + (crossing - least) / wide), every + (x - least) / wide)
    return (before - np.searchsorted(np.sort(row), every)) % 2 == 1


def _near_border(
    border: NDArray[np.float64], spacing: float, low: NDArray[np.float64], number: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of an edge of the border and a point of the lattice in its box, with a margin of a spacing."""
    ends = np.roll(border, -1, axis=0)
    step = np.array([spacing, spacing * np.sqrt(0.75)])
    origin = low - [spacing, 0.0]
    first = np.floor((np.minimum(border, ends) - spacing - origin) / step).astype(np.int64)
    last = np.ceil((np.maximum(border, ends) + spacing - origin) / step).astype(np.int64)
    first, last = np.maximum(first, 0), np.minimum(last, [number.shape[1] - 1, number.shape[0] - 1])
    edge, row = _each(last[:, 1] + 1 - first[:, 1], first[:, 1])
    which, column = _each((last[:, 0] + 1 - first[:, 0])[edge], first[edge, 0])
    found = number[row[which], column]
    return edge[which][found >= 0], found[found >= 0]


def _each(count: NDArray[np.int64], first: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Items of lists of so many numbers from a first one: the list of each, and the number."""
    count = np.maximum(count, 0)
    item = np.repeat(np.arange(len(count)), count)
    return item, np.arange(len(item)) - np.repeat(np.cumsum(count) - count, count) + first[item]


def _inside(
    faces: NDArray[np.int64], across: NDArray[np.int64], border: NDArray[np.bool_], count: int
) -> NDArray[np.bool_]:
    """Which triangles lie in a polygon: on the way from outside an odd number of its edges is crossed.

    Args:
        faces: Triangles, (F, 3); those outside have corners from `count` on.
        across: Triangles opposite to their corners, (F, 3).
        border: Whether the side opposite to each corner is an edge of the polygon, (F, 3).
        count: Points.
    """
    parity = np.where((faces >= count).any(axis=1), 0, -1)
    waiting = np.flatnonzero(parity == 0)
    while len(waiting):
        sides = np.repeat(waiting, 3)
        others, crossed = across[waiting].ravel(), border[waiting].ravel()
        fresh = (others >= 0) & (parity[others] < 0)
        parity[others[fresh]] = parity[sides[fresh]] ^ crossed[fresh]
        waiting = np.unique(others[fresh])
    return parity == 1
