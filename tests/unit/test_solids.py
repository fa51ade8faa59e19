"""Contacts with colliders as physics: forces that add up, friction that sticks, balls that bounce."""

import numpy as np
import pytest
from small_scenes import precisions

import shinari as sn
from shinari.compute import kernel, real
from shinari.model.particles import Particles
from shinari.systems.colliders import detection as near
from shinari.systems.colliders import system as solids
from shinari.systems.colliders.records import ContactParticles, Search
from shinari.systems.colliders.system import ColliderContacts

G = 9.81
EPS = np.finfo(np.float64).eps


def simulated(scene: sn.Scene, steps: int, **options) -> sn.Simulation:
    sim = sn.Simulation(scene, **{"precision": "float64", "substeps": 10, "threads": 1, **options})
    sim.step(steps)
    return sim


@precisions
@pytest.mark.parametrize(
    ("shape", "height"),
    [(sn.Plane(), 0.0), (sn.Box((4, 1, 4)), 0.5), (sn.Sphere(0.5), 0.5), (sn.Capsule(0.3, 1.0), 0.8),
     (sn.Box((4, 1, 4), inside=True), -0.5)],
)  # fmt: skip
def test_what_rests_presses_with_its_weight(shape, height, precision):
    """One particle of 0.3 kg on top of each shape, for mean forces over a step."""
    scene = sn.Scene()
    p = scene.add_particles([[0, height + 0.02, 0]], mass=0.3, radius=0.02)
    c = scene.add_collider(shape, friction=0.5)
    sim = simulated(scene, 30, precision=precision)
    force = [0, 0.3 * G, 0]
    np.testing.assert_allclose(sim.forces(p), force, atol=1e-3 * 0.3 * G)
    np.testing.assert_allclose(sim.forces(c), np.negative(force), atol=1e-3 * 0.3 * G)
    contacts = sim.contacts()
    assert len(contacts) == 1
    assert (contacts.first[0], contacts.second[0]) == (p.name, c.name)
    np.testing.assert_allclose(contacts.positions[0], [0, height, 0], atol=1e-4)
    np.testing.assert_allclose(contacts.normals[0], [0, 1, 0], atol=1e-4)


@precisions
@pytest.mark.parametrize("shape", [sn.Plane(), sn.Box((3, 1, 3)), sn.Sphere(0.3)], ids=["plane", "box", "sphere"])
def test_a_cloth_at_rest_presses_with_its_weight(shape, precision):
    scene = sn.Scene(damping=2.0)
    top = {sn.Plane: 0.0, sn.Box: 0.5, sn.Sphere: 0.3}[type(shape)]
    material = sn.ClothMaterial(density=0.3, friction=0.8)
    cloth = scene.add_cloth(sn.grid(shape=(21, 21), size=(0.4, 0.4)), material=material, position=(0, top + 0.005, 0))
    collider = scene.add_collider(shape, friction=0.8)
    sim = simulated(scene, 180, precision=precision, substeps=10)
    mean = np.zeros(3)
    for _ in range(30):
        sim.step()
        mean += sim.forces(cloth) / 30
        np.testing.assert_allclose(sim.forces(collider), -sim.forces(cloth), atol=1e-12)
    weight = 0.3 * 0.16 * G
    np.testing.assert_allclose(mean, [0, weight, 0], atol=0.01 * weight)


def test_impulses_and_gravity_are_all_the_change_of_momentum():
    """A sheet and stray particles among solids, one of them moving: to rounding, in every step."""
    rng = np.random.default_rng(5)
    scene = sn.Scene()
    cloth = scene.add_cloth(
        sn.grid(shape=(15, 15), size=(0.6, 0.6)), position=(0, 0.4, 0), material=sn.ClothMaterial(friction=0.4)
    )
    loose = scene.add_particles(
        rng.uniform((-0.4, 0.5, -0.4), (0.4, 1.3, 0.4), (40, 3)), mass=rng.uniform(0.1, 2.0, 40), radius=0.01
    )
    scene.ignore_contact(cloth, loose)
    scene.add_collider(sn.Sphere(0.2), motion=sn.Oscillation((0, 0, 0), (0.1, 0.1, 0), 2.0), restitution=0.5)
    scene.add_collider(sn.Box((0.3, 0.1, 0.3)), position=(0.2, 0.0, 0.1), friction=0.5, restitution=0.3)
    scene.add_collider(sn.Plane(offset=-0.3), contact_compliance=1e-5, static_friction=0.6, friction=0.5)
    sim = simulated(scene, 0)
    mass = sim.model.masses.sum()
    pushed = 0
    for _ in range(60):
        before = sim.momentum()
        sim.step()
        contacts = sim.contacts()
        pushed += len(contacts)
        change = contacts.forces.sum(axis=0) / 60 + mass * np.array([0, -G, 0]) / 60
        size = np.abs(sim.model.masses[:, None] * sim.state.velocities).sum()
        np.testing.assert_allclose(sim.momentum(), before + change, atol=1e-12 * max(size, 1.0))
        np.testing.assert_allclose(contacts.particle_forces.sum(axis=0), contacts.forces.sum(axis=0), atol=1e-9)
    assert pushed > 1000
    assert cloth.name in set(contacts.first)


