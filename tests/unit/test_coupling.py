"""Particles, cloth, ropes and rigid bodies push each other: impacts, friction, rest, and what is conserved."""

import numpy as np
import pytest
from small_scenes import precisions

import shinari as sn
from shinari.systems.colliders.collide import SAME_SIDE

G = 9.81


def simulated(scene: sn.Scene, steps: int = 0, **options) -> sn.Simulation:
    sim = sn.Simulation(scene, **{"precision": "float64", "substeps": 10, "threads": 1, **options})
    sim.step(steps)
    return sim


def fixed_points(scene: sn.Scene, half: float, radius: float = 0.02, friction: float = 0.5):
    """Four particles that do not move, at the corners of a square."""
    corners = [[x, 0.0, z] for x in (-half, half) for z in (-half, half)]
    return scene.add_particles(corners, mass=0.0, radius=radius, friction=friction)


@precisions
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("density", [0.1, 100.0, 1e5])
def test_a_central_impact_shares_the_momentum(density, restitution, precision):
    """Two masses on a line: v' = (m v + M V - M e (v - V)) / (m + M), the other from the momentum."""
    scene = sn.Scene(gravity=(0, 0, 0))
    p = scene.add_particles([[0, 0.6, 0]], mass=0.5, velocity=(0, -3, 0), radius=0.05)
    b = scene.add_rigid_body(sn.Sphere(0.2), density=density, restitution=restitution, velocity=(0, 1, 0))
    mass = scene.bodies[0].mass
    sim = simulated(scene, 20, precision=precision)
    mean = (0.5 * -3.0 + mass * 1.0) / (0.5 + mass)
    ours = mean + restitution * 4.0 * mass / (0.5 + mass)
    theirs = mean - restitution * 4.0 * 0.5 / (0.5 + mass)
    accuracy = 1e-5 if precision == "float32" else 1e-9
    np.testing.assert_allclose(sim.velocities(p)[0], [0, ours, 0], atol=accuracy * 4)
    np.testing.assert_allclose(sim.state.body_velocities[b.index], [0, theirs, 0], atol=accuracy * 4)


@pytest.mark.parametrize("restitution", [0.0, 0.7])
@pytest.mark.parametrize("arm", [0.1, 0.3])
def test_an_impact_at_an_arm_turns_the_body(arm, restitution):
    """J = (1 + e) v / (1/m + 1/M + r^2 / I) without friction.

    The body turns and the particle flies on for a part of the substep in which they meet, so velocities are those of
    the closed form but for a part of w h.
    """
    scene = sn.Scene(gravity=(0, 0, 0))
    p = scene.add_particles([[arm, 0.2, 0]], mass=0.2, velocity=(0, -2, 0), radius=0.01, friction=0.0)
    b = scene.add_rigid_body(sn.Box((0.8, 0.1, 0.2)), density=50, friction=0.0, restitution=restitution)
    body = scene.bodies[0]
    sim = simulated(scene, 5, substeps=40)
    inertia = body.mass * (0.8**2 + 0.1**2) / 12.0
    impulse = (1.0 + restitution) * 2.0 / (1.0 / 0.2 + 1.0 / body.mass + arm**2 / inertia)
    spin = -arm * impulse / inertia
    tolerance = abs(spin) / 60.0 / 40.0 * 2.0
    np.testing.assert_allclose(sim.velocities(p)[0, 1], -2.0 + impulse / 0.2, rtol=tolerance, atol=2.0 * tolerance)
    np.testing.assert_allclose(sim.state.body_velocities[b.index], [0, -impulse / body.mass, 0], atol=2.0 * tolerance)
    np.testing.assert_allclose(sim.state.body_angular_velocities[b.index], [0, 0, spin], atol=2.0 * tolerance)


