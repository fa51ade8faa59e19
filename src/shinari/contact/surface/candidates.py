"""Candidates: pairs of a point and a triangle, or of two edges, that may come to touch before the next detection.

Each particle gets a box around the way that it will go, in a frame that moves with the mean of all, and may go anywhere
in it. Trees of boxes find the edges and triangles whose boxes overlap; of these a pair stays when what both may move
bridges its distance, when its things may meet, and when it is not joined. A few particles that leave their boxes get
new ones, and the pairs in which they take part are found anew.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numba
import numpy as np

from shinari.contact.broad.bvh import Tree
from shinari.contact.buffers import grown
from shinari.contact.keys import listed
from shinari.contact.surface.participants import Participants
from shinari.contact.surface.proximity import gap_vector, pair_weights
from shinari.maths.function import STEADY, inlined, steady
from shinari.maths.vec3 import ZERO, neg, norm, reciprocal, scale, sub
from shinari.model import Model

FAR = np.float32(1e30)


@dataclass(frozen=True)
class Pairs:
    """Candidates.

    Attributes:
        rows: Particles of each, (M, 4) uint32: point and triangle, or the ends of both edges.
        edges: Whether each is two edges, (M,) bool.
        gaps: Distance that each keeps [m], (M,).
    """

    rows: np.ndarray
    edges: np.ndarray
    gaps: np.ndarray


class Side:
    """Points, edges or triangles, with their boxes."""

    def __init__(self, table: np.ndarray, model: Model, who: Participants) -> None:
        self.table = table
        self._tree: Tree | None = None
        self._owners = model.owners[table[:, 0]]
        self._rest = (model.origins[model.groups[table]] + who.rest[table]).mean(axis=1)
        self._real = model.real
        self.low, self.high = np.zeros((len(table), 3), model.real), np.zeros((len(table), 3), model.real)

    def place(self, radii: np.ndarray, low: np.ndarray, high: np.ndarray, regions: np.ndarray) -> None:
        """Take the boxes from those of the particles, where they reach into the region of their thing."""
        _row_boxes(self.table, self._owners, radii, low, high, regions, self.low, self.high)

    def tree(self, threads: int) -> Tree:
        """Tree of the boxes."""
        if self._tree is None:
            self._tree = Tree(self._rest, self._real)
        self._tree.refit(self.low, self.high, threads)
        return self._tree


class Candidates:
    """Finds the candidates.

    Attributes:
        low: Low corner of the box of each particle, without its radius, (N, 3).
        high: High corner, (N, 3).
        free: Which particles can move, (N,) bool.
        absent: Particles that are not there and touch nothing, (K,): those that wait in an emitter.
    """

    def __init__(self, model: Model, who: Participants) -> None:
        self._model, self._who = model, who
        n, real = model.particle_count, model.real
        self.low, self.high = np.zeros((n, 3), real), np.zeros((n, 3), real)
        self.free = model.inverse_masses > 0.0
        self.absent = np.zeros(0, np.int64)
        self._inside = np.zeros(n, np.bool_)
        self._regions = np.zeros((len(who.members), 6), real)
        sides = [Side(table, model, who) for table in (who.points[:, None], who.triangles, who.edges, who.beads,
                                                       who.segments)]  # fmt: skip
        points, triangles, edges, beads, segments = sides
        self._meetings = [(a, b) for a, b in ((points, triangles), (edges, edges), (beads, segments))
                          if len(a.table) and len(b.table)]  # fmt: skip
        self._sides = [side for side in sides if any(side in meeting for meeting in self._meetings)]
        self._gaps: np.ndarray | None = None
        self._keep: np.ndarray | None = None
        self._things = np.zeros((len(who.members), 6), real)

    def find(self, begin: np.ndarray, ways: tuple[np.ndarray, ...], stray: float, threads: int) -> Pairs:
        """Find all pairs that can touch while every particle stays near its way.

        Args:
            begin: Where the particles are, in one frame, (N, 3).
            ways: Places that they will pass, each (N, 3).
            stray: How far a particle may stray from its way along each axis [m].
            threads: Threads to use.
        """
        _boxes(np.arange(len(begin)), begin, ways[0], ways[-1], self._model.real(stray), self.low, self.high)
        self._find_regions()
        _mark_inside(self.low, self.high, self._model.radii, self._regions, self._model.owners, self._inside)
        return self._collect(begin, threads, ((a, b, self._all_of(a, b, threads)) for a, b in self._place_sides()))

    def renew(
        self, who: np.ndarray, begin: np.ndarray, ways: tuple[np.ndarray, ...], stray: float, threads: int
    ) -> Pairs | None:
        """Give some particles new boxes, and find the pairs in which they take part; None: find all pairs instead.

        Args:
            who: The particles, (K,).
            begin: Where all particles are, (N, 3).
            ways: Places that they will pass, each (N, 3).
            stray: How far a particle may stray from its way along each axis [m].
            threads: Threads to use.
        """
        _boxes(who, begin, ways[0], ways[-1], self._model.real(stray), self.low, self.high)
        own = self._things[self._model.owners[who]]
        if not self._inside[who].all() or (self.low[who] < own[:, :3]).any() or (self.high[who] > own[:, 3:]).any():
            return None
        chosen = np.zeros(len(begin), np.bool_)
        chosen[who] = True
        return self._collect(
            begin, threads, ((a, b, self._some_of(a, b, chosen, threads)) for a, b in self._place_sides())
        )

    def _place_sides(self) -> list[tuple[Side, Side]]:
        for side in self._sides:
            side.place(self._model.radii, self.low, self.high, self._regions)
        return self._meetings

    @staticmethod
    def _all_of(a: Side, b: Side, threads: int) -> np.ndarray:
        tree = b.tree(threads)
        return tree.self_overlaps(threads) if a is b else tree.overlaps(a.low, a.high, threads)

    @staticmethod
    def _some_of(a: Side, b: Side, chosen: np.ndarray, threads: int) -> np.ndarray:
        """Overlaps of rows with a chosen particle: those of the first side, and those of the second with the others."""
        first = _with_any(a.table, chosen)
        rows = np.flatnonzero(first)
        raw = b.tree(threads).overlaps(a.low[rows], a.high[rows], threads)
        pairs = np.stack([rows[raw[:, 0]], raw[:, 1].astype(np.int64)], axis=1)
        if a is b:
            return pairs[~first[pairs[:, 1]] | (pairs[:, 0] < pairs[:, 1])].astype(np.uint32)
        rows = np.flatnonzero(_with_any(b.table, chosen))
        raw = a.tree(threads).overlaps(b.low[rows], b.high[rows], threads)
        others = np.stack([raw[:, 1].astype(np.int64), rows[raw[:, 0]]], axis=1)
        return np.concatenate([pairs, others[~first[others[:, 0]]]]).astype(np.uint32)

    def _collect(self, begin: np.ndarray, threads: int, found: Iterator[tuple[Side, Side, np.ndarray]]) -> Pairs:
        model, who = self._model, self._who
        rows, edges, gaps = [np.zeros((0, 4), np.uint32)], [np.zeros(0, np.bool_)], [np.zeros(0, model.real)]
        for a, b, raw in found:
            self._keep = grown(self._keep, len(raw), np.bool_)
            self._gaps = grown(self._gaps, len(raw), model.real)
            _filter(threads, raw, a.table, b.table, begin, model.radii, model.owners, self.low, self.high, self.free,
                    who.alone, who.ignored, who.reach_along, who.arcs, who.neighbour_offsets, who.neighbours, who.rest,
                    self._keep, self._gaps)  # fmt: skip
            if len(self.absent):
                self._keep[: len(raw)][np.isin(a.table[:, 0], self.absent)[raw[:, 0]]] = False
            count = int(np.count_nonzero(self._keep[: len(raw)]))
            rows.append(np.empty((count, 4), np.uint32))
            gaps.append(np.empty(count, model.real))
            edges.append(np.full(count, a.table.shape[1] == 2))
            _gather(raw, a.table, b.table, self._keep, self._gaps, rows[-1], gaps[-1])
        return Pairs(np.concatenate(rows), np.concatenate(edges), np.concatenate(gaps))

    def _find_regions(self) -> None:
        """Box of each thing in which it can meet another one or itself, (T, 6); empty where it can meet none."""
        who, things = self._who, self._things
        count = len(who.members)
        things[:, :3], things[:, 3:] = np.inf, -np.inf
        for k, members in enumerate(who.members):
            if members is not None:
                reach = self._model.radii[members].max()
                things[k, :3] = self.low[members].min(axis=0) - reach
                things[k, 3:] = self.high[members].max(axis=0) + reach
        low, high = things[:, :3], things[:, 3:]
        regions = self._regions
        regions[:, :3], regions[:, 3:] = np.inf, -np.inf
        for a in range(count):
            near = np.flatnonzero((low[a] <= high).all(axis=1) & (low <= high[a]).all(axis=1))
            for b in near:
                if who.may_meet(a, int(b)):
                    regions[a, :3] = np.minimum(regions[a, :3], np.maximum(low[a], low[b]))
                    regions[a, 3:] = np.maximum(regions[a, 3:], np.minimum(high[a], high[b]))


@numba.njit(cache=True, **STEADY)
def _with_any(table, chosen):
    """Which rows of a table have a chosen particle, (M,) bool."""
    result = np.zeros(len(table), np.bool_)
    for r in range(len(table)):
        for k in range(table.shape[1]):
            result[r] = result[r] or chosen[table[r, k]]
    return result


@numba.njit(cache=True, **STEADY)
def _boxes(who, begin, first, second, stray, low, high):
    """Box of each of the particles `who` around three places that it passes."""
    for i in who:
        for c in range(3):
            low[i, c] = min(begin[i, c], min(first[i, c], second[i, c])) - stray
            high[i, c] = max(begin[i, c], max(first[i, c], second[i, c])) + stray


@numba.njit(cache=True, **STEADY)
def _mark_inside(low, high, radii, regions, owners, inside):
    """Mark the particles that are where their thing can meet another."""
    for i in range(len(low)):
        owner, r = owners[i], radii[i]
        meets = True
        for c in range(3):
            meets = meets and low[i, c] - r <= regions[owner, 3 + c] and high[i, c] + r >= regions[owner, c]
        inside[i] = meets


@numba.njit(cache=True, **STEADY)
def _row_boxes(table, owners, radii, low, high, regions, row_low, row_high):
    """Box of the particles of each row with their radii; empty where it is outside of the region of its thing.

    A long edge may lie in the region when none of its ends does.
    """
    for r in range(len(table)):
        owner, meets = owners[r], True
        for c in range(3):
            a, b = FAR, -FAR
            for k in range(table.shape[1]):
                i = table[r, k]
                a, b = min(a, low[i, c] - radii[i]), max(b, high[i, c] + radii[i])
            row_low[r, c], row_high[r, c] = a, b
            meets = meets and a <= regions[owner, 3 + c] and b >= regions[owner, c]
        for c in range(3):
            row_low[r, c] = row_low[r, c] if meets else FAR
            row_high[r, c] = row_high[r, c] if meets else -FAR


@numba.njit(cache=True, **STEADY)
def _gather(raw, first, second, keep, gaps, rows, kept_gaps):
    """Write the particles and gaps of the pairs that are kept."""
    at = 0
    split = first.shape[1]
    for r in range(len(raw)):
        if keep[r]:
            for k in range(split):
                rows[at, k] = first[raw[r, 0], k]
            for k in range(4 - split):
                rows[at, split + k] = second[raw[r, 1], k]
            kept_gaps[at] = gaps[r]
            at += 1


@inlined
def joined(i, j, offsets, neighbours):
    """Whether two particles are one, or share an edge or a row."""
    found = i == j
    for k in range(offsets[i], offsets[i + 1]):
        found = found or neighbours[k] == j
    return found


@inlined
def strangers(i, j, owners, alone, ignored, reach_along, arcs):
    """Whether the things of two particles may meet, and, along a rope, at these places."""
    a, b = np.int64(owners[i]), np.int64(owners[j])
    if a != b:
        return not listed(min(a, b) * len(alone) + max(a, b), ignored)
    along = abs(arcs[i] - arcs[j])
    return not alone[a] and min(along, reach_along[a, 1] - along) >= reach_along[a, 0]


@inlined
def way_between(edges, x, i0, i1, i2, i3):
    """Vector between the nearest points of a point and a triangle, or of two edges, at positions x (N, 3)."""
    o = (x[i0, 0], x[i0, 1], x[i0, 2])
    a = sub((x[i1, 0], x[i1, 1], x[i1, 2]), o)
    b = sub((x[i2, 0], x[i2, 1], x[i2, 2]), o)
    c = sub((x[i3, 0], x[i3, 1], x[i3, 2]), o)
    return gap_vector(pair_weights(edges, a, b, c), a, b, c)


@inlined
def lowest(n, low, high, i):
    """Least n . x in the box of a particle."""
    return (
        n[0] * (low[i, 0] if n[0] > ZERO else high[i, 0])
        + n[1] * (low[i, 1] if n[1] > ZERO else high[i, 1])
        + n[2] * (low[i, 2] if n[2] > ZERO else high[i, 2])
    )


@steady
def filter_range(
    begin, end, raw, first, second, places, radii, owners, low, high, free, alone, ignored, reach_along, arcs, offsets,
    neighbours, rest, keep, gaps
):  # fmt: skip
    """Which of the overlapping pairs may touch, and the distance that each keeps."""
    edges = first.shape[1] == 2
    for r in range(begin, end):
        keep[r] = False
        p, q = raw[r, 0], raw[r, 1]
        i0, i3 = first[p, 0], second[q, second.shape[1] - 1]
        i1 = first[p, 1] if edges else second[q, 0]
        i2 = second[q, 0] if edges else second[q, 1]
        j = second[q, 0]
        shared = i0 == i2 or i0 == i3 or (i0 == i1 and not edges) or (edges and (i1 == i2 or i1 == i3))  # noqa: SIM109
        if shared or not (free[i0] or free[i1] or free[i2] or free[i3]):
            continue
        meet = strangers(i0, j, owners, alone, ignored, reach_along, arcs)
        if edges:
            meet = meet and strangers(i0, i3, owners, alone, ignored, reach_along, arcs)
            meet = meet and strangers(i1, i2, owners, alone, ignored, reach_along, arcs)
            meet = meet and strangers(i1, i3, owners, alone, ignored, reach_along, arcs)
        if not meet:
            continue
        gap = radii[i0] + radii[j]
        # a plane across the shortest way: when it keeps the boxes of both sides a gap apart they cannot meet
        way = way_between(edges, places, i0, i1, i2, i3)
        n = scale(way, reciprocal(norm(way)))
        m = neg(n)
        above = min(lowest(n, low, high, i0), lowest(n, low, high, i1)) if edges else lowest(n, low, high, i0)
        below = min(lowest(m, low, high, i2), lowest(m, low, high, i3))
        below = below if edges else min(below, lowest(m, low, high, i1))
        if above + below > gap:
            continue
        near = joined(i0, i2, offsets, neighbours) or joined(i0, i3, offsets, neighbours)
        k = i2 if edges else i0
        near = near or joined(i1, k, offsets, neighbours) or (edges and joined(i1, i3, offsets, neighbours))
        if near:
            if owners[i0] != owners[j]:
                continue
            # neighbours of one sheet keep the distance that they have at rest where it is less
            gap = min(gap, norm(way_between(edges, rest, i0, i1, i2, i3)))
        keep[r] = gap > ZERO
        gaps[r] = gap


@numba.njit(parallel=True, cache=True, **STEADY)
def _filter(
    threads, raw, first, second, places, radii, owners, low, high, free, alone, ignored, reach_along, arcs, offsets,
    neighbours, rest, keep, gaps
):  # fmt: skip
    """See `filter_range`; on so many threads."""
    count = len(raw)
    for t in numba.prange(threads):
        filter_range(
            count * t // threads, count * (t + 1) // threads, raw, first, second, places, radii, owners, low, high,
            free, alone, ignored, reach_along, arcs, offsets, neighbours, rest, keep, gaps
        )  # fmt: skip
