"""The engines that the benchmarks of rigid bodies know: this one, and peers that are skipped where they are missing."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rigid_cases import DT, GRAVITY, SUBSTEPS, Bodies, Chain, Stacks

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))


class Ours:
    """This engine."""

    def __init__(self, case: Stacks | Chain, threads: int, **settings: object) -> None:
        import shinari as sn

        scene = sn.Scene(gravity=(0, -GRAVITY, 0))
        if isinstance(case, Stacks):
            scene.add_collider(sn.Plane(), friction=case.friction)
            for at in case.positions:
                scene.add_rigid_body(
                    sn.Box((case.edge,) * 3), density=case.density, position=at, friction=case.friction
                )  # fmt: skip
        else:
            above = None
            shape = sn.Box((case.length, case.thick, case.thick))
            for at, anchor in zip(case.positions, case.anchors, strict=True):
                link = scene.add_rigid_body(shape, density=case.density, position=at)
                axis: dict[str, object] = {"axis": (0, 0, 1)} if case.kind == "hinge" else {}
                scene.add_joint(case.kind, link, above, anchor=anchor, **axis)
                above = link
        self.simulation = sn.Simulation(scene, dt=DT, substeps=SUBSTEPS, threads=threads, **settings)  # type: ignore[arg-type]

    def step(self) -> None:
        """Advance by DT."""
        self.simulation.step()

    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Centres and rotations."""
        state = self.simulation.state
        return np.array(state.body_positions), np.array(state.body_rotations)


# name: module in peers/, class, and whether it has chains
PEERS = {
    "PyBullet": ("bullet_bodies", "Bullet"),
    "MuJoCo": ("mujoco_bodies", "MuJoCo"),
    "Newton XPBD": ("newton_bodies", "NewtonXPBD"),
    "pyPBD": ("pypbd_bodies", "PyPBD"),
}


def engines(names: list[str] | None = None) -> dict[str, Callable[[Stacks | Chain, int], Bodies]]:
    """What makes each engine that is installed; those that are not are printed with the reason."""
    found: dict[str, Callable[[Stacks | Chain, int], Bodies]] = {}
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
