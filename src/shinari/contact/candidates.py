"""Candidates: pairs of a point and a triangle, or of two edges, that may come to touch before the next detection.

Each particle gets a box around the way that it will go, in a frame that moves with the mean velocity of all, and may
go anywhere in it. A hierarchy of boxes finds the edges and triangles whose boxes overlap; of these a pair stays when
its distance can be bridged by what both may move, when its things may meet, and when it is not joined.
"""

import numba
import numpy as np

from shinari.contact.buffers import grown
from shinari.contact.bvh import Tree
from shinari.contact.participants import Participants
from shinari.contact.proximity import gap_vector, pair_weights
from shinari.maths.function import FLAGS, function
from shinari.maths.vec3 import ZERO, norm, sub
from shinari.model import Model

# A particle may stray from its way by this part of the median edge: more finds more pairs, less looks more often.
STRAY = 0.12
FAR = np.float32(1e30)
CORNER = np.float32(1.7320508)  # of a cube of edge 2


class Candidates:
    """Finds the candidates, and says when they have to be found anew.

    Attributes:
        rows: Particles of each candidate, (M, 4) uint32: point and triangle, or the ends of both edges.
        points: Candidates before this row are a point and a triangle, the others two edges.
        gaps: Distance that each candidate keeps [m], (M,).
        low: Low corner of the box of each particle, without its radius, (N, 3).
        high: High corner, (N, 3).
    """

    def __init__(self, model: Model, who: Participants) -> None:
        self._model, self._who = model, who
        n, real = model.particle_count, model.real
        self.low, self.high = np.zeros((n, 3), real), np.zeros((n, 3), real)
        self._way = np.zeros(n, real)
        self.free = model.inverse_masses > 0.0
        self._inside = np.zeros(n, np.bool_)
        self._tables = [(who.points[:, None], who.triangles), (who.edges, who.edges), (who.beads, who.segments)]
        self._trees: list[Tree | None] = [
            Tree(_centroids(table, model, who), model.real) if len(table) and len(others) else None
            for others, table in self._tables
        ]
        self._boxes = [[None, None, None, None] for _ in self._tables]
        self._keep: np.ndarray | None = None
        self._rows: np.ndarray | None = None
        self._gaps: np.ndarray | None = None
        self.rows, self.gaps, self.points = np.zeros((0, 4), np.uint32), np.zeros(0, real), 0

    def find(self, begin: np.ndarray, end: np.ndarray, stray: float, threads: int) -> None:
        """Find all pairs that can touch while every particle stays near its way.

        Args:
            begin: Where the ways of the particles begin, in one frame, (N, 3).
            end: Where they end, (N, 3).
            stray: How far a particle may stray from its way along each axis [m].
            threads: Threads to use.
        """
        model, who = self._model, self._who
        regions = self._regions(begin, end, stray)
        _particle_boxes(begin, end, model.radii, model.real(stray), regions, model.owners, self._inside, self.low,
                        self.high, self._way)  # fmt: skip
        count, self.points = 0, 0
        for k, ((first, second), tree) in enumerate(zip(self._tables, self._trees, strict=True)):
            if tree is None:
                continue
            raw = self._overlaps(k, tree, first, second, threads)
            self._keep = grown(self._keep, len(raw), np.bool_)
            gaps = grown(None, len(raw), model.real)
            _filter(k > 0, raw, first, second, begin, model.radii, model.owners, self._way, self.free,
                    who.alone, who.ignored, who.reach_along, who.arcs, who.neighbour_offsets, who.neighbours, who.rest,
                    self._keep, gaps)  # fmt: skip
            kept = np.flatnonzero(self._keep[: len(raw)])
            self._extend(count, first, second, raw[kept], gaps[kept])
            count += len(kept)
            if k == 0:
                self.points = count
        assert self._rows is None or self._gaps is not None
        if self._rows is not None:
            self.rows, self.gaps = self._rows[:count], self._gaps[:count]  # type: ignore[index]

    def _overlaps(self, k: int, tree: Tree, first: np.ndarray, second: np.ndarray, threads: int) -> np.ndarray:
        boxes = self._boxes[k]
        real = self._model.real
        for i, table in ((0, second), (2, first)):
            if i == 2 and k == 1:
                break
            boxes[i], boxes[i + 1] = (grown(boxes[i + j], len(table), real, 3) for j in (0, 1))
            _row_boxes(table, self._model.radii, self.low, self.high, self._inside, boxes[i], boxes[i + 1])
        tree.refit(boxes[0][: len(second)], boxes[1][: len(second)], threads)
        if k == 1:
            return tree.self_overlaps(threads)
        return tree.overlaps(boxes[2][: len(first)], boxes[3][: len(first)], threads)

    def _extend(self, count: int, first: np.ndarray, second: np.ndarray, kept: np.ndarray, gaps: np.ndarray) -> None:
        total = count + len(kept)
        rows, old = grown(self._rows, total, np.uint32, 4), self._rows
        new_gaps, old_gaps = grown(self._gaps, total, self._model.real), self._gaps
        if rows is not old and old is not None:
            rows[:count] = old[:count]
        if new_gaps is not old_gaps and old_gaps is not None:
            new_gaps[:count] = old_gaps[:count]
        split = first.shape[1]
        rows[count:total, :split] = first[kept[:, 0]]
        rows[count:total, split:] = second[kept[:, 1]]
        new_gaps[count:total] = gaps
        self._rows, self._gaps = rows, new_gaps

    def _regions(self, begin: np.ndarray, end: np.ndarray, stray: float) -> np.ndarray:
        """Box of each thing in which it can meet another one or itself, (T, 6); empty where it can meet none."""
        who = self._who
        count = len(who.members)
        low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
        for k, members in enumerate(who.members):
            if members is not None:
                reach = stray + float(self._model.radii[members].max())
                low[k] = np.minimum(begin[members].min(axis=0), end[members].min(axis=0)) - reach
                high[k] = np.maximum(begin[members].max(axis=0), end[members].max(axis=0)) + reach
        regions = np.concatenate([np.full((count, 3), np.inf), np.full((count, 3), -np.inf)], axis=1)
        taking = [k for k in range(count) if who.members[k] is not None]
        for a in taking:
            near = np.flatnonzero((low[a] <= high).all(axis=1) & (low <= high[a]).all(axis=1))
            for b in near:
                if who.may_meet(a, int(b)):
                    regions[a, :3] = np.minimum(regions[a, :3], np.maximum(low[a], low[b]))
                    regions[a, 3:] = np.maximum(regions[a, 3:], np.minimum(high[a], high[b]))
        return regions.astype(begin.dtype)


