"""Launches of impacts: bounces, and their limits of energy. See `bounce` and `impact_energy`."""

from shinari.compute import Program
from shinari.systems.rigid.bounce import (
    apply_bounce,
    apply_friction,
    choose_bounced,
    clear_bounce,
    clear_jacobian_row,
    clear_joint,
    find_bounced,
    find_bouncing,
    release_pulling_point,
    write_bounce,
)
from shinari.systems.rigid.contact.pairs import Points
from shinari.systems.rigid.direct_solver import DirectSolver
from shinari.systems.rigid.elements import Elements, JacobianRows, PointWork
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.graph import Graph
from shinari.systems.rigid.impact_energy import (
    check_gain,
    classify_component,
    drop_bounce_offset,
    limit_bounce,
    limit_energy,
    limit_velocities,
    mark_missed,
    predict_final_velocities,
    restore_poses,
    scale_impulse,
    store_limit,
    store_poses,
)
from shinari.systems.rigid.integration import update_inertia
from shinari.systems.rigid.joints.values import JointData
from shinari.systems.rigid.progress import Counts, Flags
from shinari.systems.rigid.report import Log
from shinari.systems.rigid.sweep_bounce import bounce_by_sweeps


class BodyImpacts:
    """Impacts of the points of contact of one system."""

    def __init__(
        self,
        graph: Graph,
        elements: Elements,
        points: Points,
        work: PointWork,
        frames: Frames,
        solver_frames: SolverFrames,
        counts: Counts,
        flags: Flags,
        gravity: tuple[float, float, float],
        h: float,
    ) -> None:
        # change of velocity by gravity in half a substep
        self._kick, self._h = tuple(0.5 * h * g for g in gravity), h
        self._graph, self._elements, self._points, self._work = graph, elements, points, work
        self._frames, self._solver_frames, self._flags, self._counts = frames, solver_frames, flags, counts
        self._all, self._each = (counts.points, 0), (counts.components, 0)

    def record_store(self, p: Program) -> None:
        """Store poses and limits of friction before the positions are solved."""
        p.launch(store_poses, self._frames, self._solver_frames, count=len(self._frames))
        p.launch(store_limit, self._work, count=self._all)

    def record_check(self, p: Program, joints: JointData, first_tendon: int, first_point: int) -> None:
        """Find components whose bounce offsets were missed or increased the energy."""
        components, nodes = self._graph.components, self._graph.nodes
        frames, solver_frames, flags = self._frames, self._solver_frames, self._flags
        self._record_limits(p, joints, first_tendon, first_point)
        p.launch(predict_final_velocities, frames, solver_frames, self._h, count=len(frames))
        p.launch(check_gain, components, nodes, frames, solver_frames, flags, *self._kick, count=self._each, grain=16)
        records = self._points, self._work, self._elements, components, nodes, flags
        p.launch(mark_missed, *records, first_point, count=self._all)

    def record_drop(self, p: Program, first_point: int) -> None:
        """Restore the values before the solution, and drop the bounce offsets of inconsistent components."""
        components = self._graph.components
        p.launch(restore_poses, self._frames, self._solver_frames, count=len(self._frames))
        p.launch(drop_bounce_offset, self._work, self._elements, components, first_point, count=self._all)

    def _record_limits(self, p: Program, joints: JointData, first_tendon: int, first_point: int) -> None:
        """State, reference velocity and kinetic energy before the impacts of each component."""
        components, frames, solver_frames = self._graph.components, self._frames, self._solver_frames
        records = components, self._elements, joints, self._points, self._work, frames, solver_frames
        p.launch(classify_component, *records, first_tendon, first_point, count=self._each, grain=16)
        records = components, self._graph.nodes, frames, solver_frames
        p.launch(limit_energy, *records, *self._kick, self._h, count=self._each, grain=16)

    def record_bounce(
        self,
        p: Program,
        solver: DirectSolver,
        jacobian_rows: JacobianRows,
        joints: JointData,
        trees: tuple,
        log: Log,
        first_tendon: int,
        first_point: int,
    ) -> None:
        """Apply restitution to points that approach fast enough; their impulses are added to the log."""
        components, nodes, frames = self._graph.components, self._graph.nodes, self._frames
        work, elements, flags, h = self._work, self._elements, self._flags, self._h
        swept = components, nodes, elements, jacobian_rows, self._points, frames, self._solver_frames, *trees
        p.copy(0, (flags.bouncing, 0))
        p.launch(clear_bounce, components, count=self._each)
        p.launch(find_bouncing, work, elements, components, first_point, count=self._all)
        p.launch(find_bounced, work, elements, components, flags, first_point, count=self._all)
        self._record_limits(p, joints, first_tendon, first_point)
        p.launch(limit_velocities, components, nodes, frames, *self._kick, count=self._each, grain=16)
        with p.when((flags.bouncing, 0)):
            p.launch(choose_bounced, components, count=self._each)
            p.launch(clear_joint, elements, count=len(joints))
            p.launch(clear_jacobian_row, jacobian_rows, count=len(jacobian_rows))
            # with the inertia of the predicted poses, friction would give energy to a body that the impact turns far
            p.launch(update_inertia, frames, count=len(frames))
            p.launch(write_bounce, self._points, work, elements, components, frames, first_point, h, count=self._all)
            with p.repeat(2, until=(flags.settled, 0)):
                solver.record_impact(p, h)
                if self._graph.may_sweep:
                    p.launch(bounce_by_sweeps, *swept, len(joints), h, count=self._each, grain=1)
                p.copy(1, (flags.settled, 0))
                p.launch(release_pulling_point, self._points, elements, flags, first_point, count=self._all)
            self._record_velocities(p, log, first_point)

    def _record_velocities(self, p: Program, log: Log, first_point: int) -> None:
        components, nodes, elements = self._graph.components, self._graph.nodes, self._elements
        frames, solver_frames, every, h = self._frames, self._solver_frames, (self._counts.nodes, 0), self._h
        p.launch(limit_bounce, components, nodes, frames, solver_frames, *self._kick, h, count=self._each, grain=16)
        p.launch(scale_impulse, elements, components, first_point, count=self._all)
        p.launch(apply_bounce, nodes, frames, solver_frames, h, count=every)
        records = components, self._points, self._work, elements, frames, log, self._counts
        p.launch(apply_friction, *records, first_point, h, count=self._each, grain=16)
