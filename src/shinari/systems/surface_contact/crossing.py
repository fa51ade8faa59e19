"""Paths of surfaces among themselves: no point passes through a triangle, and no edge through an edge.

A pair is safe when its distance at the start exceeds what both move relative to each other. For the others additive
conservative advancement finds the time of impact (Li, Kaufman and Jiang 2021, Codimensional Incremental Potential
Contact, algorithm 1): it only takes distances, never looks for roots and stops before the pair is closer than a part of
its distance. Displacements that meet are pushed apart at their end along the normal of the impact, as in an inelastic
impact. What still meets after a few turns moves as one, see `shinari.systems.paths.zones`.
"""

from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Program, convert, kernel, real
from shinari.compute.kernels import STEADY
from shinari.geometry.proximity import gap_vector, nearest_points
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, reciprocal, scale, sub
from shinari.model.particles import Particles
from shinari.systems.paths.certifier import Certificate
from shinari.systems.paths.records import Forest, PathState, Shares, Zones
from shinari.systems.paths.shares import branch, need_room, share_of
from shinari.systems.paths.zones import double, join
from shinari.systems.surface_contact.records import (
    CrossingState,
    DetectionState,
    Ends,
    Frames,
    Members,
    Paths,
    RowCounts,
    Rows,
    Sums,
)
from shinari.systems.surface_contact.row_pushes import add_to
from shinari.systems.surface_contact.rows import TANGLED, longest_move, relative, shift

if TYPE_CHECKING:
    from shinari.systems.surface_contact.system import SurfaceContacts

# Particles in a block of sums.
CHUNK = 128
# A path is safe when the pair keeps this part of its gap all along, or nearly its distance where that is less already.
KEPT, NEARLY = np.float32(0.2), np.float32(0.9)
# A pair that begins nearer than this part of its gap may not end nearer: what stays in a jam would lose a tenth of its
# distance in each substep until rounding turns it inside out.
JAMMED = np.float32(0.02)
# An impact is pushed apart to this part of the gap, or to the distance at the start where that is less, but for a jam.
PARTED = np.float32(0.4)
STEPS = 60
NEARER, FARTHER = np.float32(0.1), np.float32(0.9)
HALF = np.float32(0.5)
QUARTER = np.float32(0.25)


