"""Solution of a component by sweeps: for heaps whose factor would cost too much.

Projected Gauss-Seidel over the groups of elements, colour by colour, first forward, then backward, warm-started with
the forces of the last substep. Forward and backward in turn would visit the last colour twice, the second time in vain.
A few sweeps are made; what they leave is corrected in later substeps. Normal forces are not negative, and friction is
projected onto Coulomb's cone. The rows of the points: `sweep_rows`.
"""

from typing import Any

import numpy as np

from shinari.collision.law import APART, COMPLIANCE, SLIDING, STICKING, tangential
from shinari.compute import Program, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.symmetric import plus
from shinari.maths.vec3 import add, dot, scale, sub
from shinari.systems.rigid.block import add_rows
from shinari.systems.rigid.components import Components, Nodes
from shinari.systems.rigid.contact.pairs import Points
from shinari.systems.rigid.direct import move
from shinari.systems.rigid.elements import Elements, JacobianRows, PointWork
from shinari.systems.rigid.frames import Frames, SolverFrames, were_swept
from shinari.systems.rigid.graph import Graph
from shinari.systems.rigid.joint_trees import TreeBodies, TreePaths, Trees, find_trees
from shinari.systems.rigid.joints.joints import Joints
from shinari.systems.rigid.joints.limits import store_sides
from shinari.systems.rigid.joints.table import FLAGS, GEAR, HAS_LIMITS, KIND
from shinari.systems.rigid.joints.values import JointData, JointValues
from shinari.systems.rigid.points import Terms
from shinari.systems.rigid.progress import ROOM, Counts
from shinari.systems.rigid.sweep_groups import JOINTS, ONE_BY_ONE, Batches, SweepOrder, Tasks
from shinari.systems.rigid.sweep_joints import evaluate_swept, sweep_jacobian_row, sweep_joint, write_swept_displacement
from shinari.systems.rigid.sweep_points import (
    NONE,
    held_part,
    release,
    spin_side_by_side,
    sweep_lane,
    sweep_side_by_side,
)
from shinari.systems.rigid.sweep_renewal import renew_tree
from shinari.systems.rigid.sweep_rows import (
    AHEAD,
    LEAVES,
    SWEEPS,
    SpinRows,
    SweepRows,
    lane3,
    lane_arms,
    parts_along_and_across,
    set_lane3,
    write_batch,
)
from shinari.systems.rigid.sweep_trees import (
    ZERO,
    displaced,
    displacement_since,
    finish_tree,
    mobility_at,
    mobility_of,
    node_times,
    read_node,
    start_tree,
    wrench,
)

# Batches that a thread takes at once.
GRAIN = 8
# A grain that no colour reaches: one thread takes all.
ALONE = 1 << 60


@kernel(fastmath=STEADY)
def start_sweep_node(j, nodes: Nodes, components: Components, frames: Frames, solver_frames: SolverFrames, h: float):
    """Start a node from its free motion."""
    nodes.tree[j] = -1
    if components.direct[nodes.component[j]] != 0:
        return
    i, h2 = nodes.frame[j], h * h
    m = solver_frames.displacement[i]
    nodes.vector[j] = -m[0], -m[1], -m[2], -m[3], -m[4], -m[5]
    nodes.evaluated[j] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    nodes.mobility[j] = mobility_of(i, frames, h2)


@kernel(fastmath=STEADY)
def start_batch(
    b,
    batches: Batches,
    rows: SweepRows,
    elements: Elements,
    jacobian_rows: JacobianRows,
    frames: Frames,
    solver_frames: SolverFrames,
    bodies: TreeBodies,
    nodes: Nodes,
    joints: np.int64,
):
    """Start the points of a batch; see `begin_batch`."""
    begin_batch(b, batches, rows, elements, jacobian_rows, frames, solver_frames, bodies, nodes, joints)


