"""Loads on rigid bodies by the particles of fluids, and how the bodies follow them at once.

The arm of a push is that of the particle at the start of the substep, as in `shinari.systems.coupling.response`: the
angular momentum that a body gets is the exact opposite of what the particle gets.
"""

import numpy as np

from shinari.compute import Field, Record, function, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.vec3 import add, dot, scale, sub
from shinari.systems.fluid.records import Solve
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.integration import symmetric_times, turned_by_moment


class FrameLoads(Record):
    """One row for each frame."""

    load = Field(np.float64, 6, unit="kg m, kg m^2", doc="sum of the pushes on particles at it, and of their moments")
    touched = Field(np.float64, doc="how many push it")


@function(fastmath=STEADY)
def wide(v):
    """Three numbers in double precision."""
    return np.float64(v[0]), np.float64(v[1]), np.float64(v[2])


@function(fastmath=STEADY)
def arm_at_start(particles, s, origins, origin_index, frames, b, h):
    """From the origin of a frame to a particle, both at the start of the substep [m]."""
    p, v = wide(particles.predicted[s]), wide(particles.v[s])
    return sub(add(origins.position[origin_index], sub(p, scale(v, h))), frames.x0[b])


@kernel
def clear_load(b, loads: FrameLoads):
    """No load on a frame."""
    loads.load[b] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    loads.touched[b] = 0.0


@function(fastmath=STEADY)
def add_load(loads, b, push, moment):
    """Add a push on a particle, and its moment about the origin of the frame."""
    f = loads.load[b]
    loads.load[b] = (
        f[0] + push[0], f[1] + push[1], f[2] + push[2], f[3] + moment[0], f[4] + moment[1], f[5] + moment[2]
    )  # fmt: skip


@function(fastmath=STEADY)
def square_of(frames, b, push, moment):
    """How far a frame gives way to a push and its moment: F w F."""
    return frames.inverse_mass[b] * dot(push, push) + dot(moment, symmetric_times(frames.inverse_inertia, b, moment))


@kernel(fastmath=STEADY)
def add_response(_, loads: FrameLoads, frames: Frames, solve: Solve):
    """Add F w F of all loads to what solids give way."""
    total = 0.0
    for b in range(len(loads)):
        f = loads.load[b]
        total += square_of(frames, b, (f[0], f[1], f[2]), (f[3], f[4], f[5]))
    solve.response[0] += total


@kernel(fastmath=STEADY)
def apply_load(b, loads: FrameLoads, frames: Frames, solve: Solve, h: np.float64, searched: np.int64):
    """Give a frame the opposite of its load, times the length of the step if it is that of the direction."""
    length = solve.length[0] if searched != 0 else 1.0
    f = loads.load[b]
    push, moment = scale((f[0], f[1], f[2]), -length), scale((f[3], f[4], f[5]), -length / h)
    if frames.inverse_mass[b] <= 0.0:
        return
    frames.x[b] = add(frames.x[b], scale(push, frames.inverse_mass[b]))
    i = frames.impulses[b]
    frames.impulses[b] = (
        i[0] + push[0] / h, i[1] + push[1] / h, i[2] + push[2] / h, i[3] + moment[0], i[4] + moment[1],
        i[5] + moment[2],
    )  # fmt: skip
    if dot(moment, moment) > 0.0:
        frames.q[b] = turned_by_moment(frames, b, frames.q[b], moment, h)
