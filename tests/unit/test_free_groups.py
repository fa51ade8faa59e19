"""Objects with stress of their own do not begin to turn, and are left alone where something holds them."""

import numpy as np
import pytest
import trimesh

import shinari as sn
from shinari.systems.free_groups.build import joined
from shinari.systems.free_groups.system import SpinStart

BOTH = pytest.mark.parametrize("precision", ["float32", "float64"])
GRID = sn.grid(shape=(11, 11), size=(0.4, 0.4))


def banded(scene):
    """A sheet with an elastic band along two of its sides."""
    scene.add_cloth(GRID, sewing=[sn.ElasticBand([*range(11), *range(21, 121, 11)], ratio=0.7, stiffness=50.0)])


def frustrated(scene):
    """A sheet whose rest shape does not lie flat."""
    x = np.asarray(GRID[0])[:, [0, 2]]
    scene.add_cloth(GRID, rest=x * (1.0 + np.hypot(*x.T)[:, None]), material=sn.ClothMaterial(bend_stiffness=1e-3))


def membrane(scene):
    """The same with strain rows."""
    x = np.asarray(GRID[0])[:, [0, 2]]
    material = sn.ClothMaterial(bend_stiffness=1e-3, stretch_model="strain")
    scene.add_cloth(GRID, rest=x * (1.0 + np.hypot(*x.T)[:, None]), material=material)


def inflated_solid(scene):
    solid = scene.add_soft_body(sn.lattice((4, 4, 4), 0.05), material=sn.SoftMaterial(poissons_ratio=0.3))
    scene.add_volume(solid, ratio=1.3)


def tensegrity(scene):
    """A prism of three struts and nine cables."""
    turns = np.arange(3) * 2 * np.pi / 3
    rings = [0.3 * np.stack([np.cos(a), np.full(3, y), np.sin(a)], 1) for a, y in ((turns, 0), (turns + 2.6, 1.5))]
    points = scene.add_particles(np.concatenate(rings))
    x = np.asarray(scene.positions)
    across = sorted(
        ((i, 3 + j) for i in range(3) for j in range(3)), key=lambda pair: np.linalg.norm(x[pair[0]] - x[pair[1]])
    )
    cables = np.array([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), *across[:6]])
    lengths = np.linalg.norm(x[cables[:, 0]] - x[cables[:, 1]], axis=1)
    scene.add_constraint("distance", cables, compliance=1e-4, rest_length=0.8 * lengths)
    scene.add_constraint("distance", np.array(across[6:]), compliance=1e-5)
    assert points.particles.stop == 6


def two_balloons(scene):
    mesh = trimesh.creation.icosphere(subdivisions=3, radius=0.3)
    first, second = (scene.add_cloth(mesh, position=(0.62 * k, 0, 0)) for k in range(2))
    scene.add_volume(first, ratio=1.1)
    scene.add_volume(second, ratio=1.1)
    ends = int(np.argmax(mesh.vertices[:, 0])), int(np.argmin(mesh.vertices[:, 0]))
    scene.attach((first, ends[0]), (second, ends[1]))


def speed_of_rotation(sim):
    """[rad/s], of all particles about their centre."""
    m = np.concatenate([obj.masses for obj in sim.scene.particle_objects])
    x, v = (np.asarray(each, np.float64) for each in (sim.state.positions, sim.state.velocities))
    x, v = (each - np.average(each, axis=0, weights=m) for each in (x, v))
    moment = (m[:, None] * np.cross(x, v)).sum(axis=0)
    inertia = np.einsum("i,ijk->jk", m, (x**2).sum(axis=1)[:, None, None] * np.eye(3) - x[:, :, None] * x[:, None])
    return float(np.linalg.norm(np.linalg.solve(inertia, moment)))


@BOTH
@pytest.mark.parametrize("substeps", [10, 40])
@pytest.mark.parametrize("add", [banded, frustrated, membrane, inflated_solid, tensegrity, two_balloons])
def test_it_does_not_turn_by_itself(add, substeps, precision):
    scene = sn.Scene(gravity=(0, 0, 0), damping=1.0)
    add(scene)
    sim = sn.Simulation(scene, substeps=substeps, precision=precision)
    sim.step(60)
    # single precision: roundings of places, 3e-8 m in each substep
    assert speed_of_rotation(sim) < (1e-3 if precision == "float64" else 0.1)


@pytest.mark.parametrize("sweep", ["gauss-seidel", "jacobi"])
@pytest.mark.parametrize("iterations", [1, 3])
def test_it_keeps_its_spin(iterations, sweep):
    scene = sn.Scene(gravity=(0, 0, 0))
    banded(scene)
    sim = sn.Simulation(scene, iterations=iterations, sweep=sweep, precision="float64")
    sim.state.velocities = np.cross([1.0, 3.0, -2.0], np.asarray(sim.state.positions))
    before = sim.angular_momentum()
    sim.step(60)
    assert np.linalg.norm(sim.angular_momentum() - before) < 2e-3 * np.linalg.norm(before)


