"""What rests is not simulated until something comes, and then goes on as if it had been awake."""

from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.scene.handle import BodyHandle

IDLE = "bodies/idle"


def ground() -> sn.Scene:
    scene = sn.Scene()
    scene.add_collider(sn.Plane(), friction=0.5)
    return scene


def pyramid(scene: sn.Scene, rows: int, edge: float = 0.5) -> list[BodyHandle]:
    size = (edge, edge, edge)
    places = [((i + r / 2) * edge, (r + 0.5) * edge, 0.0) for r in range(rows) for i in range(rows - r)]
    return [scene.add_rigid_body(sn.Box(size), position=place, friction=0.6) for place in places]


def column(scene: sn.Scene, levels: int, edge: float = 0.5) -> list[BodyHandle]:
    size = (edge, edge, edge)
    return [scene.add_rigid_body(sn.Box(size), position=(0, (k + 0.5) * edge, 0), friction=0.6) for k in range(levels)]


def asleep(simulation: sn.Simulation) -> np.ndarray:
    """Whether each body sleeps."""
    return simulation.state.system_arrays[IDLE] >= 0.5


def positions(simulation: sn.Simulation) -> np.ndarray:
    return np.array(simulation.state.body_positions)


def test_what_sleeps_keeps_its_bits_and_its_forces():
    scene = ground()
    boxes = pyramid(scene, 4)
    simulation = sn.Simulation(scene, substeps=4)
    simulation.step(60)
    assert asleep(simulation).all()
    before = positions(simulation)
    weight = sum(scene.bodies[box.index].mass for box in boxes) * 9.81
    for _ in range(3):
        simulation.step(40)
        np.testing.assert_array_equal(positions(simulation), before)
        found = simulation.contacts()
        floor = ~np.char.startswith(found.second.astype(str), "body")
        assert abs(np.abs(found.forces[floor, 1]).sum() - weight) < 1e-3 * weight


def jointed(scene: sn.Scene) -> list[BodyHandle]:
    """Two boxes on a hinge, and a beam across both."""
    places = [((0.5, 0.5, 0.5), (0, 0.25, 0)), ((0.5, 0.5, 0.5), (0.8, 0.25, 0)), ((1.3, 0.2, 0.5), (0.4, 0.6, 0))]
    boxes = [scene.add_rigid_body(sn.Box(size), position=place, friction=0.6) for size, place in places]
    scene.add_joint("hinge", boxes[0], boxes[1], anchor=(0.4, 0.25, 0), axis=(0, 0, 1))
    return boxes


def tilted(scene: sn.Scene) -> list[BodyHandle]:
    """A box on a tilted board."""
    place = {"rotation": (np.cos(0.1), 0, 0, np.sin(0.1)), "friction": 0.8}
    scene.add_collider(sn.Box((1.0, 0.2, 1.0)), position=(0, 2, 0), name="collider of the board", **place)
    return [scene.add_rigid_body(sn.Box((0.3, 0.3, 0.3)), position=(0, 2.26, 0), **place)]


HEAPS = {"pyramid": lambda s: pyramid(s, 4), "column": lambda s: column(s, 5), "jointed": jointed, "tilted": tilted}


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(("heap", "solver"), [*((name, "auto") for name in HEAPS), ("column", "sweeps")])
def test_a_heap_that_sleeps_tells_its_contacts_in_a_resumed_run(heap, solver, precision, tmp_path: Path):
    """The contacts are those with which it fell asleep; a run that goes on from a file has the same bits."""
    scene = ground()
    weight = sum(scene.bodies[box.index].mass for box in HEAPS[heap](scene)) * 9.81
    whole = sn.Simulation(scene, substeps=4, precision=precision, rigid_solver=solver)
    whole.step(120)
    assert asleep(whole).all()
    whole.save(tmp_path / "asleep.npz")
    resumed = sn.Simulation.load(tmp_path / "asleep.npz", scene=scene)
    for steps in (1, 1, 30):
        whole.step(steps)
        resumed.step(steps)
        one, other = whole.contacts(), resumed.contacts()
        for field in ("positions", "normals", "forces", "first", "second"):
            np.testing.assert_array_equal(getattr(other, field), getattr(one, field))
        immovable = np.char.startswith(other.second.astype(str), "collider")
        # sweeps come to rest with that
        np.testing.assert_allclose(other.forces[immovable].sum(axis=0), (0, weight, 0), atol=3e-5 * weight)


