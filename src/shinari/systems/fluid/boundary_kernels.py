"""Points of solids and other particles in the density of a fluid, and the pushes between the two.

    C_i += sum_b V_b W_ib               V_b: volume of a point, as a multiple of that of a particle of the fluid
    dx_i -= w_i L_i sum_b V_b grad W    the same push, turned round, acts on what carries the point

Akinci et al. 2012, Versatile rigid-fluid coupling. The push is the gradient of the density, with the multiplier of the
particle alone: what lies in a fluid then gets its buoyancy by virtual work, whether it is a grain or a ship. Solids
carry the other half of the pressure of the layer that lies on them by their contacts, at half a spacing.
"""

import numpy as np

from shinari.compute import Kernel, kernel, real
from shinari.compute.kernels import STEADY
from shinari.compute.once import once
from shinari.compute.scan import Offsets
from shinari.maths.vec3 import add, scale
from shinari.systems.fluid.boundary_lists import BoundaryPoints, Entries, Owners, Pairs, PointState
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
def find_impulse(m, fluid: FluidParticles, pairs: Pairs):
    """Push on the particle of a pair by the last column of x."""
    g, change = pairs.gradient[m], -fluid.x[pairs.place[m], 3]
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
