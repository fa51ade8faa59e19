"""How far the multipliers go: conjugate directions with an exact step.

    z = max((C - a~ L) / D, L_least - L)          what each row alone would do; D: diagonal of the matrix A
    p = z + beta p                                beta = z D (z - z_before) / z_before D z_before, at least 0
    alpha = z D p / p A p                         p A p is read from the displacements u of p: sum u^2 / w

A Jacobi iteration removes what is as short as the support and leaves what is as long as the fluid is deep. Directions
that are conjugate (Polak and Ribiere 1969, for multipliers that may not be negative Silcowitz, Niebuhr, Erleben 2010)
reach the same density in less than half of the iterations, for sums that cost nothing next to one over neighbours.
alpha makes it stable however many neighbours there are: Jacobi with a fixed factor is not, where fluid is compressed.
"""

import numba
import numpy as np

from shinari.fluid.pressure import ONE, REORDERED, ZERO

# The longest step, in Jacobi steps: a single multiplier must not run away on what its neighbours need.
LONGEST = 3.0


class Search:
    """Directions of one density solve; arrays as in `Fluid`.

    Attributes:
        steps: z of the last iteration, (n,).
        directions: p, (n,).
        pushes: Displacements u of p, (n, 3) [m].
        turn: beta of the last iteration.
        length: Its alpha.
    """

    def __init__(self) -> None:
        self.steps = self.directions = np.zeros(0)
        self.pushes = np.zeros((0, 3))
        self._size = self.turn = self.length = 0.0

    def begin(self, steps: np.ndarray, directions: np.ndarray, pushes: np.ndarray) -> None:
        """A solve begins, with this memory."""
        self.steps, self.directions, self.pushes = steps, directions, pushes
        self._size = 0.0

    def step(
        self,
        least: float,
        x: np.ndarray,
        sums: np.ndarray,
        stiffness: np.ndarray,
        softness: np.ndarray,
        floors: np.ndarray,
        totals: np.ndarray,
    ) -> float:
        """Put what each row alone would do into the last column of x, see `rows_alone`; return the mean of C > 0."""
        first = self._size <= 0.0
        size, turned, excess = rows_alone(first, least, x, sums, stiffness, softness, floors, totals, self.steps)
        self.turn = 0.0 if first else min(max(turned / self._size, 0.0), 1.0)
        self._size = size
        return excess / max(len(sums), 1)

    def advance(
        self,
        least: float,
        bend: float,
        x: np.ndarray,
        ways: np.ndarray,
        inverse_masses: np.ndarray,
        stiffness: np.ndarray,
        softness: np.ndarray,
        totals: np.ndarray,
    ) -> None:
        """Go along the direction: ways (n, 3) are given as those of z, and become those of the step.

        `bend` is what solids add to p A p, see `Boundary.answer`.
        """
        real = x.dtype.type
        slope, own = turn(
            real(self.turn), least, x, stiffness, softness, inverse_masses, ways, self.directions, self.pushes
        )
        bend += own
        self.length = min(max(slope / bend, 0.0), LONGEST) if bend > 0.0 else 0.0
        go(real(self.length), x, totals, self.directions, ways, self.pushes)


@numba.njit(cache=True, **REORDERED)
def rows_alone(first, least, x, sums, stiffness, softness, floors, totals, steps):
    """Steps z of each row alone, in the last column of x and in `steps`, which holds those of the iteration before.

    Args:
        first: Whether there was none.
        least: Stiffness added to that of each row [1/(kg m^2)].
        x: (n, 4).
        sums: Relative densities, (n,).
        stiffness: See `stiffnesses`, (n,).
        softness: Compliance over h^2, (n,) [1/(kg m^2)].
        floors: Least multipliers, (n,) [kg m^2]: 0, or minus infinity where pressures may be negative.
        totals: Multipliers so far, (n,).
        steps: (n,).

    Returns:
        z D z, z D (z - z_before), and the sum of C where it is positive.
    """
    size, turned, excess = 0.0, 0.0, 0.0
    for i in range(len(sums)):
        bottom = stiffness[i] + softness[i] + least
        error = sums[i] - ONE - softness[i] * totals[i]
        z = max(error / bottom, floors[i] - totals[i])
        before = ZERO if first else steps[i]
        x[i, 3] = z
        size += np.float64(bottom * z * z)
        turned += np.float64(bottom * z * (z - before))
        excess += np.float64(max(error, ZERO))
        steps[i] = z
    return size, turned, excess


@numba.njit(cache=True, **REORDERED)
def turn(beta, least, x, stiffness, softness, inverse_masses, ways, directions, pushes):
    """Turn the directions and their displacements: p = z + beta p; arguments as in `Search`.

    Returns:
        z D p and p A p.
    """
    slope, bend = 0.0, 0.0
    for i in range(len(directions)):
        z, p, ux, uy, uz = x[i, 3], x[i, 3], ways[i, 0], ways[i, 1], ways[i, 2]
        if beta != ZERO:
            p = z + beta * directions[i]
            ux, uy, uz = ux + beta * pushes[i, 0], uy + beta * pushes[i, 1], uz + beta * pushes[i, 2]
        directions[i], pushes[i, 0], pushes[i, 1], pushes[i, 2] = p, ux, uy, uz
        slope += np.float64((stiffness[i] + softness[i] + least) * z * p)
        if inverse_masses[i] > ZERO:
            bend += np.float64((ux * ux + uy * uy + uz * uz) / inverse_masses[i])
        bend += np.float64(softness[i] * p * p)
    return slope, bend


@numba.njit(cache=True, **REORDERED)
def go(alpha, x, totals, directions, ways, pushes):
    """Change the multipliers by alpha p; the changes stand in the last column of x, what they move in `ways`."""
    for i in range(len(totals)):
        change = alpha * directions[i]
        x[i, 3] = change
        totals[i] += change
        for k in range(3):
            ways[i, k] = alpha * pushes[i, k]
