"""Solution of a component by sweeps: for heaps whose factor would cost too much.

Projected Gauss-Seidel over the elements of a component, warm-started with the forces of the last substep. SWEEPS sweeps
are made; the remaining error is corrected in later substeps. Normal forces are not negative, and friction is projected
onto Coulomb's cone.
"""

import math

import numpy as np

from shinari.collision.law import (
    APART,
    COMPLIANCE,
    GRIP,
    ROLLING,
    SLIDING,
    STICKING,
    TORSION,
    friction,
    normal_response,
    regularised_stiffness,
    tangential,
)
from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import add, cross, dot, scale, sub
from shinari.systems.rigid.bounce import BOUNCED
from shinari.systems.rigid.contact.table import Points
from shinari.systems.rigid.direct import jacobian_row_displacement, move, relative_displacement, row_of
from shinari.systems.rigid.elements import Elements, JacobianRows, PointWork
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.graph import Components, Nodes
from shinari.systems.rigid.integration import symmetric_times
from shinari.systems.rigid.points import advance_point, halves, pair_inverse_mass

SWEEPS = 12
NONE = (0.0, 0.0, 0.0)


@steady
def apply_force(j, i, r, f, t, sign, frames, nodes, h2):
    """Apply a force and a moment to node j, frame i, at an arm, for a substep; `h2` is h^2."""
    if j >= 0:
        shift = scale(f, sign * h2 * frames.inverse_mass[i])
        rotation = scale(symmetric_times(frames.inverse_inertia, i, add(cross(r, f), t)), sign * h2)
        g = nodes.vector[j]
        nodes.vector[j] = (
            g[0] + shift[0], g[1] + shift[1], g[2] + shift[2],
            g[3] + rotation[0], g[4] + rotation[1], g[5] + rotation[2],
        )  # fmt: skip


@steady
def apply_both(e, f, t, elements, frames, nodes, h2):
    """Apply a force and a moment to frame a of an element, and their opposite to b."""
    a, b = elements.frames[e]
    ra, rb = halves(elements.arms[e])
    apply_force(elements.nodes[e, 0], a, ra, f, t, 1.0, frames, nodes, h2)
    apply_force(elements.nodes[e, 1], b, rb, f, t, -1.0, frames, nodes, h2)


@steady
def inverse_times(m0, m1, m2, v):
    """Solution of a 3 x 3 system by Cramer's rule."""
    c12 = cross(m1, m2)
    determinant = dot(m0, c12)
    s = 1.0 / determinant if determinant != 0.0 else 0.0
    # rows m: M y = v, y = (v0 m1 x m2 + v1 m2 x m0 + v2 m0 x m1) / det
    c20, c01 = cross(m2, m0), cross(m0, m1)
    return scale(add(add(scale(c12, v[0]), scale(c20, v[1])), scale(c01, v[2])), s)


@steady
def compliance_column(a, b, ra, rb, n, inverse_mass, inverse_inertia):
    """Change of the relative displacement d by a unit force along n."""
    total = scale(n, inverse_mass[a] + inverse_mass[b])
    if inverse_mass[a] > 0.0:
        total = add(total, cross(symmetric_times(inverse_inertia, a, cross(ra, n)), ra))
    if inverse_mass[b] > 0.0:
        total = add(total, cross(symmetric_times(inverse_inertia, b, cross(rb, n)), rb))
    return total


@steady
def sweep_anchor(e, elements, frames, nodes, h2):
    """Solve the anchor of a joint."""
    a, b = elements.frames[e]
    ra, rb = halves(elements.arms[e])
    d, _ = halves(relative_displacement(e, elements, nodes.vector))
    mass, inertia = frames.inverse_mass, frames.inverse_inertia
    x = compliance_column(a, b, ra, rb, (h2, 0.0, 0.0), mass, inertia)
    y = compliance_column(a, b, ra, rb, (0.0, h2, 0.0), mass, inertia)
    z = compliance_column(a, b, ra, rb, (0.0, 0.0, h2), mass, inertia)
    change = change_of_force(e, 0, d, x, y, z, elements)
    apply_both(e, change, NONE, elements, frames, nodes, h2)


