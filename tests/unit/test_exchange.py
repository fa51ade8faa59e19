"""Runs as other programs read them: USD, glTF, PC2, MDD and PLY, each by a reader that is not ours."""

import json
import os
import re
import signal
import struct
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest
import trimesh
from test_files_writers import LAYOUT, frame, write

import shinari as sn
from shinari.errors import FileError
from shinari.geometry.motion import rotation_matrix
from shinari.geometry.topology import face_normals_areas, grid
from shinari.geometry.vertex_normals import vertex_normals
from shinari.io import gltf, mapped_frames
from shinari.io.results import MEASURES, Body, DrawnPart, Frame, Layout
from shinari.io.usd_parts import SURFACE_DEFORMABLE
from shinari.output.recorder import Recorder
from shinari.output.writers import open_writer

COUNT = 5
THINGS = {"cloth": slice(0, 4), "rope": slice(4, 7), "grains": slice(7, 9)}
EPSILON = np.finfo(np.float32).eps


def read_pc2(path):
    """Positions (T, n, 3) of a PC2 file, by its specification alone."""
    data = path.read_bytes()
    name, version, points, start, rate, samples = struct.unpack("<12siiffi", data[:32])
    assert (name, version, start, rate) == (b"POINTCACHE2\0", 1, 0.0, 1.0)
    return np.frombuffer(data, "<f4", 3 * points * samples, 32).reshape(samples, points, 3)


def read_mdd(path):
    """Times (T,) and positions (T, n, 3) of an MDD file."""
    data = path.read_bytes()
    samples, points = struct.unpack(">ii", data[:8])
    assert len(data) == 8 + 4 * samples + 12 * samples * points
    times = np.frombuffer(data, ">f4", samples, 8)
    return times, np.frombuffer(data, ">f4", offset=8 + 4 * samples).reshape(samples, points, 3)


def ball_in_the_world(now):
    return LAYOUT.bodies[0].vertices @ rotation_matrix(now.body_rotations[0]).T + now.body_positions[0]


@pytest.mark.parametrize("suffix", [".pc2", ".mdd"])
@pytest.mark.parametrize("count", [1, COUNT])
def test_point_caches_hold_every_part(tmp_path, suffix, count):
    write(tmp_path / f"run{suffix}", count)
    frames = [frame(index) for index in range(count)]
    for name, rows in THINGS.items():
        path = tmp_path / f"run_{name}{suffix}"
        times, positions = (
            read_mdd(path) if suffix == ".mdd" else (np.float32([f.time for f in frames]), read_pc2(path))
        )
        assert np.array_equal(times, np.float32([f.time for f in frames]))
        assert np.array_equal(positions, np.float32([f.positions[rows] for f in frames]))
        text = (tmp_path / f"run_{name}{suffix}.obj").read_text().splitlines()
        vertices = np.array([line.split()[1:] for line in text if line.startswith("v ")], np.float64)
        assert np.array_equal(vertices, np.float32(frames[0].positions[rows]))
        assert [line for line in text if line[0] != "v"] == {
            "cloth": ["f 1 2 3", "f 2 4 3"], "rope": ["l 1 2 3"], "grains": []
        }[name]  # fmt: skip
    path = tmp_path / f"run_colliders{suffix}"
    bodies = read_mdd(path)[1] if suffix == ".mdd" else read_pc2(path)
    assert np.allclose(bodies, [ball_in_the_world(f) for f in frames], atol=1e-6)
    mesh = trimesh.load(f"{path}.obj", process=False)
    assert mesh.faces.tolist() == LAYOUT.bodies[0].faces.tolist()


@pytest.mark.parametrize("suffix", [".pc2", ".mdd"])
def test_a_single_part_has_the_name_of_the_run(tmp_path, suffix):
    layout = Layout((DrawnPart("a b", "curve", 0, 4),), (), 4, 25.0)
    write(tmp_path / f"run{suffix}", 2, layout)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"run{suffix}", f"run{suffix}.obj"]


