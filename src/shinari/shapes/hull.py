"""The convex hull of points, as a shape.

Its vertices and faces are in the record of all shapes, `shinari.collision.narrow.convex.Shapes`: its functions read
that.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from msgspec import Meta

from shinari import check
from shinari.compute.once import cached_property
from shinari.errors import SceneError
from shinari.maths.function import steady
from shinari.maths.vec3 import add, direction_and_length, dot, scale, sub
from shinari.schema_types import Name, Table, Vector
from shinari.shapes.base import SEGMENTS, Core, Shape, Triangles
from shinari.shapes.kernels.hull_lanes import farthest_vertex
from shinari.shapes.kernels.projection import LARGEST_LABEL, MOST_VERTICES, projected, put
from shinari.shapes.kernels.revolution import OUTSIDE
from shinari.shapes.mass import MassProperties, mesh_properties
from shinari.shapes.mesh import Mesh
from shinari.shapes.registry import register


@dataclass(frozen=True, eq=False)
class ConvexHull(Shape):
    """Smallest convex solid that holds all points.

    Points within a millionth of the size of all from a plane are taken to be in it.

    Attributes:
        points: Points [m], (N, 3), an object with `vertices` such as a mesh, or the path of a mesh file.
        vertices: Its corners [m], (V, 3), read only.
        loops: Corners of each face as places among the vertices, (K,), counter-clockwise seen from outside.

    Raises:
        SceneError: They are no finite numbers, or lie in one plane.
        FileError: The file cannot be read.
    """

    points: Any
    vertices: np.ndarray = field(init=False)
    loops: tuple[np.ndarray, ...] = field(init=False)

    def __post_init__(self) -> None:
        from shinari.geometry.hull import convex_hull

        points = self.points
        if isinstance(points, (str, os.PathLike)):
            from shinari.geometry.files.meshes import read_mesh

            points = read_mesh(points)[0]
        points = check.array("ConvexHull", "points", getattr(points, "vertices", points), (None, 3))
        if len(points) < 4:
            raise SceneError(f"ConvexHull: points: expected at least 4, got {len(points)}")
        corners, loops = convex_hull(points, "ConvexHull")
        vertices = points[corners]
        points.flags.writeable = vertices.flags.writeable = False
        for name, value in {"points": points, "vertices": vertices, "loops": tuple(loops)}.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"ConvexHull({len(self.vertices)} corners, {len(self.loops)} faces)"

    @cached_property
    def faces(self) -> np.ndarray:
        """Triangles of its faces, (F, 3) int64."""
        return np.concatenate([_fan(self.vertices, loop) for loop in self.loops])

    @cached_property
    def mesh(self) -> Mesh:
        """It as a closed mesh."""
        return Mesh(self.vertices, self.faces)

    @property
    def as_mesh(self) -> Mesh:  # pyright: ignore[reportIncompatibleVariableOverride]
        """It as a closed mesh."""
        return self.mesh

    @cached_property
    def planes(self) -> np.ndarray:
        """Outward unit normal and offset [m] of its faces, (F, 4)."""
        return np.array([_plane(np.asarray(self.vertices, np.float64)[loop]) for loop in self.loops])

    @cached_property
    def _numbers(self) -> tuple[float, float]:
        radius = float(np.sqrt((np.asarray(self.vertices, np.float64) ** 2).sum(axis=1).max()))
        inner = float(self.planes[:, 3].min())
        return radius, inner if inner > 0.0 else -radius

    def numbers(self) -> tuple[float, ...]:
        """The largest distance from its origin, and the radius of the ball around it that is inside.

        Where the origin is outside, the second is minus the first.
        """
        return self._numbers

    def surface(self, segments: int = SEGMENTS) -> Triangles:
        """Triangles of its faces."""
        return self.vertices, self.faces

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners of the box around it."""
        return self.vertices.min(axis=0), self.vertices.max(axis=0)

    def mass_properties(self) -> MassProperties:
        """Exact."""
        return mesh_properties(self.vertices, self.faces)

    def core(self) -> Core:
        """Its vertices and faces."""
        return Core(0.0, self.numbers()[0], corners=len(self.vertices), axes=len(self.loops))


