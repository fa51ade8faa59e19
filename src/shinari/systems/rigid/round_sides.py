"""How surfaces move at a contact point in a substep: those with corners turn, round ones roll.

A corner goes where its body takes it, (R - 1) r at an arm r. A round surface rolls away under its contact point, and
moves past the other surface by its rotation vector times the mean of its arms from there, theta x r: a wheel that
turns by 0.3 rad in a substep and rolled by the sine of that would be 1.5 % too slow. A rounded shape does both: its
core turns, the surface around it rolls. So do the middle b of a rim or an ellipsoid and its surface, at the arms

    rho L^T L u / |L u|    before and after the rotation.

Across the normal a side that is round without a core reaches, along a unit vector u in the axes of its frame, as far as

    r(u) = u . b + rho |L u|

    rim of a cylinder or cone    |L u| is the sine between u and the axis, rho the radius of the rim, b its middle
    ellipsoid                    L = diag(s) R^T, s the half axes along the columns of R; rho = 1, b the middle

A rotation from R0 to R changes the gap of a contact whose normal n points into the side by r(-R0^T n) - r(-R^T n),
whatever it is. To first order that is n . (theta x r). A cone that turns by 0.35 rad in a substep while it precesses
tilts by 4e-3 rad in second order.
"""

from typing import NamedTuple

import numpy as np

from shinari.compute import Field, Record
from shinari.maths.function import steady
from shinari.maths.poses import rotate_vector, rotate_vector_back
from shinari.maths.quaternion import conjugate, multiply, rotate, rotate_back
from shinari.maths.vec3 import add, cross, dot, norm, scale, sub
from shinari.shapes.registry import type_of
from shinari.systems.rigid.contact.collision_shapes import CollisionShapes
from shinari.systems.rigid.integration import logarithm

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
def is_same_side(sides, g, n, q0, q):
    """Whether the extreme point of a rim along -n stays on one side of the axis."""
    before, now = rotate(q0, sides.axis[g]), rotate(q, sides.axis[g])
    one, other = sub(n, scale(before, dot(n, before))), sub(n, scale(now, dot(n, now)))
    return dot(one, other) > SAME_SIDE * norm(one) * norm(other)


class Motion(NamedTuple):
    """Motion of a frame since the start of the substep, and the surface of one of its collision shapes.

    Attributes:
        displacement: Of its origin [m].
        w: Real part of the unit quaternion of its rotation.
        axis: The others.
        rotation: Its rotation vector where that counts: of round surfaces, and against moments [rad].
        shape: The collision shape.
        q0: Rotation at the start of the substep.
        q: Rotation now.
    """

    displacement: tuple
    w: float
    axis: tuple
    rotation: tuple
    shape: int
    q0: tuple
    q: tuple


@steady
def motion_of(i, shape, rolls, frames):
    """Motion of a frame since the start of the substep; rolls: whether its rotation vector counts."""
    q0, q = frames.q0[i], frames.q[i]
    w, x, y, z = multiply(q, conjugate(q0))
    rotation = logarithm((w, x, y, z)) if rolls else (0.0, 0.0, 0.0)
    return Motion(sub(frames.x[i], frames.x0[i]), w, (x, y, z), rotation, shape, q0, q)


@steady
def turned(motion, r):
    """What a rotation changes of an arm."""
    across = cross(motion.axis, r)
    return scale(add(scale(across, motion.w), cross(motion.axis, across)), 2.0)


@steady
def moved_surface(sides, motion, arm, n, radius):
    """Motion of a surface at a contact point by the rotation of its frame: along n of the gap, across it of the slip.

    Args:
        sides: Round sides of the collision shapes.
        motion: Motion of the frame.
        arm: Arm of the contact point at the start of the substep.
        n: Normal, into the shape.
        radius: Distance of the surface from the core.
    """
    if sides.curved[motion.shape]:
        return rolled(sides, motion, arm, n)
    if radius != 0.0:
        out = scale(n, -radius)
        return add(turned(motion, sub(arm, out)), cross(motion.rotation, out))
    return turned(motion, arm)


@steady
def rolled(sides, motion, arm, n):
    """`moved_surface` of a side that is round without a core."""
    g = motion.shape
    if sides.known[g]:
        before, now = rotate_back(motion.q0, scale(n, -1.0)), rotate_back(motion.q, scale(n, -1.0))
        point, a, middle, breadth = rotate_back(motion.q0, arm), sides.axis[g], sides.middle[g], sides.breadth[g]
        base = add(middle, scale(a, dot(a, sub(point, middle))))
        out, wide = sub(point, base), rotate_vector(breadth, now)
        reach, broad, broad_now = dot(before, out), norm(rotate_vector(breadth, before)), norm(wide)
        # an apex has no radius, up to rounding
        extreme = broad > TILTED and reach >= EXTREME * broad * norm(out) - ROUNDING * norm(point)
        if not sides.rim[g] or (extreme and is_same_side(sides, g, n, motion.q0, motion.q)):
            gap = dot(sub(before, now), base) + reach * (1.0 - broad_now / broad)
            ends = scale(rotate_vector_back(breadth, wide), reach / (broad * broad_now))
            middle_arm = scale(add(rotate(motion.q0, out), rotate(motion.q, ends)), 0.5)
            slip = add(turned(motion, rotate(motion.q0, base)), cross(motion.rotation, middle_arm))
            return add(slip, scale(n, gap - dot(n, slip)))
    slip = turned(motion, arm)
    return add(slip, scale(n, dot(n, sub(cross(motion.rotation, arm), slip))))
