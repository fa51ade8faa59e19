"""Meshes of the viewer, read by trimesh, and where it begins to look."""

import io
import json
from types import SimpleNamespace

import numpy as np
import pytest
import trimesh

import shinari as sn
from shinari.io.frames import frame_of, layout_of
from shinari.io.results import Body, Frame, Layout
from shinari.view.drawings import RigidMeshes, add_balls
from shinari.view.geometry import SIDES, coloured_mesh, hull, icosphere, tube_faces, tube_vertices
from shinari.view.picking import ray_distances
from shinari.view.stage import FAR, NEAR, VIEW_ANGLE, frame_camera, live_box

HELIX = np.stack([np.cos(np.linspace(0, 9, 40)), np.linspace(0, 1, 40), np.sin(np.linspace(0, 9, 40))], axis=1)
LINES = {
    "straight": np.linspace([0, 0, 0], [0, 2, 0], 9),
    "helix": HELIX,
    "kinked": np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1.0]]),
    "two points": np.array([[0, 0, 0], [0.1, 0.2, -0.3]]),
}


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_sphere_is_closed_round_and_looks_outwards(level):
    vertices, faces = icosphere(level)
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    assert len(vertices) == 10 * 4**level + 2
    assert mesh.is_watertight
    assert np.allclose(np.linalg.norm(vertices, axis=1), 1.0)
    assert 2.5 < mesh.volume < 4.0 / 3.0 * np.pi


def test_the_view_begins_with_what_things_meet_and_no_mere_surroundings():
    scene = sn.Scene()
    scene.add_cloth(sn.grid(shape=(3, 3)), position=(0, 1, 0))
    scene.add_collider(sn.Plane())
    scene.add_collider(sn.Sphere(0.2), position=(0, 0.4, 0))
    scene.add_collider(sn.Box((100, 1, 100)), position=(0, -0.5, 0))
    low, high = box_at_start(scene)
    assert low == pytest.approx((-0.5, 0.2, -0.5), abs=1e-3)
    assert high == pytest.approx((0.5, 1.0, 0.5))


def test_what_flows_into_an_empty_vase_does_not_begin_inside_of_it():
    scene = sn.Scene()
    scene.add_emitter(limit=9, radius=0.01, position=(0, 0.5, 0), speed=1.0, spacing=0.01)
    scene.add_collider(sn.Box((2.0, 0.1, 2.0)))
    low, high = box_at_start(scene)
    assert (low, high) == (pytest.approx((-1, -0.05, -1), abs=0.01), pytest.approx((1, 0.5, 1), abs=0.1))


def box_at_start(scene):
    return live_box(layout_of(scene, 60.0), frame_of(sn.Simulation(scene)))


@pytest.mark.parametrize("spread", [0.02, 0.5], ids=["a heap", "far apart"])
def test_a_ray_meets_the_hull_before_the_balls(spread):
    rng = np.random.default_rng(3)
    radius = 0.01
    balls = rng.normal(0.0, spread, (300, 3)).astype(np.float32)
    vertices, faces = hull(balls, radius)
    assert len(faces) <= 12 * len(balls)
    assert np.abs(vertices).max() < np.abs(balls).max() + 6.0 * radius
    corners = vertices[faces].astype(np.float64)
    for ball in balls[:40]:
        outwards = rng.normal(size=3)
        outwards /= np.linalg.norm(outwards)
        eye = 9.0 * outwards + rng.normal(0.0, 1.0, 3)
        place = ball + radius * outwards
        assert ray_distances(corners, eye, place - eye).min() <= 1.0


def test_a_hull_leaves_out_what_is_nowhere():
    balls = np.array([(0, 0, 0), (np.nan, 0, 0), (np.inf, 0, 0), (1e30, 0, 0), (1, 2, -3.0)])
    vertices, faces = hull(balls, 0.01)
    assert len(faces) == 24
    assert np.abs(vertices).max() < 3.1
    vertices, faces = hull(balls[1:4], 0.01)
    assert np.array_equal(vertices, np.zeros((3, 3)))
    assert faces.shape == (1, 3)


@pytest.mark.parametrize("points", LINES.values(), ids=LINES.keys())
def test_a_tube_is_closed_and_as_thick_as_it_should(points):
    vertices = tube_vertices(points, 0.01)
    mesh = trimesh.Trimesh(vertices, tube_faces(len(points)), process=False)
    assert mesh.is_watertight
    assert mesh.is_winding_consistent
    apart = np.linalg.norm(vertices.reshape(-1, SIDES, 3) - points[:, None], axis=2)
    assert np.allclose(apart, 0.01, rtol=1e-4)
    # where the line is straight the section is a regular polygon
    if len(points) in (2, 9):
        length = np.linalg.norm(points[-1] - points[0])
        area = 0.5 * SIDES * 0.01**2 * np.sin(2 * np.pi / SIDES)
        assert mesh.volume == pytest.approx(area * length, rel=1e-3)


