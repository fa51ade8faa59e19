"""A bounding volume hierarchy over boxes, built once and refitted in every detection.

The boxes are put in order along a Hilbert curve through their centres at rest and cut into 2^d leaves of equal size;
pairs of neighbouring nodes have a parent. So the tree is implicit: node n has the children 2 n and 2 n + 1, the root is
node 1 and leaf l is node 2^d + l.

Queries descend in packets of neighbours: one descent for the box around all of them collects the boxes that may touch
them next to each other, and each query is then compared with all of these, several at a time. What a packet finds goes
to slots of its own, and from there to the list of pairs when the lengths of all lists are known. A packet that meets
more boxes than there is room for lets each query descend by itself.
"""

import numpy as np
from numpy.typing import NDArray

from shinari.compute import Field, Program, Record, function, kernel, real, scan, scratch, shared
from shinari.compute.kernels import AS_WRITTEN
from shinari.compute.program import Cell
from shinari.compute.scan import Offsets, Scan
from shinari.geometry.ordering import hilbert_order

# Boxes in a leaf, at most, and queries in a packet.
LEAF = 8
# Boxes that a packet may meet, and hits that it has slots for.
MET, SLOTS = 1024, 256
# Packets of a search, and leaves of a refit, for which it is worth waking one more thread.
SHARE, SHARE_OF_REFIT = 16, 512
# Nodes of a level from which on the levels above are joined one after another.
FEW_NODES = 256
INFINITY = np.float32(np.inf)
NO_POINT = np.uint32(0xFFFFFFFF)


class Boxes(Record):
    """Boxes as given, one row each; they touch when they share a point. One from inf to -inf touches nothing."""

    low = Field(real, 3, unit="m", doc="low corner")
    high = Field(real, 3, unit="m", doc="high corner")
    points = Field(np.uint32, 3, doc="numbers of its points and one; 0: none. Boxes that share a point are no pair")


class Places(Record):
    """Boxes in the order of the tree."""

    box = Field(np.uint32, doc="row of the box")
    x0 = Field(real, unit="m")
    y0 = Field(real, unit="m")
    z0 = Field(real, unit="m")
    x1 = Field(real, unit="m")
    y1 = Field(real, unit="m")
    z1 = Field(real, unit="m")
    p0 = Field(np.uint32, doc="its points")
    p1 = Field(np.uint32)
    p2 = Field(np.uint32)


class Leaves(Record):
    """Leaves, and the end."""

    first = Field(np.int64, doc="first place of the leaf")


class Nodes(Record):
    """Nodes of the tree; row 0 is not used."""

    box = Field(real, 6, unit="m", doc="low and high corner; from inf to -inf where there are no boxes")


class Queries(Record):
    """Boxes that are asked for, neighbours next to each other."""

    box = Field(np.uint32, doc="row of the box")


class Packets(Record):
    """What each packet of queries found."""

    place = Field(np.uint32, SLOTS, doc="places, query after query")
    alone = Field(np.uint8, doc="whether its queries have to descend by themselves")


class BoxPairs(Record):
    """Pairs of boxes that touch."""

    boxes = Field(np.uint32, 2, doc="rows of the query and of the box; of boxes of one tree the smaller row first")


class PacketCount(Record):
    """One row."""

    queries = Field(np.int64)
    packets = Field(np.int64)


@function(fastmath=AS_WRITTEN)
def joined(a, b):
    """Box around two boxes."""
    return (
        a[0] if a[0] < b[0] else b[0],
        a[1] if a[1] < b[1] else b[1],
        a[2] if a[2] < b[2] else b[2],
        a[3] if a[3] > b[3] else b[3],
        a[4] if a[4] > b[4] else b[4],
        a[5] if a[5] > b[5] else b[5],
    )


@function(fastmath=AS_WRITTEN)
def boxes_overlap(a, b):
    """Whether two boxes (low, high) share a point."""
    return (a[0] <= b[3]) & (b[0] <= a[3]) & (a[1] <= b[4]) & (b[1] <= a[4]) & (a[2] <= b[5]) & (b[2] <= a[5])


@function
def asked(points):
    """Points of a query: one that is missing is no point of a box."""
    a, b, c = points
    none = np.uint32(0)
    return a if a != none else NO_POINT, b if b != none else NO_POINT, c if c != none else NO_POINT


@function
def are_apart(own, a, b, c):
    """Whether a query and a box have no point in common."""
    first, second, third = own
    apart = (a != first) & (a != second) & (a != third) & (b != first) & (b != second) & (b != third)
    return apart & (c != first) & (c != second) & (c != third)


@kernel(fastmath=AS_WRITTEN)
def set_leaf(leaf, boxes: Boxes, places: Places, leaves: Leaves, nodes: Nodes):
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


@function
def start_stack(stack, start, leaves):
    """Put on a stack what holds the leaves from `start` on, so that it is popped in ascending order; the depth."""
    depth, level = 0, leaves
    while level > 1:
        level //= 2
        node = (leaves + start) // level
        if node % 2 == 0:
            stack[depth] = node + 1
            depth += 1
    stack[depth] = leaves + start
    return depth + 1


