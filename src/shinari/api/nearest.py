"""The place on an object that is nearest to a point: on its tetrahedra, triangles, segments or particles."""

import numpy as np

from shinari.compute import Field, Record, kernel
from shinari.compute.kernels import STEADY
from shinari.compute.program import run_once
from shinari.geometry.proximity import triangle_weights
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, add, cross, dot, scale, sub
from shinari.scene.objects import ParticleObject


def elements_of(obj: ParticleObject) -> np.ndarray:
    """Elements of an object: its tetrahedra (E, 4), triangles (E, 3), segments (E, 2) or particles (E, 1)."""
    if obj.tetrahedra is not None:
        return np.asarray(obj.tetrahedra, np.int64)
    if obj.faces is not None:
        return np.asarray(obj.faces, np.int64)
    segments = obj.segments
    return np.arange(len(obj.positions))[:, None] if segments is None else segments


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
    width = elements.shape[1]
    places = Places(
        point=np.ascontiguousarray(points, np.float64),
        excluded=own.astype(np.int64),
        element=np.full(len(points), -1),
        weights=np.zeros((len(points), 4)),
        distance=np.full(len(points), np.inf),
    )
    table = Elements(centre=centres, radius=radii)
    ends = Corners(vertex=elements.ravel().astype(np.int64), place=corners.reshape(-1, 3).astype(np.float64))
    run_once(find_place, places, table, ends, width, count=len(points), grain=4)
    return places.element, places.weights[:, :width].copy(), places.distance


class Places(Record):
    """Points, M rows, and the nearest place to each."""

    point = Field(np.float64, 3, unit="m")
    excluded = Field(np.int64, doc="vertex whose elements do not count, or -1")
    element = Field(np.int64)
    weights = Field(np.float64, 4, doc="barycentric coordinates in the element")
    distance = Field(np.float64, unit="m")


class Elements(Record):
    """Balls around the elements, E rows."""

    centre = Field(np.float64, 3, unit="m")
    radius = Field(np.float64, unit="m")


class Corners(Record):
    """Corners of the elements, element after element."""

    vertex = Field(np.int64)
    place = Field(np.float64, 3, unit="m")


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
def _weights(corners, first, width, point):
    """Weights of the place of an element that is nearest to a point, and the square of its distance."""
    a = sub(corners.place[first], point)
    one, zero = 1.0, 0.0
    if width == 1:
        return (one, zero, zero, zero), dot(a, a)
    b = sub(corners.place[first + 1], point)
    if width == 2:
        side = sub(b, a)
        t = min(max(-dot(a, side) / dot(side, side), 0.0), 1.0)
        place = add(a, scale(side, t))
        return (1.0 - t, t, zero, zero), dot(place, place)
    c = sub(corners.place[first + 2], point)
    if width == 3:
        u, v, w = triangle_weights(a, b, c)
        place = add(scale(a, u), add(scale(b, v), scale(c, w)))
        return (u, v, w, zero), dot(place, place)
    d = sub(corners.place[first + 3], point)
    u, v, w, z = _tetrahedron_weights(a, b, c, d)
    if u > 0.0 and v > 0.0 and w > 0.0 and z > 0.0:
        return (u, v, w, z), zero
    place = add(add(scale(a, u), scale(b, v)), add(scale(c, w), scale(d, z)))
    return (u, v, w, z), dot(place, place)


@kernel(fastmath=STEADY)
def find_place(m, places: Places, elements: Elements, corners: Corners, width: np.int64):
    """The nearest place; an element whose ball is farther than the best place so far is not looked at."""
    p, best, excluded = places.point[m], np.inf, places.excluded[m]
    for e in range(len(elements)):
        away, reach = sub(elements.centre[e], p), places.distance[m] + elements.radius[e]
        counts = dot(away, away) <= reach * reach
        for k in range(width * e, width * e + width):
            counts = counts and corners.vertex[k] != excluded
        if counts:
            weights, square = _weights(corners, width * e, width, p)
            if square < best:
                best = square
                places.element[m], places.weights[m], places.distance[m] = e, weights, np.sqrt(square)
