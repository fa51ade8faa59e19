"""Surface tension: the surface of a fluid is made small, and particles attract each other.

    E = b V sum_i s_i a_i,   a_i^2 = |g_i|^2 + (k m_i / spacing)^2       the area of the surface, s = sqrt sigma
        g_i = sum_j s_j grad W_ij,   m_i = max(0, s_i - sum_j s_j W_ij)
    F_ij = s_i s_j c w^2 (3 - w) r,   w = 1 - q^2                        attraction

The sum of |g| alone is a total variation: in the continuum its integral is the area where the density goes from 1 to 0,
however wide that is. Its force is -b V s_i s_j H_ij (n_i - n_j), n = g / |g|, with H the second derivative of the
kernel (1 - q^2)^3; Akinci et al. 2013, equation 4, take the difference of the normals. But the middle of a single
layer, or an alone particle, has no gradient, and would cost nothing: there the density that is missing, m, counts.
Within a fluid both are noise, so a is rounded off there.

The attraction carries a part of the tension, that of given forces between n particles in a volume (Fowler 1937),

    sigma = n <|m|> / (4 (d + 1)) sum_j F(r_j) r_j^2,      <|m|> = 1/2 (3-D), 2/pi (2-D): mean of a direction cosine,

in three dimensions (pi / 8) n^2 times the integral of F r^4. It gathers what has come off. Attraction alone does not
do: it holds the inside under a pressure of some sigma / spacing, far above 2 sigma / R, and drops freeze or boil.

Both are summed over a lattice that ends at a plane. In a drop, whose last layers are drawn together, the tension is
higher; that ratio was measured, from the period of drops, and is divided out. All of this follows from energies that no
shift and no rotation changes: both momenta are kept. The tension between two fluids comes out as about
|sigma_1 - sigma_2| (Antonow 1907).

Solids: what they add to the density counts as fluid by min(2 adhesion, 1), so that a wall is no surface; see
`shinari.fluid.adhesion` for the attraction.
"""

import math
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numba
import numpy as np

from shinari.contact.broad.grid import share_of
from shinari.contact.buffers import grown
from shinari.errors import FluidWarning
from shinari.fluid.pressure import REORDERED
from shinari.fluid.wall_table import POINTS, PUSH, SHARE, wall_table
from shinari.scene.fluid_material import KERNELS

if TYPE_CHECKING:
    from shinari.fluid.kernels import Smoothing
    from shinari.fluid.model import FluidModel
    from shinari.fluid.part import Fluid

f32 = np.float32
ZERO, ONE, THREE, FOUR = f32(0.0), f32(1.0), f32(3.0), f32(4.0)
TINY = f32(1e-30)

# Part of the tension that comes from attraction.
ATTRACTION = 0.2
# Gradient for which a density that is missing altogether counts, in reciprocal spacings: a single layer, where 0.38
# are missing, then costs three quarters of its two sides.
MISSING = 3.0
# Where |g| is rounded off, in reciprocal spacings; at a plane it is about half a reciprocal spacing.
ROUNDED = 0.2
# Tension of drops of 6 to 10 spacings radius over that of the lattice, measured.
DRAWN = 1.5


@numba.njit(**REORDERED)
def normals_part(
    t,
    threads,
    inverse2,
    scale,
    share,
    weighed,
    rounded,
    x,
    roots,
    wetting,
    phases,
    pulls,
    shares,
    offsets,
    indices,
    normals,
):
    """One thread's part of `normals_of`."""
    for i in range(share_of(len(normals), t, threads), share_of(len(normals), t + 1, threads)):
        px, py, pz = x[i, 0], x[i, 1], x[i, 2]
        gx = gy = gz = scale * ZERO
        total = roots[phases[i]]
        for k in range(np.uint64(offsets[i]), np.uint64(offsets[i + 1])):
            j = indices[k]
            dx, dy, dz = x[j, 0] - px, x[j, 1] - py, x[j, 2] - pz
            w = max(ONE - (dx * dx + dy * dy + dz * dz) * inverse2, ZERO)
            s = roots[phases[j]] * w * w
            total += s * w
            gx, gy, gz = gx + s * dx, gy + s * dy, gz + s * dz
        own, wall = roots[phases[i]], roots[phases[i]] * wetting[phases[i]]
        gx, gy, gz = scale * gx + wall * pulls[i, 0], scale * gy + wall * pulls[i, 1], scale * gz + wall * pulls[i, 2]
        missing = weighed * max(own - share * total - wall * shares[i], ZERO)
        least = own * rounded
        s = ONE / np.sqrt(max(gx * gx + gy * gy + gz * gz + missing * missing + least * least, TINY))
        normals[i, 0], normals[i, 1], normals[i, 2], normals[i, 3] = s * gx, s * gy, s * gz, s * missing * weighed


