"""Threads that use kernels for the first time at once, and processes that fork."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import shinari as sn
from shinari.errors import ShinariError
from shinari.maths import threads

SCENES = 4

# A cloth of other kinds of rows for each number: their kernels are rendered when its simulation is built.
WORK = """
import hashlib, sys, threading
import numpy as np
import shinari as sn

def end(number, threads=1):
    scene = sn.Scene()
    cloth = scene.add_cloth(sn.grid(shape=(4 + number % 3, 5)), material=sn.ClothMaterial(
        damping=1e-3 * (number % 2), bend_model=("dihedral", "isometric", "cross")[number % 3]))
    cloth.pin([0])
    sim = sn.Simulation(scene, threads=threads, substeps=2, method=("xpbd", "pbd")[number % 2])
    sim.step(3)
    digest = hashlib.sha256(sim.state.positions.tobytes())
    digest.update(np.asarray(sim.energy().total).tobytes())
    return digest.hexdigest()
"""

TOGETHER = (
    WORK
    + f"""
SCENES = {SCENES}"""
    + """
sys.setswitchinterval(1e-5)
ends, errors, start = {}, [], threading.Barrier(SCENES)
def work(number):
    start.wait()
    try:
        ends[number] = end(number)
    except BaseException as error:
        errors.append(repr(error))
workers = [threading.Thread(target=work, args=[number]) for number in range(SCENES)]
[worker.start() for worker in workers]
[worker.join() for worker in workers]
assert not errors, errors
print(*(ends[number] for number in range(SCENES)))
"""
)

FORK = (
    WORK
    + """
import os
def child(what):
    number = os.fork()
    if number == 0:
        try:
            print(what(), flush=True)
        except BaseException as error:
            print(repr(error), flush=True)
        os._exit(0)
    assert os.waitpid(number, 0)[1] == 0
"""
)

FILE = (
    WORK
    + """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

if __name__ == "__main__":
    print(end(0, 2))
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(sys.argv[1])) as pool:
        print(*pool.map(end, [0, 0], [1, 2]))
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(*pool.starmap(end, [(0, 1), (0, 2)]))
    print(end(0, 2))
"""
)


def run(script: str, *arguments: str, **environment: str) -> list[str]:
    paths = [str(Path(sn.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    variables = {**os.environ, "NUMBA_NUM_THREADS": "2", "PYTHONPATH": os.pathsep.join(paths), **environment}
    start = [script] if script.endswith(".py") else ["-c", script]
    done = subprocess.run(
        [sys.executable, *start, *arguments], env=variables, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")


def test_many_threads_use_new_kernels_at_once(tmp_path):
    """Each scene has the same bits as when they are built one after the other, with caches as empty."""
    together = run(TOGETHER, SHINARI_CACHE_DIR=str(tmp_path / "together"))
    alone = run(WORK + f"print(*map(end, range({SCENES})))", SHINARI_CACHE_DIR=str(tmp_path / "alone"))
    assert together == alone
    names = [sorted(path.name for path in (tmp_path / name).rglob("*.py")) for name in ("together", "alone")]
    assert names[0] == names[1]
    assert not list(tmp_path.rglob("*.tmp"))


@needs_fork
@pytest.mark.parametrize("layer", ["omp", "workqueue"])
def test_a_forked_child_steps(layer):
    """Before and after its parent has, on one thread and on two, and so does its own child."""
    script = FORK + (
        "child(lambda: end(0, 2))\nprint(end(0, 2))\n"
        "child(lambda: end(0, 1))\nchild(lambda: end(0, 2))\n"
        "child(lambda: child(lambda: end(0, 2)) or end(0, 2))\nprint(end(0, 2))"
    )
    ends = run(script, NUMBA_THREADING_LAYER=layer)
    assert len(ends) == 7
    assert len(set(ends)) == 1


@needs_fork
def test_a_child_forked_by_a_thread_while_another_compiles(tmp_path):
    script = FORK + (
        "before = end(0)\n"
        "other = threading.Thread(target=end, args=[4])\nother.start()\n"
        "forks = threading.Thread(target=lambda: [child(lambda: end(0, 2)) for _ in range(3)])\n"
        "forks.start(); forks.join(); other.join(); print(before)"
    )
    ends = run(script, SHINARI_CACHE_DIR=str(tmp_path))
    assert len(ends) == 4
    assert len(set(ends)) == 1


@pytest.mark.parametrize(
    "method", [pytest.param("fork", marks=needs_fork), "spawn", pytest.param("forkserver", marks=needs_fork)]
)
def test_pools_of_processes(tmp_path, method):
    path = tmp_path / "work.py"
    path.write_text(FILE)
    ends = run(str(path), method)
    assert len(ends) == 6
    assert len(set(ends)) == 1


@needs_fork
def test_an_old_openmp_is_refused_in_the_child():
    """Where the team cannot be given up before the fork, the child says what to do instead of being killed."""
    script = FORK + (
        "from shinari.maths import threads\nprint(end(0, 2))\n"
        "threads._fork.before.__func__.__globals__['let_go_of_threads'] = lambda: False\n"
        "child(lambda: end(0, 2))\nprint(end(0, 2))"
    )
    first, *told, last = run(script, NUMBA_THREADING_LAYER="omp")
    assert first == last
    assert "ShinariError" in told[0]
    assert "'spawn'" in " ".join(told)


def test_the_error_reaches_the_user(monkeypatch):
    scene = sn.Scene()
    scene.add_particles([[0, 0, 0]])
    simulation = sn.Simulation(scene)
    monkeypatch.setattr(threads, "_unusable", ["processes: use spawn"])
    with pytest.raises(ShinariError, match="spawn"):
        simulation.step()
    with pytest.raises(ShinariError, match="spawn"):
        sn.Simulation(scene)
