"""glTF 2.0 `.glb`: a short clip in one file, for the web, game engines and Blender.

https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html. Y up, metres and seconds, as in shinari.

    nodes     one a part, its mesh the first frame with one morph target for each frame after it, which adds the
              differences of the vertices and of their smooth normals; one a body, moved by translation and rotation
    meshes    triangles, a line strip for a curve, points; glTF has no thickness for the last two. A triangle or a
              segment that is not there in all frames has vertices of its own, which meet in one point meanwhile
    animation the weights of the targets, one of them 1 at each frame and all others 0, so that players that go from
              one frame to the next linearly move each vertex on a straight line
    materials one an object, with its colour, rough; both sides are drawn, except of containers

Every player holds all targets at once, and the file as many weights as the square of the frames: a clip is refused when
it has more than `MOST_FRAMES` frames of moving vertices or more than `MOST_BYTES`. The frames are spooled until the run
is over.
"""

import json
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from shinari.errors import FileError
from shinari.io.frame_queue import FrameQueueWriter
from shinari.io.mapped_frames import each_frame
from shinari.io.results import Frame, Layout, body_color, frame_shapes
from shinari.io.vertex_animation import AnimatedMesh, animated_meshes

MOST_FRAMES = 240
"""WebGL 2 promises 256 vectors of uniforms to a vertex shader, and players keep one for each target."""
MOST_BYTES = 256 * 2**20
"""Bytes of morph targets that a clip may have."""

FLOAT, UNSIGNED_INT = 5126, 5125
ARRAY_BUFFER, ELEMENT_ARRAY_BUFFER = 34962, 34963
MODES = {"points": 0, "curve": 3, "mesh": 4}
LINES = 1


class GlbWriter(FrameQueueWriter):
    """Spools the frames of a clip and refuses what is too large."""

    def __init__(self, path: str | os.PathLike, layout: Layout, *, title: str = "") -> None:
        # as if all that can tear did: more vertices than there will be
        every = np.broadcast_to([[True], [False]], (2, *frame_shapes(layout)["drawn"]))
        parts = animated_meshes(path, layout, every)
        self._vertices = sum(part.count for part in parts)
        self._frame_bytes = sum(frame_bytes(part) for part in parts)
        super().__init__(path, layout, write_glb, title=title)

    def plan(self, count: int) -> None:
        """Refuse a clip that is too large.

        Raises:
            FileError: So many frames are.
        """
        if self._too_many(count):
            raise FileError(f"{self.path}: {self._too_many(count)}")

    def _append(self, frame: Frame) -> None:
        if self._too_many(self.frame_count + 1):
            raise ValueError(self._too_many(self.frame_count + 1))
        super()._append(frame)

    def _too_many(self, count: int) -> str:
        """What is wrong with so many frames."""
        size = count * self._frame_bytes
        if size == 0 or (count <= MOST_FRAMES and size <= MOST_BYTES):
            return ""
        return (
            f"{count} frames of {self._vertices} vertices are {size / 1e6:.0f} MB of morph targets; .glb is for clips "
            f"of up to {MOST_FRAMES} frames and {MOST_BYTES / 1e6:.0f} MB: write fewer frames a second, or .usdc"
        )


def frame_bytes(part: AnimatedMesh) -> int:
    """Bytes of one frame of a part: positions and, for a mesh, normals."""
    return (24 if part.kind == "mesh" else 12) * part.count


def write_glb(path: Path, layout: Layout, frames: np.ndarray, title: str = "") -> None:
    """Write a run as one binary glTF file.

    Args:
        path: File to write.
        layout: What the frames hold; no part flows.
        frames: Structured array as `shinari.io.frame_queue.frame_dtype` says, shape (T,).
        title: One line about the run, kept as the name of the scene.
    """
    document = _Document(title)
    times = weights = -1
    if len(frames) > 1:
        times = document.floats("SCALAR", frames["time"] - frames["time"][0], bounds=True)
        weights = document.floats("SCALAR", np.eye(len(frames))[:, 1:].ravel())
    for part in animated_meshes(path, layout, frames["drawn"]):
        if part.count:
            _add_part(document, part, layout, frames, times, weights)
    for index in range(len(layout.bodies)):
        _add_body(document, layout, index, frames, times)
    document.write(path)


