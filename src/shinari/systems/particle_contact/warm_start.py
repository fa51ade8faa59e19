"""What is known of rows when they are found anew: what they pushed, for the same pairs, and the impulses for the user.

The known rows of a particle stand together: a new row looks for its pair in two short lists.
"""

from typing import TYPE_CHECKING

import numpy as np

from shinari.collision.broad.row_batches import Links
from shinari.compute import Field, Program, Record, function, kernel
from shinari.compute.scan import Offsets, Scan
from shinari.maths.vec3 import ONE, ZERO
from shinari.systems.particle_contact.links import FIRST, next_link
from shinari.systems.particle_contact.records import (
    Appended,
    Control,
    Kept,
    Members,
    RowBalls,
    Rows,
    SortedBalls,
    WarmStart,
    WarmStartRanges,
)

if TYPE_CHECKING:
    from shinari.systems.particle_contact.pair_detection import Detection

SHARE = 512


class Numbers(Record):
    """Particles, N rows."""

    member = Field(np.int64, doc="its number among the members; 0 where it is none")


@function
def recall(a, b, balls, warm_start, ranges):
    """Known row of a pair of balls, or -1, and the sign of its direction."""
    p, q = balls.particle[a], balls.particle[b]
    found, sign = -1, ONE
    i = balls.member[a]
    for k in range(ranges.first[i], ranges.last[i]):
        if warm_start.particles[k, 1] == q:
            found = k
    j = balls.member[b]
    for k in range(ranges.first[j], ranges.last[j] if found < 0 else 0):
        if warm_start.particles[k, 1] == p:
            found, sign = k, -ONE
    return found, sign


@function
def has_impulse(r, rows):
    """Whether a row has an impulse."""
    impulse = rows.impulse[r]
    return impulse[0] != ZERO or impulse[1] != ZERO or impulse[2] != ZERO


@kernel
def count_warm_starts(b, row_offsets: Offsets, links: Links, appended: Appended, rows: Rows, balls: SortedBalls,
                      warm_start_offsets: Offsets, kept_offsets: Offsets):  # fmt: skip
    """Rows of a ball that are remembered, and those whose impulse is kept."""
    warm_start, kept, link = 0, 0, next_link(FIRST, b, row_offsets, appended, balls)
    while link >= 0:
        r = np.int64(links.row[link])
        warm_start += np.int64(rows.push[r] != ZERO)
        kept += np.int64(has_impulse(r, rows))
        link = next_link(link, b, row_offsets, appended, balls)
    warm_start_offsets.start[b], kept_offsets.start[b] = warm_start, kept


@kernel
def sum_warm_starts(_, control: Control, warm_start_offsets: Offsets, kept_offsets: Offsets):
    """How many rows are known, and how many impulses are kept."""
    control.warm_start[0] = warm_start_offsets.start[control.balls[0]]
    control.kept_before[0] = control.kept[0]
    control.kept[0] += kept_offsets.start[control.balls[0]]


@kernel
def remember(b, row_offsets: Offsets, links: Links, appended: Appended, row_balls: RowBalls, rows: Rows,
             balls: SortedBalls, warm_start_offsets: Offsets, warm_start: WarmStart,
             ranges: WarmStartRanges):  # fmt: skip
    """Put away what the rows of a ball pushed."""
    at = warm_start_offsets.start[b]
    m = balls.member[b]
    ranges.first[m], ranges.last[m] = at, warm_start_offsets.start[b + 1]
    link = next_link(FIRST, b, row_offsets, appended, balls)
    while link >= 0:
        r = np.int64(links.row[link])
        push = rows.push[r]
        if push != ZERO:
            i, j = row_balls.points[r]
            hold = rows.friction_multiplier[r]
            warm_start.particles[at] = balls.particle[i], balls.particle[j]
            warm_start.push[at] = push, hold[0], hold[1], hold[2]
            warm_start.normal[at] = rows.normal[r]
            at += 1
        link = next_link(link, b, row_offsets, appended, balls)


