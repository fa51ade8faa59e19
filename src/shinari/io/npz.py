"""NumPy archive `.npz`: every point of every frame, to be read with `numpy.load` anywhere.

`times (T,)` [s], `positions (T, P, 3)` [m], `velocities (T, P, 3)` [m/s]: first the `particle_count` particles, then
the `vertex_count` vertices of the surfaces that are shown in place of particles; `title`, `frames_per_second`;
`part_names`, `part_kinds`, `part_radii`, the flags `part_varies`, `part_fluid`, `part_surface`, `part_cloth` and
`part_closed` that `shinari.io.results.DrawnPart` explains, and for each part `range_<name>` (start, stop) of its points
and, for meshes, `faces_<name>` (F, 3), which count from the start; `drawn_<name>` (T, F) or, for the segments of a
curve, (T, S), says of a part that can tear what of it is there, and (T, N) of a fluid that flows in and out which of
its particles are: the others wait and are not to be shown. `density_<name>` (T, N) [kg/m^3] belongs to fluids.

`body_positions (T, B, 3)` [m], `body_rotations (T, B, 4)` w x y z, `body_velocities (T, B, 3)` [m/s] of the origins of
which the positions tell, `body_angular_velocities (T, B, 3)` [rad/s]: first the rigid bodies, then the colliders;
`body_names`, `body_kinds` (`rigid` or `collider`) and for each `body_vertices_<name>` (V, 3) and `body_faces_<name>`
(F, 3).

Of a run that was measured: `strains (T, P)` and `forces (T, P)` [N] of the points, and `measures (T, M)`, the numbers
that `measure_names` says: energies [J], momenta, residual, strains; see `shinari.io.results.MEASURES`.

Nothing is pickled, nothing is compressed: the arrays can be mapped from the file, as `open_frames` does.
"""

import math
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from shinari.check import short
from shinari.errors import FileError
from shinari.input_files import require_regular
from shinari.io.results import (
    BODY_FIELDS,
    CLOSED,
    MEASURED,
    MEASURES,
    MEASURES_0_1,
    PART_FLAGS,
    Body,
    DrawnPart,
    Layout,
    checked_times,
    checked_vertices,
    frame_shapes,
    is_numeric,
)
from shinari.partial_files import reason

SMALL = 2**16
"""Arrays up to so many bytes are read at once."""
CHUNK_BYTES = 16 * 2**20
"""Bytes of frames that are in memory at a time while the archive is written."""


def write_npz(path: Path, layout: Layout, frames: np.ndarray, title: str = "") -> None:
    """Write a run as one archive.

    Args:
        path: File to write.
        layout: What the frames hold.
        frames: Structured array as `shinari.io.frame_queue.frame_dtype` says, shape (T,); may be mapped from a file.
        title: One line about the run.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        _put_frames(archive, "times", frames, "time")
        for name in ("positions", "velocities", *BODY_FIELDS):
            _put_frames(archive, name, frames, name)
        for name in MEASURED if layout.measured else ():
            _put_frames(archive, name, frames, name)
        for name, where in layout.varying.items():
            _put_frames(archive, f"drawn_{name}", frames, "drawn", where)
        for name, where in layout.fluids.items():
            _put_frames(archive, f"density_{name}", frames, "densities", where)
        _put_arrays(archive, description(layout, title))


def write_description(path: Path, layout: Layout, title: str = "") -> None:
    """Write what an archive says beside its frames, for frames that are kept elsewhere."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        _put_arrays(archive, description(layout, title))


def read_description(path: str | os.PathLike) -> tuple[Layout, str]:
    """Layout and title that `write_description` wrote.

    Raises:
        FileError: The file is missing or damaged.
    """
    with _reading(path):
        arrays = _mapped(path)
        return _layout(arrays), str(arrays["title"])


