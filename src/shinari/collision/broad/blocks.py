"""Colours for rows that change all the time: blocks of consecutive rows instead of single ones.

A block runs on one thread, in order; two blocks of one colour share no point that can move. That takes one look at
each row: every point keeps a word of the colours that its blocks have taken. Blocks that find none of these are looked
at again, with as many further colours.

    colours = BlockColours(rows, claims, 64)         # rows.points: the points of each row; claims.free: which can move
    colours.record_colour(p, (count, 0))
    colours.record_sweep(p, solve_block, rows, points)

    @kernel
    def solve_block(k, blocks: Blocks, turn: Turn, rows: Rows, points: Points):
        begin, end = rows_of_block(k, blocks, turn)
        for r in range(begin, end):
            ...
"""

from typing import Annotated, Any

import numpy as np

from shinari.compute import Field, Kernel, Program, Record, function, kernel
from shinari.compute.once import once
from shinari.compute.program import Cell

COLOURS, NONE = 63, -1
# Blocks for which it is worth waking one more thread.
SHARE = 4


class Claims(Record):
    """Points that rows share, one row each."""

    free = Field(np.bool_, doc="whether it can move")
    taken = Field(np.uint64, doc="bit for each colour that a block with it has")


class Blocks(Record):
    """Blocks of consecutive rows."""

    colour = Field(np.int64)
    order = Field(np.int64, doc="blocks, colour after colour")


class Starts(Record):
    """Where each colour starts among the ordered blocks, and the end."""

    first = Field(np.int64)


class CurrentColour(Record):
    """One row: numbers of rows, blocks and colours, and the colour that is solved now."""

    rows = Field(np.int64)
    block = Field(np.int64, doc="rows in a block")
    blocks = Field(np.int64)
    colours = Field(np.int64)
    edges = Field(np.int64, doc="colours and one")
    colour = Field(np.int64, doc="the colour that is solved now")
    first = Field(np.int64, doc="its first block in the order")
    count = Field(np.int64, doc="its blocks")
    begin_row = Field(np.int64, doc="rows that were arranged before")
    begin_block = Field(np.int64, doc="their blocks")
    begin_colour = Field(np.int64, doc="their colours")
    skipped = Field(np.int64, doc="colours that a sweep leaves out, the first ones")
    swept = Field(np.int64, doc="colours of a sweep")
    fresh_colours = Field(np.int64, doc="colours of the rows that are arranged now")


@function
def rows_of_block(k, blocks, current):
    """First row, and last row + 1, of block k of the colour that is solved now."""
    begin = blocks.order[current.first[0] + k] * current.block[0]
    return begin, min(begin + current.block[0], current.rows[0])


@kernel
def count_blocks(_, current: CurrentColour):
    """Blocks that the rows fill."""
    fresh = current.rows[0] - current.begin_row[0]
    current.blocks[0] = current.begin_block[0] + (fresh + current.block[0] - 1) // current.block[0]
    current.colours[0] = current.begin_colour[0]


@kernel
def begin_blocks(_, current: CurrentColour, appends: np.int64):
    """Rows are arranged anew, or after those that are."""
    current.begin_row[0] = current.rows[0] if appends != 0 else 0
    current.begin_block[0] = current.blocks[0] if appends != 0 else 0
    current.begin_colour[0] = current.colours[0] if appends != 0 else 0


@function
def rows_arranged(b, current):
    """First row, and last row + 1, as found, of a block that is arranged now."""
    begin = current.begin_row[0] + (b - current.begin_block[0]) * current.block[0]
    return begin, min(begin + current.block[0], current.rows[0])


@kernel
def release_claims(i, claims: Claims):
    """No block has taken a point."""
    claims.taken[i] = np.uint64(0)


@function
def seen_by(begin, end, width, rows, claims):
    """Colours that the free points of some rows have seen."""
    seen = np.uint64(0)
    for r in range(begin, end):
        for k in range(width):
            i = rows.points[r, k]
            seen |= claims.taken[i] if claims.free[i] else np.uint64(0)
    return seen


@function
def claim(begin, end, width, rows, claims, kept, more):
    """Let the points of some rows keep some of the colours that they have seen, and see more."""
    for r in range(begin, end):
        for k in range(width):
            i = rows.points[r, k]
            claims.taken[i] = (claims.taken[i] & kept) | more


@function
def lowest_unseen(seen):
    """The lowest colour that is not in a word; `COLOURS` where there is none."""
    colour, one = 0, np.uint64(1)
    while colour < COLOURS and (seen >> np.uint64(colour)) & one != np.uint64(0):
        colour += 1
    return colour


