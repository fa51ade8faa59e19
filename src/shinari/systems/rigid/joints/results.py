"""Results of joints after a substep: loads, angles, motor saturation and work."""

import math

from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.symmetric import times
from shinari.maths.vec3 import dot, sub
from shinari.systems.rigid.elements import Elements
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.joints.limits import forces_after
from shinari.systems.rigid.joints.measures import anchor_offset, axes_of, joint_frame, relative, twist_of, vector_at
from shinari.systems.rigid.joints.row_forces import nearest_turn
from shinari.systems.rigid.joints.table import (
    FLAGS,
    FRAME_B,
    GEAR,
    HAS_ANGLE,
    HAS_LIMITS,
    HAS_PAST,
    KIND,
    MOTOR_KIND,
    MOTOR_MAX_FORCE,
    NO_MOTOR,
    SECOND,
    SLIDER,
)
from shinari.systems.rigid.joints.values import ACTIVE, AXES, JointData, JointValues, Phase


@steady
def motor_coordinate(j, joints, values, frames):
    """Travel of a slider [m], else the angle about the axis over several turns [rad]."""
    codes, numbers = joints.codes, joints.numbers
    gap, _, _ = anchor_offset(codes, numbers, j, frames.x, frames.q)
    axes = axes_of(joint_frame(numbers, j, FRAME_B, frames.q[codes[j, SECOND]]))
    angle = nearest_turn(twist_of(relative(codes, numbers, j, frames.q)), values.angles[j])
    return dot(axes[0], gap) if codes[j, KIND] == SLIDER else angle


@kernel(fastmath=STEADY)
def start_joint(j, joints: JointData, values: JointValues, elements: Elements, frames: Frames, phase: Phase):
    """Begin a step: warm-start the sweeps from the load, and clear the work of motors."""
    phase.first[0] = 1
    load = values.loads[j]
    elements.accumulated[j] = -load[0], -load[1], -load[2], -load[3], -load[4], -load[5]
    values.work[j] = 0.0
    if joints.works[j]:
        values.coordinate[j] = motor_coordinate(j, joints, values, frames)


@kernel(fastmath=STEADY)
def find_coordinates(j, joints: JointData, values: JointValues, frames: Frames):
    """Write the travel [m] or the angle [rad] of each joint with a motor."""
    if joints.codes[j, MOTOR_KIND] != NO_MOTOR:
        values.coordinate[j] = motor_coordinate(j, joints, values, frames)


@steady
def motor_force(j, joints, values, elements):
    """Force or moment of a motor after the last solution."""
    force = forces_after(j, joints.codes, values.rows, elements.displacement)[3]
    if values.swept[j]:
        slides = joints.codes[j, KIND] == SLIDER
        load = vector_at(values.loads, j, 0) if slides else vector_at(values.loads, j, 3)
        force = -dot(vector_at(values.rows, j, AXES), load)
    most = joints.numbers[j, MOTOR_MAX_FORCE]
    return min(max(force, -most), most)


@kernel(fastmath=STEADY)
def settle_joint(j, joints: JointData, values: JointValues, elements: Elements, frames: Frames, phase: Phase):
    """Write the load of a joint other than a gear, its angle, and state and work of its motor after a substep."""
    phase.first[0] = 1
    codes = joints.codes
    if codes[j, KIND] == GEAR:
        return
    m, f, s = elements.displacement[j], elements.force[j], elements.stiffness[j]
    # a broken joint has no force
    force = sub(times((s[0], s[1], s[2], s[3], s[4], s[5]), (m[0], m[1], m[2])), (f[0], f[1], f[2]))
    moment = sub(times((s[6], s[7], s[8], s[9], s[10], s[11]), (m[3], m[4], m[5])), (f[3], f[4], f[5]))
    values.loads[j] = force[0], force[1], force[2], moment[0], moment[1], moment[2]
    flags = codes[j, FLAGS]
    if flags & (HAS_LIMITS | HAS_PAST | HAS_ANGLE) == 0:
        return
    has_motor = codes[j, MOTOR_KIND] != NO_MOTOR
    if not values.broken[j]:
        if flags & HAS_ANGLE:
            angle = twist_of(relative(codes, joints.numbers, j, frames.q))
            values.angles[j] = nearest_turn(angle, values.angles[j])
        if has_motor:
            state, most = values.rows[j, ACTIVE + 3], joints.numbers[j, MOTOR_MAX_FORCE]
            after = forces_after(j, codes, values.rows, elements.displacement)[3]
            over = 1.0 if after > most else (-1.0 if after < -most else 0.0)
            values.saturated[j] = over if state == 0.0 and not values.swept[j] else state
    if joints.works[j]:
        coordinate = motor_coordinate(j, joints, values, frames)
        if not values.broken[j]:
            values.work[j] += motor_force(j, joints, values, elements) * (coordinate - values.coordinate[j])
        values.coordinate[j] = coordinate


@kernel(fastmath=STEADY)
def break_joint(j, joints: JointData, values: JointValues):
    """Break a joint whose load exceeds its strength."""
    if values.broken[j]:
        return
    load, most = values.loads[j], joints.strengths[j]
    force, moment = (load[0], load[1], load[2]), (load[3], load[4], load[5])
    if math.sqrt(dot(force, force)) > most[0] or math.sqrt(dot(moment, moment)) > most[1]:
        values.broken[j] = True
        values.loads[j] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
