"""Random bodies in random containers: no crash, no lost number, nobody outside, no energy out of nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("contained_bodies.py")
SECONDS = float(os.environ.get("SHINARI_FUZZ_SECONDS", "12"))
"""Seconds for each of the two runs; set it to 3600 for an hour."""


def run(tmp_path: Path, *options: str, **environment: str) -> None:
    last = tmp_path / "last.json"
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "--seconds", str(SECONDS), "--last", str(last), *options],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment},
    )
    scene = last.read_text() if last.exists() else "none has begun"
    assert done.returncode == 0, f"exit status {done.returncode}; last scene: {scene}\n{done.stdout}\n{done.stderr}"


@pytest.mark.ordinary_kernels
def test_random_bodies_in_random_containers(tmp_path):
    run(tmp_path, "--seed", "0")


def test_random_bodies_in_random_containers_with_bounds_checks(tmp_path):
    # the kernels that tests with `--bounds` use, too
    run(tmp_path, "--seed", "500", "--bounds", SHINARI_CACHE_DIR=str(ROOT / "out" / "bounds"))
