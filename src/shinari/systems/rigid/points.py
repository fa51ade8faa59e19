"""What a point of contact asks of two bodies: to stay apart, Coulomb friction, restitution.

            a                    gap    C = n . (p_a - p_b) - r_a - r_b        n: from b to a
      ------+------  ^ n         slip   s = how far a's surface has gone past b's in the substep, across n
      ------+------  |
            b                    f_n = -k (C - C*)  >= 0,    f_t = f_t,0 - k_t s,    |f_t| <= mu f_n

The way of a substep is small, so arms and normal are those at its start, and the gap and the slip follow the motions
that the solver finds to first order. C* is where the gap is to be: 0; for what overlaps at the start, a part of
the way out, no faster than the limit on such speeds; for what bounces, where the speed of restitution leads to.

A point is apart, sticks or slides, and a Newton step is taken with the forces and stiffnesses of the states as they are
(semi-smooth Newton; Alart and Curnier 1991). The limit of friction is held at a normal force while the states are found
(Tresca's friction, which has a convex energy), and then taken anew from the normal force that came out; at rest, and in
even sliding, that of the last substep is right at once.
"""

import math

import numpy as np

from shinari.collision.law import (
    APART,
    GRIP,
    RECOVERY,
    SLIDING,
    bounce_distance,
    friction_coefficient,
    recovery,
    regularised_force,
    regularised_stiffness,
    tangential,
)
from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.quaternion import rotate, rotate_back
from shinari.maths.symmetric import isotropic, outer, plus
from shinari.maths.vec3 import add, cross, dot, scale, sub
from shinari.systems.rigid.contact.table import Points
from shinari.systems.rigid.elements import STIFF, Curved, Elements, PointWork
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.graph import Components
from shinari.systems.rigid.line_search import UNSETTLED
from shinari.systems.rigid.motion import rotation_vector_between, symmetric_times, velocity_at
from shinari.systems.rigid.progress import Counts, Flags

# Cosine of the angle by which the direction of sliding may change in a step without another.
STRAIGHT = 0.9999


@steady
def pair_inverse_mass(a, b, ra, rb, n, inverse_mass, inverse_inertia):
    """Inverse mass that two frames show along n at arms r_a and r_b."""
    ta, tb = cross(ra, n), cross(rb, n)
    w = inverse_mass[a] + inverse_mass[b]
    if inverse_mass[a] > 0.0:
        w += dot(ta, symmetric_times(inverse_inertia, a, ta))
    if inverse_mass[b] > 0.0:
        w += dot(tb, symmetric_times(inverse_inertia, b, tb))
    return w


@steady
def halves(v):
    """Two vectors of three."""
    return (v[0], v[1], v[2]), (v[3], v[4], v[5])


@kernel
def count_elements(_, counts: Counts, flags: Flags, first_point: np.int64):
    """Elements that there are with the points; none is known yet to bounce."""
    counts.elements[0] = first_point + counts.points[0]
    flags.leaping[0], flags.fast[0] = 0, 0


@steady
def surface_points(p, points, frames):
    """Arms of both surfaces at a point from the origins of its frames, and its gap."""
    a, b = points.frames[p]
    n, radius = points.normal[p], points.radius[p]
    core_a, core_b = halves(points.core[p])
    ca, cb = rotate(frames.q[a], core_a), rotate(frames.q[b], core_b)
    apart = sub(add(frames.x[a], ca), add(frames.x[b], cb))
    gap = dot(n, apart) - radius[0] - radius[1]
    return sub(ca, scale(n, radius[0])), add(cb, scale(n, radius[1])), gap


