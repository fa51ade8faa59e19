"""The contact rows of a step: which are in use, and those that are replaced in the middle of it."""

import numpy as np

from shinari.collision.broad.blocks import BlockColours, Claims
from shinari.collision.report import ContactImpulses
from shinari.compute import Program, function, kernel
from shinari.compute.scan import Offsets, Scan
from shinari.maths.vec3 import ZERO
from shinari.systems.surface_contact.records import (
    BlockOverlaps,
    Candidates,
    ContactParticles,
    DetectionState,
    Paths,
    Places,
    RowCounts,
    Rows,
)
from shinari.systems.surface_contact.rows import BLOCK, FAR


class RowTable:
    """Rows, and what they have pushed.

    Attributes:
        rows: The rows; the first `table.rows` are in use.
        table: How many there are.
        colours: Their blocks by colour.
        overlaps: The largest overlap in each block.
        candidates: Pairs that the next rows are made of; the first `table.found` count.
        fresh: The rows that were written last.
    """

    def __init__(self, contact_particles: ContactParticles, precision: type) -> None:
        self.rows, self.table = Rows.zeros(0, precision), RowCounts.zeros(1, precision)
        self._claims = Claims(free=contact_particles.free, taken=np.zeros(len(contact_particles), np.uint64))
        self.colours, self.overlaps = BlockColours(self.rows, self._claims, BLOCK), BlockOverlaps.zeros(0, precision)
        self.candidates, self.fresh = Candidates.zeros(0, precision), Places.zeros(0)
        self._retired, self._unused, self._kept = Places.zeros(0), Places.zeros(0), Rows.zeros(0, precision)
        self._flags = Offsets.zeros(1)
        self._scan = Scan(self._flags)

    def clear(self) -> None:
        """Forget all rows, and what they have pushed."""
        for array in self.table.arrays.values():
            array[...] = 0
        self.colours.current.colours[0] = self.colours.current.blocks[0] = 0

    def record_exchange(self, p: Program, paths: Paths, detection: DetectionState) -> None:
        """Take the candidates as rows instead of those of particles that are astray, or of all; none is active yet."""
        rows, table, retired = self.rows, self.table, self._retired
        self._scan.make_room(p, (table.rows, 0))
        p.launch(retire, rows, paths, detection, self._flags, count=(table.rows, 0), grain=1024)
        self._scan.record(p, (table.rows, 0))
        p.copy(self._scan.total, (table.retired, 0))
        p.require(retired, (table.retired, 0))
        p.launch(list_retired, self._flags, retired, count=(table.rows, 0), grain=4096)
        p.serial(count_active, table, retired, self._unused, rows)
        p.require(self._kept, (table.room, 0))
        p.serial(keep_active, table, retired, self._unused, rows, self._kept)
        p.serial(count_unused, table, detection)
        p.require(self._unused, (table.room, 0))
        p.launch(append_unused, table, retired, self._unused, count=(table.retired, 0), grain=4096)
        p.serial(count_rows, table)
        p.require(rows, (table.room, 0))
        p.require(self.fresh, (table.found, 0))
        self._scan.make_room(p, (table.found, 0))
        p.launch(mark_near, self.candidates, self._flags, count=(table.found, 0), grain=4096)
        self._scan.record(p, (table.found, 0))
        records = self.candidates, self._flags, table, self._unused, self.fresh, rows
        p.launch(write_row, *records, count=(table.found, 0), grain=512)
        p.serial(finish_rows, table)
        self.colours.record_colour(p, (table.rows, 0))
        p.require(self.overlaps, (self.colours.current.blocks, 0))

    def contact_impulses(self) -> ContactImpulses:
        """The rows that have pushed."""
        counts = self.table.kept[0], self.table.rows[0]
        return ContactImpulses.joined([_pushed(*each) for each in zip((self._kept, self.rows), counts, strict=True)])


def _pushed(rows: Rows, count: np.int64) -> ContactImpulses:
    on = np.flatnonzero((rows.impulse[:count] != 0.0).any(axis=1))
    double = np.float64
    weights, normals, impulses = rows.weights[on], rows.normal[on], rows.impulse[on]
    none = np.full(len(on), -1)
    return ContactImpulses(
        rows.points[on], weights.astype(double), none, normals.astype(double), impulses.astype(double)
    )


