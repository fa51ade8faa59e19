"""No triangle goes through another in any frame, by a test that shares nothing with the engine."""

import numpy as np
import pytest

from intersections import intersecting
from shinari.build.topology import grid
from shinari.verify import contact_scenes as scenes
from shinari.verify.clearance import (
    edges_of,
    least_distance,
    near_boxes,
    pierces,
    point_triangle_distances,
    segment_distances,
)
from shinari.verify.knots import determinant

CASES = {
    "ball": scenes.on_sphere,
    "edge of a cube": scenes.on_cube_edge,
    "mesh": scenes.on_mesh,
    "twist": scenes.twisted,
    "stack": scenes.stack,
    "caught": scenes.gripped,
    **{f"crossing, {offset:g} m, {substeps}": lambda offset=offset, substeps=substeps: scenes.crossing(offset, substeps)
       for offset in (0.0, 0.013, 0.1) for substeps in (5, 20)},
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_nothing_goes_through_in_any_frame(name):
    case = CASES[name]()
    sim = case.simulation("float32")  # the harder one
    triangles = case.triangles()
    for frame in range(round(case.seconds / sim.settings.dt)):
        case.step(sim)
        x = sim.state.positions.astype(np.float64)
        pairs = intersecting(x[triangles], names=triangles)
        assert len(pairs) == 0, f"frame {frame}: triangles {pairs[0].tolist()} and {len(pairs) - 1} pairs more"
        if case.mesh is not None:
            vertices, faces = case.mesh
            pairs = intersecting(x[triangles], vertices[faces])
            assert len(pairs) == 0, f"frame {frame}: triangle {pairs[0, 0]} goes into the mesh at {pairs[0, 1]}"


def test_a_knot_stays_a_knot_in_every_frame():
    case = scenes.knot()
    sim = case.simulation("float32")  # the harder one
    for _ in range(round(case.seconds / sim.settings.dt)):
        case.step(sim)
        assert determinant(sim.state.positions) == pytest.approx(3.0, abs=1e-6)


def soup(seed: int, count: int = 1500) -> np.ndarray:
    """Random triangles, (count, 3, 3), dense enough for thousands of intersections."""
    rng = np.random.default_rng(seed)
    return 0.3 * rng.uniform(-1, 1, (count, 3, 3)) + rng.uniform(-1, 1, (count, 1, 3))


def test_the_helper_finds_what_an_edge_that_pierces_tells():
    """Two triangles in general position intersect where an edge of one goes through the other."""
    first, second = soup(1, 300), soup(2, 300)
    i, j = (k.ravel() for k in np.meshgrid(np.arange(300), np.arange(300), indexing="ij"))
    hit = np.zeros(len(i), bool)
    for a, b in ((0, 1), (1, 2), (2, 0)):
        hit |= pierces(first[i][:, [a, b]], second[j]) | pierces(second[j][:, [a, b]], first[i])
    assert hit.sum() > 200
    found = intersecting(first, second)
    assert set(map(tuple, found.tolist())) == set(zip(i[hit].tolist(), j[hit].tolist(), strict=True))


def test_the_helper_sees_sheets_that_cross_and_not_those_that_touch_nothing():
    vertices, faces = grid(shape=(6, 6), size=(0.2, 0.2))
    flat = vertices[faces]
    assert len(intersecting(flat, names=faces)) == 0
    assert len(intersecting(flat, flat + np.array([0.003, 1e-6, 0.002]))) == 0
    tilted = vertices @ np.array([[1.0, 0.1, 0], [-0.1, 1.0, 0], [0, 0, 1.0]])
    through = intersecting(flat, tilted[faces] + np.array([0.003, 0.001, 0.002]))
    assert len(through) >= 5
    # one vertex of a folded sheet, pushed by a hair through the layer below it
    folded = np.where(vertices[:, :1] > 0.0, vertices * [-1.0, 1.0, 1.0] + [0.0, 0.01, 0.0037], vertices)
    assert len(intersecting(folded[faces], names=faces)) == 0
    folded[22, 1] = -1e-5
    assert len(intersecting(folded[faces], names=faces)) > 0


def test_neighbours_that_share_a_vertex_do_not_count():
    x = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]])
    names = np.array([[0, 1, 2], [0, 3, 4]])
    assert len(intersecting(x[names])) == 1
    assert len(intersecting(x[names], names=names)) == 0


def test_boxes_that_come_near_are_all_found():
    first, second = soup(3, 400), soup(4, 500)
    low, high = first.min(axis=1) - 0.05, first.max(axis=1) + 0.05
    touch = ((low[:, None] <= second.max(axis=1)) & (high[:, None] >= second.min(axis=1))).all(axis=2)
    found = near_boxes(first, second, 0.05)
    assert set(map(tuple, found.tolist())) == set(zip(*(k.tolist() for k in np.nonzero(touch)), strict=True))


def test_distances_are_those_of_dense_samples():
    rng = np.random.default_rng(6)
    places = np.linspace(0.0, 1.0, 101)
    first, second = rng.normal(size=(200, 2, 3)), rng.normal(size=(200, 2, 3))
    along = [line[:, None, 0] + places[:, None] * (line[:, None, 1] - line[:, None, 0]) for line in (first, second)]
    sampled = np.array([np.linalg.norm(a[:, None] - b[None], axis=2).min() for a, b in zip(*along, strict=True)])
    longest = (
        np.linalg.norm(np.diff(first, axis=1), axis=2).max() + np.linalg.norm(np.diff(second, axis=1), axis=2).max()
    )
    exact = segment_distances(first, second)
    assert (exact <= sampled + 1e-12).all()
    assert (exact >= sampled - 0.005 * longest).all()
    weights = np.array([(u, v, 1.0 - u - v) for u in places for v in places if u + v <= 1.0 + 1e-9])
    points, triangles = rng.normal(size=(200, 3)), rng.normal(size=(200, 3, 3))
    sampled = np.linalg.norm(np.einsum("sk,fkc->fsc", weights, triangles) - points[:, None], axis=2).min(axis=1)
    exact = point_triangle_distances(points, triangles)
    assert (exact <= sampled + 1e-12).all()
    assert (exact >= sampled - 0.06).all()


def test_least_distance_of_sheets_is_the_one_they_were_put_at():
    vertices, faces = grid(shape=(6, 6), size=(0.2, 0.2))
    x = np.concatenate([vertices, vertices @ np.diag([1.0, 1.0, -1.0]) + [0.013, 0.0031, 0.004]])
    both = np.concatenate([faces, faces + len(vertices)])
    none = np.zeros((0, 2), np.int64)
    assert least_distance(x, both, none, 0.01) == pytest.approx(0.0031, abs=1e-12)
    assert least_distance(x, both, none, 0.001) == 0.001
    x[len(vertices) + 14, 1] = -0.001
    assert least_distance(x, both, none, 0.01) == 0.0
    owners = np.repeat([0, 0], len(vertices))
    assert least_distance(x, both, none, 0.01, owners) == 0.01
    assert len(edges_of(faces)) == 85


def test_the_determinant_tells_knots_apart():
    points = scenes.overhand(0.005, 0.01)
    for seed in range(5):
        turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
        assert determinant(points @ turn) == pytest.approx(3.0, abs=1e-6)
    assert determinant(points * [1.0, 1.0, 0.0] + [0, 0, 1] * np.linspace(0, 1, len(points))[:, None]) == 1.0
    t = np.linspace(0.0, 6.0, 300)
    assert determinant(np.stack([np.cos(t), np.sin(t), 0.1 * t], axis=1)) == 1.0
