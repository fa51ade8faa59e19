"""Tetrahedra that fill a surface: volumes, angles, boundaries, surfaces as they come."""

import hashlib
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import trimesh

import shinari as sn
from shinari.errors import MissingExtraError, SceneError, TetrahedraWarning
from shinari.geometry.tetrahedra import isosurface_stuffing, stencils
from shinari.geometry.tetrahedra.check import pieces, volumes
from shinari.geometry.tetrahedra.fill import boundary_faces, check_tetrahedra, measure_quality, tetrahedralize
from shinari.geometry.tetrahedra.winding import Winding

BALL = trimesh.creation.icosphere(4)
BOX = trimesh.creation.box()


def arrays(mesh):
    return np.array(mesh.vertices, np.float64), np.array(mesh.faces, np.int64)


def joined(*meshes):
    """Several meshes as one, vertices not united."""
    starts = np.cumsum([0] + [len(mesh[0]) for mesh in meshes])
    return np.concatenate([mesh[0] for mesh in meshes]), np.concatenate(
        [mesh[1] + start for mesh, start in zip(meshes, starts, strict=False)]
    )


def moved(mesh, offset, scale=1.0):
    vertices, faces = arrays(mesh)
    return scale * vertices + offset, faces


def check_boundary(tetrahedra):
    """Closed: each edge of the boundary belongs to an even number of its faces, as often one way as the other."""
    faces = boundary_faces(tetrahedra)
    start, end = faces.ravel(), faces[:, [1, 2, 0]].ravel()
    keys, place = np.unique(np.sort(np.stack([start, end], axis=1), axis=1), axis=0, return_inverse=True)
    balance = np.bincount(place.reshape(-1), np.where(start < end, 1, -1), len(keys))
    assert (balance == 0).all()
    return faces


def enclosed(vertices, faces):
    corners = vertices[faces] - vertices.mean(axis=0)
    return np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0


def check_result(result):
    check_tetrahedra(result.vertices, result.tetrahedra, "result")
    faces = check_boundary(result.tetrahedra)
    np.testing.assert_allclose(enclosed(result.vertices, faces), result.quality.volume, rtol=1e-9)
    assert result.quality.angles.min() > isosurface_stuffing.ANGLES[0]
    assert result.quality.angles.max() < isosurface_stuffing.ANGLES[1]
    assert result.quality.shape.min() > 0.117


@pytest.mark.parametrize("seed", range(4))
def test_angles_are_bounded_for_any_cuts(seed):
    """Random points inside, and cuts anywhere on the edges: worse than any surface."""
    generator = np.random.default_rng(seed)
    lattice = np.array([14, 12, 13])
    signs = np.where(generator.random((*lattice, 2)) < (0.3, 0.5, 0.7, 0.9)[seed], 1, -1).astype(np.int8)
    signs[[0, -1]] = signs[:, [0, -1]] = signs[:, :, [0, -1]] = -1
    signs = signs.reshape(-1)
    points = isosurface_stuffing._lattice_points(lattice)
    ends, cut_of = isosurface_stuffing._find_cuts(lattice, signs)
    assert (signs[ends[:, 0]] != signs[ends[:, 1]]).all()
    cuts = generator.random(len(ends))
    # many where it is worst: at an end, and just too far to move one
    black = np.isclose(np.linalg.norm(points[ends[:, 1]] - points[ends[:, 0]], axis=1), 1.0)
    limit = np.where(black, isosurface_stuffing.NEAR_BLACK, isosurface_stuffing.NEAR_RED)
    kind = generator.integers(0, 8, len(ends))
    for number, value in enumerate((0.0 * limit, limit - 1e-9, limit + 1e-9, 1.0 - limit - 1e-9, 1.0 - limit + 1e-9)):
        cuts = np.where(kind == number, value, cuts)
    moves = np.zeros((len(points), 2))
    isosurface_stuffing._move(ends, cuts, moves)
    spots = points[ends[:, 0]] + cuts[:, None] * (points[ends[:, 1]] - points[ends[:, 0]])
    at_surface = np.flatnonzero(moves[:, 1] > 0.0)
    points[at_surface] = spots[moves[at_surface, 0].astype(np.int64)]
    whole = np.where(moves[:, 1] > 0.0, 0, signs).astype(np.int8)
    vertices, tetrahedra = isosurface_stuffing._cut_tetrahedra(lattice, whole, cut_of, points, spots)
    assert len(tetrahedra) > 500
    check_tetrahedra(vertices, tetrahedra, "random")
    check_boundary(tetrahedra)
    quality = measure_quality(vertices, tetrahedra)
    assert quality.angles.min() > isosurface_stuffing.ANGLES[0]
    assert quality.angles.max() < isosurface_stuffing.ANGLES[1]
    assert quality.shape.min() > 0.117


