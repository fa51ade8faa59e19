"""Search for the new pairs of balls that have left their margins, while the rows of all others stay.

Where a layer of falling balls is stopped, it leaves its margins in each substep and all others stay within theirs. Such
balls get a new origin and the velocity that they have now. What they may meet from now on, or have met in this substep,
is appended to the rows if it is not one of them:

    rows    0 .. found        found .. appended         .. appended later
    links   those of a ball   each knows the one that was appended to the same ball before
            stand together

All balls are brought into the order of their cells again, which is cheap. A cell around which no ball has strayed is
not looked at.
"""

import numpy as np

from shinari.collision.broad.grid import Cells, Extent, Levels, SortedPoints
from shinari.collision.broad.neighbourhood import RANGES, find_ranges
from shinari.collision.broad.pairs import BallPairs, balls_overlap, entry_in, own_level
from shinari.collision.broad.row_batches import Links
from shinari.compute import convert, function, kernel, real, scratch
from shinari.compute.kernels import AS_WRITTEN, STEADY
from shinari.compute.scan import Offsets
from shinari.maths.vec3 import ZERO, add, norm, scale, sub
from shinari.model.particles import Origins, Particles
from shinari.systems.particle_contact.fast_pairs import Paths, meet
from shinari.systems.particle_contact.links import has_link
from shinari.systems.particle_contact.records import (
    CHUNK,
    Appended,
    Chunks,
    Control,
    Members,
    Order,
    PairDistances,
    SortedBalls,
)

# The rows of all balls are found anew where more than one of so many has strayed. Balls of a sheet pull each other out
# of their margins: after a few of them others leave at once.
FEW, FEW_OF_SHEETS = 3, 50
# No margin is below this part of the radius: contacts change speeds.
LEAST = 0.2


@kernel
def count_strayed(c, balls: SortedBalls, control: Control, chunks: Chunks):
    """Balls of a chunk that have left their margins."""
    count = 0
    for b in range(c * CHUNK, min((c + 1) * CHUNK, control.balls[0])):
        count += np.int64(balls.strayed[b])
    chunks.flag[c] = count


@kernel
def choose_search(_, control: Control, chunks: Chunks, few: np.int64):
    """Whether the pairs of the strayed balls alone are found, less than one of `few`, or those of all."""
    count = 0
    for c in range(len(chunks)):
        count += chunks.flag[c]
    control.partial[0] = control.fast[0] == 0 and count * few < control.balls[0]
    control.search[0] = control.crowd[0] = control.partial[0] == 0


@function(fastmath=STEADY)
def margin_of(radius, control):
    """Margin of a ball."""
    return max(convert(LEAST * control.growth[0], radius) * radius, convert(control.least[0], radius))


@kernel(fastmath=STEADY, mixed=True)
def renew_path(b, balls: SortedBalls, members: Members, particles: Particles, origins: Origins, paths: Paths,
               control: Control, h: real):  # fmt: skip
    """Path of a ball from now on, and its new origin and margin if it has strayed."""
    i, m = balls.particle[b], balls.member[b]
    x, v, p = particles.x[i], particles.v[i], particles.predicted[i]
    now = control.resume[0] != 0
    mean, gone = control.mean[0], control.moved[0] if now else control.drift[0]
    mean = convert(mean[0], h), convert(mean[1], h), convert(mean[2], h)
    gone = convert(gone[0], h), convert(gone[1], h), convert(gone[2], h)
    elapsed = convert(control.elapsed[0], h) + (h if now else ZERO * h)
    place = sub((x[0], x[1], x[2]), gone)
    if balls.strayed[b]:
        balls.velocity[b] = sub(v, mean)
        balls.origin[b] = sub(place, scale(balls.velocity[b], elapsed))
        balls.margin[b] = margin_of(members.radius[m], control)
    velocity = balls.velocity[b]
    off = norm(sub(sub(place, balls.origin[b]), scale(velocity, elapsed)))
    past = sub(add(sub((x[0], x[1], x[2]), p), scale(v, h)), scale(mean, h))
    origin = origins.position[particles.origin_index[i]]
    paths.at[b] = origin[0] + x[0], origin[1] + x[1], origin[2] + x[2]
    paths.past[b] = past if now else scale(velocity, ZERO)
    paths.ahead[b] = scale(velocity, max(convert(control.ahead[0], h) - elapsed, ZERO * h))
    paths.reach[b] = np.float64(members.reach[m]) + np.float64(balls.margin[b] + off) + control.rounding[0]


@kernel
def mark_strayed(k, order: Order, balls: SortedBalls, strayed: Offsets):
    """Whether the ball at a place in the order of the cells has strayed."""
    strayed.start[k] = np.int64(balls.strayed[np.int64(order.index[k])])


@function
def has_strayed(a, strayed):
    """Whether the ball at a place in the order of the cells has strayed."""
    return strayed.start[a + 1] > strayed.start[a]


@function
def any_strayed(n, ranges, strayed):
    """Whether a ball has strayed in n ranges of the order of the cells."""
    found = False
    for row in range(n):
        found = found or strayed.start[ranges[row, 1]] > strayed.start[ranges[row, 0]]
    return found


