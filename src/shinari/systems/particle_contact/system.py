"""Particles against particles: loose ones, and the vertices of sheets in particle mode.

Pairs are found once a step with margins, and new ones of the particles that leave theirs: nothing is missed, and
nothing is carried from one step to the next. While the boxes around the objects are too far apart for any two to meet,
a step only looks whether that still holds.
"""

import math

import numpy as np

from shinari.collision.broad.blocks import CurrentColour
from shinari.collision.broad.row_batches import WIDTH
from shinari.collision.law import slow_approach
from shinari.collision.report import ContactImpulses
from shinari.compute import Program, kernel
from shinari.compute.kernels import STEADY
from shinari.model.model import Model
from shinari.model.particles import Clock, Origins, Particles
from shinari.model.settings import Settings
from shinari.model.system import System
from shinari.systems.particle_contact.build import MemberTable
from shinari.systems.particle_contact.idle_objects import IdleObjects
from shinari.systems.particle_contact.pair_detection import Detection
from shinari.systems.particle_contact.pair_rows import (
    clear_multiplier,
    find_strayed,
    gather,
    rebound_block,
    scatter,
    sweep_pairs,
)
from shinari.systems.particle_contact.records import CHUNK, Chunks, Control, Members, Objects

# Each correction may drive a particle out of its margin: detections and sweeps within one projection, at most.
ROUNDS = 16


@kernel
def begin_substep(_, control: Control, clock: Clock, substeps: np.int64):
    """How many substeps are left."""
    control.left[0], control.strayed[0] = substeps - clock.substep[0], 0
    control.first[0], control.last[0] = clock.substep[0] == 0, control.left[0] == 1


@kernel
def start_step(_, control: Control):
    """A step begins: nothing is known of its pairs."""
    control.found[0], control.idle[0], control.wake[0], control.detections[0] = 0, 0, 0, 0
    control.balls[0], control.rows[0], control.warm_start[0], control.kept[0], control.fast[0] = 0, 0, 0, 0, 0
    control.crowd[0] = 0
    control.active[0], control.growth[0] = 1, 1.0


@kernel
def set_active(_, control: Control):
    """Idle objects that have come near are active."""
    if control.wake[0] != 0:
        control.idle[0] = 0
    control.active[0] = control.idle[0] == 0


@kernel(fastmath=STEADY, mixed=True)
def add_velocities(c, members: Members, particles: Particles, chunks: Chunks):
    """Sum of the velocities of a chunk of members."""
    x, y, z = 0.0, 0.0, 0.0
    for m in range(c * CHUNK, min((c + 1) * CHUNK, len(members))):
        v = particles.v[members.particle[m]]
        x, y, z = x + v[0], y + v[1], z + v[2]
    chunks.sum[c] = x, y, z


@kernel(fastmath=STEADY)
def find_mean(_, control: Control, chunks: Chunks, count: np.int64, h: np.float64):
    """Mean velocity of the members, and how far it has moved them since the detection."""
    x, y, z = 0.0, 0.0, 0.0
    for c in range(len(chunks)):
        s = chunks.sum[c]
        x, y, z = x + s[0], y + s[1], z + s[2]
    x, y, z = x / count, y / count, z / count
    control.mean[0] = x, y, z
    drift = control.drift[0]
    control.drift[0] = drift[0] + h * x, drift[1] + h * y, drift[2] + h * z
    control.elapsed[0] += h


@kernel
def keep_velocity(m, members: Members, particles: Particles):
    """Velocity of a member as the substep begins."""
    members.before[m] = particles.v[members.particle[m]]


@kernel
def check_margins(_, control: Control, h: np.float64, every: np.int64):
    """Whether rows have to be found as a substep begins: none, or they hold no longer, or a ball left its margin."""
    over = control.elapsed[0] + 0.5 * h > control.ahead[0]
    search = control.found[0] == 0 or every != 0 or over
    control.search[0], control.partial[0] = search, 0
    control.strayed[0] = control.strayed[0] != 0 and not search


@kernel
def conclude_search(_, control: Control):
    """Whether the rows of the last substep go on."""
    control.renew[0], control.strayed[0] = control.search[0] == 0, 0


@kernel
def rest_drift(_, control: Control):
    """Rows were found as the substep begins."""
    control.drift[0], control.elapsed[0] = (0.0, 0.0, 0.0), 0.0


