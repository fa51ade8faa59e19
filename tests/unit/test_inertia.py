"""Mass, centre of mass and inertia: quadrature of profiles, closed forms, other decompositions of the same solid."""

import itertools

import numpy as np
import pytest
import trimesh

import shinari as sn
from shinari.geometry.motion import NO_ROTATION, rotation_matrix
from shinari.shapes.base import shape_mesh
from shinari.shapes.combined_mass import check_inertia, compound_properties, principal_axes
from shinari.shapes.compound import Piece
from shinari.shapes.mass import MassProperties, mesh_properties

EXACT = 1e-12
SIZES = (1e-3, 0.7, 40.0)


def turn_of(seed: int) -> np.ndarray:
    q = np.random.default_rng(seed).normal(size=4)
    return q / np.linalg.norm(q)


def assert_same(found: MassProperties, expected: MassProperties, tolerance: float = EXACT) -> None:
    """Equal to a part of the size of the solid: the largest radius of gyration is a length of it."""
    size = np.sqrt(np.trace(expected.tensor) / expected.mass)
    assert found.mass == pytest.approx(expected.mass, rel=tolerance)
    assert np.abs(found.centre - expected.centre).max() <= tolerance * (size + np.abs(expected.centre).max())
    assert np.abs(found.tensor - expected.tensor).max() <= tolerance * np.trace(expected.tensor)


def turned_profile(radius, bottom: float, top: float, breaks: tuple[float, ...] = ()) -> MassProperties:
    """A solid of revolution about Y by Gauss's quadrature, exact where the squared radius is a polynomial in y."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    ends = (bottom, *breaks, top)
    y = np.concatenate([0.5 * (a + b) + 0.5 * (b - a) * nodes for a, b in itertools.pairwise(ends)])
    w = np.concatenate([0.5 * (b - a) * weights for a, b in itertools.pairwise(ends)])
    square = radius(y) ** 2
    mass = np.pi * (w @ square)
    centre = np.pi * (w @ (square * y)) / mass
    along = 0.5 * np.pi * (w @ square**2)
    across = np.pi * (w @ (0.25 * square**2 + square * (y - centre) ** 2))
    return MassProperties(mass, np.array([0.0, centre, 0.0]), np.diag([across, along, across]))


@pytest.mark.parametrize("size", SIZES)
def test_solids_of_revolution_against_quadrature(size: float) -> None:
    a, b = 0.6 * size, 1.3 * size
    ball = turned_profile(lambda y: np.sqrt(a * a - y * y), -a, a)
    rod = turned_profile(lambda y: np.full_like(y, a), -0.5 * b, 0.5 * b)
    cone = turned_profile(lambda y: a * (0.5 - y / b), -0.5 * b, 0.5 * b)
    bean = turned_profile(
        lambda y: np.sqrt(a * a - np.maximum(np.abs(y) - 0.5 * b, 0.0) ** 2), -0.5 * b - a, 0.5 * b + a, (-b / 2, b / 2)
    )
    assert_same(sn.Sphere(a).mass_properties(), ball)
    assert_same(sn.Cylinder(a, b).mass_properties(), rod)
    assert_same(sn.Cone(a, b).mass_properties(), cone)
    assert_same(sn.Capsule(a, b).mass_properties(), bean)


def test_a_capsule_without_length_is_a_ball() -> None:
    assert_same(sn.Capsule(0.3, 0.0).mass_properties(), sn.Sphere(0.3).mass_properties())


@pytest.mark.parametrize("size", [(1.0, 2.0, 3.0), (0.01, 5.0, 0.2), (2.0, 2.0, 2.0)])
def test_a_box_its_mesh_and_its_hull_are_the_same_solid(size: tuple[float, float, float]) -> None:
    a, b, c = size
    mass = a * b * c
    expected = MassProperties(mass, np.zeros(3), mass / 12.0 * np.diag([b * b + c * c, c * c + a * a, a * a + b * b]))
    vertices, faces = shape_mesh(sn.Box(size))
    assert_same(sn.Box(size).mass_properties(), expected)
    assert_same(sn.Mesh(vertices, faces).mass_properties(), expected)
    assert_same(sn.ConvexHull(vertices).mass_properties(), expected)


@pytest.mark.parametrize(("seed", "away"), [(0, 0.0), (1, 10.0), (2, 1000.0)])
def test_a_mesh_turned_and_moved(seed: int, away: float) -> None:
    """The rounding of the vertices themselves is all that is lost far from the origin."""
    box = sn.Box((0.5, 1.0, 2.0))
    q, at = turn_of(seed), away * np.array([0.6, -0.5, 0.7])
    vertices, faces = shape_mesh(box)
    moved = mesh_properties(vertices @ rotation_matrix(q).T + at, faces)
    assert_same(moved, box.mass_properties().moved(at, q), EXACT + 10.0 * np.finfo(float).eps * away)


def test_the_tetrahedron_at_the_corner_of_a_cube() -> None:
    """Moments 3/80 of the edges' squares about the centre of mass, times the mass: products of inertia -1/80."""
    found = mesh_properties(
        np.concatenate([np.zeros((1, 3)), np.eye(3)]), np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    )
    tensor = (np.full((3, 3), 1.0 / 80.0) + np.eye(3) * (6.0 / 80.0 - 1.0 / 80.0)) / 6.0
    assert_same(found, MassProperties(1.0 / 6.0, np.full(3, 0.25), tensor))


@pytest.mark.parametrize("seed", range(4))
def test_meshes_against_an_independent_implementation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    hull = sn.ConvexHull(rng.normal(size=(30, 3)) * [0.3, 1.0, 2.0] + rng.normal(size=3))
    reference = trimesh.Trimesh(hull.vertices, hull.faces, process=False)
    expected = MassProperties(reference.volume, reference.center_mass, reference.moment_inertia)
    assert_same(hull.mass_properties(), expected)