def test_names_make_files_that_no_file_system_confuses(tmp_path):
    names = ["flag", "Flag", "a/b", "布 1"]
    write(tmp_path / "run.pc2", 1, Layout(tuple(DrawnPart(name, "points", 0, 1) for name in names), (), 1, 25.0))
    found = sorted(path.name for path in tmp_path.glob("*.pc2"))
    assert found == sorted(["run_flag.pc2", "run_Flag_2.pc2", "run_a_b.pc2", "run_布_1.pc2"])


def test_the_particles_inside_of_a_soft_body_are_left_out(tmp_path):
    layout = Layout((DrawnPart("soft", "mesh", 1, 8, faces=np.array([[1, 3, 4], [4, 3, 6]])),), (), 8, 25.0)
    write(tmp_path / "run.pc2", 2, layout)
    outside = [2, 4, 5, 7]
    assert np.array_equal(read_pc2(tmp_path / "run.pc2")[1], np.float32(frame(1, layout).positions[outside]))
    assert trimesh.load(tmp_path / "run.pc2.obj", process=False).faces.tolist() == [[0, 1, 2], [2, 1, 3]]
    write(tmp_path / "run.glb", 2, layout)
    assert np.array_equal(
        trimesh.load(tmp_path / "run.glb", process=False).geometry["soft"].faces, [[0, 1, 2], [2, 1, 3]]
    )


@pytest.mark.parametrize(
    ("suffix", "part", "what"),
    [
        (".pc2", DrawnPart("a", "mesh", 0, 3, faces=np.array([[0, 1, 2]]), varies=True), "an object that can tear"),
        (".mdd", DrawnPart("a", "curve", 0, 3, varies=True), "an object that can tear"),
        (".pc2", DrawnPart("a", "points", 0, 3, varies=True, fluid=True), "a fluid that flows"),
        (".glb", DrawnPart("a", "points", 0, 3, varies=True, fluid=True), "a fluid that flows"),
    ],
)
def test_what_tears_or_flows_is_refused_when_opened(tmp_path, suffix, part, what):
    with pytest.raises(FileError, match=rf"run\{suffix}: 'a' is {what}.*\{suffix} holds meshes.*use \.usdc"):
        open_writer(tmp_path / f"run{suffix}", Layout((part,), (), 3, 25.0))
    assert list(tmp_path.iterdir()) == []


class Glb:
    """A glTF file, read as the specification says."""

    def __init__(self, path):
        data = path.read_bytes()
        magic, version, length = struct.unpack("<4sII", data[:12])
        assert (magic, version, length) == (b"glTF", 2, len(data))
        size, kind = struct.unpack("<I4s", data[12:20])
        assert (kind, size % 4) == (b"JSON", 0)
        self.json = json.loads(data[20 : 20 + size])
        length, kind = struct.unpack("<I4s", data[20 + size : 28 + size])
        assert kind == b"BIN\0"
        self.buffer = data[28 + size :]
        assert len(self.buffer) == length == self.json["buffers"][0]["byteLength"]

    def values(self, accessor):
        entry = self.json["accessors"][accessor]
        view = self.json["bufferViews"][entry["bufferView"]]
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[entry["type"]]
        offset = view["byteOffset"] + entry.get("byteOffset", 0)
        assert entry.get("byteOffset", 0) + entry["count"] * width * 4 <= view["byteLength"]
        kind = {5126: "<f4", 5125: "<u4"}[entry["componentType"]]
        values = np.frombuffer(self.buffer, kind, entry["count"] * width, offset).reshape(-1, width)
        for name, bound in (("min", values.min(axis=0)), ("max", values.max(axis=0))):
            assert name not in entry or np.array_equal(np.float32(entry[name]), bound)
        return values

    def channels(self, name):
        """Times and values of what moves a node, by property."""
        animation = self.json["animations"][0]
        moved = {}
        for channel in animation["channels"]:
            if self.json["nodes"][channel["target"]["node"]]["name"] == name:
                sampler = animation["samplers"][channel["sampler"]]
                assert sampler["interpolation"] == "LINEAR"
                moved[channel["target"]["path"]] = self.values(sampler["input"])[:, 0], self.values(sampler["output"])
        return moved

    def mesh(self, name):
        node = next(node for node in self.json["nodes"] if node["name"] == name)
        return self.json["meshes"][node["mesh"]]["primitives"][0]


