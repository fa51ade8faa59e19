import numpy as np
import pytest

from shinari.compute import Field, Record, real


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
