"""Ropes tied to each other that carry particles and bodies: they hold, lose energy only, and tell their pulls."""

import itertools
from typing import Any

import numpy as np
import pytest

import shinari as sn

BOTH = pytest.mark.parametrize("precision", ["float32", "float64"])
G = 9.81
DENSITY, POINTS = 0.1, 15


def rope(scene, start, end, points=POINTS, **material: Any):
    line = np.linspace(start, end, points)
    return scene.add_rope(line, material=sn.RopeMaterial(density=DENSITY, **material))


def length(sim, thing):
    return float(np.linalg.norm(np.diff(np.asarray(sim.positions(thing), np.float64), axis=0), axis=1).sum())


def untouched(scene, *things):
    """Let no two of these touch."""
    for one, other in itertools.combinations(things, 2):
        scene.ignore_contact(one, other)


@BOTH
@pytest.mark.parametrize("apart", [0.0, 0.1])
@pytest.mark.parametrize("substeps", [5, 20])
@pytest.mark.parametrize("ratio", [10, 1000])
def test_a_rope_carries_a_particle(ratio, substeps, apart, precision):
    scene = sn.Scene()
    line = rope(scene, (0, 2, 0), (0, 1, 0), 51)
    line.pin([0])
    bob = scene.add_particles([[0, 1 - apart, 0]], mass=DENSITY * ratio)
    held = scene.attach((line, [50]), (bob, [0]))
    sim = sn.Simulation(scene, substeps=substeps, precision=precision)
    sim.step(180)
    assert length(sim, line) == pytest.approx(1.001, abs=1e-4)
    assert np.linalg.norm(np.asarray(sim.forces(held))) == pytest.approx(DENSITY * ratio * G, rel=0.01)
    assert float(sim.positions(bob)[0, 1]) == pytest.approx(1 - apart - 1e-3, abs=3e-4)


@BOTH
@pytest.mark.parametrize("middle", ["knot", "ring"])
def test_a_platform_on_a_bridle_tells_its_weight(middle, precision):
    mass, scene = 1000.0, sn.Scene()
    platform = scene.add_rigid_body(sn.Box((1, 0.1, 1)), density=10 * mass, position=(0, 0, 0))
    line = rope(scene, (0, 2, 0), (0, 1, 0))
    line.pin([0])
    top = (line, [POINTS - 1])
    if middle == "ring":
        ring = scene.add_particles([[0, 1, 0]], mass=0.2)
        scene.attach(top, (ring, [0]))
        top = (ring, [0])
    legs, knots = [], []
    for x, z in ((-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)):
        leg = rope(scene, (0, 1, 0), (x, 0.05, z))
        knots.append(scene.attach((leg, [0]), top))
        scene.attach((leg, [POINTS - 1]), platform)
        legs.append(leg)
    untouched(scene, line, platform, *legs)
    sim = sn.Simulation(scene, substeps=10, precision=precision)
    sim.step(240)
    assert length(sim, line) == pytest.approx(1.001, abs=5e-5)
    assert np.abs(np.asarray(sim.state.body_velocities)).max() < 1e-3
    pulls = np.array([np.asarray(sim.forces(knot))[0] for knot in knots])
    weight = (mass + 4 * DENSITY * length(sim, legs[0])) * G
    np.testing.assert_allclose(np.abs(pulls[:, 1]), weight / 4, rtol=1e-3)
    np.testing.assert_allclose(pulls.sum(axis=0)[[0, 2]], 0.0, atol=1e-2 * weight)


