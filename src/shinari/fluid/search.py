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
from typing import NamedTuple

import numba
import numpy as np

from shinari.fluid.pressure import ONE, REORDERED, ZERO

# Sums are taken in pieces of so many rows, whatever the number of threads.
PIECE = 2048
# The first step of a solve, as part of that of each row alone: alone, a longer one overshoots what is as short as the
# support, which then swings from substep to substep.
FIRST = 0.5
# A particle goes so far in an iteration, at most, in spacings: beyond, the density is not linear in its place.
FARTHEST = 0.2


class Search:
    """Directions of one density solve.

    Attributes:
        steps: z of the last iteration, (n,).
        directions: p, (n,).
        length: alpha of the last iteration.
    """

    def __init__(self) -> None:
        self.steps = self.directions = np.zeros(0)
        self._size = self._slope = self.length = 0.0
        self._first = True

    def begin(self, steps: np.ndarray, directions: np.ndarray) -> None:
        """A solve begins, with this memory."""
        self.steps, self.directions = steps, directions
        self._size = 0.0

    def turn(self, threads: int, rows: "Rows", x: np.ndarray, sums: np.ndarray, totals: np.ndarray) -> float:
        """Put the next direction into the last column of x; return the mean compression."""
        self._first = self._size <= 0.0
        found = np.zeros((-(-len(sums) // PIECE), 3))
        rows_alone(threads, self._first, *rows[1:], sums, totals, self.steps, found)
        size, turned, excess = found.sum(axis=0).tolist()
        beta = 0.0 if self._first else min(max(turned / self._size, 0.0), 1.0)
        self._size = size
        turn(threads, x.dtype.type(beta), *rows[1:], x, totals, self.steps, self.directions, found)
        self._slope = float(found[:, 0].sum())
        return excess / max(len(sums), 1)

    def advance(
        self,
        threads: int,
        rows: "Rows",
        give: float,
        x: np.ndarray,
        ways: np.ndarray,
        inverse_masses: np.ndarray,
        totals: np.ndarray,
    ) -> None:
        """Go along the direction: ways (n, 3) are given as those of p, and become those of the step.

        `give` is what solids add to p A p, see `Boundary.answer`.
        """
        found = np.zeros((-(-len(totals) // PIECE), 2))
        bends(threads, rows.softness, self.directions, ways, inverse_masses, found)
        bend, farthest = give + float(found[:, 0].sum()), math.sqrt(found[:, 1].max(initial=0.0))
        # not farther than each row alone would go, so that no multiplier falls below its floor
        longest = FIRST if self._first else 1.0
        alpha = min(max(self._slope / bend, 0.0), longest) if bend > 0.0 else 0.0
        if farthest * alpha > FARTHEST * rows.spacing:
            alpha = FARTHEST * rows.spacing / farthest
        self.length = alpha
        go(threads, x.dtype.type(alpha), x, totals, self.directions, ways)


class Rows(NamedTuple):
    """What of the rows stays during a solve.

    Attributes:
        spacing: Distance of the particles at rest [m].
        least: Stiffness added to that of each row [1/(kg m^2)].
        stiffness: See `stiffnesses`, (n,).
        softness: Compliance over h^2, (n,) [1/(kg m^2)].
        floors: Least multipliers, (n,) [kg m^2]: 0, or minus infinity where pressures may be negative.
    """

    spacing: float
    least: float
    stiffness: np.ndarray
    softness: np.ndarray
    floors: np.ndarray


@numba.njit(**REORDERED)
def rows_alone_part(c, first, least, stiffness, softness, floors, sums, totals, steps, found):
    """One piece of `rows_alone`."""
    size, turned, excess = 0.0, 0.0, 0.0
    for i in range(c * PIECE, min((c + 1) * PIECE, len(sums))):
        bottom = stiffness[i] + softness[i] + least
        error = sums[i] - ONE - softness[i] * totals[i]
        z = max(error / bottom, floors[i] - totals[i])
        before = ZERO if first else steps[i]
        size += np.float64(bottom * z * z)
        turned += np.float64(bottom * z * (z - before))
        excess += np.float64(max(error, ZERO))
        steps[i] = z
    found[c, 0], found[c, 1], found[c, 2] = size, turned, excess


@numba.njit(parallel=True, cache=True, **REORDERED)
def rows_alone(threads, first, least, stiffness, softness, floors, sums, totals, steps, found):
    """Steps z of each row alone.

    Args:
        threads: Threads.
        first: Whether there was none before.
        least: See `Rows`, as the three that follow.
        stiffness: (n,).
        softness: (n,).
        floors: (n,).
        sums: Relative densities, (n,).
        totals: Multipliers so far, (n,).
        steps: Steps of the iteration before, (n,); replaced.
        found: Filled with z D z, z D (z - z_before), and the sum of C where it is positive, of each piece.
    """
    if threads == 1:
        for c in range(len(found)):
            rows_alone_part(c, first, least, stiffness, softness, floors, sums, totals, steps, found)
    else:
        for c in numba.prange(len(found)):
            rows_alone_part(c, first, least, stiffness, softness, floors, sums, totals, steps, found)


@numba.njit(**REORDERED)
def turn_part(c, beta, least, stiffness, softness, floors, x, totals, steps, directions, found):
    """One piece of `turn`."""
    slope = 0.0
    for i in range(c * PIECE, min((c + 1) * PIECE, len(directions))):
        z = steps[i]
        along = ZERO if beta == ZERO else beta * directions[i]
        p = max(z + along, floors[i] - totals[i])
        directions[i] = p
        x[i, 3] = p
        slope += np.float64((stiffness[i] + softness[i] + least) * z * p)
    found[c, 0] = slope


@numba.njit(parallel=True, cache=True, **REORDERED)
def turn(threads, beta, least, stiffness, softness, floors, x, totals, steps, directions, found):
    """Turn the directions to p = max(z + beta p, floor - L), in the last column of x too.

    `found[:, 0]` is filled with z D p of each piece.
    """
    if threads == 1:
        for c in range(len(found)):
            turn_part(c, beta, least, stiffness, softness, floors, x, totals, steps, directions, found)
    else:
        for c in numba.prange(len(found)):
            turn_part(c, beta, least, stiffness, softness, floors, x, totals, steps, directions, found)


@numba.njit(**REORDERED)
def bends_part(c, softness, directions, ways, inverse_masses, found):
    """One piece of `bends`."""
    bend, farthest = 0.0, 0.0
    for i in range(c * PIECE, min((c + 1) * PIECE, len(directions))):
        p, ux, uy, uz = directions[i], ways[i, 0], ways[i, 1], ways[i, 2]
        w = inverse_masses[i] if inverse_masses[i] > ZERO else ONE
        square = ux * ux + uy * uy + uz * uz
        bend += np.float64(square / w + softness[i] * p * p)
        farthest = max(farthest, np.float64(square))
    found[c, 0], found[c, 1] = bend, farthest


@numba.njit(parallel=True, cache=True, **REORDERED)
def bends(threads, softness, directions, ways, inverse_masses, found):
    """Of each piece p A p, and the square of the longest way: from where the direction pushes the particles."""
    if threads == 1:
        for c in range(len(found)):
            bends_part(c, softness, directions, ways, inverse_masses, found)
    else:
        for c in numba.prange(len(found)):
            bends_part(c, softness, directions, ways, inverse_masses, found)


@numba.njit(parallel=True, cache=True, **REORDERED)
def go(threads, alpha, x, totals, directions, ways):
    """Change the multipliers by alpha p; the changes stand in the last column of x, what they move in `ways`."""
    for i in numba.prange(len(totals)):
        change = alpha * directions[i]
        x[i, 3] = change
        totals[i] += change
        for k in range(3):
            ways[i, k] *= alpha
