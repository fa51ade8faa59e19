"""One step: the algorithm of the papers.

Mueller et al. 2006, algorithm 1 (predict, project, derive the velocity); Macklin et al. 2016, algorithm 1
(multipliers); Macklin et al. 2019, Small Steps, algorithm 1 (substeps, the multipliers zeroed in each).
"""

import math

import numba
import numpy as np

from shinari.model import Model
from shinari.settings import Settings
from shinari.solver.workspace import Workspace
from shinari.state import State

# Contacts are solved in turns: what a collider gives to the lowest layer of a stack has to reach the others. There are
# more turns while a contact still overlaps by more than a part of its gap. Colliders alone take two: what pushes a
# triangle out may push its neighbours in.
ALONE, TURNS, MOST_TURNS = 2, 3, 6
TOLERATED = 0.02


def step(model: Model, state: State, work: Workspace, settings: Settings) -> bool:
    """Advance the state by dt; False when it has left the finite numbers, and then what the user sees is unchanged."""
    h, x, v = settings.substep, state.x, state.v
    time = state.frame * settings.dt
    threads = numba.get_num_threads()
    work.read(threads)
    ends = time + h * np.arange(1, settings.substeps + 1)
    work.times.end[...] = ends
    work.drivers.begin(ends)
    if work.air is not None:
        work.air.begin(ends)
    if work.emission is not None:
        work.emission.begin(time)
    work.follow_tears(model, state, settings)
    if work.bodies is not None:
        work.bodies.begin(time, threads)
    for family in work.contacts:
        family.begin(time)
    if work.fluid is not None:
        work.fluid.begin(ends)
    for grab in work.grabs:
        grab.begin(settings.dt)
    for substep in range(settings.substeps):
        end = ends[substep]
        work.clock.substep[0] = substep
        work.forces(threads)
        for family in work.contacts:
            family.prepare(end, threads)
        work.predict(threads)
        if work.bodies is not None:
            work.bodies.predict(end, threads)
        for part in work.parts:
            part.predict(h)
        work.drive(threads)
        work.coarse(threads)
        project(work, settings, threads, substep)
        for family in work.contacts:
            family.settle(threads)
        work.velocities(threads)
        for part in work.parts:
            part.finish(threads)
        if work.bodies is not None:
            work.bodies.finish(threads)
        for grab in work.grabs:
            grab.finish()
        for family in work.contacts:
            family.bounce(threads)
        work.fail(threads)
    with np.errstate(over="ignore", invalid="ignore"):
        total = float(x.sum()) + float(v.sum())
    if not math.isfinite(total):
        return False
    if work.bodies is not None and not work.bodies.publish():
        return False
    work.write(threads)
    state.frame += 1
    state.external_work += sum(grab.work for grab in work.grabs)
    if work.bodies is not None:
        state.external_work += work.bodies.system.joints.work
    return True


def project(work: Workspace, settings: Settings, threads: int, substep: int) -> None:
    """The solver loop of a substep: every block, the parts, what is held, then the contacts, once per iteration."""
    for iteration in range(settings.iterations):
        work.clock.iteration[0] = iteration
        work.project[iteration == 0](threads)
        for part in work.parts:
            part.project(threads, iteration == 0)
        work.accelerate(threads)
        for grab in work.grabs:
            grab.project(substep, settings, iteration == 0)
        least = TURNS if len(work.contacts) > 1 else ALONE
        for turn in range(MOST_TURNS):
            if turn > 0:
                for volumes in work.volumes:
                    volumes.project(threads, False)
            overlaps = [family.project(threads, iteration == 0 and turn == 0) for family in work.contacts]
            if work.bodies is not None:
                work.bodies.project(threads, iteration == 0 and turn == 0)
            if turn + 1 >= least and max(overlaps, default=0.0) <= TOLERATED:
                break
