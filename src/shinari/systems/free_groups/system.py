r"""The spin of free groups, which rows that are solved one after the other would change.

Of corrections d the change of the angular momentum is sum m s x d / h, s: where points were as the substep began. A row
pulls along the line of its points as they are now; while a stress without a load (the pressure of a closed mesh, an
elastic band, a rest shape that does not fit) moves these in each substep, that line turns, and the order of the rows
makes its moment the same each time: a ball began to turn by itself. So the group is turned back as a whole, by theta
about its centre c, with the moment that all of it has had:

    sum m (s - c_s) x (theta x (x - c)) = -sum m (s - c_s) x d          A theta = -L

    A = tr(C) 1 - C^T,  C = sum m (s - c_s) (x - c)^T

c_s: where the centre was as the substep began. A force that holds one particle of a group has no moment about the place
of that, which stands for c_s on the right then; the turn is about the centre all the same and leaves the momentum.
Groups that are held at more particles take moments from outside, and are left alone.
"""

import numpy as np

from shinari.compute import Field, Program, Record, convert, kernel, real
from shinari.compute.kernels import STEADY
from shinari.maths.vec3 import ZERO, add, cross, dot, scale, sub
from shinari.model.particles import Particles
from shinari.model.system import System
from shinari.model.system_model import BoundSystems
from shinari.systems.colliders.collide import place, previous_position
from shinari.systems.free_groups.model import FreeGroupsModel


class Members(Record):
    """Particles of all groups, group after group."""

    particle = Field(np.uint32)
    x = Field(real, 3, unit="m", doc="place before rows were solved")


class Chunks(Record):
    """Members of a partial sum, and sums over them, of places relative to a particle of the group."""

    bounds = Field(np.int64, 4, doc="first, last (exclusive), group, and a particle of the group")
    mass = Field(np.float64, unit="kg")
    place = Field(np.float64, 3, unit="kg m", doc="of m x")
    start = Field(np.float64, 3, unit="kg m", doc="of m s")
    product = Field(np.float64, 9, unit="kg m^2", doc="of m s x^T, by rows")
    moved = Field(np.float64, 3, unit="kg m", doc="of m d")
    moment = Field(np.float64, 3, unit="kg m^2", doc="of m s x d")


class Groups(Record):
    """Free groups."""

    chunks = Field(np.int64, 2, doc="first and last (exclusive) of its chunks")
    whole = Field(np.bool_, doc="whether one particle at most is held, and all of its rows are there")
    pivot = Field(np.int64, doc="the particle that is held; -1: none")
    turn = Field(np.float64, 3, unit="rad", doc="theta")
    centre = Field(np.float64, 3, unit="m", doc="c")


@kernel
def note_places(k, chunks: Chunks, groups: Groups, members: Members, particles: Particles):
    """Note where the members of a chunk are."""
    begin, end, group, _ = chunks.bounds[k]
    if not groups.whole[group]:
        return
    for i in range(begin, end):
        members.x[i] = place(particles.x, members.particle[i])


@kernel(fastmath=STEADY, mixed=True)
def sum_moments(k, chunks: Chunks, groups: Groups, members: Members, particles: Particles, h: real):
    """Sums over the members of a chunk."""
    begin, end, group, corner = chunks.bounds[k]
    if not groups.whole[group]:
        return
    mass, places, starts, moved, moment = 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    a, b, c, o = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), place(particles.x, corner)
    for i in range(begin, end):
        p = members.particle[i]
        w = np.float64(particles.x[p, 3])
        if not w > 0.0:
            continue
        m, x = 1.0 / w, sub(place(particles.x, p), o)
        s = scale(sub(previous_position(particles.x, particles.predicted, particles.v, h, p), o), m)
        d = sub(place(particles.x, p), (members.x[i, 0], members.x[i, 1], members.x[i, 2]))
        mass, places, starts = mass + m, add(places, scale(x, m)), add(starts, s)
        moved, moment = add(moved, scale(d, m)), add(moment, cross(s, d))
        a, b, c = add(a, scale(x, s[0])), add(b, scale(x, s[1])), add(c, scale(x, s[2]))
    chunks.mass[k], chunks.place[k], chunks.start[k] = mass, places, starts
    chunks.product[k] = a[0], a[1], a[2], b[0], b[1], b[2], c[0], c[1], c[2]
    chunks.moved[k], chunks.moment[k] = moved, moment


