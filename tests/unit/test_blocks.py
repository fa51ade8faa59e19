"""Colours of blocks of rows."""

import itertools
from typing import Any

import numpy as np
import pytest

from shinari.collision.broad.blocks import BlockColours, Blocks, Claims, CurrentColour, rows_of_block
from shinari.compute import Field, Program, Record, kernel

BLOCK = 64


class Links(Record):
    points = Field(np.uint32, 2)
    solved = Field(np.int64)


@kernel
def solve_block(k, blocks: Blocks, current: CurrentColour, links: Links, log: Claims):
    begin, end = rows_of_block(k, blocks, current)
    for r in range(begin, end):
        links.solved[r] += 1 + current.colour[0]


def coloured(points: np.ndarray, free: np.ndarray) -> tuple[BlockColours, Links]:
    links: Any = Links.zeros(len(points))
    links.points[...] = points
    claims = Claims.zeros(len(free))
    claims.free[...] = free
    colours = BlockColours(links, claims, BLOCK)
    p = Program()
    colours.record_colour(p, len(points))
    colours.record_sweep(p, solve_block, links, claims)
    p.run(2)
    return colours, links


def test_blocks_of_a_colour_share_no_free_point_and_all_are_there():
    rng = np.random.default_rng(1)
    rows = np.sort(rng.integers(0, 4000, (9000, 1)), axis=0) + rng.integers(1, 40, (9000, 2))
    free = rng.random(4100) > 0.1
    colours, links = coloured(rows, free)
    count = int(colours.current.colours[0])
    order, offsets = colours.blocks.order[: colours.current.blocks[0]], colours.starts.first[: count + 1]
    assert sorted(order) == list(range(-(-len(rows) // BLOCK)))
    assert offsets[-1] == len(order)
    for colour, (begin, end) in enumerate(itertools.pairwise(offsets)):
        seen: set[int] = set()
        assert (np.diff(order[begin:end]) > 0).all()
        for block in order[begin:end]:
            own = {int(p) for p in rows[block * BLOCK : (block + 1) * BLOCK].ravel() if free[p]}
            assert not seen & own
            seen |= own
            assert (links.solved[block * BLOCK : (block + 1) * BLOCK] == 1 + colour).all()


@pytest.mark.parametrize("blocks", [0, 1, 5, 63, 64, 200])
def test_blocks_with_one_point_are_a_colour_each(blocks):
    """All rows share a point; more blocks than there are bits in a word."""
    colours, links = coloured(np.tile([0, 1], (BLOCK * blocks, 1)), np.ones(2, bool))
    assert colours.current.colours[0] == blocks
    assert (np.diff(colours.starts.first[: blocks + 1]) == 1).all()
    assert sorted(links.solved) == sorted(np.repeat(np.arange(blocks) + 1, BLOCK))


def test_blocks_beyond_the_colours_of_a_word_share_further_ones():
    # each pair of points has 100 blocks, more than a word has colours
    pairs, blocks = 5, 100
    points = np.repeat(np.tile(np.arange(2 * pairs).reshape(pairs, 2), (blocks, 1)), BLOCK, axis=0)
    colours, links = coloured(points, np.ones(2 * pairs, bool))
    assert colours.current.colours[0] == blocks
    assert (np.diff(colours.starts.first[: blocks + 1]) == pairs).all()
    assert (links.solved > 0).all()
