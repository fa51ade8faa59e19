"""The camera of pictures: where it stands, and how it is chosen so that nothing that moves is cut off.

A camera that looks along d with half opening angles whose tangents are h across and v upwards sees a point x if

    |(x - c) . right| <= h (x - c) . d    and    |(x - c) . up| <= v (x - c) . d

Each of the four bounds is a plane through the camera c. Of all points only the farthest one along each plane counts, so
that four numbers hold a whole motion, whatever its length, and the nearest camera that sees all of it follows from
them.
"""

import math
from dataclasses import dataclass

import numpy as np

from shinari.check import short
from shinari.errors import SceneError
from shinari.geometry.motion import rotation_matrix
from shinari.io.results import Frame, Layout

DIRECTIONS: dict[str, tuple[float, float, float]] = {
    "corner": (0.50, 0.36, 0.79),
    "front": (0.0, 0.12, 1.0),
    "back": (0.0, 0.12, -1.0),
    "right": (1.0, 0.12, 0.0),
    "left": (-1.0, 0.12, 0.0),
    "above": (0.0, 1.0, 0.02),
}
"""Named directions, from what is looked at to the camera; y is up. The default is `corner`."""
VIEW_ANGLE = 30.0
"""Vertical opening angle [degrees]: a longer lens than that of an eye, so that boxes look square."""
MARGIN = 0.08
"""Part of the picture that is left free at each side."""
SCENERY = 3.5
"""A collider is part of the motion that the camera fits unless it is so many times as large as the rest, or a plane."""

FARTHEST = 1e12
"""Largest coordinate of a camera that is asked for [m]: pictures are drawn in single precision."""


@dataclass(frozen=True)
class Camera:
    """Where a picture is taken from.

    Attributes:
        position: Place of the camera [m].
        target: The point in the middle of the picture [m].
        angle: Vertical opening angle [degrees].
    """

    position: tuple[float, float, float]
    target: tuple[float, float, float]
    angle: float = VIEW_ANGLE

    def axes(self) -> np.ndarray:
        """Unit vectors to the right, up and ahead in the picture, as rows, shape (3, 3)."""
        return _axes(np.subtract(self.target, self.position))

    def project(self, points: np.ndarray, size: tuple[int, int]) -> np.ndarray:
        """Where points are seen.

        Args:
            points: Points [m], shape (N, 3).
            size: Width and height of the picture [pixels].

        Returns:
            Column, row from above [pixels] and distance ahead [m], shape (N, 3).
        """
        right, up, ahead = (np.subtract(points, self.position) @ self.axes().T).T
        scale = 0.5 * size[1] / (math.tan(math.radians(0.5 * self.angle)) * ahead)
        return np.stack([0.5 * size[0] + scale * right, 0.5 * size[1] - scale * up, ahead], axis=1)


class Bounds:
    """What a camera of a given direction must see, gathered point by point.

    Args:
        ahead: Direction in which the camera looks, shape (3,).
        size: Width and height of the picture [pixels].

    Attributes:
        low: Lower corner of the box around all points [m], shape (3,).
        high: Upper corner [m].
    """

    def __init__(self, ahead: np.ndarray, size: tuple[int, int]) -> None:
        self._axes = _axes(ahead)
        wide, tall = size
        upright = math.tan(math.radians(0.5 * VIEW_ANGLE)) * (1.0 - 2.0 * MARGIN)
        self._slopes = np.array([upright * wide / tall, upright])
        self._most = np.full(4, -np.inf)
        self.low, self.high = np.full(3, np.inf), np.full(3, -np.inf)

    @property
    def empty(self) -> bool:
        """Whether there was no point."""
        return not np.isfinite(self.low).all()

    @property
    def extent(self) -> float:
        """Diagonal of the box [m]; 0 without a point."""
        return 0.0 if self.empty else float(np.linalg.norm(self.high - self.low))

    def add(self, points: np.ndarray, radius: float = 0.0) -> None:
        """Take spheres around points (N, 3) [m]; those that are not finite are left out."""
        points = np.asarray(points, np.float64)
        points = points[np.isfinite(points).all(axis=1)]
        if len(points) == 0:
            return
        self.low = np.minimum(self.low, points.min(axis=0) - radius)
        self.high = np.maximum(self.high, points.max(axis=0) + radius)
        right, up, ahead = self._axes @ points.T
        h, v = self._slopes
        sides = (right - h * ahead, -right - h * ahead, up - v * ahead, -up - v * ahead)
        reach = radius * np.sqrt(1.0 + self._slopes[[0, 0, 1, 1]] ** 2)
        self._most = np.maximum(self._most, np.max(sides, axis=1) + reach)

    def join(self, other: "Bounds") -> None:
        """Take what another one of the same direction has seen."""
        self.low, self.high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        self._most = np.maximum(self._most, other._most)

    def camera(self) -> Camera:
        """The nearest camera that sees all of it."""
        if self.empty:
            self.add(np.array([[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]]))
        a, b, c, d = self._most
        h, v = self._slopes
        back = min(-(a + b) / (2.0 * h), -(c + d) / (2.0 * v))
        middle = 0.5 * (self.low + self.high) @ self._axes[2]
        back = min(back, middle - (1e-3 if self.extent else 0.1 / v))  # around a single point 20 cm are seen
        place = np.array([0.5 * (a - b), 0.5 * (c - d), back]) @ self._axes
        target = place + (middle - back) * self._axes[2]
        return Camera(_triple(place), _triple(target))


