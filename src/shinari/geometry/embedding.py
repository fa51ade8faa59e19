"""Binds a surface to tetrahedra: which one holds each vertex, and with which weights.

A tree of boxes gives the tetrahedra that may hold a vertex; of those that do (several on a shared face, or where the
mesh overlaps itself) the one in which it lies deepest is taken. A vertex outside belongs to the nearest tetrahedron,
whose linear map is continued: its weights are barycentric too, one of them negative.
"""

import numpy as np

from shinari.compute import Field, Record, kernel, shared
from shinari.compute.kernels import STEADY
from shinari.compute.program import run_once
from shinari.errors import EmbeddingWarning, SceneError, warn
from shinari.geometry.bvh import Tree
from shinari.geometry.embedded_surface import EmbeddedSurface
from shinari.geometry.proximity import triangle_weights
from shinari.geometry.tetrahedra.check import longest_edges
from shinari.maths.function import steady
from shinari.maths.vec3 import add, cross, dot, scale, sub

INSIDE = -1e-9
"""Least barycentric coordinate of a vertex that counts as inside: on a face it is zero but for rounding."""
TIE = 1e-6
"""Tetrahedra that are nearest but for this part of the distance, because they share the nearest point, are equal."""
FARTHEST = 0.5
"""A vertex farther outside than this part of the diagonal of the tetrahedra does not belong to them ..."""
FARTHEST_CELLS = 2.0
"""... unless it is nearer than so many longest edges."""


def bind(
    label: str, surface_vertices: np.ndarray, faces: np.ndarray, vertices: np.ndarray, tetrahedra: np.ndarray
) -> EmbeddedSurface:
    """Bind a surface to tetrahedra.

    Args:
        label: What it belongs to, for messages: `"soft body 'jelly'"`.
        surface_vertices: Vertices of the surface [m], (V, 3).
        faces: Its triangles, (F, 3).
        vertices: Vertices of the tetrahedra [m], (N, 3), in the same coordinates.
        tetrahedra: Tetrahedra with a volume, (T, 4).

    Raises:
        SceneError: A vertex is so far outside that the surface cannot be meant for these tetrahedra.

    Warns:
        EmbeddingWarning: Vertices are farther outside than their tetrahedron is long; the message says which, how far.
    """
    points = np.ascontiguousarray(surface_vertices, np.float64)
    x = np.ascontiguousarray(vertices, np.float64)
    table = np.ascontiguousarray(tetrahedra, np.int64)
    sizes = longest_edges(x, table)
    chosen, weights, distances = _find(label, points, x, table, sizes)
    far = np.flatnonzero(distances > sizes[chosen])
    if len(far):
        worst = far[np.argmax(distances[far])]
        warn(
            f"{label}: visual: vertex {worst} is {distances[worst]:.3g} m outside the tetrahedra, farther than the "
            f"nearest of them is long, {sizes[chosen[worst]]:.3g} m"
            + (f"; so are {len(far) - 1} more" if len(far) > 1 else "")
            + ". They move as that tetrahedron would go on; smaller tetrahedra that reach them look better",
            EmbeddingWarning,
        )
    return EmbeddedSurface(points, np.asarray(faces, np.int64), table[chosen].astype(np.uint32), weights)


