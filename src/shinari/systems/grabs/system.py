"""Grabs in a step: a spring between what is held and its target; formulas: `shinari.systems.grabs.queries`."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Field, Program, Record, convert, function, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.vec3 import add, dot, norm, scale, sub
from shinari.model.particles import Clock, Origins, Particles
from shinari.model.settings import Settings
from shinari.model.state import State
from shinari.model.system import System

if TYPE_CHECKING:
    from shinari.systems.grabs.queries import Grab
    from shinari.systems.rigid.frames import Frames

NOTHING = -1


class GrabbedPoints(Record):
    """Held points, a row for each grab."""

    slot = Field(np.int64, doc="particle in solver order, or -1")
    body = Field(np.int64, doc="frame of a body, or -1")
    local = Field(np.float64, 3, unit="m", doc="place in the axes of the frame")
    begin = Field(np.float64, 3, unit="m", doc="target at the start of the step")
    end = Field(np.float64, 3, unit="m", doc="target at its end")
    scaled_compliance = Field(np.float64, unit="1/kg", doc="a of the spring with its damping")
    gamma = Field(np.float64, doc="weight of the start of the substep beside the target, by damping")
    reach = Field(np.float64, unit="m", doc="how far the target is from the start of the substep at most")
    multiplier = Field(np.float64, 3, unit="kg m", doc="push in this substep")
    start = Field(np.float64, 3, unit="m", doc="place at the start of the substep")
    place = Field(np.float64, 3, unit="m", doc="place at the end of the last one")
    work = Field(np.float64, unit="J", doc="work in this step")


class Counts(Record):
    """One row."""

    all = Field(np.int64)
    particles = Field(np.int64)
    bodies = Field(np.int64)


@function(fastmath=STEADY)
def aim(k, grabbed, fraction):
    """Target of a grab when a fraction of the step has passed."""
    start = grabbed.start[k]
    target = add(grabbed.begin[k], scale(sub(grabbed.end[k], grabbed.begin[k]), fraction))
    away = sub(target, start)
    length = norm(away)
    if length > grabbed.reach[k]:
        target = add(start, scale(away, grabbed.reach[k] / length))
    gamma = grabbed.gamma[k]
    return scale(add(target, scale(start, gamma)), 1.0 / (1.0 + gamma))


@kernel(fastmath=STEADY, mixed=True)
def pull_particles(
    _,
    grabbed: GrabbedPoints,
    counts: Counts,
    particles: Particles,
    origins: Origins,
    clock: Clock,
    first: int,
    h: np.float64,
    fraction: np.float64,
):
    """Solve the grabs of particles once; one that has been fixed meanwhile is not pulled."""
    for k in range(counts.all[0]):
        i = grabbed.slot[k]
        if i != NOTHING:
            origin, x, zero = origins.position[particles.origin_index[i]], particles.x[i], (0.0, 0.0, 0.0)
            if first != 0:
                p, v = particles.predicted[i], particles.v[i]
                grabbed.multiplier[k] = zero
                grabbed.start[k] = (
                    origin[0] + np.float64(p[0]) - h * np.float64(v[0]),
                    origin[1] + np.float64(p[1]) - h * np.float64(v[1]),
                    origin[2] + np.float64(p[2]) - h * np.float64(v[2]),
                )
            w, soft, m = np.float64(x[3]), grabbed.scaled_compliance[k], grabbed.multiplier[k]
            here = np.float64(x[0]), np.float64(x[1]), np.float64(x[2])
            error = sub(here, sub(aim(k, grabbed, fraction * np.float64(clock.substep[0] + 1)), origin))
            if w > 0.0:
                change = scale(add(error, scale(m, soft)), -1.0 / (w + soft))
                grabbed.multiplier[k] = add(m, change)
                particles.x[i] = (
                    convert(here[0] + w * change[0], x[0]),
                    convert(here[1] + w * change[1], x[0]),
                    convert(here[2] + w * change[2], x[0]),
                    x[3],
                )
            else:
                grabbed.multiplier[k] = zero


@kernel(fastmath=STEADY, mixed=True)
def add_work_on_particles(
    _, grabbed: GrabbedPoints, counts: Counts, particles: Particles, origins: Origins, h: np.float64
):
    """A substep is over: add the work of the forces on particles."""
    for k in range(counts.all[0]):
        i = grabbed.slot[k]
        if i != NOTHING:
            x, origin = particles.x[i], origins.position[particles.origin_index[i]]
            now = origin[0] + np.float64(x[0]), origin[1] + np.float64(x[1]), origin[2] + np.float64(x[2])
            grabbed.work[k] += dot(grabbed.multiplier[k], sub(now, grabbed.place[k])) / (h * h)
            grabbed.place[k] = now


class GrabSystem(System):
    """The grabs of one simulation.

    Attributes:
        grabbed: Held points.
        counts: How many grabs there are.
    """

    order = 70
    can_rest = True
    on_device = True

    def __init__(
        self,
        grabs: "list[Grab]",
        state: State,
        settings: Settings,
        particles: Particles,
        origins: Origins,
        clock: Clock,
        frames: "Frames | None",
    ) -> None:
        self._grabs, self._state, self._settings = grabs, state, settings
        self._particles, self._origins, self._clock, self._frames = particles, origins, clock, frames
        self.grabbed, self.counts = GrabbedPoints.zeros(4), Counts.zeros(1)
        self._begun: list[Grab] = []

    @property
    def active(self) -> bool:
        """Whether anything is held."""
        return bool(self._grabs)

    def disturbed(self, time: float, ends: np.ndarray) -> bool:
        """A grab may move its target."""
        return True

    def begin(self, time: float, ends: np.ndarray) -> None:
        """A step begins: the targets move on to where they were put."""
        grabbed, h = self.grabbed, self._settings.substep
        self._begun = list(self._grabs)
        if len(grabbed) < len(self._begun):
            grabbed.grow(2 * len(self._begun))
        for k, grab in enumerate(self._begun):
            grabbed.begin[k], grabbed.end[k] = grab._advance(self._settings.dt)
            spring = grab.spring
            grabbed.gamma[k] = spring.compliance * spring.damping / h
            grabbed.scaled_compliance[k] = spring.compliance / h**2 / (1.0 + grabbed.gamma[k])
            grabbed.reach[k] = spring.max_force * spring.compliance if np.isfinite(spring.max_force) else np.inf
            grabbed.slot[k], grabbed.body[k], grabbed.local[k] = grab.slot, grab.body, grab.local
            grabbed.place[k], grabbed.work[k] = grab._place(self._particles, self._origins, self._frames), 0.0
        bodies = sum(grab.body != NOTHING for grab in self._begun)
        self.counts.all[0], self.counts.bodies[0] = len(self._begun), bodies
        self.counts.particles[0] = len(self._begun) - bodies

    def end(self) -> None:
        """Tell the grabs of their forces and work."""
        h, grabbed = self._settings.substep, self.grabbed
        for k, grab in enumerate(self._begun):
            grab._tell(grabbed.multiplier[k] / h**2, float(grabbed.work[k]))
            self._state.external_work += float(grabbed.work[k])

    def record_project(self, p: Program, first: bool) -> None:
        """Solve every grab once."""
        scalars = int(first), self._settings.substep, 1.0 / self._settings.substeps
        with p.when((self.counts.particles, 0)):
            records = self.grabbed, self.counts, self._particles, self._origins, self._clock
            p.serial(pull_particles, *records, *scalars)
        if self._frames is not None:
            from shinari.systems.grabs.body_kernels import record_pull

            with p.when((self.counts.bodies, 0)):
                record_pull(p, self.grabbed, self.counts, self._frames, self._clock, *scalars)

    def record_velocities(self, p: Program) -> None:
        """A substep is over: add the work of the forces."""
        h = self._settings.substep
        with p.when((self.counts.particles, 0)):
            p.serial(add_work_on_particles, self.grabbed, self.counts, self._particles, self._origins, h)
        if self._frames is not None:
            from shinari.systems.grabs.body_kernels import add_work_on_bodies

            with p.when((self.counts.bodies, 0)):
                p.serial(add_work_on_bodies, self.grabbed, self.counts, self._frames, h)
