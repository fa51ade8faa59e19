"""Detection of the pairs of balls that may touch before the next detection.

Each ball goes on with the velocity that it has, and may stray from there by a margin. Two balls are a row when they
come to touch within their margins on these paths, or did in this substep. Those that leave their margins get new paths
and are searched alone, see `strayed_pairs`; the paths of balls that go far in a substep, see `fast_pairs`. Balls are
numbered cell by cell, about sixteen in one: consecutive rows then lie close together.
"""

import numpy as np

from shinari.collision.broad.blocks import Claims
from shinari.collision.broad.grid import Grid, Points
from shinari.collision.broad.pairs import BallPairs, Keys, PairSearch, contains
from shinari.collision.broad.row_batches import WIDTH, Links, RowBatches
from shinari.collision.law import combined_surface
from shinari.compute import Program, convert, function, kernel, real
from shinari.compute.kernels import STEADY
from shinari.compute.scan import Offsets, Scan
from shinari.maths.vec3 import ONE, ZERO, add, norm, scale, sub
from shinari.model.particles import Origins, Particles
from shinari.systems.particle_contact.build import MemberTable
from shinari.systems.particle_contact.fast_pairs import Paths, PathSearch, meet
from shinari.systems.particle_contact.records import (
    CHUNK,
    Appended,
    Chunks,
    Control,
    MemberPoints,
    Members,
    Objects,
    Order,
    PairDistances,
    RowBalls,
    Rows,
    Shifts,
    SortedBalls,
    SpecialPairs,
    WarmStart,
    WarmStartRanges,
)
from shinari.systems.particle_contact.strayed_pairs import (
    FEW,
    FEW_OF_SHEETS,
    append_links,
    choose_search,
    count_appended,
    count_strayed,
    count_strayed_pairs,
    drop_known,
    fill_strayed_pairs,
    margin_of,
    mark_strayed,
    renew_path,
)
from shinari.systems.particle_contact.warm_start import Memory, recall

# A ball goes as far as it may by its speed, and this much more.
SPARE = 1.2
# No margin is below this part of the mean radius while most balls move.
MOST = 0.4
# The time ahead ends when a typical ball has moved by this part of a typical radius, but not within a substep.
AHEAD = 0.5
# A ball is fast when its margin would be this many mean radii; less where most balls move by more than a radius in a
# substep: their memory would grow with the cube of the speed.
LONE, CROWD = 16.0, 4.0
# Side of the cells of the numbering in mean radii; no less than this part of the extent of all.
CELL, FINEST = 5.0, 1e-6
# Each detection since many balls have strayed doubles the least margin, up to so many times it, or up to twice it where
# each particle has so many rows.
MOST_GROWTH, CROWDED = 16.0, 4
# Balls for which it is worth waking one more thread.
SHARE = 512
INFINITY = np.float32(np.inf)


@function
def mean_velocity(control, like):
    """Mean velocity of the members in the precision of the simulation."""
    mean = control.mean[0]
    return convert(mean[0], like), convert(mean[1], like), convert(mean[2], like)


@kernel(fastmath=STEADY, mixed=True)
def measure_members(c, members: Members, particles: Particles, control: Control, chunks: Chunks):
    """Sum of the squared speeds of a chunk of members, its largest coordinate, and whether one is not finite."""
    square, largest, lost = 0.0, 0.0, False
    for m in range(c * CHUNK, min((c + 1) * CHUNK, len(members))):
        x, v = particles.x[members.particle[m]], particles.v[members.particle[m]]
        speed = np.float64(norm(sub(v, mean_velocity(control, v[0]))))
        square += speed * speed
        extent = np.float64(max(abs(x[0]), max(abs(x[1]), abs(x[2]))))
        largest = max(largest, extent)
        # a NaN may hide in the maximum
        lost = lost or not abs(np.float64(x[0]) + np.float64(x[1]) + np.float64(x[2])) < np.inf
    chunks.square[c], chunks.largest[c], chunks.flag[c] = square, largest, lost


