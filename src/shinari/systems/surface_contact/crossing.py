"""Nothing passes through: certifies the straight displacements of a substep, and mends those that would cross.

A pair is safe when its distance at the start exceeds what both move relative to each other. For the others additive
conservative advancement finds the time of impact (Li, Kaufman and Jiang 2021, Codimensional Incremental Potential
Contact, algorithm 1): it only takes distances, never looks for roots and stops before the pair is closer than a part of
its distance. Displacements that meet are pushed apart at their end along the normal of the impact, as in an inelastic
impact; what still meets after a few rounds moves as one: the mean of its displacements, weighted by mass (Provot 1997,
Collision and self-collision handling in cloth model dedicated to design garments; Bridson et al. 2002, section 7.4).
"""

import numpy as np

from shinari.compute import Program, convert, kernel, real, scratch
from shinari.compute.kernels import STEADY
from shinari.geometry.proximity import gap_vector, nearest_points
from shinari.maths.eigen import eigen
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, add, cross, dot, norm, reciprocal, scale, sub
from shinari.model.particles import Particles
from shinari.systems.surface_contact.records import (
    CrossingState,
    DetectionState,
    Frames,
    Members,
    Paths,
    RowCounts,
    Rows,
    Sums,
    Zones,
)
from shinari.systems.surface_contact.row_table import RowTable
from shinari.systems.surface_contact.rows import TANGLED, add_to, relative, shift

# Turns in which displacements that meet are pushed apart before what still meets moves as one, and turns of that.
ROUNDS, ZONES = 6, 60
# Particles in a block of sums.
CHUNK = 2048
# A way is safe when the pair keeps this part of its gap all along, or nearly its distance where that is less already.
KEPT, NEARLY = np.float32(0.2), np.float32(0.9)
# An impact is pushed apart to this part of the gap, or to the distance at the start where that is less.
PARTED = np.float32(0.4)
STEPS = 60
NEARER, FARTHER = np.float32(0.1), np.float32(0.9)
QUARTER = np.float32(0.25)
FIXED = 1e6


# Eigenvalues of an inertia below this part of the largest count as zero.
SINGULAR = 1e-9


