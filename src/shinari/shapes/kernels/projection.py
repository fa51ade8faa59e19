"""Faces of shapes, projected along a direction.

What is projected is written to columns of a table: u and v across the direction, w along it, and the number of the
vertex. Faces are written counter-clockwise seen from outside. A face that is a point or a line has no normal: zero.
"""

import numpy as np

from shinari.maths.function import steady
from shinari.maths.vec3 import add, scale

NONE = np.int64(0)
"""No vertices, or the first columns."""
LARGEST_LABEL = 512
"""Numbers of vertices are below this one; larger ones start again at 0."""
MOST_VERTICES = 512
"""Most vertices of a face; of one with more, vertices evenly spread around it count."""


@steady
def put(table, i, column, at, label):
    """Write one vertex; its label is a float."""
    table[i, column] = at[0]
    table[i, column + 1] = at[1]
    table[i, column + 2] = at[2]
    table[i, column + 3] = label


@steady
def projected(projection, v):
    """Coordinates of a local point."""
    x, y, z, start = projection
    return add(start, add(scale(x, v[0]), add(scale(y, v[1]), scale(z, v[2]))))


@steady
def line(first, second, label, projection, table, column):
    """Write a segment."""
    for k in range(2):
        put(table, k, column, projected(projection, first if k == 0 else second), label + k)
    return 2, (0.0, 0.0, 0.0)


@steady
def point(at, projection, table, column):
    """Write a point."""
    put(table, NONE, column, projected(projection, at), 0.0)
    return 1, (0.0, 0.0, 0.0)
