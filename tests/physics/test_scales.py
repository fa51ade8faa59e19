"""The same scene in other units moves the same: no length, time or mass is built in.

A scene that is a thousand times smaller, heavier or slower is the same one with another metre, kilogram or second.
These are changed by powers of two, which change the exponents of numbers alone, so that every position has the same
digits unless something is compared with an absolute number.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

import shinari as sn

STEP, SUBSTEPS = 1.0 / 64.0, 4


class Units(NamedTuple):
    """Units in those of the SI."""

    m: float = 1.0
    s: float = 1.0
    kg: float = 1.0

    @property
    def newton(self) -> float:
        return self.kg * self.m / self.s**2

    @property
    def pascal(self) -> float:
        return self.newton / self.m**2

    @property
    def density(self) -> float:
        return self.kg / self.m**3


def turned(seed: int) -> tuple[float, ...]:
    q = np.random.default_rng(seed).normal(size=4)
    return tuple(q / np.linalg.norm(q))


def lattice(n: tuple[int, int, int], noise: float = 0.0) -> np.ndarray:
    points = np.stack(np.meshgrid(*map(np.arange, n), indexing="ij"), axis=-1).reshape(-1, 3) + 0.5
    return points + noise * np.random.default_rng(2).normal(size=points.shape)


def cloth(u: Units, thickness: float = 0.02) -> sn.ClothMaterial:
    return sn.ClothMaterial(
        density=0.3 * u.kg / u.m**2,
        thickness=thickness * u.m,
        stretch_compliance=1e-5 * u.m / u.newton,
        bend_stiffness=1e-5 * u.m * u.newton,
    )


def bodies(scene: sn.Scene, u: Units) -> None:
    scene.add_collider(sn.Plane(), friction=0.5)
    hull = sn.ConvexHull(0.08 * u.m * np.random.default_rng(1).normal(size=(14, 3)))
    edges = (0.1 * u.m, 0.2 * u.m, 0.15 * u.m)
    round_shapes = sn.Sphere(0.1 * u.m), sn.Capsule(0.05 * u.m, 0.15 * u.m), sn.Cone(*edges[:2])
    shapes = sn.Box(edges), *round_shapes, hull
    for k, shape in enumerate(shapes):
        place = (0.05 * k * u.m, (0.25 + 0.3 * k) * u.m, 0.03 * k * u.m)
        scene.add_rigid_body(
            shape, density=500.0 * u.density, position=place, rotation=turned(k), restitution=0.3 * (k == 1)
        )


def chain(scene: sn.Scene, u: Units) -> None:
    scene.add_collider(sn.Sphere(0.2 * u.m), position=(0.5 * u.m, 0, 0), friction=0.5)
    before = None
    for k in range(5):
        place, end = (0.2 * (k + 0.5) * u.m, 0.5 * u.m, 0.0), (0.2 * k * u.m, 0.5 * u.m, 0.0)
        body = scene.add_rigid_body(
            sn.Box((0.18 * u.m, 0.05 * u.m, 0.05 * u.m)), density=800.0 * u.density, position=place
        )
        scene.add_joint("ball" if k % 2 else "hinge", body, before, anchor=end, axis=None if k % 2 else (0, 0, 1))
        before = body


def grains(scene: sn.Scene, u: Units, rolling: float | None = None) -> None:
    scene.add_collider(sn.Plane(), friction=0.5)
    points = (1.2 * lattice((4, 6, 4), 0.03) + [0.0, 0.5, 0.0]) * 0.04 * u.m
    scene.add_grains(
        points, radius=0.02 * u.m, material=sn.GrainMaterial(density=2500.0 * u.density, rolling_friction=rolling)
    )


def rolling_grains(scene: sn.Scene, u: Units) -> None:
    grains(scene, u, rolling=0.1)


def sheet_on_ball(scene: sn.Scene, u: Units) -> None:
    scene.add_collider(sn.Sphere(0.3 * u.m), friction=0.4)
    sheet = sn.grid(shape=(11, 11), size=(0.8 * u.m, 0.8 * u.m))
    place = (0.03 * u.m, 0.33 * u.m, 0.02 * u.m)
    scene.add_cloth(sheet, material=cloth(u), self_collision="triangles", position=place)


def bodies_on_sheet(scene: sn.Scene, u: Units) -> None:
    scene.add_collider(sn.Plane(), friction=0.5)
    sheet = sn.grid(shape=(11, 11), size=(0.8 * u.m, 0.8 * u.m))
    held = scene.add_cloth(sheet, material=cloth(u), self_collision="triangles", position=(0, 0.3 * u.m, 0))
    held.pin([0, 10, 110, 120])
    for k, shape in enumerate((sn.Box((0.15 * u.m,) * 3), sn.Sphere(0.08 * u.m))):
        place = (0.1 * k * u.m, (0.45 + 0.2 * k) * u.m, 0.05 * u.m)
        scene.add_rigid_body(shape, density=100.0 * u.density, position=place, rotation=turned(k))


def soft_body_and_rope(scene: sn.Scene, u: Units) -> None:
    scene.add_collider(sn.Plane(), friction=0.5)
    material = sn.SoftMaterial(density=1000.0 * u.density, youngs_modulus=2e4 * u.pascal, thickness=0.01 * u.m)
    scene.add_soft_body(sn.Box((0.2 * u.m,) * 3), cell=0.05 * u.m, material=material, position=(0, 0.12 * u.m, 0))
    points = np.stack([np.linspace(-0.3, 0.3, 13), np.full(13, 0.27), np.linspace(0.0, 0.04, 13)], axis=1) * u.m
    scene.add_rope(points, material=sn.RopeMaterial(density=0.1 * u.kg / u.m, radius=0.01 * u.m), self_collision=True)


def rod(scene: sn.Scene, u: Units) -> None:
    scene.add_collider(sn.Plane(offset=-0.1 * u.m), friction=0.4)
    points = np.stack([np.linspace(0.0, 1.0, 15), np.zeros(15), np.linspace(0.0, 0.05, 15)], axis=1) * u.m
    material = sn.RodMaterial(density=1000.0 * u.density, radius=0.01 * u.m, youngs_modulus=1e6 * u.pascal)
    scene.add_rod(points, material=material, self_collision=True).pin([0, 1])


def fluid_with_a_box(scene: sn.Scene, u: Units) -> None:
    tank = (0.6 * u.m, 0.6 * u.m, 0.2 * u.m)
    scene.add_collider(sn.Box(tank, inside=True), position=tuple(0.5 * edge for edge in tank))
    # the share of `xsph` is that of a sixtieth of a second
    material = sn.FluidMaterial(rest_density=1000.0 * u.density, xsph=0.0)
    scene.add_fluid(lattice((6, 7, 5)) * 0.04 * u.m, spacing=0.04 * u.m, material=material)
    place = (0.4 * u.m, 0.2 * u.m, 0.1 * u.m)
    scene.add_rigid_body(sn.Box((0.1 * u.m,) * 3), density=400.0 * u.density, position=place)


def lumps(scene: sn.Scene, u: Units) -> None:
    scene.add_collider(sn.Plane(), friction=0.5)
    for k in range(2):
        place, box = (0.03 * k * u.m, (0.15 + 0.3 * k) * u.m, 0.0), sn.Box((0.2 * u.m,) * 3)
        material = sn.LumpMaterial(density=1000.0 * u.density)
        scene.add_shape_matched(box, spacing=0.05 * u.m, material=material, position=place, rotation=turned(k))


def bumpy_mesh(scene: sn.Scene, u: Units) -> None:
    points, faces = sn.Sphere(0.3).surface()
    points = points * (1.0 + 0.02 * np.random.default_rng(4).normal(size=(len(points), 1)))
    scene.add_collider(sn.Mesh(points * u.m, faces), friction=0.4)
    sheet = sn.grid(shape=(11, 11), size=(0.7 * u.m, 0.7 * u.m))
    scene.add_cloth(sheet, material=cloth(u), self_collision="triangles", position=(0.03 * u.m, 0.4 * u.m, 0))
    scene.add_rigid_body(
        sn.Box((0.1 * u.m,) * 3), density=300.0 * u.density, position=(-0.2 * u.m, 0.6 * u.m, 0.1 * u.m)
    )


SCENES = (
    bodies, chain, grains, rolling_grains, sheet_on_ball, bodies_on_sheet, soft_body_and_rope, rod, fluid_with_a_box,
    lumps, bumpy_mesh,
)  # fmt: skip

OTHERS = {
    "256 times smaller": Units(m=2.0**-8, s=2.0**-4, kg=2.0**-24),
    "a million times lighter": Units(kg=2.0**-20),
    "a million times heavier": Units(kg=2.0**20),
    "32 times slower": Units(s=2.0**5),
    "32 times faster": Units(s=2.0**-5),
}


def path(build: Callable[[sn.Scene, Units], None], u: Units, precision: str, steps: int = 24) -> np.ndarray:
    """Positions of particles and bodies in these units, after each step."""
    scene = sn.Scene(gravity=(0.0, -10.0 * u.m / u.s**2, 0.0))
    build(scene, u)
    settings = {"dt": STEP * u.s, "substeps": SUBSTEPS, "depenetration_speed": u.m / u.s, "precision": precision}
    simulation = sn.Simulation(scene, sleep=False, **settings)
    found = []
    for _ in range(steps):
        simulation.step()
        centres = simulation.state.system_arrays.get("bodies/x", np.zeros(0))
        found.append(np.concatenate([simulation.state.positions.ravel(), centres.ravel()]) / u.m)
    return np.array(found)


CASES = [(other, "float32") for other in OTHERS] + [("256 times smaller", "float64")]


@pytest.mark.parametrize("build", SCENES)
@pytest.mark.parametrize(("other", "precision"), CASES)
def test_a_scene_in_other_units_moves_the_same(build, other, precision):
    expected, found = (path(build, units, precision) for units in (Units(), OTHERS[other]))
    moved, apart = np.abs(expected[-1] - expected[0]).max(), np.abs(found - expected).max()
    assert moved > 0.05
    # what fills a shape with particles may round otherwise
    assert apart <= (1e-5 if precision == "float32" else 1e-10)
