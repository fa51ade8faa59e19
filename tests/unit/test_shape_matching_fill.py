"""Shape matching: how meshes are filled, clusters, and the surface that follows."""

import numpy as np
import pytest
from lumps import ball, box, simulation
from small_scenes import precisions

import shinari as sn
from shinari.geometry.k_nearest import nearest
from shinari.geometry.motion import rotation_matrix
from shinari.shapes.mesh import Mesh
from shinari.shapes.sampling.fill_mesh import moments_of
from shinari.systems.shape_matching.build import lattice_clusters


@pytest.mark.parametrize("mesh", [box(1.0, 0.6, 0.3), ball(), ball(stretch=(1.0, 0.5, 1.6))])
@pytest.mark.parametrize("spacing", [0.05, 0.083, 0.1])
def test_a_filled_mesh_has_its_mass_centre_and_inertia(mesh, spacing):
    scene = sn.Scene()
    shift, quaternion = np.array([3.0, -1.0, 2.0]), np.array([0.5, 0.5, 0.5, 0.5])
    scene.add_shape_matched(mesh, density=700.0, spacing=spacing, position=shift, rotation=quaternion)
    obj = scene.particle_objects[0]
    _, volume, centre, second = moments_of(Mesh(mesh[0][:, [2, 0, 1]] + shift, mesh[1]))
    m, x = obj.masses, obj.positions
    assert m.min() > 0.0
    assert m.sum() == pytest.approx(700.0 * volume, rel=1e-12)
    np.testing.assert_allclose(m @ x / m.sum(), centre, atol=1e-9)
    r = x - centre
    np.testing.assert_allclose(np.einsum("n,ni,nj->ij", m, r, r), 700.0 * second, atol=1e-8 * 700.0 * np.trace(second))


def test_moments_of_a_box():
    _, volume, centre, second = moments_of(Mesh(box(1.0, 0.6, 0.3)[0] + [5.0, 1.0, 2.0], box(1, 1, 1)[1]))
    assert volume == pytest.approx(0.18)
    np.testing.assert_allclose(centre, [5.0, 1.0, 2.0])
    np.testing.assert_allclose(second, 0.18 / 12.0 * np.diag([1.0, 0.36, 0.09]), atol=1e-14)


def test_balls_of_a_filled_box_touch_its_faces_from_inside():
    scene = sn.Scene()
    scene.add_shape_matched(box(1.0, 0.6, 0.3), spacing=0.07)
    x, half = scene.particle_objects[0].positions, 0.5 * np.array([1.0, 0.6, 0.3])
    gap = half - np.abs(x).max(axis=0)
    assert (gap >= 0.035 - 1e-9).all()
    assert (gap < 0.035 + 0.036).all()


def test_points_in_a_mesh_with_a_hole_through_it():
    trimesh = pytest.importorskip("trimesh")
    torus = trimesh.creation.torus(0.5, 0.15)
    scene = sn.Scene()
    scene.add_shape_matched(torus, spacing=0.06)
    x = scene.particle_objects[0].positions
    assert (np.hypot(np.hypot(x[:, 0], x[:, 1]) - 0.5, x[:, 2]) <= 0.15 - 0.02).all()
    assert len(x) * 0.06**3 == pytest.approx(torus.volume, rel=0.2)


@pytest.mark.parametrize("size", [0.2, 0.25, 0.4, 3.0])
def test_lattice_clusters_cover_everything_and_none_holds_another(size):
    rng = np.random.default_rng(7)
    points = rng.uniform(0, 1, (400, 3)) * [1.0, 0.6, 0.3]
    clusters = lattice_clusters(points, size)
    sets = [set(part.tolist()) for part in np.split(clusters.members, clusters.offsets[1:-1])]
    assert set().union(*sets) == set(range(400))
    assert not any(a <= b for i, a in enumerate(sets) for j, b in enumerate(sets) if i != j)
    for part in sets:
        assert (np.ptp(points[sorted(part)], axis=0) <= size * (1 + 1e-5)).all()
    assert np.bincount(clusters.members).max() <= 8


def test_nearest_points():
    rng = np.random.default_rng(8)
    points, places = rng.normal(size=(500, 3)) * [1, 2, 0.01], rng.normal(size=(200, 3)) * 2
    found, squares = nearest(places, points, 4)
    all_squares = ((places[:, None] - points[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(squares, np.sort(all_squares, axis=1)[:, :4], rtol=1e-12)
    np.testing.assert_array_equal(found[:, 0], all_squares.argmin(axis=1))


@precisions
def test_the_surface_moves_with_a_rigid_lump(precision):
    mesh = ball(2)
    sim, lump = simulation(lambda scene: scene.add_shape_matched(mesh, spacing=0.12, position=(1, 2, 3)), precision)
    turn = rotation_matrix(np.array([0.5, 0.5, -0.5, 0.5]))
    sim.state.positions = (sim.state.positions - [1, 2, 3]) @ turn.T + [4, 5, 6]
    sim.step()
    vertices, faces = sim.surface(lump)
    np.testing.assert_allclose(vertices, mesh[0] @ turn.T + [4, 5, 6], atol=1e-9 if precision == "float64" else 4e-6)
    np.testing.assert_array_equal(faces, mesh[1])


@pytest.mark.parametrize("material", [
    sn.LumpMaterial(mode="linear", beta=1.0), sn.LumpMaterial(mode="quadratic", beta=1.0),
    sn.LumpMaterial(mode="linear", beta=1.0, cluster_size=0.3),
])  # fmt: skip
def test_the_surface_follows_a_shear(material):
    mesh = box(1.0, 0.8, 0.9)
    sim, lump = simulation(lambda scene: scene.add_shape_matched(mesh, spacing=0.1, material=material))
    shear = np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.1], [0.0, 0.0, 1.0]])
    sim.state.x[sim.model.slots, :3] = sim.state.positions @ shear.T
    np.testing.assert_allclose(sim.surface(lump)[0], mesh[0] @ shear.T, atol=1e-9)
