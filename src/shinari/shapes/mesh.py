"""Triangle meshes, from a file or from arrays: solids and sheets."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shinari import check
from shinari.compute.once import cached_property
from shinari.errors import SceneError
from shinari.geometry.topology import unite
from shinari.schema_types import Name, NonNegative, Table
from shinari.shapes.base import SEGMENTS, Core, Shape, Triangles
from shinari.shapes.mass import MassProperties, mesh_properties
from shinari.shapes.registry import register

FLAT = 1e-7
"""Height over longest edge under which a triangle has no area: in single precision it has no normal."""
MOST_CONVEX, ABOVE = 4096, 1e-5
"""Most faces of a mesh that counts as convex, and how far a corner may be above a face, over the size."""
CHUNK = 256
"""Faces that are compared with all corners at once."""
PARTS = "vertices", "faces", "solid", "thickness"
"""What a mesh is made from."""


@dataclass(frozen=True, eq=False)
class Mesh(Shape):
    """Triangle mesh: a solid where it is closed, else a sheet that pushes from both sides.

    Vertices with exactly equal coordinates count as one when it is decided whether two faces share an edge.

    Attributes:
        vertices: Positions [m], (V, 3), or both arrays as a tuple, or a mesh file (.obj, .ply, .stl, .gltf, .glb).
        faces: Vertex indices, (F, 3), counter-clockwise seen from outside; left out with a file or a tuple.
        solid: True: closed, or an error; False: a sheet; None: a solid if every edge has two faces.
        thickness: Of a sheet, half of it on each side [m].

    Raises:
        SceneError: Wrong shapes or types, a face without area, or a solid that has holes or is inside out.
        FileError: The file cannot be read.
    """

    vertices: Any
    faces: Any = None
    solid: bool | None = field(default=None, kw_only=True)
    thickness: float = field(default=0.0, kw_only=True)

    def __post_init__(self) -> None:
        vertices, faces = self.vertices, self.faces
        if faces is None and isinstance(vertices, tuple) and len(vertices) == 2:
            vertices, faces = vertices
        if isinstance(vertices, (str, os.PathLike)):
            if faces is not None:
                raise SceneError("Mesh: faces: a file has its own; leave them out")
            from shinari.geometry.files.meshes import read_mesh

            vertices, faces = read_mesh(vertices)
        if faces is None:
            raise SceneError("Mesh: faces: missing; give vertices and faces, or a file")
        vertices = check.array("Mesh", "vertices", vertices, (None, 3))
        faces = check.index_rows("Mesh", "faces", faces, 3, len(vertices))
        _check_areas(vertices, faces)
        check.choice("Mesh", "solid", self.solid, (True, False, None))
        thickness = check.number("Mesh", "thickness", self.thickness, least=0.0)
        solid = _is_solid(vertices, faces, self.solid)
        if solid and thickness > 0.0:
            raise SceneError("Mesh: thickness: only a sheet has one; this mesh is closed, give solid=False for a sheet")
        vertices.flags.writeable = faces.flags.writeable = False
        values = {"vertices": vertices, "faces": faces, "solid": solid, "thickness": thickness}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        kind = "solid" if self.solid else "sheet"
        return f"Mesh({len(self.vertices)} vertices, {len(self.faces)} faces, {kind})"

    @property
    def variant(self) -> str:
        """Whether it is a sheet."""
        return "" if self.solid else "sheet"

    @property
    def as_mesh(self) -> "Mesh":  # pyright: ignore[reportIncompatibleVariableOverride]
        """Itself."""
        return self

    def numbers(self) -> tuple[float, ...]:
        """The number of its field, which is known once all meshes are."""
        return ()

    def surface(self, segments: int = SEGMENTS) -> Triangles:
        """Its triangles."""
        return self.vertices, self.faces

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners of the box around it, with its thickness."""
        used = self.vertices[np.unique(self.faces)]
        return used.min(axis=0) - 0.5 * self.thickness, used.max(axis=0) + 0.5 * self.thickness

    def mass_properties(self) -> MassProperties:
        """Exact."""
        if not self.solid:
            raise self.no_volume()
        return mesh_properties(self.vertices, self.faces)

    def core(self) -> Core:
        """It is found by its field."""
        return Core(0.0, 0.0, corners=0)

    def lacks_inside(self) -> str | None:
        """A sheet has none."""
        return None if self.solid else f"{self.openness()}, so it has no inside; a body has to be closed"

    def openness(self) -> str:
        """Why the mesh is no solid, for a message."""
        codes, counts, _, _ = _edges(unite(self.vertices, self.faces), len(self.vertices))
        return _open(codes, counts, len(self.vertices)) if (counts != 2).any() else "the mesh is a sheet, solid=False"

    @cached_property
    def is_convex(self) -> bool:
        """Whether all corners of a solid are behind the planes of all its faces; large meshes count as not convex."""
        if not self.solid or len(self.faces) > MOST_CONVEX:
            return False
        a, b, c = (self.vertices[self.faces[:, k]] for k in range(3))
        n = np.cross(b - a, c - a)
        n /= np.linalg.norm(n, axis=1)[:, None]
        above = ABOVE * np.ptp(self.vertices, axis=0).max() + np.einsum("ij,ij->i", n, a)
        parts = (slice(k, k + CHUNK) for k in range(0, len(n), CHUNK))
        return all((n[part] @ self.vertices.T <= above[part, None]).all() for part in parts)


