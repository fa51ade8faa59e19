"""Wind and drag on triangles.

A triangle of area A and normal n that moves at u relative to the air feels, split along and across its normal,

    F = -(rho / 2) A |u| (C_n u_n + C_t u_t),    u_n = (u . n) n,  u_t = u - u_n

shared equally by its corners. Taken explicitly a light cloth in strong wind overshoots the wind and gains energy, so
the force of a corner is divided by 1 + n h w c, with w its inverse mass, c the force per velocity and n the triangles
of the particle: that is the implicit step of the same law with |u| held and n triangles alike, and whatever they are,
all of them together can at most bring the particle to the speed of the air.
"""

import numpy as np

from shinari import check
from shinari.compute import Field, Program, Record, convert, kernel, real
from shinari.compute.scan import Offsets
from shinari.maths.vec3 import ONE, add, cross, dot, norm, reciprocal, scale, sub
from shinari.model.model import Model
from shinari.model.particles import Clock, Particles
from shinari.model.settings import Settings
from shinari.model.state import State
from shinari.model.system import System
from shinari.scene.contents import Contents
from shinari.systems.failure.tearing import air_left

# divided by, since a third in single precision would serve float64 too
THREE, SIX = np.float32(3.0), np.float32(6.0)


class Triangles(Record):
    """Triangles in the air, F rows."""

    particles = Field(np.uint32, 3)
    drag = Field(
        real, 2, unit="kg/m^3", doc="half the air density times the drag coefficients along and across the normal"
    )


class Corners(Record):
    """Corners of the triangles, 3 F rows: triangle t has the corners 3 t to 3 t + 2."""

    kick = Field(real, 3, unit="m/s", doc="change of velocity in a substep")
    by_particle = Field(np.uint32, doc="corners of each particle, one particle after the other")


class Wind(Record):
    """Velocity of the air, one row for each substep."""

    velocity = Field(real, 3, unit="m/s")


@kernel
def find_kicks(
    t, triangles: Triangles, corners: Corners, offsets: Offsets, particles: Particles, wind: Wind, clock: Clock, h: real
):
    """Change of velocity of the corners of a triangle."""
    i, j, k = triangles.particles[t]
    p, q, r = particles.x[i], particles.x[j], particles.x[k]
    edge, side = sub(q, p), sub(r, p)
    normal = cross(edge, side)
    double_area = norm(normal)
    n = scale(normal, reciprocal(double_area))
    a, b, c = particles.v[i], particles.v[j], particles.v[k]
    air = wind.velocity[clock.substep[0]]
    u = (
        (a[0] + b[0] + c[0]) / THREE - air[0],
        (a[1] + b[1] + c[1]) / THREE - air[1],
        (a[2] + b[2] + c[2]) / THREE - air[2],
    )
    along = scale(n, dot(u, n))
    across = sub(u, along)
    rate = double_area * norm(u) / SIX
    drag = triangles.drag[t]
    normal_rate, tangential_rate = rate * drag[0], rate * drag[1]
    for corner in range(3):
        m = triangles.particles[t, corner]
        w = h * particles.x[m, 3]
        nw = convert(offsets.start[m + 1] - offsets.start[m], w) * w
        f = -w * normal_rate / (ONE + nw * normal_rate)
        g = -w * tangential_rate / (ONE + nw * tangential_rate)
        corners.kick[3 * t + corner] = add(scale(along, f), scale(across, g))


@kernel
def apply_kicks(i, corners: Corners, offsets: Offsets, particles: Particles):
    """Add the kicks of its corners to the velocity of a particle."""
    v = particles.v[i]
    for k in range(offsets.start[i], offsets.start[i + 1]):
        v = add(v, corners.kick[corners.by_particle[k]])
    particles.v[i] = v


def tabulate(table: Wind, model: Model, ends: np.ndarray) -> None:
    """Write the wind at the ends of the substeps [s] into a table."""
    wind = model.wind
    for k, end in enumerate(ends):
        table.velocity[k] = check.vector("wind", f"at t = {end:g} s", wind(end)) if callable(wind) else wind


class Air(System):
    """Triangles of one simulation in the air.

    Attributes:
        triangles: The triangles; one that is gone has no drag.
    """

    order = 1
    on_device = True

    def __init__(
        self, scene: Contents, model: Model, state: State, settings: Settings, particles: Particles, clock: Clock
    ) -> None:
        air = model.air
        assert air is not None
        self._scene, self._state = scene, state
        self._model, self._settings, self._particles, self._clock = model, settings, particles, clock
        real = model.real
        self.triangles = Triangles(real, particles=air.triangles, drag=air.drag.copy())
        kicks = np.zeros((3 * len(air.triangles), 3), real)
        self._corners = Corners(real, kick=kicks, by_particle=air.corners)
        self._offsets = Offsets(real, start=air.corner_offsets)
        self._wind = Wind.zeros(settings.substeps, real)
        if not self.needs_python:
            self._wind.velocity[...] = model.wind
        self.follow_release()

    @property
    def can_rest(self) -> bool:
        """Whether the wind is always the same."""
        return not self.needs_python

    @property
    def needs_python(self) -> bool:
        """Whether the wind is a function of time."""
        return callable(self._model.wind)

    def begin(self, time: float, ends: np.ndarray) -> None:
        """Tabulate a wind that changes at the ends of the substeps [s]."""
        if self.needs_python:
            tabulate(self._wind, self._model, ends)

    def follow_release(self) -> None:
        """Triangles that have torn have no drag."""
        air = self._model.air
        if air is None or not self._model.tearable_meshes:
            return
        left = air_left(self._scene, self._model, self._state)
        self.triangles.drag[...] = np.where(left[:, None], air.drag, 0)

    def record_forces(self, p: Program) -> None:
        """Wind and drag change the velocities."""
        records = self.triangles, self._corners, self._offsets, self._particles
        count, h = len(self.triangles), self._settings.substep
        p.launch(find_kicks, *records, self._wind, self._clock, h, count=count)
        p.launch(apply_kicks, self._corners, self._offsets, self._particles, count=len(self._particles))
