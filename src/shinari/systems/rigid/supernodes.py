"""Supernodes: nodes that are eliminated one after the other, and whose columns have the same rows but for themselves.

Their columns are subtracted from the same blocks, so that these are listed once for a supernode. Small ones, as all are
in chains and small heaps, are eliminated column by column, large ones as panels.
"""

import numpy as np

from shinari.compute import Field, Record, kernel
from shinari.maths.function import steady
from shinari.systems.rigid.components import Blocks, Components, Nodes, Targets
from shinari.systems.rigid.progress import Counts

# Entries of a tile of a panel, and its columns.
TILE = 4
LANES = 6 * TILE
# Products of blocks from which a supernode is large, in a component of so many: it keeps several threads busy for
# longer than they take to meet. The blocks of smaller components stand in the caches, and threads that work on one each
# need not meet.
LARGE_COST, COSTLY = 500.0, 400_000.0


class LargeSupernodes(Record):
    """The large supernodes of all components, in order of elimination."""

    first = Field(np.int64, doc="first node")
    last = Field(np.int64, doc="last node")


@steady
def tiles_of(entries):
    """Tiles of so many entries."""
    return (entries + TILE - 1) // TILE


@steady
def ends_supernode(j, nodes):
    """Whether node j is the last of its supernode."""
    return nodes.parent[j] != j + 1 or nodes.size[j] != nodes.size[j + 1] + 1


@steady
def is_large(first, last, nodes, components):
    """Whether a supernode is large."""
    width = last + 1 - first
    entries = width + nodes.size[last]
    costly = components.cost[nodes.component[first]] > COSTLY
    return costly and 0.5 * width * entries * entries > LARGE_COST


@kernel
def find_columns(_, nodes: Nodes, components: Components, counts: Counts):
    """Find the first block of each node, and the first target of each supernode; count the large ones."""
    blocks = targets = large = begin = panel_rows = 0
    count = counts.nodes[0]
    for j in range(count):
        nodes.column[j], nodes.target[j] = blocks, targets
        size = nodes.size[j]
        blocks += size
        if ends_supernode(j, nodes):
            targets += size * (size - 1) // 2
            if is_large(begin, j, nodes, components):
                width = j + 1 - begin
                large, panel_rows = large + 1, max(panel_rows, 6 * width * tiles_of(width + size))
            begin = j + 1
    nodes.column[count], nodes.target[count] = blocks, targets
    counts.blocks[0], counts.targets[0], counts.large[0], counts.panel_rows[0] = blocks, targets, large, panel_rows


@kernel
def list_large(_, large: LargeSupernodes, nodes: Nodes, components: Components, counts: Counts):
    """List the large supernodes."""
    begin = k = 0
    for j in range(counts.nodes[0]):
        if ends_supernode(j, nodes):
            if is_large(begin, j, nodes, components):
                large.first[k], large.last[k] = begin, j
                k += 1
            begin = j + 1


@kernel
def find_targets(j, nodes: Nodes, blocks: Blocks, targets: Targets):
    """The blocks that products of two rows below a supernode are subtracted from."""
    if not ends_supernode(j, nodes):
        return
    at, end = nodes.target[j], nodes.column[j + 1]
    for p in range(nodes.column[j], end):
        b = nodes.column[blocks.row[p]]
        for s in range(p + 1, end):
            while blocks.row[b] != blocks.row[s]:
                b += 1
            targets.block[at] = b
            at += 1
