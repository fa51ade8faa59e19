"""Poses as tuples of twelve: a rotation matrix by rows, then a position."""

import numpy as np

from shinari.compute import Field, Record
from shinari.maths.function import steady

Vector = tuple[float, float, float]


class Poses(Record):
    """Poses of frames, or of collision shapes, in the world."""

    pose = Field(np.float64, 12, doc="rotation matrix by rows, and position [m]")


@steady
def tangents(n):
    """Two unit vectors t1, t2 with t1 x t2 = n; along axes where n is.

    Duff et al. 2017, Building an orthonormal basis, revisited.
    """
    s = 1.0 if n[2] >= 0.0 else -1.0
    a = -1.0 / (s + n[2])
    b = n[0] * n[1] * a
    return (1.0 + s * n[0] * n[0] * a, s * b, -s * n[0]), (b, s + n[1] * n[1] * a, -n[1])