@pytest.mark.parametrize("height", [1.65, 1.75, 1.85])
def test_the_contacts_of_the_step_that_wakes_balance_the_momentum(height):
    """A particle falls on a box that sleeps, in one of the substeps; the ground has carried the box in all of them."""
    scene = ground()
    box = scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(0, 0.1, 0), density=500.0)
    drop = scene.add_particles(np.array([[0, height, 0.0]]), mass=0.01, radius=0.02)
    simulation, mass = sn.Simulation(scene, substeps=8), scene.bodies[box.index].mass
    for _ in range(45):
        slept, before = asleep(simulation)[0], np.array(simulation.velocities(drop))[0, 1]
        simulation.step()
        if slept and not asleep(simulation)[0]:
            break
    else:
        pytest.fail("nothing has woken the box")
    contacts = simulation.contacts()
    ground_force = contacts.forces[contacts.second == "collider", 1].sum()
    push = 0.01 * ((np.array(simulation.velocities(drop))[0, 1] - before) * 60.0 + 9.81)
    gained = mass * simulation.state.body_velocities[box.index, 1] * 60.0
    assert gained == pytest.approx(ground_force - push - mass * 9.81, abs=1e-6 * mass * 9.81)


@pytest.mark.parametrize("others", [False, True], ids=["all sleep", "a ball is awake"])
@pytest.mark.parametrize("substeps", [2, 4, 10])
def test_what_a_particle_wakes_has_its_weight_and_contacts_in_that_substep(substeps, others):
    """A column, and a box that hangs: without contacts it was pushed 2.5 mm into the ground, without its weight up."""
    runs = []
    for sleep in (True, False):
        scene = ground()
        boxes = [*column(scene, 3, 0.2), scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(2.0, 0.5, 0.0))]
        scene.add_joint("fixed", boxes[-1], anchor=(2.0, 0.7, 0.0))
        if others:
            scene.add_rigid_body(sn.Sphere(0.1), position=(5.0, 30.0, 0.0))
        places = [[0.03, 2.3, 0.02], [2.03, 2.3, 0.02]]
        scene.add_particles(np.array(places), mass=1.0, radius=0.02)
        simulation = sn.Simulation(scene, substeps=substeps, sleep=sleep, precision="float64")
        weights, seen = [], []
        for step in range(60):
            simulation.step()
            seen.append(positions(simulation)[: len(boxes)])
            contacts = simulation.contacts()
            weights.append(contacts.forces[contacts.second == "collider", 1].sum())
            if step == 32:
                assert asleep(simulation)[: len(boxes)].all() == sleep
        runs.append((np.array(seen), np.array(weights)))
    (one, first), (other, second) = runs
    whole = sum(each.mass for each in scene.bodies[:3]) * 9.81
    assert second.max() > 1.5 * whole, "they were hit"
    np.testing.assert_allclose(one, other, atol=5e-6)
    np.testing.assert_allclose(first, second, atol=2e-3 * whole)


@pytest.mark.parametrize("substeps", [2, 4, 10])
def test_an_impact_is_that_of_an_awake_run(substeps):
    """A ball hits a pyramid that sleeps: not even the first step differs by more than the rest of its settling."""
    runs = []
    for sleep in (True, False):
        scene = ground()
        pyramid(scene, 4)
        ball = scene.add_rigid_body(sn.Sphere(0.2), position=(0.9, 0.9, -7.0), velocity=(0.0, 4.0, 6.0), density=4000.0)
        simulation = sn.Simulation(scene, substeps=substeps, sleep=sleep)
        seen, woken = [], False
        for _ in range(80):
            simulation.step()
            seen.append(positions(simulation))
            woken |= sleep and len(seen) > 45 and not asleep(simulation)[:-1].any()
        assert woken == sleep
        runs.append(np.array(seen))
        assert np.linalg.norm(runs[-1][-1, :-1] - runs[-1][0, :-1], axis=1).max() > 0.05, "the ball has hit"
        assert ball.index == len(scene.bodies) - 1
    first = int(np.flatnonzero(np.abs(runs[1][:, :-1] - runs[1][40, :-1]).max(axis=(1, 2))[41:] > 1e-3)[0]) + 41
    # the hit itself, to what still moved when the island fell asleep, which the impact makes larger
    np.testing.assert_allclose(runs[0][: first + 1], runs[1][: first + 1], atol=1e-4)


def test_what_loses_its_support_wakes():
    scene = sn.Scene()
    plate = scene.add_rigid_body(
        sn.Box((1.0, 0.2, 1.0)), motion=lambda time: (max(0.0, time - 1.5) * 8.0, 1.0, 0.0), friction=0.0
    )
    box = scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(0, 1.2, 0), friction=0.0)
    simulation = sn.Simulation(scene, substeps=4)
    simulation.step(80)
    assert asleep(simulation)[box.index]
    simulation.step(30)
    assert not asleep(simulation)[box.index]
    assert simulation.pose(box)[0][1] < 1.0
    assert simulation.pose(plate)[0][0] > 1.0


