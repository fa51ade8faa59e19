"""Joints and contacts of the bodies as one system of equations: elements, graph, and solution in a substep."""

import math

import numpy as np

from shinari.collision.law import RESTITUTION, ROLLING, TORSION
from shinari.compute import Program, Record
from shinari.model.model import Model
from shinari.model.settings import Settings
from shinari.model.state import State
from shinari.systems.rigid.components import SOLVED, UNSETTLED, RestSpeeds
from shinari.systems.rigid.contact.table import BodyContacts
from shinari.systems.rigid.direct_solver import DirectSolver
from shinari.systems.rigid.elements import Elements, PointWork, clear_accumulated
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.graph import Graph
from shinari.systems.rigid.impacts import BodyImpacts
from shinari.systems.rigid.joints.joints import Joints
from shinari.systems.rigid.joints.table import FIRST, SECOND
from shinari.systems.rigid.joints.values import JointData
from shinari.systems.rigid.line_search import clear_marks, find_step_length, slope_at_ends
from shinari.systems.rigid.model import RigidModel
from shinari.systems.rigid.newton import (
    LIMITS,
    MOST_STEPS,
    RETRY,
    accumulate,
    check_step,
    choose_solver,
    conclude_component,
    conclude_step,
    mark_figure,
    mark_redundant,
    mark_unloaded,
    restore_trial,
    set_failed,
    start_component,
    start_solution,
    store_trial,
)
from shinari.systems.rigid.point_steps import (
    DirectPairs,
    advance_points,
    check_points,
    clear_applied,
    continue_points,
    list_direct_pairs,
    store_points,
)
from shinari.systems.rigid.points import (
    HALF_KEY,
    Terms,
    WarmStart,
    begin_points,
    count_elements,
    measure_failed_points,
    start_points,
    write_warm_start,
)
from shinari.systems.rigid.progress import ROOM, Counts, Flags
from shinari.systems.rigid.report import PointLog
from shinari.systems.rigid.rest import (
    PairPushes,
    add_pushes,
    begin_balance,
    choose_resting,
    find_balance,
    find_disturbed,
    push_at_start,
    stay,
)
from shinari.systems.rigid.round_sides import round_sides
from shinari.systems.rigid.sweeps import Sweeps
from shinari.systems.rigid.tendons.tendons import Tendons

# Speed at which overlaps leave a resting heap, as a part of the speed that gravity gives in a step.
CALM = 0.01


