"""What joints do beyond holding: limits of travel, twist and swing, motors and damping, added to their elements."""

import math

import numba

from shinari.maths.function import STEADY, steady
from shinari.maths.quaternion import conjugate, multiply
from shinari.maths.vec3 import add, direction_and_length, dot, scale, sub
from shinari.rigid.joints.laws import bounded, driven, nearest_turn
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
    quaternion_at,
    relative,
    swing_of,
    twist_of,
    vector_at,
)  # fmt: skip
from shinari.rigid.joints.rows import ABOUT, ACROSS, ACTIVE, AXES, FORCE, STIFFNESS
from shinari.rigid.joints.table import (
    BALL,
    DAMPING,
    DISTANCE,
    DRIVE,
    DRIVE_COMPLIANCE,
    DRIVE_DAMPING,
    DRIVE_MOST,
    DRIVE_WEIGHT,
    FLAGS,
    FRAME_B,
    HAS_ANGLE,
    HAS_PAST,
    HAS_SWING,
    HAS_TRAVEL,
    HAS_TWIST,
    KIND,
    LEAST_SWING,
    LEAST_TRAVEL,
    LEAST_TWIST,
    LIMIT_COMPLIANCE,
    MOTOR,
    NO_DRIVE,
    POINT_MASS,
    SECOND,
    SLIDER,
    STIFF,
    SWING,
    TRAVEL,
    TURN_MASS,
    TWIST,
    VELOCITY,
)  # fmt: skip
from shinari.rigid.motion import logarithm


@steady
def note(rows, j, slot, force, stiffness):
    """Keep force and stiffness of a row for `settle`."""
    rows[j, FORCE + slot], rows[j, STIFFNESS + slot] = force, stiffness


@steady
def set_vector_at(rows, j, at, v):
    """Write three columns of row j."""
    rows[j, at], rows[j, at + 1], rows[j, at + 2] = v[0], v[1], v[2]


@steady
def limit(j, slot, numbers, least, rows, k, value, after, first):
    """Force and stiffness of the limits whose bounds are in columns `least` and the next, kept for `settle`."""
    force, stiffness, side = bounded(
        k, value, numbers[j, least], numbers[j, least + 1], numbers[j, LIMIT_COMPLIANCE],
        rows[j, ACTIVE + slot - TRAVEL], after[slot - TRAVEL], first,
    )  # fmt: skip
    note(rows, j, slot, force, stiffness)
    rows[j, ACTIVE + slot - TRAVEL] = side
    return force, stiffness


