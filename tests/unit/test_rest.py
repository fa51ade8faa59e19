"""A scene at rest is not simulated: it stays to a bit, keeps its forces, and goes on as if nothing had been."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.scene.handle import Handle

SETTINGS = {"substeps": 8, "threads": 1}


def sheets(scene: sn.Scene) -> None:
    """Two sheets on the ground."""
    for k in range(2):
        mesh = sn.grid(shape=(6, 6), size=(0.2, 0.2))
        material = sn.ClothMaterial(thickness=0.006)
        scene.add_cloth(mesh, material=material, self_collision="triangles", position=(0.0, 0.008 * (k + 1), 0.0))


def rope(scene: sn.Scene) -> None:
    """A rope on the ground."""
    scene.add_rope(np.linspace((0.0, 0.02, 0.0), (0.5, 0.02, 0.0), 12))


def grains(scene: sn.Scene) -> None:
    """A few grains."""
    scene.add_grains(sn.Box((0.05, 0.05, 0.05)), radius=0.005, position=(0.0, 0.03, 0.0))


def box_on_sheet(scene: sn.Scene) -> None:
    """A sheet that carries a box."""
    mesh = sn.grid(shape=(8, 8), size=(0.2, 0.2))
    scene.add_cloth(mesh, material=sn.ClothMaterial(thickness=0.006, density=1.0), position=(0.0, 0.004, 0.0))
    scene.add_rigid_body(sn.Box((0.05, 0.05, 0.05)), density=300.0, position=(0.0, 0.034, 0.0))


def rod(scene: sn.Scene) -> None:
    """A bent rod on the ground."""
    x = np.linspace(0.0, 0.5, 12)
    scene.add_rod(np.stack([x, np.full(12, 0.01), 0.05 * np.sin(12.0 * x)], axis=1))


SCENES = [sheets, rope, grains, box_on_sheet, rod]


def scene_of(fill: Callable[[sn.Scene], None]) -> sn.Scene:
    scene = sn.Scene()
    scene.add_collider(sn.Plane(), friction=0.5, name="ground")
    fill(scene)
    return scene


def above_ground(**options: object) -> sn.Scene:
    """A scene in which everything could come to rest, on a ground far below."""
    scene = sn.Scene(**options)
    scene.add_collider(sn.Plane(offset=-100.0))
    return scene


def idle(sim: sn.Simulation) -> float:
    return float(sim.state.system_arrays["rest/idle"][0])


def at_rest(fill: Callable[[sn.Scene], None], seconds: float = 6.0, **settings: object) -> sn.Simulation:
    """A simulation that has come to rest."""
    sim = sn.Simulation(scene_of(fill), **{**SETTINGS, **settings})
    for _ in range(round(60 * seconds)):
        sim.step()
        if sim.at_rest:
            return sim
    raise AssertionError(f"not at rest after {seconds} s")


def on_ground(sim: sn.Simulation) -> np.ndarray:
    """Force on the ground in the last step [N], (3,)."""
    return sim.forces(sim.scene.handles["ground"])


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("fill", SCENES)
def test_stays_to_a_bit_and_carries_its_weight(fill: Callable[[sn.Scene], None], precision: str) -> None:
    sim = at_rest(fill, precision=precision)
    before = sim.state.copy()
    forces = on_ground(sim)
    weight = float(sim.model.masses.sum()) + sum(body.mass for body in sim.scene.bodies)
    sim.step(100)
    before.frame += 100
    assert sim.state == before
    assert np.array_equal(on_ground(sim), forces)
    assert np.isclose(np.abs(forces[1]), 9.81 * weight, rtol=2e-2)


@pytest.mark.parametrize("fill", SCENES)
def test_never_rests_without_sleep(fill: Callable[[sn.Scene], None]) -> None:
    sim = sn.Simulation(scene_of(fill), sleep=False, **SETTINGS)
    sim.step(90)
    assert idle(sim) == 0.0


def write_position(sim: sn.Simulation) -> None:
    sim.state.positions[0, 1] += 0.01


def write_velocity(sim: sn.Simulation) -> None:
    sim.state.velocities[-1, 1] += 1.0


def move_pinned(sim: sn.Simulation) -> None:
    sim.pin(sim.scene.particle_objects[0].name, 0)
    sim.step(60)
    assert sim.at_rest
    sim.state.positions[0, 1] += 0.02


def change_gravity(sim: sn.Simulation) -> None:
    sim.change(gravity=(3.0, -9.81, 0.0))


def change_material(sim: sn.Simulation) -> None:
    sim.change_material(sim.scene.particle_objects[0].name, stretch_compliance=1e-3)


def grab(sim: sn.Simulation) -> None:
    held = sim.grab(sim.scene.particle_objects[0].name, 0)
    held.target = np.add(held.target, (0.0, 0.05, 0.0))


DISTURBANCES = [write_position, write_velocity, move_pinned, change_gravity, change_material, grab]


@pytest.mark.parametrize("disturb", DISTURBANCES)
def test_goes_on_as_if_nothing_had_been(disturb: Callable[[sn.Simulation], None]) -> None:
    """A run that has rested for a second, and one without sleep that goes on from the same state."""
    rested, awake = at_rest(sheets), sn.Simulation(scene_of(sheets), sleep=False, **SETTINGS)
    rested.step(60)
    if disturb is move_pinned:
        disturb(rested)
        awake.restore(rested.state)
        awake.state.positions[...] = rested.state.positions
    else:
        awake.restore(rested.state)
        disturb(rested)
        disturb(awake)
    rested.step()
    awake.step()
    assert idle(rested) < 0.1
    for _ in range(20):
        assert np.array_equal(rested.state.positions, awake.state.positions)
        rested.step()
        awake.step()


def test_a_sheet_on_a_ball_rests_though_it_trembles() -> None:
    """A few of its vertices move to and fro in each step, faster than the limit would be of what goes on."""
    scene = sn.Scene(damping=2.0)
    mesh = sn.grid(shape=(20, 20), size=(0.38, 0.38))
    material = sn.ClothMaterial(thickness=0.005)
    scene.add_cloth(mesh, material=material, self_collision="triangles", position=(0.01, 0.25, 0.02))
    scene.add_collider(sn.Sphere(0.15), friction=0.4)
    sim = sn.Simulation(scene, substeps=10, threads=1)
    while not sim.at_rest and sim.time < 12.0:
        sim.step()
    assert sim.at_rest
    before = sim.state.positions.copy()
    awake = sn.Simulation(scene, substeps=10, threads=1, sleep=False)
    awake.restore(sim.state)
    awake.step(120)
    # it would not have gone anywhere: a ten-thousandth of its size in half a second
    assert np.linalg.norm(awake.state.positions - before, axis=1).max() < 4 * 1e-4 * 0.38


def hanging_rope(material: sn.RopeMaterial) -> tuple[sn.Simulation, Handle]:
    """A rope that hangs by one end, at rest."""
    scene = above_ground(damping=5.0)
    rope = scene.add_rope(np.linspace((0.0, 0.0, 0.0), (0.0, -0.5, 0.0), 6), material=material)
    rope.pin(0)
    sim = sn.Simulation(scene, **SETTINGS)
    sim.step(600)
    assert sim.at_rest
    return sim, rope


def test_what_is_unpinned_falls() -> None:
    sim, rope = hanging_rope(sn.RopeMaterial())
    sim.unpin(rope, 0)
    sim.step(30)
    assert sim.state.positions[0, 1] < -0.3


@pytest.mark.filterwarnings("ignore::shinari.FailureWarning")
def test_a_rope_that_is_cut_falls() -> None:
    sim, _ = hanging_rope(sn.RopeMaterial(stretch_compliance=1e-4, tear_strain=0.5))
    cut = sim.state.copy()
    cut.broken["distance"][...] = True
    sim.restore(cut)
    sim.step(30)
    assert sim.state.positions[-1, 1] < -0.8


def test_a_body_that_is_pushed_wakes_the_sheet() -> None:
    """The ground then carries the sheet alone, 0.04 kg."""
    sim = at_rest(box_on_sheet)
    assert on_ground(sim)[1] < -0.7
    sim.state.body_velocities[0] = 0.0, 0.5, 0.0
    sim.step(3)
    assert sim.state.body_positions[0, 1] > 0.04
    np.testing.assert_allclose(on_ground(sim)[1], -0.04 * 9.81, rtol=1e-4)


@pytest.mark.parametrize("fill", SCENES)
def test_a_checkpoint_at_rest_goes_on(fill: Callable[[sn.Scene], None], tmp_path: Path) -> None:
    """To the same bits, and it knows its contacts again."""
    sim = at_rest(fill)
    sim.save(tmp_path / "rest.npz")
    again = sn.Simulation.load(tmp_path / "rest.npz")
    again.step(5)
    sim.step(5)
    assert again.state == sim.state
    assert np.allclose(on_ground(again), on_ground(sim), rtol=1e-2, atol=1e-6)
    for each in (sim, again):
        each.state.velocities[-1, 1] += 0.2
        each.step(10)
    assert np.array_equal(again.state.positions, sim.state.positions)


def falling(gravity: float = 9.81, damping: float = 0.0) -> sn.Scene:
    """A rope in mid-air."""
    scene = above_ground(gravity=(0.0, -gravity, 0.0), damping=damping)
    scene.add_rope(np.linspace((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), 8))
    return scene


@pytest.mark.parametrize(("gravity", "damping"), [(1e-5, 0.0), (1e-2, 0.0), (9.81, 0.0), (9.81, 1e4), (9.81, 1e6)])
def test_nothing_rests_in_mid_air(gravity: float, damping: float) -> None:
    rested, awake = (sn.Simulation(falling(gravity, damping), sleep=sleep, **SETTINGS) for sleep in (True, False))
    for sim in (rested, awake):
        sim.step(120)
    assert np.array_equal(rested.state.positions, awake.state.positions)
    assert rested.state.positions[0, 1] < 0.0


def test_what_drifts_without_gravity_goes_on() -> None:
    scene = above_ground(gravity=(0.0, 0.0, 0.0))
    scene.add_rope(np.linspace((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), 8), velocity=(1e-8, 0.0, 0.0))
    sim = sn.Simulation(scene, precision="float64", **SETTINGS)
    sim.step(600)
    assert np.isclose(sim.state.positions[0, 0], 1e-7, rtol=1e-6)


def test_what_can_touch_nothing_goes_on_to_its_equilibrium() -> None:
    """A weight on a spring, so damped that it creeps there."""
    scene = sn.Scene(damping=10.0)
    points = scene.add_particles([[0.0, 0.0, 0.0], [0.0, -1.0, 0.0]], mass=1.0)
    points.pin(0)
    scene.add_constraint("distance", [[0, 1]], compliance=0.1)
    sim = sn.Simulation(scene, precision="float64", **SETTINGS)
    sim.step(1200)
    assert abs(sim.state.positions[1, 1] + 1.981) < 1e-9


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_pendulum_swings_through_its_turning_points(precision: str) -> None:
    scene = above_ground()
    rope = scene.add_rope(np.linspace((0.0, 0.0, 0.0), (0.02, -1.0, 0.0), 2))
    rope.pin(0)
    rested, awake = (sn.Simulation(scene, sleep=sleep, precision=precision, **SETTINGS) for sleep in (True, False))
    for sim in (rested, awake):
        sim.step(600)
    assert np.array_equal(rested.state.positions, awake.state.positions)


def add_wind(scene: sn.Scene) -> None:
    scene.wind = lambda t: (0.0 if t < 2.0 else 20.0, 0.0, 0.0)


def add_force_field(scene: sn.Scene) -> None:
    scene.add_force_field(sn.function(lambda x, v, m, t: (0.0, m * 20.0 * (t > 2.0), 0.0)))


def moves_late(t: float) -> tuple[float, float, float]:
    """A place that moves from 2 s on."""
    return (-0.3 + max(t - 2.0, 0.0), 0.05, 0.0)


def add_moving_collider(scene: sn.Scene) -> None:
    scene.add_collider(sn.Sphere(0.1), motion=moves_late)


def add_moving_body(scene: sn.Scene) -> None:
    scene.add_rigid_body(sn.Sphere(0.1), motion=moves_late)


def add_moving_mesh(scene: sn.Scene) -> None:
    points, faces = sn.grid(shape=(4, 4), size=(0.2, 0.2))
    places = [points + np.array((x, 0.02, 0.0)) for x in (-0.4, -0.4, 0.1)]
    scene.add_moving_mesh(sn.MeshSequence((0.0, 2.0, 2.5), np.stack(places), faces))


def add_motor(scene: sn.Scene) -> None:
    body = scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), density=300.0, position=(1.0, 1.0, 0.0))
    scene.add_joint("hinge", body, None, anchor=(1.0, 1.0, 0.0), axis=(0.0, 0.0, 1.0), motor=sn.VelocityMotor(0.5))


@pytest.mark.parametrize("add", [add_wind, add_force_field, add_motor])
def test_what_changes_with_time_keeps_the_scene_awake(add: Callable[[sn.Scene], None]) -> None:
    results = []
    for sleep in (True, False):
        scene = scene_of(sheets)
        add(scene)
        sim = sn.Simulation(scene, sleep=sleep, **SETTINGS)
        sim.step(150)
        results.append(sim.state.positions.copy())
    assert np.array_equal(*results)


@pytest.mark.parametrize("add", [add_moving_collider, add_moving_body, add_moving_mesh])
def test_rests_until_something_begins_to_move(add: Callable[[sn.Scene], None]) -> None:
    scene = scene_of(sheets)
    add(scene)
    sim = sn.Simulation(scene, **SETTINGS)
    awake = sn.Simulation(scene, sleep=False, **SETTINGS)
    sim.step(120)
    assert sim.at_rest
    awake.restore(sim.state)
    sim.step()
    awake.step()
    assert idle(sim) < 0.1
    for _ in range(25):
        assert np.array_equal(sim.state.positions, awake.state.positions)
        sim.step()
        awake.step()


def two_pieces(cells: int, size: float) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray]:
    """A mesh of two square pieces 1 cm apart, and the vertices of the edges that face each other."""
    points, faces = sn.grid(shape=(cells, cells), size=(size, size))
    both = np.concatenate([points, points + np.array((size + 0.01, 0.0, 0.0))])
    right = np.flatnonzero(np.isclose(points[:, 0], points[:, 0].max()))
    left = np.flatnonzero(np.isclose(points[:, 0], points[:, 0].min())) + len(points)
    return (both, np.concatenate([faces, faces + len(points)])), right, left


def test_a_slack_seam_keeps_worlds_awake_until_it_is_closed() -> None:
    """Its thread is longer than the gap between two sheets that are held, so that nothing moves."""
    both, right, left = two_pieces(3, 0.1)
    scene = above_ground()
    cloth = scene.add_cloth(both, sewing=[sn.Seam(right, left, closing_time=2.0)])
    cloth.pin(np.arange(18))
    worlds = sn.Worlds(scene, 1, **SETTINGS)
    worlds.step(110)
    assert idle(worlds.world(0)) == 0.0
    worlds.step(60)
    assert worlds.world(0).at_rest


def test_a_seam_keeps_the_scene_awake_while_it_closes() -> None:
    both, right, left = two_pieces(4, 0.15)
    scene = sn.Scene()
    scene.add_collider(sn.Plane(), friction=0.0)
    seam = sn.Seam(right, left, closing_time=2.0)
    scene.add_cloth(both, sewing=[seam], position=(0.0, 0.001, 0.0))
    sim = sn.Simulation(scene, **SETTINGS)
    gaps = []
    while not sim.at_rest and sim.time < 12.0:
        sim.step()
        gaps.append(np.abs(sim.state.positions[right] - sim.state.positions[left]).max())
    assert 2.0 < sim.time < 12.0
    assert gaps[60] > 0.002
    assert gaps[-1] < 1e-4


def test_a_rod_that_only_turns_keeps_the_scene_awake() -> None:
    """A straight rod that is held at both ends and twists."""
    scene = above_ground()
    rod = scene.add_rod(np.linspace((0.0, 0.0, 0.0), (0.0, 1.0, 0.0), 11))
    rod.pin([0, 10])
    scene_spins = np.zeros((10, 3))
    scene_spins[4:6, 1] = 2.0
    sim = sn.Simulation(scene, precision="float64", **SETTINGS)
    sim.step(40)
    assert sim.at_rest
    sim.state.system_arrays["rods/spins"][...] = scene_spins
    sim.state.velocities[5, 0] += 1e-12
    for _ in range(60):
        sim.step()
        assert not sim.at_rest


def test_grains_that_turn_keep_the_scene_awake() -> None:
    """One spins about the vertical, and stays where it is."""
    scene = scene_of(lambda scene: None)
    material = sn.GrainMaterial(friction=0.5, rolling_friction=0.1)
    scene.add_grains(np.array([[0.0, 0.005, 0.0]]), radius=0.005, material=material, angular_velocity=(0.0, 9.0, 0.0))
    sim = sn.Simulation(scene, **SETTINGS)
    sim.step(120)
    assert idle(sim) == 0.0


def test_sleeping_bodies_stay_asleep_while_something_else_moves() -> None:
    """A collider that moves far away wakes the sheet every half a second, and not the stack."""
    scene = scene_of(sheets)
    for k in range(2):
        scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(2.0, 0.1 + 0.2 * k, 0.0))
    scene.add_collider(sn.Sphere(0.1), motion=lambda t: (0.0, 5.0 + t, 0.0))
    sim = sn.Simulation(scene, **SETTINGS)
    sim.step(120)
    bodies = sim.state.body_positions.copy()
    for _ in range(60):
        sim.step()
        assert (sim.state.system_arrays["bodies/idle"] >= 0.5).all()
    assert np.array_equal(sim.state.body_positions, bodies)
    assert not sim.at_rest


def test_a_stack_of_boxes_is_at_rest() -> None:
    scene = scene_of(lambda scene: None)
    for k in range(2):
        scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(0.0, 0.1 + 0.2 * k, 0.0))
    sim = sn.Simulation(scene, **SETTINGS)
    assert not sim.at_rest
    sim.step(120)
    assert sim.at_rest
    sim.state.body_velocities[1, 1] = 1.0
    sim.step()
    assert not sim.at_rest


def test_worlds_go_back_to_a_state_at_rest() -> None:
    for fill in (rope, box_on_sheet):
        worlds = sn.Worlds(scene_of(fill), 2, **SETTINGS)
        while not worlds.world(1).at_rest:
            worlds.step()
        kept = worlds.state.positions.copy()
        worlds.keep()
        worlds.state.velocities[1, -1, 1] += 1.0
        worlds.step(20)
        assert not np.array_equal(worlds.state.positions[1], kept[1])
        worlds.reset()
        worlds.step(5)
        assert np.array_equal(worlds.state.positions, kept)


def test_worlds_rest_like_simulations() -> None:
    """To the same bits, where steps follow each other in compiled code and where Python takes part."""
    for fill in (rope, box_on_sheet):
        sim = sn.Simulation(scene_of(fill), **SETTINGS)
        worlds = sn.Worlds(scene_of(fill), 2, **SETTINGS)
        for _ in range(3):
            sim.step(60)
            worlds.step(60)
            for k in range(2):
                assert np.array_equal(worlds.state.positions[k], sim.state.positions)
        assert sim.at_rest
        assert worlds.world(0).at_rest