def test_angles_of_each_stencil():
    """All 81 cases with their points moved along any edge and their cuts anywhere in between, most at the limits."""
    generator = np.random.default_rng(0)
    count = 4000
    first, nodes = stencils.stencils()
    axes = np.concatenate([np.eye(3), -np.eye(3)])
    diagonals = np.array(np.meshgrid(*3 * [[-0.5, 0.5]])).reshape(3, -1).T
    edges = np.concatenate([isosurface_stuffing.NEAR_BLACK * axes, isosurface_stuffing.NEAR_RED * diagonals])
    worst = [180.0, 0.0]
    for case in range(81):
        signs = [(case // 3**k) % 3 - 1 for k in range(4)]
        places = np.repeat(stencils._PLACES[None], count, axis=0)
        for k in range(4):
            if signs[k] == 0:
                far = np.clip(generator.uniform(-0.5, 2.0, (count, 1)), 0.0, 1.0)
                places[:, k] += far * edges[generator.integers(0, 14, count)]
        for e, (i, j) in enumerate(stencils.PAIRS):
            near = isosurface_stuffing.NEAR_BLACK if e < 2 else isosurface_stuffing.NEAR_RED
            t = np.clip(generator.uniform(-1.0, 2.0, (count, 1)), near, 1.0 - near)
            places[:, 4 + e] = (1.0 - t) * stencils._PLACES[i] + t * stencils._PLACES[j]
        for stencil in nodes[first[case] : first[case + 1]]:
            table = stencil[[0, 1, 3, 2]] + 10 * np.arange(count)[:, None]  # these points make a negative one
            quality = measure_quality(places.reshape(-1, 3), table)
            assert (quality.shape > 0.117).all()
            worst = [min(worst[0], quality.angles.min()), max(worst[1], quality.angles.max())]
    # within the bounds, and these no wider than they must be
    assert isosurface_stuffing.ANGLES[0] < worst[0] < isosurface_stuffing.ANGLES[0] + 1.0
    assert isosurface_stuffing.ANGLES[1] - 1.0 < worst[1] < isosurface_stuffing.ANGLES[1]


@pytest.mark.parametrize(
    ("mesh", "cells"),
    [(trimesh.creation.icosphere(5), (0.4, 0.2, 0.1)), (trimesh.creation.torus(1.0, 0.4, 96, 48), (0.2, 0.1, 0.05))],
    ids=["ball", "torus"],
)
def test_the_missing_volume_falls_with_the_square_of_the_cell(mesh, cells):
    results = [tetrahedralize(*arrays(mesh), cell=cell) for cell in cells]
    for result in results:
        check_result(result)
        np.testing.assert_allclose(result.missing, 1.0 - result.quality.volume / mesh.volume, atol=1e-12)
    missing = np.array([result.missing for result in results])
    order = np.log2(missing[:-1] / missing[1:])
    assert (order > 1.7).all(), (missing, order)
    assert (order < 2.6).all(), (missing, order)
    # chords of a cell under a curve of radius r: c^2 / (8 r) deep, over half the radius at most
    assert missing[-1] < 0.01


def test_a_surface_on_the_lattice_is_met_exactly():
    """The faces of a cube that is a whole number of cells lie on lattice points."""
    for count in (4, 10, 16):
        result = tetrahedralize(*arrays(BOX), cell=1.0 / count)
        check_result(result)
        np.testing.assert_allclose(result.quality.volume, 1.0, rtol=1e-6)
        np.testing.assert_allclose([result.vertices.min(), result.vertices.max()], [-0.5, 0.5], atol=1e-6)


def random_turns(mesh, share):
    vertices, faces = arrays(mesh)
    turn = np.random.default_rng(1).random(len(faces)) < share
    faces[turn] = faces[turn][:, ::-1]
    return vertices, faces


V, F = arrays(BALL)
SOUP = V[F].reshape(-1, 3)
SURFACES = {
    "plain": ((V, F), BALL.volume, 1),
    "inside out": ((V, F[:, ::-1]), BALL.volume, 1),
    "faces turned at random": (random_turns(BALL, 0.3), BALL.volume, 1),
    "every face twice": ((V, np.concatenate([F, F])), BALL.volume, 1),
    "both sides": ((V, np.concatenate([F, F[:, ::-1]])), BALL.volume, 1),
    "some faces twice, turned": ((V, np.concatenate([F, F[::7, ::-1]])), BALL.volume, 1),
    "without area": ((V, np.concatenate([F, [[0, 0, 1], [5, 7, 7], [3, 3, 3]]])), BALL.volume, 1),
    "loose vertices": ((np.concatenate([V, [[50.0, 0.0, 0.0]]]), F), BALL.volume, 1),
    "soup": ((SOUP, np.arange(len(SOUP)).reshape(-1, 3)), BALL.volume, 1),
    "soup with gaps": (
        (SOUP + 1e-6 * np.random.default_rng(2).standard_normal(SOUP.shape), np.arange(len(SOUP)).reshape(-1, 3)),
        BALL.volume,
        1,
    ),
    "holes": ((V, F[np.random.default_rng(3).random(len(F)) > 0.03]), BALL.volume, 1),
    "apart": (joined((V, F), moved(BALL, 3.0, 0.5)), 1.125 * BALL.volume, 2),
    "apart, one inside out": (joined((V, F), (moved(BALL, 3.0, 0.5)[0], F[:, ::-1])), 1.125 * BALL.volume, 2),
    "touching": (joined(arrays(BOX), moved(BOX, [1.0, 0.0, 0.0])), 2.0, 1),
    "overlapping": (joined(arrays(BOX), moved(BOX, [0.5, 0.4, 0.3])), 2.0 - 0.5 * 0.6 * 0.7, 1),
    "the same twice, a little apart": (joined((V, F), moved(BALL, 1e-9)), BALL.volume, 1),
    "hollow": (joined((V, F), (0.5 * V, F[:, ::-1])), 0.875 * BALL.volume, 1),
    "one in the other": (joined((V, F), (0.5 * V, F)), BALL.volume, 1),
}


@pytest.mark.parametrize("name", SURFACES)
def test_surfaces_as_they_come(name):
    (vertices, faces), volume, bodies = SURFACES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = tetrahedralize(vertices, faces)
    check_result(result)
    np.testing.assert_allclose(result.quality.volume, volume, rtol=0.025)
    assert 5_000 < len(result.tetrahedra) < 20_000
    assert pieces(result.tetrahedra).max() + 1 == bodies
    if name not in ("holes", "soup with gaps"):
        # where parts overlap the volume is that of lattice points, known to a part of a layer of cells
        assert abs(result.missing - (1.0 - result.quality.volume / volume)) < 0.05


def test_far_from_the_origin():
    """Shifted by a number that rounds none of the coordinates: the same tetrahedra, elsewhere."""
    vertices = np.round(V * 2**30) / 2**30
    offset = np.array([131072.0, -131072.0, 65536.0])
    near, far = tetrahedralize(vertices, F), tetrahedralize(vertices + offset, F)
    np.testing.assert_array_equal(near.tetrahedra, far.tetrahedra)
    np.testing.assert_allclose(far.vertices - offset, near.vertices, atol=1e-10)


@pytest.mark.parametrize("size", [0.033, 0.2, 0.3, 2.2])
@pytest.mark.parametrize("shape", [sn.Box((1.0, 1.0, 1.0)), sn.Cylinder(0.5, 1.0), sn.Capsule(0.33, 1.0)])
@pytest.mark.filterwarnings("ignore::shinari.errors.TetrahedraWarning")
def test_what_is_closed_is_never_told_as_open(shape, size):
    # diagonals of the lattice go exactly through edges of the surface, where rounding decides which triangle they meet
    vertices, faces = shape.surface()
    for cell in np.linspace(0.25, 0.7, 20):
        check_result(tetrahedralize(size * vertices, faces, cell=cell * size))


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_in_any_unit(factor):
    result, scaled = tetrahedralize(V, F), tetrahedralize(factor * V, F)
    np.testing.assert_allclose(scaled.quality.volume, factor**3 * result.quality.volume, rtol=1e-3)
    check_result(scaled)


def test_long_thin_triangles_and_a_body_across_the_lattice():
    rod = trimesh.creation.cylinder(0.05, 2.0, sections=48)
    rod.apply_transform(trimesh.transformations.rotation_matrix(0.9, [1.0, 0.3, 0.2]))
    result = tetrahedralize(*arrays(rod))
    check_result(result)
    np.testing.assert_allclose(result.quality.volume, rod.volume, rtol=0.04)


SCRIPT = """
import hashlib
import numpy as np, trimesh
from shinari.geometry.tetrahedra.fill import tetrahedralize
mesh = trimesh.creation.icosphere(4)
faces = np.array(mesh.faces)[::-1][np.random.default_rng(0).random(len(mesh.faces)) > 0.03]
total = hashlib.sha256()
for vertices in (mesh.vertices, np.array(mesh.vertices) * [1, 0.3, 2]):
    result = tetrahedralize(vertices, faces)
    total.update(result.vertices.tobytes() + result.tetrahedra.tobytes())
print(total.hexdigest())
"""


@pytest.mark.ordinary_kernels
def test_bits_depend_neither_on_threads_nor_on_what_is_cached(tmp_path):
    results = []
    for threads in ("2", "1"):  # compiled anew, then from the cache
        environment = {
            **os.environ,
            "SHINARI_NUM_THREADS": threads,
            "SHINARI_CACHE_DIR": str(tmp_path),
            "PYTHONPATH": os.pathsep.join([str(Path(sn.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]),
        }
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, timeout=900
        )
        assert done.returncode == 0, done.stderr
        results.append(done.stdout)
    assert len(set(results)) == 1, results


def test_winding_numbers_against_all_triangles():
    generator = np.random.default_rng(0)
    for mesh, kept in ((BALL, 1.0), (BALL, 0.7), (trimesh.creation.torus(1.0, 0.3), 1.0), (BOX, 1.0)):
        corners = np.array(mesh.triangles)
        corners = corners[generator.random(len(corners)) < kept]
        low, high = mesh.bounds
        points = low - 0.2 + (high - low + 0.4) * generator.random((400, 3))
        exact = np.zeros(len(points))
        for i, point in enumerate(points):
            a, b, c = np.moveaxis(corners - point, 1, 0)
            length = [np.linalg.norm(side, axis=1) for side in (a, b, c)]
            volume = np.einsum("ij,ij->i", a, np.cross(b, c))
            base = length[0] * length[1] * length[2]
            for (p, q), other in zip(((a, b), (b, c), (c, a)), (2, 0, 1), strict=True):
                base = base + np.einsum("ij,ij->i", p, q) * length[other]
            exact[i] = np.arctan2(volume, base).sum() / (2.0 * np.pi)
        np.testing.assert_allclose(Winding(corners).numbers(points), exact, atol=0.03)


def test_default_cell_gives_about_as_many_as_it_says():
    for mesh in (BALL, BOX, trimesh.creation.cylinder(0.1, 2.0), trimesh.creation.torus(1.0, 0.3)):
        assert 8_000 < len(tetrahedralize(*arrays(mesh)).tetrahedra) < 15_000
    plate = np.array(BOX.vertices) * [1.0, 1.0, 0.02]
    assert 8_000 < len(tetrahedralize(plate, BOX.faces).tetrahedra) < 100_000


@pytest.mark.parametrize(
    ("vertices", "faces", "message"),
    [
        (BOX.vertices, BOX.faces[BOX.face_normals[:, 1] < 0.9], r"is open, 1\d %.*4 open edges, 1 hole.*1\.41 m"),
        (V, F[BALL.triangles_center[:, 1] < 0.0], r"is open, .* 1 hole.*the largest 2\.8\d m across"),
        (V[:, :] * [1, 1, 0], F[BALL.triangles_center[:, 2] > 0.0], "no inside|is open"),
        ([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.0]], [[0, 1, 2], [0, 2, 3]], "no inside: 4 open edges"),
        (V, F * 0, "none has an area"),
        (V, F + 1, r"faces\[\d+\] .* out of range"),
        (V, F - 1, r"faces\[\d+\] .* out of range"),
        (V, F[:, :2], "faces: expected whole numbers"),
        (V, F.astype(float), "faces: expected whole numbers"),
        (V, np.zeros((0, 3), int), "faces: expected whole numbers"),
        (V[:, :2], F, "vertices: expected shape"),
        (np.where(np.arange(len(V))[:, None] == 4, np.nan, V), F, "vertices"),
    ],
)
def test_refused_surfaces(vertices, faces, message):
    with pytest.raises(SceneError, match=message) as error:
        tetrahedralize(vertices, faces, label="soft body 'jelly'")
    assert "soft body 'jelly'" in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cell": 5.0}, r"cell: 5 m is too large.*try 0\.67"),
        ({"cell": 1e-4}, r"cell: 0\.0001 m makes a lattice"),
        ({"cell": 0.0}, "cell"),
        ({"cell": -1.0}, "cell"),
        ({"cell": np.nan}, "cell"),
        ({"method": "magic"}, "method"),
    ],
)
def test_refused_arguments(arguments, message):
    with pytest.raises(SceneError, match=message):
        tetrahedralize(V, F, **arguments)


