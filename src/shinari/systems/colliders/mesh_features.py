r"""Vertices and edges of mesh colliders that can be the nearest to a triangle between its vertices.

A point of the surface is nearest to a point above it only where the direction to that point lies in the normal cone of
its feature: n . t <= 0 for all directions t along the surface. The cone is empty along flat and concave edges, and at
vertices that only have such edges: these are left to the vertices of the triangle, and are no features.

           n                  walls of an edge: the directions t into its faces, and u, -u along it
           |                  walls of a vertex: the directions to its neighbours
      t ___|___ t
       /       \              n in the cone: n . wall <= 0 for all walls
"""

from collections.abc import Sequence

import numpy as np

from shinari.compute import Field, Record, real
from shinari.geometry.topology import unite
from shinari.shapes.kernels.mesh_field import box_tree, pseudonormals
from shinari.shapes.mesh import Mesh

# Faces that meet at less than this angle [rad] are one plane.
FLAT = 1e-3


class MeshFeatures(Record, ragged=True):
    """Features of all mesh colliders; triangles are numbered as in `MeshFields`."""

    start = Field(np.int64, doc="where the features of each triangle start; one more row")
    origin = Field(real, 3, unit="m", doc="vertex, or where the edge starts")
    along = Field(real, 3, unit="m", doc="to the end of the edge; 0 for a vertex")
    out = Field(real, 3, doc="pseudonormal: to the outer side of a solid")
    wall_start = Field(np.int64, doc="where the walls of each feature start; one more row")
    wall = Field(real, 3, doc="unit vectors along the surface")


def mesh_features(meshes: Sequence[Mesh], precision: type) -> MeshFeatures:
    """Features of meshes, in the order of `MeshFields`; each belongs to one of its triangles."""
    tables = [_features(mesh) for mesh in meshes]
    owners, origins, alongs, outs, counts, walls = (np.concatenate(each) for each in zip(*tables, strict=True))
    before = np.cumsum([0] + [len(mesh.faces) for mesh in meshes])
    owners = owners + np.repeat(before[:-1], [len(each[0]) for each in tables])
    start = np.searchsorted(owners, np.arange(before[-1] + 1))
    return MeshFeatures(
        precision,
        start=start.astype(np.int64),
        origin=origins.astype(precision),
        along=alongs.astype(precision),
        out=outs.astype(precision),
        wall_start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        wall=walls.astype(precision),
    )


def _features(mesh: Mesh) -> tuple[np.ndarray, ...]:
    """Owners (F,), origins, edges, pseudonormals (F, 3), numbers of walls (F,) and walls (W, 3), ascending by owner."""
    x = mesh.vertices
    tree = box_tree(x[mesh.faces])[0]
    faces = unite(x, mesh.faces)[tree]
    count = len(faces)
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    opposite, triangle = np.concatenate([faces[:, 2], faces[:, 0], faces[:, 1]]), np.tile(np.arange(count), 3)
    ends = np.sort(sides, axis=1)
    _, first, edge, shared = np.unique(
        ends[:, 0] * len(x) + ends[:, 1], return_index=True, return_inverse=True, return_counts=True
    )
    low, high = ends[first].T
    along = x[high] - x[low]
    unit = _unit(along)
    into = x[opposite] - x[ends[:, 0]]
    into = _unit(into - np.einsum("ij,ij->i", into, unit[edge])[:, None] * unit[edge])
    order = np.argsort(edge, kind="stable")
    one, two = order[np.cumsum(shared) - shared], order[np.cumsum(shared) - 1]
    normal = _unit(np.cross(x[faces[:, 1]] - x[faces[:, 0]], x[faces[:, 2]] - x[faces[:, 0]]))
    smooth = (np.linalg.norm(into[one] + into[two], axis=1) < FLAT) & (shared == 2)
    concave = np.einsum("ij,ij->i", into[two], normal[triangle[one]]) > 0.0
    kept = ~smooth & ~(concave & (shared == 2) & bool(mesh.solid))
    # walls of edges, and directions from vertices along all of their edges
    chosen = kept[edge[order]]
    edge_of_wall = np.concatenate([edge[order][chosen], np.flatnonzero(kept), np.flatnonzero(kept)])
    edge_walls = np.concatenate([into[order][chosen], unit[kept], -unit[kept]])
    sharp = np.zeros(len(x), bool)
    sharp[low[kept]] = sharp[high[kept]] = True
    vertex_of_wall, vertex_walls = np.concatenate([low, high]), np.concatenate([unit, -unit])
    chosen = sharp[vertex_of_wall]
    vertex_of_wall, vertex_walls = vertex_of_wall[chosen], vertex_walls[chosen]
    # features: edges, then vertices
    edges, vertices = np.flatnonzero(kept), np.flatnonzero(sharp)
    owner_of_vertex = np.full(len(x), count)
    np.minimum.at(owner_of_vertex, faces.ravel(), np.repeat(np.arange(count), 3))
    owners = np.concatenate([triangle[first][edges], owner_of_vertex[vertices]])
    origins = np.concatenate([x[low[edges]], x[vertices]])
    alongs = np.concatenate([along[edges], np.zeros((len(vertices), 3))])
    normals = pseudonormals(x, mesh.faces)[tree]
    at_edge = normals[triangle[first], np.array([1, 3, 2])[first // count]]
    corner = (faces[owner_of_vertex[vertices]] == vertices[:, None]).argmax(axis=1)
    outs = np.concatenate([at_edge[edges], normals[owner_of_vertex[vertices], 4 + corner]])
    row = np.concatenate([np.searchsorted(edges, edge_of_wall), len(edges) + np.searchsorted(vertices, vertex_of_wall)])
    walls = np.concatenate([edge_walls, vertex_walls])
    by_owner = np.argsort(owners, kind="stable")
    place = np.empty(len(owners), np.int64)
    place[by_owner] = np.arange(len(owners))
    sorted_walls = np.argsort(place[row], kind="stable")
    counts = np.bincount(row, minlength=len(owners))
    return owners[by_owner], origins[by_owner], alongs[by_owner], outs[by_owner], counts[by_owner], walls[sorted_walls]


def _unit(vectors: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(length > 0.0, length, 1.0)
