"""SIMD batches of rows of two points that change all the time.

Blocks of consecutive rows get colours, see `shinari.collision.broad.blocks`. Inside of a block rows are brought into
batches of up to eight that share no point which can move: vector instructions solve those of a batch side by side. Rows
are stored batch after batch, block after block, colour after colour, so that a sweep reads its memory in order.

    links.points     rows as they were found, those of a point together         (1 2) (1 5) (1 7) (2 5) (2 6) ...
    links.row        where each of them is stored
    batches.first    first row of each batch                                    (1 2) (5 6) | (1 5) (2 6) | ...

    batches = RowBatches(claims)
    batches.record_arrange(p, (count, 0))
    batches.record_sweep(p, solve_block, rows, points)

    @kernel
    def solve_block(k, starts: Offsets, batches: Batches, current: CurrentColour, rows: Rows, points: Points):
        first, last = batches_of_block(k, starts, current)
        for t in range(first, last):
            begin, end = batches.first[t], batches.first[t + 1]
            ...
"""

from typing import Any

import numpy as np

from shinari.collision.broad.blocks import (
    SHARE,
    BlockColours,
    Blocks,
    Claims,
    CurrentColour,
    Starts,
    first_block,
    rows_arranged,
)
from shinari.compute import Field, Kernel, Program, Record, function, kernel, real, scratch
from shinari.compute.program import Cell
from shinari.compute.scan import Offsets

# Rows of a batch: a vector of 256 bits in float32.
WIDTH = 8
# Rows in a block, at most: they fill as many batches as a point has rows, and more.
BLOCK = 128
# Batches that are filled first fit; what fits into none of them is a batch of its own.
FITTED = 64


class Links(Record):
    """Rows as they were found, M rows."""

    points = Field(np.uint32, 2)
    number = Field(real, doc="a number that goes along")
    batch = Field(np.uint8, doc="within its block")
    row = Field(np.uint32, doc="where it is stored")


class Batches(Record):
    """Batches of rows, and one more."""

    first = Field(np.uint32, doc="first row; that of the next one ends it")


class Total(Record):
    """One row."""

    batches = Field(np.int64)
    ends = Field(np.int64, doc="batches and one")
    fresh = Field(np.int64, doc="blocks that are arranged now")
    block_ends = Field(np.int64, doc="blocks and one")
    last = Field(np.int64, doc="place of the last block of the rows in the order of the colours")


@function
def lowest_gap(word):
    """Position of the lowest bit of a word that is not set; 64 where all are."""
    free, position = ~word, 0
    if free == np.uint64(0):
        return FITTED
    for width in (32, 16, 8, 4, 2, 1):
        low = (free >> np.uint64(position)) & ((np.uint64(1) << np.uint64(width)) - np.uint64(1))
        position += width if low == np.uint64(0) else 0
    return position


@function
def block_at(q, blocks, current):
    """First row, and last row + 1, as found, of the block at a place in the order of the colours."""
    return rows_arranged(blocks.order[q], current)


@kernel
def fill_batches(k, blocks: Blocks, current: CurrentColour, links: Links, claims: Claims, starts: Offsets, width: int):
    """Give each row of a block the first batch that has room and none of its free points; count the batches."""
    begin, end = block_at(current.first[0] + k, blocks, current)
    one, none = np.uint64(1), np.uint64(0)
    for r in range(begin, end):
        i, j = links.points[r]
        claims.taken[i] = none if claims.free[i] else claims.taken[i]
        claims.taken[j] = none if claims.free[j] else claims.taken[j]
    sizes = scratch(FITTED, 0)
    for n in range(FITTED):
        sizes[n] = 0
    full, extra, count = none, FITTED, 0
    for r in range(begin, end):
        i, j = links.points[r]
        seen = full | (claims.taken[i] if claims.free[i] else none) | (claims.taken[j] if claims.free[j] else none)
        n = lowest_gap(seen)
        if n == FITTED:
            n = extra
            extra += 1
        else:
            bit = one << np.uint64(n)
            if claims.free[i]:
                claims.taken[i] |= bit
            if claims.free[j]:
                claims.taken[j] |= bit
            sizes[n] += 1
            full |= bit if sizes[n] == width else none
        links.batch[r] = n
        count = max(count, n + 1)
    starts.start[current.first[0] + k] = count


@kernel(in_order=True)
def count_batches(_, blocks: Blocks, starts: Offsets, current: CurrentColour, total: Total):
    """Where the batches of each block begin, how many there are, and where the last block stands."""
    first, last = current.begin_block[0], current.blocks[0]
    batches = total.batches[0] if first > 0 else 0
    for q in range(first, last):
        count = starts.start[q]
        starts.start[q] = batches
        batches += count
    starts.start[last], total.batches[0], total.ends[0], total.last[0] = batches, batches, batches + 1, first
    while total.last[0] < last and blocks.order[total.last[0]] != last - 1:
        total.last[0] += 1


