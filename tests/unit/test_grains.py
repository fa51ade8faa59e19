"""Grains: what is put in, what a contact does, heaps that rest, and the same bits again."""

import numpy as np
import pytest
from scipy.spatial import KDTree

import shinari as sn
from shinari.systems.grains.rows import SLOP
from shinari.systems.grains.system import GrainPairs
from shinari.systems.particle_contact.records import CHUNK

G = 9.81
PRECISIONS = ("float32", "float64")


def family(simulation: sn.Simulation) -> GrainPairs:
    return simulation._bound.get(GrainPairs)


def column(count: int, precision: str, substeps: int = 4, radius: float = 0.01, **material) -> sn.Simulation:
    """Grains on top of each other on a floor, in the middle of nowhere."""
    scene = sn.Scene()
    points = [(0.0, (2 * k + 1) * radius, 0.0) for k in range(count)]
    scene.add_grains(points, radius=radius, material=sn.GrainMaterial(**material))
    scene.add_collider(sn.Plane(), friction=0.5)
    return sn.Simulation(scene, substeps=substeps, precision=precision, threads=1)


def cloud(count: int, radius: float, seed: int) -> np.ndarray:
    """Points about a centre, none of them closer than two radii."""
    cells = np.stack(np.meshgrid(*[np.arange(count)] * 3, indexing="ij"), axis=-1).reshape(-1, 3) - 0.5 * (count - 1)
    return 2.4 * radius * (cells + np.random.default_rng(seed).uniform(-0.08, 0.08, cells.shape))


# what is put in


@pytest.mark.parametrize(
    ("shape", "volume"),
    [
        (sn.Box((0.2, 0.3, 0.1)), 0.2 * 0.3 * 0.1),
        (sn.Sphere(0.1), 4.0 / 3.0 * np.pi * 0.1**3),
        (sn.Cylinder(0.1, 0.2), np.pi * 0.1**2 * 0.2),
    ],
)
@pytest.mark.parametrize("packing", ["random", "lattice"])
def test_a_shape_is_filled(shape, volume, packing):
    scene = sn.Scene()
    h = scene.add_grains(shape, radius=0.005, spread=0.3, packing=packing, position=(1.0, 2.0, 3.0))
    obj = scene.particle_objects[0]
    points, radii = obj.positions - (1.0, 2.0, 3.0), obj.radii
    assert len(h.particles) == len(points)
    assert radii.min() < 0.0036
    assert radii.max() > 0.0064
    assert np.abs(radii / 0.005 - 1.0).max() <= 0.3
    np.testing.assert_allclose(obj.masses, 2650.0 * 4.0 / 3.0 * np.pi * radii**3)
    from shinari.shapes.kernels.encode import signed_distance

    assert (signed_distance(shape, points) < -radii + 1e-5 * 0.1).all(), "a grain sticks out"
    from shinari.collision.broad.pairs import PairFinder

    pairs = PairFinder(radii).find(points, 0.0, 1)
    gaps = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1) - radii[pairs].sum(axis=1)
    assert gaps.min(initial=0.0) > -1e-9
    # balls in cubes that span the largest, jittered or not; what the surface cuts off is missing
    cell = (2 * 0.005 * 1.3 * (1.15 if packing == "random" else 1.0)) ** 3
    assert 0.55 * volume < len(points) * cell <= 1.001 * volume


def test_the_same_filling_again():
    one, other = sn.Scene(), sn.Scene()
    for scene in (one, other):
        scene.add_grains(sn.Sphere(0.05), radius=0.005, spread=0.2)
    assert np.array_equal(one.positions, other.positions)
    assert np.array_equal(one.particle_objects[0].radii, other.particle_objects[0].radii)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"radius": 0.0}, "grains 'sand': radius"),
        ({"radius": 0.2}, "grains 'sand': radius: a distance of 0.46 m between grains is larger than the box"),
        ({"radius": -1.0}, "grains 'sand': radius"),
        ({"spread": 1.0}, "grains 'sand': spread"),
        ({"packing": "dense"}, "grains 'sand': packing"),
        ({"material": sn.FluidMaterial()}, "grains 'sand': material: expected a GrainMaterial"),
        ({"shape_or_points": np.zeros((0, 3))}, "grains 'sand': points: no"),
        ({"shape_or_points": sn.Plane()}, "grains 'sand': shape"),
        ({"velocity": (1.0, 2.0)}, "grains 'sand': velocity"),
    ],
)
def test_bad_input_is_refused(changes, message):
    arguments = {"shape_or_points": sn.Box((0.2, 0.2, 0.2)), "radius": 0.01, "name": "sand"} | changes
    given = arguments.pop("shape_or_points")
    with pytest.raises(sn.SceneError, match=message):
        sn.Scene().add_grains(given, **arguments)


