"""Kernels alone: `pytest benchmarks/test_kernels.py` with pytest-benchmark; not part of the tests."""

import numpy as np
import pytest
from shinari.solver.integrate import predict

from shinari.bench.sheet import Case, Sheet
from shinari.bench.subjects import Ours
from shinari.build.colouring import colour

N = 128


@pytest.fixture(scope="module")
def engine():
    engine = Ours(Case(N, bending=True))
    engine.step()
    return engine


@pytest.mark.parametrize("kind", ["distance", "isometric_bend"])
def test_sweep(benchmark, engine, kind):
    solver = next(s for s in engine.simulation._work.solvers if s.block.type.name == kind)
    benchmark.extra_info["rows"] = solver.block.row_count
    benchmark(solver.project, 2, True)


def test_predict(benchmark, engine):
    state, work = engine.simulation.state, engine.simulation._work
    x, v, zero = state.x.copy(), state.v.copy(), np.float32(0.0)
    benchmark(predict, x, work.predicted.copy(), v, np.zeros(3, np.float32), zero)


def test_colouring_of_200k_rows(benchmark):
    sheet = Sheet(256)
    colour(sheet.rows, len(sheet.positions))
    _, offsets = benchmark(colour, sheet.rows, len(sheet.positions))
    assert len(offsets) - 1 <= 8
