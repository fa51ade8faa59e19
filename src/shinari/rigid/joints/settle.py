"""What joints keep from one substep for the next: the forces of their rows, their angles, what they push with."""

import numba

from shinari.maths.function import STEADY, steady
from shinari.maths.vec3 import dot, sub
from shinari.rigid.joints.laws import nearest_turn, one_sided
from shinari.rigid.joints.limits import forces_after
from shinari.rigid.joints.measures import in_axes, relative, twist_of, vector_at
from shinari.rigid.joints.rows import ACROSS, ACTIVE, AXES, FORCE, STIFFNESS
from shinari.rigid.joints.table import (
    DRIVE,
    DRIVE_MOST,
    FLAGS,
    GEAR,
    HAS_ANGLE,
    HOLDS,
    KIND,
    MOTOR,
    NO_DRIVE,
    SATURATED,
    SLIDER,
    SWING,
    TRAVEL,
    TWIST,
    UNIVERSAL,
)  # fmt: skip


@steady
def times(s, v):
    """Product of a symmetric matrix, xx yy zz yz zx xy, and a vector."""
    return (
        s[0] * v[0] + s[5] * v[1] + s[4] * v[2],
        s[5] * v[0] + s[1] * v[1] + s[3] * v[2],
        s[4] * v[0] + s[3] * v[1] + s[2] * v[2],
    )


@steady
def settle_swept(j, codes, numbers, rows, axes, loads, multipliers):
    """Multipliers of a joint that sweeps have solved: the parts of its force, whatever its rows say."""
    force, moment = (-loads[j, 0], -loads[j, 1], -loads[j, 2]), (-loads[j, 3], -loads[j, 4], -loads[j, 5])
    along, turning = in_axes(axes, force), in_axes(axes, moment)
    for i in range(3):
        multipliers[j, i] = along[i] if numbers[j, HOLDS + i] != 0.0 else 0.0
        multipliers[j, 3 + i] = turning[i] if numbers[j, HOLDS + 3 + i] != 0.0 else 0.0
    kind, drives = codes[j, KIND], codes[j, DRIVE] != NO_DRIVE
    across = dot(vector_at(rows, j, ACROSS), moment)
    if kind == UNIVERSAL:
        multipliers[j, 3] = across
    multipliers[j, TRAVEL] = along[0] if rows[j, ACTIVE] != 0.0 and numbers[j, HOLDS] == 0.0 and not drives else 0.0
    multipliers[j, TWIST] = turning[0] if rows[j, ACTIVE + 1] != 0.0 and not drives else 0.0
    multipliers[j, SWING] = across if rows[j, ACTIVE + 2] != 0.0 else 0.0
    if drives:
        push, most = along[0] if kind == SLIDER else turning[0], numbers[j, DRIVE_MOST]
        multipliers[j, MOTOR] = min(max(push, -most), most)
        multipliers[j, SATURATED] = rows[j, ACTIVE + 3]


