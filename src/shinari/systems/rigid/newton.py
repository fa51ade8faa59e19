"""Newton steps of all components: which of them are solved, and which need another step."""

import numpy as np

from shinari.compute import kernel
from shinari.systems.rigid.frames import Motions
from shinari.systems.rigid.graph import Components, Nodes
from shinari.systems.rigid.line_search import RENEWED, SETTLED, SOLVED, UNSETTLED
from shinari.systems.rigid.progress import Counts, Flags

# How often the limits of friction are taken anew in a substep.
MOST_RENEWALS = 4
# A joint's rows are straight for turns below the root of this [rad^2]; beyond, they are looked at again where they end.
FAR = 0.02**2


@kernel
def start_solution(_, counts: Counts, flags: Flags):
    """No step has been taken."""
    counts.steps[0], counts.renewals[0], flags.renewed[0] = 0, 0, 0


@kernel
def choose_solver(c, components: Components, nodes: Nodes, motions: Motions, flags: Flags, light: float, slow: float):
    """Decide whether a component is solved directly or swept in a substep.

    Args:
        c: The component.
        components: The components.
        nodes: Their nodes.
        motions: Velocities of the frames.
        flags: Receives whether a component is swept.
        light: Products of blocks for each body up to which it is always solved directly.
        slow: Speed below which bodies count as resting [m/s].
    """
    first, last = components.node[c], components.node[c + 1]
    direct = components.ordered[c] != 0
    if direct and components.cost[c] > light * (last - first):
        # at rest the factor serves for a whole step; in motion it would be made anew in every Newton step
        for j in range(first, last):
            v = motions.start_v[nodes.frame[j]]
            direct = direct and v[0] * v[0] + v[1] * v[1] + v[2] * v[2] <= slow * slow
    components.direct[c] = 1 if direct else 0
    if not direct:
        flags.sweeping[0] = 1


@kernel
def start_component(c, components: Components):
    """What is solved directly is to be solved."""
    components.unfinished[c] = components.direct[c]


@kernel
def conclude_step(_, counts: Counts, flags: Flags, bounded: np.int64):
    """A step was taken: count it, and prepare the decisions about the next."""
    counts.steps[0] += 1
    counts.renewals[0] += flags.renewed[0]
    flags.renewing[0] = 1 if counts.renewals[0] < MOST_RENEWALS else 0
    flags.reconsidering[0], flags.renewed[0], flags.done[0] = bounded, 0, 1


@kernel
def weigh_component(c, components: Components, flags: Flags, joints: np.int64):
    """A step that was cut short goes on; so does one that turned a joint far."""
    if components.unfinished[c] != SOLVED:
        if components.turn[c] == np.inf or (joints > 0 and components.turn[c] > FAR):
            components.unfinished[c] = UNSETTLED
        if components.unfinished[c] == UNSETTLED:
            flags.reconsidering[0] = 1


@kernel
def conclude_component(c, components: Components, flags: Flags):
    """A component that has settled is solved; where friction was renewed, points are to be classified again."""
    state = components.unfinished[c]
    components.renewed[c] = 1 if state == RENEWED else 0
    components.unfinished[c] = SETTLED if state >= UNSETTLED else SOLVED
    if state >= UNSETTLED:
        flags.done[0] = 0
    if state == RENEWED:
        flags.renewed[0] = 1
