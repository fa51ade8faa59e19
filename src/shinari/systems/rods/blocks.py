"""Matrices of three by three as rows, and a band of them: symmetric, two blocks wide on each side of the diagonal.

A band holds, for block k, its diagonal D (00, 01, 02, 11, 12, 22), its coupling E to block k + 1 and its coupling F to
block k + 2 (rows of the later block, columns of this one). `factorise` puts D^-1, E D^-1 and F D^-1 in their place: the
factors of a block L D L^T. In the second half, where the later block is eliminated first, D is that of the later block
and the couplings are transposed.
"""

from typing import Annotated, Any

import numpy as np

from shinari.compute import Field, Record, View, shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, add, dot, scale, sub


class Blocks(Record):
    """Blocks of three rows of the system of all rods, K rows: segment s is block 2 s and its joint block 2 s + 1."""

    diagonal = Field(np.float64, 6, doc="00, 01, 02, 11, 12, 22")
    next = Field(np.float64, 9, doc="coupling to the next block, by rows")
    second = Field(np.float64, 9, doc="coupling to the block after the next, by rows")
    change = Field(np.float64, 3, doc="right hand side, then the change of the multipliers")


BlockVector = Annotated[Any, View(np.float64, 3)]


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


@steady
def rows_of(m):
    """Nine numbers as the rows of a matrix."""
    return (m[0], m[1], m[2]), (m[3], m[4], m[5]), (m[6], m[7], m[8])


@steady
def flat(m):
    """The rows of a matrix as nine numbers."""
    return m[0][0], m[0][1], m[0][2], m[1][0], m[1][1], m[1][2], m[2][0], m[2][1], m[2][2]


@steady
def symmetric_of(d):
    """Six numbers as the rows of a symmetric matrix."""
    return (d[0], d[1], d[2]), (d[1], d[3], d[4]), (d[2], d[4], d[5])


@steady
def upper(m):
    """The upper triangle of a symmetric matrix as six numbers."""
    return m[0][0], m[0][1], m[0][2], m[1][1], m[1][2], m[2][2]


@steady
def upper_difference(d, m):
    """Six numbers of a symmetric matrix minus another symmetric matrix."""
    return d[0] - m[0][0], d[1] - m[0][1], d[2] - m[0][2], d[3] - m[1][1], d[4] - m[1][2], d[5] - m[2][2]


@steady
def transposed(m):
    """M^T."""
    return (m[0][0], m[1][0], m[2][0]), (m[0][1], m[1][1], m[2][1]), (m[0][2], m[1][2], m[2][2])


@shared(fastmath=STEADY)
def factorise(blocks: Blocks, begin: int, end: int):
    """Factors of the blocks from begin to end, an even number, in place.

    They are eliminated from both ends, towards two blocks in the middle: each block waits for the one before it, and
    two such chains take hardly longer than one.
    """
    ahead = (end - begin - 2) // 2
    for i in range(ahead):
        eliminate_first(blocks, begin + i)
        eliminate_last(blocks, end - 1 - i)
    middle = begin + ahead
    s = inverse(symmetric_of(blocks.diagonal[middle]))
    e = rows_of(blocks.next[middle])
    es = times_transposed(e, s)
    blocks.diagonal[middle], blocks.next[middle] = upper(s), flat(es)
    last = upper_difference(blocks.diagonal[middle + 1], times_transposed(es, e))
    blocks.diagonal[middle + 1] = upper(inverse(symmetric_of(last)))


@steady
def eliminate_first(blocks, k):
    """Take block k out of the next two."""
    s = inverse(symmetric_of(blocks.diagonal[k]))
    e, f = rows_of(blocks.next[k]), rows_of(blocks.second[k])
    es, fs = times_transposed(e, s), times_transposed(f, s)
    blocks.diagonal[k], blocks.next[k], blocks.second[k] = upper(s), flat(es), flat(fs)
    blocks.diagonal[k + 1] = upper_difference(blocks.diagonal[k + 1], times_transposed(es, e))
    between, fill = rows_of(blocks.next[k + 1]), times_transposed(fs, e)
    blocks.next[k + 1] = flat((sub(between[0], fill[0]), sub(between[1], fill[1]), sub(between[2], fill[2])))
    blocks.diagonal[k + 2] = upper_difference(blocks.diagonal[k + 2], times_transposed(fs, f))


@steady
def eliminate_last(blocks, k):
    """Take block k out of the two before it."""
    s = inverse(symmetric_of(blocks.diagonal[k]))
    e, f = transposed(rows_of(blocks.next[k - 1])), transposed(rows_of(blocks.second[k - 2]))
    es, fs = times_transposed(e, s), times_transposed(f, s)
    blocks.diagonal[k], blocks.next[k - 1], blocks.second[k - 2] = upper(s), flat(es), flat(fs)
    blocks.diagonal[k - 1] = upper_difference(blocks.diagonal[k - 1], times_transposed(es, e))
    between, fill = rows_of(blocks.next[k - 2]), times_transposed(es, f)
    blocks.next[k - 2] = flat((sub(between[0], fill[0]), sub(between[1], fill[1]), sub(between[2], fill[2])))
    blocks.diagonal[k - 2] = upper_difference(blocks.diagonal[k - 2], times_transposed(fs, f))


@shared(fastmath=STEADY)
def substitute(blocks: Blocks, v: BlockVector, at: int, begin: int, end: int):
    """Solve for a right hand side in place with what `factorise` left; that of block k is v[at + k]."""
    ahead = (end - begin - 2) // 2
    for i in range(ahead):
        forward_first(blocks, v, at, begin + i)
        forward_last(blocks, v, at, end - 1 - i)
    middle = begin + ahead
    y = v[at + middle]
    z = sub(v[at + middle + 1], times(rows_of(blocks.next[middle]), y))
    z = times(symmetric_of(blocks.diagonal[middle + 1]), z)
    v[at + middle + 1] = z
    y = sub(times(symmetric_of(blocks.diagonal[middle]), y), transposed_times(rows_of(blocks.next[middle]), z))
    v[at + middle] = y
    for i in range(ahead):
        back_first(blocks, v, at, middle - 1 - i)
        back_last(blocks, v, at, middle + 2 + i)


@steady
def forward_first(blocks, v, at, k):
    """Take block k out of the right hand side of the next two."""
    y = v[at + k]
    v[at + k + 1] = sub(v[at + k + 1], times(rows_of(blocks.next[k]), y))
    v[at + k + 2] = sub(v[at + k + 2], times(rows_of(blocks.second[k]), y))


@steady
def forward_last(blocks, v, at, k):
    """Take block k out of the right hand side of the two before it."""
    y = v[at + k]
    v[at + k - 1] = sub(v[at + k - 1], times(rows_of(blocks.next[k - 1]), y))
    v[at + k - 2] = sub(v[at + k - 2], times(rows_of(blocks.second[k - 2]), y))


@steady
def back_first(blocks, v, at, k):
    """Solve for block k, whose next two are known."""
    y = times(symmetric_of(blocks.diagonal[k]), v[at + k])
    y = sub(y, transposed_times(rows_of(blocks.next[k]), v[at + k + 1]))
    v[at + k] = sub(y, transposed_times(rows_of(blocks.second[k]), v[at + k + 2]))


@steady
def back_last(blocks, v, at, k):
    """Solve for block k, where the two before it are known."""
    y = times(symmetric_of(blocks.diagonal[k]), v[at + k])
    y = sub(y, transposed_times(rows_of(blocks.next[k - 1]), v[at + k - 1]))
    v[at + k] = sub(y, transposed_times(rows_of(blocks.second[k - 2]), v[at + k - 2]))
