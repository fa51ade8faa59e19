"""Particles of a pair of a point and a triangle, or of two edges, and the vector between their nearest points."""

import numpy as np

from shinari.geometry.proximity import gap_vector, nearest_points
from shinari.maths.function import steady
from shinari.maths.vec3 import sub


@steady
def separation(edges, x, i0, i1, i2, i3):
    """Vector between the nearest points of a point and a triangle, or of two edges, at positions x."""
    o = x[i0]
    a, b, c = sub(x[i1], o), sub(x[i2], o), sub(x[i3], o)
    return gap_vector(nearest_points(edges, a, b, c), a, b, c)


@steady
def points_of(p, q, first, second, edges):
    """Particles of a pair of elements."""
    a, b = first.points[p], second.points[q]
    return (
        np.int64(a[0]),
        np.int64(a[1] if edges else b[0]),
        np.int64(b[0] if edges else b[1]),
        np.int64(b[1] if edges else b[2]),
    )
