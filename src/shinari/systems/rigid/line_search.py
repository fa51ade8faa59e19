"""How far to go along a Newton step: the way on which the energy of a component falls.

With the limits of friction held, the forces of the points are the slopes of a convex energy: quadratic where a point
touches or sticks, linear where it slides, nothing where it is apart. A full step is right when no point changes its
state on the way; else the energy is followed to where its slope along the step is zero.
"""

import math

import numpy as np

from shinari.collision.law import APART, SLIDING, regularised_force, regularised_stiffness
from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import add, dot, scale, sub
from shinari.systems.rigid.contact.table import Points
from shinari.systems.rigid.elements import Elements, JacobianRows, PointWork
from shinari.systems.rigid.frames import Frames, Motions
from shinari.systems.rigid.graph import Components, Nodes
from shinari.systems.rigid.motion import momentum_of, vector
from shinari.systems.rigid.progress import Flags

ENOUGH = 0.05
MOST_TRIES = 12
EDGE = 0.02
ROUNDING = 1e-10
# States of a component in a Newton step: solved before, so far as it seems, not yet, friction renewed.
SOLVED, SETTLED, UNSETTLED, RENEWED = 0, 1, 2, 3


@steady
def force_after(p, e, t, points, work, elements):
    """State of a point after a part t of its motion, its force along the motion, and its friction."""
    n, d, k = points.normal[p], vector(elements.motion, e), work.stiff[p]
    along = dot(n, d)
    slip = add(work.slip[p], scale(sub(d, scale(n, along)), t))
    stiffness = regularised_stiffness(k, points.law[p, 3])
    limit = work.mu[p] * work.limit[p]
    status, normal, hold, _ = regularised_force(work.gap[p] + t * along, slip, n, k, stiffness, work.load[p], limit)
    return status, normal * along + dot(hold, d), hold


@kernel
def start_search(c, components: Components):
    """No point is known yet to change its state."""
    components.crossing[c] = 0


@kernel(fastmath=STEADY)
def check_point(p, points: Points, work: PointWork, elements: Elements, components: Components, first_point: np.int64):
    """Mark the component when the full step changes the state of a point, or turns its friction back."""
    e = first_point + p
    home = elements.component[e]
    if home < 0 or components.unfinished[home] == 0:
        return
    then, _, hold = force_after(p, e, 1.0, points, work, elements)
    back = then == SLIDING and work.status[p] == SLIDING and dot(hold, work.sliding_direction[p]) < 0.0
    if then != work.status[p] or back:
        components.crossing[home] = 1


@steady
def slope_of_bodies(c, components, nodes, frames, motions, h):
    """Slope of the energy of the inertia along the step: its start, and its rise over the step."""
    start = rise = 0.0
    for j in range(components.node[c], components.node[c + 1]):
        i, g, moved = nodes.frame[j], nodes.vector[j], motions.moved[nodes.frame[j]]
        push, turn = (g[0], g[1], g[2]), (g[3], g[4], g[5])
        spin = momentum_of(frames.q[i], frames.moments, i, turn)
        rise += (dot(push, push) / frames.inverse_mass[i] + dot(turn, spin)) / (h * h)
        start += dot(push, (moved[0], moved[1], moved[2])) / (frames.inverse_mass[i] * h * h)
        start += dot(spin, (moved[3], moved[4], moved[5])) / (h * h)
    return start, rise


@steady
def slope_of_joint(e, elements):
    """Slope of the energy of a joint along the step: its start, and its rise over the step."""
    f, k, m = elements.force[e], elements.stiffness[e], elements.motion[e]
    start = -(f[0] * m[0] + f[1] * m[1] + f[2] * m[2]) - (f[3] * m[3] + f[4] * m[4] + f[5] * m[5])
    rise = k[0] * m[0] * m[0] + k[1] * m[1] * m[1] + k[2] * m[2] * m[2]
    rise += k[6] * m[3] * m[3] + k[7] * m[4] * m[4] + k[8] * m[5] * m[5]
    rise += 2.0 * (k[3] * m[1] * m[2] + k[4] * m[2] * m[0] + k[5] * m[0] * m[1])
    rise += 2.0 * (k[9] * m[4] * m[5] + k[10] * m[5] * m[3] + k[11] * m[3] * m[4])
    return start, rise


