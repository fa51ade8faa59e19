"""How far the multipliers go: conjugate directions with an exact step.

    z = max((C - a~ L) / D, floor - L)            what each row alone would do; D: diagonal of the matrix A
    p = max(z + beta p, floor - L)                beta = z D (z - z_before) / z_before D z_before, 0 to 1
    L = L + alpha p                               alpha = z D p / p A p, 0 to 1

p A p is read from the displacements u of p: sum u^2 / w.

A Jacobi iteration removes what is as short as the support and leaves what is as long as the fluid is deep. Directions
that are conjugate (Polak and Ribiere 1969, for multipliers that may not be negative Silcowitz, Niebuhr, Erleben 2010)
reach the same density in less than half of the iterations, for sums that cost nothing next to one over neighbours.
alpha makes it stable however many neighbours there are: Jacobi with a fixed factor is not, where fluid is compressed.
"""

import math

import numpy as np

from shinari.compute import Program, convert, kernel, real
from shinari.model.particles import Particles
from shinari.systems.fluid.records import FluidParticles, Phases, Solve
from shinari.systems.fluid.sums import SHARE, ChunkSums, Sums, chunk_of

ZERO, ONE = np.float32(0.0), np.float32(1.0)
# The first step of a solve, as part of that of each row alone: alone, a longer one overshoots what is as short as the
# support, which then swings from substep to substep.
FIRST = 0.5
# A particle goes so far in an iteration, at most, in spacings: beyond, the density is not linear in its place.
FARTHEST = 0.2
# An iteration of the solver goes on while particles are compressed by more than this on average.
TOLERATED = 0.01


@kernel(mixed=True)
def step_alone(c, fluid: FluidParticles, phases: Phases, chunk_sums: ChunkSums, solve: Solve, least: real):
    """Steps z of each row alone; the sums of z D z, z D (z - z_before), and of C where it is positive.

    `least` is added to the stiffness of each row.
    """
    size, turned, excess = 0.0, 0.0, 0.0
    begin, end = chunk_of(c, solve.count[0])
    first = solve.first[0] != 0
    for i in range(begin, end):
        phase = fluid.phase[i]
        floor, compliance = phases.floor[phase], phases.scaled_compliance[phase]
        bottom = fluid.stiffness[i] + compliance + least
        error = fluid.density[i] - ONE - compliance * fluid.multiplier[i]
        z = max(error / bottom, floor - fluid.multiplier[i])
        before = least * ZERO if first else fluid.step[i]
        size += np.float64(bottom * z * z)
        turned += np.float64(bottom * z * (z - before))
        excess += np.float64(max(error, ZERO))
        fluid.step[i] = z
    chunk_sums.sum[c] = size, turned, excess


@kernel
def find_beta(_, group_sums: ChunkSums, solve: Solve):
    """Add up the sums of `step_alone`: beta, and whether the density is as wanted."""
    size, turned, excess = 0.0, 0.0, 0.0
    for g in range(solve.groups[0]):
        part = group_sums.sum[g]
        size, turned, excess = size + part[0], turned + part[1], excess + part[2]
    first = solve.first[0] != 0
    solve.beta[0] = 0.0 if first else min(max(turned / solve.size[0], 0.0), 1.0)
    solve.size[0], solve.response[0] = size, 0.0
    solve.done[0] = 1 if excess / max(solve.count[0], 1) <= TOLERATED else 0


@kernel(mixed=True)
def find_direction(c, fluid: FluidParticles, phases: Phases, chunk_sums: ChunkSums, solve: Solve, least: real):
    """The directions become p = max(z + beta p, floor - L), in the last column of x too; the sum of z D p."""
    slope = 0.0
    beta = convert(solve.beta[0], least)
    begin, end = chunk_of(c, solve.count[0])
    for i in range(begin, end):
        z = fluid.step[i]
        along = least * ZERO if beta == ZERO else beta * fluid.direction[i]
        phase = fluid.phase[i]
        p = max(z + along, phases.floor[phase] - fluid.multiplier[i])
        fluid.direction[i] = p
        fluid.x[i, 3] = p
        slope += np.float64((fluid.stiffness[i] + phases.scaled_compliance[phase] + least) * z * p)
    chunk_sums.sum[c, 2] = slope


