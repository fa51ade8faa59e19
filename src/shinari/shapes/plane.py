"""Half spaces."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shinari import check
from shinari.errors import SceneError
from shinari.maths.function import steady
from shinari.maths.vec3 import dot
from shinari.schema_types import Table, Vector
from shinari.shapes.base import SEGMENTS, Core, Shape, Triangles
from shinari.shapes.mass import MassProperties
from shinari.shapes.registry import register

PLANE_SIZE = 6.0
"""Edge of the patch [m] that stands for a plane without end."""


@dataclass(frozen=True)
class Plane(Shape):
    """Half space: everything below the plane normal . x = offset is solid.

    Attributes:
        normal: Direction that points out of the solid; brought to length one.
        offset: Distance of the plane from the origin along the normal [m].
    """

    endless: ClassVar[bool] = True
    normal: tuple[float, float, float] = (0.0, 1.0, 0.0)
    offset: float = 0.0

    def __post_init__(self) -> None:
        normal = check.vector("Plane", "normal", self.normal)
        largest = float(np.abs(normal).max())
        if largest == 0.0:
            raise SceneError("Plane: normal: must not be zero")
        normal = normal / largest  # so that squares neither overflow nor vanish
        length = float(np.linalg.norm(normal))
        object.__setattr__(self, "normal", tuple((normal / length).tolist()))
        object.__setattr__(self, "offset", check.number("Plane", "offset", self.offset))

    def numbers(self) -> tuple[float, ...]:
        """Normal and offset."""
        return (*self.normal, self.offset)

    def surface(self, segments: int = SEGMENTS) -> Triangles:
        """A square patch around the point that is nearest to the origin."""
        normal = np.array(self.normal)
        across = np.eye(3)[np.argmin(np.abs(normal))]
        u = np.cross(normal, across)
        u /= np.linalg.norm(u)
        v = np.cross(normal, u)
        half = 0.5 * PLANE_SIZE
        corners = [self.offset * normal + half * (a * u + b * v) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
        return np.array(corners), np.array([[0, 1, 2], [0, 2, 3]], np.int32)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Infinite, but for a normal along an axis."""
        low, high = np.full(3, -np.inf), np.full(3, np.inf)
        for axis in np.flatnonzero(np.abs(self.normal) == 1.0):
            (high if self.normal[axis] > 0.0 else low)[axis] = self.offset * self.normal[axis]
        return low, high

    def mass_properties(self) -> MassProperties:
        """It has none."""
        raise self.no_volume()

    def core(self) -> Core:
        """It has none."""
        return Core(0.0, 0.0, corners=0)

    def lacks_inside(self) -> str | None:
        """It has no end."""
        return "a Plane has no end and no mass; add it with add_collider"


@steady
def distance(q, s):
    """Height over the plane, and its normal."""
    return dot(q, (s[0], s[1], s[2])) - s[3], (s[0], s[1], s[2])


class PlaneTable(Table, tag_field="type", tag="plane"):
    """Half space below a plane.

    Attributes:
        normal: Direction out of the solid.
        offset: Distance from the origin along the normal [m].
    """

    normal: Vector = (0.0, 1.0, 0.0)
    offset: float = 0.0


PLANE = register(Plane, "plane", distance=distance, common=True, flat=True, table=PlaneTable).kind