@numba.njit(parallel=True, cache=True, **REORDERED)
def normals_of(
    threads,
    inverse2,
    scale,
    share,
    weighed,
    rounded,
    x,
    roots,
    wetting,
    phases,
    pulls,
    shares,
    offsets,
    indices,
    normals,
):
    """Derivatives of the area at each particle by its gradient (3) and by its missing density [1/m], (n, 4).

    Args:
        threads: Threads.
        inverse2: 1 / support^2 [1/m^2].
        scale: What makes w^2 times the vector between two points [m] a gradient of the density [1/m].
        share: What makes w^3 a part of the density.
        weighed: Gradient for which a missing density counts [1/m].
        rounded: Length below which gradients are rounded off [1/m].
        x: Positions [m], (n, 4).
        roots: sqrt sigma of each fluid [sqrt(N/m)].
        wetting: How much a solid counts as fluid, for each fluid.
        phases: Fluid of each particle, (n,).
        pulls: Gradient of the density by solids [1/m], (n, 3).
        shares: Density by solids, (n,).
        offsets: Where the neighbours of each start, (n + 1,).
        indices: The neighbours.
        normals: Filled.
    """
    if threads == 1:
        normals_part(
            0, threads, inverse2, scale, share, weighed, rounded, x, roots, wetting, phases, pulls, shares, offsets,
            indices, normals,
        )  # fmt: skip
    else:
        for t in numba.prange(threads):
            normals_part(
                t, threads, inverse2, scale, share, weighed, rounded, x, roots, wetting, phases, pulls, shares,
                offsets, indices, normals,
            )  # fmt: skip


@numba.njit(**REORDERED)
def contract_part(
    t, threads, inverse2, area, attraction, x, roots, phases, normals, inverse_masses, offsets, indices, v
):
    """One thread's part of `contract`."""
    for i in range(share_of(len(v), t, threads), share_of(len(v), t + 1, threads)):
        px, py, pz = x[i, 0], x[i, 1], x[i, 2]
        nx, ny, nz, missing = normals[i, 0], normals[i, 1], normals[i, 2], normals[i, 3]
        sx = sy = sz = area * ZERO
        for k in range(np.uint64(offsets[i]), np.uint64(offsets[i + 1])):
            j = indices[k]
            dx, dy, dz = x[j, 0] - px, x[j, 1] - py, x[j, 2] - pz
            w = max(ONE - (dx * dx + dy * dy + dz * dz) * inverse2, ZERO)
            ax, ay, az = nx - normals[j, 0], ny - normals[j, 1], nz - normals[j, 2]
            # d(w^2 d) = (w^2 - 4 w d d^T / support^2) dd;  d(w^3) = -6 w^2 d / support^2 dd
            root = roots[phases[j]]
            a = root * area * w * w
            b = attraction * (THREE - w) + area * (missing + normals[j, 3])
            b = root * w * (w * b - area * FOUR * inverse2 * (ax * dx + ay * dy + az * dz))
            sx, sy, sz = sx + a * ax + b * dx, sy + a * ay + b * dy, sz + a * az + b * dz
        s = inverse_masses[i] * roots[phases[i]]
        v[i, 0], v[i, 1], v[i, 2] = v[i, 0] + s * sx, v[i, 1] + s * sy, v[i, 2] + s * sz


@numba.njit(parallel=True, cache=True, **REORDERED)
def contract(threads, inverse2, area, attraction, x, roots, phases, normals, inverse_masses, offsets, indices, v):
    """Add the forces of surface tension.

    Args:
        threads: Threads.
        inverse2: 1 / support^2 [1/m^2].
        area: Substep times the force of the area, for a tension of 1 [s m].
        attraction: Substep times the attraction, for a tension of 1 [s].
        x: Positions [m], (n, 4).
        roots: sqrt sigma of each fluid [sqrt(N/m)].
        phases: Fluid of each particle, (n,).
        normals: See `normals_of`.
        inverse_masses: [1/kg], (n,).
        offsets: Where the neighbours of each start, (n + 1,).
        indices: The neighbours.
        v: Velocities [m/s], (n, 3); changed.
    """
    if threads == 1:
        contract_part(
            0, threads, inverse2, area, attraction, x, roots, phases, normals, inverse_masses, offsets, indices, v
        )
    else:
        for t in numba.prange(threads):
            contract_part(
                t, threads, inverse2, area, attraction, x, roots, phases, normals, inverse_masses, offsets, indices, v
            )


