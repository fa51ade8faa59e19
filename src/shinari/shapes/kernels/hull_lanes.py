"""Vertices and faces of hulls in blocks of four, by columns: vector instructions measure those of a block side by side.

The last block of a hull is filled up with its last vertex, or with planes that lie below everything.
"""

import numpy as np

from shinari.maths.function import steady

LANES = 4
"""Vertices or faces of a block."""


def blocks(rows: np.ndarray, filler: np.ndarray) -> np.ndarray:
    """Rows (N, C) as blocks (B, C, LANES); the last one is filled up."""
    missing = np.broadcast_to(filler, (-len(rows) % LANES, rows.shape[1]))
    return np.concatenate([rows, missing]).reshape(-1, LANES, rows.shape[1]).transpose(0, 2, 1)


@steady
def along(lanes, i, d):
    """Inner products of the first three columns of block i with d."""
    return (
        lanes[i, 0, 0] * d[0] + lanes[i, 1, 0] * d[1] + lanes[i, 2, 0] * d[2],
        lanes[i, 0, 1] * d[0] + lanes[i, 1, 1] * d[1] + lanes[i, 2, 1] * d[2],
        lanes[i, 0, 2] * d[0] + lanes[i, 1, 2] * d[1] + lanes[i, 2, 2] * d[2],
        lanes[i, 0, 3] * d[0] + lanes[i, 1, 3] * d[1] + lanes[i, 2, 3] * d[2],
    )


@steady
def lowest_along(shapes, h, d):
    """How far the lowest vertex of hull h lies along d."""
    p = q = r = s = np.inf
    for i in range(shapes.vertex_blocks[h], shapes.vertex_blocks[h + 1]):
        a = along(shapes.vertex_lanes, i, d)
        p, q = a[0] if a[0] < p else p, a[1] if a[1] < q else q
        r, s = a[2] if a[2] < r else r, a[3] if a[3] < s else s
    return min(min(p, q), min(r, s))


@steady
def later_or_first(one, other, i, j):
    """Of two values with their places the larger one, of equal ones that with the smaller place."""
    second = other > one or (other == one and j < i)
    return (other, j) if second else (one, i)


@steady
def farthest_vertex(shapes, h, d):
    """Index of the vertex of hull h that lies farthest along d, the first of equal ones."""
    start = shapes.vertex_blocks[h]
    p = q = r = s = -np.inf
    i = j = k = m = start
    for block in range(start, shapes.vertex_blocks[h + 1]):
        a = along(shapes.vertex_lanes, block, d)
        p, i = (a[0], block) if a[0] > p else (p, i)
        q, j = (a[1], block) if a[1] > q else (q, j)
        r, k = (a[2], block) if a[2] > r else (r, k)
        s, m = (a[3], block) if a[3] > s else (s, m)
    one = later_or_first(p, q, LANES * i, LANES * j + 1)
    other = later_or_first(r, s, LANES * k + 2, LANES * m + 3)
    _, at = later_or_first(one[0], other[0], one[1], other[1])
    # the last block repeats the last vertex, and a repeat may be rounded differently
    return min(shapes.vertex_starts[h] + at - LANES * start, shapes.vertex_starts[h + 1] - 1)


@steady
def highest(shapes, i, p):
    """How high a point lies over the face of block i over which it is highest."""
    a, lanes = along(shapes.face_lanes, i, p), shapes.face_lanes
    return max(max(a[0] - lanes[i, 3, 0], a[1] - lanes[i, 3, 1]), max(a[2] - lanes[i, 3, 2], a[3] - lanes[i, 3, 3]))


@steady
def highest_less(shapes, i, p, length):
    """The same, each height less the width of its face times a length."""
    a, lanes = along(shapes.face_lanes, i, p), shapes.face_lanes
    first = a[0] - lanes[i, 3, 0] - length * lanes[i, 4, 0], a[1] - lanes[i, 3, 1] - length * lanes[i, 4, 1]
    last = a[2] - lanes[i, 3, 2] - length * lanes[i, 4, 2], a[3] - lanes[i, 3, 3] - length * lanes[i, 4, 3]
    return max(max(first[0], first[1]), max(last[0], last[1]))


@steady
def faces_of_block(shapes, h, i):
    """First face of block i of hull h, and the end."""
    first = shapes.face_starts[h] + LANES * (i - shapes.face_blocks[h])
    return first, min(first + LANES, shapes.face_starts[h + 1])
