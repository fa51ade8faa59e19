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

import numpy as np

from shinari.compute import Field, Kernel, Program, Record, convert, function, kernel, real
from shinari.compute.once import once
from shinari.systems.fluid.effects.base import Coefficients, Effect, coefficients
from shinari.systems.fluid.records import FluidParticles, Neighbours, Offsets, Solve, difference
from shinari.systems.fluid.smoothing import weight
from shinari.systems.fluid.sums import SHARE, ChunkSums, chunk_of

if TYPE_CHECKING:
    from shinari.systems.fluid.model import FluidModel
    from shinari.systems.fluid.smoothing import Smoothing
    from shinari.systems.fluid.system import Fluid

ZERO, ONE = np.float32(0.0), np.float32(1.0)
# Below the square of any distance and any coefficient that matters, in single precision too.
TINY = np.float32(1e-30)

# Time for which the coefficient of XSPH is given [s].
XSPH_TIME = 1.0 / 60.0
# Largest decay of a velocity difference in a substep that is taken explicitly.
EXPLICIT = 0.1
# Conjugate gradients end when the residual is this part of the first one, or after so many iterations.
ACCURACY, MOST_ITERATIONS = 1e-4, 200


class Packed(Record):
    """Velocity of each particle, or a direction of the solver, and the coefficient of its fluid, side by side."""

    value = Field(real, 4, unit="m/s")


class Residuals(Record):
    """What conjugate gradients know of each particle."""

    product = Field(real, 3, unit="m/s", doc="h M^-1 K times the direction, then with the direction added")
    residual = Field(real, 3, unit="m/s")


class Gradients(Record):
    """One row: where conjugate gradients are."""

    iterations = Field(np.int64)
    active = Field(np.int64, doc="whether there is a residual at all")
    done = Field(np.int64)
    square = Field(np.float64, doc="square of the residual in the inner product of the masses")
    enough = Field(np.float64)
    step = Field(np.float64)
    ratio = Field(np.float64, doc="square of the residual over that before")


@kernel
def pack(i, fluid: FluidParticles, table: Coefficients, packed: Packed):
    """Put the velocity and the coefficient of a particle side by side."""
    v = fluid.v[i]
    packed.value[i] = v[0], v[1], v[2], table.value[fluid.phase[i]]


@once
def smooth(smoothing: int) -> Kernel:
    """XSPH: kernel that brings a velocity nearer to those around.

    The coefficient of `packed` is twice a times the scale of the smoothing kernel [kg].
    """

    @kernel
    def smooth_velocity(
        i, fluid: FluidParticles, packed: Packed, neighbours: Neighbours, offsets: Offsets, inverse2: real
    ):
        p, v = fluid.x[i], packed.value[i]
        none = inverse2 * ZERO
        u = none, none, none
        for k in range(offsets.start[i], offsets.start[i + 1]):
            j = neighbours.place[k]
            _, r2 = difference(p, fluid.x[j])
            o = packed.value[j]
            s = v[3] * (o[3] / max(v[3] + o[3], TINY)) * weight(smoothing, r2 * inverse2)
            u = u[0] + s * (o[0] - v[0]), u[1] + s * (o[1] - v[1]), u[2] + s * (o[2] - v[2])
        w = fluid.inverse_mass[i]
        fluid.v[i] = v[0] + w * u[0], v[1] + w * u[1], v[2] + w * u[2]

    return smooth_velocity


@kernel
def resist(
    i, fluid: FluidParticles, packed: Packed, residuals: Residuals, neighbours: Neighbours, offsets: Offsets,
    inverse2: real, h: real
):  # fmt: skip
    """What viscosity takes from a velocity in a substep, h M^-1 K v; the coefficient of `packed` is twice k [kg/s]."""
    p, v = fluid.x[i], packed.value[i]
    none = inverse2 * ZERO
    u = none, none, none
    for k in range(offsets.start[i], offsets.start[i + 1]):
        j = neighbours.place[k]
        d, r2 = difference(p, fluid.x[j])
        o = packed.value[j]
        rest = max(ONE - r2 * inverse2, ZERO)
        along = (v[0] - o[0]) * d[0] + (v[1] - o[1]) * d[1] + (v[2] - o[2]) * d[2]
        s = v[3] * (o[3] / max(v[3] + o[3], TINY)) * (rest * np.sqrt(rest) * along / max(r2, TINY))
        u = u[0] + s * d[0], u[1] + s * d[1], u[2] + s * d[2]
    s = h * fluid.inverse_mass[i]
    residuals.product[i] = s * u[0], s * u[1], s * u[2]