@kernel(fastmath=STEADY)
def slope_at_ends(
    c,
    components: Components,
    nodes: Nodes,
    elements: Elements,
    jacobian_rows: JacobianRows,
    frames: Frames,
    motions: Motions,
    joints: np.int64,
    h: np.float64,
):
    """Slope of the energy along the step without the points, where a point changes its state: at its start and end."""
    components.part[c] = 1.0
    if components.unfinished[c] == 0 or components.crossing[c] == 0:
        return
    start, rise = slope_of_bodies(c, components, nodes, frames, motions, h)
    for s in range(components.element[c], components.element[c + 1]):
        e = elements.order[s]
        if e < joints:
            begin, growth = slope_of_joint(e, elements)
            start, rise = start + begin, rise + growth
        elif e < joints + len(jacobian_rows):
            m = jacobian_rows.motion[e - joints]
            start -= jacobian_rows.force[e - joints] * m
            rise += jacobian_rows.stiffness[e - joints] * m * m
    components.slope[c] = start, rise


@steady
def slope_at(t, c, components, elements, points, work, first_point):
    """Slope of the energy of a component at a part t of its step."""
    line = components.slope[c]
    slope = line[0] + t * line[1]
    for s in range(components.element[c], components.element[c + 1]):
        e = elements.order[s]
        if e >= first_point:
            slope -= force_after(e - first_point, e, t, points, work, elements)[1]
    return slope


@kernel(fastmath=STEADY)
def search(c, components: Components, elements: Elements, points: Points, work: PointWork, first_point: np.int64):
    """Find the part of the step to take where a point changes its state: where the slope of the energy is zero."""
    if components.unfinished[c] == 0 or components.crossing[c] == 0:
        return
    # the slope is wanted at the start, at the end, and then between
    low, high, below, above, close, t = 0.0, 1.0, 0.0, 0.0, 0.0, 0.0
    for attempt in range(MOST_TRIES + 2):
        slope = slope_at(t, c, components, elements, points, work, first_point)
        if attempt == 0:
            below, close = slope, ENOUGH * abs(slope)
            if abs(below) <= ROUNDING * components.slope[c, 1]:
                t = 1.0
                break
            if below > 0.0:
                break
            t = 1.0
            continue
        if attempt == 1:
            above = slope
            if above <= close:
                break
        elif abs(slope) <= close:
            break
        elif slope > 0.0:
            high, above = t, slope
        else:
            low, below = t, slope
        if attempt <= MOST_TRIES:
            # between the secant and the middle: one side of the slope is often flat
            t = low - below * (high - low) / (above - below) if attempt % 2 == 1 else 0.5 * (low + high)
            t = min(max(t, low + EDGE * (high - low)), high - EDGE * (high - low))
    components.part[c] = t


@kernel(fastmath=STEADY)
def mark_limits(p, points: Points, work: PointWork, elements: Elements, components: Components, flags: Flags,
                first_point: np.int64, close: np.float64):  # fmt: skip
    """Mark the component, whose points keep their states, when a limit of friction has to be taken anew."""
    home = elements.component[first_point + p]
    if home < 0 or work.status[p] == APART or work.mu[p] == 0.0:
        return
    if components.unfinished[home] != SETTLED and components.unfinished[home] != RENEWED:
        return
    n, f = points.normal[p], work.push[p]
    normal = dot(n, f)
    across = sub(f, scale(n, normal))
    over = math.sqrt(dot(across, across)) > work.mu[p] * normal * (1.0 + close)
    if over or (work.status[p] == SLIDING and abs(normal - work.limit[p]) > close * normal):
        components.unfinished[home], flags.reconsidering[0] = RENEWED, 1


@kernel(fastmath=STEADY)
def take_limits(p, points: Points, work: PointWork, elements: Elements, components: Components,
                first_point: np.int64):  # fmt: skip
    """Take the limits of friction of a marked component from the normal forces."""
    home = elements.component[first_point + p]
    if home >= 0 and components.unfinished[home] == RENEWED:
        work.limit[p] = max(dot(points.normal[p], work.push[p]), 0.0)
