"""Contact rows of grains that turn: friction at the surface, and resistance to rolling, both with a memory.

As in `shinari.systems.grains.rows`, with the spins of `shinari.model.spins`. For the balls i and j, with the normal n
from j to i, slip and relative rotation along the surface are

    s = d_i - d_j - (u_i + u_j) x n                  mobility   7/2 (w_i + w_j)
    p = u_i / r_i - u_j / r_j                        mobility   5/2 (w_i / r_i^2 + w_j / r_j^2)

Of equal balls neither changes the other. A row first resists rolling, |T| <= mu_r R L, then slip, |H| <= mu L; further
sweeps and the memory bring both together where balls differ.
"""

import numpy as np

from shinari.collision.broad.blocks import CurrentColour
from shinari.collision.broad.row_batches import WIDTH, Batches, Links, batches_of_block
from shinari.collision.law import friction_multiplier, normal_response, recovery, tangential
from shinari.compute import Field, Record, function, kernel, real, scratch
from shinari.compute.kernels import STEADY
from shinari.compute.scan import Offsets
from shinari.maths.vec3 import ONE, ZERO, add, cross, norm, reciprocal, scale, sub
from shinari.model.spins import GIVES, Spins, bounded
from shinari.systems.grains.rows import (
    RAISED,
    SILENT,
    SLOP,
    add_impulse,
    chosen,
    give_lane,
    store_lane,
    take_lanes,
)
from shinari.systems.particle_contact.links import FIRST, next_link
from shinari.systems.particle_contact.pair_rows import contact_plane, upright
from shinari.systems.particle_contact.records import (
    Appended,
    Control,
    RowBalls,
    Rows,
    Shifts,
    SortedBalls,
    WarmStart,
    WarmStartRanges,
)
from shinari.systems.particle_contact.warm_start import recall


class TurningBalls(Record):
    """Balls in the order of the rows, P rows."""

    at = Field(real, 4, unit="m", doc="turn of the surface in the substep; 5/2 of a ball that turns, else 0")
    inverse_radius = Field(real, unit="1/m")


class Rolls(Record):
    """Rolling friction of the rows, M rows."""

    limit = Field(real, unit="m", doc="largest moment over the push: coefficient times the reduced radius")
    moment = Field(real, 3, unit="kg m^2", doc="multiplier: moment on the first ball times h^2")


class WarmRolls(Record):
    """Rolling friction of the known rows."""

    moment = Field(real, 3, unit="kg m^2")


@kernel(fastmath=STEADY)
def gather_spins(b, turning: TurningBalls, balls: SortedBalls, spins: Spins, h: real):
    """Bring the spin of a particle to its ball."""
    i = np.int64(balls.particle[b])
    radius = spins.radius[i]
    u = scale(spins.rate[i], h * radius)
    turning.at[b] = u[0], u[1], u[2], GIVES if spins.turns[i] else ZERO * h
    turning.inverse_radius[b] = ONE / radius


@kernel(fastmath=STEADY)
def scatter_spins(b, turning: TurningBalls, balls: SortedBalls, spins: Spins, rate: real):
    """Bring the spin of a ball back to its particle; `rate` is 1 / h [1/s]."""
    i, u = np.int64(balls.particle[b]), turning.at[b]
    if u[3] > ZERO:
        spins.rate[i] = scale((u[0], u[1], u[2]), rate * turning.inverse_radius[b])


@kernel(fastmath=STEADY)
def take_roll(item, links: Links, rolls: Rolls, balls: SortedBalls, spins: Spins, warm_start: WarmStart,
              ranges: WarmStartRanges, warm_rolls: WarmRolls, control: Control):  # fmt: skip
    """Write the rolling friction of a row, with what is known of it."""
    link = item + control.rows_before[0]
    r = np.int64(links.row[link])
    i, j = links.points[link]
    p, q = np.int64(balls.particle[i]), np.int64(balls.particle[j])
    # of what does not turn the coefficient is negative
    most = max(max(spins.rolling[p], spins.rolling[q]), ZERO)
    rolls.limit[r] = most * spins.radius[p] * spins.radius[q] / (spins.radius[p] + spins.radius[q])
    asks = control.warm_start[0] > 0 and control.partial[0] == 0
    found, sign = recall(np.int64(i), np.int64(j), balls, warm_start, ranges) if asks else (-1, ONE)
    zero = ZERO * most
    rolls.moment[r] = scale(warm_rolls.moment[found], sign) if found >= 0 else (zero, zero, zero)


