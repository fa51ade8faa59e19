"""Contact rows of grains: as those of other balls, but what a row did in the last substep is its first guess.

A heap of many layers rests only when each contact carries what is above it. One sweep in a substep does not find that
anew, so the multiplier L >= 0 of a row and the friction H of its plane are kept, as part of the state, and each substep
only corrects them. What overlaps when a substep begins comes out without velocity (Macklin et al. 2014, section 4.4):

    displacement . n >= -gap, L >= 0, one of the two equal          |H| <= mu L, along the slip when equal

A sweep may take back what the guess has pushed too much. All is done in displacements of the substep: L has the unit
kg m.

Eight rows that share no ball are solved side by side, see `shinari.collision.broad.row_batches`: their balls are
brought to the lanes of scratch memory, one loop over the lanes solves the rows, and the balls are moved one after the
other. A batch of fewer rows reads rows of the next one in the lanes that are left over, and writes none of them.
"""

import numpy as np

from shinari.collision.broad.blocks import CurrentColour
from shinari.collision.broad.row_batches import WIDTH, Batches, batches_of_block
from shinari.collision.law import friction_multiplier, normal_response, recovery, tangential
from shinari.compute import convert, function, kernel, real, scratch
from shinari.compute.kernels import STEADY
from shinari.compute.scan import Offsets
from shinari.maths.vec3 import ZERO, add, dot, norm, scale, sub
from shinari.model.particles import Origins
from shinari.systems.particle_contact.pair_rows import contact_plane, upright
from shinari.systems.particle_contact.records import (
    CHUNK,
    Chunks,
    Control,
    Objects,
    RowBalls,
    Rows,
    Shifts,
    SortedBalls,
)

# Grains that push stay in contact up to a gap of this part of their distance: what comes out of an overlap opens gaps
# on its other side, and contacts that lost their push at each of them would let a tall heap sink into itself.
SLOP = np.float32(0.02)
# Part of an overlap that comes out without velocity as a substep begins. All of it would move grains by more than the
# slop, and those of a deep heap would lose what holds them in every substep.
SILENT = np.float32(0.5)
# Part of an overlap beyond the slop that comes out with velocity in a substep, up to a part of what gravity moves.
# Without it a heap that was compressed as it landed would stay so, since what comes out silently goes from layer to
# layer; with more of it the layers of a tall heap would throw each other up.
RAISED, LIFT = np.float32(0.05), 0.1
# Masses scaled by height may differ by this factor in a scene: single precision holds it.
MOST_SCALING = 1e12


@function(fastmath=STEADY)
def answer(n, depth, before, moved, old, held, law, scaled_compliance, mobility):
    """What a row does.

    Args:
        n: Normal.
        depth: Depth now [m], negative where there is a gap.
        before: Depth at the start of the substep [m].
        moved: Relative displacement of the substep [m].
        old: Multiplier so far [kg m].
        held: Friction so far [kg m].
        law: Friction and static friction.
        scaled_compliance: Compliance / h^2.
        mobility: Sum of the inverse masses.

    Returns:
        New multiplier and new friction.
    """
    push = old + normal_response(depth, depth - before, old, scaled_compliance, mobility, -old)
    wanted = tangential(sub(scale(held, mobility), moved), n)
    return push, friction_multiplier(wanted, push, mobility, law)


@function(fastmath=STEADY)
def take_lane(lane, i, j, balls, shifts, taken, masses):
    """Bring the balls of a row to a lane: where the first is from the second, its displacement, and both masses."""
    # all is read before anything is written: so it becomes one vector operation
    a, b = balls.at[i], balls.at[j]
    d = a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4], a[5] - b[5], a[6] - b[6], a[7] - b[7]
    for c in range(8):
        taken[lane, c] = d[c]
    masses[lane] = a[3] + b[3]
    if len(shifts) > 1:
        apart = sub(shifts.shift[balls.origin_index[i]], shifts.shift[balls.origin_index[j]])
        for c in range(3):
            taken[lane, c] += apart[c]


@function(fastmath=STEADY)
def take_lanes(begin, count, row_balls, balls, shifts, taken, masses):
    """Bring the balls of the rows of a batch to the lanes; see `take_lane`."""
    for lane in range(count):
        i, j = row_balls.points[begin + lane]
        take_lane(lane, i, j, balls, shifts, taken, masses)


