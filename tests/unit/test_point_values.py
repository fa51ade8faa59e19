"""Strains and forces at points against closed forms, and against finite differences of the rows themselves."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import shinari as sn
from shinari.constraints.registry import constraint_type
from shinari.geometry.tetrahedra.lattice import lattice
from shinari.io.frames import _at_points, frame_of, layout_of
from shinari.maths.strain import stretch_strain
from shinari.systems.rows.projection import measure

G = 9.81
PULL = 1.1


@pytest.mark.parametrize("width", [2, 3])
def test_stretch_strain_is_that_of_the_singular_values(width: int) -> None:
    random = np.random.default_rng(width)
    gradient = random.normal(size=(500, 3, width))
    stretches = np.linalg.svd(gradient, compute_uv=False)
    if width == 3:  # an inverted one: the least is negative
        stretches[np.linalg.det(gradient) < 0.0, 2] *= -1.0
    expected = np.sqrt(((stretches - 1.0) ** 2).sum(axis=1))
    assert np.allclose(stretch_strain(gradient), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("width", [2, 3])
@pytest.mark.parametrize("size", [1e-2, 1e-6, 1e-9])
def test_small_strains_keep_their_digits(width: int, size: float) -> None:
    random = np.random.default_rng(width)
    turns = np.linalg.qr(random.normal(size=(100, 3, 3)))[0]
    turns *= np.linalg.det(turns)[:, None, None]
    strain = random.normal(size=(100, width, width))
    strain = size * (strain + strain.transpose(0, 2, 1))
    gradient = turns[:, :, :width] @ (np.eye(width) + strain)
    # the gradient itself is rounded to 1e-16
    assert np.allclose(stretch_strain(gradient), np.linalg.norm(strain, axis=(1, 2)), rtol=1e-6, atol=1e-15)


def test_a_rotation_has_no_strain() -> None:
    turns = np.linalg.qr(np.random.default_rng(0).normal(size=(100, 3, 3)))[0]
    turns *= np.linalg.det(turns)[:, None, None]
    assert stretch_strain(turns).max() < 1e-14


@pytest.mark.parametrize("name", ["distance", "isometric_bend", "neo_hookean"])
def test_pulls_are_the_gradients_times_the_multipliers(name: str) -> None:
    """|sum_a lambda_a dC_a/dx_i| against central differences of C, which the same kernel measures."""
    kind, random, count = constraint_type(name), np.random.default_rng(0), 20
    rest = random.normal(size=(count, kind.points, 3))
    found = kind.rest(rest)
    columns = found if isinstance(found, tuple) else (found,)
    parameters = np.concatenate([np.reshape(column, (count, -1)) for column in columns], axis=1)
    x = np.ones((count * kind.points, 4))
    x[:, :3] = (rest + 0.1 * random.normal(size=rest.shape)).reshape(-1, 3)
    indices = np.arange(count * kind.points, dtype=np.uint32).reshape(count, kind.points)
    multipliers = random.normal(size=(count, kind.rows))

    def measured(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return measure(kind, indices, parameters, x, multipliers)

    step = 1e-5
    for point in range(kind.points):
        push = np.zeros((count, 3))
        for axis in range(3):
            ahead, behind = x.copy(), x.copy()
            ahead[point :: kind.points, axis] += step
            behind[point :: kind.points, axis] -= step
            push[:, axis] = ((measured(ahead)[0] - measured(behind)[0]) * multipliers).sum(axis=1) / (2.0 * step)
        assert np.allclose(measured(x)[1][:, point], np.linalg.norm(push, axis=1), rtol=1e-5, atol=1e-7)


def chain(count: int = 5) -> sn.Scene:
    """Masses of 1 kg below each other on springs of 1e-4 m/N and 0.5 m, one that lies apart."""
    scene = sn.Scene(damping=20.0)
    points = [[0.0, -0.5 * k, 0.0] for k in range(count)] + [[5.0, 0.0, 0.0]]
    scene.add_particles(points, mass=[0.0] + [1.0] * (count - 1) + [0.0])
    scene.add_constraint("distance", [[k, k + 1] for k in range(count - 1)], compliance=1e-4)
    return scene


def test_a_hanging_chain_carries_what_is_below() -> None:
    """The force in row k is that of the n masses below, m g n, its strain m g n alpha / L.

    At a particle there are the mean of the strains and the larger of the forces.
    """
    simulation = sn.Simulation(chain(), precision="float64", substeps=10, iterations=5, threads=1)
    simulation.step(300)
    below = np.array([4.0, 3.0, 2.0, 1.0])
    strain = 1e-4 * G * below / 0.5
    strains, forces = simulation.point_strains(), simulation.point_forces()
    assert np.allclose(strains[1:4], 0.5 * (strain[:-1] + strain[1:]), rtol=1e-4)
    assert np.allclose(strains[[0, 4]], strain[[0, 3]], rtol=1e-4)
    assert np.allclose(forces[:5], G * below[[0, 0, 1, 2, 3]], rtol=1e-4)
    assert (strains[5], forces[5]) == (0.0, 0.0)
    measured = simulation.measure()
    assert np.allclose(measured.mean_strain, strain.mean(), rtol=1e-4)
    assert np.allclose(measured.largest_strain, strain.max(), rtol=1e-4)


def test_a_row_that_does_not_hold_has_no_strain() -> None:
    """A slack tether beside a row that is stretched by a tenth, and one that resists tension only and is pressed."""
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_particles([[0, 0, 0], [1, 0, 0], [3, 0, 0], [4, 0, 0]], mass=0.0)
    scene.add_constraint("distance", [[0, 1]], rest_length=[1.0 / PULL])
    scene.add_constraint("tether", [[0, 1]], rest_length=[4.0])
    scene.add_constraint("distance", [[2, 3]], rest_length=[2.0], compliance=0.0, compression_compliance=np.inf)
    simulation = sn.Simulation(scene, precision="float64", threads=1)
    assert np.allclose(simulation.point_strains(), [PULL - 1.0, PULL - 1.0, 0.0, 0.0])
    assert np.allclose(simulation.measure().mean_strain, PULL - 1.0)


@pytest.mark.parametrize("law", ["neo_hookean", "corotated", "stvk", "strain"])
def test_a_soft_body_pulled_along_an_axis_has_that_strain(law: str) -> None:
    """So does its visual surface, whose vertices have the means of their corners; and a turn adds nothing."""
    vertices, tetrahedra = lattice((2, 1, 1), 0.5)
    blob = np.random.default_rng(0).uniform(0.05, 0.45, (4, 3))
    scene = sn.Scene()
    material = sn.SoftMaterial(youngs_modulus=1e5, model=law)
    scene.add_soft_body(
        (vertices, tetrahedra), visual=(blob, np.array([[0, 1, 2], [1, 2, 3]])), material=material, name="jelly"
    )
    simulation = sn.Simulation(scene, precision="float64", threads=1)
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    turn *= np.linalg.det(turn)
    simulation.positions("jelly")[...] = (vertices * (PULL, 1.0, 1.0)) @ turn.T
    frame = frame_of(simulation, measured=True)
    assert len(frame.strains) == layout_of(scene, 30.0, measured=True).point_count == len(vertices) + 4
    assert np.allclose(frame.strains, PULL - 1.0, rtol=1e-6)


def test_a_sheet_of_triangles_and_a_lump_have_the_strain_of_their_pull() -> None:
    scene = sn.Scene()
    grid = sn.grid(shape=(4, 3))
    scene.add_cloth(grid, material=sn.ClothMaterial(stretch_model="strain"), name="sheet")
    points = np.random.default_rng(0).uniform((-0.2, 2.8, -0.2), (0.2, 3.2, 0.2), (40, 3))
    scene.add_shape_matched(points, density=500.0, stiffness=0.5, name="lump")
    simulation = sn.Simulation(scene, precision="float64", threads=1)
    for name, rest in (("sheet", np.asarray(grid[0])), ("lump", points)):
        simulation.positions(name)[...] = rest * (PULL, 1.0, 1.0)
        particles = scene[name].particles
        assert np.allclose(simulation.point_strains()[particles.start : particles.stop], PULL - 1.0, rtol=1e-6), name


def test_a_rod_has_the_strain_of_its_outermost_fibre() -> None:
    """Straight and pulled: the pull. Bent to a circle of radius R: r / R."""
    count, radius = 41, 0.02
    material = sn.RodMaterial(radius=radius, density=1000.0, youngs_modulus=1e6, shear_modulus=4e5)
    line = np.linspace((0.0, 0.0, 0.0), (2.0, 0.0, 0.0), count)
    scene = sn.Scene()
    scene.add_rod(line, material=material, name="rod")
    simulation = sn.Simulation(scene, precision="float64", threads=1)
    simulation.positions("rod")[...] = line * PULL
    assert np.allclose(simulation.point_strains(), PULL - 1.0)
    # each frame turned by half the angle between segments about z: q = cos + k sin, after the frame at rest
    angle = 0.05 / 0.5
    headings = angle * (np.arange(count - 1) - 0.5 * (count - 2))
    steps = 0.05 * np.stack([np.cos(headings), np.sin(headings), np.zeros(count - 1)], axis=1)
    simulation.positions("rod")[...] = np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
    simulation.frames("rod")[...] = [
        turned(0.5 * h, q) for h, q in zip(headings, simulation.frames("rod"), strict=True)
    ]
    strains = simulation.point_strains()
    assert np.allclose(strains[1:-1], radius / 0.5, rtol=1e-6)
    assert np.allclose(strains[[0, -1]], 0.0, atol=1e-9)


def turned(half: float, q: np.ndarray) -> np.ndarray:
    """A frame w x y z turned about the z axis of the world by twice an angle."""
    c, s = np.cos(half), np.sin(half)
    w, x, y, z = q
    return np.array([c * w - s * z, c * x - s * y, c * y + s * x, c * z + s * w])


def test_what_has_torn_is_not_strained() -> None:
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    points = np.linspace((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), 6)
    speeds = np.where(np.arange(6)[:, None] < 3, -8.0, 8.0) * (1, 0, 0)
    material = sn.RopeMaterial(stretch_compliance=1e-2, tear_strain=0.2)
    scene.add_rope(points, material=material, velocity=speeds, name="rope")
    simulation = sn.Simulation(scene, threads=1)
    simulation.step(10)
    x = simulation.positions("rope")
    assert np.linalg.norm(x[3] - x[2]) > 1.0
    assert simulation.point_strains().max() < 0.5


def test_an_attachment_to_a_body_pulls_at_its_particle() -> None:
    """A rope of three masses that hangs from a kinematic body: the first carries all three, from above."""
    scene = sn.Scene(damping=20.0)
    body = scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), kinematic=True, name="hook")
    scene.add_particles([[0.0, -0.5 * k, 0.0] for k in range(3)], mass=1.0, name="rope")
    scene.add_constraint("distance", [[0, 1], [1, 2]], compliance=1e-4)
    scene.attach((scene["rope"], 0), (body, (0.0, 0.0, 0.0)))
    simulation = sn.Simulation(scene, iterations=5, substeps=10, threads=1)
    simulation.step(60)
    assert np.allclose(simulation.point_forces(), G * np.array([3.0, 2.0, 1.0]), rtol=1e-3)


def test_no_vertex_of_a_surface_leaves_the_range_of_its_particles() -> None:
    """The mean of those with a positive weight: the first pulls a vertex that lies behind it."""
    visual = SimpleNamespace(weights=np.array([[-0.5, 0.75, 0.75, 0.0]]), corners=np.array([[0, 1, 2, 3]]))
    scene: Any = SimpleNamespace(particle_objects=[SimpleNamespace(positions=np.zeros((4, 3)), visual=visual)])
    assert _at_points(scene, np.array([8.0, 1.0, 3.0, 5.0])).tolist() == [8.0, 1.0, 3.0, 5.0, 2.0]
