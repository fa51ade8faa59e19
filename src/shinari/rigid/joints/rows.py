"""What joints ask of bodies: one element a joint, in kernels.

    place   C = n . (p_a - p_b)            p_a, p_b: the anchors; n: an axis x y z of the joint on b
    turn    C = n . (the turn from b's joint axes to a's)   all three held: its rotation vector;
                                           the axis alone: the short turn from b's axis to a's, across it
    universal   C = u_a . u_b - cos        the angle between an axis of a and one of b
    distance    C = |p_a - p_b| - L

after Mueller et al. 2020, Detailed Rigid Body Simulation with Extended Position Based Dynamics, section 3.4, with its
forces and moments for C = 0 in place of corrections one by one. Force acts at a's anchor on both bodies (at each one's
own anchor for a distance, along whose line it does not matter), so that it makes no moment of its own, and the motion
d of the element there is exactly the change of C. Angles are split into swing of the axis and twist about it; a swing
by half a turn has no axis (any one across serves), and twist is not defined there (it exerts nothing).
"""

import math

import numba

from shinari.maths.function import STEADY, steady
from shinari.maths.quaternion import conjugate, multiply
from shinari.maths.vec3 import add, direction_and_length, dot, scale, sub
from shinari.rigid.elements import STIFF
from shinari.rigid.joints.laws import bounded, driven, held, nearest_turn
from shinari.rigid.joints.measures import (
    NO_TWIST,
    along_axes,
    apart,
    axes_of,
    from_axes,
    in_axes,
    joint_frame,
    outer,
    plus,
    relative,
    swing_of,
    turned_from,
    twist_of,
)  # fmt: skip
from shinari.rigid.joints.table import (
    ANGULAR_COMPLIANCE,
    BALL,
    COMPLIANCE,
    DAMPING,
    DISTANCE,
    DRIVE,
    DRIVE_COMPLIANCE,
    DRIVE_DAMPING,
    DRIVE_MOST,
    DRIVE_WEIGHT,
    FIRST,
    FLAGS,
    FRAME_B,
    GEAR,
    HAS_ANGLE,
    HAS_LIMITS,
    HAS_PAST,
    HAS_SWING,
    HAS_TRAVEL,
    HAS_TWIST,
    HOLDS,
    KIND,
    LEAST_SWING,
    LEAST_TRAVEL,
    LEAST_TWIST,
    LIMIT_COMPLIANCE,
    MOTOR,
    NO_DRIVE,
    POINT_WEIGHT,
    REST,
    SATURATED,
    SECOND,
    SLIDER,
    SWING,
    TRAVEL,
    TURN_WEIGHT,
    TWIST,
    UNIVERSAL,
    VELOCITY,
)  # fmt: skip
from shinari.rigid.motion import logarithm, quaternion, vector

# Columns of `rows`, what `settle` has to know: axes of the joint on b, directions of the rows beyond them (swing, line
# or universal; twist), forces and stiffnesses of ten rows in the order of the multipliers.
AXES, ACROSS, ABOUT, FORCE, STIFFNESS = 0, 9, 12, 15, 25
# On which side limits push, and whether the motor is at its own limit: -1, 0 or 1 each.
ACTIVE = 35
ROWS = 39


@steady
def write_element(j, a, b, ra, rb, force, moment, k, r, frames, arms, forces, stiffness):
    """Write one element."""
    frames[j, 0], frames[j, 1] = a, b
    for i in range(3):
        arms[j, i], arms[j, 3 + i] = ra[i], rb[i]
        forces[j, i], forces[j, 3 + i] = force[i], moment[i]
    for i in range(6):
        stiffness[j, i], stiffness[j, 6 + i] = k[i], r[i]


@steady
def note(rows, j, slot, force, stiffness):
    """Keep force and stiffness of a row for `settle`."""
    rows[j, FORCE + slot], rows[j, STIFFNESS + slot] = force, stiffness