@pytest.mark.parametrize(
    "field", ["density", "friction", "static_friction", "restitution", "contact_compliance", "mass_scaling"]
)
def test_a_material_names_the_field(field):
    with pytest.raises(sn.SceneError, match=f"GrainMaterial: {field}"):
        sn.GrainMaterial(**{field: -1.0})


def test_presets():
    assert sn.GrainMaterial.preset("gravel", density=2000.0).density == 2000.0
    with pytest.raises(sn.SceneError, match="preset 'snad' is unknown; known are glass beads, gravel"):
        sn.GrainMaterial.preset("snad")
    with pytest.raises(sn.SceneError, match="colour: unknown field"):
        sn.GrainMaterial.preset("sand", colour=1.0)


def test_grains_that_overlap_are_named():
    scene = sn.Scene()
    scene.add_grains([[0.0, 0.0, 0.0], [0.015, 0.0, 0.0]], radius=0.01, name="sand")
    with pytest.warns(sn.ContactWarning, match="grains 'sand' overlap each other at the start, by 0.005 m"):
        sn.Simulation(scene)


# a contact


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("mu", "speed"), [(0.4, 0.5), (0.2, 0.3), (0.8, 0.5)])
def test_a_grain_slides_and_stops(precision, mu, speed):
    """v^2 / (2 mu g) on the top of a ball that is so large that it is a plane."""
    scene = sn.Scene()
    material = sn.GrainMaterial(friction=mu)
    large = scene.add_grains([[0.0, -5.0, 0.0]], radius=5.0, material=material)
    large.pin([0])
    small = scene.add_grains([[0.0, 0.01, 0.0]], radius=0.01, material=material, velocity=(speed, 0.0, 0.0))
    simulation = sn.Simulation(scene, substeps=8, precision=precision, threads=1)
    simulation.step(30)
    way = speed**2 / (2.0 * mu * G)
    # the ball falls away by way / R, which is that much less friction; the first substep brings no push yet
    allowed = way / (5.0 * mu) + 2.0 * mu * G * simulation.settings.substep / speed
    assert simulation.positions(small)[0, 0] == pytest.approx(way, rel=allowed)
    # two roundings of the distance to the centre of the large ball
    assert np.abs(simulation.velocities(small)).max() < 10.0 * np.finfo(precision).eps / simulation.settings.substep


@pytest.mark.parametrize(("mu", "sticking"), [(0.2, 0.5), (0.3, 0.6)])
def test_static_friction_holds_more(mu, sticking):
    """On a slope between both coefficients what rests stays, what moves goes on."""
    slope = np.arctan(0.5 * (mu + sticking))
    ways = []
    for speed in (0.0, 0.3):
        scene = sn.Scene(gravity=(G * np.sin(slope), -G * np.cos(slope), 0.0))
        material = sn.GrainMaterial(friction=mu, static_friction=sticking)
        scene.add_grains([[0.0, -50.0, 0.0]], radius=50.0, material=material).pin([0])
        small = scene.add_grains([[0.0, 0.01, 0.0]], radius=0.01, material=material, velocity=(speed, 0.0, 0.0))
        simulation = sn.Simulation(scene, substeps=8, precision="float64", threads=1)
        simulation.step(30)
        ways.append(simulation.positions(small)[0, 0])
    acceleration = G * (np.sin(slope) - mu * np.cos(slope))
    assert abs(ways[0]) < 1e-4
    assert ways[1] == pytest.approx(0.3 * 0.5 + 0.5 * acceleration * 0.25, rel=0.03)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("bounce", [0.0, 0.5, 0.9])