@kernel(fastmath=STEADY)
def plan_detection(_, control: Control, chunks: Chunks, count: np.int64, h: np.float64, radius: np.float64,
                   epsilon: np.float64):  # fmt: skip
    """Choose how far the margins look ahead; without finite positions there is nothing to find."""
    if control.crowd[0] != 0:
        most = 2.0 if control.rows[0] > CROWDED * count else MOST_GROWTH
        control.growth[0] = max(control.growth[0], min(2.0 * control.growth[0], most))
    control.crowd[0] = 0
    square, largest, lost = 0.0, 0.0, False
    for c in range(len(chunks)):
        square += chunks.square[c]
        largest = max(largest, chunks.largest[c])
        lost = lost or chunks.flag[c] != 0
    typical, ahead = np.sqrt(square / count), control.left[0] * h
    if typical * ahead > AHEAD * radius:
        ahead = min(ahead, max(AHEAD * radius / typical, h))
    # whole substeps; the one in the middle of which rows are found is one of them, and over
    control.ahead[0] = h * max(np.floor(ahead / h + 0.5), 1.0) - (h if control.resume[0] != 0 else 0.0)
    control.least[0] = min(2.0 * typical * ahead, MOST * radius)
    control.fast_margin[0] = (CROWD if typical * 1.5 * h > AHEAD * radius else LONE) * radius
    # positions stray by their rounding
    control.rounding[0] = 4.0 * epsilon * largest
    # a state that has left the finite numbers ends the step; until then there is nothing to find
    control.balls[0] = 0 if lost or not (square < np.inf and largest < np.inf) else count


@function(fastmath=STEADY)
def origin_of(i, particles, origins):
    """Origin of a particle."""
    return origins.position[particles.origin_index[i]]


@kernel(fastmath=STEADY, mixed=True)
def place_members(m, members: Members, points: MemberPoints, particles: Particles, origins: Origins, control: Control,
                  h: real):  # fmt: skip
    """Margin of a member, and where it is in the world."""
    i = members.particle[m]
    x, v, radius = particles.x[i], particles.v[i], members.radius[m]
    mean = mean_velocity(control, radius)
    relative = sub(v, mean)
    path, longest = scale(relative, ZERO), convert(control.ahead[0], radius) * norm(relative)
    if control.resume[0] != 0:
        # what it has moved in this substep beside the mean motion
        p = particles.predicted[i]
        path = sub(add(sub((x[0], x[1], x[2]), p), scale(v, h)), scale(mean, h))
        longest = max(longest, norm(path))
    members.margin[m], members.path[m] = margin_of(radius, control), path
    members.velocity[m] = relative
    members.fast[m] = convert(SPARE, radius) * longest > convert(control.fast_margin[0], radius)
    at = origin_of(i, particles, origins)
    points.at[m] = at[0] + x[0], at[1] + x[1], at[2] + x[2], ZERO


@kernel(fastmath=STEADY, mixed=True)
def number_balls(b, balls: SortedBalls, claims: Claims, members: Members, order: Order, points: MemberPoints,
                  paths: Paths, particles: Particles, control: Control):  # fmt: skip
    """Take over a member as a ball, and its path with the margin."""
    m = order.index[b]
    i, at = members.particle[m], points.at[m]
    x, margin, velocity = particles.x[i], members.margin[m], members.velocity[m]
    balls.member[b], balls.particle[b], balls.object_index[b], balls.origin_index[b] = (
        m,
        i,
        members.object_index[m],
        particles.origin_index[i],
    )
    balls.margin[b], balls.origin[b], balls.factor[b] = margin, (x[0], x[1], x[2]), np.float32(1.0)
    balls.at[b, 0], balls.at[b, 1], balls.at[b, 2], balls.path[b] = x[0], x[1], x[2], ZERO
    balls.velocity[b], balls.strayed[b], balls.latest[b] = velocity, False, -1
    claims.free[b] = members.free[m]
    paths.at[b], paths.fast[b], paths.past[b] = (at[0], at[1], at[2]), members.fast[m], members.path[m]
    paths.ahead[b] = scale(velocity, convert(control.ahead[0], margin))
    paths.reach[b] = np.float64(members.reach[m]) + np.float64(margin) + control.rounding[0]


