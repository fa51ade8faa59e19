"""Forces along tendons: what holds, bounds, springs, damps and drives their lengths, as Jacobian rows.

A tendon that moves more than two frames is a row for each pair of them, see `shinari.systems.rigid.elements`.
"""

import numpy as np

from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.systems.rigid.components import PENDING, SOLVED, UNSETTLED, Components
from shinari.systems.rigid.elements import Elements, JacobianRows
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.joints.evaluate import OTHERWISE
from shinari.systems.rigid.joints.gears import row_force
from shinari.systems.rigid.joints.limits import act_freely, goal_after, limit_row
from shinari.systems.rigid.joints.row_forces import held
from shinari.systems.rigid.joints.table import (
    COMPLIANCE,
    DAMPING,
    DRY_FRICTION,
    FLAGS,
    FRICTION_ROW,
    HAS_TRAVEL,
    JOINT_STIFFNESS,
    LEAST_TRAVEL,
    MOTOR_DAMPING,
    MOTOR_FORCE,
    MOTOR_GOAL,
    MOTOR_KIND,
    MOTOR_MAX_FORCE,
    MOTOR_ROW,
    MOTOR_SPEED,
    NO_MOTOR,
    REST,
    ROTOR,
    TRAVEL,
)
from shinari.systems.rigid.joints.values import ACTIVE, FORCE, ROWS, STIFFNESS, JointData, JointValues
from shinari.systems.rigid.tendons.path import measure, rate_of_length
from shinari.systems.rigid.tendons.values import (
    FIRST_PART,
    IS_HELD,
    LEAD,
    LEAST_SLACK,
    MOST_SLACK,
    PARTS,
    STIFFNESS_OF_SPRING,
    TendonData,
    TendonParts,
    TendonPieces,
    TendonValues,
)


@steady
def row_after(t, values, row, displacement):
    """Force of a row of a tendon after the last solution."""
    return values.rows[t, FORCE + row] - values.rows[t, STIFFNESS + row] * displacement


@steady
def pull(t, tendons, values, solved, h, first):
    """Force and stiffness along a tendon; `solved` is the displacement of the last solution."""
    if values.released[t]:
        return 0.0, 0.0
    numbers, flags, w = tendons.numbers, tendons.codes[t, FLAGS], values.inverse_mass[t]
    length, displacement = values.length[t], values.length[t] - values.start[t]
    k = JOINT_STIFFNESS / (h * h * w) if w > 0.0 else 0.0
    travel = row_after(t, values, TRAVEL, solved)
    after = (
        travel, 0.0, 0.0, row_after(t, values, MOTOR_ROW, solved), row_after(t, values, FRICTION_ROW, solved)
    )  # fmt: skip
    force, stiffness = act_freely(t, tendons, values, length, displacement, k, after, h, first)
    if flags & HAS_TRAVEL:
        was = 0.0 if first else values.rows[t, ACTIVE]
        f, s = limit_row(t, TRAVEL, numbers, LEAST_TRAVEL, values.rows, k, length, (was, travel, first), 0.0)
        force, stiffness = force + f, stiffness + s
    if flags & IS_HELD:
        f, s = held(k, length - numbers[t, REST], numbers[t, COMPLIANCE])
        force, stiffness = force + f, stiffness + s
    away = length - min(max(length, numbers[t, LEAST_SLACK]), numbers[t, MOST_SLACK])
    s = min(numbers[t, STIFFNESS_OF_SPRING], k) if away != 0.0 else 0.0
    c = numbers[t, DAMPING] / h
    return force - s * away - c * displacement, stiffness + s + c


@steady
def write_rows(t, tendons, parts, elements, jacobian_rows, first_jacobian, world):
    """Write the Jacobians of a tendon, pair by pair; a single frame is a pair with the world."""
    first, count, g = tendons.codes[t, FIRST_PART], tendons.codes[t, PARTS], tendons.codes[t, LEAD]
    for a in range(count):
        for b in range(a + 1, count):
            i, j = parts.jacobian[first + a], parts.jacobian[first + b]
            elements.frames[first_jacobian + g] = parts.frame[first + a], parts.frame[first + b]
            jacobian_rows.jacobian[g] = i[0], i[1], i[2], i[3], i[4], i[5], j[0], j[1], j[2], j[3], j[4], j[5]
            g += 1
    if count == 1:
        i = parts.jacobian[first]
        elements.frames[first_jacobian + g] = parts.frame[first], world
        jacobian_rows.jacobian[g] = i[0], i[1], i[2], i[3], i[4], i[5], 0.0, 0.0, 0.0, 0.0, 0.0, 0.0


@kernel(fastmath=STEADY)
def evaluate_tendon(
    t,
    tendons: TendonData,
    values: TendonValues,
    pieces: TendonPieces,
    parts: TendonParts,
    joints: JointData,
    joint_values: JointValues,
    frames: Frames,
    elements: Elements,
    jacobian_rows: JacobianRows,
    world: np.int64,
    h: np.float64,
):
    """Write the Jacobian rows of a tendon at the predicted poses."""
    measure(t, tendons, values, pieces, parts, joints, joint_values, frames, True)
    write_rows(t, tendons, parts, elements, jacobian_rows, len(joints), world)
    g = tendons.codes[t, LEAD]
    jacobian_rows.force[g], jacobian_rows.stiffness[g] = pull(t, tendons, values, 0.0, h, True)