def shower(friction: float, restitution: float, compliance: float = 0.0) -> sn.Scene:
    """Particles that rain from all sides on a box that tumbles, and a capsule."""
    scene = sn.Scene(gravity=(0, 0, 0))
    points = np.random.default_rng(3).normal(size=(60, 3))
    points *= 1.1 / np.linalg.norm(points, axis=1, keepdims=True)
    scene.add_particles(points, mass=0.3, velocity=-3.0 * points, radius=0.05, friction=friction)
    how = {"density": 50.0, "friction": friction, "restitution": restitution, "compliance": compliance}
    a = scene.add_rigid_body(sn.Box((0.5, 0.8, 0.3)), angular_velocity=(3, 1, 2), velocity=(0.1, 0, 0), **how)
    b = scene.add_rigid_body(sn.Capsule(0.1, 0.3), position=(0.6, 0.0, 0.0), angular_velocity=(-4, 1, 0), **how)
    scene.ignore_contact(a, b)
    return scene


@pytest.mark.parametrize(
    ("friction", "restitution", "compliance"), [(0.5, 0.0, 0.0), (0.0, 0.8, 0.0), (0.5, 0.5, 0.0), (0.5, 0.0, 1e-5)]
)
def test_linear_and_angular_momentum_are_kept(friction, restitution, compliance):
    """Exactly, but for rounding: a hundred steps of ten substeps, each rounds positions of about a metre at h."""
    sim = simulated(shower(friction, restitution, compliance))
    momentum, spin = sim.momentum(), sim.angular_momentum()
    touches = 0
    for _ in range(100):
        sim.step()
        touches += len(sim.contacts())
    assert touches > 20
    rounding = 1000 * 600 * np.finfo(float).eps * sim.model.masses.sum()
    np.testing.assert_allclose(sim.momentum(), momentum, atol=rounding)
    np.testing.assert_allclose(sim.angular_momentum(), spin, atol=rounding)


@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_no_energy_comes_from_impacts(restitution):
    """Without anything elastic the energy of each step is at most that before, but for second order of the turns."""
    sim = simulated(shower(0.5, restitution))
    energies = [sim.energy().total]
    for _ in range(60):
        sim.step()
        energies.append(sim.energy().total)
    assert np.diff(energies).max() < 1e-3 * energies[0]
    assert energies[-1] < 0.9 * energies[0]


@precisions
@pytest.mark.parametrize("density", [1.0, 1e3, 1e6])
def test_a_body_rests_on_particles_with_its_weight(density, precision):
    """A box on four fixed particles: it stays, and they carry m g; without an error of a mass ratio."""
    scene = sn.Scene()
    p = fixed_points(scene, 0.2)
    b = scene.add_rigid_body(sn.Box((0.6, 0.2, 0.6)), density=density, friction=0.5, position=(0, 0.12, 0))
    weight = scene.bodies[0].mass * G
    sim = simulated(scene, 60, precision=precision)
    np.testing.assert_allclose(sim.forces(b), [0, weight, 0], atol=1e-3 * weight)
    np.testing.assert_allclose(sim.forces(p), [0, -weight, 0], atol=1e-3 * weight)
    np.testing.assert_allclose(sim.state.body_positions[0], [0, 0.12, 0], atol=1e-5)
    contacts = sim.contacts()
    assert set(contacts.first) == {p.name}
    assert set(contacts.second) == {b.name}
    np.testing.assert_allclose(contacts.normals, np.tile([0, -1, 0], (len(contacts), 1)), atol=1e-6)


@pytest.mark.parametrize("friction", [0.1, 0.4])
def test_friction_of_a_moving_plank_is_coulombs(friction):
    """A particle dropped on a plank that moves evenly: mu g until it goes along, then it stays."""
    scene = sn.Scene()
    p = scene.add_particles([[0, 0.07, 0]], mass=0.3, radius=0.02, friction=friction)
    scene.add_rigid_body(sn.Box((20, 0.1, 1)), kinematic=True, velocity=(1, 0, 0), friction=friction)
    sim = simulated(scene, 6)
    speeds = [sim.velocities(p)[0, 0]]
    for _ in range(4):
        sim.step()
        speeds.append(sim.velocities(p)[0, 0])
    np.testing.assert_allclose(np.diff(speeds), friction * G / 60.0, rtol=1e-3)
    sim.step(60)
    np.testing.assert_allclose(sim.velocities(p)[0], [1, 0, 0], atol=1e-6)
    np.testing.assert_allclose(sim.forces(p), [0, 0.3 * G, 0], atol=1e-3 * 0.3 * G)