def test_two_grains_meet(precision, bounce):
    """They part at e times the speed; momentum stays."""
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    material = sn.GrainMaterial(restitution=bounce, friction=0.0)
    scene.add_grains([[0.0, 0.0, 0.0]], radius=0.01, velocity=(1.0, 0.0, 0.0), material=material)
    scene.add_grains([[0.05, 0.0, 0.0]], radius=0.02, material=material)
    simulation = sn.Simulation(scene, precision=precision, substeps=4, threads=1)
    before = simulation.momentum()
    simulation.step(10)
    v = simulation.state.velocities[:, 0].astype(float)
    assert v[1] - v[0] == pytest.approx(bounce, abs=1e-4)
    np.testing.assert_allclose(simulation.momentum(), before, atol=4 * np.finfo(precision).eps * before[0] * 10)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_clouds_that_meet_keep_their_momentum(precision):
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    for k, velocity in enumerate([(1.0, 0.2, 0.0), (-2.0, 0.0, 0.5)]):
        scene.add_grains(
            cloud(5, 0.01, k), radius=0.01, spread=0.1, velocity=velocity, position=(0.15 * k, 0.02 * k, 0.0)
        )
    simulation = sn.Simulation(scene, precision=precision, substeps=4, threads=1)
    linear = simulation.momentum()
    energies = [simulation.energy().kinetic]
    for _ in range(30):
        simulation.step()
        energies.append(simulation.energy().kinetic)
    size = float(simulation.model.masses.sum())
    rounding = np.finfo(precision).eps
    # about a thousand roundings of each speed, of 2 m/s at most
    np.testing.assert_allclose(simulation.momentum(), linear, atol=1000 * 2.0 * rounding * size)
    assert np.diff(energies).max() <= 1e-5 * energies[0]
    assert energies[-1] < 0.9 * energies[0], "they did not meet"


# heaps


@pytest.mark.parametrize("rolling", [None, 0.0, 0.1])
@pytest.mark.parametrize("other", ["grains", "lump", "particles"])
def test_forces_of_grains_that_land_change_the_momentum(other, rolling):
    """Normals turn from sweep to sweep where grains move far; forces are what all of the sweeps did."""
    scene, block = sn.Scene(gravity=(0, 0, 0)), np.stack(np.meshgrid(*[np.arange(3) * 0.026] * 3), axis=-1)
    material = sn.GrainMaterial(friction=0.4, restitution=0.3, rolling_friction=rolling)
    if other == "lump":
        scene.add_shape_matched(sn.Box((0.1, 0.1, 0.1)), spacing=0.04, position=(0.05, 0, 0.05))
    elif other == "particles":
        scene.add_particles(cloud(3, 0.012, 1), mass=0.02, radius=0.012)
    else:
        scene.add_grains(cloud(3, 0.0125, 1), radius=0.0125, material=material)
    grains = scene.add_grains(
        block.reshape(-1, 3) + np.array([0, 0.15, 0]), radius=0.0125, material=material, velocity=(0.5, -3, 0)
    )
    sim = sn.Simulation(scene, substeps=5, precision="float64", threads=1)
    mass, before, largest = 2650.0 * 4 / 3 * np.pi * 0.0125**3, sim.velocities(grains).sum(axis=0), 0.0
    for _ in range(6):
        sim.step()
        after, force = sim.velocities(grains).sum(axis=0), sim.forces(grains)
        np.testing.assert_allclose(force, mass * (after - before) * 60, rtol=0, atol=1e-9)
        before, largest = after, max(largest, float(np.abs(force).max()))
    assert largest > 1.0


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("count", [3, 6])
def test_each_contact_of_a_column_carries_what_is_above(precision, count):
    simulation = column(count, precision)
    simulation.step(120)
    contacts = simulation.contacts()
    weight = float(simulation.model.masses[0]) * G
    forces = np.sort(np.linalg.norm(contacts.forces, axis=1)) / weight
    np.testing.assert_allclose(forces, np.arange(1, count + 1), rtol=1e-3)
    heights = np.sort(simulation.state.positions[:, 1])
    np.testing.assert_allclose(heights, 0.02 * np.arange(count) + 0.01, atol=2e-4)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_tall_heap_comes_to_rest_at_four_substeps(precision):
    """Thirty layers that land in a box: the weight of all moves a grain by more than half a radius in a substep."""
    scene, radius, width = sn.Scene(), 0.005, 0.08
    sand = scene.add_grains(sn.Box((width, 0.5, width)), radius=radius, spread=0.2, position=(0.0, 0.25, 0.0))
    scene.add_collider(sn.Box((width, 2.0, width), inside=True), position=(0.0, 1.0, 0.0), friction=0.3)
    simulation = sn.Simulation(scene, substeps=4, precision=precision, threads=1)
    simulation.step(90)
    x, radii = simulation.positions(sand).astype(float), scene.particle_objects[0].radii
    from shinari.collision.broad.pairs import PairFinder

    pairs = PairFinder(radii).find(x, 0.0, 1)
    overlaps = 1.0 - np.linalg.norm(x[pairs[:, 0]] - x[pairs[:, 1]], axis=1) / radii[pairs].sum(axis=1)
    # what overlaps by less than the slop comes out slowly
    assert overlaps.mean() < 0.02
    # no denser than balls of these sizes can be
    filled = (4.0 / 3.0 * np.pi * radii**3).sum() / width**2
    assert filled / 0.68 < 2.0 * x[:, 1].mean()
    # what the first turn pushes out of its margin and the ground brings back needs no other search
    assert family(simulation).detections == 1
    # nothing moves by more than gravity moves it in a substep
    assert np.sqrt((simulation.velocities(sand).astype(float) ** 2).sum(axis=1).mean()) < G / 240.0


