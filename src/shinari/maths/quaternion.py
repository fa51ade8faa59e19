"""Quaternions w x y z as tuples of four, and rotations of vectors of three.

A unit quaternion q turns the axes of a frame into those of the world; rotations that follow one another are products,
`multiply(second, first)`. Constants are float32, see `shinari.maths.vec3`.
"""

import numpy as np

from shinari.maths.function import steady
from shinari.maths.vec3 import least_square, root

ZERO, HALF, ONE, TWO = np.float32(0.0), np.float32(0.5), np.float32(1.0), np.float32(2.0)
# The scalar part below which a rotation counts as this far from half a turn, see `turn_between`.
NEAR_HALF_TURN = np.float32(0.1)


@steady
def multiply(a, b):
    """Product a b."""
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@steady
def conjugate(q):
    """The opposite rotation of a unit quaternion."""
    return q[0], -q[1], -q[2], -q[3]


@steady
def normalised(q):
    """Q / |q|; the identity for a quaternion of length zero."""
    square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]
    some = square > least_square(square)
    s = ONE / np.sqrt(square) if some else ZERO
    return s * q[0] if some else ONE + s, s * q[1], s * q[2], s * q[3]


@steady
def rotation_rows(q):
    """Rows of the rotation matrix of a unit quaternion."""
    w, x, y, z = q
    return (
        (ONE - TWO * (y * y + z * z), TWO * (x * y - w * z), TWO * (x * z + w * y)),
        (TWO * (x * y + w * z), ONE - TWO * (x * x + z * z), TWO * (y * z - w * x)),
        (TWO * (x * z - w * y), TWO * (y * z + w * x), ONE - TWO * (x * x + y * y)),
    )


@steady
def rotate(q, v):
    """The vector v, given in the axes of the frame q, in those of the world."""
    w, x, y, z = q
    a, b, c = TWO * (y * v[2] - z * v[1]), TWO * (z * v[0] - x * v[2]), TWO * (x * v[1] - y * v[0])
    return (
        v[0] + w * a + y * c - z * b,
        v[1] + w * b + z * a - x * c,
        v[2] + w * c + x * b - y * a,
    )


@steady
def rotate_back(q, v):
    """The vector v, given in the axes of the world, in those of the frame q."""
    return rotate(conjugate(q), v)


@steady
def exponential(v):
    """The rotation by |v| about v [rad]."""
    angle = root(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    s = np.sin(HALF * angle) / angle if angle > ZERO else HALF + angle
    return np.cos(HALF * angle), s * v[0], s * v[1], s * v[2]


@steady
def rotated_body_axes(q, v):
    """Q after a turn v, in its own axes: q (1, v/2), brought to length one (the Cayley map).

    It is the rotation by 2 atan(|v| / 2), so no v is too large; `turn_between` is its inverse.
    """
    return normalised(multiply(q, (ONE, HALF * v[0], HALF * v[1], HALF * v[2])))


@steady
def tangent_rotation_between(a, b):
    """The turn v in world axes that leads from a to b on the short way: b = (1, v/2) a, brought to length one.

    It is 2 tan(angle / 2), a little more than the angle; beyond 168 degrees it is bounded, by 20.
    """
    w, x, y, z = multiply(b, conjugate(a))
    s = -ONE if w < ZERO else ONE
    s = TWO * s / max(s * w, NEAR_HALF_TURN)
    return s * x, s * y, s * z
