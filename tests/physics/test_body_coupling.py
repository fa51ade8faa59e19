"""Bodies held and carried by ropes, cloth, soft bodies, grains and lumps: forces against weights."""

import numpy as np
import pytest

import shinari as sn

G = 9.81


def sheet(count: int, size: float) -> tuple[np.ndarray, np.ndarray]:
    side = np.linspace(-0.5 * size, 0.5 * size, count)
    x, z = np.meshgrid(side, side)
    k = np.arange(count * count).reshape(count, count)
    a, b, c, d = k[:-1, :-1].ravel(), k[:-1, 1:].ravel(), k[1:, 1:].ravel(), k[1:, :-1].ravel()
    faces = np.concatenate([np.stack([a, c, b], axis=1), np.stack([a, d, c], axis=1)])
    return np.stack([x.ravel(), np.zeros(count * count), z.ravel()], axis=1), faces


def mean_force(sim: sn.Simulation, of, steps: int) -> np.ndarray:
    total = 0.0
    for _ in range(steps):
        sim.step()
        total = total + np.asarray(sim.forces(of), np.float64).reshape(-1, 3).sum(axis=0)
    return total / steps


@pytest.mark.parametrize(("mass", "substeps"), [(0.1, 10), (2.0, 20)])
def test_a_rope_that_holds_a_body_carries_its_weight(mass, substeps):
    """The attachment, in the mean over oscillations of two seconds; the rope has 0.1 kg."""
    scene = sn.Scene()
    points = np.stack([np.zeros(11), -0.1 * np.arange(11), np.zeros(11)], axis=1)
    rope = scene.add_rope(points, material=sn.RopeMaterial(density=0.1))
    rope.pin(0)
    body = scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), mass=mass, position=(0, -1.05, 0))
    rows = scene.attach((rope, 10), (body, (0.0, -1.0, 0.0)))
    sim = sn.Simulation(scene, precision="float64", substeps=substeps, threads=1)
    sim.step(240)
    force = mean_force(sim, rows, 240)
    np.testing.assert_allclose(force, [0, mass * G, 0], atol=0.02 * mass * G)
    np.testing.assert_allclose(sim.state.body_positions[0, [0, 2]], 0.0, atol=1e-6)


@pytest.mark.parametrize("ratio", [0.05, 50.0])
def test_a_ball_rests_on_a_sheet(ratio):
    """A ball of 1/20 and of 50 times the mass of the sheet: held up by its weight in the mean, and it stays in it."""
    scene = sn.Scene(damping=1.0)
    sheet_of = scene.add_cloth(sheet(13, 1.0), material=sn.ClothMaterial(density=0.3, thickness=0.02, friction=0.5))
    sheet_of.pin(sheet_of.where(lambda x: np.abs(x[:, [0, 2]]).max(axis=1) > 0.499))
    ball = scene.add_rigid_body(sn.Sphere(0.15), mass=0.3 * ratio, position=(0, 0.18, 0), friction=0.5)
    sim = sn.Simulation(scene, precision="float64", substeps=20, threads=1)
    sim.step(240)
    force = mean_force(sim, ball, 120)
    np.testing.assert_allclose(force[1], 0.3 * ratio * G, rtol=0.03)
    assert np.abs(sim.state.body_velocities).max() < 0.5
    assert np.abs(sim.state.body_positions[0, [0, 2]]).max() < 0.3
    below = sim.positions(sheet_of) - sim.state.body_positions[0]
    assert np.linalg.norm(below, axis=1).min() > 0.15


def test_a_plank_lies_on_two_soft_cubes():
    """Each carries half; the ground carries all."""
    scene = sn.Scene()
    ground = scene.add_collider(sn.Plane(), friction=0.5)
    axis = np.linspace(-0.1, 0.1, 3)
    points = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    cubes = []
    for x in (-0.4, 0.4):
        cubes.append(
            scene.add_soft_body(
                lattice(points), material=sn.SoftMaterial(density=500, youngs_modulus=3e5), position=(x, 0.101, 0)
            )
        )
    plank = scene.add_rigid_body(sn.Box((1.2, 0.05, 0.2)), density=400, position=(0, 0.23, 0), friction=0.5)
    sim = sn.Simulation(scene, precision="float64", substeps=20, threads=1)
    sim.step(120)
    weight, total = scene.bodies[0].mass * G, sim.model.masses.sum() + scene.bodies[0].mass
    np.testing.assert_allclose(mean_force(sim, plank, 30), [0, weight, 0], atol=0.01 * weight)
    np.testing.assert_allclose(sim.forces(ground)[1], -total * G, rtol=0.01)
    contacts = sim.contacts()
    for cube in cubes:
        on = (contacts.first == cube.name) & (contacts.second == plank.name)
        np.testing.assert_allclose(contacts.forces[on].sum(axis=0)[1], -0.5 * weight, rtol=0.05)


def lattice(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Tetrahedra of a grid of 3 x 3 x 3 points, five in each cell, mirrored from cell to cell."""
    index = np.arange(27).reshape(3, 3, 3)
    tets = []
    for i, j, k in np.ndindex(2, 2, 2):
        c = index[i : i + 2, j : j + 2, k : k + 2]
        if (i + j + k) % 2:
            c = c[::-1]
        one = [(0, 0, 0), (1, 1, 0), (1, 0, 1), (0, 1, 1)]
        tets.append([c[p] for p in one])
        for corner in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)):
            near = [p for p in one if sum(abs(p[d] - corner[d]) for d in range(3)) == 1]
            tets.append([c[corner], *(c[p] for p in near)])
    tets = np.array(tets)
    a, b, c, d = (points[tets[:, n]] for n in range(4))
    turned = np.einsum("ij,ij->i", b - a, np.cross(c - a, d - a)) < 0
    tets[turned] = tets[turned][:, [0, 2, 1, 3]]
    return points, tets


def test_a_ball_lies_on_grains():
    """In a box of loose balls; the floor carries all of them."""
    scene = sn.Scene()
    box = scene.add_collider(sn.Box((0.4, 1.0, 0.4), inside=True), position=(0, 0.5, 0), friction=0.3)
    side = np.arange(-0.15, 0.16, 0.075)
    places = np.stack(np.meshgrid(side, 0.04 + 0.075 * np.arange(3), side), axis=-1).reshape(-1, 3)
    scene.add_particles(places, mass=0.1, radius=0.036, friction=0.3)
    ball = scene.add_rigid_body(sn.Sphere(0.1), mass=3.0, position=(0.01, 0.36, 0.0), friction=0.5)
    sim = sn.Simulation(scene, precision="float64", substeps=10, threads=1)
    sim.step(150)
    total = 0.1 * len(places) + 3.0
    np.testing.assert_allclose(mean_force(sim, ball, 30), [0, 3.0 * G, 0], atol=0.02 * 3.0 * G)
    np.testing.assert_allclose(sim.forces(box), [0, -total * G, 0], atol=0.02 * total * G)