def test_gltf_morphs_from_frame_to_frame(tmp_path):
    write(tmp_path / "run.glb", COUNT)
    glb = Glb(tmp_path / "run.glb")
    frames = [frame(index) for index in range(COUNT)]
    assert glb.json["scenes"] == [{"nodes": [0, 1, 2, 3], "name": "a run"}]
    for (name, rows), mode in zip(THINGS.items(), (4, 3, 0), strict=True):
        mesh = glb.mesh(name)
        assert mesh["mode"] == mode
        times, weights = glb.channels(name)["weights"]
        weights = weights.reshape(COUNT, COUNT - 1)
        assert np.array_equal(times, np.float32([f.time for f in frames]))
        base = glb.values(mesh["attributes"]["POSITION"])
        targets = np.array([glb.values(target["POSITION"]) for target in mesh["targets"]])
        for index, now in enumerate(frames):
            shown = base + np.tensordot(weights[index], targets, 1)
            # the difference and the sum are rounded once each
            limit = EPSILON * (np.abs(now.positions[rows]) + np.abs(base))
            assert (np.abs(shown - np.float32(now.positions[rows])) <= limit).all()
    cloth = glb.mesh("cloth")
    assert glb.values(cloth["indices"]).reshape(-1, 3).tolist() == LAYOUT.parts[0].faces.tolist()
    normals = glb.values(cloth["attributes"]["NORMAL"]) + glb.values(cloth["targets"][2]["NORMAL"])
    assert np.allclose(normals, normals_of(frames[3].positions[:4], LAYOUT.parts[0].faces), atol=1e-5)
    moved = glb.channels("ball")
    assert np.array_equal(moved["translation"][1], np.float32([f.body_positions[0] for f in frames]))
    assert np.allclose(moved["rotation"][1], [f.body_rotations[0][[1, 2, 3, 0]] for f in frames])


def test_gltf_is_read_by_trimesh(tmp_path):
    write(tmp_path / "run.glb", COUNT)
    scene = trimesh.load(tmp_path / "run.glb", process=False)
    cloth = scene.geometry["cloth"]
    assert np.array_equal(cloth.vertices, np.float32(frame(0).positions[:4]))
    assert cloth.faces.tolist() == LAYOUT.parts[0].faces.tolist()
    assert np.array_equal(scene.geometry["ball"].vertices, LAYOUT.bodies[0].vertices)


