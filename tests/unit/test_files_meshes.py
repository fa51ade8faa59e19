"""Meshes in and out: vertex order, polygons, several meshes in a file, and every kind of damage."""

import base64
import json
import logging
import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest
import trimesh
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from shinari.errors import FileError, ShinariError
from shinari.geometry.files.meshes import EXTENSIONS, read_mesh, write_mesh

# The corners of a sheet of 2 x 3 squares in no particular order, one of them used by no face.
VERTICES = np.array([[0.1, 0, 2], [1, 0, 2], [1, 0, 0], [0.1, 0, 0], [0.1, 0, 1], [1, 0, 1], [9, 9, 9]])
FACES = np.array([[3, 2, 5], [3, 5, 4], [4, 5, 1], [4, 1, 0]])


def put(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("suffix", EXTENSIONS)
def test_written_meshes_read_back(tmp_path, suffix):
    write_mesh(tmp_path / f"mesh{suffix}", VERTICES, FACES)
    vertices, faces = read_mesh(tmp_path / f"mesh{suffix}")
    assert (vertices.dtype, faces.dtype) == (np.float64, np.int32)
    if suffix == ".stl":
        assert np.allclose(vertices[faces], VERTICES[FACES])
        assert vertices.shape == (6, 3)
        assert np.allclose(vertices[0], VERTICES[3])
    else:
        assert np.array_equal(faces, FACES)
        assert np.allclose(vertices, VERTICES, atol=0 if suffix in (".obj", ".ply") else 1e-6)
    assert [path.name for path in tmp_path.iterdir()] == [f"mesh{suffix}"]


@pytest.mark.parametrize("suffix", EXTENSIONS)
def test_written_meshes_are_read_by_trimesh(tmp_path, suffix):
    write_mesh(tmp_path / f"mesh{suffix}", VERTICES[:6], FACES)
    mesh = trimesh.load(tmp_path / f"mesh{suffix}", force="mesh", process=False)
    assert mesh.area == pytest.approx(1.8)


@pytest.mark.parametrize("suffix", EXTENSIONS)
def test_a_mesh_that_cannot_be_is_not_written_and_the_earlier_file_stays(tmp_path, suffix):
    path = put(tmp_path / f"mesh{suffix}", "earlier")
    for vertices, faces in [
        (VERTICES * np.nan, FACES),
        (VERTICES, FACES + 7),
        (VERTICES, FACES[:0]),
        (VERTICES, FACES * 0.5),
    ]:
        with pytest.raises(ShinariError, match="mesh"):
            write_mesh(path, vertices, faces)
    assert path.read_text() == "earlier"
    with pytest.raises(FileError, match="cannot"):
        write_mesh(path / "below" / f"mesh{suffix}", VERTICES, FACES)


def test_obj_keeps_the_v_lines_whatever_the_texture_coordinates(tmp_path):
    text = """
        # a square whose corners have two texture coordinates each, and two materials
        mtllib ../../etc/passwd
        v 0 0 0
        v 1 0 0 1.0
        v 1 1 0 0.5 0.5 0.5
        v 0 1 0
        v 5 5 5
        vt 0 0
        vt 1 1
        vn 0 0 1
        usemtl b
        f 1/1/1 2/2/1 3/1/1
        usemtl a
        f -5/2 -3/2/1 \\
          -2/1
    """
    vertices, faces = read_mesh(put(tmp_path / "mesh.obj", text))
    assert vertices.tolist() == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [5, 5, 5]]
    assert faces.tolist() == [[0, 1, 2], [0, 2, 3]]


def test_obj_polygons_fan_out_from_their_first_corner(tmp_path):
    text = "v 0 0 0\nv 1 0 0\nv 2 1 0\nv 1 2 0\nv 0 2 0\nf 1 2 3 4 5\r\n"
    assert read_mesh(put(tmp_path / "mesh.obj", text))[1].tolist() == [[0, 1, 2], [0, 2, 3], [0, 3, 4]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4", "uses"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 0", "line 4: vertices are counted from 1"),
        ("v 0 0 0\nf -2 1 1", "line 2: vertex -2 lies before"),
        ("v 0 0 0\nv 1 0 0\nf 1 2", "line 3: a face needs three corners"),
        ("v 0 0\n", "line 1: a vertex needs three"),
        ("v 0 0 x\n", "line 1"),
        ("v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3", "vertex 0 is not finite"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\n", "3 points but no faces"),
        ("v 0 0 0\nv 1 0 0\nl 1 2\n", "line 3: unknown or unsupported statement 'l'"),
        ("", "empty"),
        ("# nothing\n", "empty"),
    ],
)
def test_a_damaged_obj_is_refused_with_the_line(tmp_path, text, message):
    with pytest.raises(FileError, match=message) as caught:
        read_mesh(put(tmp_path / "mesh.obj", text))
    assert "mesh.obj" in str(caught.value)


