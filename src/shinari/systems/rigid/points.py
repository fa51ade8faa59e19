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
from typing import NamedTuple

import numpy as np

from shinari.collision.law import (
    APART,
    COMPLIANCE,
    RECOVERY,
    RESTITUTION,
    ROLLING,
    SLIDING,
    SLIDING_FRICTION,
    SLOW_SUBSTEPS,
    STATIC_FRICTION,
    STICKING,
    TORSION,
    bounce_distance,
    friction_coefficient,
    grip_stiffness,
    rebound_within,
    recovery,
    regularised_force,
    regularised_stiffness,
    tangential,
)
from shinari.compute import Field, Record, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.quaternion import rotation_rows
from shinari.maths.symmetric import isotropic, outer, plus
from shinari.maths.vec3 import add, cross, dot, norm, scale, sub
from shinari.systems.rigid.components import MOVES, UNLOADED, Components, has_failed
from shinari.systems.rigid.contact.margins import Detection, FrameMargins
from shinari.systems.rigid.contact.pairs import Pairs, Points, is_moved
from shinari.systems.rigid.elements import (
    POINT_STIFFNESS,
    Elements,
    PointWork,
)
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.integration import symmetric_times, velocity_at
from shinari.systems.rigid.progress import Counts, Flags
from shinari.systems.rigid.round_sides import RoundSides, motion_of, moved_surface

# A key in two halves, each of which a float64 holds exactly.
HALF_BITS = 32
HALF_KEY = 1 << HALF_BITS
NONE = (0.0, 0.0, 0.0)
# Cosine of the angle between normal and gravity below which surfaces stand side by side, and the overlap up to which
# they do not push in a resting heap, in displacements by gravity in a substep.
UPRIGHT, SLACK = 0.1, 0.01


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
def count_elements(_, counts: Counts, flags: Flags, detection: Detection, first_point: np.int64):
    """Count the elements with the contact points; clear the flags of bounces."""
    counts.elements[0], flags.table_rebuilt[0] = first_point + counts.points[0], detection.rebuild_table[0]
    flags.has_bounce_offset[0], flags.may_bounce[0] = 0, 0


class Terms(Record):
    """One row: what all contact points share."""

    gravity = Field(np.float64, 3, unit="m/s^2")
    h = Field(np.float64, unit="s", doc="substep")
    resists = Field(np.int64, doc="whether a surface has rolling or torsional friction")
    escape = Field(np.float64, unit="m/s", doc="depenetration speed")
    fall = Field(np.float64, unit="m", doc="displacement by gravity in a substep; infinite without gravity")
    slow = Field(np.float64, unit="m/s", doc="speed that gravity gives in a step")
    leaves = Field(
        np.float64, unit="m", doc="most by which the overlap of a point in a resting heap leaves in a substep"
    )


class WarmStart(Record):
    """What lasts of the contact points from step to step, P rows and room for more."""

    row = Field(np.float64, 8, doc="both halves of the key; core point of a [m]; force [N]")


class Bodies(NamedTuple):
    """Both frames of a pair at the start of a substep, as the points of the pair need them.

    Attributes:
        a: Frame of a.
        b: Frame of b.
        turn: Rotation matrix of a, by rows.
        apart: Origin of a less that of b [m].
        fall: See `grip_stiffness`; infinite where one of them is fast: its force is that of an impact.
        share: See `share_of_gap`.
    """

    a: int
    b: int
    turn: tuple
    apart: tuple
    fall: float
    share: float


@kernel(fastmath=STEADY)
def start_points(
    i, pairs: Pairs, points: Points, work: PointWork, elements: Elements, components: Components, frames: Frames,
    margins: FrameMargins, flags: Flags, terms: Terms, detection: Detection, first_point: np.int64
):  # fmt: skip
    """Begin a substep at its start pose for the points of a pair: frames and arms of the elements, target gaps.

    The arms stay: opposite forces at one point of the start have no total moment. Where both frames stand still in a
    component that stood, nothing has changed since the last substep. From step to step that holds for points that began
    with the inertia of their frames at the start of a step, not at a prediction.
    """
    k = pairs.active[i]
    first, rebuilt = pairs.start[k], detection.rebuild_table[0] != 0
    a, b = points.frames[first]
    c = elements.component[first_point + first]
    still, stood = margins.still[a] and margins.still[b], c >= 0 and components.stood[c] != 0
    if not rebuilt and stood and not still:
        components.disturbed[c] = 1
    if not rebuilt and still and (stood or c < 0):
        return
    rest = are_slow(a, b, frames, margins, terms)
    fall = terms.fall[0] if rest else np.inf
    if rebuilt and still and stood and pairs.begun[k] and not is_moved(pairs, k):
        # all is as it was, but for the force
        for p in range(first, first + pairs.rows[k]):
            set_limit(p, fall, points, work)
        return
    pairs.begun[k] = rebuilt and detection.renew[0] != 0 and detection.detections[0] == 1
    bodies = Bodies(
        a, b, rotation_rows(frames.q[a]), sub(frames.x[a], frames.x[b]), fall, share_of_gap(a, b, frames.inverse_mass)
    )
    law = points.law[first]
    for p in range(first, first + pairs.rows[k]):
        if rebuilt:
            elements.frames[first_point + p] = a, b
            if terms.resists[0] != 0:
                # a point without moments leaves them as they are
                clear_point(first_point + p, elements)
        start_point(p, first_point + p, bodies, law, points, work, elements, frames, flags, terms, rebuilt)