def test_gltf_turns_the_short_way(tmp_path):
    """Of the two quaternions of a rotation each key has the one near to the key before."""
    body = Layout((), (Body("b", np.eye(3), np.array([[0, 1, 2]]), rigid=True),), 0, 25.0)
    none, still = np.zeros((0, 3)), np.zeros((1, 3))
    angles = np.arange(12) * 0.7
    with open_writer(tmp_path / "run.glb", body) as writer:
        for index, angle in enumerate(angles):
            turn = (-1) ** (index // 2) * np.array([[np.cos(angle / 2), 0.0, np.sin(angle / 2), 0.0]])
            writer.write(Frame(index / 25, none, none, still, turn, still, still))
    glb = Glb(tmp_path / "run.glb")
    assert "translation" not in glb.channels("b")
    turns = glb.channels("b")["rotation"][1]
    assert np.allclose((turns[1:] * turns[:-1]).sum(axis=1), np.cos(0.35), atol=1e-6)
    assert np.allclose(turns[:, 1], np.sin(angles / 2), atol=1e-6)


@pytest.mark.parametrize(("name", "limit"), [("MOST_FRAMES", 3), ("MOST_BYTES", 3 * (4 * 24 + 5 * 12))])
def test_gltf_refuses_long_clips_with_the_numbers(tmp_path, monkeypatch, name, limit):
    monkeypatch.setattr(gltf, name, limit)
    with pytest.raises(FileError, match=r"4 frames of 9 vertices are 0 MB.*the 3 frames so far are in .*\.npy"):
        write(tmp_path / "run.glb", 4)
    assert len(np.load(tmp_path / "run.partial.glb.npy")) == 3
    with open_writer(tmp_path / "long.glb", LAYOUT) as writer:
        writer.plan(3)
        with pytest.raises(FileError, match=r"long\.glb: 4 frames of 9 vertices"):
            writer.plan(4)
    bodies_only = Layout((), LAYOUT.bodies, 0, 25.0)
    write(tmp_path / "other.glb", 9, bodies_only)
    assert len(Glb(tmp_path / "other.glb").channels("ball")["translation"][0]) == 9


@pytest.mark.parametrize(("seconds", "count"), [(1.0, 31), (7.96, 239), (7.97, 240), (8.0, 241)])
def test_a_clip_that_will_be_too_long_is_refused_before_the_run(tmp_path, seconds, count):
    scene = sn.Scene()
    scene.add_particles(np.zeros((1, 3)))
    sim = sn.Simulation(scene)
    recorder = Recorder(sim, [tmp_path / "run.glb"])
    with recorder:
        if count <= gltf.MOST_FRAMES:
            recorder.plan(round(seconds * 60))
        else:
            with pytest.raises(FileError, match=f"{count} frames of 1 vertices"):
                recorder.plan(round(seconds * 60))
            with pytest.raises(FileError, match=f"{count} frames of 1 vertices"):
                sim.run(seconds, record=str(tmp_path / "run.glb"))
    assert sim.state.frame == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("asked", "written", "dt"), [(24.0, 30, "0.0208333"), (29.97, 30, ""), (200.0, 60, "0.005")])
def test_a_frame_rate_that_is_not_kept_is_told(tmp_path, asked, written, dt):
    scene = sn.Scene()
    scene.add_particles(np.zeros((1, 3)))
    sim = sn.Simulation(scene)
    with pytest.warns(sn.FrameRateWarning, match=rf"{asked:g} .* 0\.0166667 s, {written} frames .*dt = {dt}"):
        assert sim.settings.dt * Recorder(sim, [], frames_per_second=asked).stride == pytest.approx(1 / written)
    for kept in (60.0, 30.0, 12.0, 30.001):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Recorder(sim, [], frames_per_second=kept)


def normals_of(points, faces):
    """Normals of the vertices by their definition, in double precision."""
    normals, areas = face_normals_areas(points, faces)
    total = np.zeros((len(points), 3))
    for corner in range(3):
        np.add.at(total, faces[:, corner], normals * areas[:, None])
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return total / np.where(length > 0.0, length, 1.0)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3])
def test_vertex_normals(scale):
    vertices, faces = grid(shape=(9, 7), size=(scale, scale))
    vertices[:, 1] = 0.3 * scale * np.sin(5.0 * vertices[:, 0] / scale) * np.cos(3.0 * vertices[:, 2] / scale)
    points = vertices.astype(np.float32)
    assert np.allclose(vertex_normals(points, faces), normals_of(points, faces), atol=1e-5)
    drawn = np.random.default_rng(3).random(len(faces)) < 0.5
    found, used = vertex_normals(points, faces, drawn), np.unique(faces[drawn])
    assert np.allclose(found[used], normals_of(points, faces[drawn])[used], atol=1e-5)
    assert (np.delete(found, used, axis=0) == [0.0, 1.0, 0.0]).all()


def test_normals_of_a_sphere_point_outwards():
    ball = trimesh.creation.icosphere(subdivisions=4)
    assert np.allclose(vertex_normals(ball.vertices, ball.faces), ball.vertices, atol=0.01)


CLOTH = Layout(
    (DrawnPart("sheet", "mesh", 0, 4, faces=LAYOUT.parts[0].faces, cloth=True), *LAYOUT.parts[1:]),
    LAYOUT.bodies,
    10,
    50.0,
)


@pytest.fixture
def stage(tmp_path):
    Usd = pytest.importorskip("pxr.Usd")
    write(tmp_path / "run.usdc", COUNT, CLOTH)
    return Usd.Stage.Open(str(tmp_path / "run.usdc"))


