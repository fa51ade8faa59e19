"""Solution of a component by sweeps: for heaps whose factor would cost too much.

Projected Gauss-Seidel over the groups of elements, colour by colour, forward and backward in turn, warm-started with
the forces of the last substep. A few sweeps are made; what they leave is corrected in later substeps. Normal forces are
not negative, and friction is projected onto Coulomb's cone. The rows of the points: `sweep_rows`.
"""

import math
from typing import Any

import numpy as np

from shinari.collision.law import APART, SLIDING, STICKING, friction, normal_response, tangential
from shinari.compute import Program, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.symmetric import times
from shinari.maths.vec3 import add, cross, dot, scale, sub
from shinari.systems.rigid.components import Components, Nodes
from shinari.systems.rigid.contact.table import Points
from shinari.systems.rigid.direct import move, relative_displacement
from shinari.systems.rigid.elements import Elements, JacobianRows, PointWork
from shinari.systems.rigid.frames import Frames, SolverFrames, were_swept
from shinari.systems.rigid.graph import Graph
from shinari.systems.rigid.joints.joints import Joints
from shinari.systems.rigid.joints.values import JointValues
from shinari.systems.rigid.points import advance_point, halves
from shinari.systems.rigid.progress import Counts
from shinari.systems.rigid.sweep_groups import ColouredGroups, SweepOrder
from shinari.systems.rigid.sweep_joints import (
    NONE,
    evaluate_swept,
    sweep_anchor,
    sweep_jacobian_row,
    sweep_rotation,
    write_swept_displacement,
)
from shinari.systems.rigid.sweep_rows import LEAVES, SWEEPS, SweepRows, write_sweep_rows

# Groups that a thread takes at once.
GRAIN = 32
# A grain that no colour reaches: one thread takes all.
ALONE = 1 << 60


@steady
def moved(x, m, r, f, sign):
    """Displacement x of a node after a force at an arm; m is its mobility."""
    s = sign * m[6]
    turn = times(m, cross(r, f))
    return (
        x[0] + s * f[0],
        x[1] + s * f[1],
        x[2] + s * f[2],
        x[3] + sign * turn[0],
        x[4] + sign * turn[1],
        x[5] + sign * turn[2],
    )


@steady
def turned(x, m, t, sign):
    """Displacement x of a node after a moment."""
    turn = times(m, t)
    return x[0], x[1], x[2], x[3] + sign * turn[0], x[4] + sign * turn[1], x[5] + sign * turn[2]


@steady
def displaced(x, y, ra, rb):
    """Relative displacement of two nodes at their arms."""
    a, b = cross((x[3], x[4], x[5]), ra), cross((y[3], y[4], y[5]), rb)
    return x[0] + a[0] - y[0] - b[0], x[1] + a[1] - y[1] - b[1], x[2] + a[2] - y[2] - b[2]


@kernel(fastmath=STEADY)
def start_sweep_node(j, nodes: Nodes, components: Components, frames: Frames, solver_frames: SolverFrames, h: float):
    """Start a node from its free motion."""
    if components.direct[nodes.component[j]] != 0:
        return
    i, h2 = nodes.frame[j], h * h
    m, inertia = solver_frames.displacement[i], frames.inverse_inertia[i]
    nodes.vector[j] = -m[0], -m[1], -m[2], -m[3], -m[4], -m[5]
    nodes.evaluated[j] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    nodes.mobility[j] = (
        h2 * inertia[0], h2 * inertia[1], h2 * inertia[2], h2 * inertia[3], h2 * inertia[4], h2 * inertia[5],
        h2 * frames.inverse_mass[i],
    )  # fmt: skip


