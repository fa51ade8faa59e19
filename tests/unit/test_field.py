"""Distance fields of meshes: against brute force over all triangles, closed forms, and themselves from the cache."""

import hashlib
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.compute import Field, Record, kernel, real
from shinari.compute.kernels import STEADY
from shinari.compute.program import run_once
from shinari.shapes.base import shape_mesh
from shinari.shapes.heightfield import Heightfield
from shinari.shapes.kernels.all_distances import any_distance
from shinari.shapes.kernels.encode import SolidShape, encode_shapes, signed_distance
from shinari.shapes.kernels.mesh_distance import FAR, MeshFields, mesh_fields
from shinari.shapes.kernels.mesh_field import build_field
from shinari.shapes.mesh import Mesh

precisions = pytest.mark.parametrize("precision", [np.float32, np.float64])


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SHINARI_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))


class Queries(Record):
    point = Field(real, 3, unit="m")
    distance = Field(real, unit="m")
    normal = Field(real, 3)


@kernel(fastmath=STEADY)
def ask(i, queries: Queries, shape: SolidShape, fields: MeshFields):
    queries.distance[i], queries.normal[i] = any_distance(shape.kind[0], queries.point[i], shape.size[0], fields)


def query_encoded(kind, numbers, fields, points, precision=np.float64):
    """Distances and normals from a shape as `encode_shapes` gives it."""
    shape = SolidShape(precision, kind=np.array([kind]), size=numbers.reshape(1, 4))
    queries = Queries.zeros(len(points), precision)
    queries.point[...] = points
    run_once(ask, queries, shape, mesh_fields(fields, precision), count=len(points))
    return queries.distance.astype(float), queries.normal.astype(float)


def query(shape, points, precision=np.float64):
    kinds, numbers, fields = encode_shapes([shape], precision)
    return query_encoded(kinds[0], numbers[0], fields, points, precision)


def to_segment(p, a, b):
    along = b - a
    t = np.clip(((p - a) * along).sum(-1) / (along * along).sum(-1), 0.0, 1.0)
    return np.linalg.norm(p - a - t[..., None] * along, axis=-1)


def brute_distance(vertices, faces, points):
    """Unsigned distance to the nearest triangle: the prism over a face, or an edge; (N,)."""
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    n = np.cross(b - a, c - a)
    n /= np.linalg.norm(n, axis=1)[:, None]
    result = np.empty(len(points))
    for i, p in enumerate(points):
        over = np.ones(len(faces), bool)
        for u, v in ((a, b), (b, c), (c, a)):
            over &= (np.cross(n, v - u) * (p - u)).sum(axis=1) >= 0.0
        sides = np.minimum(np.minimum(to_segment(p, a, b), to_segment(p, b, c)), to_segment(p, c, a))
        result[i] = np.where(over, np.abs((n * (p - a)).sum(axis=1)), sides).min()
    return result


def brute_inside(vertices, faces, points):
    """Whether the solid angles of all faces add up to a full turn (van Oosterom and Strackee 1983, eq. 8)."""
    result = np.empty(len(points), bool)
    for i, p in enumerate(points):
        a, b, c = (vertices[faces[:, k]] - p for k in range(3))
        la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
        below = la * lb * lc + (a * b).sum(1) * lc + (b * c).sum(1) * la + (c * a).sum(1) * lb
        result[i] = 2.0 * np.arctan2((a * np.cross(b, c)).sum(1), below).sum() > 2.0 * np.pi
    return result


def torus(rings=40, around=20):
    u, v = np.meshgrid(np.arange(rings), np.arange(around), indexing="ij")
    phi, theta = 2 * np.pi * u / rings, 2 * np.pi * v / around
    across = 1.0 + 0.4 * np.cos(theta)
    vertices = np.stack([across * np.cos(phi), 0.4 * np.sin(theta), across * np.sin(phi)], axis=2).reshape(-1, 3)
    k = (u * around + v).ravel()
    right, up = (((u + 1) % rings) * around + v).ravel(), (u * around + (v + 1) % around).ravel()
    both = (((u + 1) % rings) * around + (v + 1) % around).ravel()
    return vertices, np.concatenate([np.stack([k, up, both], 1), np.stack([k, both, right], 1)])