@kernel
def keep_impulses(b, row_offsets: Offsets, links: Links, appended: Appended, row_balls: RowBalls, rows: Rows,
                  balls: SortedBalls, kept_offsets: Offsets, kept: Kept, control: Control):  # fmt: skip
    """Put away the impulses of the rows of a ball."""
    at = control.kept_before[0] + kept_offsets.start[b]
    link = next_link(FIRST, b, row_offsets, appended, balls)
    while link >= 0:
        r = np.int64(links.row[link])
        if has_impulse(r, rows):
            i, j = row_balls.points[r]
            kept.particles[at] = balls.particle[i], balls.particle[j]
            kept.normal[at], kept.impulse[at] = rows.normal[r], rows.impulse[r]
            at += 1
        link = next_link(link, b, row_offsets, appended, balls)


@kernel
def clear_range(m, ranges: WarmStartRanges):
    """Nothing is known of a member."""
    ranges.first[m], ranges.last[m] = 0, 0


@kernel
def find_range(k, warm_start: WarmStart, ranges: WarmStartRanges, numbers: Numbers, control: Control):
    """Where the known rows of a particle begin and end."""
    p = warm_start.particles[k, 0]
    if k == 0 or warm_start.particles[k - 1, 0] != p:
        ranges.first[numbers.member[p]] = k
    if k + 1 == control.warm_start[0] or warm_start.particles[k + 1, 0] != p:
        ranges.last[numbers.member[p]] = k + 1


class Memory:
    """Known rows and kept impulses.

    Args:
        detection: The rows.
        members: Balls that take part.
        control: Decisions of the step.
        count: Particles.

    Attributes:
        warm_start: Known rows.
        ranges: Where those of each member stand.
        kept: Impulses of rows that were forgotten.
        offsets: Where the known rows of each ball start, when they were put away last.
    """

    def __init__(self, detection: "Detection", members: Members, control: Control, count: int) -> None:
        real, balls = members.precision, len(members)
        self._detection, self._control = detection, control
        self.warm_start, self.kept = WarmStart.zeros(4 * balls, real), Kept.zeros(balls, real)
        self.ranges, self._numbers = WarmStartRanges.zeros(balls, real), Numbers.zeros(count, real)
        self._numbers.member[members.particle] = np.arange(balls)
        self.offsets, self._kept_offsets = Offsets.zeros(balls + 1, real), Offsets.zeros(balls + 1, real)
        self._warm_start_scan, self._kept_scan = Scan(self.offsets), Scan(self._kept_offsets)

    def record_remember(self, p: Program, resumes: bool, keeps: bool) -> None:
        """Record that what the rows did is put away.

        Args:
            p: Program.
            resumes: What they pushed: the rows that are found next, or those of the next step, go on with it.
            keeps: Their impulses: the rows are forgotten.
        """
        found, control = self._detection, self._control
        rows, number, links = found.rows, (control.balls, 0), found.batches.links
        p.launch(count_warm_starts, found.row_offsets, links, found.appended, rows, found.balls, self.offsets,
                 self._kept_offsets, count=number, grain=SHARE)  # fmt: skip
        for scan in (self._warm_start_scan, self._kept_scan):
            scan.record(p, number)
        p.serial(sum_warm_starts, control, self.offsets, self._kept_offsets)
        if resumes:
            p.require(self.warm_start, (control.warm_start, 0))
            p.launch(
                remember,
                found.row_offsets,
                links,
                found.appended,
                found.row_balls,
                rows,
                found.balls,
                self.offsets,
                self.warm_start,
                self.ranges,
                count=number,
                grain=SHARE,
            )
        else:
            p.copy(0, (control.warm_start, 0))
        if keeps:
            p.require(self.kept, (control.kept, 0))
            p.launch(keep_impulses, found.row_offsets, links, found.appended, found.row_balls, rows, found.balls,
                     self._kept_offsets, self.kept, control, count=number, grain=SHARE)  # fmt: skip
        else:
            p.copy((control.kept_before, 0), (control.kept, 0))

    def record_index(self, p: Program) -> None:
        """Record that known rows that were written from outside, those of a particle together, can be recalled."""
        p.launch(clear_range, self.ranges, count=len(self.ranges), grain=4096)
        p.launch(
            find_range,
            self.warm_start,
            self.ranges,
            self._numbers,
            self._control,
            count=(self._control.warm_start, 0),
            grain=4096,
        )
