"""Attachments between any two things: places, forces, momentum, bad input."""

import numpy as np
import pytest

import shinari as sn
from shinari.api.nearest import nearest_places
from shinari.geometry.tetrahedra.lattice import lattice
from shinari.geometry.topology import grid

BOTH = pytest.mark.parametrize("precision", ["float32", "float64"])
G = 9.81


def beam(scene, **changes):
    material = sn.SoftMaterial(**({"youngs_modulus": 1e5, "poissons_ratio": 0.3, "thickness": 0.0} | changes))
    return scene.add_soft_body(lattice((2, 2, 2), 0.1), material=material)


def sheet(scene, **changes):
    material = sn.ClothMaterial(**({"stretch_compliance": 1e-4, "thickness": 0.0} | changes))
    return scene.add_cloth(grid(shape=(5, 5), size=(0.4, 0.4)), material=material)


def rope(scene, **changes):
    points = np.stack([np.linspace(0, 0.5, 6), np.zeros(6), np.zeros(6)], axis=1)
    return scene.add_rope(points, material=sn.RopeMaterial(**({"density": 0.2, "stretch_compliance": 1e-4} | changes)))


THINGS = {"soft body": beam, "cloth": sheet, "rope": rope}
every_thing = pytest.mark.parametrize("build", THINGS.values(), ids=THINGS)


@pytest.mark.parametrize("corners", [1, 2, 3, 4])
def test_nearest_places_are_those_of_a_search_over_many_samples(corners):
    """No sampled point of any element is nearer, and the place is where weights and distance say."""
    rng = np.random.default_rng(corners)
    vertices, points = rng.normal(size=(30, 3)), rng.normal(size=(40, 3))
    elements = np.stack([rng.choice(30, corners, replace=False) for _ in range(25)])
    found, weights, distances = nearest_places(points, vertices, elements, np.full(40, -1))
    assert np.all(weights >= 0.0)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)
    places = np.einsum("mk,mkd->md", weights, vertices[elements[found]])
    np.testing.assert_allclose(np.linalg.norm(points - places, axis=1), distances, atol=1e-12)
    samples = rng.dirichlet(np.full(corners, 0.7), size=2000)
    for e in elements:
        cloud = samples @ vertices[e]
        gaps = np.linalg.norm(points[:, None] - cloud, axis=2).min(axis=1)
        assert np.all(distances <= gaps + 1e-12)


def test_a_place_inside_a_tetrahedron_has_no_distance():
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    weights = np.random.default_rng(1).dirichlet(np.ones(4), size=50)
    elements = np.array([[0, 1, 2, 3]])
    _, found, distances = nearest_places(weights @ vertices, vertices, elements, np.full(50, -1))
    np.testing.assert_allclose(found, weights, atol=1e-14)
    np.testing.assert_allclose(distances, 0.0, atol=1e-14)


def thrown(build, apart, **settings):
    """A free object, and a ball that is thrown while attached to a place on it."""
    scene = sn.Scene(gravity=(0, 0, 0))
    thing = build(scene)
    point = thing.positions.mean(axis=0) + np.array([0.013, 0.0, 0.007])
    if build is rope:
        point = np.array([0.23, 0.0, 0.0])
    ball = scene.add_particles(point + np.array([0.0, apart, 0.0]), mass=0.3, velocity=(1.0, 2.0, -1.5))
    rows = scene.attach((ball, 0), (thing, point))
    return scene, thing, ball, rows, sn.Simulation(scene, iterations=3, **settings)


@BOTH
@every_thing
@pytest.mark.parametrize("apart", [0.0, 0.15])
def test_momentum_is_kept_and_the_place_moves_along(build, apart, precision):
    scene, thing, ball, rows, sim = thrown(build, apart, precision=precision, substeps=10)
    before = sim.momentum()
    sim.step(40)
    # four deviations of a random walk, m u x / h for each position written
    writes = 40 * 10 * 3 * sum(block.indices.size for block in sim.model.blocks.values())
    grain = 0.5 * np.finfo(precision).eps * sim.model.masses.max() * np.abs(sim.state.positions).max()
    assert np.abs(sim.momentum() - before).max() < 4.0 * np.sqrt(writes) * grain / sim.settings.substep
    index, weights = place(scene)
    x = sim.positions(thing)[index - thing.particles.start]
    gap = np.linalg.norm(sim.positions(ball)[0] - weights @ x)
    assert gap == pytest.approx(apart, abs=2e-4)
    assert np.abs(sim.forces(rows)).max() > 0.0


def place(scene):
    """Particles and weights of the last attachment's first place."""
    rows = scene.rows[-1]
    weights = rows.parameters["weights"][0]
    return rows.indices[0, 1:], np.concatenate([[1.0 - weights.sum()], weights])


