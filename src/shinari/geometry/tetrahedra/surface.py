"""A surface as it comes, made ready to be filled: doubled faces, faces turned round, holes.

Vertices with exactly equal coordinates count as one. A face without area is left out. Of faces on the same three
vertices one stays; where as many are turned one way as the other, they are either a wall between two bodies that touch,
which goes, or a surface drawn from both sides, of which one side stays: whichever leaves fewer edges open. Faces that
are turned differently from their neighbours are turned, each connected part after the majority of its area.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shinari.compute import Field, Record, kernel
from shinari.compute.program import run_once
from shinari.geometry.tetrahedra.check import components
from shinari.geometry.topology import unite

CLOSED = "no open edges"
"""What `describe_holes` says of a surface without holes."""


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles around one or more bodies.

    Attributes:
        faces: Vertex indices, (F, 3), neighbours turned alike.
        corners: Their corners, from `middle` [m], (F, 3, 3).
        middle: Of the box around them [m], (3,).
        area: Of all [m^2].
        volume: Signed, of all: parts that overlap count twice, hollows with the other sign [m^3].
        bulk: Sum of the volumes of the connected parts without their signs [m^3].
        parts: Connected parts.
    """

    faces: NDArray[np.int64]
    corners: NDArray[np.float64]
    middle: NDArray[np.float64]
    area: float
    volume: float
    bulk: float
    parts: int


def prepare_surface(vertices: NDArray[np.float64], faces: NDArray[np.int64]) -> Surface:
    """Put a surface in order.

    Args:
        vertices: Positions [m], (V, 3), finite.
        faces: Vertex indices, (F, 3), in range.
    """
    faces = np.asarray(unite(vertices, faces), np.int64)
    used = vertices[np.unique(faces)] if len(faces) else np.zeros((1, 3))
    middle = 0.5 * (used.min(axis=0) + used.max(axis=0))
    points = vertices - middle
    faces = _single(faces[_areas(points, faces) > 0.0])
    first, second, alike = _neighbours(faces)
    part = components(len(faces), first, second)
    area = _areas(points, faces)
    if not alike.all():
        turned = _turned(len(faces), *_adjacency(len(faces), first, second, alike))
        most = np.bincount(part, np.where(turned, area, -area)) > 0.0
        turned ^= most[part]
        faces = np.where(turned[:, None], faces[:, ::-1], faces)
    corners = points[faces]
    volume = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    of_parts = np.bincount(part, volume) if len(part) else np.zeros(0)
    if of_parts.sum() < 0.0:
        faces, corners, of_parts = faces[:, ::-1], corners[:, ::-1], -of_parts
    return Surface(
        faces,
        np.ascontiguousarray(corners),
        middle,
        float(area.sum()),
        float(of_parts.sum()),
        float(np.abs(of_parts).sum()),
        len(of_parts),
    )


def describe_holes(surface: Surface) -> str:
    """Edges with an odd number of faces, for a message: how many, in how many holes, and the size of the largest."""
    edges = _odd_edges(surface.faces)
    if not len(edges):
        return CLOSED
    ends, place = np.unique(edges, return_inverse=True)
    place = place.reshape(-1, 2)
    hole = components(len(ends), place[:, 0], place[:, 1])
    _, first = np.unique(surface.faces, return_index=True)
    points = surface.corners.reshape(-1, 3)[first][np.searchsorted(np.unique(surface.faces), ends)]
    sizes = [float(np.linalg.norm(np.ptp(points[hole == k], axis=0))) for k in range(hole.max() + 1)]
    return f"{len(edges)} open edges, {len(sizes)} hole(s), the largest {max(sizes):.3g} m across"


def _areas(points: NDArray[np.float64], faces: NDArray[np.int64]) -> NDArray[np.float64]:
    a, b, c = (points[faces[:, k]] for k in range(3))
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)


