"""Sums and maxima over many items: in blocks on all threads, then over the blocks on one.

    offsets = Offsets.zeros(n + 1)
    scan = Scan(offsets)
    p.launch(count_neighbours, offsets, ..., count=n)      # writes offsets.start[i]
    scan.record(p, n)                                      # start[i] becomes the sum before i, start[n] the sum of all
    p.require(neighbours, scan.total)
    p.launch(fill_neighbours, offsets, neighbours, ..., count=n)

Where the number of items is known to the kernels only, `scan.make_room(p, cell)` lets the offsets grow with it.

The order of the additions does not depend on the number of threads.
"""

import numpy as np

from shinari.compute.kernels import kernel
from shinari.compute.program import Cell, Program
from shinari.compute.records import Field, Record, real

BLOCK = 2048


class Offsets(Record):
    """Where the entries of each item start in a list; one row more than there are items."""

    start = Field(np.int64)


class Values(Record):
    """A value of each item."""

    value = Field(real)


class Extent(Record):
    """One row: how many items there are, and the sum or maximum of all."""

    items = Field(np.int64)
    rows = Field(np.int64, doc="of the offsets: one more than there are items")
    blocks = Field(np.int64)
    total = Field(np.int64)
    largest = Field(real)


class Blocks(Record):
    """One row for each block of items."""

    total = Field(np.int64)
    largest = Field(real)


@kernel
def divide(_, extent: Extent):
    """Number of blocks that the items fill, and of their offsets."""
    extent.rows[0] = extent.items[0] + 1
    extent.blocks[0] = (extent.items[0] + BLOCK - 1) // BLOCK


@kernel
def add_block(b, offsets: Offsets, blocks: Blocks, extent: Extent):
    """Sum of the counts of a block."""
    total = 0
    for i in range(b * BLOCK, min((b + 1) * BLOCK, extent.items[0])):
        total += offsets.start[i]
    blocks.total[b] = total


@kernel
def add_blocks(_, offsets: Offsets, blocks: Blocks, extent: Extent):
    """Sum before each block, and of all."""
    total = 0
    for b in range(extent.blocks[0]):
        before = total
        total += blocks.total[b]
        blocks.total[b] = before
    offsets.start[extent.items[0]] = total
    extent.total[0] = total


@kernel
def offset_block(b, offsets: Offsets, blocks: Blocks, extent: Extent):
    """Sum before each item of a block."""
    total = blocks.total[b]
    for i in range(b * BLOCK, min((b + 1) * BLOCK, extent.items[0])):
        before = total
        total += offsets.start[i]
        offsets.start[i] = before


@kernel
def largest_of_block(b, values: Values, blocks: Blocks, extent: Extent):
    """Largest value of a block; a NaN counts as largest."""
    largest = values.value[b * BLOCK]
    for i in range(b * BLOCK, min((b + 1) * BLOCK, extent.items[0])):
        value = values.value[i]
        largest = largest if largest >= value or largest != largest else value
    blocks.largest[b] = largest


@kernel
def largest_of_blocks(_, blocks: Blocks, extent: Extent, least: real):
    """Largest value of all, and at least `least`."""
    largest = least
    for b in range(extent.blocks[0]):
        value = blocks.largest[b]
        largest = largest if largest >= value or largest != largest else value
    extent.largest[0] = largest


class _Reduction:
    """What sums and maxima share: the number of items, which may be known to the kernels only."""

    def __init__(self, rows: int, precision: type) -> None:
        self._extent = Extent.zeros(1, precision)
        self._blocks = Blocks.zeros(rows // BLOCK + 1, precision)

    def _divide(self, p: Program, count: Cell) -> Cell:
        """Record how many blocks there are; returns where that number stands."""
        if isinstance(count, int):
            self._extent.items[0], self._extent.blocks[0] = count, -(-count // BLOCK)
            return int(self._extent.blocks[0])
        p.copy(count, (self._extent.items, 0))
        p.serial(divide, self._extent)
        p.require(self._blocks, (self._extent.blocks, 0))
        return self._extent.blocks, 0


class Scan(_Reduction):
    """Makes offsets of counts, in place.

    Args:
        offsets: Counts, and a row more.
    """

    def __init__(self, offsets: Offsets) -> None:
        super().__init__(len(offsets), np.float32)
        self._offsets = offsets

    @property
    def total(self) -> tuple[np.ndarray, int]:
        """Where the sum of all stands."""
        return self._extent.total, 0

    def make_room(self, p: Program, count: tuple[np.ndarray, int]) -> None:
        """Record that the offsets grow to as many counts as a cell says; the counts are written after it."""
        self._divide(p, count)
        p.require(self._offsets, (self._extent.rows, 0))

    def record(self, p: Program, count: Cell) -> None:
        """Record the sums of so many counts."""
        blocks = self._divide(p, count)
        records = self._offsets, self._blocks, self._extent
        p.launch(add_block, *records, count=blocks, grain=8)
        p.serial(add_blocks, *records)
        p.launch(offset_block, *records, count=blocks, grain=8)


class Maximum(_Reduction):
    """Finds the largest of many values.

    Args:
        values: The values.
        least: What the result is at least, and what it is where there are no values.
    """

    def __init__(self, values: Values, least: float = 0.0) -> None:
        super().__init__(len(values), values.precision)
        self._values, self._least = values, least

    @property
    def result(self) -> np.ndarray:
        """The largest value, (1,)."""
        return self._extent.largest

    @property
    def extent(self) -> Extent:
        """The record whose field `largest` kernels read."""
        return self._extent

    def record(self, p: Program, count: Cell) -> None:
        """Record the search among the first so many values."""
        blocks = self._divide(p, count)
        p.launch(largest_of_block, self._values, self._blocks, self._extent, count=blocks, grain=8)
        p.serial(largest_of_blocks, self._blocks, self._extent, self._least)