def test_a_particle_that_slides_takes_a_free_plank_along():
    """In no gravity, pressed on by a second body: they end with their common velocity; friction acts on both."""
    scene = sn.Scene(gravity=(0, 0, 0))
    p = scene.add_particles([[0, 0.07, 0]], mass=1.0, velocity=(1, -0.5, 0), radius=0.02, friction=1.0)
    b = scene.add_rigid_body(sn.Box((2, 0.1, 1)), mass=3.0, friction=1.0)
    sim = simulated(scene, 30)
    arm = sim.positions(p)[0] - sim.state.body_positions[b.index]
    there = sim.state.body_velocities[b.index] + np.cross(sim.state.body_angular_velocities[b.index], arm)
    assert sim.state.body_velocities[b.index, 0] > 0.0
    assert abs(there[0] - sim.velocities(p)[0, 0]) < 0.5


@pytest.mark.parametrize("speed", [5.0, 300.0])
def test_nothing_passes_through_a_thin_body(speed):
    scene = sn.Scene(gravity=(0, 0, 0))
    p = scene.add_particles([[0, 0.3, 0]], mass=0.1, velocity=(0, -speed, 0), radius=0.002)
    scene.add_rigid_body(sn.Box((1, 0.01, 1)), density=1000)
    sim = simulated(scene, 20)
    gap = (sim.positions(p)[0] - sim.state.body_positions[0])[1]
    np.testing.assert_allclose(gap, 0.007, atol=1e-3)


@precisions
@pytest.mark.parametrize(("seed", "friction"), [(0, 0.3), (1, 0.6), (2, 1.0)])
def test_friction_at_a_round_body_draws_no_point_in(seed, friction, precision):
    """Paths of 17 mm a substep from all sides, past a ball of 8 mm, end no deeper than a chord at its surface.

    The normal turns from sweep to sweep. What friction has moved a point has then a part along the new normal, and to
    take that back drew 4 % of these points in at a friction of 0.3, by up to a third of the radius.
    """
    rng, h, speed, radius = np.random.default_rng(seed), 1 / 1200, 20.0, 0.004
    aims = rng.normal(size=(500, 3))
    aims /= np.linalg.norm(aims, axis=1)[:, None]
    starts = 0.9 * radius * rng.uniform(-1, 1, (500, 3)) - (0.25 + h * speed * rng.uniform(size=(500, 1))) * aims
    scene = sn.Scene(gravity=(0, 0, 0))
    scene.add_rigid_body(sn.Sphere(radius), friction=friction, kinematic=True)
    scene.add_particles(starts, velocity=speed * aims, friction=friction)
    sim = simulated(scene, precision=precision, dt=h, substeps=1)
    deepest = np.inf
    for _ in range(20):
        sim.step()
        deepest = min(deepest, float(np.linalg.norm(sim.state.positions, axis=1).min()) - radius)
    # where normals make an angle with the cosine SAME_SIDE the chord sags so much; a thousandth of the path is the
    # accuracy of the trace
    sag = radius * (1.0 - np.sqrt(0.5 * (1.0 + float(SAME_SIDE))))
    assert deepest > -sag - 1e-3 * h * speed


def one_triangle(scene: sn.Scene, size: float = 1.0, thickness: float = 0.02):
    points = size * np.array([[0, 0, -0.6], [-0.6, 0, 0.4], [0.6, 0, 0.4]])
    material = sn.ClothMaterial(density=0.1, thickness=thickness, friction=0.5)
    cloth = scene.add_cloth((points, [[0, 1, 2]]), material=material)
    cloth.pin([0, 1, 2])
    return cloth


