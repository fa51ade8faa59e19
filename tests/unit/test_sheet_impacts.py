"""Bodies on a sheet that lies on a collider or on another body: falls throw nothing, loads ride on platforms."""

import numpy as np
import pytest
from small_scenes import precisions

import shinari as sn

THICKNESS = 4e-3
# half the height of each shape as it falls: a capsule and a cylinder lie on their sides
SHAPES = {
    "ball": (sn.Sphere(0.03), 0.03),
    "capsule": (sn.Capsule(0.03, 0.06), 0.03),
    "box": (sn.Box((0.05, 0.05, 0.05)), 0.025),
}


def impact(
    shape: str, mass: float, speed: float, on: str, count: int = 24, self_collision: bool | str = False
) -> tuple[sn.Scene, object, object, object]:
    """A body that is on a sheet of `count` x `count` vertices after 0.05 s.

    Returns:
        The scene, what is beneath, the sheet, and the body.
    """
    scene = sn.Scene()
    if on == "body":
        scene.add_collider(sn.Plane((0, 1, 0), 0), friction=0.6)
        low = scene.add_rigid_body(sn.Box((0.6, 0.1, 0.6)), mass=2.0, position=(0, 0.05, 0), friction=0.6)
    else:
        low = scene.add_collider(sn.Plane((0, 1, 0), 0.1), friction=0.6)
    material = sn.ClothMaterial(thickness=THICKNESS, density=0.2, friction=0.5)
    place = (0, 0.1 + 0.5 * THICKNESS + 1e-4, 0)
    mesh = sn.grid(shape=(count, count), size=(0.3, 0.3))
    sheet = scene.add_cloth(mesh, material=material, self_collision=self_collision, position=place)
    solid, half = SHAPES[shape]
    turn = (1, 0, 0, 0) if shape == "box" else (np.sqrt(0.5), np.sqrt(0.5), 0, 0)
    place = (0.003, 0.1 + THICKNESS + half + 0.05 * speed, 0.004)
    body = scene.add_rigid_body(solid, mass=mass, position=place, rotation=turn, velocity=(0, -speed, 0), friction=0.6)
    return scene, low, sheet, body


@precisions
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("mass", "speed", "substeps"), [(0.3, 3.0, 20), (1.0, 3.0, 10), (1.0, 10.0, 20)])
@pytest.mark.parametrize(("on", "most"), [("collider", 0.1), ("body", 0.7)])
def test_an_impact_on_a_sheet_throws_nothing(shape, mass, speed, substeps, on, most, precision):
    """Nothing here bounces: a collider takes nearly all of the speed, and another body half of the energy at least.

    Before, a box of 0.3 kg at 30 m/s left a sheet on the ground at 50 m/s, and a ball of 0.3 kg at 10 m/s one on a body
    at 62 m/s: pushes that had stopped them were given again.
    """
    scene, _, _, body = impact(shape, mass, speed, on)
    sim = sn.Simulation(scene, substeps=substeps, threads=1, sleep=False, precision=precision)
    heights = []
    for _ in range(20):
        sim.step()
        heights.append(sim.pose(body).position[1])
    assert 60.0 * max(np.diff(heights)) < most * speed


@precisions
@pytest.mark.parametrize("self_collision", [False, "triangles"])
@pytest.mark.parametrize(
    ("shape", "mass", "speed", "substeps"),
    [("box", 0.03, 3.0, 10), ("box", 0.3, 10.0, 20), ("box", 1.0, 3.0, 20), ("capsule", 1.0, 3.0, 20)],
)
def test_what_a_body_hits_on_another_one_is_not_thrown(shape, mass, speed, substeps, self_collision, precision):
    """No particle of the sheet is faster than what fell, and none is pressed into the body beneath.

    A particle between two faces that were not quite parallel slipped out at 136 m/s, and a triangle at the edge of a
    box was pressed down next to a vertex that lay on the body beneath: what that had stopped was taken back from the
    vertices that lay on nothing.
    """
    scene, low, sheet, body = impact(shape, mass, speed, "body", 22, self_collision)
    sim = sn.Simulation(scene, substeps=substeps, threads=1, sleep=False, precision=precision)
    fastest, deepest = 0.0, np.inf
    for _ in range(30):
        sim.step()
        fastest = max(fastest, np.linalg.norm(sim.velocities(sheet), axis=1).max())
        deepest = min(deepest, sim.positions(sheet)[:, 1].min() - sim.pose(low).position[1] - 0.05)
    assert fastest < speed
    # half of the thickness is where it lies
    assert deepest > 0.35 * THICKNESS
    gap = sim.pose(body).position[1] - sim.pose(low).position[1] - 0.05 - SHAPES[shape][1]
    np.testing.assert_allclose(gap, THICKNESS, rtol=0.05)


@precisions
@pytest.mark.parametrize("mass", [0.1, 1.0])
@pytest.mark.parametrize("rise", ["at once", "faster and faster"])
def test_a_ball_on_a_sheet_rides_on_a_platform_that_rises(rise, mass, precision):
    """It keeps the thickness of the sheet, which bears m (g + a), and stays where it is.

    Before, it pressed the sheet by 3 to 6 % of that, and rolled by 14 to 20 mm on one that rose at once: how fast it
    met the sheet was asked of the world, not of the platform.
    """
    acceleration = 4.0 if rise == "faster and faster" else 0.0

    def height(t: float) -> float:
        later = max(t - 0.3, 0.0)
        return 0.5 * acceleration * later**2 if acceleration else later

    scene = sn.Scene()
    scene.add_collider(sn.Box((2, 0.1, 2)), friction=0.6, motion=lambda t: ((0, height(t) - 0.05, 0), (1, 0, 0, 0)))
    material = sn.ClothMaterial(thickness=THICKNESS, density=0.2, friction=0.5)
    place = (0, 0.5 * THICKNESS + 1e-4, 0)
    scene.add_cloth(sn.grid(shape=(24, 24), size=(0.3, 0.3)), material=material, position=place)
    body = scene.add_rigid_body(sn.Sphere(0.03), mass=mass, position=(0.003, 0.0342, 0.004), friction=0.6)
    sim = sn.Simulation(scene, substeps=20, threads=1, precision=precision)
    gaps, places, forces = [], [], []
    for step in range(1, 61):
        sim.step()
        position = sim.pose(body).position
        gaps.append(position[1] - height(step / 60) - 0.03)
        places.append(position[0])
        forces.append(sim.forces(body)[1])
    np.testing.assert_allclose(gaps[16:], THICKNESS, rtol=0.02)
    assert abs(places[-1] - places[16]) < 2e-3
    np.testing.assert_allclose(np.mean(forces[30:]), mass * (9.81 + acceleration), rtol=0.01)
