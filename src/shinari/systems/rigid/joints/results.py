"""Results of joints after a substep: loads, angles, motor saturation and work."""

import math

import numpy as np

from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.symmetric import times
from shinari.maths.vec3 import add, dot, sub
from shinari.systems.rigid.components import Components, is_unsolved
from shinari.systems.rigid.elements import Elements
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.integration import vector, velocity_at
from shinari.systems.rigid.joints.limits import forces_after, goal_after
from shinari.systems.rigid.joints.measures import anchor_offset, axes_of, joint_frame, relative, twist_of, vector_at
from shinari.systems.rigid.joints.row_forces import nearest_turn
from shinari.systems.rigid.joints.table import (
    DRY_FRICTION,
    FIRST,
    FLAGS,
    FRAME_B,
    FRICTION_ROW,
    GEAR,
    HAS_ANGLE,
    HAS_AXIS,
    JOINT_STIFFNESS,
    KIND,
    MOTOR_COMPLIANCE,
    MOTOR_DAMPING,
    MOTOR_FORCE,
    MOTOR_GOAL,
    MOTOR_KIND,
    MOTOR_MAX_FORCE,
    MOTOR_ROW,
    MOTOR_SPEED,
    NO_MOTOR,
    POINT_MASS,
    ROTOR,
    SECOND,
    SLIDER,
    SPRING,
    TRAVEL,
    TURN_MASS,
    VELOCITY,
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
def start_joint(j, joints: JointData, values: JointValues, frames: Frames, phase: Phase):
    """Begin a step: clear the work of motors."""
    phase.first[0] = 1
    values.work[j] = 0.0
    if values.motors[j, MOTOR_KIND] != NO_MOTOR:
        values.coordinate[j] = motor_coordinate(j, joints, values, frames)


@steady
def rate_of(j, joints, frames):
    """Speed of a hinge [rad/s] or slider [m/s] by the velocities of its bodies."""
    codes, numbers = joints.codes, joints.numbers
    a, b = codes[j, FIRST], codes[j, SECOND]
    axes = axes_of(joint_frame(numbers, j, FRAME_B, frames.q[b]))
    gap, ra, rb = anchor_offset(codes, numbers, j, frames.x, frames.q)
    drift = sub(velocity_at(frames.v, frames.w, a, ra), velocity_at(frames.v, frames.w, b, add(gap, rb)))
    spin = sub(vector(frames.w, a), vector(frames.w, b))
    return dot(axes[0], drift if codes[j, KIND] == SLIDER else spin)


@kernel(fastmath=STEADY)
def find_rate(j, joints: JointData, values: JointValues, frames: Frames):
    """Write the speed of each rotor [rad/s or m/s] as a substep begins.

    It is that of the last substep and what the velocities have changed since. The velocities alone would not do: of a
    body that tumbles the angular velocity after a substep is not its mean in the substep, and I / h times the
    difference does not vanish with h.
    """
    if joints.numbers[j, ROTOR] > 0.0:
        values.rate[j] = rate_of(j, joints, frames) + values.lag[j]


@steady
def lag_of(j, joints, values, frames, turned, h):
    """Mean speed of a rotor in a substep less that of its bodies after it; `turned` is the angle of a hinge."""
    codes, numbers = joints.codes, joints.numbers
    displacement = turned
    if codes[j, KIND] == SLIDER:
        now, _, _ = anchor_offset(codes, numbers, j, frames.x, frames.q)
        old, _, _ = anchor_offset(codes, numbers, j, frames.x0, frames.q0)
        axes = axes_of(joint_frame(numbers, j, FRAME_B, frames.q[codes[j, SECOND]]))
        old_axes = axes_of(joint_frame(numbers, j, FRAME_B, frames.q0[codes[j, SECOND]]))
        displacement = dot(axes[0], now) - dot(old_axes[0], old)
    return displacement / h - rate_of(j, joints, frames)


@kernel(fastmath=STEADY)
def find_coordinates(j, joints: JointData, values: JointValues, frames: Frames):
    """Write the travel [m] or the angle [rad] of each joint with a motor or a spring."""
    if values.motors[j, MOTOR_KIND] != NO_MOTOR or joints.numbers[j, SPRING] > 0.0:
        values.coordinate[j] = motor_coordinate(j, joints, values, frames)


@steady
def motor_force(j, joints, values, elements):
    """Force or moment of a motor after the last solution."""
    force = forces_after(j, joints.codes, values.rows, elements.displacement)[3]
    if values.swept[j]:
        slides = joints.codes[j, KIND] == SLIDER
        load = vector_at(values.loads, j, 0) if slides else vector_at(values.loads, j, 3)
        force = -dot(vector_at(values.rows, j, AXES), load)
    most = values.motors[j, MOTOR_MAX_FORCE]
    return min(max(force, -most), most)


@steady
def spring_energy(away, s, most):
    """Energy of a servo of stiffness s and largest force `most` at a distance from its goal [J], see `energy`."""
    away = abs(away)
    reach = min(away, most / s) if s > 0.0 else away
    return 0.5 * s * reach * reach + (most * (away - reach) if away > reach else 0.0)


@steady
def motor_work(j, joints, values, elements, coordinate, h):
    """External work of a motor in a substep [J].

    Of a servo with a stiffness, which is a spring: where its goal moves, and of the force beside that of the spring. Of
    others all.
    """
    motors, before = values.motors, values.coordinate[j]
    along, compliance = coordinate - before, motors[j, MOTOR_COMPLIANCE]
    if motors[j, MOTOR_KIND] == VELOCITY or compliance == 0.0:
        return motor_force(j, joints, values, elements) * along
    mass = joints.numbers[j, POINT_MASS] if joints.codes[j, KIND] == SLIDER else joints.numbers[j, TURN_MASS]
    most, s = motors[j, MOTOR_MAX_FORCE], min(JOINT_STIFFNESS / (h * h) * mass, 1.0 / compliance)
    goal = goal_after(j, motors, h)
    moved = spring_energy(before - goal, s, most) - spring_energy(before - motors[j, MOTOR_GOAL], s, most)
    bias = motors[j, MOTOR_FORCE] + motors[j, MOTOR_DAMPING] * motors[j, MOTOR_SPEED]
    state = values.saturated[j]
    if bias != 0.0 and state != 0.0:
        bias = state * most - min(max(-s * (coordinate - goal), -most), most)
    return moved + bias * along


@steady
def state_after(j, joints, values, elements, row, bias, most):
    """Whether a row with a largest force is at its limit after the last solution, -1, 0 or 1.

    `bias` is the force beside that of the row.
    """
    state = values.rows[j, ACTIVE + row - TRAVEL]
    forces = forces_after(j, joints.codes, values.rows, elements.displacement)
    after = (forces[3] if row == MOTOR_ROW else forces[4]) + bias
    over = 1.0 if after > most else (-1.0 if after < -most else 0.0)
    return over if state == 0.0 and not values.swept[j] else state


@steady
def load_of(j, elements, components):
    """Force and moment of a joint on b in the substep; a broken joint has none."""
    if is_unsolved(j, elements, components):
        f = elements.accumulated[j]
        return -f[0], -f[1], -f[2], -f[3], -f[4], -f[5]
    m, f, s = elements.displacement[j], elements.force[j], elements.stiffness[j]
    force = sub(times((s[0], s[1], s[2], s[3], s[4], s[5]), (m[0], m[1], m[2])), (f[0], f[1], f[2]))
    moment = sub(times((s[6], s[7], s[8], s[9], s[10], s[11]), (m[3], m[4], m[5])), (f[3], f[4], f[5]))
    return force[0], force[1], force[2], moment[0], moment[1], moment[2]


@kernel(fastmath=STEADY)
def settle_joint(
    j, joints: JointData, values: JointValues, elements: Elements, frames: Frames, components: Components, phase: Phase,
    h: np.float64
):  # fmt: skip
    """Write the load of a joint other than a gear, its angle, and state and work of its motor after a substep."""
    phase.first[0] = 1
    codes = joints.codes
    if codes[j, KIND] == GEAR:
        return
    values.loads[j] = load_of(j, elements, components)
    flags, motors = codes[j, FLAGS], values.motors
    if values.broken[j]:
        return
    before = values.angles[j]
    if flags & HAS_ANGLE:
        angle = twist_of(relative(codes, joints.numbers, j, frames.q))
        values.angles[j] = nearest_turn(angle, before)
    if joints.numbers[j, ROTOR] > 0.0:
        values.lag[j] = lag_of(j, joints, values, frames, values.angles[j] - before, h)
    if flags & HAS_AXIS and joints.numbers[j, DRY_FRICTION] > 0.0:
        values.sliding[j] = state_after(j, joints, values, elements, FRICTION_ROW, 0.0, joints.numbers[j, DRY_FRICTION])
    if motors[j, MOTOR_KIND] != NO_MOTOR:
        coordinate = motor_coordinate(j, joints, values, frames)
        rate = (coordinate - values.coordinate[j]) / h
        bias = motors[j, MOTOR_FORCE] + motors[j, MOTOR_DAMPING] * (motors[j, MOTOR_SPEED] - rate)
        values.saturated[j] = state_after(j, joints, values, elements, MOTOR_ROW, bias, motors[j, MOTOR_MAX_FORCE])
        values.work[j] += motor_work(j, joints, values, elements, coordinate, h)
        motors[j, MOTOR_GOAL], values.coordinate[j] = goal_after(j, motors, h), coordinate


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
