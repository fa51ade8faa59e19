"""Tetrahedral meshes: lattices, what is refused, boundaries, pieces, quality."""

import numpy as np
import pytest

from shinari.errors import SceneError
from shinari.geometry.tetrahedra.check import boundary_faces, check_tetrahedra, components, orient, pieces, volumes
from shinari.geometry.tetrahedra.lattice import lattice
from shinari.geometry.tetrahedra.quality import drop_worst, measure_quality

REGULAR = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])
ONE = np.array([[0, 1, 2, 3]])
CORNER = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize("split", [5, 6])
@pytest.mark.parametrize(("cells", "size"), [((1, 1, 1), 1.0), ((3, 2, 5), 0.1), ((2, 4, 3), (0.1, 0.2, 0.5))])
def test_lattice_fills_its_box(cells, size, split):
    vertices, tetrahedra = lattice(cells, size, split=split)
    edges = np.broadcast_to(size, 3)
    assert len(vertices) == np.prod(np.array(cells) + 1)
    assert tetrahedra.shape == (split * np.prod(cells), 4)
    assert tetrahedra.dtype == np.int64
    np.testing.assert_allclose(vertices.max(axis=0), np.array(cells) * edges)
    check_tetrahedra(vertices, tetrahedra, "lattice")
    np.testing.assert_allclose(volumes(vertices, tetrahedra).sum(), np.prod(cells) * np.prod(edges), rtol=1e-12)
    # two triangles on each square of the border
    a, b, c = cells
    assert len(boundary_faces(tetrahedra)) == 4 * (a * b + b * c + c * a)
    assert pieces(tetrahedra).max() == 0


@pytest.mark.parametrize(
    "bad", [{"cells": (0, 1, 1)}, {"cells": (1, 1)}, {"size": 0.0}, {"size": np.nan}, {"split": 7}]
)
def test_lattice_refuses(bad):
    arguments = {"cells": (1, 1, 1), "size": 1.0, "split": 5} | bad
    with pytest.raises(SceneError, match=next(iter(bad))):
        lattice(arguments["cells"], arguments["size"], split=arguments["split"])


def test_boundary_faces_look_outward():
    for split in (5, 6):
        vertices, tetrahedra = lattice((3, 2, 2), (0.1, 0.3, 0.2), split=split)
        corners = vertices[boundary_faces(tetrahedra)]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        outward = corners.mean(axis=1) - vertices.mean(axis=0)
        # on a box the normal points along the axis on which the face lies outermost
        assert (np.einsum("ij,ij->i", normals, outward) > 0.0).all()
        volume = np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
        np.testing.assert_allclose(volume, volumes(vertices, tetrahedra).sum(), rtol=1e-12)


def test_boundary_with_many_vertices():
    """Keys of three indices do not fit into one integer there."""
    _, tetrahedra = lattice((2, 2, 2), 1.0)
    np.testing.assert_array_equal(boundary_faces(tetrahedra + 2**40), boundary_faces(tetrahedra) + 2**40)
    np.testing.assert_array_equal(boundary_faces(tetrahedra + 2**20), boundary_faces(tetrahedra) + 2**20)


def test_pieces_share_faces_not_edges():
    _, tetrahedra = lattice((4, 1, 1), 1.0)
    apart = np.concatenate([tetrahedra[:5], tetrahedra[15:]])  # the cubes at both ends
    np.testing.assert_array_equal(np.bincount(pieces(apart)), [5, 5])
    edge = np.array([[0, 1, 2, 3], [0, 1, 4, 5]])
    np.testing.assert_array_equal(pieces(edge), [0, 1])


def test_components_against_a_search():
    generator = np.random.default_rng(0)
    for count, links in ((50, 20), (200, 150), (1000, 999), (30, 0)):
        first, second = generator.integers(0, count, (2, links))
        if links == 999:
            first = generator.permutation(count)  # one long chain
            first, second = first[:-1], first[1:]
        label = components(count, first, second)
        groups = [{k} for k in range(count)]
        for i, j in zip(first, second, strict=True):
            if groups[i] is not groups[j]:
                groups[i] |= groups[j]
                for k in groups[j]:
                    groups[k] = groups[i]
        for k in range(count):
            assert set(np.flatnonzero(label == label[k])) == groups[k]
        assert label.max() + 1 == len({id(group) for group in groups})


