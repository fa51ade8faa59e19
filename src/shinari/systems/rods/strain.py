"""The strains of a rod and their gradients.

Kugelstadt and Schoemer 2016, Position and Orientation Based Cosserat Rods. Between each two points of a rod stands a
frame, a unit quaternion q_i whose third axis runs along the segment:

        x_i ----- q_i ----- x_{i+1} ----- q_{i+1} ----- x_{i+2}
              segment i       joint i       segment i+1

Rows come in threes, in the axes of the frames, as differences (not divided by a length, so that multipliers are forces
and moments times h^2):

    stretch and shear of segment i [m]       C = c - (0, 0, l),           c = R(q_i)^T (x_{i+1} - x_i)
    bend and twist of joint i [rad]          C = 2 (v - v_rest),          p = conj(q_i) q_{i+1}

with v half of the rotation vector of p: (cos |v|, sin |v| v / |v|) = p. In the paper it is the imaginary part of p,
whose moment is largest at a quarter of a turn from segment to segment and falls from there on: a rod that was twisted
further was thrown about. Of p and -p, which are the same rotation, the one nearer to the one at rest counts. With a
turn f of a frame in its own axes, q (1, f/2), and [v] the matrix of the cross product with v,

    dC/dx_{i+1} = R^T = -dC/dx_i,   dC/df_i = [c]                                  for the segment
    dC/df_{i+1} = S + [v],          dC/df_i = -S + [v],                            for the joint
    S = w + k v v^T,                w = |v| / tan |v|,   k = (1 - w) / |v|^2       (the inverse of the exponential map)

Compliances [m/N] and [rad/(N m)] follow from the energies l/2 (k G A (G1^2 + G2^2) + E A G3^2) and
l/2 (E I (O1^2 + O2^2) + G J O3^2), G = C / l and O = C / l: l / (k G A), l / (E A), l / (E I), l / (G J).
"""

import numpy as np

from shinari.maths.function import steady
from shinari.maths.quaternion import conjugate, multiply, rotate_back
from shinari.maths.vec3 import ONE, ZERO, dot, scale, sub

TWO = np.float32(2.0)
# Below this square of a sine the series of the arc sine has all digits; further terms are below 1e-16.
SERIES = np.float64(0.01)
ARC_SINE = tuple(np.float64(n) for n in (1.0, 1 / 6, 3 / 40, 5 / 112, 35 / 1152, 63 / 2816, 231 / 13312, 143 / 10240))
# No sine is less where a joint is a whole turn from straight, and k is that of a straight joint below this square.
LEAST_SINE, STRAIGHT, THIRD = np.float64(1e-3), np.float64(1e-12), np.float64(1 / 3)


@steady
def stretch(first, second, q):
    """C of a segment between two points."""
    return rotate_back(q, sub(second, first))


@steady
def joint(q0, q1, rest):
    """The number w, the vector v and the number k of a joint, of the two signs of p that nearer to the one at rest."""
    w, x, y, z = multiply(conjugate(q0), q1)
    near = w * rest[0] + x * rest[1] + y * rest[2] + z * rest[3]
    sine = x * x + y * y + z * z
    s = angle_over_sine(w if near >= ZERO else -w, sine)
    v, square = s if near >= ZERO else -s, s * s * sine
    k = (ONE - v * w) / square if square > STRAIGHT else THIRD
    return v * w, v * x, v * y, v * z, k


@steady
def angle_over_sine(cosine, square):
    """Angle / sine of an angle from 0 to pi, given its cosine and the square of its sine."""
    if square < SERIES and cosine > ZERO:
        a, b, c, d, e, f, g, h = ARC_SINE
        return a + square * (b + square * (c + square * (d + square * (e + square * (f + square * (g + square * h))))))
    sine = max(np.sqrt(square), LEAST_SINE)
    return np.arctan2(sine, cosine) / sine


@steady
def bend(p, turn):
    """C of a joint; `turn` is v at rest."""
    return TWO * (p[1] - turn[0]), TWO * (p[2] - turn[1]), TWO * (p[3] - turn[2])


@steady
def cross_rows(c):
    """Rows of the matrix [c] of the cross product with c."""
    o = ZERO * c[0]
    return (o, -c[2], c[1]), (c[2], o, -c[0]), (-c[1], c[0], o)


@steady
def joint_rows(p, side):
    """Rows of side S + [v] of p = (w, v, k)."""
    v = p[1], p[2], p[3]
    w, a = side * p[0], scale(v, side * p[4])
    return (
        (w + a[0] * v[0], a[0] * v[1] - v[2], a[0] * v[2] + v[1]),
        (a[1] * v[0] + v[2], w + a[1] * v[1], a[1] * v[2] - v[0]),
        (a[2] * v[0] - v[1], a[2] * v[1] + v[0], w + a[2] * v[2]),
    )


@steady
def symmetric_part(p, moment):
    """The product S m."""
    v = p[1], p[2], p[3]
    a, w = p[4] * dot(v, moment), p[0]
    return w * moment[0] + a * v[0], w * moment[1] + a * v[1], w * moment[2] + a * v[2]


@steady
def rotation_of(p, side):
    """Rows of the rotation matrix of a joint, or with the side -1 of its inverse."""
    w, x, y, z = side * p[0], p[1], p[2], p[3]
    s = TWO / (w * w + x * x + y * y + z * z)
    return (
        (ONE - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)),
        (s * (x * y + w * z), ONE - s * (x * x + z * z), s * (y * z - w * x)),
        (s * (x * z - w * y), s * (y * z + w * x), ONE - s * (x * x + y * y)),
    )
