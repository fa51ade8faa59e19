"""When pairs are looked for: whether the rows hold every pair that may touch on the way of a substep.

Boxes are in a frame that moves and deforms with the particles, see `shinari.systems.surface_contact.affine_frame`. Each
particle may go on anywhere in its box; those that leave it are looked at again, and all are when these are many.
"""

import numpy as np

from shinari.compute import Program, convert, kernel, real
from shinari.compute.kernels import STEADY
from shinari.compute.scan import Offsets, Scan
from shinari.maths.function import steady
from shinari.maths.vec3 import ZERO, add, norm, scale, sub
from shinari.model.particles import Clock, Particles
from shinari.systems.surface_contact.affine_frame import (
    CHUNK,
    begin_frame,
    leaves_box,
    set_frame,
    sum_gradient,
)
from shinari.systems.surface_contact.build import Participants
from shinari.systems.surface_contact.candidates import Finder
from shinari.systems.surface_contact.records import (
    ContactParticles,
    DetectionState,
    Frames,
    GradientSums,
    Members,
    Paths,
    RowCounts,
    Sums,
)
from shinari.systems.surface_contact.row_table import RowTable

# A particle may stray from its way by this part of the median edge: more finds more pairs, less looks more often.
STRAY = 0.08
FEW = 0.15
ROUNDING = 16.0 * float(np.finfo(np.float32).eps)


