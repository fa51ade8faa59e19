"""VTKHDF `.vtkhdf`: a cache that ParaView opens and that the frames can be read back from. Needs the extra [cache].

The layout is the transient PolyData of the VTKHDF specification, https://docs.vtk.org, version 2. The topology is
stored once: every step begins at the same cells and only its points and velocities move on. Where something has torn,
or particles of a fluid have come or gone, new cells are stored, and from then on the steps begin there.

    /VTKHDF                  Type "PolyData", Version (2, 0)
      Points                 (T P, 3) float32 [m], the points of all frames, one frame after the other: the N particles,
                             the vertices of the surfaces that are shown in place of particles, and those of the rigid
                             bodies where they are; colliders are not among them, which may be large and stand still
      PointData/velocity     (T P, 3) float32 [m/s]
      PointData/density      (T P,) float32 [kg/m^3], where there is a fluid; 0 for what is none
      PointData/strain       (T P,) float32, of a run that was measured; 0 for bodies
      PointData/force        (T P,) float32 [N], likewise
      Polygons, Lines, Vertices, Strips     cells of the meshes and bodies, curves and points; indices of points
      Steps                  NSteps, Values (T,) [s], offsets
    /shinari                 not looked at by ParaView
      body_positions (T, B, 3), body_rotations (T, B, 4), body_velocities (T, B, 3), body_angular_velocities (T, B, 3),
      body_vertices_<i>, body_faces_<i>, names and kinds of bodies, names, kinds and ranges of parts,
      part_faces_<i> of meshes, part_radii and flags, see `shinari.io.results.DrawnPart`
      drawn (T, H), measures (T, M) float64, see `shinari.io.results.Frame`; there when H, M are not 0

The frames are written in place, to `name.partial.vtkhdf`, and flushed one by one. A run may be killed between any two
writes of a flush, and what it leaves is readable: a step counts only when all of it is in the file, and the format of
HDF5 1.10 finds the chunks of growing data in tables that only grow; the trees of older formats are rebuilt in place.
"""

import io
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from shinari.errors import require
from shinari.io.file_writer import FileWriter
from shinari.io.results import BODY_FIELDS, CLOSED, MEASURES, PART_FLAGS, BodyPoints, Frame, Layout, frame_shapes
from shinari.partial_files import discard, publish, reserve, scratch

CELL_KINDS = ("Vertices", "Lines", "Polygons", "Strips")
"""The groups of cells, in the order that the specification counts them in."""