@kernel
def remember_roll(b, row_offsets: Offsets, links: Links, appended: Appended, balls: SortedBalls, rows: Rows,
                  rolls: Rolls, warm_start_offsets: Offsets, warm_rolls: WarmRolls):  # fmt: skip
    """Put away the rolling friction of the rows of a ball that push."""
    at, link = warm_start_offsets.start[b], next_link(FIRST, b, row_offsets, appended, balls)
    while link >= 0:
        r = np.int64(links.row[link])
        if rows.push[r] != ZERO:
            warm_rolls.moment[at] = rolls.moment[r]
            at += 1
        link = next_link(link, b, row_offsets, appended, balls)


@function(fastmath=STEADY)
def take_spins(lane, i, j, balls, turning, taken):
    """Bring the spins of the balls of a row to a lane: turns, what they give way, and their inverse radii."""
    for c in range(3):
        taken[lane, c], taken[lane, 3 + c] = turning.at[i, c], turning.at[j, c]
    taken[lane, 6], taken[lane, 7] = balls.at[i, 3] * turning.at[i, 3], balls.at[j, 3] * turning.at[j, 3]
    taken[lane, 8], taken[lane, 9] = turning.inverse_radius[i], turning.inverse_radius[j]


@function(fastmath=STEADY)
def give_spins(lane, i, j, turning, taken, spun):
    """Turn the balls of a row by a friction and a moment: -n x H, and T."""
    a, b = taken[lane, 6], taken[lane, 7]
    for c in range(3):
        turning.at[i, c] += a * (spun[lane, c] + taken[lane, 8] * spun[lane, 3 + c])
        turning.at[j, c] += b * (spun[lane, c] - taken[lane, 9] * spun[lane, 3 + c])


@function(fastmath=STEADY)
def resist(n, moved, push, held, resisted, law, w, limit, spins):
    """Friction and moment against rolling of a row.

    Args:
        n: Normal.
        moved: Relative displacement of the substep [m].
        push: Multiplier along the normal [kg m].
        held: Friction so far [kg m].
        resisted: Moment so far [kg m^2].
        law: Friction and static friction.
        w: Sum of the inverse masses.
        limit: Largest moment over the push [m].
        spins: Turns of both surfaces, what they give way [1/kg], inverse radii.

    Returns:
        New friction and new moment.
    """
    u, v, a, b, p, q = spins
    gives = a * p * p + b * q * q
    rolled = tangential(sub(scale(u, p), scale(v, q)), n)
    # in turns, as friction in displacements: see `friction_multiplier`
    turn = bounded(sub(scale(resisted, gives), rolled), gives * limit * push)
    moment = scale(turn, reciprocal(gives))
    # that moment turns unequal balls against each other
    turned = add(add(u, v), scale(sub(moment, resisted), a * p - b * q))
    slip = sub(moved, cross(turned, n))
    mobility = w + a + b
    wanted = tangential(sub(scale(held, mobility), slip), n)
    return friction_multiplier(wanted, push, mobility, law), moment


@function(fastmath=STEADY)
def spins_of_lane(taken, lane):
    """What `take_spins` has brought."""
    return (
        (taken[lane, 0], taken[lane, 1], taken[lane, 2]), (taken[lane, 3], taken[lane, 4], taken[lane, 5]),
        taken[lane, 6], taken[lane, 7], taken[lane, 8], taken[lane, 9],
    )  # fmt: skip


@kernel(fastmath=STEADY)
def start_turning(k, starts: Offsets, batches: Batches, current: CurrentColour, row_balls: RowBalls, rows: Rows,
                  rolls: Rolls, balls: SortedBalls, turning: TurningBalls, shifts: Shifts, rate: real,
                  escape: real):  # fmt: skip
    """Let the rows of a block push and resist as in the last substep; see `start_grains`."""
    taken, given, masses = scratch((WIDTH, 8), escape), scratch((WIDTH, 8), escape), scratch(WIDTH, escape)
    spins, spun = scratch((WIDTH, 10), escape), scratch((WIDTH, 6), escape)
    holds = scratch((WIDTH, 6), escape)
    first, last = batches_of_block(k, starts, current)
    for t in range(first, last):
        begin = np.int64(batches.first[t])
        count = np.int64(batches.first[t + 1]) - begin
        take_lanes(begin, count, row_balls, balls, shifts, taken, masses)
        for lane in range(count):
            i, j = row_balls.points[begin + lane]
            take_spins(lane, i, j, balls, turning, spins)
        for lane in range(count):
            r = begin + lane
            b = taken[lane, 0], taken[lane, 1], taken[lane, 2]
            moved = taken[lane, 4], taken[lane, 5], taken[lane, 6]
            w, keep, push = masses[lane], rows.keep[r], rows.push[r]
            held, moment = rows.friction_multiplier[r], rolls.moment[r]
            a, none = sub(b, moved), (ZERO * w, ZERO * w, ZERO * w)
            before = keep - norm(a)
            n = upright(a, b)
            hold, roll = tangential(held, n), tangential(moment, n)
            loud = add(scale(n, push), hold)
            by = add(loud, scale(n, recovery(SILENT * before, escape) / w))
            active = push > ZERO or before > ZERO
            by, loud = chosen(active, by, none), chosen(active, loud, none)
            turn = chosen(active, cross(hold, n), none)
            store_lane(lane, by, loud, given)
            hold, kept = chosen(active, hold, held), chosen(active, roll, moment)
            roll = chosen(active, roll, none)
            spun[lane, 0], spun[lane, 1], spun[lane, 2] = turn
            spun[lane, 3], spun[lane, 4], spun[lane, 5] = roll
            holds[lane, 0], holds[lane, 1], holds[lane, 2] = hold
            holds[lane, 3], holds[lane, 4], holds[lane, 5] = kept
        for lane in range(count):
            i, j = row_balls.points[begin + lane]
            give_lane(lane, i, j, balls, given)
            give_spins(lane, i, j, turning, spins, spun)
            r = begin + lane
            add_impulse(r, lane, rows, given, rate)
            rows.friction_multiplier[r] = holds[lane, 0], holds[lane, 1], holds[lane, 2]
            rolls.moment[r] = holds[lane, 3], holds[lane, 4], holds[lane, 5]