@steady
def are_slow(a, b, frames, margins, terms):
    """Whether no point of the smaller of two frames is faster against the other than gravity makes it in a step."""
    if margins.size[b] < margins.size[a]:
        a, b = b, a
    v = sub(frames.v[a], velocity_at(frames.v, frames.w, b, sub(frames.x[a], frames.x[b])))
    w, size = sub(frames.w[a], frames.w[b]), margins.size[a]
    reach = size if size < np.inf else 1.0
    return dot(v, v) + reach * reach * dot(w, w) < terms.slow[0] * terms.slow[0]


@steady
def set_limit(p, fall, points, work):
    """Set the normal force that bounds the friction of a point, by the force of the last substep, and its grip."""
    limit = max(dot(points.normal[p], points.force[p]), 0.0)
    work.limit[p] = limit
    work.grip[p] = grip_stiffness(work.stiffness[p], work.friction_coefficient[p] * limit, fall)


@steady
def most_leaving(p, points, work, terms):
    """Most by which the overlap of a point in a resting heap leaves: as much as its load presses it in, or it sinks."""
    k = work.stiffness[p]
    return max(terms.leaves[0], dot(points.normal[p], points.force[p]) / k if k > 0.0 else 0.0)


@steady
def is_upright(p, points, terms):
    """Whether gravity hardly presses the surfaces of a point together: they stand side by side."""
    g = terms.gravity[0]
    return abs(dot(points.normal[p], g)) < UPRIGHT * norm(g)


@steady
def opening_at_rest(p, points, work, terms):
    """By how much the gap of a point in a resting heap counts as larger than it is.

    The overlap of a loaded point leaves by at most a small displacement, so that the heap rests on. Sides that touch
    without a force do not push before they overlap: else each of them is a state to find, for nothing that it carries.
    """
    if work.bounce_offset[p] != 0.0:
        return 0.0
    opening, start, target = 0.0, points.gap[p], work.target_gap[p]
    if start < 0.0:
        opening = max(target - start - most_leaving(p, points, work, terms), 0.0)
    return max(opening, target + SLACK * terms.fall[0]) if is_upright(p, points, terms) else opening


@steady
def share_of_gap(a, b, inverse_mass):
    """Part of the gap from the surface of a to where forces act, 1 at that of b.

    There two bodies would meet if each gave way as it is light: a light one is pushed at its own surface.
    """
    total = inverse_mass[a] + inverse_mass[b]
    return inverse_mass[b] / total if total > 0.0 else 0.0


@steady
def start_point(p, e, bodies, law, points, work, elements, frames, flags, terms, rebuilt):
    """Begin a substep at its start pose for a point."""
    h = terms.h[0]
    a, b = bodies.a, bodies.b
    n, radius, gap = points.normal[p], points.radius[p], points.gap[p]
    m0, m1, m2 = bodies.turn
    core = points.core[p]
    # both at one point of the world: friction between points that are apart would turn the whole
    ra = sub((dot(m0, core), dot(m1, core), dot(m2, core)), scale(n, radius[0] + bodies.share * gap))
    rb = add(ra, bodies.apart)
    elements.arms[e] = ra[0], ra[1], ra[2], rb[0], rb[1], rb[2]
    if rebuilt:
        # while no pair changes its points, their stiffnesses are those of the last rebuild, within the step
        weight = pair_inverse_mass(a, b, ra, rb, n, frames.inverse_mass, frames.inverse_inertia)
        work.stiffness[p] = POINT_STIFFNESS / (h * h * weight) if weight > 0.0 else 0.0
        work.friction_coefficient[p] = law[SLIDING_FRICTION]
    speed = 0.0
    if law[SLIDING_FRICTION] != law[STATIC_FRICTION] or law[RESTITUTION] > 0.0:
        relative_velocity = sub(velocity_at(frames.v, frames.w, a, ra), velocity_at(frames.v, frames.w, b, rb))
        speed = dot(n, relative_velocity)
        work.friction_coefficient[p] = friction_coefficient(tangential(relative_velocity, n), law)
    set_limit(p, bodies.fall, points, work)
    target = 0.0
    if law[COMPLIANCE] == 0.0 and gap < 0.0:
        target = gap + recovery(-RECOVERY * gap, terms.escape[0] * h)
    approach, bounce_offset, rebound = 0.0, 0.0, 0.0
    # a point without restitution keeps the zeros with which it began
    bounces = law[RESTITUTION] > 0.0 or rebuilt
    if law[RESTITUTION] > 0.0 and speed < -SLOW_SUBSTEPS * h * norm(terms.gravity[0]):
        # the velocity at the end of the prediction: with it a perfect bounce returns along the path of the approach
        fall = h * (frames.gravity_scale[a] - frames.gravity_scale[b])
        pull = fall * dot(n, terms.gravity[0])
        approach = speed + pull
        bounce_offset = bounce_distance(law[RESTITUTION], approach, gap, h)
        rebound = rebound_within(law[RESTITUTION], approach, gap, pull, h)
        flags.may_bounce[0] = 1
        if bounce_offset != 0.0:
            flags.has_bounce_offset[0] = 1
    work.target_gap[p], work.applied[p] = target + bounce_offset, (0.0, 0.0, 0.0)
    if bounces:
        work.approach[p], work.bounce_offset[p], work.rebound[p] = approach, bounce_offset, rebound


