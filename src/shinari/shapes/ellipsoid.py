"""Ellipsoids."""

import math
from dataclasses import dataclass

import numpy as np

from shinari import check
from shinari.maths.function import steady
from shinari.schema_types import Positive, Table
from shinari.shapes.base import SEGMENTS, Shape, Triangles
from shinari.shapes.kernels.revolution import capsule_mesh
from shinari.shapes.kernels.support_distance import distance_by
from shinari.shapes.mass import MassProperties, on_axis
from shinari.shapes.registry import register


@dataclass(frozen=True)
class Ellipsoid(Shape):
    """Ellipsoid with its half axes along x, y and z.

    Attributes:
        half_axes: Half axes [m], (3,).
    """

    half_axes: tuple[float, float, float]

    def __post_init__(self) -> None:
        given = check.array("Ellipsoid", "half_axes", self.half_axes, (3,)).tolist()
        for length in given:
            check.number("Ellipsoid", "half_axes", length, above=0.0)
        object.__setattr__(self, "half_axes", tuple(given))

    def numbers(self) -> tuple[float, ...]:
        """The half axes."""
        return self.half_axes

    def surface(self, segments: int = SEGMENTS) -> Triangles:
        """Two poles and rings of latitude."""
        vertices, faces = capsule_mesh(1.0, 0.0, segments)
        return vertices * np.array(self.half_axes), faces

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners of its box."""
        half = np.array(self.half_axes)
        return -half, half

    def mass_properties(self) -> MassProperties:
        """Closed form."""
        a, b, c = (length**2 for length in self.half_axes)
        mass = 4.0 / 3.0 * math.pi * math.prod(self.half_axes)
        return on_axis(mass, 0.0, 0.2 * (b + c), 0.2 * (c + a), 0.2 * (a + b))


@steady
def support(d, s):
    """The point farthest along d: A d / |A d| in the axes of the unit ball, A of the half axes."""
    x, y, z = s[0] * d[0], s[1] * d[1], s[2] * d[2]
    length = np.sqrt(x * x + y * y + z * z)
    return s[0] * x / length, s[1] * y / length, s[2] * z / length


class EllipsoidTable(Table, tag_field="type", tag="ellipsoid"):
    """Ellipsoid with its half axes along x, y and z.

    Attributes:
        half_axes: Half axes [m].
    """

    half_axes: tuple[Positive, Positive, Positive]


ELLIPSOID = register(
    Ellipsoid,
    "ellipsoid",
    distance=distance_by(support),
    support=support,
    curved=True,
    half_axes=Ellipsoid.numbers,
    table=EllipsoidTable,
).kind