@pytest.mark.parametrize(("substeps", "scaling"), [(40, 0.0), (8, 300.0)])
def test_a_layer_rests_on_one_of_a_hundredth_of_its_mass(substeps, scaling):
    """With many substeps; or with few, where masses are scaled by height."""
    scene = sn.Scene()
    lower = np.array([(i, 0.5, j) for i in range(6) for j in range(6)]) * 0.02
    scene.add_grains(lower, radius=0.01, material=sn.GrainMaterial(density=100.0, mass_scaling=scaling))
    # in the hollows of the lower layer
    upper = scene.add_grains(
        [((i + 0.5) * 0.02, 0.01 + np.sqrt(2.0) * 0.01, (j + 0.5) * 0.02) for i in range(5) for j in range(5)],
        radius=0.01,
        material=sn.GrainMaterial(density=1e4, mass_scaling=scaling),
    )
    scene.add_collider(sn.Box((0.12, 0.4, 0.12), inside=True), position=(0.05, 0.2, 0.05), friction=0.8)
    simulation = sn.Simulation(scene, substeps=substeps, threads=1)
    simulation.step(60)
    speeds = []
    for _ in range(60):
        simulation.step()
        y = simulation.positions(upper)[:, 1]
        assert y.min() > 0.01 + np.sqrt(2.0) * 0.01 - 0.02 * 0.01
        speeds.append(np.abs(simulation.velocities(upper)).max())
    # in about every third step one of them rattles at 0.03 m/s
    assert np.median(speeds) < 0.01
    assert max(speeds) < 0.1


def test_mass_scaling_makes_a_column_stiffer():
    """What a column sags when it is made to stand on its own, before the contacts know what they carry."""
    lows = []
    for scaling in (0.0, 20.0):
        simulation = column(20, "float64", mass_scaling=scaling)
        sag = 0.0
        for _ in range(30):
            simulation.step()
            sag = max(sag, 0.39 - float(simulation.state.positions[:, 1].max()))
        lows.append(sag)
    assert lows[1] < 0.7 * lows[0]


def test_mass_scaling_too_strong_is_refused():
    simulation = column(3, "float32", mass_scaling=1e4)
    with pytest.raises(sn.SceneError, match="mass_scaling"):
        simulation.step()


# the same bits