def test_usd_has_normals_and_velocities(stage):
    from pxr import UsdGeom

    sheet = UsdGeom.Mesh.Get(stage, "/World/sheet")
    assert sheet.GetNormalsInterpolation() == "vertex"
    for index in range(COUNT):
        now = frame(index)
        normals = np.array(sheet.GetNormalsAttr().Get(index))
        assert np.allclose(normals, normals_of(now.positions[:4], LAYOUT.parts[0].faces), atol=1e-5)
        for name, rows in (("sheet", slice(0, 4)), ("rope", slice(4, 7)), ("grains", slice(7, 9))):
            velocities = UsdGeom.PointBased.Get(stage, f"/World/{name}").GetVelocitiesAttr().Get(index)
            assert np.array_equal(np.array(velocities), np.float32(now.velocities[rows]))
    assert not UsdGeom.Mesh.Get(stage, "/World/ball/mesh").GetNormalsAttr().HasAuthoredValue()


def test_usd_samples_lie_on_whole_frames(tmp_path):
    """Steps of 0.01 s, a frame each third: 9 x 0.03 / 0.03 is not 9."""
    Usd = pytest.importorskip("pxr.Usd")
    stride, step, none, still = 3, 0.01, np.zeros((0, 3)), np.zeros((1, 3))
    layout = Layout((DrawnPart("a", "points", 0, 1),), (), 1, 1.0 / (stride * step))
    with open_writer(tmp_path / "run.usdc", layout) as writer:
        for index in range(100):
            time = index * stride * step
            writer.write(Frame(time, still, still, none, np.zeros((0, 4)), none, none))
    stage = Usd.Stage.Open(str(tmp_path / "run.usdc"))
    assert stage.GetPrimAtPath("/World/a").GetAttribute("points").GetTimeSamples() == [float(k) for k in range(100)]
    assert stage.GetEndTimeCode() == 99.0


def test_usd_marks_cloth_as_deformable(stage):
    layer = stage.GetRootLayer()
    schemas = layer.GetPrimAtPath("/World/sheet").GetInfo("apiSchemas")
    assert tuple(schemas.prependedItems) == SURFACE_DEFORMABLE
    assert stage.GetPrimAtPath("/World/sheet").GetAttribute("physics:kinematicEnabled").Get() is True
    for name in ("rope", "grains", "ball", "ball/mesh"):
        assert not layer.GetPrimAtPath(f"/World/{name}").HasInfo("apiSchemas")


def test_usd_passes_its_validators(stage, tmp_path):
    UsdValidation = pytest.importorskip("pxr.UsdValidation")
    from pxr import Usd

    def errors(checked):
        validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
        assert len(validators) > 20
        return [error.GetMessage() for error in UsdValidation.ValidationContext(validators).Validate(checked)]

    assert errors(stage) == []
    (tmp_path / "bad.usda").write_text('#usda 1.0\ndef Mesh "a"\n{\n    def Mesh "b"\n    {\n    }\n}\n')
    assert errors(Usd.Stage.Open(str(tmp_path / "bad.usda"))) != []


def test_usd_holds_strains_and_forces_where_they_are_measured(tmp_path):
    Usd = pytest.importorskip("pxr.Usd")
    from pxr import UsdGeom

    layout = Layout(LAYOUT.parts, (), 10, 50.0, measured=True)
    none, points = np.zeros((0, 3)), np.zeros((10, 3))
    with open_writer(tmp_path / "run.usda", layout) as writer:
        for index in range(2):
            more = {
                "strains": np.arange(10.0) + index,
                "forces": 2.0 * np.arange(10.0) + index,
                "measures": np.zeros(len(MEASURES)),
            }
            writer.write(Frame(index / 50, points, points, none, np.zeros((0, 4)), none, none, **more))
    stage = Usd.Stage.Open(str(tmp_path / "run.usda"))
    rope = UsdGeom.PrimvarsAPI(stage.GetPrimAtPath("/World/rope"))
    assert list(rope.GetPrimvar("strain").Get(1)) == [5.0, 6.0, 7.0]
    assert list(rope.GetPrimvar("force").Get(0)) == [8.0, 10.0, 12.0]
    assert rope.GetPrimvar("force").GetInterpolation() == "vertex"