class SurfaceDetection:
    """Finds pairs when it is time to.

    Attributes:
        detection: Its state.
        members: Particles that take part; the first `detection.members` count.
        slow: Speed [m/s] below which the scene is calm; 0: never.
    """

    def __init__(
        self, finder: Finder, table: RowTable, members: np.ndarray, who: Participants, h: float, each_substep: bool
    ) -> None:
        self._finder, self._table, self._edge_length, self._h = finder, table, who.edge_length, h
        self._each_substep, self._surfaces_meet, self.slow = each_substep, who.surfaces_meet, 0.0
        self.detection, self.members = (
            DetectionState.zeros(1, table.rows.precision),
            Members(particle=members.astype(np.uint32)),
        )
        self.detection.few[0], self._everyone = FEW, members
        blocks = -(-len(members) // CHUNK)
        self._sums, self._gradient_sums = Sums.zeros(blocks), GradientSums.zeros(blocks)
        self._flags = Offsets.zeros(len(members) + 1)
        self._scan, self._who = Scan(self._flags), Members.zeros(len(members))

    def choose_members(self, contact_particles: ContactParticles) -> None:
        """Some particles have come or gone; those of surfaces come first."""
        detection = self.detection
        present = self._everyone[~contact_particles.inactive[self._everyone]]
        loose = self._finder.objects.loose[contact_particles.object_index[present]]
        self.members.particle[: len(present)] = np.concatenate([present[~loose], present[loose]])
        # where surfaces meet loose particles only, they take part when these do
        detection.surface_members[0] = np.count_nonzero(~loose) if self._surfaces_meet else 0
        detection.all_members[0] = len(present)

    def begin(self, paths: Paths, substeps: int) -> None:
        """A step begins: pairs are to be found anew."""
        detection = self.detection
        detection.members[0], detection.left[0], detection.found[0] = detection.all_members[0], substeps, 0
        detection.loose[0] = 1
        detection.detections[0] = detection.renewals[0] = 0
        paths.outside[...] = False

    def record(self, p: Program, clock: Clock) -> None:
        """Look at the places at the start of the substep, the goals and the velocities; write rows where it is time."""
        detection, paths, members, table, finder = (
            self.detection,
            self._finder.paths,
            self.members,
            self._table,
            self._finder,
        )
        count, parts, blocks = (detection.members, 0), (detection, self._table.table), len(self._sums)
        p.launch(sum_paths, members, detection, paths, self._sums, count=blocks, grain=16)
        p.serial(begin_detection, self._sums, *parts, self._edge_length, self._h)
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
            sums, lengths = self._gradient_sums, (self._edge_length, self._h)
            p.launch(sum_gradient, members, detection, paths, sums, count=blocks, grain=16)
            p.serial(begin_frame, sums, detection, clock, *lengths, self.slow, self._each_substep)
            finder.record_find(p, detection, members)
            table.record_exchange(p, paths, detection)


@kernel(fastmath=STEADY)
def start_paths(
    m,
    members: Members,
    paths: Paths,
    contact_particles: ContactParticles,
    particles: Particles,
    frames: Frames,
    h: real,
):
    """A substep begins: keep the position; the particle goes on with its velocity."""
    i = members.particle[m]
    x, v, offset = particles.x[i], particles.v[i], frames.offset[particles.origin_index[i]]
    begin = x[0], x[1], x[2]
    expected = add(begin, scale(v, h))
    paths.begin[i], paths.velocity[i] = begin, v
    paths.travel[i, 2] = contact_particles.path[i]
    contact_particles.path[i], contact_particles.last_position[i] = ZERO * h, expected
    paths.place[i], paths.goal[i] = add(begin, offset), add(expected, offset)


@kernel(fastmath=STEADY)
def measure_path(m, members: Members, contact_particles: ContactParticles, particles: Particles):
    """Add the last displacement of a particle to the length of its path."""
    i = members.particle[m]
    x = particles.x[i]
    now = x[0], x[1], x[2]
    contact_particles.path[i] += norm(sub(now, contact_particles.last_position[i]))
    contact_particles.last_position[i] = now


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
    place, goal, velocity, largest = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0
    for m in range(b * CHUNK, min((b + 1) * CHUNK, detection.members[0])):
        i = members.particle[m]
        a = paths.place[i]
        place, goal, velocity = plus(place, a), plus(goal, paths.goal[i]), plus(velocity, paths.velocity[i])
        largest = max(largest, np.float64(max(abs(a[0]), max(abs(a[1]), abs(a[2])))))
    sums.place[b], sums.goal[b], sums.velocity[b], sums.largest[b] = place, goal, velocity, largest


@steady
def rounded(a, like):
    """A vector of float64 as that of another type."""
    return convert(a[0], like), convert(a[1], like), convert(a[2], like)


@kernel(fastmath=STEADY)
def begin_detection(_, sums: Sums, detection: DetectionState, counts: RowCounts, edge_length: real, h: real):
    """Means of all particles, the frame, and how far boxes reach that are made now."""
    place, goal, velocity, largest = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0
    for b in range(len(sums)):
        place, goal, velocity = add(place, sums.place[b]), add(goal, sums.goal[b]), add(velocity, sums.velocity[b])
        largest = max(largest, sums.largest[b])
    part = 1.0 / max(detection.members[0], 1)
    place, goal = scale(place, part), scale(goal, part)
    detection.centre[0], detection.goal[0] = rounded(place, h), rounded(goal, h)
    detection.velocity[0] = rounded(scale(velocity, part), h)
    detection.displacement[0] = rounded(sub(goal, place), h)
    if set_frame(detection, h):
        detection.found[0] = 0
    detection.ahead[0] = min(detection.horizon[0], convert(np.float64(detection.left[0]), h) * h)
    detection.stray[0] = convert(STRAY * edge_length + ROUNDING * largest, h)
    counts.fresh[0] = 0


@kernel(fastmath=STEADY)
def check_box(m, members: Members, paths: Paths, detection: DetectionState, flags: Offsets):
    """Mark a particle that leaves its box."""
    i = members.particle[m]
    out = leaves_box(i, paths, detection)
    paths.outside[i] = out
    flags.start[m] = out


@kernel
def decide(_, flags: Offsets, detection: DetectionState):
    """Whether all pairs are found, those of the particles that are astray, or none."""
    count = flags.start[detection.members[0]]
    all_of = detection.members[0]
    detection.every[0] = all_of > 0 and (detection.found[0] == 0 or count > detection.few[0] * all_of)
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
def count_substep(_, detection: DetectionState):
    """A substep less is left in the step."""
    detection.left[0] -= 1


@kernel(fastmath=STEADY)
def expect_length(m, members: Members, paths: Paths, detection: DetectionState, h: real):
    """Length of the displacement that the velocity brings in the substep, less the mean."""
    i = members.particle[m]
    paths.travel[i, 1] = norm(scale(sub(paths.velocity[i], detection.velocity[0]), h))


@kernel(fastmath=STEADY)
def measure_displacement(m, members: Members, paths: Paths, detection: DetectionState):
    """Length of the displacement to the goal less the mean."""
    i = members.particle[m]
    paths.length[i] = norm(sub(sub(paths.goal[i], paths.place[i]), detection.displacement[0]))


@kernel
def add_length(m, members: Members, paths: Paths):
    """Sum up the lengths of the displacements."""
    i = members.particle[m]
    paths.travel[i, 0] += paths.length[i]