@kernel(fastmath=STEADY)
def sweep_turning(k, starts: Offsets, batches: Batches, current: CurrentColour, row_balls: RowBalls, rows: Rows,
                  rolls: Rolls, balls: SortedBalls, turning: TurningBalls, shifts: Shifts, rate: real,
                  lift: real):  # fmt: skip
    """Solve the rows of a block once, batch after batch; see `sweep_grains`."""
    taken, given, masses = scratch((WIDTH, 8), rate), scratch((WIDTH, 8), rate), scratch(WIDTH, rate)
    spins, spun, done = scratch((WIDTH, 10), rate), scratch((WIDTH, 6), rate), scratch((WIDTH, 10), rate)
    first, last = batches_of_block(k, starts, current)
    for t in range(first, last):
        begin = np.int64(batches.first[t])
        count = np.int64(batches.first[t + 1]) - begin
        take_lanes(begin, count, row_balls, balls, shifts, taken, masses)
        for lane in range(count):
            i, j = row_balls.points[begin + lane]
            take_spins(lane, i, j, balls, turning, spins)
        for lane in range(count):
            r = begin + lane
            b = taken[lane, 0], taken[lane, 1], taken[lane, 2]
            moved = taken[lane, 4], taken[lane, 5], taken[lane, 6]
            w, keep, old = masses[lane], rows.keep[r], rows.push[r]
            held, moment, law = rows.friction_multiplier[r], rolls.moment[r], rows.law[r]
            a, none = sub(b, moved), (ZERO * w, ZERO * w, ZERO * w)
            n, depth, before = contact_plane(a, b, moved, keep)
            far, gap = depth <= ZERO, keep - norm(a)
            gap = gap if gap > -SLOP * keep else ZERO * gap
            n = chosen(far, upright(b, a), n)
            reach, before = keep - norm(b) if far else depth, gap if far else before
            before -= recovery(RAISED * (before - SLOP * keep), lift)
            push = old + normal_response(reach, reach - before, old, law[2] * rate * rate, w, -old)
            hold, roll = resist(n, moved, push, held, moment, law, w, rolls.limit[r], spins_of_lane(spins, lane))
            active = depth > ZERO or old > ZERO
            change = chosen(active, sub(hold, held), none)
            loud = chosen(active, add(scale(n, push - old), change), none)
            turn, rolled = cross(change, n), chosen(active, sub(roll, moment), none)
            hold, roll = chosen(active, hold, held), chosen(active, roll, moment)
            store_lane(lane, loud, loud, given)
            spun[lane, 0], spun[lane, 1], spun[lane, 2] = turn
            spun[lane, 3], spun[lane, 4], spun[lane, 5] = rolled
            done[lane, 0] = push if active else old
            done[lane, 1], done[lane, 2], done[lane, 3] = hold
            done[lane, 4], done[lane, 5], done[lane, 6] = n
            done[lane, 7], done[lane, 8], done[lane, 9] = roll
        for lane in range(count):
            i, j = row_balls.points[begin + lane]
            give_lane(lane, i, j, balls, given)
            give_spins(lane, i, j, turning, spins, spun)
            r = begin + lane
            add_impulse(r, lane, rows, given, rate)
            rows.push[r] = done[lane, 0]
            rows.friction_multiplier[r] = done[lane, 1], done[lane, 2], done[lane, 3]
            rows.normal[r] = done[lane, 4], done[lane, 5], done[lane, 6]
            rolls.moment[r] = done[lane, 7], done[lane, 8], done[lane, 9]
