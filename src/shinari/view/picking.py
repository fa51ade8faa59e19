"""What is under the mouse: from a point or a ray of the viewer to a particle of an object."""

import numpy as np

from shinari.errors import SceneError
from shinari.io.results import Frame, Layout

ALONG = 1.5
"""Points up to so many times as far from a ray as the nearest one count as hit; the one in front is taken."""


def hit_point(layout: Layout, frame: Frame, part: int, origin: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Where a ray meets a part first.

    Of a mesh that is where it enters a triangle (Moeller and Trumbore 1997); of everything else, and of a mesh that the
    ray misses, the point of the part that is nearest to the ray, or in front of others that are nearly as near; what
    is not there yet, or no longer, does not count.

    Args:
        layout: What the frame holds.
        frame: The frame.
        part: Index of the part.
        origin: Origin of the ray [m], (3,).
        direction: Its direction, (3,).

    Returns:
        The point [m], (3,).

    Raises:
        SceneError: The ray has no direction.
    """
    part_layout = layout.parts[part]
    points = np.asarray(frame.positions[part_layout.start : part_layout.stop], np.float64)
    length = float(np.linalg.norm(direction))
    if length == 0.0:
        raise SceneError("viewer: ray: expected a direction, got (0, 0, 0)")
    along = direction / length
    there = frame.drawn[layout.varying[part_layout.name]] if part_layout.name in layout.varying else None
    if part_layout.faces is not None:
        faces = np.asarray(part_layout.faces)
        if there is not None:
            faces = faces[there]
        distances_along = ray_distances(points[faces], origin, along)
        if np.isfinite(distances_along).any():
            return origin + distances_along.min() * along
    distances_along = (points - origin) @ along
    distances = np.linalg.norm(points - origin - distances_along[:, None] * along, axis=1)
    if part_layout.kind == "points" and there is not None:
        distances = np.where(there, distances, np.inf)
    near = distances <= max(ALONG * float(distances.min()), part_layout.radius)
    return points[int(np.argmin(np.where(near, distances_along, np.inf)))]


def nearest_particle(frame: Frame, particles: range, point: np.ndarray, there: np.ndarray | None = None) -> int:
    """The particle of an object that is nearest to a point.

    Args:
        frame: The frame.
        particles: The particles of the object.
        point: The point [m], (3,).
        there: Which of them are there, (n,) bool; None: all.

    Returns:
        Its index within the object.
    """
    offsets = np.asarray(frame.positions[particles.start : particles.stop], np.float64) - point
    squares = np.square(offsets).sum(axis=1)
    return int(np.argmin(squares if there is None else np.where(there, squares, np.inf)))


def ray_distances(corners: np.ndarray, origin: np.ndarray, along: np.ndarray) -> np.ndarray:
    """Way along a ray to each of some triangles (F, 3, 3), in lengths of `along`, (F,); infinite where it misses."""
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    across = np.cross(along, second)
    volume = (first * across).sum(axis=1)
    from_corner = origin - corners[:, 0]
    turned = np.cross(from_corner, first)
    with np.errstate(divide="ignore", invalid="ignore"):
        u = (from_corner * across).sum(axis=1) / volume
        v = (turned @ along) / volume
        distance_along = (second * turned).sum(axis=1) / volume
        hit = (volume != 0.0) & (u >= 0.0) & (v >= 0.0) & (u + v <= 1.0) & (distance_along > 0.0)
    return np.where(hit, distance_along, np.inf)