@steady
def limit(j, slot, numbers, least, multipliers, rows, k, value, after, first):
    """Force and stiffness of the limits whose bounds are in columns `least` and the next, kept for `settle`."""
    force, stiffness, side = bounded(
        multipliers[j, slot], k, value, numbers[j, least], numbers[j, least + 1], numbers[j, LIMIT_COMPLIANCE],
        rows[j, ACTIVE + slot - TRAVEL], after[slot - TRAVEL], first,
    )  # fmt: skip
    note(rows, j, slot, force, stiffness)
    rows[j, ACTIVE + slot - TRAVEL] = side
    return force, stiffness


@steady
def row_vector(rows, j, at):
    """Three columns of row j."""
    return rows[j, at], rows[j, at + 1], rows[j, at + 2]


@steady
def forces_after(j, codes, rows, motion):
    """Forces of the limits of travel, twist and swing and of the motor after the last motion, to first order."""
    d, phi = row_vector(motion, j, 0), row_vector(motion, j, 3)
    kind = codes[j, KIND]
    along = dot(row_vector(rows, j, ACROSS if kind == DISTANCE else AXES), d)
    about = dot(row_vector(rows, j, AXES), phi)
    twist = dot(row_vector(rows, j, ABOUT), phi) if kind == BALL else about
    across = dot(row_vector(rows, j, ACROSS), phi)
    return (
        rows[j, FORCE + TRAVEL] - rows[j, STIFFNESS + TRAVEL] * along,
        rows[j, FORCE + TWIST] - rows[j, STIFFNESS + TWIST] * twist,
        rows[j, FORCE + SWING] - rows[j, STIFFNESS + SWING] * across,
        rows[j, FORCE + MOTOR] - rows[j, STIFFNESS + MOTOR] * (along if kind == SLIDER else about),
    )


@steady
def hold_six(j, numbers, multipliers, rows, c, turn, k, kt, past):
    """Forces and stiffnesses of the six rows of places and turns, with damping; in the axes of the joint."""
    f0, s0 = held(multipliers[j, 0], k, c[0], numbers[j, COMPLIANCE])
    f1, s1 = held(multipliers[j, 1], k, c[1], numbers[j, COMPLIANCE])
    f2, s2 = held(multipliers[j, 2], k, c[2], numbers[j, COMPLIANCE])
    f3, s3 = held(multipliers[j, 3], kt, turn[0], numbers[j, ANGULAR_COMPLIANCE])
    f4, s4 = held(multipliers[j, 4], kt, turn[1], numbers[j, ANGULAR_COMPLIANCE])
    f5, s5 = held(multipliers[j, 5], kt, turn[2], numbers[j, ANGULAR_COMPLIANCE])
    h0, h1, h2 = numbers[j, HOLDS], numbers[j, HOLDS + 1], numbers[j, HOLDS + 2]
    h3, h4, h5 = numbers[j, HOLDS + 3], numbers[j, HOLDS + 4], numbers[j, HOLDS + 5]
    force, stiff = (h0 * f0, h1 * f1, h2 * f2), (h0 * s0, h1 * s1, h2 * s2)
    moment, against = (h3 * f3, h4 * f4, h5 * f5), (h3 * s3, h4 * s4, h5 * s5)
    for i in range(3):
        note(rows, j, i, force[i], stiff[i])
        note(rows, j, 3 + i, moment[i], against[i])
    moved, turned, rate = past
    d0, d1, d2 = rate * numbers[j, DAMPING], rate * numbers[j, DAMPING + 1], rate * numbers[j, DAMPING + 2]
    d3, d4, d5 = rate * numbers[j, DAMPING + 3], rate * numbers[j, DAMPING + 4], rate * numbers[j, DAMPING + 5]
    return (
        sub(force, (d0 * moved[0], d1 * moved[1], d2 * moved[2])),
        add(stiff, (d0, d1, d2)),
        sub(moment, (d3 * turned[0], d4 * turned[1], d5 * turned[2])),
        add(against, (d3, d4, d5)),
    )