def test_a_particle_in_a_corner_has_two_contacts():
    """A crease of two slopes of 45 degrees: each carries m g / sqrt 2."""
    scene = sn.Scene()
    scene.add_particles([[0, 0, 0]], mass=2.0)
    slopes = [scene.add_collider(sn.Plane(normal=(s, 1.0, 0.0)), friction=0.0) for s in (-1.0, 1.0)]
    sim = simulated(scene, 60, iterations=20)
    assert len(sim.contacts()) == 2
    for slope, side in zip(slopes, (-1.0, 1.0), strict=True):
        np.testing.assert_allclose(-sim.forces(slope), np.array([side, 1.0, 0.0]) * G, rtol=1e-3, atol=1e-3)


def test_things_pass_through_colliders_that_they_ignore():
    scene = sn.Scene()
    ghost = scene.add_particles([[0, 1, 0]], name="ghost")
    other = scene.add_particles([[0.5, 1, 0]])
    floor = scene.add_collider(sn.Plane())
    wall = scene.add_collider(sn.Plane(offset=-5.0))
    scene.ignore_contact(ghost, floor)
    sim = simulated(scene, 90)
    assert sim.positions(ghost)[0, 1] < -4.0
    assert sim.positions(other)[0, 1] == pytest.approx(0.0, abs=1e-9)
    sim.step(60)
    assert sim.positions(ghost)[0, 1] == pytest.approx(-5.0, abs=1e-9)
    assert sim.forces(wall)[1] < 0.0


@precisions
@pytest.mark.parametrize(("degrees", "holds"), [(25.0, True), (33.0, True), (37.0, False), (45.0, False)])
def test_static_friction_holds_up_to_its_angle_and_then_slides_with_the_kinetic_one(degrees, holds, precision):
    """tan 35 degrees = 0.7 sticks; once it slides it does so with 0.3."""
    t = np.radians(degrees)
    scene = sn.Scene()
    p = scene.add_particles([[0, 0, 0]])
    normal = (np.sin(t), np.cos(t), 0)
    scene.add_collider(sn.Plane(normal), friction=0.3, static_friction=0.7)
    sim = simulated(scene, 30, precision=precision)
    down = np.array([np.cos(t), -np.sin(t), 0])
    expected = 0.0 if holds else G * (np.sin(t) - 0.3 * np.cos(t)) * 0.5
    # rounding of a position below 1 m, over a substep, in 300 of them: a walk of 4 deviations
    noise = 4 * np.sqrt(300) * np.finfo(precision).eps * 600
    np.testing.assert_allclose(sim.velocities(p)[0] @ down, expected, atol=noise)


def test_static_friction_of_a_pair_combines_like_the_kinetic_one():
    """sqrt(0.9 x 0.4) = 0.6 holds on 30 degrees (0.577); the kinetic sqrt(0.4 x 0.1) = 0.2 would not."""
    t = np.radians(30.0)
    for theirs, holds in ((0.4, True), (0.35, False)):
        scene = sn.Scene()
        p = scene.add_particles([[0, 0, 0]], friction=0.4, static_friction=0.9)
        scene.add_collider(sn.Plane((np.sin(t), np.cos(t), 0)), friction=0.1, static_friction=theirs)
        sim = simulated(scene, 30)
        speed = np.linalg.norm(sim.velocities(p)[0])
        expected = 0.0 if holds else 0.5 * G * (np.sin(t) - 0.2 * np.cos(t))
        assert speed == pytest.approx(expected, abs=1e-9)


@precisions
@pytest.mark.parametrize("iterations", [1, 5])
@pytest.mark.parametrize(("mass", "compliance"), [(1.0, 1e-4), (0.2, 1e-3), (5.0, 1e-5)])
def test_a_mass_rests_in_a_soft_floor_by_compliance_times_weight(mass, compliance, iterations, precision):
    scene = sn.Scene(damping=20.0)
    p = scene.add_particles([[0, 0, 0]], mass=mass, contact_compliance=0.25 * compliance)
    floor = scene.add_collider(sn.Plane(), contact_compliance=0.75 * compliance)
    sim = simulated(scene, 300, precision=precision, iterations=iterations)
    # damping of velocities acts after the prediction: at rest there is none
    depth = compliance * mass * G
    noise = 8 * np.finfo(precision).eps * depth + 600**-2 * G * 1e-3
    np.testing.assert_allclose(-sim.positions(p)[0, 1], depth, rtol=1e-3, atol=noise)
    np.testing.assert_allclose(-sim.forces(floor)[1], mass * G, rtol=1e-2)


