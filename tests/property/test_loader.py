"""Whatever a file holds, the loader gives a valid scene or an error of the package: nothing else comes out."""

import contextlib
import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shinari as sn
from shinari.geometry.files.meshes import EXTENSIONS, read_mesh
from shinari.io.scene_file import load_scene_file
from shinari.solver.build import build_model

# scenes of odd values may be warned of
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

FEW = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))

VALID: dict[str, Any] = {
    "scene": {"gravity": [0, -9.81, 0], "wind": {"mean": [1, 0, 0], "frequency": 0.5}, "damping": 0.1},
    "simulation": {"dt": 0.01, "substeps": 5, "iterations": 2, "method": "xpbd", "sweep": "jacobi",
                   "contact_detection": "substep"},
    "particles": [
        {"name": "dust", "positions": [[0, 0, 0], [1, 0, 0], [0, 1, 0]], "mass": [1, 0, 2], "pin": [0],
         "radius": [0.01, 0.0, 0.02], "friction": 0.2, "static_friction": 0.3, "restitution": 0.5,
         "self_collision": True},
    ],
    "cloth": [
        {
            "name": "flag",
            "grid": {"shape": [3, 4], "size": [1, 2], "diagonal": "alternating"},
            "material": {"density": 0.2, "bend_model": "cross", "damping": 0.01},
            "position": [0, 1, 0],
            "rotation": [1, 0, 0, 0],
            "pin_nearest": [[0, 1, 0]],
            "self_collision": "triangles",
        },
        {"mesh": "flag.ply", "velocity": [1, 0, 0], "self_collision": "particles"},
    ],
    "rope": [{"name": "rope", "from": [0, 0, 0], "to": [0, 1, 0], "count": 5, "self_collision": True},
             {"points": [[0, 0, 0], [1, 0, 0]]}],
    "soft_body": [
        {"name": "jelly", "lattice": {"cells": [2, 1, 1], "size": 0.5, "split": 6}, "visual": "ball.ply",
         "material": {"preset": "jelly", "poissons_ratio": 0.4, "model": "corotated", "damping": 0.01},
         "position": [0, 5, 0], "rotation": [1, 0, 0, 0], "pin": [0], "self_collision": "triangles"},
        {"mesh": "ball.ply", "cell": 0.3, "material": "foam", "position": [0, 8, 0]},
    ],
    "rod": [
        {"name": "wire", "from": [0, 5, 1], "to": [1, 5, 1], "count": 4, "clamp": [0], "rest_curvature": [0, 1, 0],
         "material": {"preset": "hair", "radius": 0.01, "solver": "iterative"}},
        {"points": [[5, 0, 0], [6, 0, 0], [6, 1, 0]], "closed": True, "self_collision": True, "material": "hair"},
    ],
    "shape_matched": [
        {"name": "stone", "mesh": "ball.ply", "spacing": 0.3, "material": {"preset": "stone", "mode": "linear"}},
        {"points": [[9, 0, 0], [9, 1, 0], [9, 0, 1], [10, 0, 0], [10, 1, 1]], "stiffness": 0.5, "density": 100,
         "clusters": [[0, 1, 2, 3], [1, 2, 3, 4]], "radius": 0.1, "mass": [1, 1, 1, 1, 0], "material": "clay"},
    ],
    "volume": [{"thing": "jelly", "ratio": 1.1, "compliance": 1e-6}],
    "collider": [
        {"shape": {"type": "sphere", "radius": 1.0}, "position": [0, -20, 0], "friction": 0.5, "static_friction": 0.7,
         "restitution": 0.1, "contact_compliance": 1e-6},
        {
            "name": "box",
            "shape": {"type": "box", "size": [1, 1, 1], "inside": True},
            "motion": {"type": "keyframes", "times": [0, 1], "positions": [[0, 0, 0], [1, 0, 0]],
                       "rotations": [[1, 0, 0, 0], [0, 1, 0, 0]]},
        },
    ],
    "rigid_body": [
        {"name": "crate", "shape": {"type": "box", "size": [1, 1, 2]}, "density": 500, "position": [30, 0, 0],
         "rotation": [1, 0, 0, 0], "velocity": [1, 0, 0], "angular_velocity": [0, 1, 0], "friction": 0.5,
         "static_friction": 0.6, "restitution": 0.5, "compliance": 1e-6, "rolling_friction": 0.01,
         "torsional_friction": 0.01},
        {"name": "gem", "shape": {"type": "hull", "points": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]},
         "mass": 2, "inertia": [1, 1, 1], "centre": [0.2, 0.2, 0.2], "position": [33, 0, 0]},
        {"name": "hammer", "density": [7000, 500], "position": [36, 0, 0], "shape": {"type": "compound", "parts": [
            {"shape": {"type": "cylinder", "radius": 0.1, "length": 0.3}, "position": [0, 0.5, 0]},
            {"shape": {"type": "capsule", "radius": 0.05, "length": 0.5}, "rotation": [0, 1, 0, 0]}]}},
        {"name": "cast", "shape": {"type": "mesh", "path": "ball.ply"}, "visual": "flag.ply", "position": [39, 0, 0]},
        {"name": "lift", "shape": {"type": "cone", "radius": 1, "height": 1}, "motion": {
            "type": "oscillation", "centre": [42, 0, 0], "amplitude": [0, 1, 0], "frequency": 1}},
        {"name": "held", "kinematic": True, "velocity": [0, 1, 0]},
    ],
    "fluid": [
        {"name": "water", "container": "box", "fill_to": 0.25, "spacing": 0.25, "support": 2.5,
         "kernel": "cubic-spline", "boundary": "particles", "dimensions": 3, "material": "water"},
        {"name": "drop", "shape": {"type": "sphere", "radius": 0.5}, "spacing": 0.25, "support": 2.5,
         "kernel": "cubic-spline", "boundary": "particles", "position": [60, 0, 0], "rotation": [1, 0, 0, 0],
         "velocity": [0, -1, 0], "pin": [0], "material": {"preset": "oil", "viscosity": 0.1, "cohesive": True}},
        {"points": [[63, 0, 0], [63, 1, 0]], "spacing": 0.25, "support": 2.5, "kernel": "cubic-spline",
         "boundary": "particles"},
        {"mesh": "ball.ply", "spacing": 0.25, "support": 2.5, "kernel": "cubic-spline", "boundary": "particles",
         "position": [66, 0, 0]},
    ],
    "emitter": [
        {"name": "tap", "fluid": "drop", "limit": 9, "radius": 0.3, "speed": 1, "position": [0.1, 0.2, 0], "stop": 2,
         "direction": [0, -1, 0], "start": 1, "recycle": True},
        {"limit": 9, "size": [0.5, 0.3], "rate": 1, "spacing": 0.25, "support": 2.5, "kernel": "cubic-spline",
         "boundary": "particles", "material": {"rest_density": 900}, "motion": {
             "type": "oscillation", "centre": [0, 0, 0], "amplitude": [0.1, 0, 0], "frequency": 1}},
    ],
    "sink": [{"name": "drain", "shape": {"type": "box", "size": [1, 1, 1]}, "position": [60, -5, 0]}],
    "grains": [
        {"name": "sand", "points": [[70, 0, 0], [70, 1, 0]], "radius": 0.1, "spread": 0.2, "packing": "lattice",
         "material": {"preset": "sand", "friction": 0.7}, "velocity": [1, 0, 0]},
    ],
    "joint": [
        {"name": "door", "kind": "hinge", "first": "crate", "second": "gem", "anchor": [32, 0, 0], "axis": [0, 1, 0],
         "limits": [-1, 1], "limit_compliance": 1e-4, "damping": 0.1, "break_force": 100, "break_torque": 10,
         "motor": {"type": "servo", "target": 0.5, "stiffness": 10, "damping": 1, "max_force": 5}},
        {"kind": "ball", "first": "hammer", "anchor": [36, 1, 0], "axis": [0, 1, 0], "second_axis": [0, 1, 0],
         "swing_limit": 0.5, "twist_limits": [-0.2, 0.2], "compliance": 1e-6, "collide": True},
        {"kind": "distance", "first": "cast", "second": "hammer", "anchor": [39, 0, 0], "second_anchor": [36, 0, 0],
         "rest_length": 2, "compliance": 1e-3},
        {"kind": "gear", "first": "cast", "second": "hammer", "axis": [0, 1, 0], "second_axis": [1, 0, 0], "ratio": -2},
    ],
    "constraint": [
        {"type": "distance", "indices": [[0, 1], [1, 2]], "compliance": [0.1, 0.2], "parameters": {"rest_length": 1}},
        {"type": "attachment", "thing": "rope", "indices": [[1]], "parameters": {"target": [0, 1, 0]}},
        {"type": "dihedral", "indices": [[3, 4, 5, 6]]},
    ],
    "attach": [
        {"thing": "rope", "index": 4, "to": {"thing": "flag"}, "break_force": 10},
        {"thing": "wire", "index": [2, 3], "to": {"thing": "jelly", "place": "nearest"}, "reach": 2},
        {"thing": "wire", "nearest": [1, 5, 1], "to": {"thing": "jelly", "place": [1, 5, 0.5]}, "compliance": 1e-3},
        {"thing": "rope", "index": 3, "to": {"thing": "crate", "place": [30, 0, 1]}, "compliance": 1e-4},
        {"thing": "dust", "to": {"motion": {"type": "oscillation", "centre": [0, 0, 0], "amplitude": [1, 0, 0],
                                            "frequency": 1}}},
    ],
    "ignore_contact": [{"first": "flag", "second": "rope"}, {"first": "box", "second": "dust"},
                       {"first": "crate", "second": "lift"}],
}  # fmt: skip

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-3, 12),
    st.floats(),
    st.sampled_from([0.0, -1.0, 1e-300, 1e308, -1e308, 1e38]),
    st.text(max_size=8),
    st.sampled_from(
        [
            "flag",
            "rope",
            "box",
            "distance",
            "tether",
            "volume",
            "../x.obj",
            "\0",
            "flag.ply",
            "bad.obj",
            "ball.ply",
            "jelly",
            "wire",
            "stone",
            "nearest",
            "steel wire",
            "crate",
            "gem",
            "door",
            "hinge",
            "water",
            "tap",
        ]
    ),
    st.lists(st.floats(), max_size=4),
    st.lists(st.integers(-1, 5), max_size=4),
    st.lists(st.lists(st.integers(0, 5), max_size=4), max_size=3),
    st.dictionaries(st.sampled_from(["type", "shape", "thing", "index", "mean", "density"]), st.floats(), max_size=2),
)


