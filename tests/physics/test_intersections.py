"""No triangle goes through another in any frame, by a test that shares nothing with the engine."""

from fractions import Fraction

import numpy as np
import pytest

from intersections import intersecting, separate
from shinari.geometry.topology import grid
from shinari.verify import contact_scenes as scenes
from shinari.verify.clearance import (
    distance_of_surfaces,
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
    assert not any(separate(first[a], second[b]) for a, b in zip(i[hit], j[hit], strict=True))
    assert all(separate(first[a], second[b]) for a, b in zip(i[~hit][::500], j[~hit][::500], strict=True))


def test_the_helper_knows_that_triangles_beside_each_other_in_one_plane_are_apart():
    """Of two triangles of a sheet, almost in one plane and 14 mm apart, VTK tells that they intersect."""
    first = [
        (-0.02826976311092565, 0.10947880804849634, -0.1054816534322141),
        (-0.008225581303501909, 0.12368504146445872, -0.09127542001625175),
        (-0.0082695605320978, 0.10952129096455787, -0.10543917051615259),
    ]
    second = [
        (-0.04826350950664487, 0.12362113658769608, -0.09133932489301436),
        (-0.028280192782676652, 0.1378640380535142, -0.07723514751565784),
        (-0.028225850901507414, 0.1236520169989461, -0.09130844448176435),
    ]
    assert len(intersecting(np.array([first]), np.array([second]))) == 0
    _, flat = flat_pairs(8, np.zeros(600))
    for one in flat:
        edge = one[1] - one[0]
        assert separate(one, one + 0.2 * edge / np.linalg.norm(edge))
        assert not separate(one, one + 0.1 * edge)


def flat_pairs(seed: int, lifts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Segments (K, 2, 3) and triangles (K, 3, 3) in planes of any direction, corners lifted off by up to `lifts`."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-0.05, 0.05, (len(lifts), 5, 3))
    x[:, :, 2] = lifts[:, None] * rng.uniform(-1, 1, (len(lifts), 5))
    turns, _ = np.linalg.qr(rng.normal(size=(len(lifts), 3, 3)))
    x = x @ turns + rng.uniform(-0.3, 0.3, (len(lifts), 1, 3))
    return x[:, :2], x[:, 2:]


def distances_of(segments: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Distances (K,) of segments and triangles that they do not go through."""
    ends = [point_triangle_distances(segments[:, k], triangles) for k in range(2)]
    sides = [segment_distances(segments, triangles[:, pair]) for pair in ([0, 1], [1, 2], [2, 0])]
    return np.min(ends + sides, axis=0)


def goes_through(segment: np.ndarray, triangle: np.ndarray) -> bool:
    """As `pierces`, in rational numbers."""
    p, q, a, b, c = ([Fraction(float(number)) for number in point] for point in (*segment, *triangle))

    def side(*points: list[Fraction]) -> int:
        u, v, w = ([x - y for x, y in zip(point, points[0], strict=True)] for point in points[1:])
        cross = u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]
        volume = sum(x * y for x, y in zip(cross, w, strict=True))
        return (volume > 0) - (volume < 0)

    return side(p, a, b, c) * side(q, a, b, c) < 0 and side(p, q, a, b) == side(p, q, b, c) == side(p, q, c, a) != 0


def test_what_lies_apart_in_one_plane_does_not_pierce():
    """The volumes of what lies in a plane are rounding, of any sign."""
    segments, triangles = flat_pairs(8, np.zeros(100_000))
    apart = distances_of(segments, triangles) > 1e-6
    assert apart.sum() > 10_000
    assert not pierces(segments[apart], triangles[apart]).any()


def test_what_pierces_is_found_or_has_no_distance():
    """However flat the pair: what the signs do not tell for sure a distance near 0 does."""
    segments, triangles = flat_pairs(9, 10.0 ** np.linspace(-20.0, -1.0, 4000))
    through = np.array([goes_through(*pair) for pair in zip(segments, triangles, strict=True)])
    found = pierces(segments, triangles)
    assert through.sum() > 300
    assert not (found & ~through).any()
    assert (found | ~through)[2500:].all()
    assert distances_of(segments, triangles)[through & ~found].max(initial=0.0) < 1e-9


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
    first, second = (x[: len(vertices)], faces), (x[len(vertices) :], faces)
    assert distance_of_surfaces(first, second, 0.01) == pytest.approx(0.0031, abs=1e-12)
    assert distance_of_surfaces(first, second, 0.001) == 0.001
    x[len(vertices) + 14, 1] = -0.001
    assert least_distance(x, both, none, 0.01) == 0.0
    assert distance_of_surfaces(first, second, 0.01) == distance_of_surfaces(second, first, 0.01) == 0.0
    assert len(edges_of(faces)) == 85


def test_the_determinant_tells_knots_apart():
    points = scenes.overhand(0.005, 0.01)
    for seed in range(5):
        turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
        assert determinant(points @ turn) == pytest.approx(3.0, abs=1e-6)
    assert determinant(points * [1.0, 1.0, 0.0] + [0, 0, 1] * np.linspace(0, 1, len(points))[:, None]) == 1.0
    t = np.linspace(0.0, 6.0, 300)
    assert determinant(np.stack([np.cos(t), np.sin(t), 0.1 * t], axis=1)) == 1.0
