"""A bounding volume hierarchy over boxes, built once and refitted in every detection.

The boxes are put in order along a Hilbert curve through their centres at rest and cut into 2^d leaves of equal size;
pairs of neighbouring nodes have a parent. So the tree is implicit, see `shinari.geometry.boxes`. What touches is found
by `shinari.geometry.overlaps`.
"""

import numpy as np
from numpy.typing import NDArray

from shinari.compute import Program, function, kernel, scan
from shinari.compute.kernels import AS_WRITTEN
from shinari.compute.scan import Offsets
from shinari.geometry import overlaps
from shinari.geometry.boxes import INFINITY, LEAF, Boxes, Leaves, Nodes, Places, joined
from shinari.geometry.ordering import hilbert_order
from shinari.geometry.overlaps import Overlaps, Queries

# Leaves of a refit for which it is worth waking one more thread.
SHARE_OF_REFIT = 512
# Nodes of a level from which on the levels above are joined one after another.
FEW_NODES = 256


@kernel(fastmath=AS_WRITTEN)
def set_leaf(leaf, boxes: Boxes, places: Places, leaves: Leaves, nodes: Nodes):
    """Bring the boxes of a leaf into the order of the tree, and set its node."""
    write_leaf(leaf, boxes, places, leaves, nodes)


@kernel(fastmath=AS_WRITTEN)
def renew_leaf(leaf, boxes: Boxes, changed: Offsets, places: Places, leaves: Leaves, nodes: Nodes):
    """Set a leaf with a box that has changed."""
    some = False
    for p in range(leaves.first[leaf], leaves.first[leaf + 1]):
        some |= changed.start[places.box[p]] != 0
    if some:
        write_leaf(leaf, boxes, places, leaves, nodes)


@function(fastmath=AS_WRITTEN)
def write_leaf(leaf, boxes, places, leaves, nodes):
    """Bring the boxes of a leaf into the order of the tree, and set its node."""
    x0, y0, z0, x1, y1, z1 = INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY
    for p in range(leaves.first[leaf], leaves.first[leaf + 1]):
        b = places.box[p]
        low, high = boxes.low[b], boxes.high[b]
        places.x0[p], places.y0[p], places.z0[p] = low
        places.x1[p], places.y1[p], places.z1[p] = high
        x0, y0, z0, x1, y1, z1 = joined((x0, y0, z0, x1, y1, z1), (low[0], low[1], low[2], high[0], high[1], high[2]))
    nodes.box[len(leaves) - 1 + leaf] = x0, y0, z0, x1, y1, z1


@kernel(fastmath=AS_WRITTEN)
def join_nodes(k, nodes: Nodes, width: np.int64):
    """Set node k of a level of so many nodes from its children."""
    n = width + k
    nodes.box[n] = joined(nodes.box[2 * n], nodes.box[2 * n + 1])


@kernel(fastmath=AS_WRITTEN)
def join_top(_, nodes: Nodes, width: np.int64):
    """Set the nodes of the levels from one of so many nodes up to the root."""
    for n in range(2 * width - 1, 0, -1):
        nodes.box[n] = joined(nodes.box[2 * n], nodes.box[2 * n + 1])


