"""Pairs of boxes that touch, found in a tree.

Queries descend in packets of neighbours, and packets in groups: one descent for the box around a group lists the leaves
that it may touch, and each packet takes of these what its own box touches. The boxes in these leaves are put next to
each other, and each query of the packet is compared with all of them, several at a time. What a packet finds goes to
slots of its own, and from there to the list of pairs when the lengths of all lists are known. The packets of a group
that may touch too many leaves descend by themselves, and so does each query of a packet that meets too many boxes.
"""

import numpy as np

from shinari.compute import Field, Program, Record, function, kernel, scratch, shared
from shinari.compute.kernels import AS_WRITTEN
from shinari.compute.program import Cell
from shinari.compute.scan import Offsets, Scan
from shinari.geometry.boxes import INFINITY, LEAF, Boxes, Leaves, Nodes, Places, boxes_overlap, joined, start_stack

# Boxes that a packet may meet, and hits that it has slots for.
MET, SLOTS = 1024, 256
# Packets of a group, and leaves that are listed for it, with one more that tells that they are too many.
GROUP, SPAN = 8, 256
# Boxes that are compared at once; room for those that a packet may meet and the last leaf, and for these and its slots.
LANES, ROOM, LIST = 8, 1040, 1296
# Packets for which it is worth waking one more thread.
SHARE = 16
NO_POINT = np.uint32(0xFFFFFFFF)


class Queries(Record):
    """Boxes that are asked for, neighbours next to each other."""

    box = Field(np.uint32, doc="row of the box")


class Groups(Record):
    """Leaves that packets which are neighbours may touch."""

    leaf = Field(np.uint32, SPAN, doc="leaves, ascending")
    count = Field(np.int64, doc="how many; SPAN: there are more, and the packets have to descend by themselves")


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
    groups = Field(np.int64)


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


@function(fastmath=AS_WRITTEN)
def next_leaf(box, stack, depth, nodes, count):
    """Next leaf of a stack that touches a box, -1 where there is none, and the depth of the stack after it."""
    while depth > 0:
        depth -= 1
        node = stack[depth]
        while boxes_overlap(box, nodes.box[node]):
            if node >= count:
                return node - count, depth
            node = 2 * node
            stack[depth] = node + 1
            depth += 1
    return -1, 0


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
    leaf, depth = next_leaf(box, stack, start_stack(stack, 0, count), nodes, count)
    while leaf >= 0:
        for p in range(max(leaves.first[leaf], later + 1), leaves.first[leaf + 1]):
            if boxes_overlap(
                box, (places.x0[p], places.y0[p], places.z0[p], places.x1[p], places.y1[p], places.z1[p])
            ) and are_apart(points, places.p0[p], places.p1[p], places.p2[p]):
                if at >= 0:
                    pairs.boxes[at + found] = pair_of(query, places.box[p], later)
                found += 1
        leaf, depth = next_leaf(box, stack, depth, nodes, count)
    return found


@function
def pair_of(query, box, later):
    """Rows of a pair: those of boxes of one tree in ascending order."""
    ascending = later < 0 or query < box
    return (np.uint32(query), np.uint32(box)) if ascending else (np.uint32(box), np.uint32(query))


@function
def packet_of(k, own, queries, leaves):
    """First query of a packet, and the end of them."""
    return (leaves.first[k], leaves.first[k + 1]) if own else (k * LEAF, min(queries, k * LEAF + LEAF))


@function(fastmath=AS_WRITTEN)
def box_around(first, last, boxes, queries):
    """Box around the boxes of some queries."""
    x0, y0, z0, x1, y1, z1 = INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY
    for q in range(first, last):
        low, high = boxes.low[queries.box[q]], boxes.high[queries.box[q]]
        x0, y0, z0, x1, y1, z1 = joined((x0, y0, z0, x1, y1, z1), (low[0], low[1], low[2], high[0], high[1], high[2]))
    return x0, y0, z0, x1, y1, z1


