"""Binds a surface to tetrahedra: which one holds each vertex, and with which weights.

A tree of boxes gives the tetrahedra that may hold a vertex; of those that do (several on a shared face, or where the
mesh overlaps itself) the one in which it lies deepest is taken. A vertex outside belongs to the nearest tetrahedron,
whose linear map is continued: its weights are barycentric too, one of them negative.
"""

import warnings

import numba
import numpy as np

from shinari.build.tetrahedra.check import longest_edges
from shinari.contact.broad.bvh import Tree
from shinari.contact.surface.proximity import triangle_weights
from shinari.errors import EmbeddingWarning, SceneError
from shinari.maths.function import STEADY, steady
from shinari.maths.vec3 import add, cross, dot, scale, sub
from shinari.scene.visual import EmbeddedSurface

INSIDE = -1e-9
"""Least barycentric coordinate of a vertex that counts as inside: on a face it is zero but for rounding."""
TIE = 1e-6
"""Tetrahedra that are nearest but for this part of the distance, because they share the nearest point, are equal."""
FARTHEST = 0.5
"""A vertex farther outside than this part of the diagonal of the tetrahedra does not belong to them ..."""
FARTHEST_CELLS = 2.0
"""... unless it is nearer than so many longest edges."""


def bind(
    thing: str, surface_vertices: np.ndarray, faces: np.ndarray, vertices: np.ndarray, tetrahedra: np.ndarray
) -> EmbeddedSurface:
    """Bind a surface to tetrahedra.

    Args:
        thing: What it belongs to, for messages: `"soft body 'jelly'"`.
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
    chosen, weights, distances = _find(thing, points, x, table, sizes)
    far = np.flatnonzero(distances > sizes[chosen])
    if len(far):
        worst = far[np.argmax(distances[far])]
        warnings.warn(
            f"{thing}: visual: vertex {worst} is {distances[worst]:.3g} m outside the tetrahedra, farther than the "
            f"nearest of them is long, {sizes[chosen[worst]]:.3g} m"
            + (f"; so are {len(far) - 1} more" if len(far) > 1 else "")
            + ". They move as that tetrahedron would go on; smaller tetrahedra that reach them look better",
            EmbeddingWarning,
            stacklevel=4,
        )
    return EmbeddedSurface(points, np.asarray(faces, np.int64), table[chosen].astype(np.uint32), weights)


def _find(
    thing: str, points: np.ndarray, x: np.ndarray, tetrahedra: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tetrahedron of each point (V,), its weights there (V, 4), and how far outside it is [m] (V,)."""
    corners = x[tetrahedra]
    low, high = corners.min(axis=1), corners.max(axis=1)
    tree = Tree(0.5 * (low + high), np.float64)
    tree.refit(low, high, 1)
    chosen, weights = np.full(len(points), -1, np.int64), np.zeros((len(points), 4))
    distances = np.zeros(len(points))
    margin = 1e-9 * sizes.max()
    _deepest(points, x, tetrahedra, tree.overlaps(points - margin, points + margin, 1), chosen, weights)
    outside = np.flatnonzero(chosen < 0)
    diagonal = float(np.linalg.norm(x.max(axis=0) - x.min(axis=0)))
    limit = max(FARTHEST * diagonal, FARTHEST_CELLS * float(sizes.max()))
    reach = 0.25 * float(sizes.mean())
    while len(outside):
        reach = min(2.0 * reach, limit)
        pairs = tree.overlaps(points[outside] - reach, points[outside] + reach, 1)
        _nearest(points, x, tetrahedra, outside, pairs, reach, chosen, weights, distances)
        outside = outside[chosen[outside] < 0]
        if len(outside) and reach >= limit:
            first = outside[0]
            away = float(np.linalg.norm(x - points[first], axis=1).min())
            raise SceneError(
                f"{thing}: visual: vertex {first} of the visual mesh is outside its tetrahedra, {away:.3g} m from the "
                f"nearest vertex of them, more than the {limit:.3g} m it may be ({len(outside)} of {len(points)} "
                f"vertices are). Both meshes are in the same coordinates and units: metres"
            )
    return chosen, weights, distances


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
def _point(x, i):
    return x[i, 0], x[i, 1], x[i, 2]


@steady
def _squared_distance(p, a, b, c):
    """Square of the distance of a point and a triangle."""
    a, b, c = sub(a, p), sub(b, p), sub(c, p)
    u, v, w = triangle_weights(a, b, c)
    nearest = add(scale(a, u), add(scale(b, v), scale(c, w)))
    return dot(nearest, nearest)


@numba.njit(cache=True, **STEADY)
def _deepest(points, x, tetrahedra, pairs, chosen, weights):
    """Choose for each point, among the tetrahedra it is paired with, the one in which it lies deepest inside."""
    best = np.full(len(points), INSIDE)
    for k in range(len(pairs)):
        i, t = pairs[k, 0], np.int64(pairs[k, 1])
        a, b, c, d = tetrahedra[t, 0], tetrahedra[t, 1], tetrahedra[t, 2], tetrahedra[t, 3]
        w = _barycentric(_point(points, i), _point(x, a), _point(x, b), _point(x, c), _point(x, d))
        depth = min(min(w[0], w[1]), min(w[2], w[3]))
        # of two that are as good the first, whatever the order of the pairs
        if depth > best[i] or (depth == best[i] and t < chosen[i]):
            best[i], chosen[i] = depth, t
            weights[i, 0], weights[i, 1], weights[i, 2], weights[i, 3] = w


@numba.njit(cache=True, **STEADY)
def _nearest(points, x, tetrahedra, outside, pairs, reach, chosen, weights, distances):
    """Choose for points outside the nearest tetrahedron, if it is within reach: then no unpaired one is nearer.

    Tetrahedra that share the nearest point are equally near: the one is taken whose map is continued least.
    """
    squares = np.full(len(outside), np.inf)
    own = np.empty(len(pairs))
    for k in range(len(pairs)):
        i, t = pairs[k, 0], pairs[k, 1]
        p = _point(points, outside[i])
        a, b = _point(x, tetrahedra[t, 0]), _point(x, tetrahedra[t, 1])
        c, d = _point(x, tetrahedra[t, 2]), _point(x, tetrahedra[t, 3])
        own[k] = min(
            min(_squared_distance(p, b, c, d), _squared_distance(p, a, c, d)),
            min(_squared_distance(p, a, b, d), _squared_distance(p, a, b, c)),
        )
        squares[i] = min(squares[i], own[k])
    best = np.full(len(outside), -np.inf)
    for k in range(len(pairs)):
        i, t = pairs[k, 0], np.int64(pairs[k, 1])
        if squares[i] > reach * reach or own[k] > (1.0 + TIE) * squares[i]:
            continue
        q = outside[i]
        a, b, c, d = tetrahedra[t, 0], tetrahedra[t, 1], tetrahedra[t, 2], tetrahedra[t, 3]
        w = _barycentric(_point(points, q), _point(x, a), _point(x, b), _point(x, c), _point(x, d))
        depth = min(min(w[0], w[1]), min(w[2], w[3]))
        if depth > best[i] or (depth == best[i] and t < chosen[q]):
            best[i], chosen[q], distances[q] = depth, t, np.sqrt(squares[i])
            weights[q, 0], weights[q, 1], weights[q, 2], weights[q, 3] = w