@steady
def sweep_rotation(e, elements, frames, nodes, h2):
    """Solve the rotation of a joint."""
    a, b = elements.frames[e]
    _, phi = halves(relative_displacement(e, elements, nodes.vector))
    inertia = frames.inverse_inertia
    x = add(symmetric_times(inertia, a, (h2, 0.0, 0.0)), symmetric_times(inertia, b, (h2, 0.0, 0.0)))
    y = add(symmetric_times(inertia, a, (0.0, h2, 0.0)), symmetric_times(inertia, b, (0.0, h2, 0.0)))
    z = add(symmetric_times(inertia, a, (0.0, 0.0, h2)), symmetric_times(inertia, b, (0.0, 0.0, h2)))
    change = change_of_force(e, 3, phi, x, y, z, elements)
    apply_both(e, NONE, change, elements, frames, nodes, h2)


@steady
def change_of_force(e, at, d, x, y, z, elements):
    """Change of the force (`at` 0) or moment (3) of a joint at a relative displacement; it is accumulated.

    x, y, z are the changes of that displacement by unit forces.
    """
    k = 2 * at
    k0, k1, k2 = (row_of(elements.stiffness, e, 0, k), row_of(elements.stiffness, e, 1, k),
                  row_of(elements.stiffness, e, 2, k))  # fmt: skip
    force, accumulated = elements.force, elements.accumulated
    old = (accumulated[e, at], accumulated[e, at + 1], accumulated[e, at + 2])
    goal = (force[e, at] - dot(k0, d), force[e, at + 1] - dot(k1, d), force[e, at + 2] - dot(k2, d))
    m0 = (1.0 + dot(k0, x), dot(k0, y), dot(k0, z))
    m1 = (dot(k1, x), 1.0 + dot(k1, y), dot(k1, z))
    m2 = (dot(k2, x), dot(k2, y), 1.0 + dot(k2, z))
    change = inverse_times(m0, m1, m2, sub(goal, old))
    accumulated[e, at], accumulated[e, at + 1], accumulated[e, at + 2] = (
        old[0] + change[0],
        old[1] + change[1],
        old[2] + change[2],
    )
    return change


@steady
def sweep_point(e, p, elements, points, work, frames, nodes, h2):
    """Solve a contact point: along the normal, then across it."""
    k = work.stiffness[p]
    if k == 0.0:
        return
    a, b = elements.frames[e]
    n, last = points.normal[p], work.last_force[p]
    ra, rb = halves(elements.arms[e])
    old, _ = halves(elements.accumulated[e])
    mass, inertia = frames.inverse_mass, frames.inverse_inertia
    d, _ = halves(relative_displacement(e, elements, nodes.vector))
    old_normal = dot(n, old)
    softness = 1.0 / regularised_stiffness(k, points.law[p, COMPLIANCE])
    w = h2 * pair_inverse_mass(a, b, ra, rb, n, mass, inertia)
    normal_force = old_normal + normal_response(-(work.gap[p] + dot(n, d)), 0.0, old_normal, softness, w, -old_normal)
    apply_both(e, scale(n, normal_force - old_normal), NONE, elements, frames, nodes, h2)
    displacement = relative_displacement(e, elements, nodes.vector)
    elements.displacement[e] = displacement
    d, _ = halves(displacement)
    slip = add(work.slip[p], tangential(d, n))
    before = sub(old, scale(n, old_normal))
    trial = sub(sub(tangential(last, n), scale(slip, GRIP * k)), before)
    size = math.sqrt(dot(trial, trial))
    w = h2 * pair_inverse_mass(a, b, ra, rb, scale(trial, 1.0 / size), mass, inertia) if size > 0.0 else 0.0
    hold = friction(add(before, scale(trial, 1.0 / (1.0 + GRIP * k * w))), normal_force, points.law[p])
    apply_both(e, sub(hold, before), NONE, elements, frames, nodes, h2)
    f, t = add(scale(n, normal_force), hold), NONE
    if points.law[p, ROLLING] > 0.0 or points.law[p, TORSION] > 0.0:
        t = sweep_moment(e, p, n, k, normal_force, elements, points, work, frames, nodes, h2)
    elements.accumulated[e] = f[0], f[1], f[2], t[0], t[1], t[2]