@function(fastmath=STEADY)
def store_lane(lane, by, loud, given):
    """Write a displacement, and the part of it that brings velocity, to a lane; see `give_lane`."""
    given[lane, 0], given[lane, 1], given[lane, 2], given[lane, 3] = by[0], by[1], by[2], ZERO
    given[lane, 4], given[lane, 5], given[lane, 6], given[lane, 7] = loud[0], loud[1], loud[2], ZERO


@function(fastmath=STEADY)
def give_lane(lane, i, j, balls, given):
    """Move the balls of a row by what stands in a lane."""
    a, b, g = balls.at[i], balls.at[j], (
        given[lane, 0], given[lane, 1], given[lane, 2], given[lane, 3],
        given[lane, 4], given[lane, 5], given[lane, 6], given[lane, 7],
    )  # fmt: skip
    v, w = a[3], b[3]
    balls.at[i] = (
        a[0] + v * g[0], a[1] + v * g[1], a[2] + v * g[2], a[3] + v * g[3],
        a[4] + v * g[4], a[5] + v * g[5], a[6] + v * g[6], a[7] + v * g[7],
    )  # fmt: skip
    balls.at[j] = (
        b[0] - w * g[0], b[1] - w * g[1], b[2] - w * g[2], b[3] - w * g[3],
        b[4] - w * g[4], b[5] - w * g[5], b[6] - w * g[6], b[7] - w * g[7],
    )  # fmt: skip


@function(fastmath=STEADY)
def add_impulse(r, lane, rows, given, rate):
    """Add to the impulse of a row what its balls were given: its normal differs from sweep to sweep."""
    loud = given[lane, 4], given[lane, 5], given[lane, 6]
    rows.impulse[r] = add(rows.impulse[r], scale(loud, rate))


@function(fastmath=STEADY)
def chosen(condition, a, b):
    """A vector, or another one."""
    return a[0] if condition else b[0], a[1] if condition else b[1], a[2] if condition else b[2]


@kernel(fastmath=STEADY)
def start_grains(
    k,
    starts: Offsets,
    batches: Batches,
    current: CurrentColour,
    row_balls: RowBalls,
    rows: Rows,
    balls: SortedBalls,
    shifts: Shifts,
    rate: real,
    escape: real,
):
    """Let the rows of a block push as in the last substep, and what overlaps come out, by `escape` [m] at most.

    `rate` is 1 / h [1/s].
    """
    taken, given, masses = scratch((WIDTH, 8), escape), scratch((WIDTH, 8), escape), scratch(WIDTH, escape)
    holds = scratch((WIDTH, 3), escape)
    first, last = batches_of_block(k, starts, current)
    for t in range(first, last):
        begin = np.int64(batches.first[t])
        count = np.int64(batches.first[t + 1]) - begin
        take_lanes(begin, count, row_balls, balls, shifts, taken, masses)
        for lane in range(WIDTH):
            r = begin + lane
            b = taken[lane, 0], taken[lane, 1], taken[lane, 2]
            moved = taken[lane, 4], taken[lane, 5], taken[lane, 6]
            w, keep, push, held = masses[lane], rows.keep[r], rows.push[r], rows.friction_multiplier[r]
            a, none = sub(b, moved), (ZERO * w, ZERO * w, ZERO * w)
            before = keep - norm(a)
            n = upright(a, b)
            hold = tangential(held, n)
            loud = add(scale(n, push), hold)
            by = add(loud, scale(n, recovery(SILENT * before, escape) / w))
            active = push > ZERO or before > ZERO
            by, loud = chosen(active, by, none), chosen(active, loud, none)
            hold = chosen(active, hold, held)
            store_lane(lane, by, loud, given)
            holds[lane, 0], holds[lane, 1], holds[lane, 2] = hold
        for lane in range(count):
            i, j = row_balls.points[begin + lane]
            give_lane(lane, i, j, balls, given)
            add_impulse(begin + lane, lane, rows, given, rate)
            rows.friction_multiplier[begin + lane] = holds[lane, 0], holds[lane, 1], holds[lane, 2]