@kernel(mixed=True)
def find_turn(r, groups: Groups, chunks: Chunks, particles: Particles, h: real):
    """How far a group is turned back, and about which centre."""
    groups.turn[r] = 0.0, 0.0, 0.0
    if not groups.whole[r]:
        return
    x, s, d, moment, mass = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0
    a, b, c = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for k in range(groups.chunks[r, 0], groups.chunks[r, 1]):
        mass += chunks.mass[k]
        x, s, d = add(x, place(chunks.place, k)), add(s, place(chunks.start, k)), add(d, place(chunks.moved, k))
        moment, q = add(moment, place(chunks.moment, k)), chunks.product[k]
        a, b, c = add(a, (q[0], q[1], q[2])), add(b, (q[3], q[4], q[5])), add(c, (q[6], q[7], q[8]))
    if not mass > 0.0:
        return
    o, p = place(particles.x, chunks.bounds[groups.chunks[r, 0], 3]), groups.pivot[r]
    x, about = scale(x, 1.0 / mass), scale(s, 1.0 / mass)
    groups.centre[r] = add(o, x)
    a, b, c = sub(a, scale(x, s[0])), sub(b, scale(x, s[1])), sub(c, scale(x, s[2]))
    if p >= 0:
        about = scale(sub(previous_position(particles.x, particles.predicted, particles.v, h, p), o), 1.0)
    moment = sub(moment, cross(about, d))
    # columns of tr(C) 1 - C^T
    trace = a[0] + b[1] + c[2]
    a, b, c = (trace - a[0], -a[1], -a[2]), (-b[0], trace - b[1], -b[2]), (-c[0], -c[1], trace - c[2])
    bc, determinant = cross(b, c), dot(a, cross(b, c))
    if abs(determinant) > 1e-12 * abs(trace) ** 3:
        by = -1.0 / determinant
        groups.turn[r] = (
            by * dot(moment, bc), by * dot(moment, cross(c, a)), by * dot(moment, cross(a, b)),
        )  # fmt: skip


@kernel(fastmath=STEADY, mixed=True)
def turn_members(k, chunks: Chunks, groups: Groups, members: Members, particles: Particles):
    """Turn the members of a chunk."""
    begin, end, group, _ = chunks.bounds[k]
    turn, o = place(groups.turn, group), place(groups.centre, group)
    if not dot(turn, turn) > 0.0:
        return
    for i in range(begin, end):
        p = members.particle[i]
        x = particles.x[p]
        if x[3] > ZERO:
            by = cross(turn, sub(place(particles.x, p), o))
            particles.x[p] = x[0] + convert(by[0], x[3]), x[1] + convert(by[1], x[3]), x[2] + convert(by[2], x[3]), x[3]


class GroupSpins:
    """Takes back what rows and volumes change of the spin of the groups of one simulation."""

    def __init__(self, model: FreeGroupsModel, bound: BoundSystems) -> None:
        self.model, self._bound = model, bound
        precision = bound.particles.precision
        self._members = Members.zeros(len(model.particles), precision)
        self._members.particle[...] = model.particles
        self._chunks = Chunks.zeros(len(model.chunks))
        self._chunks.bounds[...] = model.chunks
        self._groups = Groups.zeros(model.count)
        ends = np.searchsorted(model.chunks[:, 2], np.arange(model.count + 1))
        self._groups.chunks[...] = np.stack([ends[:-1], ends[1:]], axis=1)
        self.follow()

    def follow(self) -> None:
        """Find which groups are whole, and what they hang on."""
        whole, pivots = self.model.pivots(self._bound.model, self._bound.state)
        self._groups.whole[...], self._groups.pivot[...] = whole, pivots

    @property
    def any_whole(self) -> bool:
        """Whether a group takes part."""
        return bool(self._groups.whole.any())

    def record_note(self, p: Program) -> None:
        """Record that places are noted before rows and volumes are solved."""
        records = self._chunks, self._groups, self._members, self._bound.particles
        p.launch(note_places, *records, count=len(self._chunks), grain=16)

    def record_turn(self, p: Program) -> None:
        """Record that groups are turned back."""
        chunks, groups, particles = self._chunks, self._groups, self._bound.particles
        records = chunks, groups, self._members, particles
        h = self._bound.settings.substep
        p.launch(sum_moments, *records, h, count=len(chunks), grain=4)
        p.launch(find_turn, groups, chunks, particles, h, count=len(groups))
        p.launch(turn_members, *records, count=len(chunks), grain=4)


class SpinStart(System):
    """Notes where the members of groups are before rows are solved."""

    order = 39
    can_rest = True
    on_device = True

    def __init__(self, spins: GroupSpins) -> None:
        self._spins = spins

    @property
    def active(self) -> bool:
        """Whether a group takes part."""
        return self._spins.any_whole

    def connect(self, bound: BoundSystems) -> None:
        """Follow pins."""
        self._spins.follow()

    def follow_release(self) -> None:
        """Leave out groups that have lost a row."""
        self._spins.follow()

    def record_project(self, p: Program, first: bool) -> None:
        """Note all places."""
        self._spins.record_note(p)

    def record_between(self, p: Program) -> None:
        """Note them again before volumes are solved anew."""
        if self._spins.model.enclosing:
            self._spins.record_note(p)


class SpinEnd(System):
    """Turns groups back after rows and volumes were solved."""

    order = 63
    can_rest = True
    on_device = True

    def __init__(self, spins: GroupSpins) -> None:
        self._spins = spins

    @property
    def active(self) -> bool:
        """Whether a group takes part."""
        return self._spins.any_whole

    def record_project(self, p: Program, first: bool) -> None:
        """Take back what rows and volumes have changed of the spin."""
        self._spins.record_turn(p)

    def record_between(self, p: Program) -> None:
        """Take back what volumes have changed of it."""
        if self._spins.model.enclosing:
            self._spins.record_turn(p)
