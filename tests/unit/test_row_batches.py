"""Batches of rows of two points: which rows stand together, and where they are stored."""

import itertools
from typing import Any

import numpy as np
import pytest

from shinari.collision.broad.blocks import Claims, CurrentColour
from shinari.collision.broad.row_batches import BLOCK, WIDTH, Batches, RowBatches, batches_of_block
from shinari.compute import Field, Program, Record, kernel
from shinari.compute.scan import Offsets


class Log(Record):
    """Rows as stored."""

    solved = Field(np.int64)


@kernel
def solve_block(k, starts: Offsets, batches: Batches, current: CurrentColour, log: Log):
    """Count how often a row is solved, and in which colour."""
    first, last = batches_of_block(k, starts, current)
    for t in range(first, last):
        for r in range(np.int64(batches.first[t]), np.int64(batches.first[t + 1])):
            log.solved[r] += 1 + current.colour[0]


def arranged(points: np.ndarray, free: np.ndarray, threads: int = 1) -> tuple[RowBatches, np.ndarray, np.ndarray]:
    """Batches of rows, the points of the rows as stored, and in which colour each is solved."""
    claims: Any = Claims.zeros(len(free))
    claims.free[...] = free
    batches = RowBatches(claims, len(points))
    batches.links.points[...] = points
    log: Any = Log.zeros(len(points))
    p = Program()
    batches.record_arrange(p, len(points))
    batches.record_sweep(p, solve_block, log)
    p.run(threads)
    stored = np.zeros_like(points)
    assert sorted(batches.links.row) == list(range(len(points)))
    stored[batches.links.row] = points
    return batches, stored, log.solved - 1


def limits(batches: RowBatches) -> np.ndarray:
    """First row of each batch, and the end."""
    count = int(batches.starts.start[batches.colours.current.blocks[0]])
    return batches.batches.first[: count + 1].astype(np.int64)


@pytest.mark.bounds
@pytest.mark.parametrize("count", [1, 127, 128, 129, 9000])
def test_rows_of_a_batch_share_no_free_point_and_all_are_there(count):
    rng = np.random.default_rng(count)
    first = np.sort(rng.integers(0, max(count // 4, 2), count))
    points = np.stack([first, first + rng.integers(1, 40, count)], axis=1)
    free = rng.random(int(points.max()) + 1) > 0.1
    batches, stored, colours = arranged(points, free)
    edges = limits(batches)
    assert edges[0] == 0
    assert edges[-1] == count
    for begin, end in itertools.pairwise(edges):
        assert 0 < end - begin <= WIDTH
        own = [p for p in stored[begin:end].ravel() if free[p]]
        assert len(own) == len(set(own))
    assert (np.diff(colours) >= 0).all(), "rows are stored colour after colour"
    for colour in np.unique(colours):
        blocks = np.flatnonzero(colours == colour)
        assert len(blocks) % BLOCK == 0 or len(blocks) % BLOCK == count % BLOCK
    if count > 1000:
        assert len(edges) - 1 < 1.5 * count / WIDTH, "batches are nearly full"


def test_a_point_with_many_rows_has_a_batch_for_each():
    """More rows of one point than there are bits in a word."""
    points = np.stack([np.zeros(BLOCK, np.int64), np.arange(1, BLOCK + 1)], axis=1)
    batches, _, _ = arranged(points, np.ones(BLOCK + 1, bool))
    assert (np.diff(limits(batches)) == 1).all()
    assert len(limits(batches)) == BLOCK + 1


@pytest.mark.parametrize("parts", [(300, 1), (1000, 500, 700), (0, 200)])
def test_appended_rows_are_solved_after_those_before(parts):
    rng = np.random.default_rng(len(parts))
    count, edges = sum(parts), np.cumsum((0, *parts))
    points = rng.integers(0, 400, (count, 2))
    points[:, 1] += 400
    claims: Any = Claims.zeros(800)
    claims.free[...] = True
    batches, log, solved = RowBatches(claims, count), Log.zeros(count), []
    batches.links.points[...] = points
    for part, last in enumerate(edges[1:]):
        p = Program()
        batches.record_arrange(p, int(last), appends=part > 0)
        p.run(1)
    p = Program()
    batches.record_sweep(p, solve_block, log)
    p.run(2)
    assert sorted(batches.links.row) == list(range(count))
    stored = np.zeros_like(points)
    stored[batches.links.row] = points
    colours = log.solved - 1
    assert (np.diff(colours) >= 0).all()
    for first, last in itertools.pairwise(edges):
        np.testing.assert_array_equal(np.sort(batches.links.row[first:last]), np.arange(first, last))
        solved.append(set(colours[first:last]))
    assert not any(one & other for one, other in itertools.combinations(solved, 2))
    for begin, end in itertools.pairwise(limits(batches)):
        assert 0 < end - begin <= WIDTH
        assert len(np.unique(stored[begin:end])) == 2 * (end - begin)


def test_no_rows():
    batches, _, _ = arranged(np.zeros((0, 2), np.int64), np.ones(3, bool))
    assert batches.colours.current.colours[0] == 0


def test_batches_do_not_depend_on_threads():
    rng = np.random.default_rng(3)
    first = np.sort(rng.integers(0, 5000, 20_000))
    points = np.stack([first, first + rng.integers(1, 60, 20_000)], axis=1)
    one, two = (arranged(points, np.ones(6000, bool), threads) for threads in (1, 2))
    np.testing.assert_array_equal(one[1], two[1])
    np.testing.assert_array_equal(limits(one[0]), limits(two[0]))
