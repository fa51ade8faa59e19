"""Colours for rows that change all the time: blocks of consecutive rows instead of single ones.

A block runs on one thread, in order; two blocks of one colour share no particle that can move. That takes one look at
each row: every particle keeps a word of the colours that its blocks have taken.
"""

import numba
import numpy as np

from shinari.maths.function import STEADY

COLOURS = 63


def colour_blocks(indices: np.ndarray, free: np.ndarray, block: int) -> tuple[np.ndarray, np.ndarray]:
    """Blocks by colour.

    Args:
        indices: Particles of each row, (M, P).
        free: Which particles can move, (N,).
        block: Rows in a block.

    Returns:
        Blocks, colour after colour, (B,) int64, and where each colour starts, (C + 1,). Blocks that find no colour
        come last, each as a colour of its own.
    """
    count = -(-len(indices) // block)
    colours = np.empty(count, np.int64)
    most = _first_fit(indices, free, block, np.zeros(len(free), np.uint64), colours)
    order = np.argsort(colours, kind="stable")
    return order, np.searchsorted(colours[order], np.arange(most + 1))


@numba.njit(cache=True, **STEADY)
def _first_fit(indices, free, block, taken, colours):
    """Give each block the lowest colour that none of its free particles has seen; return the number of colours."""
    one = np.uint64(1)
    extra = COLOURS
    most = 0
    for b in range(len(colours)):
        begin, end = b * block, min((b + 1) * block, len(indices))
        seen = np.uint64(0)
        for r in range(begin, end):
            for k in range(indices.shape[1]):
                seen |= taken[indices[r, k]] if free[indices[r, k]] else np.uint64(0)
        colour = 0
        while colour < COLOURS and (seen >> np.uint64(colour)) & one:
            colour += 1
        if colour == COLOURS:
            colour = extra
            extra += 1
        else:
            bit = one << np.uint64(colour)
            for r in range(begin, end):
                for k in range(indices.shape[1]):
                    taken[indices[r, k]] |= bit
        colours[b] = colour
        most = max(most, colour + 1)
    return most
