"""Report of contacts between bodies: the impulses of a step, point by point."""

import numpy as np

from shinari.collision.report import Contacts
from shinari.compute import Field, Program, Record, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import add, scale
from shinari.systems.rigid.contact.margins import Detection
from shinari.systems.rigid.contact.pairs import FEATURES, Points
from shinari.systems.rigid.elements import Elements, PointWork
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.progress import ROOM, Counts, Flags


class Log(Record):
    """Contact points of a step, in runs: a run covers consecutive substeps with the same points.

    Points of the first run that push in later ones have one row for all but the last.
    """

    key = Field(np.int64)
    frames = Field(np.int32, 2, doc="frames a and b")
    position = Field(np.float64, 3, unit="m", doc="point on the surface of a when the run began")
    normal = Field(np.float64, 3, doc="unit vector from b to a")
    impulse = Field(np.float64, 3, unit="N s", doc="impulse on a in these substeps")


@kernel
def compare_points(_, points: Points, log: Log, counts: Counts, detection: Detection, flags: Flags):
    """Decide whether the points are those of the last run."""
    count, first = counts.points[0], counts.log_start[0]
    other = flags.logging[0] == 0 or counts.logged[0] - first != count
    if not other and detection.rebuild_table[0] != 0:
        for k in range(count):
            other = other or points.key[k] != log.key[first + k]
    flags.other_points[0] = 1 if other else 0


@steady
def row_in_first(key, begin, end, log):
    """Row of a key in the first run, and that at which its pair begins; the row is the end where it has none."""
    pair = key - key % FEATURES
    while begin < end and log.key[begin] < pair:
        begin += 1
    row = begin
    while row < end and log.key[row] != key:
        row = row + 1 if log.key[row] < pair + FEATURES else end
    return row, begin


@kernel(in_order=True)
def start_run(_, log: Log, counts: Counts, flags: Flags):
    """Begin a run. Points of the last one that have an impulse stay: those of the first one in their rows there."""
    flags.logging[0] = 1
    at, first, begin = counts.log_start[0], counts.log_first[0], 0
    for k in range(at, counts.logged[0]):
        f = log.impulse[k]
        if f[0] != 0.0 or f[1] != 0.0 or f[2] != 0.0:
            row, begin = row_in_first(log.key[k], begin, first, log)
            if row == first:
                row, at = at, at + 1
                log.key[row], log.frames[row], log.impulse[row] = log.key[k], log.frames[k], f
            else:
                log.impulse[row] = add(log.impulse[row], f)
            log.position[row], log.normal[row] = log.position[k], log.normal[k]
    counts.log_first[0] = first if first > 0 else at
    counts.log_start[0], counts.logged[0] = at, at + counts.points[0]


@kernel(fastmath=STEADY)
def write_point(p, points: Points, elements: Elements, log: Log, frames: Frames, counts: Counts, first_point: np.int64):
    """Write a point of a new run."""
    k = counts.log_start[0] + p
    arms = elements.arms[first_point + p]
    log.key[k], log.frames[k], log.normal[k] = points.key[p], points.frames[p], points.normal[p]
    log.position[k] = add(frames.x[points.frames[p, 0]], (arms[0], arms[1], arms[2]))
    log.impulse[k] = 0.0, 0.0, 0.0


@kernel(fastmath=STEADY)
def add_impulse(p, work: PointWork, log: Log, counts: Counts, h: np.float64):
    """Add the impulse of a point in a substep."""
    k = counts.log_start[0] + p
    log.impulse[k] = add(log.impulse[k], scale(work.force[p], h))


@kernel(fastmath=STEADY)
def update_entry(
    p, points: Points, elements: Elements, log: Log, frames: Frames, counts: Counts, first_point: np.int64
):
    """Update position and normal of a point of the last substep."""
    k, arms = counts.log_start[0] + p, elements.arms[first_point + p]
    if k < counts.logged[0]:
        log.position[k] = add(frames.x[log.frames[k, 0]], (arms[0], arms[1], arms[2]))
        log.normal[k] = points.normal[p]


class PointLog:
    """Impulses of the points of contact in a step.

    Attributes:
        entries: The log.
    """

    def __init__(
        self, points: Points, work: PointWork, elements: Elements, counts: Counts, detection: Detection, flags: Flags,
        first_point: int,
    ) -> None:  # fmt: skip
        self._points, self._work, self._counts, self._flags = points, work, counts, flags
        self._elements, self._first_point = elements, first_point
        self._detection = detection
        self.entries = Log.zeros(0)

    def begin(self) -> None:
        """A step begins."""
        counts = self._counts
        counts.logged[0] = counts.log_start[0] = counts.log_first[0] = self._flags.logging[0] = 0

    def record_add(self, p: Program, frames: Frames, h: float) -> None:
        """Add the impulses of a substep."""
        points, log, counts, flags = self._points, self.entries, self._counts, self._flags
        count = (counts.points, 0)
        p.serial(compare_points, points, log, counts, self._detection, flags)
        with p.when((flags.other_points, 0)):
            p.serial(start_run, log, counts, flags)
            p.require(log, (counts.logged, 0), spare=ROOM)
            p.launch(write_point, points, self._elements, log, frames, counts, self._first_point, count=count)
        p.launch(add_impulse, self._work, log, counts, h, count=count)

    def record_end(self, p: Program, frames: Frames) -> None:
        """Update the points of the last substep as the step ends."""
        records = self._points, self._elements, self.entries, frames, self._counts
        with p.when((self._flags.logging, 0)):
            p.launch(update_entry, *records, self._first_point, count=(self._counts.points, 0))

    def contacts(self, names: np.ndarray, dt: float) -> Contacts:
        """Contacts with a force, its mean over the step; `names` are those of the frames, (F,)."""
        end = self._counts.logged[0]
        log = self.entries
        keys, frames, positions = log.key[:end], log.frames[:end], log.position[:end]
        normals, impulses = log.normal[:end], log.impulse[:end]
        # a point that was inactive in between has its last position
        found, back = np.unique(keys, return_inverse=True)
        total, last = np.zeros((len(found), 3)), np.zeros(len(found), np.int64)
        np.add.at(total, back, impulses)
        last[back] = np.arange(len(keys))
        on = (total != 0.0).any(axis=1)
        chosen = last[on]
        one, other = names[frames[chosen, 0]], names[frames[chosen, 1]]
        return Contacts(positions[chosen], normals[chosen], total[on] / dt, one, other, np.zeros((0, 3)))
