"""Viscosity: pairs of particles lose their relative velocity.

    XSPH          m_i dv_i = sum_j 2 a_i a_j / (a_i + a_j) W_ij (v_j - v_i),               a = c m
    viscosity     m_i dv_i = h sum_j 2 k_i k_j / (k_i + k_j) g_ij ((v_j - v_i) . n) n,     n = (x_j - x_i) / r

XSPH is Schechter and Bridson 2012 (Macklin and Mueller 2013, equation 17), with the mean over masses and fluids that
keeps momentum. It smooths, and damps the rotation of a drop as well; c is given for a sixtieth of a second.

The viscous force of a pair acts along the line between its particles, as in Monaghan 2005, section 4.3, so that it
keeps angular momentum too and leaves a rigid rotation alone. On a lattice such forces resist the more the less a shear
is along the lattice, unless

    sum g r^2 nx^4 = 3 sum g r^2 nx^2 ny^2.

With neighbours at 1, sqrt 2 and sqrt 3 spacings g = (1 - q^2)^(3/2) meets that to a few per cent, while the slope of
the usual kernels makes a shear along the axes lose 30 % of its viscosity. The mean over directions gives the factor

    k = 2 d (d + 2) mu V / sum g r^2          sum over the lattice, V the volume of a particle, d the dimensions,

and the harmonic mean is that of Cleary and Monaghan 1999: the stress is the same on both sides of an interface.
Where an explicit step is no good approximation the implicit one is solved by conjugate gradients (Weiler et al. 2018):
(M + h K) v' = M v, preconditioned by M. All their directions then keep both momenta, converged or not.
"""

from typing import TYPE_CHECKING

import numba
import numpy as np

from shinari.contact.broad.grid import share_of
from shinari.contact.buffers import grown
from shinari.fluid.kernels import weight
from shinari.fluid.pressure import REORDERED
from shinari.maths.function import STEADY

if TYPE_CHECKING:
    from shinari.fluid.kernels import Smoothing
    from shinari.fluid.model import FluidModel
    from shinari.fluid.part import Fluid

f32 = np.float32
ZERO, ONE = f32(0.0), f32(1.0)
# Below the square of any distance and any coefficient that matters, in single precision too.
TINY = f32(1e-30)

# Time for which the coefficient of XSPH is given [s].
XSPH_TIME = 1.0 / 60.0
# Largest decay of a velocity difference in a substep that is taken explicitly.
EXPLICIT = 0.1
# Conjugate gradients end when the residual is this part of the first one, or after so many turns.
ACCURACY, MOST_TURNS = 1e-4, 200


@numba.njit(parallel=True, cache=True, **STEADY)
def pack(threads, v, phases, table, out):
    """Velocities (n, 3) and the coefficient of the fluid of each particle, next to each other in memory, (n, 4)."""
    for i in numba.prange(len(v)):
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = v[i, 0], v[i, 1], v[i, 2], table[phases[i]]


@numba.njit(**REORDERED)
def smooth_part(t, threads, kernel, inverse2, x, given, inverse_masses, offsets, indices, v):
    """One thread's part of `smooth`."""
    for i in range(share_of(len(v), t, threads), share_of(len(v), t + 1, threads)):
        px, py, pz = x[i, 0], x[i, 1], x[i, 2]
        vx, vy, vz, own = given[i, 0], given[i, 1], given[i, 2], given[i, 3]
        sx = sy = sz = own * ZERO
        for k in range(np.uint64(offsets[i]), np.uint64(offsets[i + 1])):
            j = indices[k]
            dx, dy, dz = px - x[j, 0], py - x[j, 1], pz - x[j, 2]
            s = own * (given[j, 3] / max(own + given[j, 3], TINY))
            s *= weight(kernel, (dx * dx + dy * dy + dz * dz) * inverse2)
            sx, sy, sz = sx + s * (given[j, 0] - vx), sy + s * (given[j, 1] - vy), sz + s * (given[j, 2] - vz)
        w = inverse_masses[i]
        v[i, 0], v[i, 1], v[i, 2] = vx + w * sx, vy + w * sy, vz + w * sz


