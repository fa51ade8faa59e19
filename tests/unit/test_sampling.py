"""Points on the surfaces of solids: as many as the area asks for, evenly spaced, at the depth asked for."""

import numpy as np
import pytest
import trimesh

import shinari as sn
from shinari.shapes.base import shape_mesh
from shinari.shapes.kernels.encode import signed_distance
from shinari.shapes.sampling.surface_points import surface_points

SPACING = 0.05
TORUS = trimesh.creation.torus(0.3, 0.1)
BOX = sn.Box((0.5, 0.4, 0.3))
SHAPES = [
    sn.Sphere(0.3),
    BOX,
    sn.Capsule(0.1, 0.4),
    sn.Cylinder(0.2, 0.5),
    sn.Cone(0.3, 0.5),
    sn.Mesh(*shape_mesh(BOX)),
    sn.Mesh(TORUS.vertices, TORUS.faces),
]
NAMES = [type(shape).__name__ + str(k) for k, shape in enumerate(SHAPES)]


def nearest(points: np.ndarray) -> np.ndarray:
    """Distance of each point from the nearest other one."""
    return np.sort(np.linalg.norm(points[:, None] - points[None], axis=2), axis=1)[:, 1]


@pytest.mark.parametrize("depth", [0.0, 0.5 * SPACING])
@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
def test_points_lie_at_the_depth_and_are_spread_evenly(shape: object, depth: float) -> None:
    points = surface_points(shape, SPACING, depth)  # type: ignore[arg-type]
    assert np.abs(signed_distance(shape, points) + depth).max() < 0.1 * SPACING  # type: ignore[arg-type]
    between = nearest(points)
    assert between.min() > 0.8 * SPACING
    assert between.max() < 1.5 * SPACING
    assert np.array_equal(points, surface_points(shape, SPACING, depth))  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
def test_there_is_a_point_for_each_square_of_the_spacing(shape: object) -> None:
    vertices, faces = shape_mesh(shape)  # type: ignore[arg-type]
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum()
    assert len(surface_points(shape, SPACING)) == pytest.approx(area / SPACING**2, rel=0.2)  # type: ignore[arg-type]


@pytest.mark.parametrize(("inside", "sign"), [(False, -1.0), (True, 1.0)])
def test_a_box_gets_the_shell_of_a_lattice(inside: bool, sign: float) -> None:
    points = surface_points(sn.Box((0.5, 0.4, 0.3), inside=inside), SPACING, 0.5 * SPACING)
    counts = np.array([10, 8, 6]) + int(sign)
    index = np.round(points / SPACING + 0.5 * counts)
    assert points == pytest.approx((index - 0.5 * counts) * SPACING, abs=1e-12)
    assert len(np.unique(index, axis=0)) == len(points) == np.prod(counts + 1) - np.prod(counts - 1)


@pytest.mark.parametrize("thin", [sn.Box((0.5, 0.04, 0.3)), sn.Mesh(*shape_mesh(sn.Box((0.5, 0.04, 0.3))))])
def test_a_thin_solid_gets_one_layer_in_its_middle(thin: object) -> None:
    points = surface_points(thin, SPACING, 0.5 * SPACING)  # type: ignore[arg-type]
    assert np.abs(points[:, 1]).max() < 0.1 * SPACING
    assert len(points) == pytest.approx(0.5 * 0.3 / SPACING**2, rel=0.1)


def test_a_small_ball_is_one_point() -> None:
    assert np.array_equal(surface_points(sn.Sphere(0.4 * SPACING), SPACING, 0.5 * SPACING), np.zeros((1, 3)))


def test_a_ground_without_bounds_is_refused() -> None:
    with pytest.raises(sn.SceneError, match="apart on a Box of 200 m would be more than"):
        surface_points(sn.Box((200.0, 1.0, 200.0)), 0.01)