def test_what_is_offered_works():
    for vertices, cell in ((V, 5.0), (np.array(BOX.vertices) * [1, 1, 0.05], 0.3)):
        faces = F if len(vertices) == len(V) else BOX.faces
        with pytest.raises(SceneError, match="try") as error:
            tetrahedralize(vertices, faces, cell=cell)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TetrahedraWarning)  # a coarse one
            check_result(tetrahedralize(vertices, faces, cell=float(str(error.value).rsplit(" ", 1)[1])))


def test_thin_parts_are_missed_with_a_warning():
    ear = moved(BOX, 0.0)[0] * [0.02, 0.8, 0.3] + [0.0, 1.3, 0.0]
    with pytest.warns(TetrahedraWarning, match=r"ear: .* % of the surface is far .*try cell=") as record:
        result = tetrahedralize(*joined((V, F), (ear, BOX.faces)), label="ear")
    check_result(result)
    assert 0.02 < result.unseen < 0.1
    cell = float(str(record[0].message).rsplit("=", 1)[1])
    assert cell < result.cell


def test_what_falls_apart_is_told():
    """Two balls on a thread: one surface, two pieces."""
    profile = np.array([[0.0, -3.0], [0.7, -2.7], [1.0, -2.0], [0.6, -1.2], [0.02, -0.8], [0.02, 0.8], [0.6, 1.2]])
    profile = np.concatenate([profile, [[1.0, 2.0], [0.7, 2.7], [0.0, 3.0]]])
    thread = trimesh.creation.revolve(profile, sections=64)
    with pytest.warns(TetrahedraWarning, match="they fall into 2 pieces, the surface into 1"):
        result = tetrahedralize(*arrays(thread), cell=0.3)
    check_result(result)