@kernel(fastmath=STEADY)
def remeasure_tendon(
    t,
    tendons: TendonData,
    values: TendonValues,
    pieces: TendonPieces,
    parts: TendonParts,
    joints: JointData,
    joint_values: JointValues,
    frames: Frames,
    elements: Elements,
    components: Components,
):
    """Measure a tendon again whose component is not solved, at the present poses."""
    component = elements.component[len(joints) + tendons.codes[t, LEAD]]
    if component >= 0 and components.solution[component] != SOLVED:
        measure(t, tendons, values, pieces, parts, joints, joint_values, frames, True)


@kernel(fastmath=STEADY)
def evaluate_tendon_again(
    t,
    tendons: TendonData,
    values: TendonValues,
    parts: TendonParts,
    elements: Elements,
    jacobian_rows: JacobianRows,
    components: Components,
    first_jacobian: np.int64,
    world: np.int64,
    h: np.float64,
):
    """Write the Jacobian rows of a tendon that was measured again; mark its component when a limit has changed."""
    lead = tendons.codes[t, LEAD]
    component = elements.component[first_jacobian + lead]
    if component < 0 or components.solution[component] == SOLVED:
        return
    values.old_rows[t] = values.rows[t]
    for g in range(lead, lead + jacobian_rows.pairs[lead]):
        jacobian_rows.old_jacobian[g] = jacobian_rows.jacobian[g]
        jacobian_rows.old_force[g], jacobian_rows.old_stiffness[g] = jacobian_rows.force[g], jacobian_rows.stiffness[g]
    write_rows(t, tendons, parts, elements, jacobian_rows, first_jacobian, world)
    f, s = pull(t, tendons, values, jacobian_rows.displacement[lead], h, False)
    old = jacobian_rows.old_stiffness[lead]
    jacobian_rows.force[lead], jacobian_rows.stiffness[lead] = f, s
    other = abs(s - old) > OTHERWISE * (s + old)
    for k in range(ACTIVE, ROWS):
        other = other or values.old_rows[t, k] != values.rows[t, k]
    if other and components.solution[component] < UNSETTLED:
        components.solution[component] = UNSETTLED


@kernel
def restore_tendon(
    t,
    tendons: TendonData,
    values: TendonValues,
    elements: Elements,
    components: Components,
    first_jacobian: np.int64,
):
    """Restore the rows of the last solution to a tendon that is solved; `restore_row` does so with its Jacobians."""
    component = elements.component[first_jacobian + tendons.codes[t, LEAD]]
    if component >= 0 and components.solution[component] == PENDING:
        values.rows[t] = values.old_rows[t]


@steady
def limited(state, force, most):
    """Whether a force is at its limit after the last solution, -1, 0 or 1; `state` is that of the solution."""
    return state if state != 0.0 else (1.0 if force > most else (-1.0 if force < -most else 0.0))


@steady
def settle_motor(t, values, solved, displacement, h):
    """Write the state, the work and the goal of the motor of a tendon after a substep.

    All of its work is external: the energy of a servo as a spring is not counted.
    """
    motors, rate = values.motors, displacement / h
    most = motors[t, MOTOR_MAX_FORCE]
    bias = motors[t, MOTOR_FORCE] + motors[t, MOTOR_DAMPING] * (motors[t, MOTOR_SPEED] - rate)
    force, state = row_after(t, values, MOTOR_ROW, solved) + bias, values.rows[t, ACTIVE + MOTOR_ROW - TRAVEL]
    values.saturated[t] = limited(state, force, most)
    values.work[t] += displacement * (state * most if state != 0.0 else min(max(force, -most), most))
    motors[t, MOTOR_GOAL] = goal_after(t, motors, h)


@kernel(fastmath=STEADY)
def settle_tendon(
    t,
    tendons: TendonData,
    values: TendonValues,
    pieces: TendonPieces,
    parts: TendonParts,
    joints: JointData,
    joint_values: JointValues,
    elements: Elements,
    frames: Frames,
    components: Components,
    jacobian_rows: JacobianRows,
    h: np.float64,
):
    """Write force and states of a tendon after a substep."""
    lead = tendons.codes[t, LEAD]
    solved = jacobian_rows.displacement[lead]
    values.force[t] = row_force(lead, jacobian_rows, elements, components, len(joints))
    measure(t, tendons, values, pieces, parts, joints, joint_values, frames, True)
    displacement = values.length[t] - values.start[t]
    if values.released[t]:
        values.lag[t] = 0.0
        return
    if tendons.numbers[t, ROTOR] > 0.0:
        values.lag[t] = displacement / h - rate_of_length(t, tendons, parts, frames)
    if tendons.numbers[t, DRY_FRICTION] > 0.0:
        state, most = values.rows[t, ACTIVE + FRICTION_ROW - TRAVEL], tendons.numbers[t, DRY_FRICTION]
        values.sliding[t] = limited(state, row_after(t, values, FRICTION_ROW, solved), most)
    if values.motors[t, MOTOR_KIND] != NO_MOTOR:
        settle_motor(t, values, solved, displacement, h)


@kernel
def start_tendon(t, values: TendonValues):
    """Begin a step: clear the work of motors."""
    values.work[t] = 0.0
