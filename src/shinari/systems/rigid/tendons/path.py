"""Length of a tendon, and how it changes with the frames that it goes over.

    L = sum of joint terms c0 + c1 u + ... + c4 u^4  +  sum of pieces |t - p| + arc + |q - u|, each by its share

A piece around a shape touches it in t and u. Since the path is the shortest one, its length changes only with the
straight lines, as if t and u were fixed to the shape: dL = n . (dt - dp) + m . (dq - du), with the directions n and m
of the two lines. The moment arm about a joint follows: dL/dangle.
"""

import math

from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.quaternion import conjugate, multiply, rotate, rotate_back
from shinari.maths.vec3 import add, cross, dot, scale, sub
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.integration import logarithm, rotation_vector_between, symmetric_times, vector, velocity_at
from shinari.systems.rigid.joints.measures import (
    anchor_offset,
    axes_of,
    joint_frame,
    quaternion_at,
    set_vector_at,
    vector_at,
)
from shinari.systems.rigid.joints.results import motor_coordinate
from shinari.systems.rigid.joints.table import FRAME_B as JOINT_FRAME_B
from shinari.systems.rigid.joints.table import KIND, POINT_MASS, SECOND, SLIDER, TURN_MASS
from shinari.systems.rigid.joints.values import JointData, JointValues
from shinari.systems.rigid.tendons.values import (
    AXES,
    CENTRE,
    COEFFICIENTS,
    CRANK,
    CYLINDER,
    FIRST_PART,
    FIRST_PIECE,
    FORCE_OF,
    FRAME_A,
    FRAME_B,
    FRAME_G,
    FRAME_S,
    JOINT,
    MOMENT_OF,
    OF_JOINT,
    OFFSET,
    PART_A,
    PART_B,
    PART_G,
    PARTS,
    PIECES,
    PLACE_A,
    PLACE_B,
    RADIUS,
    SHAPE,
    SHARE,
    SIDE,
    STRAIGHT,
    THRUST,
    WAY,
    TendonData,
    TendonParts,
    TendonPieces,
    TendonValues,
)
from shinari.systems.rigid.tendons.wrapping import around_cylinder, around_sphere, distance

NOTHING = (0.0, 0.0, 0.0)


@steady
def add_to_part(parts, p, linear, angular):
    """Add to how the length changes with a frame; part -1 is one that nothing moves."""
    if p >= 0:
        j = parts.jacobian[p]
        parts.jacobian[p] = (
            j[0] + linear[0], j[1] + linear[1], j[2] + linear[2],
            j[3] + angular[0], j[4] + angular[1], j[5] + angular[2],
        )  # fmt: skip


@steady
def add_joint(s, pieces, parts, joints, joint_values, frames):
    """What a joint adds to the length, and to the inverse effective mass along it."""
    codes, numbers, j = pieces.codes, pieces.numbers, pieces.codes[s, JOINT]
    u = motor_coordinate(j, joints, joint_values, frames) - numbers[s, OFFSET]
    value, slope = 0.0, 0.0
    for k in range(4, -1, -1):
        slope = slope * u + value
        value = value * u + numbers[s, COEFFICIENTS + k]
    gap, ra, rb = anchor_offset(joints.codes, joints.numbers, j, frames.x, frames.q)
    axis, _, _ = axes_of(joint_frame(joints.numbers, j, JOINT_FRAME_B, frames.q[joints.codes[j, SECOND]]))
    along = scale(axis, slope)
    if joints.codes[j, KIND] == SLIDER:
        add_to_part(parts, codes[s, PART_A], along, cross(ra, along))
        add_to_part(parts, codes[s, PART_B], scale(along, -1.0), cross(along, add(gap, rb)))
        mass = joints.numbers[j, POINT_MASS]
    else:
        add_to_part(parts, codes[s, PART_A], NOTHING, along)
        add_to_part(parts, codes[s, PART_B], NOTHING, scale(along, -1.0))
        mass = joints.numbers[j, TURN_MASS]
    return value, slope * slope / mass


@steady
def pulled_at(p, f, point, n, parts, frames):
    """Let the length grow with a motion of a point of a frame along n; adds to the inverse effective mass."""
    if p < 0:
        return 0.0
    moment = cross(sub(point, vector(frames.x, f)), n)
    add_to_part(parts, p, n, moment)
    return frames.inverse_mass[f] * dot(n, n) + dot(moment, symmetric_times(frames.inverse_inertia, f, moment))