@steady
def servo_goal(j, numbers, start, target, h):
    """Where a servo wants to be at the end of the substep.

    One without a stiffness of its own goes to its target no faster than half of its force can stop it there; with all
    of the force up to the target and then all of it back it would swing about the target for ever.
    """
    away = target - start
    fastest = h * math.sqrt(numbers[j, DRIVE_MOST] * numbers[j, DRIVE_WEIGHT] * abs(away))
    bounded_away = min(max(away, -fastest), fastest)
    return start + bounded_away if numbers[j, DRIVE_COMPLIANCE] == 0.0 else target


@steady
def act_on_axis(j, codes, numbers, multipliers, rows, angles, targets, travel, p, k, kt, past, after, h, first):
    """Limits along and about the axis, and the motor: force and stiffness along x, moment and stiffness about x."""
    flags, drive = codes[j, FLAGS], codes[j, DRIVE]
    along, stiff, about, against = 0.0, 0.0, 0.0, 0.0
    angle = 0.0
    if flags & (HAS_TWIST | HAS_ANGLE):
        angle = nearest_turn(twist_of(p), angles[j])
    if flags & HAS_TRAVEL:
        along, stiff = limit(j, TRAVEL, numbers, LEAST_TRAVEL, multipliers, rows, k, travel, after, first)
    if flags & HAS_TWIST and codes[j, KIND] != BALL:
        about, against = limit(j, TWIST, numbers, LEAST_TWIST, multipliers, rows, kt, angle, after, first)
    if drive != NO_DRIVE:
        slides = codes[j, KIND] == SLIDER
        moved = past[0][0] if slides else past[1][0]
        place = travel if slides else angle
        c = (
            moved - targets[j] * h
            if drive == VELOCITY
            else place - servo_goal(j, numbers, place - moved, targets[j], h)
        )
        was = multipliers[j, SATURATED] if first else rows[j, ACTIVE + 3]
        total, stiffness, force, held_stiffness, state = driven(
            multipliers[j, MOTOR], was, after[3], k if slides else kt, c, numbers[j, DRIVE_COMPLIANCE],
            numbers[j, DRIVE_DAMPING], moved / h, h, numbers[j, DRIVE_MOST], first,
        )  # fmt: skip
        rows[j, ACTIVE + 3] = state
        note(rows, j, MOTOR, force, held_stiffness)
        along, stiff = along + (total if slides else 0.0), stiff + (stiffness if slides else 0.0)
        about, against = about + (0.0 if slides else total), against + (0.0 if slides else stiffness)
    return along, stiff, about, against


@steady
def act_on_ball(j, codes, numbers, multipliers, rows, angles, axes, p, kt, after, first):
    """Limits of swing and twist, and the one row of a universal joint: moment and stiffness in the world."""
    flags = codes[j, FLAGS]
    moment, against = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    swing, y, z = swing_of(p)
    across = add(scale(axes[1], y), scale(axes[2], z))
    cosine = math.cos(swing)
    if codes[j, KIND] == UNIVERSAL:
        # C = cos(swing) - cos changes by -sin(swing) across . phi
        f, s = held(multipliers[j, 3], kt, cosine - numbers[j, REST], numbers[j, ANGULAR_COMPLIANCE])
        across = scale(across, -math.sin(swing))
        note(rows, j, 3, f, s)
        moment, against = scale(across, f), outer(across, s)
    set_vector_at(rows, j, ACROSS, across)
    if flags & HAS_SWING:
        f, s = limit(j, SWING, numbers, LEAST_SWING, multipliers, rows, kt, swing, after, first)
        moment, against = add(moment, scale(across, f)), plus(against, outer(across, s))
    if flags & HAS_TWIST:
        # the twist changes by (a + b) . phi / (1 + a . b), with the axes a and b: 1 along b, tan(swing / 2) sideways
        some = 1.0 + cosine > NO_TWIST
        tangent = math.sin(swing) / (1.0 + cosine) if some else 0.0
        about = add(axes[0], add(scale(axes[1], tangent * z), scale(axes[2], -tangent * y)))
        k = kt * 0.5 * (1.0 + cosine)
        angle = nearest_turn(twist_of(p), angles[j])
        f, s = limit(j, TWIST, numbers, LEAST_TWIST, multipliers, rows, k, angle, after, first)
        if not some:
            f, s = 0.0, 0.0
            note(rows, j, TWIST, f, s)
        set_vector_at(rows, j, ABOUT, about)
        moment, against = add(moment, scale(about, f)), plus(against, outer(about, s))
    return moment, against


