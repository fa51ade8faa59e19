"""Gaps under round sides without a core, which roll away under their contact points.

Along a unit vector u in the axes of its frame a round side reaches as far as

    r(u) = u . b + rho |L u|

    rim of a cylinder or cone    |L u| is the sine between u and the axis, rho the radius of the rim, b its middle
    ellipsoid                    L = diag(s) R^T, s the half axes along the columns of R; rho = 1, b the middle

A rotation from R0 to R changes the gap of a contact whose normal n points into the side by r(-R0^T n) - r(-R^T n),
whatever it is. To first order that is n . (theta x arm). A cone that turns by 0.35 rad in a substep while it precesses
tilts by 4e-3 rad in second order.
"""

import math

import numpy as np

from shinari.compute import Field, Record
from shinari.maths.function import steady
from shinari.maths.quaternion import rotate, rotate_back
from shinari.maths.vec3 import add, cross, dot, norm, scale, sub
from shinari.shapes.registry import type_of
from shinari.systems.rigid.contact.collision_shapes import CollisionShapes

# Least sine between axis and normal for which a rim has one extreme point.
TILTED = 1e-4
# A point of contact on a rim is its extreme one if it reaches at least so much of the radius along the normal.
EXTREME = 0.99
ROUNDING = 1e-9
# Cosine of the largest turn of the extreme point about the axis; a disk that rocks from side to side has another one.
SAME_SIDE = 0.5


class RoundSides(Record):
    """Collision shapes, G rows."""

    curved = Field(np.bool_, doc="whether it has a round side without a core")
    known = Field(np.bool_, doc="whether r(u) is known; else rotations count to first order")
    rim = Field(np.bool_, doc="whether it is one of revolution")
    middle = Field(np.float64, 3, unit="m", doc="middle in the axes of the frame")
    axis = Field(np.float64, 3, doc="axis of revolution in the axes of the frame; 0 of an ellipsoid")
    breadth = Field(np.float64, 9, doc="L, by rows")


def round_sides(shapes: CollisionShapes) -> RoundSides:
    """The round sides of all collision shapes."""
    sides = RoundSides.zeros(len(shapes))
    for g, shape in enumerate(shapes.solids):
        kind = type_of(shape)
        sides.curved[g], sides.known[g] = kind.curved, kind.half_axes is not None
        if kind.half_axes is None:
            continue
        turn, half = shapes.arrays.local[g, :9].reshape(3, 3), np.array(kind.half_axes(shape))
        sides.rim[g], sides.middle[g] = (half == 0.0).any(), shapes.arrays.local[g, 9:]
        sides.axis[g] = turn[:, half == 0.0].sum(axis=1)
        sides.breadth[g] = (half[:, None] * turn.T).ravel()
    return sides


@steady
def breadth_along(sides, g, u):
    """|L u|."""
    m = sides.breadth[g]
    x = m[0] * u[0] + m[1] * u[1] + m[2] * u[2]
    y = m[3] * u[0] + m[4] * u[1] + m[5] * u[2]
    z = m[6] * u[0] + m[7] * u[1] + m[8] * u[2]
    return math.sqrt(x * x + y * y + z * z)


@steady
def is_same_side(sides, g, n, q0, q):
    """Whether the extreme point of a rim along -n stays on one side of the axis."""
    axis = sides.axis[g, 0], sides.axis[g, 1], sides.axis[g, 2]
    before, now = rotate(q0, axis), rotate(q, axis)
    one, other = sub(n, scale(before, dot(n, before))), sub(n, scale(now, dot(n, now)))
    return dot(one, other) > SAME_SIDE * norm(one) * norm(other)


@steady
def gap_by_rotation(sides, g, arm, n, q0, q, rotation):
    """What a rotation from q0 to q changes of the gap of a point at an arm of the start, n into the round side.

    `rotation` is its vector.
    """
    if sides.known[g]:
        before, now = rotate_back(q0, scale(n, -1.0)), rotate_back(q, scale(n, -1.0))
        point, a = rotate_back(q0, arm), (sides.axis[g, 0], sides.axis[g, 1], sides.axis[g, 2])
        middle = sides.middle[g, 0], sides.middle[g, 1], sides.middle[g, 2]
        base = add(middle, scale(a, dot(a, sub(point, middle))))
        out, broad = sub(point, base), breadth_along(sides, g, before)
        reach = dot(before, out)
        # an apex has no radius, up to rounding
        extreme = broad > TILTED and reach >= EXTREME * broad * norm(out) - ROUNDING * norm(point)
        if not sides.rim[g] or (extreme and is_same_side(sides, g, n, q0, q)):
            return dot(sub(before, now), base) + reach * (1.0 - breadth_along(sides, g, now) / broad)
    return dot(n, cross(rotation, arm))