def test_a_tube_does_not_twist():
    rings = tube_vertices(HELIX, 0.01).reshape(-1, SIDES, 3) - HELIX[:, None]
    tangents = np.gradient(HELIX, axis=0)
    tangents /= np.linalg.norm(tangents, axis=1, keepdims=True)
    # the way of a corner from ring to ring has no part around the tube, but for the turning of the tube itself
    steps = np.diff(rings[:, 0], axis=0)
    around = np.cross(0.5 * (tangents[1:] + tangents[:-1]), 0.5 * (rings[1:, 0] + rings[:-1, 0]))
    angles = (steps * around).sum(axis=1) / 0.01**2
    assert np.abs(angles).max() < 0.02


def test_a_tube_with_points_in_one_place_stays_finite():
    vertices = tube_vertices(np.zeros((4, 3)), 0.01)
    assert np.isfinite(vertices).all()
    back = tube_vertices(np.array([[0, 0, 0], [1, 0, 0], [0, 0, 0.0]]), 0.01)
    assert np.isfinite(back).all()


def test_a_torn_segment_is_left_open():
    torn = np.array([False, True, False])
    assert len(tube_faces(4)) - len(tube_faces(4, torn)) == 2 * SIDES


def test_a_coloured_mesh_is_valid_gltf_and_keeps_its_colours():
    vertices, faces = icosphere(1)
    colors = np.random.default_rng(3).integers(0, 256, (len(vertices), 3)).astype(np.uint8)
    data = coloured_mesh(vertices, faces, colors)
    read = trimesh.load(io.BytesIO(data), file_type="glb", force="mesh", process=False)
    assert np.allclose(read.vertices, vertices, atol=1e-6)
    assert np.array_equal(read.faces, faces)
    # trimesh leaves colours out where there is a material
    length = int.from_bytes(data[12:16], "little")
    document = json.loads(data[20 : 20 + length])
    accessor = document["accessors"][document["meshes"][0]["primitives"][0]["attributes"]["COLOR_0"]]
    assert (accessor["componentType"], accessor["type"], accessor["normalized"]) == (5123, "VEC4", True)
    start = 28 + length + document["bufferViews"][accessor["bufferView"]]["byteOffset"]
    linear = np.frombuffer(data, "<u2", 4 * accessor["count"], start).reshape(-1, 4) / 65535.0
    srgb = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    assert np.abs(255 * srgb[:, :3] - colors).max() < 0.6
    assert (linear[:, 3] == 1.0).all()


def test_instances_are_given_light_since_viser_takes_no_colours_there():
    """Half the light is the number 188 of sRGB, a fifth 124."""
    scene = SimpleNamespace(add_batched_meshes_simple=lambda *_, **given: SimpleNamespace(**given))
    colors, places = np.array([(0, 124, 188), (255, 188, 124)], np.uint8), np.zeros((2, 3))
    light = [[0, 51, 128], [255, 128, 51]]
    given = add_balls(scene, "a", 0.1, places, colors).batched_colors
    assert np.abs(given.astype(int) - light).max() <= 1
    layout = Layout((), tuple(Body(name, np.eye(3), np.array([[0, 1, 2]])) for name in "bc"), 0, 30.0)
    none = np.zeros((0, 3))
    now = Frame(0.0, none, none, places, np.tile([1.0, 0, 0, 0], (2, 1)), places, places)
    nodes = []
    RigidMeshes(scene, "b", layout, [0, 1], now, colors, nodes.append)
    assert np.array_equal(nodes[0].batched_colors, given)


@pytest.mark.parametrize("size", [0.0, 1e-3, 1.0, 1e4])
def test_the_camera_sees_scenes_of_any_size(size):
    """From its place, through its opening and between its depths; a single ball has the size of a ball."""
    low, high = np.full(3, -0.5 * size), np.full(3, 0.5 * size)
    place, target = frame_camera(low, high)
    distance = np.linalg.norm(place - target)
    reach = 0.5 * np.sqrt(3.0) * size
    assert distance * np.sin(np.radians(0.5 * VIEW_ANGLE)) >= (1.0 - 1e-9) * reach
    assert NEAR * (size or 1.0) < distance - reach
    assert distance + reach < FAR * (size or 1.0)


def test_a_single_ball_is_seen_as_large_as_it_is():
    scene = sn.Scene()
    scene.add_particles([(0, 1, 0)], radius=0.05)
    low, high = box_at_start(scene)
    assert (low, high) == (pytest.approx((-0.05, 0.95, -0.05)), pytest.approx((0.05, 1.05, 0.05)))
