"""Six by six blocks of the bodies' system, each a row of 36 numbers, row after row: three of motion, three of turn."""

import math

from shinari.maths.function import steady


@steady
def factor(d, j):
    """Cholesky factor in place, lower; the diagonal of the factor is stored inverted."""
    for c in range(6):
        s = d[j, 7 * c]
        for k in range(c):
            s -= d[j, 6 * c + k] * d[j, 6 * c + k]
        # a pivot that rounding has eaten is a direction in which all is held: it does not move
        inverse = 1.0 / math.sqrt(s) if s > 0.0 else 0.0
        d[j, 7 * c] = inverse
        for r in range(c + 1, 6):
            t = d[j, 6 * r + c]
            for k in range(c):
                t -= d[j, 6 * r + k] * d[j, 6 * c + k]
            d[j, 6 * r + c] = t * inverse


@steady
def divide(blocks, e, d, j):
    """Block e becomes B L^-T with the factor L in d[j]."""
    for c in range(6):
        inverse = d[j, 7 * c]
        for r in range(6):
            t = blocks[e, 6 * r + c]
            for k in range(c):
                t -= blocks[e, 6 * r + k] * d[j, 6 * c + k]
            blocks[e, 6 * r + c] = t * inverse


@steady
def subtract_square(d, i, blocks, e):
    """Take B B^T of block e from the lower triangle of d[i]."""
    for r in range(6):
        for c in range(r + 1):
            t = 0.0
            for k in range(6):
                t += blocks[e, 6 * r + k] * blocks[e, 6 * c + k]
            d[i, 6 * r + c] -= t


@steady
def subtract_product(blocks, target, a, b):
    """Take A B^T of blocks a and b from block `target`."""
    for r in range(6):
        for c in range(6):
            t = 0.0
            for k in range(6):
                t += blocks[a, 6 * r + k] * blocks[b, 6 * c + k]
            blocks[target, 6 * r + c] -= t


@steady
def solve_lower(d, j, g):
    """g[j] becomes L^-1 g[j]."""
    for c in range(6):
        t = g[j, c]
        for k in range(c):
            t -= d[j, 6 * c + k] * g[j, k]
        g[j, c] = t * d[j, 7 * c]


@steady
def solve_upper(d, j, g):
    """g[j] becomes L^-T g[j]."""
    for c in range(5, -1, -1):
        t = g[j, c]
        for k in range(c + 1, 6):
            t -= d[j, 6 * k + c] * g[j, k]
        g[j, c] = t * d[j, 7 * c]


@steady
def subtract_times(g, i, blocks, e, j):
    """g[i] -= B g[j]."""
    for r in range(6):
        t = 0.0
        for k in range(6):
            t += blocks[e, 6 * r + k] * g[j, k]
        g[i, r] -= t


@steady
def subtract_transposed(g, j, blocks, e, i):
    """g[j] -= B^T g[i]."""
    for c in range(6):
        t = 0.0
        for k in range(6):
            t += blocks[e, 6 * k + c] * g[i, k]
        g[j, c] -= t
