"""Points of solids and particles of others in fluids: lists and sums against brute force, densities, momentum."""

from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.compute import Program
from shinari.scene.fluid_material import SMOOTHING_KERNELS
from shinari.systems.fluid.boundary_carriers import layer_volumes, plane_sum
from shinari.systems.fluid.boundary_lists import BoundaryPoints, PointLists
from shinari.systems.fluid.records import FluidParticles, Solve
from shinari.systems.fluid.smoothing import Smoothing, weight
from shinari.systems.fluid.system import Fluid

SPACING = 0.05
POINTS = {"spacing": SPACING, "boundary": "particles"}


def lattice(*counts: int) -> np.ndarray:
    """Points of a lattice whose cells fill a box with its low corner at the origin."""
    steps = [np.arange(n) + 0.5 for n in counts]
    return SPACING * np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1).reshape(-1, 3)


def tank(scene: sn.Scene, *counts: int) -> object:
    """A container for a lattice, twice as high."""
    size = SPACING * np.array(counts) * [1.0, 2.0, 1.0]
    return scene.add_collider(sn.Box(tuple(size), inside=True), position=tuple(0.5 * size))


def momenta(sim: sn.Simulation) -> tuple[np.ndarray, np.ndarray]:
    """Linear and angular momentum."""
    return sim.momentum(), sim.angular_momentum()


@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("threads", [1, 2])
def test_lists_hold_every_pair_once_from_both_sides(real: type, threads: int) -> None:
    rng = np.random.default_rng(3)
    at = rng.uniform(-1.0, 1.0, (400, 3)).astype(real)
    x = np.zeros((500, 4), real)
    # far outside of where the points are, and on their negative side
    x[:, :3] = rng.uniform(-1.5, 1.5, (500, 3))
    x[:20, :3] += 40.0
    phases, kinds = rng.integers(0, 2, 500).astype(np.uint8), rng.integers(0, 3, 400).astype(np.uint32)
    owners = np.sort(rng.integers(0, 7, 400)).astype(np.uint32)
    ignored = np.array([[0, 1, 0], [0, 0, 1]], np.uint8)
    points, fluid, solve = BoundaryPoints.zeros(400, real), FluidParticles.zeros(500, real), Solve.zeros(1)
    points.at[...], points.owner[...], points.kind[...] = at, owners, kinds
    fluid.x[...], fluid.phase[...], solve.count[0] = x, phases, 500
    lists = PointLists(points, fluid, solve, ignored, 0.3, True)
    program = Program()
    lists.record_sort(program)
    lists.record_find(program)
    assert program.run(threads)
    pairs, entries = lists.pairs, lists.entries
    close = ((x[:, None, :3] - at[None]) ** 2).sum(axis=2) < real(0.3) ** 2
    expected = close & (ignored[phases][:, kinds] == 0)
    found = np.zeros_like(expected)
    for i in range(500):
        mine = slice(lists.offsets.start[i], lists.offsets.start[i + 1])
        found[i, entries.point[mine]] = True
        assert (pairs.place[entries.pair[mine]] == i).all()
        assert (pairs.owner[entries.pair[mine]] == owners[entries.point[mine]]).all()
    assert np.array_equal(found, expected)
    assert lists.state.entries[0] == expected.sum() == lists.theirs.start[-1]
    assert lists.state.pairs[0] == sum(len(np.unique(owners[row])) for row in expected)
    for b in range(400):
        theirs = lists.transposed.entry[lists.theirs.start[b] : lists.theirs.start[b + 1]]
        assert (entries.point[theirs] == b).all()
        assert sorted(pairs.place[entries.pair[theirs]]) == np.flatnonzero(expected[:, b]).tolist()


