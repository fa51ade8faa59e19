"""When pairs are looked for: whether the rows hold every pair that may touch on the way of a substep.

Places are relative to their mean, which all particles share. Each particle may go on anywhere in its box; those that
leave it are looked at again, and all are when these are many.
"""

import numpy as np

from shinari.compute import Program, convert, kernel, real
from shinari.compute.kernels import STEADY
from shinari.compute.scan import Offsets, Scan
from shinari.maths.function import steady
from shinari.maths.vec3 import ZERO, add, dot, norm, scale, sub
from shinari.model.particles import Particles
from shinari.systems.surface_contact.candidates import Finder
from shinari.systems.surface_contact.records import Frames, Look, Members, Paths, Skin, Sums, Table
from shinari.systems.surface_contact.row_table import RowTable

# A particle may stray from its way by this part of the median edge: more finds more pairs, less looks more often.
STRAY = 0.08
# A detection looks ahead as far as the particles typically move this many edges relative to each other.
AHEAD = 0.25
FEW = 0.15
ROUNDING = 4.0 * float(np.finfo(np.float32).eps)
# Particles in a block of sums.
BLOCK = 2048


class Looking:
    """Finds pairs when it is time to.

    Attributes:
        look: Its state.
        members: Particles that take part; the first `look.members` count.
    """

    def __init__(
        self, finder: Finder, table: RowTable, members: np.ndarray, edge_length: float, h: float, each_substep: bool
    ) -> None:
        self._finder, self._table, self._edge_length, self._h = finder, table, edge_length, h
        self._each_substep = each_substep
        self.look, self.members = Look.zeros(1, table.rows.precision), Members(particle=members.astype(np.uint32))
        self.look.few[0], self._everyone = FEW, members
        self._sums, self._flags = Sums.zeros(-(-len(members) // BLOCK)), Offsets.zeros(len(members) + 1)
        self._scan, self._who = Scan(self._flags), Members.zeros(len(members))

    def begin(self, skin: Skin, paths: Paths, substeps: int) -> None:
        """A step begins: pairs are to be found anew."""
        look = self.look
        present = self._everyone[~skin.absent[self._everyone]]
        self.members.particle[: len(present)] = present
        look.members[0], look.left[0], look.found[0] = len(present), substeps, 0
        look.detections[0] = look.renewals[0] = 0
        paths.astray[...] = False

    def record(self, p: Program) -> None:
        """Look at the places at the start of the substep, the goals and the velocities; write rows where it is time."""
        look, paths, members, table, finder = self.look, self._finder.paths, self.members, self._table, self._finder
        count, parts = (look.members, 0), (look, self._table.table)
        p.launch(sum_paths, members, look, paths, self._sums, count=len(self._sums), grain=1)
        p.serial(begin_look, self._sums, *parts, self._edge_length, self._h, self._each_substep)
        p.launch(check_box, members, paths, look, self._flags, count=count, grain=2048)
        self._scan.record(p, count)
        p.serial(decide, self._flags, look)
        with p.when((look.some, 0)):
            p.launch(list_astray, members, self._flags, self._who, count=count, grain=4096)
            finder.record_boxes_of(p, look, self._who, self._scan.total)
            with p.when((look.some, 0)):
                finder.record_renew(p)
                table.record_exchange(p, paths, look)
                p.serial(count_renewal, look)
        with p.when((look.every, 0)):
            p.serial(start_anew, look)
            finder.record_find(p, look)
            table.record_exchange(p, paths, look)


@kernel(fastmath=STEADY)
def start_paths(i, paths: Paths, particles: Particles, frames: Frames, h: real):
    """A substep begins: keep the position; the particle goes on with its velocity."""
    x, v, offset = particles.x[i], particles.v[i], frames.offset[particles.group[i]]
    begin = x[0], x[1], x[2]
    paths.begin[i], paths.velocity[i] = begin, v
    paths.place[i], paths.goal[i] = add(begin, offset), add(add(begin, scale(v, h)), offset)


@kernel(fastmath=STEADY)
def end_paths(i, paths: Paths, particles: Particles, frames: Frames, inverse_h: real):
    """The constraints are solved: take the position as the goal; the particle goes on with the velocity so far."""
    x, offset = particles.x[i], frames.offset[particles.group[i]]
    end = x[0], x[1], x[2]
    paths.goal[i] = add(end, offset)
    paths.velocity[i] = add(particles.v[i], scale(sub(end, particles.predicted[i]), inverse_h))


@steady
def plus(total, a):
    """Sum in float64."""
    return total[0] + np.float64(a[0]), total[1] + np.float64(a[1]), total[2] + np.float64(a[2])


@kernel(fastmath=STEADY)
def sum_paths(b, members: Members, look: Look, paths: Paths, sums: Sums):
    """Sums over a block of particles."""
    place, goal, velocity, squares, largest = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0, 0.0
    for m in range(b * BLOCK, min((b + 1) * BLOCK, look.members[0])):
        i = members.particle[m]
        a, v = paths.place[i], paths.velocity[i]
        place, goal, velocity = plus(place, a), plus(goal, paths.goal[i]), plus(velocity, v)
        squares += np.float64(dot(v, v))
        largest = max(largest, np.float64(max(abs(a[0]), max(abs(a[1]), abs(a[2])))))
    sums.place[b], sums.goal[b], sums.velocity[b] = place, goal, velocity
    sums.squares[b], sums.largest[b] = squares, largest


@steady
def rounded(a, like):
    """A vector of float64 as that of another type."""
    return convert(a[0], like), convert(a[1], like), convert(a[2], like)


@kernel(fastmath=STEADY)
def begin_look(_, sums: Sums, look: Look, table: Table, edge_length: real, h: real, each_substep: bool):
    """Means of all particles, and how far the boxes of the next detection reach."""
    place, goal, velocity, squares, largest = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0, 0.0
    for b in range(len(sums)):
        place, goal = add(place, sums.place[b]), add(goal, sums.goal[b])
        velocity, squares = add(velocity, sums.velocity[b]), squares + sums.squares[b]
        largest = max(largest, sums.largest[b])
    part = 1.0 / max(look.members[0], 1)
    place, goal, velocity = scale(place, part), scale(goal, part), scale(velocity, part)
    look.centre[0], look.goal[0], look.velocity[0] = place, goal, rounded(velocity, h)
    look.displacement[0] = rounded(sub(goal, place), h)
    reference = look.reference[0]
    look.drift[0], look.here[0] = rounded(sub(goal, reference), h), rounded(sub(place, reference), h)
    typical = 2.0 * np.sqrt(max(squares * part - dot(velocity, velocity), 0.0)) * h
    ahead = np.float64(look.left[0])
    if typical > 0.0:
        ahead = min(ahead, AHEAD * edge_length / typical)
    look.ahead[0] = convert(0.0 if each_substep else ahead, h) * h
    look.stray[0] = convert(STRAY * edge_length + ROUNDING * largest, h)
    table.fresh[0] = 0


@kernel(fastmath=STEADY)
def check_box(m, members: Members, paths: Paths, look: Look, flags: Offsets):
    """Mark a particle that leaves its box."""
    i = members.particle[m]
    at, low, high = sub(paths.goal[i], look.drift[0]), paths.low[i], paths.high[i]
    out = at[0] < low[0] or at[1] < low[1] or at[2] < low[2] or at[0] > high[0] or at[1] > high[1] or at[2] > high[2]
    paths.astray[i] = out
    flags.start[m] = out


@kernel
def decide(_, flags: Offsets, look: Look):
    """Whether all pairs are found, those of the particles that are astray, or none."""
    count = flags.start[look.members[0]]
    look.every[0] = look.found[0] == 0 or count > look.few[0] * look.members[0]
    look.some[0] = look.every[0] == 0 and count > 0


@kernel
def list_astray(m, members: Members, flags: Offsets, who: Members):
    """List a particle that is astray."""
    if flags.start[m + 1] > flags.start[m]:
        who.particle[flags.start[m]] = members.particle[m]


@kernel
def count_renewal(_, look: Look):
    """The pairs of a few particles have been found anew."""
    look.renewals[0] += 1


@kernel
def start_anew(_, look: Look):
    """All pairs are found, in a frame that starts at the mean place."""
    centre, like = look.centre[0], look.drift[0, 0]
    look.reference[0] = centre
    look.drift[0], look.here[0] = rounded(sub(look.goal[0], centre), like), (ZERO, ZERO, ZERO)
    look.found[0] = 1
    look.detections[0] += 1


@kernel
def forget_pairs(_, look: Look):
    """All pairs are found anew in every substep."""
    look.found[0] = 0


@kernel
def count_substep(_, look: Look):
    """A substep less is left in the step."""
    look.left[0] -= 1


@kernel(fastmath=STEADY)
def expect_length(i, paths: Paths, look: Look, h: real):
    """Length of the displacement that the velocity brings in the substep, less the mean."""
    paths.travel[i, 1] = norm(scale(sub(paths.velocity[i], look.velocity[0]), h))


@kernel
def add_length(i, paths: Paths):
    """Sum up the lengths of the displacements."""
    paths.travel[i, 0] += paths.length[i]
