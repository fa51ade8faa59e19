"""What joints keep from a substep: what they push with, their angles, whether motors are at their limit."""

import numba

from shinari.maths.function import STEADY, steady
from shinari.maths.vec3 import sub
from shinari.rigid.joints.laws import nearest_turn
from shinari.rigid.joints.limits import forces_after
from shinari.rigid.joints.measures import relative, twist_of
from shinari.rigid.joints.rows import ACTIVE
from shinari.rigid.joints.table import (
    DRIVE,
    DRIVE_MOST,
    FLAGS,
    GEAR,
    HAS_ANGLE,
    KIND,
    NO_DRIVE,
)  # fmt: skip


@steady
def times(s, v):
    """Product of a symmetric matrix, xx yy zz yz zx xy, and a vector."""
    return (
        s[0] * v[0] + s[5] * v[1] + s[4] * v[2],
        s[5] * v[0] + s[1] * v[1] + s[3] * v[2],
        s[4] * v[0] + s[3] * v[1] + s[2] * v[2],
    )


@numba.njit(cache=True, **STEADY)
def settle(codes, loads, forces, stiffness, motion):
    """After the last solution of a substep: what joints push with, but gears.

    Args:
        codes: See `shinari.rigid.joints.table`, (J, 5).
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


@numba.njit(cache=True, **STEADY)
def settle_restraints(which, codes, numbers, broken, swept, angles, saturated, rows, q, motion):
    """After the last solution of a substep: whether motors are at their limit, and angles over several turns.

    Args:
        which: Joints that have a motor or an angle to count, (W,).
        codes: See `shinari.rigid.joints.table`, (J, 5).
        numbers: See there, (J, NUMBERS).
        broken: Joints that have let go, (J,).
        swept: Joints that were solved by sweeps, (J,).
        angles: Angles about the axes [rad], (J,), brought up to date.
        saturated: Whether motors are at their limit, -1, 0 or 1, (J,), overwritten.
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
        if codes[j, DRIVE] != NO_DRIVE:
            force, most = forces_after(j, codes, rows, motion)[3], numbers[j, DRIVE_MOST]
            over = 1.0 if force > most else (-1.0 if force < -most else 0.0)
            saturated[j] = over if rows[j, ACTIVE + 3] == 0.0 and not swept[j] else rows[j, ACTIVE + 3]