@pytest.mark.parametrize("support", [1.5, 2.0, 2.5, 3.0])
@pytest.mark.parametrize("kernel", range(len(SMOOTHING_KERNELS)))
def test_one_plane_layer_stands_for_the_half_space_beyond(kernel: int, support: float) -> None:
    smoothing = Smoothing(kernel, 3, SPACING, support * SPACING)
    steps = SPACING * np.arange(-8, 9)
    layer = np.stack(np.meshgrid(steps, [0.0], steps, indexing="ij"), axis=-1).reshape(-1, 3)
    volumes = layer_volumes(layer, smoothing)
    middle = (np.abs(layer) < 4.5 * SPACING).all(axis=1)
    layers = [plane_sum(smoothing, k) for k in range(4)]
    # what is missing to the first layer of a lattice, one spacing away
    q2 = (layer**2).sum(axis=1) / smoothing.support**2 + (SPACING / smoothing.support) ** 2
    share = volumes @ [float(weight.py_func(kernel, q)) for q in q2]
    assert share == pytest.approx(sum(layers[1:]), rel=1e-12)
    assert volumes[middle] == pytest.approx(sum(layers[1:]) / layers[1], rel=1e-12)


@pytest.mark.parametrize("kernel", SMOOTHING_KERNELS)
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_lattice_in_a_box_of_points_has_its_rest_density(kernel: str, precision: str) -> None:
    scene, counts = sn.Scene(), (8, 6, 7)
    fluid = scene.add_fluid(lattice(*counts), **{**POINTS, "kernel": kernel})
    tank(scene, *counts)
    densities = sn.Simulation(scene, precision=precision).densities(fluid) / 1000.0
    covered = lattice(*counts)[:, 1] < SPACING * 5
    # points in edges and corners see more of each other than those of a plane, and count a little less
    assert densities[covered] == pytest.approx(1.0, abs=0.03)
    inner = covered & (np.abs(lattice(*counts) - SPACING * np.array([4.0, 3.0, 3.5])) < SPACING * 2).all(axis=1)
    assert densities[inner] == pytest.approx(1.0, rel=1e-5)


def test_sums_and_pushes_are_those_of_all_pairs() -> None:
    rng = np.random.default_rng(5)
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    cloud = lattice(4, 5, 4) + rng.uniform(-0.2, 0.2, (80, 3)) * SPACING
    fluid = scene.add_fluid(cloud, **POINTS)
    others = rng.uniform(0.0, 0.25, (30, 3))
    scene.add_particles(others, mass=0.1, radius=0.02)
    sim = sn.Simulation(scene, precision="float64")
    smoothing = sim._bound.get(Fluid).model.smoothing

    def total(points: np.ndarray, volume: float) -> np.ndarray:
        q2 = ((cloud[:, None] - points[None]) ** 2).sum(axis=2) / smoothing.support**2
        return volume * np.vectorize(lambda q: float(weight.py_func(smoothing.kernel_id, q)))(q2).sum(axis=1)

    expected = (total(cloud, 1.0) + total(others, (0.04 / SPACING) ** 3)) * smoothing.weight_scale
    assert sim.densities(fluid) / 1000.0 == pytest.approx(expected, rel=1e-9)
    before = momenta(sim)[0]
    sim.step()
    assert float(np.abs(sim.state.velocities).max()) > 0.01
    assert momenta(sim)[0] == pytest.approx(before, abs=1e-12)


@pytest.mark.parametrize("body", ["body", "lump"])
def test_what_a_drop_gives_to_a_body_it_loses(body: str) -> None:
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    # particles too far from each other to meet: only pairs with the body, whose angular momentum is kept too
    drop = np.array([[-0.1, 0.22, -0.04], [0.05, 0.24, 0.03], [0.15, 0.25, -0.1]])
    scene.add_fluid(drop, **POINTS, velocity=(0.0, -3.0, 0.5), material=sn.FluidMaterial(xsph=0.0))
    if body == "body":
        scene.add_rigid_body(sn.Box((0.4, 0.3, 0.3)), density=500.0)
    else:
        scene.add_shape_matched(lattice(8, 6, 6) - [0.2, 0.15, 0.15], density=500.0, spacing=SPACING)
    sim = sn.Simulation(scene, substeps=4, precision="float64")
    before = momenta(sim)
    met = False
    for _ in range(5):
        sim.step()
        met = met or bool(sim.contacts().forces.any())
    after = momenta(sim)
    assert met
    given = len(drop) * 1000.0 * SPACING**3 * 3.0
    assert after[0] == pytest.approx(before[0], abs=1e-9 * given)
    # a push between two particles points from one to the other; their arms are those of the start of the substep
    off = 1e-9 if body == "body" else 3.0 * sim.settings.substep
    assert after[1] == pytest.approx(before[1], abs=off * given)