def test_orient_turns_each_negative_one():
    vertices, tetrahedra = lattice((2, 3, 2), 0.1)
    generator = np.random.default_rng(0)
    shuffled = generator.permuted(tetrahedra, axis=1)
    assert (volumes(vertices, shuffled) < 0.0).any()
    turned = orient(vertices, shuffled)
    check_tetrahedra(vertices, turned, "turned")
    np.testing.assert_array_equal(np.sort(turned), np.sort(tetrahedra))
    np.testing.assert_array_equal(orient(vertices, tetrahedra), tetrahedra)


@pytest.mark.parametrize(
    ("vertices", "tetrahedra", "message"),
    [
        (CORNER, [[0, 1, 3, 2]], r"tetrahedra\[0\], \[0, 1, 3, 2\], is inverted: -0\.167 m\^3; all are: turn them"),
        (CORNER * [1, 1, 0], ONE, r"tetrahedra\[0\].* has no volume"),
        (CORNER * [1, 1, 1e-7], ONE, "has no volume"),
        (CORNER * 1e-12 * [1, 1, 1e-7], ONE, "has no volume"),
        (CORNER, [[0, 1, 2, 4]], r"tetrahedra\[0\] is \[0, 1, 2, 4\], out of range for 4 vertices"),
        (CORNER, [[0, 1, 2, -1]], "out of range"),
        (CORNER, [[0, 1, 2, 2]], r"tetrahedra\[0\] is \[0, 1, 2, 2\], a vertex repeats"),
        (np.concatenate([CORNER, CORNER]), ONE, r"vertices\[4\] is in no tetrahedron.*and 3 more"),
        (CORNER + np.array([0.0, np.inf, 0.0]), ONE, r"vertices\[0\] is \[.*not finite"),
        (CORNER, np.concatenate([ONE, ONE]), "tetrahedra 0 and 1 overlap"),
        (CORNER, ONE.astype(float), "tetrahedra: expected whole numbers"),
        (CORNER, [[0, 1, 2]], r"tetrahedra: expected shape \(n, 4\)"),
        (CORNER, np.zeros((0, 4), int), "tetrahedra: is empty"),
        (CORNER[:, :2], ONE, r"vertices: expected shape \(n, 3\)"),
        (CORNER, [[0, 1, 2, 3], [0, 1, 2]], "tetrahedra: expected a table"),
    ],
)
def test_refused(vertices, tetrahedra, message):
    with pytest.raises(SceneError, match=message) as error:
        check_tetrahedra(vertices, tetrahedra, "soft body 'jelly'")
    assert str(error.value).startswith("soft body 'jelly'")


def test_refused_counts_them():
    vertices, tetrahedra = lattice((2, 2, 2), 1.0)
    tetrahedra[[3, 8, 9]] = tetrahedra[[3, 8, 9]][:, [1, 0, 2, 3]]
    with pytest.raises(SceneError, match=r"tetrahedra\[3\].*is inverted.*and 2 more"):
        check_tetrahedra(vertices, tetrahedra, "thing")


def test_a_folded_mesh_is_found_after_turning():
    """A vertex pushed through the opposite face: turned, the tetrahedron lies across its neighbour."""
    vertices = np.concatenate([CORNER, [[0.9, 0.9, 0.9]]])
    tetrahedra = np.array([[0, 1, 2, 3], [1, 3, 2, 4]])
    check_tetrahedra(vertices, orient(vertices, tetrahedra), "whole")
    vertices[4] = 0.1
    with pytest.raises(SceneError, match="tetrahedra 0 and 1 overlap"):
        check_tetrahedra(vertices, orient(vertices, tetrahedra), "folded")
    third = np.concatenate([CORNER, [[0.9, 0.9, 0.9], [2.0, 2.0, 2.5]]])
    with pytest.raises(SceneError, match="0, 1, 2 all share the face"):
        check_tetrahedra(third, orient(third, np.array([[0, 1, 2, 3], [1, 3, 2, 4], [1, 3, 2, 5]])), "three")


def test_accepts_and_copies():
    vertices, tetrahedra = check_tetrahedra(CORNER.tolist(), [[0, 1, 2, 3]], "thing")
    assert vertices.dtype == np.float64
    assert tetrahedra.dtype == np.int64
    points, table = check_tetrahedra(vertices.astype(np.float32), tetrahedra.astype(np.uint16), "thing")
    np.testing.assert_array_equal(points, vertices)
    np.testing.assert_array_equal(table, tetrahedra)
    # small and large units are no reason to refuse
    for factor in (1e-9, 1e9):
        check_tetrahedra(factor * CORNER, ONE, "thing")


