"""Particles attached to rigid bodies: forces, lengths, momenta, bad input."""

import numpy as np
import pytest
from small_scenes import precisions
from test_coupling import simulated

import shinari as sn

G = 9.81


@precisions
@pytest.mark.parametrize("mass", [0.01, 1.0, 1000.0])
def test_a_body_hangs_on_a_particle_with_its_weight(mass, precision):
    scene = sn.Scene()
    p = scene.add_particles([[0, 0, 0]], mass=0.0)
    b = scene.add_rigid_body(sn.Box((0.2, 0.4, 0.2)), mass=mass, position=(0, -0.2, 0))
    rows = scene.attach((p, 0), (b, (0.0, 0.0, 0.0)))
    sim = simulated(scene, 30, precision=precision)
    np.testing.assert_allclose(sim.forces(rows), [[0, mass * G, 0]], rtol=1e-6, atol=1e-6 * mass)
    np.testing.assert_allclose(sim.state.body_positions[0], [0, -0.2, 0], atol=1e-6)


def test_a_compliant_attachment_gives_way_by_its_force():
    scene = sn.Scene()
    p = scene.add_particles([[0, 0, 0]], mass=0.0)
    b = scene.add_rigid_body(sn.Sphere(0.1), mass=2.0, position=(0, 0, 0))
    rows = scene.attach((p, 0), b, compliance=1e-3)
    sim = simulated(scene)
    sim.state.body_positions[0, 1] = -2.0 * G * 1e-3  # where it is at rest
    sim.step(60)
    np.testing.assert_allclose(sim.state.body_positions[0], [0, -2.0 * G * 1e-3, 0], atol=1e-6)
    np.testing.assert_allclose(sim.forces(rows), [[0, 2.0 * G, 0]], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(sim.energy().elastic, 0.5 * (2.0 * G) ** 2 * 1e-3, rtol=1e-3)


def test_a_body_on_a_point_swings_like_a_compound_pendulum():
    """T = 2 pi sqrt((I + m d^2) / (m g d)), held at its end; one per cent at 20 substeps and 0.1 rad."""
    scene = sn.Scene()
    p = scene.add_particles([[0, 0, 0]], mass=0.0)
    turn = (np.cos(0.05), 0.0, 0.0, np.sin(0.05))
    at = np.array([np.sin(0.1), -np.cos(0.1), 0.0]) * 0.5
    b = scene.add_rigid_body(sn.Box((0.05, 1.0, 0.05)), mass=3.0, position=at, rotation=turn)
    scene.attach((p, 0), (b, (0.0, 0.0, 0.0)))
    sim = simulated(scene, substeps=20)
    inertia = 3.0 * (1.0 + 0.05**2) / 12.0 + 3.0 * 0.25
    period = 2.0 * np.pi * np.sqrt(inertia / (3.0 * G * 0.5)) * (1.0 + 0.1**2 / 16.0)
    times, last = [], sim.state.body_positions[0, 0]
    while len(times) < 3:
        sim.step()
        now = sim.state.body_positions[0, 0]
        if now * last < 0.0:
            times.append(sim.time - now / (now - last) / 60.0)
        last = now
        np.testing.assert_allclose(np.linalg.norm(sim.state.body_positions[0]), 0.5, atol=1e-4)
    np.testing.assert_allclose(times[2] - times[0], period, rtol=0.01)


@pytest.mark.parametrize("compliance", [0.0, 1e-4])
def test_attachments_keep_linear_and_angular_momentum(compliance):
    """A tumbling body with particles welded to it and on tethers, in free flight; only rounding is left."""
    rng = np.random.default_rng(5)
    scene = sn.Scene(gravity=(0, 0, 0))
    p = scene.add_particles(rng.uniform(-0.5, 0.5, (20, 3)), mass=0.2, velocity=rng.normal(size=(20, 3)))
    b = scene.add_rigid_body(sn.Box((0.3, 0.5, 0.2)), density=50, angular_velocity=(2, 1, 3))
    scene.attach((p, np.arange(10)), b, compliance=compliance)
    scene.attach((p, np.arange(10, 20)), (b, (0.1, 0.2, 0.1)), compliance=compliance)
    sim = simulated(scene)
    momentum, spin, energy = sim.momentum(), sim.angular_momentum(), sim.energy().kinetic
    sim.step(100)
    assert sim.energy().kinetic < energy
    rounding = 1000 * 200 * np.finfo(float).eps * sim.model.masses.sum() * 10
    np.testing.assert_allclose(sim.momentum(), momentum, atol=rounding)
    np.testing.assert_allclose(sim.angular_momentum(), spin, atol=rounding)


def test_what_is_apart_keeps_its_distance():
    scene = sn.Scene()
    p = scene.add_particles([[0, 1, 0]], mass=0.0)
    b = scene.add_rigid_body(sn.Sphere(0.1), mass=1.0, position=(0.3, 0, 0))
    rows = scene.attach((p, 0), (b, (0.3, 0.1, 0.0)))
    sim = simulated(scene, substeps=20)
    for _ in range(60):
        sim.step()
        w, *axis = sim.state.body_rotations[0]
        local = np.array([0.0, 0.1, 0.0])
        turn = 2.0 * np.cross(axis, local)
        there = sim.state.body_positions[0] + local + w * turn + np.cross(axis, turn)
        np.testing.assert_allclose(np.linalg.norm(there - [0, 1, 0]), np.hypot(0.3, 0.9), atol=1e-6)
    assert np.linalg.norm(sim.forces(rows)[0]) > 0.0


def test_an_attachment_breaks_above_its_force():
    for limit, holds in ((9.0, False), (11.0, True)):
        scene = sn.Scene(damping=1.0)
        p = scene.add_particles([[0, 0, 0]], mass=0.0)
        b = scene.add_rigid_body(sn.Sphere(0.1), mass=1.0)
        rows = scene.attach((p, 0), b, break_force=limit)
        sim = simulated(scene, 30)
        assert bool(np.linalg.norm(sim.state.body_positions[0]) < 1e-3) == holds
        assert bool(np.linalg.norm(sim.forces(rows)) > 5.0) == holds
        copy = simulated(scene)
        copy.restore(sim.state)
        sim.step(5)
        copy.step(5)
        assert sim.state == copy.state


def test_the_body_may_be_given_first():
    scene = sn.Scene()
    p = scene.add_particles([[0, 0, 0], [0.1, 0, 0]], mass=0.0)
    b = scene.add_rigid_body(sn.Sphere(0.1), mass=1.0)
    rows = scene.attach((b, [[0.0, 0, 0], [0.1, 0, 0]]), (p, [0, 1]))
    sim = simulated(scene, 10)
    assert sim.forces(rows).shape == (2, 3)
    np.testing.assert_allclose(sim.forces(rows).sum(axis=0), [0, G, 0], atol=1e-6)
    np.testing.assert_allclose(sim.state.body_velocities[0], 0.0, atol=1e-6)


def test_what_is_attached_passes_through_its_body():
    """A particle inside of the body that holds it is not pushed out, and when it breaks off it is."""
    scene = sn.Scene(gravity=(0, 0, 0))
    p = scene.add_particles([[0.05, 0, 0]], mass=0.1, radius=0.02)
    b = scene.add_rigid_body(sn.Sphere(0.2), mass=1.0)
    scene.attach((p, 0), b)
    sim = simulated(scene, 10)
    np.testing.assert_allclose(sim.positions(p)[0], [0.05, 0, 0], atol=1e-12)
    assert len(sim.contacts()) == 0


def bad_scene():
    scene = sn.Scene()
    p = scene.add_particles([[0, 0, 0], [1, 0, 0]], mass=1.0)
    b = scene.add_rigid_body(sn.Sphere(0.1), mass=1.0, name="ball")
    other = sn.Scene().add_rigid_body(sn.Sphere(0.1), mass=1.0, name="far")
    return scene, p, b, other


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s, p, b, o: s.attach((p, 0), o), ["second", "'far'", "another scene"]),
        (lambda s, p, b, o: s.attach((p, 0), (b, (0, np.nan, 0))), ["second"]),
        (lambda s, p, b, o: s.attach((p, 0), (b, 3)), ["second", "'ball'", "no particles"]),
        (lambda s, p, b, o: s.attach((p, 1), b, reach=0.2), ["second", "0.9 m", "'ball'", "0.2 m"]),
        (lambda s, p, b, o: s.attach((p, 0), b, reach=-1.0), ["reach"]),
        (lambda s, p, b, o: s.attach((p, 0), b, compliance=-1.0), ["compliance"]),
        (lambda s, p, b, o: s.attach((p, 0), b, break_force=0.0), ["break_force"]),
        (lambda s, p, b, o: s.attach((b, (0.0, 0, 0)), b), ["add_joint"]),
        (lambda s, p, b, o: s.attach((p, 7), b), ["first"]),
    ],
)
def test_bad_attachments_are_refused(call, words):
    with pytest.raises(sn.SceneError) as error:
        call(*bad_scene())
    for word in ["attach", *words]:
        assert word in str(error.value)