@pytest.mark.parametrize("shape", [sn.Sphere(0.05), sn.Box((0.1, 0.1, 0.1)), sn.Capsule(0.05, 0.0)])
def test_a_small_body_rests_in_the_middle_of_a_triangle(shape):
    """Between the vertices the deepest point of the triangle is the contact.

    A face that lies flat on it has no deepest point: the corners take turns, and the box may walk, but stays up.
    """
    scene = sn.Scene()
    one_triangle(scene)
    b = scene.add_rigid_body(shape, position=(0, 0.1, 0), friction=0.5)
    sim = simulated(scene, 90, substeps=20)
    across = 0.05 if isinstance(shape, sn.Box) else 2e-3
    np.testing.assert_allclose(sim.state.body_positions[0, 1], 0.06, atol=2e-3)
    np.testing.assert_allclose(sim.state.body_positions[0, [0, 2]], 0.0, atol=across)
    # the forces that are told are those that act: their impulse is what the body has gained, and its weight
    forces, speed = [], sim.state.body_velocities[0, 1]
    for _ in range(30):
        sim.step()
        forces.append(sim.forces(b)[1])
    gained = scene.bodies[0].mass * (sim.state.body_velocities[0, 1] - speed) / 0.5
    np.testing.assert_allclose(np.mean(forces), scene.bodies[0].mass * G + gained, rtol=1e-6)


def test_bodies_that_are_ignored_are_passed_through():
    scene = sn.Scene()
    p = fixed_points(scene, 0.2)
    b = scene.add_rigid_body(sn.Box((0.6, 0.2, 0.6)), position=(0, 0.13, 0))
    scene.ignore_contact(p, b)
    sim = simulated(scene, 30)
    np.testing.assert_allclose(sim.state.body_velocities[0], [0, -0.5 * G, 0], rtol=1e-9)


@precisions
def test_the_bits_do_not_depend_on_the_threads(precision):
    states = []
    for threads in (1, 2):
        sim = simulated(shower(0.5, 0.5), 40, precision=precision, threads=threads)
        states.append(sim.state.copy())
    assert states[0] == states[1]


def test_what_starts_inside_a_body_comes_out_slowly():
    """At the speed asked for, and without the velocity that would come of it."""
    scene = sn.Scene(gravity=(0, 0, 0))
    p = scene.add_particles([[0, 0.08, 0]], mass=1.0, radius=0.02)
    scene.add_rigid_body(sn.Box((1, 0.2, 1)), mass=1.0)
    sim = simulated(scene, 1, depenetration_speed=0.6)
    apart = (sim.positions(p)[0] - sim.state.body_positions[0])[1]
    np.testing.assert_allclose(apart, 0.08 + 0.6 / 60.0, atol=1e-9)
    sim.step(20)
    np.testing.assert_allclose(sim.velocities(p)[0], 0.0, atol=1e-9)
    apart = (sim.positions(p)[0] - sim.state.body_positions[0])[1]
    np.testing.assert_allclose(apart, 0.12, atol=1e-9)
    np.testing.assert_allclose(sim.momentum(), 0.0, atol=1e-12)