@kernel(fastmath=STEADY)
def start_task(
    k,
    tasks: Tasks,
    batches: Batches,
    rows: SweepRows,
    elements: Elements,
    jacobian_rows: JacobianRows,
    frames: Frames,
    solver_frames: SolverFrames,
    bodies: TreeBodies,
    nodes: Nodes,
    joints: np.int64,
):
    """Start the joints or points of a task; see `begin_batch`."""
    for b in range(tasks.first[k], tasks.last[k] + 1):
        begin_batch(b, batches, rows, elements, jacobian_rows, frames, solver_frames, bodies, nodes, joints)


@steady
def begin_batch(b, batches, rows, elements, jacobian_rows, frames, solver_frames, bodies, nodes, joints):
    """Clear the forces of joints; apply those of the last substep at contact points, if they were swept then.

    The direct solution carries any stress between stiff rows. Sweeps over softer rows would release it all at once.
    """
    for lane in range(batches.groups[b]):
        e = elements.order[batches.first[b, lane]]
        if e < joints:
            elements.accumulated[e] = ZERO
        elif batches.kind[b] == JOINTS:
            jacobian_rows.accumulated[e - joints] = 0.0
        else:
            warm = were_swept(elements.frames[e, 0], elements.frames[e, 1], frames, solver_frames)
            on_a, on_b = ZERO, ZERO
            for r in range(batches.row[b], batches.row[b] + batches.count[b, lane]):
                f = lane3(rows.force, r, lane) if warm else NONE
                set_lane3(rows.force, r, lane, f)
                ra, rb = lane_arms(rows.arms, r, lane)
                on_a, on_b = add_rows(on_a, wrench(ra, f, NONE, 1.0)), add_rows(on_b, wrench(rb, f, NONE, -1.0))
            start_force(batches.nodes[b, 0, lane], on_a, bodies, nodes)
            start_force(batches.nodes[b, 1, lane], on_b, bodies, nodes)


@steady
def start_force(j, w, bodies, nodes):
    """Apply a force of the last substep to node j; trees are solved with all of them."""
    r = nodes.tree[j]
    if r >= 0:
        bodies.load[r] = add_rows(bodies.load[r], w)
    elif j != len(nodes) - 1:
        nodes.vector[j] = add_rows(nodes.vector[j], node_times(j, w, bodies, nodes))


@steady
def is_renewed(j, trees, bodies, nodes):
    """Whether the tree of a node has a new factor."""
    r = nodes.tree[j]
    return r >= 0 and trees.renewed[bodies.tree[r]]


@kernel(fastmath=STEADY)
def write_tree_mobility(
    b,
    batches: Batches,
    rows: SweepRows,
    elements: Elements,
    points: Points,
    work: PointWork,
    trees: Trees,
    bodies: TreeBodies,
    nodes: Nodes,
    first_point: np.int64,
):
    """Write what a force moves at contact points of bodies in trees, and their stiffnesses, in units of that mass."""
    if batches.kind[b] != ONE_BY_ONE:
        return
    for lane in range(batches.groups[b]):
        i, j = batches.nodes[b, 0, lane], batches.nodes[b, 1, lane]
        if is_renewed(i, trees, bodies, nodes) or is_renewed(j, trees, bodies, nodes):
            for k in range(batches.count[b, lane]):
                p = elements.order[batches.first[b, lane] + k] - first_point
                write_lane_mobility(batches.row[b] + k, lane, p, i, j, rows, points, work, bodies, nodes)


