"""From a triangle mesh to the arrays with which `shinari.shapes.kernels.mesh_distance` finds its distance.

The costly part, the nearest triangle of each cell, is kept in the user's cache folder under the sum of the mesh.
"""

import inspect
import sys
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import shinari.shapes.kernels.mesh_distance
from shinari.compute import Program, function, kernel
from shinari.compute.array_cache import load_arrays, store_arrays
from shinari.compute.threads import team
from shinari.geometry.topology import unite
from shinari.shapes.kernels.mesh_distance import MeshFields, search, square_to_box, to_triangle
from shinari.shapes.mesh import Mesh

LEAF = 4
"""Most triangles in a leaf."""
CELLS_PER_TRIANGLE = 20
MOST_CELLS = 2**20
MARGIN = 2
"""Cells between the mesh and the border of its grid."""
NEARBY = 1.5
"""Cells whose centre is at most so many cells from the surface know where in the tree their triangles are."""


@dataclass(frozen=True)
class Field:
    """The arrays of one mesh, from its own first cell, node and triangle on: `shinari.shapes.kernels.mesh_distance`."""

    frame: NDArray[np.float64]
    extent: NDArray[np.int64]
    cells: NDArray[np.uint32]
    boxes: NDArray[np.float64]
    links: NDArray[np.uint32]
    triangles: NDArray[np.float64]
    normals: NDArray[np.float64]


def build_field(mesh: Mesh) -> Field:
    """The field of one mesh, from the cache where it is there."""
    corners = mesh.vertices[mesh.faces]
    order, boxes, links = box_tree(corners)
    triangles = np.concatenate([corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]], axis=1)[
        order
    ]
    normals = pseudonormals(mesh.vertices, mesh.faces)[order]
    frame, extent = _grid(mesh, len(boxes))
    name = (mesh.vertices, mesh.faces, frame, extent)
    code = inspect.getsource(sys.modules[__name__]) + inspect.getsource(shinari.shapes.kernels.mesh_distance)
    shape = (int(np.prod(extent[:3])), 3)
    loaded = load_arrays("fields", name, code)
    if loaded is not None and _fits(loaded, shape, np.array([len(triangles) - 1, len(boxes), len(boxes)])):
        cells = loaded[0]
    else:
        cells = np.zeros(shape, np.uint32)
        fill_cells(cells, frame[None], extent[None], boxes, links, triangles)
        store_arrays("fields", name, code, [cells])
    return Field(frame, extent, cells, boxes, links, triangles, normals)


def _fits(loaded: list[np.ndarray], shape: tuple[int, int], most: np.ndarray) -> bool:
    """Whether the cells from a file are such as asked for: nothing in a file may lead a search astray."""
    if len(loaded) != 1 or loaded[0].shape != shape or loaded[0].dtype != np.uint32:
        return False
    return bool((loaded[0].max(axis=0) <= most).all())


def join_fields(fields: list[Field], real: type) -> tuple[np.ndarray, ...]:
    """All meshes of a scene as one tuple of arrays; `()` when there are none.

    Args:
        fields: The meshes; mesh m is the one whose number `encode_shapes` gave as m.
        real: Floating point type of the solver.
    """
    if not fields:
        return ()
    frames, extents, cells, links = [], [], [], []
    cell = node = triangle = 0
    for field in fields:
        extent = field.extent.copy()
        extent[3:6] += (cell, node, node)
        # the direction to the surface is rounding where the distance is that of a coordinate
        largest = np.abs(field.triangles[:, :3]).max()
        frames.append([*field.frame[:6], 8 * np.finfo(real).eps * largest, 0.0])
        extents.append(extent)
        cells.append(field.cells + np.array([triangle, node, node], np.uint32))
        links.append(field.links + np.array([node, triangle, triangle], np.uint32))
        cell, node, triangle = cell + len(field.cells), node + len(field.boxes), triangle + len(field.triangles)
    boxes = np.concatenate([field.boxes for field in fields])
    triangles = np.concatenate([field.triangles for field in fields])
    normals = np.concatenate([field.normals for field in fields])
    return (
        np.array(frames, real),
        np.array(extents, np.int64),
        np.concatenate(cells),
        boxes.astype(real),
        np.concatenate(links),
        _rounded_triangles(triangles, real),
        normals.astype(real),
    )