def places(node: Any, path: tuple = ()) -> list[tuple]:
    """Every place in a document."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(place for key, item in items for place in places(item, (*path, key)))]


PLACES = places(VALID)[1:]


@st.composite
def mutations(draw: st.DrawFn) -> dict[str, Any]:
    """The valid document with up to three of its values replaced, removed, copied elsewhere or added to."""
    document = copy.deepcopy(VALID)
    for _ in range(draw(st.integers(0, 3))):
        *path, key = draw(st.sampled_from(PLACES))
        try:
            parent = document
            for step in path:
                parent = parent[step]
            action = draw(st.sampled_from(["replace", "replace", "remove", "add", "copy"]))
            if action == "remove":
                del parent[key]
            elif action == "add" and isinstance(parent, dict):
                parent[draw(st.sampled_from(["name", "pin", "index", "radius", "nonsense"]))] = draw(VALUES)
            elif action == "copy":
                value: Any = VALID
                for step in draw(st.sampled_from(PLACES)):
                    value = value[step]
                parent[key] = copy.deepcopy(value)
            else:
                parent[key] = draw(VALUES)
        except (KeyError, IndexError, TypeError):  # an earlier mutation took the place away
            continue
    return document


def toml(value: Any) -> str:
    """TOML of a value: a document as inline tables."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {toml(v)}" for k, v in value.items() if v is not None) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(toml(item) for item in value if item is not None) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value)
    return repr(value)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from shinari.geometry.files.meshes import write_mesh

    folder = tmp_path_factory.mktemp("loader")
    write_mesh(folder / "flag.ply", *sn.grid(shape=(3, 3)))
    ball = trimesh.creation.icosphere(subdivisions=1, radius=0.5)
    write_mesh(folder / "ball.ply", np.asarray(ball.vertices), np.asarray(ball.faces))
    (folder / "bad.obj").write_text("v 0 0 nan\nf 1 1 1\n")
    return folder