@kernel
def begin_projection(_, control: Control, escape: np.float64):
    """Rows are solved once, and again where a ball leaves its margin."""
    control.escape[0], control.done[0], control.begun[0], control.impact[0] = escape, 0, 0, 0


@kernel
def choose_sweep(_, control: Control, current: CurrentColour):
    """Which rows are swept: all at first and where they were found anew, then those that were appended."""
    some = control.begun[0] != 0 and control.partial[0] != 0 and control.impact[0] == 0
    control.sweeps[0] = control.rows[0] > 0 and (not some or control.fresh[0] > 0)
    current.skipped[0] = current.begin_colour[0] if some else 0
    control.begun[0] += not some
    control.impact[0] = 0


@kernel
def move_drift(_, control: Control, h: np.float64):
    """How far the mean motion has moved the balls, with this substep; whether they stray is asked anew."""
    drift, mean = control.drift[0], control.mean[0]
    # what the first turn pushes out of its margin, colliders may have brought back
    control.strayed[0] = 0
    control.moved[0] = drift[0] + h * mean[0], drift[1] + h * mean[1], drift[2] + h * mean[2]


@kernel
def restart_drift(_, control: Control, h: np.float64):
    """Rows were found in the middle of a substep: the balls are where the mean motion has taken them."""
    mean = control.mean[0]
    control.drift[0], control.elapsed[0] = (-h * mean[0], -h * mean[1], -h * mean[2]), -h
    control.moved[0] = 0.0, 0.0, 0.0


@kernel
def conclude_gather(_, control: Control):
    """Whether a ball has left its margin before the sweep."""
    control.search[0], control.gathered_at[0], control.strayed[0] = control.strayed[0], control.moved[0], 0


@kernel
def conclude_scatter(_, control: Control):
    """Whether the projection is over; what overlapped comes out in the first sweep only.

    It is not when a ball has left its margin in the sweep, or when the first sweep moved one far.
    """
    control.impact[0] = control.impact[0] != 0 and control.begun[0] == 1
    control.done[0] = control.rows[0] == 0 or (control.strayed[0] == 0 and control.impact[0] == 0)
    control.strayed[0] = 0
    control.escape[0] = 0.0