def _check_areas(vertices: np.ndarray, faces: np.ndarray) -> None:
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    longest = np.max([((u - v) ** 2).sum(axis=1) for u, v in ((a, b), (b, c), (c, a))], axis=0)
    bad = np.flatnonzero(~(np.linalg.norm(np.cross(b - a, c - a), axis=1) > FLAT * longest))
    if len(bad):
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        raise SceneError(f"Mesh: faces: face {bad[0]}, {faces[bad[0]].tolist()}, has no area{more}")


def _is_solid(vertices: np.ndarray, faces: np.ndarray, wanted: bool | None) -> bool:
    """Whether the mesh is a solid; refuses one that was meant to be and is not."""
    if wanted is False:
        return False
    codes, counts, place, along = _edges(unite(vertices, faces), len(vertices))
    if (counts != 2).any():
        if wanted:
            what = _open(codes, counts, len(vertices))
            raise SceneError(f"Mesh: solid: {what}; give solid=False for a sheet")
        return False
    turned = np.flatnonzero(np.bincount(place, along) != 0)
    if len(turned):
        ends = divmod(int(codes[turned[0]]), len(vertices))
        raise SceneError(
            f"Mesh: faces: the two faces at the edge between vertices {ends[0]} and {ends[1]} are turned differently "
            f"({len(turned)} such edges); turn all counter-clockwise seen from outside, or give solid=False for a sheet"
        )
    a, b, c = (vertices[faces[:, k]] - vertices[0] for k in range(3))
    volume = float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0)
    if volume <= 0.0:
        raise SceneError(
            f"Mesh: faces: it is inside out, its volume is {volume:.3g} m^3; flip the faces: faces[:, ::-1]"
        )
    return True


def _edges(faces: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Edges of faces (F, 3) as low * count + high, how many faces each has, and of each side edge and direction."""
    start, end = faces.ravel(), faces[:, [1, 2, 0]].ravel()
    low, high = np.minimum(start, end), np.maximum(start, end)
    codes, place, counts = np.unique(low * count + high, return_inverse=True, return_counts=True)
    return codes, counts, place.reshape(-1), np.where(start < end, 1, -1)


def _open(codes: np.ndarray, counts: np.ndarray, base: int) -> str:
    """What is wrong with edges of which some have not two faces."""
    single, crowded = codes[counts == 1], codes[counts > 2]
    shown = single if len(single) else crowded
    ends = divmod(int(shown[0]), base)
    what = f"{len(single)} edges have only one face (holes: {_holes(single, base)})"
    if not len(single):
        what = f"{len(crowded)} edges have more than two faces"
    return f"{what}, the first between vertices {ends[0]} and {ends[1]}"


def _holes(edges: np.ndarray, base: int) -> int:
    """Connected pieces of the border."""
    parent: dict[int, int] = {}

    def root(vertex: int) -> int:
        while parent.setdefault(vertex, vertex) != vertex:
            parent[vertex] = vertex = parent[parent[vertex]]
        return vertex

    for edge in edges.tolist():
        parent[root(edge // base)] = root(edge % base)
    return len({root(vertex) for vertex in list(parent)})


class MeshTable(Table, tag_field="type", tag="mesh"):
    """Triangle mesh from a file.

    Attributes:
        path: Mesh file, relative to the folder of the scene file and inside it.
        solid: True: closed, or an error; false: a sheet; left out: a solid if it is closed.
        thickness: Of a sheet [m].
    """

    path: Name
    solid: bool | None = None
    thickness: NonNegative = 0.0


def _read(table: MeshTable, path_of: Callable[[str], Any]) -> Mesh:
    return Mesh(path_of(table.path), solid=table.solid, thickness=table.thickness)


MESH = register(Mesh, "mesh", angular=True, table=MeshTable, read=_read).kind
MESH_SHEET = register(Mesh, "sheet", variant="sheet", angular=True, table=MeshTable, read=_read).kind
