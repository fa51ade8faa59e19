"""Six by six blocks of the system of the bodies, by rows of six: three of translation, three of rotation.

The factor U of a symmetric block D = U^T U is upper triangular. Entries below the diagonal are not used. The diagonal
stores 1 / U_ii. A block beside the diagonal has the rows of the node that is eliminated first and the
columns of the other. All operations are sums of rows, which are vectors of six.
"""

import math

from shinari.maths.function import steady


@steady
def add_rows(a, b):
    """Sum of two rows."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]


@steady
def scale_row(a, s):
    """A row times a number."""
    return s * a[0], s * a[1], s * a[2], s * a[3], s * a[4], s * a[5]


@steady
def minus(a, s, b):
    """A row minus another times a number."""
    return a[0] - s * b[0], a[1] - s * b[1], a[2] - s * b[2], a[3] - s * b[3], a[4] - s * b[4], a[5] - s * b[5]


@steady
def row_dot(a, b):
    """Inner product of two rows."""
    return (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]) + (a[3] * b[3] + a[4] * b[4] + a[5] * b[5])


@steady
def inverse(pivot):
    """1 / pivot, or 0 for a pivot that is not positive by rounding; the displacement in that direction is 0."""
    return 1.0 / pivot if pivot > 0.0 else 0.0


@steady
def factor(d, j):
    """Factor a block of the diagonal in place.

    Rows are eliminated as in D = L diag(p) L^T and scaled by 1 / sqrt(p) at the end: the roots do not wait for each
    other.
    """
    r0, r1, r2, r3, r4 = d[j, 0], d[j, 1], d[j, 2], d[j, 3], d[j, 4]
    p0 = inverse(r0[0])
    r1 = minus(r1, p0 * r0[1], r0)
    p1 = inverse(r1[1])
    r2 = minus(minus(r2, p0 * r0[2], r0), p1 * r1[2], r1)
    p2 = inverse(r2[2])
    r3 = minus(minus(minus(r3, p0 * r0[3], r0), p1 * r1[3], r1), p2 * r2[3], r2)
    p3 = inverse(r3[3])
    r4 = minus(minus(minus(minus(r4, p0 * r0[4], r0), p1 * r1[4], r1), p2 * r2[4], r2), p3 * r3[4], r3)
    p4 = inverse(r4[4])
    pivot = d[j, 5, 5] - p0 * r0[5] * r0[5] - p1 * r1[5] * r1[5] - p2 * r2[5] * r2[5] - p3 * r3[5] * r3[5]
    p5 = inverse(pivot - p4 * r4[5] * r4[5])
    i0, i1, i2, i3, i4 = math.sqrt(p0), math.sqrt(p1), math.sqrt(p2), math.sqrt(p3), math.sqrt(p4)
    d[j, 0], d[j, 1], d[j, 2] = scale_row(r0, i0), scale_row(r1, i1), scale_row(r2, i2)
    d[j, 3], d[j, 4] = scale_row(r3, i3), scale_row(r4, i4)
    d[j, 0, 0], d[j, 1, 1], d[j, 2, 2], d[j, 3, 3], d[j, 4, 4] = i0, i1, i2, i3, i4
    d[j, 5, 5] = math.sqrt(p5)


@steady
def unit_rows(d, j):
    """Entries above the diagonal of diag(U)^-1 U, row after row, with the factor U in d[j].

    A recurrence with them is a chain of sums; products with the diagonal do not wait for each other.
    """
    u0, u1, u2, u3, u4 = d[j, 0], d[j, 1], d[j, 2], d[j, 3], d[j, 4]
    return (
        (u0[0] * u0[1], u0[0] * u0[2], u0[0] * u0[3], u0[0] * u0[4], u0[0] * u0[5]),
        (u1[1] * u1[2], u1[1] * u1[3], u1[1] * u1[4], u1[1] * u1[5]),
        (u2[2] * u2[3], u2[2] * u2[4], u2[2] * u2[5]),
        (u3[3] * u3[4], u3[3] * u3[5]),
        u4[4] * u4[5],
    )


@steady
def diagonal(d, j):
    """1 / U_ii of the factor in d[j]."""
    return d[j, 0, 0], d[j, 1, 1], d[j, 2, 2], d[j, 3, 3], d[j, 4, 4], d[j, 5, 5]


@steady
def divide(blocks, p, d, j):
    """Block p becomes U^-T B with the factor U in d[j]."""
    l0, l1, l2, l3, l4 = unit_rows(d, j)
    i = diagonal(d, j)
    r0 = blocks[p, 0]
    r1 = minus(blocks[p, 1], l0[0], r0)
    r2 = minus(minus(blocks[p, 2], l0[1], r0), l1[0], r1)
    r3 = minus(minus(minus(blocks[p, 3], l0[2], r0), l1[1], r1), l2[0], r2)
    r4 = minus(minus(minus(minus(blocks[p, 4], l0[3], r0), l1[2], r1), l2[1], r2), l3[0], r3)
    r5 = minus(minus(minus(minus(minus(blocks[p, 5], l0[4], r0), l1[3], r1), l2[2], r2), l3[1], r3), l4, r4)
    blocks[p, 0], blocks[p, 1], blocks[p, 2] = scale_row(r0, i[0]), scale_row(r1, i[1]), scale_row(r2, i[2])
    blocks[p, 3], blocks[p, 4], blocks[p, 5] = scale_row(r3, i[3]), scale_row(r4, i[4]), scale_row(r5, i[5])


@steady
def minus_row(row, c, a, s, b):
    """Row c of a block minus row c of A^T B, with block s of a and the rows b of the other."""
    row = minus(minus(minus(row, a[s, 0, c], b[0]), a[s, 1, c], b[1]), a[s, 2, c], b[2])
    return minus(minus(minus(row, a[s, 3, c], b[3]), a[s, 4, c], b[4]), a[s, 5, c], b[5])


@steady
def subtract_product(target, i, blocks, a, b):
    """Subtract A^T B of blocks a and b from block i of the target."""
    rows = blocks[b, 0], blocks[b, 1], blocks[b, 2], blocks[b, 3], blocks[b, 4], blocks[b, 5]
    for c in range(6):
        target[i, c] = minus_row(target[i, c], c, blocks, a, rows)


@steady
def lower_solution(rows, i, x):
    """U^-T x, for the rows of `unit_rows` and the diagonal of a factor U."""
    l0, l1, l2, l3, l4 = rows
    x0, x1, x2, x3, x4, x5 = x
    x1 = x1 - l0[0] * x0
    x2 = x2 - l0[1] * x0 - l1[0] * x1
    x3 = x3 - l0[2] * x0 - l1[1] * x1 - l2[0] * x2
    x4 = x4 - l0[3] * x0 - l1[2] * x1 - l2[1] * x2 - l3[0] * x3
    x5 = x5 - l0[4] * x0 - l1[3] * x1 - l2[2] * x2 - l3[1] * x3 - l4 * x4
    return i[0] * x0, i[1] * x1, i[2] * x2, i[3] * x3, i[4] * x4, i[5] * x5


@steady
def solve_lower(d, j, g):
    """g[j] becomes U^-T g[j]."""
    g[j] = lower_solution(unit_rows(d, j), diagonal(d, j), g[j])


@steady
def solve_upper(d, j, g):
    """g[j] becomes U^-1 g[j]."""
    l0, l1, l2, l3, l4 = unit_rows(d, j)
    x, i = g[j], diagonal(d, j)
    x5 = i[5] * x[5]
    x4 = i[4] * x[4] - l4 * x5
    x3 = i[3] * x[3] - l3[1] * x5 - l3[0] * x4
    x2 = i[2] * x[2] - l2[2] * x5 - l2[1] * x4 - l2[0] * x3
    x1 = i[1] * x[1] - l1[3] * x5 - l1[2] * x4 - l1[1] * x3 - l1[0] * x2
    x0 = i[0] * x[0] - l0[4] * x5 - l0[3] * x4 - l0[2] * x3 - l0[1] * x2 - l0[0] * x1
    g[j] = x0, x1, x2, x3, x4, x5


@steady
def subtract_transposed(g, i, blocks, p, j):
    """g[i] -= B^T g[j]."""
    x, y = g[i], g[j]
    x = minus(minus(minus(x, y[0], blocks[p, 0]), y[1], blocks[p, 1]), y[2], blocks[p, 2])
    g[i] = minus(minus(minus(x, y[3], blocks[p, 3]), y[4], blocks[p, 4]), y[5], blocks[p, 5])


@steady
def subtract_times(g, j, blocks, p, i):
    """g[j] -= B g[i]."""
    x, y = g[j], g[i]
    g[j] = (
        x[0] - row_dot(blocks[p, 0], y),
        x[1] - row_dot(blocks[p, 1], y),
        x[2] - row_dot(blocks[p, 2], y),
        x[3] - row_dot(blocks[p, 3], y),
        x[4] - row_dot(blocks[p, 4], y),
        x[5] - row_dot(blocks[p, 5], y),
    )