@steady
def in_world(frames, f, local):
    """Where a point of a frame is in the world."""
    return add(vector(frames.x, f), rotate(frames.q[f], local))


@steady
def wrapped(s, p, q, pieces, frames):
    """The path from p to q around the shape of a piece: whether it touches it, where, and the length there."""
    codes, numbers, f = pieces.codes, pieces.numbers, pieces.codes[s, FRAME_G]
    centre = in_world(frames, f, vector_at(numbers, s, CENTRE))
    axes = multiply(frames.q[f], quaternion_at(numbers, s, AXES))
    a, b = rotate_back(axes, sub(p, centre)), rotate_back(axes, sub(q, centre))
    side = rotate_back(axes, sub(in_world(frames, codes[s, FRAME_S], vector_at(numbers, s, SIDE)), centre))
    r, way = numbers[s, RADIUS], numbers[s, WAY]
    if codes[s, SHAPE] == CYLINDER:
        found, t, u, arc = around_cylinder(a, b, r, side, way)
    else:
        found, t, u, arc = around_sphere(a, b, r, side, way)
    return found, add(centre, rotate(axes, t)), add(centre, rotate(axes, u)), arc


@steady
def add_segment(s, pieces, parts, frames):
    """What a piece of the path adds to the length, and to the inverse effective mass along it."""
    codes, numbers = pieces.codes, pieces.numbers
    a, b, g = codes[s, FRAME_A], codes[s, FRAME_B], codes[s, FRAME_G]
    p, q = in_world(frames, a, vector_at(numbers, s, PLACE_A)), in_world(frames, b, vector_at(numbers, s, PLACE_B))
    share, found, t, u, arc = numbers[s, SHARE], False, q, q, 0.0
    if codes[s, SHAPE] != STRAIGHT:
        found, t, u, arc = wrapped(s, p, q, pieces, frames)
    if not found:
        t, u, arc = q, q, 0.0
    n, first = distance(p, t)
    m, last = distance(u, q)
    n, m = scale(n, share), scale(m, share)
    w = pulled_at(codes[s, PART_A], a, p, scale(n, -1.0), parts, frames)
    if found:
        w += pulled_at(codes[s, PART_G], g, t, n, parts, frames)
        w += pulled_at(codes[s, PART_G], g, u, scale(m, -1.0), parts, frames)
        w += pulled_at(codes[s, PART_B], b, q, m, parts, frames)
    else:
        w += pulled_at(codes[s, PART_B], b, q, n, parts, frames)
    for k in range(4):
        set_vector_at(pieces.ends, s, 3 * k, p if k == 0 else (t if k == 1 else (u if k == 2 else q)))
    return share * (first + arc + last), w


@steady
def pushed(p, f, force, moment, parts, frames):
    """Let the length grow with a displacement of a frame along `force` and a rotation about `moment`."""
    if p < 0:
        return 0.0
    add_to_part(parts, p, force, moment)
    along = frames.inverse_mass[f] * dot(force, force)
    return along + dot(moment, symmetric_times(frames.inverse_inertia, f, moment))


@steady
def crank_length(s, numbers, v, axis):
    """How far a slider is out, and how that changes with the vector to the end of its rod.

    A rotation of the slider, which turns its axis, changes it as if the end of the rod moved the other way.
    """
    along, rod = dot(axis, v), numbers[s, RADIUS]
    square = along * along + rod * rod - dot(v, v)
    if square <= 0.0:
        return along, axis
    root = math.sqrt(square)
    part = 1.0 - along / root
    return along - root, add(scale(axis, part), scale(v, 1.0 / root))


@steady
def turned_about(s, m, pieces, frames, moved):
    """How far a body is turned from another about m: at the start of the substep, and since then.

    The rotation vector does not change by m . (w - w'), along which the moment works, unless both are parallel to it.
    """
    a, b, turn = pieces.codes[s, FRAME_A], pieces.codes[s, FRAME_B], quaternion_at(pieces.numbers, s, AXES)
    if not moved:
        return dot(m, logarithm(multiply(multiply(frames.q[a], turn), conjugate(frames.q[b]))))
    old = logarithm(multiply(multiply(frames.q0[a], turn), conjugate(frames.q0[b])))
    first, last = rotation_vector_between(frames.q0[a], frames.q[a]), rotation_vector_between(frames.q0[b], frames.q[b])
    start = rotate(frames.q0[b], vector_at(pieces.numbers, s, MOMENT_OF))
    return dot(start, old) + dot(m, sub(first, last))