def test_says_what_it_is():
    text = str(tetrahedralize(V, F, cell=0.4))
    assert "\n" not in text
    assert "tetrahedra" in text
    assert "degrees" in text


def digest(result):
    return hashlib.sha256(result.vertices.tobytes() + result.tetrahedra.tobytes()).hexdigest()


@pytest.mark.filterwarnings("ignore::shinari.errors.CacheWarning")  # once in a process; see test_object_cache
def test_tetwild_and_its_cache(tmp_path, monkeypatch):
    pytest.importorskip("pytetwild")
    from shinari.geometry.tetrahedra import ftetwild as tetra_wild

    monkeypatch.setenv("SHINARI_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    runs = []
    monkeypatch.setattr(tetra_wild, "_run", lambda *a, real=tetra_wild._run: (runs.append(1), real(*a))[1])
    ball = trimesh.creation.icosphere(2)
    vertices, faces = arrays(ball)
    vertices += [3.0, 0.0, 100.0]
    result = tetrahedralize(vertices, faces, cell=0.4, method="tetwild")
    check_tetrahedra(result.vertices, result.tetrahedra, "tetwild")
    check_boundary(result.tetrahedra)
    np.testing.assert_allclose(result.quality.volume, ball.volume, rtol=0.01)
    np.testing.assert_allclose(result.vertices.mean(axis=0), [3.0, 0.0, 100.0], atol=0.05)
    assert digest(tetrahedralize(vertices, faces, cell=0.4, method="tetwild")) == digest(result)
    assert len(runs) == 1
    (file,) = (tmp_path / "cache" / "tetrahedra").glob("*.npy")
    whole = file.read_bytes()
    for count, content in enumerate((whole[:-9], b"", whole[:300] + b"x" + whole[301:]), start=2):
        file.write_bytes(content)
        again = tetrahedralize(vertices, faces, cell=0.4, method="tetwild")
        np.testing.assert_allclose(again.quality.volume, ball.volume, rtol=0.01)
        assert len(runs) == count
        assert file.read_bytes() != content
    # nothing is left beside it
    assert {path.name for path in tmp_path.iterdir()} == {"cache"}
    # the same refusals as with the lattice
    with pytest.raises(SceneError, match="is open"):
        tetrahedralize(BOX.vertices, BOX.faces[BOX.face_normals[:, 1] < 0.9], method="tetwild")


def test_tetwild_is_named_when_it_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pytetwild", None)
    with pytest.raises(MissingExtraError, match=r"shinari\[tet\]"):
        tetrahedralize(V, F, method="tetwild")


def test_every_tetrahedron_is_inside_or_near():
    result = tetrahedralize(V, F, cell=0.2)
    centres = result.vertices[result.tetrahedra].mean(axis=1)
    assert np.linalg.norm(centres, axis=1).max() < 1.0
    assert (volumes(result.vertices, result.tetrahedra) > 0.0).all()
    # vertices of the boundary are cuts and moved points: on the surface
    border = np.unique(boundary_faces(result.tetrahedra))
    radius = np.linalg.norm(result.vertices[border], axis=1)
    on = np.abs(radius - 1.0) < 0.01
    assert on.mean() > 0.99
