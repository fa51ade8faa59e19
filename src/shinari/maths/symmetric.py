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
def inverse(s):
    """Inverse of a positive definite matrix."""
    a, b, c = s[1] * s[2] - s[3] * s[3], s[3] * s[4] - s[5] * s[2], s[5] * s[3] - s[1] * s[4]
    over = 1.0 / (s[0] * a + s[5] * b + s[4] * c)
    d, e, f = s[0] * s[2] - s[4] * s[4], s[0] * s[1] - s[5] * s[5], s[4] * s[5] - s[0] * s[3]
    return over * a, over * d, over * e, over * f, over * c, over * b
