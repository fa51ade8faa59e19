"""Rows of grabs: the springs that hold particles and places on bodies, as kernels; see `shinari.live.grabs`."""

from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Field, Program, Record, convert, function, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.vec3 import add, dot, norm, scale, sub
from shinari.solver.particles import Clock, Groups, Particles
from shinari.solver.segment import Segment

if TYPE_CHECKING:
    from shinari.live.grabs import Grab
    from shinari.settings import Settings
    from shinari.solver.workspace import Workspace


class GrabRows(Record):
    """Grabs: those of particles, then those of bodies."""

    particle = Field(np.int64, doc="particle in solver order, of a grab of a particle")
    body = Field(np.int64, doc="frame, of a grab of a body")
    place = Field(np.float64, 3, unit="m", doc="place that is held in the axes of the frame")
    begin = Field(np.float64, 3, unit="m", doc="target as the step begins")
    end = Field(np.float64, 3, unit="m", doc="target as it ends")
    compliance = Field(np.float64, unit="m/N")
    damping = Field(np.float64, unit="N s/m")
    max_force = Field(np.float64, unit="N")
    start = Field(np.float64, 3, unit="m", doc="place that is held as the substep began")
    last = Field(np.float64, 3, unit="m", doc="place that is held as the last substep ended")
    multiplier = Field(np.float64, 3, unit="kg m", doc="lambda of this substep")
    work = Field(np.float64, unit="J", doc="work done in this step")


class GrabCounts(Record):
    """One row: how many grabs there are."""

    all = Field(np.int64)
    particles = Field(np.int64, doc="grabs of particles")
    bodies = Field(np.int64, doc="grabs of bodies")
    turn = Field(np.int64, doc="grab of a body whose turn it is")


@function(fastmath=STEADY)
def aim(rows, g, part, h):
    """Target of a row with damping and largest force, and its softness a; `part` of the step has passed."""
    target, start = add(rows.begin[g], scale(sub(rows.end[g], rows.begin[g]), part)), rows.start[g]
    compliance, most = rows.compliance[g], rows.max_force[g]
    if most < np.inf:
        pull = sub(target, start)
        length = norm(pull)
        target = add(start, scale(pull, min(1.0, most * compliance / max(length, 1e-30))))
    gamma = compliance * rows.damping[g] / h
    target = scale(add(target, scale(start, gamma)), 1.0 / (1.0 + gamma))
    return target, compliance / (h * h) / (1.0 + gamma)


@function(fastmath=STEADY)
def passed(clock, substeps):
    """Part of the step that has passed when the substep ends."""
    return (clock.substep[0] + 1.0) / substeps


@function(fastmath=STEADY)
def place_of(i, points, particles, groups):
    """Place of a particle in the world, from one of its positions relative to the group."""
    origin, local = groups.origin[particles.group[i]], points[i]
    return origin[0] + local[0], origin[1] + local[1], origin[2] + local[2]


@kernel(fastmath=STEADY, mixed=True)
def solve_particle_grabs(
    _, rows: GrabRows, counts: GrabCounts, particles: Particles, groups: Groups, clock: Clock, substeps: np.float64,
    h: np.float64, first: np.int64,
):  # fmt: skip
    """Solve the grabs of particles once, in order. A particle that has been pinned meanwhile is not pulled."""
    for g in range(counts.particles[0]):
        i = rows.particle[g]
        x, v = particles.x[i], particles.v[i]
        if first != 0:
            rows.multiplier[g] = 0.0, 0.0, 0.0
            begun = place_of(i, particles.predicted, particles, groups)
            rows.start[g] = begun[0] - h * v[0], begun[1] - h * v[1], begun[2] - h * v[2]
        w = np.float64(x[3])
        if w == 0.0:
            rows.multiplier[g] = 0.0, 0.0, 0.0
            continue
        target, soft = aim(rows, g, passed(clock, substeps), h)
        error = sub(place_of(i, particles.x, particles, groups), target)
        multiplier = rows.multiplier[g]
        change = scale(add(error, scale(multiplier, soft)), -1.0 / (w + soft))
        rows.multiplier[g] = add(multiplier, change)
        particles.x[i, 0] = convert(x[0] + w * change[0], x[0])
        particles.x[i, 1] = convert(x[1] + w * change[1], x[0])
        particles.x[i, 2] = convert(x[2] + w * change[2], x[0])


