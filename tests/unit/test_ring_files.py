"""A rod that is a ring is drawn as one, in every format and in pictures."""

import json
import struct
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import shinari as sn
from shinari.io.frames import frame_of, layout_of
from shinari.io.results import Frame, Layout
from shinari.view import drawings

POINTS = 5


def ring_and_rod() -> sn.Scene:
    scene = sn.Scene(gravity=(0, 0, 0))
    t = 2.0 * np.pi * np.arange(POINTS) / POINTS
    scene.add_rod([[0, 2, 0], [0.5, 2, 0], [1, 2, 0]], name="rod")
    scene.add_rod(np.stack([np.cos(t), 0 * t, np.sin(t)], axis=1), closed=True, name="ring")
    return scene


def recorded(folder: Path, suffix: str) -> Path:
    path = folder / f"run{suffix}"
    sn.Simulation(ring_and_rod(), substeps=2, threads=1).run(0.05, record=path, progress=False)
    return path


@pytest.mark.parametrize("suffix", [".npz", ".vtkhdf"])
def test_it_is_a_ring_when_it_is_read_again(tmp_path: Path, suffix: str) -> None:
    if suffix == ".vtkhdf":
        pytest.importorskip("h5py", reason="the extra [cache] is not installed")
    with sn.open_cache(recorded(tmp_path, suffix)) as cache:
        rod, ring = cache.layout.parts
        assert (rod.closed, ring.closed) == (False, True)
        assert ring.line.tolist() == [3, 4, 5, 6, 7, 3]
        assert ring.element_count == POINTS


def test_of_a_file_without_rings_all_curves_are_open(tmp_path: Path) -> None:
    """As those of version 0.1."""
    path = recorded(tmp_path, ".npz")
    with np.load(path) as arrays:
        older = {name: arrays[name] for name in arrays.files if name != "part_closed"}
    np.savez(path, **older)
    with sn.open_cache(path) as cache:
        assert [part.closed for part in cache.layout.parts] == [False, False]


def test_lines_of_vtkhdf_lead_back(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="the extra [cache] is not installed")
    with h5py.File(recorded(tmp_path, ".vtkhdf")) as file:
        assert file["VTKHDF/Lines/Connectivity"][:].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 3]
        assert file["VTKHDF/Lines/Offsets"][:].tolist() == [0, 3, 9]


def test_curves_of_usd_are_periodic(tmp_path: Path) -> None:
    pytest.importorskip("pxr", reason="the extra [usd] is not installed")
    from pxr import Usd, UsdGeom

    stage = Usd.Stage.Open(str(recorded(tmp_path, ".usda")))
    wraps = {prim.GetName(): UsdGeom.BasisCurves(prim).GetWrapAttr().Get() for prim in stage.Traverse()}
    assert (wraps["rod"], wraps["ring"]) == ("nonperiodic", "periodic")


def test_edges_of_ply_lead_back(tmp_path: Path) -> None:
    text = next(recorded(tmp_path, ".ply").parent.rglob("*.ply")).read_bytes()
    assert f"element edge {2 + POINTS}".encode() in text


def test_line_strips_of_gltf_lead_back(tmp_path: Path) -> None:
    data = recorded(tmp_path, ".glb").read_bytes()
    document = json.loads(data[20 : 20 + struct.unpack("<I", data[12:16])[0]])
    counts = {
        mesh["name"]: document["accessors"][mesh["primitives"][0]["attributes"]["POSITION"]]["count"]
        for mesh in document["meshes"]
    }
    assert counts == {"rod": 3, "ring": POINTS + 1}


def tube_triangles(kind: str, layout: Layout, index: int, frame: Frame) -> np.ndarray:
    """Middles of the triangles that a part is drawn with, coloured by its points, (F, 3)."""
    part = layout.parts[index]
    colors = np.zeros((part.point_count, 3), np.uint8)
    if kind == "picture":
        pytest.importorskip("pyvista", reason="the extra [render] is not installed")
        from shinari.view import actors

        plotter = SimpleNamespace(add_actor=lambda *_, **__: None)
        painted = actors.Tube(plotter, part, layout, frame, (1.0, 0.0, 0.0), 0.01)
        painted.show(frame, colors)
        return painted.triangles().mean(axis=1)
    mesh = SimpleNamespace(opacity=None)
    scene = SimpleNamespace(
        add_mesh_simple=lambda _, vertices, faces, **__: mesh.__dict__.update(vertices=vertices, faces=faces) or mesh,
        add_glb=lambda _, data, **__: SimpleNamespace(visible=False, glb_data=data),
    )
    drawings.Tube(scene, "tube", part, layout, frame, (255, 0, 0), lambda _: None, radius=0.01).show(frame, colors)
    return mesh.vertices[mesh.faces].mean(axis=1)


@pytest.mark.parametrize("kind", ["picture", "player"])
def test_its_tube_leads_back(kind: str) -> None:
    scene = ring_and_rod()
    layout, frame = layout_of(scene, 60.0), frame_of(sn.Simulation(scene, substeps=2, threads=1))
    last = frame.positions[7] - frame.positions[3]
    along = (tube_triangles(kind, layout, 1, frame) - frame.positions[3]) @ last / (last @ last)
    near = np.linalg.norm(tube_triangles(kind, layout, 1, frame) - frame.positions[3] - along[:, None] * last, axis=1)
    assert ((near < 0.02) & (along > 0.3) & (along < 0.7)).any()
    assert np.abs(tube_triangles(kind, layout, 0, frame)[:, 0] - 0.5).max() < 0.52