def locate(
    points: np.ndarray, vertices: np.ndarray, tetrahedra: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tetrahedron of each point, (V,), its weights there, (V, 4), and how far outside it is [m], (V,)."""
    x, table = np.ascontiguousarray(vertices, np.float64), np.ascontiguousarray(tetrahedra, np.int64)
    return _find("", np.ascontiguousarray(points, np.float64), x, table, longest_edges(x, table), np.inf)


def _find(
    label: str,
    points: np.ndarray,
    x: np.ndarray,
    tetrahedra: np.ndarray,
    sizes: np.ndarray,
    farthest: float = FARTHEST,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tetrahedron of each point (V,), its weights there (V, 4), and how far outside it is [m] (V,)."""
    corners = x[tetrahedra]
    low, high = corners.min(axis=1), corners.max(axis=1)
    tree = Tree(0.5 * (low + high), np.float64)
    tree.refit(low, high, 1)
    places = Places.zeros(len(points))
    places.place[...], places.tetrahedron[...] = points, -1
    mesh = Vertices(place=x), Tetrahedra(corners=tetrahedra)
    margin = 1e-9 * sizes.max()
    everything = np.arange(len(points))
    pairs = tree.overlaps(points - margin, points + margin, 1)
    run_once(find_deepest, *_queries(everything, pairs), places, *mesh, count=len(points))
    outside = np.flatnonzero(places.tetrahedron < 0)
    diagonal = float(np.linalg.norm(x.max(axis=0) - x.min(axis=0)))
    limit = max(farthest * diagonal, FARTHEST_CELLS * float(sizes.max()))
    reach = 0.25 * float(sizes.mean())
    while len(outside):
        reach = min(2.0 * reach, limit)
        pairs = tree.overlaps(points[outside] - reach, points[outside] + reach, 1)
        run_once(find_nearest, *_queries(outside, pairs), places, *mesh, reach, count=len(outside), grain=16)
        outside = outside[places.tetrahedron[outside] < 0]
        if len(outside) and reach >= limit:
            first = outside[0]
            away = float(np.linalg.norm(x - points[first], axis=1).min())
            raise SceneError(
                f"{label}: visual: vertex {first} of the visual mesh is outside its tetrahedra, {away:.3g} m from the "
                f"nearest vertex of them, more than the {limit:.3g} m it may be ({len(outside)} of {len(points)} "
                f"vertices are). Both meshes are in the same coordinates and units: metres"
            )
    return places.tetrahedron, places.weights, places.distance


class Places(Record):
    """Points, V rows."""

    place = Field(np.float64, 3, unit="m")
    tetrahedron = Field(np.int64, doc="that it belongs to, or -1")
    weights = Field(np.float64, 4, doc="barycentric coordinates there")
    distance = Field(np.float64, unit="m", doc="how far it is outside")


class Vertices(Record):
    """Vertices of the tetrahedra, N rows."""

    place = Field(np.float64, 3, unit="m")


class Tetrahedra(Record):
    """Tetrahedra, T rows."""

    corners = Field(np.int64, 4)


class Queries(Record):
    """Points that are looked for, Q rows."""

    point = Field(np.int64)
    pairs = Field(np.int64, 2, doc="first pair and the one after the last")


class Pairs(Record):
    """Tetrahedra that may be those of a point, query after query."""

    tetrahedron = Field(np.uint32)
    square = Field(np.float64, unit="m^2", doc="square of the distance")


def _queries(points: np.ndarray, pairs: np.ndarray) -> tuple[Queries, Pairs]:
    """Records of points by number, (Q,), and of pairs of a query and a tetrahedron, (K, 2), sorted by query."""
    starts = np.searchsorted(pairs[:, 0], np.arange(len(points) + 1))
    queries = Queries(point=points, pairs=np.stack([starts[:-1], starts[1:]], axis=1))
    return queries, Pairs(tetrahedron=pairs[:, 1].copy(), square=np.zeros(len(pairs)))


@steady
def _barycentric(p, a, b, c, d):
    """Weights of a point in a tetrahedron."""
    ap, ab, ac, ad = sub(p, a), sub(b, a), sub(c, a), sub(d, a)
    normal = cross(ac, ad)
    over = 1.0 / dot(ab, normal)
    u = dot(ap, normal) * over
    v = dot(ap, cross(ad, ab)) * over
    w = dot(ap, cross(ab, ac)) * over
    return 1.0 - u - v - w, u, v, w


@steady
def _corners(vertices, tetrahedra, t):
    """Corners of a tetrahedron."""
    i, j, k, m = tetrahedra.corners[t]
    return vertices.place[i], vertices.place[j], vertices.place[k], vertices.place[m]


Vector = tuple[float, float, float]


@shared(fastmath=STEADY)
def _squared_distance(p: Vector, a: Vector, b: Vector, c: Vector) -> float:
    """Square of the distance of a point and a triangle."""
    a, b, c = sub(a, p), sub(b, p), sub(c, p)
    u, v, w = triangle_weights(a, b, c)
    nearest = add(scale(a, u), add(scale(b, v), scale(c, w)))
    return dot(nearest, nearest)


@kernel(fastmath=STEADY)
def find_deepest(q, queries: Queries, pairs: Pairs, places: Places, vertices: Vertices, tetrahedra: Tetrahedra):
    """Choose, among the tetrahedra that a point is paired with, the one in which it lies deepest inside."""
    i, best = queries.point[q], INSIDE
    first, last = queries.pairs[q]
    for k in range(first, last):
        t = np.int64(pairs.tetrahedron[k])
        a, b, c, d = _corners(vertices, tetrahedra, t)
        w = _barycentric(places.place[i], a, b, c, d)
        depth = min(min(w[0], w[1]), min(w[2], w[3]))
        # of two that are as good the first, whatever the order of the pairs
        if depth > best or (depth == best and t < places.tetrahedron[i]):
            best = depth
            places.tetrahedron[i], places.weights[i] = t, w


@kernel(fastmath=STEADY)
def find_nearest(
    q, queries: Queries, pairs: Pairs, places: Places, vertices: Vertices, tetrahedra: Tetrahedra, reach: np.float64
):
    """Choose for a point outside the nearest tetrahedron, if it is within reach: then no unpaired one is nearer.

    Tetrahedra that share the nearest point are equally near: the one is taken whose map is continued least.
    """
    i, square, best = queries.point[q], np.inf, -np.inf
    p = places.place[i]
    first, last = queries.pairs[q]
    for k in range(first, last):
        a, b, c, d = _corners(vertices, tetrahedra, np.int64(pairs.tetrahedron[k]))
        pairs.square[k] = min(
            min(_squared_distance(p, b, c, d), _squared_distance(p, a, c, d)),
            min(_squared_distance(p, a, b, d), _squared_distance(p, a, b, c)),
        )
        square = min(square, pairs.square[k])
    if square > reach * reach:
        return
    for k in range(first, last):
        t = np.int64(pairs.tetrahedron[k])
        if pairs.square[k] <= (1.0 + TIE) * square:
            a, b, c, d = _corners(vertices, tetrahedra, t)
            w = _barycentric(p, a, b, c, d)
            depth = min(min(w[0], w[1]), min(w[2], w[3]))
            if depth > best or (depth == best and t < places.tetrahedron[i]):
                best = depth
                places.tetrahedron[i], places.weights[i], places.distance[i] = t, w, np.sqrt(square)


KERNELS = find_deepest, find_nearest
"""The kernels of this file, to be compiled ahead."""
