"""Runs whose arrays are of another kind than they say, or not in the file: an error with the path, and no memory."""

import os
import signal
import zipfile

import numpy as np
import pytest
from test_files_writers import LAYOUT, write

from shinari.errors import FileError
from shinari.io.run_reader import open_cache

COLUMNS = ["positions", "velocities", "body_positions", "body_rotations"]
WRONG = {
    "texts": lambda array: np.full(array.shape, "x"),
    "complex": lambda array: array.astype(complex),
    "more axes": lambda array: np.zeros((*array.shape, 2)),
    "wider": lambda array: np.concatenate([array, array], axis=-1),
    "one number": lambda array: np.array(3.0),
}
SECONDS = 10
"""Time after which what waits, or counts without end, has failed."""


@pytest.fixture(autouse=True)
def in_time():
    def late(number, stack):
        raise AssertionError("reading goes on without end")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def archive(path, change):
    """A run as .npz with other arrays."""
    write(path, 3)
    with np.load(path) as run:
        arrays = {name: run[name] for name in run.files}
    np.savez(path, **arrays | change(arrays))


def hierarchy(path, change):
    """A run as .vtkhdf that was changed."""
    h5py = pytest.importorskip("h5py")
    write(path, 3)
    with h5py.File(path, "r+") as file:
        change(file)


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_of_an_archive_that_is_another(tmp_path, name, wrong):
    path = tmp_path / "run.npz"
    archive(path, lambda arrays: {name: wrong(arrays[name])})
    with pytest.raises(FileError, match=rf"run\.npz: {name} have shape .*, expected numbers of shape \(3, "):
        open_cache(path)


@pytest.mark.parametrize("times", [np.full(3, np.nan), np.zeros((3, 2)), np.array(1.0), np.full(3, "x")])
def test_times_that_are_none(tmp_path, times):
    archive(tmp_path / "run.npz", lambda arrays: {"times": times})
    with pytest.raises(FileError, match=r"run\.npz: cannot be read .*times have shape .*expected finite numbers"):
        open_cache(tmp_path / "run.npz")


def test_times_that_go_back(tmp_path):
    archive(tmp_path / "run.npz", lambda arrays: {"times": arrays["times"][::-1]})
    with pytest.raises(FileError, match=r"run\.npz: cannot be read .*times go back"):
        open_cache(tmp_path / "run.npz")


@pytest.mark.parametrize("name", ["part_names", "part_kinds", "body_names", "body_kinds"])
def test_names_without_end(tmp_path, name):
    """Rows of no columns take no bytes, however many there are."""
    path = tmp_path / "run.npz"
    archive(path, lambda arrays: {name: np.zeros(0)})
    with zipfile.ZipFile(path) as whole:
        entries = {entry: whole.read(entry) for entry in whole.namelist()}
    entries[f"{name}.npy"] = entries[f"{name}.npy"].replace(b"(0,), ", b"(9" + b"0" * 12 + b", 0), ", 1)
    with zipfile.ZipFile(path, "w") as changed:
        for entry, data in entries.items():
            changed.writestr(entry, data)
    with pytest.raises(FileError, match=rf"run\.npz: .*{name}"):
        open_cache(path)


def test_vertices_of_a_body_that_are_none(tmp_path):
    name = f"body_vertices_{LAYOUT.bodies[0].name}"
    archive(tmp_path / "run.npz", lambda arrays: {name: np.full(arrays[name].shape, np.inf)})
    with pytest.raises(FileError, match=r"run\.npz: .*vertices of a body are float64, expected finite numbers"):
        open_cache(tmp_path / "run.npz")


@pytest.mark.parametrize("name", ["VTKHDF/Points", "VTKHDF/PointData/velocity", "shinari/body_rotations"])
@pytest.mark.parametrize("wrong", [WRONG["complex"], WRONG["more axes"], WRONG["wider"], lambda a: a.astype("S4")])
def test_a_dataset_that_is_another(tmp_path, name, wrong):
    def change(file):
        array = file[name][:]
        del file[name]
        file[name] = wrong(array)

    hierarchy(tmp_path / "run.vtkhdf", change)
    with pytest.raises(FileError, match=rf"run\.vtkhdf: /{name} has shape .*, expected numbers for 3 steps"):
        open_cache(tmp_path / "run.vtkhdf")


@pytest.mark.parametrize("kind", ["external", "link", "virtual"])
def test_nothing_is_read_of_other_files(tmp_path, kind):
    """Of a pipe that a file names the end would be waited for."""
    h5py = pytest.importorskip("h5py")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def change(file):
        points = file["VTKHDF/Points"]
        shape, dtype = points.shape, points.dtype
        del file["VTKHDF/Points"]
        if kind == "external":
            places = [(str(pipe), 0, h5py.h5f.UNLIMITED)]
            file.create_dataset("VTKHDF/Points", shape, dtype, external=places)
        elif kind == "link":
            file["VTKHDF/Points"] = h5py.ExternalLink(str(pipe), "points")
        else:
            layout = h5py.VirtualLayout(shape, dtype)
            layout[:] = h5py.VirtualSource(str(pipe), "points", shape)
            file.create_virtual_dataset("VTKHDF/Points", layout)

    hierarchy(tmp_path / "run.vtkhdf", change)
    with pytest.raises(FileError, match=r"run\.vtkhdf: is damaged: .*shinari writes no such file"):
        open_cache(tmp_path / "run.vtkhdf")


@pytest.mark.parametrize("name", ["shinari/part_faces_0", "VTKHDF/Steps/Values"])
def test_numbers_that_are_not_in_the_file_take_no_memory(tmp_path, name):
    """HDF5 fills what is not there: a file of 300 kB would ask for 800 GB."""

    def change(file):
        shape = (10**11, *file[name].shape[1:])
        kind = file[name].dtype
        del file[name]
        file.create_dataset(name, shape, kind, chunks=(1000, *shape[1:]))
        file["VTKHDF/Steps"].attrs["NSteps"] = 10**11

    hierarchy(tmp_path / "run.vtkhdf", change)
    with pytest.raises(FileError, match=rf"run\.vtkhdf: is damaged: /{name} has shape .* does not hold that much"):
        open_cache(tmp_path / "run.vtkhdf")


def test_a_body_count_that_is_another(tmp_path):
    hierarchy(tmp_path / "run.vtkhdf", lambda file: file["shinari"].attrs.modify("body_vertex_count", -2))
    with pytest.raises(FileError, match=r"run\.vtkhdf: is damaged: body_vertex_count is -2"):
        open_cache(tmp_path / "run.vtkhdf")


@pytest.mark.parametrize("suffix", [".npz", ".vtkhdf", ".npy"])
def test_an_empty_file_tells_where_it_may_come_from(tmp_path, suffix):
    (tmp_path / f"run{suffix}").touch()
    with pytest.raises(FileError, match=rf"run\{suffix}: is empty; a run that was killed"):
        open_cache(tmp_path / f"run{suffix}")
