"""Elements of joints at the present poses, written before and after each Newton step."""

import numpy as np

from shinari.compute import kernel, shared
from shinari.compute.kernels import STEADY
from shinari.systems.rigid.components import PENDING, SOLVED, UNSETTLED, Components, has_failed
from shinari.systems.rigid.elements import Elements
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.joints.limits import forces_after, restrain_distance, restrain_joint
from shinari.systems.rigid.joints.measures import place_of
from shinari.systems.rigid.joints.rows import hold_ball, hold_joint
from shinari.systems.rigid.joints.table import (
    BALL,
    DISTANCE,
    FIRST,
    FLAGS,
    GEAR,
    HAS_AXIS,
    HAS_LIMITS,
    HAS_PAST,
    KIND,
    MOTOR_KIND,
    NO_MOTOR,
    SECOND,
)  # fmt: skip
from shinari.systems.rigid.joints.values import ACTIVE, ROWS, JointData, JointValues, Phase

# Relative change of the stiffness of a joint above which a limit has become active or inactive.
OTHERWISE = 1e-2


@shared(fastmath=STEADY)
def write_element(
    j: int, joints: JointData, values: JointValues, elements: Elements, frames: Frames, first: int, h: np.float64
) -> None:
    """Write the element of a joint; that of a gear or of a broken joint is zero."""
    elements.frames[j] = joints.codes[j, FIRST], joints.codes[j, SECOND]
    kind, flags = joints.codes[j, KIND], joints.codes[j, FLAGS]
    free = flags & (HAS_LIMITS | HAS_PAST | HAS_AXIS) == 0 and values.motors[j, MOTOR_KIND] == NO_MOTOR
    if values.broken[j] or kind == GEAR:
        elements.arms[j] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        elements.force[j] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        elements.stiffness[j] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    elif free and kind == BALL:
        hold_ball(j, joints, values, elements, frames, h)
    elif free:
        hold_joint(j, joints, values, elements, place_of(joints.codes, joints.numbers, j, frames.x, frames.q), h)
    else:
        place = place_of(joints.codes, joints.numbers, j, frames.x, frames.q)
        after = forces_after(j, joints.codes, values.rows, elements.displacement)
        hold_joint(j, joints, values, elements, place, h)
        if kind == DISTANCE:
            restrain_distance(j, joints, values, elements, frames, place[0], h, first != 0, after)
        else:
            restrain_joint(j, joints, values, elements, frames, place, h, first != 0, after)


@kernel(fastmath=STEADY)
def evaluate_joint(
    j, joints: JointData, values: JointValues, elements: Elements, frames: Frames, phase: Phase, h: np.float64
):
    """Write the element of a joint, and its approximate force."""
    write_element(j, joints, values, elements, frames, phase.first[0], h)
    load = values.loads[j]
    values.applied[j], values.pull[j] = (-load[0], -load[1], -load[2]), (0.0, 0.0, 0.0)


@kernel(fastmath=STEADY)
def evaluate_again(
    j, joints: JointData, values: JointValues, elements: Elements, frames: Frames, components: Components, h: np.float64
):
    """Evaluate a joint at the present poses; mark its component when a limit or a motor has changed."""
    component = elements.component[j]
    if component < 0 or components.solution[component] == SOLVED:
        return
    before = elements.stiffness[j]
    values.old_force[j], values.old_stiffness[j], values.old_rows[j] = elements.force[j], before, values.rows[j]
    values.old_arms[j] = elements.arms[j]
    write_element(j, joints, values, elements, frames, 0, h)
    most, least, change = 0.0, 0.0, 0.0
    for k in range(12):
        old, new = values.old_stiffness[j, k], elements.stiffness[j, k]
        most, least, change = max(most, abs(new)), max(least, abs(old)), max(change, abs(new - old))
    # a row that is soft beside those that are held changes the stiffness by little
    other = False
    for k in range(ACTIVE, ROWS):
        other = other or values.old_rows[j, k] != values.rows[j, k]
    if (other or change > OTHERWISE * (most + least)) and components.solution[component] < UNSETTLED:
        components.solution[component] = UNSETTLED


@kernel(fastmath=STEADY)
def evaluate_failed(
    j, joints: JointData, values: JointValues, elements: Elements, components: Components, frames: Frames, h: np.float64
):
    """Evaluate a joint of a component whose trial has failed, at the predicted poses.

    A trial that has failed may have ended anywhere: the states of its limits and motors mean nothing.
    """
    if has_failed(elements.component[j], components):
        write_element(j, joints, values, elements, frames, 1, h)
        elements.accumulated[j] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        load = values.loads[j]
        values.applied[j], values.pull[j] = (-load[0], -load[1], -load[2]), (0.0, 0.0, 0.0)


@kernel
def restore_joint(j, values: JointValues, elements: Elements, components: Components):
    """Restore the forces of the last solution to a joint that is solved.

    Otherwise the error of a rotation at second order would appear as a force. They act at the arms of that solution.
    """
    component = elements.component[j]
    if component >= 0 and components.solution[component] == PENDING:
        elements.force[j], elements.stiffness[j] = values.old_force[j], values.old_stiffness[j]
        values.rows[j], elements.arms[j] = values.old_rows[j], values.old_arms[j]
