"""Limits, motors and damping, added to the elements of joints."""

import math

from shinari.maths.function import steady
from shinari.maths.quaternion import conjugate, multiply
from shinari.maths.symmetric import outer, plus
from shinari.maths.vec3 import add, direction_and_length, dot, norm, scale, sub
from shinari.systems.rigid.integration import logarithm
from shinari.systems.rigid.joints.measures import (
    NO_TWIST,
    along_axes,
    anchor_offset,
    from_axes,
    in_axes,
    place_of,
    set_vector_at,
    swing_cosine,
    swing_of,
    twist_of,
    vector_at,
)  # fmt: skip
from shinari.systems.rigid.joints.row_forces import bounded, motor_row, nearest_turn
from shinari.systems.rigid.joints.table import (
    BALL,
    DAMPING,
    DRY_FRICTION,
    FLAGS,
    FRICTION_ROW,
    HAS_ANGLE,
    HAS_AXIS,
    HAS_LIMITS,
    HAS_PAST,
    HAS_SWING,
    HAS_TRAVEL,
    HAS_TWIST,
    JOINT_STIFFNESS,
    KIND,
    LEAST_SWING,
    LEAST_TRAVEL,
    LEAST_TWIST,
    LIMIT_COMPLIANCE,
    MOTOR_COMPLIANCE,
    MOTOR_DAMPING,
    MOTOR_FORCE,
    MOTOR_GOAL,
    MOTOR_INVERSE_MASS,
    MOTOR_KIND,
    MOTOR_MAX_FORCE,
    MOTOR_MAX_SPEED,
    MOTOR_ROW,
    MOTOR_SPEED,
    MOTOR_TARGET,
    NO_MOTOR,
    POINT_MASS,
    ROTOR,
    SLIDER,
    SPRING,
    SPRING_REST,
    SWING,
    TRAVEL,
    TURN_MASS,
    TWIST,
    VELOCITY,
)  # fmt: skip
from shinari.systems.rigid.joints.values import ABOUT, ACROSS, ACTIVE, AXES, FORCE, STIFFNESS


@steady
def store_row(rows, j, slot, force, stiffness):
    """Store force and stiffness of a row."""
    rows[j, FORCE + slot], rows[j, STIFFNESS + slot] = force, stiffness


@steady
def limit_row(j, slot, numbers, least, rows, k, value, state, excess):
    """Force and stiffness of the limits whose bounds are in columns `least` and the next; they are stored.

    `state`: the side that was active, the force of the limits after the last solution, and whether there was none yet;
    `excess`: what may stay below (negative) or beyond the bounds.
    """
    was, after, first = state
    force, stiffness, side = bounded(
        k, value, numbers[j, least] + min(excess, 0.0), numbers[j, least + 1] + max(excess, 0.0),
        numbers[j, LIMIT_COMPLIANCE], was, after, first,
    )  # fmt: skip
    store_row(rows, j, slot, force, stiffness)
    rows[j, ACTIVE + slot - TRAVEL] = side
    return force, stiffness


@steady
def limit(j, slot, numbers, least, values, k, value, after, first):
    """The same of a joint, whose limits begin on the sides on which the last substep ended."""
    quantity = slot - TRAVEL
    was, excess = values.sides[j, quantity] if first else values.rows[j, ACTIVE + quantity], values.excess[j, quantity]
    below, beyond = value - numbers[j, least] - min(excess, 0.0), numbers[j, least + 1] + max(excess, 0.0) - value
    values.slack[j, quantity] = min(below, beyond)
    return limit_row(j, slot, numbers, least, values.rows, k, value, (was, after, first), excess)


@steady
def forces_after(j, codes, rows, displacement):
    """Forces of the rows of travel, twist, swing, motor and friction after the last displacement, to first order."""
    d, phi = vector_at(displacement, j, 0), vector_at(displacement, j, 3)
    kind = codes[j, KIND]
    along = dot(vector_at(rows, j, AXES), d)
    about = dot(vector_at(rows, j, AXES), phi)
    twist = dot(vector_at(rows, j, ABOUT), phi) if kind == BALL else about
    across = dot(vector_at(rows, j, ACROSS), phi)
    free = along if kind == SLIDER else about
    return (
        rows[j, FORCE + TRAVEL] - rows[j, STIFFNESS + TRAVEL] * along,
        rows[j, FORCE + TWIST] - rows[j, STIFFNESS + TWIST] * twist,
        rows[j, FORCE + SWING] - rows[j, STIFFNESS + SWING] * across,
        rows[j, FORCE + MOTOR_ROW] - rows[j, STIFFNESS + MOTOR_ROW] * free,
        rows[j, FORCE + FRICTION_ROW] - rows[j, STIFFNESS + FRICTION_ROW] * free,
    )


