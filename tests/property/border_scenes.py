"""Scenes, simulations, files and a study for the calls of the public border."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import shinari as sn
from shinari.geometry.files.meshes import write_mesh

CLOTH = sn.grid(shape=(3, 3))
CUBE = sn.lattice([1, 1, 1], 1.0, split=6)
TETRAHEDRON = (
    np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]),
)
POINTS = np.array([[0.0, 0, 0], [0.1, 0, 0], [0.2, 0, 0], [0.2, 0.1, 0]])
BLOCK = np.stack(np.meshgrid([0.0, 0.1], [0.0, 0.1], [0.0, 0.1]), axis=-1).reshape(-1, 3)
FILES = Path("border")


def solids() -> sn.Scene:
    """Everything that is made of particles and is no fluid."""
    scene = sn.Scene()
    scene.add_cloth(CLOTH, name="cloth", position=(0, 1, 0))
    scene.add_rope(POINTS + np.array([0, 2, 0]), name="rope")
    rod = scene.add_rod(POINTS + np.array([0, 3, 0]), name="rod")
    rod.clamp(0)
    scene.add_soft_body(CUBE, name="soft", position=(0, 4, 0))
    scene.add_shape_matched(BLOCK, name="lump", radius=0.01)
    dust = scene.add_particles([[5, 0, 0], [6, 0, 0], [7, 0, 0]], name="dust")
    scene.add_constraint("distance", np.array([[0, 1], [1, 2]]) + dust.particles.start, compliance=1e-3)
    scene.add_volume(scene["soft"])  # type: ignore[arg-type]
    scene.add_collider(sn.Sphere(0.1), position=(9, 9, 9), name="knob")
    return scene


def bodies() -> sn.Scene:
    """Two bodies on a joint with a motor, a body by itself, one that moves evenly, and a rope."""
    scene = sn.Scene()
    a = scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), name="a")
    b = scene.add_rigid_body(sn.Sphere(0.1), position=(0.5, 0, 0), name="b")
    scene.add_rigid_body(sn.Sphere(0.1), position=(3, 0, 0), name="c")
    scene.add_rigid_body(sn.Sphere(0.1), position=(6, 0, 0), kinematic=True, name="lift")
    scene.add_joint("hinge", a, b, anchor=(0.25, 0, 0), axis=(0, 1, 0), motor=sn.VelocityMotor(1.0), name="hinge")
    scene.add_rope(POINTS + np.array([0, 5, 0]), name="rope")
    scene.add_collider(sn.Plane(offset=-9.0), name="floor")
    return scene


def tank() -> sn.Scene:
    """A container."""
    scene = sn.Scene()
    scene.add_collider(sn.Box((1, 1, 1), inside=True), name="tank")
    return scene


def fluids() -> sn.Scene:
    """A fluid, a nozzle, a sink and grains."""
    scene = sn.Scene()
    scene.add_fluid(BLOCK, spacing=0.1, name="water")
    scene.add_emitter("water", limit=9, radius=0.1, speed=1.0, position=(2, 0, 0), name="tap")
    scene.add_sink(sn.Sphere(0.1), position=(0, -9, 0), name="drain")
    scene.add_grains([[5.0, 0, 0], [5.5, 0, 0]], radius=0.1, name="sand")
    return scene


def marbles() -> sn.Scene:
    """Grains that turn."""
    scene = sn.Scene()
    material = sn.GrainMaterial(rolling_friction=0.1)
    scene.add_grains([[0.0, 0, 0], [0.5, 0, 0]], radius=0.1, material=material, name="marbles")
    return scene


def chain() -> sn.Scene:
    """Two particles and a row between them: what compiles fastest."""
    scene = sn.Scene()
    scene.add_particles([[0, 0, 0], [1, 0, 0]], mass=[0, 1], name="dust")
    scene.add_constraint("distance", [[0, 1]])
    return scene


def run_of(scene: Callable[[], sn.Scene]) -> Callable[[], sn.Simulation]:
    """A simulation that has not run yet."""
    return lambda: sn.Simulation(scene(), substeps=2, threads=1)


@cache
def files() -> Path:
    """A folder with a file of each kind, below the current one."""
    FILES.mkdir(exist_ok=True)
    (FILES / "scene.toml").write_text("[[rope]]\nname = 'rope'\nfrom = [0, 0, 0]\nto = [0, 1, 0]\ncount = 3\n")
    (FILES / "robot.xml").write_text(
        "<mujoco><worldbody><body name='arm'><joint name='elbow' axis='0 1 0'/><geom size='0.1'/></body></worldbody>"
        "</mujoco>"
    )
    write_mesh(FILES / "mesh.ply", *TETRAHEDRON)
    sim = run_of(chain)()
    sim.save(FILES / "state.vtkhdf")
    sim.run(0.1, record=str(FILES / "run.npz"), progress=False)
    return FILES


def study() -> dict[str, Any]:
    """A sweep that has run: called again it only looks at its arguments."""
    given = {
        "base": files() / "scene.toml",
        "parameters": {"simulation.substeps": [2]},
        "measures": "energy",
        "duration": 0.05,
        "on": "processes",
        "workers": 1,
        "progress": False,
    }
    sn.sweep(**given, folder="study")
    return given


SOLIDS, BODIES, FLUIDS, CHAIN = run_of(solids), run_of(bodies), run_of(fluids), run_of(chain)
EMPTY = sn.Scene
