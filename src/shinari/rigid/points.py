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
from dataclasses import dataclass, fields

import numba
import numpy as np

from shinari.maths.function import STEADY, steady
from shinari.maths.quaternion import rotate, rotate_back
from shinari.maths.vec3 import add, dot, scale, sub
from shinari.rigid.contact.vectors import cross
from shinari.rigid.elements import STIFF
from shinari.rigid.line_search import APART, GRIP, SLIDING, force_of
from shinari.rigid.motion import quaternion, set_vector, symmetric_times, turn_between, vector, velocity_at

# Part of an overlap that is taken out in a substep.
RECOVERY = 0.2
# Cosine of the angle by which the direction of sliding may change in a step without another.
STRAIGHT = 0.9999
# A point slips when it is faster than this [m/s]: then the friction of sliding bounds it, else that of sticking.
SLIPS = 1e-4


@dataclass(frozen=True)
class PointWork:
    """What the solver keeps of each point during a substep, (P,) or (P, 3) or (P, 6).

    Attributes:
        arms: Arms of the surfaces at the start of the substep, (P, 6).
        gap: Gap C - C* now [m].
        wanted: C* [m].
        leap: Part of C* that is due to a bounce [m].
        slip: Slip now [m], (P, 3).
        turn: Relative turn of the bodies in the substep [rad], (P, 3).
        fast: Speed along the normal at the start of a substep of what may bounce, negative, else 0 [m/s].
        stiff: k of the row [N/m].
        load: The force of the last substep, (P, 3).
        mu: Coefficient of friction that holds in the substep.
        limit: Normal force that the limit of friction is taken from [N].
        push: Force now [N], (P, 3).
        way: Direction of the friction while sliding, (P, 3).
        status: One of APART, STICKING, SLIDING.
    """

    arms: np.ndarray
    gap: np.ndarray
    wanted: np.ndarray
    leap: np.ndarray
    slip: np.ndarray
    turn: np.ndarray
    fast: np.ndarray
    stiff: np.ndarray
    load: np.ndarray
    mu: np.ndarray
    limit: np.ndarray
    push: np.ndarray
    way: np.ndarray
    status: np.ndarray

    @staticmethod
    def zeros(count: int) -> "PointWork":
        """Room for so many points."""
        widths = {"arms": 6, "slip": 3, "turn": 3, "load": 3, "push": 3, "way": 3}
        made = {
            f.name: np.zeros((count, widths[f.name]) if f.name in widths else count)
            for f in fields(PointWork)
            if f.name != "status"
        }
        return PointWork(**made, status=np.zeros(count, np.int64))


@steady
def weight_along(a, b, ra, rb, n, inverse_mass, inverse_inertia):
    """Inverse mass that two frames show along n at arms r_a and r_b."""
    ta, tb = cross(ra, n), cross(rb, n)
    w = inverse_mass[a] + inverse_mass[b]
    if inverse_mass[a] > 0.0:
        w += dot(ta, symmetric_times(inverse_inertia, a, ta))
    if inverse_mass[b] > 0.0:
        w += dot(tb, symmetric_times(inverse_inertia, b, tb))
    return w


@numba.njit(parallel=True, cache=True, **STEADY)
def start_points(
    parts, count, frames, core, radius, normals, law, force, arms, wanted, leap, stiff, load, mus, limits, fast, x, q,
    v, w, inverse_mass, inverse_inertia, gravity, h, escape, slow
):  # fmt: skip
    """Begin a substep, at its start pose: arms, and where the gap is to be."""
    for t in numba.prange(parts):
        start_some(count * t // parts, count * (t + 1) // parts, frames, core, radius, normals, law, force, arms,
                   wanted, leap, stiff, load, mus, limits, fast, x, q, v, w, inverse_mass, inverse_inertia,
                   gravity, h, escape, slow)  # fmt: skip


