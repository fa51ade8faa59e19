"""Farthest points of the cores of shapes."""

import numpy as np

from shinari.compute import shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.poses import turn, turn_back
from shinari.maths.vec3 import neg
from shinari.rigid.contact.poses import Poses, Vector
from shinari.rigid.contact.shapes import BOX, CAPSULE, CONE, CYLINDER, HULL, Shapes


@steady
def farthest_vertex(vertices, start, end, d):
    """Index of the vertex of a hull that lies farthest along d, the first of equal ones."""
    best, most = start, -np.inf
    for i in range(start, end):
        along = vertices[i, 0] * d[0] + vertices[i, 1] * d[1] + vertices[i, 2] * d[2]
        if along > most:
            best, most = i, along
    return best


@steady
def support(shapes, g, d):
    """The point of a core that lies farthest along d, both in local axes."""
    kind = shapes.kind[g]
    s0, s1 = shapes.size[g, 0], shapes.size[g, 1]
    if kind == BOX:
        return np.copysign(s0, d[0]), np.copysign(s1, d[1]), np.copysign(shapes.size[g, 2], d[2])
    if kind == CAPSULE:
        return 0.0, np.copysign(s1, d[1]), 0.0
    if kind in (CYLINDER, CONE):
        across = np.sqrt(d[0] * d[0] + d[2] * d[2])
        out = s0 / across if across > 0.0 else 0.0
        if kind == CONE and s0 * across < 2.0 * s1 * d[1]:
            return 0.0, s1, 0.0
        up = -s1 if kind == CONE else np.copysign(s1, d[1])
        return out * d[0], up, out * d[2]
    if kind == HULL:
        h = shapes.hull[g]
        i = farthest_vertex(shapes.vertices, shapes.vertex_starts[h], shapes.vertex_starts[h + 1], d)
        return shapes.vertices[i, 0], shapes.vertices[i, 1], shapes.vertices[i, 2]
    return 0.0, 0.0, 0.0


@shared(fastmath=STEADY)
def farthest(shapes: Shapes, poses: Poses, g: int, n: Vector) -> Vector:
    """The point of a core that lies farthest along n, about the origin of its shape, in world axes."""
    pose = poses.pose[g]
    return turn(pose, support(shapes, g, turn_back(pose, n)))


@steady
def lowest_pair(shapes, poses, a, b, n):
    """The points of two cores that are nearest to each other along n, which points from b to a.

    Both are in world axes, each about the origin of its own shape.
    """
    return farthest(shapes, poses, a, neg(n)), farthest(shapes, poses, b, n)
