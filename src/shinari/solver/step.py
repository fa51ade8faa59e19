"""One step: the algorithm of the papers.

Mueller et al. 2006, algorithm 1 (predict, project, derive the velocity); Macklin et al. 2016, algorithm 1
(multipliers); Macklin et al. 2019, Small Steps, algorithm 1 (substeps, the multipliers zeroed in each).

It is recorded once; a compiled loop replays it. Between the first and the last substep no Python runs. `docs/step.md`
follows it from `Simulation.step` to the machine code.
"""

from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np

from shinari.compute import Program
from shinari.model.contact_passes import ContactPasses, begin_passes, conclude_first, conclude_pass
from shinari.model.particles import Clock
from shinari.model.settings import Settings
from shinari.model.state import State
from shinari.model.system import System, record
from shinari.solver.bound_systems import BoundSystems

PHASES = (
    "begin", "forces", "detect", "predict", "project", "contacts", "between", "overlap", "settle", "velocities",
    "restitution", "finish", "check", "end",
)  # fmt: skip
"""The phases in the order of a step; `System.record_<phase>` says what each is for.

`begin` comes before the first substep, `check` and `end` after the last. An iteration is `project` and `contacts`, and
then passes of `between`, `contacts` and `overlap`."""

# Contacts are solved in passes: what a collider gives to the lowest layer of a stack has to reach the others. There are
# more passes while a contact still overlaps by more than a part of its gap, of what moves alone if all systems know
# what they have moved. Colliders alone take two: what pushes a triangle out may push its neighbours in. A single
# convex one that meets nothing but particles takes one.
ALONE, PASSES, MOST_PASSES = 2, 3, 6
TOLERATED = 0.02


def step(state: State, bound: BoundSystems, settings: Settings, threads: int) -> bool:
    """Advance the state by dt; False when it has left the finite numbers, and then what the user sees is unchanged."""
    begin_step(state, bound, settings, threads)
    if not bound.advance(threads, record_step):
        for system in bound.systems:
            system.check()
        return False
    end_step(state, bound)
    return True


def begin_step(state: State, bound: BoundSystems, settings: Settings, threads: int) -> None:
    """Begin a step in Python: read the state, follow changes, begin each system."""
    time = state.frame * settings.dt
    ends = time + settings.substep * np.arange(1, settings.substeps + 1)
    bound.read(threads)
    bound.follow_changes()
    if bound.begin_rest(time, ends):
        return
    for system in bound.systems:
        system.begin(time, ends)


def end_step(state: State, bound: BoundSystems) -> None:
    """End a step in Python: count it, end each system."""
    state.count_steps(1)
    if not bound.clock.awake[0] or bound.take_back():
        return
    for system in bound.systems:
        system.end()


def record_step(p: Program, systems: Sequence[System], clock: Clock, settings: Settings) -> None:
    """Record a step of all systems; on a GPU, which would have to ask the host, no scene is at rest."""
    with p.when((clock.awake, 0)) if settings.device == "cpu" else nullcontext():
        record_awake(p, systems, clock, settings)


def record_awake(p: Program, systems: Sequence[System], clock: Clock, settings: Settings) -> None:
    """Record a step of all systems of a scene that is not at rest."""
    passes, solvers = ContactPasses.zeros(1, clock.precision), sum(system.solves_contacts for system in systems)
    record(p, systems, "begin")
    with p.loop(settings.substeps, index=(clock.substep, 0)):
        p.copy(solvers, (clock.solvers, 0))
        record(p, systems, "forces")
        record(p, systems, "detect")
        record(p, systems, "predict")
        p.copy(0, (clock.iteration, 0))
        record_iteration(p, systems, clock, passes, first=True)
        if settings.iterations > 1:
            with p.loop(settings.iterations - 1, index=(clock.iteration, 0)):
                record_iteration(p, systems, clock, passes, first=False)
        record(p, systems, "settle")
        record(p, systems, "velocities")
        record(p, systems, "restitution")
        record(p, systems, "finish")
    record(p, systems, "check")
    record(p, systems, "end")


def record_iteration(p: Program, systems: Sequence[System], clock: Clock, passes: ContactPasses, first: bool) -> None:
    """Record an iteration: all constraints once, then the contacts in passes."""
    record(p, systems, "project", first)
    repeated = [system for system in systems if system.solves_contacts or system.repeated]
    if not repeated:
        return
    p.serial(begin_passes, passes, clock)
    p.copy(int(first), (clock.first, 0))
    record(p, systems, "contacts", first)
    p.copy(0, (clock.first, 0))
    others = [system for system in repeated if not system.in_one_pass]
    if not others:
        return
    if len(others) == len(repeated) or not all(system.steps_aside for system in others):
        record_passes(p, systems, clock, passes)
        return
    p.serial(conclude_first, passes, clock)
    with p.when((passes.more, 0)):
        record_passes(p, systems, clock, passes)


def record_passes(p: Program, systems: Sequence[System], clock: Clock, passes: ContactPasses) -> None:
    """Record the passes after the first one."""
    local = all(system.tells_moved for system in systems if system.solves_contacts or system.repeated)
    most = max(MOST_PASSES, *(system.most_passes for system in systems))
    with p.repeat(most - 1, until=(passes.done, 0)):
        record(p, systems, "between")
        record(p, systems, "contacts", False)
        record(p, systems, "overlap", passes)
        p.serial(conclude_pass, passes, clock, ALONE, PASSES, MOST_PASSES, TOLERATED, int(local))