class VtkhdfWriter(FileWriter):
    """Writes a VTKHDF file frame by frame."""

    def __init__(self, path: str | os.PathLike, layout: Layout, *, title: str = "") -> None:
        super().__init__(path, layout, title=title)
        self._bodies = BodyPoints(layout, [index for index, body in enumerate(layout.bodies) if body.rigid])
        self._count = layout.point_count + self._bodies.count
        h5py = require("h5py", "cache")
        try:
            # what makes a file of HDF5 readable is written last: until then a killed run leaves none
            with scratch(self.path.parent) as folder:
                self._partial = folder / self.path.name
                self._stream = Stream(self._partial, "wb+")
                self._begin(h5py)
                self._partial = reserve(self.path)
                self._stream.move(self._partial)
        except Exception as error:
            self._refuse(error)

    def _begin(self, h5py: Any) -> None:
        """Write the file without frames."""
        self._file = h5py.File(self._stream, "w", libver=("v110", "v110"))
        self._root = self._file.create_group("VTKHDF")
        self._root.attrs.create("Version", (2, 0), dtype="i8")
        self._root.attrs.create("Type", np.bytes_("PolyData"))
        self._define_cells()
        self._define_steps()
        self._describe()
        self._flush()

    def _define_cells(self) -> None:
        count = self._count
        _growing(self._root, "NumberOfPoints", (), "i8", 64)
        for name in CELL_KINDS:
            group = self._root.create_group(name)
            for counts in ("NumberOfConnectivityIds", "NumberOfCells"):
                _growing(group, counts, (), "i8", 64)
            for table in ("Connectivity", "Offsets"):
                _growing(group, table, (), "i8", 4096)
        self._begin_cells(np.ones(frame_shapes(self.layout)["drawn"], bool))
        self._points = _growing(self._root, "Points", (3,), "f4", count)
        data = self._root.create_group("PointData")
        self._velocities = _growing(data, "velocity", (3,), "f4", count)
        self._scalars = {name: _growing(data, name, (), "f4", count) for name in self._scalar_names()}

    def _scalar_names(self) -> list[str]:
        """Values of points that the frames have."""
        return [*(["density"] if self.layout.fluids else []), *(["strain", "force"] if self.layout.measured else [])]

    def _begin_cells(self, drawn: np.ndarray) -> None:
        """Store the cells of frames in which these triangles and segments are drawn, for the steps from now on."""
        self._drawn = np.array(drawn)
        self._piece = self._root["NumberOfPoints"].shape[0]
        _append(self._root["NumberOfPoints"], [self._count])
        self._first_cells, self._first_ids = [], []
        for name, (connectivity, offsets) in _cells(self.layout, drawn).items():
            group = self._root[name]
            # the offsets of a piece have one entry more than it has cells
            self._first_cells.append(group["Offsets"].shape[0] - self._piece)
            self._first_ids.append(group["Connectivity"].shape[0])
            _append(group["NumberOfConnectivityIds"], [len(connectivity)])
            _append(group["NumberOfCells"], [len(offsets) - 1])
            _append(group["Connectivity"], connectivity)
            _append(group["Offsets"], offsets)

    def _define_steps(self) -> None:
        steps = self._root.create_group("Steps")
        steps.attrs.create("NSteps", 0, dtype="i8")
        self._steps = steps
        self._times = _growing(steps, "Values", (), "f8", 256)
        data = steps.create_group("PointDataOffsets")
        self._point_offsets = [
            _growing(steps, "PointOffsets", (), "i8", 256),
            _growing(data, "velocity", (), "i8", 256),
        ]
        self._point_offsets += [_growing(data, name, (), "i8", 256) for name in self._scalar_names()]
        # Every step is one part, whose cells begin where they began in the step before, unless something has torn.
        self._starts = {
            "PartOffsets": _growing(steps, "PartOffsets", (), "i8", 256),
            "NumberOfParts": _growing(steps, "NumberOfParts", (), "i8", 256),
            "CellOffsets": _growing(steps, "CellOffsets", (4,), "i8", 256),
            "ConnectivityIdOffsets": _growing(steps, "ConnectivityIdOffsets", (4,), "i8", 256),
        }

    def _describe(self) -> None:
        own = self._file.create_group("shinari")
        own.attrs["title"] = self.title
        own.attrs["frames_per_second"] = self.layout.frames_per_second
        own.attrs["particle_count"] = self.layout.particle_count
        own.attrs["vertex_count"] = self.layout.vertex_count
        own.attrs["body_vertex_count"] = self._bodies.count
        own.attrs["part_names"] = [part.name for part in self.layout.parts]
        own.attrs["part_kinds"] = [part.kind for part in self.layout.parts]
        own.create_dataset("part_ranges", data=np.array([(p.start, p.stop) for p in self.layout.parts], "i8"))
        own.attrs["part_radii"] = np.array([part.radius for part in self.layout.parts], "f8")
        for name in PART_FLAGS:
            own.attrs[f"part_{name}"] = np.array([getattr(part, name) for part in self.layout.parts], "i1")
        own.attrs[CLOSED] = np.array([part.closed for part in self.layout.parts], "i1")
        for index, part in enumerate(self.layout.parts):
            if part.faces is not None:
                own.create_dataset(f"part_faces_{index}", data=np.asarray(part.faces, "i4"))
        own.attrs["measure_names"] = MEASURES if self.layout.measured else []
        own.attrs["body_names"] = [body.name for body in self.layout.bodies]
        own.attrs["body_kinds"] = ["rigid" if body.rigid else "collider" for body in self.layout.bodies]
        for index, body in enumerate(self.layout.bodies):
            own.create_dataset(f"body_vertices_{index}", data=np.asarray(body.vertices, "f4"))
            own.create_dataset(f"body_faces_{index}", data=np.asarray(body.faces, "i4"))
        shapes, kinds = frame_shapes(self.layout), {"drawn": "i1", "measures": "f8"}
        # HDF5 has no growing dataset of rows without columns
        self._own = {
            name: _growing(own, name, shapes[name], kinds.get(name, "f4"), 64)
            for name in (*BODY_FIELDS, "drawn", "measures")
            if 0 not in shapes[name]
        }

    def _append(self, frame: Frame) -> None:
        step, count = self.frame_count, self._count
        points = self._bodies.positions(frame)
        _append(self._points, np.concatenate([frame.positions, points]))
        _append(self._velocities, np.concatenate([frame.velocities, self._bodies.velocities(frame, points)]))
        for name, dataset in self._scalars.items():
            _append(dataset, self._scalar(name, frame))
        for name, dataset in self._own.items():
            _append(dataset, np.asarray(getattr(frame, name))[None])
        _append(self._times, [frame.time])
        for dataset in self._point_offsets:
            _append(dataset, [step * count])
        if not np.array_equal(frame.drawn, self._drawn):
            self._begin_cells(frame.drawn)
        for name, value in (
            ("PartOffsets", self._piece),
            ("NumberOfParts", 1),
            ("CellOffsets", self._first_cells),
            ("ConnectivityIdOffsets", self._first_ids),
        ):
            _append(self._starts[name], np.array([value]))
        self._flush()
        self._steps.attrs.modify("NSteps", np.int64(step + 1))
        self._flush()

    def _scalar(self, name: str, frame: Frame) -> np.ndarray:
        """Values of all points, 0 for those that have none."""
        values = np.zeros(self._count)
        if name == "density":
            for part in self.layout.parts:
                if part.fluid:
                    values[part.start : part.stop] = np.asarray(frame.densities)[self.layout.fluids[part.name]]
        else:
            values[: self.layout.point_count] = frame.strains if name == "strain" else frame.forces
        return values

    def _flush(self) -> None:
        self._file.flush()
        self._stream.check()

    def _finish(self) -> None:
        publish(self._keep(), self.path)

    def _keep(self) -> Path:
        self._file.close()
        self._stream.close()
        self._stream.check()
        return self._partial

    def _drop(self) -> None:
        self._file.close()
        self._stream.close()
        discard(self._partial)

    def _left(self) -> Path | None:
        if not hasattr(self, "_partial"):
            return None
        if hasattr(self, "_file"):
            self._file.close()
            self._stream.close()
        if self.frame_count == 0:
            discard(self._partial)
        return self._partial