@kernel(fastmath=STEADY)
def measure_failed_points(
    i, pairs: Pairs, points: Points, work: PointWork, elements: Elements, components: Components, frames: Frames,
    sides: RoundSides, first_point: np.int64
):  # fmt: skip
    """Measure the points of a pair of a component whose trial has failed."""
    k = pairs.active[i]
    first = pairs.start[k]
    if has_failed(elements.component[first_point + first], components):
        one, other = motions_of(first, points, frames, sides)
        share = share_of_gap(points.frames[first, 0], points.frames[first, 1], frames.inverse_mass)
        for p in range(first, first + pairs.rows[k]):
            measure(p, share, one, other, points, work, elements, sides, first_point)


@steady
def motions_of(first, points, frames, sides):
    """Motions of both frames of a pair since the start of the substep; `first` is the first point of the pair."""
    a, b = points.frames[first]
    shape_a, shape_b = points.collision_shapes[first]
    resists = resists_rotation(points.law[first])
    rolls_a = resists or sides.curved[shape_a] or points.radius[first, 0] != 0.0
    rolls_b = resists or sides.curved[shape_b] or points.radius[first, 1] != 0.0
    return motion_of(a, shape_a, rolls_a, frames), motion_of(b, shape_b, rolls_b, frames)


@steady
def measure(p, share, one, other, points, work, elements, sides, first_point):
    """Measure gap and slip of a point: both follow from the motions of the surfaces."""
    n, radius = points.normal[p], points.radius[p]
    ra, rb = halves(elements.arms[first_point + p])
    ra, rb = add(ra, scale(n, share * points.gap[p])), sub(rb, scale(n, (1.0 - share) * points.gap[p]))
    moved_a = add(one.displacement, moved_surface(sides, one, ra, n, radius[0]))
    moved_b = add(other.displacement, moved_surface(sides, other, rb, scale(n, -1.0), radius[1]))
    slip = sub(moved_a, moved_b)
    work.slip[p] = tangential(slip, n)
    if resists_rotation(points.law[p]):
        work.rotation[p] = sub(one.rotation, other.rotation)
    work.gap[p], work.status[p] = points.gap[p] - work.target_gap[p] + dot(n, slip), APART


@steady
def resists_rotation(law):
    """Whether a point has moments against rolling or spinning."""
    return law[ROLLING] > 0.0 or law[TORSION] > 0.0


@kernel(fastmath=STEADY)
def begin_points(
    i, pairs: Pairs, points: Points, work: PointWork, elements: Elements, frames: Frames, sides: RoundSides,
    components: Components, terms: Terms, first_point: np.int64
):  # fmt: skip
    """Measure gaps and slips of a pair at the predicted pose, and classify its points for the first time in a solution.

    Forces and stiffnesses are written; sweeps need neither.
    The overlap of a point in a resting heap leaves by at most a small displacement, so that the heap rests on.
    """
    k = pairs.active[i]
    first, pairs.direct[k] = pairs.start[k], False
    component = elements.component[first_point + first]
    if component >= 0 and components.stands[component] != MOVES:
        return
    a, b = points.frames[first]
    frozen, pairs.begun[k] = not (frames.active[a] or frames.active[b]), False
    calm = component >= 0 and components.calm[component] != 0
    swept = component >= 0 and components.direct[component] == 0
    pairs.direct[k] = component >= 0 and not swept
    one, other = motions_of(first, points, frames, sides)
    law, share = points.law[first], share_of_gap(a, b, frames.inverse_mass)
    for p in range(first, first + pairs.rows[k]):
        measure(p, share, one, other, points, work, elements, sides, first_point)
        if frozen:
            work.force[p] = points.force[p]
            clear_point(first_point + p, elements)
        elif not swept:
            if calm:
                opening = opening_at_rest(p, points, work, terms)
                work.gap[p] += opening
                work.target_gap[p] -= opening
            if component >= 0 and components.softness[component] == UNLOADED:
                touches = points.gap[p] <= most_leaving(p, points, work, terms)
                loaded = touches and not (is_upright(p, points, terms) and work.gap[p] > 0.0)
                expect_load(p, first_point + p, law, loaded, points, work, elements)
                continue
            force = classify_point_contact(p, first_point + p, law, 1.0, points, work, elements)
            if component < 0:
                work.force[p] = force


