"""Large supernodes as panels: dense arrays that all threads factor, with vector instructions.

    P = [U_1 U_2 ... U_width | U_width+1 ... U_entries]

A panel has six rows for each node of its supernode, and six columns for each of its entries: the nodes, and the rows
of its last column. Its columns stand in tiles of `TILE` entries. It takes in the blocks of the supernode, is factored,
`TILE` nodes at a time, and gives the blocks back; and the products of its entries are subtracted from later columns.
Nearly all of the time goes into sums over rows, sum_k P_kt P_ku, for an entry t and the entries u of a tile: a block is
read once for a supernode, not once for each of its nodes (Ng and Peyton 1993, Block Sparse Cholesky Algorithms on
Advanced Uniprocessor Computers). Tiles, and entries, do not share what they write.
"""

import numpy as np

from shinari.compute import Field, Program, Record, kernel, scratch
from shinari.compute.kernels import STEADY
from shinari.compute.program import Cell
from shinari.maths.function import steady
from shinari.systems.rigid.block import diagonal, factor, lower_solution, unit_rows
from shinari.systems.rigid.components import Blocks, Components, Nodes, Targets
from shinari.systems.rigid.factor import eliminate_columns, entry
from shinari.systems.rigid.supernodes import LANES, TILE, LargeSupernodes, tiles_of


class PanelRows(Record):
    """Memory for one panel: the rows of a tile, tile after tile."""

    value = Field(np.float64, LANES)


class Panel(Record):
    """The panel that is factored, one row."""

    number = Field(np.int64, doc="of the large supernode")
    chunk = Field(np.int64, doc="number of the `TILE` nodes that are eliminated")
    first = Field(np.int64, doc="first node of the supernode")
    width = Field(np.int64, doc="its nodes")
    entries = Field(np.int64, doc="its nodes and the rows below them")
    tiles = Field(np.int64, doc="tiles; 0 where its component is not factored")
    chunks = Field(np.int64, doc="tiles that have nodes; 0 too")
    below = Field(np.int64, doc="rows below its nodes; 0 too")


@steady
def row_of_tile(panel, tile, t):
    """First row of node t of the supernode in a tile."""
    return 6 * (tile * panel.width[0] + t)


@kernel(fastmath=STEADY)
def begin_panel(
    _, panel: Panel, large: LargeSupernodes, components: Components, nodes: Nodes, blocks: Blocks, targets: Targets
):
    """Begin with the next large supernode, after the small ones before it."""
    k = panel.number[0]
    first, last = large.first[k], large.last[k]
    width, below, c = last + 1 - first, nodes.size[last], nodes.component[first]
    chosen = components.factoring[c] != 0
    panel.first[0], panel.width[0], panel.entries[0] = first, width, width + below
    panel.tiles[0] = tiles_of(width + below) if chosen else 0
    panel.chunks[0], panel.below[0] = tiles_of(width) if chosen else 0, below if chosen else 0
    if chosen:
        eliminate_columns(components.eliminated[c], first, nodes, blocks, targets)
        components.eliminated[c] = last + 1


@kernel
def take_in(tile, panel: Panel, nodes: Nodes, blocks: Blocks, rows: PanelRows):
    """Copy a tile from the blocks; entries before the diagonal and beyond the last one are 0."""
    first = panel.first[0]
    for t in range(panel.width[0]):
        row = row_of_tile(panel, tile, t)
        for u in range(TILE * tile, TILE * tile + TILE):
            at = 6 * (u - TILE * tile)
            for r in range(6):
                for c in range(6):
                    value = 0.0
                    if t < u < panel.entries[0]:
                        value = blocks.value[entry(nodes, first, t, u), r, c]
                    elif u == t:
                        value = nodes.matrix[first + t, r, c]
                    rows.value[row + r, at + c] = value


@kernel
def give_back(tile, panel: Panel, nodes: Nodes, blocks: Blocks, rows: PanelRows):
    """Copy a tile to the blocks."""
    for t in range(panel.width[0]):
        row = row_of_tile(panel, tile, t)
        for u in range(max(t + 1, TILE * tile), min(panel.entries[0], TILE * tile + TILE)):
            p, at = entry(nodes, panel.first[0], t, u), 6 * (u - TILE * tile)
            for r in range(6):
                for c in range(6):
                    blocks.value[p, r, c] = rows.value[row + r, at + c]


@steady
def six(value, row, c):
    """Six numbers of a column."""
    return value[row, c], value[row + 1, c], value[row + 2, c], value[row + 3, c], value[row + 4, c], value[row + 5, c]


@steady
def minus_product(s, a, v):
    """A number minus the inner product of six and six others."""
    return s - a[0] * v[0] - a[1] * v[1] - a[2] * v[2] - a[3] * v[3] - a[4] * v[4] - a[5] * v[5]


