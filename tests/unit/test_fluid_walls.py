"""Walls in the density of a fluid: lattices, gradients, edges and corners, thin plates, momentum, threads."""

import warnings
from typing import Any

import numpy as np
import pytest
import trimesh

import shinari as sn
from shinari.compute import Program
from shinari.compute.threads import processors
from shinari.systems.fluid import boundary_points, thin_walls, walls
from shinari.systems.fluid.smoothing import POLY6, SPIKY, SPLINE, Smoothing
from shinari.systems.fluid.system import Fluid
from shinari.systems.fluid.wall_kernels import Clearances
from shinari.systems.fluid.wall_table import PUSH, SHARE, missing, overlap_factor, wall_table

SAMPLINGS = [(k, d, h) for k in (SPIKY, SPLINE, POLY6) for d in (2, 3) for h in (2.0, 2.5, 3.0)]
SPACING = 0.02


def lattice(*counts, spacing=SPACING):
    """Points of a lattice in the middle of its cells, centred on the origin."""
    axes = [(np.arange(n) - 0.5 * (n - 1)) * spacing for n in counts]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def tank(counts, *, precision="float64", spacing=SPACING, rotation=(1.0, 0.0, 0.0, 0.0), **sampling):
    """A box that is exactly full."""
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    fluid = scene.add_fluid(lattice(*counts, spacing=spacing), spacing=spacing, rotation=rotation, **sampling)
    scene.add_collider(sn.Box(tuple(n * spacing for n in counts), inside=True), rotation=rotation)
    return sn.Simulation(scene, precision=precision, threads=1), fluid


def hollow_box(inner, outer):
    """A box with thick walls as a mesh: the faces inside look inwards."""
    box = trimesh.creation.box((1.0, 1.0, 1.0))
    vertices, faces = np.array(box.vertices), np.array(box.faces)
    return sn.Mesh(
        np.concatenate([outer * vertices, inner * vertices]), np.concatenate([faces, faces[:, ::-1] + len(vertices)])
    )


@pytest.mark.parametrize(("kernel", "dimensions", "support"), SAMPLINGS)
def test_each_layer_of_a_lattice_sees_what_it_misses(kernel, dimensions, support):
    smoothing = Smoothing(kernel, dimensions, SPACING, support * SPACING)
    table = wall_table(smoothing)
    distances = np.linspace(-smoothing.support, smoothing.support, table.shape[1])
    for layer in range(4):
        at = (layer + 0.5) * SPACING
        assert np.interp(at, distances, table[SHARE]) == pytest.approx(missing(smoothing, at), abs=1e-3)
    assert np.interp(0.5 * SPACING, distances, table[SHARE]) == pytest.approx(missing(smoothing, 0.5 * SPACING), 1e-3)
    assert (np.diff(table[SHARE]) <= 0.0).all()
    assert table[SHARE, -1] == 0.0
    # the mean density over all places in the lattice, brought to the layer half a spacing away
    at_rest = smoothing.volume / SPACING**dimensions
    assert table[SHARE, 0] == pytest.approx(at_rest, rel=0.09 if kernel == SPIKY else 0.04)


