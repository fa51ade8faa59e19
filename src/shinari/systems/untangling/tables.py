"""Edges, triangles and points of the surfaces of a scene, with what lies next to each."""

import numpy as np

from shinari.model.model import Model
from shinari.systems.surface_contact.build import Participants
from shinari.systems.untangling.records import SheetEdges, SheetPoints, SheetTriangles


def surface_tables(
    model: Model, who: Participants, sheets: np.ndarray
) -> tuple[SheetEdges, SheetTriangles, SheetPoints]:
    """Tables of the surfaces of a scene; `sheets` tells which objects are no solids, (T,) bool."""
    faces = who.triangles.astype(np.int64)
    rest = model.origins[model.origin_index] + who.rest.astype(np.float64)
    keys, which = np.unique(_keys(np.sort(_sides(faces), axis=1)), return_inverse=True)
    ends = np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1)
    edges: SheetEdges = SheetEdges.zeros(len(ends))
    edges.points[...], edges.object_index[...] = ends, model.owners[ends[:, 0]]
    edges.face[...] = _faces_at_edges(which, len(ends))
    triangles: SheetTriangles = SheetTriangles.zeros(len(faces), model.real)
    triangles.points[...], triangles.object_index[...] = faces, model.owners[faces[:, 0]]
    for number in np.unique(triangles.object_index):
        own = triangles.object_index == number
        triangles.outward[own] = _outward(rest, faces[own])
        triangles.hollow[own] = sheets[number] and (model.inverse_masses[model.owners == number] > 0.0).all()
    points: SheetPoints = SheetPoints.zeros(model.particle_count)
    corners = rest[faces]
    area = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    np.add.at(points.area, faces, area[:, None] / 3.0)
    points.area[model.inverse_masses == 0.0] += area.sum()
    points.tied[...] = _tied(model, who)
    return edges, triangles, points


def _sides(faces: np.ndarray) -> np.ndarray:
    """Sides of triangles in their direction, (3 T, 2)."""
    return faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)


def _keys(sides: np.ndarray) -> np.ndarray:
    """One number for each pair of particles, in the order of the pairs."""
    return (sides[:, 0] << 32) | sides[:, 1]


def _faces_at_edges(edge_of_side: np.ndarray, count: int) -> np.ndarray:
    """The first two triangles at each edge, (E, 2); -1 where there is none."""
    order = np.argsort(edge_of_side, kind="stable")
    number = np.bincount(edge_of_side, minlength=count)
    first = np.cumsum(number) - number
    found = np.full((count, 2), -1, np.int64)
    found[:, 0] = order[first] // 3
    found[number > 1, 1] = order[first[number > 1] + 1] // 3
    return found


def _outward(rest: np.ndarray, faces: np.ndarray) -> float:
    """Sign of the normals of a closed surface outwards; 0 where it has a boundary or is not oriented."""
    sides = _sides(faces)
    there, back = np.sort(_keys(sides)), np.sort(_keys(sides[:, ::-1]))
    if (there[1:] == there[:-1]).any() or not np.array_equal(there, back):
        return 0.0
    a, b, c = (rest[faces[:, k]] - rest[faces[0, 0]] for k in range(3))
    return float(np.sign(np.einsum("ij,ij->", a, np.cross(b, c))))


def _tied(model: Model, who: Participants) -> np.ndarray:
    """Particles that share a row with one of another object, and their neighbours, (N,) bool."""
    here = np.repeat(np.arange(model.particle_count), np.diff(who.neighbour_offsets.astype(np.int64)))
    tied = np.zeros(model.particle_count, np.bool_)
    tied[here[model.owners[here] != model.owners[who.neighbours]]] = True
    tied[who.neighbours[tied[here]]] = True
    return tied
