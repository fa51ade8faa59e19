"""Constraints and force fields of users: compiled once, found again by the next process wherever they were written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SPRING = '''
import numpy as np
import shinari as sn

STRETCH = np.float32(1.25)


@sn.function
def longer(length):
    """A callee with a constant of its own."""
    return STRETCH * length


@sn.function
def evaluate(x, p):
    """Keeps two points at a longer length."""
    a, b, c = x[0][0] - x[1][0], x[0][1] - x[1][1], x[0][2] - x[1][2]
    length = np.sqrt(a * a + b * b + c * c)
    n = a / length, b / length, c / length
    return length - longer(p[0]), (n, (-n[0], -n[1], -n[2]))


@sn.function
def pull(x, v, m, t):
    """A force that grows with time."""
    return 0.0, m * t, 0.0


sn.register("spring_of_mine", points=2, parameters=("rest_length",), evaluate=evaluate)
'''

RUN = """
import hashlib, sys
from shinari.compute import compiling

scene = sn.Scene()
points = scene.add_particles([[0.5 * k, 0, 0] for k in range(6)])
points.pin([0])
scene.add_constraint("spring_of_mine", [[k, k + 1] for k in range(5)], rest_length=[0.5] * 5)
scene.add_force_field(pull)
simulation = sn.Simulation(scene, substeps=4, threads=1)
simulation.step(5)
mine = [name for name in compiling.compiled if name.startswith(("project_spring", "apply_force"))]
print(len(mine), hashlib.sha256(simulation.state.positions.tobytes()).hexdigest())
"""


def run(folder: Path, kind: str, spring: str = SPRING) -> tuple[int, str]:
    """Kernels of the user that a process compiled, and the bits of its result."""
    script = folder / "script.py"
    if kind == "script":
        script.write_text(spring + RUN)
    elif kind == "cell":
        cell = f"exec(compile({spring + RUN!r}, '<cell 1>', 'exec'), globals())"
        script.write_text(cell)
    else:
        (folder / "mine").mkdir(exist_ok=True)
        (folder / "mine" / "__init__.py").write_text("")
        (folder / "mine" / "spring.py").write_text(spring)
        script.write_text("import shinari as sn\nfrom mine.spring import pull\n" + RUN)
    env = os.environ | {"SHINARI_CACHE_DIR": str(folder / "cache"), "SHINARI_QUIET": "1"}
    done = subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True, check=True)
    count, bits = done.stdout.split()
    return int(count), bits


@pytest.mark.parametrize("kind", ["script", "cell", "package"])
def test_it_is_compiled_once(kind, tmp_path):
    count, bits = run(tmp_path, kind)
    assert count >= 2
    assert run(tmp_path, kind) == (0, bits)


def test_an_edited_callee_and_an_edited_constant_are_compiled_anew(tmp_path):
    _, bits = run(tmp_path, "script")
    count, other = run(tmp_path, "script", SPRING.replace("np.float32(1.25)", "np.float32(1.5)"))
    assert count >= 1
    assert other != bits
    count, third = run(tmp_path, "script", SPRING.replace("return STRETCH * length", "return length"))
    assert count >= 1
    assert third not in (bits, other)
    assert run(tmp_path, "script") == (0, bits)


def test_the_same_in_another_place_is_the_same(tmp_path):
    """The name of the file and of the module do not matter."""
    _, bits = run(tmp_path, "script")
    assert run(tmp_path, "package") == (0, bits)