def check(path: Path) -> None:
    try:
        scene, options = load_scene_file(path)
    except (sn.SceneError, sn.FileError):
        return
    assert np.isfinite(scene.positions).all()
    if scene.particle_count:
        with contextlib.suppress(sn.ShinariError):
            build_model(scene, options.settings)


def test_the_document_that_is_mutated_is_valid(folder: Path) -> None:
    path = folder / "scene.toml"
    path.write_text("\n".join(f"{key} = {toml(value)}" for key, value in VALID.items()))
    scene, _ = load_scene_file(path)
    assert scene.particle_count == 258


@FEW
@given(document=mutations())
def test_mutated_scenes(folder: Path, document: dict[str, Any]) -> None:
    path = folder / "scene.toml"
    path.write_text("\n".join(f"{key} = {toml(v)}" for key, v in document.items() if v is not None), "utf-8", "replace")
    check(path)


WORDS = st.sampled_from(
    [*"[]{}=,.\"'#\n \\", "[[cloth]]\n", "[scene]\n", "grid = ", "mesh = ", "gravity = ", "1", "-1", "inf", "nan",
     "1e999", "1979-05-27", "true", '"flag.ply"', "\x00", "\U0001f600", "9" * 30]
)  # fmt: skip


@FEW
@given(text=st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=25).map("".join)))
def test_raw_text(folder: Path, text: str) -> None:
    path = folder / "scene.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    check(path)