def _centroids(table: np.ndarray, model: Model, who: Participants) -> np.ndarray:
    world = model.origins[model.groups[table]] + who.rest[table]
    return world.mean(axis=1)


@numba.njit(cache=True, **FLAGS)
def _particle_boxes(begin, end, radii, stray, regions, owners, inside, low, high, way):
    """Box of each particle, how far it may get from where it is, and whether it is where its thing can meet another."""
    for i in range(len(begin)):
        owner = owners[i]
        meets = True
        move = ZERO * stray
        for c in range(3):
            low[i, c] = min(begin[i, c], end[i, c]) - stray
            high[i, c] = max(begin[i, c], end[i, c]) + stray
            r = radii[i]
            meets = meets and low[i, c] - r <= regions[owner, 3 + c] and high[i, c] + r >= regions[owner, c]
            move += (end[i, c] - begin[i, c]) * (end[i, c] - begin[i, c])
        way[i] = np.sqrt(move) + CORNER * stray
        inside[i] = meets


@numba.njit(cache=True, **FLAGS)
def _row_boxes(table, radii, low, high, inside, row_low, row_high):
    """Box of the particles of each row with their radii; empty where none of them can meet anything."""
    for r in range(len(table)):
        any_inside = False
        for k in range(table.shape[1]):
            any_inside = any_inside or inside[table[r, k]]
        for c in range(3):
            a, b = FAR, -FAR
            for k in range(table.shape[1]):
                i = table[r, k]
                a, b = min(a, low[i, c] - radii[i]), max(b, high[i, c] + radii[i])
            row_low[r, c] = a if any_inside else FAR
            row_high[r, c] = b if any_inside else -FAR


