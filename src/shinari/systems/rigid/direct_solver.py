"""Newton steps of all components of bodies, as a program records them."""

import math

from shinari.compute import Program
from shinari.systems.rigid.direct import (
    assemble,
    assemble_impact,
    factor_and_solve,
    start_impact_node,
    start_node,
    take_impact,
    take_step,
    update_load,
    write_motion,
)
from shinari.systems.rigid.elements import Elements, JacobianRows
from shinari.systems.rigid.frames import Frames, Motions
from shinari.systems.rigid.graph import Graph
from shinari.systems.rigid.joints.values import JointValues
from shinari.systems.rigid.progress import Counts, Flags
from shinari.systems.rigid.refine import FAILURES, KEEP, forget_factor, solve_again


class DirectSolver:
    """Records Newton steps of the components that are unfinished.

    Args:
        graph: The graph.
        elements: The elements.
        jacobian_rows: The Jacobian rows.
        frames: The frames.
        motions: Their motions.
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
        motions: Motions,
        counts: Counts,
        flags: Flags,
        joints: int,
    ) -> None:
        self._graph, self._elements, self._jacobian_rows = graph, elements, jacobian_rows
        self._frames, self._motions, self._joints = frames, motions, joints
        self._flags = flags
        self._each, self._every, self._all = (counts.components, 0), (counts.nodes, 0), (counts.elements, 0)

    def record_motions(self, p: Program, values: JointValues, h: float) -> None:
        """Motions of nodes and elements by a full step."""
        g, el, jacobian_rows = self._graph, self._elements, self._jacobian_rows
        p.copy(0, (self._flags.factoring, 0))
        records = g.components, g.nodes, g.blocks, el, jacobian_rows, values, self._frames, self._motions
        p.launch(solve_again, *records, self._flags, h, count=self._each, grain=8)
        with p.when((self._flags.factoring, 0)):
            p.launch(start_node, g.nodes, g.blocks, g.components, self._frames, self._motions, h, count=self._every)
            p.launch(assemble, g.components, g.nodes, g.blocks, el, jacobian_rows, values, count=self._each, grain=8)
            p.launch(
                factor_and_solve, g.components, g.nodes, g.blocks, g.targets, KEEP, FAILURES, count=self._each, grain=8
            )
        self._record_element_motions(p)
        p.launch(update_load, values, el, g.components, count=self._joints)

    def record_step(self, p: Program) -> None:
        """Move the frames by the parts of the step."""
        g = self._graph
        records = g.components, g.nodes, self._elements, self._jacobian_rows, self._frames, self._motions
        p.launch(take_step, *records, self._joints, count=self._each, grain=8)

    def record_impact(self, p: Program, h: float) -> None:
        """Changes of the velocities by the forces of the elements; the poses stay."""
        g, el, jacobian_rows = self._graph, self._elements, self._jacobian_rows
        p.launch(start_impact_node, g.nodes, g.blocks, g.components, self._frames, h, count=self._every)
        p.launch(
            assemble_impact, g.components, g.nodes, g.blocks, el, jacobian_rows, self._joints, count=self._each, grain=8
        )
        p.launch(factor_and_solve, g.components, g.nodes, g.blocks, g.targets, math.inf, 0, count=self._each, grain=8)
        self._record_element_motions(p)
        p.launch(take_impact, g.nodes, g.components, self._motions, count=self._every)

    def record_begin(self, p: Program) -> None:
        """A step begins."""
        p.launch(forget_factor, self._graph.components, count=self._each)

    def _record_element_motions(self, p: Program) -> None:
        g, el = self._graph, self._elements
        p.launch(write_motion, el, g.components, g.nodes, self._jacobian_rows, self._joints, count=self._all)