class SurfacePaths:
    """Certifies the paths of surfaces among themselves.

    Args:
        certificate: What all certifiers share.
        contacts: The contacts of surfaces, `shinari.systems.surface_contact.system.SurfaceContacts`.
        h: Substep [s].
    """

    def __init__(self, certificate: Certificate, contacts: "SurfaceContacts", h: float) -> None:
        self._certificate, self._contacts, self._h = certificate, contacts, h
        self._members = contacts.detection.members
        self._sums = Sums.zeros(-(-len(self._members) // CHUNK))
        precision = certificate.begins.precision
        self._crossing_state, self._ends = CrossingState.zeros(1, precision), Ends.zeros(len(self._members), precision)

    def record_pairs(self, p: Program) -> None:
        """Record that the pairs are found that the displacements may bring together."""
        self._contacts.record_pairs(p, self._certificate.state)

    def record_times(self, p: Program) -> None:
        """Record that the times of impact are found."""
        contacts, c, state = self._contacts, self._certificate, self._crossing_state
        (particles, paths, frames), detection = contacts.moving, contacts.detection.detection
        rows, table = contacts.rows.rows, contacts.rows.table
        p.launch(sum_moves, self._members, detection, particles, paths, self._sums, count=len(self._sums), grain=32)
        p.serial(find_mean_move, self._sums, detection, state)
        records = self._members, particles, paths, self._ends, state, c.state
        p.launch(measure_length, *records, count=(detection.members, 0), grain=2048)
        zones = c.zones, c.state
        p.launch(find_impact, rows, particles, paths, frames, *zones, count=(table.rows, 0), grain=1024)

    def record_part(self, p: Program) -> None:
        """Record that the ends of displacements that meet are pushed apart."""
        rows, table = self._contacts.rows.rows, self._contacts.rows.table
        p.serial(part_rows, table, rows, *self._contacts.moving, self._certificate.state, self._h)

    def record_join(self, p: Program) -> None:
        """Record that the zones of pairs that still meet are joined, and the pairs listed in `shares`."""
        rows, table, c = self._contacts.rows.rows, self._contacts.rows.table, self._certificate
        p.serial(need_room_for_rows, table, rows, c.state)
        p.require(c.shares, (c.state.room, 0))
        p.serial(join_rows, table, rows, *self._contacts.moving, c.zones, c.forest, c.shares, c.state)


@kernel
def sum_moves(b, members: Members, detection: DetectionState, particles: Particles, paths: Paths, sums: Sums):
    """Sum of the displacements of a block of particles."""
    x, y, z = 0.0, 0.0, 0.0
    for m in range(b * CHUNK, min((b + 1) * CHUNK, detection.members[0])):
        i = members.particle[m]
        now, begin = particles.x[i], paths.begin[i]
        x += np.float64(now[0] - begin[0])
        y += np.float64(now[1] - begin[1])
        z += np.float64(now[2] - begin[2])
    sums.goal[b] = x, y, z


@kernel
def find_mean_move(_, sums: Sums, detection: DetectionState, crossing_state: CrossingState):
    """Mean displacement."""
    x, y, z, like = 0.0, 0.0, 0.0, crossing_state.mean[0, 0]
    for b in range(len(sums)):
        x, y, z = x + sums.goal[b, 0], y + sums.goal[b, 1], z + sums.goal[b, 2]
    count = max(detection.members[0], 1)
    crossing_state.mean[0] = convert(x / count, like), convert(y / count, like), convert(z / count, like)


@kernel(fastmath=STEADY)
def measure_length(
    m, members: Members, particles: Particles, paths: Paths, ends: Ends, crossing_state: CrossingState, state: PathState
):
    """Length of the displacement of a particle less the mean, and whether it is another one than in the last turn."""
    i = members.particle[m]
    x, begin, last = particles.x[i], paths.begin[i], ends.position[m]
    paths.length[i] = norm(sub(sub((x[0], x[1], x[2]), begin), crossing_state.mean[0]))
    paths.moved[i] = state.turn[0] == 0 or x[0] != last[0] or x[1] != last[1] or x[2] != last[2]
    ends.position[m] = x[0], x[1], x[2]


@steady
def kept_distance(distance, gap):
    """Distance that a pair keeps on its path."""
    return min(KEPT * gap, NEARLY * distance)


@steady
def step_of(begin, x, i):
    """Displacement of a particle."""
    return x[i, 0] - begin[i, 0], x[i, 1] - begin[i, 1], x[i, 2] - begin[i, 2]


@steady
def impact(edges, a, b, c, w0, w1, w2, w3, least):
    """Time of impact, 1 when there is none, of a pair whose particles move by w0 to w3.

    `a`, `b`, `c` are the last three relative to the first; the pair counts as meeting nearer than about `least`.
    """
    mean = scale(add(add(w0, w1), add(w2, w3)), QUARTER)
    w0, w1, w2, w3 = sub(w0, mean), sub(w1, mean), sub(w2, mean), sub(w3, mean)
    fastest = max(norm(w0), norm(w1)) + max(norm(w2), norm(w3)) if edges else \
        norm(w0) + max(norm(w1), max(norm(w2), norm(w3)))  # fmt: skip
    v1, v2, v3 = sub(w1, w0), sub(w2, w0), sub(w3, w0)
    distance = norm(gap_vector(nearest_points(edges, a, b, c), a, b, c))
    time = ZERO * least
    stop = NEARER * (distance - least)
    for _ in range(STEPS):
        # no pair is nearer than `least` before it has gone its distance less that
        advance = FARTHER * (distance - least) / fastest
        if time + advance >= ONE or fastest <= ZERO:
            return ZERO * time + ONE
        time = time + advance
        p, q, r = add(a, scale(v1, time)), add(b, scale(v2, time)), add(c, scale(v3, time))
        distance = norm(gap_vector(nearest_points(edges, p, q, r), p, q, r))
        if distance - least < stop:
            return time
    return time


@steady
def ends_nearer(edges, a, b, c, v1, v2, v3):
    """Whether a pair ends nearer than it begins, whose last three particles move by v1 to v3 relative to the first."""
    p, q, r = add(a, v1), add(b, v2), add(c, v3)
    first = norm(gap_vector(nearest_points(edges, a, b, c), a, b, c))
    return norm(gap_vector(nearest_points(edges, p, q, r), p, q, r)) < first


@kernel(fastmath=STEADY)
def find_impact(
    r, rows: Rows, particles: Particles, paths: Paths, frames: Frames, zones: Zones, state: PathState
):  # fmt: skip
    """Time of impact of a row, 1 where its displacements are safe or one. All that meet write the same flag."""
    gap, two, lengths, moved = rows.gap[r], rows.edges[r], paths.length, paths.moved
    i0, i1, i2, i3 = rows.points[r]
    # a row that was safe in the last turn still is: no point of it has moved, and within a zone it keeps less
    if rows.time[r] >= ONE and not (moved[i0] or moved[i1] or moved[i2] or moved[i3]):
        return
    rows.time[r] = ONE
    move = longest_move(two, lengths, i0, i1, i2, i3)
    distance = rows.start[r]
    least = kept_distance(distance, gap)
    jammed = distance < JAMMED * gap
    if (distance - least > move and not jammed) or distance <= TANGLED * gap or gap < ZERO:
        return
    zone = zones.name[i0]
    one = state.joined[0] != 0 and zone == zones.name[i1] == zones.name[i2] == zones.name[i3]
    if one:
        if zones.whole[zone]:
            return
        # it has stopped at what it keeps
        least *= HALF
    origin_indices, origins, begin, x = particles.origin_index, frames.origin, paths.begin, particles.x
    a = relative(begin, i0, i1, shift(origin_indices, origins, i0, i1))
    b = relative(begin, i0, i2, shift(origin_indices, origins, i0, i2))
    c = relative(begin, i0, i3, shift(origin_indices, origins, i0, i3))
    w0, w1, w2, w3 = step_of(begin, x, i0), step_of(begin, x, i1), step_of(begin, x, i2), step_of(begin, x, i3)
    time = impact(two, a, b, c, w0, w1, w2, w3, least)
    if jammed and time >= ONE and ends_nearer(two, a, b, c, sub(w1, w0), sub(w2, w0), sub(w3, w0)):
        time = ZERO * time
    # what meets within a zone is kept apart by going as one from the start of the substep
    rows.time[r] = ZERO * time if one and time < ONE else time
    if time < ONE:
        state.hit[0] = 1


@steady
def meeting(r, time, rows, particles, paths, frames):
    """Weights of the nearest points of a row at a time on its paths, and the normal there."""
    origin_indices, origins, begin, x = particles.origin_index, frames.origin, paths.begin, particles.x
    i0, i1, i2, i3 = rows.points[r]
    w0, w1, w2, w3 = step_of(begin, x, i0), step_of(begin, x, i1), step_of(begin, x, i2), step_of(begin, x, i3)
    a = add(relative(begin, i0, i1, shift(origin_indices, origins, i0, i1)), scale(sub(w1, w0), time))
    b = add(relative(begin, i0, i2, shift(origin_indices, origins, i0, i2)), scale(sub(w2, w0), time))
    c = add(relative(begin, i0, i3, shift(origin_indices, origins, i0, i3)), scale(sub(w3, w0), time))
    w = nearest_points(rows.edges[r], a, b, c)
    separating_vector = gap_vector(w, a, b, c)
    return w, scale(separating_vector, reciprocal(norm(separating_vector)))


@kernel(fastmath=STEADY)
def part_rows(
    _,
    counts: RowCounts,
    rows: Rows,
    particles: Particles,
    paths: Paths,
    frames: Frames,
    state: PathState,
    h: real,
):
    """Push the ends of displacements that meet apart along the normal of the impact, one pair after the other."""
    origin_indices, origins, x = particles.origin_index, frames.origin, particles.x
    for r in range(counts.rows[0]):
        time = rows.time[r]
        if time >= ONE:
            continue
        state.impacts[0] += 1
        i0, i1, i2, i3 = rows.points[r]
        o1, o2, o3 = (
            shift(origin_indices, origins, i0, i1),
            shift(origin_indices, origins, i0, i2),
            shift(origin_indices, origins, i0, i3),
        )
        w, n = meeting(r, time, rows, particles, paths, frames)
        ends = gap_vector(w, relative(x, i0, i1, o1), relative(x, i0, i2, o2), relative(x, i0, i3, o3))
        gap = rows.gap[r]
        depth = max(JAMMED * gap, min(PARTED * gap, rows.start[r])) - dot(n, ends)
        m0, m1, m2, m3 = w[0] * x[i0, 3], w[1] * x[i1, 3], w[2] * x[i2, 3], w[3] * x[i3, 3]
        mobility = w[0] * m0 + w[1] * m1 + w[2] * m2 + w[3] * m3
        if depth <= ZERO or mobility <= ZERO:
            continue
        push = scale(n, depth / mobility)
        add_to(x, i0, m0, push)
        add_to(x, i1, m1, push)
        add_to(x, i2, m2, push)
        add_to(x, i3, m3, push)
        add_to(rows.impulse, r, ONE / h, push)
        if rows.weights[r, 0] == ZERO and rows.weights[r, 1] == ZERO:
            # it was never near enough to be evaluated
            rows.weights[r], rows.normal[r] = w, n


@kernel
def need_room_for_rows(_, counts: RowCounts, rows: Rows, state: PathState):
    """Tell how many rows of `shares` may be needed."""
    need_room(rows, counts.rows[0], state)


@kernel(fastmath=STEADY)
def join_rows(
    _,
    counts: RowCounts,
    rows: Rows,
    particles: Particles,
    paths: Paths,
    frames: Frames,
    zones: Zones,
    forest: Forest,
    shares: Shares,
    state: PathState,
):
    """Join the particles of rows that still meet."""
    for r in range(counts.rows[0]):
        if rows.time[r] < ONE:
            state.impacts[0] += 1
            time, points = np.float64(rows.time[r]), rows.points[r]
            i0, i1, i2, i3 = np.int64(points[0]), np.int64(points[1]), np.int64(points[2]), np.int64(points[3])
            join(zones, i0, i1, time)
            join(zones, i0, i2, time)
            join(zones, i0, i3, time)
            two = rows.edges[r]
            branch(forest, i2, i3)
            branch(forest, i0 if two else i2, i1)
            row = share_of(forest, shares, state, i0, i2 if two else i1)
            if row >= 0:
                w, n = meeting(r, rows.time[r], rows, particles, paths, frames)
                shares.particles[row], shares.normal[row] = points, double(n)
                shares.weights[row] = np.float64(w[0]), np.float64(w[1]), np.float64(w[2]), np.float64(w[3])
