"""Symmetric matrices of three by three as tuples of six: xx yy zz yz zx xy."""

from shinari.maths.function import steady


@steady
def outer(n, s):
    """S n n^T."""
    x, y, z = s * n[0], s * n[1], s * n[2]
    return x * n[0], y * n[1], z * n[2], y * n[2], z * n[0], x * n[1]


@steady
def isotropic(s):
    """A multiple of the unit matrix."""
    zero = s - s
    return s, s, s, zero, zero, zero


@steady
def plus(a, b):
    """Sum of two matrices."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]


@steady
def times(s, v):
    """Product of a matrix and a vector."""
    return (
        s[0] * v[0] + s[5] * v[1] + s[4] * v[2],
        s[5] * v[0] + s[1] * v[1] + s[3] * v[2],
        s[4] * v[0] + s[3] * v[1] + s[2] * v[2],
    )


@steady
def scaled(a, s):
    """A multiple of a symmetric matrix."""
    return s * a[0], s * a[1], s * a[2], s * a[3], s * a[4], s * a[5]


@steady
def inverse(m):
    """Inverse of a positive definite matrix, from its cofactors."""
    xx, yy, zz = m[1] * m[2] - m[3] * m[3], m[2] * m[0] - m[4] * m[4], m[0] * m[1] - m[5] * m[5]
    yz, zx, xy = m[4] * m[5] - m[0] * m[3], m[5] * m[3] - m[1] * m[4], m[3] * m[4] - m[2] * m[5]
    s = 1.0 / (m[0] * xx + m[5] * xy + m[4] * zx)
    return s * xx, s * yy, s * zz, s * yz, s * zx, s * xy