@steady
def start_some(
    begin, end, frames, core, radius, normals, law, force, arms, wanted, leap, stiff, load, mus, limits, fast, x, q,
    v, w, inverse_mass, inverse_inertia, gravity, h, escape, slow
):  # fmt: skip
    """Begin a substep for points begin to end - 1."""
    for p in range(begin, end):
        a, b = frames[p, 0], frames[p, 1]
        n = vector(normals, p)
        ca = rotate(quaternion(q, a), (core[p, 0], core[p, 1], core[p, 2]))
        cb = rotate(quaternion(q, b), (core[p, 3], core[p, 4], core[p, 5]))
        apart = sub(add(vector(x, a), ca), add(vector(x, b), cb))
        gap = dot(n, apart) - radius[p, 0] - radius[p, 1]
        ra, rb = sub(ca, scale(n, radius[p, 0])), add(cb, scale(n, radius[p, 1]))
        arms[p, 0], arms[p, 1], arms[p, 2] = ra
        arms[p, 3], arms[p, 4], arms[p, 5] = rb
        weight = weight_along(a, b, ra, rb, n, inverse_mass, inverse_inertia)
        stiff[p] = STIFF / (h * h * weight) if weight > 0.0 else 0.0
        apart = sub(velocity_at(v, w, a, ra), velocity_at(v, w, b, rb))
        speed = dot(n, apart)
        across = sub(apart, scale(n, speed))
        mus[p] = law[p, 0] if dot(across, across) > SLIPS * SLIPS else law[p, 1]
        limits[p] = max(dot(n, vector(force, p)), 0.0)
        target = 0.0
        if law[p, 3] == 0.0 and gap < 0.0:
            target = gap + min(-RECOVERY * gap, escape * h)
        bounces = law[p, 2] > 0.0 and speed < -slow
        # the speed with which the substep will go: with it a perfect bounce goes back on the way on which it came
        pull = (h if inverse_mass[a] > 0.0 else 0.0) - (h if inverse_mass[b] > 0.0 else 0.0)
        fast[p] = speed + pull * dot(n, gravity) if bounces else 0.0
        leap[p] = max(law[p, 2] * (-fast[p] * h - max(gap, 0.0)), 0.0) if bounces else 0.0
        wanted[p] = target + leap[p]
        set_vector(load, p, vector(force, p))


@numba.njit(parallel=True, cache=True, **STEADY)
def meet(
    parts, count, first, frames, core, radius, normals, geoms, curved, arms, wanted, gaps, slips, turns, law, status, x,
    q, x0, q0, element_frames, element_arms
):  # fmt: skip
    """Measure gap and slip at the predicted pose, and write the arms of the elements."""
    for t in numba.prange(parts):
        meet_some(count * t // parts, count * (t + 1) // parts, first, frames, core, radius, normals, geoms, curved,
                  arms, wanted, gaps, slips, turns, law, status, x, q, x0, q0, element_frames,
                  element_arms)  # fmt: skip


@steady
def meet_some(
    begin, end, first, frames, core, radius, normals, geoms, curved, arms, wanted, gaps, slips, turns, law, status, x,
    q, x0, q0, element_frames, element_arms
):  # fmt: skip
    """Measure points begin to end - 1."""
    for p in range(begin, end):
        e = first + p
        a, b = frames[p, 0], frames[p, 1]
        n = vector(normals, p)
        qa, qb = quaternion(q, a), quaternion(q, b)
        ca, cb = rotate(qa, (core[p, 0], core[p, 1], core[p, 2])), rotate(qb, (core[p, 3], core[p, 4], core[p, 5]))
        way_a, way_b = sub(vector(x, a), vector(x0, a)), sub(vector(x, b), vector(x0, b))
        apart = sub(add(vector(x, a), ca), add(vector(x, b), cb))
        gaps[p] = dot(n, apart) - radius[p, 0] - radius[p, 1] - wanted[p]
        ra, rb = sub(ca, scale(n, radius[p, 0])), add(cb, scale(n, radius[p, 1]))
        old_a, old_b = (arms[p, 0], arms[p, 1], arms[p, 2]), (arms[p, 3], arms[p, 4], arms[p, 5])
        # the same points of the matter, where they have turned to
        new_a = ra if radius[p, 0] == 0.0 else rotate(qa, rotate_back(quaternion(q0, a), old_a))
        new_b = rb if radius[p, 1] == 0.0 else rotate(qb, rotate_back(quaternion(q0, b), old_b))
        slip = sub(add(way_a, sub(new_a, old_a)), add(way_b, sub(new_b, old_b)))
        set_vector(slips, p, sub(slip, scale(n, dot(n, slip))))
        # a round side without a core rolls away under its point, which stays where it was
        if curved[geoms[p, 0]] or curved[geoms[p, 1]]:
            turn_a, turn_b = turn_between(quaternion(q0, a), qa), turn_between(quaternion(q0, b), qb)
            lag = 0.0
            if curved[geoms[p, 0]]:
                lag += dot(n, sub(add(old_a, cross(turn_a, old_a)), ra))
            if curved[geoms[p, 1]]:
                lag -= dot(n, sub(add(old_b, cross(turn_b, old_b)), rb))
            gaps[p] += lag
        if law[p, 4] > 0.0 or law[p, 5] > 0.0:
            turn_a, turn_b = turn_between(quaternion(q0, a), qa), turn_between(quaternion(q0, b), qb)
            set_vector(turns, p, sub(turn_a, turn_b))
        status[p] = APART
        element_frames[e, 0], element_frames[e, 1] = a, b
        # the arms at the start of the substep: forces at one point of the world then turn the whole by nothing
        for c in range(6):
            element_arms[e, c] = arms[p, c]


