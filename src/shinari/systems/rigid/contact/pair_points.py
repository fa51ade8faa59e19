"""Points of pairs of collision shapes, kept while the frames move: a plane of one, a core point of the other.

Only pairs for which points were sought have a place for them. Pairs know theirs: lists of pairs change without moving
points.
"""

import numpy as np

from shinari.compute import Field, Record
from shinari.maths.function import steady
from shinari.maths.poses import origin, rotate_vector, rotate_vector_back
from shinari.maths.vec3 import ZERO, add, cross, dot, scale, sub

# Columns of a slot.
SLOT_POINT, SLOT_NORMAL, SLOT_OFFSET, SLOT_SIDE, SLOT_COLUMNS = 0, 3, 6, 7, 8


class PairPoints(Record):
    """Points of pairs: from the place of each as many rows as the pairs of the scene may have points."""

    slots = Field(
        np.float64,
        SLOT_COLUMNS,
        doc="core point in the axes of one frame; normal in the axes of the other, and the offset of its core "
        "point along it, less the radii [m]; 1 where the normal is that of a, 0 where it is that of b",
    )
    feature = Field(np.int32, doc="number of the feature; the same for the same feature")


class FreePlaces(Record):
    """Places that no pair has."""

    place = Field(np.int32)


@steady
def vector_at(rows, i, column):
    """Three numbers of a row."""
    return rows[i, column], rows[i, column + 1], rows[i, column + 2]


@steady
def put_vector(rows, i, column, v):
    """Write three numbers of a row."""
    rows[i, column], rows[i, column + 1], rows[i, column + 2] = v[0], v[1], v[2]


@steady
def point_of_slot(slots, i, f, e, poses):
    """Normal in world axes, core point of one side less the origin of the frame of the other, and the gap."""
    side = slots[i, SLOT_SIDE] > ZERO
    own, other = (f, e) if side else (e, f)
    n = rotate_vector(poses.pose[own], vector_at(slots, i, SLOT_NORMAL))
    arm = rotate_vector(poses.pose[other], vector_at(slots, i, SLOT_POINT))
    at = add(arm, sub(origin(poses.pose[other]), origin(poses.pose[own])))
    gap = slots[i, SLOT_OFFSET] - dot(n, at)
    return n, at, gap if side else -gap


@steady
def approach_of(slots, i, n, at, f, e, poses, margins):
    """Speed at which the gap of a slot closes, whose normal and core point `point_of_slot` gave."""
    side = slots[i, SLOT_SIDE] > ZERO
    own, other = (f, e) if side else (e, f)
    arm = sub(at, sub(origin(poses.pose[other]), origin(poses.pose[own])))
    here = add(margins.velocity[own], cross(margins.angular_velocity[own], at))
    there = add(margins.velocity[other], cross(margins.angular_velocity[other], arm))
    speed = dot(n, sub(there, here))
    return speed if side else -speed


@steady
def core_of_a(slots, i, n, at, height, pose):
    """Core point of a in the axes of its frame, of a slot and its point, and the height of a's core above b's."""
    if slots[i, SLOT_SIDE] > ZERO:
        return rotate_vector_back(pose, add(at, scale(n, height)))
    return vector_at(slots, i, SLOT_POINT)
