"""The air around fluids: its drag on their surface, and its weight.

    F_i = rho/2 C s^2 e_i |u| u,     e_i = max(0, 1 - 2 o_i),     u: velocity of the air against the particle

o_i is how much of what a particle inside a fluid has around it, weighed by the kernel and by the cosine to the wind,
stands before particle i on the side that the wind comes from (Gissler et al. 2017 take the largest single neighbour
for that). At a plane surface whose normal is at an angle t to that side o = (1 - cos t) / 2, so e = cos t: the sum of
s^2 e over a body of fluid is the area that it shows to the wind, and C its drag coefficient, whatever the spacing s; an
alone particle counts with its full s^2. The step is implicit in the speed: no particle becomes faster than the air.

What is around the fluid and is not simulated carries its density's part of the weight, so a gas rises:
a = -g rho_ambient / rho_rest.
"""

from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Field, Kernel, Program, Record, kernel, real
from shinari.compute.once import once
from shinari.model.particles import Clock
from shinari.systems.air.system import Wind, tabulate
from shinari.systems.fluid.effects.base import Coefficients, Effect, coefficients
from shinari.systems.fluid.records import FluidParticles, Neighbours, Offsets, difference
from shinari.systems.fluid.smoothing import weight

if TYPE_CHECKING:
    from shinari.systems.fluid.model import FluidModel
    from shinari.systems.fluid.smoothing import Smoothing
    from shinari.systems.fluid.system import Fluid

ZERO, ONE = np.float32(0.0), np.float32(1.0)
TINY = np.float32(1e-30)


class Lifts(Record):
    """The lift of each fluid."""

    kick = Field(real, 3, unit="m/s", doc="change of velocity in a substep")


@once
def drag(kernel_id: int) -> Kernel:
    """Kernel that adds the drag of the air to a velocity.

    `table` has h rho/2 C s^2 of each fluid [kg s/m]; `before_scale` makes the weights before a particle 2 o.
    """

    @kernel
    def drag_particle(
        i, fluid: FluidParticles, table: Coefficients, wind: Wind, clock: Clock, neighbours: Neighbours,
        offsets: Offsets, inverse2: real, before_scale: real,
    ):  # fmt: skip
        p, v, air = fluid.x[i], fluid.v[i], wind.velocity[clock.substep[0]]
        u = air[0] - v[0], air[1] - v[1], air[2] - v[2]
        speed = np.sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2])
        before = inverse2 * ZERO
        for k in range(offsets.start[i], offsets.start[i + 1]):
            d, r2 = difference(p, fluid.x[neighbours.place[k]])
            along = max(d[0] * u[0] + d[1] * u[1] + d[2] * u[2], ZERO)
            before += along * weight(kernel_id, r2 * inverse2) / np.sqrt(max(r2, TINY))
        exposed = max(ONE - before_scale * before / max(speed, TINY), ZERO)
        rate = fluid.inverse_mass[i] * table.value[fluid.phase[i]] * exposed * speed
        s = rate / (ONE + rate)
        fluid.v[i] = v[0] + s * u[0], v[1] + s * u[1], v[2] + s * u[2]

    return drag_particle


@kernel
def lift(i, fluid: FluidParticles, lifts: Lifts):
    """Add the weight of what is displaced to the velocity of a particle that can move."""
    if fluid.inverse_mass[i] > ZERO:
        v, k = fluid.v[i], lifts.kick[fluid.phase[i]]
        fluid.v[i] = v[0] + k[0], v[1] + k[1], v[2] + k[2]


def before_scale(smoothing: "Smoothing") -> float:
    """Two over what stands before a particle of the lattice, the mean over all directions of the wind."""
    q2 = (smoothing.lattice() ** 2).sum(axis=1) / smoothing.support**2
    others = sum(float(weight.py_func(smoothing.kernel_id, q)) for q in q2[q2 > 0.0])
    return 2.0 / (others * (0.25 if smoothing.dimensions == 3 else 1.0 / np.pi))


class Drag(Effect):
    """Drag of the air."""

    field, phase, order = "air_drag", "velocity", 3
    of_air = True

    def __init__(self, fluids: "FluidModel", h: float, real: type) -> None:
        spacing = fluids.smoothing.spacing
        drags = np.array([m.air_drag for m in fluids.materials])
        self._table = coefficients(0.5 * h * fluids.air_density * spacing**2 * drags, real)
        self._scale = before_scale(fluids.smoothing)
        self._wind: Wind | None = None

    def begin(self, fluid: "Fluid", ends: np.ndarray) -> None:
        """Tabulate the wind at the ends of the substeps [s]."""
        tabulate(self._table_of(fluid), fluid.scene_model, ends)

    def _table_of(self, fluid: "Fluid") -> Wind:
        if self._wind is None:
            self._wind = Wind.zeros(fluid.settings.substeps, fluid.scene_model.real)
        assert self._wind is not None
        return self._wind

    def record(self, p: Program, fluid: "Fluid") -> None:
        """Change the velocities."""
        rows, neighbours, offsets = fluid.records
        air, scales = (self._table_of(fluid), fluid.clock), (fluid.inverse2, self._scale)
        kernel = drag(fluid.model.smoothing.kernel_id)
        p.launch(kernel, rows, self._table, *air, neighbours, offsets, *scales, count=fluid.count)


class Buoyancy(Effect):
    """Weight of what is displaced."""

    field, phase, order = "ambient_density", "velocity", 1

    def __init__(self, fluids: "FluidModel", h: float, real: type) -> None:
        self._chunk_sums = np.array([h * m.ambient_density / m.rest_density for m in fluids.materials])

    def record(self, p: Program, fluid: "Fluid") -> None:
        """Change the velocities."""
        real = fluid.scene_model.real
        kicks = -self._chunk_sums[:, None] * fluid.scene_model.gravity
        p.launch(lift, fluid.rows, Lifts(real, kick=kicks.astype(real)), count=fluid.count)
