"""Sleep: islands at rest are not simulated until something comes.

A body is idle while it is slower than a limit so low that its displacement in a second is below a ten-thousandth of its
size. An island is a set of bodies that joints or contact points connect. It sleeps when all its bodies have been idle
for WAIT and a force of something immovable holds it. What sleeps keeps its poses and its forces.

An island wakes before it is touched: in each substep the contact points are those that the substep may close, and a
point between a frame that moves and one that sleeps wakes the island of the sleeper before that substep is solved. So
does a user edit, or a change of the scene. An external impulse comes when the substep is predicted: its island is
predicted then, and its contacts are found where all have slept. A body that wakes goes on from the forces with which
it fell asleep.
"""

import numpy as np

from shinari.compute import Field, Program, Record, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import dot, scale
from shinari.model.particles import Clock
from shinari.systems.rigid.components import Edges
from shinari.systems.rigid.contact.margins import FrameMargins
from shinari.systems.rigid.contact.pairs import Points
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.graph import find_roots
from shinari.systems.rigid.joints.joints import Joints
from shinari.systems.rigid.joints.table import FIRST, SECOND
from shinari.systems.rigid.joints.values import JointData, JointValues
from shinari.systems.rigid.progress import Counts, Flags
from shinari.systems.rigid.report import Log
from shinari.systems.rigid.tendons.values import TendonLinks

# A body is idle below these speeds [sizes a second], [rad/s], and sleeps after this time [s].
SLOW, SLOW_TURN = 1e-4, 1e-4
WAIT = 0.5


def asleep(idle: np.ndarray) -> np.ndarray:
    """Whether each body sleeps, (B,), by its idle time [s]."""
    return idle >= WAIT


class IdleTimes(Record):
    """Idle times of the bodies, B rows."""

    time = Field(np.float64, unit="s")
    slow = Field(np.bool_, doc="whether it is slower than an idle body may be")


@kernel(fastmath=STEADY)
def measure_idleness(i, idle_times: IdleTimes, frames: Frames, margins: FrameMargins, flags: Flags, dt: np.float64):
    """Decide whether a body is slow as a step ends; update its idle time where its island has no part in it."""
    v, w, size, time = frames.v[i], frames.w[i], margins.size[i], idle_times.time[i]
    most = SLOW * (size if size < np.inf else 1.0)
    slow = dot(v, v) < most * most and dot(w, w) < SLOW_TURN * SLOW_TURN
    idle_times.slow[i] = slow
    if frames.asleep[i]:
        idle_times.time[i] = time + dt
        return
    free = frames.inverse_mass[i] > 0.0
    if time >= WAIT or (free and not slow):
        idle_times.time[i] = 0.0
    if free and slow:
        flags.idling[0] = 1


@kernel
def find_moving(i, idle_times: IdleTimes, frames: Frames, clock: Clock):
    """Tell the clock of a body that is not idle, or that moves others without moving itself."""
    if not frames.asleep[i] and (not idle_times.slow[i] or (frames.active[i] and not frames.inverse_mass[i] > 0.0)):
        clock.moving[0] = 1


class Islands:
    """Finds the bodies that hang together, after a step.

    Args:
        frames: The frames.
        solver_frames: Receives the least frame of the island of each; -1 where it is alone, asleep or immovable.
    """

    def __init__(self, frames: Frames, solver_frames: SolverFrames) -> None:
        self._edges, self._counts, self._solver_frames = Edges.zeros(0), Counts.zeros(1), solver_frames
        self._program = Program()
        self._program.serial(find_roots, self._edges, frames, solver_frames, self._counts)

    def roots(self, pairs: np.ndarray) -> np.ndarray:
        """Least frame of all that pairs of frames (P, 2) connect, (F,)."""
        if len(pairs) > len(self._edges):
            self._edges.grow(len(pairs))
        self._edges.frames[: len(pairs)], self._counts.edges[0] = pairs, len(pairs)
        self._program.run()
        return self._solver_frames.root.copy()


def update_idle_times(
    idle: np.ndarray,
    slow: np.ndarray,
    pairs: np.ndarray,
    holds: np.ndarray,
    roots: np.ndarray,
    awake: np.ndarray,
    disturbed: np.ndarray,
    dt: float,
) -> None:
    """Update the idle times of the bodies that are awake, at the end of a step.

    Args:
        idle: Times [s], (B,), in place.
        slow: Whether bodies are slow, (B,).
        pairs: Frames that joints and contact points connect, (P, 2).
        holds: Whether there is a force between them, (P,).
        roots: Of `Islands.roots`, (F,).
        awake: Frames that can move and do not sleep, (F,).
        disturbed: Frames that stay awake: immovable ones that move, others with a motor or an external impulse, (F,).
        dt: Step [s].
    """
    count = len(idle)
    now = np.where(slow & ~disturbed[:count], idle + dt, 0.0)
    alone = roots < 0
    roots[alone] = np.flatnonzero(alone)
    held = np.zeros(len(awake), bool)
    least = np.full(len(awake), np.inf)
    np.minimum.at(least, roots[:count], now)
    for one, other in (pairs.T, pairs.T[::-1]):
        ends = awake[one] & ~awake[other]
        held[roots[one[ends & holds]]] = True
        # an immovable frame that moves keeps the bodies beside it awake
        np.minimum.at(least, roots[one[ends & disturbed[other]]], 0.0)
    now = np.where(held[roots[:count]], np.minimum(now, least[roots[:count]]), 0.0)
    idle[...] = np.where(awake[:count], now, idle)