POLYGONS = [[0, 1, 2], [0, 2, 3, 4], [1, 5, 2]]
FANNED = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [1, 5, 2]]
POINTS = np.float32([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0.5, 2, 0], [0, 1, 0], [2, 0.25, 0]])


def ply(order, *, extra=False):
    head = ["ply", f"format {order} 1.0", "comment by hand", "element vertex 6"]
    head += ["property float x", "property float y", "property float z"]
    head += ["property uchar red", "element face 3"]
    head += ["property list uchar int vertex_indices"]
    head += ["property list uchar float texcoord"] if extra else []
    data = "\n".join([*head, "end_header", ""]).encode()
    if order == "ascii":
        rows = [[*point, 255] for point in POINTS.tolist()]
        rows += [[len(face), *face, *([2, 0.5, 0.5] if extra else [])] for face in POLYGONS]
        return data + "\n".join(" ".join(map(str, row)) for row in rows).encode()
    mark = "<" if "little" in order else ">"
    data += b"".join(struct.pack(f"{mark}fffB", *point, 255) for point in POINTS)
    for face in POLYGONS:
        data += struct.pack(f"{mark}B{len(face)}i", len(face), *face)
        data += struct.pack(f"{mark}Bff", 2, 0.5, 0.5) if extra else b""
    return data


@pytest.mark.parametrize("order", ["ascii", "binary_little_endian", "binary_big_endian"])
@pytest.mark.parametrize("extra", [False, True])
def test_ply_of_mixed_polygons(tmp_path, order, extra):
    vertices, faces = read_mesh(put(tmp_path / "mesh.ply", ply(order, extra=extra)))
    assert np.array_equal(vertices, POINTS)
    assert faces.tolist() == FANNED


@pytest.mark.parametrize("encoding", ["binary", "ascii"])
def test_ply_written_by_trimesh(tmp_path, encoding):
    ball = trimesh.creation.icosphere(subdivisions=2)
    vertices, faces = read_mesh(put(tmp_path / "mesh.ply", ball.export(file_type="ply", encoding=encoding)))
    assert np.allclose(vertices, ball.vertices, atol=1e-6)
    assert np.array_equal(faces, ball.faces)


def test_a_large_ply_is_read_at_once(tmp_path):
    ball = trimesh.creation.icosphere(subdivisions=6)
    write_mesh(tmp_path / "mesh.ply", ball.vertices, ball.faces)
    vertices, faces = read_mesh(tmp_path / "mesh.ply")
    assert np.array_equal(vertices, ball.vertices)
    assert np.array_equal(faces, ball.faces)


@pytest.mark.parametrize("order", ["ascii", "binary_little_endian"])
@pytest.mark.parametrize("extra", [False, True])
def test_a_ply_cut_anywhere_is_refused(tmp_path, order, extra):
    data = ply(order, extra=extra)
    for length in range(0, len(data) - 3, 5):
        with pytest.raises(FileError, match=r"mesh\.ply"):
            read_mesh(put(tmp_path / "mesh.ply", data[:length]))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"vertex 6", b"vertex 99999999999999", "cut short"),
        (b"face 3", b"face 99999999999999", "cut short"),
        (b"face 3", b"face -3", "cannot be read"),
        (b"property float x", b"property float u", "no x, y, z"),
        (b"property float x", b"property half x", "cannot be read"),
        (b"vertex_indices", b"corners", "no vertex_indices"),
        (b"format binary_little_endian", b"format binary_middle_endian", "cannot be read"),
    ],
)
def test_a_ply_with_a_wrong_header_is_refused(tmp_path, old, new, message):
    data = ply("binary_little_endian")
    assert old in data
    with pytest.raises(FileError, match=message):
        read_mesh(put(tmp_path / "mesh.ply", data.replace(old, new)))


