"""Baking in Blender, where the module bpy is installed: roles, pins, moving colliders, results."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from shinari import blender as extension
from shinari.blender import objects
from shinari.cli import main
from shinari.io.npz import read_npz

SOURCE = Path(extension.__file__).parents[2]


@pytest.fixture
def blender(monkeypatch, tmp_path):
    bpy = pytest.importorskip("bpy", reason="Blender as a module (pip install bpy) is not installed")
    monkeypatch.setenv("SHINARI_PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(SOURCE))
    bpy.ops.wm.read_factory_settings(use_empty=True)
    extension.register()
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end, scene.render.fps = 5, 17, 24
    scene.shinari_settings.folder, scene.shinari_settings.substeps = str(tmp_path / "bake"), 10
    yield bpy
    extension.unregister()


def mesh_object(bpy, name, vertices, edges=(), faces=(), **transform):
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata([tuple(map(float, v)) for v in vertices], [tuple(e) for e in edges], [tuple(f) for f in faces])
    obj = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(obj)
    for key, value in transform.items():
        setattr(obj, key, value)
    bpy.context.view_layer.update()
    return obj


def sheet(bpy, name="sheet", count=9, **transform):
    side = np.linspace(-0.5, 0.5, count)
    vertices = [(x, y, 0.0) for y in side for x in side]
    index = np.arange(count * count).reshape(count, count)
    corners = [index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]]
    return mesh_object(bpy, name, vertices, faces=np.stack(corners, axis=-1).reshape(-1, 4), **transform)


def cube(bpy, name, half=0.1, **transform):
    corners = [(half * x, half * y, half * z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return mesh_object(bpy, name, corners, faces=faces, **transform)


def seen(bpy, obj):
    """Vertices in the world as Blender shows them."""
    shown = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    found = np.array([tuple(vertex.co) for vertex in shown.data.vertices])
    matrix = np.array(shown.matrix_world)
    return found @ matrix[:3, :3].T + matrix[:3, 3]


def test_the_result_is_on_the_objects(blender, tmp_path):
    scene = blender.context.scene
    cloth = sheet(blender, location=(0.3, 0.2, 1.0), rotation_euler=(0.2, 0.1, 0.4), scale=(1.0, 0.5, 1.0))
    cloth.shinari_settings.role, cloth.shinari_settings.pin_group = "cloth", "held"
    cloth.vertex_groups.new(name="held").add([0, 8], 1.0, "REPLACE")
    cloth.vertex_groups["held"].add([4], 0.3, "REPLACE")
    body = cube(blender, "body", location=(3.0, 0.0, 2.0), rotation_euler=(0.3, 0.2, 0.1))
    body.shinari_settings.role = "rigid"
    rope = mesh_object(
        blender,
        "rope",
        [(0.2, 0, 0), (0, 0, 0), (0.1, 0, 0), (0.3, 0, 0)],
        [(0, 2), (2, 1), (3, 0)],
        location=(0, 3, 1),
    )
    rope.shinari_settings.role, rope.shinari_settings.pin_group = "rope", "end"
    rope.vertex_groups.new(name="end").add([1], 1.0, "REPLACE")
    scene.frame_set(5)
    before = {obj.name: seen(blender, obj) for obj in (cloth, body, rope)}
    assert blender.ops.object.shinari_bake() == {"FINISHED"}
    run = read_npz(tmp_path / "bake" / "bake.npz")
    assert len(run["times"]) == 13
    for obj in (cloth, body, rope):
        scene.frame_set(5)
        assert np.allclose(seen(blender, obj), before[obj.name], atol=1e-5)
    scene.frame_set(17)
    start, stop = run["range_sheet"]
    z_up = run["positions"][-1, start:stop][:, [0, 2, 1]] * (1, -1, 1)
    assert np.allclose(seen(blender, cloth), z_up, atol=1e-5)
    moved = np.linalg.norm(seen(blender, cloth) - before["sheet"], axis=1)
    assert moved[[0, 8]].max() < 1e-5
    assert moved[4] > 0.01
    assert np.abs(seen(blender, rope) - before["rope"])[1].max() < 1e-5
    # 12 frames of free fall; implicit Euler is ahead by half a substep
    t, h = 12 / 24, 1 / 720
    fallen = (seen(blender, body) - before["body"]).mean(axis=0)
    assert fallen == pytest.approx([0.0, 0.0, -0.5 * 9.81 * t * (t + h)], rel=1e-3, abs=1e-4)
    assert np.ptp(seen(blender, body) - before["body"], axis=0).max() < 1e-4
    # a second bake begins where the first did
    assert blender.ops.object.shinari_bake() == {"FINISHED"}
    assert np.array_equal(read_npz(tmp_path / "bake" / "bake.npz")["positions"], run["positions"])
    assert [modifier.name for modifier in cloth.modifiers] == [objects.MODIFIER]
    assert blender.ops.object.shinari_clear() == {"FINISHED"}
    scene.frame_set(17)
    for obj in (cloth, body, rope):
        assert np.allclose(seen(blender, obj), before[obj.name], atol=1e-6)


def test_vertex_groups_are_maps_of_a_cloth(blender, tmp_path):
    cloth = sheet(blender)
    cloth.shinari_settings.role = "cloth"
    cloth.shinari_settings.mass_group, cloth.shinari_settings.mass_factor = "lead", 3.0
    group = cloth.vertex_groups.new(name="lead")
    group.add([0, 8], 1.0, "REPLACE")
    group.add([4], 0.25, "REPLACE")
    factors = objects.items_of(blender.context)[0].maps
    assert list(factors) == ["mass"]
    assert factors["mass"][[0, 1, 4, 8]] == pytest.approx([3.0, 1.0, 1.5, 3.0], rel=1e-6)
    assert blender.ops.object.shinari_bake() == {"FINISHED"}
    assert 'maps = { mass = "blue" }' in (tmp_path / "bake" / "scene.toml").read_text(encoding="utf-8")
    cloth.shinari_settings.mass_group = "gone"
    with pytest.raises(RuntimeError, match="sheet: there is no vertex group gone"):
        blender.ops.object.shinari_bake()


def test_a_moving_collider_carries_what_lies_on_it(blender):
    scene = blender.context.scene
    scene.frame_start, scene.frame_end = 1, 25
    table = cube(blender, "table", half=1.0)
    table.shinari_settings.role, table.shinari_settings.friction = "collider", 1.0
    table.keyframe_insert("location", frame=1)
    table.location = (0.2, 0.0, 0.1)
    table.keyframe_insert("location", frame=25)
    body = cube(blender, "body", location=(0.1, 0.0, 1.1))
    body.shinari_settings.role, body.shinari_settings.friction = "rigid", 1.0
    assert blender.ops.object.shinari_bake() == {"FINISHED"}
    scene.frame_set(25)
    place = np.array(body.matrix_world.translation)
    assert place == pytest.approx([0.3, 0.0, 1.2], abs=0.01)


@pytest.mark.parametrize(
    ("role", "what", "message"),
    [
        ("rope", "sheet", "sheet: rope: the edges are no single open chain"),
        ("cloth", "loose", "loose: cloth: vertex 3 is in no face"),
        ("cloth", "light", "light: cloth: expected a mesh, got an object of type LIGHT"),
        ("rigid", "moving", "moving: rigid: its location is animated"),
        ("cloth", "group", "group: there is no vertex group nothing"),
        ("none", "sheet", "nothing to bake"),
    ],
)
def test_what_cannot_be_baked_is_named(blender, role, what, message):
    if what == "light":
        obj = blender.data.objects.new("light", blender.data.lights.new("light", "POINT"))
        blender.context.scene.collection.objects.link(obj)
    elif what == "loose":
        obj = mesh_object(blender, what, [(0, 0, 0), (1, 0, 0), (0, 1, 0), (2, 2, 2)], faces=[(0, 1, 2)])
    elif what == "moving":
        obj = cube(blender, what)
        obj.keyframe_insert("location", frame=1)
    else:
        obj = sheet(blender, what)
    if what == "group":
        obj.shinari_settings.pin_group = "nothing"
    obj.shinari_settings.role = role
    with pytest.raises(RuntimeError, match=message):
        blender.ops.object.shinari_bake()
    assert not extension.panel.running


def test_blender_accepts_the_zip(blender, tmp_path):
    path = tmp_path / "shinari.zip"
    assert main(["blender", "-o", str(path)]) == 0
    tool = Path(blender.utils.system_resource("SCRIPTS")) / "addons_core" / "bl_pkg" / "cli" / "blender_ext.py"
    told = subprocess.run([sys.executable, "-I", tool, "validate", path], capture_output=True, text=True)
    assert told.returncode == 0, told.stdout + told.stderr