def _rounded_triangles(triangles: np.ndarray, real: type) -> np.ndarray:
    """Triangles in the precision of the solver, their edges between the rounded corners, so that no crack opens."""
    a, ab, ac = triangles[:, :3], triangles[:, 3:6], triangles[:, 6:]
    corner, second, third = (points.astype(real).astype(np.float64) for points in (a, a + ab, a + ac))
    return np.concatenate([corner, second - corner, third - corner], axis=1).astype(real)


def box_tree(corners: np.ndarray) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.uint32]]:
    """Tree of boxes, split in the middle along the longest side down to leaves of at most `LEAF` triangles.

    Args:
        corners: Corners of the triangles, (T, 3, 3).

    Returns:
        Order of the triangles, (T,), boxes (N, 6) and links (N, 3) in preorder.
    """
    count = len(corners)
    depth = max(0, int(np.ceil(np.log2(count / LEAF))))
    centres = corners.mean(axis=1)
    order = np.arange(count)
    for level in range(depth):
        starts = count * np.arange(2**level) // 2**level
        sorted_centres = centres[order]
        spread = np.maximum.reduceat(sorted_centres, starts) - np.minimum.reduceat(sorted_centres, starts)
        segment = np.repeat(np.arange(2**level), np.diff([*starts, count]))
        keys = sorted_centres[np.arange(count), spread.argmax(axis=1)[segment]]
        order = order[np.lexsort((keys, segment))]
    starts = count * np.arange(2**depth + 1) // 2**depth
    low = np.minimum.reduceat(corners.min(axis=1)[order], starts[:-1])
    high = np.maximum.reduceat(corners.max(axis=1)[order], starts[:-1])
    boxes = np.zeros((2 ** (depth + 1) - 1, 6))
    links = np.zeros((len(boxes), 3), np.uint32)
    places = np.zeros(1, np.int64)
    levels = [places]
    for level in range(1, depth + 1):
        below = 2 ** (depth - level + 1) - 1  # nodes of a subtree of this level
        places = np.stack([places + 1, places + 1 + below], axis=1).ravel()
        levels.append(places)
    links[places, 1], links[places, 2] = starts[:-1], starts[1:]
    for level in range(depth, -1, -1):
        boxes[levels[level]] = np.concatenate([low, high], axis=1)
        links[levels[level], 0] = levels[level] + 2 ** (depth - level + 1) - 1
        if level:
            low, high = np.minimum(low[::2], low[1::2]), np.maximum(high[::2], high[1::2])
    return order, boxes, links


