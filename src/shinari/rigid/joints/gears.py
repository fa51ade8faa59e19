"""Gears: the turn of a about its axis is a ratio of that of b about its own.

    C = phi_a - ratio phi_b,    J = (0, u_a, 0, -ratio u_b)

phi counts the turns about the body's own axis against the world, substep after substep, so that nothing slips however
many there are.
"""

import numba

from shinari.maths.function import STEADY, steady
from shinari.maths.vec3 import dot
from shinari.rigid.joints.laws import held
from shinari.rigid.joints.measures import axes_of, joint_frame, quaternion_at
from shinari.rigid.joints.table import ANGULAR_COMPLIANCE, FIRST, FRAME_A, FRAME_B, REST, SECOND, STIFF, TURN_MASS
from shinari.rigid.motion import turn_between


@steady
def mesh(j, codes, numbers, angles, q, q0):
    """C now and the axes of both wheels in the world."""
    a, b = codes[j, FIRST], codes[j, SECOND]
    ua, _, _ = axes_of(joint_frame(numbers, j, FRAME_A, quaternion_at(q, a)))
    ub, _, _ = axes_of(joint_frame(numbers, j, FRAME_B, quaternion_at(q, b)))
    turn_a = dot(ua, turn_between(quaternion_at(q0, a), quaternion_at(q, a)))
    turn_b = dot(ub, turn_between(quaternion_at(q0, b), quaternion_at(q, b)))
    return angles[j] + turn_a - numbers[j, REST] * turn_b, ua, ub


@numba.njit(cache=True, **STEADY)
def evaluate_gears(
    gears, codes, numbers, broken, angles, q, q0, h, frames, jacobian, force, stiffness
):  # fmt: skip
    """Write a bar for each gear, where the bodies are now.

    Args:
        gears: Which joints are gears, (G,).
        codes: See `shinari.rigid.joints.table`, (J, 5).
        numbers: See there, (J, NUMBERS).
        broken: Joints that have let go, (J,).
        angles: C of each gear at the start of the substep [rad], (J,).
        q: Rotations of the frames now, (F, 4).
        q0: Rotations at the start of the substep, (F, 4).
        h: Substep [s].
        frames: Of the bars, (G, 2), overwritten.
        jacobian: Of the bars, (G, 12), overwritten.
        force: Of the bars, (G,), overwritten.
        stiffness: Of the bars, (G,), overwritten.
    """
    for g in range(len(gears)):
        j = gears[g]
        frames[g, 0], frames[g, 1] = codes[j, FIRST], codes[j, SECOND]
        c, ua, ub = mesh(j, codes, numbers, angles, q, q0)
        ratio = numbers[j, REST]
        for i in range(3):
            jacobian[g, i] = jacobian[g, 6 + i] = 0.0
            jacobian[g, 3 + i], jacobian[g, 9 + i] = ua[i], -ratio * ub[i]
        k = STIFF / (h * h) * numbers[j, TURN_MASS]
        f, s = held(k, c, numbers[j, ANGULAR_COMPLIANCE])
        force[g], stiffness[g] = (0.0, 0.0) if broken[j] else (f, s)


@numba.njit(cache=True, **STEADY)
def settle_gears(
    gears, codes, numbers, broken, angles, loads, q, q0, jacobian, force, stiffness, motion
):  # fmt: skip
    """After the last solution of a substep: moments, turns and loads of gears; arguments as for `evaluate_gears`."""
    for g in range(len(gears)):
        j = gears[g]
        f = force[g] - stiffness[g] * motion[g]
        c, _, _ = mesh(j, codes, numbers, angles, q, q0)
        angles[j] = c
        for i in range(3):
            loads[j, i] = 0.0
            loads[j, 3 + i] = f * jacobian[g, 9 + i]
