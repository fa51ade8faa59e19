"""Meshes of convex shapes that are known by a support function alone."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.errors import SceneError

if TYPE_CHECKING:
    from shinari.shapes.base import Shape, Triangles

GOLDEN = np.pi * (3.0 - np.sqrt(5.0))


def farthest_points(shape: "Shape", directions: np.ndarray) -> np.ndarray | None:
    """Farthest points of a shape along directions (N, 3), (N, 3) [m]; None without a support function.

    Raises:
        SceneError: A farthest point is not finite.
    """
    from shinari.shapes.registry import four_numbers, type_of

    support = type_of(shape).support
    if support is None:
        return None
    numbers = tuple(four_numbers(shape).tolist())
    points = np.array([support(tuple(d), numbers) for d in directions.tolist()], np.float64)
    if points.shape != directions.shape or not np.isfinite(points).all():
        raise SceneError(f"{type(shape).__name__}: support: expected three finite numbers for every direction")
    return points


def support_mesh(shape: "Shape", segments: int) -> "Triangles":
    """The hull of farthest points along directions evenly over the ball, and along the axes."""
    from shinari.shapes.hull import ConvexHull

    k = np.arange(segments * segments // 2) + 0.5
    y = 1.0 - 2.0 * k / len(k)
    flat = np.sqrt(1.0 - y * y)
    spread = np.stack([flat * np.cos(GOLDEN * k), y, flat * np.sin(GOLDEN * k)], axis=1)
    points = farthest_points(shape, np.concatenate([np.eye(3), -np.eye(3), spread]))
    if points is None:
        raise SceneError(f"{type(shape).__name__}: surface: is not defined")
    hull = ConvexHull(points)
    return hull.vertices, hull.faces.astype(np.int32)
