import numpy as np
import pytest

from shinari.compute import Field, Record, kernel, real
from shinari.compute.program import run_once


class Rows(Record):
    points = Field(np.uint32, 2, doc="particles")
    rest = Field(real, unit="m", saved=True)


class More(Rows):
    matrix = Field(real, (2, 3))


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_zeros_have_the_declared_shapes(precision):
    rows = More.zeros(5, precision)
    assert rows.points.shape == (5, 2)
    assert rows.points.dtype == np.uint32
    assert rows.rest.shape == (5,)
    assert rows.matrix.shape == (5, 2, 3)
    assert rows.rest.dtype == rows.matrix.dtype == precision
    assert len(rows) == 5
    assert [name for name, _ in rows.saved()] == ["rest"]


def test_growing_keeps_contents_and_table():
    rows = Rows.zeros(3)
    rows.points[...], rows.rest[...] = [[1, 2], [3, 4], [5, 6]], [1, 2, 3]
    table = rows.addresses
    rows.grow(10)
    assert rows.addresses is table
    assert table[0] == rows.points.ctypes.data
    assert table[-1] == len(rows) == 10
    np.testing.assert_array_equal(rows.points[:3], [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(rows.rest, [1, 2, 3, 0, 0, 0, 0, 0, 0, 0])


class Mesh(Record, ragged=True):
    corners = Field(real, 3)
    faces = Field(np.uint32, 3)


def test_fields_of_a_ragged_record_differ_in_rows():
    mesh = Mesh(np.float32, corners=np.zeros((4, 3), np.float32), faces=np.zeros((2, 3), np.uint32))
    assert len(mesh) == 4
    assert mesh.addresses[2:].tolist() == [4, 4, 2]
    mesh.bind(faces=np.zeros((7, 3), np.uint32))
    assert mesh.addresses[2:].tolist() == [4, 4, 7]
    with pytest.raises(TypeError, match="Mesh: is ragged"):
        mesh.grow(10)


class Touches(Record):
    near = Field(real, optional=True)
    depth = Field(real)
    weights = Field(real, 3, optional=True)


@kernel
def write_touch(i, touches: Touches, has_weights: int):
    touches.depth[i] = touches.depth[i] + 1.0
    if has_weights:
        touches.weights[i] = 1.0, 2.0, 3.0


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("absent", [(), ("weights",), ("near", "weights")])
def test_a_record_without_optional_fields_grows_and_is_read_in_kernels(precision, absent):
    touches = Touches.zeros(2, precision, without=absent)
    touches.depth[...] = 4.0, 5.0
    touches.grow(5)
    assert len(touches) == 5
    assert [len(touches.arrays[name]) for name in ("near", "depth", "weights")] == [
        0 if "near" in absent else 5, 5, 0 if "weights" in absent else 5,
    ]  # fmt: skip
    run_once(write_touch, touches, int("weights" not in absent), count=5, threads=1)
    np.testing.assert_array_equal(touches.depth, [5.0, 6.0, 1.0, 1.0, 1.0])
    expected = np.zeros((0, 3)) if "weights" in absent else [[1.0, 2.0, 3.0]] * 5
    np.testing.assert_array_equal(touches.weights, expected)


def test_only_optional_fields_can_be_left_out():
    with pytest.raises(TypeError, match="Touches: depth: is not an optional field"):
        Touches.zeros(0, without=("depth",))
    with pytest.raises(TypeError, match="Touches: gap: is not an optional field"):
        Touches.zeros(0, without=("gap",))
    touches = Touches.zeros(2, without=("weights",))
    with pytest.raises(TypeError, match="Touches: fields differ in rows"):
        touches.bind(weights=np.zeros((2, 3), np.float32))
    with pytest.raises(TypeError, match="Touches: fields differ in rows"):
        touches.bind(near=np.zeros(3, np.float32))


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(4, np.float64),
        np.zeros((4, 1), np.float32),
        np.zeros(8, np.float32)[::2],
        [0.0, 0.0, 0.0, 0.0],
        np.zeros(5, np.float32),
    ],
    ids=["dtype", "shape", "strided", "list", "rows"],
)
def test_an_array_that_does_not_fit_is_refused(array):
    with pytest.raises(TypeError, match=r"Rows: .*rest"):
        Rows.zeros(4).bind(rest=array)


def test_fields_are_bound_not_assigned():
    rows = Rows.zeros(2)
    with pytest.raises(AttributeError, match=r"Rows\.rest"):
        rows.rest = np.zeros(2, np.float32)
    with pytest.raises(TypeError, match="expected"):
        Rows(np.float32, points=np.zeros((2, 2), np.uint32))
