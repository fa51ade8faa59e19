"""The same scene at another scale moves the same: no length, time or mass is built in.

Lengths are 4^k times as large, times 2^k, masses 64^k; gravity and densities stay. Powers of two change the exponents
of numbers alone, so that every position has the same digits unless something is compared with an absolute number.
"""

from collections.abc import Callable

import numpy as np
import pytest

import shinari as sn

GRAVITY, STEP, SUBSTEPS = 10.0, 1.0 / 64.0, 4


def turned(seed: int) -> tuple[float, ...]:
    q = np.random.default_rng(seed).normal(size=4)
    return tuple(q / np.linalg.norm(q))


def lattice(n: tuple[int, int, int], noise: float = 0.0) -> np.ndarray:
    points = np.stack(np.meshgrid(*map(np.arange, n), indexing="ij"), axis=-1).reshape(-1, 3) + 0.5
    return points + noise * np.random.default_rng(2).normal(size=points.shape)


def cloth(scale: float, thickness: float = 0.02) -> sn.ClothMaterial:
    """Stretch in the unit length over force, 1 / scale^2; bending in that of energy, scale^4."""
    return sn.ClothMaterial(
        density=0.3 * scale,
        thickness=thickness * scale,
        stretch_compliance=1e-5 / scale**2,
        bend_stiffness=1e-5 * scale**4,
    )


def bodies(scene: sn.Scene, scale: float) -> None:
    scene.add_collider(sn.Plane(), friction=0.5)
    hull = sn.ConvexHull(0.08 * scale * np.random.default_rng(1).normal(size=(14, 3)))
    edges = (0.1 * scale, 0.2 * scale, 0.15 * scale)
    shapes = sn.Box(edges), sn.Sphere(0.1 * scale), sn.Capsule(0.05 * scale, 0.15 * scale), hull, sn.Cone(*edges[:2])
    for k, shape in enumerate(shapes):
        place = (0.05 * k * scale, (0.25 + 0.3 * k) * scale, 0.03 * k * scale)
        scene.add_rigid_body(shape, density=500.0, position=place, rotation=turned(k), restitution=0.3 * (k == 1))


def chain(scene: sn.Scene, scale: float) -> None:
    scene.add_collider(sn.Sphere(0.2 * scale), position=(0.5 * scale, 0, 0), friction=0.5)
    before = None
    for k in range(5):
        place, end = (0.2 * (k + 0.5) * scale, 0.5 * scale, 0.0), (0.2 * k * scale, 0.5 * scale, 0.0)
        body = scene.add_rigid_body(sn.Box((0.18 * scale, 0.05 * scale, 0.05 * scale)), density=800.0, position=place)
        scene.add_joint("ball" if k % 2 else "hinge", body, before, anchor=end, axis=None if k % 2 else (0, 0, 1))
        before = body


def grains(scene: sn.Scene, scale: float, rolling: float | None = None) -> None:
    scene.add_collider(sn.Plane(), friction=0.5)
    points = (1.2 * lattice((4, 6, 4), 0.03) + [0.0, 0.5, 0.0]) * 0.04 * scale
    scene.add_grains(points, radius=0.02 * scale, material=sn.GrainMaterial(rolling_friction=rolling))


def rolling_grains(scene: sn.Scene, scale: float) -> None:
    grains(scene, scale, rolling=0.1)


def sheet_on_ball(scene: sn.Scene, scale: float) -> None:
    scene.add_collider(sn.Sphere(0.3 * scale), friction=0.4)
    sheet = sn.grid(shape=(11, 11), size=(0.8 * scale, 0.8 * scale))
    place = (0.03 * scale, 0.33 * scale, 0.02 * scale)
    scene.add_cloth(sheet, material=cloth(scale), self_collision="triangles", position=place)


def bodies_on_sheet(scene: sn.Scene, scale: float) -> None:
    scene.add_collider(sn.Plane(), friction=0.5)
    sheet = sn.grid(shape=(11, 11), size=(0.8 * scale, 0.8 * scale))
    held = scene.add_cloth(sheet, material=cloth(scale), self_collision="triangles", position=(0, 0.3 * scale, 0))
    held.pin([0, 10, 110, 120])
    for k, shape in enumerate((sn.Box((0.15 * scale,) * 3), sn.Sphere(0.08 * scale))):
        place = (0.1 * k * scale, (0.45 + 0.2 * k) * scale, 0.05 * scale)
        scene.add_rigid_body(shape, density=100.0, position=place, rotation=turned(k))


