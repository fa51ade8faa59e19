"""The extension for Blender without Blender: its manifest, its zip, scene files, and the process that bakes."""

import re
import sys
import time
import tomllib
import zipfile
from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import shinari as sn
from shinari.blender import baking, panel
from shinari.blender.scene_folder import ROLES, TABLES, Item, chain, write_obj, write_scene
from shinari.cli import main
from shinari.cli.blender import FILES
from shinari.geometry.files.meshes import read_mesh
from shinari.io.npz import read_npz
from shinari.io.scene_file import load_scene_file
from shinari.scene.materials import CLOTH_PRESETS

FOLDER = Path(baking.__file__).parent
WORLD = {"gravity": (0.0, -9.81, 0.0), "wind": None, "substeps": 5}
# the fields and the tags of an add-on, from the page "Getting Started" on extensions of Blender's manual
REQUIRED = {
    "schema_version", "id", "version", "name", "tagline", "maintainer", "type", "blender_version_min", "license",
}  # fmt: skip
OPTIONAL = {"blender_version_max", "website", "copyright", "tags", "platforms", "wheels", "permissions", "build"}
TAGS = {
    "3D View", "Add Curve", "Add Mesh", "Animation", "Bake", "Camera", "Compositing", "Development", "Game Engine",
    "Geometry Nodes", "Grease Pencil", "Import-Export", "Lighting", "Material", "Modeling", "Mesh", "Node", "Object",
    "Paint", "Pipeline", "Physics", "Render", "Rigging", "Scene", "Sculpt", "Sequencer", "System", "Text Editor",
    "Tracking", "User Interface", "UV",
}  # fmt: skip
PERMISSIONS = {"files", "network", "clipboard", "camera", "microphone"}


def sheet(name="cloth", **more):
    vertices, faces = sn.grid(shape=(5, 5), size=(1.0, 1.0))
    return Item(name, "cloth", vertices, faces, material={"preset": "cotton"}, **more)


def test_the_manifest_follows_the_schema():
    manifest = tomllib.loads((FOLDER / "blender_manifest.toml").read_text(encoding="utf-8"))
    assert manifest.keys() >= REQUIRED
    assert manifest.keys() <= REQUIRED | OPTIONAL
    assert manifest["schema_version"] == "1.0.0"
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", manifest["id"])
    assert "__" not in manifest["id"]
    assert manifest["version"] == sn.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", manifest["version"])
    assert manifest["type"] == "add-on"
    assert tuple(map(int, manifest["blender_version_min"].split("."))) >= (4, 2, 0)
    assert len(manifest["tagline"]) <= 64
    assert manifest["tagline"][-1].isalnum()
    assert set(manifest["tags"]) <= TAGS
    assert all(re.fullmatch(r"SPDX:[\w.+-]+", each) for each in manifest["license"])
    assert all(re.fullmatch(r"\d{4}(-\d{4})? .+", each) for each in manifest["copyright"])
    assert manifest["permissions"].keys() <= PERMISSIONS
    assert all(len(why) <= 64 and why[-1].isalnum() for why in manifest["permissions"].values())


@pytest.mark.parametrize("portable", [False, True])
def test_the_zip_has_all_files_at_its_root(tmp_path, portable):
    path = tmp_path / "addon.zip"
    assert main(["blender", "-o", str(path), *(["--portable"] if portable else [])]) == 0
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        assert names == set(FILES) | (set() if portable else {baking.PYTHON_FILE})
        if not portable:
            assert archive.read(baking.PYTHON_FILE).decode() == sys.executable
    assert {each.name for each in FOLDER.iterdir() if each.is_file()} - set(FILES) <= {baking.PYTHON_FILE}


def test_a_scene_folder_is_a_scene_file(tmp_path):
    corners, faces = _cube()
    turn = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    motion = (np.array([0.0, 1.0]), np.array([[0.0, -1.0, 0.0], [0.5, -1.0, 0.0]]), turn)
    rope = np.linspace((0.0, 1.0, 0.0), (1.0, 1.0, 0.0), 6)
    items = [
        sheet('a "cloth" of café', pins=[0, 4], options={"self_collision": "triangles"}),
        Item("jelly", "soft", corners + np.array([3.0, 0.0, 0.0]), faces, material={"density": 500.0}),
        Item("rope", "rope", rope, pins=[0], material={"density": 0.2, "radius": 0.01}),
        Item("body", "rigid", corners + np.array([0.0, 2.0, 0.0]), faces, (0.0, 2.0, 0.0), material={"density": 300.0}),
        Item(
            "floor",
            "collider",
            corners + np.array([0.0, -1.0, 0.0]),
            faces,
            (0.0, -1.0, 0.0),
            material={"friction": 0.7},
            motion=motion,
        ),
    ]
    path = write_scene(tmp_path / "bake", items, WORLD | {"wind": np.array([1.0, 0.0, 0.0])}, 48, 24.0)
    scene, options = load_scene_file(path)
    assert options.duration == 2.0
    assert options.frames_per_second == 24.0
    assert options.settings.dt == pytest.approx(1.0 / 72.0)
    assert scene.bodies[0].mass == pytest.approx(300.0 * 0.2**3)
    assert np.allclose(scene.positions[:25], items[0].vertices)
    assert sn.Simulation(scene).pinned(items[0].name).tolist() == [0, 4]


