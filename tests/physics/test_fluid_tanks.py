"""Fluids at rest and moving against walls: layers, weight, what floats, slopes, moving walls.

Four iterations in each substep: with one of them a column breathes for seconds, and its weight with it.
"""

from contextlib import nullcontext

import numpy as np
import pytest

import shinari as sn

G = 9.81


def lattice(*counts, spacing):
    """Points of a lattice that stands on y = 0, centred on the y axis."""
    axes = [(np.arange(n) - 0.5 * (n - 1)) * spacing for n in counts]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    return points + np.array([0.0, 0.5 * counts[1] * spacing, 0.0])


@pytest.mark.parametrize(("kernel", "precision"), [("spiky", "float32"), ("cubic-spline", "float64")])
def test_column_stands_in_layers_and_its_walls_carry_it(kernel, precision):
    spacing, counts = 0.02, (8, 20, 8)
    scene = sn.Scene()
    points = lattice(*counts, spacing=spacing)
    material = sn.FluidMaterial(xsph=0.1)
    fluid = scene.add_fluid(points, spacing=spacing, kernel=kernel, material=material)
    width, height = counts[0] * spacing, 2 * counts[1] * spacing
    tank = scene.add_collider(sn.Box((width, height, width), inside=True), position=(0.0, 0.5 * height, 0.0))
    sim = sn.Simulation(scene, dt=1 / 60, substeps=10, iterations=4, precision=precision)
    sim.step(45)
    weight = len(points) * 1000.0 * spacing**3 * G
    for _ in range(15):
        sim.step()
        x = sim.positions(fluid) / spacing
        force = sim.forces(tank) / weight
        assert force == pytest.approx([0.0, -1.0, 0.0], abs=0.01)
        densities = sim.densities(fluid)[x[:, 1] < counts[1] - 3.0] / 1000.0
        assert np.abs(densities - 1.0).mean() < 0.01
        assert np.abs(densities - 1.0).max() < 0.03
        layers = np.sort(x[:, 1]).reshape(counts[1], -1).mean(axis=1)
        assert layers[:3] == pytest.approx([0.5, 1.5, 2.5], abs=0.05)
        outermost = np.sort(np.abs(x[:, 0]))[::-1][: 2 * counts[1] * counts[2]]
        assert outermost.mean() == pytest.approx(0.5 * counts[0] - 0.5, abs=0.05)


def test_sloped_walls_carry_the_weight_along_their_normals():
    """A trough of two planes at 45 degrees between two upright walls: half of the weight rests on each."""
    spacing = 0.02
    scene = sn.Scene()
    points = lattice(16, 16, 6, spacing=spacing)
    points = points[points[:, 1] > np.abs(points[:, 0]) + 0.6 * spacing]
    fluid = scene.add_fluid(points, spacing=spacing, material=sn.FluidMaterial(xsph=0.1))
    slopes = [scene.add_collider(sn.Plane((side, 1.0, 0.0))) for side in (-1.0, 1.0)]
    for side in (-1.0, 1.0):
        scene.add_collider(sn.Plane((0.0, 0.0, side), -3.0 * spacing))
    sim = sn.Simulation(scene, dt=1 / 60, substeps=10, iterations=4)
    sim.step(45)
    weight = len(points) * 1000.0 * spacing**3 * G
    forces = []
    for _ in range(30):
        sim.step()
        forces.append([sim.forces(slope) / weight for slope in slopes])
        x = sim.positions(fluid)
        assert ((x[:, 1] - np.abs(x[:, 0])) / np.sqrt(2.0)).min() > 0.49 * spacing
    assert np.mean(forces, axis=0) == pytest.approx(np.array([[0.5, -0.5, 0.0], [-0.5, -0.5, 0.0]]), abs=0.01)


