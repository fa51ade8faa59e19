"""Boxes, and a tree of them in arrays: records and what all that goes through a tree asks.

Node n has the children 2 n and 2 n + 1, the root is node 1 and leaf l is node 2^d + l, see `shinari.geometry.bvh`.
"""

import numpy as np

from shinari.compute import Field, Record, function, real
from shinari.compute.kernels import AS_WRITTEN

# Boxes in a leaf, at most, and queries in a packet.
LEAF = 8
INFINITY = np.float32(np.inf)


class Boxes(Record):
    """Boxes as given, one row each; they touch when they share a point. One from inf to -inf touches nothing."""

    low = Field(real, 3, unit="m", doc="low corner")
    high = Field(real, 3, unit="m", doc="high corner")
    points = Field(np.uint32, 3, doc="numbers of its points and one; 0: none. Boxes that share a point are no pair")


class Places(Record):
    """Boxes in the order of the tree."""

    box = Field(np.uint32, doc="row of the box")
    x0 = Field(real, unit="m")
    y0 = Field(real, unit="m")
    z0 = Field(real, unit="m")
    x1 = Field(real, unit="m")
    y1 = Field(real, unit="m")
    z1 = Field(real, unit="m")
    p0 = Field(np.uint32, doc="its points")
    p1 = Field(np.uint32)
    p2 = Field(np.uint32)


class Leaves(Record):
    """Leaves, and the end."""

    first = Field(np.int64, doc="first place of the leaf")


class Nodes(Record):
    """Nodes of the tree; row 0 is not used."""

    box = Field(real, 6, unit="m", doc="low and high corner; from inf to -inf where there are no boxes")


@function(fastmath=AS_WRITTEN)
def joined(a, b):
    """Box around two boxes."""
    return (
        a[0] if a[0] < b[0] else b[0],
        a[1] if a[1] < b[1] else b[1],
        a[2] if a[2] < b[2] else b[2],
        a[3] if a[3] > b[3] else b[3],
        a[4] if a[4] > b[4] else b[4],
        a[5] if a[5] > b[5] else b[5],
    )


@function(fastmath=AS_WRITTEN)
def boxes_overlap(a, b):
    """Whether two boxes (low, high) share a point."""
    return (a[0] <= b[3]) & (b[0] <= a[3]) & (a[1] <= b[4]) & (b[1] <= a[4]) & (a[2] <= b[5]) & (b[2] <= a[5])


@function
def start_stack(stack, start, leaves):
    """Put on a stack what holds the leaves from `start` on, so that it is popped in ascending order; the depth."""
    depth, level = 0, leaves
    while level > 1:
        level //= 2
        node = (leaves + start) // level
        if node % 2 == 0:
            stack[depth] = node + 1
            depth += 1
    stack[depth] = leaves + start
    return depth + 1
