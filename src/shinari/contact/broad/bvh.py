"""A bounding volume hierarchy over boxes, built once and refitted in every detection.

The boxes are put in order along a Hilbert curve through their centres at rest and cut into 2^d leaves of equal size;
pairs of neighbouring nodes have a parent. So the tree is implicit: node n has the children 2 n and 2 n + 1, the root is
node 1 and leaf l is node 2^d + l.

Queries descend in packets of neighbours: one descent for the box around all of them collects the boxes they may touch
next to each other, and each query is then compared with all of these, several at a time.
"""

import numba
import numpy as np
from numpy.typing import NDArray

from shinari.build.ordering import hilbert_order
from shinari.contact.broad.grid import EXACT, share_of
from shinari.contact.broad.neighbourhood import FIRST_ROOM, U
from shinari.contact.buffers import grown

# Boxes in a leaf, at most, and queries in a packet.
LEAF = 8
# Queries, and boxes of a refit, for which it is worth waking one more thread.
SHARE = 1024
SHARE_OF_REFIT = 8192
DEPTH = 64


class Tree:
    """Boxes that can be asked for overlaps.

    Boxes touch when they share a point: their faces may coincide. A box from inf to -inf touches nothing. All arrays
    are C-contiguous.

    Args:
        centroids: Centres of the boxes at rest [m], (M, 3): boxes that are close then should stay close.
        dtype: Precision of the boxes.

    Attributes:
        order: Box at each place of the tree, (M,) uint32.
        firsts: Leaf l holds the places `firsts[l]` to `firsts[l + 1]`, (leaves + 1,) int64.
        nodes: Box around each node, low then high corner, (2 leaves, 6); row 0 is not used. A leaf without boxes has
            low = inf, high = -inf.
        boxes: Low then high corner by place, (6, M).
    """

    def __init__(self, centroids: NDArray[np.floating], dtype: type = np.float32) -> None:
        self.order = hilbert_order(np.asarray(centroids, np.float64)).astype(np.uint32)
        count = len(self.order)
        leaves = 1
        while leaves * LEAF < count:
            leaves *= 2
        self.firsts = np.arange(leaves + 1, dtype=np.int64) * count // leaves
        self.nodes = np.empty((2 * leaves, 6), dtype)
        self.boxes = np.empty((6, count), dtype)
        self._packets = np.empty(0, np.uint32)
        self._hits = np.empty(FIRST_ROOM, np.uint32)
        self._counts = self._offsets = self._starts = self._pairs = self._columns = None

    def refit(self, low: NDArray[np.floating], high: NDArray[np.floating], threads: int) -> None:
        """Set the boxes.

        Args:
            low: Low corners [m], in the order of the centroids, (M, 3).
            high: High corners, (M, 3).
            threads: Threads to work on, at most.
        """
        threads = max(1, min(threads, len(self.order) // SHARE_OF_REFIT))
        _refit(low, high, self.order, self.firsts, self.boxes, self.nodes, threads)

    def overlaps(self, low: NDArray[np.floating], high: NDArray[np.floating], threads: int) -> NDArray[np.uint32]:
        """Pairs (query, box) of boxes that touch, sorted by query, then by place in the tree.

        Args:
            low: Low corners of the queries [m], (Q, 3), in the precision of the tree.
            high: High corners, (Q, 3).
            threads: Threads to work on, at most.

        Returns:
            Pairs (P, 2), valid until the next query of this tree.
        """
        # Neighbours share a packet. They are found anew only when the number of queries changes: it decides about
        # speed, not about what is found.
        if len(self._packets) != len(low):
            self._packets = hilbert_order(0.5 * (np.asarray(low, np.float64) + high)).astype(np.uint32)
        self._columns = grown(self._columns, 6 * len(low), self.boxes.dtype)
        columns = self._columns[: 6 * len(low)].reshape(6, len(low))
        _take(low, high, self._packets, columns)
        return self._query(columns, self._packets, False, threads)

    def self_overlaps(self, threads: int) -> NDArray[np.uint32]:
        """Pairs i < j of boxes of the tree that touch, each once, sorted by the places of both in the tree.

        Args:
            threads: Threads to work on, at most.

        Returns:
            Pairs (P, 2), valid until the next query of this tree.
        """
        return self._query(self.boxes, self.order, True, threads)

    def _query(self, columns, names, own, threads):
        """Search on all threads, each into memory of its own, then put the lists one after another."""
        count = len(names)
        threads = max(1, min(threads, count // SHARE))
        self._counts = grown(self._counts, count, np.int64)
        self._starts = grown(self._starts, count, np.int64)
        self._offsets = grown(self._offsets, count + 1, np.int64)
        counts, starts, offsets = self._counts[:count], self._starts[:count], self._offsets[: count + 1]
        needed = np.zeros(threads, np.int64)
        while True:
            hits = self._hits
            room = len(hits) // threads
            _search(columns, self.boxes, self.nodes, self.firsts, own, room, threads, starts, counts, hits, needed)
            most = int(needed.max())
            if most <= room:
                break
            self._hits = grown(None, most * threads + threads, np.uint32)
        _sum(counts, names, own, offsets)
        self._pairs = grown(self._pairs, int(offsets[count]), np.uint32, 2)
        pairs = self._pairs[: offsets[count]]
        _join(names, self.order, own, threads, starts, counts, offsets, hits, pairs)
        return pairs


@numba.njit(cache=True, **EXACT)
def _take(low, high, names, columns):
    """Corners of boxes as columns, in another order."""
    for p in range(len(names)):
        q = names[p]
        columns[0, p], columns[1, p], columns[2, p] = low[q, 0], low[q, 1], low[q, 2]
        columns[3, p], columns[4, p], columns[5, p] = high[q, 0], high[q, 1], high[q, 2]


@numba.njit(**EXACT)
def around_boxes(columns, first, last):
    """Box around a range of boxes; empty (inf, -inf) when there is none."""
    far = columns.dtype.type(np.inf)
    x0, y0, z0, x1, y1, z1 = far, far, far, -far, -far, -far
    for p in range(first, last):
        x0, y0, z0 = min(x0, columns[0, p]), min(y0, columns[1, p]), min(z0, columns[2, p])
        x1, y1, z1 = max(x1, columns[3, p]), max(y1, columns[4, p]), max(z1, columns[5, p])
    return x0, y0, z0, x1, y1, z1


@numba.njit(**EXACT)
def join_children(nodes, n):
    """Set the box of a node from those of its children."""
    a, b = 2 * n, 2 * n + 1
    for c in range(3):
        nodes[n, c] = min(nodes[a, c], nodes[b, c])
        nodes[n, 3 + c] = max(nodes[a, 3 + c], nodes[b, 3 + c])


@numba.njit(**EXACT)
def refit_part(t, low, high, order, firsts, boxes, nodes, threads):
    """One thread's part of `_refit`."""
    leaves = len(firsts) - 1
    # each thread has whole subtrees below this level
    tops = 1
    while tops < 4 * threads and tops < leaves:
        tops *= 2
    for top in range(share_of(tops, t, threads), share_of(tops, t + 1, threads)):
        for leaf in range(top * (leaves // tops), (top + 1) * (leaves // tops)):
            for p in range(firsts[leaf], firsts[leaf + 1]):
                q = order[p]
                boxes[0, p], boxes[1, p], boxes[2, p] = low[q, 0], low[q, 1], low[q, 2]
                boxes[3, p], boxes[4, p], boxes[5, p] = high[q, 0], high[q, 1], high[q, 2]
            box = around_boxes(boxes, firsts[leaf], firsts[leaf + 1])
            n = leaves + leaf
            nodes[n, 0], nodes[n, 1], nodes[n, 2] = box[0], box[1], box[2]
            nodes[n, 3], nodes[n, 4], nodes[n, 5] = box[3], box[4], box[5]
        width = leaves // tops // 2
        while width > 0:
            for n in range((tops + top) * width, (tops + top + 1) * width):
                join_children(nodes, n)
            width //= 2


@numba.njit(parallel=True, cache=True, **EXACT)
def _refit(low, high, order, firsts, boxes, nodes, threads):
    """Bring the boxes into the order of the tree and set the boxes of the nodes, from the leaves up."""
    leaves = len(firsts) - 1
    # each thread has whole subtrees below this level
    tops = 1
    while tops < 4 * threads and tops < leaves:
        tops *= 2
    if threads == 1:
        refit_part(0, low, high, order, firsts, boxes, nodes, threads)
    else:
        for t in numba.prange(threads):
            refit_part(t, low, high, order, firsts, boxes, nodes, threads)
    for n in range(tops - 1, 0, -1):
        join_children(nodes, n)


@numba.njit(**EXACT)
def touch(a, b):
    """Whether two boxes (low, high) share a point."""
    return (a[0] <= b[3]) & (b[0] <= a[3]) & (a[1] <= b[4]) & (b[1] <= a[4]) & (a[2] <= b[5]) & (b[2] <= a[5])


@numba.njit(**EXACT)
def leaves_touching(box, nodes, start, stack, found):
    """Leaves whose box touches a box, from leaf `start` on, ascending; returns how many.

    Args:
        box: Low and high corner, six numbers.
        nodes: Boxes of the nodes.
        start: First leaf of interest.
        stack: Scratch, (DEPTH,).
        found: Receives the leaves, room for all.
    """
    leaves = len(nodes) // 2
    # what lies to the right of the way from the root to the first leaf, and that leaf: popped in ascending order
    n, depth, level = 0, 0, leaves
    while level > 1:
        level //= 2
        node = (leaves + start) // level
        if node % 2 == 0:
            stack[depth] = node + 1
            depth += 1
    stack[depth] = leaves + start
    depth += 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        while touch(
            box, (nodes[node, 0], nodes[node, 1], nodes[node, 2], nodes[node, 3], nodes[node, 4], nodes[node, 5])
        ):
            if node >= leaves:
                found[n] = node - leaves
                n += 1
                break
            node = 2 * node
            stack[depth] = node + 1
            depth += 1
    return n


@numba.njit(**EXACT)
def collect(box, boxes, firsts, found, n, near, places):
    """Copy the boxes of n leaves that touch a box into `near` (6, room), and their places; returns how many."""
    m = U(0)
    for leaf in found[:n]:
        for p in range(firsts[leaf], firsts[leaf + 1]):
            q = U(p)
            b = (boxes[0, q], boxes[1, q], boxes[2, q], boxes[3, q], boxes[4, q], boxes[5, q])
            near[0, m], near[1, m], near[2, m], near[3, m], near[4, m], near[5, m] = b
            places[m] = q
            m += U(touch(box, b))
    return np.int64(m)


@numba.njit(**EXACT)
def search_part(t, queries, boxes, nodes, firsts, own, room, threads, starts, counts, hits, needed):
    """One thread's part of `_search`."""
    leaves = len(firsts) - 1
    count = queries.shape[1]
    packets = leaves if own else (count + LEAF - 1) // LEAF
    near, places = np.empty((6, FIRST_ROOM), boxes.dtype), np.empty(FIRST_ROOM, np.uint32)
    close, kept = np.empty(FIRST_ROOM, np.uint8), np.empty(FIRST_ROOM, np.uint32)
    stack, found = np.empty(DEPTH, np.int64), np.empty(leaves, np.int64)
    at, end = t * room, (t + 1) * room
    for packet in range(share_of(packets, t, threads), share_of(packets, t + 1, threads)):
        first = firsts[packet] if own else packet * LEAF
        last = firsts[packet + 1] if own else min(count, first + LEAF)
        box = around_boxes(queries, first, last)
        n = leaves_touching(box, nodes, packet if own else 0, stack, found)
        if n * LEAF + 1 > len(places):
            wide = 2 * n * LEAF
            near, places = np.empty((6, wide), boxes.dtype), np.empty(wide, np.uint32)
            close, kept = np.empty(wide, np.uint8), np.empty(wide, np.uint32)
        total = collect(box, boxes, firsts, found, n, near, places)
        start = U(0)
        for p in range(first, last):
            x0, y0, z0 = queries[0, p], queries[1, p], queries[2, p]
            x1, y1, z1 = queries[3, p], queries[4, p], queries[5, p]
            # the boxes of the packet come first, and those up to p have had their turn
            while own and start < U(total) and places[start] <= p:
                start += U(1)
            for k in range(start, U(total)):
                close[k] = (
                    (x0 <= near[3, k])
                    & (near[0, k] <= x1)
                    & (y0 <= near[4, k])
                    & (near[1, k] <= y1)
                    & (z0 <= near[5, k])
                    & (near[2, k] <= z1)
                )
            # write always, keep what touches: no branch to guess
            m = U(0)
            for k in range(start, U(total)):
                kept[m] = places[k]
                m += U(close[k])
            starts[p], counts[p] = at, m
            if at + np.int64(m) <= end:
                for k in range(np.int64(m)):
                    hits[U(at) + U(k)] = kept[U(k)]
            at += np.int64(m)
    needed[t] = at - t * room


@numba.njit(parallel=True, cache=True, **EXACT)
def _search(queries, boxes, nodes, firsts, own, room, threads, starts, counts, hits, needed):
    """Boxes that touch each query, as lists in the thread's share of the hits.

    Args:
        queries: Columns of the queries, (6, Q), neighbours next to each other.
        boxes: Columns of the boxes by place, (6, M).
        nodes: Boxes of the nodes.
        firsts: First place of each leaf.
        own: The queries are the boxes: only pairs with a later place are wanted.
        room: Hits that a thread has room for; what exceeds it is counted only.
        threads: Number of threads.
        starts: Receives where the list of a query starts, (Q,).
        counts: Receives its length, (Q,).
        hits: Places, (room * threads,).
        needed: Receives the number of hits of each thread, (threads,).
    """
    if threads == 1:
        search_part(0, queries, boxes, nodes, firsts, own, room, threads, starts, counts, hits, needed)
    else:
        for t in numba.prange(threads):
            search_part(t, queries, boxes, nodes, firsts, own, room, threads, starts, counts, hits, needed)


@numba.njit(cache=True, **EXACT)
def _sum(counts, names, own, offsets):
    """Where the list of each query goes: by place for the tree's own boxes, else by name."""
    count = len(counts)
    for p in range(count):
        offsets[(p if own else names[p]) + 1] = counts[p]
    offsets[0] = 0
    for q in range(count):
        offsets[q + 1] += offsets[q]


@numba.njit(**EXACT)
def join_part(t, names, order, own, threads, starts, counts, offsets, hits, pairs):
    """One thread's part of `_join`."""
    for p in range(share_of(len(names), t, threads), share_of(len(names), t + 1, threads)):
        query = names[p]
        first, at = U(starts[p]), U(offsets[p if own else query])
        for k in range(counts[p]):
            box = order[hits[first + U(k)]]
            pairs[at + U(k), 0] = min(query, box) if own else query
            pairs[at + U(k), 1] = max(query, box) if own else box


@numba.njit(parallel=True, cache=True, **EXACT)
def _join(names, order, own, threads, starts, counts, offsets, hits, pairs):
    """Write the pairs of each query where they go."""
    if threads == 1:
        join_part(0, names, order, own, threads, starts, counts, offsets, hits, pairs)
    else:
        for t in numba.prange(threads):
            join_part(t, names, order, own, threads, starts, counts, offsets, hits, pairs)
