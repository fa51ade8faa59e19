"""Rays and triangles in a tree of boxes, see `shinari.geometry.bvh`.

The tree is implicit, so a ray walks through it without a stack: below a box that it meets it goes on to the first
child, else to what comes after the whole subtree. Whether a ray meets a triangle is decided in the plane across the
ray, by the sides on which it passes the edges. A corner is at the same place there for all of its triangles, and both
triangles at an edge get exactly opposite numbers, so that no ray slips through between them (Woop, Benthin and Wald
2013, Watertight ray/triangle intersection; they shear where this turns).
"""

from collections.abc import Sequence

import numpy as np

from shinari.compute import Field, Record, function, real, shared
from shinari.compute.kernels import AS_WRITTEN
from shinari.compute.threads import team
from shinari.geometry.boxes import Nodes
from shinari.geometry.bvh import Tree
from shinari.maths.vec3 import cross, dot, scale, sub

Vector = tuple[real, real, real]
PARALLEL, STEEP = 1e-200, 1e200
"""Components of a direction below which they count as zero, and what stands for their inverses: finite, since 0 times
infinity is no number."""
MARGIN = 1e-12
"""What boxes are larger than what they hold, over their coordinates: rounding must not hide it."""


class Meshes(Record):
    """Where the tree and the triangles of each mesh are."""

    node = Field(np.int64, doc="first node")
    leaves = Field(np.int64)
    triangle = Field(np.int64, doc="first triangle")
    count = Field(np.int64, doc="triangles")


class Triangles(Record):
    """Triangles of all meshes, each in the order of its tree."""

    corners = Field(real, 9, unit="m")


@function(fastmath=AS_WRITTEN)
def inverse(along):
    """Inverses of the components of a direction."""
    x, y, z = along
    return (
        1.0 / x if abs(x) > PARALLEL else STEEP,
        1.0 / y if abs(y) > PARALLEL else STEEP,
        1.0 / z if abs(z) > PARALLEL else STEEP,
    )


@function(fastmath=AS_WRITTEN)
def meets_box(box, origin, inverses, most):
    """Whether a ray meets a box (low, high) within a distance."""
    a, b = (box[0] - origin[0]) * inverses[0], (box[3] - origin[0]) * inverses[0]
    near, far = min(a, b), max(a, b)
    a, b = (box[1] - origin[1]) * inverses[1], (box[4] - origin[1]) * inverses[1]
    near, far = max(near, min(a, b)), min(far, max(a, b))
    a, b = (box[2] - origin[2]) * inverses[2], (box[5] - origin[2]) * inverses[2]
    near, far = max(near, min(a, b)), min(far, max(a, b))
    return near <= far and far >= 0.0 and near <= most


@function
def node_after(node):
    """The node after a whole subtree; 0 at the end."""
    while node & 1:
        node >>= 1
    return node + 1 if node > 0 else 0


@function(fastmath=AS_WRITTEN)
def next_leaf(nodes, first, leaves, node, origin, inverses, most):
    """The next leaf from a node on that a ray meets within a distance, as a node; 0 if there is none."""
    while node > 0:
        if not meets_box(nodes.box[first + node], origin, inverses, most):
            node = node_after(node)
        elif node >= leaves:
            return node
        else:
            node = 2 * node
    return node


@function(fastmath=AS_WRITTEN)
def across(along):
    """Unit vectors across a direction and each other (Duff et al. 2017, Building an orthonormal basis, revisited)."""
    x, y, z = along
    s = np.copysign(1.0, z)
    a = -1.0 / (s + z)
    b = x * y * a
    return (1.0 + s * x * x * a, s * b, -s * x), (b, s + y * y * a, -y)


@function(fastmath=AS_WRITTEN)
def seen(corner, origin, e, f, along):
    """A corner as the ray sees it: across it twice, and along it."""
    p = corner[0] - origin[0], corner[1] - origin[1], corner[2] - origin[2]
    return (
        e[0] * p[0] + e[1] * p[1] + e[2] * p[2],
        f[0] * p[0] + f[1] * p[1] + f[2] * p[2],
        along[0] * p[0] + along[1] * p[1] + along[2] * p[2],
    )


@function(fastmath=AS_WRITTEN)
def side(a, b):
    """On which side the ray passes the edge from a to b as it sees them; exactly the opposite from b to a."""
    return a[0] * b[1] - a[1] * b[0]


