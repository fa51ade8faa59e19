"""Collider shapes: cylinder and cone by dense samples of their surface, and what the shapes refuse."""

import dataclasses
import itertools

import numpy as np
import pytest
import shape_kernels

import shinari as sn
from shinari.geometry.files.meshes import write_mesh
from shinari.io.codec import Codec, decode
from shinari.shapes.base import shape_mesh
from shinari.shapes.kernels.dispatch import distance_and_normal

EPS = np.finfo(np.float64).eps
SHAPES = {
    "cylinder": sn.Cylinder(0.5, 1.2),
    "disc": sn.Cylinder(1.0, 0.05),
    "cone": sn.Cone(0.6, 1.0),
    "flat cone": sn.Cone(1.0, 0.1),
    "needle": sn.Cone(0.05, 1.5),
}
every_shape = pytest.mark.parametrize("name", SHAPES)
BOX, BOX_FACES = shape_mesh(sn.Box((1.0, 1.0, 1.0)))


def signed(name, points):
    return shape_kernels.distances(SHAPES[name], points)


def normals(name, points):
    return shape_kernels.normals(SHAPES[name], points)


def profile(name):
    """Corners of the half profile, (radius, y), from the axis at the bottom to the axis at the top."""
    shape = SHAPES[name]
    if isinstance(shape, sn.Cylinder):
        half = 0.5 * shape.length
        return np.array([[0, -half], [shape.radius, -half], [shape.radius, half], [0, half]])
    half = 0.5 * shape.height
    return np.array([[0, -half], [shape.radius, -half], [0, half]])


