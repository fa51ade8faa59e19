"""The ground under a table of heights."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta

from shinari import check
from shinari.compute.once import cached_property
from shinari.errors import SceneError
from shinari.schema_types import Positive, Table
from shinari.shapes.base import SEGMENTS, Shape, Triangles
from shinari.shapes.mass import MassProperties
from shinari.shapes.mesh import Mesh
from shinari.shapes.registry import register


@dataclass(frozen=True, eq=False)
class Heightfield(Shape):
    """Ground, y up, centred on its origin in x and z; every cell of the table is two triangles.

    It is solid down to a flat bottom. The diagonal of a cell goes from its smallest to its largest x and z.

    Attributes:
        heights: Heights [m], (rows, columns): rows along z, columns along x, at least 2 x 2.
        size: Lengths along x and z [m].
        depth: From the lowest height to the bottom [m]; left out: the larger of `size`.

    Raises:
        SceneError: Wrong shape or type, or out of bounds.
    """

    endless: ClassVar[bool] = True
    heights: Any
    size: tuple[float, float]
    depth: float | None = None

    def __post_init__(self) -> None:
        heights = check.array("Heightfield", "heights", self.heights, (None, None))
        if min(heights.shape) < 2:
            raise SceneError(f"Heightfield: heights: expected at least 2 x 2, got {heights.shape}")
        size = check.array("Heightfield", "size", self.size, (2,)).tolist()
        for length in size:
            check.number("Heightfield", "size", length, above=0.0)
        depth = max(size) if self.depth is None else self.depth
        heights.flags.writeable = False
        object.__setattr__(self, "heights", heights)
        object.__setattr__(self, "size", tuple(size))
        object.__setattr__(self, "depth", check.number("Heightfield", "depth", depth, above=0.0))

    def __repr__(self) -> str:
        return f"Heightfield({self.heights.shape[0]} x {self.heights.shape[1]}, size={self.size})"

    @cached_property
    def mesh(self) -> Mesh:
        """The ground as a closed mesh: the surface, four walls, and a bottom that fans out from its middle."""
        rows, columns = self.heights.shape
        x, z = np.meshgrid(_spread(self.size[0], columns), _spread(self.size[1], rows))
        top = np.stack([x, self.heights, z], axis=2).reshape(-1, 3)
        k = np.arange(rows * columns).reshape(rows, columns)
        a, b, c, d = k[:-1, :-1].ravel(), k[:-1, 1:].ravel(), k[1:, 1:].ravel(), k[1:, :-1].ravel()
        border = np.concatenate([k[0, :-1], k[:-1, -1], k[-1, :0:-1], k[:0:-1, 0]])
        floor = self.heights.min() - (self.depth or 0.0)
        bottom = np.concatenate([top[border], np.zeros((1, 3))])
        bottom[:, 1] = floor
        below = len(top) + np.arange(len(border))
        following, after = np.roll(border, -1), np.roll(below, -1)
        middle = np.full(len(border), len(top) + len(border))
        faces = [(a, c, b), (a, d, c), (border, following, below), (following, after, below), (below, after, middle)]
        return Mesh(np.concatenate([top, bottom]), np.concatenate([np.stack(face, axis=1) for face in faces]))

    @property
    def as_mesh(self) -> Mesh:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The ground as a closed mesh."""
        return self.mesh

    def surface(self, segments: int = SEGMENTS) -> Triangles:
        """Triangles of the ground."""
        return self.mesh.surface()

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners of the box around it."""
        return self.mesh.bounds()

    def mass_properties(self) -> MassProperties:
        """It has none: its bottom stands for a ground without end."""
        raise self.no_volume()

    def lacks_inside(self) -> str | None:
        """It has no end."""
        return "a Heightfield has no end and no mass; add it with add_collider"


def _spread(length: float, count: int) -> np.ndarray:
    return np.linspace(-0.5 * length, 0.5 * length, count)


class HeightfieldTable(Table, tag_field="type", tag="heightfield"):
    """Ground, centred in X and Z.

    Attributes:
        heights: Heights [m], one row after another along Z.
        size: Lengths along X and Z [m].
        depth: From the lowest height to the bottom [m]; left out: the larger of the lengths.
    """

    heights: Annotated[list[Annotated[list[float], Meta(min_length=2)]], Meta(min_length=2)]
    size: tuple[Positive, Positive]
    depth: Positive | None = None


register(Heightfield, "heightfield", table=HeightfieldTable)