@BOTH
@pytest.mark.parametrize("iterations", [1, 4, 20])
def test_a_weight_hangs_from_a_pinned_sheet_by_its_compliance(iterations, precision):
    """Static extension m g a exactly, whatever the iterations; the force read is the weight."""
    scene = sn.Scene(damping=8.0)
    cloth = sheet(scene)
    cloth.pin(np.arange(25))
    point = np.array([0.03, 0.0, 0.05])
    ball = scene.add_particles(point, mass=0.4)
    rows = scene.attach((ball, 0), (cloth, point), compliance=1e-3)
    sim = sn.Simulation(scene, precision=precision, iterations=iterations)
    sim.step(200)
    tolerance = 1e-9 if precision == "float64" else 2e-4
    np.testing.assert_allclose(
        sim.positions(ball)[0] - point,
        [0, -0.4 * G * 1e-3, 0],
        atol=tolerance * 0.4 * G * 1e-3 + 1e-7 * (precision == "float32"),
    )
    np.testing.assert_allclose(sim.forces(rows)[0], [0, -0.4 * G, 0], atol=10 * tolerance)


@BOTH
def test_a_soft_body_hangs_on_a_rope_by_its_weight(precision):
    """The rope ends inside the body: force at the attachment, and at the pin, with the rope's own weight."""
    scene = sn.Scene(damping=5.0)
    body = beam(scene, youngs_modulus=1e6)
    top = body.positions.mean(axis=0) + np.array([0.0, 0.045, 0.0])
    line = np.stack([np.full(6, top[0]), top[1] + np.linspace(0.0, 0.5, 6), np.full(6, top[2])], axis=1)
    cord = scene.add_rope(line, material=sn.RopeMaterial(density=0.1))
    rows = scene.attach((cord, 0), (body, top))
    held = scene.attach((cord, 5), tuple(line[5]))
    sim = sn.Simulation(scene, precision=precision, substeps=20)
    sim.step(240)
    force = pin = np.zeros(3)
    for _ in range(60):
        sim.step()
        force, pin = force + sim.forces(rows)[0] / 60, pin + sim.forces(held)[0] / 60
    weight = 1000.0 * 0.2**3 * G
    # the rope's end pulls up at its place
    assert force[1] == pytest.approx(weight, rel=2e-3)
    assert pin[1] == pytest.approx(-(weight + 0.1 * 0.5 * G), rel=2e-3)


def test_a_weld_of_two_sheets_carries_the_lower_one():
    scene = sn.Scene(damping=4.0)
    upper, lower = sheet(scene), sheet(scene)
    upper.pin(np.arange(25))
    edge = lower.where(lambda x: x[:, 2] > 0.19)
    rows = scene.attach((lower, edge), upper)
    sim = sn.Simulation(scene, precision="float64")
    sim.step(300)
    assert sim.forces(rows).shape == (5, 3)
    assert len(rows.rows) == 5
    load = 0.2 * 0.4**2 * G
    assert sim.forces(rows).sum(axis=0) == pytest.approx([0, -load, 0], abs=0.02 * load)


def test_each_row_breaks_by_itself():
    """Two weights of different mass on one sheet: only the heavy one falls."""
    scene = sn.Scene()
    cloth = sheet(scene)
    cloth.pin(np.arange(25))
    points = np.array([[-0.1, 0, 0.03], [0.11, 0, 0.02]])
    balls = scene.add_particles(points, mass=[0.1, 1.0])
    scene.attach((balls, [0, 1]), (cloth, points), break_force=3.0)
    sim = sn.Simulation(scene, precision="float64")
    sim.step(30)
    assert sim.state.broken["attachment_triangle"].sum() == 1
    np.testing.assert_allclose(sim.positions(balls)[0], points[0], atol=1e-5)
    assert sim.positions(balls)[1, 1] == pytest.approx(-0.5 * G * 0.25, rel=0.01)


def test_what_is_attached_at_several_points_does_not_fight_its_contact():
    """A ball of the size of the gap sits in the middle of a triangle: a contact would push it off with force."""
    scene = sn.Scene(gravity=(0, 0, 0))
    cloth = sheet(scene, thickness=0.02)
    point = np.array([0.02, 0.0, 0.03])
    ball = scene.add_particles(point, mass=0.1, radius=0.01)
    scene.attach((ball, 0), (cloth, point))
    sim = sn.Simulation(scene, precision="float64")
    sim.step(10)
    assert np.abs(sim.velocities(ball)).max() < 1e-9
    assert len(sim.contacts().forces) == 0