@steady
def sweep_moment(e, p, n, k, normal_force, elements, points, work, frames, nodes, h2):
    """Moment of a point against spinning about the normal and against rolling, both bounded by the normal force.

    The stiffnesses are those of `shinari.systems.rigid.points.resist`.
    """
    a, b = elements.frames[e]
    rolling, torsional = points.law[p, ROLLING], points.law[p, TORSION]
    _, old = halves(elements.accumulated[e])
    _, phi = halves(relative_displacement(e, elements, nodes.vector))
    rotation = add(work.rotation[p], phi)
    inertia = frames.inverse_inertia
    about, old_normal = dot(n, rotation), dot(n, old)
    stiffness = k * torsional * torsional
    w = h2 * (dot(n, symmetric_times(inertia, a, n)) + dot(n, symmetric_times(inertia, b, n)))
    spin = (stiffness * w * old_normal - stiffness * about) / (1.0 + stiffness * w)
    spin = min(max(spin, -torsional * normal_force), torsional * normal_force)
    before = sub(old, scale(n, old_normal))
    stiffness = k * rolling * rolling
    trial = sub(scale(tangential(rotation, n), -stiffness), before)
    size = math.sqrt(dot(trial, trial))
    axis = scale(trial, 1.0 / size) if size > 0.0 else NONE
    w = h2 * (dot(axis, symmetric_times(inertia, a, axis)) + dot(axis, symmetric_times(inertia, b, axis)))
    roll = add(before, scale(trial, 1.0 / (1.0 + stiffness * w)))
    size = math.sqrt(dot(roll, roll))
    roll = scale(roll, rolling * normal_force / size) if size > rolling * normal_force else roll
    t = add(scale(n, spin), roll)
    apply_both(e, NONE, sub(t, old), elements, frames, nodes, h2)
    return t


@steady
def sweep_jacobian_row(e, b, elements, jacobian_rows, frames, nodes, h2):
    """Solve a Jacobian row."""
    jacobian, w = jacobian_rows.jacobian, 0.0
    for side in range(2):
        f, at = elements.frames[e, side], 6 * side
        angular = (jacobian[b, at + 3], jacobian[b, at + 4], jacobian[b, at + 5])
        linear = (jacobian[b, at], jacobian[b, at + 1], jacobian[b, at + 2])
        w += frames.inverse_mass[f] * dot(linear, linear)
        w += dot(symmetric_times(frames.inverse_inertia, f, angular), angular)
    goal = jacobian_rows.force[b] - jacobian_rows.stiffness[b] * jacobian_row_displacement(
        e, b, elements, jacobian_rows, nodes.vector
    )
    change = (goal - jacobian_rows.accumulated[b]) / (1.0 + jacobian_rows.stiffness[b] * h2 * w)
    jacobian_rows.accumulated[b] += change
    for side in range(2):
        f, at = elements.frames[e, side], 6 * side
        angular = (jacobian[b, at + 3], jacobian[b, at + 4], jacobian[b, at + 5])
        linear = (jacobian[b, at], jacobian[b, at + 1], jacobian[b, at + 2])
        apply_force(elements.nodes[e, side], f, NONE, linear, angular, change, frames, nodes, h2)


@steady
def start_sweeps(c, components, elements, jacobian_rows, work, frames, solver_frames, nodes, joints, h2):
    """Start a component from its free motion and the forces of the last substep."""
    for j in range(components.node[c], components.node[c + 1]):
        m = solver_frames.displacement[nodes.frame[j]]
        nodes.vector[j] = -m[0], -m[1], -m[2], -m[3], -m[4], -m[5]
    first_point = joints + len(jacobian_rows)
    for s in range(components.element[c], components.element[c + 1]):
        e = elements.order[s]
        if joints <= e < first_point:
            jacobian_rows.accumulated[e - joints] = 0.0
        else:
            if e >= first_point:
                last = work.last_force[e - first_point]
                elements.accumulated[e] = last[0], last[1], last[2], 0.0, 0.0, 0.0
            f, t = halves(elements.accumulated[e])
            apply_both(e, f, t, elements, frames, nodes, h2)


@steady
def finish_point(e, p, elements, points, work, nodes):
    """Write force, gap, slip and state of a point after the last sweep."""
    elements.displacement[e] = relative_displacement(e, elements, nodes.vector)
    advance_point(p, e, points, work, elements)
    work.force[p], _ = halves(elements.accumulated[e])
    n, f = points.normal[p], work.force[p]
    normal = dot(n, f)
    hold = tangential(f, n)
    slides = dot(hold, hold) >= (work.friction_coefficient[p] * normal) * (work.friction_coefficient[p] * normal)
    work.status[p] = APART if normal <= 0.0 else (SLIDING if slides else STICKING)