def _plane(corners: np.ndarray) -> np.ndarray:
    """Outward unit normal and offset (4,) of a polygon (N, 3): its vector area, about its own centre."""
    arms = corners - corners.mean(axis=0)
    normal = np.cross(arms, np.roll(arms, -1, axis=0)).sum(axis=0)
    normal = normal / np.linalg.norm(normal)
    return np.array([*normal, (corners @ normal).max()])


def _fan(vertices: np.ndarray, loop: np.ndarray) -> np.ndarray:
    """Triangles of a convex face, (K - 2, 3), from the first corner from which none of them is a line."""
    turns = (np.roll(loop, -start) for start in range(len(loop)))
    turned = next((turn for turn in turns if _spreads(vertices[turn])), loop)
    return np.stack([np.full(len(loop) - 2, turned[0]), turned[1:-1], turned[2:]], axis=1)


def _spreads(places: np.ndarray) -> bool:
    """Whether no triangle from the first of the places is a line."""
    arms = places[1:] - places[0]
    squares = (arms**2).sum(axis=1)
    areas = np.linalg.norm(np.cross(arms[:-1], arms[1:]), axis=1)
    return bool((areas > 1e-6 * np.maximum(squares[:-1], squares[1:])).all())


@steady
def support(d, s, shapes, g):
    """The farthest vertex."""
    h = shapes.hull[g]
    i = farthest_vertex(shapes, h, d)
    return shapes.vertices[i, 0], shapes.vertices[i, 1], shapes.vertices[i, 2]


@steady
def axis(k, toward, s, shapes, g):
    """Normal of face k."""
    f = shapes.face_starts[shapes.hull[g]] + k
    return shapes.planes[f, 0], shapes.planes[f, 1], shapes.planes[f, 2]


@steady
def face(d, s, projection, table, column, shapes, g):
    """Write the face that looks along d most of those at the vertex that lies farthest along d."""
    h = shapes.hull[g]
    start, v = shapes.vertex_starts[h], farthest_vertex(shapes, h, d)
    face, most = -1, -np.inf
    for k in range(shapes.vertex_face_starts[v], shapes.vertex_face_starts[v + 1]):
        f = shapes.vertex_faces[k]
        along = shapes.planes[f, 0] * d[0] + shapes.planes[f, 1] * d[1] + shapes.planes[f, 2] * d[2]
        face, most = (f, along) if along > most else (face, most)
    begin, end = shapes.loop_starts[face], shapes.loop_starts[face + 1]
    stride = (end - begin + MOST_VERTICES - 1) // MOST_VERTICES
    count = (end - begin + stride - 1) // stride
    for k in range(count):
        i = shapes.loops[begin + k * stride]
        at = projected(projection, shapes.vertices[i])
        put(table, k, column, at, float((i - start) % LARGEST_LABEL))
    x, y, z, _ = projection
    m = add(scale(x, shapes.planes[face, 0]), add(scale(y, shapes.planes[face, 1]), scale(z, shapes.planes[face, 2])))
    return count, m


@steady
def corner(k, towards, s, shapes, g):
    """Vertex k."""
    v = shapes.vertex_starts[shapes.hull[g]] + k
    return False, (shapes.vertices[v, 0], shapes.vertices[v, 1], shapes.vertices[v, 2])


@steady
def is_extreme(k, u, s, shapes, g):
    """Whether no other vertex lies much farther along u than vertex k."""
    first, end = shapes.vertex_starts[shapes.hull[g]], shapes.vertex_starts[shapes.hull[g] + 1]
    v, inside = first + k, True
    p = (shapes.vertices[v, 0], shapes.vertices[v, 1], shapes.vertices[v, 2])
    for i in range(first, end):
        way = sub((shapes.vertices[i, 0], shapes.vertices[i, 1], shapes.vertices[i, 2]), p)
        inside &= dot(u, way) <= OUTSIDE * dot(way, way) ** 0.5
    return inside


