"""Excess of jammed joints over their limits, which comes back at a bounded speed where sweeps solve them."""

import numpy as np

from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import direction_and_length, dot
from shinari.systems.rigid.frames import Frames, SolverFrames, were_swept
from shinari.systems.rigid.joints.measures import anchor_offset, axes_of, joint_frame, relative, swing_of, twist_of
from shinari.systems.rigid.joints.row_forces import nearest_turn
from shinari.systems.rigid.joints.table import (
    DISTANCE,
    FIRST,
    FLAGS,
    FRAME_B,
    HAS_LIMITS,
    HAS_SWING,
    HAS_TRAVEL,
    HAS_TWIST,
    KIND,
    LEAST_SWING,
    LEAST_TRAVEL,
    LEAST_TWIST,
    SECOND,
)  # fmt: skip
from shinari.systems.rigid.joints.values import JointData, JointValues

# Largest speeds at which an excess leaves [m/s, rad/s].
EASE, EASE_TURN = 1.0, 5.0


@steady
def remaining(value, low, high, most):
    """What of the excess of a value over its bounds remains when at most so much of it leaves; negative below them."""
    return max(value - high - most, 0.0) + min(value - low + most, 0.0)


@kernel(fastmath=STEADY)
def ease_limits(
    j, joints: JointData, values: JointValues, frames: Frames, solver_frames: SolverFrames, along: np.float64,
    about: np.float64
):  # fmt: skip
    """Write the excess that the limits of a swept joint have at the start of a substep and may keep.

    Sweeps do not find the forces that keep a jammed joint within its limits. All of the excess would come back at once,
    as a velocity. `along` [m] and `about` [rad] of it may leave in a substep.
    """
    codes, numbers = joints.codes, joints.numbers
    flags, a, b = codes[j, FLAGS], codes[j, FIRST], codes[j, SECOND]
    travel = twist = swing = 0.0
    if flags & HAS_LIMITS and were_swept(a, b, frames, solver_frames):
        if flags & HAS_TRAVEL:
            gap, _, _ = anchor_offset(codes, numbers, j, frames.x, frames.q)
            axis = axes_of(joint_frame(numbers, j, FRAME_B, frames.q[b]))[0]
            value = direction_and_length(gap)[1] if codes[j, KIND] == DISTANCE else dot(axis, gap)
            travel = remaining(value, numbers[j, LEAST_TRAVEL], numbers[j, LEAST_TRAVEL + 1], along)
        if flags & (HAS_TWIST | HAS_SWING):
            p = relative(codes, numbers, j, frames.q)
            if flags & HAS_TWIST:
                angle = nearest_turn(twist_of(p), values.angles[j])
                twist = remaining(angle, numbers[j, LEAST_TWIST], numbers[j, LEAST_TWIST + 1], about)
            if flags & HAS_SWING:
                swing = remaining(swing_of(p)[0], numbers[j, LEAST_SWING], numbers[j, LEAST_SWING + 1], about)
    values.excess[j] = travel, twist, swing
