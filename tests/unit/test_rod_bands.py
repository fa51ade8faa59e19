"""The band solver of rods against a dense one."""

import numpy as np
import pytest

from shinari.compute import Program, kernel
from shinari.systems.rods.blocks import Blocks, factorise, substitute


@kernel
def solve_band(_, blocks: Blocks, begin: int, end: int):
    factorise(blocks, begin, end)
    substitute(blocks, blocks.change, 0, begin, end)


@pytest.mark.parametrize("count", [2, 4, 6, 20, 202])
def test_a_band_is_solved_as_a_dense_matrix(count):
    rng = np.random.default_rng(count)
    begin, size = 2, 3 * count
    rows = rng.standard_normal((size, size)) * (np.abs(np.subtract.outer(np.arange(size), np.arange(size))) < 4)
    matrix = rows @ rows.T + np.eye(size)
    near = np.abs(np.subtract.outer(np.arange(size) // 3, np.arange(size) // 3)) <= 2
    assert not matrix[~near].any()
    right = rng.standard_normal((count, 3))
    blocks = Blocks.zeros(begin + count + 1)
    parts = matrix.reshape(count, 3, count, 3).swapaxes(1, 2)
    for k in range(count):
        blocks.diagonal[begin + k] = parts[k, k][np.triu_indices(3)]
        if k + 1 < count:
            blocks.next[begin + k] = parts[k + 1, k].ravel()
        if k + 2 < count:
            blocks.second[begin + k] = parts[k + 2, k].ravel()
    blocks.change[begin : begin + count] = right
    # what couples to blocks outside of the band belongs to others
    blocks.next[begin + count - 1] = blocks.second[begin + count - 2 :] = 7.0
    p = Program()
    p.launch(solve_band, blocks, begin, begin + count, count=1)
    p.run(1)
    expected = np.linalg.solve(matrix, right.ravel()).reshape(count, 3)
    error = np.abs(blocks.change[begin : begin + count] - expected).max()
    assert error < 1e-13 * np.linalg.cond(matrix) * np.abs(expected).max()
