"""Boxes, and containers: boxes of which the outside is solid."""

import math
from dataclasses import dataclass

import numpy as np

from shinari import check
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, add, direction_and_length, norm, scale
from shinari.schema_types import PositiveVector, Table
from shinari.shapes.base import SEGMENTS, Core, Shape, Triangles
from shinari.shapes.kernels.projection import put
from shinari.shapes.kernels.revolution import sign
from shinari.shapes.mass import MassProperties, on_axis
from shinari.shapes.plane import Plane
from shinari.shapes.registry import register

# Sine by which a direction may lie outside of the normal cone of a corner.
OUTSIDE = 0.05


@dataclass(frozen=True)
class Box(Shape):
    """Box with its edges along the axes.

    Attributes:
        size: Full edge lengths [m].
        inside: True for a container: everything outside the box is solid.
    """

    size: tuple[float, float, float]
    inside: bool = False

    def __post_init__(self) -> None:
        size = check.vector("Box", "size", self.size)
        for length in size:
            check.number("Box", "size", length, above=0.0)
        object.__setattr__(self, "size", tuple(size.tolist()))
        check.choice("Box", "inside", self.inside, (True, False))

    @property
    def variant(self) -> str:
        """Whether it is a container."""
        return "container" if self.inside else ""

    def numbers(self) -> np.ndarray:
        """Half of each edge, and whether the inside is solid (0) or the outside (1)."""
        return np.array([*(0.5 * np.asarray(self.size)), float(self.inside)])

    def surface(self, segments: int = SEGMENTS) -> Triangles:
        """Its twelve triangles; those of a container look inward."""
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
        faces = np.array([triangle for a, b, c, d in quads for triangle in ((a, b, c), (a, c, d))], np.int32)
        return signs * self.numbers()[:3], faces[:, ::-1].copy() if self.inside else faces

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners of the box; a container is solid without end."""
        half = np.full(3, np.inf) if self.inside else self.numbers()[:3]
        return -half, half

    def mass_properties(self) -> MassProperties:
        """Closed form."""
        if self.inside:
            raise self.no_volume()
        a, b, c = (edge * edge / 12.0 for edge in self.size)
        return on_axis(math.prod(self.size), 0.0, b + c, c + a, a + b)

    def core(self) -> Core:
        """Eight corners and six faces."""
        return Core(0.0, 0.5 * max(self.size), corners=8, axes=6)

    def lacks_inside(self) -> str | None:
        """A container has no end."""
        return "a Box with inside=True is solid without end; add it with add_collider" if self.inside else None

    def walls(self) -> list[Plane]:
        """The six half spaces around a container."""
        return [
            Plane((s * (axis == 0), s * (axis == 1), s * (axis == 2)), -0.5 * length)
            for axis, length in enumerate(self.size)
            for s in (1.0, -1.0)
        ]


@steady
def box_distance(q, s):
    """Distance outside, minus the depth below the nearest face inside."""
    dx, dy, dz = abs(q[0]) - s[0], abs(q[1]) - s[1], abs(q[2]) - s[2]
    outside = norm((max(dx, ZERO), max(dy, ZERO), max(dz, ZERO)))
    return outside + min(max(dx, max(dy, dz)), ZERO)


@steady
def box_normal(q, s):
    """Gradient of the distance: away from the nearest point, or out of the nearest face."""
    dx, dy, dz = abs(q[0]) - s[0], abs(q[1]) - s[1], abs(q[2]) - s[2]
    n, length = direction_and_length(
        (max(dx, ZERO) * sign(q[0]), max(dy, ZERO) * sign(q[1]), max(dz, ZERO) * sign(q[2]))
    )
    if length > ZERO:
        return n
    if dx >= dy and dx >= dz:
        return sign(q[0]), ZERO, ZERO
    if dy >= dz:
        return ZERO, sign(q[1]), ZERO
    return ZERO, ZERO, sign(q[2])


@steady
def distance(q, s):
    """Distance and normal of a box or a container."""
    d, n = box_distance(q, s), box_normal(q, s)
    return (d, n) if s[3] == ZERO else (-d, scale(n, -ONE))


@steady
def support(d, s):
    """A corner."""
    return np.copysign(s[0], d[0]), np.copysign(s[1], d[1]), np.copysign(s[2], d[2])


@steady
def feature(q, s, n, nearest, one, zero):
    """A corner, an edge or a face."""
    x, y, z = abs(q[0]) > s[0], abs(q[1]) > s[1], abs(q[2]) > s[2]
    keep = (one if x else zero, one if y else zero, one if z else zero)
    return nearest, keep, keep[0] + keep[1] + keep[2] <= ONE


@steady
def straight(n, s):
    """Along the axis to which the normal is most at right angles."""
    one, zero = ONE + ZERO * n[0], ZERO * n[0]
    x, y, z = abs(n[0]), abs(n[1]), abs(n[2])
    if x < y and x < z:
        return (one, zero, zero), s[0]
    if y < z:
        return (zero, one, zero), s[1]
    return (zero, zero, one), s[2]


@steady
def axis(k, toward, s):
    """Normal of face k."""
    side = 1.0 if k < 3 else -1.0
    i = k % 3
    return (side if i == 0 else 0.0), (side if i == 1 else 0.0), (side if i == 2 else 0.0)


@steady
def face(d, h, projection, table, column):
    """Write the face that looks along d."""
    x, y, z, start = projection
    ax, ay, az = abs(d[0]), abs(d[1]), abs(d[2])
    if ax >= ay and ax >= az:
        k, m, e, f = 0, x, scale(y, h[1]), scale(z, h[2])
        s, most, bit_e, bit_f = d[0], h[0], 2.0, 4.0
    elif ay >= az:
        k, m, e, f = 1, y, scale(z, h[2]), scale(x, h[0])
        s, most, bit_e, bit_f = d[1], h[1], 4.0, 1.0
    else:
        k, m, e, f = 2, z, scale(x, h[0]), scale(y, h[1])
        s, most, bit_e, bit_f = d[2], h[2], 1.0, 2.0
    side = 1.0 if s >= 0.0 else -1.0
    centre = add(start, scale(m, side * most))
    base = float(1 << k) if s >= 0.0 else 0.0
    for i in range(4):
        along = 1.0 if i in (1, 2) else -1.0
        across = side if i >= 2 else -side
        label = base + (bit_e if along > 0.0 else 0.0) + (bit_f if across > 0.0 else 0.0)
        put(table, i, column, add(centre, add(scale(e, along), scale(f, across))), label)
    return 4, scale(m, side)


@steady
def corner(k, towards, s):
    """Corner k: its bits are the signs."""
    return False, (s[0] if k & 1 else -s[0], s[1] if k & 2 else -s[1], s[2] if k & 4 else -s[2])


@steady
def is_extreme(k, u, s):
    """Whether u is about in the octant of corner k."""
    return (
        u[0] * (1.0 if k & 1 else -1.0) >= -OUTSIDE
        and u[1] * (1.0 if k & 2 else -1.0) >= -OUTSIDE
        and u[2] * (1.0 if k & 4 else -1.0) >= -OUTSIDE
    )


class BoxTable(Table, tag_field="type", tag="box"):
    """Box with its edges along the axes.

    Attributes:
        size: Full edge lengths [m].
        inside: True for a container: everything outside is solid.
    """

    size: PositiveVector
    inside: bool = False


CONTAINER = register(Box, "container", variant="container", distance=distance, common=True, table=BoxTable).kind
BOX = register(
    Box,
    "box",
    distance=distance,
    support=support,
    feature=feature,
    straight=straight,
    axis=axis,
    face=face,
    corner=corner,
    is_extreme=is_extreme,
    common=True,
    flat=True,
    angular=True,
    table=BoxTable,
).kind
