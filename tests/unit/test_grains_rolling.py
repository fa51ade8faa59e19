"""Grains that turn: they slide, roll and rest as solid balls, and do so again bit by bit."""

import math

import numpy as np
import pytest

import shinari as sn

G = 9.81
PRECISIONS = ("float32", "float64")


def ball(rolling: float | None, slope: float = 0.0, precision: str = "float64", **start) -> sn.Simulation:
    """A ball on a plane with a friction of 0.5; gravity is that of a slope down along x."""
    scene = sn.Scene(gravity=(G * math.sin(slope), -G * math.cos(slope), 0.0))
    scene.add_collider(sn.Plane(), friction=0.5)
    material = sn.GrainMaterial(friction=0.5, rolling_friction=rolling)
    scene.add_grains([[0.0, 0.01, 0.0]], radius=0.01, material=material, name="ball", **start)
    return sn.Simulation(scene, precision=precision, threads=1)


def heap(threads: int = 1, precision: str = "float32", rolling: float = 0.2) -> sn.Simulation:
    """A heap of grains of mixed sizes that collapses beside grains that do not turn."""
    scene = sn.Scene()
    turning = sn.GrainMaterial(friction=0.5, rolling_friction=rolling)
    box = sn.Box((0.05, 0.08, 0.05))
    scene.add_grains(box, radius=0.004, spread=0.3, position=(0, 0.05, 0), material=turning, name="turning")
    scene.add_grains(box, radius=0.005, position=(0.06, 0.05, 0), name="still")
    scene.add_collider(sn.Plane(), friction=0.5)
    return sn.Simulation(scene, substeps=8, threads=threads, precision=precision)


def test_spins_are_of_grains_that_turn_only():
    scene = sn.Scene()
    with pytest.raises(sn.SceneError, match="'sand': angular_velocity: these grains do not turn; give their material"):
        scene.add_grains([[0, 0, 0]], radius=0.01, angular_velocity=(1, 0, 0), name="sand")
    with pytest.raises(sn.SceneError, match="GrainMaterial: rolling_friction"):
        sn.GrainMaterial(rolling_friction=-0.1)
    simulation = ball(None)
    with pytest.raises(sn.SceneError, match="'ball': angular_velocities: do not turn"):
        simulation.angular_velocities("ball")
    assert "grains/spins" not in simulation.state.system_arrays


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_ball_slides_then_rolls(precision):
    simulation = ball(0.0, precision=precision, velocity=(1.0, 0.0, 0.0))
    simulation.step(30)
    assert simulation.velocities("ball")[0, 0] == pytest.approx(5.0 / 7.0, abs=1e-4)
    assert simulation.angular_velocities("ball")[0, 2] * 0.01 == pytest.approx(-5.0 / 7.0, abs=1e-4)


@pytest.mark.parametrize(("tangent", "rolling"), [(0.3, 0.0), (0.15, 0.1), (0.08, 0.1)])
def test_a_ball_rolls_down_a_slope_or_rests(tangent, rolling):
    angle = math.atan(tangent)
    simulation = ball(rolling, slope=angle)
    simulation.step(30)
    speed = 5.0 / 7.0 * G * 0.5 * max(math.sin(angle) - rolling * math.cos(angle), 0.0)
    assert simulation.velocities("ball")[0, 0] == pytest.approx(speed, abs=1e-9)


def test_a_ball_with_backspin_comes_back():
    """The angular momentum about the ground, m v r - I w, decides: v - 2/5 r w = -0.2 m/s turns into -1/7 m/s."""
    simulation = ball(0.0, velocity=(0.2, 0, 0), angular_velocity=(0, 0, 100.0))
    simulation.step(30)
    assert simulation.velocities("ball")[0, 0] == pytest.approx(-0.2 * 5.0 / 7.0, abs=1e-9)


def test_a_ball_rides_on_a_turntable():
    """It rolls without slip on a disk that turns by W: its centre goes around with 2/7 W (Weltner 1979)."""
    scene, turn = sn.Scene(), 4.0

    def motion(time: float) -> tuple:
        return (0, 0, 0), (math.cos(0.5 * turn * time), 0, math.sin(0.5 * turn * time), 0)

    scene.add_collider(sn.Plane(), friction=1.0, motion=motion)
    material = sn.GrainMaterial(friction=1.0, rolling_friction=0.0)
    # v = 2/7 W x (x - c), and it begins without slip: at (0.1, 0, 0) with c at the origin
    speed = -2.0 / 7.0 * turn * 0.1
    slip = (speed + turn * 0.1) / 0.01
    scene.add_grains([[0.1, 0.01, 0]], radius=0.01, material=material, name="ball", velocity=(0, 0, speed),
                     angular_velocity=(slip, 0, 0))  # fmt: skip
    simulation = sn.Simulation(scene, precision="float64", substeps=40, threads=1)
    period = 7.0 * math.pi / turn
    simulation.step(round(60 * period / 2.0))
    x = simulation.positions("ball")[0]
    assert np.hypot(x[0], x[2]) == pytest.approx(0.1, rel=0.02)
    angle = math.atan2(-x[2], x[0]) % (2.0 * math.pi)
    assert angle == pytest.approx(2.0 / 7.0 * turn * simulation.time, rel=0.02)


def test_a_heap_rests():
    simulation = heap()
    before = simulation.energy().total
    for _ in range(150):
        simulation.step()
        after = simulation.energy().total
        assert after < before + 1e-3 * abs(before)
        before = after
    x = simulation.positions("turning").copy()
    simulation.step(60)
    assert np.linalg.norm(simulation.positions("turning") - x, axis=1).mean() < 0.02 * 0.004


def test_the_same_bits_again_and_on_two_threads(tmp_path):
    one, two = heap(), heap(threads=2)
    one.step(20)
    one.save(tmp_path / "heap.h5")
    again = sn.Simulation.load(tmp_path / "heap.h5")
    for simulation, steps in ((one, 20), (again, 20), (two, 40)):
        simulation.step(steps)
    assert one.state == again.state
    assert one.state == two.state
    assert np.abs(one.angular_velocities("turning")).max() > 1.0


def test_momentum_of_a_cloud_stays():
    scene = sn.Scene(gravity=(0, 0, 0))
    for k in range(2):
        material = sn.GrainMaterial(friction=0.4, rolling_friction=0.1)
        scene.add_grains(sn.Box((0.04, 0.04, 0.04)), radius=0.005, spread=0.2, position=(0.05 * k, 0.02 * k, 0),
                         velocity=(1.0 - 2.0 * k, 0, 0), angular_velocity=(0, 0, 20.0), material=material)  # fmt: skip
    simulation = sn.Simulation(scene, precision="float64", substeps=20, threads=1)
    momentum, angular = simulation.momentum(), simulation.angular_momentum()
    simulation.step(20)
    mass = float(simulation.model.masses.sum())
    np.testing.assert_allclose(simulation.momentum(), momentum, atol=1e-13 * mass)
    assert np.linalg.norm(simulation.angular_momentum() - angular) < 0.0025 * np.linalg.norm(angular)
