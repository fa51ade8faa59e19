"""Relative pose of two bodies at a joint: anchors, rotations, swing and twist; symmetric matrices."""

import math

from shinari.maths.function import steady
from shinari.maths.quaternion import conjugate, multiply, rotate, rotation_rows
from shinari.maths.symmetric import outer, plus
from shinari.maths.vec3 import add, cross, dot, scale, sub
from shinari.systems.rigid.integration import NEAR, arc_over_sine
from shinari.systems.rigid.joints.table import ANCHOR_A, ANCHOR_B, FIRST, FRAME_A, FRAME_B, SECOND

# Sine below which a swing has no direction, and 1 + cosine of the swing below which there is no twist.
TINY = 1e-12
NO_TWIST = 1e-6


@steady
def vector_at(numbers, j, at):
    """Three columns of row j."""
    return numbers[j, at], numbers[j, at + 1], numbers[j, at + 2]


@steady
def quaternion_at(numbers, j, at):
    """Four columns of row j."""
    return numbers[j, at], numbers[j, at + 1], numbers[j, at + 2], numbers[j, at + 3]


@steady
def set_vector_at(rows, j, at, v):
    """Write three columns of row j."""
    rows[j, at], rows[j, at + 1], rows[j, at + 2] = v[0], v[1], v[2]


@steady
def joint_frame(numbers, j, at, q):
    """Joint frame of one side in the world."""
    return multiply(q, quaternion_at(numbers, j, at))


@steady
def relative(codes, numbers, j, q):
    """Joint frame of a relative to that of b, a rotation of at most half a turn."""
    a, b = codes[j, FIRST], codes[j, SECOND]
    frame_a, frame_b = joint_frame(numbers, j, FRAME_A, q[a]), joint_frame(numbers, j, FRAME_B, q[b])
    return short(multiply(conjugate(frame_b), frame_a))


@steady
def anchor_offset(codes, numbers, j, x, q):
    """From b's anchor to a's, and the arms of both, world axes."""
    a, b = codes[j, FIRST], codes[j, SECOND]
    ra = rotate(q[a], vector_at(numbers, j, ANCHOR_A))
    rb = rotate(q[b], vector_at(numbers, j, ANCHOR_B))
    return add(sub(x[a], x[b]), sub(ra, rb)), ra, rb


@steady
def place_of(codes, numbers, j, x, q):
    """Where a joint is: from b's anchor to a's, both arms, the axes on b, and the rotation of a's joint frame from b's.

    All in world axes; the rotation is at most half a turn.
    """
    a, b = codes[j, FIRST], codes[j, SECOND]
    gap, ra, rb = anchor_offset(codes, numbers, j, x, q)
    frame_a, frame_b = joint_frame(numbers, j, FRAME_A, q[a]), joint_frame(numbers, j, FRAME_B, q[b])
    return gap, ra, rb, axes_of(frame_b), short(multiply(conjugate(frame_b), frame_a))


@steady
def twist_of(p):
    """Angle about x of a relative rotation [rad], -pi to pi."""
    return 2.0 * math.atan2(p[1], p[0])


@steady
def swing_of(p):
    """Angle between the axes of both sides, and the direction y z of the swing of a's axis from b's."""
    cosine, y, z = swing_cosine(p)
    sine = math.sqrt(y * y + z * z)
    some = sine > TINY
    s = 1.0 / sine if some else 0.0
    # b x a for the unit vectors; half a turn about y where there is none
    return math.atan2(sine, cosine), (-z * s if some or cosine > 0.0 else 1.0), y * s


@steady
def in_axes(axes, v):
    """Components of a vector."""
    return dot(axes[0], v), dot(axes[1], v), dot(axes[2], v)


@steady
def from_axes(axes, v):
    """The vector with these components."""
    return add(add(scale(axes[0], v[0]), scale(axes[1], v[1])), scale(axes[2], v[2]))


@steady
def along_axes(axes, s):
    """Sum of s_i n_i n_i^T over three axes."""
    if s[1] == s[2]:
        rest = (s[1], s[1], s[1], 0.0, 0.0, 0.0)
        return rest if s[0] == s[1] else plus(outer(axes[0], s[0] - s[1]), rest)
    return plus(plus(outer(axes[0], s[0]), outer(axes[1], s[1])), outer(axes[2], s[2]))


@steady
def geometric_stiffness(r, f):
    """Positive part of the geometric stiffness of a force f of constant direction at an arm r.

    The moment r x f changes with a rotation by -G dtheta, G = (r . f) 1 - (r f^T + f r^T) / 2. Across r and f an
    eigenvalue of G is r . f; in their plane they are (r . f +- |r| |f|) / 2, for the eigenvectors r/|r| -+ f/|f|.
    """
    rr, ff, along, c = dot(r, r), dot(f, f), dot(r, f), cross(r, f)
    most, square = math.sqrt(rr * ff), dot(c, c)
    large, quarter = 0.5 * (along + most), 0.25 * most
    # that eigenvalue but for the vector r/|r| + f/|f|, and that across; no division waits for the root
    p, q = (quarter * (1.0 / rr), quarter * (1.0 / ff)) if most > 0.0 else (0.0, 0.0)
    s = (max(along, 0.0) - large) * (1.0 / square) if square > TINY * TINY * rr * ff else 0.0
    return (
        large - p * r[0] * r[0] - q * f[0] * f[0] - 0.5 * r[0] * f[0] + s * c[0] * c[0],
        large - p * r[1] * r[1] - q * f[1] * f[1] - 0.5 * r[1] * f[1] + s * c[1] * c[1],
        large - p * r[2] * r[2] - q * f[2] * f[2] - 0.5 * r[2] * f[2] + s * c[2] * c[2],
        s * c[1] * c[2] - p * r[1] * r[2] - q * f[1] * f[2] - 0.25 * (r[1] * f[2] + r[2] * f[1]),
        s * c[2] * c[0] - p * r[2] * r[0] - q * f[2] * f[0] - 0.25 * (r[2] * f[0] + r[0] * f[2]),
        s * c[0] * c[1] - p * r[0] * r[1] - q * f[0] * f[1] - 0.25 * (r[0] * f[1] + r[1] * f[0]),
    )


@steady
def axes_of(q):
    """Axes of a frame in the world."""
    x, y, z = rotation_rows(q)
    return (x[0], y[0], z[0]), (x[1], y[1], z[1]), (x[2], y[2], z[2])


@steady
def swing_cosine(p):
    """Components of a's axis in the axes of b."""
    cosine = 1.0 - 2.0 * (p[2] * p[2] + p[3] * p[3])
    return cosine, 2.0 * (p[1] * p[2] + p[0] * p[3]), 2.0 * (p[1] * p[3] - p[0] * p[2])


@steady
def shortest_rotation(p):
    """Rotation vector of the shortest rotation from b's axis to a's, in the axes of b [rad]."""
    cosine, y, z = swing_cosine(p)
    square = y * y + z * z
    if square < NEAR and cosine > 0.0:
        s = arc_over_sine(square)
        return 0.0, -s * z, s * y
    angle, y, z = swing_of(p)
    return 0.0, angle * y, angle * z


@steady
def short(p):
    """The same rotation with a scalar part that is not negative."""
    s = -1.0 if p[0] < 0.0 else 1.0
    return s * p[0], s * p[1], s * p[2], s * p[3]