@kernel(fastmath=STEADY)
def start_point(
    p, points: Points, work: PointWork, frames: Frames, flags: Flags, gx: np.float64, gy: np.float64,
    gz: np.float64, h: np.float64, escape: np.float64, slow: np.float64
):  # fmt: skip
    """Begin a substep, at its start pose: arms, and where the gap is to be; (gx, gy, gz) is gravity."""
    a, b = points.frames[p]
    n, law, last = points.normal[p], points.law[p], points.force[p]
    ra, rb, gap = surface_points(p, points, frames)
    work.arms[p] = ra[0], ra[1], ra[2], rb[0], rb[1], rb[2]
    weight = pair_inverse_mass(a, b, ra, rb, n, frames.inverse_mass, frames.inverse_inertia)
    work.stiff[p] = STIFF / (h * h * weight) if weight > 0.0 else 0.0
    apart = sub(velocity_at(frames.v, frames.w, a, ra), velocity_at(frames.v, frames.w, b, rb))
    speed = dot(n, apart)
    across = tangential(apart, n)
    work.mu[p] = friction_coefficient(across, law)
    work.limit[p] = max(dot(n, last), 0.0)
    target = 0.0
    if law[3] == 0.0 and gap < 0.0:
        target = gap + recovery(-RECOVERY * gap, escape * h)
    fast, leap = 0.0, 0.0
    if law[2] > 0.0 and speed < -slow:
        # the speed with which the substep will go: with it a perfect bounce goes back on the way on which it came
        pull = (h if frames.inverse_mass[a] > 0.0 else 0.0) - (h if frames.inverse_mass[b] > 0.0 else 0.0)
        fast = speed + pull * dot(n, (gx, gy, gz))
        leap = bounce_distance(law[2], fast, gap, h)
        flags.fast[0] = 1
        if leap != 0.0:
            flags.leaping[0] = 1
    work.fast[p], work.bounce_offset[p], work.wanted[p], work.load[p] = fast, leap, target + leap, last


@kernel(fastmath=STEADY)
def measure_point(
    p, points: Points, work: PointWork, elements: Elements, frames: Frames, curved: Curved, first_point: np.int64
):
    """Measure gap and slip at the predicted pose, and write frames and arms of the element."""
    a, b = points.frames[p]
    n, radius, law = points.normal[p], points.radius[p], points.law[p]
    qa, qb, qa0, qb0 = frames.q[a], frames.q[b], frames.q0[a], frames.q0[b]
    ra, rb, gap = surface_points(p, points, frames)
    gap -= work.wanted[p]
    arms = work.arms[p]
    old_a, old_b = halves(arms)
    # the same points of the matter, where they have turned to
    new_a = ra if radius[0] == 0.0 else rotate(qa, rotate_back(qa0, old_a))
    new_b = rb if radius[1] == 0.0 else rotate(qb, rotate_back(qb0, old_b))
    slip_a = add(sub(frames.x[a], frames.x0[a]), sub(new_a, old_a))
    slip_b = add(sub(frames.x[b], frames.x0[b]), sub(new_b, old_b))
    slip = sub(slip_a, slip_b)
    work.slip[p] = tangential(slip, n)
    rolls_a, rolls_b = curved.curved[points.collision_shapes[p, 0]], curved.curved[points.collision_shapes[p, 1]]
    if rolls_a or rolls_b or law[4] > 0.0 or law[5] > 0.0:
        turn_a, turn_b = rotation_vector_between(qa0, qa), rotation_vector_between(qb0, qb)
        # a round side without a core rolls away under its point, which stays where it was
        if rolls_a:
            gap += dot(n, sub(add(old_a, cross(turn_a, old_a)), ra))
        if rolls_b:
            gap -= dot(n, sub(add(old_b, cross(turn_b, old_b)), rb))
        work.turn[p] = sub(turn_a, turn_b)
    work.gap[p], work.status[p] = gap, APART
    elements.frames[first_point + p] = a, b
    # the arms at the start of the substep: forces at one point of the world then turn the whole by nothing
    elements.arms[first_point + p] = arms


@kernel(fastmath=STEADY)
def begin_point(p, points: Points, work: PointWork, elements: Elements, first_point: np.int64):
    """Decide the state of a point for the first time in a solution, and write its force and stiffness."""
    classify_point_contact(p, first_point + p, points, work, elements)


@kernel(fastmath=STEADY)
def renew_point(p, points: Points, work: PointWork, elements: Elements, components: Components, first_point: np.int64):
    """Decide the state of a point anew where limits of friction were renewed."""
    home = elements.component[first_point + p]
    if home >= 0 and components.renewed[home] != 0:
        classify_point_contact(p, first_point + p, points, work, elements)


