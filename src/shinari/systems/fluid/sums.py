"""Sums over the particles of all fluids: of chunks of them, of groups of chunks, and of all.

Chunks are the same whatever the number of threads, and so are the sums. They are short, so that a GPU has a thread for
each of many; one thread adds up the groups.
"""

import numpy as np

from shinari.compute import Field, Program, Record, function, kernel
from shinari.systems.fluid.records import Solve

# Particles of a chunk, and chunks of a group.
CHUNK, GROUP = 128, 64
# Chunks for which it is worth waking one more thread.
SHARE = 16


class ChunkSums(Record):
    """Sums over chunks of particles, or over groups of chunks, a row each."""

    sum = Field(np.float64, 3)
    square = Field(np.float64, doc="the largest")


@function
def chunk_of(c, count):
    """First particle of a chunk, and the end of it."""
    return c * CHUNK, min((c + 1) * CHUNK, count)


@kernel
def add_chunks(g, chunk_sums: ChunkSums, group_sums: ChunkSums, solve: Solve):
    """Sums of the chunks of a group, and the largest of their squares."""
    x, y, z, square = 0.0, 0.0, 0.0, 0.0
    for c in range(g * GROUP, min((g + 1) * GROUP, solve.chunks[0])):
        part = chunk_sums.sum[c]
        x, y, z, square = x + part[0], y + part[1], z + part[2], max(square, chunk_sums.square[c])
    group_sums.sum[g], group_sums.square[g] = (x, y, z), square


class Sums:
    """Memory of sums.

    Args:
        count: Particles, at most.
        solve: How many there are.

    Attributes:
        chunks: Sums over chunks.
        groups: Sums over groups, once `record_add` has run.
    """

    def __init__(self, count: int, solve: Solve) -> None:
        chunks = count // CHUNK + 1
        self._solve = solve
        self.chunks: ChunkSums = ChunkSums.zeros(chunks)
        self.groups: ChunkSums = ChunkSums.zeros(chunks // GROUP + 1)

    def divide(self, count: int) -> None:
        """There are so many particles now."""
        chunks = -(-count // CHUNK)
        self._solve.count[0], self._solve.chunks[0], self._solve.groups[0] = count, chunks, -(-chunks // GROUP)

    def record_add(self, p: Program) -> None:
        """Record that the sums of chunks are added, group by group."""
        p.launch(add_chunks, self.chunks, self.groups, self._solve, count=(self._solve.groups, 0), grain=SHARE)
