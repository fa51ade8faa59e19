"""The rotation in a matrix, followed from the one before.

The rotation that belongs to a matrix A is the proper rotation R for which tr(R^T A) is largest: it brings points q with
masses m nearest to points p when A = sum m p q^T. For det A > 0 it is the orthogonal factor of the polar decomposition,
and R^T A is symmetric, which is what keeps angular momentum. As a quaternion it is the eigenvector of the largest
eigenvalue of a symmetric 4 x 4 matrix K (Horn 1987, Closed-form solution of absolute orientation using unit
quaternions), so going uphill from any start ends there: there are no other maxima, inverted or not.

`shinari.maths.mat3` finds it without a start. Here it is followed from the rotation of the last time, as in Mueller et
al. 2016, A Robust Method to Extract the Rotational Part of Deformations: where A does not say, as for points on a line
that may spin, or says two objects at once, as for one that is just turning inside out, the rotation stays where it was.
In the axes of the rotation R so far, with B = R^T A, S its symmetric part and a its axial vector, a turn w changes the
trace by

    a . w - 1/2 w . (tr S - S) w,

and w = (tr S - S)^-1 a through the Cayley map is a step of Rayleigh quotient iteration on K: it triples the digits.
Where that is no maximum, or far away, a step of inverse iteration with the largest eigenvalue leads there.
"""

import numpy as np

from shinari.maths.function import steady
from shinari.maths.quaternion import rotation_rows
from shinari.maths.vec3 import ONE, ZERO, cross, dot

HALF, TWO = np.float32(0.5), np.float32(2.0)
MOST_STEPS = 40
MOST_ROOT_STEPS = 60
# In units of |A|: curvatures smaller than this are none, and the turn that they would decide is left out.
FLAT = np.float32(1e-11)
# A torque of so much of |A| is rounding.
ROUNDING = np.float32(1e-15)
# The error of a step is at most the square of its turn [rad]: after one this small there is nothing left to gain.
LAST_TURN = np.float32(1e-8)
# A turn with which Newton's step may be trusted [rad].
NEAR = ONE


@steady
def transposed_times(a, b):
    """Product a^T b of matrices given by rows."""
    return (
        (
            a[0][0] * b[0][0] + a[1][0] * b[1][0] + a[2][0] * b[2][0],
            a[0][0] * b[0][1] + a[1][0] * b[1][1] + a[2][0] * b[2][1],
            a[0][0] * b[0][2] + a[1][0] * b[1][2] + a[2][0] * b[2][2],
        ),
        (
            a[0][1] * b[0][0] + a[1][1] * b[1][0] + a[2][1] * b[2][0],
            a[0][1] * b[0][1] + a[1][1] * b[1][1] + a[2][1] * b[2][1],
            a[0][1] * b[0][2] + a[1][1] * b[1][2] + a[2][1] * b[2][2],
        ),
        (
            a[0][2] * b[0][0] + a[1][2] * b[1][0] + a[2][2] * b[2][0],
            a[0][2] * b[0][1] + a[1][2] * b[1][1] + a[2][2] * b[2][1],
            a[0][2] * b[0][2] + a[1][2] * b[1][2] + a[2][2] * b[2][2],
        ),
    )


@steady
def rotated_body_axes(q, w):
    """The unit quaternion q after a turn w in its own axes: q (1, w / 2), brought to length one."""
    a, x, y, z = q
    i, j, k = HALF * w[0], HALF * w[1], HALF * w[2]
    n = ONE / np.sqrt(ONE + i * i + j * j + k * k)
    i, j, k = n * i, n * j, n * k
    a, x, y, z = (
        n * a - x * i - y * j - z * k,
        a * i + n * x + y * k - z * j,
        a * j + n * y + z * i - x * k,
        a * k + n * z + x * j - y * i,
    )
    # a thousand turns later the length is still one
    n = ONE / np.sqrt(a * a + x * x + y * y + z * z)
    return n * a, n * x, n * y, n * z