@kernel(fastmath=STEADY)
def solve_by_sweeps(
    c,
    components: Components,
    nodes: Nodes,
    elements: Elements,
    jacobian_rows: JacobianRows,
    points: Points,
    work: PointWork,
    frames: Frames,
    solver_frames: SolverFrames,
    joints: np.int64,
    h: np.float64,
):
    """Solve a component that is not solved directly, and move it."""
    if components.direct[c] != 0:
        return
    h2, first_point = h * h, joints + len(jacobian_rows)
    start_sweeps(c, components, elements, jacobian_rows, work, frames, solver_frames, nodes, joints, h2)
    begin, end = components.element[c], components.element[c + 1]
    for sweep in range(SWEEPS):
        for s in range(begin, end):
            # symmetric: the direction alternates
            e = elements.order[s if sweep % 2 == 0 else begin + end - 1 - s]
            if e < joints:
                sweep_anchor(e, elements, frames, nodes, h2)
                sweep_rotation(e, elements, frames, nodes, h2)
            elif e >= first_point:
                sweep_point(e, e - first_point, elements, points, work, frames, nodes, h2)
            else:
                sweep_jacobian_row(e, e - joints, elements, jacobian_rows, frames, nodes, h2)
    for s in range(begin, end):
        e = elements.order[s]
        if e < joints:
            # by its stiffness a joint would report the remaining error of the sweeps as a force
            elements.force[e], elements.displacement[e] = elements.accumulated[e], (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        elif e >= first_point:
            finish_point(e, e - first_point, elements, points, work, nodes)
        else:
            jacobian_rows.force[e - joints], jacobian_rows.displacement[e - joints] = (
                jacobian_rows.accumulated[e - joints],
                0.0,
            )
    for j in range(components.node[c], components.node[c + 1]):
        move(j, nodes, frames, solver_frames)


@kernel(fastmath=STEADY)
def bounce_by_sweeps(
    c,
    components: Components,
    nodes: Nodes,
    elements: Elements,
    jacobian_rows: JacobianRows,
    points: Points,
    frames: Frames,
    solver_frames: SolverFrames,
    joints: np.int64,
    h: np.float64,
):
    """Solve the changes of velocity, times the substep, of a component that bounces and has no factor.

    The elements are those of `shinari.systems.rigid.bounce.write_bounce`.
    """
    if components.bounces[c] != BOUNCED or components.ordered[c] != 0:
        return
    h2, first_point = h * h, joints + len(jacobian_rows)
    begin, end = components.element[c], components.element[c + 1]
    for j in range(components.node[c], components.node[c + 1]):
        nodes.vector[j] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for s in range(begin, end):
        e = elements.order[s]
        elements.accumulated[e] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if joints <= e < first_point:
            jacobian_rows.accumulated[e - joints] = 0.0
    for sweep in range(SWEEPS):
        for s in range(begin, end):
            e = elements.order[s if sweep % 2 == 0 else begin + end - 1 - s]
            if e < joints:
                sweep_anchor(e, elements, frames, nodes, h2)
                sweep_rotation(e, elements, frames, nodes, h2)
            elif e >= first_point:
                sweep_bounce(e, points.normal[e - first_point], elements, frames, nodes, h2)
            else:
                sweep_jacobian_row(e, e - joints, elements, jacobian_rows, frames, nodes, h2)
    for s in range(begin, end):
        e = elements.order[s]
        if e >= first_point:
            elements.displacement[e] = relative_displacement(e, elements, nodes.vector)
    for j in range(components.node[c], components.node[c + 1]):
        solver_frames.bounced[nodes.frame[j]] = nodes.vector[j]


@steady
def sweep_bounce(e, n, elements, frames, nodes, h2):
    """Solve the normal velocity of a point; its normal force is not negative."""
    s = elements.stiffness[e]
    k = s[0] + s[1] + s[2]
    if k == 0.0:
        return
    a, b = elements.frames[e]
    ra, rb = halves(elements.arms[e])
    f, _ = halves(elements.force[e])
    d, _ = halves(relative_displacement(e, elements, nodes.vector))
    old_normal = elements.accumulated[e, 0]
    w = h2 * pair_inverse_mass(a, b, ra, rb, n, frames.inverse_mass, frames.inverse_inertia)
    normal_force = max((dot(n, f) - k * dot(n, d) + k * w * old_normal) / (1.0 + k * w), 0.0)
    apply_both(e, scale(n, normal_force - old_normal), NONE, elements, frames, nodes, h2)
    elements.accumulated[e, 0] = normal_force
