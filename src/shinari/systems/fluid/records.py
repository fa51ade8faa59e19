"""Records that the systems of a fluid share."""

from typing import Any

import numpy as np

from shinari.collision.broad.neighbours import Neighbours
from shinari.compute import Field, Record, function, real
from shinari.compute.scan import Offsets

__all__ = [
    "FluidParticles",
    "Impulses",
    "Log",
    "Members",
    "Neighbours",
    "Offsets",
    "Phases",
    "Solve",
    "difference",
    "logged",
]


class FluidParticles(Record):
    """Particles of the fluids in the order of the grid, which changes with each detection; only active ones."""

    x = Field(real, 4, unit="m, kg m^2", doc="position relative to the origin of the fluids, change of the multiplier")
    v = Field(real, 3, unit="m/s", doc="velocity, while velocities are changed")
    displacement = Field(real, 3, unit="m", doc="while positions are changed: the same memory as the velocity")
    gradient = Field(real, 3, unit="1/m", doc="gradient of the density in x by solids")
    density = Field(real, doc="relative density")
    stiffness = Field(real, unit="1/(kg m^2)", doc="diagonal of the matrix: sum of w |grad C|^2")
    multiplier = Field(real, unit="kg m^2", doc="multiplier of the substep")
    step = Field(real, unit="kg m^2", doc="change of the multiplier that each row alone would make")
    direction = Field(real, unit="kg m^2", doc="direction of the search")
    inverse_mass = Field(real, unit="1/kg")
    phase = Field(np.uint8, doc="fluid")
    particle = Field(np.uint32, doc="particle in solver order")
    member = Field(np.uint32, doc="row of `Members`")


class Members(Record):
    """All particles of the fluids, one fluid after the other, P rows; `active` where some may be inactive."""

    particle = Field(np.uint32, doc="particle in solver order")
    phase = Field(np.uint8, doc="fluid")
    pressure = Field(real, unit="Pa", saved=True)
    density = Field(real, doc="relative density", saved=True)
    active = Field(np.uint32, doc="the active members, ascending, in the first rows", optional=True)


class Phases(Record):
    """The fluids."""

    floor = Field(real, unit="kg m^2", doc="least multiplier: 0, or minus infinity where pressures may be negative")
    scaled_compliance = Field(real, unit="1/(kg m^2)", doc="compliance over h^2")


class Solve(Record):
    """One row: where the solver is."""

    count = Field(np.int64, doc="active particles")
    chunks = Field(np.int64, doc="chunks of them")
    groups = Field(np.int64, doc="groups of chunks")
    stale = Field(np.int64, doc="whether the neighbours have to be found anew")
    moving = Field(np.int64, doc="whether a substep has begun: predicted positions are known")
    detections = Field(np.int64, doc="how often they were found")
    moved = Field(np.int64, doc="whether particles have moved since their densities were summed up")
    done = Field(np.int64, doc="whether the density is as wanted")
    first = Field(np.int64, doc="whether the next direction is the first of a solve")
    size = Field(np.float64, doc="z D z of the last iteration")
    slope = Field(np.float64, doc="z D p")
    response = Field(np.float64, unit="kg m^2", doc="part of p A p by the response of solids")
    beta = Field(np.float64)
    length = Field(np.float64, doc="alpha of the last iteration")


@function
def difference(p, q):
    """Vector from q to p, and the square of its length [m^2]."""
    d = p[0] - q[0], p[1] - q[1], p[2] - q[2]
    return d, d[0] * d[0] + d[1] * d[1] + d[2] * d[2]


class Log(Record):
    """One row: how many impulses are logged. They are kept when the lists that they belong to are made anew."""

    count = Field(np.int64, doc="impulses so far")
    room = Field(np.int64, doc="rows that are needed")


class Impulses(Record):
    """Impulses of a step, as many rows as `Log.count` says."""

    particle = Field(np.uint32, doc="particle in solver order")
    other = Field(np.int64, doc="solid, or particle")
    normal = Field(np.float64, 3, doc="from the other to the particle")
    impulse = Field(np.float64, 3, unit="N s")


def logged(log: Log, impulses: Impulses) -> tuple[Any, ...]:
    """The columns of the impulses so far."""
    count = int(log.count[0])
    return tuple(impulses.arrays[name][:count] for name in Impulses.fields)
