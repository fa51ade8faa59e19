"""Grabs in a step: a spring between what is held and its target; formulas: `shinari.systems.grabs.queries`."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Field, Program, Record, convert, function, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.vec3 import add, dot, norm, scale, sub
from shinari.model.particles import Clock, Groups, Particles
from shinari.model.settings import Settings
from shinari.model.state import State
from shinari.model.system import System
from shinari.model.system_model import Binding, SystemModel
from shinari.systems.rigid.model import frames_of

if TYPE_CHECKING:
    from shinari.systems.grabs.queries import Grab
    from shinari.systems.rigid.frames import Frames

NOTHING = -1


class Held(Record):
    """Held points, a row for each grab."""

    slot = Field(np.int64, doc="particle in solver order, or -1")
    body = Field(np.int64, doc="frame of a body, or -1")
    local = Field(np.float64, 3, unit="m", doc="place in the axes of the frame")
    begin = Field(np.float64, 3, unit="m", doc="target at the start of the step")
    end = Field(np.float64, 3, unit="m", doc="target at its end")
    softness = Field(np.float64, unit="1/kg", doc="a of the spring with its damping")
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
def aim(k, held, part):
    """Target of a grab when a part of the step has passed."""
    start = held.start[k]
    target = add(held.begin[k], scale(sub(held.end[k], held.begin[k]), part))
    away = sub(target, start)
    length = norm(away)
    if length > held.reach[k]:
        target = add(start, scale(away, held.reach[k] / length))
    gamma = held.gamma[k]
    return scale(add(target, scale(start, gamma)), 1.0 / (1.0 + gamma))


@kernel(fastmath=STEADY, mixed=True)
def pull_particles(
    _, held: Held, counts: Counts, particles: Particles, groups: Groups, clock: Clock, first: int, h: np.float64,
    part: np.float64,
):  # fmt: skip
    """Solve the grabs of particles once; one that has been fixed meanwhile is not pulled."""
    for k in range(counts.all[0]):
        i = held.slot[k]
        if i != NOTHING:
            origin, x, zero = groups.origin[particles.group[i]], particles.x[i], (0.0, 0.0, 0.0)
            if first != 0:
                p, v = particles.predicted[i], particles.v[i]
                held.multiplier[k] = zero
                held.start[k] = (
                    origin[0] + np.float64(p[0]) - h * np.float64(v[0]),
                    origin[1] + np.float64(p[1]) - h * np.float64(v[1]),
                    origin[2] + np.float64(p[2]) - h * np.float64(v[2]),
                )
            w, soft, m = np.float64(x[3]), held.softness[k], held.multiplier[k]
            here = np.float64(x[0]), np.float64(x[1]), np.float64(x[2])
            error = sub(here, sub(aim(k, held, part * np.float64(clock.substep[0] + 1)), origin))
            if w > 0.0:
                change = scale(add(error, scale(m, soft)), -1.0 / (w + soft))
                held.multiplier[k] = add(m, change)
                particles.x[i] = (
                    convert(here[0] + w * change[0], x[0]),
                    convert(here[1] + w * change[1], x[0]),
                    convert(here[2] + w * change[2], x[0]),
                    x[3],
                )
            else:
                held.multiplier[k] = zero


@kernel(fastmath=STEADY, mixed=True)
def add_work_on_particles(_, held: Held, counts: Counts, particles: Particles, groups: Groups, h: np.float64):
    """A substep is over: add the work of the forces on particles."""
    for k in range(counts.all[0]):
        i = held.slot[k]
        if i != NOTHING:
            x, origin = particles.x[i], groups.origin[particles.group[i]]
            now = origin[0] + np.float64(x[0]), origin[1] + np.float64(x[1]), origin[2] + np.float64(x[2])
            held.work[k] += dot(held.multiplier[k], sub(now, held.place[k])) / (h * h)
            held.place[k] = now


class GrabModel(SystemModel):
    """Grabs come and go while a scene runs."""

    def bind(self, work: Binding) -> "list[GrabSystem]":
        """The grabs of a simulation."""
        records = work.particles, work.groups, work.clock
        return [GrabSystem(work.grabs, work.state, work.settings, *records, frames_of(work))]


class GrabSystem(System):
    """The grabs of one simulation.

    Attributes:
        held: Held points.
        counts: How many grabs there are.
    """

    order = 70

    def __init__(
        self,
        grabs: "list[Grab]",
        state: State,
        settings: Settings,
        particles: Particles,
        groups: Groups,
        clock: Clock,
        frames: "Frames | None",
    ) -> None:
        self._grabs, self._state, self._settings = grabs, state, settings
        self._particles, self._groups, self._clock, self._frames = particles, groups, clock, frames
        self.held, self.counts = Held.zeros(4), Counts.zeros(1)
        self._begun: list[Grab] = []

    @property
    def active(self) -> bool:
        """Whether anything is held."""
        return bool(self._grabs)

    def begin(self, time: float, ends: np.ndarray) -> None:
        """A step begins: the targets move on to where they were put."""
        held, h = self.held, self._settings.substep
        self._begun = list(self._grabs)
        if len(held) < len(self._begun):
            held.grow(2 * len(self._begun))
        for k, grab in enumerate(self._begun):
            held.begin[k], held.end[k] = grab._advance(self._settings.dt)
            spring = grab.spring
            held.gamma[k] = spring.compliance * spring.damping / h
            held.softness[k] = spring.compliance / h**2 / (1.0 + held.gamma[k])
            held.reach[k] = spring.max_force * spring.compliance if np.isfinite(spring.max_force) else np.inf
            held.slot[k], held.body[k], held.local[k] = grab.slot, grab.body, grab.local
            held.place[k], held.work[k] = grab._place(self._particles, self._groups, self._frames), 0.0
        bodies = sum(grab.body != NOTHING for grab in self._begun)
        self.counts.all[0], self.counts.bodies[0] = len(self._begun), bodies
        self.counts.particles[0] = len(self._begun) - bodies

    def end(self) -> None:
        """Tell the grabs of their forces and work."""
        h, held = self._settings.substep, self.held
        for k, grab in enumerate(self._begun):
            grab._tell(held.multiplier[k] / h**2, float(held.work[k]))
            self._state.external_work += float(held.work[k])

    def record_project(self, p: Program, first: bool) -> None:
        """Solve every grab once."""
        scalars = int(first), self._settings.substep, 1.0 / self._settings.substeps
        with p.when((self.counts.particles, 0)):
            records = self.held, self.counts, self._particles, self._groups, self._clock
            p.serial(pull_particles, *records, *scalars)
        if self._frames is not None:
            from shinari.systems.grabs.body_kernels import record_pull

            with p.when((self.counts.bodies, 0)):
                record_pull(p, self.held, self.counts, self._frames, self._clock, *scalars)

    def record_velocities(self, p: Program) -> None:
        """A substep is over: add the work of the forces."""
        h = self._settings.substep
        with p.when((self.counts.particles, 0)):
            p.serial(add_work_on_particles, self.held, self.counts, self._particles, self._groups, h)
        if self._frames is not None:
            from shinari.systems.grabs.body_kernels import add_work_on_bodies

            with p.when((self.counts.bodies, 0)):
                p.serial(add_work_on_bodies, self.held, self.counts, self._frames, h)
