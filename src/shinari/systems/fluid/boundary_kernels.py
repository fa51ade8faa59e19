"""Points of solids and other particles in the density of a fluid, and the pushes between the two.

    C_i += sum_b V_b W_ib               V_b: volume of a point, as a multiple of that of a particle of the fluid
    dx_i -= w_i L_i sum_b V_b grad W    the same push, turned round, acts on what carries the point

Akinci et al. 2012, Versatile rigid-fluid coupling. The push is the gradient of the density, with the multiplier of the
particle alone: what lies in a fluid then gets its buoyancy by virtual work, whether it is a grain or a ship. Solids
carry the other half of the pressure of the layer that lies on them by their contacts, at half a spacing.

Grains may be far smaller than the distance of the particles. The part of the push by the mean multiplier around a
grain b, M_b = sum_i L_i W_ib / sum_i W_ib, would vanish if the sum of the kernel were the same everywhere. Between the
particles of a lattice it is a quarter less than at them, so that some spacings below the surface that part
holds grains between the particles, and their weight is nothing against it. So it is left out:

    dx_b = w_b V_b sum_i (L_i - M_b) grad_i W_ib        and the opposite, pair by pair, for the particles
"""

import numpy as np

from shinari.compute import Kernel, convert, kernel, real
from shinari.compute.kernels import STEADY
from shinari.compute.once import once
from shinari.compute.scan import Offsets
from shinari.maths.vec3 import add, scale
from shinari.model.particles import Particles
from shinari.systems.fluid.boundary_lists import (
    BoundaryPoints,
    Entries,
    Grains,
    Owners,
    Pairs,
    PointState,
    Transposed,
)
from shinari.systems.fluid.records import FluidParticles, Impulses, Log, Solve, difference
from shinari.systems.fluid.smoothing import slope, weight

ZERO = np.float32(0.0)


@once
def add_points(smoothing: int) -> Kernel:
    """Kernel that adds what points contribute to the relative density of a particle and to its gradient."""

    @kernel(fastmath=STEADY)
    def add_points_near(
        i, fluid: FluidParticles, points: BoundaryPoints, offsets: Offsets, entries: Entries, starts: Offsets,
        pairs: Pairs, inverse2: real, weight_scale: real, slope_scale: real
    ):  # fmt: skip
        if offsets.start[i + 1] == offsets.start[i]:
            return
        none = inverse2 * ZERO
        total, g, p = none, fluid.gradient[i], fluid.x[i]
        for m in range(starts.start[i], starts.start[i + 1]):
            pairs.gradient[m] = none, none, none
        for k in range(offsets.start[i], offsets.start[i + 1]):
            b, m = entries.point[k], entries.pair[k]
            d, r2 = difference(p, points.at[b])
            q2, volume = r2 * inverse2, points.volume[b]
            total += volume * weight(smoothing, q2)
            part = scale(d, slope_scale * volume * slope(smoothing, q2))
            g = add(g, part)
            pairs.gradient[m] = add(pairs.gradient[m], part)
        fluid.density[i] += weight_scale * total
        fluid.gradient[i] = g

    return add_points_near


@kernel
def check_order(_, state: PointState, solve: Solve):
    """Ask for new lists when the particles are in another order."""
    if state.detections[0] != solve.detections[0]:
        state.stale[0], state.detections[0] = 1, solve.detections[0]


@kernel
def check_point(b, points: BoundaryPoints, state: PointState):
    """Ask for new lists when a point has gone too far; all that have write the same."""
    x, y, allowed = points.at[b], points.found_at[b], state.allowed[0]
    far = max(abs(x[0] - y[0]), max(abs(x[1] - y[1]), abs(x[2] - y[2])))
    if not far <= allowed:
        state.stale[0] = 1


@kernel
def finish_lists(_, state: PointState):
    """The lists are up to date."""
    state.stale[0] = 0


@kernel
def find_impulse(m, fluid: FluidParticles, pairs: Pairs, owners: Owners):
    """Push on the particle of a pair by the last column of x."""
    g, change = pairs.gradient[m], owners.mean[pairs.owner[m]] - fluid.x[pairs.place[m], 3]
    pairs.push[m] = change * g[0], change * g[1], change * g[2]