@pytest.mark.parametrize("change", ["gravity", "pose", "velocity", "restore"])
def test_what_a_user_changes_wakes(change):
    scene = ground()
    boxes = column(scene, 3)
    simulation = sn.Simulation(scene, substeps=4)
    start = simulation.state.copy()
    simulation.step(60)
    assert asleep(simulation).all()
    before = positions(simulation)
    if change == "gravity":
        simulation.change(gravity=(3.0, 0.0, 0.0))
    elif change == "pose":
        simulation.state.body_positions[boxes[0].index, 2] += 3.0
    elif change == "velocity":
        simulation.state.body_velocities[boxes[-1].index] = 0.0, 2.0, 0.0
    else:
        simulation.restore(start)
    simulation.step(2 if change == "restore" else 20)
    moved = np.abs(positions(simulation) - before).max(axis=1)
    if change == "restore":
        assert not asleep(simulation).any()
    elif change == "pose":
        assert moved[boxes[-1].index] > 0.01, "it has lost its support"
    else:
        assert moved.max() > 0.05


def test_what_floats_does_not_sleep():
    scene = sn.Scene(gravity=(0, 0, 0))
    scene.add_rigid_body(sn.Box((1, 1, 1)), velocity=(1e-5, 0, 0))
    simulation = sn.Simulation(scene, substeps=2)
    simulation.step(120)
    assert not asleep(simulation).any()
    assert simulation.state.body_positions[0, 0] == pytest.approx(2e-5, rel=1e-6)


def test_a_slow_roller_does_not_sleep():
    scene = ground()
    speed = 2e-3
    scene.add_rigid_body(
        sn.Sphere(0.5), position=(0, 0.5, 0), velocity=(speed, 0, 0), angular_velocity=(0, 0, -speed / 0.5)
    )
    simulation = sn.Simulation(scene, substeps=4)
    simulation.step(180)
    assert simulation.state.body_positions[0, 0] == pytest.approx(3.0 * speed, rel=0.01)


def test_cloth_that_lands_wakes_a_box():
    scene = ground()
    box = scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(0, 0.1, 0), density=50.0)
    scene.add_cloth(sn.grid(shape=(12, 12), size=(0.5, 0.5)), position=(0.12, 1.6, 0))
    simulation = sn.Simulation(scene, substeps=6)
    simulation.step(30)
    assert asleep(simulation)[box.index] or simulation.state.system_arrays[IDLE][box.index] > 0.4
    simulation.step(40)
    assert not asleep(simulation)[box.index]


def test_a_run_goes_on_from_a_file_while_it_sleeps(tmp_path: Path):
    scene = ground()
    pyramid(scene, 3)
    scene.add_rigid_body(sn.Sphere(0.2), position=(0.5, 11.0, 0.1))
    whole = sn.Simulation(scene, substeps=4)
    whole.step(70)
    whole.save(tmp_path / "half.npz")
    whole.step(50)
    half = sn.Simulation.load(tmp_path / "half.npz", scene=scene)
    half.step(50)
    np.testing.assert_array_equal(positions(half), positions(whole))
    alone = sn.Simulation(scene, substeps=4, threads=1)
    alone.step(120)
    np.testing.assert_array_equal(positions(alone), positions(whole))


def test_a_motor_that_is_given_wakes():
    scene = sn.Scene()
    arm = scene.add_rigid_body(sn.Box((0.4, 0.05, 0.05)), position=(0, -0.2, 0), rotation=(0.5**0.5, 0, 0, 0.5**0.5))
    joint = scene.add_joint("hinge", arm, anchor=(0, 0, 0), axis=(0, 0, 1))
    simulation = sn.Simulation(scene, substeps=4)
    simulation.step(60)
    assert asleep(simulation).all()
    simulation.drive(joint, sn.VelocityMotor(1.0, max_force=100.0))
    simulation.step(30)
    assert abs(simulation.joint(joint).angle) == pytest.approx(0.5, abs=0.05)


def test_a_link_that_is_pushed_wakes_the_chain_in_the_same_step():
    scene, above = sn.Scene(), None
    links = []
    for k in range(4):
        link = scene.add_rigid_body(sn.Sphere(0.2), position=(0, -0.5 * k, 0))
        scene.add_joint("ball", link, above, anchor=(0, 0.25 - 0.5 * k, 0))
        links.append(link)
        above = link
    runs = []
    for sleep in (True, False):
        simulation = sn.Simulation(scene, substeps=4, sleep=sleep)
        simulation.step(60)
        assert asleep(simulation).all() == sleep
        simulation.state.body_velocities[links[-1].index] = 1.0, 0.0, 0.0
        simulation.step()
        runs.append(positions(simulation))
    np.testing.assert_allclose(runs[0], runs[1], atol=1e-7)
