"""How many files it takes to add a constraint and the like, in a copy of the package; see CONTRIBUTING.md."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import shinari as sn

PACKAGE = Path(sn.__file__).parent

CONSTRAINT = '''
from shinari.constraints.registry import register
from shinari.maths.function import function


@function
def evaluate(x, p):
    """Keeps a point at a height."""
    return x[0][1] - p[0], ((0.0 * p[0], 1.0 + 0.0 * p[0], 0.0 * p[0]),)


register("height", points=1, parameters=("height",), evaluate=evaluate, translation_invariant=False)
'''
USE_CONSTRAINT = """
import shinari as sn

scene = sn.Scene()
scene.add_particles([[0.0, 2.0, 0.0]], mass=1.0)
scene.add_constraint("height", [[0]], height=2.5)
sim = sn.Simulation(scene, precision="float64", threads=1)
sim.step(3)
assert abs(sim.state.positions[0, 1] - 2.5) < 1e-9
print("found")
"""

EFFECT = '''
from shinari.compute import Program, kernel, real
from shinari.systems.fluid.effects.base import Coefficients, Effect, coefficients
from shinari.systems.fluid.records import FluidParticles


@kernel
def slow_down(i, fluid: FluidParticles, table: Coefficients):
    """Multiply a velocity by the factor of its fluid."""
    v, s = fluid.v[i], table.value[fluid.phase[i]]
    fluid.v[i] = v[0] * s, v[1] * s, v[2] * s


class Brake(Effect):
    """Stops fluids."""

    field, phase, order = "brake", "velocity", 9

    def __init__(self, fluids, h, real):
        self._table = coefficients([1.0 - min(m.brake, 1.0) for m in fluids.materials], real)

    def record(self, p: Program, fluid):
        p.launch(slow_down, fluid.rows, self._table, count=fluid.count)
'''
USE_EFFECT = """
import numpy as np
import shinari as sn

scene = sn.Scene()
material = sn.FluidMaterial(brake=1.0)
fluid = scene.add_fluid(sn.Box((0.2, 0.2, 0.2)), spacing=0.05, material=material)
sim = sn.Simulation(scene, threads=1)
sim.step(2)
assert np.abs(sim.velocities(fluid)).max() == 0.0
print("found")
"""

FORMAT = '''
from shinari.io.results import Frame, Writer


class CountWriter(Writer):
    """Writes the number of frames."""

    def __init__(self, path, layout, title):
        self._path, self.frames = path, 0

    def plan(self, count):
        """Any number will do."""

    def write(self, frame: Frame):
        self.frames += 1

    def close(self):
        with open(self._path, "w") as stream:
            stream.write(f"{self.frames}")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
'''
USE_FORMAT = """
import shinari as sn

scene = sn.Scene()
scene.add_particles([[0.0, 2.0, 0.0]], mass=1.0)
sn.Simulation(scene, threads=1).run(0.1, progress=False, record="frames.count")
assert int(open("frames.count").read()) > 2
print("found")
"""

SYSTEM = '''
from shinari.compute import kernel
from shinari.model.particles import Particles
from shinari.model.system import System
from shinari.model.system_model import SystemModel


@kernel
def stop(i, particles: Particles):
    """Take the velocity from a particle."""
    particles.v[i] = 0.0 * particles.v[i, 0], 0.0 * particles.v[i, 1], 0.0 * particles.v[i, 2]


class FreezeModel(SystemModel):
    """Everything stands still."""

    def bind(self, bound):
        return [Freeze(bound.particles)]


class Freeze(System):
    """Everything stands still."""

    order = 89

    def __init__(self, particles):
        self._particles = particles

    def record_finish(self, p):
        p.launch(stop, self._particles, count=len(self._particles))
'''
USE_SYSTEM = """
import numpy as np
import shinari as sn

scene = sn.Scene()
scene.add_particles([[0.0, 2.0, 0.0]], mass=1.0, velocity=(9.0, 0.0, 0.0))
sim = sn.Simulation(scene, threads=1)
sim.step(3)
assert np.abs(sim.state.velocities).max() == 0.0
print("found")
"""


def replaced(folder: Path, name: str, before: str, after: str) -> None:
    file = folder / name
    text = file.read_text()
    assert text.count(before) == 1, (name, before)
    file.write_text(text.replace(before, after))


def add_constraint(package: Path) -> None:
    (package / "constraints/height.py").write_text(CONSTRAINT)


def add_effect(package: Path) -> None:
    (package / "systems/fluid/effects/brake.py").write_text(EFFECT)
    field = "    xsph: float = 0.01\n"
    replaced(package, "scene/fluid_material.py", field, field + "    brake: float = 0.0\n")


def add_format(package: Path) -> None:
    (package / "io/count.py").write_text(FORMAT)
    known = "FORMATS: dict[str, Format] = {\n"
    writer = '__import__("shinari.io.count").io.count.CountWriter'
    line = f'    ".count": Format("number of frames", lambda *a: {writer}(*a)),\n'
    replaced(package, "output/writers.py", known, known + line)


def add_system(package: Path) -> None:
    (package / "systems/freeze").mkdir()
    (package / "systems/freeze/__init__.py").write_text('"""Freeze."""\n')
    (package / "systems/freeze/system.py").write_text(SYSTEM)
    last = "        LumpImpactModel(),\n"
    line = '        __import__("shinari.systems.freeze.system").systems.freeze.system.FreezeModel(),\n'
    replaced(package, "solver/build.py", last, last + line)


@pytest.mark.parametrize(
    ("add", "use", "files"),
    [
        (add_constraint, USE_CONSTRAINT, {"constraints/height.py"}),
        (add_effect, USE_EFFECT, {"systems/fluid/effects/brake.py", "scene/fluid_material.py"}),
        (add_format, USE_FORMAT, {"io/count.py", "output/writers.py"}),
        (add_system, USE_SYSTEM, {"systems/freeze", "solver/build.py"}),
    ],
    ids=["constraint", "fluid effect", "output format", "system"],
)
def test_what_it_takes_to_add(add, use, files, tmp_path):
    """A constraint is one file, a fluid effect and a format are two, a system is a folder and a line.

    A shape is one file, see test_register_shape.py.
    """
    package = tmp_path / "shinari"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    before = {path.relative_to(package): path.read_bytes() for path in package.rglob("*") if path.is_file()}
    add(package)
    after = {path.relative_to(package): path.read_bytes() for path in package.rglob("*") if path.is_file()}
    changed = {str(path) for path in after if before.get(path) != after[path]}
    assert {next((f for f in files if path.startswith(f)), path) for path in changed} == files
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", use], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900
    )
    assert done.stdout == "found\n", done.stderr
