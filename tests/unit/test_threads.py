"""Teams of threads are given up when another Python thread takes a simulation over."""

import sys
from pathlib import Path

import numba
import pytest

import shinari as sn
from browser_help import until
from shinari.maths.threads import let_go_of_threads
from shinari.view.runner import Runner

pytestmark = pytest.mark.ordinary_kernels

TASKS = Path("/proc/self/task")


def sheet() -> sn.Simulation:
    scene = sn.Scene()
    scene.add_cloth(sn.grid(shape=(83, 79))).pin([0, 82])
    return sn.Simulation(scene, threads=2, substeps=2)


def threads() -> int:
    return len(list(TASKS.iterdir()))


needs_teams = pytest.mark.skipif(
    not TASKS.is_dir() or numba.config.NUMBA_NUM_THREADS < 2,  # type: ignore[attr-defined]
    reason="counts the threads of two cores by /proc",
)


@needs_teams
def test_a_team_ends_and_the_next_loop_starts_another():
    one, two = sheet(), sheet()
    one.step(4)
    if "numba.np.ufunc.omppool" not in sys.modules:
        pytest.skip("parallel loops do not run on OpenMP here")
    before = threads()
    let_go_of_threads()
    assert threads() == before - 1
    let_go_of_threads()
    assert threads() == before - 1
    one.step(2)
    assert threads() == before
    two.step(6)
    assert one.state == two.state


@needs_teams
def test_a_runner_takes_over_the_only_team():
    simulation = sheet()
    simulation.step(2)
    if "numba.np.ufunc.omppool" not in sys.modules:
        pytest.skip("parallel loops do not run on OpenMP here")
    let_go_of_threads()
    without = threads()
    simulation.step()
    runner = Runner(simulation)
    try:
        runner.step().result()
        # the runner's own thread, and one in its team
        assert threads() == without + 2
    finally:
        runner.close()
    until(lambda: threads() <= without, "the system has ended them")
    assert threads() == without
