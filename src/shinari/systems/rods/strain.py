"""The strains of a rod and their gradients.

Kugelstadt and Schoemer 2016, Position and Orientation Based Cosserat Rods. Between each two points of a rod stands a
frame, a unit quaternion q_i whose third axis runs along the segment:

        x_i ----- q_i ----- x_{i+1} ----- q_{i+1} ----- x_{i+2}
              segment i       joint i       segment i+1

Rows come in threes, in the axes of the frames, as differences (not divided by a length, so that multipliers are forces
and moments times h^2):

    stretch and shear of segment i [m]       C = c - (0, 0, l),           c = R(q_i)^T (x_{i+1} - x_i)
    bend and twist of joint i [rad]          C = 2 (Im p - Im p_rest),    p = conj(q_i) q_{i+1}

Of p and -p, which are the same rotation, the one nearer to the one at rest counts. With a turn f of a frame in its own
axes, q (1, f/2), and [v] the matrix of the cross product with v,

    dC/dx_{i+1} = R^T = -dC/dx_i,   dC/df_i = [c]                          for the segment
    dC/df_{i+1} = w + [v],          dC/df_i = -w + [v],   p = (w, v)       for the joint

Compliances [m/N] and [rad/(N m)] follow from the energies l/2 (k G A (G1^2 + G2^2) + E A G3^2) and
l/2 (E I (O1^2 + O2^2) + G J O3^2), G = C / l and O = C / l: l / (k G A), l / (E A), l / (E I), l / (G J).
"""

import numpy as np

from shinari.maths.function import steady
from shinari.maths.quaternion import conjugate, multiply, rotate_back
from shinari.maths.vec3 import ONE, ZERO, sub

TWO = np.float32(2.0)


@steady
def stretch(first, second, q):
    """C of a segment between two points."""
    return rotate_back(q, sub(second, first))


@steady
def joint(q0, q1, rest):
    """P of a joint, of the two signs the one nearer to the one at rest."""
    w, x, y, z = multiply(conjugate(q0), q1)
    near = w * rest[0] + x * rest[1] + y * rest[2] + z * rest[3]
    s = ONE if near >= ZERO else -ONE
    return s * w, s * x, s * y, s * z


@steady
def bend(p, rest):
    """C of a joint."""
    return TWO * (p[1] - rest[1]), TWO * (p[2] - rest[2]), TWO * (p[3] - rest[3])


@steady
def cross_rows(c):
    """Rows of the matrix [c] of the cross product with c."""
    o = ZERO * c[0]
    return (o, -c[2], c[1]), (c[2], o, -c[0]), (-c[1], c[0], o)


@steady
def joint_rows(w, v):
    """Rows of w + [v]."""
    return (w, -v[2], v[1]), (v[2], w, -v[0]), (-v[1], v[0], w)
