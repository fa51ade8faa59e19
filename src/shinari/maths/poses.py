"""Poses as tuples of twelve: a rotation matrix by rows, then a position."""

from shinari.maths.function import steady
from shinari.maths.vec3 import add


@steady
def rotate_vector(pose, v):
    """A direction in local axes, in world axes."""
    return (
        pose[0] * v[0] + pose[1] * v[1] + pose[2] * v[2],
        pose[3] * v[0] + pose[4] * v[1] + pose[5] * v[2],
        pose[6] * v[0] + pose[7] * v[1] + pose[8] * v[2],
    )


@steady
def rotate_vector_back(pose, v):
    """A direction in world axes, in local axes."""
    return (
        pose[0] * v[0] + pose[3] * v[1] + pose[6] * v[2],
        pose[1] * v[0] + pose[4] * v[1] + pose[7] * v[2],
        pose[2] * v[0] + pose[5] * v[1] + pose[8] * v[2],
    )


@steady
def origin(pose):
    """Position of the local origin."""
    return pose[9], pose[10], pose[11]


@steady
def to_local(pose, p):
    """A point in the world, in local axes."""
    return rotate_vector_back(pose, (p[0] - pose[9], p[1] - pose[10], p[2] - pose[11]))


@steady
def to_world(pose, p):
    """A point in local axes, in the world."""
    return add(rotate_vector(pose, p), origin(pose))