@function
def distance_to_keep(a, b, balls, claims, members, objects, ignored, starts, special):
    """Distance that two balls keep: the sum of the radii, or their own; 0 where they are left out."""
    one, other = np.int64(balls.object_index[a]), np.int64(balls.object_index[b])
    i, j = balls.member[a], balls.member[b]
    keep = members.radius[i] + members.radius[j]
    meet = claims.free[a] or claims.free[b]
    if one == other:
        meet = meet and not objects.alone[one]
    else:
        meet = meet and not contains(ignored, min(one, other) * len(objects) + max(one, other))
    low, high = min(i, j), max(i, j)
    for k in range(starts.start[low], starts.start[np.int64(low) + 1]):
        keep = special.distance[k] if special.partner[k] == high else keep
    return keep if meet else ZERO * keep


@kernel(fastmath=STEADY)
def choose_rows(b, pairs: BallPairs, pair_offsets: Offsets, distances: PairDistances, balls: SortedBalls,
                claims: Claims, members: Members, objects: Objects, ignored: Keys, starts: Offsets,
                special: SpecialPairs):  # fmt: skip
    """Distances that the pairs of a ball keep."""
    for k in range(pair_offsets.start[b], pair_offsets.start[b + 1]):
        other = np.int64(pairs.balls[k, 1])
        distances.keep[k] = distance_to_keep(b, other, balls, claims, members, objects, ignored, starts, special)


@kernel(fastmath=STEADY)
def count_rows(b, pairs: BallPairs, pair_offsets: Offsets, distances: PairDistances, row_offsets: Offsets,
               paths: Paths, control: Control):  # fmt: skip
    """Leave out the pairs of a ball that do not meet on their paths; the others become rows."""
    count = 0
    for k in range(pair_offsets.start[b], pair_offsets.start[b + 1]):
        keep = distances.keep[k]
        keep = keep if keep > ZERO and meet(b, np.int64(pairs.balls[k, 1]), paths, control) else ZERO * keep
        distances.keep[k] = keep
        count += np.int64(keep > ZERO)
    row_offsets.start[b] = count


@function(fastmath=STEADY)
def law_between(one, other, objects):
    """Friction, static friction and compliance of the surfaces of two objects together."""
    sliding, sticking, _, compliance = combined_surface(objects.surface[one], objects.surface[other])
    return sliding, sticking, compliance


@kernel
def take_links(
    b, pairs: BallPairs, pair_offsets: Offsets, distances: PairDistances, row_offsets: Offsets, links: Links
):
    """List the rows of a ball, with the distances that they keep."""
    at = row_offsets.start[b]
    for k in range(pair_offsets.start[b], pair_offsets.start[b + 1]):
        keep = distances.keep[k]
        if keep > ZERO:
            links.points[at], links.number[at] = (b, pairs.balls[k, 1]), keep
            at += 1


@kernel(fastmath=STEADY)
def take_row(
    item, links: Links, row_balls: RowBalls, rows: Rows, balls: SortedBalls, objects: Objects, warm_start: WarmStart,
    ranges: WarmStartRanges, control: Control,
):  # fmt: skip
    """Write a row where it is stored, with what the last search knew of it."""
    link = item + control.rows_before[0]
    keep, at = links.number[link], np.int64(links.row[link])
    i, j = links.points[link]
    zero = ZERO * keep
    none = zero, zero, zero
    row_balls.points[at] = i, j
    rows.law[at] = law_between(balls.object_index[i], balls.object_index[j], objects)
    rows.keep[at], rows.silent[at], rows.impulse[at], rows.bound[at] = keep, INFINITY, none, -ONE
    asks = control.warm_start[0] > 0 and control.partial[0] == 0
    found, sign = recall(np.int64(i), np.int64(j), balls, warm_start, ranges) if asks else (-1, ONE)
    if found >= 0:
        push = warm_start.push[found]
        rows.push[at], rows.friction_multiplier[at] = push[0], scale((push[1], push[2], push[3]), sign)
        rows.normal[at] = scale(warm_start.normal[found], sign)
    else:
        rows.push[at], rows.friction_multiplier[at], rows.normal[at] = zero, none, none


