"""Matrices of three by three as tuples of three columns, each a tuple of three, and the rotation nearest to one.

The rotation part of a matrix F is the proper rotation R that makes tr(R^T F) largest, for det F < 0 as well, where the
orthogonal factor of the polar decomposition would be a reflection. As a quaternion q it is the eigenvector of the
largest eigenvalue of a symmetric 4 x 4 matrix K, since tr(R(q)^T F) = q^T K q (Horn 1987, Closed-form solution of
absolute orientation using unit quaternions). The eigenvalue is the largest root of

    z^4 - 2 |F|^2 z^2 - 8 det F z + |F|^4 - 4 |cof F|^2,

found by Newton's method from sqrt(3) |F|, which is never below it: all roots are real, so each step stays on the same
side (Theobald 2005, Rapid calculation of RMSDs using a quaternion-based characteristic polynomial). The eigenvector is
a column of the adjugate of K - z. Nothing is divided by a singular value, so a flat F is as good as any. Where two
rotations are equally near (an inverted F whose two smaller singular values are equal) it is one of them or one between.
"""

import numpy as np

from shinari.maths.function import function, steady
from shinari.maths.vec3 import ONE, ZERO, add, cross, dot, reciprocal, root, scale

TWO = np.float32(2.0)
THREE = np.float32(3.0)
FOUR = np.float32(4.0)
EIGHT = np.float32(8.0)

# Newton's method squares the error with each step; past this one, squared again by two Rayleigh quotients, rounding is
# left. Towards a double root it halves the error, and what is left of it keeps the adjugate from vanishing: that
# vector lies between those of the root, and is kept when at the quotient itself the adjugate is no more than this.
SMALL_STEP = np.float32(1e-3)
VANISHING = np.float32(1e-4)
MOST_STEPS = 24


@steady
def determinant(a):
    """Determinant of a."""
    return dot(a[0], cross(a[1], a[2]))


@steady
def cofactors(a):
    """Cofactor matrix, the derivative of the determinant."""
    return cross(a[1], a[2]), cross(a[2], a[0]), cross(a[0], a[1])


@steady
def times(a, b):
    """Product a b, with b as nine numbers by rows."""
    return (
        add(add(scale(a[0], b[0]), scale(a[1], b[3])), scale(a[2], b[6])),
        add(add(scale(a[0], b[1]), scale(a[1], b[4])), scale(a[2], b[7])),
        add(add(scale(a[0], b[2]), scale(a[1], b[5])), scale(a[2], b[8])),
    )


@steady
def times_transposed(a, b):
    """Product a b^T, with b as nine numbers by rows."""
    return (
        add(add(scale(a[0], b[0]), scale(a[1], b[1])), scale(a[2], b[2])),
        add(add(scale(a[0], b[3]), scale(a[1], b[4])), scale(a[2], b[5])),
        add(add(scale(a[0], b[6]), scale(a[1], b[7])), scale(a[2], b[8])),
    )


@steady
def inner(a, b):
    """Inner product of two matrices, tr(a^T b)."""
    return dot(a[0], b[0]) + dot(a[1], b[1]) + dot(a[2], b[2])


@steady
def rotation_columns(q):
    """Rotation matrix of a unit quaternion w x y z."""
    w, x, y, z = q
    return (
        (ONE - TWO * (y * y + z * z), TWO * (x * y + w * z), TWO * (x * z - w * y)),
        (TWO * (x * y - w * z), ONE - TWO * (x * x + z * z), TWO * (y * z + w * x)),
        (TWO * (x * z + w * y), TWO * (y * z - w * x), ONE - TWO * (x * x + y * y)),
    )


@function
def rotation_part(f):
    """The proper rotation nearest to a matrix; for the zero matrix the identity."""
    # of size one, so that no power of an entry leaves the range of single precision
    most = largest(largest(extent(f[0]), extent(f[1])), extent(f[2]))
    f = unit(scale(f[0], reciprocal(most)), scale(f[1], reciprocal(most)), scale(f[2], reciprocal(most)))
    a, b, c = f
    k = (
        a[0] + b[1] + c[2],
        b[2] - c[1],
        c[0] - a[2],
        a[1] - b[0],
        a[0] - b[1] - c[2],
        b[0] + a[1],
        c[0] + a[2],
        -a[0] + b[1] - c[2],
        c[1] + b[2],
        -a[0] - b[1] + c[2],
    )
    q, _ = null_vector(k, largest_root(f))
    for _ in range(2):
        better, size = null_vector(k, rayleigh_quotient(k, q))
        q = better if size > VANISHING else q
    return rotation_columns(q)


