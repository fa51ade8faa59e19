"""Line search: the fraction of a Newton step at which the energy of a component is least.

For fixed limits of friction, the forces of the points are the slopes of a convex energy: quadratic where a point
is in contact or sticks, linear where it slides, zero where it is apart. A full step is right when no point changes its
state along it; else the zero of the slope along the step is found.
"""

import numpy as np

from shinari.collision.law import COMPLIANCE, regularised_force, regularised_stiffness
from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import add, dot, scale, sub
from shinari.systems.rigid.components import SOLVED, Components, Nodes
from shinari.systems.rigid.contact.pairs import Points
from shinari.systems.rigid.direct import relative_displacement
from shinari.systems.rigid.elements import Elements, JacobianRows, PointWork
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.integration import momentum_of, vector

ENOUGH = 0.05
MOST_TRIES = 12
EDGE = 0.02
ROUNDING = 1e-10


@steady
def force_after(p, e, t, softness, points, work, elements):
    """Force of a point along its displacement, after a part t of it."""
    n, d, k = points.normal[p], vector(elements.displacement, e), softness * work.stiffness[p]
    along = dot(n, d)
    slip = add(work.slip[p], scale(sub(d, scale(n, along)), t))
    stiffness = regularised_stiffness(k, points.law[p, COMPLIANCE])
    limit = work.friction_coefficient[p] * work.limit[p]
    gap, grip = work.gap[p] + t * along, softness * work.grip[p]
    _, normal, hold, _ = regularised_force(gap, slip, n, grip, stiffness, points.force[p], limit)
    return normal * along + dot(hold, d)


@kernel
def clear_marks(c, components: Components):
    """Clear what points mark in a Newton step."""
    components.crossing[c] = components.exceeding[c] = 0


@steady
def slope_of_bodies(c, components, nodes, frames, solver_frames, h):
    """Slope of the energy of the inertia along the step: its start, and its rise over the step."""
    start = rise = 0.0
    for j in range(components.node[c], components.node[c + 1]):
        i, g, displacement = nodes.frame[j], nodes.vector[j], solver_frames.displacement[nodes.frame[j]]
        translation, rotation = (g[0], g[1], g[2]), (g[3], g[4], g[5])
        spin = momentum_of(solver_frames.free_q[i], frames.moments, i, rotation)
        rise += (dot(translation, translation) / frames.inverse_mass[i] + dot(rotation, spin)) / (h * h)
        start += dot(translation, (displacement[0], displacement[1], displacement[2])) / (
            frames.inverse_mass[i] * h * h
        )
        start += dot(spin, (displacement[3], displacement[4], displacement[5])) / (h * h)
    return start, rise


@steady
def slope_of_joint(e, elements):
    """Slope of the energy of a joint along the step: its start, and its rise over the step."""
    f, k, m = elements.force[e], elements.stiffness[e], elements.displacement[e]
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
    work: PointWork,
    frames: Frames,
    solver_frames: SolverFrames,
    joints: np.int64,
    h: np.float64,
):
    """Slope of the energy along the step, where a point changes its state: at its start and end.

    The forces of the points are known at both. Their displacements are written for the search that follows.
    """
    components.part[c] = 1.0
    if components.solution[c] == SOLVED or components.crossing[c] == 0:
        return
    start, rise = slope_of_bodies(c, components, nodes, frames, solver_frames, h)
    begin, end, first_point = 0.0, 0.0, joints + len(jacobian_rows)
    for s in range(components.element[c], components.element[c + 1]):
        e = elements.order[s]
        if e < joints:
            own, growth = slope_of_joint(e, elements)
            start, rise = start + own, rise + growth
        elif e < first_point:
            m = jacobian_rows.displacement[e - joints]
            start -= jacobian_rows.force[e - joints] * m
            rise += jacobian_rows.stiffness[e - joints] * m * m
        else:
            elements.displacement[e] = relative_displacement(e, elements, nodes.vector)
            d = vector(elements.displacement, e)
            begin, end = begin + dot(vector(elements.force, e), d), end + dot(work.force[e - first_point], d)
    components.slope[c], components.slope_at_ends[c] = (start, rise), (start - begin, start + rise - end)


@steady
def slope_at(t, c, components, elements, points, work, first_point):
    """Slope of the energy of a component at a part t of its step."""
    line = components.slope[c]
    slope = line[0] + t * line[1]
    for s in range(components.element[c], components.element[c + 1]):
        e = elements.order[s]
        if e >= first_point:
            slope -= force_after(e - first_point, e, t, components.softness[c], points, work, elements)
    return slope


@kernel(fastmath=STEADY)
def find_step_length(
    c, components: Components, elements: Elements, points: Points, work: PointWork, first_point: np.int64
):
    """Find the part of the step to take where a point changes its state: where the slope of the energy is zero."""
    if components.solution[c] == SOLVED or components.crossing[c] == 0:
        return
    low, high = 0.0, 1.0
    below, above = components.slope_at_ends[c]
    close = ENOUGH * abs(below)
    if abs(below) <= ROUNDING * components.slope[c, 1]:
        return
    if below > 0.0:
        components.part[c] = 0.0
        return
    if above <= close:
        return
    t = 1.0
    for attempt in range(MOST_TRIES):
        # between the secant and the middle: one side of the slope is often flat
        t = low - below * (high - low) / (above - below) if attempt % 2 == 0 else 0.5 * (low + high)
        t = min(max(t, low + EDGE * (high - low)), high - EDGE * (high - low))
        slope = slope_at(t, c, components, elements, points, work, first_point)
        if abs(slope) <= close:
            break
        if slope > 0.0:
            high, above = t, slope
        else:
            low, below = t, slope
    components.part[c] = t