class Crossing:
    """Certifies the displacements of a substep, and mends them.

    Attributes:
        crossing_state: What it did in this step.
    """

    def __init__(self, table: RowTable, particles: Particles, paths: Paths, frames: Frames, members: Members) -> None:
        self._table, self._particles, self._paths, self._frames = table, particles, paths, frames
        self._members, self._sums = members, Sums.zeros(-(-len(members) // CHUNK))
        self.crossing_state = CrossingState.zeros(1, particles.precision)
        self._zones = Zones.zeros(len(particles))

    def record(self, p: Program, detection: DetectionState, h: float) -> None:
        """Push apart what meets, then let what still does move as one."""
        crossing_state, particles, paths, frames = self.crossing_state, self._particles, self._paths, self._frames
        rows, table, count = self._table.rows, self._table.table, len(self._particles)
        p.serial(start_crossings, crossing_state)
        with p.repeat(ROUNDS + ZONES + 1, until=(crossing_state.clear, 0)):
            p.launch(sum_moves, self._members, detection, particles, paths, self._sums, count=len(self._sums), grain=2)
            p.serial(find_mean_move, self._sums, detection, crossing_state)
            records = self._members, particles, paths, crossing_state
            p.launch(measure_length, *records, count=(detection.members, 0), grain=2048)
            p.launch(find_impact, rows, particles, paths, frames, crossing_state, count=(table.rows, 0), grain=1024)
            p.serial(choose_turn, crossing_state)
            with p.when((crossing_state.part, 0)):
                p.serial(part_rows, table, rows, particles, paths, frames, crossing_state, h)
            with p.when((crossing_state.join, 0)):
                p.serial(join_zones, table, rows, self._zones, crossing_state)
                p.launch(move_zone, self._zones, particles, paths, count=count, grain=1024)


@kernel
def start_crossings(_, crossing_state: CrossingState):
    """Nothing has been tried in this substep."""
    crossing_state.turn[0], crossing_state.clear[0] = 0, 0


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
    """Mean displacement; nothing has met yet."""
    x, y, z, like = 0.0, 0.0, 0.0, crossing_state.mean[0, 0]
    for b in range(len(sums)):
        x, y, z = x + sums.goal[b, 0], y + sums.goal[b, 1], z + sums.goal[b, 2]
    count = max(detection.members[0], 1)
    crossing_state.mean[0] = convert(x / count, like), convert(y / count, like), convert(z / count, like)
    crossing_state.hit[0] = 0


@kernel(fastmath=STEADY)
def measure_length(m, members: Members, particles: Particles, paths: Paths, crossing_state: CrossingState):
    """Length of the displacement of a particle less the mean."""
    i = members.particle[m]
    x, begin = particles.x[i], paths.begin[i]
    paths.length[i] = norm(sub(sub((x[0], x[1], x[2]), begin), crossing_state.mean[0]))


@kernel
def choose_turn(_, crossing_state: CrossingState):
    """What happens to displacements that meet."""
    turn = crossing_state.turn[0]
    crossing_state.turn[0] = turn + 1
    crossing_state.part[0] = crossing_state.hit[0] != 0 and turn < ROUNDS
    crossing_state.join[0] = crossing_state.hit[0] != 0 and ROUNDS <= turn < ROUNDS + ZONES
    crossing_state.clear[0] = not (crossing_state.part[0] or crossing_state.join[0])
    crossing_state.unresolved[0] += crossing_state.clear[0] and crossing_state.hit[0]
    crossing_state.zones[0] += crossing_state.join[0]


@steady
def kept_distance(distance, gap):
    """Distance below which a pair must not come."""
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


@kernel(fastmath=STEADY)
def find_impact(r, rows: Rows, particles: Particles, paths: Paths, frames: Frames, crossing_state: CrossingState):
    """Time of impact of a row, 1 where its displacements are safe. All that meet write the same flag."""
    rows.time[r] = ONE
    gap, two, lengths = rows.gap[r], rows.edges[r], paths.length
    i0, i1, i2, i3 = rows.points[r]
    move = max(lengths[i2], lengths[i3])
    move += max(lengths[i0], lengths[i1]) if two else lengths[i0]
    move = move if two else max(move, lengths[i0] + lengths[i1])
    distance = rows.start[r]
    least = kept_distance(distance, gap)
    if distance - least > move or distance <= TANGLED * gap or gap < ZERO:
        return
    origin_indices, origins, begin, x = particles.origin_index, frames.origin, paths.begin, particles.x
    a = relative(begin, i0, i1, shift(origin_indices, origins, i0, i1))
    b = relative(begin, i0, i2, shift(origin_indices, origins, i0, i2))
    c = relative(begin, i0, i3, shift(origin_indices, origins, i0, i3))
    time = impact(two, a, b, c, step_of(begin, x, i0), step_of(begin, x, i1), step_of(begin, x, i2),
                  step_of(begin, x, i3), least)  # fmt: skip
    rows.time[r] = time
    if time < ONE:
        crossing_state.hit[0] = 1


@kernel(fastmath=STEADY)
def part_rows(
    _,
    counts: RowCounts,
    rows: Rows,
    particles: Particles,
    paths: Paths,
    frames: Frames,
    crossing_state: CrossingState,
    h: real,
):
    """Push the ends of displacements that meet apart along the normal of the impact, one pair after the other."""
    origin_indices, origins, begin, x = particles.origin_index, frames.origin, paths.begin, particles.x
    for r in range(counts.rows[0]):
        time = rows.time[r]
        if time >= ONE:
            continue
        crossing_state.impacts[0] += 1
        i0, i1, i2, i3 = rows.points[r]
        o1, o2, o3 = (
            shift(origin_indices, origins, i0, i1),
            shift(origin_indices, origins, i0, i2),
            shift(origin_indices, origins, i0, i3),
        )
        w0, w1, w2, w3 = step_of(begin, x, i0), step_of(begin, x, i1), step_of(begin, x, i2), step_of(begin, x, i3)
        a = add(relative(begin, i0, i1, o1), scale(sub(w1, w0), time))
        b = add(relative(begin, i0, i2, o2), scale(sub(w2, w0), time))
        c = add(relative(begin, i0, i3, o3), scale(sub(w3, w0), time))
        w = nearest_points(rows.edges[r], a, b, c)
        separating_vector = gap_vector(w, a, b, c)
        n = scale(separating_vector, reciprocal(norm(separating_vector)))
        ends = gap_vector(w, relative(x, i0, i1, o1), relative(x, i0, i2, o2), relative(x, i0, i3, o3))
        depth = min(PARTED * rows.gap[r], rows.start[r]) - dot(n, ends)
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


@steady
def root(zones, i):
    """Name of the zone of a particle."""
    name = zones.name
    while name[i] != i:
        name[i] = name[name[i]]
        i = name[i]
    return i


@kernel
def join_zones(_, counts: RowCounts, rows: Rows, zones: Zones, crossing_state: CrossingState):
    """Join the zones of all particles of rows that still meet; a zone has the name of its first particle."""
    if crossing_state.turn[0] == ROUNDS + 1:
        for i in range(len(zones)):
            zones.name[i] = i
    for r in range(counts.rows[0]):
        if rows.time[r] < ONE:
            crossing_state.impacts[0] += 1
            first = root(zones, np.int64(rows.points[r, 0]))
            for k in range(1, 4):
                other = root(zones, np.int64(rows.points[r, k]))
                low, high = min(first, other), max(first, other)
                zones.name[high] = low
                first = low
    for i in range(len(zones)):
        zones.size[i] = 0
    for i in range(len(zones)):
        zone = root(zones, i)
        zones.name[i] = zone
        zones.size[zone] += 1


@steady
def mass_of(inverse, heaviest):
    """Mass of a particle [kg]; what is fixed outweighs the rest."""
    return 1.0 / np.float64(inverse) if inverse > ZERO else FIXED * heaviest


@steady
def double(a):
    """The first three numbers of a row in float64."""
    return np.float64(a[0]), np.float64(a[1]), np.float64(a[2])


@kernel(fastmath=STEADY, mixed=True)
def move_zone(zone, zones: Zones, particles: Particles, paths: Paths):
    """Move a zone of more than one particle rigidly, with the mean and the spin of its displacements.

    Weighted by mass, so that momentum and angular momentum are those of the displacements. The item is the first
    particle of the zone.
    """
    if zones.name[zone] != zone or zones.size[zone] < 2:
        return
    count, x, begin = len(zones), particles.x, paths.begin
    heaviest = 0.0
    for i in range(zone, count):
        if zones.name[i] == zone and x[i, 3] > ZERO:
            heaviest = max(heaviest, 1.0 / np.float64(x[i, 3]))
    heaviest = heaviest if heaviest > 0.0 else 1.0
    total, centre, mean = 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for i in range(zone, count):
        if zones.name[i] == zone:
            mass, start = mass_of(x[i, 3], heaviest), double(begin[i])
            total += mass
            centre, mean = add(centre, scale(start, mass)), add(mean, scale(sub(double(x[i]), start), mass))
    centre, mean = scale(centre, 1.0 / total), scale(mean, 1.0 / total)
    spin, xx, yy, zz, yz, xz, xy = (0.0, 0.0, 0.0), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(zone, count):
        if zones.name[i] == zone:
            mass, start = mass_of(x[i, 3], heaviest), double(begin[i])
            arm = sub(start, centre)
            spin = add(spin, scale(cross(arm, sub(sub(double(x[i]), start), mean)), mass))
            square = dot(arm, arm)
            xx, yy, zz = (
                xx + mass * (square - arm[0] ** 2),
                yy + mass * (square - arm[1] ** 2),
                zz + mass * (square - arm[2] ** 2),
            )
            yz, xz, xy = yz - mass * arm[1] * arm[2], xz - mass * arm[0] * arm[2], xy - mass * arm[0] * arm[1]
    angle = solve_singular(xx, yy, zz, yz, xz, xy, spin)
    size = norm(angle)
    axis = scale(angle, 1.0 / size if size > 0.0 else 0.0)
    cosine, sine = np.cos(size), np.sin(size)
    for i in range(zone, count):
        if zones.name[i] == zone and x[i, 3] > ZERO:
            arm = sub(double(begin[i]), centre)
            turned = add(scale(arm, cosine), scale(cross(axis, arm), sine))
            turned = add(turned, scale(axis, dot(arm, axis) * (1.0 - cosine)))
            end, like = add(add(centre, mean), turned), x[i, 3]
            x[i] = convert(end[0], like), convert(end[1], like), convert(end[2], like), like


@steady
def solve_singular(xx, yy, zz, yz, xz, xy, b):
    """Least solution of H w = b for a symmetric matrix H, which may be singular."""
    h, v = scratch((3, 3), 0.0), scratch((3, 3), 0.0)
    h[0, 0], h[1, 1], h[2, 2] = xx, yy, zz
    h[1, 2] = h[2, 1] = yz
    h[0, 2] = h[2, 0] = xz
    h[0, 1] = h[1, 0] = xy
    eigen(h, v)
    least = SINGULAR * max(abs(h[0, 0]), max(abs(h[1, 1]), abs(h[2, 2])))
    w0, w1, w2 = 0.0, 0.0, 0.0
    for k in range(3):
        part = v[0, k] * b[0] + v[1, k] * b[1] + v[2, k] * b[2]
        part = part / h[k, k] if abs(h[k, k]) > least else 0.0
        w0, w1, w2 = w0 + part * v[0, k], w1 + part * v[1, k], w2 + part * v[2, k]
    return w0, w1, w2
