"""Records of joints: constants, work values and saved state."""

import numpy as np

from shinari.compute import Field, Record
from shinari.systems.rigid.joints.table import MOTORS, NUMBERS

# Columns of `rows`: axes of the joint on b (of a distance its line and zeros), directions of the other rows (swing or
# universal; twist), forces and stiffnesses of eleven rows.
AXES, ACROSS, ABOUT, FORCE, STIFFNESS = 0, 9, 12, 15, 26
# Active sides of the limits, saturation of the motor and sliding of the dry friction: -1, 0 or 1 each.
ACTIVE = 37
ROWS = 42


class JointData(Record):
    """Constants of joints, J rows; see `shinari.systems.rigid.joints.table`."""

    codes = Field(np.int64, 4)
    numbers = Field(np.float64, NUMBERS)
    strengths = Field(np.float64, 2, unit="N, N m", doc="largest force and moment")
    active = Field(np.bool_, doc="whether it stores or supplies energy")


class JointValues(Record):
    """Variables of joints, J rows."""

    saturated = Field(np.float64, doc="whether the motor was at its limit, -1, 0 or 1", saved=True)
    angles = Field(np.float64, unit="rad", doc="angle about the axis over several turns; of a gear its C", saved=True)
    broken = Field(np.bool_, saved=True)
    motors = Field(np.float64, MOTORS, doc="its motor, see the columns in `table`", saved=True)
    sliding = Field(np.float64, doc="whether dry friction slid, -1, 0 or 1", saved=True)
    loads = Field(np.float64, 6, unit="N, N m", doc="force on b and moment about a's anchor, world axes", saved=True)
    rows = Field(np.float64, ROWS, doc="axes, forces and stiffnesses of the last evaluation, see the columns above")
    swept = Field(np.bool_, doc="solved by sweeps: the element holds the load, and no displacement")
    applied = Field(np.float64, 3, unit="N", doc="approximate force on a, for the geometric stiffness")
    pull = Field(np.float64, 3, unit="N", doc="force on a whose geometric stiffness was in the last solution")
    coordinate = Field(np.float64, unit="m or rad", doc="travel or angle of the motor at the start of the substep")
    work = Field(np.float64, unit="J", doc="work of the motor since the step began")
    lag = Field(
        np.float64, unit="rad/s or m/s", doc="of a rotor: its speed in the substep less that after it", saved=True
    )
    rate = Field(np.float64, unit="rad/s or m/s", doc="speed of a joint with a rotor at the start of the substep")
    excess = Field(
        np.float64,
        3,
        unit="m, rad, rad",
        doc="how far travel, twist and swing may stay beyond limits, see `easing`",
    )
    sides = Field(
        np.float64,
        3,
        doc="side of travel, twist and swing on which a limit was active as sweeps ended, -1, 0 or 1",
        saved=True,
    )
    slack = Field(np.float64, 3, unit="m, rad, rad", doc="distance of travel, twist and swing from the nearest limit")
    old_rows = Field(np.float64, ROWS, doc="rows before the last evaluation")
    old_arms = Field(np.float64, 6, unit="m", doc="arms of the element before the last evaluation")
    old_force = Field(np.float64, 6, doc="force of the element before the last evaluation")
    old_stiffness = Field(np.float64, 12, doc="stiffness of the element before the last evaluation")


class Phase(Record):
    """One row: progress of the substep."""

    first = Field(np.int64, doc="1: the poses are predicted, and not yet solved in the substep")