@function(fastmath=AS_WRITTEN)
def leaves_that_touch(box, start, count, nodes, found, room):
    """Write the leaves from `start` on that touch a box, in ascending order; how many, or more than there is room for.

    There has to be room for one more.
    """
    stack, touching = scratch(64, 0), 0
    leaf, depth = next_leaf(box, stack, start_stack(stack, start, count), nodes, count)
    while leaf >= 0 and touching <= room:
        found[touching] = leaf
        touching += 1
        leaf, depth = next_leaf(box, stack, depth, nodes, count)
    return touching


@kernel(fastmath=AS_WRITTEN)
def descend_group(
    g, boxes: Boxes, queries: Queries, size: PacketCount, leaves: Leaves, nodes: Nodes, groups: Groups, own: np.int64,
):  # fmt: skip
    """Find the leaves that the packets of a group may touch."""
    count = len(leaves) - 1
    packets = count if own else size.packets[0]
    first, _ = packet_of(g * GROUP, own, size.queries[0], leaves)
    _, last = packet_of(min(g * GROUP + GROUP, packets) - 1, own, size.queries[0], leaves)
    box = box_around(first, last, boxes, queries)
    found = scratch(SPAN, np.uint32(0))
    touching = leaves_that_touch(box, g * GROUP if own else 0, count, nodes, found, SPAN - 1)
    groups.count[g] = touching
    for j in range(touching):
        groups.leaf[g, j] = found[j]


@function(fastmath=AS_WRITTEN)
def leaves_of_packet(k, box, own, count, nodes, groups, found):
    """Write the leaves that touch the box of a packet, of those that its group may touch; how many."""
    g, start = k // GROUP, k if own else 0
    if groups.count[g] >= SPAN:
        return leaves_that_touch(box, start, count, nodes, found, MET)
    touching = 0
    for j in range(groups.count[g]):
        leaf = np.int64(groups.leaf[g, j])
        found[touching] = leaf
        touching += np.int64(boxes_overlap(box, nodes.box[count + leaf]) & (leaf >= start))
    return touching


@kernel(fastmath=AS_WRITTEN)
def search_packet(
    k, boxes: Boxes, queries: Queries, size: PacketCount, places: Places, leaves: Leaves, nodes: Nodes,
    groups: Groups, packets: Packets, offsets: Offsets, pairs: BoxPairs, own: np.int64,
):  # fmt: skip
    """Count the boxes that touch each query of a packet, and keep those for which there are slots.

    `own`: the queries are the boxes of the tree in its order; only pairs with a later place are wanted.
    """
    count, like, number = len(leaves) - 1, nodes.box[1, 0], np.uint32(0)
    first, last = packet_of(k, own, size.queries[0], leaves)
    box = box_around(first, last, boxes, queries)
    near_x0, near_y0, near_z0 = scratch(ROOM, like), scratch(ROOM, like), scratch(ROOM, like)
    near_x1, near_y1, near_z1 = scratch(ROOM, like), scratch(ROOM, like), scratch(ROOM, like)
    near_p0, near_p1, near_p2 = scratch(ROOM, number), scratch(ROOM, number), scratch(ROOM, number)
    near, close, kept = scratch(ROOM, number), scratch(ROOM, number), scratch(LIST, number)
    # what touches is written first here, later over it
    touching, met = leaves_of_packet(k, box, own, count, nodes, groups, kept), 0
    for t in range(touching):
        if met > MET:
            break
        leaf = np.int64(kept[t])
        for p in range(leaves.first[leaf], leaves.first[leaf + 1]):
            b = places.x0[p], places.y0[p], places.z0[p], places.x1[p], places.y1[p], places.z1[p]
            near_x0[met], near_y0[met], near_z0[met], near_x1[met], near_y1[met], near_z1[met] = b
            near_p0[met], near_p1[met], near_p2[met] = places.p0[p], places.p1[p], places.p2[p]
            near[met] = p
            met += np.int64(boxes_overlap(box, b))
    if touching > MET or met > MET:
        packets.alone[k] = True
        for q in range(first, last):
            query, later = np.int64(queries.box[q]), q if own else -1
            offsets.start[q] = descend(boxes, query, later, places, leaves, nodes, pairs, -1)
        return
    found = 0
    for q in range(first, last):
        low, high = boxes.low[queries.box[q]], boxes.high[queries.box[q]]
        points, later = asked(boxes.points[queries.box[q]]), np.int32(q if own else -1)
        # eight at once, without a branch to guess; flags beyond the last one are not read
        for begin in range(0, met, LANES):
            for lane in range(LANES):
                j = begin + lane
                close[j] = (
                    (low[0] <= near_x1[j]) & (near_x0[j] <= high[0])
                    & (low[1] <= near_y1[j]) & (near_y0[j] <= high[1])
                    & (low[2] <= near_z1[j]) & (near_z0[j] <= high[2])
                    & (np.int32(near[j]) > later) & are_apart(points, near_p0[j], near_p1[j], near_p2[j])
                )  # fmt: skip
        # write always, keep what touches; hits without a slot are counted only
        begin = min(found, SLOTS)
        at = begin
        for j in range(met):
            kept[at] = near[j]
            at += np.int64(close[j])
        offsets.start[q] = at - begin
        found += at - begin
    packets.alone[k] = found > SLOTS
    for j in range(min(found, SLOTS)):
        packets.place[k, j] = kept[j]


