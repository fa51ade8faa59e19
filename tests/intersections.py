"""Triangles that go through each other, found with VTK's test of Guigue and Devillers; nothing of the engine is used.

Guigue and Devillers 2003, Fast and Robust Triangle-Triangle Overlap Test Using Orientation Predicates.
"""

import numpy as np
from vtkmodules.vtkCommonDataModel import vtkTriangle


def intersecting(first: np.ndarray, second: np.ndarray | None = None, names: np.ndarray | None = None) -> np.ndarray:
    """Pairs (K, 2) of triangles (F, 3, 3) that intersect: of two meshes, or of one with itself.

    Args:
        first: Corners of the triangles of a mesh.
        second: Those of another one; None: look at the pairs of `first` itself, each once.
        names: Particles of the triangles of `first`, (F, 3): pairs that share one do not count.
    """
    own = second is None
    first = np.asarray(first, np.float64)
    other = first if second is None else np.asarray(second, np.float64)
    pairs = near_pairs(first, other)
    if own:
        pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    if names is not None:
        one, two = names[pairs[:, 0]], names[pairs[:, 1]]
        pairs = pairs[(one[:, :, None] != two[:, None, :]).all(axis=(1, 2))]
    # of two triangles in one plane VTK tells some that are far apart
    meet = [
        bool(vtkTriangle.TrianglesIntersect(*first[i], *other[j])) and not separate(first[i], other[j])
        for i, j in pairs
    ]
    return pairs[np.array(meet, bool)]


def separate(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether a plane separates two triangles (3, 3) by more than rounding, which proves that they do not meet.

    The normals of the planes to try are those of the triangles, the products of their edges, and, for triangles in one
    plane, the normals of the edges in it.
    """
    edges, other = np.roll(first, -1, axis=0) - first, np.roll(second, -1, axis=0) - second
    normals = np.stack([np.cross(edges[0], edges[1]), np.cross(other[0], other[1])])
    in_plane = [np.cross(normal, edge) for normal in normals for edge in (*edges, *other)]
    axes = np.concatenate([normals, np.cross(edges[:, None], other[None]).reshape(-1, 3), in_plane])
    sizes = np.linalg.norm(axes, axis=1)
    axes = axes[sizes > 0.0] / sizes[sizes > 0.0, None]
    one, two = axes @ first.T, axes @ second.T
    gaps = np.maximum(one.min(axis=1) - two.max(axis=1), two.min(axis=1) - one.max(axis=1))
    return bool((gaps > 1e-12 * max(np.abs(first).max(), np.abs(second).max())).any())


def near_pairs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Pairs (K, 2) of triangles whose boxes overlap: a sweep along the axis on which they are narrowest."""
    low, high, other_low, other_high = first.min(axis=1), first.max(axis=1), second.min(axis=1), second.max(axis=1)
    width = (other_high - other_low).max(axis=0)
    axes = np.argsort(((high - low).mean(axis=0) + width) / np.maximum(np.ptp(other_low, axis=0), 1e-300))
    axis = axes[0]
    # both in the order of the sweep: candidates lie together in memory
    mine, theirs = np.argsort(low[:, axis]), np.argsort(other_low[:, axis])
    low, high, other_low, other_high = low[mine], high[mine], other_low[theirs], other_high[theirs]
    start = np.searchsorted(other_low[:, axis], low[:, axis] - width[axis])
    count = np.searchsorted(other_low[:, axis], high[:, axis], side="right") - start
    one = np.repeat(np.arange(len(first)), count)
    two = np.arange(len(one)) - np.repeat(np.cumsum(count) - count - start, count)
    # the axis of the sweep last: it tells few candidates apart
    for k in np.roll(axes, -1):
        touch = (low[:, k][one] <= other_high[:, k][two]) & (high[:, k][one] >= other_low[:, k][two])
        one, two = one[touch], two[touch]
    return np.stack([mine[one], theirs[two]], axis=1)
