"""A scene at rest: it stays to a bit, carries its weight, and goes on as if it had been simulated all the time."""

from collections.abc import Callable, Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.geometry.topology import grid
from shinari.scene.handle import ColliderHandle
from shinari.scene.materials import ClothMaterial
from shinari.shapes.box import Box
from shinari.shapes.plane import Plane
from shinari.verify.ledger import Measurement, at_most, check, equal, roundoff
from shinari.verify.scenes import small

GRAVITY = 9.81


def _sheets(scene: Scene) -> float:
    for k in range(3):
        scene.add_cloth(
            grid(shape=(9, 9), size=(0.2, 0.2)),
            material=ClothMaterial(thickness=0.005),
            self_collision="triangles",
            position=(0.0, 0.006 * (k + 1), 0.0),
        )
    return 0.0


def _grains(scene: Scene) -> float:
    scene.add_grains(Box((0.05, 0.05, 0.05)), radius=0.004, spread=0.2, position=(0.0, 0.03, 0.0))
    return 0.0


def _box_on_sheet(scene: Scene) -> float:
    mesh = grid(shape=(9, 9), size=(0.2, 0.2))
    scene.add_cloth(mesh, material=ClothMaterial(thickness=0.006, density=1.0), position=(0.0, 0.004, 0.0))
    scene.add_rigid_body(Box((0.05, 0.05, 0.05)), density=300.0, position=(0.0, 0.034, 0.0))
    return 300.0 * 0.05**3


_FILLS: dict[str, Callable[[Scene], float]] = {
    "three sheets": _sheets, "grains": _grains, "a box on a sheet": _box_on_sheet
}  # fmt: skip


def _scene(fill: Callable[[Scene], float]) -> tuple[Scene, ColliderHandle, float]:
    """The scene, its ground, and the mass of its bodies [kg]."""
    scene = Scene()
    ground = scene.add_collider(Plane(), friction=0.5)
    return scene, ground, fill(scene)


@check(
    "a scene at rest", "nothing is simulated where nothing moves; from Newton's second law the ground carries it all"
)
def rest(precision: str) -> Iterator[Measurement]:
    """Sheets, grains and a box on a sheet come to rest; something is pushed; another run was never at rest."""
    for name, fill in _FILLS.items():
        for substeps in (8, 20):
            scene, ground, mass = _scene(fill)
            sim = small(scene, precision, substeps=substeps, sleep=True)
            while not sim.at_rest and sim.time < 12.0:
                sim.step()
            case = f"{name}, {substeps} substeps"
            yield at_most(
                f"{case}: time until it rests [s]", 12.0, sim.time + sim.settings.dt, theory="it comes to rest"
            )
            before = sim.state.positions.copy()
            sim.step(120)
            moved = float(np.abs(sim.state.positions - before).max())
            yield equal(f"{case}: displacement in 2 s [m]", 0.0, moved, absolute=0.0, theory="it is left alone")
            weight = GRAVITY * (float(sim.model.masses.sum()) + mass)
            # what trembles has a velocity as the last step ends and had one as it began; places of 0.2 m are rounded,
            # and a substep corrects g h^2
            fastest = float(np.abs(sim.state.velocities).max())
            rounding = roundoff(precision) * 0.2 / sim.settings.substep**2
            tolerance = (2.0 * fastest / sim.settings.dt + rounding) / GRAVITY
            yield equal(f"{case}: force on the ground over the weight", 1.0, -float(sim.forces(ground)[1]) / weight,
                        relative=tolerance, theory="Newton's second law")  # fmt: skip
            other = small(_scene(fill)[0], precision, substeps=substeps)
            other.restore(sim.state)
            for each in (sim, other):
                each.state.velocities[-1, 1] += 1.0
                each.step(30)
            away = float(np.abs(sim.state.positions - other.state.positions).max())
            yield equal(f"{case}: from a run that never rested, 0.5 s after a push [m]", 0.0, away, absolute=0.0,
                        theory="rest changes nothing")  # fmt: skip