def _single(faces: NDArray[np.int64]) -> NDArray[np.int64]:
    """One of the faces on the same three vertices, or none: see above."""
    ordered = np.sort(faces, axis=1)
    a, b, c = faces.T
    side = np.where((a > b) ^ (b > c) ^ (a > c), -1.0, 1.0)
    _, first, group, count = np.unique(ordered, axis=0, return_index=True, return_inverse=True, return_counts=True)
    if (count == 1).all():
        return faces
    group = group.reshape(-1)
    net = np.rint(np.bincount(group, side))
    # the first of each group that is turned the way most are
    keep = np.full(len(first), len(faces))
    np.minimum.at(keep, group, np.where(side * net[group] >= 0.0, np.arange(len(faces)), len(faces)))
    whole = faces[np.sort(keep)]
    without = faces[np.sort(keep[net != 0.0])]
    if len(without) and len(_odd_edges(without)) <= len(_odd_edges(whole)):
        return without
    return whole


def _sides(faces: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Keys of the 3 F sides, their order by edge, and where runs of equal ones start and how long they are."""
    start, end = faces.ravel(), faces[:, [1, 2, 0]].ravel()
    key = np.minimum(start, end) * (int(faces.max(initial=0)) + 1) + np.maximum(start, end)
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.concatenate([np.ones(min(len(key), 1), bool), key[1:] != key[:-1]]))
    return key, order, first, np.diff(first, append=len(key))


def _odd_edges(faces: NDArray[np.int64]) -> NDArray[np.int64]:
    """Edges with an odd number of faces, (E, 2)."""
    key, _, first, count = _sides(faces)
    return np.stack(np.divmod(key[first[count % 2 == 1]], int(faces.max(initial=0)) + 1), axis=1)


def _neighbours(faces: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Pairs of faces that alone share an edge, and whether both are turned alike."""
    _, order, first, count = _sides(faces)
    one, two = order[first[count == 2]], order[first[count == 2] + 1]
    start = faces.ravel()
    return one // 3, two // 3, start[one] != start[two]


def _adjacency(
    count: int, first: NDArray[np.int64], second: NDArray[np.int64], alike: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Neighbours of each face, one list after another: where lists start, the faces, and whether they are alike."""
    here, there = np.concatenate([first, second]), np.concatenate([second, first])
    order = np.argsort(here, kind="stable")
    return np.searchsorted(here[order], np.arange(count + 1)), there[order], np.concatenate([alike, alike])[order]


class Faces(Record):
    """Faces, F rows."""

    links = Field(np.int64, 2, doc="first link and the one after the last")
    seen = Field(np.bool_)
    turned = Field(np.bool_)
    stack = Field(np.int64, doc="faces whose neighbours are still to be looked at")


class Links(Record):
    """Neighbours, face after face."""

    face = Field(np.int64)
    alike = Field(np.bool_)


def _turned(
    count: int, starts: NDArray[np.int64], others: NDArray[np.int64], alike: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Faces to turn, so that each is like the neighbour it is first reached from, (F,)."""
    faces = Faces.zeros(count)
    faces.links[...] = np.stack([starts[:-1], starts[1:]], axis=1)
    run_once(turn_faces, faces, Links(face=others.astype(np.int64), alike=alike), count=1)
    return faces.turned


@kernel
def turn_faces(_, faces: Faces, links: Links):
    """Visit the faces of each connected part from its first one on."""
    for seed in range(len(faces)):
        if faces.seen[seed]:
            continue
        faces.seen[seed] = True
        faces.stack[0], depth = seed, 1
        while depth > 0:
            depth -= 1
            face = faces.stack[depth]
            first, last = faces.links[face]
            for n in range(first, last):
                other = links.face[n]
                if not faces.seen[other]:
                    faces.seen[other] = True
                    faces.turned[other] = faces.turned[face] != (not links.alike[n])
                    faces.stack[depth] = other
                    depth += 1
