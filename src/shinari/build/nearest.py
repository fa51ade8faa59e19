"""The place on a thing that is nearest to a point: on its tetrahedra, triangles, segments or particles."""

import numba
import numpy as np

from shinari.contact.surface.proximity import triangle_weights
from shinari.maths.function import STEADY, steady
from shinari.maths.vec3 import ONE, ZERO, add, cross, dot, scale, sub
from shinari.scene.things import Particles


def elements_of(group: Particles) -> np.ndarray:
    """What a place on a thing lies in: its tetrahedra (E, 4), triangles (E, 3), segments (E, 2) or particles (E, 1)."""
    if group.tetrahedra is not None:
        return np.asarray(group.tetrahedra, np.int64)
    if group.faces is not None:
        return np.asarray(group.faces, np.int64)
    index = np.arange(len(group.positions))
    if group.kind in ("rope", "rod"):
        return np.stack([index[:-1], index[1:]], axis=1)
    return index[:, None]


def longest_edges(vertices: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """Longest edge of each element [m], (E,); 0 for particles."""
    k = elements.shape[1]
    sides = [
        np.linalg.norm(vertices[elements[:, i]] - vertices[elements[:, j]], axis=1) for i in range(k) for j in range(i)
    ]
    return np.max(sides, axis=0) if sides else np.zeros(len(elements))


def nearest_places(
    points: np.ndarray, vertices: np.ndarray, elements: np.ndarray, own: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The nearest place on elements for each point.

    Args:
        points: Points [m], (M, 3).
        vertices: Vertices [m], (N, 3).
        elements: Vertices of each tetrahedron, triangle, segment or particle, (E, k).
        own: Vertex whose elements do not count for each point, (M,); -1: none.

    Returns:
        Element of each place (M,), -1 where none counts, its barycentric weights (M, k), and its distance from the
        point [m], (M,). Of several that are as near, the first.
    """
    corners = vertices[elements]
    centres = corners.mean(axis=1)
    radii = np.linalg.norm(corners - centres[:, None], axis=2).max(axis=1)
    found = np.full(len(points), -1, np.int64)
    weights = np.zeros((len(points), elements.shape[1]))
    distances = np.full(len(points), np.inf)
    _search(points, np.ascontiguousarray(corners), elements, own, centres, radii, found, weights, distances)
    return found, weights, distances


@steady
def _load(x, e, k):
    return x[e, k, 0], x[e, k, 1], x[e, k, 2]


@steady
def _tetrahedron_weights(a, b, c, d):
    """Weights of the point of a tetrahedron that is nearest to the origin."""
    ab, ac, ad = sub(b, a), sub(c, a), sub(d, a)
    whole = dot(ab, cross(ac, ad))
    v = -dot(a, cross(ac, ad)) / whole
    w = -dot(ab, cross(a, ad)) / whole
    z = -dot(ab, cross(ac, a)) / whole
    u = ONE - v - w - z
    if u >= ZERO and v >= ZERO and w >= ZERO and z >= ZERO:
        return u, v, w, z
    best, zero = np.inf, u - u
    result = (zero, zero, zero, zero)
    for side in range(4):
        p = b if side == 0 else a
        q = c if side <= 1 else b
        r = c if side == 3 else d
        i, j, k = triangle_weights(p, q, r)
        place = add(scale(p, i), add(scale(q, j), scale(r, k)))
        far = dot(place, place)
        if far < best:
            best = far
            if side == 0:
                result = (zero, i, j, k)
            elif side == 1:
                result = (i, zero, j, k)
            elif side == 2:
                result = (i, j, zero, k)
            else:
                result = (i, j, k, zero)
    return result


@steady
def _weights(corners, e, point, out):
    """Weights of the place of element e that is nearest to a point, into `out`; its squared distance."""
    k = corners.shape[1]
    a = sub(_load(corners, e, 0), point)
    if k == 1:
        out[0] = 1.0
        return dot(a, a)
    b = sub(_load(corners, e, 1), point)
    if k == 2:
        side = sub(b, a)
        t = min(max(-dot(a, side) / dot(side, side), 0.0), 1.0)
        out[0], out[1] = 1.0 - t, t
        place = add(a, scale(side, t))
        return dot(place, place)
    c = sub(_load(corners, e, 2), point)
    if k == 3:
        u, v, w = triangle_weights(a, b, c)
        out[0], out[1], out[2] = u, v, w
        place = add(scale(a, u), add(scale(b, v), scale(c, w)))
        return dot(place, place)
    d = sub(_load(corners, e, 3), point)
    u, v, w, z = _tetrahedron_weights(a, b, c, d)
    out[0], out[1], out[2], out[3] = u, v, w, z
    if u > 0.0 and v > 0.0 and w > 0.0 and z > 0.0:
        return 0.0 * u
    place = add(add(scale(a, u), scale(b, v)), add(scale(c, w), scale(d, z)))
    return dot(place, place)


@numba.njit(cache=True, **STEADY)
def _search(points, corners, elements, own, centres, radii, found, weights, distances):
    """See `nearest_places`; an element whose ball is farther than the best place so far is not looked at."""
    trial = np.zeros(corners.shape[1])
    for m in range(len(points)):
        p = (points[m, 0], points[m, 1], points[m, 2])
        best = np.inf
        for e in range(len(corners)):
            away = sub((centres[e, 0], centres[e, 1], centres[e, 2]), p)
            reach = distances[m] + radii[e]
            if dot(away, away) > reach * reach:
                continue
            mine = False
            for k in range(corners.shape[1]):
                mine = mine or elements[e, k] == own[m]
            if mine:
                continue
            square = _weights(corners, e, p, trial)
            if square < best:
                best = square
                distances[m] = np.sqrt(square)
                found[m] = e
                for k in range(corners.shape[1]):
                    weights[m, k] = trial[k]
