"""Vectors of three as tuples: they cost nothing once compiled.

Constants are float32: they serve float64 arrays as well, while an untyped constant would promote float32 to float64.
"""

import numpy as np

from shinari.compute.primitives import convert
from shinari.maths.function import steady

ZERO = np.float32(0.0)
ONE = np.float32(1.0)
TINY, TINY_DOUBLE = np.finfo(np.float32).tiny, np.float64(1e-300)


@steady
def add(a, b):
    """Sum a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@steady
def sub(a, b):
    """Difference a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@steady
def neg(a):
    """Opposite -a."""
    return -a[0], -a[1], -a[2]


@steady
def scale(a, s):
    """Multiple s a."""
    return s * a[0], s * a[1], s * a[2]


@steady
def dot(a, b):
    """Inner product a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@steady
def cross(a, b):
    """Vector product a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@steady
def least_square(like):
    """Square below which a vector counts as zero, in the precision of a number: the least normal one in single."""
    double = convert(TINY_DOUBLE, like)
    return double if double > ZERO else TINY


@steady
def root(square):
    """Square root of a square: 0 for one below the normal numbers.

    One over a square root becomes an approximate instruction, which yields infinity where such a number is not zero.
    """
    return np.sqrt(square if square > least_square(square) else ZERO)


@steady
def norm(a):
    """Length |a|."""
    return root(dot(a, a))


@steady
def reciprocal(s):
    """1 / s, and 0 where s is 0: a degenerate stencil then yields no correction."""
    return ONE / s if s > ZERO else ZERO


@steady
def direction_and_length(a):
    """Unit vector a / |a| (zero for a zero vector) and the length |a|."""
    length = norm(a)
    return scale(a, reciprocal(length)), length


@steady
def direction_and_positive_length(a):
    """As `direction_and_length` with a length of at least 1e-19: without a choice, for the hottest loops."""
    length = np.sqrt(dot(a, a) + TINY)
    return scale(a, ONE / length), length
