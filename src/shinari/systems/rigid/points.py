"""Contact points: non-penetration, Coulomb friction and restitution.

            a                    gap    C = n . (p_a - p_b) - r_a - r_b        n: from b to a
      ------+------  ^ n         slip   s = tangential displacement of a's surface past b's in the substep
      ------+------  |
            b                    f_n = -k (C - C*)  >= 0,    f_t = f_t,0 - k_t s,    |f_t| <= mu f_n

Displacements in a substep are small. Arms and normal are therefore those at its start, and gap and slip are linear in
the displacement. C* is the target gap: 0; for an overlap at the start, the part of it that remains after bounded
recovery; for a bounce, the gap at which the rebound ends the substep.

A point is apart, sticks or slides, and a Newton step uses the forces and stiffnesses of the present states (semi-smooth
Newton; Alart and Curnier 1991). While the states are found, the limit of friction follows from a fixed normal force
(Tresca friction, which has a convex energy). It is then updated from the solved normal force; at rest, and in steady
sliding, that of the last substep is right at once.
"""

import math

import numpy as np

from shinari.collision.law import (
    APART,
    COMPLIANCE,
    GRIP,
    RECOVERY,
    RESTITUTION,
    ROLLING,
    SLIDING,
    SLOW_SUBSTEPS,
    STICKING,
    TORSION,
    bounce_distance,
    friction_coefficient,
    rebound_within,
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
from shinari.maths.vec3 import add, cross, dot, norm, scale, sub
from shinari.systems.rigid.components import RENEWED, SOLVED, UNSETTLED, Components, has_failed
from shinari.systems.rigid.contact.table import Points
from shinari.systems.rigid.elements import (
    POINT_STIFFNESS,
    Curved,
    Elements,
    PointWork,
    accumulate_force,
    accumulate_moment,
)
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.integration import rotation_vector_between, symmetric_times, velocity_at
from shinari.systems.rigid.progress import Counts, Flags

# Relative tolerance of the limits of friction.
CLOSE = 1e-2
# Cosine of the largest change of the direction of sliding in a Newton step that needs no other.
STRAIGHT = 0.9999
# Spacing of numbers, relative to them.
SPACING = 2.0**-52


@steady
def pair_inverse_mass(a, b, ra, rb, n, inverse_mass, inverse_inertia):
    """Inverse effective mass of two frames along n at arms r_a and r_b."""
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
    """Count the elements with the contact points; clear the flags of bounces."""
    counts.elements[0] = first_point + counts.points[0]
    flags.has_bounce_offset[0], flags.may_bounce[0] = 0, 0


@steady
def surface_points(p, points, frames):
    """Arms of both surfaces at a point from the origins of its frames, and its gap."""
    a, b = points.frames[p]
    n, radius = points.normal[p], points.radius[p]
    core_a, core_b = halves(points.core[p])
    ca, cb = rotate(frames.q[a], core_a), rotate(frames.q[b], core_b)
    separation = sub(add(frames.x[a], ca), add(frames.x[b], cb))
    gap = dot(n, separation) - radius[0] - radius[1]
    return sub(ca, scale(n, radius[0])), add(cb, scale(n, radius[1])), gap


@kernel(fastmath=STEADY)
def start_point(
    p, points: Points, work: PointWork, elements: Elements, frames: Frames, flags: Flags, first_point: np.int64,
    gx: np.float64, gy: np.float64, gz: np.float64, h: np.float64, escape: np.float64
):  # fmt: skip
    """Begin a substep at its start pose: frames and arms of the element, target gap; (gx, gy, gz) is gravity.

    The arms stay: opposite forces at one point of the start have no total moment.
    """
    a, b = points.frames[p]
    n, law, last = points.normal[p], points.law[p], points.force[p]
    ra, rb, gap = surface_points(p, points, frames)
    elements.frames[first_point + p] = a, b
    elements.arms[first_point + p] = ra[0], ra[1], ra[2], rb[0], rb[1], rb[2]
    weight = pair_inverse_mass(a, b, ra, rb, n, frames.inverse_mass, frames.inverse_inertia)
    work.stiffness[p] = POINT_STIFFNESS / (h * h * weight) if weight > 0.0 else 0.0
    relative_velocity = sub(velocity_at(frames.v, frames.w, a, ra), velocity_at(frames.v, frames.w, b, rb))
    speed = dot(n, relative_velocity)
    across = tangential(relative_velocity, n)
    work.friction_coefficient[p] = friction_coefficient(across, law)
    work.limit[p] = max(dot(n, last), 0.0)
    target = 0.0
    if law[COMPLIANCE] == 0.0 and gap < 0.0:
        target = gap + recovery(-RECOVERY * gap, escape * h)
    approach, bounce_offset, rebound = 0.0, 0.0, 0.0
    if law[RESTITUTION] > 0.0 and speed < -SLOW_SUBSTEPS * h * norm((gx, gy, gz)):
        # the velocity at the end of the prediction: with it a perfect bounce returns along the path of the approach
        fall = (h if frames.inverse_mass[a] > 0.0 else 0.0) - (h if frames.inverse_mass[b] > 0.0 else 0.0)
        pull = fall * dot(n, (gx, gy, gz))
        approach = speed + pull
        bounce_offset = bounce_distance(law[RESTITUTION], approach, gap, h)
        rebound = rebound_within(law[RESTITUTION], approach, gap, pull, h)
        flags.may_bounce[0] = 1
        if bounce_offset != 0.0:
            flags.has_bounce_offset[0] = 1
    work.start_gap[p], work.force[p], work.rebound[p] = gap, last, rebound
    work.approach[p], work.bounce_offset[p], work.target_gap[p], work.last_force[p] = (
        approach,
        bounce_offset,
        target + bounce_offset,
        last,
    )


@kernel(fastmath=STEADY)
def measure_failed_point(
    p, points: Points, work: PointWork, elements: Elements, components: Components, frames: Frames, curved: Curved,
    first_point: np.int64
):  # fmt: skip
    """Measure a point of a component whose trial has failed."""
    if has_failed(elements.component[first_point + p], components):
        measure(p, points, work, elements, frames, curved, first_point)


@steady
def measure(p, points, work, elements, frames, curved, first_point):
    """Measure gap and slip of a point."""
    a, b = points.frames[p]
    n, radius = points.normal[p], points.radius[p]
    qa, qb, qa0, qb0 = frames.q[a], frames.q[b], frames.q0[a], frames.q0[b]
    ra, rb, gap = surface_points(p, points, frames)
    gap -= work.target_gap[p]
    old_a, old_b = halves(elements.arms[first_point + p])
    # the same material points after the rotation
    new_a = ra if radius[0] == 0.0 else rotate(qa, rotate_back(qa0, old_a))
    new_b = rb if radius[1] == 0.0 else rotate(qb, rotate_back(qb0, old_b))
    slip_a = add(sub(frames.x[a], frames.x0[a]), sub(new_a, old_a))
    slip_b = add(sub(frames.x[b], frames.x0[b]), sub(new_b, old_b))
    slip = sub(slip_a, slip_b)
    work.slip[p] = tangential(slip, n)
    rolls_a, rolls_b = curved.curved[points.collision_shapes[p, 0]], curved.curved[points.collision_shapes[p, 1]]
    if rolls_a or rolls_b or resists_rotation(p, points):
        rotation_a, rotation_b = rotation_vector_between(qa0, qa), rotation_vector_between(qb0, qb)
        # a round side without a core rolls under its contact point, which stays in place
        if rolls_a:
            gap += dot(n, sub(add(old_a, cross(rotation_a, old_a)), ra))
        if rolls_b:
            gap -= dot(n, sub(add(old_b, cross(rotation_b, old_b)), rb))
        work.rotation[p] = sub(rotation_a, rotation_b)
    work.gap[p], work.status[p] = gap, APART


@steady
def resists_rotation(p, points):
    """Whether a point has moments against rolling or spinning."""
    return points.law[p, ROLLING] > 0.0 or points.law[p, TORSION] > 0.0


@steady
def is_frozen(p, points, frames):
    """Whether neither frame of a point is active: its force is that with which they fell asleep."""
    a, b = points.frames[p]
    return not (frames.active[a] or frames.active[b])


@kernel(fastmath=STEADY)
def begin_point(
    p, points: Points, work: PointWork, elements: Elements, frames: Frames, curved: Curved, components: Components,
    first_point: np.int64, most: np.float64
):  # fmt: skip
    """Measure gap and slip at the predicted pose, and classify a point for the first time in a solution.

    Force and stiffness are written; sweeps need neither.
    The overlap of a point in a resting heap leaves by at most a small displacement, so that the heap rests on.
    """
    e = first_point + p
    component = elements.component[e]
    measure(p, points, work, elements, frames, curved, first_point)
    if is_frozen(p, points, frames):
        clear_point(e, elements)
        return
    if component >= 0 and components.direct[component] == 0:
        return
    start, leaves = work.start_gap[p], work.target_gap[p] - work.start_gap[p]
    calm = component >= 0 and components.calm[component] != 0 and start < 0.0 and work.bounce_offset[p] == 0.0
    if calm and leaves > most:
        work.gap[p] += leaves - most
        work.target_gap[p] -= leaves - most
    if component >= 0 and components.unloaded[component] != 0:
        expect_load(p, e, start <= most, points, work, elements)
    else:
        classify_point_contact(p, e, points, work, elements)


@steady
def expect_load(p, e, touches, points, work, elements):
    """Classify a point of a heap that begins to rest: it does not slide, and what touches is loaded.

    The prediction, in which all bodies fall as one, loads only the lowest: a Newton step would find one layer more.
    Points are as soft as they are over many substeps, in each of which a part of their overlap recovers. So the heap is
    at once where it would come to rest.
    """
    work.limit[p] = np.inf
    work.stiffness[p] *= RECOVERY
    classify_point_contact(p, e, points, work, elements)
    if touches and work.status[p] == APART:
        k, none = work.stiffness[p], (0.0, 0.0, 0.0)
        work.status[p] = STICKING
        stiffness = regularised_stiffness(k, points.law[p, COMPLIANCE])
        write_point(e, points.normal[p], stiffness, GRIP * k, none, none, elements)


@kernel(fastmath=STEADY)
def renew_point(p, points: Points, work: PointWork, elements: Elements, components: Components, first_point: np.int64):
    """Classify a point again where limits of friction were renewed."""
    component = elements.component[first_point + p]
    if component >= 0 and components.renewed[component] != 0:
        classify_point_contact(p, first_point + p, points, work, elements)


@kernel(fastmath=STEADY)
def classify_point(
    p, points: Points, work: PointWork, elements: Elements, components: Components, frames: Frames,
    first_point: np.int64
):  # fmt: skip
    """Advance a point by the solved displacement and classify it; mark its component when its state has changed."""
    e = first_point + p
    component = elements.component[e]
    if component < 0 or components.solution[component] == SOLVED:
        return
    old, direction = work.status[p], work.sliding_direction[p]
    accumulate_force(e, elements, components.part[component])
    if resists_rotation(p, points):
        accumulate_moment(e, elements, components.part[component])
    advance_point(p, e, points, work, elements)
    classify_point_contact(p, e, points, work, elements)
    if exceeds_limit(p, points, work):
        components.exceeding[component] = 1
    rubs = work.friction_coefficient[p] * work.limit[p] > 0.0
    bent = rubs and work.status[p] == SLIDING and dot(direction, work.sliding_direction[p]) < STRAIGHT
    if (work.status[p] != old and exceeds_rounding(p, work.gap[p], points, frames)) or bent:
        components.solution[component] = UNSETTLED


@steady
def exceeds_rounding(p, gap, points, frames):
    """Whether a gap is more than the rounding of the positions, by which points of a high heap come and go for ever."""
    a, b = points.frames[p]
    x, y = frames.x[a], frames.x[b]
    return abs(gap) > SPACING * (abs(x[0]) + abs(x[1]) + abs(x[2]) + abs(y[0]) + abs(y[1]) + abs(y[2]))


@steady
def exceeds_limit(p, points, work):
    """Whether the limit of friction of a point is not that of its normal force."""
    coefficient = work.friction_coefficient[p]
    if work.status[p] == APART or coefficient == 0.0:
        return False
    n, f = points.normal[p], work.force[p]
    normal = dot(n, f)
    across, most = sub(f, scale(n, normal)), coefficient * normal * (1.0 + CLOSE)
    slides = work.status[p] == SLIDING and abs(normal - work.limit[p]) > CLOSE * normal
    return slides or dot(across, across) > most * most


@steady
def advance_point(p, e, points, work, elements):
    """Advance gap, slip and rotation of a point by the displacement of its element."""
    n = points.normal[p]
    d, phi = halves(elements.displacement[e])
    along = dot(n, d)
    work.gap[p] += along
    work.slip[p] = add(work.slip[p], sub(d, scale(n, along)))
    work.rotation[p] = add(work.rotation[p], phi)


@steady
def classify_point_contact(p, e, points, work, elements):
    """Classify a point, and write its force and stiffness."""
    n, k = points.normal[p], work.stiffness[p]
    stiffness = regularised_stiffness(k, points.law[p, COMPLIANCE])
    most = work.friction_coefficient[p] * work.limit[p]
    status, normal, hold, size = regularised_force(work.gap[p], work.slip[p], n, k, stiffness, work.last_force[p], most)
    total = add(scale(n, normal), hold)
    work.status[p], work.force[p] = status, total
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
    """Clear force and stiffness of an element."""
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
    """Add moments against rolling and against spinning about the normal, both bounded by the normal force."""
    if resists_rotation(p, points):
        rolling, torsional = points.law[p, ROLLING], points.law[p, TORSION]
        rotation, bound = work.rotation[p], work.limit[p]
        about = dot(n, rotation)
        rolled = sub(rotation, scale(n, about))
        size = math.sqrt(dot(rolled, rolled))
        # a moment yields like the point does at an arm of its own bound
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
def store_force(
    p, points: Points, work: PointWork, elements: Elements, components: Components, frames: Frames,
    first_point: np.int64
):  # fmt: skip
    """Store the force of a point for the next substep; 0 where its component is not solved.

    The force of the substep is that which the Newton steps have applied: it balances the momentum, in a jam too, where
    they end without a solution and the force of the last state is what is left of the gap, times a stiffness.
    """
    if is_frozen(p, points, frames):
        return
    component, force = elements.component[first_point + p], work.force[p]
    if component < 0:
        points.force[p] = force
    elif components.direct[component] == 0:
        points.force[p] = work.kept_force[p]
    else:
        points.force[p] = force if components.solution[component] == SOLVED else (0.0, 0.0, 0.0)
        applied = elements.accumulated[first_point + p]
        work.force[p] = applied[0], applied[1], applied[2]


@kernel(fastmath=STEADY)
def renew_limits(p, points: Points, work: PointWork, elements: Elements, components: Components,
                first_point: np.int64):  # fmt: skip
    """Renew the limits of friction of a marked component from the normal forces."""
    component = elements.component[first_point + p]
    if component >= 0 and components.solution[component] == RENEWED:
        work.limit[p] = max(dot(points.normal[p], work.force[p]), 0.0)