@steady
def subtract_sums(panel, t, tile, count, rows, sums):
    """Subtract sum_k P_kt P_ku for the entries u of a tile from `sums`; k: the rows of so many nodes."""
    value, at = rows.value, 6 * (t % TILE)
    for node in range(count):
        own, other = row_of_tile(panel, t // TILE, node), row_of_tile(panel, tile, node)
        for c in range(0, 6, 2):
            a, b = six(value, own, at + c), six(value, own, at + c + 1)
            for x in range(LANES):
                v = six(value, other, x)
                sums[c, x], sums[c + 1, x] = minus_product(sums[c, x], a, v), minus_product(sums[c + 1, x], b, v)


@steady
def eliminate(panel, t, tile, nodes, rows, sums):
    """Eliminate the rows of node t in a tile. The tile that has its diagonal comes first."""
    row, j = row_of_tile(panel, tile, t), panel.first[0] + t
    for c in range(6):
        for x in range(LANES):
            sums[c, x] = rows.value[row + c, x]
    subtract_sums(panel, t, tile, t, rows, sums)
    if tile == t // TILE:
        for r in range(6):
            for c in range(6):
                nodes.matrix[j, r, c] = sums[r, 6 * (t % TILE) + c]
        factor(nodes.matrix, j)
    lower, i, value = unit_rows(nodes.matrix, j), diagonal(nodes.matrix, j), rows.value
    for x in range(LANES):
        u = lower_solution(lower, i, six(sums, 0, x))
        value[row, x], value[row + 1, x], value[row + 2, x] = u[0], u[1], u[2]
        value[row + 3, x], value[row + 4, x], value[row + 5, x] = u[3], u[4], u[5]


@steady
def eliminate_chunk(panel, tile, nodes, rows):
    """Eliminate the rows of the nodes of a chunk in a tile."""
    sums, start = scratch((6, LANES), nodes.matrix[0, 0, 0]), TILE * panel.chunk[0]
    for t in range(start, min(start + TILE, panel.width[0])):
        eliminate(panel, t, tile, nodes, rows, sums)


@kernel(fastmath=STEADY)
def eliminate_diagonal(_, panel: Panel, nodes: Nodes, rows: PanelRows):
    """Eliminate the nodes of a chunk in the tile that has them."""
    eliminate_chunk(panel, panel.chunk[0], nodes, rows)


@kernel(fastmath=STEADY)
def eliminate_tile(tile, panel: Panel, nodes: Nodes, rows: PanelRows):
    """Eliminate the nodes of a chunk in a tile after theirs."""
    if tile > panel.chunk[0]:
        eliminate_chunk(panel, tile, nodes, rows)


@steady
def add_block(target, i, sums, at):
    """Add a block of a tile to block i of the target."""
    for r in range(6):
        for c in range(6):
            target[i, r, c] += sums[r, at + c]


@kernel(fastmath=STEADY)
def subtract_entry(i, panel: Panel, nodes: Nodes, blocks: Blocks, targets: Targets, rows: PanelRows):
    """Subtract the products of row i below the supernode with itself and those after it."""
    width, entries, below = panel.width[0], panel.entries[0], panel.below[0]
    t, sums = width + i, scratch((6, LANES), nodes.matrix[0, 0, 0])
    row = blocks.row[entry(nodes, panel.first[0], 0, t)]
    at = nodes.target[panel.first[0] + width - 1] + i * (below - 1) - i * (i - 1) // 2
    for tile in range(t // TILE, tiles_of(entries)):
        for c in range(6):
            for x in range(LANES):
                sums[c, x] = 0.0
        subtract_sums(panel, t, tile, width, rows, sums)
        for u in range(max(t, TILE * tile), min(entries, TILE * tile + TILE)):
            if u == t:
                add_block(nodes.matrix, row, sums, 6 * (u - TILE * tile))
            else:
                add_block(blocks.value, targets.block[at + u - t - 1], sums, 6 * (u - TILE * tile))


class PanelFactor:
    """Records the elimination of the large supernodes, and of what comes before each in its component.

    Args:
        large: The large supernodes.
        components: The components.
        nodes: Their nodes.
        blocks: Off-diagonal blocks.
        targets: Where products of blocks are subtracted.
    """

    def __init__(
        self, large: LargeSupernodes, components: Components, nodes: Nodes, blocks: Blocks, targets: Targets
    ) -> None:
        self._panel, self.rows = Panel.zeros(1), PanelRows.zeros(0)
        self._large, self._components, self._nodes = large, components, nodes
        self._blocks, self._targets = blocks, targets

    def record(self, p: Program, count: Cell) -> None:
        """Record the elimination of so many large supernodes."""
        panel, nodes, blocks, targets, rows = self._panel, self._nodes, self._blocks, self._targets, self.rows
        tiles, chunks, below = (panel.tiles, 0), (panel.chunks, 0), (panel.below, 0)
        with p.loop(count, index=(panel.number, 0)):
            p.serial(begin_panel, panel, self._large, self._components, nodes, blocks, targets)
            p.launch(take_in, panel, nodes, blocks, rows, count=tiles, grain=1)
            with p.loop(chunks, index=(panel.chunk, 0)):
                p.serial(eliminate_diagonal, panel, nodes, rows)
                p.launch(eliminate_tile, panel, nodes, rows, count=tiles, grain=1)
            p.launch(subtract_entry, panel, nodes, blocks, targets, rows, count=below, grain=1)
            p.launch(give_back, panel, nodes, blocks, rows, count=tiles, grain=1)