def lump(segments=24):
    vertices, faces = shape_mesh(sn.Sphere(1.0), segments=segments)
    bulge = 1.0 + 0.3 * np.sin(4 * vertices[:, 0]) * np.cos(3 * vertices[:, 1]) + 0.2 * np.sin(5 * vertices[:, 2])
    return vertices * bulge[:, None], faces


def wedge():
    """A blade of 3 degrees: beyond its edge the nearest point is as near on either face."""
    h = np.tan(np.radians(1.5))
    vertices = np.array([[0, 0, -1], [0, 0, 1], [1, h, -1], [1, h, 1], [1, -h, -1], [1, -h, 1.0]])
    return vertices, np.array([[0, 1, 3], [0, 3, 2], [0, 4, 5], [0, 5, 1], [2, 3, 5], [2, 5, 4], [0, 2, 4], [1, 5, 3]])


def spikes():
    """An octahedron with long thin corners, where faces of many different angles meet."""
    vertices = np.array([[3, 0, 0], [-1, 0, 0], [0, 0.2, 0], [0, -2, 0], [0, 0, 0.1], [0, 0, -1.0]])
    faces = [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]]
    return vertices, np.array(faces)


MESHES = {
    "ball": shape_mesh(sn.Sphere(0.8)),
    "box": shape_mesh(sn.Box((1.0, 0.3, 2.0))),
    "torus": torus(),
    "lump": lump(),
    "wedge": wedge(),
    "spikes": spikes(),
    "ground": None,
}
rng = np.random.default_rng(2)
_ground = Heightfield(0.3 * rng.standard_normal((9, 13)), (3.0, 2.0), depth=0.5).mesh
MESHES["ground"] = (_ground.vertices, _ground.faces)
every_mesh = pytest.mark.parametrize("name", MESHES)


