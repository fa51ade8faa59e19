"""PLY: a sequence of binary files, one a frame, that Blender, Houdini and MeshLab read.

`cloth.ply` stands for `cloth_0000.ply`, `cloth_0001.ply`, ... in the same folder. Each file holds one mesh: the
points of all parts, part after part, then the vertices of the bodies where they are at that moment; the faces of the
meshes and bodies; the lines of the curves as `edge` elements. The particles of points parts are vertices without faces;
those of fluids that wait in an emitter are left out. The vertices have velocities `vx vy vz` [m/s], where there is a
fluid a `density` [kg/m^3], 0 for what is no fluid, and the colour `red green blue` of their object. A fluid that is
drawn by its surface is a mesh in place of its particles, and no vertex has velocities then. Normals are left to the
reader, who knows at which angle an edge is sharp.

While the run goes on the frames are in the folder `cloth.partial/`, each whole as soon as it has its name. When the run
is over they move to their place, and together they replace an earlier sequence of the same name: its frames beyond the
new end are removed too, so that two runs never mix.
"""

import os
import re
import shutil
from pathlib import Path
from typing import TypeAlias

import numpy as np

from shinari.geometry.files.ply_reader import face_bytes
from shinari.io.file_writer import FileWriter
from shinari.io.fluid_mesh import fluid_mesh
from shinari.io.results import BodyPoints, Frame, Layout, body_color, frame_shapes, part_color
from shinari.partial_files import reserve

PROPERTIES = {
    "position": ("float x", "float y", "float z"),
    "velocity": ("float vx", "float vy", "float vz"),
    "density": ("float density",),
    "color": ("uchar red", "uchar green", "uchar blue"),
}

Surfaces: TypeAlias = dict[str, tuple[np.ndarray, np.ndarray]]
"""Vertices (V, 3) and faces (F, 3) of the fluids that are drawn by their surface, by the name of the part."""


class PlyWriter(FileWriter):
    """Writes one PLY file a frame."""

    def __init__(self, path: str | os.PathLike, layout: Layout, *, title: str = "") -> None:
        super().__init__(path, layout, title=title)
        self._fields = _fields(layout)
        self._cells(np.ones(frame_shapes(layout)["drawn"], bool), {})
        self._bodies = BodyPoints(layout, range(len(layout.bodies)))
        self._folder = reserve(self.path, "", folder=True)

    def _append(self, frame: Frame) -> None:
        surfaces = {p.name: fluid_mesh(p, self.layout, frame) for p in self.layout.parts if p.surface}
        if surfaces or not np.array_equal(frame.drawn, self._drawn):
            self._cells(frame.drawn, surfaces)
        vertices = np.empty(self._count, self._fields)
        vertices["position"] = merged_vertices(self.layout, self._bodies, frame, surfaces)
        vertices["color"] = self._colors
        names = self._fields.names or ()
        if "velocity" in names:
            moving = _motion(self.layout, self._bodies, frame)
            vertices["velocity"] = moving[:, :3]
            if "density" in names:
                vertices["density"] = moving[:, 3]
        name = self._folder / self._name(self.frame_count)
        unfinished = self._folder / "unfinished"
        with unfinished.open("wb", buffering=0) as stream:
            for data in (self._header, vertices.tobytes(), self._tail):
                rest = memoryview(data)
                while rest:
                    rest = rest[stream.write(rest) :]
        os.replace(unfinished, name)

    def _cells(self, drawn: np.ndarray, surfaces: Surfaces) -> None:
        """Header and cells of frames in which these triangles, segments, points and surfaces are drawn."""
        self._drawn = np.array(drawn)
        faces, edges, counts = _topology(self.layout, drawn, surfaces)
        self._count = sum(counts)
        self._colors = np.repeat(_colors(self.layout), counts, axis=0)
        self._header = _header(self._count, len(faces), len(edges), self.title, self._fields)
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


def merged_vertices(layout: Layout, bodies: BodyPoints, frame: Frame, surfaces: Surfaces) -> np.ndarray:
    """Vertices of a frame [m], float32, shape (V, 3): the parts one after the other, then the bodies in the world."""
    pieces = [
        surfaces[part.name][0] if part.name in surfaces else np.asarray(frame.positions)[points]
        for part, points in zip(layout.parts, _shown(layout, frame.drawn), strict=True)
    ]
    return np.concatenate([np.zeros((0, 3)), *pieces, bodies.positions(frame)]).astype("<f4")


