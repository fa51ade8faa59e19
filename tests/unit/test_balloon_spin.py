"""A closed mesh under pressure does not begin to turn by itself, and keeps the spin that it has."""

import numpy as np
import pytest
import trimesh

import shinari as sn

BOTH = pytest.mark.parametrize("precision", ["float32", "float64"])


def ball(scene, at=(0, 0.31, 0), compliance=1e-5, ratio=1.1, **cloth):
    mesh = trimesh.creation.icosphere(subdivisions=3, radius=0.3)
    material = sn.ClothMaterial(stretch_compliance=compliance)
    skin = scene.add_cloth((mesh.vertices, mesh.faces), position=at, material=material, **cloth)
    scene.add_volume(skin, ratio=ratio)
    return skin


def angular_momentum(sim, skin):
    """Of a mesh about its centre [kg m^2/s], and its speed of rotation [rad/s]."""
    mass = np.asarray(sim.scene.particle_objects[0].masses)
    x, v = (np.asarray(each(skin), np.float64) for each in (sim.positions, sim.velocities))
    x, v = (each - np.average(each, axis=0, weights=mass) for each in (x, v))
    moment = (mass[:, None] * np.cross(x, v)).sum(axis=0)
    inertia = np.einsum("i,ijk->jk", mass, (x**2).sum(axis=1)[:, None, None] * np.eye(3) - x[:, :, None] * x[:, None])
    return moment, np.linalg.solve(inertia, moment)


@BOTH
@pytest.mark.parametrize("compliance", [1e-5, 1e-3])
@pytest.mark.parametrize("substeps", [10, 40])
def test_a_ball_at_rest_does_not_turn(substeps, compliance, precision):
    scene = sn.Scene(gravity=(0, 0, 0))
    skin = ball(scene, compliance=compliance)
    sim = sn.Simulation(scene, substeps=substeps, precision=precision)
    sim.step(60)
    # single precision: a rounding of 3e-8 m in each substep, as at random, over a radius of 0.3 m
    speed = np.linalg.norm(angular_momentum(sim, skin)[1])
    assert speed < (1e-3 if precision == "float64" else 0.1)


@pytest.mark.parametrize("iterations", [1, 4])
def test_a_ball_keeps_its_spin(iterations):
    scene = sn.Scene(gravity=(0, 0, 0))
    skin = ball(scene, compliance=1e-4)
    sim = sn.Simulation(scene, substeps=20, iterations=iterations, precision="float64")
    spin = np.array([1.0, 3.0, -2.0])
    sim.state.velocities = np.cross(spin, np.asarray(sim.positions(skin)) - [0, 0.31, 0])
    before, _ = angular_momentum(sim, skin)
    sim.step(60)
    after, _ = angular_momentum(sim, skin)
    np.testing.assert_allclose(after, before, atol=2e-3 * np.linalg.norm(before))


@BOTH
def test_a_ball_on_a_floor_does_not_drive_itself(precision):
    scene = sn.Scene()
    skin = ball(scene)
    scene.add_collider(sn.Plane(), friction=0.5)
    sim = sn.Simulation(scene, substeps=20, precision=precision)
    sim.step(300)
    assert np.linalg.norm(np.asarray(sim.velocities(skin), np.float64).mean(axis=0)) < 0.2


def test_what_is_held_turns_as_before():
    """A ball on a pin takes moments from that: it swings about it."""
    scene = sn.Scene()
    skin = ball(scene)
    skin.pin([0])
    sim = sn.Simulation(scene, substeps=20)
    sim.step(60)
    lowest = np.asarray(sim.positions(skin))[:, 1].min()
    assert lowest < 0.31 - 0.25
    assert np.isfinite(sim.energy().total)


def test_the_bits_are_the_same_on_any_threads():
    runs = []
    for threads in (1, 2):
        scene = sn.Scene()
        skin = ball(scene)
        scene.add_collider(sn.Plane())
        sim = sn.Simulation(scene, substeps=10, threads=threads)
        sim.step(30)
        runs.append(np.asarray(sim.positions(skin)).copy())
    np.testing.assert_array_equal(*runs)
