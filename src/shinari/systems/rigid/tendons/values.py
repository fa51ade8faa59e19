"""Records of tendons: constants, work values and saved state."""

import numpy as np

from shinari.compute import Field, Record
from shinari.systems.rigid.joints.table import FLAGS, MOTORS, NUMBERS
from shinari.systems.rigid.joints.values import ROWS

# Columns of the codes of tendons, around FLAGS, the column of joints; the kernels of joints read it of tendons, too.
FIRST_PIECE, PIECES, FIRST_PART, PARTS, LEAD = 0, 1, FLAGS + 1, FLAGS + 2, FLAGS + 3
CODES = 8
# Bits of FLAGS that joints do not have.
IS_HELD = 64
# Numbers of tendons after the columns of joints: stiffness of the spring, and where it is slack.
STIFFNESS_OF_SPRING, LEAST_SLACK, MOST_SLACK = NUMBERS, NUMBERS + 1, NUMBERS + 2
WIDTH = NUMBERS + 3

# Columns of the codes of pieces: frames of both ends and of the shape that is wrapped, their parts (-1: none), a joint,
# the kind of the shape, and the frame of the point on its side.
FRAME_A, FRAME_B, FRAME_G, PART_A, PART_B, PART_G, JOINT, SHAPE, FRAME_S = range(9)
PIECE_CODES = 9
# Values of its column SHAPE.
OF_JOINT, STRAIGHT, SPHERE, CYLINDER, THRUST, RELATIVE, CRANK = range(7)
# Columns of the numbers of pieces: ends and the shape in the axes of their frames; the axis of a cylinder is its z.
PLACE_A, PLACE_B, CENTRE, AXES, RADIUS, SIDE, WAY, SHARE = 0, 3, 6, 9, 13, 14, 17, 18
PIECE_NUMBERS = 19
# The same columns for what a joint adds.
COEFFICIENTS, OFFSET = 0, 5
# The same columns for a lever; AXES has the turn, RADIUS the rod.
FORCE_OF, MOMENT_OF = CENTRE, SIDE
# Columns of the states of controllers and motors: the input whose rate is bounded, the integral of the position error,
# the temperature of the winding above that around it [K], and the deflection of bristles.
FOLLOWED, INTEGRAL, TEMPERATURE, BRISTLE = range(4)


class TendonData(Record):
    """Constants of tendons, T rows; see the columns above and in `shinari.systems.rigid.joints.table`."""

    codes = Field(np.int64, CODES)
    numbers = Field(np.float64, WIDTH)


class TendonPieces(Record):
    """What the lengths of tendons consist of, tendon after tendon, S rows."""

    codes = Field(np.int64, PIECE_CODES)
    numbers = Field(np.float64, PIECE_NUMBERS)
    ends = Field(np.float64, 12, unit="m", doc="ends of its first and of its second straight line, in the world")


class TendonParts(Record):
    """Frames that tendons move, tendon after tendon, P rows."""

    frame = Field(np.int64)
    jacobian = Field(np.float64, 6, doc="change of the length by a displacement and a rotation of the frame")


class TendonLinks(Record):
    """Frames that tendons connect, L rows."""

    frames = Field(np.int64, 2)


class TendonValues(Record):
    """Variables of tendons, T rows."""

    motors = Field(np.float64, MOTORS, doc="its motor, as that of a joint", saved=True)
    saturated = Field(np.float64, doc="whether the motor was at its limit, -1, 0 or 1", saved=True)
    sliding = Field(np.float64, doc="whether dry friction slid, -1, 0 or 1", saved=True)
    force = Field(np.float64, unit="N", doc="force along the length in the last substep", saved=True)
    lag = Field(np.float64, unit="m/s", doc="speed in the substep less that after it, where mass moves", saved=True)
    command = Field(np.float64, doc="command of its actuator", saved=True)
    activation = Field(np.float64, doc="activation of its actuator", saved=True)
    inputs = Field(np.float64, 4, doc="inputs of its controller or motor", saved=True)
    states = Field(np.float64, 4, doc="states of that, see the columns above", saved=True)
    rows = Field(np.float64, ROWS, doc="forces and stiffnesses of its rows, as those of a joint")
    old_rows = Field(np.float64, ROWS, doc="rows before the last evaluation")
    start = Field(np.float64, unit="m", doc="length at the start of the substep")
    length = Field(np.float64, unit="m", doc="length at the last evaluation")
    inverse_mass = Field(np.float64, unit="1/kg", doc="inverse effective mass along the length")
    rate = Field(np.float64, unit="m/s", doc="rate of change of the length at the start of the substep")
    work = Field(np.float64, unit="J", doc="work of the motor since the step began")
    released = Field(np.bool_, doc="whether a joint that counts in its length was broken as the substep began")