@kernel
def count_fresh(_, current: CurrentColour, total: Total):
    """How many blocks are arranged now."""
    total.fresh[0], total.block_ends[0] = current.blocks[0] - current.begin_block[0], current.blocks[0] + 1


@kernel
def count_swept(_, current: CurrentColour):
    """Colours of a sweep."""
    current.swept[0] = current.colours[0] - current.skipped[0]


@kernel
def take_swept_colour(_, starts: Starts, current: CurrentColour):
    """Go on to the next colour of a sweep."""
    first_block(current.skipped[0] + current.colour[0], starts, current)


@kernel
def take_fresh_colour(_, starts: Starts, current: CurrentColour):
    """Go on to the next colour of the rows that are arranged now."""
    first_block(current.begin_colour[0] + current.colour[0], starts, current)


@kernel
def store_order(
    k, blocks: Blocks, current: CurrentColour, links: Links, starts: Offsets, batches: Batches, total: Total
):
    """Where the batches of the block at a place in the order begin, and where its rows are stored."""
    q = current.begin_block[0] + k
    begin, end = block_at(q, blocks, current)
    # the last block of the rows may have fewer of them than the others
    size = current.block[0]
    filled = (current.blocks[0] - current.begin_block[0]) * size - (current.rows[0] - current.begin_row[0])
    row = current.begin_row[0] + (q - current.begin_block[0]) * size - (filled if total.last[0] < q else 0)
    next_row = scratch(BLOCK, 0)
    count = starts.start[q + 1] - starts.start[q]
    for n in range(count):
        next_row[n] = 0
    for r in range(begin, end):
        next_row[links.batch[r]] += 1
    for n in range(count):
        rows = next_row[n]
        next_row[n] = row
        batches.first[starts.start[q] + n] = row
        row += rows
    for r in range(begin, end):
        n = np.int64(links.batch[r])
        links.row[r] = next_row[n]
        next_row[n] += 1
    if q == current.blocks[0] - 1:
        batches.first[starts.start[q + 1]] = current.rows[0]


@function
def batches_of_block(k, starts, current):
    """First batch, and last batch + 1, of block k of the colour that is solved now."""
    q = current.first[0] + k
    return starts.start[q], starts.start[q + 1]


@function
def rows_of_block(k, starts, batches, current):
    """First row, and last row + 1, of block k of the colour that is solved now."""
    begin, end = batches_of_block(k, starts, current)
    return np.int64(batches.first[begin]), np.int64(batches.first[end])


class RowBatches:
    """Batches of a list of rows.

    Args:
        claims: The points.
        count: Rows that there is room for at first.
        width: Rows of a batch, at most; with 1 the rows of a block stay in the order in which they were found.

    Attributes:
        links: The rows as they were found, which the caller writes, and where they are stored.
        batches: The batches.
        starts: First batch of each block in the order of the colours.
        colours: Colours of the blocks.
    """

    def __init__(self, claims: Claims, count: int, width: int = WIDTH) -> None:
        precision = claims.precision
        self.links, self.batches, self._total = Links.zeros(count, precision), Batches.zeros(1), Total.zeros(1)
        self._claims, self._width, self.starts = claims, width, Offsets.zeros(1, precision)
        self.colours = BlockColours(self.links, claims, BLOCK)

    def record_arrange(self, p: Program, count: Cell, appends: bool = False) -> None:
        """Record the batches of the first `count` rows; or of those after the ones that have batches, after these."""
        current, blocks, total = self.colours.current, self.colours.blocks, self._total
        p.copy(min(p.block_rows, BLOCK), (current.block, 0))
        self.colours.record_colour(p, count, appends)
        p.serial(count_fresh, current, total)
        p.require(self.starts, (total.block_ends, 0))
        with p.loop((current.fresh_colours, 0), index=(current.colour, 0)):
            p.serial(take_fresh_colour, self.colours.starts, current)
            p.launch(fill_batches, blocks, current, self.links, self._claims, self.starts, self._width,
                     count=(current.count, 0), grain=SHARE)  # fmt: skip
        p.serial(count_batches, blocks, self.starts, current, total)
        p.require(self.batches, (total.ends, 0))
        lists = blocks, current, self.links, self.starts, self.batches, total
        p.launch(store_order, *lists, count=(total.fresh, 0), grain=SHARE)

    def record_sweep(self, p: Program, sweep: Kernel, *records: Any) -> None:
        """Record a launch for the blocks of each colour, one colour after another.

        The kernel gets the number of the block within its colour, `starts`, `batches`, `current` and the given records.
        """
        current = self.colours.current
        p.serial(count_swept, current)
        with p.loop((current.swept, 0), index=(current.colour, 0)):
            p.serial(take_swept_colour, self.colours.starts, current)
            arguments = self.starts, self.batches, current, *records
            p.launch(sweep, *arguments, count=(current.count, 0), grain=SHARE)
