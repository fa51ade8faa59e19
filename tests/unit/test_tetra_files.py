"""Tetrahedra from files: each format there and back, other orientations, damage."""

import random
import sys

import meshio
import numpy as np
import pytest

from shinari.errors import FileError, MissingExtraError
from shinari.geometry.files.tetra_files import read_tetrahedra
from shinari.geometry.tetrahedra.check import check_tetrahedra, volumes
from shinari.geometry.tetrahedra.lattice import lattice

VERTICES, TETRAHEDRA = lattice((2, 3, 1), (0.1, 0.2, 0.3))
VERTICES = VERTICES + np.random.default_rng(0).uniform(-0.01, 0.01, VERTICES.shape)
FORMATS = [
    ("a.msh", {"file_format": "gmsh", "binary": True}),
    ("a.msh", {"file_format": "gmsh", "binary": False}),
    ("a.msh", {"file_format": "gmsh22", "binary": True}),
    ("a.msh", {"file_format": "gmsh22", "binary": False}),
    ("a.vtk", {"file_format": "vtk", "binary": True}),
    ("a.vtk", {"file_format": "vtk", "binary": False}),
    ("a.vtk", {"file_format": "vtk42", "binary": True}),
    ("a.vtu", {"file_format": "vtu", "binary": True}),
    ("a.vtu", {"file_format": "vtu", "binary": False}),
    ("a.node", {"file_format": "tetgen"}),
    ("a.ele", {"file_format": "tetgen"}),
]
NAMES = [f"{name}-{arguments['file_format']}-{arguments.get('binary', '')}" for name, arguments in FORMATS]


def write(path, vertices=VERTICES, cells=(("tetra", TETRAHEDRA),), **arguments):
    meshio.Mesh(vertices, list(cells)).write(path, **arguments)
    return path


def digits_of(arguments):
    """Relative error of what meshio writes: twelve digits as text in .vtu, all elsewhere."""
    return 1e-11 if arguments == {"file_format": "vtu", "binary": False} else 1e-15


@pytest.fixture(params=FORMATS, ids=NAMES)
def written(request, tmp_path):
    name, arguments = request.param
    return write(tmp_path / name, **arguments)


@pytest.mark.parametrize(("name", "arguments"), FORMATS, ids=NAMES)
def test_there_and_back(tmp_path, name, arguments):
    vertices, tetrahedra = read_tetrahedra(write(tmp_path / name, **arguments))
    np.testing.assert_allclose(vertices, VERTICES, rtol=digits_of(arguments))
    np.testing.assert_array_equal(tetrahedra, TETRAHEDRA)
    assert vertices.dtype == np.float64
    assert tetrahedra.dtype == np.int64
    check_tetrahedra(vertices, tetrahedra, "file")


@pytest.mark.parametrize(("name", "arguments"), FORMATS, ids=NAMES)
def test_negative_ones_are_turned_and_loose_points_left_out(tmp_path, name, arguments):
    vertices = np.concatenate([[[9.0, 9.0, 9.0]], VERTICES, [[7.0, 7.0, 7.0]]])
    turned = TETRAHEDRA[:, [1, 0, 2, 3]] + 1
    path = write(tmp_path / name, vertices, [("tetra", turned)], **arguments)
    read, tetrahedra = read_tetrahedra(path)
    np.testing.assert_allclose(read, VERTICES, rtol=digits_of(arguments))
    assert (volumes(read, tetrahedra) > 0.0).all()
    np.testing.assert_array_equal(np.sort(tetrahedra), np.sort(TETRAHEDRA))


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("suffix", ["vtk", "vtu"])
def test_what_vtk_itself_writes(tmp_path, suffix, binary):
    vtk = pytest.importorskip("vtk")
    from vtk.util.numpy_support import numpy_to_vtk

    grid, points = vtk.vtkUnstructuredGrid(), vtk.vtkPoints()
    points.SetData(numpy_to_vtk(VERTICES, deep=True))
    grid.SetPoints(points)
    for cell in TETRAHEDRA:
        ids = vtk.vtkIdList()
        for vertex in cell:
            ids.InsertNextId(int(vertex))
        grid.InsertNextCell(vtk.VTK_TETRA, ids)
    writer = vtk.vtkUnstructuredGridWriter() if suffix == "vtk" else vtk.vtkXMLUnstructuredGridWriter()
    if suffix == "vtk":
        writer.SetFileTypeToBinary() if binary else writer.SetFileTypeToASCII()
    else:
        writer.SetDataModeToBinary() if binary else writer.SetDataModeToAscii()
    path = tmp_path / f"a.{suffix}"
    writer.SetFileName(str(path))
    writer.SetInputData(grid)
    writer.Write()
    vertices, tetrahedra = read_tetrahedra(path)
    np.testing.assert_allclose(vertices, VERTICES, rtol=1e-6)  # VTK writes few digits as text
    np.testing.assert_array_equal(tetrahedra, TETRAHEDRA)