@steady
def side_after(side, force):
    """Side of a limit after the last solution: it is active while it pushes."""
    return side if side * force > 0.0 else 0.0


@steady
def store_sides(j, codes, values, elements):
    """Store the sides on which the limits of a joint are active after the last displacement."""
    rows, after = values.rows, forces_after(j, codes, values.rows, elements.displacement)
    values.sides[j] = (
        side_after(rows[j, ACTIVE], after[0]),
        side_after(rows[j, ACTIVE + 1], after[1]),
        side_after(rows[j, ACTIVE + 2], after[2]),
    )


@steady
def keeps_side(j, quantity, after, moved, values):
    """Whether a limit acts on the same side after a displacement that changes its value by at most `moved`."""
    side = values.rows[j, ACTIVE + quantity]
    if side == 0.0:
        return moved < values.slack[j, quantity]
    return side == 2.0 or side * after > 0.0


@steady
def keeps_limits(j, joints, values, displacement):
    """Whether the limits of a joint act on the same sides after a displacement, to first order.

    False of a joint with a motor, dry friction, a spring or a rotor, which are not looked at.
    """
    flags = joints.codes[j, FLAGS]
    if flags & HAS_AXIS or values.motors[j, MOTOR_KIND] != NO_MOTOR:
        return False
    if flags & HAS_LIMITS == 0:
        return True
    after = forces_after(j, joints.codes, values.rows, displacement)
    shifted, turned = norm(vector_at(displacement, j, 0)), norm(vector_at(displacement, j, 3))
    kept = flags & HAS_TRAVEL == 0 or keeps_side(j, 0, after[0], shifted, values)
    kept = kept and (flags & HAS_TWIST == 0 or keeps_side(j, 1, after[1], turned, values))
    return kept and (flags & HAS_SWING == 0 or keeps_side(j, 2, after[2], turned, values))


@steady
def goal_after(j, motors, h):
    """Goal of a motor at the end of the substep: it comes to the target no faster than its largest speed."""
    away, most = motors[j, MOTOR_TARGET] - motors[j, MOTOR_GOAL], h * motors[j, MOTOR_MAX_SPEED]
    return motors[j, MOTOR_GOAL] + min(max(away, -most), most)


@steady
def servo_goal(j, numbers, motors, start, target, h):
    """Goal of a servo at the end of the substep.

    A servo without a stiffness approaches its target no faster than half of its force can stop it there; with the full
    force to the target and the full force back it would oscillate about the target.
    """
    away = target - start
    fastest = h * math.sqrt(motors[j, MOTOR_MAX_FORCE] * numbers[j, MOTOR_INVERSE_MASS] * abs(away))
    bounded_away = min(max(away, -fastest), fastest)
    return start + bounded_away if motors[j, MOTOR_COMPLIANCE] == 0.0 else target


@steady
def act_by_motor(j, joints, values, coordinate, displacement, k, after, h, first):
    """Force and stiffness of the motor along the free coordinate."""
    numbers, rows, motors = joints.numbers, values.rows, values.motors
    goal = goal_after(j, motors, h)
    c = (
        displacement - goal * h
        if motors[j, MOTOR_KIND] == VELOCITY
        else coordinate - servo_goal(j, numbers, motors, coordinate - displacement, goal, h)
    )
    damping = motors[j, MOTOR_DAMPING]
    bias = motors[j, MOTOR_FORCE] + damping * (motors[j, MOTOR_SPEED] - displacement / h)
    was = values.saturated[j] if first else rows[j, ACTIVE + 3]
    total, stiffness, force, held_stiffness, state = motor_row(
        was, after, k, c, motors[j, MOTOR_COMPLIANCE], damping, bias, h, motors[j, MOTOR_MAX_FORCE], first
    )
    rows[j, ACTIVE + 3] = state
    store_row(rows, j, MOTOR_ROW, force, held_stiffness)
    return total, stiffness


@steady
def act_by_friction(j, joints, values, displacement, k, after, h, first):
    """Force and stiffness of dry friction: it holds the coordinate up to its largest force."""
    rows = values.rows
    was = values.sliding[j] if first else rows[j, ACTIVE + 4]
    total, stiffness, force, held_stiffness, state = motor_row(
        was, after, k, displacement, 0.0, 0.0, 0.0, h, joints.numbers[j, DRY_FRICTION], first
    )
    rows[j, ACTIVE + 4] = state
    store_row(rows, j, FRICTION_ROW, force, held_stiffness)
    return total, stiffness


