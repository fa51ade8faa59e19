"""Collider shapes that are triangle meshes: from a file, from arrays, or the ground under a table of heights."""

import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from shinari.build.topology import unite
from shinari.errors import SceneError
from shinari.scene import check

FLAT = 1e-7
"""Height over longest edge under which a triangle has no area: in single precision it has no normal."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangle mesh: a solid where it is closed, else a sheet that pushes from both sides.

    Vertices with exactly equal coordinates count as one when it is decided whether two faces share an edge.

    Attributes:
        vertices: Positions [m], (V, 3), or a mesh file (.obj, .ply, .stl, .gltf, .glb).
        faces: Vertex indices, (F, 3), counter-clockwise seen from outside; left out with a file.
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
        if isinstance(vertices, (str, os.PathLike)):
            if faces is not None:
                raise SceneError("Mesh: faces: a file has its own; leave them out")
            from shinari.files.meshes import read_mesh

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

    def openness(self) -> str:
        """Why the mesh is no solid, for a message."""
        codes, counts, _, _ = _edges(unite(self.vertices, self.faces), len(self.vertices))
        return _open(codes, counts, len(self.vertices)) if (counts != 2).any() else "the mesh is a sheet, solid=False"


@dataclass(frozen=True, eq=False)
class Heightfield:
    """Ground, y up, centred on its origin in x and z; every cell of the table is two triangles.

    It is solid down to a flat bottom. The diagonal of a cell goes from its smallest to its largest x and z.

    Attributes:
        heights: Heights [m], (rows, columns): rows along z, columns along x, at least 2 x 2.
        size: Lengths along x and z [m].
        depth: From the lowest height to the bottom [m]; left out: the larger of `size`.

    Raises:
        SceneError: Wrong shape or type, or out of bounds.
    """

    heights: Any
    size: tuple[float, float]
    depth: float | None = None

    def __post_init__(self) -> None:
        heights = check.array("Heightfield", "heights", self.heights, (None, None))
        if min(heights.shape) < 2:
            raise SceneError(f"Heightfield: heights: expected at least 2 x 2, got {heights.shape}")
        size = check.array("Heightfield", "size", self.size, (2,)).tolist()
        for length in size:
            check.number("Heightfield", "size", length, above=0.0)
        depth = max(size) if self.depth is None else self.depth
        heights.flags.writeable = False
        object.__setattr__(self, "heights", heights)
        object.__setattr__(self, "size", tuple(size))
        object.__setattr__(self, "depth", check.number("Heightfield", "depth", depth, above=0.0))

    def __repr__(self) -> str:
        return f"Heightfield({self.heights.shape[0]} x {self.heights.shape[1]}, size={self.size})"

    @cached_property
    def mesh(self) -> Mesh:
        """The ground as a closed mesh: the surface, four walls, and a bottom that fans out from its middle."""
        rows, columns = self.heights.shape
        x, z = np.meshgrid(_spread(self.size[0], columns), _spread(self.size[1], rows))
        top = np.stack([x, self.heights, z], axis=2).reshape(-1, 3)
        k = np.arange(rows * columns).reshape(rows, columns)
        a, b, c, d = k[:-1, :-1].ravel(), k[:-1, 1:].ravel(), k[1:, 1:].ravel(), k[1:, :-1].ravel()
        border = np.concatenate([k[0, :-1], k[:-1, -1], k[-1, :0:-1], k[:0:-1, 0]])
        floor = self.heights.min() - (self.depth or 0.0)
        bottom = np.concatenate([top[border], np.zeros((1, 3))])
        bottom[:, 1] = floor
        below = len(top) + np.arange(len(border))
        following, after = np.roll(border, -1), np.roll(below, -1)
        middle = np.full(len(border), len(top) + len(border))
        faces = [(a, c, b), (a, d, c), (border, following, below), (following, after, below), (below, after, middle)]
        return Mesh(np.concatenate([top, bottom]), np.concatenate([np.stack(face, axis=1) for face in faces]))


def _spread(length: float, count: int) -> np.ndarray:
    return np.linspace(-0.5 * length, 0.5 * length, count)


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
