"""Threads that use kernels for the first time at once, and processes that fork."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import shinari as sn
from shinari.compute.once import cached_property

SCENES = 6

# A cloth of other kinds of rows for each number: other kernels.
WORK = """
import hashlib, sys, threading
import numpy as np
import shinari as sn

def build(number, threads=1):
    scene = sn.Scene()
    cloth = scene.add_cloth(sn.grid(shape=(4 + number % 3, 5)), material=sn.ClothMaterial(
        damping=1e-3 * (number % 2), bend_model=("dihedral", "isometric", "cross")[number % 3]))
    cloth.pin([0])
    return sn.Simulation(scene, threads=threads, substeps=2, method=("xpbd", "pbd")[number % 2])

def end(number, threads=1):
    sim = build(number, threads)
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
ends, errors, start = {}, [], threading.Barrier(2 * SCENES)
def work(number):
    start.wait()
    try:
        # each scene in two threads
        ends[number] = end(number // 2, 1 + number % 2)
    except BaseException as error:
        errors.append(repr(error))
workers = [threading.Thread(target=work, args=[number]) for number in range(2 * SCENES)]
[worker.start() for worker in workers]
[worker.join() for worker in workers]
assert not errors, errors
print(*(ends[number] for number in range(2 * SCENES)))
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
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment}
    start = [script] if script.endswith(".py") else ["-c", script]
    done = subprocess.run(
        [sys.executable, *start, *arguments], env=variables, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def assert_same_ends(count: int, script: str, **environment: str) -> None:
    """A script prints so many ends of runs, all of the same bits."""
    ends = run(script, **environment)
    assert len(ends) == count
    assert len(set(ends)) == 1


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")


@pytest.mark.parametrize("processes", ["1", "2"])
def test_many_threads_use_new_kernels_at_once(tmp_path, processes):
    """Each scene has the same bits as when they are built one after the other, with caches as empty."""
    variables = {"SHINARI_COMPILE_PROCESSES": processes}
    together = run(TOGETHER, SHINARI_CACHE_DIR=str(tmp_path / "together"), **variables)
    alone = run(WORK + f"print(*map(end, range({SCENES})))", SHINARI_CACHE_DIR=str(tmp_path / "alone"))
    assert together[::2] == together[1::2] == alone
    names = [sorted(path.name for path in (tmp_path / name).rglob("*.*")) for name in ("together", "alone")]
    assert names[0] == names[1]
    assert not list(tmp_path.rglob("*.tmp"))


@needs_fork
def test_a_forked_child_steps():
    """Before and after its parent has, on one thread and on two, and so does its own child."""
    script = FORK + (
        "child(lambda: end(0, 2))\nprint(end(0, 2))\n"
        "child(lambda: end(0, 1))\nchild(lambda: end(0, 2))\n"
        "child(lambda: child(lambda: end(0, 2)) or end(0, 2))\nprint(end(0, 2))"
    )
    assert_same_ends(7, script)


@needs_fork
def test_a_forked_child_goes_on_with_a_simulation_of_its_parent():
    """As the parent itself does, whether or not it has used its threads."""
    script = FORK + (
        "def on(sim, steps):\n"
        "    sim.step(steps)\n    return hashlib.sha256(sim.state.positions.tobytes()).hexdigest()\n"
        "sim = build(0, 2)\nchild(lambda: on(sim, 4))\nsim.step(1)\n"
        "child(lambda: on(sim, 3))\nsim.step(1)\nchild(lambda: on(sim, 2))\nprint(on(sim, 2))"
    )
    assert_same_ends(4, script)


@needs_fork
def test_a_child_forked_by_a_thread_while_another_compiles(tmp_path):
    script = FORK + (
        "before = end(0)\n"
        "other = threading.Thread(target=end, args=[4])\nother.start()\n"
        "forks = threading.Thread(target=lambda: [child(lambda: end(0, 2)) for _ in range(3)])\n"
        "forks.start(); forks.join(); other.join(); print(before)"
    )
    assert_same_ends(4, script, SHINARI_CACHE_DIR=str(tmp_path))


@needs_fork
def test_a_child_forked_while_another_compiles_compiles_itself(tmp_path):
    """Both need kernels that nobody has: the child holds no lock of a thread that it does not have."""
    script = FORK + (
        "end(0)\nother = threading.Thread(target=end, args=[4])\nother.start()\n"
        "forks = threading.Thread(target=lambda: [child(lambda: end(2, 2)) for _ in range(2)])\n"
        "forks.start(); forks.join(); other.join(); print(end(2, 2))"
    )
    assert_same_ends(3, script, SHINARI_CACHE_DIR=str(tmp_path))


@needs_fork
def test_a_child_forked_while_another_thread_steps(tmp_path):
    """The team of the parent is busy then; the child has a team of its own."""
    script = FORK + (
        "before = end(0)\nstop = threading.Event()\n"
        "sim = build(0, 2)\n"
        "def work():\n    while not stop.is_set():\n        sim.step()\n"
        "other = threading.Thread(target=work)\nother.start()\n"
        "for _ in range(10):\n    child(lambda: end(0, 2))\n"
        "stop.set(); other.join(); print(before)"
    )
    assert_same_ends(11, script)


@pytest.mark.parametrize(
    "method", [pytest.param("fork", marks=needs_fork), "spawn", pytest.param("forkserver", marks=needs_fork)]
)
def test_pools_of_processes(tmp_path, method):
    path = tmp_path / "work.py"
    path.write_text(FILE)
    ends = run(str(path), method)
    assert len(ends) == 6
    assert len(set(ends)) == 1


class Slow:
    """An attribute that waits until it may be there."""

    def __init__(self) -> None:
        self.asked, self.may = threading.Event(), threading.Event()

    @cached_property
    def value(self) -> list[int]:
        """A number."""
        self.asked.set()
        assert self.may.wait(20)
        return [1]


def test_an_attribute_of_one_object_does_not_wait_for_that_of_another():
    """So a child that is forked in between waits for no thread that it does not have; each is made once."""
    first, second, got = Slow(), Slow(), []
    reader = threading.Thread(target=lambda: got.append(first.value))
    reader.start()
    assert first.asked.wait(20)
    second.may.set()
    assert second.value is second.value
    # the same object from two threads: both have what was there first
    first.may.set()
    got.append(first.value)
    reader.join()
    assert got[0] is got[1]
