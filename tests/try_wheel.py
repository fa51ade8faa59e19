"""Run by `make try-wheel` with the Python in which the wheel is installed: scenes start without compiling."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUN = """
import hashlib, json, sys, time
begun = time.perf_counter()
import shinari
from shinari.cli.demo import demo_scenes
from shinari.compute import cache, compiling
from shinari.files.scene_file import load_scene_file
from dataclasses import asdict
imported = time.perf_counter() - begun
scene, options = load_scene_file(demo_scenes()[sys.argv[1]])
simulation = shinari.Simulation(scene, **(asdict(options.settings) | {"threads": 2}))
simulation.step()
first = time.perf_counter() - begun
simulation.step(4)
bits = hashlib.sha256(simulation.state.positions.tobytes() + simulation.state.body_positions.tobytes()).hexdigest()
print(json.dumps({
    "package": shinari.__file__, "import": imported, "first": first, "compiled": len(compiling.compiled), "bits": bits,
}))
"""


def run(scene: str, **environment: str) -> dict:
    """What a fresh process with an empty cache tells of a scene."""
    with tempfile.TemporaryDirectory() as folder:
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        env |= {"SHINARI_CACHE_DIR": folder, **environment}
        done = subprocess.run(
            [sys.executable, "-P", "-c", RUN, scene], env=env, capture_output=True, text=True, check=True
        )
    return json.loads(done.stdout)


def main() -> None:
    """Two scenes from shipped kernels, then compiled for a processor of another name."""
    here = Path(sys.executable).parent.parent
    for scene in ("flag", "dominoes"):
        shipped = run(scene)
        print(f"{scene}: import {shipped['import']:.2f} s, first step after {shipped['first']:.2f} s")
        assert Path(shipped["package"]).is_relative_to(here), shipped["package"]
        assert shipped["compiled"] == 0, f"{scene}: compiled {shipped['compiled']} kernels"
        begun = time.perf_counter()
        other = run(scene, SHINARI_CPU="haswell")
        print(f"{scene}: compiled {other['compiled']} kernels for another name in {time.perf_counter() - begun:.1f} s")
        assert other["compiled"] > 0
        assert other["bits"] == shipped["bits"], f"{scene}: other bits"


if __name__ == "__main__":
    main()