def soft_body_and_rope(scene: sn.Scene, scale: float) -> None:
    scene.add_collider(sn.Plane(), friction=0.5)
    material = sn.SoftMaterial(youngs_modulus=2e4 * scale, thickness=0.01 * scale)
    scene.add_soft_body(sn.Box((0.2 * scale,) * 3), cell=0.05 * scale, material=material, position=(0, 0.12 * scale, 0))
    points = np.stack([np.linspace(-0.3, 0.3, 13), np.full(13, 0.27), np.linspace(0.0, 0.04, 13)], axis=1) * scale
    scene.add_rope(points, material=sn.RopeMaterial(density=0.1 * scale**2, radius=0.01 * scale), self_collision=True)


def rod(scene: sn.Scene, scale: float) -> None:
    scene.add_collider(sn.Plane(offset=-0.1 * scale), friction=0.4)
    points = np.stack([np.linspace(0.0, 1.0, 15), np.zeros(15), np.linspace(0.0, 0.05, 15)], axis=1) * scale
    material = sn.RodMaterial(density=1000.0, radius=0.01 * scale, youngs_modulus=1e6 * scale)
    scene.add_rod(points, material=material, self_collision=True).pin([0, 1])


def fluid_with_a_box(scene: sn.Scene, scale: float) -> None:
    tank = (0.6 * scale, 0.6 * scale, 0.2 * scale)
    scene.add_collider(sn.Box(tank, inside=True), position=tuple(0.5 * edge for edge in tank))
    # the share of `xsph` is that of a sixtieth of a second
    material = sn.FluidMaterial(xsph=0.0)
    scene.add_fluid(lattice((6, 7, 5)) * 0.04 * scale, spacing=0.04 * scale, material=material)
    place = (0.4 * scale, 0.2 * scale, 0.1 * scale)
    scene.add_rigid_body(sn.Box((0.1 * scale,) * 3), density=400.0, position=place)


def lumps(scene: sn.Scene, scale: float) -> None:
    scene.add_collider(sn.Plane(), friction=0.5)
    for k in range(2):
        place, box = (0.03 * k * scale, (0.15 + 0.3 * k) * scale, 0.0), sn.Box((0.2 * scale,) * 3)
        scene.add_shape_matched(box, spacing=0.05 * scale, position=place, rotation=turned(k))


def bumpy_mesh(scene: sn.Scene, scale: float) -> None:
    points, faces = sn.Sphere(0.3).surface()
    points = points * (1.0 + 0.02 * np.random.default_rng(4).normal(size=(len(points), 1)))
    scene.add_collider(sn.Mesh(points * scale, faces), friction=0.4)
    sheet = sn.grid(shape=(11, 11), size=(0.7 * scale, 0.7 * scale))
    scene.add_cloth(sheet, material=cloth(scale), self_collision="triangles", position=(0.03 * scale, 0.4 * scale, 0))
    scene.add_rigid_body(sn.Box((0.1 * scale,) * 3), density=300.0, position=(-0.2 * scale, 0.6 * scale, 0.1 * scale))


SCENES = (
    bodies, chain, grains, rolling_grains, sheet_on_ball, bodies_on_sheet, soft_body_and_rope, rod, fluid_with_a_box,
    lumps, bumpy_mesh,
)  # fmt: skip


def path(build: Callable[[sn.Scene, float], None], k: int, precision: str, steps: int) -> np.ndarray:
    """Positions of particles and bodies over their scale, after each step."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    build(scene, 4.0**k)
    simulation = sn.Simulation(
        scene, dt=STEP * 2.0**k, substeps=SUBSTEPS, precision=precision, depenetration_speed=2.0**k, sleep=False
    )
    found = []
    for _ in range(steps):
        simulation.step()
        centres = simulation.state.system_arrays.get("bodies/x", np.zeros(0))
        found.append(np.concatenate([simulation.state.positions.ravel(), centres.ravel()]) / 4.0**k)
    return np.array(found)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("build", SCENES)
def test_a_scene_two_hundred_times_smaller_moves_the_same(build, precision):
    """One of half a metre is one of two millimetres; grains are 78 um thick."""
    expected, found = (path(build, k, precision, 24) for k in (0, -4))
    moved, apart = np.abs(expected[-1] - expected[0]).max(), np.abs(found - expected).max()
    assert moved > 0.05
    # what fills a shape with particles may round otherwise
    assert apart <= (1e-5 if precision == "float32" else 1e-10)


@pytest.mark.parametrize("build", [bodies, chain])
def test_bodies_two_hundred_times_larger_move_the_same(build):
    np.testing.assert_array_equal(path(build, 4, "float64", 24), path(build, 0, "float64", 24))
