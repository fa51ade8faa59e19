"""Boxes that lie apart along an axis of one of them, though the boxes along the axes of the world overlap.

Long or tilted shapes fill little of a box along the axes of the world. Two of them are no pair where the boxes in their
own axes, wider by all that they may move beside their paths, stay apart along an axis of either.
"""

import numpy as np

from shinari.compute import Field, Record
from shinari.maths.function import steady
from shinari.maths.poses import rotate_vector_back
from shinari.maths.vec3 import add, dot, norm, sub

# Part of a relative path up to which points are sought that do not approach each other: a quarter of two substeps of at
# least four.
ASIDE = 0.125


class StartBoxes(Record):
    """Boxes of bounded shapes where their paths begin."""

    collision_shape = Field(np.int64)
    low = Field(np.float64, 3, unit="m", doc="low corner of the box along the axes of the world, with the margin")
    high = Field(np.float64, 3, unit="m", doc="high corner")
    centre = Field(np.float64, 3, unit="m", doc="centre of the box along its own axes")
    half = Field(np.float64, 3, unit="m", doc="half sizes of it, without the margin")
    axes = Field(np.float64, 9, doc="its axes: matrix in rows")
    wide = Field(np.float64, unit="m", doc="distance by which it may leave its path, with the slack")


@steady
def axis_gap(start, end, reach):
    """Least gap along an axis on a straight path; negative where the boxes overlap or pass each other."""
    return max(min(start, end), -max(start, end)) - reach


@steady
def gap_along_axes(start, path, half, other_half, x, y, z):
    """Largest gap of two boxes along the axes of one.

    Args:
        start: Centre of the other one minus its own, in its axes [m].
        path: Relative displacement [m].
        half: Its half sizes [m].
        other_half: Those of the other one [m].
        x: Absolute cosines of its first axis with those of the other one.
        y: Of the second.
        z: Of the third.
    """
    end = add(start, path)
    gap = axis_gap(start[0], end[0], half[0] + dot(x, other_half))
    gap = max(gap, axis_gap(start[1], end[1], half[1] + dot(y, other_half)))
    return max(gap, axis_gap(start[2], end[2], half[2] + dot(z, other_half)))


@steady
def absolute(v):
    """Absolute values."""
    return abs(v[0]), abs(v[1]), abs(v[2])


@steady
def stay_apart(k, other, f, e, start_boxes, margins):
    """Whether boxes k and other of frames f and e, none of them swept, stay apart until pairs are found again.

    Both frames stay within their margins of their paths until then. A part of what they move relative to each other is
    kept free: points are sought as far.
    """
    m, n = start_boxes.axes[k], start_boxes.axes[other]
    half, other_half = start_boxes.half[k], start_boxes.half[other]
    offset = sub(start_boxes.centre[other], start_boxes.centre[k])
    path = sub(margins.path[e], margins.path[f])
    x = absolute(rotate_vector_back(m, (n[0], n[3], n[6])))
    y = absolute(rotate_vector_back(m, (n[1], n[4], n[7])))
    z = absolute(rotate_vector_back(m, (n[2], n[5], n[8])))
    rows = (x[0], y[0], z[0]), (x[1], y[1], z[1]), (x[2], y[2], z[2])
    gap = gap_along_axes(
        rotate_vector_back(m, offset), rotate_vector_back(m, path), half, other_half, rows[0], rows[1], rows[2]
    )
    gap = max(
        gap, gap_along_axes(rotate_vector_back(n, offset), rotate_vector_back(n, path), other_half, half, x, y, z)
    )
    wide = start_boxes.wide[k] + start_boxes.wide[other]
    return gap > wide and gap > wide + ASIDE * norm(path)
