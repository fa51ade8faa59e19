"""Sleep: islands at rest are not simulated until something comes.

A body is idle while it is slower than a limit so low that its displacement in a second is below a ten-thousandth of its
size. An island is a set of bodies that joints or contact points connect. It sleeps when all its bodies have been idle
for WAIT and a force of something immovable holds it. What sleeps keeps its poses and its forces.

An island wakes before it is touched: in each substep the contact points are those that the substep may close, and a
point between a frame that moves and one that sleeps wakes the island of the sleeper before that substep is solved. So
does an external impulse, a user edit, or a change of the scene. A body that wakes goes on from the forces with which it
fell asleep.
"""

import numpy as np

from shinari.compute import Program, kernel
from shinari.systems.rigid.contact.table import Points
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.graph import roots_of
from shinari.systems.rigid.joints.joints import Joints
from shinari.systems.rigid.joints.table import FIRST, SECOND
from shinari.systems.rigid.joints.values import JointData, JointValues
from shinari.systems.rigid.progress import Counts, Flags

# A body is idle below these speeds [sizes a second], [rad/s], and sleeps after this time [s].
SLOW, SLOW_TURN = 1e-4, 1e-4
WAIT = 0.5


def asleep(idle: np.ndarray) -> np.ndarray:
    """Whether each body sleeps, (B,), by its idle time [s]."""
    return idle >= WAIT


def update_idle_times(
    idle: np.ndarray,
    slow: np.ndarray,
    pairs: np.ndarray,
    holds: np.ndarray,
    free: np.ndarray,
    disturbed: np.ndarray,
    dt: float,
) -> None:
    """Update the idle times of bodies at the end of a step.

    Args:
        idle: Times [s], (B,), in place.
        slow: Whether bodies are slow, (B,).
        pairs: Frames that joints and contact points connect, (P, 2).
        holds: Whether there is a force between them, (P,).
        free: Frames that can move, asleep or not, (F,).
        disturbed: Frames that stay awake: immovable ones that move, others with a motor or an external impulse, (F,).
        dt: Step [s].
    """
    count = len(idle)
    idle[...] = np.where(slow & ~disturbed[:count], idle + dt, 0.0)
    roots = roots_of(pairs, free)
    alone = roots < 0
    roots[alone] = np.flatnonzero(alone)
    held = np.zeros(len(free), bool)
    least = np.full(len(free), np.inf)
    np.minimum.at(least, roots[:count], idle)
    for one, other in (pairs.T, pairs.T[::-1]):
        held[roots[one[free[one] & ~free[other] & holds]]] = True
        # an immovable frame that moves keeps the bodies beside it awake
        np.minimum.at(least, roots[one[free[one] & ~free[other] & disturbed[other]]], 0.0)
    idle[...] = np.where(held[roots[:count]], np.minimum(idle, least[roots[:count]]), 0.0)


@kernel
def find_touched(p, points: Points, frames: Frames, flags: Flags):
    """Find out whether something that moves is about to touch a frame that sleeps."""
    a, b = points.frames[p]
    if (frames.asleep[a] and frames.active[b]) or (frames.asleep[b] and frames.active[a]):
        flags.waking[0] = 1


@kernel
def wake_pushed(i, frames: Frames, flags: Flags):
    """Wake a frame that has received an external impulse."""
    if frames.asleep[i]:
        push = frames.impulses[i]
        if push[0] != 0.0 or push[1] != 0.0 or push[2] != 0.0 or push[3] != 0.0 or push[4] != 0.0 or push[5] != 0.0:
            frames.asleep[i], frames.active[i], flags.waking[0] = False, True, 1


@kernel
def wake_islands(
    _, points: Points, joints: JointData, values: JointValues, frames: Frames, counts: Counts, flags: Flags
):
    """Wake all that joints and contact points connect with a frame that is active."""
    more = True
    while more:
        more = False
        for k in range(len(joints) + counts.points[0]):
            a, b = 0, 0
            if k >= len(joints):
                a, b = points.frames[k - len(joints)]
            elif not values.broken[k]:
                a, b = joints.codes[k, FIRST], joints.codes[k, SECOND]
            if (frames.asleep[a] and frames.active[b]) or (frames.asleep[b] and frames.active[a]):
                frames.asleep[a] = frames.asleep[b] = False
                frames.active[a] = frames.active[b] = more = True
    if flags.awake[0] == 0:
        # the report of the step begins here
        counts.logged[0] = counts.log_start[0] = flags.logging[0] = 0
    flags.waking[0], flags.free_changed[0], flags.awake[0] = 0, 1, 1


class Waking:
    """Records the waking of islands.

    Args:
        points: The contact points.
        joints: The joints.
        frames: The frames.
        counts: Numbers of points.
        flags: Decisions of the kernels.
    """

    def __init__(self, points: Points, joints: Joints, frames: Frames, counts: Counts, flags: Flags) -> None:
        self._points, self._joints, self._frames = points, joints, frames
        self._counts, self._flags = counts, flags

    def record_touched(self, p: Program) -> None:
        """Record the waking of islands that are about to be touched."""
        p.launch(find_touched, self._points, self._frames, self._flags, count=(self._counts.points, 0))
        self._record_islands(p)

    def record_pushed(self, p: Program) -> None:
        """Record the waking of islands that have received an external impulse."""
        p.launch(wake_pushed, self._frames, self._flags, count=len(self._frames))
        self._record_islands(p)

    def _record_islands(self, p: Program) -> None:
        flags = self._flags
        with p.when((flags.waking, 0)):
            records = self._points, self._joints.data, self._joints.values, self._frames
            p.serial(wake_islands, *records, self._counts, flags)