@kernel(fastmath=STEADY, mixed=True)
def shift_origins(_, origins: Origins, shifts: Shifts):
    """Origins relative to a place near all of them, which has few digits."""
    count = len(origins)
    x, y, z = 0.0, 0.0, 0.0
    for g in range(count):
        origin = origins.position[g]
        x, y, z = x + origin[0], y + origin[1], z + origin[2]
    x, y, z = np.rint(x / count), np.rint(y / count), np.rint(z / count)
    for g in range(count):
        origin = origins.position[g]
        shifts.shift[g] = origin[0] - x, origin[1] - y, origin[2] - z


@kernel
def end_detection(_, control: Control, offsets: Offsets):
    """There are rows now."""
    control.rows[0] = offsets.start[control.balls[0]]
    control.rows_before[0], control.partial[0], control.appended[0] = 0, 0, 0
    control.rows_read[0] = control.rows[0] + WIDTH
    control.detections[0] += 1
    control.found[0] = 1
    control.gathered_at[0] = 0.0, 0.0, 0.0


class Detection:
    """Finds the rows, and holds them.

    Args:
        table: Balls that take part.
        members: Their record.
        objects: Objects of the scene.
        particles: Particles.
        origins: Origins that positions are relative to.
        control: Decisions of the step.
        h: Substep [s].
        width: Rows of a batch.

    Attributes:
        balls: Members in the order of the rows.
        row_balls: Balls of each row.
        rows: The rows.
        batches: Batches of rows that share no ball.
        memory: What is known of rows that were forgotten.
    """

    def __init__(
        self, table: MemberTable, members: Members, objects: Objects, particles: Particles, origins: Origins,
        control: Control, h: float, width: int,
    ) -> None:  # fmt: skip
        real, count = particles.precision, len(members)
        self._members, self._objects, self._particles, self._origins = members, objects, particles, origins
        self._control, self._h, self._radius = control, h, float(table.radii.mean())
        self._few = FEW if table.grains.any() or len(table.partners) == 0 else FEW_OF_SHEETS
        self._ignored = Keys(real, key=table.ignored)
        self._starts = Offsets(real, start=table.offsets)
        self._special = SpecialPairs(real, partner=table.partners, distance=table.distances.astype(real))
        # points and balls are in double precision, as the world is
        points, centres = Points.zeros(count, np.float64), Points.zeros(count, np.float64)
        self._points = MemberPoints(real, at=points.at)
        self._grid, self._search = Grid(points), PairSearch(centres)
        self._path_search = PathSearch(self._search, MemberPoints(real, at=centres.at), control, h)
        self._grid.levels.reach[0], self._grid.extent.least[0] = CELL * self._radius, FINEST
        self._order = Order(real, index=self._grid.ordered.index)
        self._sought_order = Order(real, index=self._search.grid.ordered.index)
        self._distances = PairDistances.zeros(len(self._search.pairs), real)
        self.balls, self._claims = SortedBalls.zeros(count, real), Claims.zeros(count, real)
        self.row_balls, self.rows = RowBalls.zeros(8 * count, real), Rows.zeros(8 * count, real)
        self.row_offsets = Offsets.zeros(count + 1, real)
        self._scan = Scan(self.row_offsets)
        self.batches = RowBatches(self._claims, 8 * count, width)
        self.shifts = Shifts.zeros(len(origins), real)
        self.chunks = Chunks.zeros(-(-count // CHUNK), real)
        self.appended = Appended.zeros(count, real)
        self._fresh, self._strayed = Offsets.zeros(count + 1, real), Offsets.zeros(count + 1, real)
        self._fresh_scan, self._strayed_scan = Scan(self._fresh), Scan(self._strayed)
        self.memory = Memory(self, members, control, len(particles))

    def record_find(self, p: Program) -> None:
        """Record that the rows are found."""
        control, members, particles = self._control, self._members, self._particles
        balls, claims, count = self.balls, self._claims, len(self._members)
        real, search, number = particles.precision, self._search, (self._control.balls, 0)
        p.launch(measure_members, members, particles, control, self.chunks, count=len(self.chunks), grain=1)
        p.serial(plan_detection, control, self.chunks, count, self._h, self._radius, float(np.finfo(real).eps))
        p.launch(place_members, members, self._points, particles, self._origins, control, self._h, count=count,
                 grain=SHARE)  # fmt: skip
        self._grid.record_build(p, number)
        p.launch(number_balls, balls, claims, members, self._order, self._points, self._path_search.paths, particles,
                 control, count=number, grain=SHARE)  # fmt: skip
        self._path_search.record_find(p)
        p.require(self._distances, self._path_search.total)
        self._record_distances(p)
        pairs = search.pairs, search.offsets, self._distances, self.row_offsets
        p.launch(count_rows, *pairs, self._path_search.paths, control, count=number, grain=SHARE)
        self._scan.record(p, number)
        p.serial(end_detection, control, self.row_offsets)
        p.require(self.row_balls, (control.rows, 0))
        p.require(self.rows, (control.rows_read, 0))
        links = self.batches.links
        p.require(links, (control.rows, 0))
        p.launch(take_links, *pairs, links, count=number, grain=SHARE)
        self.batches.record_arrange(p, (control.rows, 0))
        self._record_take(p, (control.rows, 0))
        p.serial(shift_origins, self._origins, self.shifts)

    def _record_distances(self, p: Program) -> None:
        """Record which distances the pairs keep."""
        search = self._search
        p.launch(choose_rows, search.pairs, search.offsets, self._distances, self.balls, self._claims, self._members,
                 self._objects, self._ignored, self._starts, self._special, count=(self._control.balls, 0),
                 grain=SHARE)  # fmt: skip

    def _record_take(self, p: Program, count: tuple[np.ndarray, int]) -> None:
        """Record that so many links become rows."""
        memory = self.memory
        p.launch(take_row, self.batches.links, self.row_balls, self.rows, self.balls, self._objects,
                 memory.warm_start, memory.ranges, self._control, count=count, grain=8 * SHARE)  # fmt: skip

    def record_choose(self, p: Program) -> None:
        """Record whether the pairs of strayed balls alone are found, `control.partial`, or all, `control.search`."""
        p.launch(count_strayed, self.balls, self._control, self.chunks, count=len(self.chunks), grain=4)
        p.serial(choose_search, self._control, self.chunks, self._few)

    def record_append(self, p: Program) -> None:
        """Record that the new rows of strayed balls are appended."""
        control, balls, search = self._control, self.balls, self._search
        number, paths, grid, links = (control.balls, 0), self._path_search.paths, search.grid, self.batches.links
        p.launch(renew_path, balls, self._members, self._particles, self._origins, paths, control, self._h,
                 count=number, grain=SHARE)  # fmt: skip
        self._path_search.record_place(p)
        grid.record_build(p, number)
        p.launch(mark_strayed, self._sought_order, balls, self._strayed, count=number, grain=8 * SHARE)
        self._strayed_scan.record(p, number)
        around = grid.ordered, grid.cells, grid.levels, grid.extent, self._strayed, search.offsets, search.pairs
        p.launch(count_strayed_pairs, *around, count=(grid.extent.entries, 0))
        search.scan.record(p, number)
        p.require(search.pairs, search.total)
        p.require(self._distances, search.total)
        p.launch(fill_strayed_pairs, *around, count=(grid.extent.entries, 0))
        self._record_distances(p)
        pairs = search.pairs, search.offsets, self._distances, self._fresh
        p.launch(drop_known, *pairs, paths, self.row_offsets, links, self.appended, balls, control, count=number,
                 grain=SHARE)  # fmt: skip
        self._fresh_scan.record(p, number)
        p.serial(count_appended, control, self._fresh, self.row_offsets, WIDTH)
        for record in (self.row_balls, links):
            p.require(record, (control.rows, 0))
        p.require(self.rows, (control.rows_read, 0))
        p.require(self.appended, (control.appended, 0))
        p.launch(append_links, *pairs, self.row_offsets, links, self.appended, balls, control, count=number,
                 grain=SHARE)  # fmt: skip
        self.batches.record_arrange(p, (control.rows, 0), appends=True)
        self._record_take(p, (control.fresh, 0))

    def check(self) -> None:
        """Raise the error that ended a run.

        Raises:
            ShinariError: The balls are spread too far.
        """
        self._grid.check()
        self._search.grid.check()
