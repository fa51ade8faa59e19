"""The add-on for Blender: what it computes, and, where the module bpy is installed, what Blender shows of a run."""

import struct
from dataclasses import replace

import numpy as np
import pytest
from test_files_writers import LAYOUT, frame, write

from shinari.blender import import_run as addon
from shinari.geometry.motion import rotation_matrix
from shinari.io.results import COLLIDER_COLOR, COLORS, DrawnPart, Layout
from shinari.output.writers import open_writer

UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
"""Turns Y up into Z up."""


def test_z_up_turns_points_and_rotations_alike():
    random = np.random.default_rng(1)
    points, rotations = random.normal(size=(5, 3)), random.normal(size=(5, 4))
    rotations /= np.linalg.norm(rotations, axis=1, keepdims=True)
    assert np.allclose(addon.z_up(points), points @ UP.T)
    for rotation, turned in zip(rotations, addon.z_up_rotations(rotations), strict=True):
        assert np.allclose(rotation_matrix(turned), UP @ rotation_matrix(rotation) @ UP.T)


@pytest.mark.parametrize("rate", [1.0, 24.0, 30.0, 60.0, 23.976, 1000.0 / 7.0, 0.5])
def test_the_frame_rate_is_exact(rate):
    whole, base = addon.frame_rate(rate)
    assert isinstance(whole, int)
    assert whole / base == pytest.approx(rate, rel=1e-12)
    assert whole >= 1


def test_its_colours_are_those_of_the_other_formats():
    assert (addon.COLORS, addon.GREY) == (COLORS, COLLIDER_COLOR)


def test_its_point_caches_are_z_up(tmp_path):
    positions = np.random.default_rng(2).normal(size=(3, 4, 3)).astype(np.float32)
    addon.write_pc2(tmp_path / "a.pc2", positions)
    data = (tmp_path / "a.pc2").read_bytes()
    assert struct.unpack("<12siiffi", data[:32]) == (b"POINTCACHE2\0", 1, 4, 0.0, 1.0, 3)
    assert np.array_equal(np.frombuffer(data, "<f4", offset=32).reshape(3, 4, 3), addon.z_up(positions))


def test_a_torn_triangle_shrinks_into_a_point():
    random = np.random.default_rng(3)
    positions, faces = random.normal(size=(5, 6, 3)), np.array([[0, 1, 2], [1, 3, 2], [3, 4, 5], [0, 2, 4]])
    drawn = np.ones((5, 4), bool)
    drawn[:, 0], drawn[2:, 1], drawn[:3, 2] = False, False, False  # never, at first, at the end, always
    points, kept = addon.torn_mesh(positions, faces, drawn)
    assert kept.shape == (3, 3)
    for index in range(5):
        shown = points[index][kept]
        sizes = np.linalg.norm(np.cross(shown[:, 1] - shown[:, 0], shown[:, 2] - shown[:, 0]), axis=1)
        assert np.array_equal(
            np.sort(shown[sizes > 0.0], axis=0), np.sort(positions[index][faces[drawn[index]]], axis=0)
        )
    whole, same = addon.torn_mesh(positions, faces, np.ones((5, 4), bool))
    assert np.array_equal(whole, positions)
    assert np.array_equal(same, faces)


@pytest.fixture
def blender():
    bpy = pytest.importorskip("bpy", reason="Blender as a module (pip install bpy) is installed by hand only")
    bpy.ops.wm.read_factory_settings(use_empty=True)
    return bpy


def vertices_of(thing):
    found = np.empty(3 * len(thing.data.vertices), np.float32)
    thing.data.vertices.foreach_get("co", found)
    return found.reshape(-1, 3)


def test_blender_shows_the_run(blender, tmp_path):
    write(tmp_path / "run.npz", 4)
    addon.register()
    assert blender.ops.import_scene.shinari(filepath=str(tmp_path / "run.npz")) == {"FINISHED"}
    addon.unregister()
    scene, objects = blender.context.scene, blender.data.objects
    assert scene.render.fps / scene.render.fps_base == 50.0
    assert (scene.frame_start, scene.frame_end) == (1, 4)
    for index in (0, 3, 1, 2):
        scene.frame_set(index + 1)
        graph, now = blender.context.evaluated_depsgraph_get(), frame(index)
        points = addon.z_up(np.float32(now.positions))
        assert np.array_equal(vertices_of(objects["cloth"].evaluated_get(graph)), points[:4])
        rope = objects["rope"].evaluated_get(graph).to_mesh()
        ring = np.array([tuple(vertex.co) for vertex in rope.vertices])
        nearest = np.linalg.norm(ring[:, None] - points[None, 4:7], axis=2).min(axis=0)
        assert nearest[[0, 2]] == pytest.approx(0.01, rel=1e-4)  # its radius, where it is not bent
        spheres = [
            tuple(each.matrix_world.translation)
            for each in graph.object_instances
            if each.is_instance and each.parent and each.parent.name == "grains"
        ]
        assert np.array_equal(np.float32(spheres), points[7:9])
        ball = objects["ball"].evaluated_get(graph)
        pose = np.array(ball.matrix_world)
        body = LAYOUT.bodies[0].vertices @ rotation_matrix(now.body_rotations[0]).T + now.body_positions[0]
        assert np.allclose(vertices_of(ball) @ pose[:3, :3].T + pose[:3, 3], addon.z_up(body), atol=1e-6)


def test_blender_is_told_what_is_left_out(blender, tmp_path):
    torn = DrawnPart("torn", "curve", 0, 4, varies=True)
    layout = Layout((torn, DrawnPart("rope", "curve", 4, 7)), (), 10, 25.0)
    with open_writer(tmp_path / "run.npz", layout) as writer:
        writer.write(replace(frame(0, layout), drawn=np.ones(3, bool)))
    objects, left_out = addon.import_run(tmp_path / "run.npz")
    assert [thing.name for thing in objects] == ["rope"]
    assert left_out == ["torn"]
    np.savez(tmp_path / "other.npz", times=np.zeros(3))
    with pytest.raises(ValueError, match=r"other\.npz: is no run of shinari: body_names"):
        addon.import_run(tmp_path / "other.npz")
