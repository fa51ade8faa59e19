"""PLY: a sequence of binary files, one a frame, that Blender, Houdini and MeshLab read.

`cloth.ply` stands for `cloth_0000.ply`, `cloth_0001.ply`, ... in the same folder. Each file holds one mesh: the
points of all parts, part after part, then the vertices of the bodies where they are at that moment; the faces of the
meshes and bodies; the lines of the curves as `edge` elements. The particles of points parts are vertices without faces.

While the run goes on the frames are in the folder `cloth.partial/`, each whole as soon as it has its name. When the run
is over they move to their place, and together they replace an earlier sequence of the same name: its frames beyond the
new end are removed too, so that two runs never mix.
"""

import os
import re
import shutil
from pathlib import Path

import numpy as np

from shinari.files.partial import FileWriter, reserve
from shinari.files.results import BodyPoints, Frame, Layout, frame_shapes


class PlyWriter(FileWriter):
    """Writes one PLY file a frame."""

    def __init__(self, path: str | os.PathLike, layout: Layout, *, title: str = "") -> None:
        super().__init__(path, layout, title=title)
        self._cells(np.ones(frame_shapes(layout)["drawn"], bool))
        self._bodies = BodyPoints(layout, range(len(layout.bodies)))
        self._folder = reserve(self.path, "", folder=True)

    def _append(self, frame: Frame) -> None:
        if not np.array_equal(frame.drawn, self._drawn):
            self._cells(frame.drawn)
        vertices = merged_vertices(self.layout, self._bodies, frame)
        name = self._folder / self._name(self.frame_count)
        unfinished = self._folder / "unfinished"
        with unfinished.open("wb", buffering=0) as stream:
            for data in (self._header, vertices.tobytes(), self._tail):
                rest = memoryview(data)
                while rest:
                    rest = rest[stream.write(rest) :]
        os.replace(unfinished, name)

    def _cells(self, drawn: np.ndarray) -> None:
        """Header and cells of frames in which these triangles and segments are drawn."""
        self._drawn = np.array(drawn)
        faces, edges, count = _topology(self.layout, drawn)
        self._header = _header(count, len(faces), len(edges), self.title)
        self._tail = face_bytes(faces) + edges.astype("<i4").tobytes()

    def _finish(self) -> None:
        for index in range(self.frame_count):
            os.replace(self._folder / self._name(index), self.path.with_name(self._name(index)))
        self._folder.rmdir()
        pattern = re.compile(re.escape(self.path.stem) + r"_(\d{4,})" + re.escape(self.path.suffix))
        for other in self.path.parent.iterdir():
            match = pattern.fullmatch(other.name)
            if match and int(match[1]) >= self.frame_count:
                other.unlink()

    def _keep(self) -> Path:
        return self._folder

    def _drop(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _left(self) -> Path | None:
        (self._folder / "unfinished").unlink(missing_ok=True)
        if self.frame_count == 0:
            self._drop()
        return self._folder

    def _name(self, index: int) -> str:
        return f"{self.path.stem}_{index:04d}{self.path.suffix}"


def merged_vertices(layout: Layout, bodies: BodyPoints, frame: Frame) -> np.ndarray:
    """Vertices of a frame [m], float32, shape (V, 3): the parts one after the other, then the bodies in the world."""
    pieces = [np.asarray(frame.positions)[part.start : part.stop] for part in layout.parts]
    return np.concatenate([np.zeros((0, 3)), *pieces, bodies.positions(frame)]).astype("<f4")


def face_bytes(faces: np.ndarray) -> bytes:
    """Faces, shape (F, 3), as PLY lists: a count byte and three int32 each."""
    rows = np.empty(len(faces), np.dtype([("count", "u1"), ("corners", "<i4", 3)]))
    rows["count"] = 3
    rows["corners"] = faces
    return rows.tobytes()


def _topology(layout: Layout, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    faces, edges, first = [np.zeros((0, 3), np.int64)], [np.zeros((0, 2), np.int64)], 0
    tearing = layout.tearing
    for part in layout.parts:
        count = part.stop - part.start
        there = drawn[tearing[part.name]] if part.tears else slice(None)
        if part.faces is not None:
            faces.append(np.asarray(part.faces, np.int64)[there] + first)
        elif part.kind == "curve" and count > 1:
            chain = np.arange(first, first + count)
            edges.append(np.stack([chain[:-1], chain[1:]], axis=1)[there])
        first += count
    for body in layout.bodies:
        faces.append(np.asarray(body.faces, np.int64) + first)
        first += len(body.vertices)
    return np.concatenate(faces), np.concatenate(edges), first


def _header(vertex_count: int, face_count: int, edge_count: int, title: str) -> bytes:
    lines = ["ply", "format binary_little_endian 1.0"]
    if title:
        lines.append("comment " + title.encode("ascii", "replace").decode().replace("\n", " ").replace("\r", " "))
    lines += [f"element vertex {vertex_count}", *(f"property float {axis}" for axis in "xyz")]
    lines += [f"element face {face_count}", "property list uchar int vertex_indices"]
    if edge_count:
        lines += [f"element edge {edge_count}", "property int vertex1", "property int vertex2"]
    return "\n".join([*lines, "end_header", ""]).encode("ascii")