def test_a_ply_corner_must_be_a_whole_number(tmp_path):
    data = ply("ascii").replace(b"3 0 1 2", b"3 0 1 2.5")
    with pytest.raises(FileError, match=r"found 2\.5 where a whole number belongs"):
        read_mesh(put(tmp_path / "mesh.ply", data))


def test_a_point_cloud_is_refused(tmp_path):
    cloud = trimesh.PointCloud(VERTICES)
    for suffix in (".ply", ".glb"):
        data = cloud.export(file_type="ply") if suffix == ".ply" else cloud.scene().export(file_type="glb")
        with pytest.raises(FileError, match=r"no faces|only triangles"):
            read_mesh(put(tmp_path / f"cloud{suffix}", data))


@pytest.mark.parametrize("kind", ["stl", "stl_ascii"])
def test_stl_corners_merge_by_exact_equality_in_their_order(tmp_path, kind):
    box = trimesh.creation.box()
    vertices, faces = read_mesh(put(tmp_path / "box.stl", box.export(file_type=kind)))
    assert vertices.shape == (8, 3)
    assert np.allclose(vertices[faces], box.vertices[box.faces])
    assert faces.ravel()[0] == 0
    nearly = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1e-6, 0, 0], [1, 0, 0], [0, -1, 0]])
    write_mesh(tmp_path / "two.stl", nearly, np.array([[0, 1, 2], [3, 4, 5]]))
    assert len(read_mesh(tmp_path / "two.stl")[0]) == 5


def test_normals_that_are_none_are_left_out_without_a_word(tmp_path, caplog, capfd):
    """They are not asked for; trimesh would tell of them with a traceback."""
    text = trimesh.creation.box().export(file_type="stl_ascii")
    bad = text.replace("facet normal", "facet normal oops", 1)
    expected = read_mesh(put(tmp_path / "box.stl", text.encode()))
    for found, wanted in zip(read_mesh(put(tmp_path / "bad.stl", bad.encode())), expected, strict=True):
        assert np.array_equal(found, wanted)
    assert (caplog.text, *capfd.readouterr()) == ("", "", "")
    assert not logging.getLogger("trimesh.util").disabled


def test_a_cut_stl_is_refused(tmp_path):
    data = trimesh.creation.box().export(file_type="stl")
    for length in (0, 40, 84, 100, len(data) - 1):
        with pytest.raises(FileError, match=r"box\.stl"):
            read_mesh(put(tmp_path / "box.stl", data[:length]))


def two_boxes():
    scene = trimesh.Scene()
    box = trimesh.creation.box()
    scene.add_geometry(box, node_name="first")
    mirror = np.diag([-1.0, 2.0, 1.0, 1.0])
    mirror[:3, 3] = [5, 0, 0]
    scene.add_geometry(box, node_name="second", transform=mirror)
    return scene


def test_glb_merges_its_meshes_each_in_its_place(tmp_path):
    vertices, faces = read_mesh(put(tmp_path / "two.glb", two_boxes().export(file_type="glb")))
    mesh = trimesh.Trimesh(vertices, faces, process=True)
    assert faces.shape == (24, 3)
    assert sorted(part.volume for part in mesh.split()) == pytest.approx([1, 2])  # the mirrored one faces outwards too
    assert np.allclose(mesh.bounds, [[-0.5, -1, -0.5], [5.5, 1, 0.5]])


def gltf(folder, uri):
    corners = np.float32([[0, 0, 0], [1, 0, 0], [0, 1, 0]]).tobytes()
    (folder / "corners.bin").write_bytes(corners)
    return {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
        "bufferViews": [{"buffer": 0, "byteOffset": 0, "byteLength": 36}],
        "buffers": [
            {"byteLength": 36, "uri": uri or "data:application/octet;base64," + base64.b64encode(corners).decode()}
        ],
    }


