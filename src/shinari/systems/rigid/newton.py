"""Newton steps of all components: which of them are solved, and which need another step."""

import numpy as np

from shinari.compute import kernel
from shinari.systems.rigid.graph import Components
from shinari.systems.rigid.line_search import RENEWED, SETTLED, SOLVED, UNSETTLED
from shinari.systems.rigid.progress import Counts, Flags

# How often the limits of friction are taken anew in a substep.
MOST_RENEWALS = 4
# Newton steps of a component whose factor takes this many products of blocks for each of its bodies.
FEW_STEPS, HEAP = 4, 12.0
# A joint's rows are straight for turns below the root of this [rad^2]; beyond, they are looked at again where they end.
FAR = 0.02**2


@kernel
def start_solution(_, counts: Counts, flags: Flags):
    """No step has been taken."""
    counts.steps[0], counts.renewals[0], flags.renewed[0] = 0, 0, 0


@kernel
def start_component(c, components: Components):
    """What is solved directly is to be solved."""
    components.unfinished[c], components.steps[c], components.found[c] = components.direct[c], 0, 1


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
    """A component that has settled is solved; where friction was renewed, points are to be classified again.

    A heap in motion changes the states of some points in every step: it goes on with what a few steps have found.
    """
    state = components.unfinished[c]
    components.steps[c] += 1
    bodies = components.node[c + 1] - components.node[c]
    if components.steps[c] >= FEW_STEPS and components.cost[c] >= HEAP * bodies:
        components.found[c] = 1 if state < UNSETTLED else 0
        state = SOLVED
    components.renewed[c] = 1 if state == RENEWED else 0
    components.unfinished[c] = SETTLED if state >= UNSETTLED else SOLVED
    if state >= UNSETTLED:
        flags.done[0] = 0
    if state == RENEWED:
        flags.renewed[0] = 1