def peaks(height: np.ndarray) -> np.ndarray:
    inner = height[1:-1]
    return inner[(inner >= height[:-2]) & (inner > height[2:])]


@precisions
@pytest.mark.parametrize("restitution", [1.0, 0.9, 0.7])
@pytest.mark.parametrize("shape", [sn.Plane(), sn.Box((2, 1, 2)), sn.Sphere(0.5)], ids=["plane", "box", "sphere"])
def test_bounces_reach_their_heights(shape, restitution, precision):
    """Bounce n reaches e^(2 n) h0; steps of 1 ms."""
    scene = sn.Scene()
    top = 0.0 if isinstance(shape, sn.Plane) else 0.5
    p = scene.add_particles([[0, top + 1.05, 0]], radius=0.05, restitution=restitution)
    scene.add_collider(shape, restitution=0.1, friction=0.0)
    sim = sn.Simulation(scene, dt=1e-3, substeps=1, precision=precision, threads=1)
    heights = []
    for _ in range(5000):
        sim.step()
        heights.append(sim.positions(p)[0, 1] - top - 0.05)
    found = peaks(np.array(heights, float))[:10]
    expected = restitution ** (2.0 * np.arange(1, len(found) + 1))
    high = expected > 0.02  # below, a step of 1 ms is more than a hundredth of the height
    assert high[:4].all()
    np.testing.assert_allclose(found[high], expected[high], rtol=0.015 if restitution == 1.0 else 0.01)


def test_a_racket_returns_what_it_hits_with_twice_its_speed():
    """Elastic: v' = 2 V - v, for a box that moves at V = 3 m/s against a particle at -2 m/s; no gravity."""
    scene = sn.Scene(gravity=(0, 0, 0))
    p = scene.add_particles([[1.0, 0, 0]], velocity=(-2.0, 0, 0), radius=0.01, restitution=1.0)
    scene.add_collider(sn.Box((0.1, 1, 1)), motion=lambda t: (3.0 * t, 0.0, 0.0), friction=0.0)
    sim = simulated(scene, 30)
    np.testing.assert_allclose(sim.velocities(p)[0], [8.0, 0, 0], atol=1e-9)


def test_what_bounces_off_a_rough_floor_loses_speed_along_it():
    """Coulomb's impact: the tangential impulse is mu times the normal one, (1 + e) m v, while it slides."""
    scene = sn.Scene(gravity=(0, 0, 0))
    p = scene.add_particles([[0, 0.5, 0]], velocity=(10.0, -2.0, 0), mass=0.7, restitution=0.5)
    floor = scene.add_collider(sn.Plane(), friction=0.3)
    sim = simulated(scene, 0)
    total = np.zeros(3)
    for _ in range(30):
        sim.step()
        total -= sim.forces(floor) / 60
    np.testing.assert_allclose(sim.velocities(p)[0], [10.0 - 0.3 * 3.0, 1.0, 0], atol=1e-9)
    np.testing.assert_allclose(total, 0.7 * np.array([-0.9, 3.0, 0.0]), atol=1e-9)


def test_a_ball_comes_to_rest():
    """Below twice the speed that gravity brings in a substep nothing bounces: no endless trembling."""
    scene = sn.Scene()
    p = scene.add_particles([[0, 0.3, 0]], radius=0.05, restitution=0.6)
    scene.add_collider(sn.Plane(), restitution=0.6)
    sim = simulated(scene, 240)
    assert np.abs(sim.velocities(p)).max() < 1e-9
    assert sim.positions(p)[0, 1] == pytest.approx(0.05, abs=1e-9)


@kernel
def ask_always(i, margins: ContactParticles, particles: Particles, search: Search, h: real):
    search.stale[0] = 1