@steady
def set_vector_at(rows, j, at, v):
    """Write three columns of row j."""
    rows[j, at], rows[j, at + 1], rows[j, at + 2] = v[0], v[1], v[2]


@steady
def past_of(j, codes, numbers, gap, p, x0, q0, axes, h):
    """How far a has moved and turned against b since the start of the substep, in the joint's axes, and 1 / h."""
    nothing = (0.0, 0.0, 0.0)
    if codes[j, FLAGS] & HAS_PAST == 0:
        return nothing, nothing, 0.0
    old, _, _ = apart(codes, numbers, j, x0, q0)
    b = codes[j, SECOND]
    old_axes = axes_of(joint_frame(numbers, j, FRAME_B, quaternion(q0, b)))
    moved = sub(in_axes(axes, gap), in_axes(old_axes, old))
    return moved, logarithm(multiply(p, conjugate(relative(codes, numbers, j, q0)))), 1.0 / h


@steady
def evaluate_joint(
    j, codes, numbers, targets, angles, multipliers, rows, x, q, x0, q0, h, first, motion, frames, arms, forces,
    stiffness
):  # fmt: skip
    """Write the element of a joint that is measured in the axes of the joint on b."""
    a, b, kind = codes[j, FIRST], codes[j, SECOND], codes[j, KIND]
    gap, ra, _ = apart(codes, numbers, j, x, q)
    rb = add(sub(vector(x, a), vector(x, b)), ra)
    axes = axes_of(joint_frame(numbers, j, FRAME_B, quaternion(q, b)))
    p = relative(codes, numbers, j, q)
    k, kt = STIFF / (h * h * numbers[j, POINT_WEIGHT]), STIFF / (h * h * numbers[j, TURN_WEIGHT])
    past = past_of(j, codes, numbers, gap, p, x0, q0, axes, h)
    c, after = in_axes(axes, gap), (0.0, 0.0, 0.0, 0.0)
    if not first and (codes[j, FLAGS] & HAS_LIMITS or codes[j, DRIVE] != NO_DRIVE):
        after = forces_after(j, codes, rows, motion)
    force, stiff, moment, against = hold_six(
        j, numbers, multipliers, rows, c, turned_from(codes, numbers, j, p), k, kt, past
    )
    if codes[j, FLAGS] & (HAS_TRAVEL | HAS_TWIST) or codes[j, DRIVE] != NO_DRIVE:
        f, s, t, r = act_on_axis(
            j, codes, numbers, multipliers, rows, angles, targets, c[0], p, k, kt, past, after, h, first
        )
        force, stiff = (force[0] + f, force[1], force[2]), (stiff[0] + s, stiff[1], stiff[2])
        moment, against = (moment[0] + t, moment[1], moment[2]), (against[0] + r, against[1], against[2])
    turning, turn_stiffness = from_axes(axes, moment), along_axes(axes, against)
    if kind in (BALL, UNIVERSAL):
        t, r = act_on_ball(j, codes, numbers, multipliers, rows, angles, axes, p, kt, after, first)
        turning, turn_stiffness = add(turning, t), plus(turn_stiffness, r)
    set_vector_at(rows, j, AXES, axes[0])
    set_vector_at(rows, j, AXES + 3, axes[1])
    set_vector_at(rows, j, AXES + 6, axes[2])
    write_element(
        j, a, b, ra, rb, from_axes(axes, force), turning, along_axes(axes, stiff), turn_stiffness, frames, arms, forces,
        stiffness,
    )  # fmt: skip


