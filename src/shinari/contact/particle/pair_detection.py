"""Detection of the pairs of balls that may touch before the next detection.

Each ball may stray from where the mean motion of all takes it by a margin of its own, which follows from its speed, so
that a fast one does not fill the lists of the others. Two balls are a row when they may come to touch within their
margins. Balls are numbered cell by cell, about sixteen in one: consecutive rows then lie close together.
"""

import numba
import numpy as np

from shinari.contact.broad.grid import Grid
from shinari.contact.broad.pairs import PairFinder
from shinari.contact.buffers import grown
from shinari.contact.keys import listed
from shinari.contact.particle.pair_members import Members
from shinari.maths.function import STEADY, steady
from shinari.maths.vec3 import ZERO

# A margin is this much more than what a speed covers in the time ahead.
SPARE = 1.2
# No margin is below this part of the radius: contacts change speeds.
LEAST = 0.2
MOST = 0.8
# The time ahead ends when a typical ball has moved by this part of a typical radius, but not within a substep.
AHEAD = 1.0
# Side of the cells of the numbering in mean radii.
CELL = 5.0
# Balls in each partial sum: the same whatever the number of threads.
CHUNK = 4096


class Detection:
    """The rows of a detection; arrays are valid until the next one.

    Attributes:
        order: Member of each body, (P,) uint32.
        particles: Particle of each body, (P,) uint32.
        origin: Positions of the bodies at the detection relative to their groups [m], (P, 3).
        margins: How far each may stray [m], (P,).
        indices: Bodies of each row, (M, 2) uint32.
        keeps: Distance that each row keeps [m], (M,).
        free: Which bodies can move, (P,).
        owners: Thing of each body, (P,).
        groups: Group of each body, (P,).
    """

    def __init__(self, members: Members, inverse_masses: np.ndarray, groups: np.ndarray, real: type) -> None:
        self._members, self._real = members, real
        self._free, self._groups = inverse_masses[members.particles] > 0.0, groups[members.particles]
        self._typed = members.radii.astype(real), members.distances.astype(real)
        self._mean_radius = float(members.radii.mean())
        self._grid = Grid()
        self._indices = self._keeps = None

    def find(
        self, x: np.ndarray, velocities: np.ndarray, ways: np.ndarray, mean: np.ndarray, origins: np.ndarray,
        ahead: float, h: float, least: float, threads: int,
    ) -> None:  # fmt: skip
        """Find the rows.

        Args:
            x: Positions relative to the groups and inverse mass, (N, 4).
            velocities: Velocities [m/s], (N, 3).
            ways: What each member has moved in this substep, less the mean [m], (P,); margins are no less.
            mean: Mean velocity of the members [m/s], (3,).
            origins: Origin of each group [m], (G, 3) float64.
            ahead: Time to look ahead, at most [s].
            h: Substep [s].
            least: Factor on the least margin.
            threads: Threads to use.
        """
        members, real = self._members, self._real
        radii, distances = self._typed
        particles = members.particles
        speeds = np.linalg.norm(velocities[particles] - mean.astype(real), axis=1)
        typical = float(np.sqrt(np.mean(np.square(speeds, dtype=np.float64))))
        if typical * ahead > AHEAD * self._mean_radius:
            ahead = min(ahead, max(AHEAD * self._mean_radius / typical, 1.5 * h))
        others = real(min(2.0 * typical * ahead, MOST * self._mean_radius))
        margins = np.maximum(np.maximum(real(SPARE * ahead) * speeds, real(LEAST * least) * radii), real(SPARE) * ways)
        margins = np.maximum(margins, others)
        local = x[particles, :3]
        points = local + origins[self._groups]
        # a state that has left the finite numbers ends the step; until then there is nothing to find
        if not np.isfinite(points.sum() + float(margins.sum())):
            particles, margins, local, points = particles[:0], margins[:0], local[:0], points[:0]
        extent = float(np.ptp(points, axis=0).max()) if len(points) else 0.0
        self._grid.build(points, max(CELL * self._mean_radius, 1e-6 * extent), threads)
        order = self.order = self._grid.order
        self.particles, self.owners, self.groups = particles[order], members.owners[order], self._groups[order]
        self.free, self.margins, self.origin = self._free[order], margins[order], local[order]
        # positions in single precision stray by their rounding
        rounding = 4.0 * float(np.finfo(real).eps) * float(np.abs(local).max(initial=0.0))
        finder = PairFinder(members.radii[order] + self.margins + rounding)
        pairs = finder.find(np.ascontiguousarray(points[order]), 0.0, threads)
        count = len(pairs)
        kept, starts = np.empty(count, np.bool_), np.empty(threads + 1, np.int64)
        _choose(threads, pairs, order, self.owners, self.free, members.alone, members.ignored, members.offsets,
                members.partners, distances, kept, starts)  # fmt: skip
        self._indices = grown(self._indices, int(starts[-1]), np.uint32, 2)
        self._keeps = grown(self._keeps, int(starts[-1]), real)
        self.indices, self.keeps = self._indices[: starts[-1]], self._keeps[: starts[-1]]
        _take(threads, pairs, order, radii, members.offsets, members.partners, distances, kept, starts, self.indices,
              self.keeps)  # fmt: skip


