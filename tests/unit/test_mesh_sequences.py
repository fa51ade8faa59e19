"""Meshes that move by frames: between them, from files, and what is refused."""

import re

import numpy as np
import pytest

import shinari as sn
from shinari.geometry.files.meshes import write_mesh

PANEL = sn.grid(shape=(5, 5))


def test_a_mesh_sequence_is_linear_between_its_frames():
    vertices, faces = PANEL
    frames = np.array([vertices, vertices + np.array([1.0, 0.0, 0.0])])
    sequence = sn.MeshSequence([1.0, 3.0], frames, faces)
    for time, moved in ((0.0, 0.0), (1.5, 0.25), (3.0, 1.0), (9.0, 1.0)):
        np.testing.assert_allclose(sequence(time), vertices + np.array([moved, 0.0, 0.0]), atol=1e-15)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"times": [0.0, 0.0]}, "times: must be increasing"),
        ({"positions": np.zeros((2, 9, 2))}, "positions: expected shape"),
        ({"positions": np.zeros((3, 25, 3))}, "positions: expected shape"),
        ({"faces": np.zeros((200_001, 3), int)}, "faces: 200001 triangles are more than 200000"),
        ({"faces": [[0, 1, 99]]}, "frame 0: faces"),
        (
            {"times": np.arange(4.0), "positions": np.broadcast_to(0.0, (4, 2**26, 3))},
            r"positions: .*take fewer frames",
        ),
    ],
)
def test_a_mesh_sequence_checks_itself(change, told):
    vertices, faces = PANEL
    with pytest.raises(sn.SceneError, match=f"MeshSequence: {told}"):
        sn.MeshSequence(**({"times": [0.0, 1.0], "positions": [vertices, vertices], "faces": faces} | change))


def test_a_moving_mesh_goes_its_way_and_on_from_a_checkpoint(tmp_path):
    vertices, faces = sn.grid(shape=(5, 5), size=(2.0, 2.0))
    times = np.linspace(0.0, 0.5, 11)
    frames = np.array([vertices * [1.0 + 0.2 * t, 1.0, 1.0] + [0.0, 0.3 * t, 0.0] for t in times])
    scene = sn.Scene()
    body = scene.add_moving_mesh(sn.MeshSequence(times, frames, faces), thickness=0.01)
    scene.add_cloth(PANEL, position=(0, 0.02, 0), material=sn.ClothMaterial(thickness=0.01))
    sim = sn.Simulation(scene)
    sim.step(12)
    np.testing.assert_allclose(sim.positions(body), scene.particle_objects[0].motion(0.2), atol=1e-6)
    sim.save(tmp_path / "half.npz")
    other = sn.Simulation.load(tmp_path / "half.npz")
    sim.step(30)
    other.step(30)
    np.testing.assert_array_equal(other.state.positions, sim.state.positions)
    assert (sim.state.positions[25:, 1] > 0.15 + 0.0099).all()


def test_frames_from_mesh_files_need_one_topology(tmp_path):
    vertices, faces = PANEL
    paths = [tmp_path / f"frame_{k}.obj" for k in range(3)]
    for k, path in enumerate(paths):
        write_mesh(path, vertices + np.array([0.0, 0.1 * k, 0.0]), faces)
    sequence = sn.read_animation(paths, frames_per_second=10.0)
    np.testing.assert_allclose(sequence(0.15)[:, 1], 0.15)
    write_mesh(paths[2], vertices, faces[:-1])
    with pytest.raises(sn.FileError, match=r"frame_2.obj: has 25 vertices and 31 faces, frame_0.obj 25 and 32"):
        sn.read_animation(paths)
    write_mesh(paths[2], vertices, np.roll(faces, 1, axis=0))
    with pytest.raises(sn.FileError, match=r"frame_2.obj: .*, and face 0 is another"):
        sn.read_animation(paths)
    with pytest.raises(sn.FileError, match=r"expected one of .usd, .usda, .usdc, .gltf, .glb or a list"):
        sn.read_animation(paths[0])
    with pytest.raises(sn.SceneError, match="no files were given"):
        sn.read_animation([])


def test_a_mesh_that_moves_in_usd(tmp_path):
    pytest.importorskip("pxr")
    from pxr import Usd, UsdGeom

    vertices, faces = PANEL
    path = tmp_path / "walk.usda"
    stage = Usd.Stage.CreateNew(str(path))
    stage.SetTimeCodesPerSecond(10.0)
    UsdGeom.SetStageMetersPerUnit(stage, 0.01)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    mesh = UsdGeom.Mesh.Define(stage, "/World/body")
    mesh.GetFaceVertexCountsAttr().Set([3] * len(faces))
    mesh.GetFaceVertexIndicesAttr().Set(faces.ravel().tolist())
    for code in (0, 5, 10):
        points = 100.0 * (vertices[:, [0, 2, 1]] * [1, -1, 1] + [0, 0, 0.1 * code])
        mesh.GetPointsAttr().Set([tuple(map(float, point)) for point in points], code)
    stage.GetRootLayer().Save()
    sequence = sn.read_animation(path)
    np.testing.assert_allclose(sequence(0.75), vertices + np.array([0, 0.75, 0]), atol=1e-6)
    np.testing.assert_array_equal(sequence.faces, faces)
    with pytest.raises(sn.FileError, match=r"walk.usda: holds no mesh '/World/arm' that moves; .*: /World/body"):
        sn.read_animation(path, mesh="/World/arm")
    mesh.GetPointsAttr().Set([(0.0, 0.0, 0.0)] * 24, 10)
    stage.GetRootLayer().Save()
    with pytest.raises(sn.FileError, match=r"has 24 vertices at time code 10 and 25 at 0; its topology must stay"):
        sn.read_animation(path)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[3, 3", "[4, 3", "/World/body: faceVertexCounts: expected 3 or more corners of each face and 96 in all"),
        ("[3, 3", "[2, 4", "faceVertexCounts: expected 3 or more corners"),
        ("point3f[] points", "matrix4d[] points", "cannot be read: "),
        ("point3f[] points", "float[] points", "cannot be read: "),
        ("#usda", "\xa0usda", "cannot be read: "),
        ("faceVertexIndices = [", "faceVertexIndices = [\xa0", "cannot be read: it holds bytes that are no text"),
    ],
)
def test_a_damaged_usd_is_refused(tmp_path, old, new, told):
    pytest.importorskip("pxr")
    from pxr import Usd, UsdGeom

    vertices, faces = PANEL
    path = tmp_path / "walk.usda"
    stage = Usd.Stage.CreateNew(str(path))
    mesh = UsdGeom.Mesh.Define(stage, "/World/body")
    mesh.GetFaceVertexCountsAttr().Set([3] * len(faces))
    mesh.GetFaceVertexIndicesAttr().Set(faces.ravel().tolist())
    for code in (0, 5):
        mesh.GetPointsAttr().Set([tuple(map(float, point)) for point in vertices], code)
    stage.GetRootLayer().Save()
    del stage
    damaged = tmp_path / "damaged.usda"
    text = path.read_text()
    assert old in text
    damaged.write_bytes(text.replace(old, new, 1).encode("latin-1"))
    with pytest.raises(sn.FileError, match=re.escape(f"{damaged}: ")) as raised:
        sn.read_animation(damaged)
    assert told in str(raised.value)
