"""Drag between a fluid and the grains in it, which are far smaller than what the fluid resolves.

    F_b = pi/8 d^2 rho (0.63 sqrt w + 4.8 sqrt(mu / (rho d)))^2 w e^-x        w = e |u|: superficial velocity
    x   = 3.7 - 0.65 exp(-(1.5 - log10 Re)^2 / 2),     Re = rho d w / mu      e: part of the volume that is fluid
    u   = sum_i a_bi v_i - v_b,                        a_bi = W_ib / sum_j W_jb

The drag coefficient (0.63 + 4.8 / sqrt Re)^2 is that of Dallavalle 1948, from creeping flow (23.04 / Re, Stokes has
24 / Re) up to the crisis at Re = 2e5, and the power of the voidage e that of Di Felice 1994, The voidage function for
fluid-particle interaction systems, measured from 0.4 to 1. Particle i of the fluid gets -a_bi F_b, so that momentum is
kept to rounding. The volumes of grains press on the fluid, see `boundary_kernels`: buoyancy is no part of the drag.

With K = h |F| / |u| the impulse on a grain in a substep h is

    J_b = K_b u_b / max(1, q_b),     q_b = w_b K_b + sum_i a_bi w_i sum_c a_ci K_c,

explicit in the slip u, since that is what the substep has gone with: a grain falls at its terminal velocity whatever
h is, as long as that is above g h. The matrix of the change of all slips has no eigenvalue beyond one (its rows, scaled
by K, add up to q / max(1, q)): no slip is turned round and energy never grows, however many grains brake a particle.
"""

from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Field, Kernel, Program, Record, function, kernel, real
from shinari.compute.kernels import STEADY
from shinari.compute.once import once
from shinari.maths.vec3 import add, norm, scale, sub
from shinari.model.particles import Particles
from shinari.systems.fluid.boundary_lists import BoundaryPoints, Entries, Grains, Pairs, Transposed
from shinari.systems.fluid.effects.base import Effect
from shinari.systems.fluid.records import FluidParticles, Offsets, difference
from shinari.systems.fluid.smoothing import weight

if TYPE_CHECKING:
    from shinari.systems.fluid.model import FluidModel
    from shinari.systems.fluid.system import Fluid

ZERO, HALF, ONE = np.float32(0.0), np.float32(0.5), np.float32(1.0)
TINY = np.float32(1e-30)
# Dallavalle's drag coefficient, and the voidage below which the law of Di Felice was not measured.
INERTIAL, VISCOUS, LEAST_VOIDAGE = np.float32(0.63), np.float32(4.8), np.float32(0.4)
POWER, DIP, MIDDLE, LOG10 = np.float32(3.7), np.float32(0.65), np.float32(1.5), np.float32(1.0 / np.log(10.0))
# A grain counts as immersed with so much of the fluid around it that there is on average: sums over a lattice vary.
IMMERSED = 0.75


class Liquids(Record):
    """The fluids."""

    density = Field(real, unit="kg/m^3")
    viscosity = Field(real, unit="Pa s")
    strength = Field(real, unit="kg s/m^3", doc="substep times pi/8 rho times the factor on the law")


class Shares(Record):
    """Rows of `FluidParticles`."""

    solid = Field(real, doc="sum of the kernel over the grains around a particle, times their volumes")
    conductance = Field(real, unit="kg", doc="sum over the grains around it")


@once
def find_solid(kernel_id: int) -> Kernel:
    """Kernel for the volume of points around a particle of the fluid."""

    @kernel(fastmath=STEADY)
    def sum_volumes(i, fluid: FluidParticles, shares: Shares, points: BoundaryPoints, offsets: Offsets,
                    entries: Entries, inverse2: real):  # fmt: skip
        p, total = fluid.x[i], inverse2 * ZERO
        for k in range(offsets.start[i], offsets.start[i + 1]):
            b = entries.point[k]
            _, r2 = difference(p, points.at[b])
            total += points.volume[b] * weight(kernel_id, r2 * inverse2)
        shares.solid[i] = total

    return sum_volumes


@function(fastmath=STEADY)
def conductance(speed, diameter, density, viscosity, strength, voidage):
    """Impulse over the slip, K; `strength` is that of `Liquids`."""
    flow = voidage * speed
    reynolds = max(density * diameter * flow / max(viscosity, TINY), TINY)
    away = MIDDLE - LOG10 * np.log(reynolds)
    power = POWER - DIP * np.exp(-HALF * away * away)
    root = INERTIAL * np.sqrt(flow) + VISCOUS * np.sqrt(viscosity / (density * diameter))
    return strength * diameter * diameter * np.exp((ONE - power) * np.log(voidage)) * root * root


@once
def find_slip(kernel_id: int) -> Kernel:
    """Kernel for the slip and the conductance of a grain."""

    @kernel(fastmath=STEADY)
    def measure_grain(b, grains: Grains, points: BoundaryPoints, theirs: Offsets, transposed: Transposed, pairs: Pairs,
                      fluid: FluidParticles, shares: Shares, liquids: Liquids, particles: Particles, inverse2: real,
                      immersed: real):  # fmt: skip
        zero = inverse2 * ZERO
        at, volume, diameter = points.at[b], points.volume[b], grains.diameter[b]
        total, solid, density, viscosity, strength = zero, zero, zero, zero, zero
        u = zero, zero, zero
        for k in range(theirs.start[b], theirs.start[b + 1] if diameter > ZERO else theirs.start[b]):
            i = np.int64(pairs.place[transposed.entry[k]])
            _, r2 = difference(fluid.x[i], at)
            a, phase = weight(kernel_id, r2 * inverse2), np.int64(fluid.phase[i])
            total, u = total + a, add(u, scale(fluid.v[i], a))
            # a lone grain is not in its own way
            solid += a * (shares.solid[i] - volume * a)
            density += a * liquids.density[phase]
            viscosity += a * liquids.viscosity[phase]
            strength += a * liquids.strength[phase]
        grains.total[b] = total
        if total <= ZERO:
            return
        inverse, s = ONE / total, grains.particle[b]
        slip = sub(scale(u, inverse), particles.v[s])
        filled = total + solid * inverse
        voidage = min(max(total / filled, LEAST_VOIDAGE), ONE)
        strength *= inverse * min(filled * immersed, ONE)
        grains.slip[b] = slip
        grains.conductance[b] = conductance(
            norm(slip), diameter, density * inverse, viscosity * inverse, strength, voidage
        )

    return measure_grain


