"""Surfaces bound to tetrahedra: which one holds a vertex, with which weights, and how they move."""

import warnings

import numpy as np
import pytest

import shinari as sn
from shinari.errors import EmbeddingWarning, SceneError
from shinari.geometry.embedding import bind
from shinari.geometry.skinning import blend
from shinari.geometry.tetrahedra.lattice import lattice
from shinari.scene.handle import Handle

TRIANGLE = np.array([[0, 1, 2]])


def cube(cells: int = 4, size: float = 0.25, jitter: float = 0.0, split: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """A box of tetrahedra, its inner vertices moved a little so that nothing is axis aligned."""
    vertices, tetrahedra = lattice((cells, cells, cells), size, split=split)
    high = vertices.max(axis=0)
    inner = ((vertices > 0.0) & (vertices < high)).all(axis=1)
    vertices[inner] += np.random.default_rng(3).uniform(-jitter, jitter, (int(inner.sum()), 3)) * size
    return vertices, tetrahedra


def barycentric(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Coordinates of each point in each tetrahedron, (P, T, 4), by solving a system each."""
    edges = np.moveaxis(corners[:, 1:] - corners[:, :1], 1, 2)
    rest = np.linalg.solve(edges[None], (points[:, None] - corners[None, :, 0])[..., None])[..., 0]
    return np.concatenate([1.0 - rest.sum(axis=2, keepdims=True), rest], axis=2)


def distance_to(point: np.ndarray, corners: np.ndarray) -> float:
    """Distance of a point and a tetrahedron: least squares with weights that are not negative, on every face."""
    best = np.inf
    for size in (1, 2, 3):
        from itertools import combinations

        for chosen in combinations(range(4), size):
            x = corners[list(chosen)]
            edges = (x[1:] - x[0]).T
            rest = np.linalg.lstsq(edges, point - x[0], rcond=None)[0] if size > 1 else np.zeros(0)
            weights = np.concatenate([[1.0 - rest.sum()], rest])
            if (weights >= -1e-12).all():
                best = min(best, float(np.linalg.norm(weights @ x - point)))
    return best


@pytest.mark.parametrize("split", [5, 6])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_tetrahedron_is_the_one_that_a_search_through_all_finds(split: int, seed: int) -> None:
    vertices, tetrahedra = cube(3, jitter=0.3, split=split)
    points = np.random.default_rng(seed).uniform(0.0, 0.75, (200, 3))
    bound = bind("it", points, TRIANGLE, vertices, tetrahedra)
    depths = barycentric(points, vertices[tetrahedra]).min(axis=2)
    own = tetrahedra[depths.argmax(axis=1)]
    assert depths.max(axis=1).min() > 0.0
    assert np.array_equal(np.sort(bound.corners, axis=1), np.sort(own, axis=1))
    assert (bound.weights > 0.0).all()


@pytest.mark.parametrize("distance", [0.01, 0.1, 0.2])
def test_outside_the_nearest_tetrahedron_is_taken(distance: float) -> None:
    vertices, tetrahedra = cube(2, jitter=0.3)
    random = np.random.default_rng(5)
    points = 0.25 + random.normal(size=(60, 3)) * 0.2
    outside = ((points < 0.0) | (points > 0.5)).any(axis=1)
    points = np.concatenate([points[outside], [[0.5 + distance, 0.5 + distance, 0.5 + distance]]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmbeddingWarning)
        bound = bind("it", points, TRIANGLE, vertices, tetrahedra)
    for point, corners in zip(points, bound.corners, strict=True):
        nearest = min(distance_to(point, vertices[t]) for t in tetrahedra)
        assert distance_to(point, vertices[corners]) == pytest.approx(nearest, rel=1e-5)


def test_of_tetrahedra_that_share_the_nearest_point_the_least_continued_one_is_taken() -> None:
    vertices, tetrahedra = cube(2)
    points = np.array([[-0.05, 0.25, 0.25], [0.25, 0.25, 0.55]])
    bound = bind("it", points, TRIANGLE, vertices, tetrahedra)
    depths = barycentric(points, vertices[tetrahedra]).min(axis=2)
    for i, point in enumerate(points):
        distances = np.array([distance_to(point, vertices[t]) for t in tetrahedra])
        ties = distances < distances.min() * (1.0 + 1e-9)
        assert ties.sum() > 1
        assert bound.weights[i].min() == pytest.approx(depths[i, ties].max(), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_linear_fields_are_reproduced_to_rounding(seed: int) -> None:
    vertices, tetrahedra = cube(4, jitter=0.4)
    random = np.random.default_rng(seed)
    points = random.uniform(-0.1, 1.1, (500, 3))
    bound = bind("it", points, TRIANGLE, vertices, tetrahedra)
    turn, shift = random.normal(size=(3, 3)), random.normal(size=3)
    for field in (vertices, vertices @ turn + shift):
        wanted = points if field is vertices else points @ turn + shift
        slots = np.arange(len(vertices), dtype=np.uint32)
        got = blend(bound.corners, bound.weights, slots, np.ascontiguousarray(field), np.zeros(3), 1)
        # outside the weights exceed one, and so does the rounding: by their sum of magnitudes
        room = 64 * np.finfo(float).eps * np.abs(bound.weights).sum(axis=1, keepdims=True) * (1 + np.abs(field).max())
        assert (np.abs(got - wanted) <= room).all()
    assert np.allclose(bound.weights.sum(axis=1), 1.0, rtol=0, atol=1e-14)


def test_vertices_corners_and_shared_faces_belong_to_one_of_their_tetrahedra() -> None:
    vertices, tetrahedra = cube(3)
    middles = vertices[tetrahedra[:, :3]].mean(axis=1)
    points = np.concatenate([vertices, middles])
    bound = bind("it", points, TRIANGLE, vertices, tetrahedra)
    assert bound.weights.min() >= -1e-9
    assert np.abs((bound.weights[..., None] * vertices[bound.corners]).sum(axis=1) - points).max() < 1e-15 * 64


def test_the_order_of_the_tetrahedra_does_not_matter_inside() -> None:
    vertices, tetrahedra = cube(3, jitter=0.3)
    points = np.random.default_rng(2).uniform(0.0, 0.75, (300, 3))
    order = np.random.default_rng(4).permutation(len(tetrahedra))
    first, second = (bind("it", points, TRIANGLE, vertices, t) for t in (tetrahedra, tetrahedra[order]))
    assert np.array_equal(first.corners, second.corners)
    assert np.array_equal(first.weights, second.weights)


@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("threads", [2, 3])
def test_the_threads_do_not_change_the_bits(real: type, threads: int) -> None:
    vertices, tetrahedra = cube(6, jitter=0.3)
    points = np.random.default_rng(2).uniform(0.0, 1.5, (40_001, 3))
    bound = bind("it", points, TRIANGLE, vertices, tetrahedra)
    slots = np.random.default_rng(1).permutation(len(vertices)).astype(np.uint32)
    values = np.zeros((len(vertices), 4), real)
    values[slots, :3] = vertices
    arguments = bound.corners, bound.weights, slots, values, np.array([3.0, 1e4, -7.0])
    assert np.array_equal(blend(*arguments, 1), blend(*arguments, threads))


@pytest.mark.parametrize(("real", "origin"), [(np.float32, 0.0), (np.float32, 1e4), (np.float64, 1e8)])
def test_the_result_is_rounded_once_however_far_the_origin(real: type, origin: float) -> None:
    vertices, tetrahedra = cube(4, jitter=0.3)
    points = np.random.default_rng(2).uniform(0.0, 1.0, (1000, 3))
    bound = bind("it", points, TRIANGLE, vertices, tetrahedra)
    values = vertices.astype(real)
    slots = np.arange(len(vertices), dtype=np.uint32)
    got = blend(bound.corners, bound.weights, slots, values, np.full(3, origin), 1)
    exact = (bound.weights[..., None] * values[bound.corners].astype(np.float64)).sum(axis=1) + origin
    # half a unit in the last place of the result, and the rounding of double precision before it
    assert (np.abs(got - exact) <= 0.5 * np.spacing(np.abs(exact).astype(real)) + 4 * np.spacing(1.0 + origin)).all()
    assert got.dtype == real


def test_a_vertex_farther_outside_than_a_tetrahedron_is_warned_of() -> None:
    vertices, tetrahedra = cube(4)  # longest edges 0.354 m
    points = np.array([[0.5, 0.5, 0.5], [0.5, 1.3, 0.5], [0.5, 1.4, 0.5], [0.5, -0.5, 0.5]])
    with pytest.warns(EmbeddingWarning, match=r"soft body 'jelly': visual: vertex 3 is 0.5 m outside .* so are 1 more"):
        bind("soft body 'jelly'", points, TRIANGLE, vertices, tetrahedra)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bind("soft body 'jelly'", points[:2], TRIANGLE, vertices, tetrahedra)


def test_a_surface_that_is_elsewhere_is_refused_with_its_distance() -> None:
    vertices, tetrahedra = cube(4)
    points = np.array([[0.5, 0.5, 0.5], [0.5, 5.0, 0.5]])
    with pytest.raises(SceneError, match=r"'jelly': visual: vertex 1 .* outside its tetrahedra, 4 m .* \(1 of 2"):
        bind("soft body 'jelly'", points, TRIANGLE, vertices, tetrahedra)


def jelly(real: str = "float32", at: float = 0.0) -> tuple[sn.Simulation, Handle, np.ndarray]:
    """A falling, turning box of tetrahedra with a finer surface in it, and that surface."""
    vertices, tetrahedra = cube(3, 0.1)
    points = np.random.default_rng(0).uniform(0.02, 0.28, (300, 3))
    scene = sn.Scene()
    scene.add_particles([[at, 5.0, 0.0]])
    turn = np.array([np.cos(0.3), 0.0, np.sin(0.3), 0.0])
    body = scene.add_soft_body(
        (vertices, tetrahedra),
        material=sn.SoftMaterial(youngs_modulus=1e4),
        visual=(points, np.arange(300).reshape(-1, 3)),
        position=(at, 1.0, 0.0),
        rotation=turn,
        velocity=np.random.default_rng(1).normal(size=(len(vertices), 3)),
        name="jelly",
    )
    return sn.Simulation(scene, precision=real, substeps=5), body, points


@pytest.mark.parametrize("real", ["float32", "float64"])
def test_the_surface_of_a_body_moves_with_its_tetrahedra(real: str) -> None:
    simulation, body, points = jelly(real)
    visual = simulation.scene.particle_objects[1].visual
    vertices, faces = simulation.surface(body)
    eps = np.finfo(real).eps
    assert np.abs(vertices - visual.vertices).max() < 16 * eps
    assert np.ptp(vertices, axis=0).max() > 0.9 * np.ptp(points, axis=0).max()
    simulation.step(10)
    vertices, faces = simulation.surface("jelly")
    x = simulation.positions(body).astype(np.float64)
    assert np.abs(vertices - (visual.weights[..., None] * x[visual.corners]).sum(axis=1)).max() < 16 * eps
    assert np.array_equal(faces, np.arange(300).reshape(-1, 3))
    assert vertices.dtype == real


def test_far_from_the_world_s_origin_the_surface_keeps_its_digits() -> None:
    near, far = jelly("float32", 0.0), jelly("float32", 2.0**14)
    for simulation, _, _ in (near, far):
        simulation.step(5)
    shift = np.array([2.0**14, 0.0, 0.0])
    apart = far[0].surface("jelly")[0].astype(np.float64) - shift - near[0].surface("jelly")[0]
    # half a unit in the last place of 16384 m, once
    assert np.abs(apart).max() <= 0.51 * np.spacing(np.float32(2.0**14))


def test_without_a_visual_surface_a_thing_shows_its_own_triangles() -> None:
    scene = sn.Scene()
    vertices, tetrahedra = cube(2)
    body = scene.add_soft_body((vertices, tetrahedra))
    cloth = scene.add_cloth(sn.grid(shape=(3, 4)), position=(0.0, 3.0, 0.0))
    rope = scene.add_rope([[5, 0, 0], [6, 0, 0]])
    simulation = sn.Simulation(scene)
    shown, faces = simulation.surface(body)
    assert np.allclose(shown, vertices, atol=1e-6)
    assert len(faces) == 6 * 4 * 2
    shown[:] = 7.0
    assert simulation.positions(body).max() < 1.0
    assert len(simulation.surface(cloth)[1]) == 12
    with pytest.raises(SceneError, match="surface: handle: 'rope' is made of rope and has no triangles"):
        simulation.surface(rope)
    with pytest.raises(SceneError, match="another scene"):
        simulation.surface(sn.Scene().add_cloth(sn.grid(shape=(3, 4))))


@pytest.mark.parametrize(
    ("visual", "message"),
    [
        (([[0.1, 0.1, 0.1]], [[0, 1, 2]]), "visual: faces: index 1 is out of range"),
        (([[0.1, 0.1]], [[0, 1, 2]]), r"visual: vertices: expected shape \(N, 3\)"),
        (([[0.1, 0.1, np.nan]] * 3, [[0, 1, 2]]), "visual: vertices: not a finite number"),
        (([[0.1, 0.1, 0.1]] * 3, [[0, 1, 1]]), "visual: faces: row 0 repeats an index"),
        (([[0.1, 0.1, 0.1]] * 3, []), "visual: faces: no rows"),
        (7, "visual: mesh: expected"),
        ((np.ones((3, 3)) * 40.0, [[0, 1, 2]]), "visual: vertex 0 of the visual mesh is outside its tetrahedra, 67.5"),
    ],
)
def test_a_visual_surface_that_is_none_is_refused(visual: object, message: str) -> None:
    with pytest.raises(SceneError, match=f"soft body 'jelly': {message}"):
        sn.Scene().add_soft_body(cube(4), visual=visual, name="jelly")


def test_a_size_of_cells_belongs_to_a_surface() -> None:
    with pytest.raises(SceneError, match="soft body 'soft': cell: is the size of tetrahedra that fill a surface"):
        sn.Scene().add_soft_body(cube(4), cell=0.1)