@function(fastmath=AS_WRITTEN)
def take_range(a, begin, stop, at, end, ordered, strayed, margin, pairs, write):
    """Count or write the pairs of a ball with those of a range of which one has strayed; returns the next place."""
    mine = has_strayed(a, strayed)
    x, y, z, r, i = ordered.x[a], ordered.y[a], ordered.z[a], ordered.w[a], ordered.index[a]
    for k in range(begin, stop if mine or strayed.start[max(begin, stop)] > strayed.start[begin] else begin):
        if write:
            if at == end:
                break
            pairs.balls[at] = i, ordered.index[k]
        meets = mine or strayed.start[k + 1] > strayed.start[k]
        at += np.int64(meets and balls_overlap(x, y, z, r, ordered, k, margin))
    return at


@function(fastmath=AS_WRITTEN)
def look_for_strayed(e, ordered, cells, levels, extent, strayed, offsets, pairs, write):
    """Count the pairs of the balls of a cell of which one has strayed, or write them, as `look_around` does."""
    first, last = np.int64(cells.start[e]), np.int64(cells.start[e + 1])
    if first == last:
        return
    own, ranges = own_level(e, levels), scratch((RANGES, 2), 0)
    n, held = 0, -1
    for a in range(first, last):
        x, y, z, i = ordered.x[a], ordered.y[a], ordered.z[a], np.int64(ordered.index[a])
        margin = convert(extent.margin[0], x)
        at, end = (offsets.start[i], offsets.start[i + 1]) if write else (0, 1)
        for level in range(own, len(levels)):
            if levels.count[level] > 0 and not (write and at == end):
                if level > own or held != own:
                    entry = e if level == own else entry_in(level, x, y, z, levels, extent)
                    n, _ = find_ranges(entry, level, cells, levels, ranges)
                    # the ranges of another level do not have the ball itself
                    asked = any_strayed(n, ranges, strayed) or (level > own and has_strayed(a, strayed))
                    n, held = n if asked else 0, level
                for row in range(n):
                    begin = max(ranges[row, 0], a + 1) if level == own else ranges[row, 0]
                    at = take_range(a, begin, ranges[row, 1], at, end, ordered, strayed, margin, pairs, write)
        if not write:
            offsets.start[i] = at


@kernel(fastmath=AS_WRITTEN, mixed=True)
def count_strayed_pairs(e, ordered: SortedPoints, cells: Cells, levels: Levels, extent: Extent, strayed: Offsets,
                        offsets: Offsets, pairs: BallPairs):  # fmt: skip
    """Number of pairs of each ball of a cell of which one has strayed."""
    look_for_strayed(e, ordered, cells, levels, extent, strayed, offsets, pairs, False)


@kernel(fastmath=AS_WRITTEN, mixed=True)
def fill_strayed_pairs(e, ordered: SortedPoints, cells: Cells, levels: Levels, extent: Extent, strayed: Offsets,
                       offsets: Offsets, pairs: BallPairs):  # fmt: skip
    """Pairs of each ball of a cell of which one has strayed."""
    look_for_strayed(e, ordered, cells, levels, extent, strayed, offsets, pairs, True)


@kernel
def drop_known(b, pairs: BallPairs, pair_offsets: Offsets, distances: PairDistances, fresh: Offsets, paths: Paths,
               row_offsets: Offsets, links: Links, appended: Appended, balls: SortedBalls,
               control: Control):  # fmt: skip
    """Leave out the pairs of a ball that do not meet on their paths or are rows, and count the others."""
    count = 0
    for k in range(pair_offsets.start[b], pair_offsets.start[b + 1]):
        other = np.int64(pairs.balls[k, 1])
        if distances.keep[k] > ZERO:
            known = has_link(b, other, row_offsets, links, appended, balls)
            known = known or has_link(other, b, row_offsets, links, appended, balls)
            if known or not meet(b, other, paths, control):
                distances.keep[k] = ZERO
            else:
                count += 1
    fresh.start[b] = count


@kernel
def count_appended(_, control: Control, fresh: Offsets, row_offsets: Offsets, width: np.int64):
    """How many rows there are with those that are appended now."""
    control.fresh[0] = fresh.start[control.balls[0]]
    control.rows_before[0] = control.rows[0]
    control.rows[0] += control.fresh[0]
    control.rows_read[0] = control.rows[0] + width
    control.appended[0] = control.rows[0] - row_offsets.start[control.balls[0]]


@kernel
def append_links(b, pairs: BallPairs, pair_offsets: Offsets, distances: PairDistances, fresh: Offsets,
                 row_offsets: Offsets, links: Links, appended: Appended, balls: SortedBalls,
                 control: Control):  # fmt: skip
    """Append the new rows of a ball, each with the one that was its last."""
    at, found = control.rows_before[0] + fresh.start[b], row_offsets.start[len(balls)]
    for k in range(pair_offsets.start[b], pair_offsets.start[b + 1]):
        if distances.keep[k] > ZERO:
            links.points[at], links.number[at] = (b, pairs.balls[k, 1]), distances.keep[k]
            appended.before[at - found], balls.latest[b] = balls.latest[b], at
            at += 1
    balls.strayed[b] = False