class _Document:
    """The JSON of a file, and what goes into its buffer, written later piece by piece."""

    def __init__(self, title: str) -> None:
        names = ("nodes", "meshes", "materials", "accessors", "bufferViews")
        self.lists: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        self.channels: list[dict[str, Any]] = []
        self.samplers: list[dict[str, Any]] = []
        self._title = title
        self._pieces: list[Callable[[], Iterator[bytes]]] = []
        self._length = 0

    def add(self, what: str, **fields: Any) -> int:
        """Add an entry to one of the lists; gives its index."""
        self.lists[what].append(fields)
        return len(self.lists[what]) - 1

    def view(self, size: int, pieces: Callable[[], Iterator[bytes]], **fields: Any) -> int:
        """Add so many bytes to the buffer; `pieces` gives them when the file is written."""
        self._pieces.append(pieces)
        self._length += size
        return self.add("bufferViews", buffer=0, byteOffset=self._length - size, byteLength=size, **fields)

    def floats(self, kind: str, values: np.ndarray, bounds: bool = False) -> int:
        """Add an accessor to numbers of their own, (n,) or (n, k), with their bounds when asked."""
        values = np.ascontiguousarray(values, "<f4")
        view = self.view(values.nbytes, lambda: iter([values.tobytes()]))
        more = {"min": [float(values.min())], "max": [float(values.max())]} if bounds else {}
        return self.add("accessors", bufferView=view, componentType=FLOAT, count=len(values), type=kind, **more)

    def indices(self, faces: np.ndarray) -> int:
        """Add an accessor to the corners of triangles."""
        data = np.ascontiguousarray(faces, "<u4").tobytes()
        view = self.view(len(data), lambda: iter([data]), target=ELEMENT_ARRAY_BUFFER)
        return self.add("accessors", bufferView=view, componentType=UNSIGNED_INT, count=faces.size, type="SCALAR")

    def material(self, name: str, color: tuple[float, float, float], double_sided: bool = True) -> int:
        """Add a material. Colours are as shown on a screen, glTF wants linear ones (sRGB, IEC 61966-2-1)."""
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color]
        surface = {"baseColorFactor": [*linear, 1.0], "metallicFactor": 0.0, "roughnessFactor": 0.8}
        return self.add("materials", name=name, pbrMetallicRoughness=surface, doubleSided=double_sided)

    def animate(self, node: int, path: str, times: int, values: int) -> None:
        """Move a property of a node linearly from frame to frame."""
        self.samplers.append({"input": times, "output": values, "interpolation": "LINEAR"})
        self.channels.append({"sampler": len(self.samplers) - 1, "target": {"node": node, "path": path}})

    def write(self, path: Path) -> None:
        """Write the file: header, JSON, buffer."""
        content: dict[str, Any] = {"asset": {"version": "2.0", "generator": "shinari"}, "scene": 0}
        scene: dict[str, Any] = {"nodes": [*range(len(self.lists["nodes"]))]} if self.lists["nodes"] else {}
        content["scenes"] = [scene | ({"name": self._title} if self._title else {})]
        content |= {name: entries for name, entries in self.lists.items() if entries}
        content["buffers"] = [{"byteLength": self._length}]
        if self.channels:
            content["animations"] = [{"name": "run", "channels": self.channels, "samplers": self.samplers}]
        text = json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
        text += b" " * (-len(text) % 4)
        with path.open("wb") as stream:
            stream.write(struct.pack("<4sII", b"glTF", 2, 12 + 8 + len(text) + 8 + self._length))
            _put_chunk(stream, b"JSON", len(text), iter([text]))
            _put_chunk(stream, b"BIN\0", self._length, (data for pieces in self._pieces for data in pieces()))


def _put_chunk(stream: BinaryIO, kind: bytes, length: int, pieces: Iterator[bytes]) -> None:
    stream.write(struct.pack("<I4s", length, kind))
    for data in pieces:
        stream.write(data)