@kernel(fastmath=STEADY, mixed=True)
def finish_particle_grabs(
    _, rows: GrabRows, counts: GrabCounts, particles: Particles, groups: Groups, inverse_h2: np.float64
):
    """Add the work of the grabs of particles in a substep; `inverse_h2` is 1 / h^2."""
    for g in range(counts.particles[0]):
        place = place_of(rows.particle[g], particles.x, particles, groups)
        rows.work[g] += inverse_h2 * dot(rows.multiplier[g], sub(place, rows.last[g]))
        rows.last[g] = place


class GrabSystem:
    """All grabs of a simulation in the solver.

    Args:
        work: Records of the simulation.
        grabs: The grabs, which a user makes and releases between steps.
        settings: Settings.
    """

    def __init__(self, work: "Workspace", grabs: "list[Grab]", settings: "Settings") -> None:
        self._particles, self._groups, self._clock = work.particles, work.groups, work.clock
        self._grabs, self._settings = grabs, settings
        self._held: list[Grab] = []
        self._rows, self._counts = GrabRows.zeros(4), GrabCounts.zeros(1)
        self._on_bodies = None
        if work.bodies is not None:
            # loaded only for a scene with bodies
            from shinari.live.body_grabs import BodyGrabs

            self._on_bodies = BodyGrabs(work.bodies.frames, self._rows, self._counts, self._clock, settings)
        self._project = {first: Segment(lambda p, first=first: self.record_project(p, first)) for first in (1, 0)}
        self._finish = Segment(self.record_finish)

    @property
    def work(self) -> float:
        """Work done by all grabs in the last step [J]."""
        return sum(grab.work for grab in self._held)

    def begin(self, dt: float) -> None:
        """A step of length dt [s] begins: targets move on to where they were put."""
        self._held = sorted(self._grabs, key=lambda grab: grab.index is None)
        rows, counts, count = self._rows, self._counts, len(self._held)
        if len(rows) < count:
            rows.grow(2 * count)
        counts.all[0], counts.bodies[0] = count, sum(grab.index is None for grab in self._held)
        counts.particles[0] = count - counts.bodies[0]
        for g, grab in enumerate(self._held):
            grab.begin(dt)
            grab.describe(rows, g)

    def project(self, substep: int, settings: "Settings", first: bool) -> None:
        """Solve the grabs once; see `record_project`."""
        if self._held:
            self._project[int(first)](1)

    def finish(self) -> None:
        """A substep is over; see `record_finish`."""
        if self._held:
            self._finish(1)
            self.publish()

    def publish(self) -> None:
        """Tell the grabs what they did in the last substep, and in the step."""
        rows, h = self._rows, self._settings.substep
        for g, grab in enumerate(self._held):
            grab.work = float(rows.work[g])
            if grab.active:
                grab.set_force(rows.multiplier[g] / h**2)

    def record_project(self, p: Program, first: int) -> None:
        """Record that all grabs are solved once in an iteration of a substep."""
        settings, counts = self._settings, self._counts
        with p.when((counts.particles, 0)):
            p.serial(solve_particle_grabs, self._rows, counts, self._particles, self._groups, self._clock,
                     settings.substeps, settings.substep, first)  # fmt: skip
        if self._on_bodies is not None:
            self._on_bodies.record_project(p, first)

    def record_finish(self, p: Program) -> None:
        """Record the work of a substep."""
        inverse_h2 = 1.0 / self._settings.substep**2
        with p.when((self._counts.particles, 0)):
            p.serial(finish_particle_grabs, self._rows, self._counts, self._particles, self._groups, inverse_h2)
        if self._on_bodies is not None:
            self._on_bodies.record_finish(p, inverse_h2)
