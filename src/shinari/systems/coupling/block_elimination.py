"""Sparse symmetric systems in blocks of three, by elimination in the order of least degree (Rose 1970).

    A x = b      A is L D^-1 L^T, where D_k is the inverse of the rest of block (k, k) when its turn comes:

    for each k:  A_ij -= A_ik D_k A_jk^T,  b_i -= A_ik D_k b_k      for all later i, j that k is linked to
    and back:    x_k = D_k (b_k - sum_i A_ik^T x_i)

Where k is linked to several later points it links all of these to each other. Which blocks that makes is found once.
Chains and trees get no block that they had not.
"""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from shinari.compute import Field, Record
from shinari.maths.function import steady
from shinari.maths.symmetric import inverse, isotropic, times
from shinari.maths.vec3 import sub


@dataclass(frozen=True)
class Elimination:
    """In which order points are eliminated, and which blocks that needs.

    Attributes:
        order: The points in that order, (N,); the others name points by their places in it.
        firsts: First block of each, (N + 1,).
        rows: The later point of each block, ascending for each of the earlier ones, (B,).
        first_fills: First fill of each, (N + 1,).
        fills: Block between two points that one is linked to, for all such pairs in order, (F,).
    """

    order: np.ndarray
    firsts: np.ndarray
    rows: np.ndarray
    first_fills: np.ndarray
    fills: np.ndarray

    def block(self, a: int, b: int) -> int:
        """The block of two points, given by their places."""
        first, end = self.firsts[min(a, b)], self.firsts[min(a, b) + 1]
        return int(first + np.searchsorted(self.rows[first:end], max(a, b)))


def least_degree(count: int, links: Iterable[tuple[int, int]]) -> Elimination:
    """Order in which so many points with these links are eliminated: each time one with the fewest neighbours left."""
    neighbours: list[set[int]] = [set() for _ in range(count)]
    for a, b in links:
        neighbours[a].add(b)
        neighbours[b].add(a)
    queue = [(len(found), k) for k, found in enumerate(neighbours)]
    heapq.heapify(queue)
    place = np.full(count, -1)
    order: list[int] = []
    while queue:
        degree, k = heapq.heappop(queue)
        if place[k] >= 0 or degree != len(neighbours[k]):
            continue
        place[k] = len(order)
        order.append(k)
        for other in neighbours[k]:
            neighbours[other] = (neighbours[other] | neighbours[k]) - {k, other}
            heapq.heappush(queue, (len(neighbours[other]), other))
    columns = [sorted(place[list(neighbours[k])].tolist()) for k in order]
    firsts = np.cumsum([0, *map(len, columns)])
    blocks = {(k, row): firsts[k] + i for k, column in enumerate(columns) for i, row in enumerate(column)}
    fills = [[blocks[pair] for pair in combinations(column, 2)] for column in columns]
    return Elimination(
        order=np.array(order, np.int64),
        firsts=firsts,
        rows=np.array([row for column in columns for row in column], np.int64),
        first_fills=np.cumsum([0, *map(len, fills)]),
        fills=np.array([block for each in fills for block in each], np.int64),
    )


class Pivots(Record):
    """Points in the order in which they are eliminated, N rows."""

    first = Field(np.int64, doc="its first block")
    end = Field(np.int64, doc="behind its last block")
    fill = Field(np.int64, doc="its first fill")
    held = Field(np.bool_, doc="x is 0 here")
    own = Field(np.float64, 6, doc="block (k, k), symmetric, then D_k")
    x = Field(np.float64, 3, doc="b, then x")


class Blocks(Record, ragged=True):
    """Blocks A_ik of the earlier point k and the later point i, B rows, and F fills."""

    row = Field(np.int64, doc="i")
    value = Field(np.float64, 9, doc="the matrix by rows")
    fill = Field(np.int64, doc="block between two points that one is linked to, for all such pairs in order")


@steady
def right_times(a, s):
    """Product of a matrix, nine numbers by rows, and a symmetric one."""
    x, y, z = times(s, (a[0], a[1], a[2])), times(s, (a[3], a[4], a[5])), times(s, (a[6], a[7], a[8]))
    return x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2]


@steady
def applied(a, v):
    """A v, with a as nine numbers by rows."""
    return (
        a[0] * v[0] + a[1] * v[1] + a[2] * v[2],
        a[3] * v[0] + a[4] * v[1] + a[5] * v[2],
        a[6] * v[0] + a[7] * v[1] + a[8] * v[2],
    )


@steady
def applied_transposed(a, v):
    """A^T v, with a as nine numbers by rows."""
    return (
        a[0] * v[0] + a[3] * v[1] + a[6] * v[2],
        a[1] * v[0] + a[4] * v[1] + a[7] * v[2],
        a[2] * v[0] + a[5] * v[1] + a[8] * v[2],
    )


@steady
def less_product(a, u, b):
    """A - u b^T, all as nine numbers by rows."""
    x, y, z = applied(u, (b[0], b[1], b[2])), applied(u, (b[3], b[4], b[5])), applied(u, (b[6], b[7], b[8]))
    return (
        a[0] - x[0], a[1] - y[0], a[2] - z[0],
        a[3] - x[1], a[4] - y[1], a[5] - z[1],
        a[6] - x[2], a[7] - y[2], a[8] - z[2],
    )  # fmt: skip


@steady
def less_symmetric_product(s, u, b):
    """S - u b^T, which is symmetric, with s as six numbers, and u and b as nine by rows."""
    x, y, z = applied(u, (b[0], b[1], b[2])), applied(u, (b[3], b[4], b[5])), applied(u, (b[6], b[7], b[8]))
    return s[0] - x[0], s[1] - y[1], s[2] - z[2], s[3] - z[1], s[4] - x[2], s[5] - y[0]


@steady
def eliminate(begin, end, pivots, blocks):
    """Eliminate points one after the other."""
    for k in range(begin, end):
        if pivots.held[k]:
            pivots.own[k], pivots.x[k] = isotropic(0.0), (0.0, 0.0, 0.0)
            continue
        d, x, fill = inverse(pivots.own[k]), pivots.x[k], pivots.fill[k]
        pivots.own[k] = d
        for i in range(pivots.first[k], pivots.end[k]):
            row, u = blocks.row[i], right_times(blocks.value[i], d)
            pivots.x[row] = sub(pivots.x[row], applied(u, x))
            pivots.own[row] = less_symmetric_product(pivots.own[row], u, blocks.value[i])
            for j in range(i + 1, pivots.end[k]):
                block = blocks.fill[fill]
                blocks.value[block] = less_product(blocks.value[block], blocks.value[j], u)
                fill += 1


@steady
def substitute(begin, end, pivots, blocks):
    """Find x from the last point back."""
    for k in range(end - 1, begin - 1, -1):
        x = pivots.x[k]
        for i in range(pivots.first[k], pivots.end[k]):
            x = sub(x, applied_transposed(blocks.value[i], pivots.x[blocks.row[i]]))
        pivots.x[k] = times(pivots.own[k], x)