@kernel
def retire(r, rows: Rows, paths: Paths, detection: DetectionState, flags: Offsets):
    """Let a row push no more if one of its particles is astray, or if all pairs are found anew."""
    i0, i1, i2, i3 = rows.points[r]
    own = detection.every[0] != 0 or paths.outside[i0] or paths.outside[i1] or paths.outside[i2] or paths.outside[i3]
    if own and rows.gap[r] >= ZERO:
        rows.gap[r], rows.active[r], rows.bound[r] = np.float32(-1.0), False, FAR
        flags.start[r] = 1
    else:
        flags.start[r] = 0


@kernel
def list_retired(r, flags: Offsets, retired: Places):
    """List a row that was retired."""
    if flags.start[r + 1] > flags.start[r]:
        retired.row[flags.start[r]] = r


@function
def has_pushed(r, rows):
    """Whether a row has pushed."""
    p = rows.impulse[r]
    return p[0] != ZERO or p[1] != ZERO or p[2] != ZERO


@function
def keep_row(r, at, rows, kept):
    """Keep what a row has pushed, if it has; returns the next place."""
    if not has_pushed(r, rows):
        return at
    kept.points[at], kept.weights[at], kept.normal[at] = rows.points[r], rows.weights[r], rows.normal[r]
    kept.impulse[at], rows.impulse[r] = rows.impulse[r], (ZERO, ZERO, ZERO)
    return at + 1


@kernel(in_order=True)
def count_active(_, counts: RowCounts, retired: Places, unused: Places, rows: Rows):
    """Room for the rows that have pushed and are retired, now or before: those settle velocities once more."""
    room = counts.kept[0]
    for k in range(counts.retired[0]):
        room += has_pushed(retired.row[k], rows)
    for k in range(counts.unused[0]):
        room += has_pushed(unused.row[k], rows)
    counts.room[0] = room


@kernel(in_order=True)
def keep_active(_, counts: RowCounts, retired: Places, unused: Places, rows: Rows, kept: Rows):
    """Keep for the report of the step what these have pushed."""
    at = counts.kept[0]
    for k in range(counts.retired[0]):
        at = keep_row(retired.row[k], at, rows, kept)
    for k in range(counts.unused[0]):
        at = keep_row(unused.row[k], at, rows, kept)
    counts.kept[0] = at


@kernel
def count_unused(_, counts: RowCounts, detection: DetectionState):
    """Room for the rows that are not used; when all pairs are found anew the table is empty."""
    if detection.every[0]:
        counts.rows[0], counts.unused[0], counts.retired[0] = 0, 0, 0
    counts.room[0] = counts.unused[0] + counts.retired[0]


@kernel
def append_unused(k, counts: RowCounts, retired: Places, unused: Places):
    """Let the next rows use a retired one."""
    unused.row[counts.unused[0] + k] = retired.row[k]


@kernel
def count_rows(_, counts: RowCounts):
    """Rows that are not used are written first, then new ones."""
    counts.unused[0] += counts.retired[0]
    counts.room[0] = counts.rows[0] + max(counts.found[0] - counts.unused[0], 0)


@kernel
def mark_near(k, candidates: Candidates, flags: Offsets):
    """Mark a candidate that is near."""
    flags.start[k] = candidates.near[k]


@kernel
def write_row(
    k, candidates: Candidates, flags: Offsets, counts: RowCounts, unused: Places, fresh: Places, rows: Rows
):  # fmt: skip
    """Make a row of a candidate; it is not active, and its distance is not known."""
    # near ones first, each in the order of the candidates: rows beside each other are solved after each other
    free, before = counts.unused[0], flags.start[k]
    place = before if flags.start[k + 1] > before else flags.start[counts.found[0]] + k - before
    reused = min(free, counts.found[0])
    r = unused.row[free - reused + place] if place < reused else counts.rows[0] + place - reused
    fresh.row[k] = r
    rows.points[r], rows.edges[r], rows.gap[r] = candidates.points[k], candidates.edges[k], candidates.gap[k]
    none = ZERO, ZERO, ZERO
    rows.active[r], rows.impulse[r], rows.multiplier[r], rows.hold[r] = False, none, ZERO, none
    rows.base[r] = np.float32(-np.inf)


@kernel
def finish_rows(_, counts: RowCounts):
    """The candidates are rows now."""
    counts.rows[0], counts.fresh[0] = counts.room[0], counts.found[0]
    counts.unused[0] = max(counts.unused[0] - counts.found[0], 0)