@steady
def evaluate_distance(
    j, codes, numbers, multipliers, rows, x, q, x0, q0, h, first, motion, frames, arms, forces, stiffness
):  # fmt: skip
    """Write the element of a distance, which acts along its line."""
    gap, ra, rb = apart(codes, numbers, j, x, q)
    n, length = direction_and_length(gap)
    k = STIFF / (h * h * numbers[j, POINT_WEIGHT])
    f, s = held(multipliers[j, 0], k, length - numbers[j, REST], numbers[j, COMPLIANCE])
    f, s = numbers[j, HOLDS] * f, numbers[j, HOLDS] * s
    note(rows, j, 0, f, s)
    if codes[j, FLAGS] & HAS_TRAVEL:
        after = forces_after(j, codes, rows, motion)
        t, r = limit(j, TRAVEL, numbers, LEAST_TRAVEL, multipliers, rows, k, length, after, first)
        f, s = f + t, s + r
    if codes[j, FLAGS] & HAS_PAST:
        old, _, _ = apart(codes, numbers, j, x0, q0)
        _, before = direction_and_length(old)
        rate = numbers[j, DAMPING] / h
        f, s = f - rate * (length - before), s + rate
    set_vector_at(rows, j, ACROSS, n)
    none = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    write_element(
        j, codes[j, FIRST], codes[j, SECOND], ra, rb, scale(n, f), (0.0, 0.0, 0.0), outer(n, s), none, frames, arms,
        forces, stiffness,
    )  # fmt: skip


@numba.njit(cache=True, **STEADY)
def evaluate(
    begin, end, codes, numbers, targets, broken, angles, multipliers, rows, x, q, x0, q0, h, first, motion, frames,
    arms, forces, stiffness
):  # fmt: skip
    """Write the elements of joints where the bodies are now; those of gears and of broken joints do nothing.

    Args:
        begin: First joint.
        end: One past the last.
        codes: See `shinari.rigid.joints.table`, (J, 5).
        numbers: See there, (J, NUMBERS).
        targets: What motors aim at, (J,).
        broken: Joints that have let go, (J,).
        angles: Angles about the axes at the start of the substep, over several turns [rad], (J,).
        multipliers: Forces and moments of the rows in the last substep, (J, MULTIPLIERS).
        rows: What `settle` needs, (J, ROWS), overwritten.
        x: Origins of the frames now [m], (F, 3).
        q: Their rotations now, (F, 4).
        x0: Origins at the start of the substep [m], (F, 3).
        q0: Rotations at the start of the substep, (F, 4).
        h: Substep [s].
        first: Whether the bodies are where they were predicted: nothing has been solved in this substep.
        motion: Of the elements in the last solution of this substep, (J, 6).
        frames: Of the elements, (J, 2), overwritten.
        arms: Of the elements, (J, 6), overwritten.
        forces: Of the elements, (J, 6), overwritten.
        stiffness: Of the elements, (J, 12), overwritten.
    """
    zero, none = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for j in range(begin, end):
        kind = codes[j, KIND]
        if broken[j] or kind == GEAR:
            write_element(
                j, codes[j, FIRST], codes[j, SECOND], zero, zero, zero, zero, none, none, frames, arms, forces,
                stiffness,
            )  # fmt: skip
        elif kind == DISTANCE:
            evaluate_distance(
                j, codes, numbers, multipliers, rows, x, q, x0, q0, h, first, motion, frames, arms, forces, stiffness
            )  # fmt: skip
        else:
            evaluate_joint(
                j, codes, numbers, targets, angles, multipliers, rows, x, q, x0, q0, h, first, motion, frames, arms,
                forces, stiffness,
            )  # fmt: skip
