"""Matrices of three by three as rows, and a band of them: symmetric, two blocks wide on each side of the diagonal.

A row of the table `bands` holds, for block k, its diagonal D (00, 01, 02, 11, 12, 22), its coupling E to block k + 1
and its coupling F to block k + 2 (rows of the later block, columns of this one), 6 + 9 + 9 numbers. `factorise` puts
D^-1, E D^-1 and F D^-1 in their place: the factors of a block L D L^T.
"""

from shinari.maths.function import inlined, steady
from shinari.maths.vec3 import ONE, add, dot, scale, sub


@steady
def times_transposed(a, b):
    """A B^T."""
    return (
        (dot(a[0], b[0]), dot(a[0], b[1]), dot(a[0], b[2])),
        (dot(a[1], b[0]), dot(a[1], b[1]), dot(a[1], b[2])),
        (dot(a[2], b[0]), dot(a[2], b[1]), dot(a[2], b[2])),
    )


@steady
def times(a, v):
    """A v."""
    return dot(a[0], v), dot(a[1], v), dot(a[2], v)


@steady
def transposed_times(a, v):
    """A^T v."""
    return add(add(scale(a[0], v[0]), scale(a[1], v[1])), scale(a[2], v[2]))


@steady
def scaled_columns(a, d):
    """A diag(d)."""
    return (
        (a[0][0] * d[0], a[0][1] * d[1], a[0][2] * d[2]),
        (a[1][0] * d[0], a[1][1] * d[1], a[1][2] * d[2]),
        (a[2][0] * d[0], a[2][1] * d[1], a[2][2] * d[2]),
    )


@steady
def inverse(a):
    """Inverse of a symmetric positive definite matrix, from its cofactors."""
    c0 = a[1][1] * a[2][2] - a[1][2] * a[1][2]
    c1 = a[0][2] * a[1][2] - a[0][1] * a[2][2]
    c2 = a[0][1] * a[1][2] - a[0][2] * a[1][1]
    s = ONE / (a[0][0] * c0 + a[0][1] * c1 + a[0][2] * c2)
    d0 = s * (a[0][0] * a[2][2] - a[0][2] * a[0][2])
    d1 = s * (a[0][1] * a[0][2] - a[0][0] * a[1][2])
    e0 = s * (a[0][0] * a[1][1] - a[0][1] * a[0][1])
    return (s * c0, s * c1, s * c2), (s * c1, d0, d1), (s * c2, d1, e0)


@inlined
def load(bands, k, at):
    """Rows of a coupling, from its first number on."""
    return (
        (bands[k, at], bands[k, at + 1], bands[k, at + 2]),
        (bands[k, at + 3], bands[k, at + 4], bands[k, at + 5]),
        (bands[k, at + 6], bands[k, at + 7], bands[k, at + 8]),
    )


@inlined
def store(bands, k, at, m):
    """Write the rows of a coupling."""
    bands[k, at], bands[k, at + 1], bands[k, at + 2] = m[0]
    bands[k, at + 3], bands[k, at + 4], bands[k, at + 5] = m[1]
    bands[k, at + 6], bands[k, at + 7], bands[k, at + 8] = m[2]


@inlined
def load_diagonal(bands, k):
    """Rows of a diagonal block."""
    return (
        (bands[k, 0], bands[k, 1], bands[k, 2]),
        (bands[k, 1], bands[k, 3], bands[k, 4]),
        (bands[k, 2], bands[k, 4], bands[k, 5]),
    )


@inlined
def store_diagonal(bands, k, m):
    """Write a diagonal block."""
    bands[k, 0], bands[k, 1], bands[k, 2] = m[0]
    bands[k, 3], bands[k, 4], bands[k, 5] = m[1][1], m[1][2], m[2][2]


@inlined
def subtract_diagonal(bands, k, m):
    """Take a symmetric matrix off a diagonal block."""
    bands[k, 0] -= m[0][0]
    bands[k, 1] -= m[0][1]
    bands[k, 2] -= m[0][2]
    bands[k, 3] -= m[1][1]
    bands[k, 4] -= m[1][2]
    bands[k, 5] -= m[2][2]


@steady
def factorise(bands, begin, end):
    """L D L^T of the blocks from begin to end, in place; couplings to blocks from end on have to be zero."""
    for k in range(begin, end):
        s = inverse(load_diagonal(bands, k))
        e, f = load(bands, k, 6), load(bands, k, 15)
        es, fs = times_transposed(e, s), times_transposed(f, s)
        store_diagonal(bands, k, s)
        store(bands, k, 6, es)
        store(bands, k, 15, fs)
        if k + 1 < end:
            subtract_diagonal(bands, k + 1, times_transposed(es, e))
            between = load(bands, k + 1, 6)
            fill = times_transposed(fs, e)
            store(bands, k + 1, 6, (sub(between[0], fill[0]), sub(between[1], fill[1]), sub(between[2], fill[2])))
        if k + 2 < end:
            subtract_diagonal(bands, k + 2, times_transposed(fs, f))


@inlined
def vector(v, k):
    """Entry of a block vector (K, 3)."""
    return v[k, 0], v[k, 1], v[k, 2]


@inlined
def store_vector(v, k, value):
    """Write an entry of a block vector."""
    v[k, 0], v[k, 1], v[k, 2] = value


@steady
def substitute(bands, v, begin, end):
    """Solve for the right hand side v (K, 3), in place, with what `factorise` left."""
    for k in range(begin, end):
        y = vector(v, k)
        if k + 1 < end:
            store_vector(v, k + 1, sub(vector(v, k + 1), times(load(bands, k, 6), y)))
        if k + 2 < end:
            store_vector(v, k + 2, sub(vector(v, k + 2), times(load(bands, k, 15), y)))
    for k in range(end - 1, begin - 1, -1):
        y = times(load_diagonal(bands, k), vector(v, k))
        if k + 1 < end:
            y = sub(y, transposed_times(load(bands, k, 6), vector(v, k + 1)))
        if k + 2 < end:
            y = sub(y, transposed_times(load(bands, k, 15), vector(v, k + 2)))
        store_vector(v, k, y)