def test_particles_on_a_plate_come_to_rest():
    """A plate between fixed points and as much again in particles: sweeps over rows that share it feed no energy."""
    scene = sn.Scene()
    fixed_points(scene, 0.3)
    places = [[x, 0.09, z] for x in (-0.3, -0.1, 0.1, 0.3) for z in (-0.3, -0.1, 0.1, 0.3)]
    p = scene.add_particles(places, mass=0.3, radius=0.02, friction=0.5)
    b = scene.add_rigid_body(sn.Box((0.8, 0.04, 0.8)), mass=4.0, position=(0, 0.045, 0), friction=0.5)
    sim = simulated(scene, 120)
    weight = (16 * 0.3 + 4.0) * G
    np.testing.assert_allclose(sim.state.body_positions[0], [0, 0.04, 0], atol=1e-3)
    assert np.abs(sim.velocities(p)).max() < 0.01
    np.testing.assert_allclose(sim.forces(scene["particles"]), [0, -weight, 0], atol=0.01 * weight)
    np.testing.assert_allclose(sim.forces(b), [0, 4.0 * G, 0], atol=0.01 * weight)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_what_fingers_hold_goes_on_from_a_checkpoint(tmp_path, precision):
    """Pushes and the answers of joints last from step to step: a run that is loaded, or set back, has the same bits."""
    vertices, faces = sn.grid(shape=(5, 13), size=(0.08, 0.24))
    scene = sn.Scene()
    material = sn.ClothMaterial(density=1.0, thickness=0.002, friction=0.5, stretch_compliance=1e-5)
    scene.add_cloth((vertices[:, [0, 2, 1]], faces), material=material)
    for side in (-1.0, 1.0):
        place = (0.0, 0.08, 0.011 * side)
        finger = scene.add_rigid_body(sn.Box((0.1, 0.06, 0.02)), mass=0.1, position=place, friction=0.5)
        scene.add_joint("slider", finger, anchor=place, axis=(0, 0, 1), motor=sn.ForceMotor(-0.5 * side))
    sim = sn.Simulation(scene, precision=precision)
    sim.step(8)
    sim.save(tmp_path / "held.npz")
    kept = sim.state.copy()
    sim.step(8)
    other = sn.Simulation.load(tmp_path / "held.npz")
    other.step(8)
    for name, values in sim.state.arrays().items():
        np.testing.assert_array_equal(other.state.arrays()[name], values, err_msg=name)
    other.restore(kept)
    other.step(8)
    for name, values in sim.state.arrays().items():
        np.testing.assert_array_equal(other.state.arrays()[name], values, err_msg=name)
    assert len(sim.state.system_arrays["coupling/contacts"]) > 0


@pytest.mark.parametrize("substeps", [1, 5, 20])
@pytest.mark.parametrize(("friction", "restitution"), [(0.0, 0.0), (0.3, 0.0), (0.3, 0.5)])
@pytest.mark.parametrize("what", ["particles", "cloth", "grains"])
def test_the_ground_takes_what_the_momentum_changes_by(what, friction, restitution, substeps):
    """Of a body that falls onto light particles on the ground: a push that would throw them does not act on the body.

    They slip out by a tenth of their radius. The body that kept such pushes was pushed aside by 280 N, while it weighed
    on them by 180 N.
    """
    scene = sn.Scene()
    ground = scene.add_collider(sn.Plane(), friction=friction, restitution=restitution)
    sheet = sn.grid(shape=(5, 5), size=(0.4, 0.32))
    if what == "cloth":
        material = sn.ClothMaterial(density=0.07, thickness=0.018, friction=friction)
        scene.add_cloth(sheet, position=(0, 0.01, 0), material=material)
    elif what == "grains":
        scene.add_grains(sn.Box((0.3, 0.04, 0.3)), radius=0.015, position=(0, 0.02, 0))
    else:
        scene.add_particles(sheet[0] + [0, 0.01, 0], mass=0.0005, radius=0.009, friction=friction)
    scene.add_rigid_body(sn.Box((0.2, 0.1, 0.1)), mass=2.0, position=(0.02, 0.11, 0.01), velocity=(0.3, -4, 0))
    sim = simulated(scene, substeps=substeps, dt=1 / 120)
    weight, largest = (sim.model.masses.sum() + 2.0) * scene.gravity, 0.0
    for _ in range(24):
        before = sim.momentum()
        sim.step()
        told = weight - sim.forces(ground)
        np.testing.assert_allclose(told, (sim.momentum() - before) * 120, atol=1e-6)
        largest = max(largest, np.abs(told).max())
    assert largest > 100.0