def hung(scene, kind):
    """A balloon that is held at its top: by a pin, by a place, on a rope, or by a body that is as light as it is."""
    mesh = trimesh.creation.icosphere(subdivisions=3, radius=0.2)
    skin, top = scene.add_cloth(mesh), int(np.argmax(mesh.vertices[:, 1]))
    scene.add_volume(skin, ratio=1.1)
    end = mesh.vertices[top]
    if kind == "pin":
        skin.pin([top])
    elif kind == "place":
        scene.attach((skin, top), tuple(end))
    elif kind == "rope":
        rope = scene.add_rope(np.linspace(end, np.add(end, (0, 0.5, 0)), 20))
        scene.attach((rope, 0), (skin, top))
        rope.pin([19])
    else:
        scene.attach((skin, top), scene.add_rigid_body(sn.Sphere(0.05), mass=0.05, position=np.add(end, (0, 0.05, 0))))
    return skin


@BOTH
@pytest.mark.parametrize("kind", ["pin", "place", "rope", "body"])
def test_it_does_not_turn_about_what_it_hangs_on(kind, precision):
    scene = sn.Scene(gravity=(0, 0, 0) if kind == "body" else (0, -9.81, 0))
    skin = hung(scene, kind)
    sim = sn.Simulation(scene, precision=precision, substeps=40)
    sim.step(60)
    x, v = (np.asarray(each(skin), np.float64) for each in (sim.positions, sim.velocities))
    x, v = x - x.mean(axis=0), v - v.mean(axis=0)
    about_vertical = (x[:, 2] * v[:, 0] - x[:, 0] * v[:, 2]).sum() / (x[:, 0] ** 2 + x[:, 2] ** 2).sum()
    assert abs(about_vertical) < 0.1
    if kind == "body" and precision == "float64":
        assert np.linalg.norm(sim.momentum()) < 1e-9


def taking_part(sim):
    sim.step()
    return any(isinstance(system, SpinStart) for system in sim._run.bound.systems)


def test_pins_hold_it_and_let_it_go():
    scene = sn.Scene()
    banded(scene)
    sim = sn.Simulation(scene)
    assert taking_part(sim)
    sim.pin("cloth", [60])
    assert taking_part(sim)
    sim.pin("cloth", [3])
    assert not taking_part(sim)
    sim.unpin("cloth", [60, 3])
    assert taking_part(sim)


def test_rows_of_the_user_may_hold_a_direction():
    """A row that turns a balloon upright has a moment about it, which stays."""

    @sn.function
    def evaluate(x, p):
        """Keeps two points level along a direction."""
        c = (x[0][0] - x[1][0]) * p[0] + (x[0][1] - x[1][1]) * p[1] + (x[0][2] - x[1][2]) * p[2]
        return c, ((p[0], p[1], p[2]), (-p[0], -p[1], -p[2]))

    sn.register("level", points=2, parameters=[("direction", 3)], evaluate=evaluate)
    mesh = trimesh.creation.icosphere(subdivisions=2, radius=0.3)
    scene = sn.Scene(gravity=(0, 0, 0), damping=2.0)
    scene.add_volume(scene.add_cloth(mesh))
    ends = [int(np.argmax(mesh.vertices @ [0.5, 1.0, 0.0])), int(np.argmin(mesh.vertices @ [0.5, 1.0, 0.0]))]
    scene.add_constraint("level", [ends], direction=[1, 0, 0], compliance=1e-2)
    sim = sn.Simulation(scene)
    sim.step(240)
    x = np.asarray(sim.state.positions)
    assert abs(x[ends[0], 0] - x[ends[1], 0]) < 0.02


def test_what_has_lost_a_row_is_left_alone():
    scene = sn.Scene(gravity=(0, 0, 0))
    points = scene.add_particles([[0, 0, 0], [1, 0, 0], [2, 0, 0]], velocity=[[0, 1, 0], [0, 0, 0], [0, 0, 0]])
    scene.add_constraint("distance", [[0, 1]], rest_length=0.9)
    scene.attach((points, 1), (points, 2), break_force=0.1)
    sim = sn.Simulation(scene)
    assert taking_part(sim)
    sim.step(30)
    assert not taking_part(sim)


def test_objects_at_rest_are_solved_as_before():
    scene = sn.Scene()
    first, second = (scene.add_cloth(GRID, rest=rest, position=(0, y, 0)) for y, rest in ((0, None), (1, GRID)))
    scene.attach((first, 0), (second, 0))
    scene.add_soft_body(sn.lattice((2, 2, 2), 0.1), position=(2, 0, 0))
    assert not taking_part(sn.Simulation(scene))


def test_joined_names_sets_by_their_least_member():
    generator = np.random.default_rng(1)
    chain = generator.permutation(1000)
    names = joined(1003, [np.stack([chain[:-1], chain[1:]], axis=1), np.array([[1001, 1000, 1002]])])
    np.testing.assert_array_equal(names, [0] * 1000 + [1000] * 3)
    np.testing.assert_array_equal(joined(3, []), [0, 1, 2])
