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

import numba

from shinari.maths.function import STEADY, steady
from shinari.maths.quaternion import conjugate, multiply, rotate
from shinari.maths.vec3 import add, direction_and_length, scale, sub
from shinari.rigid.joints.measures import (
    aligned_turn,
    along_axes,
    axes_of,
    from_axes,
    in_axes,
    short,
    swing_cosine,
    whole_turn,
)  # fmt: skip
from shinari.rigid.joints.table import (
    ANCHOR_A,
    ANCHOR_B,
    ANGULAR_COMPLIANCE,
    BALL,
    COMPLIANCE,
    DISTANCE,
    FIRST,
    FIXED,
    FRAME_A,
    FRAME_B,
    GEAR,
    HOLDS,
    KIND,
    POINT_MASS,
    REST,
    SECOND,
    SLIDER,
    STIFF,
    TURN_MASS,
    UNIVERSAL,
)  # fmt: skip

# Columns of `rows`, what `settle` has to know: axes of the joint on b (of a distance its line and nothing), directions
# of the rows beyond them (swing or universal; twist), forces and stiffnesses of ten rows.
AXES, ACROSS, ABOUT, FORCE, STIFFNESS = 0, 9, 12, 15, 25
# On which side limits push, and whether the motor is at its own limit: -1, 0 or 1 each.
ACTIVE = 35
ROWS = 39

ZERO = (0.0, 0.0, 0.0)


@steady
def places(gap, ra, rb, between, axes, rest, distance):
    """C along the axes, and the arms and axes of a joint."""
    n, length = direction_and_length(gap)
    if distance:
        return (length - rest, 0.0, 0.0), rb, (n, ZERO, ZERO)
    return in_axes(axes, gap), add(between, ra), axes


@steady
def turns(kind, p, axes, rest):
    """C of what is held of the turn p from b's joint axes to a's, and the axes of these rows."""
    if kind in (FIXED, SLIDER):
        return whole_turn(p), axes
    if kind in (BALL, DISTANCE):
        return ZERO, axes
    if kind == UNIVERSAL:
        # C = cos(swing) - cos changes by (u_a x u_b) . phi
        cosine, y, z = swing_cosine(p)
        across = add(scale(axes[1], z), scale(axes[2], -y))
        return (cosine - rest, 0.0, 0.0), (across, ZERO, ZERO)
    return aligned_turn(p), axes


@steady
def three_rows(k, c, hold, compliance):
    """Forces and stiffnesses of three rows, 0 for those that `hold` leaves out."""
    s = k / max(1.0, k * compliance)
    force = (
        -s * hold[0] * c[0],
        -s * hold[1] * c[1],
        -s * hold[2] * c[2],
    )
    return force, (s * hold[0], s * hold[1], s * hold[2])


@numba.njit(cache=True, **STEADY)
def evaluate(codes, numbers, broken, rows, x, q, h, frames, arms, forces, stiffness):
    """Write the elements of joints where the bodies are now; those of gears and of broken joints do nothing.

    The loop reads and writes arrays itself: passed on, they cost more than the work.

    Args:
        codes: See `shinari.rigid.joints.table`, (J, 5).
        numbers: See there, (J, NUMBERS).
        broken: Joints that have let go, (J,).
        rows: What `settle` needs, (J, ROWS), overwritten.
        x: Origins of the frames now [m], (F, 3).
        q: Their rotations now, (F, 4).
        h: Substep [s].
        frames: Of the elements, (J, 2), overwritten.
        arms: Of the elements, (J, 6), overwritten.
        forces: Of the elements, (J, 6), overwritten.
        stiffness: Of the elements, (J, 12), overwritten.
    """
    ease = STIFF / (h * h)
    for j in range(len(codes)):
        a, b, kind = codes[j, FIRST], codes[j, SECOND], codes[j, KIND]
        frames[j, 0], frames[j, 1] = a, b
        if broken[j] or kind == GEAR:
            for i in range(6):
                arms[j, i] = forces[j, i] = stiffness[j, i] = stiffness[j, 6 + i] = 0.0
            continue
        qa = (q[a, 0], q[a, 1], q[a, 2], q[a, 3])
        qb = (q[b, 0], q[b, 1], q[b, 2], q[b, 3])
        ra = rotate(qa, (numbers[j, ANCHOR_A], numbers[j, ANCHOR_A + 1], numbers[j, ANCHOR_A + 2]))
        rb = rotate(qb, (numbers[j, ANCHOR_B], numbers[j, ANCHOR_B + 1], numbers[j, ANCHOR_B + 2]))
        frame_a = multiply(
            qa, (numbers[j, FRAME_A], numbers[j, FRAME_A + 1], numbers[j, FRAME_A + 2], numbers[j, FRAME_A + 3])
        )
        frame_b = multiply(
            qb, (numbers[j, FRAME_B], numbers[j, FRAME_B + 1], numbers[j, FRAME_B + 2], numbers[j, FRAME_B + 3])
        )
        between = (x[a, 0] - x[b, 0], x[a, 1] - x[b, 1], x[a, 2] - x[b, 2])
        c, rb, axes = places(
            add(between, sub(ra, rb)), ra, rb, between, axes_of(frame_b), numbers[j, REST], kind == DISTANCE
        )  # fmt: skip
        turn, around = turns(kind, short(multiply(conjugate(frame_b), frame_a)), axes, numbers[j, REST])
        force, stiff = three_rows(
            ease * numbers[j, POINT_MASS], c,
            (numbers[j, HOLDS], numbers[j, HOLDS + 1], numbers[j, HOLDS + 2]), numbers[j, COMPLIANCE],
        )  # fmt: skip
        moment, against = three_rows(
            ease * numbers[j, TURN_MASS], turn,
            (numbers[j, HOLDS + 3], numbers[j, HOLDS + 4], numbers[j, HOLDS + 5]), numbers[j, ANGULAR_COMPLIANCE],
        )  # fmt: skip
        f, t = from_axes(axes, force), from_axes(around, moment)
        k, r = along_axes(axes, stiff), along_axes(around, against)
        arms[j, 0], arms[j, 1], arms[j, 2] = ra
        arms[j, 3], arms[j, 4], arms[j, 5] = rb
        forces[j, 0], forces[j, 1], forces[j, 2] = f
        forces[j, 3], forces[j, 4], forces[j, 5] = t
        stiffness[j, 0], stiffness[j, 1], stiffness[j, 2], stiffness[j, 3], stiffness[j, 4], stiffness[j, 5] = k
        stiffness[j, 6], stiffness[j, 7], stiffness[j, 8], stiffness[j, 9], stiffness[j, 10], stiffness[j, 11] = r
        rows[j, AXES], rows[j, AXES + 1], rows[j, AXES + 2] = axes[0]
        rows[j, AXES + 3], rows[j, AXES + 4], rows[j, AXES + 5] = axes[1]
        rows[j, AXES + 6], rows[j, AXES + 7], rows[j, AXES + 8] = axes[2]
        rows[j, ACROSS], rows[j, ACROSS + 1], rows[j, ACROSS + 2] = around[0]
        rows[j, FORCE], rows[j, FORCE + 1], rows[j, FORCE + 2] = force
        rows[j, FORCE + 3], rows[j, FORCE + 4], rows[j, FORCE + 5] = moment
        rows[j, STIFFNESS], rows[j, STIFFNESS + 1], rows[j, STIFFNESS + 2] = stiff
        rows[j, STIFFNESS + 3], rows[j, STIFFNESS + 4], rows[j, STIFFNESS + 5] = against