@steady
def expect_load(p, e, law, loaded, points, work, elements):
    """Classify a point of a heap that begins to rest: it does not slide, and what lies on something is loaded.

    The prediction, in which all bodies fall as one, loads only the lowest: a Newton step would find one layer more.
    """
    work.limit[p] = np.inf if work.friction_coefficient[p] > 0.0 else 0.0
    force = classify_point_contact(p, e, law, UNLOADED, points, work, elements)
    if loaded and work.status[p] == APART:
        k = UNLOADED * work.stiffness[p]
        work.status[p] = STICKING
        write_point(
            e,
            points.normal[p],
            regularised_stiffness(k, law[COMPLIANCE]),
            UNLOADED * work.grip[p],
            NONE,
            force,
            elements,
        )


@steady
def classify_point_contact(p, e, law, softness, points, work, elements):
    """Classify a point, write its force and stiffness, and return its force."""
    n, k = points.normal[p], softness * work.stiffness[p]
    stiffness = regularised_stiffness(k, law[COMPLIANCE])
    most = work.friction_coefficient[p] * work.limit[p]
    grip = softness * work.grip[p]
    status, normal, hold, size = regularised_force(work.gap[p], work.slip[p], n, grip, stiffness, points.force[p], most)
    total = add(scale(n, normal), hold)
    work.status[p] = status
    across, along = grip, (0.0, 0.0, 0.0)
    if status == SLIDING:
        across, along = (across * most / size, scale(hold, 1.0 / most)) if most > 0.0 else (0.0, along)
        work.sliding_direction[p] = along
    elif status == APART:
        across, stiffness = 0.0, 0.0
    write_point(e, n, stiffness, across, along, total, elements)
    if resists_rotation(law):
        resist(p, e, n, k if status != APART else 0.0, law, work, elements)
    return total


@steady
def clear_point(e, elements):
    """Clear force and stiffness of an element."""
    elements.force[e] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    elements.stiffness[e] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0


@steady
def write_point(e, n, stiff, across, along, total, elements):
    """K = stiff n n^T + across (1 - n n^T - u u^T), u the direction of sliding or zero; moments stay as they are."""
    elements.force[e, 0], elements.force[e, 1], elements.force[e, 2] = total
    k = stiff - across
    x, y, z = n
    u, v, w = along
    elements.stiffness[e, 0] = across + k * x * x - across * u * u
    elements.stiffness[e, 1] = across + k * y * y - across * v * v
    elements.stiffness[e, 2] = across + k * z * z - across * w * w
    elements.stiffness[e, 3] = k * y * z - across * v * w
    elements.stiffness[e, 4] = k * z * x - across * w * u
    elements.stiffness[e, 5] = k * x * y - across * u * v


@steady
def resist(p, e, n, k, law, work, elements):
    """Write the moments against rolling and against spinning about the normal, both bounded by the normal force."""
    rolling, torsional = law[ROLLING], law[TORSION]
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
    moment = sub(scale(n, spin), scale(rolled, roll_k))
    elements.force[e, 3], elements.force[e, 4], elements.force[e, 5] = moment
    turning = plus(isotropic(roll_k), outer(n, spin_k - roll_k))
    elements.stiffness[e, 6], elements.stiffness[e, 7], elements.stiffness[e, 8] = turning[0], turning[1], turning[2]
    elements.stiffness[e, 9], elements.stiffness[e, 10], elements.stiffness[e, 11] = turning[3], turning[4], turning[5]


@kernel
def write_warm_start(p, points: Points, warm_start: WarmStart):
    """Write what lasts of a point."""
    key, core, force = points.key[p], points.core[p], points.force[p]
    halves_of_key = np.float64(key >> HALF_BITS), np.float64(key & (HALF_KEY - 1))
    warm_start.row[p] = *halves_of_key, core[0], core[1], core[2], force[0], force[1], force[2]