@steady
def write_lane_mobility(r, lane, p, a, b, rows, points, work, bodies, nodes):
    """Write what a force moves at a point, and its stiffness."""
    ra, rb = lane_arms(rows.arms, r, lane)
    mobility = plus(mobility_at(a, ra, bodies, nodes), mobility_at(b, rb, bodies, nodes))
    along, reach, across = parts_along_and_across(mobility, lane3(rows.normal, r, lane))
    lighter = along / rows.along[r, lane]
    rows.along[r, lane], rows.across[r, lane] = along, across
    set_lane3(rows.reach, r, lane, reach)
    if points.law[p, COMPLIANCE] == 0.0:
        grip = rows.grip[r, lane]
        rows.softness[r, lane] *= lighter
        rows.grip[r, lane] = grip / lighter
        hold = add(lane3(rows.hold, r, lane), scale(work.slip[p], grip - rows.grip[r, lane]))
        set_lane3(rows.hold, r, lane, hold)


@kernel(fastmath=STEADY)
def sweep_one_by_one(
    k,
    tasks: Tasks,
    batches: Batches,
    rows: SweepRows,
    spins: SpinRows,
    elements: Elements,
    jacobian_rows: JacobianRows,
    bodies: TreeBodies,
    paths: TreePaths,
    nodes: Nodes,
    joints: np.int64,
    backward: np.int64,
):
    """Solve the joints of a task once, or its points lane after lane, forward or backward."""
    first, last = tasks.first[k], tasks.last[k]
    # the groups of a node follow each other: its tree gets their forces at once
    a, own, on_a = -1, ZERO, ZERO
    for step in range(last - first + 1):
        b = last - step if backward else first + step
        count = batches.groups[b]
        for number in range(count):
            lane = count - 1 - number if backward else number
            e = elements.order[batches.first[b, lane]]
            if batches.kind[b] == ONE_BY_ONE:
                if batches.nodes[b, 0, lane] != a:
                    release(a, on_a, bodies, nodes)
                    a = batches.nodes[b, 0, lane]
                    own, on_a = read_node(a, bodies, paths, nodes), ZERO
                own, on_a = sweep_lane(b, lane, own, on_a, batches, rows, spins, bodies, paths, nodes)
            elif e < joints:
                sweep_joint(e, elements, bodies, paths, nodes)
            else:
                sweep_jacobian_row(e, e - joints, elements, jacobian_rows, bodies, paths, nodes)
    release(a, on_a, bodies, nodes)


@kernel(fastmath=STEADY)
def finish_batch(
    b,
    batches: Batches,
    rows: SweepRows,
    elements: Elements,
    jacobian_rows: JacobianRows,
    points: Points,
    work: PointWork,
    frames: Frames,
    solver_frames: SolverFrames,
    nodes: Nodes,
    joints: np.int64,
):
    """Write the forces of a batch after the last sweep, and the gaps of its points."""
    first_point = joints + len(jacobian_rows)
    for lane in range(batches.groups[b]):
        e = elements.order[batches.first[b, lane]]
        if batches.kind[b] == JOINTS:
            if e >= joints:
                g = e - joints
                jacobian_rows.force[g], jacobian_rows.displacement[g] = jacobian_rows.accumulated[g], 0.0
            continue
        x, y = nodes.vector[batches.nodes[b, 0, lane]], nodes.vector[batches.nodes[b, 1, lane]]
        ahead = AHEAD if were_swept(elements.frames[e, 0], elements.frames[e, 1], frames, solver_frames) else 0.0
        for k in range(batches.count[b, lane]):
            r, p = batches.row[b] + k, elements.order[batches.first[b, lane] + k] - first_point
            n = lane3(rows.normal, r, lane)
            ra, rb = lane_arms(rows.arms, r, lane)
            work.gap[p] += dot(n, displaced(x, y, ra, rb))
            finish_point(r, lane, p, n, ahead, rows, points, work)