@steady
def add_lever(s, pieces, parts, frames, moved):
    """What a force or a crank adds to the length, and to the inverse effective mass along it.

    A force alone counts the way of its place along it, and the angle about its moment, in the substep.
    """
    codes, numbers, a = pieces.codes, pieces.numbers, pieces.codes[s, FRAME_A]
    p, n, m = in_world(frames, a, vector_at(numbers, s, PLACE_A)), NOTHING, NOTHING
    arm, value, w = sub(p, vector(frames.x, a)), 0.0, 0.0
    if codes[s, SHAPE] == THRUST:
        n, m = (
            rotate(frames.q[a], vector_at(numbers, s, FORCE_OF)),
            rotate(frames.q[a], vector_at(numbers, s, MOMENT_OF)),
        )
        m = add(m, cross(arm, n))
        if moved:
            value = dot(n, sub(vector(frames.x, a), vector(frames.x0, a)))
            value += dot(m, rotation_vector_between(frames.q0[a], frames.q[a]))
        return value, pushed(codes[s, PART_A], a, n, m, parts, frames)
    b = codes[s, FRAME_B]
    o, n = in_world(frames, b, vector_at(numbers, s, PLACE_B)), rotate(frames.q[b], vector_at(numbers, s, FORCE_OF))
    if codes[s, SHAPE] == CRANK:
        value, n = crank_length(s, numbers, sub(p, o), n)
        w = pushed(codes[s, PART_A], a, n, cross(arm, n), parts, frames)
        back = cross(sub(p, vector(frames.x, b)), scale(n, -1.0))
        return value, w + pushed(codes[s, PART_B], b, scale(n, -1.0), back, parts, frames)
    m = rotate(frames.q[b], vector_at(numbers, s, MOMENT_OF))
    value = dot(n, sub(p, o)) + turned_about(s, m, pieces, frames, moved)
    w = pushed(codes[s, PART_A], a, n, add(cross(arm, n), m), parts, frames)
    back = scale(add(cross(sub(p, vector(frames.x, b)), n), m), -1.0)
    return value, w + pushed(codes[s, PART_B], b, scale(n, -1.0), back, parts, frames)


@steady
def measure(t, tendons, values, pieces, parts, joints, joint_values, frames, moved):
    """Write the length of a tendon, how it changes with its frames, and the inverse effective mass along it.

    `moved` tells whether the substep has moved the frames: what counts no length is as long as it has gone in that.
    """
    first = tendons.codes[t, FIRST_PART]
    for p in range(first, first + tendons.codes[t, PARTS]):
        parts.jacobian[p] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    length, inverse = 0.0, 0.0
    begin = tendons.codes[t, FIRST_PIECE]
    for s in range(begin, begin + tendons.codes[t, PIECES]):
        if pieces.codes[s, SHAPE] == OF_JOINT:
            value, w = add_joint(s, pieces, parts, joints, joint_values, frames)
        elif pieces.codes[s, SHAPE] >= THRUST:
            value, w = add_lever(s, pieces, parts, frames, moved)
        else:
            value, w = add_segment(s, pieces, parts, frames)
        length, inverse = length + value, inverse + w
    values.length[t], values.inverse_mass[t] = length, inverse


@steady
def rate_of_length(t, tendons, parts, frames):
    """Rate of change of a length that was just measured, by the velocities of the frames."""
    rate, first = 0.0, tendons.codes[t, FIRST_PART]
    for p in range(first, first + tendons.codes[t, PARTS]):
        f, j = parts.frame[p], parts.jacobian[p]
        rate += dot((j[0], j[1], j[2]), velocity_at(frames.v, frames.w, f, NOTHING))
        rate += dot((j[3], j[4], j[5]), vector(frames.w, f))
    return rate


@kernel(fastmath=STEADY)
def measure_tendon(
    t,
    tendons: TendonData,
    values: TendonValues,
    pieces: TendonPieces,
    parts: TendonParts,
    joints: JointData,
    joint_values: JointValues,
    frames: Frames,
):
    """Measure a tendon, and the rate of its length; one with a joint that has broken acts no more."""
    released, begin = False, tendons.codes[t, FIRST_PIECE]
    for s in range(begin, begin + tendons.codes[t, PIECES]):
        released = released or (pieces.codes[s, SHAPE] == OF_JOINT and joint_values.broken[pieces.codes[s, JOINT]])
    values.released[t] = released
    measure(t, tendons, values, pieces, parts, joints, joint_values, frames, False)
    values.start[t] = values.length[t]
    values.rate[t] = rate_of_length(t, tendons, parts, frames) + values.lag[t]