@kernel(fastmath=STEADY)
def sweep_grains(
    k,
    starts: Offsets,
    batches: Batches,
    current: CurrentColour,
    row_balls: RowBalls,
    rows: Rows,
    balls: SortedBalls,
    shifts: Shifts,
    rate: real,
    lift: real,
):
    """Solve the rows of a block once, batch after batch; `rate` is 1 / h [1/s].

    What overlaps by more than the slop comes out with velocity, by `lift` [m] at most.
    """
    taken, given, masses = scratch((WIDTH, 8), rate), scratch((WIDTH, 8), rate), scratch(WIDTH, rate)
    done = scratch((WIDTH, 7), rate)
    first, last = batches_of_block(k, starts, current)
    for t in range(first, last):
        begin = np.int64(batches.first[t])
        count = np.int64(batches.first[t + 1]) - begin
        take_lanes(begin, count, row_balls, balls, shifts, taken, masses)
        for lane in range(WIDTH):
            r = begin + lane
            b = taken[lane, 0], taken[lane, 1], taken[lane, 2]
            moved = taken[lane, 4], taken[lane, 5], taken[lane, 6]
            w, keep, old = masses[lane], rows.keep[r], rows.push[r]
            held, law = rows.friction_multiplier[r], rows.law[r]
            a, none = sub(b, moved), (ZERO * w, ZERO * w, ZERO * w)
            n, depth, before = contact_plane(a, b, moved, keep)
            far, gap = depth <= ZERO, keep - norm(a)
            gap = gap if gap > -SLOP * keep else ZERO * gap
            n = chosen(far, upright(b, a), n)
            reach, before = keep - norm(b) if far else depth, gap if far else before
            before -= recovery(RAISED * (before - SLOP * keep), lift)
            push, hold = answer(n, reach, before, moved, old, held, law, law[2] * rate * rate, w)
            active = depth > ZERO or old > ZERO
            loud = chosen(active, add(scale(n, push - old), sub(hold, held)), none)
            hold = chosen(active, hold, held)
            store_lane(lane, loud, loud, given)
            done[lane, 0] = push if active else old
            done[lane, 1], done[lane, 2], done[lane, 3] = hold
            done[lane, 4], done[lane, 5], done[lane, 6] = n
        for lane in range(count):
            i, j = row_balls.points[begin + lane]
            give_lane(lane, i, j, balls, given)
            r = begin + lane
            add_impulse(r, lane, rows, given, rate)
            rows.push[r] = done[lane, 0]
            rows.friction_multiplier[r] = done[lane, 1], done[lane, 2], done[lane, 3]
            rows.normal[r] = done[lane, 4], done[lane, 5], done[lane, 6]


# ---- masses scaled by height (Macklin et al. 2014, section 5.1) ----


@function(fastmath=STEADY)
def exponent(b, balls, objects, origins, up):
    """Exponent of the factor on the inverse mass of a ball."""
    origin, local = origins.position[balls.origin_index[b]], balls.origin[b]
    place = origin[0] + local[0], origin[1] + local[1], origin[2] + local[2]
    return objects.scaling[balls.object_index[b]] * dot(place, up)


@kernel(fastmath=STEADY, mixed=True)
def find_exponents(c, balls: SortedBalls, objects: Objects, origins: Origins, control: Control, chunks: Chunks,
                   up_x: np.float64, up_y: np.float64, up_z: np.float64):  # fmt: skip
    """Largest and least exponent in a chunk of balls."""
    largest, least = -np.inf, np.inf
    for b in range(c * CHUNK, min((c + 1) * CHUNK, control.balls[0])):
        value = exponent(b, balls, objects, origins, (up_x, up_y, up_z))
        largest, least = max(largest, value), min(least, value)
    chunks.largest[c], chunks.least[c] = largest, least


@kernel(fastmath=STEADY)
def join_exponents(_, control: Control, chunks: Chunks, most: np.float64):
    """Middle of the exponents, and whether they differ by more than single precision holds."""
    largest, least = -np.inf, np.inf
    for c in range(len(chunks)):
        largest, least = max(largest, chunks.largest[c]), min(least, chunks.least[c])
    control.middle[0], control.spread[0] = 0.5 * (largest + least), largest - least
    control.too_strong[0] = control.balls[0] > 0 and not largest - least < most


@kernel(fastmath=STEADY, mixed=True)
def set_factor(b, balls: SortedBalls, objects: Objects, origins: Origins, control: Control, up_x: np.float64,
               up_y: np.float64, up_z: np.float64):  # fmt: skip
    """Factor on the inverse mass of a ball."""
    value = np.exp(exponent(b, balls, objects, origins, (up_x, up_y, up_z)) - control.middle[0])
    balls.factor[b] = convert(value, balls.factor[b])