def _cube():
    corners = 0.1 * np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))])


def test_maps_of_a_cloth_are_in_its_mesh_file(tmp_path):
    """Colours of an OBJ file hold any factor; what has no map has the factor one."""
    weights = np.linspace(0.0, 1.0, 25)
    maps = {"mass": 1.0 + 3.0 * weights, "stiffness": 1.0 - 0.9 * weights}
    plain, mapped = (write_scene(tmp_path / str(len(m)), [sheet(maps=m)], WORLD, 4, 24.0) for m in ({}, maps))
    assert "maps" not in plain.read_text(encoding="utf-8")
    found = sn.read_attributes(mapped.parent / "0.obj")
    assert np.allclose(found["blue"], maps["mass"], rtol=1e-8)
    assert np.allclose(found["green"], maps["stiffness"], rtol=1e-8)
    assert np.array_equal(found["red"], np.ones(25))
    vertices, faces = sn.grid(shape=(5, 5), size=(1.0, 1.0))
    scene = sn.Scene()
    scene.add_cloth((vertices, faces), material=sn.ClothMaterial.preset("cotton"), maps=maps)
    expected = sn.Simulation(scene).model
    model = sn.Simulation(load_scene_file(mapped)[0]).model
    assert np.allclose(model.masses, expected.masses, rtol=1e-6)
    assert model.masses.sum() > 2.0 * sn.Simulation(load_scene_file(plain)[0]).model.masses.sum()
    for kind, block in expected.blocks.items():
        assert np.allclose(model.blocks[kind].compliance, block.compliance, rtol=1e-6), kind


class Layout:
    """Records what a panel draws."""

    def __init__(self):
        self.drawn, self.use_property_split, self.use_property_decorate = [], False, True

    def column(self):
        return self

    box = column

    def _record(self, what, *place, **options):
        self.drawn.append((what, *place, options))

    def __getattr__(self, what):
        return lambda *place, **options: self._record(what, *place, **options)


@pytest.mark.parametrize("role", ["none", *ROLES])
def test_the_panel_draws_each_role_and_what_belongs_to_it(role):
    """Names of properties that are drawn exist, and labels fit in a sidebar: about thirty letters."""
    known = panel.ShinariObject.__annotations__, panel.ShinariScene.__annotations__
    settings = SimpleNamespace(role=role, **{f"{name}_group": "" for name in ("pin", *panel.MAPS)})
    world = SimpleNamespace(use_air=True)
    obj = SimpleNamespace(name="sheet", type="MESH", shinari_settings=settings)
    context = SimpleNamespace(object=obj, scene=SimpleNamespace(shinari_settings=world))
    drawn = []
    for group in ("", "painted"):
        settings.stiffness_group = group
        shown = Layout()
        drawer: Any = SimpleNamespace(layout=shown)
        panel.ShinariPanel.draw(drawer, context)
        drawn.append([(what, *place) for what, *place, _ in shown.drawn])
        for what, *place, _ in shown.drawn:
            if what.startswith("prop"):
                assert place[1] in known[place[0] is world], place
    names = [place[1] for what, *place in drawn[0] if what.startswith("prop")]
    assert [name for name in names if name in panel.SHOWN.get(role, ())] == list(panel.SHOWN.get(role, ()))
    assert ("pin_group" in names) == (role in ("cloth", "soft", "rope"))
    assert ("stiffness_group" in names) == (role == "cloth")
    more = [each for each in drawn[1] if each not in drawn[0]]
    assert more == ([("prop", settings, "stiffness_factor")] if role == "cloth" else [])
    operators = {each.bl_idname for each in panel.CLASSES if hasattr(each, "execute")}
    assert {place[0] for what, *place in drawn[0] if what == "operator"} <= operators


def test_how_far_a_bake_is_fits_in_the_sidebar():
    bake = baking.Bake.__new__(baking.Bake)
    bake.done, bake.left, bake._said = 0.0, None, deque()
    assert bake.text == "starting"
    bake._said.append("shinari: compiling kernel 112 of 140, once on this machine ...")
    assert bake.text == "compiling kernel 112 of 140"
    bake.done, bake.left = 0.5, 1234.5
    assert bake.text == "50 %, 1234 s left"


