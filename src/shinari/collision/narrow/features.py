"""Convex vertices and edges of meshes: the features that can penetrate another shape.

Where a vertex or an edge touches, the direction into the other shape lies in its normal cone: it points away from
every edge that leaves the vertex, or from both faces at the edge. Without that a box that slides over a flat mesh would
stumble over the edges beside it. Vertices and edges in a flat or hollow place never touch before something else does.
"""

import numpy as np

from shinari.compute import Field, Record
from shinari.geometry.topology import unite
from shinari.shapes.kernels.mesh_field import box_tree
from shinari.shapes.mesh import Mesh

FLAT = 1e-3
"""Sine of the angle between two faces below which the edge between them does not stick out."""


class Features(Record, ragged=True):
    """Vertices and edges of M meshes, leaves of trees of boxes, see `shapes.kernels.mesh_field.box_tree`."""

    lines = Field(np.float64, 6, unit="m", doc="start, and displacement to the end of an edge; zero for a vertex")
    cone_starts = Field(np.int64, doc="first direction of the cone of each, and the end")
    cones = Field(np.float64, 3, doc="unit vectors that the direction into the other shape must not go along")
    boxes = Field(np.float64, 6, unit="m", doc="boxes of the nodes, low and high corner")
    links = Field(np.int64, 3, doc="next node when one is skipped, first feature and end of a leaf")
    node_starts = Field(np.int64, doc="first node of each mesh, and the end")
    thickness = Field(np.float64, unit="m", doc="half the thickness of a sheet; 0 for a solid")
    spacing = Field(np.float64, unit="m", doc="length over which other meshes are not even: half the mean edge")


def features_of(meshes: list[Mesh]) -> Features:
    """The features of meshes, in their order."""
    lines, counts, cones, boxes, links, spacing = [], [], [], [], [], []
    node_starts, first_feature = [0], 0
    for mesh in meshes:
        own, sizes, directions, mean = _features(mesh)
        spacing.append(0.5 * mean)
        if len(own):
            ends = own[:, :3] + own[:, 3:]
            order, own_boxes, own_links = box_tree(np.stack([own[:, :3], ends, ends], axis=1))
            starts = np.concatenate([[0], np.cumsum(sizes)])
            rows = np.concatenate([np.arange(int(starts[k]), int(starts[k + 1])) for k in order])
            shift = np.array([node_starts[-1], first_feature, first_feature])
            lines.append(own[order])
            counts.append(sizes[order])
            cones.append(directions[rows])
            boxes.append(own_boxes)
            links.append(own_links.astype(np.int64) + shift)
        node_starts.append(node_starts[-1] + (len(boxes[-1]) if len(own) else 0))
        first_feature += len(own)
    return Features(
        np.float64,
        lines=np.concatenate([np.zeros((0, 6)), *lines]),
        cone_starts=np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *counts]))]).astype(np.int64),
        cones=np.concatenate([np.zeros((0, 3)), *cones]),
        boxes=np.concatenate([np.zeros((0, 6)), *boxes]),
        links=np.concatenate([np.zeros((0, 3), np.int64), *links]),
        node_starts=np.array(node_starts, np.int64),
        thickness=np.array([0.5 * mesh.thickness for mesh in meshes]),
        spacing=np.array(spacing),
    )


def _features(mesh: Mesh) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Lines (N, 6), the number of directions of each (N,), the directions, and the mean length of an edge."""
    x, faces = mesh.vertices, unite(mesh.vertices, mesh.faces)
    corners = x[faces]
    normals = _unit(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]))
    # each side of a face, from start to end, and the third corner
    start, end, third = (faces[:, [k, (k + 1) % 3, (k + 2) % 3]] for k in range(3))
    sides = np.concatenate([start[:, :2], end[:, :2], third[:, :2]])
    opposite = np.concatenate([start[:, 2], end[:, 2], third[:, 2]])
    normal = np.concatenate([normals, normals, normals])
    along = _unit(x[sides[:, 1]] - x[sides[:, 0]])
    inward = x[opposite] - x[sides[:, 0]]
    inward = _unit(inward - (inward * along).sum(axis=1, keepdims=True) * along)
    low, high = sides.min(axis=1), sides.max(axis=1)
    keys, edge = np.unique(low * np.int64(len(x)) + high, return_inverse=True)
    edge = edge.reshape(-1)
    order = np.argsort(edge, kind="stable")
    counts = np.bincount(edge, minlength=len(keys))
    firsts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    ends = np.stack([keys // len(x), keys % len(x)], axis=1)

    one, other = order[firsts], order[np.minimum(firsts + 1, len(order) - 1)]
    bend = (normal[one] * inward[other]).sum(axis=1)
    sharp = bend < -FLAT if mesh.solid else np.abs(bend) > FLAT
    sharp |= counts != 2
    length = np.linalg.norm(x[ends[:, 1]] - x[ends[:, 0]], axis=1)
    edge_lines = np.concatenate([x[ends[:, 0]], x[ends[:, 1]] - x[ends[:, 0]]], axis=1)[sharp]
    edge_rows = order[np.repeat(sharp, counts)]

    pointed = np.zeros(len(x), np.bool_)
    pointed[ends[sharp].ravel()] = True
    tails = np.concatenate([ends[:, 0], ends[:, 1]])
    edge_directions = _unit(x[np.concatenate([ends[:, 1], ends[:, 0]])] - x[tails])
    kept = np.flatnonzero(pointed[tails])
    kept = kept[np.argsort(tails[kept], kind="stable")]
    vertex_lines = np.concatenate([x[pointed], np.zeros((int(pointed.sum()), 3))], axis=1)
    sizes = np.concatenate([np.bincount(tails[kept], minlength=len(x))[pointed], counts[sharp]])
    return (
        np.concatenate([vertex_lines, edge_lines]),
        sizes.astype(np.int64),
        np.concatenate([edge_directions[kept], inward[edge_rows]]),
        float(length.mean()),
    )


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
