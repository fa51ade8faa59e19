"""Constraint rows that a joint holds, written as one element for each joint.

    anchor      C = n . (p_a - p_b)            p_a, p_b: the anchors; n: an axis x y z of the joint on b
    rotation    C = n . (the rotation from b's joint axes to a's)   all three held: its rotation vector;
                                           the axis alone: the shortest rotation from b's axis to a's
    universal   C = u_a . u_b - cos        the angle between an axis of a and one of b
    distance    C = |p_a - p_b| - L

after Mueller et al. 2020, Detailed Rigid Body Simulation with Extended Position Based Dynamics, section 3.4, with its
forces and moments for C = 0 in place of corrections one by one. Force acts at a's anchor on both bodies (at each one's
own anchor for a distance, along whose line it does not matter), so that it makes no moment of its own, and the motion
d of the element there is exactly the change of C. Angles are split into swing of the axis and twist about it; a swing
by half a turn has no axis (any one across serves), and twist is not defined there (it exerts nothing).
"""

from shinari.maths.function import steady
from shinari.maths.vec3 import add, direction_and_length, scale
from shinari.systems.rigid.integration import logarithm
from shinari.systems.rigid.joints.measures import (
    along_axes,
    anchor_offset,
    from_axes,
    in_axes,
    set_vector_at,
    shortest_rotation,
    swing_cosine,
    vector_at,
)  # fmt: skip
from shinari.systems.rigid.joints.table import (
    ANGULAR_COMPLIANCE,
    BALL,
    COMPLIANCE,
    DISTANCE,
    FIXED,
    HOLDS,
    JOINT_STIFFNESS,
    KIND,
    POINT_MASS,
    REST,
    SLIDER,
    TURN_MASS,
    UNIVERSAL,
)  # fmt: skip
from shinari.systems.rigid.joints.values import ACROSS, AXES, FORCE, STIFFNESS

ZERO = (0.0, 0.0, 0.0)


@steady
def anchor_error(gap, ra, rb, axes, rest, distance):
    """C along the axes, and the arms and axes of a joint."""
    n, length = direction_and_length(gap)
    if distance:
        return (length - rest, 0.0, 0.0), rb, (n, ZERO, ZERO)
    # a's anchor from b
    return in_axes(axes, gap), add(gap, rb), axes


@steady
def rotation_error(kind, p, axes, rest):
    """C of the held rows of the rotation p from b's joint axes to a's, and the axes of these rows."""
    if kind in (FIXED, SLIDER):
        return logarithm(p), axes
    if kind in (BALL, DISTANCE):
        return ZERO, axes
    if kind == UNIVERSAL:
        # C = cos(swing) - cos changes by (u_a x u_b) . phi
        cosine, y, z = swing_cosine(p)
        across = add(scale(axes[1], z), scale(axes[2], -y))
        return (cosine - rest, 0.0, 0.0), (across, ZERO, ZERO)
    return shortest_rotation(p), axes


@steady
def with_compliance(k, compliance):
    """Stiffness of a row that may have a compliance, at most k."""
    return k / max(1.0, k * compliance)


@steady
def three_rows(k, c, hold, compliance):
    """Forces and stiffnesses of three rows, 0 for those that `hold` leaves out."""
    s = with_compliance(k, compliance)
    force = (
        -s * hold[0] * c[0],
        -s * hold[1] * c[1],
        -s * hold[2] * c[2],
    )
    return force, (s * hold[0], s * hold[1], s * hold[2])


@steady
def hold_ball(j, joints, values, elements, frames, h):
    """Write the element of a ball joint without limits: the rows of its anchor are alike, along any axes."""
    numbers, rows = joints.numbers, values.rows
    gap, ra, rb = anchor_offset(joints.codes, numbers, j, frames.x, frames.q)
    s = with_compliance(JOINT_STIFFNESS / (h * h) * numbers[j, POINT_MASS], numbers[j, COMPLIANCE])
    f, arm = scale(gap, -s), add(gap, rb)
    elements.arms[j] = ra[0], ra[1], ra[2], arm[0], arm[1], arm[2]
    elements.force[j] = f[0], f[1], f[2], 0.0, 0.0, 0.0
    elements.stiffness[j] = s, s, s, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    set_vector_at(rows, j, FORCE, f)
    set_vector_at(rows, j, STIFFNESS, (s, s, s))


@steady
def hold_joint(j, joints, values, elements, place, h):
    """Write the element of the rows that a joint holds, where it is (`place_of`)."""
    numbers, rows, kind = joints.numbers, values.rows, joints.codes[j, KIND]
    gap, ra, rb, axes, turned = place
    rest = numbers[j, REST]
    c, rb, axes = anchor_error(gap, ra, rb, axes, rest, kind == DISTANCE)
    rotation, around = rotation_error(kind, turned, axes, rest)
    k = JOINT_STIFFNESS / (h * h)
    held, kept = vector_at(numbers, j, HOLDS), vector_at(numbers, j, HOLDS + 3)
    force, stiff = three_rows(k * numbers[j, POINT_MASS], c, held, numbers[j, COMPLIANCE])
    moment, against = three_rows(k * numbers[j, TURN_MASS], rotation, kept, numbers[j, ANGULAR_COMPLIANCE])
    f, t = from_axes(axes, force), from_axes(around, moment)
    u, r = along_axes(axes, stiff), along_axes(around, against)
    elements.arms[j] = ra[0], ra[1], ra[2], rb[0], rb[1], rb[2]
    elements.force[j] = f[0], f[1], f[2], t[0], t[1], t[2]
    elements.stiffness[j] = u[0], u[1], u[2], u[3], u[4], u[5], r[0], r[1], r[2], r[3], r[4], r[5]
    set_vector_at(rows, j, AXES, axes[0])
    set_vector_at(rows, j, AXES + 3, axes[1])
    set_vector_at(rows, j, AXES + 6, axes[2])
    set_vector_at(rows, j, ACROSS, around[0])
    set_vector_at(rows, j, FORCE, force)
    set_vector_at(rows, j, FORCE + 3, moment)
    set_vector_at(rows, j, STIFFNESS, stiff)
    set_vector_at(rows, j, STIFFNESS + 3, against)
