"""Commands that are ended from outside: by a signal, a full disk or a reader that has gone."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from browser_help import PATIENCE, until
from shinari import cli
from shinari.io.npz import read_npz


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.ordinary_kernels
def test_ctrl_c_leaves_a_valid_result_and_a_checkpoint(folder: Path) -> None:
    words = [sys.executable, "-m", "shinari.cli", "run", "scene.toml", "-o", "a.npz", "a.vtkhdf", "--duration", "1e6"]
    process = subprocess.Popen([*words, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    partial = folder / "a.partial.vtkhdf"

    # the file has a quarter of a megabyte before its first frame: wait until there are several
    def running() -> bool:
        assert process.poll() is None, process.communicate()[1]
        return partial.exists() and partial.stat().st_size > 500_000

    until(running, "several frames", PATIENCE)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == cli.INTERRUPTED, err
    said = json.loads(out)
    assert said["status"] == "interrupted"
    assert "stopping" in err
    arrays = read_npz(folder / "a.npz")
    assert len(arrays["times"]) == said["frames"] > 1
    assert not list(folder.glob("*.partial*"))
    simulation = sn.Simulation.load(folder / "a.checkpoint.vtkhdf")
    assert simulation.state.frame == said["steps"]

    straight = sn.Simulation(sn.load_scene(folder / "scene.toml"), substeps=3, threads=1)
    straight.step(said["steps"] + 5)
    simulation.step(5)
    assert simulation.state == straight.state


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.ordinary_kernels
def test_a_killed_run_leaves_a_checkpoint_that_resumes_exactly(folder: Path) -> None:
    words = [sys.executable, "-m", "shinari.cli", "run", "scene.toml", "-o", "a.npz", "--duration", "1e6"]
    process = subprocess.Popen(
        [*words, "--checkpoint", "k.vtkhdf", "--checkpoint-every", "0.1"], stderr=subprocess.DEVNULL
    )
    frames = folder / "a.partial.npz.npy"

    # a frame is of two steps: a slow first step may see a checkpoint before the second frame
    def running() -> bool:
        assert process.poll() is None
        return (folder / "k.vtkhdf").exists() and len(np.load(frames)) > 1

    until(running, "a checkpoint and two frames", PATIENCE)
    process.kill()
    process.wait(timeout=PATIENCE)
    assert not (folder / "a.npz").exists()
    assert len(np.load(frames)) > 1
    resumed = sn.Simulation.load(folder / "k.vtkhdf")
    assert resumed.state.frame > 0
    straight = sn.Simulation(sn.load_scene(folder / "scene.toml"), substeps=3, threads=1)
    straight.step(resumed.state.frame + 5)
    resumed.step(5)
    assert resumed.state == straight.state


PRINTING = ("schema", "info scene.toml", "info scene.toml --json", "info none.toml --json", "--help", "--version")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
@pytest.mark.parametrize("line", PRINTING)
def test_a_full_disk_under_the_output_is_one_line(folder: Path, line: str) -> None:
    words = line.split()
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "shinari.cli", *words], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == cli.BAD_INPUT
    assert done.stderr == "shinari: standard output: cannot be written: No space left on device\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_nowhere_to_write_at_all_still_gives_a_code(folder: Path) -> None:
    with open("/dev/full", "w") as full:
        for words, code in ((["schema"], cli.BAD_INPUT), (["info", "none.toml"], cli.BAD_INPUT)):
            done = subprocess.run([sys.executable, "-m", "shinari.cli", *words], stdout=full, stderr=full)
            assert done.returncode == code


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX shells")
@pytest.mark.parametrize("words", ["schema", "info scene.toml", "--help", "sweep status --help"])
@pytest.mark.parametrize("sink", ["| true", "| head -n 1 > head.txt", ">&-"])
def test_a_reader_that_has_gone_is_no_error(folder: Path, words: str, sink: str) -> None:
    line = f"{sys.executable} -m shinari.cli {words} {sink}"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {line}"], stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (cli.OK, "")
