"""What a killed process leaves of a file is removed by the next one that writes beside it, and nothing else is."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import shinari as sn
from shinari.errors import FileError
from shinari.partial_files import SCRATCH, writing

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="folders are not locked here")


@contextmanager
def child(script: str) -> Iterator[subprocess.Popen]:
    """A process that has said that it is in the midst of writing."""
    variables = {**os.environ, "PYTHONPATH": str(Path(sn.__file__).parents[1])}
    words = [sys.executable, "-c", textwrap.dedent(script)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=variables) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "writing\n"
            yield process
        finally:
            process.kill()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_those_of_killed_processes_are_removed_and_those_of_living_ones_are_not(tmp_path):
    script = f"""
        import time
        from shinari.partial_files import writing
        with writing({str(tmp_path / "a.bin")!r}) as partial:
            partial.write_bytes(b"half")
            print("writing", flush=True)
            time.sleep(600)
    """
    mine = tmp_path / "a.partial.bin"
    mine.write_bytes(b"of the user")
    with child(script) as living:
        with child(script):
            pass
        assert sum(name.startswith(SCRATCH) for name in names(tmp_path)) == 2
        with writing(tmp_path / "b.bin") as partial:
            partial.write_bytes(b"whole")
        assert sum(name.startswith(SCRATCH) for name in names(tmp_path)) == 1
        assert living.poll() is None
    with writing(tmp_path / "b.bin") as partial:
        partial.write_bytes(b"again")
    assert names(tmp_path) == ["a.partial.bin", "b.bin"]
    assert (tmp_path / "b.bin").read_bytes() == b"again"
    assert mine.read_bytes() == b"of the user"


@pytest.mark.parametrize("moment", ["_seal", "_write", "frame_of"])
def test_a_checkpoint_that_is_killed(tmp_path, moment):
    pytest.importorskip("h5py")
    script = f"""
        import os, signal
        import shinari as sn
        from shinari.io import checkpoint
        scene = sn.Scene()
        scene.add_particles([[0, 0, 0]])
        sim = sn.Simulation(scene, threads=1)
        sim.save({str(tmp_path / "state.h5")!r})
        def stop(*_):
            print("writing", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        checkpoint.{moment} = stop
        sim.step(3)
        sim.save({str(tmp_path / "state.h5")!r})
    """
    with child(script) as process:
        assert process.wait(60.0) == -signal.SIGKILL
    sim = sn.Simulation.load(tmp_path / "state.h5")
    assert sim.state.frame == 0
    sim.save(tmp_path / "other.h5")
    assert names(tmp_path) == ["other.h5", "state.h5"]


def test_a_file_that_fails_leaves_nothing(tmp_path):
    target = tmp_path / "a.bin"
    target.write_bytes(b"before")

    def fail(error: BaseException) -> None:
        with writing(target) as partial:
            partial.write_bytes(b"half")
            raise error

    with pytest.raises(FileError, match="cannot be written: No space left"):
        fail(OSError(28, "No space left on device"))
    with pytest.raises(KeyboardInterrupt):
        fail(KeyboardInterrupt())
    assert names(tmp_path) == ["a.bin"]
    assert target.read_bytes() == b"before"


def test_names_as_long_as_a_file_can_have(tmp_path):
    with writing(tmp_path / ("n" * 255)) as partial:
        partial.write_bytes(b"whole")
    assert names(tmp_path) == ["n" * 255]