@steady
def nearest_on_triangle(q, p, e, f):
    """Point of the triangle p, p + e, p + f that is nearest to q."""
    d = sub(q, p)
    ee, ef, ff, de, df = dot(e, e), dot(e, f), dot(f, f), dot(d, e), dot(d, f)
    det = ee * ff - ef * ef
    s, t = ff * de - ef * df, ee * df - ef * de
    if s >= 0.0 and t >= 0.0 and s + t <= det and det > 0.0:
        return add(p, add(scale(e, s / det), scale(f, t / det)))
    s = min(max(de / ee, 0.0), 1.0) if ee > 0.0 else 0.0
    t = min(max(df / ff, 0.0), 1.0) if ff > 0.0 else 0.0
    g = sub(f, e)
    gg = dot(g, g)
    r = min(max((dot(d, g) - dot(e, g)) / gg, 0.0), 1.0) if gg > 0.0 else 0.0
    on_e, on_f, on_g = scale(e, s), scale(f, t), add(e, scale(g, r))
    to_e, to_f, to_g = sub(d, on_e), sub(d, on_f), sub(d, on_g)
    de, df, dg = dot(to_e, to_e), dot(to_f, to_f), dot(to_g, to_g)
    if de <= df and de <= dg:
        return add(p, on_e)
    return add(p, on_f if df <= dg else on_g)


@steady
def hull_distance(shapes, g, q):
    """Signed distance of a point from a hull, and its gradient, in the axes of the hull.

    Inside it is the nearest face that counts. Outside, the nearest point lies on a face that is seen from q.
    """
    h = shapes.hull[g]
    face, most = -1, -np.inf
    for f in range(shapes.face_starts[h], shapes.face_starts[h + 1]):
        above = shapes.planes[f, 0] * q[0] + shapes.planes[f, 1] * q[1] + shapes.planes[f, 2] * q[2]
        above -= shapes.planes[f, 3]
        if above > most:
            face, most = f, above
    n = (shapes.planes[face, 0], shapes.planes[face, 1], shapes.planes[face, 2])
    if most <= 1e-12 * shapes.size[g, 0]:
        return most, n
    least, to = np.inf, n
    for f in range(shapes.face_starts[h], shapes.face_starts[h + 1]):
        above = shapes.planes[f, 0] * q[0] + shapes.planes[f, 1] * q[1] + shapes.planes[f, 2] * q[2]
        above -= shapes.planes[f, 3]
        if above > 0.0 and above * above < least:
            start = shapes.loop_starts[f]
            p = hull_vertex(shapes, start)
            for k in range(start + 2, shapes.loop_starts[f + 1]):
                e, d = sub(hull_vertex(shapes, k - 1), p), sub(hull_vertex(shapes, k), p)
                away = sub(q, nearest_on_triangle(q, p, e, d))
                squared = dot(away, away)
                if squared < least:
                    least, to = squared, away
    m, length = direction_and_length(to)
    return length, m


@steady
def hull_vertex(shapes, k):
    """Vertex at place k of the loops of all hulls."""
    return shapes.vertices[shapes.loops[k]]


class HullTable(Table, tag_field="type", tag="hull"):
    """Convex hull of points, which are given or are the vertices of a mesh file.

    Attributes:
        points: Points [m].
        path: Mesh file, relative to the folder of the scene file and inside it.
    """

    points: Annotated[list[Vector], Meta(min_length=4)] | None = None
    path: Name | None = None


def _read(table: HullTable, path_of: Callable[[str], Any]) -> ConvexHull:
    if (table.points is None) == (table.path is None):
        raise SceneError("ConvexHull: points, path: exactly one of the two must be given")
    return ConvexHull(path_of(table.path) if table.path is not None else table.points)


HULL = register(
    ConvexHull,
    "hull",
    support=support,
    axis=axis,
    face=face,
    corner=corner,
    is_extreme=is_extreme,
    indexed=True,
    flat=True,
    angular=True,
    table=HullTable,
    read=_read,
).kind
