"""Convex hulls: against another implementation, by what makes a hull, and points that leave no room for rounding."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull as Reference

import shinari as sn
from shinari.collision.narrow.convex import shapes_of
from shinari.geometry.hull import FLAT, coarse_corners, convex_hull
from shinari.shapes.base import shape_mesh
from shinari.shapes.kernels.hull_lanes import faces_of_block, farthest_vertex, highest, lowest_along

CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)


def turn_of(seed: int) -> np.ndarray:
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return q


def ring(count: int) -> np.ndarray:
    angles = 2.0 * np.pi * np.arange(count) / count
    return np.stack([np.cos(angles), 0.0 * angles, np.sin(angles)], axis=1)


def ball(count: int, seed: int) -> np.ndarray:
    points = np.random.default_rng(seed).normal(size=(count, 3))
    return points / np.linalg.norm(points, axis=1)[:, None]


def grid(count: int) -> np.ndarray:
    return np.stack(np.meshgrid(*[np.linspace(0.0, 1.0, count)] * 3), axis=-1).reshape(-1, 3)


CLOUDS = {
    "cube": CUBE,
    "grid": grid(6),
    "turned grid": grid(7) @ turn_of(1).T,
    "turned grid far away": grid(7) @ turn_of(2).T + [1e4, -2e4, 3e4],
    "grid in single precision": (grid(5) @ turn_of(3).T).astype(np.float32).astype(float),
    "ball": ball(300, 4),
    "few": ball(5, 5),
    "cloud": np.random.default_rng(6).normal(size=(3000, 3)),
    "flat cloud": np.random.default_rng(7).normal(size=(500, 3)) * [1.0, 1e-3, 1.0],
    "prism": np.concatenate([ring(200), ring(200) + np.eye(3)[1]]) @ turn_of(8).T,
    "cone": np.concatenate([ring(64), [[0.0, 2.0, 0.0]]]),
    "every point twice": np.concatenate([CUBE, CUBE]),
    "clusters": (CUBE[:, None] + 1e-9 * np.random.default_rng(9).normal(size=(8, 20, 3))).reshape(-1, 3),
    "midpoints of edges": np.concatenate([CUBE, 0.5 * (CUBE[:, None] + CUBE[None]).reshape(-1, 3)]),
    "capsule": shape_mesh(sn.Capsule(0.4, 1.0))[0],
}
every_cloud = pytest.mark.parametrize("name", CLOUDS)


def edges_of(loops) -> dict[tuple[int, int], int]:
    """Face at each directed edge."""
    pairs: dict[tuple[int, int], int] = {}
    for face, loop in enumerate(loops):
        for start, end in zip(loop.tolist(), np.roll(loop, -1).tolist(), strict=True):
            assert (start, end) not in pairs
            pairs[start, end] = face
    return pairs


@every_cloud
def test_it_is_a_closed_convex_polytope_around_all_points(name: str) -> None:
    points = CLOUDS[name]
    size = np.linalg.norm(np.ptp(points, axis=0))
    corners, loops = convex_hull(points)
    vertices = points[corners]
    pairs = edges_of(loops)
    assert all((end, start) in pairs for start, end in pairs)
    assert len(corners) - len(pairs) // 2 + len(loops) == 2
    faces_at = np.bincount(np.concatenate(loops), minlength=len(corners))
    assert faces_at.min() >= 3
    for loop in loops:
        own = vertices[loop]
        arms = own - own.mean(axis=0)
        normal = np.cross(arms, np.roll(arms, -1, axis=0)).sum(axis=0)
        heights = (points - own.mean(axis=0)) @ (normal / np.linalg.norm(normal))
        assert heights.max() <= 3.0 * FLAT * size  # its corners, and what was left out next to them


@every_cloud
def test_volume_against_another_implementation(name: str) -> None:
    points = CLOUDS[name]
    hull, expected = sn.ConvexHull(points), Reference(points)
    size = np.linalg.norm(np.ptp(points, axis=0))
    assert abs(hull.mass_properties().mass - expected.volume) <= FLAT * size * expected.area
    assert set(map(tuple, hull.vertices)) <= set(map(tuple, points))


@pytest.mark.parametrize("seed", range(8))
def test_points_in_general_position_give_the_same_triangles(seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(60, 3))
    corners, loops = convex_hull(points)
    expected = Reference(points)
    assert np.array_equal(corners, np.sort(expected.vertices))
    triangles = {tuple(sorted(corners[loop].tolist())) for loop in loops}
    assert triangles == {tuple(sorted(triangle)) for triangle in expected.simplices.tolist()}


@pytest.mark.parametrize("name", ["cube", "grid", "turned grid", "grid in single precision", "midpoints of edges"])
def test_a_cube_has_six_squares(name: str) -> None:
    corners, loops = convex_hull(CLOUDS[name])
    assert len(corners) == 8
    assert [len(loop) for loop in loops] == [4] * 6


def test_a_prism_has_two_ends_and_its_sides() -> None:
    corners, loops = convex_hull(CLOUDS["prism"])
    assert len(corners) == 400
    assert sorted(len(loop) for loop in loops) == [4] * 200 + [200] * 2


def test_of_points_that_are_as_good_as_one_only_one_is_a_corner() -> None:
    corners, _ = convex_hull(CLOUDS["clusters"])
    assert np.unique(corners // 20).tolist() == list(range(8))
    assert len(corners) == 8


@pytest.mark.parametrize("name", ["turned grid", "ball", "capsule", "clusters"])
def test_it_does_not_depend_on_the_scale(name: str) -> None:
    points = CLOUDS[name]
    corners, loops = convex_hull(points)
    for scale in (2.0**-400, 2.0**400):
        scaled = convex_hull(points * scale)
        assert np.array_equal(scaled[0], corners)
        assert all(np.array_equal(a, b) for a, b in zip(scaled[1], loops, strict=True))


@every_cloud
def test_triangles_of_its_faces_make_a_solid_mesh(name: str) -> None:
    hull = sn.ConvexHull(CLOUDS[name])
    assert hull.mesh.solid
    vertices, faces = shape_mesh(hull)
    assert np.array_equal(vertices, hull.vertices)
    assert np.array_equal(faces, hull.faces)
    low, high = hull.bounds()
    size = np.linalg.norm(np.ptp(CLOUDS[name], axis=0))
    assert np.abs(low - CLOUDS[name].min(axis=0)).max() <= 2.0 * FLAT * size
    assert np.abs(high - CLOUDS[name].max(axis=0)).max() <= 2.0 * FLAT * size


def test_it_takes_meshes_and_files(tmp_path) -> None:
    from shinari.geometry.files.meshes import write_mesh

    vertices, faces = shape_mesh(sn.Box((1.0, 2.0, 3.0)))
    write_mesh(tmp_path / "box.obj", vertices, faces)
    for given in (sn.Mesh(vertices, faces), tmp_path / "box.obj", str(tmp_path / "box.obj")):
        assert np.array_equal(sn.ConvexHull(given).vertices, vertices)


@pytest.mark.parametrize("thickness", [1e-8, 3e-7, 1e-6, 3e-6, 1e-5, 1e-4])
def test_slabs_that_are_about_as_thin_as_what_counts_as_flat(thickness: float) -> None:
    for seed in range(20):
        points = np.random.default_rng(seed).integers(-2, 3, size=(30, 3)) * [1.0, 1.0, thickness] @ turn_of(seed).T
        try:
            hull = sn.ConvexHull(points)
        except sn.SceneError as error:
            assert "all lie in one plane" in str(error)  # noqa: PT017  either is right here
            continue
        assert len(edges_of(hull.loops)) % 2 == 0
        assert hull.mesh.solid


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (CUBE[:3], "expected at least 4, got 3"),
        (CUBE[:4], "in one plane"),
        (grid(4) * [1.0, 0.0, 1.0], "in one plane"),
        (grid(4) @ turn_of(1).T @ np.diag([1.0, 0.0, 1.0]) @ turn_of(2).T, "in one plane"),
        (grid(4) * [1.0, 0.0, 0.0], "in one line"),
        (np.zeros((10, 3)), "in one line"),
        (CUBE * np.nan, "not a finite number"),
        ([[1.0, 2.0]], r"expected shape \(N, 3\)"),
        ("no.obj", "no.obj: cannot be read"),
    ],
)
def test_what_has_no_hull_is_refused(points: object, message: str) -> None:
    with pytest.raises(sn.ShinariError, match=message):
        sn.ConvexHull(points)


@pytest.mark.parametrize("distance", [1e-3, 1e-2, 0.05])
@pytest.mark.parametrize("name", ["ball", "cloud", "turned grid far away", "prism"])
def test_a_coarse_hull_leaves_out_no_more_than_a_distance(name: str, distance: float) -> None:
    points = CLOUDS[name]
    distance *= float(np.linalg.norm(np.ptp(points, axis=0)))
    chosen = coarse_corners(points, distance)
    assert np.array_equal(chosen, np.unique(chosen))
    planes = Reference(points[chosen]).equations
    assert (planes[:, :3] @ points.T + planes[:, 3:]).max() <= distance * (1.0 + 1e-9)


def test_a_coarse_hull_of_a_ball_has_few_corners():
    """Triangles in circles of depth d have areas up to 2.6 d: at least 2.4 / d corners; here at most 4 times that."""
    points = ball(3000, 4)
    for distance in (0.01, 0.03, 0.1):
        assert len(coarse_corners(points, distance)) <= 4.0 * 2.4 / distance


@pytest.mark.parametrize("count", [4, 5, 8, 9, 31])
def test_blocks_of_four_give_the_same_as_all_vertices_and_faces(count):
    """Also where the last block is not full, and behind another hull."""
    hulls = [sn.ConvexHull(ball(6, 1)), sn.ConvexHull(ball(count, count))]
    shapes, rng = shapes_of(hulls), np.random.default_rng(count)
    vertices, planes, start = hulls[1].vertices, hulls[1].planes, int(shapes.vertex_starts[1])
    for d in [*rng.normal(size=(20, 3)), *vertices]:
        along = vertices @ d
        assert lowest_along(shapes, 1, tuple(d)) == pytest.approx(along.min(), abs=1e-15)
        assert along[farthest_vertex(shapes, 1, tuple(d)) - start] == pytest.approx(along.max(), abs=1e-15)
        blocks = range(shapes.face_blocks[1], shapes.face_blocks[2])
        heights = planes[:, :3] @ d - planes[:, 3]
        assert max(highest(shapes, i, tuple(d)) for i in blocks) == pytest.approx(heights.max(), abs=1e-15)
        first = [heights[slice(*(np.array(faces_of_block(shapes, 1, i)) - shapes.face_starts[1]))] for i in blocks]
        assert np.concatenate(first).tolist() == heights.tolist()


def test_of_equal_vertices_the_first_is_the_farthest():
    shapes = shapes_of([sn.ConvexHull(CUBE)])
    for d in (*np.eye(3), *-np.eye(3), np.ones(3)):
        along = shapes.vertices @ d
        assert farthest_vertex(shapes, 0, tuple(d)) == int(np.argmax(along))