@steady
def special(i, j, radii, offsets, partners, distances):
    """Distance that two members keep: the sum of the radii, or their own; 0 where they are left out."""
    low, high = min(i, j), max(i, j)
    keep = radii[i] + radii[j]
    for k in range(offsets[low], offsets[low + np.uint32(1)]):
        if partners[k] == high:
            keep = distances[k]
    return keep


@numba.njit(parallel=True, cache=True, **STEADY)
def _choose(threads, pairs, order, owners, free, alone, ignored, offsets, partners, distances, kept, starts):
    """Which pairs become rows, (M,), and at which row each thread begins to write, (threads + 1,)."""
    for t in numba.prange(threads):
        total = 0
        for r in range(len(pairs) * t // threads, len(pairs) * (t + 1) // threads):
            a, b = pairs[r, 0], pairs[r, 1]
            one, other = np.int64(min(owners[a], owners[b])), np.int64(max(owners[a], owners[b]))
            keep = free[a] or free[b]
            if one == other:
                keep &= not alone[one]
            elif len(ignored) > 0:
                keep &= not listed(one * len(alone) + other, ignored)
            i, j = order[a], order[b]
            low, high = min(i, j), max(i, j)
            for k in range(offsets[low], offsets[low + np.uint32(1)]):
                keep &= partners[k] != high or distances[k] > ZERO
            kept[r] = keep
            total += keep
        starts[t + 1] = total
    starts[0] = 0
    for t in range(threads):
        starts[t + 1] += starts[t]


@numba.njit(parallel=True, cache=True, **STEADY)
def _take(threads, pairs, order, radii, offsets, partners, distances, kept, starts, indices, keeps):
    """Write the rows."""
    for t in numba.prange(threads):
        at = starts[t]
        for r in range(len(pairs) * t // threads, len(pairs) * (t + 1) // threads):
            if kept[r]:
                a, b = pairs[r, 0], pairs[r, 1]
                indices[at, 0], indices[at, 1] = a, b
                keeps[at] = special(order[a], order[b], radii, offsets, partners, distances)
                at += 1


@numba.njit(parallel=True, cache=True, **STEADY)
def chunk_sums(particles, velocities, sums):
    """Sum of the velocities of each chunk of particles, (C, 3) float64."""
    for c in numba.prange(len(sums)):
        sx = sy = sz = 0.0
        for p in range(c * CHUNK, min((c + 1) * CHUNK, len(particles))):
            i = particles[p]
            sx += velocities[i, 0]
            sy += velocities[i, 1]
            sz += velocities[i, 2]
        sums[c, 0], sums[c, 1], sums[c, 2] = sx, sy, sz