def pseudonormals(vertices: np.ndarray, faces: np.ndarray) -> NDArray[np.float64]:
    """Normals of length one of the face, the edges ab, ac, bc and the corners a, b, c of each triangle, (T, 7, 3).

    Baerentzen and Aanaes 2005, eq. 4. Where those of a fold cancel, the normal of the face stands in.
    """
    faces = unite(vertices, faces)
    corners = vertices[faces]
    face = _unit(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
    at_corner = np.zeros((len(vertices), 3))
    for k in range(3):
        first = _unit(corners[:, (k + 1) % 3] - corners[:, k])
        second = _unit(corners[:, (k + 2) % 3] - corners[:, k])
        # the angle by its half: exact for slivers too
        angle = 2.0 * np.arctan2(np.linalg.norm(first - second, axis=1), np.linalg.norm(first + second, axis=1))
        for axis in range(3):
            at_corner[:, axis] += np.bincount(faces[:, k], angle * face[:, axis], len(vertices))
    edges = np.sort(faces[:, [[0, 1], [0, 2], [1, 2]]], axis=2).reshape(-1, 2).astype(np.int64)
    _, edge = np.unique(edges[:, 0] * len(vertices) + edges[:, 1], return_inverse=True)
    edge = edge.reshape(-1, 3)
    at_edge = np.zeros((edge.max() + 1, 3))
    for k in range(3):
        for axis in range(3):
            at_edge[:, axis] += np.bincount(edge[:, k], face[:, axis], len(at_edge))
    normals = np.concatenate([face[:, None], at_edge[edge], at_corner[faces]], axis=1)
    length = np.linalg.norm(normals, axis=2, keepdims=True)
    return np.where(length > 1e-9, normals / np.maximum(length, 1e-9), face[:, None])


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def _grid(mesh: Mesh, nodes: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Frame (8,) and extent (8,): the finest grid that has no more than the allowed number of cells."""
    used = mesh.vertices[np.unique(mesh.faces)]
    low, high = used.min(axis=0), used.max(axis=0)
    most = min(CELLS_PER_TRIANGLE * len(mesh.faces) + 1000, MOST_CELLS)

    def cells_at(edge: float) -> np.ndarray:
        return np.ceil((high - low) / edge).astype(np.int64) + 2 * MARGIN

    coarse = float((high - low).max())
    fine = coarse / most
    for _ in range(60):
        edge = np.sqrt(coarse * fine)
        if np.prod(cells_at(edge).astype(float)) > most:
            fine = edge
        else:
            coarse = edge
    counts = cells_at(coarse)
    origin = 0.5 * (low + high) - 0.5 * coarse * counts
    half = -1.0 if mesh.solid else 0.5 * mesh.thickness
    frame = np.array([*origin, coarse, 1.0 / coarse, half, 0.0, 0.0])
    return frame, np.array([*counts, 0, 0, nodes, 0, 0])


def fill_cells(
    cells: NDArray[np.uint32],
    frames: NDArray[np.float64],
    extents: NDArray[np.int64],
    boxes: NDArray[np.float64],
    links: NDArray[np.uint32],
    triangles: NDArray[np.float64],
) -> None:
    """Find the nearest triangle of each cell, and the stretch of the tree that a search from it needs."""
    arrays = {"frames": frames, "extents": extents, "cells": cells, "boxes": boxes, "links": links}
    normals = np.zeros((0, 7, 3))
    mesh = MeshFields(np.float64, **arrays, triangles=np.ascontiguousarray(triangles), normals=normals)
    p = Program()
    p.launch(fill_column, mesh, count=int(extents[0, 0] * extents[0, 1]), grain=4)
    p.run(team().size)


@kernel
def fill_column(column, mesh: MeshFields):
    """Cells of a column along z, each with the triangle of the one before as start."""
    nx, ny, nz = mesh.extents[0, 0], mesh.extents[0, 1], mesh.extents[0, 2]
    edge, nodes = mesh.frames[0, 3], mesh.extents[0, 5]
    ox, oy, oz = mesh.frames[0, 0], mesh.frames[0, 1], mesh.frames[0, 2]
    # farthest that a point of the cell is from its centre; a bit more, for coordinates rounded to single precision
    largest = max(max(abs(ox), abs(oy)), abs(oz)) + edge * max(max(nx, ny), nz)
    reach = 0.87 * edge + 1e-6 * largest
    near = np.int64(0)
    x, y = ox + edge * (column // ny + 0.5), oy + edge * (column % ny + 0.5)
    for k in range(nz):
        cell = column * nz + k
        q = (x, y, oz + edge * (k + 0.5))
        near, _ = search(q, near, np.int64(0), nodes, nodes, mesh.boxes, mesh.links, mesh.triangles)
        square = to_triangle(q, near, mesh.triangles)[1]
        first, last = np.int64(0), nodes - 1
        if square <= (NEARBY * edge) ** 2:
            within = np.sqrt(square) + 2.0 * reach
            first, last = leaves_within(q, within * within, nodes, mesh.boxes, mesh.links)
        mesh.cells[cell] = near, first, last + 1


@function
def leaves_within(q, square, nodes, boxes, links):
    """First and last leaf whose box is within a distance, of which the square is given, of q."""
    first, last, node = nodes, np.int64(0), np.int64(0)
    while node < nodes:
        following = np.int64(links[node, 0])
        if square_to_box(q, node, boxes) <= square:
            if following == node + 1:
                first, last = min(first, node), node
            following = node + 1
        node = following
    return first, last