@pytest.mark.parametrize(("kernel", "dimensions", "support"), [s for s in SAMPLINGS if s[0] != POLY6])
def test_push_is_the_slope_of_the_share(kernel, dimensions, support):
    smoothing = Smoothing(kernel, dimensions, SPACING, support * SPACING)
    table = wall_table(smoothing)
    step = 2.0 * smoothing.support / (table.shape[1] - 1)
    slope = -np.gradient(table[SHARE], step)
    outside = slice(table.shape[1] // 2, None)
    # second differences of a table of 257 entries
    assert np.abs(slope - table[PUSH])[outside].max() < 2e-3 * table[PUSH].max()


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(("kernel", "support"), [("poly6", 2.0), ("spiky", 2.0), ("cubic-spline", 2.6)])
def test_full_tank_has_density_one_also_in_edges_and_corners(kernel, support, precision):
    sim, fluid = tank((8, 7, 6), kernel=kernel, support=support, precision=precision)
    assert np.abs(sim.densities(fluid) / 1000.0 - 1.0).max() < 0.006


def test_full_tank_in_two_dimensions():
    sim, fluid = tank((9, 7, 1), dimensions=2)
    assert np.abs(sim.densities(fluid) / 1000.0 - 1.0).max() < 0.006


def test_turned_tank_and_tank_of_planes_and_of_a_mesh_see_the_same():
    counts = (6, 6, 6)
    half = 3 * SPACING
    rotation = (np.cos(0.3), 0.0, 0.6 * np.sin(0.3), 0.8 * np.sin(0.3))
    turned, fluid = tank(counts, rotation=rotation)
    assert np.abs(turned.densities(fluid) / 1000.0 - 1.0).max() < 0.006

    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    fluid = scene.add_fluid(lattice(*counts), spacing=SPACING)
    for axis in range(3):
        for side in (-1.0, 1.0):
            x, y, z = side * np.eye(3)[axis]
            scene.add_collider(sn.Plane((x, y, z), -half))
    sim = sn.Simulation(scene, precision="float64", threads=1)
    assert np.abs(sim.densities(fluid) / 1000.0 - 1.0).max() < 0.006

    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    fluid = scene.add_fluid(lattice(*counts), spacing=SPACING)
    scene.add_collider(hollow_box(2.0 * half, 8.0 * half))
    sim = sn.Simulation(scene, precision="float64", threads=1)
    assert np.abs(sim.densities(fluid) / 1000.0 - 1.0).max() < 0.02


@pytest.mark.parametrize("thickness", [0.02, 0.5, 1.0, 3.0])
def test_plate_between_two_fluids_counts_as_thick_as_it_is(thickness):
    """Behind a thin plate the fluid on the other side is seen; what is behind must not count twice."""
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    points = lattice(12, 6, 12)
    apart = (3.0 + 0.5 * thickness) * SPACING
    way = np.array([0.0, apart, 0.0])
    both = np.concatenate([points + way, points - way])
    fluid = scene.add_fluid(both, spacing=SPACING)
    scene.add_collider(sn.Box((1.0, thickness * SPACING, 1.0)))
    sim = sn.Simulation(scene, precision="float64", threads=1)
    inner = (np.abs(both[:, [0, 2]]) < 3.0 * SPACING).all(axis=1) & (np.abs(both[:, 1]) < apart + SPACING)
    # the layers of the other side are not where the ghosts behind the plate would be: 3 % of the density at most
    assert np.abs(sim.densities(fluid)[inner] / 1000.0 - 1.0).max() < 0.03


@pytest.mark.parametrize("shape", ["corner", "sphere", "box edge"])
def test_pulls_are_the_gradient_of_the_density(shape):
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    if shape == "corner":
        point = np.array([0.018, 0.012, 0.021])
        scene.add_collider(sn.Box((0.4, 0.4, 0.4), inside=True), position=(0.2, 0.2, 0.2))
    elif shape == "sphere":
        point = np.array([0.1, 0.05, 0.02])
        scene.add_collider(sn.Sphere(float(np.linalg.norm(point)) - 0.013))
    else:
        point = np.array([0.05, 0.113, 0.03])
        scene.add_collider(sn.Box((0.2, 0.2, 0.2)))
    scene.add_fluid(point[None], spacing=SPACING)
    sim = sn.Simulation(scene, precision="float64", threads=1)
    fluid = sim._bound.get(Fluid)
    assert fluid is not None
    fluid.measured(1)
    gather = Program()
    fluid.boundaries[0].record_gather(gather, False)
    pull = fluid.rows.gradient[0].copy()

    step = 1e-5
    slope = np.zeros(3)
    for axis in range(3):
        sums = []
        for side in (-step, step):
            fluid.rows.x[0, axis] += side
            fluid.rows.density[:], fluid.rows.gradient[:] = 0.0, 0.0
            gather.run()
            sums.append(fluid.rows.density[0])
            fluid.rows.x[0, axis] -= side
        slope[axis] = (sums[1] - sums[0]) / (2.0 * step)
    # linear interpolation in a table of 257 entries
    assert np.abs(slope - pull).max() < 0.02 * np.abs(pull).max()
    assert np.abs(pull).max() > 0.1 / SPACING


def test_walls_at_a_right_angle_share_what_the_lattice_says():
    smoothing = Smoothing(SPLINE, 3, SPACING, 2.0 * SPACING)
    points = smoothing.lattice()
    corner = (points[:, :2] < 0.0).all(axis=1)
    q2 = (points[corner] ** 2).sum(axis=1) / smoothing.support**2
    left = np.maximum(1.0 - np.sqrt(q2), 0.0)
    near = np.maximum(0.5 - np.sqrt(q2), 0.0)
    exact = (2.0 * left**3 - 8.0 * near**3).sum() * smoothing.weight_scale
    assert overlap_factor(smoothing) * missing(smoothing, 0.5 * SPACING) ** 2 == pytest.approx(exact)


def drop_on_a_box(precision, count=4, **body):
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    points = lattice(count, count, count) + np.array([0.03, 0.1, -0.01])
    fluid = scene.add_fluid(points, spacing=SPACING, velocity=(0.0, -1.0, 0.0))
    box = scene.add_rigid_body(sn.Box((0.16, 0.08, 0.16)), **body)
    return sn.Simulation(scene, dt=1 / 120, substeps=4, iterations=3, precision=precision), fluid, box


@pytest.mark.parametrize(("precision", "allowed"), [("float64", 1e-11), ("float32", 3e-5)])
def test_a_drop_and_a_free_box_keep_their_momentum(precision, allowed):
    sim, _, _ = drop_on_a_box(precision, density=300.0)
    momentum, angular = sim.momentum(), sim.angular_momentum()
    sim.step(30)
    scale = np.linalg.norm(momentum)
    assert np.abs(sim.momentum() - momentum).max() < allowed * scale
    # between the particles pushes act along lines that have moved since the substep began
    assert np.abs(sim.angular_momentum() - angular).max() < 0.01 * np.linalg.norm(angular)
    assert sim.state.body_velocities[0, 1] < -0.02
    assert np.abs(sim.state.body_angular_velocities[0]).max() > 0.1


def test_one_particle_and_a_free_box_keep_their_angular_momentum():
    sim, _, _ = drop_on_a_box("float64", count=1, density=200.0)
    momentum, angular = sim.momentum(), sim.angular_momentum()
    sim.step(30)
    assert np.abs(sim.state.body_angular_velocities[0]).max() > 1e-3
    assert np.abs(sim.momentum() - momentum).max() < 1e-14
    assert np.abs(sim.angular_momentum() - angular).max() < 1e-15


def test_the_body_reads_the_push_that_changes_its_momentum():
    sim, fluid, box = drop_on_a_box("float64", density=300.0)
    for _ in range(12):
        before = sim.state.body_velocities[0].copy()
        sim.step()
        change = 300.0 * 0.16 * 0.08 * 0.16 * (sim.state.body_velocities[0] - before)
        assert sim.forces(box) / 120.0 == pytest.approx(change, abs=1e-9)
        assert sim.forces(fluid) == pytest.approx(-sim.forces(box), abs=1e-9)


def test_ignored_walls_do_not_count():
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    fluid = scene.add_fluid(lattice(6, 6, 6), spacing=SPACING)
    wall = scene.add_collider(sn.Plane((0.0, 1.0, 0.0), -3 * SPACING))
    scene.ignore_contact(fluid, wall)
    sim = sn.Simulation(scene, precision="float64", threads=1)
    densities = sim.densities(fluid)
    assert densities.min() == pytest.approx(densities[np.abs(densities - densities.min()) < 1e-6].mean())
    bottom = lattice(6, 6, 6)[:, 1] < -2.1 * SPACING
    top = lattice(6, 6, 6)[:, 1] > 2.1 * SPACING
    assert np.sort(densities[bottom]) == pytest.approx(np.sort(densities[top]))


@pytest.mark.skipif(processors() < 2, reason="there is one processor")
def test_same_bits_on_any_number_of_threads():
    states = []
    for threads in (1, 2):
        scene = sn.Scene()
        scene.add_fluid(lattice(14, 14, 14), spacing=SPACING)
        scene.add_collider(sn.Box((0.34, 0.6, 0.34), inside=True), position=(0.0, 0.15, 0.0))
        scene.add_collider(sn.Sphere(0.06), position=(0.21, -0.1, 0.1))
        scene.add_rigid_body(sn.Box((0.08, 0.04, 0.08)), density=400.0, position=(0.0, 0.165, 0.0))
        sim = sn.Simulation(scene, dt=1 / 120, substeps=2, threads=threads)
        sim.step(10)
        states.append(sim.state.copy())
    assert states[0] == states[1]


def test_what_is_remembered_of_meshes_changes_no_bit():
    states = []
    for remembers in (True, False):
        scene = sn.Scene()
        scene.add_fluid(lattice(10, 14, 10), spacing=SPACING, velocity=(0.5, 0.0, 0.2))
        scene.add_collider(hollow_box(0.3, 0.6))
        sim = sn.Simulation(scene, dt=1 / 120, substeps=2, threads=1)
        fluid = sim._bound.get(Fluid)
        assert fluid is not None
        walls: Any = fluid.boundaries[0]
        assert len(walls.clearances) == 1400
        if not remembers:
            walls.clearances = Clearances.zeros(0)
        sim.step(12)
        states.append(sim.state.copy())
    assert states[0] == states[1]
    assert np.abs(states[0].positions).max() < 0.15


def poured(monkeypatch, module: Any, name: str, value: float, boundary: str) -> tuple[Any, np.ndarray]:
    """State and forces of a small pool with a ball that moves through it, with another constant of a module."""
    monkeypatch.setattr(module, name, value)
    scene = sn.Scene()
    scene.add_fluid(lattice(5, 4, 5), spacing=SPACING, velocity=(0.5, 0.0, 0.2), boundary=boundary)
    tank = scene.add_collider(sn.Box((0.1, 0.16, 0.1), inside=True), position=(0.0, 0.04, 0.0))
    scene.add_collider(sn.Sphere(0.02), motion=lambda time: (0.01, 0.07 - time, 0.0))
    sim = sn.Simulation(scene, dt=1 / 120, substeps=4, precision="float64", threads=1)
    sim.step(6)
    return sim.state.copy(), sim.forces(tank)


def test_planes_of_items_stand_one_after_the_other():
    """Particles in the corners of the tank and at the ball see more planes than others, and none of them is lost."""
    scene = sn.Scene()
    scene.add_fluid(lattice(5, 4, 5), spacing=SPACING)
    scene.add_collider(sn.Box((0.1, 0.16, 0.1), inside=True), position=(0.0, 0.04, 0.0))
    scene.add_collider(sn.Sphere(0.02), position=(0.0, 0.07, 0.0))
    sim = sn.Simulation(scene, dt=1 / 120, substeps=2, threads=1)
    sim.step(3)
    fluid = sim._bound.get(Fluid)
    assert fluid is not None
    known: Any = fluid.boundaries[0]
    number, room = int(known._lists.items[0]), int(known._lists.room[0])
    first, count = known._items.first[:number].astype(int), known._items.count[:number].astype(int)
    assert (first + count <= np.append(first[1:], room)).all()
    assert room <= len(known._planes)
    assert count.min() < 3 <= count.max()
    # no two planes of a particle are the same
    for at, planes in zip(first, count, strict=True):
        rows = np.column_stack([known._planes.solid[at : at + planes], known._planes.plane[at : at + planes, :4]])
        assert len(np.unique(rows, axis=0)) == planes


@pytest.mark.parametrize(("module", "boundary"), [(walls, "walls"), (boundary_points, "particles")])
def test_forces_add_up_over_lists_that_are_made_anew(monkeypatch, module, boundary):
    """Impulses are kept: lists that are made in each substep give the forces of lists that last."""
    lasting, fresh = (poured(monkeypatch, module, "STRAY", stray, boundary) for stray in (module.STRAY, -1.0))
    assert np.abs(lasting[1]).max() > 0.1
    np.testing.assert_allclose(fresh[1], lasting[1], rtol=1e-3, atol=1e-3 * np.abs(lasting[1]).max())


@pytest.mark.parametrize("thick", [1.0, 2.5, 3.0, 6.0])
def test_a_warning_tells_of_walls_that_a_fluid_seeps_through(thick):
    scene = sn.Scene()
    fluid = scene.add_fluid(lattice(4, 4, 4), spacing=SPACING)
    scene.add_collider(hollow_box(0.2, 0.2 + 2.0 * thick * SPACING), name="tank")
    aside = scene.add_collider(hollow_box(0.2, 0.21), name="aside")
    scene.ignore_contact(fluid, aside)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        thin_walls.warn_of_thin_walls(scene, scene.particle_objects)
    assert len(told) == (1 if thick < 3.0 else 0)
    assert all("'tank': its walls are" in str(each.message) for each in told)