def expected_distance(name, points):
    """By the symmetry about the axis: distance to the profile in the half plane of the point."""
    corners = profile(name)
    flat = np.stack([np.hypot(points[:, 0], points[:, 2]), points[:, 1]], axis=1)
    nearest, inside = np.full(len(points), np.inf), np.ones(len(points), bool)
    for a, b in itertools.pairwise(corners):
        t = np.clip((flat - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0)
        nearest = np.minimum(nearest, np.linalg.norm(flat - a - t[:, None] * (b - a), axis=1))
        inside &= (b - a)[0] * (flat - a)[:, 1] - (b - a)[1] * (flat - a)[:, 0] > 0.0
    return np.where(inside, -nearest, nearest)


def places(name, count=4000):
    """Points in and around a shape, near its surface, edges and tip, on its axis and on the planes of its ends."""
    rng = np.random.default_rng(12)
    corners = profile(name)
    points = rng.uniform(-1.5, 1.5, (count, 3))
    k = rng.integers(0, len(corners) - 1, count // 2)
    t = rng.choice([0.0, 1.0, 0.5, 0.3], count // 2)[:, None]
    flat = corners[k] * (1 - t) + corners[k + 1] * t
    turn = rng.uniform(0, 2 * np.pi, count // 2)
    on = np.stack([flat[:, 0] * np.cos(turn), flat[:, 1], flat[:, 0] * np.sin(turn)], axis=1)
    points[: count // 2] = on + rng.choice([0.0, 1e-9, 1e-3, 0.1], (count // 2, 1)) * rng.standard_normal(on.shape)
    points[-200:, [0, 2]] = 0.0
    points[-400:-200, 1] = rng.choice(corners[:, 1], 200)
    return points


@every_shape
def test_distance_is_exact_inside_and_outside(name):
    points = places(name)
    np.testing.assert_allclose(signed(name, points), expected_distance(name, points), atol=32 * EPS)


@every_shape
def test_distance_is_that_to_a_dense_sampling(name):
    points = places(name)[::40]
    corners = profile(name)
    t = np.linspace(0.0, 1.0, 300)[:, None]
    flat = np.concatenate([a + t * (b - a) for a, b in itertools.pairwise(corners)])
    turn = np.linspace(0, 2 * np.pi, 300)[None]
    surface = np.stack([flat[:, :1] * np.cos(turn), flat[:, 1:] + 0 * turn, flat[:, :1] * np.sin(turn)], axis=2)
    nearest = np.array([np.linalg.norm(surface.reshape(-1, 3) - p, axis=1).min() for p in points])
    found = np.abs(signed(name, points))
    assert (found <= nearest + 32 * EPS).all()
    assert (nearest - found <= 0.5 * np.hypot(1.5 / 299, 2 * np.pi / 299)).all()


@every_shape
def test_normal_is_the_gradient_and_has_length_one(name):
    points, step = places(name), 1e-6
    found = normals(name, points)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, atol=8 * EPS)
    slopes = np.stack(
        [(signed(name, points + d) - signed(name, points - d)) / (2 * step) for d in step * np.eye(3)], axis=1
    )
    smooth = np.abs(np.linalg.norm(slopes, axis=1) - 1.0) < 1e-6
    far = np.abs(expected_distance(name, points)) > 1e-2  # where curvature is below the step
    assert (smooth & far).sum() > 1000
    np.testing.assert_allclose(found[smooth & far], slopes[smooth & far], atol=1e-4)


@every_shape
@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_distance_and_normal_in_both_precisions(name, real):
    kind, numbers = shape_kernels.encode(SHAPES[name])
    numbers = tuple(numbers.astype(real))
    for p in places(name)[::20].astype(real):
        value, n = distance_and_normal(kind, tuple(p), numbers, ())
        expected = expected_distance(name, p[None].astype(float))[0]
        assert abs(value - expected) <= 64 * np.finfo(real).eps
        assert np.linalg.norm(n) == pytest.approx(1.0, abs=16 * float(np.finfo(real).eps))


@pytest.mark.parametrize("shape", [*SHAPES.values(), sn.Heightfield([[0, 1], [2, 0.5], [1, 1]], (2.0, 1.0))], ids=repr)
@pytest.mark.parametrize("segments", [8, 32])
def test_what_is_drawn_is_closed_and_on_the_surface(shape, segments):
    vertices, faces = shape_mesh(shape, segments=segments)
    solid = sn.Mesh(vertices, faces, solid=True)
    assert solid.solid
    if not isinstance(shape, sn.Heightfield):
        assert np.abs(shape_kernels.distances(shape, vertices)).max() < 1e-12


def test_ground_goes_through_its_heights_and_is_solid_below():
    from shinari.shapes.kernels.encode import signed_distance

    heights = np.random.default_rng(1).uniform(-0.2, 0.2, (5, 7))
    ground = sn.Heightfield(heights, (3.0, 2.0))
    assert ground.depth == 3.0
    x, z = np.meshgrid(np.linspace(-1.5, 1.5, 7), np.linspace(-1.0, 1.0, 5))
    at = np.stack([x, heights, z], axis=2).reshape(-1, 3)
    np.testing.assert_allclose(signed_distance(ground, at), 0.0, atol=1e-12)
    middle = at.reshape(5, 7, 3)[1:-1, 1:-1].reshape(-1, 3)
    assert (signed_distance(ground, middle + np.array([0, 0.05, 0])) > 0).all()
    assert (signed_distance(ground, middle - [0, 0.05, 0]) < 0).all()
    assert (signed_distance(ground, middle - [0, 2.0, 0]) < 0).all()
    # three vertices of a cell and the middle of its diagonal, which goes from low to high x and z
    diagonal = 0.5 * (at[0] + at[8])
    np.testing.assert_allclose(signed_distance(ground, diagonal[None]), 0.0, atol=1e-12)
    flat = sn.Heightfield(np.zeros((3, 3)), (2.0, 2.0), depth=0.5)
    np.testing.assert_allclose(signed_distance(flat, [[0.1, -0.1, 0.2], [0.0, 0.3, 0.0]]), [-0.1, 0.3], atol=1e-12)
    volume = np.einsum("ij,ij->", flat.mesh.vertices[flat.mesh.faces[:, 0]], np.cross(
        flat.mesh.vertices[flat.mesh.faces[:, 1]], flat.mesh.vertices[flat.mesh.faces[:, 2]])) / 6  # fmt: skip
    assert volume == pytest.approx(2.0)


def test_closed_meshes_are_solids_and_others_sheets():
    assert sn.Mesh(BOX, BOX_FACES).solid
    assert not sn.Mesh(BOX, BOX_FACES[:-1]).solid
    split, faces = BOX[BOX_FACES].reshape(-1, 3), np.arange(36).reshape(-1, 3)
    assert sn.Mesh(split, faces).solid  # as a file with a normal per corner has it


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: sn.Cylinder(0.0, 1.0), "Cylinder: radius: must be above 0"),
        (lambda: sn.Cylinder(1.0, 0.0), "Cylinder: length: must be above 0"),
        (lambda: sn.Cone(1.0, -1.0), "Cone: height: must be above 0"),
        (lambda: sn.Cone(float("inf"), 1.0), "Cone: radius: expected a finite"),
        (lambda: sn.Mesh(BOX), "Mesh: faces: missing"),
        (lambda: sn.Mesh(BOX * np.nan, BOX_FACES), "Mesh: vertices: not a finite number"),
        (lambda: sn.Mesh(BOX, BOX_FACES + 1), "Mesh: faces: index 8 is out of range"),
        (lambda: sn.Mesh(BOX, [[0, 1, 1]]), "Mesh: faces: row 0 repeats"),
        (lambda: sn.Mesh([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]]), r"face 0, \[0, 1, 2\], has no area"),
        (lambda: sn.Mesh(BOX, BOX_FACES[:-1], solid=True), r"3 edges have only one face \(holes: 1\)"),
        (lambda: sn.Mesh(BOX, BOX_FACES[4:], solid=True), r"8 edges have only one face \(holes: 2\)"),
        (lambda: sn.Mesh(BOX, BOX_FACES[:, ::-1]), "inside out, its volume is -1 m"),
        (lambda: sn.Mesh(BOX, [BOX_FACES[0][::-1], *BOX_FACES[1:]]), "turned differently"),
        (lambda: sn.Mesh(BOX, BOX_FACES, solid="yes"), "Mesh: solid: expected one of"),
        (lambda: sn.Mesh(BOX, BOX_FACES, thickness=0.1), "only a sheet has one"),
        (lambda: sn.Mesh(BOX, BOX_FACES, solid=False, thickness=-0.1), "Mesh: thickness: must be at least 0"),
        (lambda: sn.Heightfield([[0.0, 1.0]], (1, 1)), "expected at least 2 x 2"),
        (lambda: sn.Heightfield([[0, 1], [1, np.inf]], (1, 1)), "Heightfield: heights: not a finite"),
        (lambda: sn.Heightfield([[0, 1], [1, 2]], (1, 0)), "Heightfield: size: must be above 0"),
        (lambda: sn.Heightfield([[0, 1], [1, 2]], (1, 1), depth=0.0), "Heightfield: depth: must be above 0"),
    ],
)  # fmt: skip
def test_what_is_refused(make, told):
    with pytest.raises(sn.SceneError, match=told):
        make()


