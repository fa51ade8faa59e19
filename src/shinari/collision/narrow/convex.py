"""Shapes as the record that the kernels of contact between bodies read.

A round shape is a core with a radius: a sphere is a point, a capsule a segment. Then the arms of a contact reach to the
core, and a ball rolls without a corner. All other cores are the shapes themselves. What is neither convex nor without
end is found by the field of its mesh.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from shinari.compute import Field, Record
from shinari.shapes.base import Shape
from shinari.shapes.hull import HULL
from shinari.shapes.kernels.hull_lanes import LANES, blocks
from shinari.shapes.mesh import Mesh
from shinari.shapes.registry import LAST_UNBOUNDED, four_numbers, type_of
from shinari.shapes.sharing import different


class Shapes(Record, ragged=True):
    """Shapes, and the vertices and faces of their hulls."""

    kind = Field(np.int64, doc="see `shinari.shapes.registry`")
    size = Field(
        np.float64,
        4,
        unit="m",
        doc="its numbers; of a mesh the number of its field, then zeros",
    )
    radius = Field(np.float64, unit="m", doc="radius around the core")
    extent = Field(np.float64, unit="m", doc="half its largest length, about: a measure for tolerances")
    corners = Field(np.int64, doc="corners that are evaluated in the field of a mesh")
    axes = Field(np.int64, doc="normals of its own that are tried as the direction of a contact")
    flat = Field(np.bool_, doc="whether all its faces are flat, so that its points can be carried along")
    angular = Field(np.bool_, doc="whether it has no round places, so that points on a mesh stay where they are")
    hull = Field(np.int64, doc="which hull, -1 for other kinds")
    vertices = Field(np.float64, 3, unit="m", doc="vertices of all hulls")
    vertex_starts = Field(np.int64, doc="first vertex of each hull, and the end")
    planes = Field(np.float64, 4, unit="1, m", doc="outward unit normal and offset of all faces")
    face_starts = Field(np.int64, doc="first face of each hull, and the end")
    loops = Field(np.int64, doc="vertices of all faces, counter-clockwise seen from outside")
    loop_edges = Field(np.int64, doc="the edge from each of these vertices to the next; -1: none")
    loop_starts = Field(np.int64, doc="where the loop of each face starts, and the end")
    face_widths = Field(
        np.float64, doc="half the least length of the sums of the normals of a face and of one beside it"
    )
    edge_vertices = Field(np.int64, 2, doc="vertices of all edges")
    edge_faces = Field(np.int64, 2, doc="faces on both sides of all edges")
    edge_starts = Field(np.int64, doc="first edge of each hull, and the end")
    vertex_lanes = Field(np.float64, (3, LANES), unit="m", doc="the vertices in blocks of four")
    vertex_blocks = Field(np.int64, doc="first block of the vertices of each hull, and the end")
    face_lanes = Field(np.float64, (5, LANES), unit="1, m, 1", doc="planes and widths of the faces in blocks of four")
    face_blocks = Field(np.int64, doc="first block of the faces of each hull, and the end")
    vertex_faces = Field(np.int64, doc="faces at all vertices")
    vertex_face_starts = Field(np.int64, doc="first face at each vertex, and the end")


def contact_shape(shape: Shape) -> Shape:
    """What stands for a shape in contacts between bodies: itself, or its mesh."""
    shape_type = type_of(shape)
    known = shape_type.support is not None or shape_type.kind <= LAST_UNBOUNDED
    return shape if known else shape.as_mesh


def shapes_of(solids: Sequence[Shape]) -> Shapes:
    """Record of shapes, in their order; the numbers of meshes are left at zero. Equal hulls share their tables."""
    given = [contact_shape(shape) for shape in solids]
    types, cores = [type_of(shape) for shape in given], [shape.core() for shape in given]
    numbers = [np.zeros(4) if isinstance(shape, Mesh) else four_numbers(shape) for shape in given]
    hull, tables = np.full(len(given), -1), HullTables()
    hulls = [k for k, kind in enumerate(types) if kind.kind == HULL]
    found, hull[hulls] = different([given[k] for k in hulls], "vertices", "loops")
    for shape in found:
        tables.add(shape)
    return Shapes(
        np.float64,
        kind=np.array([kind.kind for kind in types], np.int64),
        size=np.array(numbers, np.float64).reshape(-1, 4),
        radius=np.array([core.radius for core in cores], np.float64),
        extent=np.array([core.extent for core in cores], np.float64),
        corners=np.array([core.corners for core in cores], np.int64),
        axes=np.array([core.axes for core in cores], np.int64),
        flat=np.array([kind.flat for kind in types], np.bool_),
        angular=np.array([kind.angular for kind in types], np.bool_),
        hull=hull,
        **tables.arrays(),
    )


class HullTables:
    """Vertices, faces and edges of hulls, one after the other."""

    def __init__(self) -> None:
        self._vertices, self._planes = [np.zeros((0, 3))], [np.zeros((0, 4))]
        self._loops: list[int] = []
        self._loop_edges: list[int] = []
        self._edges: list[tuple[int, ...]] = []
        self._faces_at: list[np.ndarray] = []
        self._starts: dict[str, list[int]] = {name: [0] for name in ("vertex", "face", "loop", "edge")}

    def add(self, shape: Any) -> None:
        """Append a `ConvexHull`."""
        first, face, starts = self._starts["vertex"][-1], self._starts["face"][-1], self._starts
        beside: dict[tuple[int, int], int] = {}
        for k, loop in enumerate(shape.loops):
            places = [first + int(v) for v in loop]
            self._loops.extend(places)
            starts["loop"].append(len(self._loops))
            for side in zip(places, places[1:] + places[:1], strict=True):
                beside[side] = face + k
        edges: dict[tuple[int, int], int] = {}
        for (start, end), one in beside.items():
            other = beside.get((end, start), -1)
            if one < other:
                edges[start, end] = edges[end, start] = len(self._edges)
                self._edges.append((start, end, one, other))
        self._loop_edges += [edges.get(side, -1) for side in beside]
        self._faces_at += [face + np.flatnonzero(at) for at in _touch(shape)]
        self._vertices.append(np.asarray(shape.vertices, np.float64))
        self._planes.append(shape.planes)
        starts["vertex"].append(first + len(shape.vertices))
        starts["face"].append(face + len(shape.loops))
        starts["edge"].append(len(self._edges))

    def arrays(self) -> dict[str, np.ndarray]:
        """The fields of `Shapes`."""
        edges, planes = np.array(self._edges, np.int64).reshape(-1, 4), np.concatenate(self._planes)
        widths = 0.5 * np.linalg.norm(planes[edges[:, 2], :3] + planes[edges[:, 3], :3], axis=1)
        least = np.ones(len(planes))
        np.minimum.at(least, edges[:, 2:], widths[:, None])
        starts = {f"{name}_starts": np.array(values, np.int64) for name, values in self._starts.items()}
        vertices, at = np.concatenate(self._vertices), self._faces_at
        columns = np.concatenate([planes, least[:, None]], axis=1)
        below = np.array([0.0, 0.0, 0.0, np.inf, 1.0])
        return starts | {
            "vertices": vertices,
            "vertex_faces": np.concatenate([np.zeros(0, np.int64), *at]),
            "vertex_face_starts": np.cumsum([0, *(len(faces) for faces in at)]),
            **_lanes("vertex", vertices, starts["vertex_starts"], None),
            **_lanes("face", columns, starts["face_starts"], below),
            "planes": planes,
            "loops": np.array(self._loops, np.int64),
            "edge_vertices": np.ascontiguousarray(edges[:, :2]),
            "edge_faces": np.ascontiguousarray(edges[:, 2:]),
            "loop_edges": np.array(self._loop_edges, np.int64),
            "face_widths": least,
        }


def _touch(shape: Any) -> np.ndarray:
    """Whether vertices lie in the planes of faces, but for rounding, or are corners of them, (V, F)."""
    planes, slack = shape.planes, 1e-7 * shape.numbers()[0]
    at = np.asarray(shape.vertices, np.float64) @ planes[:, :3].T >= planes[:, 3] - slack
    for k, loop in enumerate(shape.loops):
        at[loop, k] = True
    return at


def _lanes(name: str, rows: np.ndarray, starts: np.ndarray, filler: np.ndarray | None) -> dict[str, np.ndarray]:
    """Rows of each hull in blocks; without a filler blocks are filled up with the last row of their hull."""
    parts = [rows[begin:end] for begin, end in itertools.pairwise(starts)]
    found = [blocks(part, part[-1] if filler is None else filler) for part in parts]
    return {
        f"{name}_lanes": np.concatenate([np.zeros((0, rows.shape[1], LANES)), *found]),
        f"{name}_blocks": np.cumsum([0, *(len(each) for each in found)]),
    }
