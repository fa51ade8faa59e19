"""Coarse levels of the distance rows, so that stretch crosses a large cloth in one substep.

A Gauss-Seidel sweep carries a correction over a few rows only, and a sheet of 256 x 256 has to pass it on 256 times.
Mueller 2008 (Hierarchical Position Based Dynamics) solves a few particles that are far apart first, and lets the others
follow. Each level here is a subset of the particles of the finer one:

      o . . . o . . . o        o  particles of the coarse level, among them all that are fixed
      . . . . . . . . .        .  others: they follow the nearest o by weights that sum to one
      . . . . . . . . .
      o . . . o . . . o        rows: o - o between neighbouring cells, resisted only when stretched

The rest length of a coarse row is the length of the shortest path along the finer rows, or the straight one where the
finer particles around it lie in a plane: no longer than a taut cloth needs, never so short that it would hold back a
cloth whose own rows are satisfied. Each coarse particle has the mass of what follows it, so a correction of the coarse
rows keeps the momentum of everything that is free.
"""

from dataclasses import dataclass

import numpy as np

from shinari.compute import Field, Record, kernel
from shinari.compute.colouring import colour, incidence
from shinari.compute.program import run_once
from shinari.geometry.heap import Heap, drop_first, empty_heap, raise_item

# Distance between coarse particles in lengths of the finer rows. On a hanging 256 x 256 sheet 3.5 costs 4 % more time
# and 4.2 stretches a quarter more.
SPACING = 3.8
PARENTS = 4
SMALLEST = 24
# Weights are kept as whole numbers: half the memory to read, and their sum is exact. A power of two, so that dividing
# by it is exact too.
WHOLE = 2**15
FLAT = 1e-4


@dataclass(frozen=True)
class Level:
    """One coarse level.

    Attributes:
        members: Particles of this level by their place in the finer one, (n,).
        inverse_masses: Inverse mass of what follows each particle [1/kg], (n,); 0 where fixed.
        indices: Rows between particles of this level, colour after colour, (M, 2) uint32.
        offsets: Where each colour starts, (colours + 1,).
        rest_lengths: Rest lengths [m], (M, 1).
        coefficient: Mean coefficient of the finest rows that each row stands for, (M,).
        dilution: Factor to the compliance of a row from the finest rows.
        parents: Particles of this level that each finer particle follows, (finer, PARENTS) uint16 or uint32.
        integer_weights: Their weights in parts of `WHOLE`, (finer, PARENTS) uint16; they sum to the whole, or to zero
            for a finer particle that is fixed.
    """

    members: np.ndarray
    inverse_masses: np.ndarray
    indices: np.ndarray
    offsets: np.ndarray
    rest_lengths: np.ndarray
    coefficient: np.ndarray
    dilution: float
    parents: np.ndarray
    integer_weights: np.ndarray

    @property
    def weights(self) -> np.ndarray:
        """Weights of the parents, (finer, PARENTS) float64."""
        return self.integer_weights / WHOLE