@function
def joined(i, j, offsets, neighbours):
    """Whether two particles are one, or share an edge or a row."""
    found = i == j
    for k in range(offsets[i], offsets[i + 1]):
        found = found or neighbours[k] == j
    return found


@function
def listed(key, keys):
    """Whether a key is in a sorted list."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low < len(keys) and keys[low] == key


@numba.njit(parallel=True, cache=True, **FLAGS)
def _filter(edges, raw, first, second, places, radii, owners, way, free, alone, ignored, reach_along, arcs, offsets,
            neighbours, rest, keep, gaps):  # fmt: skip
    """Which of the overlapping pairs may touch, and the distance that each keeps."""
    for r in numba.prange(len(raw)):
        keep[r] = False
        p, q = raw[r, 0], raw[r, 1]
        i0 = first[p, 0]
        split = first.shape[1]
        i1 = first[p, 1] if split == 2 else second[q, 0]
        i2, i3 = (second[q, 0], second[q, 1]) if split == 2 else (second[q, 1], second[q, 2])
        j = second[q, 0]
        if not (free[i0] or free[i1] or free[i2] or free[i3]):
            continue
        if i0 == i2 or i0 == i3 or i1 == i2 or i1 == i3 or (split == 1 and i0 == i1):
            continue
        a, b = np.int64(owners[i0]), np.int64(owners[j])
        if a == b:
            if alone[a]:
                continue
            if reach_along[a] > ZERO:
                along = min(min(abs(arcs[i0] - arcs[i2]), abs(arcs[i0] - arcs[i3])),
                            min(abs(arcs[i1] - arcs[i2]), abs(arcs[i1] - arcs[i3])))  # fmt: skip
                if along < reach_along[a]:
                    continue
        elif listed(min(a, b) * len(alone) + max(a, b), ignored):
            continue
        o = (places[i0, 0], places[i0, 1], places[i0, 2])
        x1 = sub((places[i1, 0], places[i1, 1], places[i1, 2]), o)
        x2 = sub((places[i2, 0], places[i2, 1], places[i2, 2]), o)
        x3 = sub((places[i3, 0], places[i3, 1], places[i3, 2]), o)
        distance = norm(gap_vector(pair_weights(edges, x1, x2, x3), x1, x2, x3))
        gap = radii[i0] + radii[j]
        mine = max(way[i0], way[i1]) if split == 2 else way[i0]
        other = max(way[i2], way[i3]) if split == 2 else max(way[i1], max(way[i2], way[i3]))
        if distance > gap + mine + other:
            continue
        near = joined(i0, i2, offsets, neighbours) or joined(i0, i3, offsets, neighbours)
        near = near or joined(i1, i2, offsets, neighbours) or joined(i1, i3, offsets, neighbours) if split == 2 else \
            near or joined(i0, i1, offsets, neighbours)  # fmt: skip
        if near:
            if a != b:
                continue
            # neighbours of one sheet keep the distance that they have at rest where it is less
            o = (rest[i0, 0], rest[i0, 1], rest[i0, 2])
            x1 = sub((rest[i1, 0], rest[i1, 1], rest[i1, 2]), o)
            x2 = sub((rest[i2, 0], rest[i2, 1], rest[i2, 2]), o)
            x3 = sub((rest[i3, 0], rest[i3, 1], rest[i3, 2]), o)
            gap = min(gap, norm(gap_vector(pair_weights(edges, x1, x2, x3), x1, x2, x3)))
        keep[r] = gap > ZERO
        gaps[r] = gap
