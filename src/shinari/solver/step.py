"""One step: the algorithm of the papers.

Mueller et al. 2006, algorithm 1 (predict, project, derive the velocity); Macklin et al. 2016, algorithm 1
(multipliers); Macklin et al. 2019, Small Steps, algorithm 1 (substeps, the multipliers zeroed in each).
"""

import math

import numba
import numpy as np

from shinari.model import Model
from shinari.scene.motion import NO_ROTATION, pose_at
from shinari.settings import Settings
from shinari.solver.jacobi import PLAIN_ITERATIONS, chebyshev_weight
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
        drive_targets(model, state, work, end)
        work.coarse(threads)
        project(state, work, settings, threads, substep)
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
        break_rows(model, state, work, h)
        if work.flows is not None:
            work.flows.advance(threads)
        if work.tears is not None:
            work.tears.check(threads)
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


def project(state: State, work: Workspace, settings: Settings, threads: int, substep: int) -> None:
    """The solver loop of a substep: every block, the parts, what is held, then the contacts, once per iteration."""
    accelerated = settings.sweep == "chebyshev"
    history = Chebyshev(state) if accelerated else None
    for iteration in range(settings.iterations):
        work.project[iteration == 0](threads)
        for part in work.parts:
            part.project(threads, iteration == 0)
        if history is not None:
            history.extrapolate(iteration, settings.spectral_radius)
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


class Chebyshev:
    """Positions and multipliers of the last two iterations, and their extrapolation."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._last: list[np.ndarray] | None = None
        self._before: list[np.ndarray] | None = None
        self._weight = 1.0

    def extrapolate(self, iteration: int, spectral_radius: float) -> None:
        """Replace the result of a plain iteration by the accelerated one."""
        values = [self._state.x, *self._state.multipliers.values()]
        self._weight = chebyshev_weight(iteration, self._weight, spectral_radius)
        if self._before is not None and iteration >= PLAIN_ITERATIONS:
            for value, before in zip(values, self._before, strict=True):
                value -= before
                value *= value.dtype.type(self._weight)
                value += before
        self._before, self._last = self._last, [value.copy() for value in values]


def drive_targets(model: Model, state: State, work: Workspace, time: float) -> None:
    """Move the targets of attachments to where they are at a time."""
    for driver in model.drivers:
        solver = next(s for s in work.solvers if s.block.type.name == driver.block)
        solver.drive(driver.rows, pose_at(driver.motion, time, NO_ROTATION, "attach: second")[0], state)


def break_rows(model: Model, state: State, work: Workspace, h: float) -> None:
    """Let go of rows whose force is above their limit: they become infinitely soft."""
    for item in model.breakables:
        multipliers = state.multipliers[item.block][item.rows].reshape(len(item.rows), -1)
        torn = np.linalg.norm(multipliers, axis=1) > item.force * h * h
        if torn.any():
            rows = item.rows[torn]
            state.broken[item.block][rows] = True
            solver = next(s for s in work.solvers if s.block.type.name == item.block)
            solver.release(rows)
            work.loosened = True
