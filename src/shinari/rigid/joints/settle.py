"""What joints keep from one substep for the next: the forces of their rows, their angles, what they push with."""

import numba

from shinari.maths.function import STEADY, steady
from shinari.maths.vec3 import dot
from shinari.rigid.joints.laws import nearest_turn, one_sided
from shinari.rigid.joints.measures import in_axes, relative, twist_of
from shinari.rigid.joints.rows import ACROSS, ACTIVE, AXES, FORCE, STIFFNESS, forces_after, row_vector
from shinari.rigid.joints.table import (
    DISTANCE,
    DRIVE,
    DRIVE_MOST,
    FLAGS,
    GEAR,
    HAS_ANGLE,
    HAS_LIMITS,
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
from shinari.rigid.motion import vector


@steady
def loaded(stiffness, j, at, force, d):
    """F - K d."""
    xx, yy, zz = stiffness[j, at], stiffness[j, at + 1], stiffness[j, at + 2]
    yz, zx, xy = stiffness[j, at + 3], stiffness[j, at + 4], stiffness[j, at + 5]
    return (
        force[0] - (xx * d[0] + xy * d[1] + zx * d[2]),
        force[1] - (xy * d[0] + yy * d[1] + yz * d[2]),
        force[2] - (zx * d[0] + yz * d[1] + zz * d[2]),
    )


@steady
def after(rows, j, slot, way):
    """Force of a row after its motion."""
    return rows[j, FORCE + slot] - rows[j, STIFFNESS + slot] * way


@steady
def settle_joint(j, codes, numbers, multipliers, rows, motion):
    """Multipliers of one joint: forces after the last motion that the solver found."""
    kind, flags = codes[j, KIND], codes[j, FLAGS]
    d, phi = row_vector(motion, j, 0), row_vector(motion, j, 3)
    axes = row_vector(rows, j, AXES), row_vector(rows, j, AXES + 3), row_vector(rows, j, AXES + 6)
    moved, turned = in_axes(axes, d), in_axes(axes, phi)
    for i in range(3):
        multipliers[j, i] = after(rows, j, i, moved[i])
        multipliers[j, 3 + i] = after(rows, j, 3 + i, turned[i])
    if kind == DISTANCE:
        multipliers[j, 0] = after(rows, j, 0, dot(row_vector(rows, j, ACROSS), d))
    if kind == UNIVERSAL:
        multipliers[j, 3] = after(rows, j, 3, dot(row_vector(rows, j, ACROSS), phi))
    if flags & HAS_LIMITS or codes[j, DRIVE] != NO_DRIVE:
        forces = forces_after(j, codes, rows, motion)
        multipliers[j, TRAVEL] = one_sided(rows[j, ACTIVE], forces[0])
        multipliers[j, TWIST] = one_sided(rows[j, ACTIVE + 1], forces[1])
        multipliers[j, SWING] = one_sided(rows[j, ACTIVE + 2], forces[2])
        most, state = numbers[j, DRIVE_MOST], rows[j, ACTIVE + 3]
        over = 1.0 if forces[3] > most else (-1.0 if forces[3] < -most else 0.0)
        multipliers[j, MOTOR] = min(max(forces[3], -most), most)
        multipliers[j, SATURATED] = state if state != 0.0 else over


@steady
def settle_swept(j, codes, numbers, rows, axes, force, moment, multipliers):
    """Multipliers of a joint that sweeps have solved: the parts of its force, whatever its rows say."""
    along, turning = in_axes(axes, force), in_axes(axes, moment)
    for i in range(3):
        multipliers[j, i] = along[i] if numbers[j, HOLDS + i] != 0.0 else 0.0
        multipliers[j, 3 + i] = turning[i] if numbers[j, HOLDS + 3 + i] != 0.0 else 0.0
    kind, drives = codes[j, KIND], codes[j, DRIVE] != NO_DRIVE
    across, line = dot(row_vector(rows, j, ACROSS), moment), along[0]
    if kind == DISTANCE:
        line = dot(row_vector(rows, j, ACROSS), force)
        multipliers[j, 0] = numbers[j, HOLDS] * line
    if kind == UNIVERSAL:
        multipliers[j, 3] = across
    multipliers[j, TRAVEL] = line if rows[j, ACTIVE] != 0.0 and numbers[j, HOLDS] == 0.0 and not drives else 0.0
    multipliers[j, TWIST] = turning[0] if rows[j, ACTIVE + 1] != 0.0 and not drives else 0.0
    multipliers[j, SWING] = across if rows[j, ACTIVE + 2] != 0.0 else 0.0
    if drives:
        push, most = along[0] if kind == SLIDER else turning[0], numbers[j, DRIVE_MOST]
        multipliers[j, MOTOR] = min(max(push, -most), most)
        multipliers[j, SATURATED] = rows[j, ACTIVE + 3]


@numba.njit(cache=True, **STEADY)
def settle(begin, end, codes, numbers, broken, swept, angles, multipliers, rows, loads, q, forces, stiffness, motion):
    """After the last solution of a substep: multipliers, angles and loads of joints, but of gears.

    Args:
        begin: First joint.
        end: One past the last.
        codes: See `shinari.rigid.joints.table`, (J, 5).
        numbers: See there, (J, NUMBERS).
        broken: Joints that have let go, (J,).
        swept: Joints that were solved by sweeps: their elements hold what they push with, and no motion, (J,).
        angles: Angles about the axes over several turns [rad], (J,), brought up to date.
        multipliers: Forces and moments of the rows, (J, MULTIPLIERS), overwritten.
        rows: What `evaluate` wrote, (J, ROWS).
        loads: Force [N] with which a pushes b and moment about a's anchor [N m], world axes, (J, 6), overwritten.
        q: Rotations of the frames now, (F, 4).
        forces: Of the elements, (J, 6).
        stiffness: Of the elements, (J, 12).
        motion: Of the elements, (J, 6).
    """
    for j in range(begin, end):
        if codes[j, KIND] == GEAR:
            continue
        if broken[j]:
            for i in range(6):
                loads[j, i] = 0.0
            continue
        force = loaded(stiffness, j, 0, vector(forces, j), row_vector(motion, j, 0))
        moment = loaded(stiffness, j, 6, row_vector(forces, j, 3), row_vector(motion, j, 3))
        if swept[j]:
            axes = row_vector(rows, j, AXES), row_vector(rows, j, AXES + 3), row_vector(rows, j, AXES + 6)
            settle_swept(j, codes, numbers, rows, axes, force, moment, multipliers)
        else:
            settle_joint(j, codes, numbers, multipliers, rows, motion)
        for i in range(3):
            loads[j, i], loads[j, 3 + i] = -force[i], -moment[i]
        if codes[j, FLAGS] & HAS_ANGLE:
            angles[j] = nearest_turn(twist_of(relative(codes, numbers, j, q)), angles[j])
