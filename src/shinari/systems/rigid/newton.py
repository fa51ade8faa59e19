"""Newton steps of all components: which components are solved, and which need another step."""

import numpy as np

from shinari.compute import kernel
from shinari.systems.rigid.frames import SolverFrames
from shinari.systems.rigid.graph import PENDING, RENEWED, SOLVED, UNSETTLED, Components, Nodes
from shinari.systems.rigid.progress import Counts, Flags

# Largest number of updates of the limits of friction in a substep.
MOST_RENEWALS = 4
# Square of a rotation [rad^2] up to which the rows of a joint count as linear. Beyond it they are evaluated again at
# the new pose.
FAR = 0.02**2


@kernel
def start_solution(_, counts: Counts, flags: Flags):
    """Clear the counters of the solution."""
    counts.renewals[0], flags.renewed[0] = 0, 0


@kernel
def choose_solver(
    c, components: Components, nodes: Nodes, solver_frames: SolverFrames, flags: Flags, light: float, slow: float
):
    """Decide whether a component is solved directly or by sweeps in a substep.

    Args:
        c: The component.
        components: The components.
        nodes: Their nodes.
        solver_frames: Velocities of the frames.
        flags: Receives whether a component is solved by sweeps.
        light: Products of blocks for each body up to which it is always solved directly.
        slow: Speed below which bodies count as resting [m/s].
    """
    first, last = components.node[c], components.node[c + 1]
    direct = components.ordered[c] != 0
    if direct and components.cost[c] > light * (last - first):
        # at rest one factor serves for a whole step; in motion every Newton step would need another
        for j in range(first, last):
            v = solver_frames.start_v[nodes.frame[j]]
            direct = direct and v[0] * v[0] + v[1] * v[1] + v[2] * v[2] <= slow * slow
    components.direct[c] = 1 if direct else 0
    if not direct:
        flags.sweeping[0] = 1


@kernel
def start_component(c, components: Components):
    """Mark a directly solved component as pending."""
    components.solution[c] = components.direct[c]


@kernel
def conclude_step(_, counts: Counts, flags: Flags, bounded: np.int64):
    """Count the Newton step, and clear the decisions about the next one."""
    counts.renewals[0] += flags.renewed[0]
    flags.renewing[0] = 1 if counts.renewals[0] < MOST_RENEWALS else 0
    flags.reconsidering[0], flags.renewed[0], flags.done[0] = bounded, 0, 1


@kernel
def check_step(c, components: Components, flags: Flags, joints: np.int64):
    """Mark a component unsettled after a partial step, or after a step that rotated a jointed body by more than FAR."""
    if components.solution[c] != SOLVED:
        if components.largest_rotation_squared[c] == np.inf or (
            joints > 0 and components.largest_rotation_squared[c] > FAR
        ):
            components.solution[c] = UNSETTLED
        if components.solution[c] == UNSETTLED:
            flags.reconsidering[0] = 1


@kernel
def conclude_component(c, components: Components, flags: Flags):
    """A pending component is solved. An unsettled one becomes pending for the next Newton step.

    Points are classified again where friction was renewed.
    """
    state = components.solution[c]
    components.renewed[c] = 1 if state == RENEWED else 0
    components.solution[c] = PENDING if state >= UNSETTLED else SOLVED
    if state >= UNSETTLED:
        flags.done[0] = 0
    if state == RENEWED:
        flags.renewed[0] = 1
