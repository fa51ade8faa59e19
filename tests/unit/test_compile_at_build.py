"""All kernels are there when a simulation has been built: no later step waits for one, whatever happens in it."""

import itertools
import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from late_contact_scenes import SCENES

import shinari as sn
from shinari.compute import progress
from shinari.compute.progress import Progress

# What each scene loads between its construction and its end, in a process that has loaded nothing before: a child of
# one that has only imported the package.
LATE = """
import json, os, sys, warnings
import shinari as sn
import shinari.api.simulation
from late_contact_scenes import SCENES
from shinari.compute import object_files
warnings.simplefilter("ignore")
assert not object_files.loaded
for name in SCENES:
    child = os.fork()
    if child == 0:
        scene, settings = SCENES[name]()
        simulation = sn.Simulation(scene, threads=2, **settings)
        built = set(object_files.loaded)
        simulation.step(40)
        print(json.dumps([name, len(built), sorted(set(object_files.loaded) - built)]), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


def run(script: str, *arguments: str, **environment: str) -> tuple[str, str]:
    """Standard output and error of a process of its own."""
    paths = [str(Path(sn.__file__).parents[1]), str(Path(__file__).parent)]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment}
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def loaded():
    """Of each scene: kernels that were loaded when it was built, and those that steps have loaded."""
    return {name: (built, late) for name, built, late in map(json.loads, run(LATE)[0].splitlines())}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("name", SCENES)
def test_no_step_compiles_or_loads_a_kernel(name, loaded):
    built, late = loaded[name]
    assert built > 5
    assert late == []


# How many times a script waits for kernels, and for how many.
BATCHES = """
import json, sys
import shinari as sn
from shinari.compute import object_files
order, batches = object_files.order, []
def counted(natives):
    found = order(natives)
    missing = [native.symbol for native in found if native.symbol not in object_files.loaded]
    batches.extend([len(missing)] if missing else [])
    return found
object_files.order = counted
scene = sn.Scene()
if sys.argv[1] == "soft body":
    import trimesh
    scene.add_soft_body(trimesh.creation.box((0.3, 0.3, 0.3)), position=(0, 0.3, 0))
    scene.add_collider(sn.Plane((0, 1, 0), 0))
elif sys.argv[1] == "rod":
    scene.add_rod([[0.1 * k, 0, 0] for k in range(20)]).pin([0])
else:
    scene.add_cloth(sn.grid(shape=(41, 41))).pin([0, 40])
sn.Simulation(scene).step()
print(json.dumps(batches))
"""


@pytest.mark.parametrize(("name", "most"), [("cloth", 2), ("rod", 2), ("soft body", 3)])
def test_kernels_are_compiled_side_by_side(name, most):
    """The processes that compile have work for all of them: few batches, each of several kernels."""
    batches = json.loads(run(BATCHES, name)[0])
    assert len(batches) <= most
    assert min(batches) > 4


def test_functions_of_the_user_are_not_called_before_their_time():
    times = []

    def motion(time):
        times.append(time)
        return (0.0, 0.0, 0.0)

    scene, _ = SCENES["cloth on a ball"]()
    scene.add_collider(sn.Sphere(0.05), motion=motion)
    sn.Simulation(scene, dt=0.01)
    assert max(times, default=0.0) <= 0.01


# Two free particles with an empty cache.
COLD = """
import logging
import shinari.compute.progress as progress
progress.PATIENCE = progress.EVERY = 0.0
{setup}
import shinari as sn
scene = sn.Scene()
scene.add_particles([[1, 2, 3], [4, 5, 6]])
sn.Simulation(scene).step()
"""


def compile_cold(folder: Path, setup: str = "", **environment: str) -> str:
    """What is said on standard error while a process compiles a few kernels, however fast the machine is."""
    return run(COLD.format(setup=setup), SHINARI_CACHE_DIR=str(folder), **environment)[1]


@pytest.mark.parametrize("processes", ["1", "2"])
def test_compiling_is_told_with_a_count_that_moves(tmp_path, processes):
    told = compile_cold(tmp_path, SHINARI_COMPILE_PROCESSES=processes).splitlines()
    found = [
        re.fullmatch(r"shinari: compiling kernel (\d+) of (\d+), once on this machine \.\.\.", line) for line in told
    ]
    counts, totals = ([int(match[k]) for match in found if match] for k in (1, 2))
    assert len(set(counts)) > 2
    ends = [
        line for line in told if re.fullmatch(r"shinari: compiled \d+ kernels in [0-9.]+ s; later runs load them", line)
    ]
    assert len(counts) + len(ends) == len(told)
    # a series for each program: the count rises to the total and begins anew
    assert all(1 <= count <= total for count, total in zip(counts, totals, strict=True))
    falls = sum(b < a for a, b in itertools.pairwise(counts))
    assert falls < len(ends) <= len(told)
    assert compile_cold(tmp_path) == ""


@pytest.mark.parametrize(
    ("setup", "environment"),
    [('logging.getLogger("shinari").setLevel("WARNING")', {}), ("", {"SHINARI_QUIET": "1"})],
    ids=["logger", "variable"],
)
def test_it_can_be_silenced(tmp_path, setup, environment):
    assert compile_cold(tmp_path, setup, **environment) == ""


def test_logging_takes_over_once_it_is_set_up(tmp_path):
    setup = 'logging.basicConfig(format="%(name)s|%(levelname)s|%(message)s", level=logging.INFO)'
    told = compile_cold(tmp_path, setup).splitlines()
    assert told
    assert all(line.startswith("shinari|INFO|compil") for line in told)


def test_nothing_is_said_before_a_second_and_then_every_few(caplog, monkeypatch):
    caplog.set_level(logging.INFO, "shinari")
    now = 0.0
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now)
    series = Progress(40)
    for now, done in ((0.5, 3), (1.5, 11), (3.0, 15), (6.0, 20), (6.5, 40)):  # noqa: B007
        series.tell(done)
    now = 7.0
    series.finish(kept=True)
    assert [record.message.split(",")[0] for record in caplog.records] == [
        "compiling kernel 12 of 40", "compiling kernel 21 of 40", "compiled 40 kernels in 7.0 s; later runs load them",
    ]  # fmt: skip
    caplog.clear()
    now = 0.0
    quick = Progress(2)
    now = 0.9
    quick.tell(1)
    quick.finish(kept=True)
    assert caplog.records == []


def test_quiet_commands_say_nothing_and_others_do_again(caplog):
    caplog.set_level(logging.INFO, "shinari")
    with progress.quietly():
        progress.logger.info("compiling")
    with progress.quietly(False):
        progress.logger.info("compiling loudly")
    assert [record.message for record in caplog.records] == ["compiling loudly"]


SCENE = """
[simulation]
duration = 0.02
[[particles]]
positions = [[0, 0, 0]]
"""


@pytest.mark.parametrize("options", [[], ["--quiet"]])
def test_the_option_quiet(tmp_path, options):
    """With it the command compiles, and nobody is told."""
    scene = tmp_path / "scene.toml"
    scene.write_text(SCENE)
    script = (
        "import sys, shinari.cli, shinari.compute.progress as p\n"
        "p.PATIENCE = p.EVERY = 0.0\nsys.exit(shinari.cli.main(sys.argv[1:]))"
    )
    command = ["run", str(scene), "--output", str(tmp_path / "out.npz"), *options]
    _, told = run(script, *command, SHINARI_CACHE_DIR=str(tmp_path / "cache"))
    assert ("compiling kernel" in told) == (not options)
