"""All kernels are there when a simulation has been built: no later step waits for one, whatever happens in it."""

import gc
import json
import logging
import os
import subprocess
import sys
import traceback
import warnings
from pathlib import Path

import pytest
from late_contact_scenes import SCENES
from numba.core.dispatcher import Dispatcher

import shinari as sn
from shinari import rehearsal
from shinari.compute import progress
from shinari.maths import compile_log

STEPS = 40
REHEARSE = rehearsal._rehearse


@pytest.fixture(scope="module", autouse=True)
def rehearse():
    """Undo `no_rehearsal` of all other tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rehearsal, "_rehearse", REHEARSE)
        yield


def kernels() -> set[tuple[str, str]]:
    """Kernels that this process has compiled or loaded, with their signatures."""
    found = [item for item in gc.get_objects() if isinstance(item, Dispatcher) and item.stats.cache_path]
    return {(f"{k.py_func.__module__}.{k.py_func.__name__}", str(s)) for k in found for s in k.signatures}


def late_kernels(name: str) -> list[str]:
    """Kernels that a scene uses for the first time in a step."""
    warnings.simplefilter("ignore")
    scene, settings = SCENES[name]()
    simulation = sn.Simulation(scene, threads=1, **settings)
    built = kernels()
    simulation.step(STEPS)
    return sorted(f"{kernel}{signature}" for kernel, signature in kernels() - built)


def in_a_child(call, *arguments):
    """What a function gives in a forked process, which has only the kernels that this one has."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            result = call(*arguments)
        except BaseException:
            result = traceback.format_exc()
        os.write(writer, json.dumps(result).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        result = json.loads(stream.read())
    os.waitpid(child, 0)
    return result


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")


@needs_fork
@pytest.mark.parametrize("name", SCENES)
def test_no_step_compiles_or_loads_a_kernel(name):
    assert in_a_child(late_kernels, name) == []


@needs_fork
def test_without_a_rehearsal_the_first_contact_would():
    def unrehearsed() -> list[str]:
        rehearsal._inside.active = True
        return late_kernels("cloth on a ball")

    if any("push_particles" in kernel for kernel, _ in kernels()):
        pytest.skip("another test of this process has loaded the kernel")
    assert any("push_particles" in kernel for kernel in in_a_child(unrehearsed))


def test_a_rehearsal_leaves_no_trace():
    """The scene, its warnings and its result are the same; it is done once for scenes of a kind."""
    ends = []
    for rehearsed in (True, False):
        rehearsal._done.clear()
        rehearsal._inside.active = not rehearsed
        try:
            scene, settings = SCENES["cloth on a ball"]()
            revision = scene.revision
            simulation = sn.Simulation(scene, **settings)
        finally:
            rehearsal._inside.active = False
        assert scene.revision == revision
        assert len(rehearsal._done) == rehearsed
        simulation.step(12)
        ends.append(simulation.state.positions.copy())
    assert (ends[0] == ends[1]).all()


def test_functions_of_the_user_are_not_called_before_their_time():
    times = []

    def motion(time):
        times.append(time)
        return (0.0, 0.0, 0.0)

    rehearsal._done.clear()
    scene, _ = SCENES["cloth on a ball"]()
    scene.add_collider(sn.Sphere(0.05), motion=motion)
    sn.Simulation(scene, dt=0.01)
    assert max(times, default=0.0) <= 0.01


def test_every_object_of_a_scene_has_a_small_one():
    for name, make in SCENES.items():
        scene, _ = make()
        small = rehearsal.small_scene(scene)
        assert {group.kind for group in small.groups} >= {group.kind for group in scene.groups}, name
        assert {rows.type for rows in small.rows} >= {rows.type for rows in scene.rows}, name
        assert bool(small.bodies) == bool(scene.bodies), name
        assert {joint.kind for joint in small.joints} == {joint.kind for joint in scene.joints}, name
        assert small.particle_count < 200, name


# One free particle with all caches empty.
COLD = """
import logging, sys
{setup}
import shinari as sn
scene = sn.Scene()
scene.add_particles([[1, 2, 3]])
sn.Simulation(scene, threads=1).step()
"""


def compile_cold(folder: Path, setup: str = "", **environment: str) -> str:
    """What is said on standard error while a process compiles a few kernels, however fast the machine is."""
    quick = "import shinari.maths.compile_log as log; log.PATIENCE = log.EVERY = 0.0\n"
    variables = {
        **os.environ,
        "PYTHONPATH": str(Path(sn.__file__).parents[1]),
        "SHINARI_CACHE_DIR": str(folder / "rendered"),
        "NUMBA_CACHE_DIR": str(folder / "kernels"),
        **environment,
    }
    script = COLD.format(setup=quick + setup)
    done = subprocess.run([sys.executable, "-c", script], env=variables, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_compiling_is_told_with_a_count_that_moves(tmp_path):
    told = [line for line in compile_cold(tmp_path).splitlines() if line.startswith("shinari: compiling kernel")]
    counts = [int(line.split()[3]) for line in told]
    totals = {int(line.split("of about ")[1].split()[0]) for line in told if "of about" in line}
    assert counts == sorted(counts)
    assert len(set(counts)) > 2
    assert len(totals) == 1
    assert max(counts) <= totals.pop() < 3 * max(counts)
    assert "compil" not in compile_cold(tmp_path)


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


def test_loaded_kernels_count_and_short_work_says_nothing(caplog):
    caplog.set_level(logging.INFO, "shinari")
    watch = compile_log.WATCH
    with watch.expect(3):
        watch.loaded()
        watch.loaded()
    assert caplog.records == []


def test_quiet_commands_say_nothing_and_others_do_again(caplog):
    caplog.set_level(logging.INFO, "shinari")
    with progress.quietly():
        progress.logger.info("compiling")
    with progress.quietly(False):
        progress.logger.info("compiling loudly")
    assert [record.message for record in caplog.records] == ["compiling loudly"]