@once
def first_fit(rows_type: type[Record]) -> Kernel:
    """Kernel that gives each block the lowest colour that none of its free points has seen, of 63 at a time."""
    width = rows_type.fields["points"].shape[0]

    @kernel(in_order=True)
    def fit_blocks(_, rows: Annotated[Any, rows_type], claims: Claims, blocks: Blocks, current: CurrentColour):
        none, one = np.uint64(0), np.uint64(1)
        first, last, before = current.begin_block[0], current.blocks[0], 0
        for b in range(first, last):
            blocks.colour[b] = NONE
        left = last - first
        while left > 0:
            left, most = 0, 0
            for b in range(first, last):
                begin, end = rows_arranged(b, current)
                if blocks.colour[b] == NONE:
                    colour = lowest_unseen(seen_by(begin, end, width, rows, claims))
                    if colour < COLOURS:
                        claim(begin, end, width, rows, claims, ~none, one << np.uint64(colour))
                        blocks.colour[b], most = before + colour, max(most, colour + 1)
                    else:
                        left += 1
            before += most
            # what the others have taken is behind those that are left
            for b in range(first, last if left > 0 else first):
                if blocks.colour[b] == NONE:
                    begin, end = rows_arranged(b, current)
                    claim(begin, end, width, rows, claims, none, none)
        current.fresh_colours[0], current.colours[0] = before, current.begin_colour[0] + before
        current.edges[0] = current.colours[0] + 1

    return fit_blocks


@kernel(in_order=True)
def order_blocks(_, blocks: Blocks, starts: Starts, current: CurrentColour):
    """Sort the blocks by colour; within a colour they keep their order."""
    first, last = current.begin_colour[0], current.colours[0]
    for c in range(first, last + 1):
        starts.first[c] = 0
    for b in range(current.begin_block[0], current.blocks[0]):
        starts.first[first + blocks.colour[b]] += 1
    total = current.begin_block[0]
    for c in range(first, last + 1):
        count = starts.first[c]
        starts.first[c] = total
        total += count
    for b in range(current.begin_block[0], current.blocks[0]):
        colour = first + blocks.colour[b]
        blocks.order[starts.first[colour]] = b
        starts.first[colour] += 1
    for c in range(last, first, -1):
        starts.first[c] = starts.first[c - 1]
    starts.first[first] = current.begin_block[0]


@function
def first_block(colour, starts, current):
    """Go on to a colour: its first block in the order, and how many it has."""
    current.first[0] = starts.first[colour]
    current.count[0] = starts.first[colour + 1] - current.first[0]


@kernel
def take_colour(_, starts: Starts, current: CurrentColour):
    """Go on to the next colour."""
    first_block(current.colour[0], starts, current)


class BlockColours:
    """Colours of the blocks of a list of rows.

    Args:
        rows: The rows, with a field `points`.
        claims: The points.
        block: Rows in a block.

    Attributes:
        current: Numbers of rows, blocks and colours.
        blocks: The blocks.
        starts: Where each colour starts.
    """

    def __init__(self, rows: Record, claims: Claims, block: int) -> None:
        precision = rows.precision
        self._rows, self._claims = rows, claims
        self.current = CurrentColour.zeros(1, precision)
        self.current.block[0] = block
        self.blocks, self.starts = Blocks.zeros(64, precision), Starts.zeros(2 * COLOURS, precision)

    def record_colour(self, p: Program, count: Cell, appends: bool = False) -> None:
        """Record the colouring of the first `count` rows; or of those after the ones that have colours, with others."""
        current = self.current
        p.serial(begin_blocks, current, int(appends))
        p.copy(count, (current.rows, 0))
        p.serial(count_blocks, current)
        p.require(self.blocks, (current.blocks, 0))
        p.launch(release_claims, self._claims, count=len(self._claims), grain=8192)
        p.serial(first_fit(type(self._rows)), self._rows, self._claims, self.blocks, current)
        p.require(self.starts, (current.edges, 0))
        p.serial(order_blocks, self.blocks, self.starts, current)

    def record_sweep(self, p: Program, sweep: Kernel, *records: Any) -> None:
        """Record a launch for the blocks of each colour, one colour after another.

        The kernel gets the number of the block within its colour, `blocks`, `current` and the given records.
        """
        current = self.current
        with p.loop((current.colours, 0), index=(current.colour, 0)):
            p.serial(take_colour, self.starts, current)
            p.launch(sweep, self.blocks, current, *records, count=(current.count, 0), grain=SHARE)
