"""Triangles of polygons: fans of the faces of files, and points on a triangular lattice inside a border.

Bowyer and Watson 1981, Computing Dirichlet tessellations: each point replaces the triangles whose circumcircle holds
it. Points of the lattice keep off the border by most of a spacing, so that its edges belong to the triangulation.
"""

import numpy as np
from numpy.typing import NDArray

from shinari.errors import SceneError
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
    faces = _delaunay(points)
    corners = points[faces]
    faces = faces[_inside(corners.mean(axis=1), border) & (doubled_areas(corners) > _SMALL * spacing**2)]
    count = len(border)
    following = (np.arange(count) + 1) % count
    sides = np.concatenate([faces[:, [k, (k + 1) % 3]] for k in range(3)])
    found = np.isin(np.arange(count) * len(points) + following, sides[:, 0] * len(points) + sides[:, 1])
    if not found.all():
        at = border[np.argmin(found)]
        raise SceneError(
            f"{label}: the border at ({at[0]:.4g}, {at[1]:.4g}) m crosses itself or is narrower than the spacing of "
            f"{spacing:g} m there; take a smaller spacing"
        )
    return points, faces


def _lattice(border: NDArray[np.float64], spacing: float) -> NDArray[np.float64]:
    """Points of a triangular lattice inside of a border, away from it."""
    low, high = border.min(axis=0), border.max(axis=0)
    rows = np.arange(low[1], high[1], spacing * np.sqrt(0.75))
    columns = np.arange(low[0] - spacing, high[0] + spacing, spacing)
    x, y = np.meshgrid(columns, rows)
    x[1::2] += 0.5 * spacing
    points = np.stack([x.ravel(), y.ravel()], axis=1)
    points = points[_inside(points, border)]
    # four points on one circle have two triangulations; a bit of irregularity decides
    points += np.random.default_rng(0).uniform(-1e-3, 1e-3, points.shape) * spacing
    ends = np.roll(border, -1, axis=0)
    near = np.full(len(points), np.inf)
    for a, b in zip(border, ends, strict=True):
        along = np.clip((points - a) @ (b - a) / max(float((b - a) @ (b - a)), 1e-300), 0.0, 1.0)
        near = np.minimum(near, np.linalg.norm(points - a - along[:, None] * (b - a), axis=1))
    return points[near > KEEP_OFF * spacing]


def _inside(points: NDArray[np.float64], border: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which points lie in a polygon: a ray along x crosses its border an odd number of times."""
    inside = np.zeros(len(points), bool)
    for a, b in zip(border, np.roll(border, -1, axis=0), strict=True):
        spans = (a[1] > points[:, 1]) != (b[1] > points[:, 1])
        if a[1] != b[1]:
            inside ^= spans & (points[:, 0] < a[0] + (points[:, 1] - a[1]) / (b[1] - a[1]) * (b[0] - a[0]))
    return inside


def _delaunay(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """Delaunay triangles of points, counter-clockwise, (F, 3)."""
    count = len(points)
    middle, size = points.mean(axis=0), float(np.ptp(points, axis=0).max())
    every = np.concatenate([points, middle + 50.0 * size * np.array([[-1.0, -1.0], [1.0, -1.0], [0.0, 1.0]])])
    triangles = np.zeros((4 * count + 16, 3), np.int64)
    circles = np.full((len(triangles), 3), -1.0)
    triangles[0], used = (count, count + 1, count + 2), 1
    circles[0] = _circles(every[triangles[:1]])[0]
    free: list[int] = []
    for number in range(count):
        x, y = every[number]
        hit = np.flatnonzero((circles[:used, 0] - x) ** 2 + (circles[:used, 1] - y) ** 2 < circles[:used, 2])
        sides = triangles[hit][:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
        present = {(a, b) for a, b in sides.tolist()}
        rim = np.array([(a, b) for a, b in sides.tolist() if (b, a) not in present], np.int64)
        circles[hit, 2] = -1.0
        free += hit.tolist()
        rows = []
        for _ in rim:
            if free:
                rows.append(free.pop())
            else:
                rows.append(used)
                used += 1
        triangles[rows] = np.column_stack([rim, np.full(len(rim), number)])
        circles[rows] = _circles(every[triangles[rows]])
    found = triangles[:used][circles[:used, 2] > 0.0]
    return found[(found < count).all(axis=1)]


def _circles(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Centre and squared radius of the circumcircles of triangles (F, 3, 2), (F, 3)."""
    b, c = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    double = 2.0 * doubled_areas(corners)
    double = np.where(np.abs(double) < 1e-300, 1e-300, double)
    bb, cc = (b**2).sum(axis=1), (c**2).sum(axis=1)
    x, y = (c[:, 1] * bb - b[:, 1] * cc) / double, (b[:, 0] * cc - c[:, 0] * bb) / double
    return np.column_stack([corners[:, 0, 0] + x, corners[:, 0, 1] + y, x**2 + y**2])
