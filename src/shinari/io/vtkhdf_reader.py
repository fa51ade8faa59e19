"""The frames of a VTKHDF file that shinari wrote, read one by one; see `shinari.io.vtkhdf`."""

import math
import os
from typing import Any

import numpy as np

from shinari.check import short
from shinari.errors import FileError, require
from shinari.io.results import (
    CLOSED,
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

POINT_FIELDS = {
    "positions": "Points",
    "velocities": "PointData/velocity",
    "strains": "PointData/strain",
    "forces": "PointData/force",
}
"""Where the values of the points are, by the field of a frame."""
MOST_COMPRESSED = 1100
"""Bytes that one byte of a file can stand for: what Deflate, which other programs may apply, reaches at most."""


class VtkhdfFrames:
    """The frames of a file, a partial one too; see `shinari.io.run_reader.Source`.

    Raises:
        MissingExtraError: h5py is not installed.
        FileError: The file is no such file, or was written before files held all that is needed.
    """

    def __init__(self, path: str | os.PathLike) -> None:
        h5py = require("h5py", "cache")
        try:
            self._file = h5py.File(path, "r")
        except Exception as error:  # h5py turns the errors of the HDF5 library into half a dozen types
            raise FileError(f"{path}: cannot be read as a VTKHDF file: {reason(error)}") from error
        try:
            self._begin(path)
        except BaseException:
            self._file.close()
            raise

    def rows(self, name: str, first: int, last: int) -> np.ndarray:
        """Rows of a field of the frames, (last - first, ...)."""
        shape = frame_shapes(self.layout)[name]
        if 0 in shape:
            return np.zeros((last - first, *shape))
        if name == "densities":
            points = self._points("PointData/density", first, last)
            return np.concatenate([points[:, p.start : p.stop] for p in self.layout.parts if p.fluid], axis=1)
        if name in POINT_FIELDS:
            return self._points(POINT_FIELDS[name], first, last)[:, : shape[0]]
        rows = self._file["shinari"][name][first:last]
        if name == "measures" and rows.shape[1] == len(MEASURES_0_1):
            rows = np.concatenate([rows, np.full((len(rows), 1), np.nan)], axis=1)
        return rows.astype(bool) if name == "drawn" else rows

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _begin(self, path: str | os.PathLike) -> None:
        try:
            _check_own(self._file)
            own, steps = self._file["shinari"], self._file["VTKHDF/Steps"]
            self.layout, self.title = _layout(own), str(own.attrs["title"])
            count = int(steps.attrs["NSteps"])
            self.times = checked_times(_rows(steps["Values"], count))
            self._count = self.layout.point_count + sum(len(b.vertices) for b in self.layout.bodies if b.rigid)
            if own.attrs["body_vertex_count"] != self._count - self.layout.point_count:
                raise ValueError(
                    f"body_vertex_count is {short(own.attrs['body_vertex_count'])}, its bodies have another"
                )
            self._check(path, count)
        except KeyError as error:
            raise FileError(f"{path}: is no run of shinari, or one of an older version: {reason(error)}") from error
        except FileError:
            raise
        except (Exception, MemoryError) as error:  # as above
            raise FileError(f"{path}: is damaged: {reason(error)}") from error

    def _check(self, path: str | os.PathLike, count: int) -> None:
        """Refuse tables that end before the last frame."""
        if len(self.times) != count:
            raise FileError(f"{path}: has {len(self.times)} times for {count} steps")
        for name, shape in frame_shapes(self.layout).items():
            if 0 in shape:
                continue
            place = POINT_FIELDS.get(name, "PointData/density" if name == "densities" else None)
            dataset = self._file["shinari"][name] if place is None else self._file["VTKHDF"][place]
            needed, rows = (count, shape) if place is None else (count * self._count, shape[1:])
            shapes = (rows, (len(MEASURES_0_1),)) if name == "measures" else (rows,)
            if dataset.shape[0] < needed or dataset.shape[1:] not in shapes or not is_numeric(dataset.dtype):
                raise FileError(
                    f"{path}: {dataset.name} has shape {dataset.shape} of {dataset.dtype}, expected numbers for "
                    f"{count} steps"
                )
            _check_stored(dataset, needed)

    def _points(self, place: str, first: int, last: int) -> np.ndarray:
        """Values of all points in some frames, (last - first, P, ...)."""
        rows = self._file["VTKHDF"][place][first * self._count : last * self._count]
        return rows.reshape(last - first, self._count, *rows.shape[1:])


def _check_own(group: Any) -> None:
    """Refuse what a file takes from elsewhere: HDF5 would open any file, or pipe, that it names."""
    for name in group:
        link = type(group.get(name, getlink=True)).__name__
        if link != "HardLink":
            raise ValueError(f"{name} in {group.name} is a link: shinari writes no such file")
        item = group[name]
        if hasattr(item, "keys"):
            _check_own(item)
        elif item.external or item.is_virtual:
            raise ValueError(f"{item.name} is kept in another file: shinari writes no such file")


def _check_stored(dataset: Any, rows: int) -> None:
    """Refuse rows that no file of this size can hold: HDF5 makes as many as the header says, of nothing."""
    size = rows * math.prod(dataset.shape[1:]) * dataset.dtype.itemsize
    if size > MOST_COMPRESSED * dataset.file.id.get_filesize():
        raise ValueError(f"{dataset.name} has shape {dataset.shape}, and the file does not hold that much")


def _rows(dataset: Any, count: int) -> np.ndarray:
    """The first rows of a dataset; those that follow may not be whole in what a killed run has left."""
    _check_stored(dataset, count)
    return dataset[:count]


def _whole(dataset: Any) -> np.ndarray:
    """All of a dataset."""
    return _rows(dataset, dataset.shape[0])


def _layout(own: Any) -> Layout:
    """The layout that `VtkhdfWriter` described."""
    attributes, parts = own.attrs, []
    names = [str(name) for name in attributes["part_names"]]
    ranges, radii = _whole(own["part_ranges"]).reshape(-1, 2), attributes["part_radii"]
    flags = {flag: np.asarray(attributes[f"part_{flag}"]).astype(bool).tolist() for flag in PART_FLAGS}
    for index, (name, kind) in enumerate(zip(names, attributes["part_kinds"], strict=True)):
        start, stop = ranges[index].tolist()
        faces = _whole(own[f"part_faces_{index}"]).astype(np.int64) if kind == "mesh" else None
        own_flags = {flag: values[index] for flag, values in flags.items()}
        own_flags["closed"] = CLOSED in attributes and bool(attributes[CLOSED][index])
        parts.append(DrawnPart(name, str(kind), start, stop, faces, float(radii[index]), **own_flags))
    bodies = [
        Body(
            str(name),
            checked_vertices(_whole(own[f"body_vertices_{index}"])),
            _whole(own[f"body_faces_{index}"]),
            kind == "rigid",
        )
        for index, (name, kind) in enumerate(zip(attributes["body_names"], attributes["body_kinds"], strict=True))
    ]
    measures = tuple(map(str, attributes["measure_names"]))
    if measures not in ((), MEASURES, MEASURES_0_1):
        raise ValueError(f"measure_names are {short(', '.join(measures))}")
    count, rate = int(attributes["particle_count"]), float(attributes["frames_per_second"])
    return Layout(tuple(parts), tuple(bodies), count, rate, int(attributes["vertex_count"]), bool(measures))
