"""The contact of a triangle that lies on a straight edge: as deep as the deepest point, and it does not jump."""

import itertools

import numpy as np
import pytest
from test_elements import triangles_near

import shinari as sn
from shinari.collision.narrow.fields import body_fields, distances
from shinari.shapes.kernels.encode import encode_shapes, signed_distance
from shinari.systems.colliders.chords import BAND, middle_of_chord
from shinari.systems.colliders.elements import deepest

REACH = 0.01
BOX = sn.Box((0.3, 0.2, 0.4))
SHAPES = {"box": BOX, "capsule": sn.Capsule(0.05, 0.3), "cylinder": sn.Cylinder(0.1, 0.3), "cone": sn.Cone(0.15, 0.3)}


def contact(shape: sn.Shape, triangle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights of the deepest point of a triangle, and of its contact."""
    kinds, numbers, tables = encode_shapes([shape], np.float64)
    third, corners, size = (1 / 3, 1 / 3, 1 / 3), tuple(tuple(p) for p in triangle.tolist()), tuple(numbers[0])
    distance, fields = distances(False), body_fields(tables)
    near, _, _, found, plane = deepest(
        distance, kinds[0], size, np.inf, fields, third, REACH, 1.0, False, corners, corners
    )
    assert near
    return np.array(found), np.array(middle_of_chord(kinds[0], size, found, plane[:3], REACH, corners))


def across_edge(tilt: float, along: float = 0.0) -> np.ndarray:
    """A triangle across the edge of the box at x = 0.15, y = 0.1, level at 45 degrees but for a tilt along the edge."""
    corners = np.array([(-0.01, 0.0, -0.01), (0.01, 0.0, -0.01), (0.0, 0.0, 0.015)])
    s = np.sqrt(0.5)
    turned = np.stack([corners[:, 0] * s, -corners[:, 0] * s - tilt * corners[:, 2], corners[:, 2]], axis=1)
    return turned + np.array((0.15, 0.1, along)) + 0.003 * np.array((s, s, 0.0))


@pytest.mark.parametrize("name", SHAPES)
def test_it_is_as_deep_as_the_deepest_point(name: str) -> None:
    """But for an eighth of the band; its weights are those of a point of the triangle."""
    shape = SHAPES[name]
    for triangle, _ in itertools.islice(triangles_near(shape, np.random.default_rng(7)), 200):
        found, chosen = contact(shape, triangle)
        assert chosen.min() > -1e-9
        assert chosen.sum() == pytest.approx(1.0)
        least, here = signed_distance(shape, [found @ triangle, chosen @ triangle])
        # the search ends within half a per cent of the distance to keep and of the size
        assert here - least < BAND * REACH / 8 + 5e-3 * (REACH + 5e-3 * 0.03)


def test_it_is_the_middle_while_both_ends_are_equally_deep() -> None:
    triangle = across_edge(0.0)
    _, chosen = contact(BOX, triangle)
    # the chord goes from the middle of one edge to the corner across
    assert np.allclose(chosen @ triangle, (triangle[0] + triangle[1]) / 4 + triangle[2] / 2, atol=1e-9)


def test_it_goes_to_the_deeper_end_evenly() -> None:
    """The chord is 25 mm long: a tilt by which its ends differ by the band moves the contact from end to end."""
    tilts = np.linspace(-2.0, 2.0, 41) * BAND * REACH / 0.025
    places = np.array([(contact(BOX, across_edge(tilt))[1] @ across_edge(tilt))[2] for tilt in tilts])
    assert np.isclose(places[0], 0.015, atol=1e-4) or np.isclose(places[0], -0.01, atol=1e-4)
    assert np.ptp(places) == pytest.approx(0.025, rel=5e-2)
    # a fortieth of four bands moves it by a tenth of the chord, where the deepest point jumps
    assert np.abs(np.diff(places)).max() < 0.0026


def test_it_does_not_jump_at_the_end_of_an_edge() -> None:
    """The triangle slides along the edge until it hangs over the corner."""
    places = []
    for along in np.linspace(0.18, 0.2, 81):
        triangle = across_edge(0.0, along)
        places.append(contact(BOX, triangle)[1] @ triangle)
    # 0.25 mm a step
    assert np.linalg.norm(np.diff(places, axis=0), axis=1).max() < 1e-3


@pytest.mark.parametrize("name", SHAPES)
def test_its_weights_are_those_of_a_point_of_the_triangle_in_single_precision(name: str) -> None:
    """Also of slivers, of triangles of a micrometre and of ten metres, at corners, edges and faces."""
    shape, rng = SHAPES[name], np.random.default_rng(11)
    kinds, numbers, _ = encode_shapes([shape], np.float32)
    size = tuple(numbers[0])
    x, _ = shape.surface()
    for _ in range(3000):
        spread = 10.0 ** rng.uniform(-6.0, 1.0, (3, 1)) if rng.random() < 0.5 else 10.0 ** rng.uniform(-6.0, 1.0)
        corners = (x[rng.integers(len(x))] + spread * rng.normal(size=(3, 3))).astype(np.float32)
        b = rng.dirichlet(np.full(3, 0.3)).astype(np.float32)
        # next to an axis, so that the plane of the line and the normal is hardly known, or anyhow
        n = np.eye(3)[rng.integers(3)] + 10.0 ** rng.uniform(-9.0, 1.0) * rng.normal(size=3)
        n = np.where(rng.random(3) < 0.2, 0.0, n)
        n = (n / max(np.linalg.norm(n), 1e-9)).astype(np.float32)
        found = middle_of_chord(kinds[0], size, tuple(b), tuple(n), np.float32(1e-3), tuple(map(tuple, corners)))
        assert np.isfinite(found).all()
        assert min(found) > -1e-5
        assert sum(found) == pytest.approx(1.0, abs=1e-5)


def speeds(seed: int, precision: str) -> np.ndarray:
    """Speeds in a sheet on a box after eight seconds [m/s]."""
    scene = sn.Scene(damping=1.0)
    material = sn.ClothMaterial(thickness=0.005, density=0.2)
    mesh = sn.grid(shape=(24, 24), size=(0.46, 0.46))
    scene.add_cloth(mesh, material=material, self_collision="triangles", position=(0.01, 0.25, 0.02))
    scene.add_collider(sn.Box((0.2, 0.2, 0.2)), friction=0.4)
    sim = sn.Simulation(scene, substeps=10, threads=1, precision=precision, sleep=False)
    sim.state.positions[...] += np.random.default_rng(seed).normal(0.0, 1e-6, sim.state.positions.shape)
    sim.step(480)
    return np.linalg.norm(sim.state.velocities, axis=1)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_sheet_on_a_box_does_not_tremble(precision: str) -> None:
    """With contacts at the deepest points all of 24 starts trembled with 1.1 to 2.4 mm/s, root mean square."""
    found = [np.sqrt((speeds(seed, precision) ** 2).mean()) for seed in range(3)]
    assert np.median(found) < 0.8e-3
