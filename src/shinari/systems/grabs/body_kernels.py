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
from shinari.systems.coupling.records import Turns
from shinari.systems.coupling.response import apply_reaction, begin_turn, end_turn
from shinari.systems.grabs.system import NOTHING, Counts, Held, aim
from shinari.systems.rigid.frames import Frames


@kernel(fastmath=STEADY)
def pull_bodies(
    _, held: Held, counts: Counts, frames: Frames, turns: Turns, clock: Clock, first: int, h: np.float64,
    part: np.float64,
):  # fmt: skip
    """Solve the grabs of bodies there and back; see `attachment_rows`."""
    count = counts.all[0]
    for turn in range(2 * count):
        k = turn if turn < count else 2 * count - 1 - turn
        b = held.body[k]
        if b != NOTHING:
            if first != 0 and turn < count:
                held.multiplier[k] = 0.0, 0.0, 0.0
                held.start[k] = add(frames.x0[b], rotate(frames.q0[b], held.local[k]))
            target = aim(k, held, part * np.float64(clock.substep[0] + 1))
            there = add(frames.x[b], rotate(frames.q[b], held.local[k]))
            arm, against = sub(held.start[k], frames.x0[b]), scale(held.multiplier[k], -1.0)
            push = attachment_multiplier(sub(target, there), 0.0, frames, b, arm, held.softness[k], against)
            apply_reaction(frames, turns, b, arm, push, (0.0, 0.0, 0.0), 1.0 / h)
            held.multiplier[k] = sub(held.multiplier[k], push)


@kernel(fastmath=STEADY)
def add_work_on_bodies(_, held: Held, counts: Counts, frames: Frames, h: np.float64):
    """A substep is over: add the work of the forces on bodies."""
    for k in range(counts.all[0]):
        b = held.body[k]
        if b != NOTHING:
            now = add(frames.x[b], rotate(frames.q[b], held.local[k]))
            held.work[k] += dot(held.multiplier[k], sub(now, held.place[k])) / (h * h)
            held.place[k] = now


def record_pull(
    p: Program, held: Held, counts: Counts, frames: Frames, clock: Clock, first: int, h: float, part: float
) -> None:
    """Record that all grabs of bodies are solved once."""
    turns = Turns.zeros(len(frames))
    p.launch(begin_turn, frames, turns, count=len(frames))
    p.serial(pull_bodies, held, counts, frames, turns, clock, first, h, part)
    p.launch(end_turn, frames, turns, h, count=len(frames))
