"""Sums over many items: in blocks on all threads, then over the blocks on one.

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
from shinari.compute.records import Field, Record

CHUNK = 2048


class Offsets(Record):
    """Where the entries of each item start in a list; one row more than there are items."""

    start = Field(np.int64)


class Extent(Record):
    """One row: how many items there are, and the sum of all."""

    items = Field(np.int64)
    rows = Field(np.int64, doc="of the offsets: one more than there are items")
    chunks = Field(np.int64)
    total = Field(np.int64)


class Chunks(Record):
    """One row for each block of items."""

    total = Field(np.int64)


@kernel
def divide(_, extent: Extent):
    """Number of blocks that the items fill, and of their offsets."""
    extent.rows[0] = extent.items[0] + 1
    extent.chunks[0] = (extent.items[0] + CHUNK - 1) // CHUNK


@kernel
def add_block(b, offsets: Offsets, chunks: Chunks, extent: Extent):
    """Sum of the counts of a block."""
    total = 0
    for i in range(b * CHUNK, min((b + 1) * CHUNK, extent.items[0])):
        total += offsets.start[i]
    chunks.total[b] = total


@kernel
def add_blocks(_, offsets: Offsets, chunks: Chunks, extent: Extent):
    """Sum before each block, and of all."""
    total = 0
    for b in range(extent.chunks[0]):
        before = total
        total += chunks.total[b]
        chunks.total[b] = before
    offsets.start[extent.items[0]] = total
    extent.total[0] = total


@kernel
def offset_block(b, offsets: Offsets, chunks: Chunks, extent: Extent):
    """Sum before each item of a block."""
    total = chunks.total[b]
    for i in range(b * CHUNK, min((b + 1) * CHUNK, extent.items[0])):
        before = total
        total += offsets.start[i]
        offsets.start[i] = before


class Scan:
    """Makes offsets of counts, in place.

    Args:
        offsets: Counts, and a row more.
    """

    def __init__(self, offsets: Offsets) -> None:
        self._offsets = offsets
        self._extent: Extent = Extent.zeros(1)
        self._chunks: Chunks = Chunks.zeros(len(offsets) // CHUNK + 1)

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
        records = self._offsets, self._chunks, self._extent
        p.launch(add_block, *records, count=blocks, grain=8)
        p.serial(add_blocks, *records)
        p.launch(offset_block, *records, count=blocks, grain=8)

    def _divide(self, p: Program, count: Cell) -> Cell:
        """Record how many blocks there are; returns where that number stands."""
        if isinstance(count, int):
            self._extent.items[0], self._extent.chunks[0] = count, -(-count // CHUNK)
            return int(self._extent.chunks[0])
        p.copy(count, (self._extent.items, 0))
        p.serial(divide, self._extent)
        p.require(self._chunks, (self._extent.chunks, 0))
        return self._extent.chunks, 0
