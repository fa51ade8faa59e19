"""Triangles of polygons, and Delaunay's of points, against their definition and another implementation."""

import numpy as np
import pytest

import shinari as sn
from shinari.geometry.delaunay import delaunay
from shinari.geometry.flat_shape import doubled_areas
from shinari.geometry.triangulate import triangulate_polygon


def inner(points):
    """Triangles whose corners are all given points."""
    faces, _ = delaunay(points)
    return faces[(faces < len(points)).all(axis=1)]


def keys(faces):
    return {tuple(np.roll(face, -np.argmin(face)).tolist()) for face in faces}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_random_points_have_the_triangles_of_another_implementation(seed, scale):
    from scipy.spatial import Delaunay

    rng = np.random.default_rng(seed)
    points = scale * (rng.normal(size=(2000, 2)) + 3.0 * seed)
    found, wanted = inner(points), Delaunay(points).simplices
    turned = doubled_areas(points[wanted]) < 0.0
    wanted[turned] = wanted[turned][:, ::-1]
    # along the hull only, flat triangles may be left to the far corners
    assert keys(found) <= keys(wanted)
    assert len(wanted) - len(found) < 10
    assert (doubled_areas(points[found]) > 0.0).all()


@pytest.mark.parametrize("kind", ["grid", "circle", "line", "twice", "two lines", "one"])
def test_points_that_have_many_triangulations_have_one(kind):
    """Points on one circle or one line, and points at one place: a triangulation, and no circle holds a point."""
    turn = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False)
    x, y = (each.ravel() for each in np.meshgrid(np.arange(12.0), np.arange(12.0)))
    points = {
        "grid": 0.1 * np.stack([x, y], axis=1),
        "circle": np.stack([np.cos(turn), np.sin(turn)], axis=1) + 0.3,
        "line": np.stack([np.linspace(0, 1, 30), 0.3 * np.linspace(0, 1, 30)], axis=1),
        "twice": np.repeat(np.random.default_rng(0).normal(size=(40, 2)), 2, axis=0),
        "two lines": np.stack([np.tile(np.linspace(0, 1, 20), 2), np.repeat([0.0, 1e-9], 20)], axis=1),
        "one": np.array([[1.0, 2.0]]),
    }[kind]
    faces, across = delaunay(points)
    count = len(np.unique(points, axis=0))
    assert len(faces) == 2 * count + 1  # Euler: three corners on the hull
    for k in range(3):
        there = across[:, k]
        other = faces[there]
        side = np.sort(faces[:, [(k + 1) % 3, (k + 2) % 3]], axis=1)
        shared = (np.sort(side)[:, :, None] == other[:, None, :]).any(axis=2).all(axis=1)
        assert shared[there >= 0].all()
    found = faces[(faces < len(points)).all(axis=1)]
    assert (doubled_areas(points[found]) > 0.0).all()
    if kind in ("grid", "circle", "twice"):
        a = points[found]
        b, c = a[:, 1] - a[:, 0], a[:, 2] - a[:, 0]
        bb, cc, double = (b**2).sum(axis=1), (c**2).sum(axis=1), 2.0 * doubled_areas(a)
        centre = (
            a[:, 0] + np.stack([c[:, 1] * bb - b[:, 1] * cc, b[:, 0] * cc - c[:, 0] * bb], axis=1) / double[:, None]
        )
        radius = np.linalg.norm(a[:, 0] - centre, axis=1)
        away = np.linalg.norm(points[None] - centre[:, None], axis=2) - radius[:, None]
        # a thin triangle of nearly one line has its centre far away, where it is rounded
        assert (away.min(axis=1) > -1e-12 * np.maximum(radius, 1.0) ** 2).all()
    if kind == "grid":
        assert doubled_areas(points[found]).sum() == pytest.approx(2 * 1.21, rel=1e-12)


def outline(kind, spacing):
    """Points along a border, and its area."""
    if kind == "circle":
        turn = np.linspace(0, 2 * np.pi, round(np.pi / spacing), endpoint=False)
        return 0.5 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    corners = {
        "square": [[0, 0], [1, 0], [1, 1], [0, 1]],
        "ribbon": [[0, 0], [8, 0], [8, 0.1], [0, 0.1]],
        "comb": [[0, 0], [1, 0], [1, 1], [0.8, 1], [0.8, 0.2], [0.6, 0.2], [0.6, 1], [0.4, 1], [0.4, 0.2], [0.2, 0.2],
                 [0.2, 1], [0, 1]],
    }[kind]  # fmt: skip
    lines = []
    for a, b in zip(np.array(corners, float), np.roll(np.array(corners, float), -1, axis=0), strict=True):
        parts = round(np.linalg.norm(b - a) / spacing)
        lines.append(a + np.arange(parts)[:, None] / parts * (b - a))
    return np.concatenate(lines)


@pytest.mark.parametrize("kind", ["circle", "square", "ribbon", "comb"])
@pytest.mark.parametrize("spacing", [0.05, 0.01])
def test_a_polygon_is_covered_by_triangles_of_about_one_size(kind, spacing):
    border = outline(kind, spacing)
    points, faces = triangulate_polygon(border, spacing)
    following = np.roll(border, -1, axis=0)
    area = 0.5 * (border[:, 0] * following[:, 1] - border[:, 1] * following[:, 0]).sum()
    areas = 0.5 * doubled_areas(points[faces])
    assert areas.sum() == pytest.approx(area, rel=1e-12)
    assert (areas > 0.0).all()
    assert np.array_equal(points[: len(border)], border)
    assert np.array_equal(np.unique(faces), np.arange(len(points)))
    lengths = np.linalg.norm(points[faces] - points[np.roll(faces, 1, axis=1)], axis=2) / spacing
    assert lengths.min() > 0.55
    assert lengths.max() < 2.0


@pytest.mark.parametrize("far", [0.0, 1e4])
def test_a_border_that_crosses_or_meets_itself_is_refused(far):
    square = outline("square", 0.1) + far
    crossed = square.copy()
    crossed[[3, 28]] = crossed[[28, 3]]
    twice = square.copy()
    twice[35] = twice[4]
    for border in (crossed, twice):
        with pytest.raises(
            sn.SceneError, match=r"panel: the border at .* crosses itself or is narrower than the spacing"
        ):
            triangulate_polygon(border, 0.1, "panel")
    triangulate_polygon(square, 0.1)


def test_a_round_panel_is_a_pattern():
    turn = np.linspace(0.0, 2.0 * np.pi, 201)
    pattern = sn.Pattern(0.03)
    pattern.add_panel("skirt", {"hem": 0.4 * np.stack([np.cos(turn), np.sin(turn)], axis=1)})
    areas = 0.5 * doubled_areas(pattern.vertices[pattern.faces][:, :, :2])
    assert areas.sum() == pytest.approx(np.pi * 0.16, rel=5e-3)  # the border is a polygon of 84 edges