@kernel
def fill_packet(
    k, boxes: Boxes, queries: Queries, size: PacketCount, places: Places, leaves: Leaves, nodes: Nodes,
    packets: Packets, offsets: Offsets, pairs: BoxPairs, own: np.int64,
):  # fmt: skip
    """Write the pairs of a packet."""
    first, last = packet_of(k, own, size.queries[0], leaves)
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
    """Packets that so many queries fill, and groups of these."""
    size.packets[0] = (size.queries[0] + LEAF - 1) // LEAF
    size.groups[0] = (size.packets[0] + GROUP - 1) // GROUP


class Overlaps:
    """Pairs of a query and a box of a tree that touch.

    The pairs of the query in row q of the queries stand at the rows `offsets.start[q]` to `offsets.start[q + 1]`, in
    the order of the tree. Those of a tree with itself stand by place in the tree.

    Args:
        tree: Places, leaves and nodes of the tree.
        boxes: Boxes of the queries; those of the tree for pairs of its own boxes.
        queries: Rows of the boxes that are asked for, neighbours next to each other; the order of the tree for pairs of
            its own boxes. Those that are asked for come first.
        own: Whether pairs of the tree's own boxes are wanted, each once.

    Attributes:
        pairs: The pairs.
        offsets: Where those of each query start.
        total: Cell with the number of pairs.
    """

    def __init__(self, tree: tuple[Places, Leaves, Nodes], boxes: Boxes, queries: Queries, own: bool = False) -> None:
        precision, count = boxes.precision, len(queries)
        _, leaves, nodes = tree
        packets = len(leaves) - 1 if own else -(-count // LEAF)
        self._size, self._own = PacketCount.zeros(1, precision), own
        self._size.packets[0], self._size.groups[0] = packets, -(-packets // GROUP)
        groups, found = Groups.zeros(-(-packets // GROUP), precision), Packets.zeros(packets, precision)
        self.offsets, self.pairs = Offsets.zeros(count + 1, precision), BoxPairs.zeros(4 * count + 16, precision)
        self._scan = Scan(self.offsets)
        self.total = self._scan.total
        asked = boxes, queries, self._size
        last = found, self.offsets, self.pairs, int(own)
        self._descent = *asked, leaves, nodes, groups, int(own)
        self._search, self._fill = (*asked, *tree, groups, *last), (*asked, *tree, *last)

    def record(self, p: Program, count: Cell) -> None:
        """Record the search for the first `count` queries; of a tree's own boxes always all."""
        p.copy(count, (self._size.queries, 0))
        if not self._own:
            p.serial(count_packets, self._size)
        packets, groups = (self._size.packets, 0), (self._size.groups, 0)
        p.launch(descend_group, *self._descent, count=groups, grain=max(SHARE // GROUP, 1))
        p.launch(search_packet, *self._search, count=packets, grain=SHARE)
        self._scan.record(p, count)
        p.require(self.pairs, self.total)
        p.launch(fill_packet, *self._fill, count=packets, grain=SHARE)


KERNELS = count_packets, descend_group, search_packet, fill_packet
"""The kernels of a search, to be compiled ahead."""