def heap(threads: int, speed: float = 0.0) -> sn.Simulation:
    scene = sn.Scene()
    box = sn.Box((0.44, 0.3, 0.44))
    scene.add_grains(box, radius=0.008, spread=0.2, position=(0.0, 0.15, 0.0), velocity=(0, -speed, 0))
    scene.add_collider(sn.Plane(), friction=0.5)
    return sn.Simulation(scene, substeps=3, threads=threads)


def test_a_heap_that_lands_has_a_row_for_each_overlap():
    """Layers that are stopped leave their margins: their new rows are appended, each pair once."""
    simulation, appended = heap(1, speed=3.0), 0
    pairs = family(simulation)
    radii = np.zeros(simulation.model.particle_count)
    for _ in range(6):
        simulation.step()
        appended += int(pairs.control.appended[0])
        balls = pairs.detection.balls.particle.astype(np.int64)
        rows = np.sort(balls[pairs.detection.row_balls.points[: pairs.row_count].astype(np.int64)], axis=1)
        assert len(np.unique(rows, axis=0)) == len(rows)
        radii[pairs.detection._members.particle] = pairs.detection._members.radius
        x = simulation.state.x[:, :3].astype(float)
        near = KDTree(x).query_pairs(2.0 * radii.max(), output_type="ndarray")
        gaps = np.linalg.norm(x[near[:, 0]] - x[near[:, 1]], axis=1) - radii[near].sum(axis=1)
        overlaps = {tuple(pair) for pair in np.sort(near[gaps < 0.0], axis=1).tolist()}
        missing = overlaps - {tuple(pair) for pair in rows.tolist()}
        # a ball may go beyond its margin until the substep ends
        assert len(missing) <= 0.002 * len(overlaps)
    assert appended > 100


def test_a_grain_that_is_pushed_on_meets_a_much_larger_one_in_the_same_step():
    """It alone leaves its margin; the large one belongs to another level of the grid and stays within its own."""
    scene, radius, large = sn.Scene(gravity=(0, 0, 0)), 0.01, 0.05
    scene.add_grains([(0.0, 0.0, 0.0)], radius=radius, velocity=(4, 0, 0))
    scene.add_grains([(0.03, 0.0, 0.0)], radius=radius)
    scene.add_grains([(0.105, 0.0, 0.0)], radius=large)
    # with many at rest the rows hold for the whole step, and two strayed ones are few
    at = np.stack(np.meshgrid(*[0.05 * np.arange(8)] * 3), axis=-1).reshape(-1, 3)
    scene.add_grains(at, radius=radius, position=(0.0, 1.0, 0.0))
    simulation = sn.Simulation(scene, substeps=8, threads=1)
    simulation.step()
    assert family(simulation).detections == 1
    slots = simulation.model.slots[:3]
    x, v = simulation.state.x[slots, 0], simulation.state.v[slots, 0]
    assert v[2] > 0.0, "nothing pushed it"
    assert x[2] - x[1] > (1.0 - SLOP) * (radius + large)


@pytest.mark.parametrize("speed", [0.0, 3.0])
def test_bits_do_not_depend_on_threads_or_on_a_pause(speed, tmp_path):
    one, two = heap(1, speed), heap(2, speed)
    assert one.model.particle_count >= 4 * CHUNK, "a second thread would sleep"
    one.step(8)
    two.step(4)
    two.save(tmp_path / "heap.h5")
    kept = two.state.copy()
    two.step(4)
    assert one.state == two.state
    again = sn.Simulation.load(tmp_path / "heap.h5")
    again.step(4)
    assert again.state == one.state
    two.state.restore(kept)
    two.step(4)
    assert two.state == one.state
    assert len(one.state.system_arrays["grains/pairs"]) > (500 if speed else 1000)


def test_the_order_of_the_memory_does_not_matter():
    """Rows are recalled by their pair, also from a state whose pairs stand in another order than a step writes."""
    one, two = column(8, "float32"), column(8, "float32")
    for simulation in (one, two):
        simulation.step(20)
    parts = two.state.system_arrays
    assert len(parts["grains/pairs"]) == 7
    order = np.random.default_rng(0).permutation(7)
    for name in ("grains/pairs", "grains/pushes"):
        parts[name] = parts[name][order]
    for simulation in (one, two):
        simulation.step(3)
    assert one.state == two.state