class Pairs(System):
    """Contacts between particles.

    Attributes:
        detection: The rows.
        control: Decisions of the step.
        remembers: Whether what a row did is its first guess in the next substep.
        tolerated: How much farther than its margin a ball may go before the substep ends, in mean radii: it is looked
            for anew when the next one begins.
        impact: Correction of a ball, in mean radii, after which all rows are swept once more: one sweep stops no layers
            that land, and what is left of their overlap would come out later, upwards.
    """

    order = 10
    can_rest = True
    on_device = True
    advice = "particles that touch; a larger radius makes fewer of them"
    solves_contacts = True
    remembers = False
    tolerated = 0.0
    impact = math.inf

    def __init__(
        self, model: Model, settings: Settings, particles: Particles, origins: Origins, clock: Clock, table: MemberTable
    ) -> None:
        self._model, self._settings, self._table = model, settings, table
        self._particles, self._origins, self._clock = particles, origins, clock
        real, count, h = model.real, len(table.particles), settings.substep
        self.control = Control.zeros(1, real)
        self._members = Members.zeros(count, real)
        self._members.bind(particle=table.particles.astype(np.uint32))
        self._members.radius[...], self._members.object_index[...] = table.radii, table.owners
        self._members.reach[...] = table.radii
        self._members.free[...] = model.inverse_masses[table.particles] > 0.0
        self._objects = Objects(real, alone=table.alone, surface=model.surfaces, scaling=table.scaling.astype(float))
        surfaces = model.surfaces[np.unique(table.owners)]
        self._bounces = bool((surfaces[:, 2] > 0.0).any())
        # an impact goes through a chain of balls in the order of its rows
        width = 1 if self._bounces and not self.remembers else WIDTH
        self.detection = Detection(table, self._members, self._objects, particles, origins, self.control, h, width)
        self._chunks = Chunks.zeros(-(-count // CHUNK), real)
        self._keeps_pushes = self._bounces or bool((surfaces[:, 3] > 0.0).any())
        self._slow, self._fall = slow_approach(model.gravity, h), float(np.linalg.norm(model.gravity)) * settings.dt
        self._impact = self.impact * float(table.radii.mean())
        self._spare = self.tolerated * float(table.radii.mean())
        # pairs of objects that may meet, while it is worth asking
        crowd = ~table.alone[table.owners].all()
        candidate_objects = None if crowd else table.candidate_objects()
        self._idle = (
            None
            if candidate_objects is None
            else IdleObjects(
                table.owners, candidate_objects, self._members, particles, origins, self.control, self._chunks
            )
        )

    @property
    def detections(self) -> int:
        """Detections in the last step."""
        return int(self.control.detections[0])

    @property
    def row_count(self) -> int:
        """Rows of the last detection."""
        return int(self.control.rows[0])

    def record_begin(self, p: Program) -> None:
        """A step begins: forget its rows and what pushed."""
        p.serial(start_step, self.control)

    def check(self) -> None:
        """Raise the error that ended a run.

        Raises:
            ShinariError: The balls are spread too far.
        """
        self.detection.check()

    def record_detect(self, p: Program) -> None:
        """Record that pairs are found if there are none, or one has left its margin; before the prediction."""
        control, settings = self.control, self._settings
        p.serial(begin_substep, control, self._clock, settings.substeps)
        if self._idle is not None:
            p.copy(0, (control.wake, 0))
            with p.when((control.first, 0)):
                self._idle.record_idle(p, self._fall, settings.dt)
            with p.when((control.idle, 0)):
                self._idle.record_watch(p)
            p.serial(set_active, control)
        with p.when((control.active, 0)):
            self._record_mean(p)
            balls = self.detection.balls
            p.launch(
                find_strayed,
                balls,
                self._particles,
                control,
                settings.substep,
                count=(control.balls, 0),
                grain=4 * CHUNK,
            )
            every = settings.contact_detection == "substep"
            p.serial(check_margins, control, settings.substep, int(every))
            with p.when((control.strayed, 0)):
                p.copy(0, (control.resume, 0))
                self._record_choose(p)
            p.serial(conclude_search, control)
            with p.when((control.search, 0)):
                self._record_find(p, resume=False)
                p.serial(rest_drift, control)
            with p.when((control.renew, 0)):
                self._record_renew(p)

    def record_contacts(self, p: Program, first: bool) -> None:
        """Record that every row is solved once, and those again of what was driven out of its margin."""
        control, settings = self.control, self._settings
        if self._idle is not None:
            with p.when((control.idle, 0)):
                self._idle.record_watch(p)
                with p.when((control.wake, 0)):
                    self._record_mean(p)
                    self._record_find(p, resume=True)
                    p.serial(restart_drift, control, settings.substep)
            p.serial(set_active, control)
        with p.when((control.active, 0)):
            self._record_solve(p, settings.substep * settings.depenetration_speed if first else 0.0)

    def record_restitution(self, p: Program) -> None:
        """Record restitution, when the velocities of the substep are known."""
        if not self._bounces:
            return
        found = self.detection
        with p.when((self.control.active, 0)), p.when((self.control.rows, 0)):
            found.batches.record_sweep(
                p, rebound_block, found.row_balls, found.rows, found.balls, self._members, self._objects,
                self._particles, self._slow,
            )  # fmt: skip

    def _record_mean(self, p: Program) -> None:
        """Mean motion as a substep begins, and the velocities that restitution asks for."""
        members, particles, h = self._members, self._particles, self._settings.substep
        p.launch(add_velocities, members, particles, self._chunks, count=len(self._chunks), grain=4)
        p.serial(find_mean, self.control, self._chunks, len(members), h)
        if self._bounces:
            p.launch(keep_velocity, members, particles, count=len(members), grain=4096)

    def _record_find(self, p: Program, resume: bool) -> None:
        """Find the rows anew; in the middle of a substep they resume with what they had."""
        control, goes_on = self.control, self.remembers or (resume and self._keeps_pushes)
        p.copy(int(resume), (control.resume, 0))
        with p.when((control.found, 0)):
            self._record_remember(p, resumes=goes_on, keeps=True)
        self.detection.record_find(p)
        self._record_take(p, (control.rows, 0))

    def _record_choose(self, p: Program) -> None:
        """Append the rows of the balls that have left their margins, or choose to find all anew."""
        control = self.control
        self.detection.record_choose(p)
        with p.when((control.partial, 0)):
            self.detection.record_append(p)
            self._record_take(p, (control.fresh, 0))

    def _record_take(self, p: Program, count: tuple[np.ndarray, int]) -> None:
        """Record what else so many new links bring to their rows."""

    def _record_remember(self, p: Program, resumes: bool, keeps: bool) -> None:
        """Put away what the rows did; see `Memory.record_remember`."""
        self.detection.memory.record_remember(p, resumes=resumes, keeps=keeps)

    def _record_renew(self, p: Program) -> None:
        """A substep begins with the rows of the last one."""
        if self._keeps_pushes:
            p.launch(clear_multiplier, self.detection.rows, count=(self.control.rows, 0), grain=8192)

    def _record_solve(self, p: Program, escape: float) -> None:
        control, current = self.control, self.detection.batches.colours.current
        p.serial(begin_projection, control, escape)
        with p.repeat(ROUNDS, until=(control.done, 0)):
            self._record_gather(p)
            p.serial(choose_sweep, control, current)
            with p.when((control.sweeps, 0)):
                self._record_sweep(p)
                self._record_scatter(p)
            p.serial(conclude_scatter, control)
        p.copy(0, (current.skipped, 0))

    def _record_gather(self, p: Program) -> None:
        """Bring the particles to the balls, of rows found anew where one has left its margin."""
        control, h = self.control, self._settings.substep
        records, balls = (self.detection.balls, self._particles, control), (control.balls, 0)
        p.serial(move_drift, control, h)
        p.launch(gather, *records, h, self._spare, count=balls, grain=2 * CHUNK)
        p.serial(conclude_gather, control)
        p.copy(0, (control.partial, 0))
        with p.when((control.search, 0)):
            p.copy(1, (control.resume, 0))
            self._record_choose(p)
        with p.when((control.search, 0)):
            self._record_find(p, resume=True)
            # the next substep begins here
            p.serial(restart_drift, control, h)
            p.launch(gather, *records, h, self._spare, count=balls, grain=2 * CHUNK)
            # what is found looks ahead: only the sweep drives a ball out of its margin now
            p.copy(0, (control.strayed, 0))

    def _record_scatter(self, p: Program) -> None:
        """Bring what the rows changed back to the particles."""
        records = self.detection.balls, self._particles, self.control
        p.launch(scatter, *records, 1.0 / self._settings.substep, self._spare, self._impact,
                 count=(self.control.balls, 0), grain=2 * CHUNK)  # fmt: skip

    def _record_sweep(self, p: Program) -> None:
        found = self.detection
        found.batches.record_sweep(
            p, sweep_pairs, found.row_balls, found.rows, found.balls, found.shifts, self.control,
            1.0 / self._settings.substep,
        )  # fmt: skip

    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Particles (M, 2), normals from second to first (M, 3), and sums of the impulses on the first [N s] (M, 3)."""
        found, count = self.detection, self.row_count
        particles = found.balls.particle[found.row_balls.points[:count]]
        return particles, found.rows.normal[:count], found.rows.impulse[:count]

    def contact_impulses(self) -> ContactImpulses:
        """The contacts that pushed in the last step, one for each pair."""
        kept, count = self.detection.memory.kept, int(self.control.kept[0])
        particles, normals, impulses = self.rows()
        pushed = np.flatnonzero(impulses.any(axis=1))
        pairs = np.concatenate([kept.particles[:count], particles[pushed]])
        normals = np.concatenate([kept.normal[:count], normals[pushed]])
        impulses = np.concatenate([kept.impulse[:count], impulses[pushed]]).astype(np.float64)
        if len(pairs) == 0:
            return ContactImpulses.none()
        swap = pairs[:, 0] > pairs[:, 1]
        sign = np.where(swap, -1.0, 1.0)[:, None]
        pairs, normals, impulses = np.where(swap[:, None], pairs[:, ::-1], pairs), sign * normals, sign * impulses
        # the normal of a pair is that of its last row
        keys = pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1].astype(np.int64)
        names, last, place = np.unique(keys[::-1], return_index=True, return_inverse=True)
        sums = np.zeros((len(names), 3))
        np.add.at(sums, place, impulses[::-1])
        at = len(pairs) - 1 - last
        weights = np.tile([1.0, -1.0, 0.0, 0.0], (len(at), 1))
        both = np.concatenate([pairs[at], pairs[at]], axis=1)
        return ContactImpulses(both, weights, np.full(len(at), -1), normals[at], sums)