@once
def share_conductance(kernel_id: int) -> Kernel:
    """Kernel for the sum of the conductances of the grains around a particle of the fluid."""

    @kernel(fastmath=STEADY)
    def sum_conductances(i, fluid: FluidParticles, shares: Shares, grains: Grains, points: BoundaryPoints,
                         offsets: Offsets, entries: Entries, inverse2: real):  # fmt: skip
        p, total = fluid.x[i], inverse2 * ZERO
        for k in range(offsets.start[i], offsets.start[i + 1]):
            b = entries.point[k]
            if grains.total[b] > ZERO:
                _, r2 = difference(p, points.at[b])
                total += weight(kernel_id, r2 * inverse2) / grains.total[b] * grains.conductance[b]
        shares.conductance[i] = total

    return sum_conductances


@once
def pull_grain(kernel_id: int) -> Kernel:
    """Kernel that gives a grain its impulse, and puts that in the place of the slip."""

    @kernel(fastmath=STEADY)
    def give_impulse(b, grains: Grains, points: BoundaryPoints, theirs: Offsets, transposed: Transposed, pairs: Pairs,
                     fluid: FluidParticles, shares: Shares, particles: Particles, inverse2: real):  # fmt: skip
        if grains.total[b] <= ZERO:
            return
        at, inverse, s = points.at[b], ONE / grains.total[b], grains.particle[b]
        bound = particles.x[s, 3] * grains.conductance[b]
        for k in range(theirs.start[b], theirs.start[b + 1]):
            i = np.int64(pairs.place[transposed.entry[k]])
            _, r2 = difference(fluid.x[i], at)
            a = inverse * weight(kernel_id, r2 * inverse2)
            bound += a * fluid.inverse_mass[i] * shares.conductance[i]
        impulse = scale(grains.slip[b], grains.conductance[b] / max(bound, ONE))
        grains.slip[b] = impulse
        particles.v[s] = add(particles.v[s], scale(impulse, particles.x[s, 3]))

    return give_impulse


@once
def brake_fluid(kernel_id: int) -> Kernel:
    """Kernel that gives a particle of the fluid its part of the opposite impulses."""

    @kernel(fastmath=STEADY)
    def take_impulses(i, fluid: FluidParticles, grains: Grains, points: BoundaryPoints, offsets: Offsets,
                      entries: Entries, inverse2: real):  # fmt: skip
        p, zero = fluid.x[i], inverse2 * ZERO
        total = zero, zero, zero
        for k in range(offsets.start[i], offsets.start[i + 1]):
            b = entries.point[k]
            if grains.total[b] > ZERO:
                _, r2 = difference(p, points.at[b])
                total = add(total, scale(grains.slip[b], weight(kernel_id, r2 * inverse2) / grains.total[b]))
        fluid.v[i] = sub(fluid.v[i], scale(total, fluid.inverse_mass[i]))

    return take_impulses


class GrainDrag(Effect):
    """Drag between fluids and grains, as an exchange of impulses."""

    field, phase, order = "grain_drag", "velocity", 3
    of_grains = True

    def __init__(self, fluids: "FluidModel", h: float, real: type) -> None:
        materials = fluids.materials
        self._liquids: Liquids = Liquids.zeros(len(materials), real)
        self._liquids.density[...] = [m.rest_density for m in materials]
        self._liquids.viscosity[...] = [m.viscosity for m in materials]
        self._liquids.strength[...] = [h * np.pi / 8.0 * m.rest_density * m.grain_drag for m in materials]
        self._shares: Shares = Shares.zeros(len(fluids.particles), real)

    def record(self, p: Program, fluid: "Fluid") -> None:
        """Change the velocities of the fluid and of its grains."""
        boundary = fluid.grains
        if boundary is None:
            return
        lists, points, rows, shares = boundary.lists, boundary.points, fluid.rows, self._shares
        grains, smoothing, each = boundary.grains, fluid.model.smoothing, fluid.count
        number, inverse2 = smoothing.kernel_id, fluid.inverse2
        of_fluid, of_grain = (points, lists.offsets, lists.entries), (lists.theirs, lists.transposed, lists.pairs)
        immersed = smoothing.weight_scale / (IMMERSED * smoothing.mean_sum)
        boundary.carrier.record_place(p, fluid, points)
        p.launch(find_solid(number), rows, shares, *of_fluid, inverse2, count=each)
        p.launch(find_slip(number), grains, points, *of_grain, rows, shares, self._liquids, fluid.particles, inverse2,
                 immersed, count=len(grains))  # fmt: skip
        p.launch(share_conductance(number), rows, shares, grains, *of_fluid, inverse2, count=each)
        p.launch(pull_grain(number), grains, points, *of_grain, rows, shares, fluid.particles, inverse2,
                 count=len(grains))  # fmt: skip
        p.launch(brake_fluid(number), rows, grains, *of_fluid, inverse2, count=each)
