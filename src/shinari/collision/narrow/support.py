"""Farthest points of the cores of shapes."""

from shinari.collision.narrow.convex import Shapes
from shinari.collision.narrow.pose_records import Poses, Vector
from shinari.compute import shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.poses import rotate_vector, rotate_vector_back
from shinari.maths.vec3 import neg
from shinari.shapes.kernels.dispatch import support


@shared(fastmath=STEADY)
def farthest(shapes: Shapes, poses: Poses, g: int, n: Vector) -> Vector:
    """The point of a core that lies farthest along n, about the origin of its shape, in world axes."""
    pose = poses.pose[g]
    return rotate_vector(pose, support(shapes, g, rotate_vector_back(pose, n)))


@steady
def lowest_pair(shapes, poses, a, b, n):
    """The points of two cores that are nearest to each other along n, which points from b to a.

    Both are in world axes, each about the origin of its own shape.
    """
    return farthest(shapes, poses, a, neg(n)), farthest(shapes, poses, b, n)