@kernel
def subtract(i, fluid: FluidParticles, residuals: Residuals):
    """The explicit step."""
    v, u = fluid.v[i], residuals.product[i]
    fluid.v[i] = v[0] - u[0], v[1] - u[1], v[2] - u[2]


@function
def weighed(w, a, b):
    """M a . b of a particle of inverse mass w, 0 of one that cannot move."""
    m = ONE / w if w > ZERO else ZERO
    return m * (a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


@kernel(mixed=True)
def begin_part(c, fluid: FluidParticles, packed: Packed, residuals: Residuals, chunk_sums: ChunkSums, solve: Solve):
    """From v' = v: the first residual, which is the first direction, and its square."""
    total = 0.0
    begin, end = chunk_of(c, solve.count[0])
    for i in range(begin, end):
        u = residuals.product[i]
        r = -u[0], -u[1], -u[2]
        residuals.residual[i] = r
        packed.value[i] = r[0], r[1], r[2], packed.value[i, 3]
        total += np.float64(weighed(fluid.inverse_mass[i], r, r))
    chunk_sums.sum[c, 0] = total


@function
def total_of(group_sums, solve):
    """Sum over the groups."""
    total = 0.0
    for g in range(solve.groups[0]):
        total += group_sums.sum[g, 0]
    return total


@kernel
def begin_gradients(_, group_sums: ChunkSums, solve: Solve, gradients: Gradients):
    """How large a residual may stay."""
    square = total_of(group_sums, solve)
    gradients.square[0], gradients.enough[0], gradients.iterations[0] = square, ACCURACY * ACCURACY * square, 0
    gradients.active[0] = 1 if square > gradients.enough[0] else 0


@kernel(mixed=True)
def multiply_part(c, fluid: FluidParticles, packed: Packed, residuals: Residuals, chunk_sums: ChunkSums, solve: Solve):
    """1 + h M^-1 K times the direction, and its product with the direction."""
    total = 0.0
    begin, end = chunk_of(c, solve.count[0])
    for i in range(begin, end):
        d, u = packed.value[i], residuals.product[i]
        u = u[0] + d[0], u[1] + d[1], u[2] + d[2]
        residuals.product[i] = u
        total += np.float64(weighed(fluid.inverse_mass[i], d, u))
    chunk_sums.sum[c, 0] = total


@kernel
def find_step(_, group_sums: ChunkSums, solve: Solve, gradients: Gradients):
    """How far to go along the direction."""
    gradients.step[0] = gradients.square[0] / total_of(group_sums, solve)
    gradients.iterations[0] += 1


@kernel(mixed=True)
def advance_part(
    c,
    fluid: FluidParticles,
    packed: Packed,
    residuals: Residuals,
    chunk_sums: ChunkSums,
    solve: Solve,
    gradients: Gradients,
):
    """Go along the direction; the square of the new residual."""
    total = 0.0
    begin, end = chunk_of(c, solve.count[0])
    for i in range(begin, end):
        v, d, u, r = fluid.v[i], packed.value[i], residuals.product[i], residuals.residual[i]
        s = convert(gradients.step[0], v[0])
        fluid.v[i] = v[0] + s * d[0], v[1] + s * d[1], v[2] + s * d[2]
        r = r[0] - s * u[0], r[1] - s * u[1], r[2] - s * u[2]
        residuals.residual[i] = r
        total += np.float64(weighed(fluid.inverse_mass[i], r, r))
    chunk_sums.sum[c, 0] = total


@kernel
def find_ratio(_, group_sums: ChunkSums, solve: Solve, gradients: Gradients):
    """Whether the residual is small enough, and how much of the direction stays."""
    square = total_of(group_sums, solve)
    gradients.ratio[0] = square / gradients.square[0]
    gradients.square[0] = square
    gradients.done[0] = 0 if square > gradients.enough[0] else 1


@kernel(mixed=True)
def turn_direction(i, packed: Packed, residuals: Residuals, gradients: Gradients):
    """The next direction."""
    d, r = packed.value[i], residuals.residual[i]
    s = convert(gradients.ratio[0], d[0])
    packed.value[i] = s * d[0] + r[0], s * d[1] + r[1], s * d[2] + r[2], d[3]


def lattice_viscosity(smoothing: "Smoothing") -> tuple[float, float]:
    """Sums of g r^2 [m^2] and of g over a lattice, g = (1 - q^2)^(3/2), without the middle."""
    r2 = (smoothing.lattice() ** 2).sum(axis=1)
    g = (1.0 - r2 / smoothing.support**2) ** 1.5
    return float((g * r2).sum()), float(g.sum()) - 1.0


class Xsph(Effect):
    """Smoothing of velocities."""

    field, phase, order = "xsph", "velocity", 5

    def __init__(self, fluids: "FluidModel", h: float, real: type) -> None:
        parts = np.array([1.0 - (1.0 - m.xsph) ** (h / XSPH_TIME) for m in fluids.materials])
        masses = fluids.smoothing.spacing**3 * np.array([m.rest_density for m in fluids.materials])
        self._table = coefficients(2.0 * fluids.smoothing.weight_scale * parts * masses, real)
        self._packed: Packed = Packed.zeros(0, real)

    def record(self, p: Program, fluid: "Fluid") -> None:
        """Change the velocities."""
        rows, neighbours, offsets = fluid.records
        self._packed.bind(value=fluid.spare)
        p.launch(pack, rows, self._table, self._packed, count=fluid.count)
        kernel = smooth(fluid.model.smoothing.kernel_id)
        p.launch(kernel, rows, self._packed, neighbours, offsets, fluid.inverse2, count=fluid.count)


class Viscosity(Effect):
    """Viscous forces.

    Attributes:
        explicit: Whether the steps are explicit.
    """

    field, phase, order = "viscosity", "velocity", 4

    def __init__(self, fluids: "FluidModel", h: float, real: type) -> None:
        smoothing = fluids.smoothing
        volume, d = smoothing.spacing**3, smoothing.dimensions
        moment, total = lattice_viscosity(smoothing)
        # k for a viscosity of 1
        unit = 2.0 * d * (d + 2) * volume / moment
        self._table = coefficients(2.0 * unit * np.array([m.viscosity for m in fluids.materials]), real)
        # the trace of the block of a particle bounds what all neighbours together take from it
        rate = 2.0 * unit * total / d * max(m.viscosity / (m.rest_density * volume) for m in fluids.materials)
        self.explicit, self._h = h * rate < EXPLICIT, h
        self._packed: Packed = Packed.zeros(0, real)
        self._residuals: Residuals = Residuals.zeros(len(fluids.particles), real)
        self._gradients: Gradients = Gradients.zeros(1)

    @property
    def iterations(self) -> int:
        """Iterations of conjugate gradients in the last substep."""
        return int(self._gradients.iterations[0])

    def record(self, p: Program, fluid: "Fluid") -> None:
        """Change the velocities."""
        self._packed.bind(value=fluid.spare)
        p.launch(pack, fluid.rows, self._table, self._packed, count=fluid.count)
        self._record_product(p, fluid)
        if self.explicit:
            p.launch(subtract, fluid.rows, self._residuals, count=fluid.count)
        else:
            self._record_gradients(p, fluid)

    def _record_product(self, p: Program, fluid: "Fluid") -> None:
        rows, neighbours, offsets = fluid.records
        records = rows, self._packed, self._residuals, neighbours, offsets
        p.launch(resist, *records, fluid.inverse2, self._h, count=fluid.count)

    def _record_gradients(self, p: Program, fluid: "Fluid") -> None:
        """Conjugate gradients for (1 + h M^-1 K) v' = v in the inner product of the masses, from v' = v."""
        solve, gradients, count, sums = fluid.solve, self._gradients, (fluid.solve.chunks, 0), fluid.sums
        records = fluid.rows, self._packed, self._residuals, sums.chunks, solve
        p.launch(begin_part, *records, count=count, grain=SHARE)
        sums.record_add(p)
        p.serial(begin_gradients, sums.groups, solve, gradients)
        with p.when((gradients.active, 0)), p.repeat(MOST_ITERATIONS, until=(gradients.done, 0)):
            self._record_product(p, fluid)
            p.launch(multiply_part, *records, count=count, grain=SHARE)
            sums.record_add(p)
            p.serial(find_step, sums.groups, solve, gradients)
            p.launch(advance_part, *records, gradients, count=count, grain=SHARE)
            sums.record_add(p)
            p.serial(find_ratio, sums.groups, solve, gradients)
            p.launch(turn_direction, self._packed, self._residuals, gradients, count=fluid.count)