def _add_part(
    document: _Document, part: AnimatedMesh, layout: Layout, frames: np.ndarray, times: int, weights: int
) -> None:
    """A node with a mesh whose targets are the frames after the first."""
    values = [("POSITION", _positions(part))]
    if part.kind == "mesh":
        values.append(("NORMAL", _normals(part, layout)))

    def pieces() -> Iterator[bytes]:
        first = [np.zeros((part.count, 3), np.float32)] * len(values)
        for index, frame in enumerate(each_frame(frames)):
            now = [value(frame) for _, value in values]
            for value, base in zip(now, first, strict=True):
                yield np.ascontiguousarray(value - base, "<f4").tobytes()
            first = now if index == 0 else first

    size = 12 * part.count
    view = document.view(size * len(values) * len(frames), pieces, byteStride=12, target=ARRAY_BUFFER)
    accessor = {"bufferView": view, "componentType": FLOAT, "count": part.count, "type": "VEC3"}
    targets, offset = [], 0
    for low, high in _bounds(part, frames):
        target = {}
        for name, _ in values:
            bounds = {"min": low, "max": high} if name == "POSITION" else {}
            target[name] = document.add("accessors", byteOffset=offset, **accessor, **bounds)
            offset += size
        targets.append(target)
    primitive: dict[str, Any] = {"attributes": targets[0], "mode": MODES[part.kind]}
    if len(part.cells):
        primitive["indices"] = document.indices(part.cells)
        primitive["mode"] = LINES if part.kind == "curve" else primitive["mode"]
    primitive["material"] = document.material(part.name, part.color)
    mesh: dict[str, Any] = {"name": part.name, "primitives": [primitive]}
    if len(targets) > 1:
        primitive["targets"] = targets[1:]
        mesh["weights"] = [0.0] * (len(targets) - 1)
    node = document.add("nodes", name=part.name, mesh=document.add("meshes", **mesh))
    if len(targets) > 1:
        document.animate(node, "weights", times, weights)


def _positions(part: AnimatedMesh) -> Callable[[Any], np.ndarray]:
    return lambda frame: np.asarray(frame["positions"][part.rows_of(frame["drawn"])], np.float32)


def _normals(part: AnimatedMesh, layout: Layout) -> Callable[[Any], np.ndarray]:
    from shinari.geometry.vertex_normals import vertex_normals

    start, stop, where = part.part.start, part.part.stop, layout.varying.get(part.name)
    faces = np.asarray(part.part.faces)

    def values(frame: Any) -> np.ndarray:
        drawn = None if where is None else frame["drawn"][where]
        return vertex_normals(frame["positions"][start:stop], faces, drawn)[part.rows_of(frame["drawn"]) - start]

    return values


def _bounds(part: AnimatedMesh, frames: np.ndarray) -> Iterator[tuple[list[float], list[float]]]:
    """Bounds of the positions of the first frame and of the differences of the others, which the format asks for."""
    value, first = _positions(part), np.zeros((part.count, 3), np.float32)
    for index, frame in enumerate(each_frame(frames)):
        now = value(frame)
        axes = np.ascontiguousarray((now - first).T)
        yield axes.min(axis=1).tolist(), axes.max(axis=1).tolist()
        first = now if index == 0 else first


def _add_body(document: _Document, layout: Layout, index: int, frames: np.ndarray, times: int) -> None:
    """A node with a mesh that moves as a whole; one that stands still has no animation."""
    body = layout.bodies[index]
    places = np.array(frames["body_positions"][:, index])
    turns = _continuous(np.array(frames["body_rotations"][:, index], np.float64))[:, [1, 2, 3, 0]]
    pose = {"translation": places[0].tolist(), "rotation": turns[0].tolist()}
    shown: dict[str, int] = {}
    if len(body.faces):
        vertices = np.ascontiguousarray(body.vertices, "<f4")
        data = vertices.tobytes()
        view = document.view(len(data), lambda: iter([data]), target=ARRAY_BUFFER)
        bounds = {"min": vertices.min(axis=0).tolist(), "max": vertices.max(axis=0).tolist()}
        at = document.add("accessors", bufferView=view, componentType=FLOAT, count=len(vertices), type="VEC3", **bounds)
        primitive: dict[str, Any] = {
            "attributes": {"POSITION": at},
            "indices": document.indices(np.asarray(body.faces)),
        }
        primitive["material"] = document.material(body.name, body_color(layout, index), not body.hollow)
        shown["mesh"] = document.add("meshes", name=body.name, primitives=[primitive])
    node = document.add("nodes", name=body.name, **shown, **pose)
    if (places != places[0]).any():
        document.animate(node, "translation", times, document.floats("VEC3", places))
    if (turns != turns[0]).any():
        document.animate(node, "rotation", times, document.floats("VEC4", turns))


def _continuous(rotations: np.ndarray) -> np.ndarray:
    """Unit quaternions of the same rotations, none further from the one before than its opposite, (T, 4)."""
    result = rotations / np.linalg.norm(rotations, axis=1, keepdims=True)
    turned = np.cumprod(np.where((result[1:] * result[:-1]).sum(axis=1) < 0.0, -1.0, 1.0))
    result[1:] *= turned[:, None]
    return result