def test_what_is_attached_to_a_soft_body_does_not_fight_its_contact():
    scene = sn.Scene(gravity=(0, 0, 0))
    body = beam(scene, thickness=0.02)
    ball = scene.add_particles([0.03, -0.002, 0.03], mass=0.1, radius=0.01)
    scene.attach((ball, 0), body)
    sim = sn.Simulation(scene, precision="float64")
    sim.step(10)
    assert np.abs(sim.velocities(ball)).max() < 1e-6
    assert len(sim.contacts().forces) == 0


def test_what_has_come_loose_touches_again():
    """A ball below a sheet is torn off, is thrown up, and hits the sheet."""
    scene = sn.Scene(gravity=(0, 0, 0))
    cloth = sheet(scene, thickness=0.02)
    cloth.pin(np.arange(25))
    ball = scene.add_particles([0.02, -0.03, 0.03], mass=0.1, radius=0.01)
    scene.attach((ball, 0), cloth, break_force=5.0)
    sim = sn.Simulation(scene, precision="float64")
    sim.velocities(ball)[0] = [0.0, -1.0, 0.0]
    # the jerk is caught in one substep, and is too much
    sim.step()
    assert sim.state.broken["attachment_distance_triangle"].all()
    sim.velocities(ball)[0] = [0.0, 1.0, 0.0]
    sim.step(30)
    assert sim.positions(ball)[0, 1] < -0.019


@pytest.mark.parametrize(
    ("second", "options", "message"),
    [
        (
            lambda c, b: (c, (0.0, 3.0, 0.0)),
            {},
            r"attach: second: out of reach: the point \[0.0, 3.0, 0.0\] is 3 m from",
        ),
        (lambda c, b: (c, (0.0, 0.1, 0.0)), {"reach": 0.05}, r"is 0.1 m from 'cloth', more than 0.05 m"),
        (lambda c, b: (c, [[0.0, 0.0, 0.0]] * 3), {}, r"attach: second: expected shape \(1, 3\)"),
        (lambda c, b: (c, [1, 2, 3]), {}, r"attach: second: 3 particles for 1 of first"),
        (lambda c, b: (c, "top"), {}, r"attach: second: expected numbers of shape"),
        (lambda c, b: (c, 99), {}, r"attach: second: index 99 is out of range"),
        (lambda c, b: (c, 1), {"reach": 1.0}, r"attach: reach: is of attachments to a point"),
        (lambda c, b: (0.0, 0.0, 0.0), {"reach": 1.0}, r"attach: reach: is of attachments to a point"),
        (lambda c, b: (c, (0.0, 0.0, 0.0)), {"reach": -1.0}, r"attach: reach: must be above 0"),
        (lambda c, b: b, {}, r"attach: second: 'particles' has no place beside the particle itself"),
        (lambda c, b: (c, (0.0, 0.0, np.nan)), {}, r"attach: second: not a finite number"),
        (lambda c, b: (c, (0.0, 0.0, 0.0)), {"break_force": 0.0}, r"attach: break_force: must be above 0"),
    ],
)
def test_bad_input_is_refused(second, options, message):
    scene = sn.Scene()
    cloth = sheet(scene)
    ball = scene.add_particles([0.0, 0.1, 0.0], radius=0.01)
    with pytest.raises(sn.SceneError, match=message):
        scene.attach((ball, 0), second(cloth, ball), **options)


def test_loose_particles_need_a_reach():
    scene = sn.Scene()
    balls = scene.add_particles(np.eye(3))
    one = scene.add_particles([0.0, 0.0, 0.9])
    with pytest.raises(sn.SceneError, match=r"attach: reach: 'particles' is made of loose particles"):
        scene.attach((one, 0), balls)
    rows = scene.attach((one, 0), balls, reach=0.2)
    assert scene.rows[-1].indices.tolist() == [[3, 2]]
    assert rows.type == "distance"


def test_a_seam_within_one_cloth_leaves_out_the_particle_itself():
    scene = sn.Scene()
    cloth = sheet(scene)
    scene.attach((cloth, 0), cloth, reach=0.2)
    rows = scene.rows[-1]
    assert rows.indices[0, 0] not in rows.indices[0, 1:]


def test_a_checkpoint_goes_on_bit_by_bit(tmp_path):
    scene = sn.Scene()
    cloth = sheet(scene)
    cloth.pin([0, 4])
    ball = scene.add_particles([0.03, 0.0, 0.05], mass=0.4)
    scene.attach((ball, 0), cloth, break_force=5.0)
    sim = sn.Simulation(scene)
    sim.step(5)
    sim.save(tmp_path / "a.h5")
    other = sn.Simulation.load(tmp_path / "a.h5")
    sim.step(20)
    other.step(20)
    assert sim.state == other.state
