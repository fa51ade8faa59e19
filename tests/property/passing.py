"""What is beyond a sheet that is held at its border, and what has passed it; nothing here knows of contacts."""

import numpy as np


def crossings(sheet: np.ndarray, points: np.ndarray) -> np.ndarray:
    """How often rays from points (N, 3) towards -z cross a sheet (F, 3, 3), less how often they cross it back, (N,)."""
    a, b, c = sheet[None, :, 0], sheet[None, :, 1], sheet[None, :, 2]
    p = points[:, None]

    def side(u, v):
        return (v[..., 0] - u[..., 0]) * (p[..., 1] - u[..., 1]) - (v[..., 1] - u[..., 1]) * (p[..., 0] - u[..., 0])

    s, t, u = side(b, c), side(c, a), side(a, b)
    over = ((s > 0) & (t > 0) & (u > 0)) | ((s < 0) & (t < 0) & (u < 0))
    total = s + t + u
    z = (s * a[..., 2] + t * b[..., 2] + u * c[..., 2]) / np.where(total == 0.0, 1.0, total)
    return np.where(over & (z < p[..., 2]), np.sign(s), 0.0).sum(axis=1).astype(int)


def beyond(sheet: np.ndarray, points: np.ndarray, half: float, velocities: np.ndarray | None = None) -> np.ndarray:
    """Whether points (N, 3) are beyond a sheet (F, 3, 3) held at the edges of the square |x|, |y| < half in z = 0.

    A ray from the point towards -z crosses the sheet, continued by the plane around it, an odd number of times. With
    velocities, points that came around the sheet, on straight paths, do not count.
    """
    outside = (np.abs(points[:, :2]) > half).any(axis=1)
    result = (crossings(sheet, points) + (outside & (points[:, 2] > 0.0))) % 2 == 1
    if velocities is not None:
        v = np.where(velocities[:, 2:] > 0.0, velocities[:, 2:], np.inf)
        came = points[:, :2] - velocities[:, :2] * (points[:, 2:] / v)
        result &= ~outside | (np.abs(came) < half).all(axis=1)
    return result


class Passed:
    """How often points have passed a sheet held at the edges of the square |x|, |y| < half in z = 0.

    The sheet and the square have one border, so that a closed path crosses both equally often, signs counted. A point
    that has only crossed the square is on the other side of the square, but on the same side of the sheet. That holds
    for points that go around the border, too, and come back.

    Args:
        sheet: Triangles of the sheet as it starts, flat, (F, 3, 3).
        points: Where the points start, (N, 3).
        half: Half of the edge of the square.
    """

    def __init__(self, sheet: np.ndarray, points: np.ndarray, half: float) -> None:
        a, b, c = sheet[0]
        self._up, self._half, self._last = np.sign(np.cross(b - a, c - a)[2]), half, points
        self._through = np.zeros(len(points), int)

    def after(self, sheet: np.ndarray, points: np.ndarray) -> np.ndarray:
        """How often each point has passed from z < 0, less how often back, (N,); they went straight since last time."""
        z, last = points[:, 2], self._last[:, 2]
        changed = (last < 0.0) != (z < 0.0)
        part = np.where(changed, last / np.where(changed, last - z, 1.0), 0.0)[:, None]
        at = self._last + part * (points - self._last)
        self._through += np.where(changed & self._within(at), np.sign(z - last), 0.0).astype(int)
        self._last = points
        above = (z > 0.0) & self._within(points)
        return self._through + int(self._up) * crossings(sheet, points) - above

    def _within(self, points: np.ndarray) -> np.ndarray:
        return np.all(np.abs(points[:, :2]) < self._half, axis=1)