class Bvh:
    """Boxes that can be asked for overlaps.

    Args:
        centroids: Centres of the boxes at rest [m], (M, 3): boxes that are close then should stay close.
        precision: float32 or float64.
        boxes: The boxes, if there is a record of them already.
        points: Points of the boxes, (M, 3), for a tree whose boxes that share one are no pair; twice the same counts
            once.

    Attributes:
        boxes: The boxes, which the caller writes before a refit.
        places: The boxes in the order of the tree.
        leaves: Where each leaf starts.
        nodes: Boxes of the nodes.
    """

    def __init__(self, centroids: NDArray[np.floating], precision: type, boxes: Boxes | None = None,
                 points: NDArray[np.integer] | None = None) -> None:  # fmt: skip
        order = hilbert_order(np.asarray(centroids, np.float64)).astype(np.uint32)
        count, leaves = len(order), 1
        while leaves * LEAF < count:
            leaves *= 2
        self.boxes = Boxes.zeros(count, precision) if boxes is None else boxes
        self.places, self.nodes = Places.zeros(count, precision), Nodes.zeros(2 * leaves, precision)
        self.places.box[...] = order
        if points is not None:
            numbers = points.astype(np.uint32) + np.uint32(1)
            numbers[:, 1:][numbers[:, 1:] == numbers[:, :-1]] = 0
            self.boxes.points[...] = numbers
            self.places.p0[...], self.places.p1[...], self.places.p2[...] = numbers[order].T
        self.leaves = Leaves(precision, first=np.arange(leaves + 1, dtype=np.int64) * count // leaves)

    def record_refit(self, p: Program, changed: Offsets | None = None) -> None:
        """Record that the tree takes over the boxes; `changed` marks rows, if no others differ from the last refit."""
        leaves, tree = len(self.leaves) - 1, (self.places, self.leaves, self.nodes)
        if changed is None:
            p.launch(set_leaf, self.boxes, *tree, count=leaves, grain=SHARE_OF_REFIT)
        else:
            p.launch(renew_leaf, self.boxes, changed, *tree, count=leaves, grain=SHARE_OF_REFIT)
        width = leaves // 2
        while width > FEW_NODES:
            p.launch(join_nodes, self.nodes, width, count=width, grain=8 * SHARE_OF_REFIT)
            width //= 2
        if width:
            p.serial(join_top, self.nodes, width)

    def overlaps(self, boxes: Boxes, queries: Queries) -> Overlaps:
        """A search for the boxes that touch queries, to be recorded."""
        return Overlaps((self.places, self.leaves, self.nodes), boxes, queries)

    def self_overlaps(self) -> Overlaps:
        """A search for the pairs of its own boxes that touch, to be recorded."""
        own = Queries(self.boxes.precision, box=self.places.box)
        return Overlaps((self.places, self.leaves, self.nodes), self.boxes, own, own=True)


class Tree:
    """Boxes in arrays that can be asked for overlaps at once, outside of a program.

    Args:
        centroids: Centres of the boxes at rest [m], (M, 3): boxes that are close then should stay close.
        dtype: Precision of the boxes.

    Attributes:
        order: Box at each place of the tree, (M,) uint32.
        firsts: Leaf l holds the places `firsts[l]` to `firsts[l + 1]`, (leaves + 1,) int64.
        nodes: Box around each node, low then high corner, (2 leaves, 6); row 0 is not used. A leaf without boxes has
            low = inf, high = -inf.
    """

    def __init__(self, centroids: NDArray[np.floating], dtype: type = np.float32) -> None:
        self._bvh, self._dtype = Bvh(centroids, np.dtype(dtype).type), dtype
        self.order, self.firsts = self._bvh.places.box, self._bvh.leaves.first
        self.nodes = self._bvh.nodes.box
        self._refit = Program()
        self._bvh.record_refit(self._refit)
        self._own: tuple[Overlaps, Program] | None = None
        self._queries = Queries.zeros(0)
        self._boxes = Boxes.zeros(0)
        self._others: tuple[Overlaps, Program] | None = None

    def refit(self, low: NDArray[np.floating], high: NDArray[np.floating], threads: int) -> None:
        """Set the boxes.

        Args:
            low: Low corners [m], in the order of the centroids, (M, 3).
            high: High corners, (M, 3).
            threads: Threads to work on, at most.
        """
        self._bvh.boxes.low[...], self._bvh.boxes.high[...] = low, high
        self._refit.run(threads)

    def overlaps(self, low: NDArray[np.floating], high: NDArray[np.floating], threads: int) -> NDArray[np.uint32]:
        """Pairs (query, box) of boxes that touch, sorted by query, then by place in the tree.

        Args:
            low: Low corners of the queries [m], (Q, 3), in the precision of the tree.
            high: High corners, (Q, 3).
            threads: Threads to work on, at most.

        Returns:
            Pairs (P, 2).
        """
        # Neighbours share a packet. They are found anew only when the number of queries changes: it decides about
        # speed, not about what is found.
        count, precision = len(low), self._bvh.boxes.precision
        if self._others is None or len(self._queries) != count:
            self._queries, self._boxes = Queries.zeros(count), Boxes.zeros(count, precision)
            self._queries.box[...] = hilbert_order(0.5 * (np.asarray(low, np.float64) + high))
            self._others = self._bvh.overlaps(self._boxes, self._queries), Program()
            self._others[0].record(self._others[1], count)
        self._boxes.low[...], self._boxes.high[...] = low, high
        found, search = self._others
        search.run(threads)
        pairs = found.pairs.boxes[: found.offsets.start[-1]]
        return pairs[np.argsort(pairs[:, 0], kind="stable")]

    def self_overlaps(self, threads: int) -> NDArray[np.uint32]:
        """Pairs i < j of boxes of the tree that touch, each once, sorted by the places of both in the tree.

        Args:
            threads: Threads to work on, at most.

        Returns:
            Pairs (P, 2), valid until the next search for these.
        """
        if self._own is None:
            self._own = self._bvh.self_overlaps(), Program()
            self._own[0].record(self._own[1], len(self._bvh.boxes))
        found, search = self._own
        search.run(threads)
        return found.pairs.boxes[: found.offsets.start[-1]]


KERNELS = set_leaf, renew_leaf, join_nodes, join_top, *overlaps.KERNELS, *scan.KERNELS
"""The kernels of a tree, to be compiled ahead."""
