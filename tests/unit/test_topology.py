"""Meshes: refusals that name the culprit, and edges, hinges and masses against counts and closed forms."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shinari as sn
from shinari.errors import SceneError
from shinari.geometry import topology

SQUARE = np.array([[0.0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1]])
HALVES = np.array([[0, 2, 1], [0, 3, 2]])


def angle(x, hinge):
    a, b, c, d = x[hinge]
    first, second, along = np.cross(b - a, c - a), np.cross(d - a, b - a), (b - a) / np.linalg.norm(b - a)
    first, second = first / np.linalg.norm(first), second / np.linalg.norm(second)
    return np.arctan2(np.dot(np.cross(first, second), along), np.dot(first, second))


def test_check_mesh_brings_lists_into_the_types_of_the_package():
    vertices, faces = topology.check_mesh(SQUARE.astype(np.float32)[::1].tolist(), HALVES.tolist(), "cloth")
    assert vertices.dtype == np.float64
    assert faces.dtype == np.int32
    assert vertices.flags.c_contiguous
    assert faces.flags.c_contiguous
    np.testing.assert_array_equal(vertices, SQUARE)


@pytest.mark.parametrize(
    ("vertices", "faces", "words"),
    [
        (SQUARE[:, :2], HALVES, ["vertices", "(4, 2)"]),
        ([[0, 0, 0], [1, 2]], HALVES, ["vertices"]),
        (np.zeros((0, 3)), HALVES, ["vertices", "empty"]),
        (SQUARE, np.zeros((0, 3), int), ["faces", "empty"]),
        (SQUARE, HALVES[:, :2], ["faces", "(2, 2)"]),
        (SQUARE, HALVES.astype(float), ["faces", "integers"]),
        (SQUARE, HALVES.astype(bool), ["faces", "integers"]),
        (SQUARE.astype(complex), HALVES, ["vertices", "numbers"]),
        (np.where(np.arange(4)[:, None] == 2, np.nan, SQUARE), HALVES, ["vertices[2]", "finite"]),
        (np.where(np.arange(4)[:, None] > 1, np.inf, SQUARE), HALVES, ["vertices[2]", "1 more: 3"]),
        (SQUARE, [[0, 2, 1], [0, 4, 2]], ["faces[1]", "[0, 4, 2]", "out of range"]),
        (SQUARE, [[0, 2, 1], [0, 3, -1]], ["faces[1]", "out of range"]),
        (SQUARE, [[0, 2, 1], [0, 3, 3]], ["faces[1]", "repeats"]),
        (np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 0, 1]]), [[0, 1, 3], [0, 1, 2]], ["faces[1]", "area"]),
        (SQUARE, [[0, 2, 1], [0, 3, 2], [1, 0, 2]], ["faces[2]", "faces[0]"]),
        (SQUARE, [[0, 2, 1]], ["vertices[3]", "no face"]),
    ],
)
def test_check_mesh_names_the_thing_the_field_and_the_index(vertices, faces, words):
    with pytest.raises(SceneError) as caught:
        topology.check_mesh(vertices, faces, "cloth 'flag'")
    for word in ["cloth 'flag'", *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_degenerate_is_relative_to_the_size_of_the_triangle(scale):
    topology.check_mesh(SQUARE * scale, HALVES, "cloth")
    flat = SQUARE.copy()
    flat[3] = [0.5, 0.0, 0.5 + 1e-9]
    with pytest.raises(SceneError, match=r"faces\[1\]"):
        topology.check_mesh(flat * scale, HALVES, "cloth")


@given(nx=st.integers(2, 7), ny=st.integers(2, 7), diagonal=st.sampled_from(["same", "alternating"]))
@settings(deadline=None, max_examples=30)
def test_grid_counts_directions_area_and_mass(nx, ny, diagonal):
    vertices, faces = topology.grid(shape=(nx, ny), size=(3.0, 2.0), diagonal=diagonal)
    topology.check_mesh(vertices, faces, "grid")
    np.testing.assert_allclose(vertices.mean(axis=0), 0.0, atol=1e-15)
    np.testing.assert_allclose(vertices[nx - 1], [1.5, 0.0, -1.0])  # end of the first row: +X
    np.testing.assert_allclose(vertices[nx * (ny - 1)], [-1.5, 0.0, 1.0])  # start of the last one: +Z
    normals, areas = topology.face_normals_areas(vertices, faces)
    np.testing.assert_allclose(normals, np.broadcast_to([0.0, 1.0, 0.0], normals.shape), atol=1e-12)
    assert areas.sum() == pytest.approx(6.0, rel=1e-12)
    assert topology.vertex_masses(areas, faces, 0.2, np.ones(len(vertices))).sum() == pytest.approx(1.2, rel=1e-12)

    edges, hinges, rim = topology.edges(faces), topology.hinges(faces), topology.boundary_edges(faces)
    assert len(vertices) - len(edges) + len(faces) == 1  # Euler
    assert len(rim) == 2 * (nx + ny - 2)
    assert len(hinges) + len(rim) == len(edges)
    assert (edges[:, 0] < edges[:, 1]).all()
    assert (np.diff(edges[:, 0].astype(np.int64) * len(vertices) + edges[:, 1]) > 0).all()
    np.testing.assert_array_equal(np.bincount(rim[:, 0]), np.bincount(rim[:, 1]))  # the rim closes, directed


def test_alternating_diagonals_turn():
    degree = [
        np.bincount(topology.edges(topology.grid(shape=(5, 5), diagonal=kind)[1]).ravel())[12]
        for kind in ("same", "alternating")
    ]
    assert degree[0] == 6
    assert degree[1] in (4, 8)


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=30)
def test_hinges_hold_whatever_the_order_and_orientation(seed):
    rng = np.random.default_rng(seed)
    vertices, faces = topology.grid(shape=(4, 5))
    plain = topology.hinges(faces)
    faces = faces[rng.permutation(len(faces))]
    turn = rng.integers(0, 3, len(faces))
    faces = faces[np.arange(len(faces))[:, None], (np.arange(3) + turn[:, None]) % 3]
    flipped = rng.random(len(faces)) < 0.5
    faces[flipped] = faces[flipped, ::-1]
    hinges = topology.hinges(faces)
    assert {(*sorted(h[:2]), *sorted(h[2:])) for h in plain.tolist()} == {
        (*sorted(h[:2]), *sorted(h[2:])) for h in hinges.tolist()
    }
    np.testing.assert_allclose([angle(vertices, hinge) for hinge in hinges], 0.0, atol=1e-12)
    np.testing.assert_array_equal(topology.cross_edges(hinges), hinges[:, 2:])
    for a, b, c, d in hinges.tolist():
        first = min(index for index, face in enumerate(faces.tolist()) if {a, b} <= set(face))
        assert [a, b, c] in [np.roll(faces[first], -k).tolist() for k in range(3)]
        assert sorted([a, b, d]) in [sorted(face) for face in faces.tolist()]


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("bend", [0.7, -0.7])
def test_hinge_sign_is_negative_for_a_valley_on_the_side_of_the_first_normal(bend, flip):
    x = np.array([[0.0, 0, 0], [1, 0, 0], [0.5, 1, 0], [0.5, -np.cos(bend), np.sin(bend)]])
    (hinge,) = topology.hinges(np.array([[0, 1, 2], [0, 1, 3] if flip else [1, 0, 3]]))
    assert hinge.tolist() == [0, 1, 2, 3]
    assert angle(x, hinge) == pytest.approx(-bend)


def test_hinges_refuse_an_edge_of_three_faces():
    with pytest.raises(SceneError, match=r"cloth 'fin': faces 0, 1, 2 .* edge \(0, 1\)"):
        topology.hinges(np.array([[0, 1, 2], [1, 0, 3], [0, 1, 4]]), "cloth 'fin'")


def test_a_closed_surface_has_no_rim():
    faces = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
    assert topology.boundary_edges(faces).shape == (0, 2)
    assert topology.hinges(faces).shape == (6, 4)
    assert topology.edges(faces).tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]


@pytest.mark.parametrize(
    "arguments",
    [{"shape": (1, 4)}, {"shape": (4, 4), "size": (0.0, 1.0)}, {"shape": (4, 4), "diagonal": "cross"}],
)
def test_grid_refuses(arguments):
    with pytest.raises(SceneError, match="grid"):
        topology.grid(**arguments)


def test_topology_does_not_bring_numba():
    code = "import sys, shinari.geometry.topology; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_sheet_with_a_seam_is_told_of():
    vertices, faces = sn.grid(shape=(5, 4))
    scene = sn.Scene()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scene.add_cloth((vertices, faces))
        # two pieces that are apart are what they look like
        above = np.add(vertices, (0.0, 1.0, 0.0))
        scene.add_cloth((np.concatenate([vertices, above]), np.concatenate([faces, faces + 20])))
    # the triangles right of the third column get vertices of their own there
    right = vertices[faces][..., 0].mean(axis=1) > vertices[2, 0]
    cut = np.flatnonzero(vertices[:, 0] == vertices[2, 0])
    new = np.arange(len(vertices))
    new[cut] = len(vertices) + np.arange(len(cut))
    faces = np.where(right[:, None], new[faces], faces)
    text = f"4 vertices on its boundaries lie exactly where others do, vertex 20 where {cut[0]} is"
    with pytest.warns(sn.SeamWarning, match=text):
        scene.add_cloth((np.concatenate([vertices, vertices[cut]]), faces))
