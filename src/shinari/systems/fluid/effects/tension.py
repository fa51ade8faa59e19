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
`shinari.systems.fluid.effects.adhesion` for the attraction.
"""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Field, Program, Record, function, kernel, real
from shinari.errors import FluidWarning, warn
from shinari.scene.fluid_material import SMOOTHING_KERNELS
from shinari.systems.fluid.effects.base import Effect
from shinari.systems.fluid.records import FluidParticles, Neighbours, Offsets, difference
from shinari.systems.fluid.wall_table import POINTS, PUSH, SHARE, wall_table

if TYPE_CHECKING:
    from shinari.systems.fluid.model import FluidModel
    from shinari.systems.fluid.smoothing import Smoothing
    from shinari.systems.fluid.system import Fluid

ZERO, ONE, THREE, FOUR = np.float32(0.0), np.float32(1.0), np.float32(3.0), np.float32(4.0)
TINY = np.float32(1e-30)

# Part of the tension that comes from attraction.
ATTRACTION = 0.2
# Gradient for which a density that is missing altogether counts, in reciprocal spacings: a single layer, where 0.38
# are missing, then costs three quarters of its two sides.
MISSING = 3.0
# Where |g| is rounded off, in reciprocal spacings; at a plane it is about half a reciprocal spacing.
ROUNDED = 0.2
# Tension of drops of 6 to 10 spacings radius over that of the lattice, measured.
DRAWN = 1.5


class Surfaces(Record):
    """The surface of each fluid."""

    root = Field(real, unit="sqrt(N/m)", doc="square root of the tension")
    wetting = Field(real, doc="how much a solid counts as fluid")


class Normals(Record):
    """One row for each particle."""

    value = Field(real, 4, unit="1/m", doc="derivatives of the area by the gradient (3) and by the missing density")


class PlaneShares(Record):
    """Density by a plane solid in the kernel of the tension, by its gradient in the kernel of the densities."""

    size = Field(real, unit="1/m", doc="ascending")
    share = Field(real)


class Scales(Record):
    """One row: constants of `find_normal`."""

    gradient = Field(real, unit="1/m^2", doc="makes w^2 times the vector between two points a gradient of the density")
    share = Field(real, doc="makes w^3 a part of the density")
    missing = Field(real, unit="1/m", doc="gradient for which a missing density counts")
    rounded = Field(real, unit="1/m", doc="length below which gradients are rounded off")


@function
def interpolate(table, value):
    """Share at a size, linearly between the rows of a table."""
    low, high = 0, len(table) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if table.size[middle] <= value:
            low = middle
        else:
            high = middle
    width = table.size[high] - table.size[low]
    part = (value - table.size[low]) / width if width > ZERO else ONE
    return table.share[low] + min(max(part, ZERO), ONE) * (table.share[high] - table.share[low])


@kernel
def find_normal(
    i, fluid: FluidParticles, normals: Normals, surfaces: Surfaces, shares: PlaneShares, scales: Scales,
    neighbours: Neighbours, offsets: Offsets, inverse2: real
):  # fmt: skip
    """Derivatives of the area at a particle."""
    p, own = fluid.x[i], surfaces.root[fluid.phase[i]]
    none = inverse2 * ZERO
    g, total = (none, none, none), own
    for k in range(offsets.start[i], offsets.start[i + 1]):
        j = neighbours.place[k]
        d, r2 = difference(p, fluid.x[j])
        w = max(ONE - r2 * inverse2, ZERO)
        s = surfaces.root[fluid.phase[j]] * w * w
        total += s * w
        g = g[0] - s * d[0], g[1] - s * d[1], g[2] - s * d[2]
    # what solids add, which is a plane by its gradient
    pull, scale = fluid.gradient[i], scales.gradient[0]
    wall = own * surfaces.wetting[fluid.phase[i]]
    share = interpolate(shares, np.sqrt(pull[0] * pull[0] + pull[1] * pull[1] + pull[2] * pull[2]))
    g = scale * g[0] + wall * pull[0], scale * g[1] + wall * pull[1], scale * g[2] + wall * pull[2]
    weighed = scales.missing[0]
    missing = weighed * max(own - scales.share[0] * total - wall * share, ZERO)
    least = own * scales.rounded[0]
    s = ONE / np.sqrt(max(g[0] * g[0] + g[1] * g[1] + g[2] * g[2] + missing * missing + least * least, TINY))
    normals.value[i] = s * g[0], s * g[1], s * g[2], s * missing * weighed


@kernel
def contract(
    i, fluid: FluidParticles, normals: Normals, surfaces: Surfaces, neighbours: Neighbours, offsets: Offsets,
    inverse2: real, area: real, attraction: real
):  # fmt: skip
    """Add the forces of surface tension.

    `area` and `attraction` are the substep times the force of each for a tension of 1 [s m, s].
    """
    p, n = fluid.x[i], normals.value[i]
    none = inverse2 * ZERO
    f = none, none, none
    for k in range(offsets.start[i], offsets.start[i + 1]):
        j = neighbours.place[k]
        d, r2 = difference(fluid.x[j], p)
        m, root = normals.value[j], surfaces.root[fluid.phase[j]]
        w = max(ONE - r2 * inverse2, ZERO)
        c = n[0] - m[0], n[1] - m[1], n[2] - m[2]
        # d(w^2 d) = (w^2 - 4 w d d^T / support^2) dd;  d(w^3) = -6 w^2 d / support^2 dd
        a = root * area * w * w
        b = attraction * (THREE - w) + area * (n[3] + m[3])
        b = root * w * (w * b - area * FOUR * inverse2 * (c[0] * d[0] + c[1] * d[1] + c[2] * d[2]))
        f = f[0] + a * c[0] + b * d[0], f[1] + a * c[1] + b * d[1], f[2] + a * c[2] + b * d[2]
    s, v = fluid.inverse_mass[i] * surfaces.root[fluid.phase[i]], fluid.v[i]
    fluid.v[i] = v[0] + s * f[0], v[1] + s * f[1], v[2] + s * f[2]


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
                warn(
                    f"fluid: surface_tension: {material.surface_tension:g} N/m at a spacing of "
                    f"{fluids.smoothing.spacing:g} m needs substeps of {most:.2g} s or less, these are {h:.2g} s: "
                    f"take {math.ceil(h / most)} times as many, or a larger spacing; else drops burst",
                    FluidWarning,
                )


class Tension(Effect):
    """Surface tension."""

    field, phase, order = "surface_tension", "force", 1

    def __init__(self, fluids: "FluidModel", h: float, real: type) -> None:
        warn_of_long_substeps(fluids, h)
        smoothing, materials = fluids.smoothing, fluids.materials
        scale, volume = gradient_scale(smoothing), smoothing.spacing**3
        self._surfaces: Surfaces = Surfaces.zeros(len(materials), real)
        self._surfaces.root[...] = np.sqrt([m.surface_tension / DRAWN for m in materials])
        self._surfaces.wetting[...] = [min(2.0 * m.adhesion, 1.0) for m in materials]
        self._scales: Scales = Scales.zeros(1, real)
        self._scales.gradient[0], self._scales.share[0] = scale, scale * smoothing.support**2 / 6.0
        self._scales.missing[0], self._scales.rounded[0] = MISSING / smoothing.spacing, ROUNDED / smoothing.spacing
        # a plane in this kernel, by the gradient that it has in that of the densities
        sizes = wall_table(smoothing)[PUSH, : POINTS // 2 : -1].astype(real)
        shares = wall_table(replace(smoothing, kernel_id=SMOOTHING_KERNELS.index("poly6")))[
            SHARE, : POINTS // 2 : -1
        ].astype(real)
        self._shares = PlaneShares(real, size=sizes, share=shares)
        self._area = h * (1.0 - ATTRACTION) * volume * scale / lattice_area(smoothing)
        self._attraction = h * ATTRACTION / lattice_attraction(smoothing)
        self._normals: Normals = Normals.zeros(len(fluids.particles), real)

    def record(self, p: Program, fluid: "Fluid") -> None:
        """Change the velocities."""
        rows, neighbours, offsets = fluid.records
        lists = neighbours, offsets, fluid.inverse2
        records = rows, self._normals, self._surfaces
        p.launch(find_normal, *records, self._shares, self._scales, *lists, count=fluid.count)
        p.launch(contract, *records, *lists, self._area, self._attraction, count=fluid.count)