@steady
def solve_symmetric(diagonal, off, b):
    """Solution w of H w = b by LDL^T, and the smallest pivot; H has this diagonal and yz, xz, xy beside it."""
    first = diagonal[0]
    l1, l2 = off[2] / first, off[1] / first
    second = diagonal[1] - l1 * off[2]
    l3 = (off[0] - l2 * off[2]) / second
    third = diagonal[2] - l2 * off[1] - l3 * l3 * second
    y = b[1] - l1 * b[0]
    z = b[2] - l2 * b[0] - l3 * y
    w2 = z / third
    w1 = y / second - l3 * w2
    w0 = b[0] / first - l1 * w1 - l2 * w2
    return (w0, w1, w2), min(first, min(second, third))


@steady
def largest_eigenvalue(a):
    """Largest eigenvalue of K for a matrix of norm one, never below it beyond rounding.

    It is the largest root of z^4 - 2 z^2 - 8 det A z + 1 - 4 |cof A|^2; all roots are real, so Newton's method from
    above stays above.
    """
    c0, c1, c2 = cross(a[1], a[2]), cross(a[2], a[0]), cross(a[0], a[1])
    linear = np.float32(8.0) * dot(a[0], c0)
    constant = ONE - np.float32(4.0) * (dot(c0, c0) + dot(c1, c1) + dot(c2, c2))
    z = np.sqrt(np.float32(3.0) + (linear - linear))
    for _ in range(MOST_ROOT_STEPS):
        square = z * z
        slope = np.float32(4.0) * z * (square - ONE) - linear
        value = (square - TWO) * square - linear * z + constant
        if not (value > ZERO and slope > ZERO):
            break
        z -= value / slope
    return z


@steady
def rotation_near(a, q):
    """The rotation in a matrix.

    Args:
        a: Rows of A, double precision, with any unit.
        q: Unit quaternion w x y z to start from, such as the rotation a moment ago.

    Returns:
        Unit quaternion; `q` where A is zero, and q's part of it where A leaves a turn open.
    """
    square = dot(a[0], a[0]) + dot(a[1], a[1]) + dot(a[2], a[2])
    s = ONE / np.sqrt(square) if square > ZERO else ZERO * square
    a = (
        (s * a[0][0], s * a[0][1], s * a[0][2]),
        (s * a[1][0], s * a[1][1], s * a[1][2]),
        (s * a[2][0], s * a[2][1], s * a[2][2]),
    )
    root = -ONE + ZERO * square
    for _ in range(MOST_STEPS if square > ZERO else 0):
        b = transposed_times(rotation_rows(q), a)
        trace = b[0][0] + b[1][1] + b[2][2]
        torque = (b[2][1] - b[1][2], b[0][2] - b[2][0], b[1][0] - b[0][1])
        off = (-HALF * (b[2][1] + b[1][2]), -HALF * (b[0][2] + b[2][0]), -HALF * (b[1][0] + b[0][1]))
        height = trace + FLAT
        diagonal = (height - b[0][0], height - b[1][1], height - b[2][2])
        w, pivot = solve_symmetric(diagonal, off, torque)
        pull = np.sqrt(dot(torque, torque))
        if pivot > ZERO and pull <= ROUNDING:
            break
        turn = np.sqrt(dot(w, w))
        near = pivot > ZERO and turn <= NEAR
        if not near:
            if root < ZERO:
                root = largest_eigenvalue(a)
            height = HALF * (root + trace) + FLAT
            diagonal = (height - b[0][0], height - b[1][1], height - b[2][2])
            # on a saddle no direction is better than another
            lost = pull <= FLAT and not pivot > ZERO
            push = (torque[0] + FLAT, torque[1] - HALF * FLAT, torque[2] + HALF * HALF * FLAT)
            w, _ = solve_symmetric(diagonal, off, push if lost else torque)
        q = rotated_body_axes(q, w)
        if near and turn <= LAST_TURN:
            break
    return q
