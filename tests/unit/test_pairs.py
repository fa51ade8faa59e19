"""Particles against particles: closed forms of collisions, conservation, and detection against brute force."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.compute.program import run_recorded
from shinari.errors import ContactWarning
from shinari.systems.particle_contact.model import PairModel
from shinari.systems.particle_contact.system import Pairs

precisions = pytest.mark.parametrize("precision", ["float32", "float64"])
# Rounding of a velocity of some metres a second that went through a hundred additions.
SMALL = {"float32": 64 * np.finfo(np.float32).eps, "float64": 64 * np.finfo(np.float64).eps}


def family(sim: sn.Simulation) -> Pairs:
    return sim._bound.get(Pairs)


def closest(sim: sn.Simulation, keep: np.ndarray) -> float:
    """Smallest gap of all pairs, by brute force [m]; `keep` (N, N) distances, infinite where a pair does not count."""
    x = sim.state.positions.astype(float)
    apart = np.linalg.norm(x[:, None] - x[None], axis=2)
    return float((apart - keep)[np.isfinite(keep)].min())


def sums_of_radii(radii: np.ndarray) -> np.ndarray:
    keep = radii[:, None] + radii[None]
    keep[np.tril_indices(len(radii))] = -np.inf
    return keep


def two(masses: tuple, velocities: tuple, **surface) -> sn.Scene:
    scene = sn.Scene(gravity=(0, 0, 0))
    moving = [(v, 0.0, 0.0) for v in velocities]
    scene.add_particles(
        [[0, 0, 0], [1.0, 0, 0]], mass=masses, velocity=moving, radius=0.1, self_collision=True, **surface
    )
    return scene


@precisions
@pytest.mark.parametrize("masses", [(1.0, 1.0), (2.0, 3.0), (0.01, 5.0)])
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_head_on_collision_has_the_velocities_of_the_textbook(masses, e, precision):
    m, u = np.array(masses), np.array([5.0, -1.0])
    sim = sn.Simulation(two(masses, (5.0, -1.0), restitution=e), substeps=10, precision=precision, threads=1)
    sim.step(30)
    mean = (m * u).sum() / m.sum()
    expected = mean - e * m[::-1] / m.sum() * (u[0] - u[1]) * np.array([1.0, -1.0])
    slack = SMALL[precision] * m.max() / m.min() ** (m.max() / m.min() < 10)
    np.testing.assert_allclose(sim.state.velocities[:, 0], expected, atol=max(slack, SMALL[precision] * 10))
    np.testing.assert_allclose(sim.momentum(), [(m * u).sum(), 0, 0], atol=SMALL[precision] * m.max() * 5)


@precisions
def test_against_a_fixed_particle_it_bounces_back_and_the_fixed_one_stays(precision):
    scene = sn.Scene(gravity=(0, 0, 0))
    a = scene.add_particles([[0, 0, 0]], velocity=(3, 0, 0), radius=0.1, restitution=0.8)
    b = scene.add_particles([[1, 0, 0]], mass=0.0, radius=0.1)
    sim = sn.Simulation(scene, precision=precision, threads=1)
    sim.step(60)
    np.testing.assert_allclose(sim.velocities(a)[0], [-2.4, 0, 0], atol=10 * SMALL[precision])
    assert (sim.positions(b)[0] == [1, 0, 0]).all()


@precisions
@pytest.mark.parametrize("substeps", [1, 10])
def test_momentum_and_angular_momentum_of_a_cluster_hit_from_all_sides(substeps, precision):
    """Frictionless contacts act along the line of centres: both momenta stay to rounding."""
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, (60, 3))
    scene = sn.Scene(gravity=(0, 0, 0))
    masses = rng.uniform(0.1, 3.0, 60)
    v = -0.5 * x + rng.normal(size=(60, 3)) * 0.1
    scene.add_particles(x, mass=masses, velocity=v, radius=0.05, self_collision=True, friction=0.0)
    sim = sn.Simulation(scene, substeps=substeps, precision=precision, threads=1)
    p, spin = sim.momentum(), sim.angular_momentum()
    total = (masses[:, None] * np.abs(v)).sum()
    pushed = 0
    for _ in range(90):
        sim.step()
        pushed += len(sim.contacts())
    assert pushed > 20
    assert np.abs(sim.momentum() - p).max() <= SMALL[precision] * total
    # a position changes with the velocity it had, so the moment of an impulse is off by its way in the substep
    assert np.abs(sim.angular_momentum() - spin).max() <= 1e-2 * total


def cradle(spacing: float, precision: str) -> sn.Simulation:
    """Five balls of radius 0.1 m in a row after the first, at 2 m/s, has hit the others."""
    scene = sn.Scene(gravity=(0, 0, 0))
    x = np.zeros((5, 3))
    x[:, 0] = np.arange(5) * spacing
    x[0, 0] = -0.5
    v = np.zeros((5, 3))
    v[0, 0] = 2.0
    scene.add_particles(x, velocity=v, radius=0.1, self_collision=True, restitution=1.0, friction=0.0)
    sim = sn.Simulation(scene, substeps=20, precision=precision, threads=1)
    sim.step(40)
    return sim


@precisions
def test_a_cradle_hands_the_speed_from_ball_to_ball(precision):
    """Five balls with small gaps: each impact is one of two balls, and the last one leaves with all of the speed."""
    sim = cradle(0.21, precision)
    np.testing.assert_allclose(sim.state.velocities[:, 0], [0, 0, 0, 0, 2.0], atol=10 * SMALL[precision])


@precisions
def test_a_cradle_that_touches_keeps_momentum_and_gains_no_energy(precision):
    sim = cradle(0.2, precision)
    speeds = sim.state.velocities[:, 0]
    assert speeds.sum() == pytest.approx(2.0, abs=float(10 * SMALL[precision]))
    assert (speeds**2).sum() <= 4.0 * (1 + SMALL[precision])
    assert speeds[4] > 1.5
    assert (np.diff(speeds) > -10 * SMALL[precision]).all()


@precisions
@pytest.mark.parametrize("mu", [0.0, 0.2, 2.0])
def test_friction_between_two_balls_slides_or_sticks(mu, precision):
    """A ball falls at an angle on a fixed one, head on: it keeps the slip less mu times the change along the normal."""
    scene = sn.Scene(gravity=(0, 0, 0))
    a = scene.add_particles([[0, 0.2, 0]], velocity=(0.3, -1.0, 0), radius=0.1, friction=mu)
    scene.add_particles([[0.0, 0, 0]], mass=0.0, radius=0.1)
    sim = sn.Simulation(scene, dt=1e-4, substeps=1, precision=precision, threads=1)
    sim.step()
    left = max(0.3 - mu * 1.0, 0.0)
    # the normal is that at the end of the substep, turned by 0.3 h / 0.2
    np.testing.assert_allclose(sim.velocities(a)[0], [left, 0, 0], atol=1e-3)


@precisions
def test_static_friction_holds_what_sliding_friction_would_not(precision):
    def run(static):
        scene = sn.Scene(gravity=(0, 0, 0))
        a = scene.add_particles(
            [[0, 0.2, 0]], velocity=(0.3, -1.0, 0), radius=0.1, friction=0.1, static_friction=static
        )
        scene.add_particles([[0.0, 0, 0]], mass=0.0, radius=0.1)
        sim = sn.Simulation(scene, dt=1e-4, substeps=1, precision=precision, threads=1)
        sim.step()
        return sim.velocities(a)[0, 0]

    assert run(0.1) == pytest.approx(0.2, abs=1e-3)
    assert run(0.5) == pytest.approx(0.0, abs=1e-3)


@precisions
def test_a_column_of_balls_carries_its_weight(precision):
    """Forces between the balls and on the ground are the weights above, and nothing sinks."""
    m, r, count = 0.3, 0.05, 5
    scene = sn.Scene()
    x = np.zeros((count, 3))
    x[:, 1] = r + 2 * r * np.arange(count)
    balls = scene.add_particles(x, mass=m, radius=r, self_collision=True, friction=0.0)
    scene.add_collider(sn.Plane(), friction=0.0)
    sim = sn.Simulation(scene, substeps=20, precision=precision, threads=1)
    sim.step(240)
    contacts = sim.contacts()
    between = contacts.second == balls.name
    order = np.argsort(contacts.positions[between, 1])
    # the sign depends on which of the two is named first
    forces = np.abs(contacts.forces[between][order, 1])
    np.testing.assert_allclose(forces, m * 9.81 * np.arange(count - 1, 0, -1), rtol=0.01)
    gaps = np.diff(np.sort(sim.state.positions[:, 1])) - 2 * r
    assert gaps.min() > -0.05 * r


@precisions
def test_a_compliant_contact_rests_at_compliance_times_weight(precision):
    m, r, compliance = 0.5, 0.1, 1e-3
    scene = sn.Scene(damping=3.0)
    scene.add_particles([[0, 2 * r, 0]], mass=m, radius=r, contact_compliance=compliance)
    scene.add_particles([[0, 0, 0]], mass=0.0, radius=r)
    sim = sn.Simulation(scene, substeps=20, precision=precision, threads=1)
    sim.step(300)
    assert 2 * r - sim.state.positions[0, 1] == pytest.approx(compliance * m * 9.81, rel=5e-3)


@precisions
@pytest.mark.parametrize("speed", [20.0, 300.0])
def test_clouds_that_cross_fast_do_not_pass(speed, precision):
    """Pairs that meet off centre, each alone: every one is deflected, and none is nearer than the radii allow.

    At 300 m/s their relative way in a substep is forty radii.
    """
    n, r = 60, 0.05
    rng = np.random.default_rng(6)
    place = np.stack([np.zeros(n), 10 * r * np.arange(n), np.zeros(n)], axis=1)
    offset = rng.uniform(-1.8 * r, 1.8 * r, n)
    start = rng.uniform(0.3, 0.6, n)[:, None] * [[1.0, 0, 0]]
    scene = sn.Scene(gravity=(0, 0, 0))
    v = np.array([speed, 0.0, 0.0])
    a = scene.add_particles(place - start, velocity=v, radius=r, friction=0.0)
    b = scene.add_particles(place + start + offset[:, None] * [0, 0, 1], velocity=-v, radius=r, friction=0.0)
    sim = sn.Simulation(scene, substeps=5, precision=precision, threads=1)
    for _ in range(6):
        sim.step()
        apart = np.linalg.norm(sim.positions(a).astype(float) - sim.positions(b), axis=1)
        assert apart.min() > 2 * r * (1 - 1e-4)
    relative = sim.velocities(a).astype(float) - sim.velocities(b)
    assert (np.linalg.norm(relative - 2 * v, axis=1) > 1e-3 * speed).all()
    assert np.abs(sim.momentum()).max() <= SMALL[precision] * 2 * n * speed


@precisions
def test_detection_misses_no_pair_at_high_speed(precision):
    """After each step no two balls overlap by more than what one sweep leaves, with radii from 1 to 50."""
    rng = np.random.default_rng(5)
    n = 250
    radii = np.where(np.arange(n) < 4, 0.25, rng.uniform(0.005, 0.03, n))
    x = rng.uniform(-1, 1, (6 * n, 3))
    chosen: list[int] = []
    for k in range(len(x)):
        if len(chosen) == n:
            break
        gaps = [np.linalg.norm(x[k] - x[c]) - radii[len(chosen)] - radii[i] for i, c in enumerate(chosen)]
        if all(g > 0 for g in gaps):
            chosen.append(k)
    radii = radii[: len(chosen)]
    v = rng.normal(size=(len(chosen), 3)) * 15.0
    scene = sn.Scene(gravity=(0, 0, 0))
    scene.add_particles(x[chosen], velocity=v, radius=radii, mass=1000 * radii**3, self_collision=True, friction=0.0)
    scene.add_collider(sn.Box((2.6, 2.6, 2.6), inside=True))
    sim = sn.Simulation(scene, substeps=10, iterations=4, precision=precision, threads=1)
    pairs, keep, pushed = family(sim), sums_of_radii(radii), 0
    for _ in range(12):
        sim.step()
        pushed += len(sim.contacts())
        x0 = sim.state.positions.astype(float)
        apart = np.linalg.norm(x0[:, None] - x0[None], axis=2) < keep
        # every pair that overlaps is a row
        at = np.empty(len(x0), int)
        at[pairs.detection.balls.particle] = np.arange(len(x0))
        rows = {tuple(sorted(r)) for r in pairs.detection.row_balls.points[: pairs.row_count].tolist()}
        for i, j in np.argwhere(apart & np.isfinite(keep)):
            a, b = at[sim.model.slots[i]], at[sim.model.slots[j]]
            assert (min(a, b), max(a, b)) in rows
    assert pushed > 50


@precisions
def test_neighbours_of_a_detection_are_those_of_brute_force(precision):
    """Rows are all pairs whose margins touch as they go on evenly while the rows hold, and none twice."""
    rng = np.random.default_rng(8)
    x = rng.uniform(-0.5, 0.5, (300, 3))
    scene = sn.Scene(gravity=(0, 0, 0))
    scene.add_particles(x, velocity=rng.normal(size=(300, 3)), radius=0.02, self_collision=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # an overlap within one object is no mistake
        sim = sn.Simulation(scene, substeps=2, precision=precision, threads=1)
    pairs = family(sim)
    run_recorded(pairs.record_begin)
    run_recorded(pairs.record_detect)
    bodies = pairs.detection.balls
    at = sim.state.x[bodies.particle, :3].astype(float)
    displacement = pairs.control.ahead[0] * bodies.velocity.astype(float)
    times = np.linspace(0.0, 1.0, 1001)
    apart = [np.linalg.norm(at + t * displacement - (at + t * displacement)[:, None], axis=2) for t in times]
    gaps = np.min(apart, axis=0) - 0.04 - bodies.margin[:, None] - bodies.margin[None]
    expected = {tuple(p) for p in np.argwhere(np.triu(gaps < 0, 1)).tolist()}
    rows = {tuple(sorted(r)) for r in pairs.detection.row_balls.points[: pairs.row_count].tolist()}
    assert len(rows) == pairs.row_count
    assert expected <= rows
    assert len(rows - expected) <= 0.01 * len(rows) + 1


def test_overlap_within_a_thing_is_kept_and_between_things_reported():
    scene = sn.Scene(gravity=(0, 0, 0))
    own = scene.add_particles([[0, 0, 0], [0.15, 0, 0]], radius=0.1, self_collision=True, name="own")
    scene.add_particles([[0, 0, 0.12]], radius=0.1, name="other")
    with pytest.warns(ContactWarning, match=r"'own' and 'other' overlap at the start, by 0.08 m at particle 0") as told:
        sim = sn.Simulation(scene, substeps=10, precision="float64", threads=1, depenetration_speed=0.5)
    assert len(told) == 1
    for _ in range(40):
        before = sim.state.positions.copy()
        sim.step()
        assert np.linalg.norm(sim.state.positions - before, axis=1).max() <= 0.5 / 60 * (1 + 1e-9)
        assert np.abs(sim.state.velocities).max() < 1e-12
    x = sim.positions(own)
    assert np.linalg.norm(x[0] - x[1]) >= 0.15 - 1e-12
    assert closest(sim, np.array([[-np.inf, 0.15, 0.2], [-np.inf, -np.inf, 0.2], [-np.inf] * 3])) > -1e-9


def test_pairs_that_are_left_out():
    """Ignored objects, particles that share a row and neighbours in a cloth pass through each other."""
    scene = sn.Scene(gravity=(0, 0, 0))
    a = scene.add_particles([[-1, 0, 0]], velocity=(2, 0, 0), radius=0.1, name="a")
    b = scene.add_particles([[1, 0, 0]], velocity=(-2, 0, 0), radius=0.1, name="b")
    scene.ignore_contact(a, b)
    c = scene.add_particles([[-1, 5, 0]], velocity=(2, 0, 0), radius=0.1, name="c")
    d = scene.add_particles([[1, 5, 0]], velocity=(-2, 0, 0), radius=0.1, name="d")
    scene.add_constraint("distance", [[c.particles.start, d.particles.start]], compliance=np.inf)
    e = scene.add_particles([[-1, 10, 0], [1, 10, 0]], velocity=[[2, 0, 0], [-2, 0, 0]], radius=0.1, name="e")
    f = scene.add_particles([[-1, 15, 0], [1, 15, 0]], velocity=[[2, 0, 0], [-2, 0, 0]], radius=0.1, name="f",
                            self_collision=True)  # fmt: skip
    sim = sn.Simulation(scene, precision="float64", threads=1)
    sim.step(60)
    for handle in (a, c):
        assert sim.positions(handle)[0, 0] == pytest.approx(1.0)
    assert sim.positions(e)[0, 0] == pytest.approx(1.0)
    assert sim.positions(f)[0, 0] == pytest.approx(-0.1)
    assert sim.positions(b)[0, 0] == pytest.approx(-1.0) == sim.positions(d)[0, 0]


def test_what_can_never_meet_has_no_family():
    scene = sn.Scene()
    scene.add_particles([[0, 0, 0], [1, 0, 0]], radius=0.1)
    scene.add_particles([[0, 2, 0]])
    a = scene.add_particles([[0, 5, 0]], radius=0.1)
    scene.ignore_contact(a, "particles")
    assert sn.Simulation(scene)._bound.find(Pairs) is None


def test_things_that_are_far_apart_are_not_searched_until_they_come_near():
    scene = sn.Scene(gravity=(0, 0, 0))
    a = scene.add_particles([[0, 0, 0]], velocity=(10, 0, 0), radius=0.1)
    b = scene.add_particles([[5, 0, 0]], radius=0.1)
    sim = sn.Simulation(scene, precision="float64", threads=1)
    sim.step(20)
    assert family(sim).detections == 0
    sim.step(20)
    np.testing.assert_allclose(sim.velocities(a)[0], sim.velocities(b)[0], atol=1e-12)
    assert sim.velocities(b)[0, 0] == pytest.approx(5.0)


def test_idle_things_that_a_row_drives_together_within_a_substep_meet():
    """A row pulls a ball over three metres in one substep, through another one: it takes it along."""
    scene = sn.Scene(gravity=(0, 0, 0))
    a = scene.add_particles([[0, 0, 0]], radius=0.1)
    scene.add_particles([[5, 0, 0]], mass=0.0)
    b = scene.add_particles([[1.5, 0, 0]], radius=0.1)
    scene.add_constraint("distance", [[0, 1]], rest_length=2.0)
    sim = sn.Simulation(scene, precision="float64", substeps=10, threads=1)
    sim.step()
    assert family(sim).detections > 0
    assert sim.positions(a)[0, 0] <= sim.positions(b)[0, 0] - 0.2 + 1e-9


@precisions
def test_two_things_far_from_the_origin_meet_as_near_it(precision):
    def run(at):
        scene = sn.Scene(gravity=(0, 0, 0))
        offset = np.array([at, 0.0, -at])
        scene.add_particles([offset], velocity=(1, 0, 0), radius=0.1)
        scene.add_particles([offset + np.array([0.5, 0.01, 0.0])], radius=0.1, mass=2.0)
        sim = sn.Simulation(scene, substeps=10, precision=precision, threads=1)
        sim.step(40)
        return sim.state.velocities.copy()

    # float32 keeps positions relative to their origins: 1 m there, whatever the distance from the origin
    np.testing.assert_allclose(run(1000.0), run(0.0), atol=1e-3 if precision == "float32" else 1e-9)


SCRIPT = """
import hashlib, json, sys, warnings
import numpy as np
import shinari as sn
from shinari.systems.particle_contact.model import PairModel
warnings.simplefilter("ignore")
def build():
    rng = np.random.default_rng(4)
    k = 18
    grid = np.stack(np.meshgrid(*[np.arange(k)] * 3, indexing="ij"), -1).reshape(-1, 3) * 0.021
    scene = sn.Scene()
    p = grid + rng.uniform(-4e-4, 4e-4, grid.shape)
    scene.add_particles(p, radius=0.01, mass=0.01, self_collision=True, friction=0.4, restitution=0.3)
    scene.add_particles([[0.2, 0.6, 0.2]], velocity=(0, -8, 0), radius=0.05, mass=0.5)
    scene.add_collider(sn.Box((0.5, 1.6, 0.5), inside=True), position=(0.19, 0.7, 0.19))
    return scene