@BOTH
def test_a_square_net_carries_a_load_in_its_middle(precision):
    """Ropes along and across, tied where they meet: a net of many loops."""
    scene, count, size = sn.Scene(), 9, 0.8
    at = np.linspace(-0.5 * size, 0.5 * size, count)
    along = [rope(scene, (-0.5 * size, 1, z), (0.5 * size, 1, z), count) for z in at[1:-1]]
    across = [rope(scene, (x, 1, -0.5 * size), (x, 1, 0.5 * size), count) for x in at[1:-1]]
    for k, line in enumerate(along):
        for j, other in enumerate(across):
            scene.attach((line, [j + 1]), (other, [k + 1]))
    for line in (*along, *across):
        line.pin([0, count - 1])
    load = scene.add_particles([[0, 1, 0]], mass=50.0)
    scene.attach((along[count // 2 - 1], [count // 2]), (load, [0]))
    untouched(scene, *along, *across)
    sim = sn.Simulation(scene, substeps=10, precision=precision)
    energies = [sim.energy().total]
    for _ in range(180):
        sim.step()
        energies.append(sim.energy().total)
    assert max(energies) < energies[0] + 1e-3
    assert np.asarray(sim.strains("distance")).max() < 3e-3
    # one string of half the length a and of the stiffness 1000 W sinks by a (W / 1000 W)^(1/3) under the weight W
    assert 0.02 < 1 - float(sim.positions(load)[0, 1]) < 0.04
    assert np.abs(np.asarray(sim.velocities(load))).max() < 0.05


@BOTH
def test_particles_on_ropes_keep_their_momentum(precision):
    scene = sn.Scene(gravity=(0, -G, 0))
    one, other = rope(scene, (0, 5, 0), (1, 5, 0)), rope(scene, (0.5, 5, 0), (0.5, 5, 1))
    scene.attach((one, [POINTS // 2]), (other, [0]))
    masses = (3.0, 7.0, 0.4)
    places = ((0, 5, 0), (1, 5, 0), (0.5, 5, 1))
    velocities = ((0, 1, 2), (0, -1, 1), (2, 0, 0))
    ends = ((one, [0]), (one, [POINTS - 1]), (other, [POINTS - 1]))
    bobs = []
    for mass, place, velocity, end in zip(masses, places, velocities, ends, strict=True):
        bobs.append(scene.add_particles([place], mass=mass, velocity=velocity))
        scene.attach(end, (bobs[-1], [0]))
    untouched(scene, one, other)
    sim = sn.Simulation(scene, substeps=20, precision=precision)
    before = np.asarray(sim.momentum())
    sim.step(30)
    fallen = (sum(masses) + 2 * DENSITY) * G * 0.5
    # in single precision a position is rounded by up to 1e-7 m in each of 600 substeps, as at random
    rounding = 1e-7 * 1200 * sum(masses) * np.sqrt(600)
    change = np.abs(np.asarray(sim.momentum()) - before - [0, -fallen, 0]).max()
    assert change < (1e-9 if precision == "float64" else rounding)
    assert max(length(sim, one), length(sim, other)) < 1.003


def random_net(seed):
    """Ropes tied to each other at random, a few in loops, with particles and bodies on them, and its loads [kg]."""
    rng = np.random.default_rng(seed)
    scene, ropes, things, load = sn.Scene(), [], [], 0.0

    def add(start, count):
        steps = rng.normal(size=(count - 1, 3)) * rng.uniform(0.02, 0.08)
        points = start + np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
        line = scene.add_rope(points, material=sn.RopeMaterial(density=10 ** rng.uniform(-2, 0)))
        ropes.append((line, points))
        things.append(line)

    add(np.array([0.0, 3.0, 0.0]), int(rng.integers(4, 40)))
    if seed % 4:
        ropes[0][0].pin([0])
    for _ in range(int(rng.integers(1, 6))):
        k = int(rng.integers(len(ropes)))
        line, points = ropes[k]
        at = int(rng.integers(len(points)))
        gap = rng.normal(size=3) * 0.03 * (rng.random() < 0.5)
        add(points[at] + gap, int(rng.integers(4, 25)))
        scene.attach((line, [at]), (ropes[-1][0], [0]))
        if rng.random() < 0.25:
            scene.attach((line, [int(rng.integers(len(points)))]), (ropes[-1][0], [len(ropes[-1][1]) - 1]))
    for line, points in ropes:
        choice, i, mass = rng.random(), int(rng.integers(1, len(points))), 10 ** rng.uniform(-2, 3)
        if choice < 0.5:
            bob = scene.add_particles([points[i]], mass=mass)
            scene.attach((line, [i]), (bob, [0]))
        elif choice < 0.8:
            body = scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), density=mass / 1e-3, position=points[i])
            scene.attach((line, [i]), body)
            things.append(body)
        load += mass * (choice < 0.8)
    untouched(scene, *things)
    return scene, load, int(rng.choice([4, 5, 10, 20]))


@BOTH
@pytest.mark.parametrize("seed", range(10))
def test_no_net_gains_energy_or_stretches(seed, precision):
    scene, load, substeps = random_net(seed)
    sim = sn.Simulation(scene, substeps=substeps, precision=precision)
    energies, strains = [sim.energy().total], []
    for _ in range(90):
        sim.step()
        energies.append(sim.energy().total)
        strains.append(np.asarray(sim.strains("distance")).max())
    weight = max(load, 0.1) * G
    assert np.diff(energies).max() < 0.05 * weight
    assert max(energies) < energies[0] + 0.01 * weight
    assert np.median(strains[-20:]) < 0.02


def test_a_net_has_the_same_bits_on_any_threads_and_after_a_checkpoint(tmp_path):
    runs = []
    for threads in (1, 2):
        scene, *_ = random_net(3)
        sim = sn.Simulation(scene, substeps=5, threads=threads)
        sim.step(20)
        if threads == 2:
            sim.save(tmp_path / "net.npz")
            sim = sn.Simulation.load(tmp_path / "net.npz")
        sim.step(20)
        runs.append((np.asarray(sim.state.positions).copy(), sim.energy()))
    np.testing.assert_array_equal(runs[0][0], runs[1][0])
    assert runs[0][1] == runs[1][1]


def test_a_rope_that_carries_nothing_is_swept_as_before():
    """Loose particles elsewhere, and ropes tied to each other alone, change no bit."""
    positions = []
    for tied in (False, True):
        scene = sn.Scene()
        line = rope(scene, (0, 2, 0), (1, 2, 0))
        line.pin([0])
        if tied:
            scene.add_particles([[5, 5, 5]], mass=100.0)
        sim = sn.Simulation(scene, substeps=10)
        sim.step(30)
        positions.append(np.asarray(sim.positions(line)).copy())
    np.testing.assert_array_equal(*positions)


@pytest.mark.parametrize(("mass", "substeps", "most"), [(10, 10, 0.006), (10, 20, 0.002), (100, 20, 0.02)])
def test_a_load_over_a_thin_rod_stays(mass, substeps, most):
    """Of 100 to 1,000 times the mass of the rope: contacts are solved again until they move it no more."""
    scene, radius, out = sn.Scene(), 0.03, 0.036
    turn = np.linspace(np.pi, 0, 6)
    side = np.stack([np.full(20, -out), np.linspace(-0.4, -0.02, 20), np.zeros(20)], axis=1)
    over = np.stack([out * np.cos(turn), out * np.sin(turn), np.zeros(6)], axis=1)
    points = np.concatenate([side, over, side[::-1] * [-1, 1, 1]])
    line = scene.add_rope(points, material=sn.RopeMaterial(density=DENSITY, friction=0.3))
    scene.add_collider(sn.Capsule(radius, 0.6), rotation=sn.rotation(axis=(1, 0, 0), angle=np.pi / 2), friction=0.3)
    load = scene.add_rigid_body(sn.Box((2 * out, 0.1, 0.1)), mass=mass, position=(0, -0.45, 0))
    for end in (0, len(points) - 1):
        scene.attach((line, [end]), load)
    scene.ignore_contact(line, load)
    sim = sn.Simulation(scene, substeps=substeps)
    start = length(sim, line)
    sim.step(180)
    assert length(sim, line) < (1 + most) * start
    assert np.abs(np.asarray(sim.state.body_velocities)).max() < 0.02
    assert np.linalg.norm(np.asarray(sim.positions(line))[:, :2], axis=1).min() > radius + 0.0049


def test_friction_holds_a_load_on_a_beam_and_lets_a_heavy_one_slide():
    """Euler and Eytelwein: it holds up to exp(mu pi) = 1.87 times the other load."""
    out = 0.206
    turn = np.linspace(np.pi, 0, 22)
    side = np.stack([np.full(20, -out), np.linspace(-0.6, -0.03, 20), np.zeros(20)], axis=1)
    over = np.stack([out * np.cos(turn), out * np.sin(turn), np.zeros(22)], axis=1)
    points = np.concatenate([side, over, side[::-1] * [-1, 1, 1]])
    for ratio, speed in ((1.2, 0.0), (3.0, 9.81 * (3 - 1.874) / (3 + 1.874) * 0.5)):
        scene = sn.Scene()
        line = scene.add_rope(points, material=sn.RopeMaterial(density=DENSITY, friction=0.2))
        scene.add_collider(sn.Capsule(0.2, 1.0), rotation=sn.rotation(axis=(1, 0, 0), angle=np.pi / 2), friction=0.2)
        for end, mass, side_of in ((0, 10.0, -1), (len(points) - 1, 10.0 * ratio, 1)):
            body = scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), mass=mass, position=(side_of * out, -0.65, 0))
            scene.attach((line, [end]), body)
        sim = sn.Simulation(scene, substeps=20)
        sim.step(30)
        up, down = np.asarray(sim.state.body_velocities)[:, 1]
        assert 0.5 * (up - down) == pytest.approx(speed, rel=0.1, abs=0.02)