def test_water_flows_around_a_sphere_and_does_not_enter_it():
    spacing = 0.02
    scene = sn.Scene()
    fluid = scene.add_fluid(lattice(6, 12, 6, spacing=spacing) + np.array([0.0, 0.2, 0.0]), spacing=spacing)
    ball = scene.add_collider(sn.Sphere(0.1), position=(0.0, 0.08, 0.0))
    scene.add_collider(sn.Box((0.5, 1.0, 0.5), inside=True), position=(0.0, 0.5, 0.0))
    sim = sn.Simulation(scene, dt=1 / 60, substeps=10)
    nearest, push = np.inf, 0.0
    for _ in range(60):
        sim.step()
        away = np.linalg.norm(sim.positions(fluid) - [0.0, 0.08, 0.0], axis=1) - 0.1
        nearest = min(nearest, away.min())
        push -= sim.forces(ball)[1] / 60.0
    assert nearest > 0.45 * spacing
    # what it takes to send the water aside is a good part of the momentum with which it comes down
    mass = 432 * 1000.0 * spacing**3
    assert push > 0.3 * mass * np.sqrt(2.0 * G * 0.14)
    assert np.mean(sim.positions(fluid)[:, 1] < 0.1) > 0.95


@pytest.mark.parametrize("density", [300.0, 700.0])
def test_flat_box_floats_as_deep_as_its_density_says(density):
    """Flat, because a cube of half the density of water turns onto an edge."""
    spacing, counts, size, height = 0.025, (16, 8, 16), 0.2, 0.1
    scene = sn.Scene()
    points = lattice(*counts, spacing=spacing)
    level = counts[1] * spacing
    bottom = level - height * density / 1000.0
    inside = (np.abs(points[:, [0, 2]]) < 0.5 * size + 0.3 * spacing).all(axis=1)
    points = points[~(inside & (points[:, 1] > bottom - 0.3 * spacing))]
    fluid = scene.add_fluid(points, spacing=spacing, material=sn.FluidMaterial(xsph=0.1))
    width = counts[0] * spacing
    scene.add_collider(sn.Box((width, 1.0, width), inside=True), position=(0.0, 0.5, 0.0))
    box = scene.add_rigid_body(sn.Box((size, height, size)), density=density, position=(0.0, bottom + height / 2, 0.0))
    # the lattice has no place for the lighter box
    with pytest.warns(sn.ContactWarning, match="starts inside") if density < 500.0 else nullcontext():
        sim = sn.Simulation(scene, dt=1 / 60, substeps=10, iterations=4)
    sim.step(40)
    depths, forces = [], []
    for _ in range(20):
        sim.step()
        forces.append(sim.forces(box)[1])
        x = sim.positions(fluid)
        away = (np.abs(x[:, [0, 2]]) > 0.5 * size + 1.5 * spacing).any(axis=1)
        columns = np.round(x[away][:, [0, 2]] / (2.0 * spacing)).astype(int)
        _, which = np.unique(columns, axis=0, return_inverse=True)
        tops = np.full(which.max() + 1, -np.inf)
        np.maximum.at(tops, which.ravel(), x[away, 1])
        depths.append(tops.mean() + 0.5 * spacing - sim.state.body_positions[0, 1] + 0.5 * height)
    assert np.mean(forces) == pytest.approx(density * size * size * height * G, rel=0.02)
    # the uppermost particles do not say to less than a quarter of a spacing where the level is
    assert np.mean(depths) == pytest.approx(height * density / 1000.0, abs=0.25 * spacing)


def test_a_tank_that_speeds_up_takes_its_water_along():
    spacing, counts, acceleration = 0.02, (10, 6, 6), 2.0
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    points = lattice(*counts, spacing=spacing)
    fluid = scene.add_fluid(points, spacing=spacing)
    middle = 0.5 * counts[1] * spacing
    tank = scene.add_collider(
        sn.Box((counts[0] * spacing, counts[1] * spacing, counts[2] * spacing), inside=True),
        motion=lambda time: np.array([0.5 * acceleration * time * time, middle, 0.0]),
    )
    sim = sn.Simulation(scene, dt=1 / 60, substeps=10, iterations=4)
    sim.step(15)
    mass = len(points) * 1000.0 * spacing**3
    forces = []
    for _ in range(15):
        sim.step()
        forces.append(sim.forces(tank))
        x = np.abs(sim.positions(fluid)[:, 0] - 0.5 * acceleration * sim.time**2) / spacing
        assert x.max() < 0.5 * counts[0] - 0.45
    assert sim.state.velocities[:, 0].mean() == pytest.approx(acceleration * sim.time, rel=0.01)
    assert np.mean(forces, axis=0) == pytest.approx([-mass * acceleration, 0.0, 0.0], abs=0.02 * mass * acceleration)
