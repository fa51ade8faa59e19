"""NumPy archive `.npz`: every point of every frame, to be read with `numpy.load` anywhere.

`times (T,)` [s], `positions (T, P, 3)` [m], `velocities (T, P, 3)` [m/s]: first the `particle_count` particles, then
the vertices of the surfaces that are shown in place of particles; `title`, `frames_per_second`; `part_names`,
`part_kinds`, `part_radii` and for each part `range_<name>` (start, stop) of its points and, for meshes, `faces_<name>`
(F, 3), which count from the start; `drawn_<name>` (T, F) or, for the segments of a curve, (T, S), says of a part that
can tear what of it is there, and (T, N) of a fluid that flows in and out which of its particles are: the others wait
and are not to be shown. `density_<name>` (T, N) [kg/m^3] belongs to fluids.

`body_positions (T, B, 3)` [m], `body_rotations (T, B, 4)` w x y z, `body_velocities (T, B, 3)` [m/s] of the origins of
which the positions tell, `body_angular_velocities (T, B, 3)` [rad/s]: first the rigid bodies, then the colliders;
`body_names`, `body_kinds` (`rigid` or `collider`) and for each `body_vertices_<name>` (V, 3) and `body_faces_<name>`
(F, 3). Nothing is pickled, nothing is compressed.
"""

import os
import zipfile
from pathlib import Path

import numpy as np

from shinari.errors import FileError
from shinari.files.partial import reason
from shinari.files.results import BODY_FIELDS, Layout

CHUNK_BYTES = 16 * 2**20
"""Bytes of frames that are in memory at a time while the archive is written."""


def write_npz(path: Path, layout: Layout, frames: np.ndarray, title: str = "") -> None:
    """Write a run as one archive.

    Args:
        path: File to write.
        layout: What the frames hold.
        frames: Structured array as `shinari.files.spool.frame_dtype` says, shape (T,); may be mapped from a file.
        title: One line about the run.
    """
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        _put_frames(archive, "times", frames, "time")
        for name in ("positions", "velocities", *BODY_FIELDS):
            _put_frames(archive, name, frames, name)
        for name, where in layout.varying.items():
            _put_frames(archive, f"drawn_{name}", frames, "drawn", where)
        for name, where in layout.fluids.items():
            _put_frames(archive, f"density_{name}", frames, "densities", where)
        for name, array in _description(layout, title).items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)


def read_npz(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """Read an archive that `write_npz` wrote.

    Returns:
        The arrays by name, as in the module's description.

    Raises:
        FileError: The file is missing, is no such archive, is cut short, or holds pickled objects.
    """
    try:
        with np.load(path, allow_pickle=False) as archive:
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


def _description(layout: Layout, title: str) -> dict[str, np.ndarray]:
    arrays = {
        "title": np.array(title, dtype=np.str_),
        "frames_per_second": np.array(layout.frames_per_second, np.float64),
        "particle_count": np.array(layout.particle_count, np.int64),
        "part_names": np.array([part.name for part in layout.parts], dtype=np.str_),
        "part_kinds": np.array([part.kind for part in layout.parts], dtype=np.str_),
        "part_radii": np.array([part.radius for part in layout.parts], np.float32),
        "body_names": np.array([body.name for body in layout.bodies], dtype=np.str_),
        "body_kinds": np.array(["rigid" if body.rigid else "collider" for body in layout.bodies], dtype=np.str_),
    }
    for part in layout.parts:
        arrays[f"range_{part.name}"] = np.array([part.start, part.stop], np.int64)
        if part.faces is not None:
            arrays[f"faces_{part.name}"] = np.asarray(part.faces, np.int32)
    for body in layout.bodies:
        arrays[f"body_vertices_{body.name}"] = np.asarray(body.vertices, np.float32)
        arrays[f"body_faces_{body.name}"] = np.asarray(body.faces, np.int32)
    return arrays
