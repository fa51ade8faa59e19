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
from shinari.systems.surface_contact.records import (
    ContactParticles,
    DetectionState,
    Frames,
    Members,
    Paths,
    RowCounts,
    Sums,
)
from shinari.systems.surface_contact.row_table import RowTable

# A particle may stray from its way by this part of the median edge: more finds more pairs, less looks more often.
STRAY = 0.08
# A detection looks ahead as far as the particles typically move this many edges relative to each other.
AHEAD = 0.25
FEW = 0.15
ROUNDING = 4.0 * float(np.finfo(np.float32).eps)
# Particles in a block of sums.
CHUNK = 2048


class SurfaceDetection:
    """Finds pairs when it is time to.

    Attributes:
        detection: Its state.
        members: Particles that take part; the first `detection.members` count.
    """

    def __init__(
        self, finder: Finder, table: RowTable, members: np.ndarray, edge_length: float, h: float, each_substep: bool
    ) -> None:
        self._finder, self._table, self._edge_length, self._h = finder, table, edge_length, h
        self._each_substep = each_substep
        self.detection, self.members = (
            DetectionState.zeros(1, table.rows.precision),
            Members(particle=members.astype(np.uint32)),
        )
        self.detection.few[0], self._everyone = FEW, members
        self._sums, self._flags = Sums.zeros(-(-len(members) // CHUNK)), Offsets.zeros(len(members) + 1)
        self._scan, self._who = Scan(self._flags), Members.zeros(len(members))

    def begin(self, contact_particles: ContactParticles, paths: Paths, substeps: int) -> None:
        """A step begins: pairs are to be found anew. Particles of surfaces come first."""
        detection = self.detection
        present = self._everyone[~contact_particles.inactive[self._everyone]]
        loose = self._finder.objects.loose[contact_particles.object_index[present]]
        self.members.particle[: len(present)] = np.concatenate([present[~loose], present[loose]])
        detection.surface_members[0], detection.all_members[0] = len(present) - loose.sum(), len(present)
        detection.members[0], detection.left[0], detection.found[0] = len(present), substeps, 0
        detection.loose[0] = 1
        detection.detections[0] = detection.renewals[0] = 0
        paths.outside[...] = False

    def record(self, p: Program) -> None:
        """Look at the places at the start of the substep, the goals and the velocities; write rows where it is time."""
        detection, paths, members, table, finder = (
            self.detection,
            self._finder.paths,
            self.members,
            self._table,
            self._finder,
        )
        count, parts = (detection.members, 0), (detection, self._table.table)
        p.launch(sum_paths, members, detection, paths, self._sums, count=len(self._sums), grain=1)
        p.serial(begin_detection, self._sums, *parts, self._edge_length, self._h, self._each_substep)
        p.launch(check_box, members, paths, detection, self._flags, count=count, grain=2048)
        self._scan.record(p, count)
        p.serial(decide, self._flags, detection)
        with p.when((detection.some, 0)):
            p.launch(list_outside, members, self._flags, self._who, count=count, grain=4096)
            finder.record_boxes_of(p, detection, self._who, self._scan.total)
            with p.when((detection.some, 0)):
                finder.record_renew(p, detection)
                table.record_exchange(p, paths, detection)
                p.serial(count_renewal, detection)
        with p.when((detection.every, 0)):
            p.serial(start_anew, detection)
            finder.record_find(p, detection, members)
            table.record_exchange(p, paths, detection)


@kernel(fastmath=STEADY)
def start_paths(m, members: Members, paths: Paths, particles: Particles, frames: Frames, h: real):
    """A substep begins: keep the position; the particle goes on with its velocity."""
    i = members.particle[m]
    x, v, offset = particles.x[i], particles.v[i], frames.offset[particles.origin_index[i]]
    begin = x[0], x[1], x[2]
    paths.begin[i], paths.velocity[i] = begin, v
    paths.place[i], paths.goal[i] = add(begin, offset), add(add(begin, scale(v, h)), offset)


@kernel(fastmath=STEADY)
def end_paths(m, members: Members, paths: Paths, particles: Particles, frames: Frames, inverse_h: real):
    """The constraints are solved: take the position as the goal; the particle goes on with the velocity so far."""
    i = members.particle[m]
    x, offset = particles.x[i], frames.offset[particles.origin_index[i]]
    end = x[0], x[1], x[2]
    paths.goal[i] = add(end, offset)
    paths.velocity[i] = add(particles.v[i], scale(sub(end, particles.predicted[i]), inverse_h))


@steady
def plus(total, a):
    """Sum in float64."""
    return total[0] + np.float64(a[0]), total[1] + np.float64(a[1]), total[2] + np.float64(a[2])


@kernel(fastmath=STEADY)
def sum_paths(b, members: Members, detection: DetectionState, paths: Paths, sums: Sums):
    """Sums over a block of particles."""
    place, goal, velocity, squares, largest = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0, 0.0
    for m in range(b * CHUNK, min((b + 1) * CHUNK, detection.members[0])):
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
def begin_detection(
    _, sums: Sums, detection: DetectionState, counts: RowCounts, edge_length: real, h: real, each_substep: bool
):
    """Means of all particles, and how far the boxes of the next detection reach."""
    place, goal, velocity, squares, largest = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0, 0.0
    for b in range(len(sums)):
        place, goal = add(place, sums.place[b]), add(goal, sums.goal[b])
        velocity, squares = add(velocity, sums.velocity[b]), squares + sums.squares[b]
        largest = max(largest, sums.largest[b])
    part = 1.0 / max(detection.members[0], 1)
    place, goal, velocity = scale(place, part), scale(goal, part), scale(velocity, part)
    detection.centre[0], detection.goal[0], detection.velocity[0] = place, goal, rounded(velocity, h)
    detection.displacement[0] = rounded(sub(goal, place), h)
    reference = detection.reference[0]
    detection.drift[0], detection.here[0] = rounded(sub(goal, reference), h), rounded(sub(place, reference), h)
    typical = 2.0 * np.sqrt(max(squares * part - dot(velocity, velocity), 0.0)) * h
    ahead = np.float64(detection.left[0])
    if typical > 0.0:
        ahead = min(ahead, AHEAD * edge_length / typical)
    detection.ahead[0] = convert(0.0 if each_substep else ahead, h) * h
    detection.stray[0] = convert(STRAY * edge_length + ROUNDING * largest, h)
    counts.fresh[0] = 0


@kernel(fastmath=STEADY)
def check_box(m, members: Members, paths: Paths, detection: DetectionState, flags: Offsets):
    """Mark a particle that leaves its box."""
    i = members.particle[m]
    at, low, high = sub(paths.goal[i], detection.drift[0]), paths.low[i], paths.high[i]
    out = at[0] < low[0] or at[1] < low[1] or at[2] < low[2] or at[0] > high[0] or at[1] > high[1] or at[2] > high[2]
    paths.outside[i] = out
    flags.start[m] = out


@kernel
def decide(_, flags: Offsets, detection: DetectionState):
    """Whether all pairs are found, those of the particles that are astray, or none."""
    count = flags.start[detection.members[0]]
    detection.every[0] = detection.found[0] == 0 or count > detection.few[0] * detection.members[0]
    detection.some[0] = detection.every[0] == 0 and count > 0


@kernel
def list_outside(m, members: Members, flags: Offsets, who: Members):
    """List a particle that is astray."""
    if flags.start[m + 1] > flags.start[m]:
        who.particle[flags.start[m]] = members.particle[m]


@kernel
def count_renewal(_, detection: DetectionState):
    """The pairs of a few particles have been found anew."""
    detection.renewals[0] += 1


@kernel
def start_anew(_, detection: DetectionState):
    """All pairs are found, in a frame that starts at the mean place."""
    centre, like = detection.centre[0], detection.drift[0, 0]
    detection.reference[0] = centre
    detection.drift[0], detection.here[0] = rounded(sub(detection.goal[0], centre), like), (ZERO, ZERO, ZERO)
    detection.found[0] = 1
    detection.detections[0] += 1


@kernel
def forget_pairs(_, detection: DetectionState):
    """All pairs are found anew in every substep."""
    detection.found[0] = 0


@kernel
def count_substep(_, detection: DetectionState):
    """A substep less is left in the step."""
    detection.left[0] -= 1


@kernel(fastmath=STEADY)
def expect_length(m, members: Members, paths: Paths, detection: DetectionState, h: real):
    """Length of the displacement that the velocity brings in the substep, less the mean."""
    i = members.particle[m]
    paths.travel[i, 1] = norm(scale(sub(paths.velocity[i], detection.velocity[0]), h))


@kernel
def add_length(m, members: Members, paths: Paths):
    """Sum up the lengths of the displacements."""
    i = members.particle[m]
    paths.travel[i, 0] += paths.length[i]