def _motion(layout: Layout, bodies: BodyPoints, frame: Frame) -> np.ndarray:
    """Velocities [m/s] and densities [kg/m^3] of `merged_vertices`, float32, shape (V, 4)."""
    densities, fluids = np.zeros((layout.point_count, 1)), layout.fluids
    for part in layout.parts:
        if part.fluid:
            densities[part.start : part.stop, 0] = np.asarray(frame.densities)[fluids[part.name]]
    shown = np.concatenate([np.zeros(0, np.int64), *_shown(layout, frame.drawn)])
    points = np.concatenate([np.asarray(frame.velocities)[shown], densities[shown]], axis=1)
    solid = bodies.velocities(frame, bodies.positions(frame))
    return np.concatenate([points, np.pad(solid, ((0, 0), (0, 1)))]).astype("<f4")


def _shown(layout: Layout, drawn: np.ndarray) -> list[np.ndarray]:
    """Points of each part that are vertices: all but the particles of a fluid that are not there."""
    points, varying = [np.arange(part.start, part.stop) for part in layout.parts], layout.varying
    return [
        own[np.asarray(drawn)[varying[part.name]]] if part.varies and part.kind == "points" else own
        for part, own in zip(layout.parts, points, strict=True)
    ]


def _topology(layout: Layout, drawn: np.ndarray, surfaces: Surfaces) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Faces (F, 3), edges (E, 2), and how many vertices each part and body has."""
    faces, edges, first, counts = [np.zeros((0, 3), np.int64)], [np.zeros((0, 2), np.int64)], 0, []
    varying = layout.varying
    for part, points in zip(layout.parts, _shown(layout, drawn), strict=True):
        mesh = surfaces.get(part.name)
        count = len(points) if mesh is None else len(mesh[0])
        there = drawn[varying[part.name]] if part.varies else slice(None)
        if mesh is not None:
            faces.append(mesh[1].astype(np.int64) + first)
        elif part.faces is not None:
            faces.append(np.asarray(part.faces, np.int64)[there] + first)
        elif part.kind == "curve" and count > 1:
            chain = part.line - part.start + first
            edges.append(np.stack([chain[:-1], chain[1:]], axis=1)[there])
        first += count
        counts.append(count)
    for body in layout.bodies:
        faces.append(np.asarray(body.faces, np.int64) + first)
        first += len(body.vertices)
        counts.append(len(body.vertices))
    return np.concatenate(faces), np.concatenate(edges), counts


def _colors(layout: Layout) -> np.ndarray:
    """Colour of each part and body, 0..255, shape (n, 3)."""
    colors = [part_color(index) for index in range(len(layout.parts))]
    colors += [body_color(layout, index) for index in range(len(layout.bodies))]
    return np.round(255.0 * np.reshape(colors, (-1, 3))).astype(np.uint8)


def _fields(layout: Layout) -> np.dtype:
    """What is written of each vertex."""
    moves = not any(part.surface for part in layout.parts)
    fields = [("position", "<f4", 3), ("velocity", "<f4", 3), ("density", "<f4"), ("color", "u1", 3)]
    missing = {"velocity": not moves, "density": not (moves and layout.fluids)}
    return np.dtype([field for field in fields if not missing.get(field[0])])


def _header(vertex_count: int, face_count: int, edge_count: int, title: str, fields: np.dtype) -> bytes:
    lines = ["ply", "format binary_little_endian 1.0"]
    if title:
        lines.append("comment " + title.encode("ascii", "replace").decode().replace("\n", " ").replace("\r", " "))
    lines.append(f"element vertex {vertex_count}")
    lines += [f"property {name}" for field in fields.names or () for name in PROPERTIES[field]]
    lines += [f"element face {face_count}", "property list uchar int vertex_indices"]
    if edge_count:
        lines += [f"element edge {edge_count}", "property int vertex1", "property int vertex2"]
    return "\n".join([*lines, "end_header", ""]).encode("ascii")
