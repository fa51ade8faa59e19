"""Cylinders along Y."""

import math
from dataclasses import dataclass

import numpy as np

from shinari import check
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO
from shinari.schema_types import Positive, Table
from shinari.shapes.base import SEGMENTS, Core, Shape, Triangles
from shinari.shapes.kernels.projection import line
from shinari.shapes.kernels.revolution import (
    OUTSIDE,
    RIM,
    along_axis,
    around,
    cap,
    rim_place,
    sign,
    turned_mesh,
    turned_profile,
)
from shinari.shapes.mass import MassProperties, on_axis
from shinari.shapes.registry import register


@dataclass(frozen=True)
class Cylinder(Shape):
    """Cylinder along Y, with flat ends.

    Attributes:
        radius: Radius [m].
        length: Length from end to end [m].
    """

    radius: float
    length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", check.number("Cylinder", "radius", self.radius, above=0.0))
        object.__setattr__(self, "length", check.number("Cylinder", "length", self.length, above=0.0))

    def numbers(self) -> tuple[float, ...]:
        """Radius and half the length."""
        return self.radius, 0.5 * self.length

    def surface(self, segments: int = SEGMENTS) -> Triangles:
        """Two caps and a side."""
        return turned_mesh([(self.radius, -0.5 * self.length), (self.radius, 0.5 * self.length)], segments)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners of its box."""
        half = np.array([self.radius, 0.5 * self.length, self.radius])
        return -half, half

    def mass_properties(self) -> MassProperties:
        """Closed form."""
        square, across = self.radius**2, self.radius**2 / 4.0 + self.length**2 / 12.0
        return on_axis(math.pi * square * self.length, 0.0, across, 0.5 * square, across)

    def core(self) -> Core:
        """Two rims; two caps and the side."""
        return Core(0.0, max(self.radius, 0.5 * self.length), corners=2 * RIM, axes=3)


@steady
def distance(q, s):
    """Distance and normal. The profile is a rectangle."""
    rho = np.sqrt(q[0] * q[0] + q[2] * q[2])
    side, end = rho - s[0], abs(q[1]) - s[1]
    up = sign(q[1])
    corner = side > ZERO and end > ZERO
    length = np.sqrt(side * side + end * end)
    on_side = side >= end
    n_rho = side / length if corner else (ONE if on_side else ZERO)
    n_y = end / length if corner else (ZERO if on_side else ONE)
    return turned_profile(q, rho, length if corner else max(side, end), n_rho, up * n_y)


@steady
def support(d, s):
    """A point of a rim."""
    across = np.sqrt(d[0] * d[0] + d[2] * d[2])
    out = s[0] / across if across > 0.0 else 0.0
    return out * d[0], np.copysign(s[1], d[1]), out * d[2]


@steady
def feature(q, s, n, nearest, one, zero):
    """The axis beside the side; a cap; a point of a rim."""
    side = n[1] == ZERO
    target = (zero, q[1], zero) if side else nearest
    return target, (one, zero if side else one, one), abs(n[1]) == ONE


@steady
def axis(k, toward, s):
    """Across the axis, up and down."""
    c, d = around(toward)
    if k > 0:
        return 0.0, (1.0 if k == 1 else -1.0), 0.0
    return c, 0.0, d


@steady
def face(d, s, projection, table, column):
    """Write a cap, or a line on the side."""
    across = np.sqrt(d[0] * d[0] + d[2] * d[2])
    x, z = around(d)
    if abs(d[1]) > across:
        up = 1.0 if d[1] > 0.0 else -1.0
        return cap(s[0], up * s[1], up, d, projection, table, column)
    return line((s[0] * x, -s[1], s[0] * z), (s[0] * x, s[1], s[0] * z), 16.0, projection, table, column)


@steady
def corner(k, towards, s):
    """A place of one of the rims."""
    x, z = rim_place(k % RIM, towards)
    return k % RIM == 0, (s[0] * x, s[1] if k >= RIM else -s[1], s[0] * z)


@steady
def is_extreme(k, u, s):
    """Whether u is about in the normal cone of a place of a rim."""
    x, z = rim_place(k % RIM, u)
    return u[1] * (1.0 if k >= RIM else -1.0) >= -OUTSIDE and u[0] * x + u[2] * z >= -OUTSIDE


class CylinderTable(Table, tag_field="type", tag="cylinder"):
    """Cylinder along Y, with flat ends.

    Attributes:
        radius: Radius [m].
        length: Length from end to end [m].
    """

    radius: Positive
    length: Positive


CYLINDER = register(
    Cylinder,
    "cylinder",
    distance=distance,
    support=support,
    feature=feature,
    straight=along_axis,
    axis=axis,
    face=face,
    corner=corner,
    is_extreme=is_extreme,
    common=True,
    curved=True,
    half_axes=lambda _: (1.0, 0.0, 1.0),
    table=CylinderTable,
).kind
