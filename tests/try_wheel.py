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
imported = time.perf_counter() - begun
from shinari.cli.demo import demo_scenes
from shinari.compute import object_files, compiling
from shinari.io.scene_file import load_scene_file
from dataclasses import asdict
scene, options = load_scene_file(demo_scenes()[sys.argv[1]])
simulation = shinari.Simulation(scene, **(asdict(options.settings) | {"threads": 2}))
simulation.step()
first = time.perf_counter() - begun
simulation.step(4)
bits = hashlib.sha256(simulation.state.positions.tobytes() + simulation.state.body_positions.tobytes()).hexdigest()
print(json.dumps({
    "package": shinari.__file__, "import": imported, "first": first, "cpu": time.process_time(),
    "compiled": sorted(symbol[:-21] for symbol in compiling.compiled), "loaded": len(object_files.loaded), "bits": bits,
}))
"""
SCENES = ("flag", "dominoes")
# compiling all kernels of a scene of bodies takes minutes
COMPILED = ("flag",)


def run(scene: str, folder: str, **environment: str) -> dict:
    """What a fresh process tells of a scene."""
    env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "SHINARI_CPU")}
    env |= {"SHINARI_CACHE_DIR": folder, "SHINARI_QUIET": "1", **environment}
    command = [sys.executable, "-P", "-c", RUN, scene]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def main() -> None:
    """Scenes from shipped kernels; one then compiled for a processor of another name, and from the cache."""
    here = Path(sys.executable).parent.parent
    for scene in sys.argv[1:] or SCENES:
        with tempfile.TemporaryDirectory() as folder:
            shipped = run(scene, folder)
            times = f"import {shipped['import']:.2f} s, first step {shipped['first']:.2f} s, {shipped['cpu']:.2f} CPU s"
            print(f"{scene}: {shipped['loaded']} shipped kernels; {times}", flush=True)
            assert Path(shipped["package"]).is_relative_to(here), shipped["package"]
            assert shipped["compiled"] == [], f"{scene}: compiled {shipped['compiled']}"
            if scene not in (sys.argv[1:] or COMPILED):
                continue
            begun = time.perf_counter()
            cold, warm = (run(scene, folder, SHINARI_CPU="haswell") for _ in range(2))
            seconds = time.perf_counter() - begun
        print(f"{scene}: compiled {len(cold['compiled'])} for another processor in {seconds:.1f} s", flush=True)
        assert len(cold["compiled"]) == cold["loaded"] == shipped["loaded"]
        assert warm["compiled"] == []
        assert cold["bits"] == warm["bits"] == shipped["bits"], f"{scene}: other bits"


if __name__ == "__main__":
    main()