def test_a_column_stands_on_points_and_weighs_on_them() -> None:
    scene, counts = sn.Scene(), (6, 10, 6)
    fluid = scene.add_fluid(lattice(*counts), **POINTS)
    floor = tank(scene, *counts)
    sim = sn.Simulation(scene, substeps=5, precision="float64")
    sim.step(60)
    forces = []
    for _ in range(30):
        sim.step()
        forces.append(sim.forces(floor).force if hasattr(sim.forces(floor), "force") else sim.forces(floor))
    weight_of_all = float(np.prod(counts)) * 1000.0 * SPACING**3 * 9.81
    assert np.mean(forces, axis=0) == pytest.approx([0.0, -weight_of_all, 0.0], abs=0.02 * weight_of_all)
    heights = np.sort(sim.positions(fluid)[:, 1]).reshape(counts[1], -1).mean(axis=1) / SPACING
    assert heights[:3] == pytest.approx([0.5, 1.5, 2.5], abs=0.08)


@pytest.mark.parametrize("kind", ["body", "lump"])
def test_a_box_of_half_the_density_floats_half_immersed(kind: str) -> None:
    scene, counts, edge = sn.Scene(), (12, 8, 12), 6 * SPACING
    bottom = SPACING * 5
    x = lattice(*counts)
    centre = np.array([SPACING * 6, bottom + 0.5 * edge, SPACING * 6])
    x = x[(np.abs(x - centre) > 0.5 * edge).any(axis=1)]
    liquid = scene.add_fluid(x, **POINTS)
    tank(scene, *counts)
    if kind == "body":
        floating = scene.add_rigid_body(sn.Box((edge,) * 3), density=500.0, position=centre)
    else:
        points = lattice(6, 6, 6) - 0.5 * edge
        floating = scene.add_shape_matched(points, density=500.0, spacing=SPACING, position=centre)
    sim = sn.Simulation(scene, substeps=5)
    draughts, forces = [], []
    for step in range(90):
        sim.step()
        height = sim.positions(floating)[:, 1].mean() if kind == "lump" else sim.state.body_positions[0, 1]
        if step >= 45:
            fluid = sim.positions(liquid)
            away = fluid[(np.abs(fluid - centre)[:, [0, 2]] > 0.5 * edge + SPACING).any(axis=1)]
            columns = np.floor(away[:, [0, 2]] / SPACING).astype(int) @ [1000, 1]
            tops = [away[columns == column, 1].max() for column in np.unique(columns)]
            level = np.median(tops) + 0.5 * SPACING
            draughts.append((level - height) / edge + 0.5)
            force = sim.forces(floating)
            forces.append(np.asarray(getattr(force, "force", force)).reshape(-1, 3).sum(axis=0)[1])
    assert np.mean(draughts) == pytest.approx(0.5, rel=0.1)
    assert np.mean(forces) == pytest.approx(500.0 * edge**3 * 9.81, rel=0.1)


def test_heavy_grains_sink_and_light_ones_rise() -> None:
    scene, counts = sn.Scene(), (8, 8, 8)
    x = lattice(*counts)
    chosen = np.zeros(len(x), bool)
    for cell in ((2, 4, 2), (5, 4, 2), (2, 4, 5), (5, 4, 5)):
        chosen |= (np.abs(x - SPACING * (np.array(cell) + 0.5)) < 0.1 * SPACING).all(axis=1)
    scene.add_fluid(x[~chosen], **POINTS)
    tank(scene, *counts)
    heavy = scene.add_grains(x[chosen][:2], radius=0.5 * SPACING, material=sn.GrainMaterial(density=4000.0))
    light = scene.add_grains(x[chosen][2:], radius=0.5 * SPACING, material=sn.GrainMaterial(density=250.0))
    sim = sn.Simulation(scene, substeps=5)
    sim.step(40)
    assert (sim.positions(heavy)[:, 1] < SPACING * 3.0).all()
    assert (sim.positions(light)[:, 1] > SPACING * 6.0).all()


