"""Sums over many items, in blocks: of the items of each block, of the blocks, and back to the items.

    offsets = Offsets.zeros(n + 1)
    scan = Scan(offsets)
    p.launch(count_neighbours, offsets, ..., count=n)      # writes offsets.start[i]
    scan.record(p, n)                                      # start[i] becomes the sum before i, start[n] the sum of all
    p.require(neighbours, scan.total)
    p.launch(fill_neighbours, offsets, neighbours, ..., count=n)

Where the number of items is known to the kernels only, `scan.make_room(p, cell)` lets the offsets grow with it.

A program says how many numbers a thread adds: on a processor 2,048, so that the sums of a million items are few enough
for one thread; on a GPU 64, and the sums of blocks are added in blocks in turn until few are left. Numbers are
integers, so that the result does not depend on it.
"""

import numpy as np

from shinari.compute.kernels import kernel
from shinari.compute.program import MOST_ROWS, Cell, Program
from shinari.compute.records import Field, Record

# Items that levels are made for where only the kernels know how many there are: as many times the room as that may grow
# by, but no fewer than that.
GROWTH, LEAST = 8, 1 << 17
# The largest offset: a sum of as much or more is more than a list may have.
LARGEST = MOST_ROWS + 1


class Offsets(Record):
    """Where the entries of each item start in a list; one row more than there are items."""

    start = Field(np.int32)


class Extent(Record):
    """How many numbers each level has: the items, then the blocks of the level before."""

    count = Field(np.int64)


class Total(Record):
    """One row: what is known of all items."""

    rows = Field(np.int64, doc="of the offsets: one more than there are items")
    sum = Field(np.int64)


@kernel
def divide(_, extent: Extent, total: Total, chunk: int):
    """Number of blocks of each level, and of offsets."""
    total.rows[0] = extent.count[0] + 1
    for level in range(1, len(extent)):
        extent.count[level] = (extent.count[level - 1] + chunk - 1) // chunk


@kernel
def add_block(b, numbers: Offsets, sums: Offsets, extent: Extent, level: int, chunk: int):
    """Sum of the numbers of a block."""
    total = 0
    for i in range(b * chunk, min((b + 1) * chunk, extent.count[level])):
        total += numbers.start[i]
    # a sum that is too large for 32 bits stays too large: the list for it is refused
    sums.start[b] = min(total, LARGEST)


@kernel
def add_blocks(_, sums: Offsets, offsets: Offsets, extent: Extent, total: Total):
    """Sum before each number of the last level, and of all."""
    last, above = 0, extent.count[len(extent) - 1]
    for b in range(above):
        before = last
        last += sums.start[b]
        sums.start[b] = before
    offsets.start[extent.count[0]] = last
    total.sum[0] = last


@kernel
def offset_block(b, numbers: Offsets, sums: Offsets, extent: Extent, level: int, chunk: int):
    """Sum before each number of a block."""
    total = sums.start[b]
    for i in range(b * chunk, min((b + 1) * chunk, extent.count[level])):
        before = total
        total += numbers.start[i]
        numbers.start[i] = before


class Scan:
    """Makes offsets of counts, in place.

    Args:
        offsets: Counts, and a row more.
    """

    def __init__(self, offsets: Offsets) -> None:
        self._offsets = offsets
        self._total: Total = Total.zeros(1)
        self._levels: tuple[Extent, list[Offsets]] | None = None

    @property
    def total(self) -> tuple[np.ndarray, int]:
        """Where the sum of all stands."""
        return self._total.sum, 0

    def make_room(self, p: Program, count: tuple[np.ndarray, int]) -> None:
        """Record that the offsets grow to as many counts as a cell says; the counts are written after it."""
        self._divide(p, count)
        p.require(self._offsets, (self._total.rows, 0))

    def record(self, p: Program, count: Cell) -> None:
        """Record the sums of so many counts."""
        extent, numbers = self._divide(p, count)
        blocks = [self._blocks(count, extent, level) for level in range(len(numbers))]
        for level in range(1, len(numbers)):
            records = numbers[level - 1], numbers[level], extent
            p.launch(add_block, *records, level - 1, p.scan_chunk, count=blocks[level], grain=8)
        p.serial(add_blocks, numbers[-1], self._offsets, extent, self._total)
        for level in range(len(numbers) - 1, 0, -1):
            records = numbers[level - 1], numbers[level], extent
            p.launch(offset_block, *records, level - 1, p.scan_chunk, count=blocks[level], grain=8)

    @staticmethod
    def _blocks(count: Cell, extent: Extent, level: int) -> Cell:
        return int(extent.count[level]) if isinstance(count, int) else (extent.count, level)

    def _divide(self, p: Program, count: Cell) -> tuple[Extent, list[Offsets]]:
        """Record how many blocks there are; returns how many numbers each level has, and the numbers."""
        if self._levels is None:
            self._levels = self._divided(p, count)
        extent, numbers = self._levels
        if isinstance(count, int):
            extent.count[0] = count
            for level in range(1, len(extent)):
                extent.count[level] = -(-int(extent.count[level - 1]) // p.scan_chunk)
                if len(numbers[level]) < extent.count[level]:
                    numbers[level].grow(int(extent.count[level]))
            return self._levels
        p.copy(count, (extent.count, 0))
        p.serial(divide, extent, self._total, p.scan_chunk)
        for level in range(1, len(numbers)):
            p.require(numbers[level], (extent.count, level))
        return self._levels

    def _divided(self, p: Program, count: Cell) -> tuple[Extent, list[Offsets]]:
        """Levels for so many counts: until one thread has no more to add than each of the others."""
        rows = count if isinstance(count, int) else max(GROWTH * len(self._offsets), LEAST)
        numbers = [self._offsets]
        while rows > p.scan_chunk:
            rows = -(-rows // p.scan_chunk)
            numbers.append(Offsets.zeros(rows))
        return Extent.zeros(len(numbers)), numbers


KERNELS = add_block, add_blocks, offset_block
"""The kernels of this file, to be compiled ahead."""