class BodyEquations:
    """Joints and contacts between frames.

    Attributes:
        joints: The joints.
        tendons: The tendons.
        contacts: The points of contact.
        elements: Their elements.
        log: Their impulses in the last step.
        counts: Numbers of rows in use.
        flags: Decisions of the kernels.
        solver_frames: Work values of the solver for each frame.
    """

    def __init__(self, rigid: RigidModel, frames: Frames, model: Model, state: State, settings: Settings) -> None:
        self._frames, self._settings, self._rigid = frames, settings, rigid
        self._free = frames.inverse_mass > 0.0
        self.joints = Joints(rigid.table, state.system_arrays)
        weight = float(np.linalg.norm(model.gravity))
        self._gravity = tuple(model.gravity.tolist())
        self._speeds = RestSpeeds.of(weight, settings.dt, settings.substep)
        # kernels of bounces are compiled only where a surface has a restitution
        surface = rigid.collision_shapes.arrays.surface
        self._bouncing = bool((surface[:, RESTITUTION] > 0.0).any())
        self.contacts = BodyContacts(
            rigid.collision_shapes, frames, settings.dt, settings.substep, weight, settings.contact_detection
        )
        self._round_sides = round_sides(rigid.collision_shapes)
        self.tendons = Tendons(rigid.tendon_table, state.system_arrays, self.joints, rigid.world)
        self._jacobian_rows = self.joints.jacobian_rows(rigid.tendon_table.rows)
        self.tendons.add_rows(self._jacobian_rows)
        self._first_point = len(self.joints) + len(self._jacobian_rows)
        self.counts, self.flags, self.solver_frames = Counts.zeros(1), Flags.zeros(1), SolverFrames.zeros(len(frames))
        self._points, self._work = self.contacts.table, PointWork.zeros(0)
        self._pairs, self._direct_pairs = (self.contacts.detection.active_pairs, 0), DirectPairs.zeros(0)
        self._pushes: PairPushes = PairPushes.zeros(0)
        self._warm_start = WarmStart.zeros(0)
        self._terms = Terms(
            gravity=np.array([self._gravity]),
            h=np.array([settings.substep]),
            escape=np.array([settings.depenetration_speed]),
            resists=np.array([int((surface[:, ROLLING : TORSION + 1] > 0.0).any())]),
            fall=np.array([weight * settings.substep**2 if weight > 0.0 else np.inf]),
            slow=np.array([weight * settings.dt]),
            leaves=np.array([CALM * weight * settings.dt * settings.substep]),
        )
        self.elements = Elements.zeros(self._first_point)
        self._limits = LIMITS[settings.rigid_solver]
        self._graph = Graph(frames, self.solver_frames, self.counts, self.flags, self._limits, self._speeds)
        self._direct = DirectSolver(
            self._graph,
            self.elements,
            self._jacobian_rows,
            frames,
            self.solver_frames,
            self.counts,
            self.flags,
            len(self.joints),
        )
        self._sweeps = Sweeps(
            self._graph, self.elements, self._jacobian_rows, self._points, self._work, frames, self.solver_frames,
            self.counts, self.joints, bool((surface[:, ROLLING : TORSION + 1] > 0.0).any()),
        )  # fmt: skip
        self._impacts = BodyImpacts(
            self._graph, self.elements, self._points, self._work, frames, self.solver_frames, self.counts, self.flags,
            self._gravity, settings.substep,
        )  # fmt: skip
        self.log = PointLog(
            self._points, self._work, self.elements, self.counts, self.contacts.detection, self.flags,
            self._first_point,
        )  # fmt: skip

    @property
    def _firsts(self) -> tuple[JointData, int, int]:
        """The joints, and the first elements of tendons and of contact points."""
        return self.joints.data, len(self.joints) + len(self._rigid.table.gears), self._first_point

    def record_begin(self, p: Program) -> None:
        """Record the begin of a step."""
        self.joints.record_begin(p, self._frames)
        self.tendons.record_begin(p)
        self._direct.record_begin(p)

    def begin(self, time: float) -> None:
        """A step begins at a time [s]."""
        self.contacts.begin()
        self.log.begin()
        self.flags.first_of_step[0] = 1
        self.flags.retrying[0] = round(time / self._settings.dt) % RETRY == 0

    @property
    def motorised_frames(self) -> np.ndarray:
        """Frames on which a motor acts."""
        joints = self._rigid.table.codes[self.joints.driven, FIRST : SECOND + 1].ravel()
        return np.concatenate([joints, self.tendons.driven_frames])

    def record_start(self, p: Program) -> None:
        """Record the begin of a substep, before the prediction."""
        self.joints.record_start(p, self._frames, self.solver_frames, self._settings.substep)
        self.tendons.record_start(p, self._frames, self._settings.substep)

    def set_free_frames(self, free: np.ndarray) -> None:
        """Set the frames that can move, (F,)."""
        if not np.array_equal(free, self._free):
            self._free, self.flags.free_changed[0] = free, 1

    def record_end(self, p: Program) -> None:
        """Record the end of a step."""
        self.log.record_end(p, self._frames)
        p.require(self._warm_start, (self.counts.points, 0), spare=ROOM)
        p.launch(write_warm_start, self._points, self._warm_start, count=(self.counts.points, 0))

    def warm_start(self) -> np.ndarray:
        """Forces of the contact points for `set_warm_start`: both halves of each key, core point and force, (P, 8).

        As they were at the end of the last step; the end of the next one writes over them.
        """
        return self._warm_start.row[: self.counts.points[0]]

    def set_warm_start(self, warm_start: np.ndarray) -> None:
        """Set the forces of the contact points from `warm_start`."""
        high, low = warm_start[:, 0].astype(np.int64), warm_start[:, 1].astype(np.int64)
        self.contacts.set_warm_start(high * HALF_KEY + low, warm_start[:, 2:])

    def connections(self) -> tuple[np.ndarray, np.ndarray]:
        """Frames that a joint or a contact point connects, (P, 2), and whether with a force, (P,)."""
        points, values = self.contacts.table, self.joints.values
        whole = ~values.broken
        links = self.tendons.links.frames
        pairs = [self._rigid.table.codes[whole, FIRST : SECOND + 1], points.frames[: points.count], links]
        forces = [values.loads[whole].any(axis=1), points.force[: points.count].any(axis=1), np.ones(len(links), bool)]
        return np.concatenate(pairs), np.concatenate(forces)

    def record_find(self, p: Program) -> None:
        """Find the points of contact at the start of a substep."""
        self.contacts.record_find(p)
        p.copy((self.contacts.detection.points, 0), (self.counts.points, 0))

    def record_points(self, p: Program) -> None:
        """Start the substep at the contact points."""
        counts, points = self.counts, self._points
        p.copy((self.contacts.detection.points, 0), (counts.points, 0))
        p.serial(count_elements, counts, self.flags, self.contacts.detection, self._first_point)
        p.require(self._work, (counts.points, 0), spare=ROOM)
        p.require(self.elements, (counts.elements, 0), spare=ROOM)
        p.copy(0, (self.flags.continued, 0))
        records = self.contacts.pairs, points, self._work, self.elements, self._graph.components, self._frames
        records = *records, self.contacts.margins, self.flags, self._terms, self.contacts.detection
        p.launch(start_points, *records, self._first_point, count=self._pairs)
        self._record_clear(p)

    def _record_clear(self, p: Program) -> None:
        """Clear the forces of joints and Jacobian rows, whose frames stand at their prediction."""
        records = self.elements, self._jacobian_rows
        p.launch(clear_accumulated, *records, len(self.joints), count=self._first_point)

    def record_continue(self, p: Program) -> None:
        """Keep the forces of the last solution before another one in the same substep."""
        p.copy(1, (self.flags.continued, 0))
        records = self.contacts.pairs, self._work, self.elements, self._graph.components, self._graph.nodes
        p.launch(continue_points, *records, self._first_point, count=self._pairs)

    def record_solve(self, p: Program) -> None:
        """Solve the positions. Where the bounce offsets are inconsistent, solve again without them."""
        if not self._bouncing:
            self._record_positions(p)
            return
        impacts, flags = self._impacts, self.flags
        with p.when((flags.has_bounce_offset, 0)):
            impacts.record_store(p)
        self._record_positions(p)
        p.copy(0, (flags.wrong, 0))
        with p.when((flags.has_bounce_offset, 0)):
            impacts.record_check(p, *self._firsts)
        with p.when((flags.wrong, 0)):
            impacts.record_drop(p, self._first_point)
            self._record_clear(p)
            p.launch(clear_applied, self._work, count=(self.counts.points, 0))
            self._record_positions(p)

    def _record_positions(self, p: Program) -> None:
        """Newton steps until the states of the contacts do not change."""
        points, work, elements, first = self._points, self._work, self.elements, self._first_point
        counts, flags, graph, components = self.counts, self.flags, self._graph, self._graph.components
        each, h = (counts.components, 0), self._settings.substep
        self.joints.record_evaluate(p, elements, self._jacobian_rows, self._frames, h)
        self.tendons.record_evaluate(p, elements, self._jacobian_rows, self._frames, h)
        graph.record_arrange(p, elements)
        with p.when((counts.nodes, 0)):
            p.copy(0, (flags.sweeping, 0))
            p.copy(0, (flags.trying, 0))
            with p.when((flags.elements_changed, 0)):
                if graph.may_sweep:
                    p.launch(mark_figure, components, elements, self._sweeps.trees.members, first, count=each)
                if self.joints.redundant:
                    p.launch(mark_redundant, components, elements, self.joints.data, count=each)
            records = components, graph.nodes, elements, self._frames, self.solver_frames, flags
            # where sweeps cannot be needed, their kernels are not there either
            simple = self._limits.simple if graph.may_sweep else math.inf
            limits = simple, self._limits.light, self._limits.small
            p.launch(choose_solver, *records, self._speeds, first, *limits, count=each)
            if graph.may_sweep:
                p.launch(mark_unloaded, components, elements, points, first, count=each)
            p.copy(0, (flags.first_of_step, 0))
            self._record_rest(p)
        # where all bodies sleep, there are points without nodes, and their forces are reported
        records = self.contacts.pairs, points, work, elements, self._frames, self._round_sides, components, self._terms
        p.launch(begin_points, *records, first, count=self._pairs)
        with p.when((counts.nodes, 0)):
            p.require(self._direct_pairs, self._pairs)
            p.serial(list_direct_pairs, self.contacts.pairs, self._direct_pairs, self.contacts.detection, counts)
            if graph.may_sweep:
                with p.when((flags.trying, 0)):
                    p.launch(store_trial, *self._node_records, count=(counts.nodes, 0))
            p.serial(start_solution, counts, flags)
            p.launch(start_component, components, flags, count=each)
            with p.repeat(MOST_STEPS, until=(flags.done, 0)):
                self._record_step(p)
            if graph.may_sweep:
                with p.when((flags.failed, 0)):
                    self._record_failed(p)
                with p.when((flags.sweeping, 0)):
                    self._sweeps.record(p, h, self._terms)

    def _record_rest(self, p: Program) -> None:
        """Find the components that stay where the substep began."""
        points, work, elements, components = self._points, self._work, self.elements, self._graph.components
        flags, nodes, frames, solver_frames = self.flags, self._graph.nodes, self._frames, self.solver_frames
        each, every, first = (self.counts.components, 0), (self.counts.nodes, 0), self._first_point
        with p.when((flags.standing, 0)):
            p.launch(find_disturbed, nodes, components, frames, solver_frames, self.contacts.margins, count=every)
        p.copy(0, (flags.standing, 0))
        p.copy(0, (flags.resting, 0))
        p.launch(choose_resting, components, self.contacts.detection, flags, count=each)
        with p.when((flags.resting, 0)):
            p.require(self._pushes, self._pairs, spare=ROOM)
            records = self.contacts.pairs, points, work, elements, components, self._pushes, self._terms
            p.launch(push_at_start, *records, first, count=self._pairs)
            records = nodes, components, frames, solver_frames
            p.launch(begin_balance, *records, self._settings.substep, count=every)
            p.serial(add_pushes, self._pushes, nodes, self.contacts.detection)
            p.launch(find_balance, components, nodes, frames, flags, count=each, grain=8)
        with p.when((flags.standing, 0)):
            p.launch(stay, nodes, components, frames, solver_frames, count=every)

    @property
    def _node_records(self) -> tuple[Record, ...]:
        return self._graph.nodes, self._graph.components, self._frames, self.solver_frames

    def _record_failed(self, p: Program) -> None:
        """Restore what belongs to components whose trial has failed."""
        points, work, elements, components = self._points, self._work, self.elements, self._graph.components
        each, first = (self.counts.components, 0), self._first_point
        p.launch(restore_trial, *self._node_records, count=(self.counts.nodes, 0))
        records = self.contacts.pairs, points, work, elements, components, self._frames, self._round_sides
        p.launch(measure_failed_points, *records, first, count=self._pairs)
        p.launch(set_failed, components, UNSETTLED, count=each)
        self._record_evaluate_again(p)
        self.joints.record_evaluate_failed(p, elements, self._frames, components, self._settings.substep)
        p.launch(set_failed, components, SOLVED, count=each)

    def _record_evaluate_again(self, p: Program) -> None:
        """Evaluate joints and tendons of components that are not solved, and mark those whose limits changed."""
        records, h = (self.elements, self._jacobian_rows), self._settings.substep
        components = self._graph.components
        self.joints.record_evaluate_again(p, *records, self._frames, components, h)
        self.tendons.record_evaluate_again(p, *records, self._frames, components, h)
        self.joints.record_restore(p, *records, components)
        self.tendons.record_restore(p, self.elements, components)

    def _record_step(self, p: Program) -> None:
        """A Newton step of the components that are not solved, and their states after it."""
        points, work, elements, jacobian_rows = self._points, self._work, self.elements, self._jacobian_rows
        frames, flags, first, h = self._frames, self.flags, self._first_point, self._settings.substep
        components, nodes, joints = self._graph.components, self._graph.nodes, len(self.joints)
        each = self.counts.components, 0
        self._direct.record_displacements(p, self.joints.values, h)
        p.launch(clear_marks, components, count=each)
        records = self._direct_pairs, self.contacts.pairs, points, work, elements, components, nodes
        p.launch(check_points, *records, first, count=(self.counts.direct_pairs, 0))
        lines = components, nodes, elements, jacobian_rows, work, frames, self.solver_frames
        p.launch(slope_at_ends, *lines, joints, h, count=each, grain=16)
        p.launch(find_step_length, components, elements, points, work, first, count=each, grain=16)
        self._direct.record_step(p)
        p.serial(conclude_step, self.counts, flags, 1 if self.joints.bounded or self.tendons.bounded else 0)
        p.launch(check_step, components, self.counts, flags, joints + len(self.tendons), count=each)
        if joints or len(self.tendons):
            with p.when((flags.reconsidering, 0)):
                p.launch(accumulate, elements, jacobian_rows, components, joints, count=first)
                self._record_evaluate_again(p)
        p.launch(conclude_component, components, self.counts, flags, count=each)
        with p.when((flags.unsettled, 0)):
            p.launch(advance_points, *records, first, count=(self.counts.direct_pairs, 0))

    def record_return_moments(self, p: Program) -> None:
        """Leave to the angular momenta of the next substep what the solution of the joints took."""
        components, pulled, h = self._graph.components, self._rigid.tendon_table.pulled, self._settings.substep
        self.joints.record_return_moments(p, self.elements, self._frames, self.solver_frames, components, pulled, h)

    def record_finish(self, p: Program) -> None:
        """Store the forces at the end of a substep, for the next one."""
        points, work, elements, components = self._points, self._work, self.elements, self._graph.components
        h, records = self._settings.substep, (self.contacts.pairs, points, work, elements, components)
        p.launch(store_points, *records, self._graph.nodes, self._frames, self._first_point, count=self._pairs)
        self.log.record_add(p, self._frames, h)
        if self._graph.may_sweep:
            self._sweeps.record_finish(p)
        self.joints.record_settle(p, elements, self._jacobian_rows, self._frames, components, h)
        self.tendons.record_settle(p, elements, self._jacobian_rows, self._frames, components, h)

    def record_bounce(self, p: Program) -> None:
        """Apply restitution to the velocities of the substep."""
        if not self._bouncing:
            return
        with p.when((self.flags.may_bounce, 0)), p.when((self.counts.nodes, 0)):
            joints, *firsts = self._firsts
            trees = self._sweeps.trees.bodies, self._sweeps.trees.paths
            self._impacts.record_bounce(p, self._direct, self._jacobian_rows, joints, trees, self.log.entries, *firsts)