def test_ply_has_velocities_and_colours(tmp_path):
    meshio = pytest.importorskip("meshio")
    write(tmp_path / "run.ply", 2)
    mesh = trimesh.load(tmp_path / "run_0001.ply", process=False)
    vertex = mesh.metadata["_ply_raw"]["vertex"]["data"]
    assert np.array_equal(np.stack([vertex[f"v{axis}"] for axis in "xyz"], 1)[:9], np.float32(frame(1).velocities[:9]))
    assert len(np.unique(mesh.visual.vertex_colors[:, :3], axis=0)) == 4
    # meshio knows no edges
    write(tmp_path / "run.ply", 2, Layout(LAYOUT.parts[:1], LAYOUT.bodies, 10, 50.0))
    mesh = meshio.read(tmp_path / "run_0001.ply")
    assert np.array_equal(mesh.points, np.float32([*frame(1).positions[:4], *ball_in_the_world(frame(1))]))
    assert np.array_equal(mesh.point_data["vy"][:4], np.float32(frame(1).velocities[:4, 1]))


def test_a_killed_run_leaves_point_caches_and_spools_readable(tmp_path):
    script = """
        import os, signal, sys
        sys.path.insert(0, {tests!r})
        from test_files_writers import LAYOUT, frame
        from shinari.output.writers import open_writer
        writers = [open_writer({folder!r} + "/run" + suffix, LAYOUT) for suffix in (".pc2", ".mdd", ".glb", ".usdc")]
        for index in range(4):
            for writer in writers:
                writer.write(frame(index))
        # and one that is cut in the middle of a frame: its points are there, the count in the header is not
        data = frame(4).positions[:3].astype("<f4").tobytes()
        with open({folder!r} + "/run.partial.pc2/run_cloth.pc2", "ab") as stream:
            stream.write(data)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    code = textwrap.dedent(script).format(tests=os.path.dirname(__file__), folder=str(tmp_path))
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    expected = np.float32([frame(index).positions for index in range(4)])
    for suffix in ("pc2", "mdd"):
        for name, rows in THINGS.items():
            assert np.array_equal(read_pc2(tmp_path / f"run.partial.{suffix}" / f"run_{name}.pc2"), expected[:, rows])
            assert (tmp_path / f"run.partial.{suffix}" / f"run_{name}.{suffix}.obj").exists()
    for suffix in ("glb", "usdc"):
        assert np.array_equal(np.load(tmp_path / f"run.partial.{suffix}.npy", mmap_mode="r")["positions"], expected)


def file_pages():
    """Bytes of mapped files that are in the memory of this process."""
    status = Path("/proc/self/status").read_text()
    return sum(1024 * int(re.search(rf"{name}:\s+(\d+)", status)[1]) for name in ("RssFile", "RssShmem"))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the memory of a process is read from /proc")
def test_frames_that_are_done_with_leave_the_memory(tmp_path, monkeypatch):
    size = 2**20
    monkeypatch.setattr(mapped_frames, "MOST_BYTES", 4 * size)
    np.save(tmp_path / "frames.npy", np.zeros(48, [("position", "<f4", size // 4)]))
    frames = np.load(tmp_path / "frames.npy", mmap_mode="r")[2:]  # a view serves too
    before, most = file_pages(), 0
    for record in mapped_frames.each_frame(frames):
        assert record["position"].sum() == 0.0
        most = max(most, file_pages())
    assert most - before < 12 * size
    assert sum(1 for _ in mapped_frames.each_frame(np.zeros(5))) == 5


def test_a_body_without_parts(tmp_path):
    layout = Layout((), (Body("b", np.eye(3), np.array([[0, 1, 2]]), rigid=True),), 0, 25.0)
    write(tmp_path / "run.pc2", 2, layout)
    assert np.allclose(
        read_pc2(tmp_path / "run_bodies.pc2")[1],
        rotation_matrix(frame(1, layout).body_rotations[0]).T + frame(1, layout).body_positions[0],
        atol=1e-6,
    )