@numba.njit(parallel=True, cache=True, **STEADY)
def judge(
    parts, count, first, begin, normals, law, mus, gaps, slips, turns, stiff, load, limits, push, ways, status, motion,
    force, stiffness, homes, unfinished
):  # fmt: skip
    """Follow the motion that was found, decide the state of each point, and write its force and stiffness.

    `begin` holds for the first time in a substep: then there is no motion yet, and nothing is finished. `homes` is the
    component of each element, (E,); `unfinished` (C,) becomes 2 for the components in which something has changed.
    """
    for t in numba.prange(parts):
        for p in range(count * t // parts, count * (t + 1) // parts):
            home = homes[first + p]
            if begin or (home >= 0 and unfinished[home]):
                old, way = status[p], vector(ways, p)
                if not begin:
                    follow(p, first + p, normals, gaps, slips, turns, motion)
                judge_point(p, first + p, normals, law, mus, gaps, slips, turns, stiff, load, limits, push, ways,
                            status, force, stiffness)  # fmt: skip
                bent = status[p] == SLIDING and limits[p] > 0.0 and dot(way, vector(ways, p)) < STRAIGHT
                if not begin and (status[p] != old or bent):
                    unfinished[home] = 2


@steady
def follow(p, e, normals, gaps, slips, turns, motion):
    """Let gap and slip of a point follow the motion of its element."""
    n, d = vector(normals, p), vector(motion, e)
    along = dot(n, d)
    gaps[p] += along
    for c in range(3):
        slips[p, c] += d[c] - along * n[c]
        turns[p, c] += motion[e, 3 + c]


@steady
def judge_point(
    p, e, normals, law, mus, gaps, slips, turns, stiff, load, limits, push, ways, status, force, stiffness
):  # fmt: skip
    """Decide the state of a point, and write its force and stiffness."""
    n, k = vector(normals, p), stiff[p]
    ease = 1.0 / max(1.0, k * law[p, 3])
    most = mus[p] * limits[p]
    status[p], normal, hold, size = force_of(gaps[p], vector(slips, p), n, k, ease, vector(load, p), most)
    total = add(scale(n, normal), hold)
    set_vector(push, p, total)
    if status[p] == APART:
        for c in range(6):
            force[e, c] = 0.0
        for c in range(12):
            stiffness[e, c] = 0.0
        return
    across, along = GRIP * k, (0.0, 0.0, 0.0)
    if status[p] == SLIDING:
        across, along = (across * most / size, scale(hold, 1.0 / most)) if most > 0.0 else (0.0, along)
    set_vector(ways, p, along)
    write_point(e, n, k * ease, across, along, total, force, stiffness)
    resist(p, e, n, law, turns, k, limits[p], force, stiffness)


@steady
def write_point(e, n, stiff, across, along, total, force, stiffness):
    """K = stiff n n^T + across (1 - n n^T - u u^T), u the direction of sliding or zero."""
    for c in range(3):
        force[e, c], force[e, 3 + c] = total[c], 0.0
        stiffness[e, c] = across + (stiff - across) * n[c] * n[c] - across * along[c] * along[c]
        i, j = (c + 1) % 3, (c + 2) % 3
        stiffness[e, 3 + c] = (stiff - across) * n[i] * n[j] - across * along[i] * along[j]
        stiffness[e, 6 + c], stiffness[e, 9 + c] = 0.0, 0.0


@steady
def resist(p, e, n, law, turns, k, bound, force, stiffness):
    """Moments against rolling and against spinning about the normal, both bounded by the normal force."""
    if law[p, 4] > 0.0 or law[p, 5] > 0.0:
        turn = vector(turns, p)
        about = dot(n, turn)
        rolled = sub(turn, scale(n, about))
        size = math.sqrt(dot(rolled, rolled))
        # a moment that gives way by as much as the point does at an arm of its own bound
        spin_k, roll_k = k * law[p, 5] * law[p, 5], k * law[p, 4] * law[p, 4]
        spin = -spin_k * about
        most = law[p, 5] * bound
        if abs(spin) > most:
            spin, spin_k = math.copysign(most, spin), most / max(abs(about), 1e-300)
        roll_most = law[p, 4] * bound
        if roll_k * size > roll_most:
            roll_k = roll_most / size
        for c in range(3):
            force[e, 3 + c] = spin * n[c] - roll_k * rolled[c]
            i, j = (c + 1) % 3, (c + 2) % 3
            stiffness[e, 6 + c] = roll_k + (spin_k - roll_k) * n[c] * n[c]
            stiffness[e, 9 + c] = (spin_k - roll_k) * n[i] * n[j]


@numba.njit(cache=True, **STEADY)
def keep_forces(count, push, force):
    """The forces of the substep are carried on to the next."""
    for p in range(count):
        for c in range(3):
            force[p, c] = push[p, c]
