"""Rendered kernels: found again by the next process, never stale, and safe to write from two processes at once."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from shinari.solver.lift import Variant, projection

import shinari as sn
from shinari.constraints.distance import DISTANCE
from shinari.constraints.registry import constraint_type
from shinari.solver.rendered import _writable_folder, kernel_folder, render

pytestmark = pytest.mark.ordinary_kernels

ROOT = Path(__file__).parents[2]

# A rope of rows of the user's type; prints where it ends, and how often Numba compiled and loaded the sweep.
SCENE = """
import sys
import numpy as np
import shinari as sn
import {module}
from shinari.solver.lift import Variant, projection
scene = sn.Scene()
points = scene.add_particles([[0.5 * k, 0, 0] for k in range(6)])
points.pin([0])
scene.add_constraint("{name}", [[k, k + 1] for k in range(5)])
sim = sn.Simulation(scene, precision="float64", substeps=4, threads=1)
sim.step(5)
sweep = projection(sys.modules["{module}"].TYPE, Variant("xpbd", False, False, False))
print(float(sim.state.positions.sum()), sum(sweep.stats.cache_hits.values()), sum(sweep.stats.cache_misses.values()))
print(sweep.py_func.__module__)
"""

# A spring of the user, outside the package, with a callee, a constant of its own and one of another module.
SPRING = '''
import numpy as np
import shinari as sn
from shinari.maths.vec3 import direction_and_length, neg, sub
import {module}_numbers as numbers

FACTOR = np.float32({factor})

@sn.function
def shorten(length):
    return {callee}

@sn.function
def evaluate(x, p):
    """A row that wants to be shorter than its rest length."""
    n, length = direction_and_length(sub(x[0], x[1]))
    return length - shorten(p[0]) * numbers.SCALE, (n, neg(n))

def rest(x):
    return np.linalg.norm(x[:, 0] - x[:, 1], axis=1)

TYPE = sn.register("{name}", points=2, parameters=("rest_length",), evaluate=evaluate, rest=rest, unit_gradients=True)
'''


def write_spring(
    folder: Path, *, factor: str = "0.5", callee: str = "FACTOR * length", scale: str = "1.0", module: str = "my_spring"
) -> None:
    text = SPRING.format(module=module, name=module, factor=factor, callee=callee)
    (folder / f"{module}.py").write_text(text)
    (folder / f"{module}_numbers.py").write_text(f"import numpy as np\nSCALE = np.float32({scale})\n")


def start(folder: Path, script: str, cache: Path | str, **environment: str) -> subprocess.Popen:
    paths = [str(folder), str(Path(sn.__file__).parents[1])]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "SHINARI_CACHE_DIR": str(cache), **environment}
    variables["PYTHONDONTWRITEBYTECODE"] = "1"  # an edit within the same second is not seen in a .pyc
    return subprocess.Popen(
        [sys.executable, "-c", script], env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process: subprocess.Popen) -> list[str]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.split()


def run(folder: Path, cache: Path | str, module: str = "my_spring", **environment: str) -> list[str]:
    return finish(start(folder, SCENE.format(module=module, name=module), cache, **environment))


def test_the_next_process_finds_the_kernel_whatever_its_hash_seed(tmp_path):
    write_spring(tmp_path)
    first, *_, name = run(tmp_path, tmp_path / "cache", PYTHONHASHSEED="1")
    files = sorted(path.name for path in (tmp_path / "cache" / "kernels").glob("*.py"))
    again, hits, misses, same = run(tmp_path, tmp_path / "cache", PYTHONHASHSEED="2")
    assert (again, same) == (first, name)
    assert int(misses) == 0
    assert int(hits) >= 1
    assert sorted(path.name for path in (tmp_path / "cache" / "kernels").glob("*.py")) == files
    assert f"{name}.py" in files


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """One cache for those that need none of their own: the kernel of the spring is compiled once."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.parametrize(
    "edit",
    [{"factor": "0.75"}, {"callee": "FACTOR * length * FACTOR"}, {"scale": "0.5"}],
    ids=["constant", "callee", "constant of another module"],
)
def test_an_edit_is_noticed(tmp_path, cache, edit):
    write_spring(tmp_path)
    before, *_, name = run(tmp_path, cache)
    write_spring(tmp_path, **edit)
    after, *_, other = run(tmp_path, cache)
    assert name != other
    assert before != after


def test_a_constraint_of_a_script_works_without_a_cache(tmp_path, cache):
    """`__main__` cannot be imported by another process: its kernels live in memory."""
    write_spring(tmp_path)
    body = (tmp_path / "my_spring.py").read_text()
    script = body + SCENE.format(module="sys", name="my_spring").replace('sys.modules["sys"].TYPE', "TYPE")
    # inspect needs a file for the source of __main__
    (tmp_path / "script.py").write_text(script)
    in_file = f"import runpy; runpy.run_path({str(tmp_path / 'script.py')!r}, run_name='__main__')"
    from_module = run(tmp_path, cache)
    for source in (script, in_file):
        total, hits, _, name = finish(start(tmp_path, source, cache))
        assert float(total) == pytest.approx(float(from_module[0]), rel=1e-13)
        assert int(hits) == 0
        assert not (cache / "kernels" / f"{name}.py").exists()


