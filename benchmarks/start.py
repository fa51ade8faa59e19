"""From the start of a script to its eleventh step: `python benchmarks/start.py [--warm] [SCENE ...]`.

Each scene runs in a process of its own with an empty cache of kernels, and with `--warm` again to its first step with
the cache that it has filled. The CPU time counts the processes that compile. Python's own bytecode is there, as it is
after an installation.
"""

import compileall
import os
import resource
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec

SCENES = {
    "particle": "scene.add_particles([[0, 0, 0]])",
    "cloth": "scene.add_cloth(sn.grid(shape=(41, 41))).pin([0, 40])",
    "rope": "scene.add_rope([[0.1 * k, 0, 0] for k in range(20)]).pin([0])",
    "rod": "scene.add_rod([[0.1 * k, 0, 0] for k in range(20)]).pin([0])",
    "soft body": """
import trimesh
scene.add_soft_body(trimesh.creation.box((0.3, 0.3, 0.3)), position=(0, 0.3, 0))
scene.add_collider(sn.Plane((0, 1, 0), 0))""",
    "cloth with self-collision on a ball": """
scene.add_cloth(sn.grid(shape=(31, 31)), position=(0, 0.3, 0), self_collision="triangles")
scene.add_collider(sn.Sphere(0.2))""",
    "grains": """
scene.add_grains(sn.Box((0.2, 0.2, 0.2)), radius=0.01, position=(0, 0.2, 0))
scene.add_collider(sn.Plane((0, 1, 0), 0))""",
    "fluid": """
scene.add_fluid(sn.Box((0.2, 0.2, 0.2)), spacing=0.02, position=(0, 0.11, 0))
scene.add_collider(sn.Box((0.3, 0.5, 0.3), inside=True), position=(0, 0.25, 0))""",
    "rigid bodies": """
scene.add_collider(sn.Plane((0, 1, 0), 0))
bodies = [scene.add_rigid_body(sn.Box((0.3, 0.3, 0.3)), position=(0, 0.2 + 0.35 * k, 0)) for k in range(5)]
scene.add_joint("hinge", bodies[3], bodies[4], anchor=(0, 1.4, 0), axis=(1, 0, 0))""",
    "showcase": None,
}
SCRIPT = """
import warnings
import shinari as sn
warnings.simplefilter("ignore")
scene = sn.Scene()
{body}
simulation = sn.Simulation(scene)
simulation.step({steps})
"""
SHOWCASE = """
import warnings
import shinari as sn
from dataclasses import asdict
from shinari.cli.demo import demo_scenes
from shinari.io.scene_file import load_scene_file
warnings.simplefilter("ignore")
scene, options = load_scene_file(demo_scenes()["showcase"])
simulation = sn.Simulation(scene, **asdict(options.settings))
simulation.step({steps})
"""


def run(name: str, folder: str, steps: int) -> tuple[float, float]:
    """Wall and CPU time of a process that simulates a scene [s]."""
    body = SCENES[name]
    script = (SHOWCASE if body is None else SCRIPT.replace("{body}", body)).replace("{steps}", str(steps))
    environment = os.environ | {"SHINARI_CACHE_DIR": folder, "SHINARI_QUIET": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-c", script], env=environment, check=True)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the table."""
    names = [word for word in sys.argv[1:] if word != "--warm"] or list(SCENES)
    for folder in find_spec("shinari").submodule_search_locations:
        compileall.compile_dir(folder, quiet=2)
    print(
        f"{'':40s}{'cold: CPU s':>14s}{'wall s':>10s}" + f"{'warm: CPU s':>14s}{'wall s':>10s}" * ("--warm" in sys.argv)
    )
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            wall, cpu = run(name, folder, 11)
            line = f"{name:40s}{cpu:14.1f}{wall:10.1f}"
            if "--warm" in sys.argv:
                wall, cpu = min(run(name, folder, 1) for _ in range(3))
                line += f"{cpu:14.2f}{wall:10.2f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