@shared(fastmath=AS_WRITTEN)
def descend(boxes: Boxes, query: int, later: int, places: Places, leaves: Leaves, nodes: Nodes, pairs: BoxPairs,
            at: int) -> int:  # fmt: skip
    """Boxes that touch a query, one after another, in the order of the tree.

    Args:
        boxes: Boxes of the queries.
        query: Row of the query.
        later: -1; or the place of the query, which is a box of the tree: then only boxes at later places count.
        places: Boxes in the order of the tree.
        leaves: Leaves.
        nodes: Nodes.
        pairs: Receives the pairs.
        at: Where the first pair goes; -1: they are only counted.

    Returns:
        Number of pairs.
    """
    low, high = boxes.low[query], boxes.high[query]
    box = low[0], low[1], low[2], high[0], high[1], high[2]
    stack, count, found, points = scratch(64, 0), len(leaves) - 1, 0, asked(boxes.points[query])
    depth = start_stack(stack, 0, count)
    while depth > 0:
        depth -= 1
        node = stack[depth]
        while boxes_overlap(box, nodes.box[node]):
            if node >= count:
                for p in range(max(leaves.first[node - count], later + 1), leaves.first[node - count + 1]):
                    if boxes_overlap(
                        box, (places.x0[p], places.y0[p], places.z0[p], places.x1[p], places.y1[p], places.z1[p])
                    ) and are_apart(points, places.p0[p], places.p1[p], places.p2[p]):
                        if at >= 0:
                            pairs.boxes[at + found] = pair_of(query, places.box[p], later)
                        found += 1
                break
            node = 2 * node
            stack[depth] = node + 1
            depth += 1
    return found


@function
def pair_of(query, box, later):
    """Rows of a pair: those of boxes of one tree in ascending order."""
    ascending = later < 0 or query < box
    return (np.uint32(query), np.uint32(box)) if ascending else (np.uint32(box), np.uint32(query))


@kernel(fastmath=AS_WRITTEN)
def search_packet(
    k, boxes: Boxes, queries: Queries, size: PacketCount, places: Places, leaves: Leaves, nodes: Nodes,
    packets: Packets, offsets: Offsets, pairs: BoxPairs, own: np.int64,
):  # fmt: skip
    """Count the boxes that touch each query of a packet, and keep those for which there are slots.

    `own`: the queries are the boxes of the tree in its order; only pairs with a later place are wanted.
    """
    count = len(leaves) - 1
    first = leaves.first[k] if own else k * LEAF
    last = leaves.first[k + 1] if own else min(size.queries[0], first + LEAF)
    x0, y0, z0, x1, y1, z1 = INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY
    for q in range(first, last):
        low, high = boxes.low[queries.box[q]], boxes.high[queries.box[q]]
        x0, y0, z0, x1, y1, z1 = joined((x0, y0, z0, x1, y1, z1), (low[0], low[1], low[2], high[0], high[1], high[2]))
    box, like = (x0, y0, z0, x1, y1, z1), nodes.box[1, 0]
    near_x0, near_y0, near_z0 = scratch(1032, like), scratch(1032, like), scratch(1032, like)
    near_x1, near_y1, near_z1 = scratch(1032, like), scratch(1032, like), scratch(1032, like)
    near_p0, near_p1, near_p2 = (
        scratch(1032, np.uint32(0)),
        scratch(1032, np.uint32(0)),
        scratch(1032, np.uint32(0)),
    )
    near, close, kept = scratch(1032, np.uint32(0)), scratch(1032, np.uint8(0)), scratch(1032, np.uint32(0))
    stack, met = scratch(64, 0), 0
    depth = start_stack(stack, k if own else 0, count)
    while depth > 0 and met <= MET:
        depth -= 1
        node = stack[depth]
        while boxes_overlap(box, nodes.box[node]):
            if node >= count:
                for p in range(leaves.first[node - count], leaves.first[node - count + 1]):
                    b = places.x0[p], places.y0[p], places.z0[p], places.x1[p], places.y1[p], places.z1[p]
                    near_x0[met], near_y0[met], near_z0[met], near_x1[met], near_y1[met], near_z1[met] = b
                    near_p0[met], near_p1[met], near_p2[met] = places.p0[p], places.p1[p], places.p2[p]
                    near[met] = p
                    met += np.int64(boxes_overlap(box, b))
                break
            node = 2 * node
            stack[depth] = node + 1
            depth += 1
    start, slot = 0, 0
    for q in range(first, last):
        if met > MET:
            offsets.start[q] = descend(boxes, np.int64(queries.box[q]), q if own else -1, places, leaves, nodes, pairs,
                                       -1)  # fmt: skip
            continue
        low, high = boxes.low[queries.box[q]], boxes.high[queries.box[q]]
        points = asked(boxes.points[queries.box[q]])
        # the boxes of the packet come first, and those up to q have had their turn
        while own and start < met and near[start] <= q:
            start += 1
        for j in range(start, met):
            close[j] = (
                (low[0] <= near_x1[j])
                & (near_x0[j] <= high[0])
                & (low[1] <= near_y1[j])
                & (near_y0[j] <= high[1])
                & (low[2] <= near_z1[j])
                & (near_z0[j] <= high[2])
                & are_apart(points, near_p0[j], near_p1[j], near_p2[j])
            )
        # write always, keep what touches: no branch to guess
        found = 0
        for j in range(start, met):
            kept[found] = near[j]
            found += np.int64(close[j])
        offsets.start[q] = found
        for j in range(min(found, SLOTS - slot)):
            packets.place[k, slot + j] = kept[j]
        slot = min(slot + found, SLOTS + 1)
    packets.alone[k] = met > MET or slot > SLOTS