@kernel(mixed=True)
def add_impulse(m, pairs: Pairs, solve: Solve, searched: np.int64):
    """Add the push to the impulse; times the length of the step if it is that of the direction."""
    length = solve.length[0] if searched != 0 else 1.0
    push, impulse = pairs.push[m], pairs.impulse[m]
    pairs.impulse[m] = impulse[0] + length * push[0], impulse[1] + length * push[1], impulse[2] + length * push[2]


@kernel
def clear_owner(o, owners: Owners, zero: real):
    """No pairs yet."""
    owners.whole[o] = zero


@kernel
def add_responses(_, pairs: Pairs, owners: Owners, state: PointState):
    """Sum of the responses of each carrier."""
    for m in range(state.pairs[0]):
        owners.whole[pairs.owner[m]] += pairs.response[m]


@kernel
def stiffen(i, fluid: FluidParticles, starts: Offsets, pairs: Pairs, owners: Owners):
    """Add to the stiffness of a particle how far the carriers give way to it and to all others at once.

    What n particles push at once moves by the sum of their pushes. The sum over a row of the matrix of such a carrier,
    by the inequality of Cauchy and Schwarz at most a_i sum_j a_j with a^2 = grad w grad, bounds what they bring about;
    splitting the mass does the same (Tonge, Benevolenski, Voroshilov 2012).
    """
    for m in range(starts.start[i], starts.start[i + 1]):
        fluid.stiffness[i] += pairs.response[m] * owners.whole[pairs.owner[m]]


@once
def find_mean(smoothing: int) -> Kernel:
    """Kernel for the mean of the last column of x around a grain; 0 for other points."""

    @kernel(fastmath=STEADY)
    def find_mean_around(b, points: BoundaryPoints, grains: Grains, owners: Owners, theirs: Offsets,
                         transposed: Transposed, pairs: Pairs, fluid: FluidParticles, inverse2: real):  # fmt: skip
        zero = inverse2 * ZERO
        at, total, mean = points.at[b], zero, zero
        for k in range(theirs.start[b], theirs.start[b + 1] if grains.diameter[b] > ZERO else theirs.start[b]):
            i = np.int64(pairs.place[transposed.entry[k]])
            _, r2 = difference(fluid.x[i], at)
            a = weight(smoothing, r2 * inverse2)
            total, mean = total + a, mean + a * fluid.x[i, 3]
        owners.mean[b] = mean / total if total > ZERO else zero

    return find_mean_around


@kernel
def clear_mean(o, owners: Owners, zero: real):
    """The whole multiplier pushes."""
    owners.mean[o] = zero


@kernel(fastmath=STEADY, mixed=True)
def return_mean(i, fluid: FluidParticles, particles: Particles, starts: Offsets, pairs: Pairs, owners: Owners,
                solve: Solve):  # fmt: skip
    """Take back from a particle what the mean multipliers around grains have pushed."""
    x = fluid.x[i]
    if starts.start[i + 1] > starts.start[i]:
        zero = x[3] * ZERO
        u = zero, zero, zero
        for m in range(starts.start[i], starts.start[i + 1]):
            u = add(u, scale(pairs.gradient[m], owners.mean[pairs.owner[m]]))
        s = fluid.particle[i]
        y, by = particles.x[s], scale(u, convert(solve.length[0], zero) * fluid.inverse_mass[i])
        particles.x[s] = y[0] + by[0], y[1] + by[1], y[2] + by[2], y[3]
        fluid.x[i] = y[0] + by[0], y[1] + by[1], y[2] + by[2], x[3]


@kernel
def count_impulses(_, pairs: Pairs, state: PointState, log: Log):
    """How many pairs have pushed, beside what is in the log."""
    total = log.count[0]
    for m in range(state.pairs[0]):
        impulse = pairs.impulse[m]
        total += 1 if impulse[0] != 0.0 or impulse[1] != 0.0 or impulse[2] != 0.0 else 0
    log.room[0] = total


@kernel
def log_impulses(_, pairs: Pairs, owners: Owners, state: PointState, log: Log, impulses: Impulses):
    """Put the impulses of the pairs into the log, and forget the pairs."""
    at = log.count[0]
    for m in range(state.pairs[0]):
        impulse = pairs.impulse[m]
        if impulse[0] != 0.0 or impulse[1] != 0.0 or impulse[2] != 0.0:
            impulses.particle[at], impulses.other[at] = pairs.particle[m], owners.other[pairs.owner[m]]
            impulses.impulse[at] = impulse
            at += 1
    log.count[0], state.pairs[0] = at, 0