@numba.njit(cache=True, **STEADY)
def settle(codes, numbers, broken, swept, multipliers, rows, loads, forces, stiffness, motion):
    """After the last solution of a substep: multipliers and loads of joints, but of gears, limits and motors.

    Args:
        codes: See `shinari.rigid.joints.table`, (J, 5).
        numbers: See there, (J, NUMBERS).
        broken: Joints that have let go, (J,).
        swept: Joints that were solved by sweeps: their elements hold what they push with, and no motion, (J,).
        multipliers: Forces and moments of the rows, (J, MULTIPLIERS), overwritten.
        rows: What `evaluate` wrote, (J, ROWS).
        loads: Force [N] with which a pushes b and moment about a's anchor [N m], world axes, (J, 6), overwritten.
        forces: Of the elements, (J, 6).
        stiffness: Of the elements, (J, 12).
        motion: Of the elements, (J, 6).
    """
    for j in range(len(codes)):
        if codes[j, KIND] == GEAR:
            continue
        d, phi = (motion[j, 0], motion[j, 1], motion[j, 2]), (motion[j, 3], motion[j, 4], motion[j, 5])
        k = (stiffness[j, 0], stiffness[j, 1], stiffness[j, 2], stiffness[j, 3], stiffness[j, 4], stiffness[j, 5])
        r = (stiffness[j, 6], stiffness[j, 7], stiffness[j, 8], stiffness[j, 9], stiffness[j, 10], stiffness[j, 11])
        # of a broken joint all of it is zero
        loads[j, 0], loads[j, 1], loads[j, 2] = sub(times(k, d), (forces[j, 0], forces[j, 1], forces[j, 2]))
        loads[j, 3], loads[j, 4], loads[j, 5] = sub(times(r, phi), (forces[j, 3], forces[j, 4], forces[j, 5]))
        if broken[j]:
            continue
        axes = (
            (rows[j, AXES], rows[j, AXES + 1], rows[j, AXES + 2]),
            (rows[j, AXES + 3], rows[j, AXES + 4], rows[j, AXES + 5]),
            (rows[j, AXES + 6], rows[j, AXES + 7], rows[j, AXES + 8]),
        )
        if swept[j]:
            settle_swept(j, codes, numbers, rows, axes, loads, multipliers)
            continue
        moved, turned = in_axes(axes, d), in_axes(axes, phi)
        first = turned[0]
        if codes[j, KIND] == UNIVERSAL:
            first = dot((rows[j, ACROSS], rows[j, ACROSS + 1], rows[j, ACROSS + 2]), phi)
        multipliers[j, 0] = rows[j, FORCE] - rows[j, STIFFNESS] * moved[0]
        multipliers[j, 1] = rows[j, FORCE + 1] - rows[j, STIFFNESS + 1] * moved[1]
        multipliers[j, 2] = rows[j, FORCE + 2] - rows[j, STIFFNESS + 2] * moved[2]
        multipliers[j, 3] = rows[j, FORCE + 3] - rows[j, STIFFNESS + 3] * first
        multipliers[j, 4] = rows[j, FORCE + 4] - rows[j, STIFFNESS + 4] * turned[1]
        multipliers[j, 5] = rows[j, FORCE + 5] - rows[j, STIFFNESS + 5] * turned[2]


@numba.njit(cache=True, **STEADY)
def settle_restraints(which, codes, numbers, broken, swept, angles, multipliers, rows, q, motion):
    """After the last solution of a substep: multipliers of limits and motors, and angles over several turns.

    Args:
        which: Joints that have limits, a motor or an angle to count, (W,).
        codes: See `shinari.rigid.joints.table`, (J, 5).
        numbers: See there, (J, NUMBERS).
        broken: Joints that have let go, (J,).
        swept: Joints that were solved by sweeps, (J,).
        angles: Angles about the axes [rad], (J,), brought up to date.
        multipliers: Forces and moments of the rows, (J, MULTIPLIERS), overwritten.
        rows: What `evaluate` wrote, (J, ROWS).
        q: Rotations of the frames now, (F, 4).
        motion: Of the elements, (J, 6).
    """
    for w in range(len(which)):
        j = which[w]
        if broken[j]:
            continue
        if codes[j, FLAGS] & HAS_ANGLE:
            angles[j] = nearest_turn(twist_of(relative(codes, numbers, j, q)), angles[j])
        if swept[j]:
            continue
        forces = forces_after(j, codes, rows, motion)
        multipliers[j, TRAVEL] = one_sided(rows[j, ACTIVE], forces[0])
        multipliers[j, TWIST] = one_sided(rows[j, ACTIVE + 1], forces[1])
        multipliers[j, SWING] = one_sided(rows[j, ACTIVE + 2], forces[2])
        if codes[j, DRIVE] != NO_DRIVE:
            most, state = numbers[j, DRIVE_MOST], rows[j, ACTIVE + 3]
            over = 1.0 if forces[3] > most else (-1.0 if forces[3] < -most else 0.0)
            multipliers[j, MOTOR] = min(max(forces[3], -most), most)
            multipliers[j, SATURATED] = state if state != 0.0 else over