def test_each_role_has_its_table_and_its_properties():
    assert set(ROLES) == set(TABLES) == set(panel.SHOWN)
    assert [name for name, *_ in panel.ROLES] == ["none", *ROLES]
    assert set(panel.CLOTHS) <= set(CLOTH_PRESETS)
    settings = SimpleNamespace(role="cloth", preset="silk", thickness=0.001, friction=0.2, self_collision=True)
    assert panel.fields_of(settings) == (
        {"preset": "silk", "thickness": 0.001, "friction": 0.2},
        {"self_collision": "triangles"},
    )
    settings = SimpleNamespace(role="rope", rope_density=0.1, rope_radius=0.02, friction=0.2, self_collision=False)
    assert panel.fields_of(settings)[0] == {"density": 0.1, "radius": 0.02, "friction": 0.2}


def test_nothing_to_bake_is_told(tmp_path):
    with pytest.raises(ValueError, match="nothing to bake: give an object"):
        write_scene(tmp_path, [], WORLD, 10, 24.0)
    with pytest.raises(ValueError, match="ends at its first frame"):
        write_scene(tmp_path, [sheet()], WORLD, 0, 24.0)


def test_meshes_keep_their_vertices(tmp_path):
    random = np.random.default_rng(4)
    vertices, faces = random.normal(size=(20, 3)), np.arange(18).reshape(-1, 3)[::-1]
    vertices[7] = vertices[3]  # equal vertices stay two
    write_obj(tmp_path / "a.obj", vertices, np.concatenate([faces, [[18, 19, 0]]]))
    mesh = read_mesh(tmp_path / "a.obj")
    assert np.allclose(mesh[0], vertices, atol=1e-8)
    assert np.array_equal(mesh[1][:6], faces)


def test_a_chain_of_edges_is_followed():
    assert chain(np.array([(3, 1), (0, 3), (2, 0)]), 4).tolist() in ([1, 3, 0, 2], [2, 0, 3, 1])
    for edges, count in (
        ([(0, 1), (1, 2), (2, 0)], 3),
        ([(0, 1), (1, 2), (1, 3)], 4),
        ([(0, 1)], 3),
        ([(0, 1), (2, 3)], 4),
    ):
        with pytest.raises(ValueError, match="no single open chain"):
            chain(np.array(edges), count)


def program():
    return [sys.executable, "-m", "shinari.cli"]


@pytest.fixture
def source_path(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(FOLDER.parents[1]))


@pytest.mark.usefixtures("source_path")
def test_a_bake_runs_in_a_process_of_its_own(tmp_path):
    path = write_scene(tmp_path, [sheet(pins=[0])], WORLD, 12, 24.0)
    bake = baking.Bake(program(), path, tmp_path / "bake.npz")
    assert bake.result() == ""
    assert not bake.running
    assert bake.done == 1.0
    assert bake.text == "100 %, 0 s left"
    run = read_npz(tmp_path / "bake.npz")
    assert len(run["times"]) == 13
    # the same bits as from the command line
    assert main(["run", str(path), "-o", str(tmp_path / "again.npz"), "--quiet"]) == 0
    assert np.array_equal(run["positions"], read_npz(tmp_path / "again.npz")["positions"])


@pytest.mark.usefixtures("source_path")
def test_a_bake_is_cancelled_and_keeps_its_frames(tmp_path):
    path = write_scene(tmp_path, [sheet(pins=[0])], WORLD, 10_000_000, 24.0)
    bake = baking.Bake(program(), path, tmp_path / "bake.npz")
    while bake.done == 0.0 and bake.running:
        time.sleep(0.05)
    assert bake.running
    assert bake.left is not None
    bake.cancel()
    bake.result()
    run = read_npz(tmp_path / "bake.npz")
    assert 1 <= len(run["times"]) < 10_000_000


@pytest.mark.usefixtures("source_path")
def test_what_goes_wrong_is_told(tmp_path, monkeypatch):
    path = write_scene(tmp_path, [sheet(pins=[99])], WORLD, 12, 24.0)
    bake = baking.Bake(program(), path, tmp_path / "bake.npz")
    with pytest.raises(ValueError, match="99"):
        bake.result()
    with pytest.raises(ValueError, match="does not start"):
        baking.Bake([str(tmp_path / "no_program")], path, tmp_path / "bake.npz")
    with pytest.raises(ValueError, match="is no program"):
        baking.python_with_shinari("/no/python")
    assert baking.python_with_shinari(sys.executable) == program()
    monkeypatch.setenv("SHINARI_PYTHON", sys.executable)
    assert baking.python_with_shinari() == program()
    monkeypatch.delenv("SHINARI_PYTHON")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match="shinari is not found"):
        baking.python_with_shinari()