def build_levels(
    positions: np.ndarray, inverse_masses: np.ndarray, rows: np.ndarray, lengths: np.ndarray, coefficient: np.ndarray
) -> list[Level]:
    """Coarse levels of a graph of distance rows, finest first.

    Args:
        positions: Rest positions [m], (N, 3).
        inverse_masses: Inverse masses [1/kg], (N,); 0 where fixed.
        rows: Rows between particles, (M, 2).
        lengths: Rest lengths of the rows [m], (M,).
        coefficient: Compliance or stiffness of the rows, (M,).
    """
    levels: list[Level] = []
    dilution = 1.0
    masses = np.divide(1.0, inverse_masses, out=np.zeros(len(positions)), where=inverse_masses > 0.0)
    fixed = inverse_masses == 0.0
    x, rows = np.asarray(positions, np.float64), np.asarray(rows, np.int64)
    lengths = np.asarray(lengths, np.float64)
    while len(x) > SMALLEST and len(rows):
        offsets, neighbours, distances = _graph(rows, lengths, len(x))
        members = _choose(offsets, neighbours, distances, fixed, SPACING * float(np.mean(lengths)))
        if len(members) >= 0.8 * len(x):
            break
        near, apart = _nearest(offsets, neighbours, distances, members, PARENTS + 1)
        parts = _in_parts(_follow(x, x[members], near, apart, fixed))
        coarse_rows, coarse_lengths, coefficient = _coarse_rows(x, rows, lengths, coefficient, near, apart, members)
        if len(coarse_rows) == 0:
            break
        coarse_fixed = fixed[members]
        parents = np.maximum(near[:, :PARENTS], 0)
        coarse_masses = np.bincount(parents.ravel(), (parts / WHOLE * masses[:, None]).ravel(), len(members))
        coarse_masses[coarse_fixed] = 0.0
        inverse = np.divide(1.0, coarse_masses, out=np.zeros(len(members)), where=coarse_masses > 0.0)
        hops = float(np.mean(coarse_lengths) / np.mean(lengths))
        # n rows in series, and rows / (coarse rows x n) of such chains side by side
        dilution *= hops**2 * len(coarse_rows) / len(rows)
        order, colours = colour(coarse_rows, len(members), free=inverse > 0.0)
        levels.append(
            Level(
                members=members,
                inverse_masses=inverse,
                indices=coarse_rows[order].astype(np.uint32),
                offsets=colours,
                rest_lengths=coarse_lengths[order][:, None],
                coefficient=coefficient[order],
                dilution=dilution,
                parents=parents.astype(np.uint16 if len(members) <= 2**16 else np.uint32),
                integer_weights=parts,
            )
        )
        x, masses, fixed = x[members], coarse_masses, inverse == 0.0
        rows, lengths = coarse_rows, coarse_lengths
    return levels


