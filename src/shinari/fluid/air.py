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

import numba
import numpy as np

from shinari.contact.broad.grid import share_of
from shinari.fluid.kernels import weight
from shinari.fluid.pressure import REORDERED
from shinari.scene import check

if TYPE_CHECKING:
    from shinari.fluid.kernels import Smoothing
    from shinari.fluid.model import FluidModel
    from shinari.fluid.part import Fluid

f32 = np.float32
ZERO, ONE = f32(0.0), f32(1.0)
TINY = f32(1e-30)


@numba.njit(**REORDERED)
def drag_part(t, threads, kernel, inverse2, scale, x, wind, phases, table, inverse_masses, offsets, indices, kicks):
    """One thread's part of `drag`."""
    for i in range(share_of(len(kicks), t, threads), share_of(len(kicks), t + 1, threads)):
        px, py, pz = x[i, 0], x[i, 1], x[i, 2]
        ux, uy, uz = wind[0] - kicks[i, 0], wind[1] - kicks[i, 1], wind[2] - kicks[i, 2]
        speed = np.sqrt(ux * ux + uy * uy + uz * uz)
        before = scale * ZERO
        for k in range(np.uint64(offsets[i]), np.uint64(offsets[i + 1])):
            j = indices[k]
            dx, dy, dz = px - x[j, 0], py - x[j, 1], pz - x[j, 2]
            r2 = dx * dx + dy * dy + dz * dz
            before += max(dx * ux + dy * uy + dz * uz, ZERO) * weight(kernel, r2 * inverse2) / np.sqrt(max(r2, TINY))
        exposed = max(ONE - scale * before / max(speed, TINY), ZERO)
        rate = inverse_masses[i] * table[phases[i]] * exposed * speed
        s = rate / (ONE + rate)
        kicks[i, 0], kicks[i, 1], kicks[i, 2] = s * ux, s * uy, s * uz


@numba.njit(parallel=True, cache=True, **REORDERED)
def drag(threads, kernel, inverse2, scale, x, wind, phases, table, inverse_masses, offsets, indices, kicks):
    """Replace velocities [m/s] by what the air adds to them in a substep, (n, 3).

    Args:
        threads: Threads.
        kernel: Number of the kernel.
        inverse2: 1 / support^2 [1/m^2].
        scale: What makes the weights before a particle 2 o.
        x: Positions [m], (n, 4).
        wind: Velocity of the air [m/s], (3,).
        phases: Fluid of each particle, (n,).
        table: h rho/2 C s^2 of each fluid [kg s/m].
        inverse_masses: [1/kg], (n,).
        offsets: Where the neighbours of each start, (n + 1,).
        indices: The neighbours.
        kicks: Velocities; replaced.
    """
    if threads == 1:
        drag_part(0, threads, kernel, inverse2, scale, x, wind, phases, table, inverse_masses, offsets, indices, kicks)
    else:
        for t in numba.prange(threads):
            drag_part(
                t, threads, kernel, inverse2, scale, x, wind, phases, table, inverse_masses, offsets, indices, kicks
            )  # fmt: skip


def before_scale(smoothing: "Smoothing") -> float:
    """Two over what stands before a particle of the lattice, the mean over all directions of the wind."""
    q2 = (smoothing.lattice() ** 2).sum(axis=1) / smoothing.support**2
    others = sum(float(weight.py_func(smoothing.kernel, q)) for q in q2[q2 > 0.0])
    return 2.0 / (others * (0.25 if smoothing.dimensions == 3 else 1.0 / np.pi))


class Drag:
    """Drag of the air, as an effect of `Fluid`."""

    def __init__(self, fluids: "FluidModel", h: float, real: type) -> None:
        spacing = fluids.smoothing.spacing
        coefficients = np.array([m.air_drag for m in fluids.materials])
        self._table = (0.5 * h * fluids.air_density * spacing**2 * coefficients).astype(real)
        self._scale, self._h = real(before_scale(fluids.smoothing)), h
        self._frame, self._substep = -1, 0

    def __call__(self, fluid: "Fluid", threads: int) -> None:
        """Change `fluid.v`."""
        wind, frame = fluid.scene_model.wind, fluid.state.frame
        self._substep = self._substep + 1 if frame == self._frame else 1
        self._frame = frame
        if callable(wind):
            time = frame * fluid.settings.dt + self._substep * self._h
            wind = check.vector("wind", f"at t = {time:g} s", wind(time))
        kicks = fluid.v.copy()
        drag(
            threads, fluid.model.smoothing.kernel, fluid.inverse2, self._scale, fluid.x,
            np.asarray(wind, fluid.v.dtype), fluid.phases, self._table, fluid.inverse_masses, fluid.offsets,
            fluid.indices, kicks,
        )  # fmt: skip
        fluid.v += kicks


class Buoyancy:
    """Weight of what is displaced, as an effect of `Fluid`."""

    def __init__(self, fluids: "FluidModel", h: float, real: type) -> None:
        self._parts = np.array([h * m.ambient_density / m.rest_density for m in fluids.materials])

    def __call__(self, fluid: "Fluid", threads: int) -> None:
        """Change `fluid.v`."""
        kicks = (-self._parts[:, None] * fluid.scene_model.gravity).astype(fluid.v.dtype)
        fluid.v += np.where(fluid.inverse_masses[:, None] > 0.0, kicks[fluid.phases], fluid.v.dtype.type(0.0))