def points_near(vertices, faces, spread, count, seed=5):
    """Points around the surface, a third of them around edges and a third around corners."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet((1.0, 1.0, 1.0), count)
    weights[::3, 2], weights[1::3, 1:] = 0.0, 0.0
    weights /= weights.sum(axis=1)[:, None]
    on = np.einsum("nk,nkc->nc", weights, vertices[faces[rng.integers(0, len(faces), count)]])
    return on + spread * rng.standard_normal((count, 3))


@precisions
@every_mesh
def test_distance_is_that_of_brute_force(name, precision):
    vertices, faces = MESHES[name]
    shape = Mesh(vertices, faces)
    assert shape.solid
    field = build_field(shape)
    exact_to = float(FAR) * field.frame[3] - 2.0 * 0.87 * field.frame[3]
    eps = 64 * np.finfo(precision).eps * np.abs(vertices).max()
    for spread in (1e-3, 0.03, 0.3):
        points = points_near(vertices, faces, spread, 300).astype(precision).astype(float)
        expected = brute_distance(vertices, faces, points)
        expected = np.where(brute_inside(vertices, faces, points), -expected, expected)
        found, normals = query(shape, points, precision)
        sure = np.abs(expected) > eps  # the sign at the surface is rounding
        close = np.abs(expected) < exact_to
        np.testing.assert_allclose(np.abs(found)[close], np.abs(expected)[close], atol=eps)
        np.testing.assert_array_equal(np.sign(found)[sure], np.sign(expected)[sure])
        assert (found <= expected + 2 * eps).all()
        np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=16 * np.finfo(precision).eps)


@every_mesh
def test_far_away_the_distance_is_a_lower_bound_with_the_right_sign(name):
    vertices, faces = MESHES[name]
    points = np.random.default_rng(6).uniform(-4.0, 4.0, (400, 3))
    expected = brute_distance(vertices, faces, points)
    inside = brute_inside(vertices, faces, points)
    expected = np.where(inside, -expected, expected)
    found, normals = query(Mesh(vertices, faces), points)
    assert (found <= expected + 1e-12).all()
    np.testing.assert_array_equal(found < 0, inside)
    # what culls with the bound must not cull too little either: it grows with the distance
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    to_box = np.linalg.norm(np.maximum(np.maximum(low - points, points - high), 0.0), axis=1)
    assert (found >= np.where(inside, -np.inf, to_box - 1e-12)).all()
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1e-12)


@every_mesh
def test_normal_is_the_gradient(name):
    vertices, faces = MESHES[name]
    shape, step = Mesh(vertices, faces), 1e-6
    points = points_near(vertices, faces, 0.05, 300)
    slopes = np.stack(
        [(query(shape, points + d)[0] - query(shape, points - d)[0]) / (2 * step) for d in step * np.eye(3)], axis=1
    )
    smooth = np.abs(np.linalg.norm(slopes, axis=1) - 1.0) < 1e-6
    assert smooth.mean() > 0.8
    np.testing.assert_allclose(query(shape, points)[1][smooth], slopes[smooth], atol=1e-4)


@pytest.mark.parametrize("name", ["ball", "lump", "torus"])
def test_from_deep_inside_the_normal_leads_out(name):
    vertices, faces = MESHES[name]
    points = np.random.default_rng(8).uniform(-1.0, 1.0, (400, 3))
    points = points[brute_inside(vertices, faces, points)]
    assert len(points) > 50
    found, normals = query(Mesh(vertices, faces), points)
    there = points - (1.0 + 1e-6) * found[:, None] * normals
    # as far as it says, there is the surface: of the nearest triangle or of one nearby
    np.testing.assert_allclose(brute_distance(vertices, faces, there), 0.0, atol=1e-5)


@precisions
def test_sheet_is_solid_within_half_its_thickness(precision):
    vertices, faces = sn.grid(shape=(14, 11), size=(2.0, 1.5))
    vertices = vertices + 0.1 * np.sin(3 * vertices[:, :1]) * [[0.0, 1.0, 0.0]]
    shape = Mesh(vertices, faces, thickness=0.02)
    assert not shape.solid
    for spread in (1e-3, 0.05):
        points = points_near(vertices, faces, spread, 400).astype(precision).astype(float)
        found, normals = query(shape, points, precision)
        expected = brute_distance(vertices, faces, points) - 0.01
        eps = 64 * np.finfo(precision).eps
        np.testing.assert_allclose(found, expected, atol=eps)
        # along the normal the distance grows, on both sides
        away, _ = query(shape, points + 1e-4 * normals, precision)
        assert (away > found + 0.9e-4 - eps).mean() > 0.9
    assert not Mesh(*MESHES["box"], solid=False).solid


def test_a_hollow_solid_keeps_its_cavity_free():
    outer, faces = shape_mesh(sn.Sphere(1.0))
    vertices = np.concatenate([outer, 0.6 * outer])
    shape = Mesh(vertices, np.concatenate([faces, faces[:, ::-1] + len(outer)]))
    found = signed_distance(shape, [[0.0, 0.0, 0.0], [0.8, 0.0, 0.0], [1.2, 0.0, 0.0], [0.55, 0.0, 0.0]])
    assert (np.sign(found) == [1, -1, 1, 1]).all()


def test_several_meshes_share_the_fields():
    shapes = [Mesh(*MESHES[name]) for name in ("box", "lump", "ball")]
    solids = [shapes[0], sn.Sphere(0.5), shapes[1], shapes[2], shapes[1]]
    kinds, numbers, fields = encode_shapes(solids, np.float64)
    assert numbers[[0, 2, 3, 4], 0].tolist() == [0, 1, 2, 1]
    points = np.random.default_rng(9).uniform(-1.5, 1.5, (100, 3))
    for k, shape in enumerate(solids):
        found, _ = query_encoded(kinds[k], numbers[k], fields, points)
        np.testing.assert_allclose(found, signed_distance(shape, points), atol=1e-14)


def test_a_point_that_is_no_number_does_not_crash():
    found, _ = query(Mesh(*MESHES["lump"]), np.array([[np.nan, 0, 0], [np.inf, 0, 0], [1e30, 0, -1e30]]))
    assert np.isnan(found[0])


def test_bounds_contain_the_solid():
    for shape in (Mesh(*MESHES["spikes"]), sn.Cone(0.3, 1.0), sn.Cylinder(0.3, 2.0), sn.Capsule(0.2, 1.0)):
        low, high = shape.bounds()
        points = np.random.default_rng(3).uniform(-3.5, 3.5, (3000, 3))
        inside = signed_distance(shape, points) < 0.0
        assert inside.any()
        assert ((points[inside] >= low) & (points[inside] <= high)).all()
        vertices = shape_mesh(shape)[0]
        np.testing.assert_allclose(vertices.min(axis=0), low, atol=1e-12)
        np.testing.assert_allclose(vertices.max(axis=0), high, atol=1e-12)
    low, high = sn.Plane((0.0, 1.0, 0.0), 0.4).bounds()
    assert high.tolist() == [np.inf, 0.4, np.inf]
    assert np.isneginf(low).all()
    assert np.isinf(sn.Box((1, 1, 1), inside=True).bounds()).all()


def files_of(folder):
    return sorted((folder / "fields").glob("*.npy"))


@pytest.mark.filterwarnings("ignore::shinari.errors.CacheWarning")  # once in a process; see test_object_cache
def test_cache_is_used_rebuilt_when_damaged_and_changes_nothing(tmp_path, monkeypatch):
    import shinari.shapes.kernels.mesh_field as module

    monkeypatch.setenv("SHINARI_CACHE_DIR", str(tmp_path))
    shape = Mesh(*MESHES["lump"])
    first = build_field(shape).cells
    (file,) = files_of(tmp_path)
    whole = file.read_bytes()
    builds = []
    monkeypatch.setattr(module, "fill_cells", lambda *a, real=module.fill_cells: (builds.append(1), real(*a)))
    np.testing.assert_array_equal(build_field(shape).cells, first)
    assert not builds
    changed = bytearray(whole)
    changed[len(whole) // 2] ^= 1
    foreign = np.full(first.shape, 2**31, np.uint32)
    stream = io.BytesIO()
    np.save(stream, foreign)
    forged = stream.getvalue() + hashlib.sha256(stream.getvalue()).digest()
    for count, content in enumerate((whole[:-7], b"", bytes(changed), b"\x00" * 500, forged), start=1):
        file.write_bytes(content)
        np.testing.assert_array_equal(build_field(shape).cells, first)
        assert len(builds) == count
        assert file.read_bytes() == whole
    assert not list(tmp_path.rglob("*.tmp"))
    build_field(Mesh(shape.vertices * 1.001, shape.faces))
    assert len(files_of(tmp_path)) == 2


SCRIPT = """
import hashlib
import numpy as np
import shinari as sn
from shinari.shapes.kernels.encode import signed_distance
from shinari.shapes.base import shape_mesh
v, f = shape_mesh(sn.Sphere(1.0), segments=48)
v = v * (1 + 0.2 * np.sin(5 * v[:, :1]))
points = np.random.default_rng(0).uniform(-1.5, 1.5, (20000, 3))
print(hashlib.sha256(signed_distance(sn.Mesh(v, f), points)).hexdigest())
"""


def test_bits_depend_neither_on_threads_nor_on_what_is_cached(tmp_path):
    results = []
    # first all is new, then on one thread, then all is there, then the kernels but not the field
    for threads, folder, fields in (("2", "a", True), ("1", "b", True), ("2", "a", True), ("2", "a", False)):
        if not fields:
            shutil.rmtree(tmp_path / folder / "fields")
        environment = {
            **os.environ,
            "SHINARI_NUM_THREADS": threads,
            "SHINARI_CACHE_DIR": str(tmp_path / folder),
            "PYTHONPATH": os.pathsep.join([str(Path(sn.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
        }
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, timeout=900
        )
        assert done.returncode == 0, done.stderr
        results.append(done.stdout)
    assert len(set(results)) == 1, results
    assert len({file.read_bytes() for name in "ab" for file in (tmp_path / name / "fields").iterdir()}) == 1