@shared(fastmath=AS_WRITTEN)
def meet_mesh(
    origin: Vector, along: Vector, most: real, mesh: int, meshes: Meshes, nodes: Nodes, triangles: Triangles
) -> tuple[real, Vector]:
    """Where a ray first meets a mesh within a distance, and the normal of the triangle; infinity where it does not.

    Args:
        origin: Origin of the ray in the axes of the mesh [m].
        along: Its direction, a unit vector.
        most: Largest distance that counts [m].
        mesh: Row of the mesh.
        meshes: The meshes.
        nodes: Their trees.
        triangles: Their triangles.
    """
    first, leaves, count = meshes.node[mesh], meshes.leaves[mesh], meshes.count[mesh]
    inverses, (e, f), best, hit = inverse(along), across(along), most, np.int64(-1)
    node = next_leaf(nodes, first, leaves, 1, origin, inverses, best)
    while node > 0:
        start, end = (node - leaves) * count // leaves, (node - leaves + 1) * count // leaves
        for k in range(meshes.triangle[mesh] + start, meshes.triangle[mesh] + end):
            corners = triangles.corners[k]
            a = seen((corners[0], corners[1], corners[2]), origin, e, f, along)
            b = seen((corners[3], corners[4], corners[5]), origin, e, f, along)
            c = seen((corners[6], corners[7], corners[8]), origin, e, f, along)
            u, v, w = side(b, c), side(c, a), side(a, b)
            if (u >= 0.0 and v >= 0.0 and w >= 0.0) or (u <= 0.0 and v <= 0.0 and w <= 0.0):
                area = u + v + w
                if area != 0.0:
                    distance = (u * a[2] + v * b[2] + w * c[2]) / area
                    if distance >= 0.0 and (distance < best or (hit < 0 and distance <= best)):
                        best, hit = distance, k
        node = next_leaf(nodes, first, leaves, node_after(node), origin, inverses, best)
    if hit < 0:
        return np.inf, along
    corners = triangles.corners[hit]
    a = (corners[0], corners[1], corners[2])
    normal = cross(sub((corners[3], corners[4], corners[5]), a), sub((corners[6], corners[7], corners[8]), a))
    return best, scale(normal, 1.0 / np.sqrt(dot(normal, normal)))


class TriangleTree:
    """Triangles in a tree, at rest or moving.

    Args:
        corners: Corners of the triangles [m], (F, 3, 3): those that are close should stay close.
        threads: Threads to work on; None: all.

    Attributes:
        nodes: Box of each node [m], (2 leaves, 6).
        triangles: Corners in the order of the tree [m], (F, 9).
    """

    def __init__(self, corners: np.ndarray, threads: int | None = None) -> None:
        self._tree = BoxTree(corners.mean(axis=1))
        self.move(corners, threads)

    def move(self, corners: np.ndarray, threads: int | None = None) -> None:
        """Put the triangles elsewhere: corners [m], (F, 3, 3)."""
        a, b, c = (corners[:, k] for k in range(3))
        low, high = np.minimum(np.minimum(a, b), c), np.maximum(np.maximum(a, b), c)
        self.nodes = self._tree.around(low, high, threads)
        self.triangles = np.ascontiguousarray(corners.reshape(-1, 9)[self._tree.order])


class BoxTree:
    """Boxes in a tree that rays walk through.

    Args:
        centroids: Centres of the boxes at rest [m], (M, 3), M > 0.

    Attributes:
        order: Box at each place of the tree, (M,); leaf l has the places l M / leaves to (l + 1) M / leaves.
    """

    def __init__(self, centroids: np.ndarray) -> None:
        self._tree = Tree(centroids, np.float64)
        self.order = self._tree.order

    def around(self, low: np.ndarray, high: np.ndarray, threads: int | None = None) -> np.ndarray:
        """Boxes of the nodes [m], (2 leaves, 6), around boxes with these corners (M, 3), a little larger."""
        margin = MARGIN * np.maximum(np.abs(low), np.abs(high))
        self._tree.refit(low - margin, high + margin, team().size if threads is None else threads)
        return self._tree.nodes


def joined(trees: Sequence[TriangleTree]) -> tuple[Meshes, Nodes, Triangles]:
    """Several trees as records, a mesh each."""
    leaves = np.array([len(tree.nodes) // 2 for tree in trees], np.int64)
    count = np.array([len(tree.triangles) for tree in trees], np.int64)
    firsts = [np.cumsum([0, *sizes])[:-1].astype(np.int64) for sizes in (2 * leaves, count)]
    boxes = np.concatenate([np.zeros((0, 6)), *(tree.nodes for tree in trees)])
    corners = np.concatenate([np.zeros((0, 9)), *(tree.triangles for tree in trees)])
    meshes = Meshes(np.float64, node=firsts[0], leaves=leaves, triangle=firsts[1], count=count)
    return meshes, Nodes(np.float64, box=boxes), Triangles(np.float64, corners=corners)