@kernel(mixed=True)
def measure_direction(c, fluid: FluidParticles, phases: Phases, chunk_sums: ChunkSums, solve: Solve):
    """Of each part p A p, and the square of the longest displacement by the direction."""
    product, farthest = 0.0, 0.0
    begin, end = chunk_of(c, solve.count[0])
    for i in range(begin, end):
        p, u = fluid.direction[i], fluid.displacement[i]
        w = fluid.inverse_mass[i] if fluid.inverse_mass[i] > ZERO else ONE
        square = u[0] * u[0] + u[1] * u[1] + u[2] * u[2]
        product += np.float64(square / w + phases.scaled_compliance[fluid.phase[i]] * p * p)
        farthest = max(farthest, np.float64(square))
    chunk_sums.sum[c, 0], chunk_sums.square[c] = product, farthest


@kernel
def find_length(_, group_sums: ChunkSums, solve: Solve, most: np.float64):
    """How far to go along the direction; no particle goes farther than `most` [m]."""
    slope, product, square = 0.0, solve.response[0], 0.0
    for g in range(solve.groups[0]):
        part = group_sums.sum[g]
        slope, product, square = slope + part[2], product + part[0], max(square, group_sums.square[g])
    # not farther than each row alone would go, so that no multiplier falls below its floor
    longest = FIRST if solve.first[0] != 0 else 1.0
    alpha = min(max(slope / product, 0.0), longest) if product > 0.0 else 0.0
    farthest = math.sqrt(square)
    if farthest * alpha > most:
        alpha = most / farthest
    solve.length[0] = alpha
    solve.first[0] = 1 if solve.size[0] <= 0.0 else 0


@kernel(mixed=True)
def advance(i, fluid: FluidParticles, particles: Particles, solve: Solve):
    """Go along the direction: the change of the multiplier stands in the last column of x."""
    s, u = fluid.particle[i], fluid.displacement[i]
    alpha = convert(solve.length[0], u[0])
    change = alpha * fluid.direction[i]
    fluid.multiplier[i] += change
    x = particles.x[s]
    moved = x[0] + alpha * u[0], x[1] + alpha * u[1], x[2] + alpha * u[2]
    particles.x[s] = moved[0], moved[1], moved[2], x[3]
    fluid.x[i] = moved[0], moved[1], moved[2], change


@kernel
def begin_search(_, solve: Solve):
    """A solve begins."""
    solve.size[0], solve.first[0] = 0.0, 1


class Search:
    """Directions of the density solve of one simulation."""

    def __init__(
        self,
        fluid: FluidParticles,
        phases: Phases,
        solve: Solve,
        sums: Sums,
        least: float,
        spacing: float,
    ) -> None:
        self._fluid, self._phases, self._solve, self._sums = fluid, phases, solve, sums
        self._least, self._farthest = least, FARTHEST * spacing

    def record_begin(self, p: Program) -> None:
        """Forget the directions before."""
        p.serial(begin_search, self._solve)

    def record_direction(self, p: Program) -> None:
        """The next direction, in the last column of x."""
        records, chunks = (self._fluid, self._phases, self._sums.chunks, self._solve), (self._solve.chunks, 0)
        p.launch(step_alone, *records, self._least, count=chunks, grain=SHARE)
        self._sums.record_add(p)
        p.serial(find_beta, self._sums.groups, self._solve)
        p.launch(find_direction, *records, self._least, count=chunks, grain=SHARE)

    def record_advance(self, p: Program, particles: Particles) -> None:
        """Go along the direction, whose displacements are known; `Solve.response` is what solids add to p A p."""
        solve = self._solve
        records = self._fluid, self._phases, self._sums.chunks, solve
        p.launch(measure_direction, *records, count=(solve.chunks, 0), grain=SHARE)
        self._sums.record_add(p)
        p.serial(find_length, self._sums.groups, solve, self._farthest)
        p.launch(advance, self._fluid, particles, solve, count=(solve.count, 0))