@steady
def largest(a, b):
    """The larger of two numbers."""
    return a if a > b else b


@steady
def extent(a):
    """Largest magnitude of three numbers."""
    return largest(largest(abs(a[0]), abs(a[1])), abs(a[2]))


@steady
def unit(a, b, c):
    """Matrix of these columns over its norm."""
    s = reciprocal(root(dot(a, a) + dot(b, b) + dot(c, c)))
    return scale(a, s), scale(b, s), scale(c, s)


@function
def largest_root(f):
    """Largest eigenvalue of K for a matrix of norm one."""
    cof = cofactors(f)
    c1, c0 = EIGHT * dot(f[0], cof[0]), ONE - FOUR * inner(cof, cof)
    z = np.sqrt(THREE * inner(f, f))
    for _ in range(MOST_STEPS):
        square = z * z
        step = ((square - TWO) * square - c1 * z + c0) * reciprocal(FOUR * z * (square - ONE) - c1)
        z = z - step
        if not step > SMALL_STEP:
            break
    return z


@function
def rayleigh_quotient(k, q):
    """q^T K q, with K by its upper triangle."""
    w, x, y, z = q
    kw = k[0] * w + k[1] * x + k[2] * y + k[3] * z
    kx = k[1] * w + k[4] * x + k[5] * y + k[6] * z
    ky = k[2] * w + k[5] * x + k[7] * y + k[8] * z
    kz = k[3] * w + k[6] * x + k[8] * y + k[9] * z
    return w * kw + x * kx + y * ky + z * kz


@function
def null_vector(k, z):
    """Unit vector q with (K - z) q = 0 for an eigenvalue z, and its diagonal entry: a column of the adjugate."""
    a, b, c, d, f, g, i = k[0] - z, k[1], k[2], k[3], k[5], k[6], k[8]
    e, h, j = k[4] - z, k[7] - z, k[9] - z
    # minors of the last two rows, by their columns
    m01, m02, m03 = c * g - d * f, c * i - d * h, c * j - d * i
    m12, m13, m23 = f * i - g * h, f * j - g * i, h * j - i * i
    p00 = e * m23 - f * m13 + g * m12
    p01 = -(b * m23 - f * m03 + g * m02)
    p02 = b * m13 - e * m03 + g * m01
    p03 = -(b * m12 - e * m02 + f * m01)
    p11 = a * m23 - c * m03 + d * m02
    p12 = -(a * m13 - b * m03 + d * m01)
    p13 = a * m12 - b * m02 + c * m01
    # minors of the first two rows
    n01, n03, n13 = a * e - b * b, a * g - b * d, b * g - d * e
    n02, n12 = a * f - b * c, b * f - c * e
    p22 = d * n13 - g * n03 + j * n01
    p23 = -(d * n12 - g * n02 + i * n01)
    p33 = c * n12 - f * n02 + h * n01
    first = abs(p00) >= abs(p11)
    s, size = (p00, p01, p02, p03) if first else (p01, p11, p12, p13), abs(p00) if first else abs(p11)
    third = abs(p22) >= abs(p33)
    t, other = (p02, p12, p22, p23) if third else (p03, p13, p23, p33), abs(p22) if third else abs(p33)
    w, x, y, z = s if size >= other else t
    size = largest(size, other)
    over = largest(largest(abs(w), abs(x)), largest(abs(y), abs(z)))
    scaled = reciprocal(over)
    w, x, y, z = w * scaled, x * scaled, y * scaled, z * scaled
    w = w if over > ZERO else ONE
    length = reciprocal(np.sqrt(w * w + x * x + y * y + z * z))
    return (w * length, x * length, y * length, z * length), size