@steady
def act_freely(j, joints, values, coordinate, displacement, k, after, h, first):
    """Force and stiffness along the free coordinate of a hinge or slider: motor, dry friction, spring and rotor.

    The rotor is a mass I on the coordinate: as the bodies it goes on with its speed, I (d - h v) / h^2 = -force.
    """
    numbers, force, stiffness = joints.numbers, 0.0, 0.0
    if values.motors[j, MOTOR_KIND] != NO_MOTOR:
        f, s = act_by_motor(j, joints, values, coordinate, displacement, k, after[3], h, first)
        force, stiffness = force + f, stiffness + s
    if joints.codes[j, FLAGS] & HAS_AXIS:
        if numbers[j, DRY_FRICTION] > 0.0:
            f, s = act_by_friction(j, joints, values, displacement, k, after[4], h, first)
            force, stiffness = force + f, stiffness + s
        s = min(numbers[j, SPRING], k)
        force, stiffness = force - s * (coordinate - numbers[j, SPRING_REST]), stiffness + s
        s = numbers[j, ROTOR] / (h * h)
        force, stiffness = force - s * (displacement - h * values.rate[j]), stiffness + s
    return force, stiffness


@steady
def act_on_axis(j, joints, values, travel, p, k, kt, past, after, h, first):
    """Limits along and about the axis, and what acts freely: force and stiffness along x, moment and one about x."""
    codes, numbers = joints.codes, joints.numbers
    flags = codes[j, FLAGS]
    along, stiff, about, against = 0.0, 0.0, 0.0, 0.0
    angle = 0.0
    if flags & (HAS_TWIST | HAS_ANGLE):
        angle = nearest_turn(twist_of(p), values.angles[j])
    if flags & HAS_TRAVEL:
        along, stiff = limit(j, TRAVEL, numbers, LEAST_TRAVEL, values, k, travel, after[0], first)
    if flags & HAS_TWIST and codes[j, KIND] != BALL:
        about, against = limit(j, TWIST, numbers, LEAST_TWIST, values, kt, angle, after[1], first)
    if flags & HAS_AXIS or values.motors[j, MOTOR_KIND] != NO_MOTOR:
        slides = codes[j, KIND] == SLIDER
        coordinate, displacement = (travel, past[0][0]) if slides else (angle, past[1][0])
        f, s = act_freely(j, joints, values, coordinate, displacement, k if slides else kt, after, h, first)
        along, stiff = along + (f if slides else 0.0), stiff + (s if slides else 0.0)
        about, against = about + (0.0 if slides else f), against + (0.0 if slides else s)
    return along, stiff, about, against


@steady
def act_on_ball(j, codes, numbers, values, axes, p, kt, after, first):
    """Limits of swing and twist: moment and stiffness in the world."""
    flags, rows = codes[j, FLAGS], values.rows
    moment, against = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    swing, y, z = swing_of(p)
    across = add(scale(axes[1], y), scale(axes[2], z))
    cosine, u, v = swing_cosine(p)
    set_vector_at(rows, j, ACROSS, across)
    if flags & HAS_SWING:
        f, s = limit(j, SWING, numbers, LEAST_SWING, values, kt, swing, after[2], first)
        moment, against = add(moment, scale(across, f)), plus(against, outer(across, s))
    if flags & HAS_TWIST:
        # the twist changes by (a + b) . phi / (1 + a . b), with the axes a and b: 1 along b, tan(swing / 2) sideways
        some = 1.0 + cosine > NO_TWIST
        tangent = math.sqrt(u * u + v * v) / (1.0 + cosine) if some else 0.0
        about = add(axes[0], add(scale(axes[1], tangent * z), scale(axes[2], -tangent * y)))
        k = kt * 0.5 * (1.0 + cosine)
        angle = nearest_turn(twist_of(p), values.angles[j])
        f, s = limit(j, TWIST, numbers, LEAST_TWIST, values, k, angle, after[1], first)
        if not some:
            f, s = 0.0, 0.0
            store_row(rows, j, TWIST, f, s)
        set_vector_at(rows, j, ABOUT, about)
        moment, against = add(moment, scale(about, f)), plus(against, outer(about, s))
    return moment, against