@pytest.mark.parametrize("uri", [None, "corners.bin"])
def test_gltf_reads_its_buffers_from_its_folder(tmp_path, uri):
    vertices, faces = read_mesh(put(tmp_path / "mesh.gltf", json.dumps(gltf(tmp_path, uri))))
    assert vertices.tolist() == [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    assert faces.tolist() == [[0, 1, 2]]


def test_gltf_reads_nothing_outside_its_folder(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.bin").symlink_to(tmp_path / "corners.bin")
    names = ["../corners.bin", str(tmp_path / "corners.bin"), "a/../../corners.bin", "%2e%2e/corners.bin", "link.bin"]
    names += ["..\\corners.bin", "http://localhost/corners.bin", "file:///etc/passwd"]
    for uri in names:
        path = put(inside / "mesh.gltf", json.dumps(gltf(tmp_path, uri)))
        with pytest.raises(FileError, match=r"mesh\.gltf.*outside its folder"):
            read_mesh(path)
    path = put(inside / "mesh.gltf", json.dumps(gltf(tmp_path, "missing.bin")))
    with pytest.raises(FileError, match=r"mesh\.gltf.*No such file"):
        read_mesh(path)


def test_gltf_geometry_that_would_be_dropped_is_refused(tmp_path):
    tree = gltf(tmp_path, None)
    tree["extensionsUsed"] = ["KHR_draco_mesh_compression"]
    with pytest.raises(FileError, match="compressed geometry"):
        read_mesh(put(tmp_path / "mesh.gltf", json.dumps(tree)))
    tree = gltf(tmp_path, None)
    tree["accessors"].append({"componentType": 5126, "count": 10**11, "type": "VEC3"})
    with pytest.raises(FileError, match="claims"):
        read_mesh(put(tmp_path / "mesh.gltf", json.dumps(tree)))
    tree = gltf(tmp_path, None)
    tree["meshes"][0]["primitives"].append({"attributes": {"POSITION": 0}, "mode": 1})
    with pytest.raises(FileError, match="only triangles"):
        read_mesh(put(tmp_path / "mesh.gltf", json.dumps(tree)))


@pytest.mark.parametrize("suffix", EXTENSIONS)
def test_a_place_without_a_mesh_is_refused(tmp_path, suffix):
    with pytest.raises(FileError, match=r"missing.*No such file"):
        read_mesh(tmp_path / f"missing{suffix}")
    (tmp_path / f"folder{suffix}").mkdir()
    with pytest.raises(FileError, match=r"folder.*directory"):
        read_mesh(tmp_path / f"folder{suffix}")
    with pytest.raises(FileError, match="mesh"):
        read_mesh(put(tmp_path / f"mesh{suffix}", b""))


@pytest.mark.parametrize("name", ["mesh", "mesh.fbx", "mesh.obj.gz"])
def test_an_unknown_extension_lists_the_known_ones(tmp_path, name):
    for call in (lambda path: read_mesh(path), lambda path: write_mesh(path, VERTICES, FACES)):
        with pytest.raises(FileError, match=r"unknown extension.*\.obj, \.ply, \.stl, \.gltf, \.glb"):
            call(tmp_path / name)


def good_files():
    with tempfile.TemporaryDirectory() as folder:
        for suffix in EXTENSIONS:
            write_mesh(Path(folder) / f"mesh{suffix}", VERTICES, FACES)
        return {suffix: (Path(folder) / f"mesh{suffix}").read_bytes() for suffix in EXTENSIONS}


GOOD = good_files()


def check_mesh_or_error(path):
    try:
        vertices, faces = read_mesh(path)
    except FileError as error:
        message = str(error)
    else:
        message = ""
        assert np.isfinite(vertices).all()
        assert len(faces)
        assert faces.min() >= 0
        assert faces.max() < len(vertices)
    assert not message or str(path) in message


FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FUZZ
@given(suffix=st.sampled_from(EXTENSIONS), data=st.binary(max_size=300))
@example(suffix=".stl", data=b"solid \xff")
@example(suffix=".gltf", data=b"[" * 100_000)
@example(suffix=".obj", data=b"v 1e999 0 0\nv 0 0 0\nv 0 1 0\nf 1 2 3")
@example(suffix=".ply", data=b"ply\nformat ascii 1.0\nelement face 1\nproperty float x\nend_header\n1")
def test_random_bytes_are_an_error_or_a_mesh(tmp_path, suffix, data):
    check_mesh_or_error(put(tmp_path / f"mesh{suffix}", data))


@FUZZ
@given(
    suffix=st.sampled_from(EXTENSIONS),
    changes=st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), min_size=1, max_size=8),
    length=st.integers(0, 2000),
)
def test_damaged_files_are_an_error_or_a_mesh(tmp_path, suffix, changes, length):
    data = bytearray(GOOD[suffix])
    for position, value in changes:
        data[position % len(data)] = value
    check_mesh_or_error(put(tmp_path / f"mesh{suffix}", bytes(data[: max(length, 200)])))
