"""Capsules along Y."""

import math
from dataclasses import dataclass

import numpy as np

from shinari import check
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, direction_and_length
from shinari.schema_types import NonNegative, Positive, Table
from shinari.shapes.base import SEGMENTS, Core, Shape, Triangles
from shinari.shapes.kernels.projection import line
from shinari.shapes.kernels.revolution import OUTSIDE, along_axis, around, capsule_mesh, clamp
from shinari.shapes.mass import MassProperties, on_axis
from shinari.shapes.registry import register


@dataclass(frozen=True)
class Capsule(Shape):
    """Capsule along Y: a segment of the given length, thickened by the radius.

    Attributes:
        radius: Radius [m].
        length: Length of the segment between the centres of the two caps [m].
    """

    radius: float
    length: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", check.number("Capsule", "radius", self.radius, above=0.0))
        object.__setattr__(self, "length", check.number("Capsule", "length", self.length, least=0.0))

    def numbers(self) -> tuple[float, ...]:
        """Radius and half the length."""
        return self.radius, 0.5 * self.length

    def surface(self, segments: int = SEGMENTS) -> Triangles:
        """Two poles and rings of latitude."""
        return capsule_mesh(self.radius, self.length, segments)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners of its box."""
        half = self.radius + np.array([0.0, 0.5 * self.length, 0.0])
        return -half, half

    def mass_properties(self) -> MassProperties:
        """A cylinder and two half balls, whose centres of mass lie 3/8 of the radius beyond its ends."""
        radius, length = self.radius, self.length
        square = radius * radius
        body, caps = math.pi * square * length, 4.0 / 3.0 * math.pi * square * radius
        along = body * 0.5 * square + caps * 0.4 * square
        across = body * (0.25 * square + length**2 / 12.0)
        across += caps * (0.4 * square + 0.25 * length**2 + 0.375 * length * radius)
        mass = body + caps
        return on_axis(mass, 0.0, across / mass, along / mass, across / mass)

    def core(self) -> Core:
        """Its segment."""
        return Core(self.radius, self.radius + 0.5 * self.length, corners=2, axes=1)


@steady
def axis_offset(q, s):
    """Vector from the nearest point of a capsule's segment to q."""
    return q[0], q[1] - clamp(q[1], -s[1], s[1]), q[2]


@steady
def distance(q, s):
    """Distance from the segment; sideways on it."""
    n, length = direction_and_length(axis_offset(q, s))
    return length - s[0], n if length > ZERO else (n[0] + ONE, n[1], n[2])


@steady
def support(d, s):
    """An end of the segment."""
    return 0.0, np.copysign(s[1], d[1]), 0.0


@steady
def feature(q, s, n, nearest, one, zero):
    """An end of the segment, or the axis."""
    beyond = abs(q[1]) > s[1]
    return (zero, s[1] if q[1] > ZERO else -s[1], zero), (one, one if beyond else zero, one), False


@steady
def axis(k, toward, s):
    """Across the axis."""
    c, d = around(toward)
    return c, 0.0, d


@steady
def face(d, s, projection, table, column):
    """Write the segment."""
    return line((0.0, -s[1], 0.0), (0.0, s[1], 0.0), 0.0, projection, table, column)


@steady
def corner(k, towards, s):
    """An end of the segment."""
    return False, (0.0, s[1] if k else -s[1], 0.0)


@steady
def is_extreme(k, u, s):
    """Whether u is about in the half space of an end."""
    return u[1] * (1.0 if k else -1.0) >= -OUTSIDE


class CapsuleTable(Table, tag_field="type", tag="capsule"):
    """Capsule along Y.

    Attributes:
        radius: Radius [m].
        length: Length between the centres of the caps [m].
    """

    radius: Positive
    length: NonNegative


CAPSULE = register(
    Capsule,
    "capsule",
    distance=distance,
    support=support,
    feature=feature,
    straight=along_axis,
    axis=axis,
    face=face,
    corner=corner,
    is_extreme=is_extreme,
    common=True,
    table=CapsuleTable,
).kind