def test_a_mesh_comes_from_a_file_and_survives_packing(tmp_path):
    write_mesh(tmp_path / "box.obj", BOX, BOX_FACES)
    for shape in (
        sn.Mesh(tmp_path / "box.obj"),
        sn.Mesh(BOX, BOX_FACES[:-2], thickness=0.01),
        sn.Mesh(BOX, BOX_FACES, solid=False),
        sn.Heightfield([[0, 1], [1, 2]], (1, 1)),
        sn.Cylinder(0.1, 0.2),
        sn.Cone(0.1, 0.2),
    ):
        packed = Codec()
        again = decode(packed.encode(shape), packed.arrays)
        assert type(again) is type(shape)
        for field in dataclasses.fields(shape):
            np.testing.assert_array_equal(getattr(again, field.name), getattr(shape, field.name))
    with pytest.raises(sn.FileError):
        sn.Mesh(tmp_path / "none.obj")
    with pytest.raises(sn.SceneError, match="a file has its own"):
        sn.Mesh(tmp_path / "box.obj", BOX_FACES)


SCENE = """
[[collider]]
shape = { type = "cylinder", radius = 0.5, length = 2 }
[[collider]]
shape = { type = "cone", radius = 0.5, height = 2 }
[[collider]]
shape = { type = "mesh", path = "meshes/box.obj", solid = true }
[[collider]]
shape = { type = "heightfield", heights = [[0, 1], [2, 3], [0, 0]], size = [4, 6], depth = 1 }
"""


def test_scene_files_know_the_shapes(tmp_path):
    (tmp_path / "meshes").mkdir()
    write_mesh(tmp_path / "meshes" / "box.obj", BOX, BOX_FACES)
    (tmp_path / "scene.toml").write_text(SCENE)
    cylinder, cone, mesh, ground = (collider.shape for collider in sn.load_scene(tmp_path / "scene.toml").colliders)
    assert cylinder == sn.Cylinder(0.5, 2.0)
    assert cone == sn.Cone(0.5, 2.0)
    assert isinstance(mesh, sn.Mesh)
    assert mesh.solid
    assert isinstance(ground, sn.Heightfield)
    assert (ground.heights.shape, ground.size, ground.depth) == ((3, 2), (4.0, 6.0), 1.0)


@pytest.mark.parametrize("path", ["../box.obj", "/etc/box.obj", "C:\\box.obj", "meshes/../../box.obj"])
def test_a_mesh_outside_the_folder_of_the_scene_is_refused(path, tmp_path):
    write_mesh(tmp_path / "box.obj", BOX, BOX_FACES)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "scene.toml").write_text(f"[[collider]]\nshape = {{ type = 'mesh', path = '{path}' }}\n")
    with pytest.raises(sn.FileError, match="must lie in the folder"):
        sn.load_scene(tmp_path / "in" / "scene.toml")