def _graph(rows: np.ndarray, lengths: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Neighbours of each particle and the length of the row to each."""
    offsets, entries = incidence(rows, count)
    return offsets, rows.ravel()[entries ^ 1], lengths[entries >> 1]


def _follow(x: np.ndarray, coarse: np.ndarray, near: np.ndarray, apart: np.ndarray, fixed: np.ndarray) -> np.ndarray:
    """Weights by which particles follow their parents, (N, PARENTS).

    They fall to zero with the distance of the first particle that is no parent any more, so that the set of parents may
    change from one particle to the next without a jump; then they are changed as little as possible so that they
    reproduce linear motions as well.
    """
    found = near[:, :PARENTS] >= 0
    limit = np.where(
        near[:, PARENTS] >= 0, apart[:, PARENTS], 2.0 * np.nanmax(np.where(found, apart[:, :PARENTS], 0.0), axis=1)
    )
    limit = np.maximum(limit, 1e-30)[:, None]
    fall = np.where(found, np.maximum(1.0 - apart[:, :PARENTS] / limit, 0.0) ** 2, 0.0)
    # a particle that is its own parent follows itself
    own = apart[:, 0] == 0.0
    fall[own] = 0.0
    fall[own, 0] = 1.0
    total = fall.sum(axis=1, keepdims=True)
    fall /= np.where(total > 0.0, total, 1.0)
    arm = coarse[np.maximum(near[:, :PARENTS], 0)] - x[:, None]
    scale = limit[:, :, None]
    rows = np.concatenate([np.ones((len(x), 1, PARENTS)), (arm / scale).transpose(0, 2, 1)], axis=1)
    gap = np.zeros((len(x), 4))
    gap[:, 0] = 1.0
    gap -= np.einsum("nkp,np->nk", rows, fall)
    spread = rows * fall[:, None, :]
    # a little regularisation: parents in a plane or on a line determine only part of a linear motion
    normal = np.einsum("nkp,njp->nkj", spread, rows) + 1e-4 * np.eye(4)
    weights = fall + np.einsum("nkp,nk->np", spread, np.linalg.solve(normal, gap[:, :, None])[:, :, 0])
    weights = np.clip(weights, 0.0, None)
    total = weights.sum(axis=1, keepdims=True)
    weights /= np.where(total > 0.0, total, 1.0)
    weights[fixed | ~found[:, 0]] = 0.0
    return weights


def _in_parts(weights: np.ndarray) -> np.ndarray:
    """Weights that sum to one or zero as parts of `WHOLE`, (N, PARENTS) uint16; the largest takes what is left."""
    parts = np.rint(weights * WHOLE).astype(np.int64)
    total = np.rint(weights.sum(axis=1)).astype(np.int64) * WHOLE
    largest = np.argmax(parts, axis=1)
    parts[np.arange(len(parts)), largest] += total - parts.sum(axis=1)
    return parts.astype(np.uint16)


def _coarse_rows(
    x: np.ndarray,
    rows: np.ndarray,
    lengths: np.ndarray,
    coefficient: np.ndarray,
    near: np.ndarray,
    apart: np.ndarray,
    members: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows between coarse particles whose cells touch, their lengths and their coefficient.

    The length is that of the shortest path over a touching row, the coefficient the mean of all touching rows.
    """
    a, b = near[rows[:, 0], 0], near[rows[:, 1], 0]
    touching = (a >= 0) & (b >= 0) & (a != b)
    low, high = np.minimum(a, b)[touching], np.maximum(a, b)[touching]
    path = (apart[rows[:, 0], 0] + lengths + apart[rows[:, 1], 0])[touching]
    keys, inverse = np.unique(low * len(members) + high, return_inverse=True)
    shortest = np.full(len(keys), np.inf)
    np.minimum.at(shortest, inverse, path)
    mean = np.bincount(inverse, coefficient[touching]) / np.bincount(inverse)
    pairs = np.stack([keys // len(members), keys % len(members)], axis=1).astype(np.int64)
    if len(pairs) == 0:
        return pairs, shortest, mean
    straight = np.linalg.norm(x[members[pairs[:, 0]]] - x[members[pairs[:, 1]]], axis=1)
    flat = _flat_cells(x, near[:, 0], len(members))
    level = _same_plane(flat, pairs, x[members])
    return pairs, np.where(level, np.minimum(straight, shortest), shortest), mean


def _flat_cells(x: np.ndarray, cell: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Normal (count, 3) and flatness (count,) bool of the particles of each cell."""
    inside = cell >= 0
    number = np.maximum(np.bincount(cell[inside], minlength=count), 1)
    centre = np.stack([np.bincount(cell[inside], x[inside, k], count) for k in range(3)], axis=1) / number[:, None]
    arm = x[inside] - centre[cell[inside]]
    spread = np.zeros((count, 3, 3))
    for j in range(3):
        for k in range(3):
            spread[:, j, k] = np.bincount(cell[inside], arm[:, j] * arm[:, k], count) / number
    values, vectors = np.linalg.eigh(spread)
    extent = np.sqrt(np.maximum(values[:, 2], 0.0))
    return vectors[:, :, 0], np.sqrt(np.maximum(values[:, 0], 0.0)) <= FLAT * np.maximum(extent, 1e-30)


def _same_plane(flat: tuple[np.ndarray, np.ndarray], pairs: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Pairs of cells that lie in one plane, (M,) bool."""
    normal, level = flat
    a, b = pairs[:, 0], pairs[:, 1]
    span = x[b] - x[a]
    reach = np.linalg.norm(span, axis=1)
    lift = np.maximum(np.abs(np.sum(span * normal[a], axis=1)), np.abs(np.sum(span * normal[b], axis=1)))
    return level[a] & level[b] & (lift <= FLAT * reach)


class Nodes(Record):
    """Particles of a graph, N rows."""

    links = Field(np.int64, 2, doc="first link and the one after the last")
    fixed = Field(np.bool_)
    covered = Field(np.bool_, doc="whether it is within the radius of a chosen one")
    chosen = Field(np.bool_)
    reached = Field(np.int64, doc="particles that the search has reached so far")


class Links(Record):
    """Links to neighbours, particle after particle."""

    neighbour = Field(np.int64)
    length = Field(np.float64, unit="m")


class Labels(Record):
    """The nearest sources of particles, `count` rows for each particle."""

    source = Field(np.int64, doc="source by number, or -1; the slots of a particle are in no order")
    final = Field(np.bool_, doc="whether the distance of the slot is final")
    near = Field(np.int64, doc="sources, nearest first, or -1")
    apart = Field(np.float64, unit="m", doc="lengths of the paths to them")


class Sources(Record):
    """Sources, by particle."""

    particle = Field(np.int64)


def _nodes(offsets: np.ndarray, fixed: np.ndarray) -> Nodes:
    """The record of particles with links, (N + 1,), and which are fixed."""
    nodes = Nodes.zeros(len(fixed))
    nodes.links[...], nodes.fixed[...] = np.stack([offsets[:-1], offsets[1:]], axis=1), fixed
    return nodes


def _choose(
    offsets: np.ndarray, neighbours: np.ndarray, distances: np.ndarray, fixed: np.ndarray, radius: float
) -> np.ndarray:
    """Particles such that each is within the radius of a chosen one; the fixed ones first."""
    nodes, links = _nodes(offsets, fixed), Links(neighbour=neighbours, length=distances)
    run_once(choose_nodes, nodes, links, empty_heap(len(fixed)), radius, count=1)
    return np.flatnonzero(nodes.chosen)


@kernel
def choose_nodes(_, nodes: Nodes, links: Links, heap: Heap, radius: np.float64):
    """Choose particle after particle that is not covered yet, the fixed ones first, and cover what is near to it."""
    for turn in range(2):
        for seed in range(len(nodes)):
            if nodes.covered[seed] or nodes.fixed[seed] != (turn == 0):
                continue
            nodes.chosen[seed] = True
            heap.distance[seed] = 0.0
            nodes.reached[0], reached = seed, 1
            size = raise_item(heap, 0, seed)
            while size > 0:
                i = heap.entry[0]
                size = drop_first(heap, size)
                nodes.covered[i] = True
                first, last = nodes.links[i]
                for at in range(first, last):
                    j, there = links.neighbour[at], heap.distance[i] + links.length[at]
                    if there <= radius and there < heap.distance[j]:
                        if heap.distance[j] == np.inf:
                            nodes.reached[reached] = j
                            reached += 1
                        heap.distance[j] = there
                        size = raise_item(heap, size, j)
            for k in range(reached):
                heap.distance[nodes.reached[k]] = np.inf


def _nearest(
    offsets: np.ndarray, neighbours: np.ndarray, distances: np.ndarray, sources: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest sources of each particle by path length: places in `sources` (N, count), -1 for none, and lengths."""
    n = len(offsets) - 1
    nodes, links = _nodes(offsets, np.zeros(n, bool)), Links(neighbour=neighbours, length=distances)
    labels = Labels(
        source=np.full(n * count, -1),
        final=np.zeros(n * count, np.bool_),
        near=np.full(n * count, -1),
        apart=np.full(n * count, np.inf),
    )
    members = Sources(particle=np.asarray(sources, np.int64))
    run_once(find_nearest, nodes, links, labels, members, empty_heap(n * count), count, count=1)
    return labels.near.reshape(n, count), labels.apart.reshape(n, count)


@kernel
def find_nearest(_, nodes: Nodes, links: Links, labels: Labels, sources: Sources, heap: Heap, number: np.int64):
    """Fronts from all sources at once; each particle passes on the first so many that reach it."""
    size, many = 0, len(sources)
    for k in range(many):
        item = sources.particle[k] * number
        labels.source[item], heap.distance[item], heap.rank[item] = k, 0.0, sources.particle[k] * many + k
        size = raise_item(heap, size, item)
    while size > 0:
        item = heap.entry[0]
        size = drop_first(heap, size)
        i, k, here = item // number, labels.source[item], heap.distance[item]
        labels.final[item] = True
        place = i * number + nodes.reached[i]
        labels.near[place], labels.apart[place] = k, here
        nodes.reached[i] += 1
        first, last = nodes.links[i]
        for at in range(first, last):
            j, there = links.neighbour[at], here + links.length[at]
            # its slot of this source, else one that is empty, else the farthest that is not final
            rank, best, found = j * many + k, -1, False
            for slot in range(j * number, j * number + number):
                if labels.source[slot] == k:
                    best, found = slot, True
                if not found and not labels.final[slot]:
                    far = heap.distance[slot] if best >= 0 else -1.0
                    least = heap.distance[best] if best >= 0 else -1.0
                    if best < 0 or far > least or (far == least and heap.rank[slot] > heap.rank[best]):
                        best = slot
            if best >= 0 and not labels.final[best]:
                nearer = there < heap.distance[best] or (there == heap.distance[best] and rank < heap.rank[best])
                if nearer:
                    labels.source[best], heap.distance[best], heap.rank[best] = k, there, rank
                    size = raise_item(heap, size, best)
