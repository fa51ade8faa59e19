"""Gather and scatter between the particles of the solver and those of the fluids, which have an order of their own."""

import numpy as np

from shinari.collision.broad.grid import Points, SortedPoints
from shinari.compute import kernel, real
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.model.particles import Particles
from shinari.systems.fluid.records import FluidParticles, Members, Solve, difference

ZERO = np.float32(0.0)


@kernel
def copy_positions(i, fluid: FluidParticles, particles: Particles):
    """Take the position of a particle from the solver."""
    x = particles.x[fluid.particle[i]]
    fluid.x[i] = x[0], x[1], x[2], fluid.x[i, 3]


@kernel
def move(i, fluid: FluidParticles, particles: Particles):
    """Move a particle by its displacement, here and in the solver."""
    s, by = fluid.particle[i], fluid.displacement[i]
    x = particles.x[s]
    moved = x[0] + by[0], x[1] + by[1], x[2] + by[2]
    particles.x[s] = moved[0], moved[1], moved[2], x[3]
    fluid.x[i] = moved[0], moved[1], moved[2], fluid.x[i, 3]


@kernel
def read_velocities(i, fluid: FluidParticles, particles: Particles):
    """Take position and velocity of a particle from the solver."""
    s = fluid.particle[i]
    x = particles.x[s]
    fluid.x[i] = x[0], x[1], x[2], fluid.x[i, 3]
    fluid.v[i] = particles.v[s]


@kernel
def write_velocities(i, fluid: FluidParticles, particles: Particles):
    """Give the velocity of a particle to the solver."""
    particles.v[fluid.particle[i]] = fluid.v[i]


@kernel
def publish(i, fluid: FluidParticles, members: Members, scale: real):
    """Write pressure and relative density; `scale` makes a pressure [Pa] of a multiplier."""
    m = fluid.member[i]
    members.pressure[m] = scale * fluid.multiplier[i]
    members.density[m] = fluid.density[i]


@steady
def active_member(members, i, some_wait):
    """Active member number i."""
    return np.int64(members.active[i]) if some_wait else np.int64(i)


@kernel
def place_points(i, members: Members, particles: Particles, points: Points, some_wait: int):
    """Give the position of an active particle to the grid; `some_wait`: whether others are not active."""
    x = particles.x[members.particle[active_member(members, i, some_wait)]]
    points.at[i] = x[0], x[1], x[2], ZERO * x[3]


@kernel
def arrange(
    i, fluid: FluidParticles, members: Members, particles: Particles, ordered: SortedPoints, some_wait: int
):  # fmt: skip
    """Take over all that belongs to the member that has got this place in the grid."""
    m = active_member(members, ordered.index[i], some_wait)
    s, phase = members.particle[m], members.phase[m]
    fluid.member[i], fluid.particle[i], fluid.phase[i] = m, s, phase
    x = particles.x[s]
    fluid.inverse_mass[i] = x[3]
    fluid.x[i] = x[0], x[1], x[2], fluid.x[i, 3]


@kernel(fastmath=STEADY, mixed=True)
def check_distance(i, fluid: FluidParticles, ordered: SortedPoints, solve: Solve, allowed: np.float64):
    """Ask for a detection where a particle has gone farther than the square root of `allowed` [m]."""
    _, square = difference(fluid.x[i], (ordered.x[i], ordered.y[i], ordered.z[i]))
    # what is no number counts as far; whichever thread writes, it is the same number
    if not np.float64(square) <= allowed:
        solve.stale[0] = 1


@kernel
def count_detection(_, solve: Solve):
    """The neighbours are up to date."""
    solve.stale[0] = 0
    solve.detections[0] += 1