def test_a_hollow_mesh_counts_its_hole_as_missing() -> None:
    outer, inner = shape_mesh(sn.Box((2.0, 2.0, 2.0))), shape_mesh(sn.Box((1.0, 0.5, 1.0)))
    vertices = np.concatenate([outer[0], inner[0] + [0.3, 0.0, 0.0]])
    found = mesh_properties(vertices, np.concatenate([outer[1], inner[1][:, ::-1] + len(outer[0])]))
    pieces = [(sn.Box((2.0, 2.0, 2.0)), (0.0, 0.0, 0.0)), (sn.Box((1.0, 0.5, 1.0)), (0.3, 0.0, 0.0))]
    whole = [Piece(shape, np.array(at), NO_ROTATION) for shape, at in pieces]
    assert_same(found, compound_properties(whole, [1.0, -1.0]))


def test_a_compound_of_the_parts_of_a_box_is_the_box() -> None:
    q, at = turn_of(5), np.array([0.4, -2.0, 1.0])
    turn = rotation_matrix(q)
    parts = [((0.5, 1.0, 2.0), -0.75), ((1.5, 1.0, 2.0), 0.25)]
    pieces = [Piece(sn.Box(size), turn @ [x, 0.0, 0.0] + at, q) for size, x in parts]
    assert_same(
        compound_properties(pieces, [3.0, 3.0]), sn.Box((2.0, 1.0, 2.0)).mass_properties().scaled(3.0).moved(at, q)
    )


def test_a_dumbbell_of_two_densities() -> None:
    """Two balls of 1 and 3 kg, 2 m apart: the centre is at three quarters, the moment across has m1 m2 / m d^2."""
    volume = 4.0 / 3.0 * np.pi * 0.1**3
    balls = [Piece(sn.Sphere(0.1), np.array([x, 0.0, 0.0]), NO_ROTATION) for x in (0.0, 2.0)]
    found = compound_properties(balls, [1.0 / volume, 3.0 / volume])
    own = 4.0 * 0.4 * 0.01
    assert_same(found, MassProperties(4.0, np.array([1.5, 0.0, 0.0]), np.diag([own, own + 3.0, own + 3.0])))


def test_faces_that_turn_inward_are_refused() -> None:
    vertices, faces = shape_mesh(sn.Box((1.0, 1.0, 1.0)))
    with pytest.raises(sn.SceneError, match="the volume inside is -1 m\\^3; the faces have to turn outward"):
        mesh_properties(vertices, faces[:, ::-1])


@pytest.mark.parametrize(
    "shape", [sn.Plane(), sn.Box((1, 1, 1), inside=True), sn.Heightfield([[0, 0], [0, 0]], (1, 1))]
)
def test_shapes_without_a_volume_are_refused(shape: object) -> None:
    with pytest.raises(sn.SceneError, match=f"{type(shape).__name__}: has no finite volume"):
        shape.mass_properties()  # type: ignore[arg-type]


@pytest.mark.parametrize("moments", [(1.0, 2.0, 2.5), (2.5, 1.0, 2.0), (1.0, 1.0, 1.0), (1e-9, 3.0, 3.0)])
@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
@pytest.mark.parametrize("seed", range(5))
def test_principal_axes_of_a_turned_tensor(moments: tuple[float, ...], scale: float, seed: int) -> None:
    turn = rotation_matrix(turn_of(seed))
    tensor = scale * (turn @ np.diag(moments) @ turn.T)
    found, axes = principal_axes(tensor)
    back = rotation_matrix(axes)
    assert np.linalg.norm(axes) == pytest.approx(1.0, abs=1e-15)
    assert np.abs(back @ np.diag(found) @ back.T - tensor).max() <= EXACT * scale * max(moments)
    assert np.abs(np.sort(found) - scale * np.sort(moments)).max() <= EXACT * scale * max(moments)


@pytest.mark.parametrize("moments", list(itertools.permutations((1.0, 2.0, 2.5))))
def test_a_diagonal_tensor_keeps_its_axes_and_their_order(moments: tuple[float, ...]) -> None:
    rounding = 1e-15 * np.array([[0, 1, -1], [1, 0, 1], [-1, 1, 0]])
    found, axes = principal_axes(np.diag(moments) + rounding)
    assert np.array_equal(axes, NO_ROTATION)
    assert np.array_equal(found, moments)


def test_axes_turn_by_less_than_they_must_not() -> None:
    """A tensor turned by a small angle has axes turned by that angle, not by a permutation of them."""
    q = np.array([np.cos(0.1), 0.0, np.sin(0.1), 0.0])
    turn = rotation_matrix(q)
    _, axes = principal_axes(turn @ np.diag([1.0, 2.0, 2.5]) @ turn.T)
    assert np.abs(axes - q).max() < EXACT


@pytest.mark.parametrize(
    ("moments", "message"),
    [
        ((1.0, 1.0, 0.0), "above 0, got 1, 1, 0"),
        ((1.0, -1.0, 1.0), "above 0, got 1, -1, 1"),
        ((1.0, 1.0, 2.1), "above the sum of the two others"),
        ((np.nan, 1.0, 1.0), "above 0"),
    ],
)
def test_moments_that_no_body_has(moments: tuple[float, ...], message: str) -> None:
    with pytest.raises(sn.SceneError, match=message):
        check_inertia("body", np.array(moments))


def test_moments_of_a_thin_plate_are_just_possible() -> None:
    check_inertia("body", np.array([1.0, 1.0, 2.0]))