def read_npz(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """Read an archive that `write_npz` wrote.

    Returns:
        The arrays by name, as in the module's description.

    Raises:
        FileError: The file is missing, is no such archive, is cut short, or holds pickled objects.
    """
    try:
        require_regular(path)
        # NumPy does not close a file of its own that it cannot read
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise FileError(f"{path}: is a single NumPy array, not an archive")
            arrays = {name: archive[name] for name in archive.files}
    except FileError:
        raise
    except Exception as error:  # zipfile, zlib and numpy have an error of their own for each kind of damage
        raise FileError(f"{path}: cannot be read as a NumPy archive: {reason(error)}") from error
    missing = {"times", "positions", "velocities", "body_positions", "body_rotations"} - arrays.keys()
    if missing:
        raise FileError(f"{path}: is no run of shinari: {', '.join(sorted(missing))} missing")
    counts = {len(arrays[name]) for name in ("times", "positions", "velocities", "body_positions", "body_rotations")}
    if len(counts) != 1:
        raise FileError(f"{path}: its arrays disagree about the number of frames: {sorted(counts)}")
    return arrays


class NpzFrames:
    """The frames of an archive, mapped from the file; see `shinari.io.run_reader.Source`.

    Raises:
        FileError: The file is no such archive, or was written before archives held all that is needed.
    """

    def __init__(self, path: str | os.PathLike) -> None:
        with _reading(path):
            self._arrays = _mapped(path)
            self.layout = _layout(self._arrays)
            self.title = str(self._arrays["title"])
            self.times = checked_times(self._arrays["times"])
            self._columns = self._frame_columns()
        self._check(path)

    def rows(self, name: str, first: int, last: int) -> np.ndarray:
        """Rows of a field of the frames, (last - first, ...)."""
        arrays = [array[first:last] for array in self._columns.get(name, [])]
        return np.concatenate(arrays, axis=1) if arrays else np.zeros((last - first, 0))

    def close(self) -> None:
        """Let go of the file: the maps end with their last reader."""
        self._arrays.clear()
        self._columns.clear()

    def _check(self, path: str | os.PathLike) -> None:
        """Refuse arrays that do not hold as many frames, or as much in each, as the layout says."""
        count = len(self.times)
        for name, shape in frame_shapes(self.layout).items():
            arrays = self._columns.get(name, [])
            shapes = [(count, array.shape[1] if array.ndim > 1 else 0, *shape[1:]) for array in arrays]
            fit = all(a.shape == s and is_numeric(a.dtype) for a, s in zip(arrays, shapes, strict=True))
            if not fit or sum(s[1] for s in shapes) != shape[0]:
                found = ", ".join(f"{array.shape} of {array.dtype}" for array in arrays)
                raise FileError(f"{path}: {name} have shape {found}, expected numbers of shape {(count, *shape)}")

    def _frame_columns(self) -> dict[str, list[np.ndarray]]:
        """The arrays that make each field of the frames, side by side."""
        arrays, layout = self._arrays, self.layout
        columns = {name: [arrays[name]] for name in ("positions", "velocities", *BODY_FIELDS)}
        columns |= {name: [arrays[name]] for name in (MEASURED if layout.measured else ())}
        if layout.measured and arrays["measures"].shape[1:] == (len(MEASURES_0_1),):
            columns["measures"].append(np.full((len(arrays["measures"]), 1), np.nan))
        columns["drawn"] = [arrays[f"drawn_{name}"] for name in layout.varying]
        columns["densities"] = [arrays[f"density_{name}"] for name in layout.fluids]
        return columns


def _put_arrays(archive: zipfile.ZipFile, arrays: dict[str, np.ndarray]) -> None:
    for name, array in arrays.items():
        with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
            np.lib.format.write_array(stream, array, allow_pickle=False)


def _put_frames(
    archive: zipfile.ZipFile, name: str, frames: np.ndarray, field: str, where: slice | None = None
) -> None:
    column = frames[field] if where is None else frames[field][:, where]
    header = {"descr": np.lib.format.dtype_to_descr(column.dtype), "fortran_order": False, "shape": column.shape}
    step = max(1, CHUNK_BYTES // max(1, frames.dtype.itemsize))
    with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
        np.lib.format.write_array_header_1_0(stream, header)
        for first in range(0, len(column), step):
            stream.write(np.ascontiguousarray(column[first : first + step]).tobytes())


def description(layout: Layout, title: str) -> dict[str, np.ndarray]:
    """All that an archive says beside its frames, by name."""
    arrays = {
        "title": np.array(title, dtype=np.str_),
        "frames_per_second": np.array(layout.frames_per_second, np.float64),
        "particle_count": np.array(layout.particle_count, np.int64),
        "vertex_count": np.array(layout.vertex_count, np.int64),
        "part_names": np.array([part.name for part in layout.parts], dtype=np.str_),
        "part_kinds": np.array([part.kind for part in layout.parts], dtype=np.str_),
        "part_radii": np.array([part.radius for part in layout.parts], np.float64),
        **{f"part_{flag}": np.array([getattr(part, flag) for part in layout.parts], bool) for flag in PART_FLAGS},
        CLOSED: np.array([part.closed for part in layout.parts], bool),
        "body_names": np.array([body.name for body in layout.bodies], dtype=np.str_),
        "body_kinds": np.array(["rigid" if body.rigid else "collider" for body in layout.bodies], dtype=np.str_),
    }
    if layout.measured:
        arrays["measure_names"] = np.array(MEASURES, dtype=np.str_)
    for part in layout.parts:
        arrays[f"range_{part.name}"] = np.array([part.start, part.stop], np.int64)
        if part.faces is not None:
            arrays[f"faces_{part.name}"] = np.asarray(part.faces, np.int32)
    for body in layout.bodies:
        arrays[f"body_vertices_{body.name}"] = np.asarray(body.vertices, np.float32)
        arrays[f"body_faces_{body.name}"] = np.asarray(body.faces, np.int32)
    return arrays


def _layout(arrays: dict[str, np.ndarray]) -> Layout:
    """The layout that `description` describes."""
    parts = []
    names, kinds = _texts(arrays, "part_names"), _texts(arrays, "part_kinds")
    for k, (name, kind, radius) in enumerate(zip(names, kinds, arrays["part_radii"], strict=True)):
        start, stop = (int(end) for end in arrays[f"range_{name}"])
        faces = np.asarray(arrays[f"faces_{name}"], np.int64) if kind == "mesh" else None
        flags = {flag: bool(arrays[f"part_{flag}"][k]) for flag in PART_FLAGS}
        closed = CLOSED in arrays and bool(arrays[CLOSED][k])
        parts.append(DrawnPart(name, kind, start, stop, faces, float(radius), closed=closed, **flags))
    bodies = [
        Body(name, checked_vertices(arrays[f"body_vertices_{name}"]), arrays[f"body_faces_{name}"], kind == "rigid")
        for name, kind in zip(_texts(arrays, "body_names"), _texts(arrays, "body_kinds"), strict=True)
    ]
    rate, measured = float(arrays["frames_per_second"]), "measure_names" in arrays
    measures = _texts(arrays, "measure_names") if measured else []
    if measured and tuple(measures) not in (MEASURES, MEASURES_0_1):
        raise ValueError(f"measure_names are {short(', '.join(measures))}")
    counts = int(arrays["particle_count"]), int(arrays["vertex_count"])
    return Layout(tuple(parts), tuple(bodies), counts[0], rate, counts[1], measured)


def _texts(arrays: dict[str, np.ndarray], name: str) -> list[str]:
    """A list of names or kinds."""
    array = arrays[name]
    if array.ndim != 1 or array.dtype.kind != "U":
        raise ValueError(f"{name} have shape {array.shape} of {array.dtype}, expected texts, one after the other")
    return array.tolist()


@contextmanager
def _reading(path: str | os.PathLike) -> Iterator[None]:
    """Says which file it was that could not be read, and why."""
    try:
        require_regular(path)
        yield
    except KeyError as error:
        raise FileError(f"{path}: is no run of shinari, or one of an older version: {error} missing") from error
    except FileError:
        raise
    except (Exception, MemoryError) as error:  # zipfile and numpy have an error of their own for each kind of damage
        raise FileError(f"{path}: cannot be read as a run of shinari: {reason(error)}") from error


def _mapped(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """The arrays of an archive, those of some size mapped from the file."""
    arrays = {}
    with zipfile.ZipFile(path) as archive, open(path, "rb") as stream:
        for entry in archive.infolist():
            if entry.compress_type != zipfile.ZIP_STORED or not entry.filename.endswith(".npy"):
                raise ValueError(f"{entry.filename} is compressed or no array: shinari writes no such archive")
            # the local header: 30 bytes, with the lengths of the name and of the extra field at its end
            stream.seek(entry.header_offset)
            header = stream.read(30)
            stream.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), os.SEEK_CUR)
            arrays[entry.filename.removesuffix(".npy")] = _map_array(path, stream)
    return arrays


def _map_array(path: str | os.PathLike, stream: IO[bytes]) -> np.ndarray:
    """The array in NumPy's format that begins where the stream is."""
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(stream)
    if dtype.hasobject or fortran:
        raise ValueError("it holds Python objects or columns first: shinari writes no such archive")
    if 0 in shape:
        return np.zeros(shape, dtype)
    size = math.prod(shape) * dtype.itemsize
    if size <= SMALL:
        return np.frombuffer(stream.read(size), dtype).reshape(shape)
    return np.memmap(path, dtype, mode="r", offset=stream.tell(), shape=shape)