@numba.njit(parallel=True, cache=True, **REORDERED)
def smooth(threads, kernel, inverse2, x, given, inverse_masses, offsets, indices, v):
    """XSPH: bring velocities nearer to those around.

    Args:
        threads: Threads.
        kernel: Number of the kernel.
        inverse2: 1 / support^2 [1/m^2].
        x: Positions [m], (n, 4).
        given: Velocities [m/s], and twice a times the scale of the kernel [kg], (n, 4).
        inverse_masses: [1/kg], (n,).
        offsets: Where the neighbours of each start, (n + 1,).
        indices: The neighbours.
        v: Filled, (n, 3).
    """
    if threads == 1:
        smooth_part(0, threads, kernel, inverse2, x, given, inverse_masses, offsets, indices, v)
    else:
        for t in numba.prange(threads):
            smooth_part(t, threads, kernel, inverse2, x, given, inverse_masses, offsets, indices, v)


@numba.njit(**REORDERED)
def resist_part(t, threads, inverse2, h, x, given, inverse_masses, offsets, indices, out):
    """One thread's part of `resist`."""
    for i in range(share_of(len(out), t, threads), share_of(len(out), t + 1, threads)):
        px, py, pz = x[i, 0], x[i, 1], x[i, 2]
        vx, vy, vz, own = given[i, 0], given[i, 1], given[i, 2], given[i, 3]
        sx = sy = sz = own * ZERO
        for k in range(np.uint64(offsets[i]), np.uint64(offsets[i + 1])):
            j = indices[k]
            dx, dy, dz = px - x[j, 0], py - x[j, 1], pz - x[j, 2]
            r2 = dx * dx + dy * dy + dz * dz
            rest = max(ONE - r2 * inverse2, ZERO)
            along = (vx - given[j, 0]) * dx + (vy - given[j, 1]) * dy + (vz - given[j, 2]) * dz
            s = own * (given[j, 3] / max(own + given[j, 3], TINY))
            s *= rest * np.sqrt(rest) * along / max(r2, TINY)
            sx, sy, sz = sx + s * dx, sy + s * dy, sz + s * dz
        s = h * inverse_masses[i]
        out[i, 0], out[i, 1], out[i, 2] = s * sx, s * sy, s * sz


@numba.njit(parallel=True, cache=True, **REORDERED)
def resist(threads, inverse2, h, x, given, inverse_masses, offsets, indices, out):
    """What viscosity takes from each velocity in a substep, h M^-1 K v.

    Args:
        threads: Threads.
        inverse2: 1 / support^2 [1/m^2].
        h: Substep [s].
        x: Positions [m], (n, 4).
        given: Velocities [m/s], and twice k [kg/s], (n, 4).
        inverse_masses: [1/kg], (n,).
        offsets: Where the neighbours of each start, (n + 1,).
        indices: The neighbours.
        out: Filled, (n, 3).
    """
    if threads == 1:
        resist_part(0, threads, inverse2, h, x, given, inverse_masses, offsets, indices, out)
    else:
        for t in numba.prange(threads):
            resist_part(t, threads, inverse2, h, x, given, inverse_masses, offsets, indices, out)


@numba.njit(cache=True, **REORDERED)
def product(inverse_masses, a, b):
    """Sum of m a . b over particles that can move; a, b: (n, 3 or 4), of which three columns count."""
    total = 0.0
    for i in range(len(a)):
        w = inverse_masses[i]
        m = ONE / w if w > ZERO else ZERO
        total += np.float64(m * (a[i, 0] * b[i, 0] + a[i, 1] * b[i, 1] + a[i, 2] * b[i, 2]))
    return total


