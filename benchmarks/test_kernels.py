"""Kernels alone: `pytest benchmarks/test_kernels.py` with pytest-benchmark; not part of the tests."""

import pytest

from shinari.bench.sheet import Case, Sheet
from shinari.bench.subjects import Ours
from shinari.compute import Program
from shinari.compute.colouring import colour
from shinari.solver.particle_motion import ParticleMotion
from shinari.systems.rows.system import BlockSolver

N = 128


@pytest.fixture(scope="module")
def engine():
    engine = Ours(Case(N, bending=True))
    engine.step()
    return engine


@pytest.mark.parametrize("kind", ["distance", "isometric_bend"])
def test_sweep(benchmark, engine, kind):
    rows = next(s for s in engine.simulation._work.all_bound(BlockSolver) if s.block.type.name == kind)
    sweep = Program()
    rows.record_project(sweep, True)
    benchmark.extra_info["rows"] = rows.block.row_count
    assert benchmark(sweep.run, 2)


def test_predict(benchmark, engine):
    predict = Program()
    engine.simulation._work.bound(ParticleMotion).record_predict(predict)
    assert benchmark(predict.run, 2)


def test_colouring_of_200k_rows(benchmark):
    sheet = Sheet(256)
    colour(sheet.rows, len(sheet.positions))
    _, offsets = benchmark(colour, sheet.rows, len(sheet.positions))
    assert len(offsets) - 1 <= 8
