"""The convex hull of points, as a shape."""

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from shinari.errors import SceneError
from shinari.scene import check
from shinari.scene.mesh_shape import Mesh


@dataclass(frozen=True, eq=False)
class ConvexHull:
    """Smallest convex solid that holds all points.

    Points within a millionth of the size of all from a plane are taken to be in it.

    Attributes:
        points: Points [m], (N, 3), an object with `vertices` such as a mesh, or the path of a mesh file.
        vertices: Its corners [m], (V, 3), read only.
        loops: Corners of each face as places among the vertices, (K,), counter-clockwise seen from outside.

    Raises:
        SceneError: They are no finite numbers, or lie in one plane.
        FileError: The file cannot be read.
    """

    points: Any
    vertices: np.ndarray = field(init=False)
    loops: tuple[np.ndarray, ...] = field(init=False)

    def __post_init__(self) -> None:
        from shinari.build.hull import convex_hull

        points = self.points
        if isinstance(points, (str, os.PathLike)):
            from shinari.files.meshes import read_mesh

            points = read_mesh(points)[0]
        points = check.array("ConvexHull", "points", getattr(points, "vertices", points), (None, 3))
        if len(points) < 4:
            raise SceneError(f"ConvexHull: points: expected at least 4, got {len(points)}")
        corners, loops = convex_hull(points, "ConvexHull")
        vertices = points[corners]
        points.flags.writeable = vertices.flags.writeable = False
        for name, value in {"points": points, "vertices": vertices, "loops": tuple(loops)}.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"ConvexHull({len(self.vertices)} corners, {len(self.loops)} faces)"

    @cached_property
    def faces(self) -> np.ndarray:
        """Triangles of its faces, (F, 3) int64."""
        return np.concatenate([_fan(self.vertices, loop) for loop in self.loops])

    @cached_property
    def mesh(self) -> Mesh:
        """It as a closed mesh."""
        return Mesh(self.vertices, self.faces)


def _fan(vertices: np.ndarray, loop: np.ndarray) -> np.ndarray:
    """Triangles of a convex face, (K - 2, 3), from the first corner from which none of them is a line."""
    turns = (np.roll(loop, -start) for start in range(len(loop)))
    turned = next((turn for turn in turns if _spreads(vertices[turn])), loop)
    return np.stack([np.full(len(loop) - 2, turned[0]), turned[1:-1], turned[2:]], axis=1)


def _spreads(places: np.ndarray) -> bool:
    """Whether no triangle from the first of the places is a line."""
    arms = places[1:] - places[0]
    squares = (arms**2).sum(axis=1)
    areas = np.linalg.norm(np.cross(arms[:-1], arms[1:]), axis=1)
    return bool((areas > 1e-6 * np.maximum(squares[:-1], squares[1:])).all())
