"""Rows of a manifold: one contact point each."""

from typing import Annotated, Any

import numpy as np

from shinari.compute import View
from shinari.maths.function import steady
from shinari.shapes.kernels.projection import NONE

CORE_A, RADIUS_A, CORE_B, RADIUS_B, NORMAL, GAP, FEATURE, OF_A, WIDTH = 0, 3, 4, 7, 8, 11, 12, 13, 14
"""Columns: core point and radius of a, the same of b, normal from b to a, gap, feature, whether it turns with a."""
FEW_POINTS = 4
"""Points of a pair without a mesh, at most."""
BEFORE = OF_A
"""Column of the first `FEW_POINTS` rows in which a manifold finds the features that the pair had, -1: none."""
Rows = Annotated[Any, View(np.float64, WIDTH)]
"""Rows of a manifold as a parameter; also the work table of `clipping`."""


@steady
def write_row(out, i, on_a, radius_a, on_b, radius_b, n, gap, feature, of_a):
    """Write row i."""
    out[i, 0], out[i, 1], out[i, 2], out[i, 3] = on_a[0], on_a[1], on_a[2], radius_a
    out[i, 4], out[i, 5], out[i, 6], out[i, 7] = on_b[0], on_b[1], on_b[2], radius_b
    out[i, 8], out[i, 9], out[i, 10] = n[0], n[1], n[2]
    out[i, 11], out[i, 12], out[i, 13] = gap, feature, of_a


@steady
def forget(rows):
    """The pair had no points before."""
    for k in range(FEW_POINTS):
        rows[k, BEFORE] = -1.0


@steady
def separated(out, gap, n=(0.0, 0.0, 0.0)):
    """There are no points: row 0 tells a gap that the two have at least, and for two hulls along which normal."""
    out[0, GAP] = gap
    out[0, NORMAL], out[0, NORMAL + 1], out[0, NORMAL + 2] = n
    return NONE


@steady
def mirror(out, count):
    """Exchange a and b in rows."""
    for i in range(count):
        for k in range(4):
            out[i, CORE_A + k], out[i, CORE_B + k] = out[i, CORE_B + k], out[i, CORE_A + k]
        for k in range(3):
            out[i, NORMAL + k] = -out[i, NORMAL + k]
        out[i, OF_A] = 1.0 - out[i, OF_A]