def gradient_scale(smoothing: "Smoothing") -> float:
    """What makes w^2 times a vector [m] the gradient of the density of the kernel w^3 [1/m]."""
    w = 1.0 - (smoothing.lattice() ** 2).sum(axis=1) / smoothing.support**2
    return 6.0 / (float((w**3).sum()) * smoothing.support**2)


def lattice_area(smoothing: "Smoothing") -> float:
    """Sum of the rounded |g| over a column of the lattice that ends at a plane, times the spacing."""
    points, spacing = smoothing.lattice(), smoothing.spacing
    w = 1.0 - (points**2).sum(axis=1) / smoothing.support**2
    rounded, total = ROUNDED / spacing, 0.0
    for layer in range(int(smoothing.support / spacing) + 1):
        inside = points[:, 0] < (layer + 0.5) * spacing
        g = gradient_scale(smoothing) * float((w**2 * points[:, 0])[inside].sum())
        missing = MISSING / spacing * (1.0 - float((w**3)[inside].sum() / (w**3).sum()))
        total += math.hypot(g, missing, rounded) - rounded
    return total * spacing


def lattice_attraction(smoothing: "Smoothing") -> float:
    """Tension of the attraction w^2 (3 - w) r over its strength."""
    r2 = (smoothing.lattice() ** 2).sum(axis=1)
    w, d = 1.0 - r2 / smoothing.support**2, smoothing.dimensions
    cosine = 0.5 if d == 3 else 2.0 / math.pi
    return cosine / (4.0 * (d + 1)) * float((w**2 * (3.0 - w) * r2**1.5).sum()) / smoothing.spacing**3


def warn_of_long_substeps(fluids: "FluidModel", h: float) -> None:
    """Warn of substeps in which the shortest waves of a surface cannot be followed.

    The bound is that of Brackbill, Kothe and Zemach 1992, equation 61, for a wave of two spacings; drops burst at 1.4
    times that.
    """
    for material in fluids.materials:
        if material.surface_tension > 0.0:
            cube = material.rest_density * fluids.smoothing.spacing**3
            most = math.sqrt(cube / (2.0 * math.pi * material.surface_tension))
            if h > 1.2 * most:
                warnings.warn(
                    f"fluid: surface_tension: {material.surface_tension:g} N/m at a spacing of "
                    f"{fluids.smoothing.spacing:g} m needs substeps of {most:.2g} s or less, these are {h:.2g} s: "
                    f"take {math.ceil(h / most)} times as many, or a larger spacing; else drops burst",
                    FluidWarning,
                    stacklevel=2,
                )


class Tension:
    """Surface tension, as a force of `Fluid`."""

    def __init__(self, fluids: "FluidModel", h: float, real: type) -> None:
        warn_of_long_substeps(fluids, h)
        smoothing, materials = fluids.smoothing, fluids.materials
        scale = gradient_scale(smoothing)
        self._roots = np.sqrt([m.surface_tension / DRAWN for m in materials]).astype(real)
        self._wetting = np.array([min(2.0 * m.adhesion, 1.0) for m in materials]).astype(real)
        self._scale, self._rounded = real(scale), real(ROUNDED / smoothing.spacing)
        volume = smoothing.spacing**3
        self._share, self._weighed = real(scale * smoothing.support**2 / 6.0), real(MISSING / smoothing.spacing)
        # a plane in this kernel, by the gradient that it has in that of the densities
        self._sizes = wall_table(smoothing)[PUSH, : POINTS // 2 : -1]
        self._shares = wall_table(replace(smoothing, kernel=KERNELS.index("poly6")))[SHARE, : POINTS // 2 : -1]
        self._area = real(h * (1.0 - ATTRACTION) * volume * scale / lattice_area(smoothing))
        self._attraction = real(h * ATTRACTION / lattice_attraction(smoothing))
        self._normals = None

    def __call__(self, fluid: "Fluid", threads: int) -> None:
        """Change `fluid.v`."""
        self._normals = grown(self._normals, len(fluid.v), fluid.v.dtype, 4)
        normals = self._normals[: len(fluid.v)]
        sizes = np.sqrt((fluid.pulls**2).sum(axis=1))
        shares = np.interp(sizes, self._sizes, self._shares).astype(sizes.dtype)
        normals_of(
            threads, fluid.inverse2, self._scale, self._share, self._weighed, self._rounded, fluid.x, self._roots,
            self._wetting, fluid.phases, fluid.pulls, shares, fluid.offsets, fluid.indices, normals,
        )  # fmt: skip
        contract(
            threads, fluid.inverse2, self._area, self._attraction, fluid.x, self._roots, fluid.phases, normals,
            fluid.inverse_masses, fluid.offsets, fluid.indices, fluid.v,
        )  # fmt: skip
