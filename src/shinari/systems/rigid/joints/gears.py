"""Gears: the rotation of a about its axis is a ratio of that of b about its own.

    C = phi_a - ratio phi_b,    J = (0, u_a, 0, -ratio u_b)

phi sums the rotations about the body's own axis over the substeps, so that gears do not slip after any number of turns.
"""

import numpy as np

from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import dot
from shinari.systems.rigid.components import PENDING, SOLVED, Components, is_unsolved
from shinari.systems.rigid.elements import Elements, JacobianRows
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.integration import rotation_vector_between
from shinari.systems.rigid.joints.measures import axes_of, joint_frame
from shinari.systems.rigid.joints.row_forces import held
from shinari.systems.rigid.joints.table import (
    ANGULAR_COMPLIANCE,
    FIRST,
    FRAME_A,
    FRAME_B,
    JOINT_STIFFNESS,
    REST,
    SECOND,
    TURN_MASS,
)
from shinari.systems.rigid.joints.values import JointData, JointValues


@steady
def gear_constraint(j, joints, angle, frames):
    """C now and the axes of both wheels in the world; `angle` is C at the start of the substep."""
    a, b = joints.codes[j, FIRST], joints.codes[j, SECOND]
    ua, _, _ = axes_of(joint_frame(joints.numbers, j, FRAME_A, frames.q[a]))
    ub, _, _ = axes_of(joint_frame(joints.numbers, j, FRAME_B, frames.q[b]))
    rotation_a, rotation_b = (
        rotation_vector_between(frames.q0[a], frames.q[a]),
        rotation_vector_between(frames.q0[b], frames.q[b]),
    )
    return angle + dot(ua, rotation_a) - joints.numbers[j, REST] * dot(ub, rotation_b), ua, ub


@steady
def write_jacobian_row(g, jacobian_rows, joints, values, frames, h):
    """Write the Jacobian row of a gear at the present poses."""
    j = jacobian_rows.joint[g]
    c, ua, ub = gear_constraint(j, joints, values.angles[j], frames)
    ratio = joints.numbers[j, REST]
    jacobian_rows.jacobian[g] = (
        0.0, 0.0, 0.0, ua[0], ua[1], ua[2], 0.0, 0.0, 0.0, -ratio * ub[0], -ratio * ub[1], -ratio * ub[2]
    )  # fmt: skip
    f, s = held(JOINT_STIFFNESS / (h * h) * joints.numbers[j, TURN_MASS], c, joints.numbers[j, ANGULAR_COMPLIANCE])
    gone = values.broken[j]
    jacobian_rows.force[g], jacobian_rows.stiffness[g] = 0.0 if gone else f, 0.0 if gone else s


@kernel(fastmath=STEADY)
def evaluate_gear(
    g,
    jacobian_rows: JacobianRows,
    joints: JointData,
    values: JointValues,
    elements: Elements,
    frames: Frames,
    first_jacobian: np.int64,
    h: np.float64,
):
    """Write the Jacobian row of a gear at the present poses."""
    j = jacobian_rows.joint[g]
    elements.frames[first_jacobian + g] = joints.codes[j, FIRST], joints.codes[j, SECOND]
    write_jacobian_row(g, jacobian_rows, joints, values, frames, h)


@kernel(fastmath=STEADY)
def evaluate_gear_again(
    g,
    jacobian_rows: JacobianRows,
    joints: JointData,
    values: JointValues,
    elements: Elements,
    frames: Frames,
    components: Components,
    first_jacobian: np.int64,
    h: np.float64,
):
    """Write the Jacobian row of a gear whose component is not solved, at the present poses."""
    component = elements.component[first_jacobian + g]
    if component >= 0 and components.solution[component] != SOLVED:
        jacobian_rows.old_jacobian[g] = jacobian_rows.jacobian[g]
        jacobian_rows.old_force[g], jacobian_rows.old_stiffness[g] = jacobian_rows.force[g], jacobian_rows.stiffness[g]
        write_jacobian_row(g, jacobian_rows, joints, values, frames, h)


@kernel
def restore_row(g, jacobian_rows: JacobianRows, elements: Elements, components: Components, first_jacobian: np.int64):
    """Restore the force of the last solution to a Jacobian row that is solved."""
    component = elements.component[first_jacobian + g]
    if component >= 0 and components.solution[component] == PENDING:
        jacobian_rows.jacobian[g] = jacobian_rows.old_jacobian[g]
        jacobian_rows.force[g], jacobian_rows.stiffness[g] = jacobian_rows.old_force[g], jacobian_rows.old_stiffness[g]


@steady
def row_force(g, jacobian_rows, elements, components, first_jacobian):
    """Force of a Jacobian row in the substep."""
    if is_unsolved(first_jacobian + g, elements, components):
        return jacobian_rows.accumulated[g]
    return jacobian_rows.force[g] - jacobian_rows.stiffness[g] * jacobian_rows.displacement[g]


@kernel(fastmath=STEADY)
def settle_gear(
    g, jacobian_rows: JacobianRows, joints: JointData, values: JointValues, elements: Elements, frames: Frames,
    components: Components, first_jacobian: np.int64
):  # fmt: skip
    """Write the rotation and the load of a gear after a substep."""
    j, f = jacobian_rows.joint[g], row_force(g, jacobian_rows, elements, components, first_jacobian)
    c, _, _ = gear_constraint(j, joints, values.angles[j], frames)
    values.angles[j] = c
    u = jacobian_rows.jacobian[g]
    values.loads[j] = 0.0, 0.0, 0.0, f * u[9], f * u[10], f * u[11]