def test_tetgen_with_comments_attributes_markers_and_base_one(tmp_path):
    (tmp_path / "t.node").write_text(
        "# made by hand\n\n4 3 1 1\n1\t0 0 0  5.5 1\n2 1 0 0 5.5 0 # here\n3 0 1 0 5.5 0\n4 0 0 1 5.5 0\n# end\n"
    )
    (tmp_path / "t.ele").write_text("1 4 1\n1 1 2 4 3  0.5\n")
    vertices, tetrahedra = read_tetrahedra(str(tmp_path / "t.ele"))
    np.testing.assert_array_equal(vertices, [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(tetrahedra, [[0, 1, 2, 3]])


def test_what_a_file_without_tetrahedra_has(tmp_path):
    cells = [("triangle", TETRAHEDRA[:5, :3]), ("line", TETRAHEDRA[:2, :2])]
    path = write(tmp_path / "a.vtk", cells=cells)
    with pytest.raises(FileError, match=r"a\.vtk: holds no tetrahedra.*24 points, 5 triangle, 2 line"):
        read_tetrahedra(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.tet", b"", "unknown extension '.tet'"),
        ("a.node", b"", "no head"),
        ("a.node", b"# nothing\n", "no head"),
        ("a.node", b"999999999999 3 0 0\n1 0 0 0\n", "says 999999999999 rows and has 1"),
        ("a.node", b"1 2 0 0\n1 0 0 0\n", "2 dimensions"),
        ("a.node", b"1 3 0 0\n7 0 0 0\n", "not numbered from 0 or 1"),
        ("a.node", b"1 3 0 0\n1 0 0\n", "not 4 numbers long"),
        ("a.node", b"-1 3 0 0\n", "says -1 rows"),
        ("a.ele", b"0 4 0\n", "a.node is not beside it"),
        ("a.msh", b"", "damaged"),
        ("a.msh", b"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 999999999999 1 9\n", "a.msh"),
        (
            "a.vtk",
            b"# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 99999999999 float\n",
            "a.vtk",
        ),
        ("a.vtu", b"<VTKFile type='PolyData'/>", "PolyData"),
    ],
)
def test_refused(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    if name == "a.node":
        (tmp_path / "a.ele").write_bytes(b"1 4 0\n1 1 2 3 4\n")
    with pytest.raises(FileError, match=message) as error:
        read_tetrahedra(tmp_path / name)
    assert str(tmp_path / name) in str(error.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [("missing.vtk", "cannot be read"), ("missing.node", "cannot be read"), ("bad\0name.vtk", "expected a path")],
)
def test_missing(tmp_path, name, message):
    with pytest.raises(FileError, match=message):
        read_tetrahedra(f"{tmp_path}/{name}")


@pytest.mark.parametrize("index", [-1, 24, 10**9])
@pytest.mark.parametrize("suffix", ["vtk", "vtu", "node"])
def test_indices_out_of_range(tmp_path, suffix, index):
    cells = TETRAHEDRA.copy()
    cells[3, 2] = index
    path = write(tmp_path / f"a.{suffix}", cells=[("tetra", cells)])
    with pytest.raises(FileError, match="tetrahedron 3 uses"):
        read_tetrahedra(path)


def test_not_finite(tmp_path):
    vertices = VERTICES.copy()
    vertices[5, 1] = np.nan
    with pytest.raises(FileError, match="vertex 5 is not finite"):
        read_tetrahedra(write(tmp_path / "a.vtu", vertices))


def test_damage_is_an_error_or_a_mesh(written):
    """Cut short, bytes changed, pieces missing, huge numbers: nothing else than a `FileError` comes out."""
    data, generator = written.read_bytes(), random.Random(7)
    digits = [at for at, byte in enumerate(data) if 48 <= byte < 58]
    for trial in range(60):
        content, at = bytearray(data), generator.randrange(len(data))
        if trial % 4 == 0:
            content = content[:at]
        elif trial % 4 == 1:
            content[at] = generator.randrange(256)
        elif trial % 4 == 2:
            del content[at : at + generator.randrange(1, 200)]
        else:
            at = generator.choice(digits)
            content[at : at + 1] = generator.choice([b"999999999999", b"-1", b"4294967295", b"nan"])
        written.write_bytes(content)
        try:
            vertices, tetrahedra = read_tetrahedra(written)
        except FileError:
            continue
        assert np.isfinite(vertices).all()
        assert tetrahedra.max() < len(vertices)


def test_meshio_is_named_when_it_is_missing(tmp_path, monkeypatch):
    path = write(tmp_path / "a.vtk")
    monkeypatch.setitem(sys.modules, "meshio", None)
    with pytest.raises(MissingExtraError, match=r"shinari\[mesh\]"):
        read_tetrahedra(path)
