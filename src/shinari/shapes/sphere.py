"""Balls."""

import math
from dataclasses import dataclass

import numpy as np

from shinari import check
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, direction_and_length
from shinari.schema_types import Positive, Table
from shinari.shapes.base import SEGMENTS, Core, Shape, Triangles
from shinari.shapes.kernels.revolution import capsule_mesh
from shinari.shapes.mass import MassProperties, on_axis
from shinari.shapes.registry import register


@dataclass(frozen=True)
class Sphere(Shape):
    """Ball.

    Attributes:
        radius: Radius [m].
    """

    radius: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", check.number("Sphere", "radius", self.radius, above=0.0))

    def numbers(self) -> tuple[float, ...]:
        """The radius."""
        return (self.radius,)

    def surface(self, segments: int = SEGMENTS) -> Triangles:
        """Two poles and rings of latitude."""
        return capsule_mesh(self.radius, 0.0, segments)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners of its box."""
        half = np.full(3, self.radius)
        return -half, half

    def mass_properties(self) -> MassProperties:
        """Closed form."""
        return on_axis(4.0 / 3.0 * math.pi * self.radius**3, 0.0, *(3 * [0.4 * self.radius**2]))

    def core(self) -> Core:
        """Its centre, so that it rolls without a corner."""
        return Core(self.radius, self.radius, corners=1)


@steady
def distance(q, s):
    """Distance from the centre; up at the centre."""
    n, length = direction_and_length(q)
    return length - s[0], n if length > ZERO else (n[0], n[1] + ONE, n[2])


@steady
def support(d, s):
    """The centre."""
    return 0.0, 0.0, 0.0


@steady
def feature(q, s, n, nearest, one, zero):
    """The centre."""
    return (zero, zero, zero), (one, one, one), False


@steady
def corner(k, towards, s):
    """The centre."""
    return False, (0.0, 0.0, 0.0)


class SphereTable(Table, tag_field="type", tag="sphere"):
    """Ball.

    Attributes:
        radius: Radius [m].
    """

    radius: Positive


SPHERE = register(
    Sphere,
    "sphere",
    distance=distance,
    support=support,
    feature=feature,
    corner=corner,
    common=True,
    table=SphereTable,
).kind
