"""Grabs of places on bodies, solved like attachments of a fixed particle at the target to the place.

The inverse mass of the body is that at the place (Mueller et al. 2020, eq. 2 and 3). The push acts at the place as it
was at the start of the substep, and is an impulse that wakes a body that sleeps.
"""

import numpy as np

from shinari.compute import Program, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.quaternion import rotate
from shinari.maths.vec3 import add, dot, scale, sub
from shinari.model.particles import Clock
from shinari.systems.coupling.attachment_rows import attachment_multiplier
from shinari.systems.coupling.records import BodySweeps
from shinari.systems.coupling.response import apply_reaction, begin_body_sweep, end_body_sweep
from shinari.systems.grabs.system import NOTHING, Counts, GrabbedPoints, aim
from shinari.systems.rigid.frames import Frames


@kernel(fastmath=STEADY)
def pull_bodies(
    _,
    grabbed: GrabbedPoints,
    counts: Counts,
    frames: Frames,
    body_sweeps: BodySweeps,
    clock: Clock,
    first: int,
    h: np.float64,
    fraction: np.float64,
):
    """Solve the grabs of bodies there and back; see `attachment_rows`."""
    count = counts.all[0]
    for turn in range(2 * count):
        k = turn if turn < count else 2 * count - 1 - turn
        b = grabbed.body[k]
        if b != NOTHING:
            if first != 0 and turn < count:
                grabbed.multiplier[k] = 0.0, 0.0, 0.0
                grabbed.start[k] = add(frames.x0[b], rotate(frames.q0[b], grabbed.local[k]))
            target = aim(k, grabbed, fraction * np.float64(clock.substep[0] + 1))
            there = add(frames.x[b], rotate(frames.q[b], grabbed.local[k]))
            arm, against = sub(grabbed.start[k], frames.x0[b]), scale(grabbed.multiplier[k], -1.0)
            push = attachment_multiplier(sub(target, there), 0.0, frames, b, arm, grabbed.scaled_compliance[k], against)
            apply_reaction(frames, body_sweeps, b, arm, push, (0.0, 0.0, 0.0), 1.0 / h)
            grabbed.multiplier[k] = sub(grabbed.multiplier[k], push)


@kernel(fastmath=STEADY)
def add_work_on_bodies(_, grabbed: GrabbedPoints, counts: Counts, frames: Frames, h: np.float64):
    """A substep is over: add the work of the forces on bodies."""
    for k in range(counts.all[0]):
        b = grabbed.body[k]
        if b != NOTHING:
            now = add(frames.x[b], rotate(frames.q[b], grabbed.local[k]))
            grabbed.work[k] += dot(grabbed.multiplier[k], sub(now, grabbed.place[k])) / (h * h)
            grabbed.place[k] = now


def record_pull(
    p: Program,
    grabbed: GrabbedPoints,
    counts: Counts,
    frames: Frames,
    clock: Clock,
    first: int,
    h: float,
    fraction: float,
) -> None:
    """Record that all grabs of bodies are solved once."""
    body_sweeps = BodySweeps.zeros(len(frames))
    p.launch(begin_body_sweep, frames, body_sweeps, count=len(frames))
    p.serial(pull_bodies, grabbed, counts, frames, body_sweeps, clock, first, h, fraction)
    p.launch(end_body_sweep, frames, body_sweeps, h, count=len(frames))
