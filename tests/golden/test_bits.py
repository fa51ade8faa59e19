"""Same scene, same bits: on one thread and on two, and again in another process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import shinari as sn
from shinari.compute.threads import processors

pytestmark = [
    pytest.mark.ordinary_kernels,
    pytest.mark.skipif(processors() < 2, reason="there is one processor"),
]

SWEEPS = ("gauss-seidel", "jacobi", "jacobi-averaged", "chebyshev")
CASES = [
    *[(sweep, precision, False) for sweep in SWEEPS for precision in ("float32", "float64")],
    ("gauss-seidel", "float32", True),
    ("gauss-seidel", "float64", True),
]

# A sheet in a gusty wind falls on a moving ball, with more rows in a colour than run on one thread: 83 x 79, so
# that no block of rows or particles splits evenly.
SCRIPT = """
import hashlib, json, sys
import numpy as np
import shinari as sn
from shinari.scene.wind import Gusts

def build():
    scene = sn.Scene(wind=Gusts((2.0, 0.5, 1.0), (1.0, 0.0, 1.0)), damping=0.1)
    material = sn.ClothMaterial(
        density=0.3, bend_stiffness=1e-4, compression_compliance=1e-3, damping=1e-3, friction=0.4
    )
    cloth = scene.add_cloth(sn.grid(shape=(83, 79)), material=material)
    cloth.pin([0, 82])
    scene.attach((cloth, 83 * 79 - 1), (0.5, 0.1, 0.5), compliance=1e-3)
    scene.add_collider(sn.Sphere(0.2), motion=sn.Oscillation((0.0, -0.22, 0.0), (0.1, 0.05, 0.0), 2.0))
    scene.add_collider(sn.Box((0.3, 0.1, 0.3)), position=(0.3, -0.1, 0.2), rotation=(0.8, 0.0, 0.6, 0.0))
    return scene

results = {}
for sweep, precision, hierarchy in json.loads(sys.argv[1]):
    for threads in json.loads(sys.argv[2]):
        sim = sn.Simulation(build(), substeps=2, iterations=5, sweep=sweep, precision=precision, hierarchy=hierarchy,
                            threads=threads)
        assert sim.threads == threads, (sim.threads, threads)
        for name, block in sim.model.blocks.items():
            if name != "attachment":
                assert np.diff(block.offsets).max() > 512, name
        sim.step(8)
        moved = np.abs(sim.state.velocities).max()
        assert np.isfinite(sim.state.x).all() and moved > 0.1
        digest = hashlib.sha256()
        for name, values in sorted(sim.state.arrays().items()):
            digest.update(name.encode() + values.tobytes())
        results[f"{sweep} {precision} {hierarchy} {threads}"] = digest.hexdigest()
print(json.dumps(results))
"""


def hashes(cases: list, threads: list[int]) -> dict[str, str]:
    """Hash of every array of the state after eight steps, from a process of its own with two threads."""
    paths = [str(Path(sn.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "SHINARI_NUM_THREADS": "2", "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(cases), json.dumps(threads)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def first() -> dict[str, str]:
    return hashes(CASES, [1, 2])


@pytest.fixture(scope="module")
def second() -> dict[str, str]:
    return hashes(CASES, [2])


every_case = pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}-{c[1]}{'-hierarchy' * c[2]}")


@every_case
def test_one_thread_and_two_give_the_same_bits(case, first):
    key = " ".join(map(str, case))
    assert first[f"{key} 1"] == first[f"{key} 2"]


@every_case
def test_another_process_gives_the_same_bits(case, first, second):
    key = " ".join(map(str, case))
    assert first[f"{key} 2"] == second[f"{key} 2"]


def test_different_settings_give_different_bits(first):
    """The hash sees what it should: no two of the cases end alike."""
    ends = [value for key, value in first.items() if key.endswith(" 1")]
    assert len(set(ends)) == len(CASES)
