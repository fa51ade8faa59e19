"""Records of rods: segments with their joints, frames, and rods as ranges of segments."""

import numpy as np

from shinari.compute import Field, Record, real


class Segments(Record):
    """Segments of all rods, S rows; the joint of a segment is that to the next one."""

    points = Field(np.uint32, 2, doc="particles at its ends")
    after = Field(np.int64, doc="segment at the other side of the joint; the segment itself where there is no joint")
    length = Field(np.float64, unit="m", doc="length at rest")
    rest = Field(np.float64, 4, doc="rotation at rest to the frame of the next segment")
    turn = Field(np.float64, 3, unit="rad", doc="half of its rotation vector")
    compliance = Field(np.float64, 6, unit="m/N, rad/(N m)", doc="of the segment, and of its joint")
    inverse_inertia = Field(
        np.float64, 2, unit="1/(kg m^2)", doc="of the frame across and along its third axis; zero where clamped"
    )
    rate = Field(np.float64, doc="damping time over the substep")


class Frames(Record):
    """Frames and rows of segments, S rows."""

    q = Field(real, 4, doc="frame, a unit quaternion w x y z with the third axis along the segment", saved=True)
    spin = Field(real, 3, unit="rad/s", doc="angular velocity in world axes", saved=True)
    multiplier = Field(real, 6, unit="N s^2, N m s^2", doc="of the segment, and of its joint", saved=True)
    shown = Field(real, 4, doc="frame that the user was last shown, where clamped", saved=True)
    predicted = Field(real, 4, doc="frame before the constraints of the substep")
    target = Field(real, 4, doc="where a clamped frame arrives at the end of the step")
    start = Field(np.float64, 6, unit="m, rad", doc="C when the substep began, for the damping")


class Rods(Record):
    """Rods that are solved directly, R rows."""

    begin = Field(np.int64, doc="first segment")
    end = Field(np.int64, doc="segment after the last one")
