"""Features of mesh colliders, and their contacts with triangles larger than they are."""

import numpy as np
import pytest

import shinari as sn
from shinari.systems.colliders.mesh_features import mesh_features
from shinari.systems.colliders.mesh_patches import own_sides
from shinari.verify.clearance import point_triangle_distances
from shinari.verify.fine_features import bumps, plate, ridge


def box(n: int) -> sn.Mesh:
    """A flat box whose top has n x n vertices."""
    return sn.Mesh(*plate(np.zeros((n, n)), 0.1))


def test_flat_edges_are_no_features():
    features = mesh_features([box(5)], np.float64)
    edges = (features.along != 0.0).any(axis=1)
    # along the borders of top and bottom, and the four upright edges
    assert edges.sum() == 2 * 16 + 4
    assert np.linalg.norm(features.along[edges], axis=1).sum() == pytest.approx(8 * 0.1 + 4 * 0.02)
    assert (~edges).sum() == 2 * 16
    assert features.start[-1] == len(features.origin)


def test_concave_edges_are_no_features():
    heights = np.array([[0.01, 0.0, 0.01]] * 3)
    valley = plate(heights, 0.1)
    features = mesh_features([sn.Mesh(*valley)], np.float64)
    edges = (features.along != 0.0).any(axis=1)
    middle = features.origin + 0.5 * features.along
    assert not (
        edges & (np.abs(middle[:, 1]) < 1e-9) & (np.abs(middle[:, 2]) < 1e-9) & (np.abs(middle[:, 0]) < 0.04)
    ).any()


def test_normals_lie_in_the_cones_of_their_features():
    features = mesh_features([sn.Mesh(*ridge(0.06, 0.05))], np.float64)
    for f in range(len(features.origin)):
        walls = features.wall[features.wall_start[f] : features.wall_start[f + 1]]
        assert (walls @ features.out[f] <= 1e-9).all()


def test_several_meshes_follow_each_other():
    one, both = mesh_features([box(3)], np.float64), mesh_features([box(3), box(3)], np.float64)
    np.testing.assert_array_equal(both.origin, np.concatenate([one.origin, one.origin]))
    np.testing.assert_array_equal(np.diff(both.start), np.tile(np.diff(one.start), 2))
    np.testing.assert_array_equal(np.diff(both.wall_start), np.tile(np.diff(one.wall_start), 2))


def test_each_edge_belongs_to_one_element():
    elements = np.array([[0, 1, 2], [2, 1, 3], [4, 5, 5], [5, 6, 6]], np.uint32)
    assert own_sides(elements).tolist() == [7, 6, 1, 1]


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_one_triangle_rests_on_many_bumps(precision):
    scene = sn.Scene(damping=2.0)
    surface = bumps(0.02, 0.004)
    corners = np.array([[-0.09, 0.008, -0.05], [0.0, 0.008, 0.1], [0.09, 0.008, -0.05]])
    material = sn.ClothMaterial(density=0.5, thickness=0.002)
    sheet = scene.add_cloth((corners, np.array([[0, 1, 2]])), material=material)
    bed = scene.add_collider(sn.Mesh(*surface))
    sim = sn.Simulation(scene, precision=precision, threads=1)
    sim.step(90)
    x = sim.positions(sheet).astype(np.float64)
    tops = surface[0]
    distances = point_triangle_distances(tops, np.broadcast_to(x, (len(tops), 3, 3)))
    assert distances.min() == pytest.approx(0.001, rel=0.05)
    weight = 0.5 * 0.5 * 0.18 * 0.15 * 9.81
    assert sim.forces(bed)[1] == pytest.approx(-weight, rel=0.01)
