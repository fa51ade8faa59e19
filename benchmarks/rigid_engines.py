"""The engines that the benchmarks of rigid bodies know: this one, and peers that are skipped where they are missing."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rigid_cases import Bodies, Case
from rigid_worlds import DT, GRAVITY, World

import shinari as sn

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))


class Ours:
    """This engine."""

    def __init__(self, case: Case, threads: int, **settings: Any) -> None:
        world = case.world
        self.simulation = sn.Simulation(
            our_scene(world), dt=DT, substeps=world.substeps, threads=threads, **settings
        )  # fmt: skip

    def step(self) -> None:
        """Advance by DT."""
        self.simulation.step()

    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Centres and rotations."""
        state = self.simulation.state
        return np.array(state.body_positions), np.array(state.body_rotations)

    def velocities(self) -> tuple[np.ndarray, np.ndarray]:
        """Velocities of the centres and angular velocities."""
        state = self.simulation.state
        return np.array(state.body_velocities), np.array(state.body_angular_velocities)


def our_scene(world: World) -> sn.Scene:
    """The scene of a world."""
    scene = sn.Scene(gravity=(0, -GRAVITY, 0))
    if world.ground:
        scene.add_collider(sn.Plane(), friction=world.friction)
    masses, tensors = world.masses()
    handles = []
    for body, mass, tensor in zip(world.bodies, masses, tensors, strict=True):
        what: dict[str, Any] = {"density": body.density, "friction": world.friction}
        if not world.collide:
            what = {"mass": mass, "inertia": tensor, "centre": (0, 0, 0)}
        handles.append(
            scene.add_rigid_body(
                body.shape if world.collide else None,
                position=body.position,
                rotation=body.rotation,
                velocity=body.velocity,
                angular_velocity=body.spin,
                kinematic=body.kinematic,
                **what,
            )
        )
    for link in world.links:
        more: dict[str, Any] = {"limits": link.limits} if link.limits else {}
        if link.kind == "hinge" or link.swing:
            more["axis"] = link.axis
        parent = handles[link.parent] if link.parent >= 0 else None
        scene.add_joint(
            link.kind, handles[link.child], parent, anchor=link.anchor, swing_limit=link.swing, **more
        )  # fmt: skip
    return scene


# name: module in peers/ and class
PEERS = {
    "Box3D": ("box3d_bodies", "Box3D"),
    "PyBullet": ("bullet_bodies", "Bullet"),
    "MuJoCo": ("mujoco_bodies", "MuJoCo"),
    "Newton XPBD": ("newton_bodies", "NewtonXPBD"),
    "pyPBD": ("pypbd_bodies", "PyPBD"),
}


def engines(names: list[str] | None = None) -> dict[str, Callable[..., Bodies]]:
    """What makes each engine that is installed; those that are not are printed with the reason."""
    found: dict[str, Callable[..., Bodies]] = {}
    if not names or "shinari" in names:
        found["shinari"] = Ours
    for name, (module, kind) in PEERS.items():
        if names and name not in names:
            continue
        try:
            found[name] = getattr(importlib.import_module(module), kind)
        except ImportError as error:
            print(f"{name}: skipped: {error}")
    return found