@steady
def past_of(j, codes, numbers, wanted, gap, p, x0, q0, axes, h):
    """Displacement and rotation of a relative to b in the substep, in the axes of the joint, and 1 / h."""
    nothing = (0.0, 0.0, 0.0)
    if not wanted:
        return nothing, nothing, 0.0
    old, _, _, old_axes, start = place_of(codes, numbers, j, x0, q0)
    displacement = sub(in_axes(axes, gap), in_axes(old_axes, old))
    return displacement, logarithm(multiply(p, conjugate(start))), 1.0 / h


@steady
def damp(j, numbers, past):
    """Damping of the free rows of a joint: forces, stiffnesses, moments and their stiffnesses along the axes."""
    displacement, turned, rate = past
    d0, d1, d2 = rate * numbers[j, DAMPING], rate * numbers[j, DAMPING + 1], rate * numbers[j, DAMPING + 2]
    d3, d4, d5 = rate * numbers[j, DAMPING + 3], rate * numbers[j, DAMPING + 4], rate * numbers[j, DAMPING + 5]
    return (
        (-d0 * displacement[0], -d1 * displacement[1], -d2 * displacement[2]),
        (d0, d1, d2),
        (-d3 * turned[0], -d4 * turned[1], -d5 * turned[2]),
        (d3, d4, d5),
    )


@steady
def add_to_element(e, force, moment, k, r, elements):
    """Add to force and stiffness of an element."""
    f, s = elements.force[e], elements.stiffness[e]
    elements.force[e] = (
        f[0] + force[0], f[1] + force[1], f[2] + force[2], f[3] + moment[0], f[4] + moment[1], f[5] + moment[2]
    )  # fmt: skip
    elements.stiffness[e] = (
        s[0] + k[0], s[1] + k[1], s[2] + k[2], s[3] + k[3], s[4] + k[4], s[5] + k[5],
        s[6] + r[0], s[7] + r[1], s[8] + r[2], s[9] + r[3], s[10] + r[4], s[11] + r[5],
    )  # fmt: skip


@steady
def restrain_joint(j, joints, values, elements, frames, place, h, first, after):
    """Add limits, motor and damping of a joint that is measured in the axes of the joint on b."""
    codes, numbers = joints.codes, joints.numbers
    gap, _, _, axes, p = place
    k, kt = JOINT_STIFFNESS / (h * h) * numbers[j, POINT_MASS], JOINT_STIFFNESS / (h * h) * numbers[j, TURN_MASS]
    wanted = codes[j, FLAGS] & HAS_PAST != 0 or values.motors[j, MOTOR_KIND] != NO_MOTOR
    past = past_of(j, codes, numbers, wanted, gap, p, frames.x0, frames.q0, axes, h)
    force, stiff, moment, against = damp(j, numbers, past)
    f, s, t, r = act_on_axis(j, joints, values, dot(axes[0], gap), p, k, kt, past, after, h, first)
    turning = from_axes(axes, (moment[0] + t, moment[1], moment[2]))
    turn_stiffness = along_axes(axes, (against[0] + r, against[1], against[2]))
    if codes[j, KIND] == BALL:
        t, r = act_on_ball(j, codes, numbers, values, axes, p, kt, after, first)
        turning, turn_stiffness = add(turning, t), plus(turn_stiffness, r)
    pushing = from_axes(axes, (force[0] + f, force[1], force[2]))
    add_to_element(
        j, pushing, turning, along_axes(axes, (stiff[0] + s, stiff[1], stiff[2])), turn_stiffness, elements
    )  # fmt: skip


@steady
def restrain_distance(j, joints, values, elements, frames, gap, h, first, after):
    """Add limits and damping of a distance, along its line."""
    codes, numbers = joints.codes, joints.numbers
    n, length = direction_and_length(gap)
    k = JOINT_STIFFNESS / (h * h) * numbers[j, POINT_MASS]
    f, s = 0.0, 0.0
    if codes[j, FLAGS] & HAS_TRAVEL:
        f, s = limit(j, TRAVEL, numbers, LEAST_TRAVEL, values, k, length, after[0], first)
    if codes[j, FLAGS] & HAS_PAST:
        old, _, _ = anchor_offset(codes, numbers, j, frames.x0, frames.q0)
        _, before = direction_and_length(old)
        rate = numbers[j, DAMPING] / h
        f, s = f - rate * (length - before), s + rate
    none = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    add_to_element(j, scale(n, f), (0.0, 0.0, 0.0), outer(n, s), none, elements)