def test_a_function_that_was_executed_from_a_text_works():
    """As in a notebook cell: no file and no importable name."""
    names: dict = {"sn": sn}
    exec(
        "@sn.function\ndef evaluate(x, p):\n    return x[0][1] - p[0], "
        "((x[0][0] - x[0][0], p[0] - p[0] + sn_one, x[0][0] - x[0][0]),)\n",
        {**names, "sn_one": np.float32(1.0)},
        names,
    )
    kind = sn.constraints.registry.ConstraintType("executed", 1, (("height", 1),), names["evaluate"], None)
    x = np.array([[0.0, 3.0, 0.0, 1.0]])
    sweep = projection(kind, Variant("xpbd", False, False, False))
    sweep(1, np.array([0, 1]), np.zeros((1, 1), np.uint32), np.ones((1, 1)), np.zeros((1, 1)), np.zeros(1), x, 1.0)
    np.testing.assert_array_equal(x[0], [0.0, 1.0, 0.0, 1.0])


def test_a_cache_that_cannot_be_written_is_replaced_for_the_process(tmp_path, cache):
    write_spring(tmp_path)
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    total, *_ = run(tmp_path, blocked)
    assert float(total) == float(run(tmp_path, cache)[0])
    assert blocked.read_text() == "in the way"
    folder = _writable_folder(str(blocked), "kernels")
    assert folder.is_dir()
    assert folder == _writable_folder(str(blocked), "kernels")


def test_two_first_runs_at_once(tmp_path):
    write_spring(tmp_path)
    script = SCENE.format(module="my_spring", name="my_spring")
    both = [start(tmp_path, script, tmp_path / "cache") for _ in range(2)]
    results = [finish(process) for process in both]
    assert results[0][0] == results[1][0]
    again, _, misses, _ = run(tmp_path, tmp_path / "cache")
    assert again == results[0][0]
    assert int(misses) == 0
    assert not list((tmp_path / "cache").rglob("*.tmp"))


def test_a_damaged_module_is_written_anew(tmp_path):
    write_spring(tmp_path)
    total, *_, name = run(tmp_path, tmp_path / "cache")
    path = tmp_path / "cache" / "kernels" / f"{name}.py"
    good = path.read_text()
    path.write_text(good[: len(good) // 2])
    assert run(tmp_path, tmp_path / "cache")[0] == total
    assert path.read_text() == good


def test_the_folder_is_where_the_variable_says(tmp_path, monkeypatch):
    monkeypatch.setenv("SHINARI_CACHE_DIR", str(tmp_path / "here"))
    assert kernel_folder() == tmp_path / "here" / "kernels"
    monkeypatch.delenv("SHINARI_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "there"))
    if sys.platform.startswith("linux"):
        assert kernel_folder() == tmp_path / "there" / "shinari" / "kernels"


def test_the_same_kernel_is_rendered_once():
    template = "import numba\n{imports}\ndef twice(x):\n    return evaluate\n"
    functions = {"evaluate": DISTANCE.evaluate}
    assert render("twice", template, functions) is render("twice", template, dict(functions))


def test_a_constraint_from_outside_gets_the_same_code_as_the_built_in_one(tmp_path, monkeypatch):
    """Same source but for names, hence the same speed; and the same motion, through Scene and Simulation."""
    text = Path(sys.modules[DISTANCE.evaluate.py_func.__module__].__file__).read_text()
    (tmp_path / "outside_distance.py").write_text(text.replace('"distance"', '"outside_distance"'))
    monkeypatch.syspath_prepend(tmp_path)
    try:
        import outside_distance

        kind = outside_distance.DISTANCE
        sources, ends = [], []
        for variant in (Variant("xpbd", True, True, False), Variant("pbd", False, False, True, False)):
            for each in (DISTANCE, kind):
                module = sys.modules[projection(each, variant).py_func.__module__]
                lines = Path(module.__file__).read_text().splitlines()
                sources.append(
                    [line for line in lines if not line.startswith(('"""', "from shinari.constr", "from out"))]
                )
            assert sources[-1] == sources[-2]
        for name in ("distance", "outside_distance"):
            scene = sn.Scene()
            points = scene.add_particles(np.random.default_rng(0).normal(size=(9, 3)))
            points.pin([0])
            scene.add_constraint(name, [[k, k + 1] for k in range(8)], compliance=1e-3)
            sim = sn.Simulation(scene, threads=1)
            sim.step(5)
            ends.append((sim.state.positions.copy(), sim.forces(name), sim.strains(name), sim.residual().largest))
        for mine, theirs in zip(*ends, strict=True):
            np.testing.assert_array_equal(mine, theirs)
        assert constraint_type("outside_distance") is kind
    finally:
        from shinari.constraints import registry

        registry._TYPES.pop("outside_distance", None)
        sys.modules.pop("outside_distance", None)
