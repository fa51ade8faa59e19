"""Rows of grabs of bodies.

A grab is solved like an attachment of a fixed particle at the target to the place that is held, with the inverse mass
of the body there (Mueller et al. 2020, eq. 2 and 3); see `shinari.rigid.coupling.attachment_rows`. The impulse acts at
the place as it was at the start of the substep, and wakes a body that sleeps.
"""

from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Program, function, kernel
from shinari.compute.kernels import STEADY
from shinari.live.grab_rows import GrabCounts, GrabRows, aim, passed
from shinari.maths.quaternion import rotate
from shinari.maths.vec3 import add, dot, scale, sub
from shinari.rigid.coupling.attachment_rows import AttachmentRows, solve_attachments
from shinari.rigid.coupling.records import Turns
from shinari.rigid.coupling.response import begin_turn, end_turn
from shinari.rigid.frames import Frames
from shinari.solver.particles import Clock, Groups, Particles

if TYPE_CHECKING:
    from shinari.settings import Settings


@function(fastmath=STEADY)
def place_now(g, rows, frames):
    """Place that a grab holds, in the world."""
    b = rows.body[g]
    return add(frames.x[b], rotate(frames.q[b], rows.place[g]))


@kernel(fastmath=STEADY, mixed=True)
def load_grab(
    _, rows: GrabRows, counts: GrabCounts, row: AttachmentRows, target: Particles, group: Groups, frames: Frames,
    clock: Clock, substeps: np.float64, h: np.float64, first: np.int64,
):  # fmt: skip
    """Take over the grab whose turn it is as an attachment."""
    g = counts.particles[0] + counts.turn[0]
    b = rows.body[g]
    if first != 0:
        rows.multiplier[g] = 0.0, 0.0, 0.0
        rows.start[g] = add(frames.x0[b], rotate(frames.q0[b], rows.place[g]))
    place, soft = aim(rows, g, passed(clock, substeps), h)
    group.origin[0] = place
    # the attachment takes the line of its push from where the particle was
    target.v[0] = scale(sub(place, rows.start[g]), 1.0 / h)
    row.body[0], row.place[0], row.compliance[0] = b, rows.place[g], soft * h * h
    row.multiplier[0] = scale(rows.multiplier[g], -1.0)


@kernel(fastmath=STEADY)
def store_grab(_, rows: GrabRows, counts: GrabCounts, row: AttachmentRows):
    """Keep the multiplier of the grab whose turn it is."""
    rows.multiplier[counts.particles[0] + counts.turn[0]] = scale(row.multiplier[0], -1.0)


@kernel(fastmath=STEADY)
def finish_body_grabs(_, rows: GrabRows, counts: GrabCounts, frames: Frames, inverse_h2: np.float64):
    """Add the work of the grabs of bodies in a substep; `inverse_h2` is 1 / h^2."""
    for g in range(counts.particles[0], counts.all[0]):
        place = place_now(g, rows, frames)
        rows.work[g] += inverse_h2 * dot(rows.multiplier[g], sub(place, rows.last[g]))
        rows.last[g] = place


class BodyGrabs:
    """Grabs of bodies in the solver.

    Args:
        frames: Frames of the bodies.
        rows: The grabs.
        counts: How many there are.
        clock: Where the step is.
        settings: Settings.
    """

    def __init__(self, frames: Frames, rows: GrabRows, counts: GrabCounts, clock: Clock, settings: "Settings") -> None:
        self._frames, self._rows, self._counts, self._clock = frames, rows, counts, clock
        self._settings = settings
        self._row: AttachmentRows = AttachmentRows.zeros(1)
        self._row.limit[0] = np.inf
        self._target: Particles = Particles.zeros(1, np.float64)
        self._group: Groups = Groups.zeros(1)
        self._turns: Turns = Turns.zeros(len(frames))

    def record_project(self, p: Program, first: int) -> None:
        """Record that the grabs are solved once in an iteration of a substep, one after the other."""
        frames, turns, h, substeps = self._frames, self._turns, self._settings.substep, self._settings.substeps
        row, target, group = self._row, self._target, self._group
        with p.loop((self._counts.bodies, 0), index=(self._counts.turn, 0)):
            p.serial(load_grab, self._rows, self._counts, row, target, group, frames, self._clock, substeps, h, first)
            p.launch(begin_turn, frames, turns, count=len(frames))
            p.serial(solve_attachments, row, target, group, frames, turns, first, h)
            p.launch(end_turn, frames, turns, h, count=len(frames))
            p.serial(store_grab, self._rows, self._counts, row)

    def record_finish(self, p: Program, inverse_h2: float) -> None:
        """Record the work of a substep."""
        with p.when((self._counts.bodies, 0)):
            p.serial(finish_body_grabs, self._rows, self._counts, self._frames, inverse_h2)
