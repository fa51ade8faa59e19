"""What lies on something presses it with its weight."""

from collections.abc import Callable, Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.geometry.topology import grid
from shinari.scene.handle import ColliderHandle, Handle
from shinari.scene.materials import ClothMaterial
from shinari.shapes.box import Box
from shinari.shapes.plane import Plane
from shinari.shapes.sphere import Sphere
from shinari.verify.ledger import Measurement, at_most, check, equal
from shinari.verify.scenes import small

_G = 9.81
_BALANCE = "equilibrium: the contact force is m g, 1 %"

Scale = Callable[[Scene], tuple[list[Handle], Handle | ColliderHandle]]


def _sheet(scene: Scene, height: float, size: float = 0.3, count: int = 13, **options: object) -> Handle:
    material = ClothMaterial(density=0.3, thickness=0.004, friction=0.5)
    mesh = grid(shape=(count, count), size=(size, size), diagonal="alternating")
    return scene.add_cloth(mesh, material=material, position=(0.003, height, 0.005), **options)  # type: ignore[arg-type]


def _on_plane(scene: Scene) -> tuple[list[Handle], ColliderHandle]:
    return [_sheet(scene, 0.004)], scene.add_collider(Plane())


def _on_box(scene: Scene) -> tuple[list[Handle], ColliderHandle]:
    return [_sheet(scene, 0.106)], scene.add_collider(Box((0.2, 0.2, 0.2)), friction=0.8)


def _on_ball(scene: Scene) -> tuple[list[Handle], ColliderHandle]:
    return [_sheet(scene, 0.156)], scene.add_collider(Sphere(0.15), friction=0.8)


def _in_container(scene: Scene) -> tuple[list[Handle], ColliderHandle]:
    return [_sheet(scene, -0.15)], scene.add_collider(Box((0.34, 0.4, 0.34), inside=True), friction=0.5)


def _on_sheet(scene: Scene) -> tuple[list[Handle], Handle]:
    table = _sheet(scene, 0.0, size=0.45, count=16)
    table.pin(np.arange(16 * 16))
    return [_sheet(scene, 0.006)], table


def _on_hammock(scene: Scene) -> tuple[list[Handle], Handle]:
    bed = _sheet(scene, 0.0, size=0.5, count=17)
    bed.pin(bed.where(lambda x: np.abs(x[:, 0]) > 0.24))
    return [_sheet(scene, 0.006)], bed


_SCALES: dict[str, Scale] = {
    "plane": _on_plane,
    "box": _on_box,
    "ball": _on_ball,
    "container": _in_container,
    "pinned sheet": _on_sheet,
    "sheet that hangs": _on_hammock,
}


@check("a sheet on a scale", _BALANCE)
def scales(precision: str) -> Iterator[Measurement]:
    """A sheet of 30 cm has come to rest; mean of a second."""
    weight = 0.3 * 0.3**2 * _G
    for name, build in _SCALES.items():
        scene = Scene(damping=2.0)
        loads, scale = build(scene)
        sim = small(scene, precision)
        sim.step(180)
        force = back = np.zeros(3)
        for _ in range(60):
            sim.step()
            force = force + sum(sim.forces(load) for load in loads) / 60
            back = back + sim.forces(scale) / 60
        yield equal(f"upward force on the sheet, {name} [N]", weight, force[1], relative=0.01, theory="the requirement")
        yield at_most(
            f"force along the ground over the weight, {name}",
            0.0,
            float(np.hypot(force[0], force[2])) / weight,
            absolute=0.01,
            theory="the requirement",
        )
        yield at_most(
            f"force on the sheet and on what carries it, sum over the weight, {name}",
            0.0,
            float(np.linalg.norm(force + back)) / weight,
            absolute=1e-12,
            theory="the same numbers, once each way",
        )


@check("a column of balls", "equilibrium: each contact carries what is above it, 1 %")
def column(precision: str) -> Iterator[Measurement]:
    """Five loose particles stand on each other, on a plane."""
    radius, masses = 0.02, np.array([0.5, 0.2, 0.3, 0.1, 0.4])
    scene = Scene(damping=2.0)
    for k, mass in enumerate(masses):
        scene.add_particles([[0, (2 * k + 1) * radius, 0]], mass=mass, radius=radius, name=f"ball {k}")
    ground = scene.add_collider(Plane())
    sim = small(scene, precision)
    sim.step(120)
    loads = np.zeros(len(masses))
    for _ in range(60):
        sim.step()
        contacts = sim.contacts()
        loads[0] += np.linalg.norm(sim.forces(ground)) / 60
        for k in range(1, len(masses)):
            pair = {f"ball {k - 1}", f"ball {k}"}
            own = [{a, b} == pair for a, b in zip(contacts.first, contacts.second, strict=True)]
            loads[k] += np.abs(contacts.forces[own][:, 1]).sum() / 60
    for k, load in enumerate(loads):
        yield equal(f"force below ball {k} [N]", masses[k:].sum() * _G, load, relative=0.01, theory="the requirement")