@kernel
def fill_packet(
    k, boxes: Boxes, queries: Queries, size: PacketCount, places: Places, leaves: Leaves, nodes: Nodes,
    packets: Packets, offsets: Offsets, pairs: BoxPairs, own: np.int64,
):  # fmt: skip
    """Write the pairs of a packet."""
    first = leaves.first[k] if own else k * LEAF
    last = leaves.first[k + 1] if own else min(size.queries[0], first + LEAF)
    begin = offsets.start[first]
    for q in range(first, last):
        query, later = np.int64(queries.box[q]), q if own else -1
        if packets.alone[k]:
            descend(boxes, query, later, places, leaves, nodes, pairs, offsets.start[q])
        else:
            for at in range(offsets.start[q], offsets.start[q + 1]):
                pairs.boxes[at] = pair_of(query, np.int64(places.box[packets.place[k, at - begin]]), later)


@kernel
def count_packets(_, size: PacketCount):
    """Packets that so many queries fill."""
    size.packets[0] = (size.queries[0] + LEAF - 1) // LEAF


class Overlaps:
    """Pairs of a query and a box of a tree that touch.

    The pairs of the query in row q of the queries stand at the rows `offsets.start[q]` to `offsets.start[q + 1]`, in
    the order of the tree. Those of a tree with itself stand by place in the tree.

    Args:
        tree: The tree.
        boxes: Boxes of the queries; those of the tree for pairs of its own boxes.
        queries: Rows of the boxes that are asked for, neighbours next to each other; the order of the tree for pairs of
            its own boxes. Those that are asked for come first.
        own: Whether pairs of the tree's own boxes are wanted, each once.

    Attributes:
        pairs: The pairs.
        offsets: Where those of each query start.
        total: Cell with the number of pairs.
    """

    def __init__(self, tree: "Bvh", boxes: Boxes, queries: Queries, own: bool = False) -> None:
        precision, count = boxes.precision, len(queries)
        packets = len(tree.leaves) - 1 if own else -(-count // LEAF)
        self._size, self._own = PacketCount.zeros(1, precision), own
        self._packets = Packets.zeros(packets, precision)
        self.offsets, self.pairs = Offsets.zeros(count + 1, precision), BoxPairs.zeros(4 * count + 16, precision)
        self._scan = Scan(self.offsets)
        self.total = self._scan.total
        self._records = (boxes, queries, self._size, tree.places, tree.leaves, tree.nodes, self._packets, self.offsets,
                         self.pairs, int(own))  # fmt: skip

    def record(self, p: Program, count: Cell) -> None:
        """Record the search for the first `count` queries; of a tree's own boxes always all."""
        p.copy(count, (self._size.queries, 0))
        packets: Cell = len(self._packets)
        if not self._own:
            p.serial(count_packets, self._size)
            packets = self._size.packets, 0
        p.launch(search_packet, *self._records, count=packets, grain=SHARE)
        self._scan.record(p, count)
        p.require(self.pairs, self.total)
        p.launch(fill_packet, *self._records, count=packets, grain=SHARE)


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

    def record_refit(self, p: Program) -> None:
        """Record that the tree takes over the boxes."""
        leaves = len(self.leaves) - 1
        p.launch(set_leaf, self.boxes, self.places, self.leaves, self.nodes, count=leaves, grain=SHARE_OF_REFIT)
        width = leaves // 2
        while width > FEW_NODES:
            p.launch(join_nodes, self.nodes, width, count=width, grain=8 * SHARE_OF_REFIT)
            width //= 2
        if width:
            p.serial(join_top, self.nodes, width)

    def overlaps(self, boxes: Boxes, queries: Queries) -> Overlaps:
        """A search for the boxes that touch queries, to be recorded."""
        return Overlaps(self, boxes, queries)

    def self_overlaps(self) -> Overlaps:
        """A search for the pairs of its own boxes that touch, to be recorded."""
        return Overlaps(self, self.boxes, Queries(self.boxes.precision, box=self.places.box), own=True)


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


KERNELS = set_leaf, join_nodes, join_top, count_packets, search_packet, fill_packet, *scan.KERNELS
"""The kernels of a tree, to be compiled ahead."""
