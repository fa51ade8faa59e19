"""Every format read back by a reader that is not ours: numpy, trimesh, USD, VTK, a text search in the page."""

import io
import json
import re

import numpy as np
import pytest
import trimesh
from test_files_writers import LAYOUT, frame, read_vtkhdf, write

from shinari.errors import FileError
from shinari.geometry.motion import rotation_matrix
from shinari.io import vtkhdf
from shinari.io.frame_queue import frame_dtype
from shinari.io.npz import read_npz
from shinari.io.results import Body, DrawnPart, Frame, Layout
from shinari.io.run_reader import open_cache
from shinari.io.usd import prim_names
from shinari.output.writers import open_writer
from shinari.view.html import moving_box
from shinari.view.stage import frame_camera

COUNT = 3
CURVES_ONLY = Layout((DrawnPart("rope", "curve", 0, 4),), (), 4, 25.0)
EMPTY = Layout((), (), 0, 25.0)


@pytest.mark.parametrize("suffix", [".npz", ".ply", ".usdc", ".usda", ".html", ".vtkhdf", ".glb"])
@pytest.mark.parametrize("layout", [CURVES_ONLY, EMPTY], ids=["curves", "empty"])
def test_a_layout_without_meshes_bodies_or_anything_is_written(tmp_path, suffix, layout):
    write(tmp_path / f"run{suffix}", 1, layout)
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("count", [1, COUNT])
def test_npz_is_read_by_numpy(tmp_path, count):
    write(tmp_path / "run.npz", count)
    with np.load(tmp_path / "run.npz", allow_pickle=False) as archive:
        arrays = dict(archive)
    frames = [frame(index) for index in range(count)]
    assert np.array_equal(arrays["times"], [f.time for f in frames])
    for name, shape in [("positions", (10, 3)), ("velocities", (10, 3)), ("body_positions", (1, 3))]:
        assert arrays[name].shape == (count, *shape)
        assert arrays[name].dtype == np.float32
        assert np.array_equal(arrays[name], np.float32([getattr(f, name) for f in frames]))
    assert np.array_equal(arrays["body_rotations"], np.float32([f.body_rotations for f in frames]))
    assert arrays["range_rope"].tolist() == [4, 7]
    assert arrays["faces_cloth"].tolist() == LAYOUT.parts[0].faces.tolist()
    assert arrays["body_faces_ball"].tolist() == LAYOUT.bodies[0].faces.tolist()
    assert np.array_equal(arrays["body_vertices_ball"], LAYOUT.bodies[0].vertices)
    assert arrays["part_names"].tolist() == ["cloth", "rope", "grains"]
    assert str(arrays["title"]) == "a run"
    assert read_npz(tmp_path / "run.npz").keys() == arrays.keys()


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "text", "array", "pickle", "other"])
def test_a_damaged_npz_is_refused_with_its_path(tmp_path, damage):
    path = tmp_path / "run.npz"
    write(path, COUNT)
    whole = path.read_bytes()
    path.unlink()
    if damage == "array":
        with path.open("wb") as stream:
            np.save(stream, np.zeros(3))
    elif damage in ("pickle", "other"):
        np.savez(path, times=np.array([{}], dtype=object) if damage == "pickle" else np.zeros(3))
    elif damage != "missing":
        path.write_bytes({"empty": b"", "cut": whole[: len(whole) // 2], "text": b"hello"}[damage])
    with pytest.raises(FileError, match=r"run\.npz"):
        read_npz(path)


def expected_vertices(index):
    now = frame(index)
    ball = LAYOUT.bodies[0].vertices @ rotation_matrix(now.body_rotations[0]).T + now.body_positions[0]
    return np.concatenate([now.positions[:9], ball])


def test_ply_is_read_by_trimesh(tmp_path):
    write(tmp_path / "run.ply", COUNT)
    for index in range(COUNT):
        mesh = trimesh.load(tmp_path / f"run_{index:04d}.ply", process=False)
        assert np.allclose(mesh.vertices, expected_vertices(index), atol=1e-6)
        assert mesh.faces.tolist() == [[0, 1, 2], [1, 3, 2], *(LAYOUT.bodies[0].faces + 9).tolist()]


def test_ply_edges_follow_the_curves(tmp_path):
    write(tmp_path / "run.ply", 1)
    data = (tmp_path / "run_0000.ply").read_bytes()
    assert b"comment a run\n" in data
    assert b"element edge 2\nproperty int vertex1\nproperty int vertex2\nend_header\n" in data
    assert np.frombuffer(data[-16:], "<i4").tolist() == [4, 5, 5, 6]


def test_rotation_matrix_agrees_with_trimesh():
    rotation = np.array([0.5, -0.1, 0.7, 0.4])
    rotation /= np.linalg.norm(rotation)
    expected = trimesh.transformations.quaternion_matrix(rotation)[:3, :3]
    assert np.allclose(rotation_matrix(rotation), expected)


@pytest.mark.parametrize("suffix", [".usdc", ".usda"])
def test_usd_is_read_by_usd(tmp_path, suffix):
    from pxr import Usd, UsdGeom

    write(tmp_path / f"run{suffix}", COUNT)
    stage = Usd.Stage.Open(str(tmp_path / f"run{suffix}"))
    assert UsdGeom.GetStageUpAxis(stage) == "Y"
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode(), stage.GetTimeCodesPerSecond()) == (0, 2, 50)
    assert stage.GetDefaultPrim().GetPath() == "/World"
    cloth = UsdGeom.Mesh.Get(stage, "/World/cloth")
    assert list(cloth.GetFaceVertexCountsAttr().Get()) == [3, 3]
    assert list(cloth.GetFaceVertexIndicesAttr().Get()) == [0, 1, 2, 1, 3, 2]
    assert cloth.GetSubdivisionSchemeAttr().Get() == "none"
    assert cloth.GetDoubleSidedAttr().Get()
    assert len(cloth.GetDisplayColorAttr().Get()) == 1
    rope, grains = UsdGeom.BasisCurves.Get(stage, "/World/rope"), UsdGeom.Points.Get(stage, "/World/grains")
    assert rope.GetTypeAttr().Get() == "linear"
    assert list(rope.GetCurveVertexCountsAttr().Get()) == [3]
    assert np.allclose(rope.GetWidthsAttr().Get(), [0.02])
    ball = UsdGeom.Xformable.Get(stage, "/World/ball")
    for index in range(COUNT):
        now = frame(index)
        for shape, rows in ((cloth, slice(0, 4)), (rope, slice(4, 7)), (grains, slice(7, 9))):
            points = np.array(shape.GetPointsAttr().Get(index))
            assert np.array_equal(points, np.float32(now.positions[rows]))
            extent = np.array(shape.GetExtentAttr().Get(index))
            assert (extent[0] <= points.min(axis=0)).all()
            assert (extent[1] >= points.max(axis=0)).all()
        local = np.array(ball.GetLocalTransformation(index))
        assert np.allclose(local[3, :3], now.body_positions[0])
        assert np.allclose(local[:3, :3].T, rotation_matrix(now.body_rotations[0]), atol=1e-6)
    mesh = UsdGeom.Mesh.Get(stage, "/World/ball/mesh")
    assert np.array_equal(np.array(mesh.GetPointsAttr().Get()), LAYOUT.bodies[0].vertices)


def test_usd_names_are_valid_and_different(tmp_path):
    from pxr import Sdf, Usd

    names = ["cloth", "my cloth", "my_cloth", "7", "布", "", "布布"]
    valid = prim_names(names)
    assert all(Sdf.Path.IsValidIdentifier(name) for name in valid)
    assert len({*valid}) == len(names)
    layout = Layout((DrawnPart("my cloth", "points", 0, 1), DrawnPart("my_cloth", "points", 0, 1)), (), 1, 1.0)
    write(tmp_path / "run.usda", 1, layout)
    stage = Usd.Stage.Open(str(tmp_path / "run.usda"))
    prims = stage.GetDefaultPrim().GetChildren()
    assert [prim.GetDisplayName() for prim in prims] == ["my cloth", "my_cloth"]


def test_usd_is_saved_in_pieces(tmp_path, monkeypatch):
    from pxr import Usd, UsdGeom

    monkeypatch.setattr("shinari.io.usd.SAVE_BYTES", 300)
    write(tmp_path / "run.usdc", 7)
    stage = Usd.Stage.Open(str(tmp_path / "run.usdc"))
    points = UsdGeom.Mesh.Get(stage, "/World/cloth").GetPointsAttr()
    assert points.GetTimeSamples() == [float(index) for index in range(7)]
    assert np.array_equal(np.array(points.Get(6)), np.float32(frame(6).positions[:4]))


def test_html_needs_no_network_and_frames_the_motion(tmp_path, capsys):
    write(tmp_path / "run.html", COUNT)
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "<title>a run</title>" in page
    assert {*re.findall(r"https?://[\w./-]+", page)} <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}
    assert not re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=.?(?:https?:)?//", page)
    assert capsys.readouterr().out == ""
    frames = np.zeros(2, frame_dtype(LAYOUT))
    frames["positions"] = [frame(0).positions, frame(1).positions]
    low, high = moving_box(LAYOUT, frames)
    assert np.array_equal(high, frames["positions"][:, :9].max(axis=(0, 1)))
    position, target = frame_camera(low, high)
    assert np.allclose(target, 0.5 * (low + high))
    assert np.linalg.norm(position - target) > 0.5 * np.linalg.norm(high - low)


def test_html_title_is_escaped(tmp_path):
    with open_writer(tmp_path / "run.html", EMPTY, title="</title><script>alert(1)") as writer:
        writer.write(frame(0, EMPTY))
    assert "<script>alert" not in (tmp_path / "run.html").read_text(encoding="utf-8")


def read_with_vtk(path):
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkIOHDF import vtkHDFReader

    reader = vtkHDFReader()
    reader.SetFileName(str(path))
    reader.Update()
    for step in range(reader.GetNumberOfSteps()):
        reader.SetStep(step)
        reader.Update()
        yield reader.GetTimeValue(), reader.GetOutput(), vtk_to_numpy


def test_vtkhdf_is_read_by_vtk(tmp_path):
    write(tmp_path / "run.vtkhdf", 5)
    steps = 0
    for index, (seconds, mesh, array) in enumerate(read_with_vtk(tmp_path / "run.vtkhdf")):
        now = frame(index)
        assert seconds == pytest.approx(now.time)
        assert np.array_equal(array(mesh.GetPoints().GetData()), np.float32(now.positions))
        assert np.array_equal(array(mesh.GetPointData().GetArray("velocity")), np.float32(now.velocities))
        assert array(mesh.GetPolys().GetConnectivityArray()).tolist() == [0, 1, 2, 1, 3, 2]
        assert array(mesh.GetLines().GetConnectivityArray()).tolist() == [4, 5, 6]
        assert array(mesh.GetVerts().GetConnectivityArray()).tolist() == [7, 8]
        steps += 1
    assert steps == 5


def test_vtkhdf_is_read_back(tmp_path):
    import h5py

    write(tmp_path / "run.vtkhdf", COUNT)
    times, positions, velocities = read_vtkhdf(tmp_path / "run.vtkhdf")
    frames = [frame(index) for index in range(COUNT)]
    assert np.array_equal(times, [f.time for f in frames])
    assert np.array_equal(positions, np.float32([f.positions for f in frames]))
    assert np.array_equal(velocities, np.float32([f.velocities for f in frames]))
    with h5py.File(tmp_path / "run.vtkhdf") as file:
        assert np.array_equal(file["shinari/body_rotations"], np.float32([f.body_rotations for f in frames]))
        assert file["shinari/part_ranges"][:].tolist() == [[0, 4], [4, 7], [7, 9]]


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "text", "other"])
def test_a_damaged_vtkhdf_is_refused_with_its_path(tmp_path, damage):
    import h5py

    path = tmp_path / "run.vtkhdf"
    write(path, COUNT)
    whole = path.read_bytes()
    path.unlink()
    if damage == "other":
        h5py.File(path, "w").close()
    elif damage != "missing":
        path.write_bytes({"empty": b"", "cut": whole[: len(whole) // 2], "text": b"hello"}[damage])
    with pytest.raises(FileError, match=r"run\.vtkhdf"):
        read_vtkhdf(path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError, match=r"folder"):
        read_vtkhdf(tmp_path / "folder")


@pytest.mark.parametrize("suffix", [".vtkhdf", ".npz"])
def test_a_run_with_changed_bytes_gives_frames_or_an_error_with_its_path(tmp_path, suffix):
    """Wherever the damage is: in the head, in the tables, or in the frames, which are read later."""
    if suffix == ".vtkhdf":
        pytest.importorskip("h5py")
    whole, path, rng = tmp_path / f"whole{suffix}", tmp_path / f"run{suffix}", np.random.default_rng(5)
    write(whole, COUNT)
    data = np.frombuffer(whole.read_bytes(), np.uint8)
    errors, opened = [], 0
    for trial in range(150):
        changed = data.copy()
        if trial % 3 == 0:
            changed = changed[: rng.integers(1, len(data))]
        else:
            first = rng.integers(0, len(data))
            changed[first : first + rng.integers(1, 60)] = rng.integers(0, 256) if trial % 3 == 1 else 0
        path.write_bytes(changed.tobytes())
        try:
            with open_cache(path) as cache:
                opened += 1
                for index in range(len(cache)):
                    cache.frame(index)
                cache.frames()
        except FileError as error:
            errors.append(str(error))
    assert all(str(path) in error for error in errors)
    assert len(errors) > 30
    assert opened > 10


def test_a_vtkhdf_frame_that_is_damaged_is_told_when_it_is_read(tmp_path):
    """The points of a frame are in a part of the file that nobody has looked at when it was opened."""
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "run.vtkhdf"
    write(path, COUNT)
    with h5py.File(path, "r+") as file:
        points = file["VTKHDF/Points"][:]
        del file["VTKHDF/Points"]
        # compressed, as another program may have written it again: noise in a chunk is found when it is unpacked
        file["VTKHDF"].create_dataset("Points", data=points, chunks=points.shape, compression="gzip")
        place = file["VTKHDF/Points"].id.get_chunk_info(0)
    with path.open("r+b") as stream:
        stream.seek(place.byte_offset)
        stream.write(b"\xff" * place.size)
    with open_cache(path) as cache:
        with pytest.raises(FileError, match=r"run\.vtkhdf: frame 1: positions cannot be read: "):
            cache.frame(1)
        with pytest.raises(FileError, match=r"run\.vtkhdf: frames 0 to 2: positions cannot be read: "):
            cache.frames()


def test_a_vtkhdf_run_may_be_killed_between_any_two_writes(tmp_path, monkeypatch):
    """Of 66 frames, since chunks end after 64 and the tables of the file have to grow."""
    path, calls, begun = tmp_path / "cut.vtkhdf", [], []

    class Told(vtkhdf.Stream):
        def write(self, data):
            calls.append((self.tell(), bytes(data)))
            return super().write(data)

        def truncate(self, size=None):
            calls.append((size, None))
            return super().truncate(size)

    monkeypatch.setattr(vtkhdf, "Stream", Told)
    frames = [frame(index) for index in range(66)]
    with open_writer(tmp_path / "run.vtkhdf", LAYOUT) as writer:
        for now in frames:
            begun.append(len(calls))
            writer.write(now)
    expected = np.float32([now.positions for now in frames])
    with path.open("wb", buffering=0) as stream:
        for index, (place, data) in enumerate(calls):
            if data is None:
                stream.truncate(place)
            else:
                stream.seek(place)
                stream.write(data)
            last = int(np.searchsorted(begun, index + 1)) - 1
            if last in (0, 1, 63, 64, 65):
                times, positions, _ = read_vtkhdf(path)
                assert last <= len(times) <= last + 1
                assert np.array_equal(positions, expected[: len(times)])


def test_a_vtkhdf_run_may_be_killed_before_its_first_frame(tmp_path, monkeypatch):
    """HDF5 writes what makes a file readable last."""
    left = []

    class Told(vtkhdf.Stream):
        def write(self, data):
            taken = super().write(data)
            left.append([path.read_bytes() for path in tmp_path.glob("*.vtkhdf")])
            return taken

    monkeypatch.setattr(vtkhdf, "Stream", Told)
    with open_writer(tmp_path / "run.vtkhdf", LAYOUT):
        assert left
        assert not any(left)
        with open_cache(tmp_path / "run.partial.vtkhdf") as cache:
            assert len(cache) == 0
            assert cache.layout.particle_count == LAYOUT.particle_count


def test_the_spool_header_keeps_its_length(tmp_path):
    """A count of many digits must fit where the count 0 stood."""
    from shinari.io.frame_queue import FrameQueue

    path = tmp_path / "spool.npy"
    path.touch()
    spool = FrameQueue(path, EMPTY)
    length = len(spool._header())
    spool.count = 10**18
    header = spool._header()
    spool.close()
    assert len(header) == length
    assert np.lib.format.read_array_header_1_0(io.BytesIO(header[8:]))[0] == (10**18,)


def test_names_with_odd_characters_pass_every_format(tmp_path):
    faces = np.array([[0, 1, 2]])
    layout = Layout(
        (DrawnPart("a/b ü", "mesh", 0, 3, faces=faces), DrawnPart("..", "curve", 3, 5)),
        (Body("a/b ü", np.eye(3), faces),),
        5,
        60.0,
    )
    for suffix in (".npz", ".ply", ".usdc", ".html", ".vtkhdf", ".glb", ".pc2"):
        write(tmp_path / f"run{suffix}", 2, layout)
    assert read_npz(tmp_path / "run.npz")["faces_a/b ü"].tolist() == [[0, 1, 2]]
    assert {*trimesh.load(tmp_path / "run.glb").graph.nodes_geometry} >= {"a/b ü"}
    # names of files keep to letters, of any script, digits and underscores
    assert {path.name for path in tmp_path.glob("*.pc2")} == {"run_a_b_ü.pc2", "run___.pc2", "run_colliders.pc2"}
    assert json.dumps(read_npz(tmp_path / "run.npz")["part_names"].tolist(), ensure_ascii=False) == '["a/b ü", ".."]'


def test_a_body_frame_alone_is_framed():
    layout = Layout((), (Body("ball", np.eye(3), np.array([[0, 1, 2]])),), 0, 60.0)
    frames = np.zeros(1, frame_dtype(layout))
    low, high = moving_box(layout, frames)
    assert np.array_equal(high - low, [2, 2, 2])
    assert Frame(0.0, *(frames[0][name] for name in frames.dtype.names[1:])).body_rotations.shape == (1, 4)