def lattice_viscosity(smoothing: "Smoothing") -> tuple[float, float]:
    """Sums of g r^2 [m^2] and of g over a lattice, g = (1 - q^2)^(3/2), without the middle."""
    r2 = (smoothing.lattice() ** 2).sum(axis=1)
    g = (1.0 - r2 / smoothing.support**2) ** 1.5
    return float((g * r2).sum()), float(g.sum()) - 1.0


class Xsph:
    """Smoothing of velocities, as an effect of `Fluid`."""

    def __init__(self, fluids: "FluidModel", h: float, real: type) -> None:
        parts = np.array([1.0 - (1.0 - m.xsph) ** (h / XSPH_TIME) for m in fluids.materials])
        masses = fluids.smoothing.spacing**3 * np.array([m.rest_density for m in fluids.materials])
        self._table = (2.0 * fluids.smoothing.weight_scale * parts * masses).astype(real)
        self._packed = None

    def __call__(self, fluid: "Fluid", threads: int) -> None:
        """Change `fluid.v`."""
        self._packed = grown(self._packed, len(fluid.v), fluid.v.dtype, 4)
        given = self._packed[: len(fluid.v)]
        pack(threads, fluid.v, fluid.phases, self._table, given)
        smooth(
            threads, fluid.model.smoothing.kernel, fluid.inverse2, fluid.x, given, fluid.inverse_masses, fluid.offsets,
            fluid.indices, fluid.v,
        )  # fmt: skip


class Viscosity:
    """Viscous forces, as an effect of `Fluid`.

    Attributes:
        explicit: Whether the steps are explicit.
        turns: Turns of conjugate gradients in the last substep.
    """

    def __init__(self, fluids: "FluidModel", h: float, real: type) -> None:
        smoothing = fluids.smoothing
        volume, d = smoothing.spacing**3, smoothing.dimensions
        moment, total = lattice_viscosity(smoothing)
        # k for a viscosity of 1
        unit = 2.0 * d * (d + 2) * volume / moment
        self._table = (2.0 * unit * np.array([m.viscosity for m in fluids.materials])).astype(real)
        # the trace of the block of a particle bounds what all neighbours together take from it
        rate = 2.0 * unit * total / d * max(m.viscosity / (m.rest_density * volume) for m in fluids.materials)
        self.explicit, self.turns = h * rate < EXPLICIT, 0
        self._h = real(h)
        self._packed = self._taken = None

    def __call__(self, fluid: "Fluid", threads: int) -> None:
        """Change `fluid.v`."""
        count, dtype = len(fluid.v), fluid.v.dtype
        self._packed = grown(self._packed, count, dtype, 4)
        self._taken = grown(self._taken, count, dtype, 3)
        given, taken = self._packed[:count], self._taken[:count]
        pack(threads, fluid.v, fluid.phases, self._table, given)
        self._resist(fluid, threads, given, taken)
        if self.explicit:
            fluid.v -= taken
        else:
            self._conjugate(fluid, threads, given, taken)

    def _resist(self, fluid: "Fluid", threads: int, given: np.ndarray, taken: np.ndarray) -> None:
        resist(
            threads, fluid.inverse2, self._h, fluid.x, given, fluid.inverse_masses, fluid.offsets, fluid.indices, taken
        )  # fmt: skip

    def _conjugate(self, fluid: "Fluid", threads: int, direction: np.ndarray, taken: np.ndarray) -> None:
        """Conjugate gradients for (1 + h M^-1 K) v' = v in the inner product of the masses, from v' = v."""
        residual = -taken
        direction[:, :3] = residual
        square = product(fluid.inverse_masses, residual, residual)
        enough, self.turns = ACCURACY**2 * square, 0
        while square > enough and self.turns < MOST_TURNS:
            self.turns += 1
            self._resist(fluid, threads, direction, taken)
            taken += direction[:, :3]
            step = taken.dtype.type(square / product(fluid.inverse_masses, direction, taken))
            fluid.v += step * direction[:, :3]
            residual -= step * taken
            before, square = square, product(fluid.inverse_masses, residual, residual)
            direction[:, :3] *= taken.dtype.type(square / before)
            direction[:, :3] += residual
