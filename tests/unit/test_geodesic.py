"""Geodesics against straight lines, unrolled cylinders, arcs and arc lengths of curves."""

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st

from shinari.geometry.geodesic import geodesic_distances
from shinari.geometry.topology import edges, grid


def cylinder(columns, rows, height):
    """A closed band of radius 1, and a function for exact distances from one of its vertices, by unrolling it."""
    angle, column = 2.0 * np.pi * np.arange(columns) / columns, np.arange(columns * rows) % columns
    level = np.repeat(np.linspace(0.0, height, rows), columns)
    vertices = np.stack([np.cos(angle[column]), level, np.sin(angle[column])], axis=1)
    row, start = np.meshgrid(np.arange(rows - 1), np.arange(columns), indexing="ij")
    p, q = (row * columns + start).ravel(), (row * columns + (start + 1) % columns).ravel()
    faces = np.stack([p, p + columns, q, q, p + columns, q + columns], axis=1).reshape(-1, 3)

    def exact(source):
        turn = np.abs(column - column[source])
        return np.hypot(np.minimum(turn, columns - turn) * 2.0 * np.sin(np.pi / columns), level - level[source])

    return vertices, faces, exact


@pytest.mark.parametrize("diagonal", ["same", "alternating"])
@given(st.integers(2, 25), st.integers(2, 25), st.floats(0.2, 5.0), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=25)
def test_flat_sheet_is_straight_and_never_too_short(diagonal, nx, ny, height, seed):
    vertices, faces = grid(shape=(nx, ny), size=(1.0, height), diagonal=diagonal)
    sources = np.random.default_rng(seed).integers(0, len(vertices), 1)
    distance, nearest = geodesic_distances(vertices, faces, sources)
    exact = np.linalg.norm(vertices - vertices[sources[0]], axis=1)
    assert (distance >= exact * (1.0 - 1e-12)).all()
    np.testing.assert_allclose(distance, exact, rtol=1e-9)
    assert (nearest == 0).all()


def test_two_sources_share_a_flat_sheet():
    vertices, faces = grid(shape=(41, 31), size=(2.0, 1.0))
    sources = [0, 41 * 31 - 1]
    distance, nearest = geodesic_distances(vertices, faces, sources)
    each = np.linalg.norm(vertices[:, None] - vertices[sources], axis=2)
    np.testing.assert_allclose(distance, each.min(axis=1), rtol=1e-9)
    clear = np.abs(each[:, 0] - each[:, 1]) > 1e-9
    np.testing.assert_array_equal(nearest[clear], each.argmin(axis=1)[clear])


@pytest.mark.parametrize(("sources", "tolerance"), [([0], 1e-9), ([0, 833], 0.02)])  # where two sources meet: a detour
def test_cylinder_is_its_unrolled_sheet(sources, tolerance):
    vertices, faces, exact = cylinder(40, 41, 3.0)
    distance, _ = geodesic_distances(vertices, faces, sources)
    truth = np.min([exact(source) for source in sources], axis=0)
    assert (distance >= truth * (1.0 - 1e-12)).all()
    np.testing.assert_allclose(distance, truth, rtol=tolerance)
    assert distance.sum() <= 1.001 * truth.sum()


def test_random_triangles_stay_close_and_above_the_straight_line():
    from scipy.spatial import Delaunay

    flat = np.random.default_rng(2).random((3000, 2))
    vertices = np.insert(flat, 1, 0.0, axis=1)
    source = int(np.argmin(((flat - 0.5) ** 2).sum(axis=1)))
    distance, _ = geodesic_distances(vertices, Delaunay(flat).simplices, [source])
    exact = np.linalg.norm(vertices - vertices[source], axis=1)
    assert (distance >= exact * (1.0 - 1e-12)).all()
    excess = distance[exact > 0.0] / exact[exact > 0.0] - 1.0
    assert excess.mean() < 0.005


def test_sphere_is_within_half_a_percent_of_its_arcs():
    sphere = trimesh.creation.icosphere(subdivisions=4)
    vertices = np.array(sphere.vertices)
    distance, _ = geodesic_distances(vertices, sphere.faces, [0])
    exact = np.arccos(np.clip(vertices @ vertices[0], -1.0, 1.0))
    assert np.abs(distance[1:] / exact[1:] - 1.0).max() < 0.015
    assert np.abs(distance[1:] / exact[1:] - 1.0).mean() < 0.005


@given(st.integers(2, 60), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=40)
def test_curve_has_its_arc_length(count, seed):
    rng = np.random.default_rng(seed)
    vertices = rng.normal(size=(count, 3))
    arc = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(vertices, axis=0), axis=1))])
    rows = np.stack([np.arange(count - 1), np.arange(1, count)], axis=1)[rng.permutation(count - 1)]
    sources = rng.integers(0, count, 3)
    distance, nearest = geodesic_distances(vertices, rows, sources)
    each = np.abs(arc[:, None] - arc[sources])
    np.testing.assert_allclose(distance, each.min(axis=1), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(each[np.arange(count), nearest], distance, rtol=1e-12, atol=1e-13)


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=30)
def test_crumpled_sheet_lies_between_space_and_edges_and_scales(seed):
    rng = np.random.default_rng(seed)
    vertices, faces = grid(shape=(9, 8))
    vertices = vertices + rng.normal(scale=0.05, size=vertices.shape)
    distance, nearest = geodesic_distances(vertices, faces, [3, 40])
    along, _ = geodesic_distances(vertices, edges(faces), [3, 40])
    assert (distance <= along * (1.0 + 1e-12)).all()
    assert (distance >= np.linalg.norm(vertices - vertices[[3, 40]][nearest], axis=1) * (1.0 - 1e-9)).all()
    again, same = geodesic_distances(4.0 * vertices, faces, [3, 40])  # a power of two: the same bits
    np.testing.assert_array_equal(again, 4.0 * distance)
    np.testing.assert_array_equal(same, nearest)


def test_out_of_reach_is_infinite():
    vertices, faces = grid(shape=(3, 3))
    both = np.concatenate([vertices, vertices + 5.0])
    distance, nearest = geodesic_distances(both, np.concatenate([faces, faces + 9]), [4, 4])
    assert np.isfinite(distance[:9]).all()
    assert np.isinf(distance[9:]).all()
    assert nearest.tolist() == [0] * 9 + [-1] * 9


@pytest.mark.parametrize("sources", [[], [9], [-1], [0.5]])
def test_bad_sources_are_refused(sources):
    vertices, faces = grid(shape=(3, 3))
    with pytest.raises(ValueError, match="sources"):
        geodesic_distances(vertices, faces, sources)


def test_bad_tables_are_refused():
    vertices, faces = grid(shape=(3, 3))
    with pytest.raises(ValueError, match="vertices"):
        geodesic_distances(vertices[:, :2], faces, [0])
    with pytest.raises(ValueError, match="faces_or_edges"):
        geodesic_distances(vertices, np.zeros((2, 4), int), [0])