@kernel(fastmath=STEADY)
def start_sweep_group(
    g,
    groups: ColouredGroups,
    rows: SweepRows,
    elements: Elements,
    jacobian_rows: JacobianRows,
    frames: Frames,
    solver_frames: SolverFrames,
    nodes: Nodes,
    joints: np.int64,
):
    """Clear the forces of a joint; apply those of the last substep at contact points, if they were swept then.

    The direct solution carries any stress between stiff rows. Sweeps over softer rows would release it all at once.
    """
    e, none = elements.order[groups.first[g]], (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if e < joints:
        elements.accumulated[e] = none
    elif e < joints + len(jacobian_rows):
        jacobian_rows.accumulated[e - joints] = 0.0
    else:
        r, warm = groups.row[g], were_swept(elements.frames[e, 0], elements.frames[e, 1], frames, solver_frames)
        a, b = rows.nodes[r]
        x, y, own, other = nodes.vector[a], nodes.vector[b], nodes.mobility[a], nodes.mobility[b]
        for k in range(r, r + groups.count[g]):
            if not warm:
                rows.force[k] = none
            f, _ = halves(rows.force[k])
            ra, rb = halves(rows.arms[k])
            x, y = moved(x, own, ra, f, 1.0), moved(y, other, rb, f, -1.0)
        store(a, b, x, y, nodes)


@steady
def store(a, b, x, y, nodes):
    """Store the displacements of two nodes; the last row is that of the immovable frames."""
    last = len(nodes) - 1
    if a != last:
        nodes.vector[a] = x
    if b != last:
        nodes.vector[b] = y


@kernel(fastmath=STEADY)
def sweep_group(
    g,
    groups: ColouredGroups,
    rows: SweepRows,
    elements: Elements,
    jacobian_rows: JacobianRows,
    frames: Frames,
    nodes: Nodes,
    joints: np.int64,
    h: float,
):
    """Solve the elements of a group once."""
    e, h2 = elements.order[groups.first[g]], h * h
    if e < joints:
        sweep_anchor(e, elements, frames, nodes, h2)
        sweep_rotation(e, elements, frames, nodes, h2)
    elif e < joints + len(jacobian_rows):
        sweep_jacobian_row(e, e - joints, elements, jacobian_rows, frames, nodes, h2)
    else:
        r = groups.row[g]
        a, b = rows.nodes[r]
        x, y, own, other = nodes.vector[a], nodes.vector[b], nodes.mobility[a], nodes.mobility[b]
        for k in range(r, r + groups.count[g]):
            x, y = sweep_point(k, x, y, own, other, rows)
        store(a, b, x, y, nodes)


@steady
def sweep_point(k, x, y, own, other, rows):
    """Solve a contact point: along the normal, then across it. Returns the displacements of its nodes."""
    n, mobility, softness = rows.normal[k], rows.mobility[k], rows.softness[k]
    ra, rb = halves(rows.arms[k])
    f, t = halves(rows.force[k])
    old = dot(n, f)
    gap = rows.gap[k] + dot(n, displaced(x, y, ra, rb))
    normal = old + normal_response(-gap, 0.0, old, softness, dot(n, times(mobility, n)), -old)
    if normal == 0.0 and old == 0.0 and dot(f, f) == 0.0:
        # apart, as before: no friction
        return x, y
    change = scale(n, normal - old)
    x, y = moved(x, own, ra, change, 1.0), moved(y, other, rb, change, -1.0)
    slip = add(rows.slip[k], tangential(displaced(x, y, ra, rb), n))
    before, grip = sub(f, scale(n, old)), rows.grip[k]
    trial = sub(sub(rows.hold[k], scale(slip, grip)), before)
    square = dot(trial, trial)
    w = dot(trial, times(mobility, trial)) / square if square > 0.0 else 0.0
    hold = friction(add(before, scale(trial, 1.0 / (1.0 + grip * w))), normal, rows.law[k])
    change = sub(hold, before)
    x, y = moved(x, own, ra, change, 1.0), moved(y, other, rb, change, -1.0)
    f = add(scale(n, normal), hold)
    moments = rows.moments[k]
    if moments[0] > 0.0 or moments[1] > 0.0:
        before, t = t, sweep_moment(n, normal, t, x, y, own, other, grip, moments, rows.rotation[k])
        x, y = turned(x, own, sub(t, before), 1.0), turned(y, other, sub(t, before), -1.0)
    rows.force[k] = f[0], f[1], f[2], t[0], t[1], t[2]
    return x, y


@steady
def sweep_moment(n, normal, old, x, y, own, other, k, moments, rotation):
    """Moment of a point against spinning about the normal and against rolling, both bounded by the normal force.

    The stiffnesses are those of `shinari.systems.rigid.points.resist`.
    """
    rolling, torsional = moments
    rotation = add(rotation, (x[3] - y[3], x[4] - y[4], x[5] - y[5]))
    about, old_normal = dot(n, rotation), dot(n, old)
    stiffness = k * torsional * torsional
    w = dot(n, times(own, n)) + dot(n, times(other, n))
    spin = (stiffness * w * old_normal - stiffness * about) / (1.0 + stiffness * w)
    spin = min(max(spin, -torsional * normal), torsional * normal)
    before = sub(old, scale(n, old_normal))
    stiffness = k * rolling * rolling
    trial = sub(scale(tangential(rotation, n), -stiffness), before)
    size = math.sqrt(dot(trial, trial))
    axis = scale(trial, 1.0 / size) if size > 0.0 else NONE
    w = dot(axis, times(own, axis)) + dot(axis, times(other, axis))
    roll = add(before, scale(trial, 1.0 / (1.0 + stiffness * w)))
    size = math.sqrt(dot(roll, roll))
    roll = scale(roll, rolling * normal / size) if size > rolling * normal else roll
    return add(scale(n, spin), roll)


@kernel(fastmath=STEADY)
def finish_sweep_group(
    g,
    groups: ColouredGroups,
    rows: SweepRows,
    elements: Elements,
    jacobian_rows: JacobianRows,
    points: Points,
    work: PointWork,
    nodes: Nodes,
    joints: np.int64,
):
    """Write forces and displacements of a group after the last sweep."""
    e = elements.order[groups.first[g]]
    if e < joints:
        # by its stiffness a joint would report the remaining error of the sweeps as a force
        elements.force[e], elements.displacement[e] = elements.accumulated[e], (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    elif e < joints + len(jacobian_rows):
        jacobian_rows.force[e - joints], jacobian_rows.displacement[e - joints] = (
            jacobian_rows.accumulated[e - joints],
            0.0,
        )
    else:
        for k in range(groups.row[g], groups.row[g] + groups.count[g]):
            finish_point(k, joints + len(jacobian_rows), rows, elements, points, work, nodes)


@steady
def finish_point(k, first_point, rows, elements, points, work, nodes):
    """Write force, gap, slip and state of a point, and the friction that is carried on."""
    p = rows.point[k]
    e = first_point + p
    elements.displacement[e] = relative_displacement(e, elements, nodes.vector)
    advance_point(p, e, points, work, elements)
    f, _ = halves(rows.force[k])
    n = points.normal[p]
    normal, hold = dot(n, f), tangential(f, n)
    slides = dot(hold, hold) >= (work.friction_coefficient[p] * normal) * (work.friction_coefficient[p] * normal)
    work.status[p] = APART if normal <= 0.0 else (SLIDING if slides else STICKING)
    work.force[p] = f
    kept = add(rows.hold[k], scale(sub(hold, rows.hold[k]), LEAVES))
    work.kept_force[p] = add(scale(n, normal), friction(kept, normal, rows.law[k]))


@kernel(fastmath=STEADY)
def move_sweep_node(j, nodes: Nodes, components: Components, frames: Frames, solver_frames: SolverFrames):
    """Move the frame of a node by its displacement since joints were evaluated."""
    if components.direct[nodes.component[j]] == 0:
        g, done = nodes.vector[j], nodes.evaluated[j]
        step = g[0] - done[0], g[1] - done[1], g[2] - done[2], g[3] - done[3], g[4] - done[4], g[5] - done[5]
        move(nodes.frame[j], step, frames, solver_frames)
        nodes.evaluated[j] = g


@kernel
def mark_swept(i, solver_frames: SolverFrames, nodes: Nodes, components: Components):
    """Store whether sweeps have solved a frame."""
    node = solver_frames.node[i]
    solver_frames.swept[i] = node >= 0 and components.direct[nodes.component[node]] == 0


@kernel
def mark_swept_joint(j, values: JointValues, elements: Elements, components: Components):
    """Store whether sweeps have solved a joint."""
    component = elements.component[j]
    values.swept[j] = component >= 0 and components.direct[component] == 0


class Sweeps:
    """Records the sweeps over the components that are not solved directly.

    Args:
        graph: The graph.
        elements: The elements.
        jacobian_rows: The Jacobian rows.
        points: The contact points.
        work: Their work values.
        frames: The frames.
        solver_frames: Their work values.
        counts: Numbers of elements, nodes and components.
        joints: The joints.
    """

    def __init__(
        self,
        graph: Graph,
        elements: Elements,
        jacobian_rows: JacobianRows,
        points: Points,
        work: PointWork,
        frames: Frames,
        solver_frames: SolverFrames,
        counts: Counts,
        joints: Joints,
    ) -> None:
        self._graph, self._elements, self._jacobian_rows = graph, elements, jacobian_rows
        self._joints, self._data, self._values = len(joints), joints.data, joints.values
        self._points, self._work, self._frames, self._solver_frames = points, work, frames, solver_frames
        self._counts, self._order, self._rows = counts, SweepOrder(counts), SweepRows.zeros(0)

    def record(self, p: Program, h: float, escape: float) -> None:
        """Record the solution; `h` is the substep [s], `escape` the depenetration speed [m/s]."""
        components, nodes, counts = self._graph.components, self._graph.nodes, self._counts
        elements, jacobian_rows, groups, rows = self._elements, self._jacobian_rows, self._order.groups, self._rows
        frames, solver_frames, joints = self._frames, self._solver_frames, self._joints
        first_point, each, every = joints + len(jacobian_rows), (counts.groups, 0), (counts.nodes, 0)
        self._order.record_list(p, components, nodes, elements, jacobian_rows, first_point)
        p.require(rows, (counts.rows, 0))
        records = groups, rows, elements, self._points, self._work, frames, nodes
        p.launch(write_sweep_rows, *records, first_point, h, escape, count=each, grain=GRAIN)
        p.launch(start_sweep_node, nodes, components, frames, solver_frames, h, count=every)
        records = groups, rows, elements, jacobian_rows, frames, solver_frames, nodes, joints
        self._record_colours(p, start_sweep_group, records, backward=False)
        records = groups, rows, elements, jacobian_rows, frames, nodes, joints, h
        self._record_pair(p, records)
        with p.loop(SWEEPS // 2 - 1):
            if joints:
                self._record_evaluate(p, h)
            self._record_pair(p, records)
        records = groups, rows, elements, jacobian_rows, self._points, self._work, nodes
        p.launch(finish_sweep_group, *records, joints, count=each, grain=GRAIN)
        p.launch(move_sweep_node, nodes, components, frames, solver_frames, count=every)

    def record_finish(self, p: Program) -> None:
        """Record which frames and joints were solved by sweeps, at the end of a substep."""
        components = self._graph.components
        p.launch(mark_swept, self._solver_frames, self._graph.nodes, components, count=len(self._solver_frames))
        p.launch(mark_swept_joint, self._values, self._elements, components, count=self._joints)

    def _record_pair(self, p: Program, records: tuple) -> None:
        """Record a sweep forward and one backward."""
        self._record_colours(p, sweep_group, records, backward=False)
        self._record_colours(p, sweep_group, records, backward=True)

    def _record_evaluate(self, p: Program, h: float) -> None:
        """Record the move of the bodies, and the evaluation of the joints there."""
        elements, components, nodes, count = self._elements, self._graph.components, self._graph.nodes, self._joints
        p.launch(write_swept_displacement, elements, components, nodes, count=count, grain=GRAIN)
        records = nodes, components, self._frames, self._solver_frames
        p.launch(move_sweep_node, *records, count=(self._counts.nodes, 0))
        records = self._data, self._values, elements, components, self._frames
        p.launch(evaluate_swept, *records, h, count=count, grain=GRAIN)

    def _record_colours(self, p: Program, kernel: Any, records: tuple, backward: bool) -> None:
        for cells, alone in self._order.colours(backward):
            p.launch(kernel, *records, colours=cells, grain=ALONE if alone else GRAIN)