class Stream(io.FileIO):
    """The file below HDF5, which remembers that the disk is full instead of saying so.

    HDF5 that cannot write the end of a file leaves its objects half closed, and the process crashes when they are
    collected (h5py 3.16). So it is told that all went well, nothing more is written, what the last flush left stays as
    it is, and `check` raises the error afterwards.
    """

    error: OSError | None = None

    def move(self, target: Path) -> None:
        """Give the file another name."""
        if os.name == "nt":
            shutil.copyfile(self.name, target)  # Windows moves no open file
        else:
            os.replace(self.name, target)
        super().__init__(target, "rb+")

    def check(self) -> None:
        """Raise the first error, if there was one."""
        if self.error is not None:
            raise self.error

    def write(self, data: Any, /) -> int:
        """Write all bytes, or none any more after an error."""
        rest = memoryview(data).cast("B")
        total = len(rest)
        while rest and self.error is None:
            try:
                rest = rest[super().write(rest) :]
            except OSError as error:
                self.error = error
        return total

    def truncate(self, size: int | None = None, /) -> int:
        """Set the size of the file, but not any more after an error."""
        return super().truncate(size) if self.error is None else size or 0


def _growing(group: Any, name: str, shape: tuple[int, ...], kind: str, chunk: int) -> Any:
    """Empty dataset of rows of the given shape that can grow, stored in chunks of so many rows."""
    chunk_shape = (max(1, min(chunk, 65536)), *(max(1, size) for size in shape))
    return group.create_dataset(name, (0, *shape), kind, maxshape=(None, *shape), chunks=chunk_shape)


def _append(dataset: Any, rows: Any) -> None:
    first = dataset.shape[0]
    dataset.resize(first + len(rows), axis=0)
    if len(rows):
        dataset[first:] = rows


def _cells(layout: Layout, drawn: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Connectivity and offsets of each kind of cell; a curve, or each piece of a torn one, and a point are a cell."""
    varying = layout.varying
    # the points of cells, one cell after the other, and how many each has
    cells: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {kind: [] for kind in CELL_KINDS}
    for part in layout.parts:
        there = drawn[varying[part.name]] if part.varies else np.ones(part.element_count, bool)
        own = np.arange(part.start, part.stop)
        if part.faces is not None:
            cells["Polygons"].append(_triangles(np.asarray(part.faces)[there] + part.start))
        elif part.kind == "curve":
            pieces = [piece for piece in np.split(part.line, np.flatnonzero(~there) + 1) if len(piece) > 1]
            cells["Lines"] += [(piece, np.array([len(piece)])) for piece in pieces]
        else:
            cells["Vertices"].append((own[there], np.ones(int(there.sum()), np.int64)))
    first = layout.point_count
    for body in layout.bodies:
        if body.rigid:
            cells["Polygons"].append(_triangles(np.asarray(body.faces) + first))
            first += len(body.vertices)
    none = np.zeros(0, np.int64)
    result = {}
    for kind, pieces in cells.items():
        connectivity = np.concatenate([none, *(points for points, _ in pieces)]).astype("i8")
        counts = np.concatenate([none, *(count for _, count in pieces)])
        result[kind] = connectivity, np.concatenate([[0], np.cumsum(counts)]).astype("i8")
    return result


def _triangles(faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points of triangles (F, 3), one after the other, and how many each has."""
    return faces.ravel(), np.full(len(faces), 3)