@steady
def finish_point(r, lane, p, n, ahead, rows, points, work):
    """Write force and state of a point, and the force that the next substep begins with.

    What a new point carries is the force of an impact, which does not last.
    """
    f, law = lane3(rows.force, r, lane), (rows.law[r, 0, lane], rows.law[r, 1, lane])
    normal, hold = dot(n, f), tangential(f, n)
    slides = dot(hold, hold) >= (work.friction_coefficient[p] * normal) * (work.friction_coefficient[p] * normal)
    work.status[p] = APART if normal <= 0.0 else (SLIDING if slides else STICKING)
    work.force[p] = f
    start = dot(n, points.force[p])
    last = sub(points.force[p], scale(n, start))
    kept = add(last, scale(sub(hold, last), LEAVES))
    more = max(normal + ahead * (normal - start), 0.0) if start > 0.0 else normal
    work.applied[p] = add(scale(n, more), scale(kept, held_part(kept, more, law)))


@kernel(fastmath=STEADY)
def finish_joint(j, joints: JointData, values: JointValues, elements: Elements, components: Components, nodes: Nodes):
    """Write the force of a joint after the last sweep, and the sides on which its limits are active.

    By its stiffness it would report the remaining error of the sweeps as a force.
    """
    component = elements.component[j]
    if component >= 0 and components.direct[component] == 0:
        elements.displacement[j] = displacement_since(j, elements, nodes)
        if joints.codes[j, FLAGS] & HAS_LIMITS:
            store_sides(j, joints.codes, values, elements)
        elements.force[j], elements.displacement[j] = elements.accumulated[j], (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@kernel(fastmath=STEADY)
def move_loose_node(j, nodes: Nodes, components: Components, frames: Frames, solver_frames: SolverFrames):
    """Move the frame of a node that is in no tree by its displacement since joints were evaluated."""
    if nodes.tree[j] < 0:
        move_node(j, nodes, components, frames, solver_frames)


@kernel(fastmath=STEADY)
def move_sweep_node(j, nodes: Nodes, components: Components, frames: Frames, solver_frames: SolverFrames):
    """Move the frame of a node by its displacement since joints were evaluated."""
    move_node(j, nodes, components, frames, solver_frames)


@steady
def move_node(j, nodes, components, frames, solver_frames):
    """Move the frame of a node that sweeps solve by its displacement since joints were evaluated."""
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
    if not values.swept[j]:
        values.sides[j] = 0.0, 0.0, 0.0


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
        rolling: Whether a surface has rolling or torsional friction.
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
        rolling: bool,
    ) -> None:
        self._graph, self._elements, self._jacobian_rows = graph, elements, jacobian_rows
        self._joints, self._data, self._values = len(joints), joints.data, joints.values
        self._points, self._work, self._frames, self._solver_frames = points, work, frames, solver_frames
        self.trees = find_trees(joints.table.codes, frames.inverse_mass > 0.0)
        self._counts, self._order, self._rows = counts, SweepOrder(counts, self.trees), SweepRows.zeros(0)
        self._spins, self._rolling = SpinRows.zeros(0), rolling
        # whether a joint is swept: one that belongs to no tree
        self._loose = bool((~self.trees.members.chosen & (joints.table.codes[:, KIND] != GEAR)).any())

    def record(self, p: Program, h: float, terms: Terms) -> None:
        """Record the solution; `h` is the substep [s]."""
        components, nodes, counts = self._graph.components, self._graph.nodes, self._counts
        elements, jacobian_rows, batches, rows = self._elements, self._jacobian_rows, self._order.batches, self._rows
        frames, solver_frames, joints, bodies = self._frames, self._solver_frames, self._joints, self.trees.bodies
        first_point, each, every = joints + len(jacobian_rows), (counts.batches, 0), (counts.nodes, 0)
        p.launch(start_sweep_node, nodes, components, frames, solver_frames, h, count=every)
        self._record_trees(p, start_tree)
        self._order.record_list(p, components, nodes, elements, jacobian_rows, first_point)
        p.require(rows, (counts.rows, 0), spare=ROOM)
        if self._rolling:
            p.require(self._spins, (counts.rows, 0))
        records = batches, rows, self._spins, elements, self._points, self._work, nodes, components, terms
        p.launch(write_batch, *records, first_point, count=each, grain=GRAIN)
        records = batches, rows, elements, jacobian_rows, frames, solver_frames, bodies, nodes, joints
        for first, others, alone in self._order.colours(backward=False):
            p.launch(start_task, self._order.tasks, *records, colours=first, grain=ALONE if alone else 1)
            if not alone:
                p.launch(start_batch, *records, colours=others, grain=GRAIN)
        self._record_renew(p, h)
        self._record_sweeps(p, first_point, backward=False)
        if self._loose:
            records = elements, components, nodes, self.trees.members
            p.launch(write_swept_displacement, *records, bodies, self.trees.paths, count=joints, grain=GRAIN)
        self._record_renew(p, h)
        if self._loose:
            p.launch(move_loose_node, nodes, components, frames, solver_frames, count=every)
            records = self._data, self._values, elements, components, self.trees.members, frames
            p.launch(evaluate_swept, *records, h, count=joints, grain=GRAIN)
        self._record_sweeps(p, first_point, backward=True)
        self._record_trees(p, finish_tree)
        records = batches, rows, elements, jacobian_rows, self._points, self._work, frames, solver_frames, nodes
        p.launch(finish_batch, *records, joints, count=each, grain=GRAIN)
        p.launch(finish_joint, self._data, self._values, elements, components, nodes, count=joints, grain=64)
        p.launch(move_sweep_node, nodes, components, frames, solver_frames, count=every)

    def record_finish(self, p: Program) -> None:
        """Record which frames and joints were solved by sweeps, at the end of a substep."""
        components = self._graph.components
        p.launch(mark_swept, self._solver_frames, self._graph.nodes, components, count=len(self._solver_frames))
        p.launch(mark_swept_joint, self._values, self._elements, components, count=self._joints)

    def _record_sweeps(self, p: Program, first_point: int, backward: bool) -> None:
        """Record half of the sweeps, all in one direction."""
        elements, batches, rows, nodes = self._elements, self._order.batches, self._rows, self._graph.nodes
        bodies, paths = self.trees.bodies, self.trees.paths
        if len(self.trees.trees) > 1:
            trees = self.trees.trees
            records = batches, rows, elements, self._points, self._work, trees, bodies, nodes, first_point
            p.launch(write_tree_mobility, *records, count=(self._counts.batches, 0), grain=GRAIN)
        records = self._order.tasks, batches, rows, self._spins, elements, self._jacobian_rows, bodies, paths, nodes
        with p.loop(SWEEPS // 2):
            for first, others, alone in self._order.colours(backward):
                if alone or self._joints or len(self._jacobian_rows):
                    singles = *records, self._joints, int(backward)
                    p.launch(sweep_one_by_one, *singles, colours=first, grain=ALONE if alone else 1)
                if not alone:
                    p.launch(sweep_side_by_side, batches, rows, nodes, 0.0, colours=others, grain=GRAIN)
                if not alone and self._rolling:
                    p.launch(spin_side_by_side, batches, rows, self._spins, nodes, 0.0, colours=others, grain=GRAIN)

    def _record_trees(self, p: Program, kernel: Any) -> None:
        """Record a launch over the trees."""
        trees, components, nodes = self.trees, self._graph.components, self._graph.nodes
        records = trees.trees, trees.bodies, trees.joints, self._elements, self._values, components, nodes
        p.launch(kernel, *records, self._solver_frames, count=len(trees.trees) - 1, grain=1)

    def _record_renew(self, p: Program, h: float) -> None:
        """Record the factors of the trees that have none yet, or have come far."""
        trees, components, nodes = self.trees, self._graph.components, self._graph.nodes
        records = trees.trees, trees.bodies, trees.joints, self._elements, self._data, self._values, components, nodes
        count = len(trees.trees) - 1
        p.launch(renew_tree, *records, self._frames, self._solver_frames, h, count=count, grain=1)
