"""What kernels find of a shape, asked as plain Python."""

import numpy as np

from shinari.shapes.kernels.dispatch import distance_and_normal
from shinari.shapes.registry import four_numbers, type_of


def encode(shape):
    """Kind and numbers of a shape."""
    return type_of(shape).kind, four_numbers(shape)


def distances(shape, points):
    """Signed distances of points (N, 3) from a shape."""
    kind, numbers = encode(shape)
    return np.array([distance_and_normal(kind, tuple(p), tuple(numbers), ())[0] for p in points.tolist()])


def normals(shape, points):
    """Unit vectors out of a shape at points (N, 3)."""
    kind, numbers = encode(shape)
    return np.array([distance_and_normal(kind, tuple(p), tuple(numbers), ())[1] for p in points.tolist()])