def busy_scene() -> sn.Scene:
    """A tank with a ball that comes down into the fluid, a box and a lump that float."""
    scene, counts = sn.Scene(), (14, 11, 14)
    scene.add_fluid(lattice(*counts), **POINTS)
    tank(scene, *counts)
    scene.add_collider(sn.Sphere(0.1), motion=descent)
    scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), density=300.0, position=(0.15, 0.68, 0.55))
    scene.add_shape_matched(lattice(3, 3, 3), density=700.0, spacing=SPACING, position=(0.45, 0.58, 0.45))
    scene.add_grains(lattice(4, 3, 4) * 0.3 + (0.3, 0.3, 0.1), radius=0.1 * SPACING)
    return scene


def descent(time: float) -> tuple[tuple[float, float, float], tuple[float, float, float, float]]:
    """Pose of the ball."""
    return (0.35, 0.7 - time, 0.35), (1.0, 0.0, 0.0, 0.0)


def test_one_and_two_threads_give_the_same_bits() -> None:
    states = []
    for threads in (1, 2):
        sim = sn.Simulation(busy_scene(), substeps=2, threads=threads)
        sim.step(4)
        states.append((sim.state.positions.copy(), sim.state.body_positions.copy(), sim.contacts().forces.copy()))
    for one, two in zip(*states, strict=True):
        assert np.array_equal(one, two)


def test_a_run_that_was_saved_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    scene = sn.Scene()
    scene.add_fluid(lattice(8, 6, 8), **POINTS)
    tank(scene, 8, 6, 8)
    scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), density=300.0, position=(0.15, 0.36, 0.15))
    scene.add_shape_matched(lattice(2, 2, 2), density=700.0, spacing=SPACING, position=(0.25, 0.32, 0.25))
    scene.add_grains(lattice(3, 3, 3) * 0.3 + (0.1, 0.1, 0.1), radius=0.1 * SPACING)
    sim = sn.Simulation(scene, substeps=2, threads=1)
    sim.step(3)
    sim.save(tmp_path / "run.npz")
    sim.step(2)
    again = sn.Simulation.load(tmp_path / "run.npz")
    again.step(2)
    assert np.array_equal(sim.state.positions, again.state.positions)
    assert np.array_equal(sim.state.body_positions, again.state.body_positions)


@pytest.mark.parametrize("ignores", [False, True])
def test_ignored_things_are_not_felt(ignores: bool) -> None:
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    fluid = scene.add_fluid(lattice(4, 4, 4), **POINTS)
    lump = scene.add_shape_matched(lattice(3, 3, 3), density=500.0, spacing=SPACING, position=(0.1, 0.1, 0.1))
    if ignores:
        scene.ignore_contact(fluid, lump)
    sim = sn.Simulation(scene)
    sim.step()
    assert bool(np.abs(sim.positions(lump) - lattice(3, 3, 3) - 0.1).max() > 1e-4) is not ignores


def test_a_solid_far_too_large_for_points_is_named() -> None:
    scene = sn.Scene()
    scene.add_fluid(lattice(2, 2, 2), **POINTS)
    scene.add_collider(sn.Box((1000.0, 1.0, 1000.0)), position=(0.0, -1.0, 0.0), name="ground")
    with pytest.raises(sn.SceneError, match=r"collider 'ground': .* give the fluid boundary=.walls."):
        sn.Simulation(scene)


def test_a_flat_fluid_has_no_particles_on_solids() -> None:
    scene = sn.Scene()
    scene.add_fluid(lattice(4, 4, 1), **POINTS, dimensions=2, name="water")
    with pytest.raises(sn.SceneError, match=r"fluid 'water': boundary: .* takes .walls."):
        sn.Simulation(scene)