@kernel(fastmath=STEADY)
def classify_point(
    p, points: Points, work: PointWork, elements: Elements, components: Components, first_point: np.int64
):
    """Follow the motion that was found and decide the state of a point; mark its component when it has changed."""
    e = first_point + p
    home = elements.component[e]
    if home < 0 or components.unfinished[home] == 0:
        return
    old, way = work.status[p], work.sliding_direction[p]
    follow(p, e, points, work, elements)
    classify_point_contact(p, e, points, work, elements)
    bent = work.status[p] == SLIDING and work.limit[p] > 0.0 and dot(way, work.sliding_direction[p]) < STRAIGHT
    if work.status[p] != old or bent:
        components.unfinished[home] = UNSETTLED


@steady
def follow(p, e, points, work, elements):
    """Let gap and slip of a point follow the motion of its element."""
    n = points.normal[p]
    d, phi = halves(elements.motion[e])
    along = dot(n, d)
    work.gap[p] += along
    work.slip[p] = add(work.slip[p], sub(d, scale(n, along)))
    work.turn[p] = add(work.turn[p], phi)


@steady
def classify_point_contact(p, e, points, work, elements):
    """Decide the state of a point, and write its force and stiffness."""
    n, k = points.normal[p], work.stiff[p]
    stiffness = regularised_stiffness(k, points.law[p, 3])
    most = work.mu[p] * work.limit[p]
    status, normal, hold, size = regularised_force(work.gap[p], work.slip[p], n, k, stiffness, work.load[p], most)
    total = add(scale(n, normal), hold)
    work.status[p], work.push[p] = status, total
    if status == APART:
        clear_point(e, elements)
        return
    across, along = GRIP * k, (0.0, 0.0, 0.0)
    if status == SLIDING:
        across, along = (across * most / size, scale(hold, 1.0 / most)) if most > 0.0 else (0.0, along)
    work.sliding_direction[p] = along
    write_point(e, n, stiffness, across, along, total, elements)
    resist(p, e, n, k, points, work, elements)


@steady
def clear_point(e, elements):
    """An element that does nothing."""
    elements.force[e] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    elements.stiffness[e] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0


@steady
def write_point(e, n, stiff, across, along, total, elements):
    """K = stiff n n^T + across (1 - n n^T - u u^T), u the direction of sliding or zero."""
    elements.force[e] = total[0], total[1], total[2], 0.0, 0.0, 0.0
    k = stiff - across
    elements.stiffness[e] = (
        across + k * n[0] * n[0] - across * along[0] * along[0],
        across + k * n[1] * n[1] - across * along[1] * along[1],
        across + k * n[2] * n[2] - across * along[2] * along[2],
        k * n[1] * n[2] - across * along[1] * along[2],
        k * n[2] * n[0] - across * along[2] * along[0],
        k * n[0] * n[1] - across * along[0] * along[1],
        0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
    )  # fmt: skip


@steady
def resist(p, e, n, k, points, work, elements):
    """Moments against rolling and against spinning about the normal, both bounded by the normal force."""
    rolling, torsional = points.law[p, 4], points.law[p, 5]
    if rolling > 0.0 or torsional > 0.0:
        turn, bound = work.turn[p], work.limit[p]
        about = dot(n, turn)
        rolled = sub(turn, scale(n, about))
        size = math.sqrt(dot(rolled, rolled))
        # a moment that gives way by as much as the point does at an arm of its own bound
        spin_k, roll_k = k * torsional * torsional, k * rolling * rolling
        spin = -spin_k * about
        most = torsional * bound
        if abs(spin) > most:
            spin, spin_k = math.copysign(most, spin), most / max(abs(about), 1e-300)
        roll_most = rolling * bound
        if roll_k * size > roll_most:
            roll_k = roll_most / size
        force, stiffness = elements.force[e], elements.stiffness[e]
        moment = sub(scale(n, spin), scale(rolled, roll_k))
        elements.force[e] = force[0], force[1], force[2], moment[0], moment[1], moment[2]
        kept = stiffness[0], stiffness[1], stiffness[2], stiffness[3], stiffness[4], stiffness[5]
        elements.stiffness[e] = *kept, *plus(isotropic(roll_k), outer(n, spin_k - roll_k))


@kernel
def keep_force(p, points: Points, work: PointWork, elements: Elements, components: Components, first_point: np.int64):
    """Carry the force of a point on to the next substep; one that was not found is no guess for it."""
    home = elements.component[first_point + p]
    found = home < 0 or components.unfinished[home] == 0
    points.force[p] = work.push[p] if found else (0.0, 0.0, 0.0)
