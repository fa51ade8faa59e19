"""Binary USD files that say they hold more than they do are refused before USD makes room for it."""

import re
import struct

import numpy as np
import pytest

import shinari as sn

SECTIONS = ("TOKENS", "STRINGS", "FIELDS", "FIELDSETS", "PATHS", "SPECS")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A binary USD file of a mesh that moves."""
    pytest.importorskip("pxr")
    from pxr import Usd, UsdGeom

    path = tmp_path_factory.mktemp("usd") / "walk.usdc"
    stage = Usd.Stage.CreateNew(str(path))
    vertices, faces = sn.grid(shape=(4, 4))
    mesh = UsdGeom.Mesh.Define(stage, "/World/body")
    mesh.GetFaceVertexCountsAttr().Set([3] * len(faces))
    mesh.GetFaceVertexIndicesAttr().Set(faces.ravel().tolist())
    for code in (0, 5, 10):
        points = vertices + np.array([0.0, 0.1 * code, 0.0])
        mesh.GetPointsAttr().Set([tuple(map(float, point)) for point in points], code)
    stage.GetRootLayer().Save()
    return path


def section(data: bytes, wanted: str) -> int:
    """Where a section begins."""
    at = struct.unpack_from("<q", data, 16)[0]
    for row in range(struct.unpack_from("<Q", data, at)[0]):
        name, start, _ = struct.unpack_from("<16sqq", data, at + 8 + 32 * row)
        if name.rstrip(b"\0").decode() == wanted:
            return start
    raise AssertionError(wanted)


def test_a_whole_file_is_read(whole):
    assert len(sn.read_animation(whole).positions) == 3


@pytest.mark.parametrize("name", SECTIONS)
def test_a_count_that_is_too_large_is_told_with_its_place(whole, tmp_path, name):
    data = bytearray(whole.read_bytes())
    at = section(data, name)
    data[at + 4] = 7
    damaged = tmp_path / "damaged.usdc"
    damaged.write_bytes(data)
    with pytest.raises(sn.FileError, match=re.escape(f"{damaged}: cannot be read: it is damaged at byte {at}: ")):
        sn.read_animation(damaged)


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        (19, 9, "it ends too early"),
        (None, 9, "it is damaged at byte"),
    ],
)
def test_a_damaged_table_of_contents_is_told(whole, tmp_path, place, value, told):
    data = bytearray(whole.read_bytes())
    data[struct.unpack_from("<q", data, 16)[0] + 3 if place is None else place] = value
    damaged = tmp_path / "damaged.usdc"
    damaged.write_bytes(data)
    with pytest.raises(sn.FileError, match=re.escape(f"{damaged}: cannot be read: {told}")):
        sn.read_animation(damaged)


def test_a_section_beyond_the_end_is_told(whole, tmp_path):
    data = bytearray(whole.read_bytes())
    contents = struct.unpack_from("<q", data, 16)[0]
    struct.pack_into("<q", data, contents + 8 + 16, len(data))
    damaged = tmp_path / "damaged.usdc"
    damaged.write_bytes(data)
    with pytest.raises(sn.FileError, match="its section 'TOKENS' is not in the file"):
        sn.read_animation(damaged)
