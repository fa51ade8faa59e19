"""Launches of the Newton steps of all components."""

import math

from shinari.compute import Program
from shinari.compute.program import Cell
from shinari.systems.rigid.direct import (
    apply_step,
    assemble,
    assemble_impact,
    start_impact_node,
    start_node,
    store_impact,
    update_load,
    write_displacement,
)
from shinari.systems.rigid.elements import Elements, JacobianRows
from shinari.systems.rigid.factor import factor_and_solve
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.graph import Graph
from shinari.systems.rigid.joints.values import JointValues
from shinari.systems.rigid.progress import Counts, Flags
from shinari.systems.rigid.refine import FAILURES, KEEP, drop_factor, solve_again


class DirectSolver:
    """Records the Newton steps of the components that are not solved.

    Args:
        graph: The graph.
        elements: The elements.
        jacobian_rows: The Jacobian rows.
        frames: The frames.
        solver_frames: Their work values.
        counts: Numbers of elements, nodes and components.
        flags: Decisions of the kernels.
        joints: Number of joints.
    """

    def __init__(
        self,
        graph: Graph,
        elements: Elements,
        jacobian_rows: JacobianRows,
        frames: Frames,
        solver_frames: SolverFrames,
        counts: Counts,
        flags: Flags,
        joints: int,
    ) -> None:
        self._graph, self._elements, self._jacobian_rows = graph, elements, jacobian_rows
        self._frames, self._solver_frames, self._joints = frames, solver_frames, joints
        self._counts, self._flags = counts, flags
        self._each, self._every, self._all = (counts.components, 0), (counts.nodes, 0), (counts.elements, 0)

    def record_displacements(self, p: Program, values: JointValues, h: float) -> None:
        """Record the displacements of nodes, joints and Jacobian rows in a full step."""
        g, el, jacobian_rows = self._graph, self._elements, self._jacobian_rows
        p.copy(0, (self._flags.factoring, 0))
        records = g.components, g.nodes, g.blocks, el, jacobian_rows, values, self._frames, self._solver_frames
        p.launch(solve_again, *records, self._flags, h, count=self._each, grain=8)
        with p.when((self._flags.factoring, 0)):
            p.launch(
                start_node, g.nodes, g.blocks, g.components, self._frames, self._solver_frames, h, count=self._every
            )
            p.launch(assemble, g.components, g.nodes, g.blocks, el, jacobian_rows, values, count=self._each, grain=8)
            self._record_factor(p, KEEP, FAILURES)
        self._record_element_displacements(p, self._joints + len(jacobian_rows))
        p.launch(update_load, values, el, g.components, count=self._joints)

    def record_step(self, p: Program) -> None:
        """Record the move of the frames by their parts of the step."""
        g = self._graph
        records = g.components, g.nodes, self._elements, self._jacobian_rows, self._frames, self._solver_frames
        p.launch(apply_step, *records, self._joints, count=self._each, grain=8)

    def record_impact(self, p: Program, h: float) -> None:
        """Record the changes of velocity by the forces of the elements; the poses stay."""
        g, el, jacobian_rows = self._graph, self._elements, self._jacobian_rows
        p.launch(start_impact_node, g.nodes, g.blocks, g.components, self._frames, h, count=self._every)
        p.launch(
            assemble_impact, g.components, g.nodes, g.blocks, el, jacobian_rows, self._joints, count=self._each, grain=8
        )
        self._record_factor(p, math.inf, 0)
        self._record_element_displacements(p, self._all)
        p.launch(store_impact, g.nodes, g.components, self._solver_frames, count=self._every)

    def record_begin(self, p: Program) -> None:
        """Record the begin of a step."""
        p.copy(0, (self._flags.standing, 0))
        p.launch(drop_factor, self._graph.components, count=len(self._graph.components))

    def _record_factor(self, p: Program, keep: float, failures: int) -> None:
        g = self._graph
        g.panels.record(p, (self._counts.large, 0))
        records = g.components, g.nodes, g.blocks, g.targets
        p.launch(factor_and_solve, *records, keep, failures, count=self._each, grain=8)

    def _record_element_displacements(self, p: Program, count: Cell) -> None:
        g, el = self._graph, self._elements
        p.launch(write_displacement, el, g.components, g.nodes, self._jacobian_rows, self._joints, count=count)