results = []
for threads in (1, 2):
    sim = sn.Simulation(build(), substeps=4, threads=threads)
    sim.step(12)
    x = np.concatenate([sim.state.positions.ravel(), sim.state.velocities.ravel(), sim.contacts().forces.ravel()])
    results.append(hashlib.sha256(x.tobytes()).hexdigest())
print(json.dumps(results))
"""


def hashes(cache: str) -> list[str]:
    """Hash of a run with one thread and with two, in a process of its own."""
    source = str(Path(sn.__file__).parents[1])
    environment = {**os.environ, "NUMBA_NUM_THREADS": "2", "PYTHONPATH": source, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, timeout=900)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.mark.ordinary_kernels
def test_bits_do_not_depend_on_threads_nor_on_the_cache(tmp_path):
    cold, warm = hashes(str(tmp_path)), hashes(str(tmp_path))
    assert cold[0] == cold[1]
    assert cold == warm


def test_a_checkpoint_resumes_bit_by_bit(tmp_path):
    rng = np.random.default_rng(3)
    scene = sn.Scene()
    scene.add_particles(rng.uniform(-0.3, 0.3, (200, 3)), radius=0.03, self_collision=True, restitution=0.2)
    scene.add_collider(sn.Box((0.8, 0.8, 0.8), inside=True))
    one = sn.Simulation(scene, substeps=5, threads=1)
    one.step(10)
    one.save(tmp_path / "half.h5")
    one.step(10)
    two = sn.Simulation.load(tmp_path / "half.h5")
    two.step(10)
    assert one.state == two.state


def sheet(n: int, edge: float) -> tuple[np.ndarray, np.ndarray]:
    x, z = (g.ravel() for g in np.meshgrid(np.arange(n) * edge, np.arange(n) * edge, indexing="ij"))
    k = np.arange(n * n).reshape(n, n)
    a, b, c, d = k[:-1, :-1].ravel(), k[1:, :-1].ravel(), k[1:, 1:].ravel(), k[:-1, 1:].ravel()
    return np.stack([x, 0 * x, z], axis=1), np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


@precisions
def test_a_cloth_in_particle_mode_that_folds_onto_itself_keeps_its_distance(precision):
    """A sheet that falls folded lies on itself: no two vertices but neighbours come nearer than its thickness."""
    n, edge = 12, 0.02
    vertices, faces = sheet(n, edge)
    # one half lies folded over the other, two edges above it
    folded = vertices.copy()
    half = vertices[:, 0] > 5.5 * edge
    folded[half, 0] = 11 * edge - vertices[half, 0]
    folded[half, 1] = 2 * edge
    material = sn.ClothMaterial(density=0.2, thickness=0.99 * edge, friction=0.3, bend_stiffness=0.0, damping=0.01)
    scene = sn.Scene(damping=1.0)
    scene.add_cloth((folded, faces), material=material, self_collision="particles")
    scene.add_collider(sn.Plane(), position=(0, -0.1, 0))
    sim = sn.Simulation(scene, substeps=20, precision=precision, threads=1)
    members = sim.model.find(PairModel).members
    assert members is not None
    keep = np.full((n * n, n * n), 0.99 * edge)
    keep[np.tril_indices(n * n)] = -np.inf
    added = np.empty(n * n, int)
    added[sim.model.slots] = np.arange(n * n)
    low = np.repeat(np.arange(len(members.particles)), np.diff(members.offsets))
    for i, j, d in zip(low, members.partners, members.distances, strict=True):
        a, b = sorted((added[members.particles[i]], added[members.particles[j]]))
        keep[a, b] = d if d > 0 else -np.inf
    sim.step(120)
    assert closest(sim, keep) > -0.05 * edge
    assert np.ptp(sim.state.positions[:, 1]) > 0.8 * edge
    assert np.abs(sim.state.velocities).max() < 0.2
