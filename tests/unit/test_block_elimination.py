"""Elimination in blocks of three against dense matrices."""

import numpy as np
import pytest

from shinari.compute import Program, kernel
from shinari.systems.coupling.block_elimination import Blocks, Pivots, eliminate, least_degree, substitute


@kernel
def solve(_, pivots: Pivots, blocks: Blocks):
    eliminate(0, len(pivots), pivots, blocks)
    substitute(0, len(pivots), pivots, blocks)


ALONG = [(7 * i + j, 7 * i + j + 1) for i in range(5) for j in range(6)]
ACROSS = [(7 * i + j, 7 * i + j + 7) for i in range(4) for j in range(7)]
GRAPHS = {
    "chain": (30, [(k, k + 1) for k in range(29)]),
    "tree": (40, [(k, (k - 1) // 3) for k in range(1, 40)]),
    "ring": (12, [(k, (k + 1) % 12) for k in range(12)]),
    "grid": (35, ALONG + ACROSS),
    "two": (6, [(0, 3), (3, 5), (1, 2)]),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_a_system_is_solved(name):
    count, links = GRAPHS[name]
    rng = np.random.default_rng(3)
    dense, right = np.zeros((3 * count, 3 * count)), rng.normal(size=(count, 3))
    held = np.zeros(count, bool)
    held[:: max(count // 3, 4)] = name != "two"
    order = least_degree(count, links)
    place = np.argsort(order.order)
    pivots = Pivots.zeros(count)
    pivots.first[:], pivots.end[:], pivots.fill[:] = order.firsts[:-1], order.firsts[1:], order.first_fills[:-1]
    pivots.held[:], pivots.x[:] = held[order.order], right[order.order]
    blocks = Blocks(row=order.rows, value=np.zeros((len(order.rows), 9)), fill=order.fills)
    for k in range(count):
        dense[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = np.eye(3) * rng.uniform(0.1, 1.0)
    for a, b in links:
        n = rng.normal(size=3)
        s = np.outer(n, n) * 10 ** rng.uniform(-1, 2)
        for i, j, sign in ((a, a, 1), (b, b, 1), (a, b, -1), (b, a, -1)):
            dense[3 * i : 3 * i + 3, 3 * j : 3 * j + 3] += sign * s
        blocks.value[order.block(place[a], place[b])] = -s.ravel()
    for k in range(count):
        m = dense[3 * k : 3 * k + 3, 3 * k : 3 * k + 3]
        pivots.own[place[k]] = m[0, 0], m[1, 1], m[2, 2], m[1, 2], m[2, 0], m[0, 1]
    program = Program()
    program.serial(solve, pivots, blocks)
    program.run()
    free = np.repeat(~held, 3)
    expected = np.zeros(3 * count)
    expected[free] = np.linalg.solve(dense[np.ix_(free, free)], right.ravel()[free])
    np.testing.assert_allclose(pivots.x[place].ravel(), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["chain", "tree"])
def test_chains_and_trees_get_no_further_blocks(name):
    count, links = GRAPHS[name]
    order = least_degree(count, links)
    assert len(order.rows) == len(links)
    assert len(order.fills) == 0