@steady
def forces_after(j, codes, rows, motion):
    """Forces of the limits of travel, twist and swing and of the motor after the last motion, to first order."""
    d, phi = vector_at(motion, j, 0), vector_at(motion, j, 3)
    kind = codes[j, KIND]
    along = dot(vector_at(rows, j, AXES), d)
    about = dot(vector_at(rows, j, AXES), phi)
    twist = dot(vector_at(rows, j, ABOUT), phi) if kind == BALL else about
    across = dot(vector_at(rows, j, ACROSS), phi)
    return (
        rows[j, FORCE + TRAVEL] - rows[j, STIFFNESS + TRAVEL] * along,
        rows[j, FORCE + TWIST] - rows[j, STIFFNESS + TWIST] * twist,
        rows[j, FORCE + SWING] - rows[j, STIFFNESS + SWING] * across,
        rows[j, FORCE + MOTOR] - rows[j, STIFFNESS + MOTOR] * (along if kind == SLIDER else about),
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
def act_on_axis(j, codes, numbers, saturated, rows, angles, targets, travel, p, k, kt, past, after, h, first):
    """Limits along and about the axis, and the motor: force and stiffness along x, moment and stiffness about x."""
    flags, drive = codes[j, FLAGS], codes[j, DRIVE]
    along, stiff, about, against = 0.0, 0.0, 0.0, 0.0
    angle = 0.0
    if flags & (HAS_TWIST | HAS_ANGLE):
        angle = nearest_turn(twist_of(p), angles[j])
    if flags & HAS_TRAVEL:
        along, stiff = limit(j, TRAVEL, numbers, LEAST_TRAVEL, rows, k, travel, after, first)
    if flags & HAS_TWIST and codes[j, KIND] != BALL:
        about, against = limit(j, TWIST, numbers, LEAST_TWIST, rows, kt, angle, after, first)
    if drive != NO_DRIVE:
        slides = codes[j, KIND] == SLIDER
        moved = past[0][0] if slides else past[1][0]
        place = travel if slides else angle
        c = (
            moved - targets[j] * h
            if drive == VELOCITY
            else place - servo_goal(j, numbers, place - moved, targets[j], h)
        )
        was = saturated[j] if first else rows[j, ACTIVE + 3]
        total, stiffness, force, held_stiffness, state = driven(
            was, after[3], k if slides else kt, c, numbers[j, DRIVE_COMPLIANCE],
            numbers[j, DRIVE_DAMPING], moved / h, h, numbers[j, DRIVE_MOST], first,
        )  # fmt: skip
        rows[j, ACTIVE + 3] = state
        note(rows, j, MOTOR, force, held_stiffness)
        along, stiff = along + (total if slides else 0.0), stiff + (stiffness if slides else 0.0)
        about, against = about + (0.0 if slides else total), against + (0.0 if slides else stiffness)
    return along, stiff, about, against


@steady
def act_on_ball(j, codes, numbers, saturated, rows, angles, axes, p, kt, after, first):
    """Limits of swing and twist: moment and stiffness in the world."""
    flags = codes[j, FLAGS]
    moment, against = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    swing, y, z = swing_of(p)
    across = add(scale(axes[1], y), scale(axes[2], z))
    cosine = math.cos(swing)
    set_vector_at(rows, j, ACROSS, across)
    if flags & HAS_SWING:
        f, s = limit(j, SWING, numbers, LEAST_SWING, rows, kt, swing, after, first)
        moment, against = add(moment, scale(across, f)), plus(against, outer(across, s))
    if flags & HAS_TWIST:
        # the twist changes by (a + b) . phi / (1 + a . b), with the axes a and b: 1 along b, tan(swing / 2) sideways
        some = 1.0 + cosine > NO_TWIST
        tangent = math.sin(swing) / (1.0 + cosine) if some else 0.0
        about = add(axes[0], add(scale(axes[1], tangent * z), scale(axes[2], -tangent * y)))
        k = kt * 0.5 * (1.0 + cosine)
        angle = nearest_turn(twist_of(p), angles[j])
        f, s = limit(j, TWIST, numbers, LEAST_TWIST, rows, k, angle, after, first)
        if not some:
            f, s = 0.0, 0.0
            note(rows, j, TWIST, f, s)
        set_vector_at(rows, j, ABOUT, about)
        moment, against = add(moment, scale(about, f)), plus(against, outer(about, s))
    return moment, against


@steady
def past_of(j, codes, numbers, gap, p, x0, q0, axes, h):
    """How far a has moved and turned against b since the start of the substep, in the joint's axes, and 1 / h."""
    nothing = (0.0, 0.0, 0.0)
    if codes[j, FLAGS] & HAS_PAST == 0:
        return nothing, nothing, 0.0
    old, _, _ = apart(codes, numbers, j, x0, q0)
    b = codes[j, SECOND]
    old_axes = axes_of(joint_frame(numbers, j, FRAME_B, quaternion_at(q0, b)))
    moved = sub(in_axes(axes, gap), in_axes(old_axes, old))
    return moved, logarithm(multiply(p, conjugate(relative(codes, numbers, j, q0)))), 1.0 / h


@steady
def damp(j, numbers, past):
    """Damping of what a joint leaves free: forces, stiffnesses, moments and their stiffnesses along the axes."""
    moved, turned, rate = past
    d0, d1, d2 = rate * numbers[j, DAMPING], rate * numbers[j, DAMPING + 1], rate * numbers[j, DAMPING + 2]
    d3, d4, d5 = rate * numbers[j, DAMPING + 3], rate * numbers[j, DAMPING + 4], rate * numbers[j, DAMPING + 5]
    return (
        (-d0 * moved[0], -d1 * moved[1], -d2 * moved[2]),
        (d0, d1, d2),
        (-d3 * turned[0], -d4 * turned[1], -d5 * turned[2]),
        (d3, d4, d5),
    )


@steady
def add_to_element(j, force, moment, k, r, forces, stiffness):
    """Add to what an element does."""
    for i in range(3):
        forces[j, i] += force[i]
        forces[j, 3 + i] += moment[i]
    for i in range(6):
        stiffness[j, i] += k[i]
        stiffness[j, 6 + i] += r[i]


@steady
def restrain_joint(
    j, codes, numbers, targets, angles, saturated, rows, x, q, x0, q0, h, first, after, forces, stiffness
):  # fmt: skip
    """Limits, motor and damping of a joint that is measured in the axes of the joint on b."""
    gap, _, _ = apart(codes, numbers, j, x, q)
    axes = axes_of(joint_frame(numbers, j, FRAME_B, quaternion_at(q, codes[j, SECOND])))
    p = relative(codes, numbers, j, q)
    k, kt = STIFF / (h * h) * numbers[j, POINT_MASS], STIFF / (h * h) * numbers[j, TURN_MASS]
    past = past_of(j, codes, numbers, gap, p, x0, q0, axes, h)
    force, stiff, moment, against = damp(j, numbers, past)
    f, s, t, r = act_on_axis(
        j, codes, numbers, saturated, rows, angles, targets, dot(axes[0], gap), p, k, kt, past, after, h, first
    )
    turning, turn_stiffness = from_axes(axes, (moment[0] + t, moment[1], moment[2])), along_axes(
        axes, (against[0] + r, against[1], against[2])
    )  # fmt: skip
    if codes[j, KIND] == BALL:
        t, r = act_on_ball(j, codes, numbers, saturated, rows, angles, axes, p, kt, after, first)
        turning, turn_stiffness = add(turning, t), plus(turn_stiffness, r)
    add_to_element(
        j, from_axes(axes, (force[0] + f, force[1], force[2])), turning,
        along_axes(axes, (stiff[0] + s, stiff[1], stiff[2])), turn_stiffness, forces, stiffness,
    )  # fmt: skip


@steady
def restrain_distance(
    j, codes, numbers, saturated, rows, x, q, x0, q0, h, first, after, forces, stiffness
):  # fmt: skip
    """Limits and damping of a distance, along its line."""
    gap, _, _ = apart(codes, numbers, j, x, q)
    n, length = direction_and_length(gap)
    k = STIFF / (h * h) * numbers[j, POINT_MASS]
    f, s = 0.0, 0.0
    if codes[j, FLAGS] & HAS_TRAVEL:
        f, s = limit(j, TRAVEL, numbers, LEAST_TRAVEL, rows, k, length, after, first)
    if codes[j, FLAGS] & HAS_PAST:
        old, _, _ = apart(codes, numbers, j, x0, q0)
        _, before = direction_and_length(old)
        rate = numbers[j, DAMPING] / h
        f, s = f - rate * (length - before), s + rate
    none = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    add_to_element(j, scale(n, f), (0.0, 0.0, 0.0), outer(n, s), none, forces, stiffness)


@numba.njit(cache=True, **STEADY)
def measure(which, codes, rows, motion, results):
    """Forces of limits and motors after the last solution, (W, 4): before `evaluate` overwrites its rows."""
    for w in range(len(which)):
        result = forces_after(which[w], codes, rows, motion)
        results[w, 0], results[w, 1], results[w, 2], results[w, 3] = result


@numba.njit(cache=True, **STEADY)
def restrain(
    which, results, codes, numbers, targets, broken, angles, saturated, rows, x, q, x0, q0, h, first, forces,
    stiffness
):  # fmt: skip
    """Add limits, motors and damping to elements that `evaluate` has written.

    Args:
        which: Joints that have any, (W,).
        results: What `measure` wrote, (W, 4).
        codes: See `shinari.rigid.joints.table`, (J, 5).
        numbers: See there, (J, NUMBERS).
        targets: What motors aim at, (J,).
        broken: Joints that have let go, (J,).
        angles: Angles about the axes at the start of the substep, over several turns [rad], (J,).
        saturated: Whether motors were at their limit in the last substep, -1, 0 or 1, (J,).
        rows: What `settle` needs, (J, ROWS), overwritten.
        x: Origins of the frames now [m], (F, 3).
        q: Their rotations now, (F, 4).
        x0: Origins at the start of the substep [m], (F, 3).
        q0: Rotations at the start of the substep, (F, 4).
        h: Substep [s].
        first: Whether the bodies are where they were predicted: nothing has been solved in this substep.
        forces: Of the elements, (J, 6).
        stiffness: Of the elements, (J, 12).
    """
    for w in range(len(which)):
        j = which[w]
        if broken[j]:
            continue
        after = (results[w, 0], results[w, 1], results[w, 2], results[w, 3])
        if codes[j, KIND] == DISTANCE:
            restrain_distance(
                j, codes, numbers, saturated, rows, x, q, x0, q0, h, first, after, forces, stiffness
            )  # fmt: skip
        else:
            restrain_joint(
                j, codes, numbers, targets, angles, saturated, rows, x, q, x0, q0, h, first, after, forces, stiffness
            )  # fmt: skip