@precisions
@pytest.mark.parametrize("moving", [False, True], ids=["still", "moving"])
def test_nothing_is_missed_by_the_lists(moving, precision, monkeypatch):
    """Fast swarms with rows that jerk, among many solids: the same bits as with a detection before each projection."""

    def run(always: bool) -> tuple[np.ndarray, np.ndarray, int]:
        rng = np.random.default_rng(2)
        scene = sn.Scene(gravity=(0, -30, 0))
        x = rng.uniform((-1, 0.5, -1), (1, 2, 1), (120, 3))
        scene.add_particles(x, velocity=rng.normal(0, 8, x.shape), radius=0.005)
        scene.add_particles(x + np.array([0, 0.1, 0]), radius=0.005)
        scene.add_constraint("distance", np.stack([np.arange(120), np.arange(120) + 120], axis=1), rest_length=2.0)
        for at in rng.uniform((-1, -0.5, -1), (1, 0.3, 1), (70, 3)):
            swing = sn.Oscillation(tuple(at), (0.2, 0.3, 0.0), 3.0) if moving else None
            scene.add_collider(sn.Sphere(0.1), position=at, friction=0.1, motion=swing)
        scene.add_collider(sn.Box((3, 5, 3), inside=True), position=(0, 1.5, 0))
        monkeypatch.setattr(solids, "check_margin", ask_always if always else near.check_margin)
        sim = simulated(scene, 0, precision=precision, substeps=8)
        again = 0
        for _ in range(40):
            sim.step()
            again += sim._bound.get(ColliderContacts).detections > 1
        return sim.state.positions, sim.contacts().particle_forces, again

    monkeypatch.setattr(solids, "AHEAD", 0.1)
    expected, expected_forces, _ = run(True)
    found, forces, again = run(False)
    assert again > 0  # it does happen that a particle leaves its margin
    np.testing.assert_array_equal(found, expected)
    # summed in another order
    np.testing.assert_allclose(forces, expected_forces, rtol=1e-13, atol=1e-12)


def state_bytes(threads: int) -> bytes:
    scene = sn.Scene()
    cloth = scene.add_cloth(sn.grid(shape=(41, 41), size=(1.0, 1.0)), position=(0, 0.25, 0))
    cloth.pin([0])
    scene.add_collider(sn.Sphere(0.2), motion=sn.Oscillation((0, 0, 0), (0.1, 0.1, 0), 2.0), restitution=0.3)
    scene.add_collider(sn.Box((0.3, 0.3, 0.3)), position=(0.2, -0.1, 0.2), rotation=(0.8, 0.36, 0.48, 0))
    sim = sn.Simulation(scene, substeps=5, threads=threads)
    sim.step(30)
    touches = sim._bound.get(ColliderContacts).contact_impulses()
    return sim.state.positions.tobytes() + touches.impulses.tobytes() + touches.particles.tobytes()


def test_the_threads_do_not_matter():
    assert state_bytes(1) == state_bytes(2)


def test_a_motion_that_leaves_the_finite_numbers_is_refused_with_the_collider_and_the_time():
    scene = sn.Scene()
    scene.add_particles([[0, 1, 0]])
    scene.add_collider(sn.Sphere(0.1), name="hand", motion=lambda t: (0.0, 0.0 if t < 0.5 else np.nan, 0.0))
    sim = simulated(scene, 28)
    with pytest.raises(sn.SceneError, match=r"collider 'hand': motion: position at t = 0\.5"):
        sim.step(5)


def test_what_starts_inside_is_named_once_with_its_depth():
    scene = sn.Scene()
    scene.add_particles([[0, 0.5, 0], [0, 0.28, 0], [0, 0.29, 0]], radius=0.05, name="pile")
    scene.add_particles([[0.0, 0.1, 0.0]], name="pinned").pin([0])
    ghost = scene.add_particles([[0.0, 0.1, 0.0]], name="ghost")
    ball = scene.add_collider(sn.Sphere(0.3), name="ball")
    scene.add_collider(sn.Plane(offset=0.27), name="floor", friction=0.0)
    scene.ignore_contact(ghost, ball)
    with pytest.warns(sn.ContactWarning) as found:
        sn.Simulation(scene, threads=1)
    told = sorted(str(w.message) for w in found if issubclass(w.category, sn.ContactWarning))
    assert len(told) == 3
    assert "'ghost' starts inside collider 'floor': 1 particles, the deepest is particle 0 with 0.17 m" in told[0]
    assert "'pile' starts inside collider 'ball': 2 particles, the deepest is particle 1 with 0.07 m" in told[1]
    assert "'pile' starts inside collider 'floor': 2 particles, the deepest is particle 1 with 0.04 m" in told[2]


def test_what_touches_or_is_a_rounding_deep_is_no_overlap(recwarn):
    scene = sn.Scene()
    scene.add_particles([[0.0, np.float64(np.float32(0.3)), 0.0], [5.0, -1e-9, 0.0]])
    scene.add_particles([[0.0, 0.349, 0.0]], radius=0.05)
    scene.add_collider(sn.Sphere(0.3))
    scene.add_collider(sn.Plane())
    sn.Simulation(scene, threads=1)
    assert not [w for w in recwarn if issubclass(w.category, sn.ContactWarning)]