def test_quality_of_known_shapes():
    regular = measure_quality(REGULAR, orient(REGULAR, ONE))
    np.testing.assert_allclose([regular.shape[0], regular.radius_ratio[0]], 1.0, rtol=1e-12)
    np.testing.assert_allclose(regular.angles, np.degrees(np.arccos(1.0 / 3.0)), rtol=1e-12)
    np.testing.assert_allclose(regular.volume, 8.0 / 3.0)
    corner = measure_quality(CORNER, ONE)
    # edges 1, 1, 1 and sqrt 2: l_rms^2 = 3/2; inscribed (3 - sqrt 3)/6, circumscribed sqrt(3)/2
    np.testing.assert_allclose(corner.shape, np.sqrt(2.0) / 1.5**1.5, rtol=1e-12)
    np.testing.assert_allclose(corner.radius_ratio, np.sqrt(3.0) - 1.0, rtol=1e-12)
    np.testing.assert_allclose(corner.angles[0], [np.degrees(np.arccos(1.0 / np.sqrt(3.0))), 90.0], rtol=1e-12)


def test_quality_is_the_same_in_any_place_unit_and_order():
    generator = np.random.default_rng(0)
    vertices = generator.standard_normal((400, 3))
    tetrahedra = orient(vertices, np.arange(400).reshape(-1, 4))
    quality = measure_quality(vertices, tetrahedra)
    for factor, offset in ((1e-3, 0.0), (1e4, 50.0)):
        other = measure_quality(factor * vertices + offset, tetrahedra[:, [1, 2, 0, 3]])
        np.testing.assert_allclose(other.shape, quality.shape, rtol=1e-6)
        np.testing.assert_allclose(other.radius_ratio, quality.radius_ratio, rtol=1e-5)
        np.testing.assert_allclose(other.angles, quality.angles, rtol=1e-5)
    assert ((quality.shape > 0.0) & (quality.shape < 1.0)).all()
    assert ((quality.radius_ratio > 0.0) & (quality.radius_ratio < 1.0)).all()
    np.testing.assert_array_equal(quality.histogram.sum(), len(tetrahedra))
    # angles by the definition, against normals of the faces
    x = vertices[tetrahedra]
    for i, j, k, m in ((0, 1, 2, 3), (0, 2, 3, 1), (2, 3, 0, 1)):
        edge = x[:, j] - x[:, i]
        one, two = np.cross(edge, x[:, k] - x[:, i]), np.cross(edge, x[:, m] - x[:, i])
        cosine = np.einsum("ij,ij->i", one, two) / np.linalg.norm(one, axis=1) / np.linalg.norm(two, axis=1)
        angle = np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0)))
        assert (angle >= quality.angles[:, 0] - 1e-6).all()
        assert (angle <= quality.angles[:, 1] + 1e-6).all()


@pytest.mark.parametrize(
    "flat",
    [
        [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 1e-9]],  # sliver
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.3, 0.3, 1e-9]],  # cap
        [[0, 0, 0], [1, 0, 0], [0.5, 1e-9, 0], [0.5, 0, 1e-9]],  # needle
        [[0, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0, 1]],  # two points in one place
    ],
)
def test_quality_of_flat_ones_is_zero(flat):
    quality = measure_quality(np.array(flat, float), ONE)
    assert abs(quality.shape[0]) < 1e-8
    assert np.isfinite(quality.radius_ratio).all()
    assert np.isfinite(quality.angles).all()
    assert quality.histogram[0] == 1


def test_says_the_least_and_the_mean_on_one_line():
    vertices, tetrahedra = lattice((4, 4, 4), 0.1)
    text = str(measure_quality(vertices, tetrahedra))
    assert text == "320 tetrahedra, 0.064 m^3, shape at least 0.77, mean 0.82, angles 54.7 to 90.0 degrees"


def test_the_worst_can_be_left_out():
    vertices, tetrahedra = lattice((2, 2, 2), 1.0)
    flat = np.concatenate([vertices, [[-1e-9, 0.3, 0.3]]])
    extra = orient(flat, np.array([[0, 1, 3, len(vertices)]]))
    with pytest.raises(SceneError, match="has no volume"):
        check_tetrahedra(flat, np.concatenate([tetrahedra, extra]), "thing")
    kept, table, dropped = drop_worst(flat, np.concatenate([tetrahedra, extra]), 0.01)
    np.testing.assert_array_equal(kept, vertices)
    np.testing.assert_array_equal(table, tetrahedra)
    np.testing.assert_array_equal(dropped, [40])
    check_tetrahedra(kept, table, "thing")