@FEW
@given(data=st.binary(max_size=80))
def test_raw_bytes_as_a_scene(folder: Path, data: bytes) -> None:
    path = folder / "scene.toml"
    path.write_bytes(data)
    check(path)


HEADS = {
    ".obj": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf ",
    ".ply": b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\n",
    ".stl": b"solid x\nfacet normal 0 0 1\n",
    ".gltf": b'{"asset": {"version": "2.0"}, "meshes": ',
    ".glb": b"glTF\x02\x00\x00\x00",
}


@FEW
@given(data=st.binary(max_size=120), suffix=st.sampled_from(EXTENSIONS), headed=st.booleans())
def test_random_bytes_as_a_mesh(folder: Path, data: bytes, suffix: str, headed: bool) -> None:
    path = folder / f"mesh{suffix}"
    path.write_bytes((HEADS[suffix] if headed else b"") + data)
    try:
        vertices, faces = read_mesh(path)
    except sn.FileError:
        return
    assert np.isfinite(vertices).all()
    assert faces.max() < len(vertices)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("checkpoint") / "c.vtkhdf"
    scene = sn.Scene()
    scene.add_rope([[0, 0, 0], [1, 0, 0], [2, 0, 0]])
    sn.Simulation(scene).save(path)
    return path.read_bytes()


@FEW
@given(data=st.data())
def test_damaged_checkpoints(folder: Path, checkpoint: bytes, data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["bytes", "cut", "flip", "insert", "tail"]))
    noise = data.draw(st.binary(min_size=1, max_size=40))
    at = data.draw(st.integers(0, len(checkpoint) - 1))
    damaged = {
        "bytes": noise,
        "cut": checkpoint[:at],
        "flip": checkpoint[:at] + bytes([checkpoint[at] ^ max(noise[0], 1)]) + checkpoint[at + 1 :],
        "insert": checkpoint[:at] + noise + checkpoint[at:],
        "tail": checkpoint + noise,
    }[kind]
    path = folder / "c.vtkhdf"
    path.write_bytes(damaged)
    with pytest.raises(sn.FileError):
        sn.Simulation.load(path)
