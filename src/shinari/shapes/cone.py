"""Cones along Y."""

import math
from dataclasses import dataclass

import numpy as np

from shinari import check
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, scale, sub
from shinari.schema_types import Positive, Table
from shinari.shapes.base import SEGMENTS, Core, Shape, Triangles
from shinari.shapes.kernels.projection import line
from shinari.shapes.kernels.revolution import OUTSIDE, RIM, around, cap, rim_place, turned_mesh, turned_profile
from shinari.shapes.mass import MassProperties, on_axis
from shinari.shapes.registry import register

CLOSE = np.float32(5e-3)
"""Difference of normals below which a point is beside the slant."""


@dataclass(frozen=True)
class Cone(Shape):
    """Cone along Y: its base at y = -height / 2, its tip at y = height / 2.

    Attributes:
        radius: Radius of the base [m].
        height: Height from the base to the tip [m].
    """

    radius: float
    height: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", check.number("Cone", "radius", self.radius, above=0.0))
        object.__setattr__(self, "height", check.number("Cone", "height", self.height, above=0.0))

    def numbers(self) -> tuple[float, ...]:
        """Radius, half the height, and the outward normal of the slant: across the axis and along it."""
        slant = np.hypot(self.radius, self.height)
        return self.radius, 0.5 * self.height, self.height / slant, self.radius / slant

    def surface(self, segments: int = SEGMENTS) -> Triangles:
        """A base and a slant."""
        return turned_mesh([(self.radius, -0.5 * self.height), (0.0, 0.5 * self.height)], segments)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners of its box."""
        half = np.array([self.radius, 0.5 * self.height, self.radius])
        return -half, half

    def mass_properties(self) -> MassProperties:
        """Closed form."""
        square, across = self.radius**2, 0.15 * self.radius**2 + 0.0375 * self.height**2
        mass = math.pi * square * self.height / 3.0
        return on_axis(mass, -0.25 * self.height, across, 0.3 * square, across)

    def core(self) -> Core:
        """The tip and a rim; the slant and the base."""
        return Core(0.0, max(self.radius, 0.5 * self.height), corners=1 + RIM, axes=2)


@steady
def distance(q, s):
    """Distance and normal.

    The profile is a triangle; outside its faces the nearest point is the rim or the tip.
    """
    rho = np.sqrt(q[0] * q[0] + q[2] * q[2])
    n_rho, n_y = s[2], s[3]
    from_tip, from_rim = q[1] - s[1], rho - s[0]
    below = -(q[1] + s[1])
    slant = n_rho * rho + n_y * from_tip
    beyond_tip = n_y * rho - n_rho * from_tip < ZERO
    beyond_rim = n_y * from_rim + n_rho * below > ZERO
    outside = slant > ZERO or below > ZERO
    at_tip = outside and beyond_tip and below < ZERO
    at_rim = outside and beyond_rim and from_rim > ZERO and not at_tip
    on_base = below >= slant or (below > ZERO and from_rim <= ZERO)
    across = rho if at_tip else from_rim
    along = from_tip if at_tip else -below
    length = np.sqrt(across * across + along * along)
    corner = (at_tip or at_rim) and length > ZERO
    value = length if corner else (below if on_base else slant)
    r = across / length if corner else (ZERO if on_base else n_rho)
    y = along / length if corner else (-ONE if on_base else n_y)
    return turned_profile(q, rho, value, r, y)


@steady
def support(d, s):
    """The tip, or a point of the rim."""
    across = np.sqrt(d[0] * d[0] + d[2] * d[2])
    out = s[0] / across if across > 0.0 else 0.0
    if s[0] * across < 2.0 * s[1] * d[1]:
        return 0.0, s[1], 0.0
    return out * d[0], -s[1], out * d[2]


@steady
def feature(q, s, n, nearest, one, zero):
    """The axis beside the slant; the base; the tip or a point of the rim."""
    rho = np.sqrt(q[0] * q[0] + q[2] * q[2])
    target = sub(q, scale(n, rho / s[2])) if abs(n[1] - s[3]) < CLOSE else nearest
    return target, (one, one, one), abs(n[1]) == ONE


@steady
def axis(k, toward, s):
    """Out of the slant, and down."""
    c, d = around(toward)
    if k > 0:
        return 0.0, -1.0, 0.0
    return s[2] * c, s[3], s[2] * d


@steady
def face(d, s, projection, table, column):
    """Write the base, or a line on the slant."""
    across = np.sqrt(d[0] * d[0] + d[2] * d[2])
    x, z = around(d)
    at_tip = s[0] * across < 2.0 * s[1] * d[1]
    per = 1.0 / np.sqrt(s[0] * s[0] + 4.0 * s[1] * s[1])
    on_slant = per * (2.0 * s[1] * across + s[0] * d[1]) >= -d[1]
    if at_tip or on_slant:
        return line((s[0] * x, -s[1], s[0] * z), (0.0, s[1], 0.0), 16.0, projection, table, column)
    return cap(s[0], -s[1], -1.0, d, projection, table, column)


@steady
def corner(k, towards, s):
    """The tip, then places of the rim."""
    if k == 0:
        return False, (0.0, s[1], 0.0)
    x, z = rim_place(k - 1, towards)
    return k == 1, (s[0] * x, -s[1], s[0] * z)


@steady
def is_extreme(k, u, s):
    """Whether u is about in the normal cone of the tip or of a place of the rim."""
    out, up = s[2], s[3]
    across = (u[0] * u[0] + u[2] * u[2]) ** 0.5
    if k == 0:
        return up * across - out * u[1] <= OUTSIDE
    x, z = rim_place(k - 1, u)
    radial = u[0] * x + u[2] * z
    return radial >= -OUTSIDE and out * u[1] - up * radial <= OUTSIDE


class ConeTable(Table, tag_field="type", tag="cone"):
    """Cone along Y, its tip up; its origin is half-way up.

    Attributes:
        radius: Radius of the base [m].
        height: Height from the base to the tip [m].
    """

    radius: Positive
    height: Positive


CONE = register(
    Cone,
    "cone",
    distance=distance,
    support=support,
    feature=feature,
    axis=axis,
    face=face,
    corner=corner,
    is_extreme=is_extreme,
    common=True,
    curved=True,
    half_axes=lambda _: (1.0, 0.0, 1.0),
    table=ConeTable,
).kind