@steady
def connected(k, points, joints, values, links):
    """Frames that connection k joins: a joint, a link of a tendon, a contact point; a broken joint only one."""
    if k >= len(joints) + len(links):
        a, b = points.frames[k - len(joints) - len(links)]
    elif k >= len(joints):
        a, b = links.frames[k - len(joints)]
    else:
        a, b = joints.codes[k, FIRST], joints.codes[k, SECOND]
        b = a if values.broken[k] else b
    return a, b


@steady
def rouses(a, b, frames):
    """Whether one of two frames sleeps and the other can move."""
    return (frames.asleep[a] and frames.active[b]) or (frames.asleep[b] and frames.active[a])


@kernel
def find_touched(
    k, points: Points, joints: JointData, values: JointValues, links: TendonLinks, frames: Frames, flags: Flags
):
    """Find out whether something that moves is about to touch a frame that sleeps, or holds it by a joint or tendon."""
    a, b = connected(k, points, joints, values, links)
    if rouses(a, b, frames):
        flags.waking[0] = 1


@kernel
def count_connections(_, counts: Counts, pairs: int):
    """Count connections: pairs of frames of joints and tendons, and contact points."""
    counts.connections[0] = pairs + counts.points[0]


@kernel
def wake_pushed(i, frames: Frames, flags: Flags):
    """Wake a frame that has received an external impulse."""
    if frames.asleep[i]:
        push = frames.impulses[i]
        if push[0] != 0.0 or push[1] != 0.0 or push[2] != 0.0 or push[3] != 0.0 or push[4] != 0.0 or push[5] != 0.0:
            frames.asleep[i], frames.active[i], flags.waking[0] = False, True, 1


@kernel
def wake_islands(
    _,
    points: Points,
    joints: JointData,
    values: JointValues,
    links: TendonLinks,
    frames: Frames,
    counts: Counts,
    flags: Flags,
    log: Log,
    clock: Clock,
    substeps: np.int64,
):
    """Wake all that joints, tendons and contact points connect with a frame that is active.

    Where all slept, the log has the impulses of a step asleep: the report of this step begins with a part of them. Of
    this substep no contacts were found then.
    """
    more = True
    while more:
        more = False
        for k in range(counts.connections[0]):
            a, b = connected(k, points, joints, values, links)
            if rouses(a, b, frames):
                frames.asleep[a] = frames.asleep[b] = False
                frames.active[a] = frames.active[b] = more = True
    if flags.awake[0] == 0:
        part = clock.substep[0] / substeps
        for k in range(counts.logged[0]):
            log.impulse[k] = scale(log.impulse[k], part)
    flags.woken_blind[0] = 1 - flags.solving[0]
    flags.waking[0], flags.free_changed[0], flags.awake[0], flags.solving[0] = 0, 1, 1, 1


class Waking:
    """Records the waking of islands.

    Args:
        points: The contact points.
        joints: The joints.
        links: Frames that tendons connect.
        frames: The frames.
        counts: Numbers of points.
        flags: Decisions of the kernels.
        log: Impulses of the points in the step.
        clock: Where the step is.
        substeps: Substeps of a step.
    """

    def __init__(
        self, points: Points, joints: Joints, links: TendonLinks, frames: Frames, counts: Counts, flags: Flags,
        log: Log, clock: Clock, substeps: int,
    ) -> None:  # fmt: skip
        self._connections, self._frames = (points, joints.data, joints.values, links), frames
        self._report = log, clock, substeps
        self._pairs = len(joints) + len(links)
        self._counts, self._flags = counts, flags

    def record_touched(self, p: Program) -> None:
        """Record the waking of islands that are about to be touched."""
        counts = self._counts
        p.serial(count_connections, counts, self._pairs)
        p.launch(find_touched, *self._connections, self._frames, self._flags, count=(counts.connections, 0))
        with p.when((self._flags.waking, 0)):
            self.record_islands(p)

    def record_pushed(self, p: Program) -> None:
        """Record that frames are woken that have received an external impulse."""
        p.launch(wake_pushed, self._frames, self._flags, count=len(self._frames))

    def record_islands(self, p: Program) -> None:
        """Record the waking of the islands of what is awake."""
        records = *self._connections, self._frames, self._counts, self._flags
        p.serial(wake_islands, *records, *self._report)