class Framing:
    """What of a run the camera is to see: all that is drawn, and the colliders that are not mere surroundings.

    Args:
        layout: What the frames hold.
        direction: From what is looked at to the camera, shape (3,).
        size: Width and height of the picture [pixels].
    """

    def __init__(self, layout: Layout, direction: tuple[float, float, float], size: tuple[int, int]) -> None:
        self._layout = layout
        ahead = -np.array(direction)
        self._objects = Bounds(ahead, size)
        self._colliders = [None if body.rigid else Bounds(ahead, size) for body in layout.bodies]
        self._planes = [len(body.faces) == 2 for body in layout.bodies]

    def add(self, frame: Frame) -> None:
        """Take a frame."""
        for part in self._layout.parts:
            points = np.asarray(frame.positions)[part.start : part.stop]
            if part.kind == "points" and part.varies:
                points = points[np.asarray(frame.drawn)[self._layout.varying[part.name]]]
            self._objects.add(points, part.radius if part.kind != "mesh" else 0.0)
        for index, bounds in enumerate(self._colliders):
            (bounds or self._objects).add(body_vertices(self._layout, index, frame))

    def bounds(self) -> Bounds:
        """What is to be seen."""
        limit = SCENERY * self._objects.extent
        alone = self._objects.empty
        for bounds, plane in zip(self._colliders, self._planes, strict=True):
            if bounds is not None and (alone or (bounds.extent <= limit and not plane)):
                self._objects.join(bounds)
        return self._objects


def body_vertices(layout: Layout, index: int, frame: Frame) -> np.ndarray:
    """Vertices [m] of a body where it is in a frame, shape (V, 3)."""
    turned = np.asarray(layout.bodies[index].vertices, np.float64) @ body_matrix(frame, index)[:3, :3].T
    return turned + np.asarray(frame.body_positions)[index]


def body_matrix(frame: Frame, index: int) -> np.ndarray:
    """The pose of a body as a matrix (4, 4)."""
    matrix = np.eye(4)
    matrix[:3, :3] = rotation_matrix(frame.body_rotations[index])
    matrix[:3, 3] = np.asarray(frame.body_positions)[index]
    return matrix


def parse_camera(text: str) -> str | Camera:
    """A camera as it is written on a command line: a named direction, or `x,y,z` and `x,y,z` with a colon between.

    Raises:
        SceneError: It is neither.
    """
    if text in DIRECTIONS:
        return text
    try:
        position, target = (tuple(float(word) for word in half.split(",")) for half in text.split(":"))
    except ValueError:
        position = target = ()
    near = (np.abs([*position, *target]) <= FARTHEST).all()
    if len(position) != 3 or len(target) != 3 or not near or position == target:
        raise SceneError(
            f"render: camera: {short(text)} is neither one of {', '.join(DIRECTIONS)} nor a position and a target, "
            "as in 2,1.5,3:0,0.5,0"
        )
    return Camera(position, target)


def _axes(ahead: np.ndarray) -> np.ndarray:
    ahead = np.asarray(ahead, np.float64) / np.linalg.norm(ahead)
    right = np.cross(ahead, (0.0, 1.0, 0.0))
    if np.linalg.norm(right) < 1e-6:
        right = np.array([1.0, 0.0, 0.0])
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(right, ahead), ahead])


def _triple(values: np.ndarray) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in values)
    return x, y, z
