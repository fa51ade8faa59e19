"""PC2 point cache: the vertices of one mesh in every frame, for Blender and 3ds Max.

    offset  0   "POINTCACHE2" and a zero
           12   int32 version, 1
           16   int32 points
           20   float32 first frame, 0
           24   float32 frames from one sample to the next, 1
           28   int32 samples
           32   float32 x y z [m] of each point of the first sample, then of the next, little-endian

The format holds one mesh. A run with one part is `cloth.pc2`; with several they are `cloth_<part>.pc2`, and the rigid
bodies and the colliders are one mesh each, in the world: `cloth_bodies.pc2`, `cloth_colliders.pc2`. Beside each there
is the mesh of the first frame, with the same vertices in the same order, to put the cache on: `cloth.pc2.obj`. Axes
and units are those of shinari, Y up and metres.

The caches grow in the folder `cloth.partial.pc2/`, the count in the header after each frame, so that a run that is
killed leaves all of its full frames readable. When the run is over the files move to their place.
"""

import os
import re
import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass
from io import RawIOBase
from pathlib import Path

import numpy as np

from shinari.check import LONGEST_NAME
from shinari.errors import FileError
from shinari.geometry.files.obj import format_obj
from shinari.io.file_writer import FileWriter
from shinari.io.results import BodyPoints, Frame, Layout
from shinari.io.usd import different
from shinari.io.vertex_animation import AnimatedMesh, animated_meshes
from shinari.partial_files import reserve

HEADER = struct.Struct("<12siiffi")


def header(points: int, samples: int) -> bytes:
    """Header of a cache."""
    return HEADER.pack(b"POINTCACHE2", 1, points, 0.0, 1.0, samples)


@dataclass(frozen=True, eq=False)
class CachedMesh:
    """A mesh that gets a file of its own.

    Attributes:
        name: Name of the file without its extension.
        count: Number n of its vertices.
        faces: Triangles, shape (F, 3).
        line: Whether its vertices are joined to a line in their order.
        vertices: Gives the vertices [m] of a frame, shape (n, 3).
    """

    name: str
    count: int
    faces: np.ndarray
    line: bool
    vertices: Callable[[Frame], np.ndarray]

    def obj(self, frame: Frame) -> str:
        """Text of an OBJ file with the mesh of a frame."""
        text = format_obj(np.asarray(self.vertices(frame), np.float32), self.faces)
        return text + (f"l {' '.join(map(str, range(1, self.count + 1)))}\n" if self.line else "")


def cached_meshes(path: Path, layout: Layout) -> list[CachedMesh]:
    """The meshes of a run, each with the name of its file.

    Raises:
        FileError: A part tears or flows, or the name of the file leaves no room for those of its parts.
    """
    parts = animated_meshes(path, layout)
    room = LONGEST_NAME - len(os.fsencode(f"{path.stem}__9999{path.suffix}.obj"))
    names = [
        _fitting(re.sub(r"\W", "_", name), room) for name in (*(part.name for part in parts), "bodies", "colliders")
    ]
    names = different(names)
    meshes = [
        CachedMesh(
            path.stem if len(parts) == 1 else f"{path.stem}_{name}",
            part.count,
            part.cells,
            part.kind == "curve",
            _rows(part),
        )
        for name, part in zip(names, parts, strict=False)
    ]
    for name, rigid in zip(names[len(parts) :], (True, False), strict=True):
        which = [index for index, body in enumerate(layout.bodies) if body.rigid is rigid]
        if which:
            points = BodyPoints(layout, which)
            starts = np.cumsum([0, *(len(layout.bodies[index].vertices) for index in which)])
            faces = [np.asarray(layout.bodies[k].faces) + start for k, start in zip(which, starts, strict=False)]
            meshes.append(
                CachedMesh(f"{path.stem}_{name}", points.count, np.concatenate(faces), False, points.positions)
            )
    longest = max((len(os.fsencode(f"{mesh.name}{path.suffix}.obj")) for mesh in meshes), default=0)
    if longest > LONGEST_NAME:
        raise FileError(
            f"{path}: its name is too long: the files of its meshes would have names of {longest} bytes; expected at "
            f"most {LONGEST_NAME}"
        )
    return meshes


class Pc2Writer(FileWriter):
    """Writes the point caches of a run frame by frame."""

    def __init__(self, path: str | os.PathLike, layout: Layout, *, title: str = "") -> None:
        super().__init__(path, layout, title=title)
        self._meshes = cached_meshes(self.path, layout)
        self._folder = reserve(self.path, folder=True)

    def _append(self, frame: Frame) -> None:
        for mesh in self._meshes:
            if self.frame_count == 0:
                (self._folder / f"{mesh.name}{self.path.suffix}.obj").write_text(mesh.obj(frame), encoding="ascii")
                self._cache(mesh).write_bytes(header(mesh.count, 0))
            # opened each time: a scene may have more parts than a process may have files
            with self._cache(mesh).open("rb+", buffering=0) as stream:
                data = np.ascontiguousarray(mesh.vertices(frame), "<f4").tobytes()
                _put(stream, HEADER.size + self.frame_count * len(data), data)
                _put(stream, 0, header(mesh.count, self.frame_count + 1))

    def _cache(self, mesh: CachedMesh) -> Path:
        """The growing file of a mesh."""
        return self._folder / f"{mesh.name}{self.path.suffix}"

    def _finish(self) -> None:
        for file in self._whole():
            _to_disk(file)
            os.replace(file, self.path.with_name(file.name))
        self._drop()

    def _whole(self) -> list[Path]:
        """The files of the result, in the folder."""
        return sorted(self._folder.iterdir())

    def _keep(self) -> Path:
        self._whole()
        return self._folder

    def _drop(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _left(self) -> Path | None:
        if self.frame_count == 0:
            self._drop()
        return self._folder


def _fitting(name: str, room: int) -> str:
    """As much of a name as has room in that of a file [bytes]."""
    return os.fsencode(name)[: max(room, 1)].decode(errors="ignore")


def _rows(part: AnimatedMesh) -> Callable[[Frame], np.ndarray]:
    return lambda frame: np.asarray(frame.positions)[part.rows]


def _put(stream: RawIOBase, offset: int, data: bytes) -> None:
    stream.seek(offset)
    rest = memoryview(data)
    while rest:
        rest = rest[stream.write(rest) or 0 :]


def _to_disk(file: Path) -> None:
    with file.open("rb+") as stream:
        os.fsync(stream.fileno())
