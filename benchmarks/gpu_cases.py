"""Cases of the benchmarks for a GPU: scenes, settings, numbers of worlds, and goals."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import shinari as sn


def cloth(side: int, **options: Any) -> Callable[[sn.Scene], None]:
    """A cloth with stretch, shear and bending, pinned at two corners."""

    def build(scene: sn.Scene) -> None:
        material = sn.ClothMaterial(bend_stiffness=1e-4)
        scene.add_cloth(sn.grid(shape=(side, side)), material=material, **options).pin([0, side - 1])

    return build


def tetrahedra(count: int) -> Callable[[sn.Scene], None]:
    """A block of tetrahedra, five or six to a cell."""

    def build(scene: sn.Scene) -> None:
        side = round((count / 5) ** (1 / 3))
        scene.add_soft_body(sn.lattice((side, side, side), 0.05))

    return build


def fluid(count: int) -> Callable[[sn.Scene], None]:
    """A cube of fluid in a box."""

    def build(scene: sn.Scene) -> None:
        edge = 0.02 * round(count ** (1 / 3))
        scene.add_fluid(sn.Box((edge, edge, edge)), spacing=0.02)
        scene.add_collider(sn.Box((2 * edge, 2 * edge, edge), inside=True), position=(edge / 2, edge / 2, 0))

    return build


def grains(count: int) -> Callable[[sn.Scene], None]:
    """A lattice of grains on a plane."""

    def build(scene: sn.Scene) -> None:
        side = round(count ** (1 / 3))
        edge = 0.02 * side
        scene.add_grains(sn.Box((edge, edge, edge)), radius=0.01, packing="lattice", position=(0, edge / 2, 0))
        scene.add_collider(sn.Plane((0, 1, 0), 0.0))

    return build


def pyramid(base: int) -> Callable[[sn.Scene], None]:
    """A flat pyramid of boxes; `base` of them in the lowest row."""

    def build(scene: sn.Scene) -> None:
        scene.add_collider(sn.Plane((0, 1, 0), 0.0))
        for row in range(base):
            for k in range(base - row):
                scene.add_rigid_body(sn.Box((1, 1, 1)), position=(1.01 * (k + 0.5 * row), row + 0.5, 0))

    return build


def mixed(scene: sn.Scene) -> None:
    """A cloth with self-collision over bodies, grains and a fluid: kernels of nearly all systems."""
    scene.add_collider(sn.Box((1.0, 1.0, 1.0), inside=True), position=(0, 0.5, 0))
    scene.add_fluid(sn.Box((0.4, 0.1, 0.4)), spacing=0.05, position=(0, 0.06, 0))
    scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), position=(0, 0.3, 0))
    scene.add_grains(sn.Box((0.1, 0.1, 0.1)), radius=0.02, position=(0.2, 0.3, 0.2))
    scene.add_cloth(sn.grid(shape=(4, 4), size=(0.3, 0.3)), position=(0, 0.65, 0), self_collision="triangles")


def pole(scene: sn.Scene) -> None:
    """A rod of 20 segments on a cart whose place is given."""
    points = np.linspace((0.0, 0.0, 0.0), (0.0, 1.0, 0.0), 21)
    scene.add_rod(points, material=sn.RodMaterial(radius=0.01, density=1000, youngs_modulus=1e9)).pin([0])


@dataclass(frozen=True)
class Case:
    """What is measured.

    Attributes:
        build: Fills the scene.
        settings: Settings of the simulation.
        goal: Time of a step on an H200 [ms], or of the first one; None: there is none.
        worlds: Worlds; 0: a simulation.
        first_only: Whether only the first step is measured, with a cache of kernels of its own.
        cached: Whether that cache is filled before.
    """

    build: Callable[[sn.Scene], None]
    settings: dict[str, Any]
    goal: float | None
    worlds: int = 0
    first_only: bool = False
    cached: bool = False

    def start(self, device: str) -> sn.Simulation | sn.Worlds:
        """The simulation or the worlds."""
        scene = sn.Scene()
        self.build(scene)
        if self.worlds:
            return sn.Worlds(scene, self.worlds, device=device, **self.settings)
        return sn.Simulation(scene, device=device, **self.settings)


def cases(scale: float) -> dict[str, Case]:
    """All cases by name.

    Args:
        scale: Part of the sizes that is taken.
    """

    def size(count: int, dimensions: int = 1) -> int:
        return max(round(count * scale ** (1.0 / dimensions)), 3)

    ten = {"substeps": 10}
    heap = {**ten, "rigid_solver": "sweeps", "sleep": False}
    return {
        "cloth of 1,000,000": Case(cloth(size(1000, 2)), ten, 5.0),
        "cloth 256": Case(cloth(size(256, 2)), ten, 0.5),
        "cloth 128": Case(cloth(size(128, 2)), ten, 0.35),
        "1,000,000 tetrahedra": Case(tetrahedra(size(1_000_000)), ten, 8.0),
        "cloth 300 on itself": Case(cloth(size(300, 2), self_collision="triangles"), ten, 5.0),
        "fluid of 1,000,000": Case(fluid(size(1_000_000)), {"substeps": 1, "iterations": 5}, 6.0),
        "grains, 1,000,000": Case(grains(size(1_000_000)), ten, 10.0),
        "pyramid of 5,050": Case(pyramid(size(100, 2)), heap, 2.0),
        "pyramid of 100,000": Case(pyramid(size(446, 2)), heap, 20.0),
        "64 worlds of a cloth of 900": Case(cloth(size(30, 2)), ten, None, worlds=size(64)),
        "4,096 worlds of a cloth of 900": Case(cloth(size(30, 2)), ten, None, worlds=size(4096)),
        "4,096 worlds of a cart-pole": Case(pole, {"substeps": 4, "dt": 1 / 50}, None, worlds=size(4096)),
        "compile, cold": Case(mixed, ten, 20_000.0, first_only=True),
        "compile, from the disk cache": Case(mixed, ten, 2_000.0, first_only=True, cached=True),
    }
