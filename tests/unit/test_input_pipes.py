"""A pipe or a device in place of a file to read is refused at once: it would be waited for, or read, without end."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import shinari as sn
from shinari.cli import main
from shinari.io import checkpoint, npz
from shinari.sweeps import journal

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such pipes here")

READERS: dict[str, Callable] = {
    "scene.toml": sn.load_scene,
    "ball.obj": lambda path: sn.Scene().add_cloth(path),
    "ball.glb": lambda path: sn.Scene().add_cloth(path),
    "points.ply": sn.read_attributes,
    "walk.glb": sn.read_animation,
    "walk.usdc": sn.read_animation,
    "solid.msh": lambda path: sn.Scene().add_soft_body(path),
    "solid.node": lambda path: sn.Scene().add_soft_body(path),
    "state.h5": lambda path: sn.Simulation.load(path),
    "other.h5": checkpoint.describe,
    "run.npz": sn.open_cache,
    "old.npz": npz.read_npz,
    "run.vtkhdf": sn.open_cache,
    "run.npy": sn.open_cache,
    "robot.urdf": lambda path: sn.load_robot(path, sn.Scene()),
    "robot.xml": lambda path: sn.load_robot(path, sn.Scene()),
}


@contextmanager
def at_once() -> Iterator[None]:
    """Ends a wait."""

    def end(*_) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(20)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_is_refused(tmp_path, name):
    path = tmp_path / name
    os.mkfifo(path)
    with at_once(), pytest.raises(sn.FileError, match=r"is no regular file|is not beside it"):
        READERS[name](path)


@pytest.mark.parametrize("name", ["ball.obj", "scene.toml"])
def test_a_device_is_refused(tmp_path, name):
    (tmp_path / name).symlink_to("/dev/zero")
    with at_once(), pytest.raises(sn.FileError, match="is no regular file"):
        READERS[name](tmp_path / name)


@pytest.mark.parametrize("words", [("run",), ("info",), ("view",), ("render",), ("plot",), ("sweep",)])
@pytest.mark.parametrize("name", ["scene.toml", "run.npz", "run.vtkhdf", "thing"])
def test_commands_refuse_it(tmp_path, monkeypatch, capsys, words, name):
    monkeypatch.chdir(tmp_path)
    os.mkfifo(name)
    with at_once():
        assert main([*words, name]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_files_of_a_study(tmp_path):
    os.mkfifo(tmp_path / "plan.json")
    os.mkfifo(tmp_path / "results.jsonl")
    with at_once(), pytest.raises(sn.FileError, match="is no regular file"):
        sn.Study(tmp_path)
    with at_once(), pytest.raises(sn.FileError, match="is no regular file"):
        journal.latest(tmp_path)
