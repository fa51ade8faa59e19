"""How far to go along a Newton step: the way on which the energy of a component falls.

With the limits of friction held, the forces of the points are the slopes of a convex energy: quadratic where a point
touches or sticks, linear where it slides, nothing where it is apart. A full step is right when no point changes its
state on the way; else the energy is followed to where its slope along the step is zero.
"""

import math

import numba

from shinari.maths.function import STEADY, steady
from shinari.maths.vec3 import add, dot, scale, sub
from shinari.rigid.motion import momentum_of, quaternion, vector

ENOUGH = 0.05
MOST_TRIES = 12
EDGE = 0.02
ROUNDING = 1e-10
APART, STICKING, SLIDING = 0, 1, 2
# Stiffness against slip, over that against overlap. Softer, because the states of points that are about to slip are
# found the harder the sharper the corner of Coulomb's law is. The friction of the last substep is carried on, so that a
# point that sticks is a spring at the place where it began to, and does not creep.
GRIP = 1e-3


@steady
def force_of(gap, slip, n, k, ease, last, limit):
    """State of a point and its force, (n f_n, f_t), at a gap and a slip; `limit` [N] bounds the friction."""
    normal = -k * gap * ease
    wish = sub(sub(last, scale(n, dot(n, last))), scale(slip, GRIP * k))
    size = math.sqrt(dot(wish, wish))
    touches = normal > 0.0
    sticks = size <= limit and limit > 0.0
    share = 1.0 if sticks else (limit / size if limit > 0.0 else 0.0)
    hold = scale(wish, share if touches else 0.0)
    status = (STICKING if sticks else SLIDING) if touches else APART
    return status, normal if touches else 0.0, hold, size


@steady
def force_after(p, e, t, normals, law, mus, gaps, slips, stiff, load, limits, motion):
    """State of a point after a part t of its motion, its force along the motion, and its friction."""
    n, d, k = vector(normals, p), vector(motion, e), stiff[p]
    along = dot(n, d)
    slip = add(vector(slips, p), scale(sub(d, scale(n, along)), t))
    ease = 1.0 / max(1.0, k * law[p, 3])
    status, normal, hold, _ = force_of(gaps[p] + t * along, slip, n, k, ease, vector(load, p), mus[p] * limits[p])
    return status, normal * along + dot(hold, d), hold


@steady
def part_of_step(
    begin, end, first, last, first_point, first_bar, element_order, nodes, q, inverse_mass, moments, moved, g, h,
    force, stiffness, motion, jacobian_force, bar_stiffness, bar_motion, normals, law, mus, gaps, slips, stiff, load,
    limits, status, ways
):  # fmt: skip
    """Part of the step (0 to 1) to take for a component with elements begin to end - 1 and nodes first to last - 1."""
    same = True
    for s in range(begin, end):
        e = element_order[s]
        if first_point <= e < first_bar:
            p = e - first_point
            then, _, hold = force_after(p, e, 1.0, normals, law, mus, gaps, slips, stiff, load, limits, motion)
            back = then == SLIDING and status[p] == SLIDING and dot(hold, vector(ways, p)) < 0.0
            same = same and then == status[p] and not back
    if same:
        return 1.0
    # the slope along the step is start + t * rise, but for the points
    start = rise = 0.0
    for j in range(first, last):
        i = nodes[j]
        push, turn = (g[j, 0], g[j, 1], g[j, 2]), (g[j, 3], g[j, 4], g[j, 5])
        spin = momentum_of(quaternion(q, i), moments, i, turn)
        rise += (dot(push, push) / inverse_mass[i] + dot(turn, spin)) / (h * h)
        start += dot(push, (moved[i, 0], moved[i, 1], moved[i, 2])) / (inverse_mass[i] * h * h)
        start += dot(spin, (moved[i, 3], moved[i, 4], moved[i, 5])) / (h * h)
    for s in range(begin, end):
        e = element_order[s]
        if e < first_point:
            for part in range(2):
                at, k = 3 * part, 6 * part
                x, y, z = motion[e, at], motion[e, at + 1], motion[e, at + 2]
                start -= force[e, at] * x + force[e, at + 1] * y + force[e, at + 2] * z
                rise += stiffness[e, k] * x * x + stiffness[e, k + 1] * y * y + stiffness[e, k + 2] * z * z
                mixed = stiffness[e, k + 3] * y * z + stiffness[e, k + 4] * z * x + stiffness[e, k + 5] * x * y
                rise += 2.0 * mixed
        elif e >= first_bar:
            c = bar_motion[e - first_bar]
            start -= jacobian_force[e - first_bar] * c
            rise += bar_stiffness[e - first_bar] * c * c
    below, above = start, start + rise
    for s in range(begin, end):
        e = element_order[s]
        if first_point <= e < first_bar:
            p = e - first_point
            below -= force_after(p, e, 0.0, normals, law, mus, gaps, slips, stiff, load, limits, motion)[1]
            above -= force_after(p, e, 1.0, normals, law, mus, gaps, slips, stiff, load, limits, motion)[1]
    if abs(below) <= ROUNDING * rise:
        return 1.0
    if below > 0.0:
        return 0.0
    if above <= ENOUGH * abs(below):
        return 1.0
    low, high, close = 0.0, 1.0, ENOUGH * abs(below)
    t = 1.0
    for attempt in range(MOST_TRIES):
        # between the secant and the middle: one side of the slope is often flat
        t = low - below * (high - low) / (above - below) if attempt % 2 == 0 else 0.5 * (low + high)
        t = min(max(t, low + EDGE * (high - low)), high - EDGE * (high - low))
        slope = start + t * rise
        for s in range(begin, end):
            e = element_order[s]
            if first_point <= e < first_bar:
                p = e - first_point
                slope -= force_after(p, e, t, normals, law, mus, gaps, slips, stiff, load, limits, motion)[1]
        if abs(slope) <= close:
            break
        if slope > 0.0:
            high, above = t, slope
        else:
            low, below = t, slope
    return t


@numba.njit(cache=True, **STEADY)
def tighten(count, first, normals, mus, limits, status, push, homes, waiting, close):
    """Take new limits of friction from the normal forces; marks the components in which that matters, (C,)."""
    for p in range(count):
        home = homes[first + p]
        if home < 0 or not waiting[home] or status[p] == APART or mus[p] == 0.0:
            continue
        n = vector(normals, p)
        f = vector(push, p)
        normal = dot(n, f)
        across = sub(f, scale(n, normal))
        most = mus[p] * normal
        over = math.sqrt(dot(across, across)) > most * (1.0 + close)
        if over or (status[p] == SLIDING and abs(normal - limits[p]) > close * normal):
            waiting[home] = 2
    for p in range(count):
        home = homes[first + p]
        if home >= 0 and waiting[home] == 2:
            limits[p] = max(dot(vector(normals, p), vector(push, p)), 0.0)
