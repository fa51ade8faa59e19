"""Contact rows of two balls: |xi - xj| >= d.

          displacement of the substep        a: xj to xi at its start, b: now
      a  . . . . > hit                       hit: where the path from a to b first comes within d
                  |  .                       n = b / |b|, or hit / d when b lies beyond: fast balls stop at the plane
                 (d)   . > b                 that touches where they met, whatever the substep
                  xj

What of the overlap came in the substep is corrected and brings velocity. What earlier substeps of the step have left
brings velocity too, up to a limited speed: without that memory one sweep in a substep does not stop a heap that lands.
What overlapped when the step began comes out at the limited speed and brings none. With a compliance the row is one of
XPBD (Macklin et al. 2016, eq. 18) and all of its correction brings velocity. Friction takes from the slip of the
substep up to mu times the correction along the normal, all of it when that is enough (Macklin et al. 2014, Unified
Particle Physics, eq. 24).

A sweep works on balls: position, inverse mass and displacement of the balls side by side, in the order of the grid.
Rows are cut into blocks; those of one colour share no ball that can move, and run at once. Rows that follow each other
share none either, so that the processor need not wait for one to begin the next.
"""

import numpy as np

from shinari.collision.broad.blocks import CurrentColour
from shinari.collision.broad.row_batches import Batches, rows_of_block
from shinari.collision.law import friction, normal_response, rebound, recovery, tangential
from shinari.compute import convert, function, kernel, real
from shinari.compute.kernels import STEADY
from shinari.compute.scan import Offsets
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, reciprocal, scale, sub
from shinari.model.particles import Particles
from shinari.systems.particle_contact.records import (
    Control,
    Members,
    Objects,
    RowBalls,
    Rows,
    Shifts,
    SortedBalls,
)

# A ball that moves by no more than this part of its distance, squared, stays on its side.
SLOW = np.float32(0.25)
# Cosine up to which the place now and the place of entry count as the same side.
SAME_SIDE = np.float32(0.7)
# Where a ball has left its margin, all that have used up this part of theirs get new ones.
USED = np.float32(0.5)


@function(fastmath=STEADY)
def upright(a, fallback):
    """Unit vector of a; of the fallback where a is zero; upwards where both are."""
    length = norm(a)
    if length > ZERO:
        return scale(a, ONE / length)
    length = norm(fallback)
    if length > ZERO:
        return scale(fallback, ONE / length)
    return length, length + ONE, length


@function(fastmath=STEADY)
def contact_plane(a, b, moved, keep):
    """Normal and depth of b below the plane of contact, negative or zero when there is none; and what overlapped at a.

    Args:
        a: From the second ball to the first at the start of the substep.
        b: The same now.
        moved: b - a.
        keep: Distance to keep.
    """
    aa, bb, ab, length = dot(a, a), dot(b, b), dot(a, moved), dot(moved, moved)
    zero = keep - keep
    c = aa - keep * keep
    inside, outside = c <= ZERO, bb >= keep * keep
    # it enters and leaves again where it comes nearest on its path, and within the distance
    passes = ab < ZERO and ab + length > ZERO and ab * ab > length * c
    if outside and not inside and not passes:
        return (zero, zero, zero), zero, zero
    if not outside and length < SLOW * bb:
        far = np.sqrt(bb)
        return scale(b, ONE / far), keep - far, max(keep - np.sqrt(aa), ZERO)
    root = -ab + np.sqrt(max(ab * ab - length * c, ZERO))
    t = zero if inside or root <= ZERO else min(c / root, ONE)
    entry = upright(add(a, scale(moved, t)), b)
    here = upright(b, entry)
    same = dot(entry, here) > SAME_SIDE
    if outside and inside and same:
        return (zero, zero, zero), zero, zero
    before = max(keep - np.sqrt(aa), ZERO)
    if same and not outside:
        return here, keep - np.sqrt(bb), before
    return entry, keep - dot(entry, b), before


@function(fastmath=STEADY)
def clearance(a, b, moved):
    """Least distance of two balls on the path from a to b, see `contact_plane`."""
    aa, bb, ab, length = dot(a, a), dot(b, b), dot(a, moved), dot(moved, moved)
    nearest = aa - ab * ab * reciprocal(length)
    return np.sqrt(max(nearest if ab < ZERO and ab + length > ZERO else min(aa, bb), ZERO))


@function(fastmath=STEADY)
def response(n, depth, before, moved, quiet, old, law, scaled_compliance, mobility, escape):
    """What a row does about its depth.

    Args:
        n: Normal.
        depth: Depth now [m], positive.
        before: Depth at the start of the substep [m].
        moved: Relative displacement of the substep [m].
        quiet: The part of `before` that comes out without velocity [m].
        old: Multiplier of the row so far in this substep.
        law: Friction and static friction.
        scaled_compliance: Compliance / h^2.
        mobility: Sum of the inverse masses.
        escape: How far what overlapped may come out [m].

    Returns:
        Relative correction that brings velocity, and how much of the length along n brings none; change of the
        multiplier.
    """
    fresh = max(depth - before, ZERO)
    left = recovery(depth - fresh - quiet, escape)
    change = normal_response(depth, fresh + left, old, scaled_compliance, mobility, ZERO)
    out = ZERO * depth if scaled_compliance > ZERO else recovery(depth - fresh - left, escape - left)
    push = change * mobility
    held = friction(tangential(scale(moved, -ONE), n), push, law)
    return add(scale(n, push), held), out, change


@function(fastmath=STEADY)
def between(one, other, i, j, balls, shifts):
    """From the second ball to the first: now, and the displacement in the substep."""
    b = one[0] - other[0], one[1] - other[1], one[2] - other[2]
    if len(shifts) > 1:
        b = add(b, sub(shifts.shift[balls.origin_index[i]], shifts.shift[balls.origin_index[j]]))
    return b, (one[4] - other[4], one[5] - other[5], one[6] - other[6])


@function(fastmath=STEADY)
def move(at, share, by, loud):
    """A ball that is moved by the share of a correction, of which `loud` brings velocity."""
    return (
        at[0] + share * by[0],
        at[1] + share * by[1],
        at[2] + share * by[2],
        at[3],
        at[4] + share * loud[0],
        at[5] + share * loud[1],
        at[6] + share * loud[2],
        at[7],
    )


@kernel(fastmath=STEADY)
def sweep_pairs(
    k,
    starts: Offsets,
    batches: Batches,
    current: CurrentColour,
    row_balls: RowBalls,
    rows: Rows,
    balls: SortedBalls,
    shifts: Shifts,
    control: Control,
    rate: real,
):
    """Solve the rows of a block once, in order; `rate` is 1 / h [1/s]."""
    escape = convert(control.escape[0], rate)
    begin, end = rows_of_block(k, starts, batches, current)
    for r in range(begin, end):
        i, j = row_balls.points[r]
        gone = balls.path[i] + balls.path[j]
        if gone < rows.bound[r]:
            continue
        one, other = balls.at[i], balls.at[j]
        b, moved = between(one, other, i, j, balls, shifts)
        n, depth, before = contact_plane(sub(b, moved), b, moved, rows.keep[r])
        rows.bound[r] = gone + clearance(sub(b, moved), b, moved) - rows.keep[r]
        if depth > ZERO:
            w0, w1 = one[3], other[3]
            quiet, old, law = min(before, rows.silent[r]), rows.push[r], rows.law[r]
            scaled_compliance = law[2] * rate * rate
            loud, out, change = response(n, depth, before, moved, quiet, old, law, scaled_compliance, w0 + w1, escape)
            by, inverse = add(loud, scale(n, out)), ONE / (w0 + w1)
            balls.at[i] = move(one, w0 * inverse, by, loud)
            balls.at[j] = move(other, -w1 * inverse, by, loud)
            balls.path[i] += w0 * inverse * norm(by)
            balls.path[j] += w1 * inverse * norm(by)
            rows.bound[r] = -ONE
            rows.silent[r], rows.push[r], rows.normal[r] = quiet, old + change, n
            rows.impulse[r] = add(rows.impulse[r], scale(loud, inverse * rate))


@kernel(fastmath=STEADY)
def rebound_block(
    k, starts: Offsets, batches: Batches, current: CurrentColour, row_balls: RowBalls, rows: Rows, balls: SortedBalls,
    members: Members, objects: Objects, particles: Particles, slow: real,
):  # fmt: skip
    """Restitution of the rows of a block that pushed, in order (Mueller et al. 2020, eq. 34).

    They leave at e times the speed of approach: the one at the start of the substep, or the one that a neighbour's
    rebound has just brought. Approaches up to the speed `slow` [m/s] do not bounce.
    """
    begin, end = rows_of_block(k, starts, batches, current)
    for r in range(begin, end):
        if rows.push[r] > ZERO:
            i, j = row_balls.points[r]
            e = max(objects.surface[balls.object_index[i], 2], objects.surface[balls.object_index[j], 2])
            p, q, n = balls.particle[i], balls.particle[j], rows.normal[r]
            w0, w1, v0, v1 = particles.x[p, 3], particles.x[q, 3], particles.v[p], particles.v[q]
            now = dot(n, sub(v0, v1))
            start = sub(members.before[balls.member[i]], members.before[balls.member[j]])
            approach = min(dot(n, start), now)
            change = rebound(e, approach, now, slow) / (w0 + w1)
            particles.v[p] = add(v0, scale(n, w0 * change))
            particles.v[q] = sub(v1, scale(n, w1 * change))
            rows.impulse[r] = add(rows.impulse[r], scale(n, change))


@kernel(fastmath=STEADY)
def clear_multiplier(r, rows: Rows):
    """A row has not pushed yet in this substep."""
    rows.push[r] = ZERO


@function(fastmath=STEADY)
def used_margin(x, b, balls, drift, elapsed, spare):
    """Part of its margin and the spare room [m] that a ball is off where its motion at the detection took it, squared.

    That motion is the one of all, gone by `drift` [m], and its own relative to that for the time `elapsed` [s].
    """
    displacement, margin = sub((x[0], x[1], x[2]), balls.origin[b]), balls.margin[b] + spare
    off = sub(sub(displacement, drift), scale(balls.velocity[b], elapsed))
    return dot(off, off) / (margin * margin)


@function(fastmath=STEADY)
def rounded(value, like):
    """Three float64 in the precision of the simulation."""
    return convert(value[0], like), convert(value[1], like), convert(value[2], like)


@kernel(fastmath=STEADY)
def gather(b, balls: SortedBalls, particles: Particles, control: Control, h: real, spare: real):
    """Bring a particle to its ball, and note if it has left its margin; whichever thread notes it, it is the same."""
    i, drift = balls.particle[b], rounded(control.moved[0], h)
    common = sub(drift, rounded(control.gathered_at[0], h))
    x, p, v, was = particles.x[i], particles.predicted[i], particles.v[i], balls.at[b]
    balls.path[b] += norm(sub((x[0] - was[0], x[1] - was[1], x[2] - was[2]), common))
    moved = x[0] - p[0] + h * v[0], x[1] - p[1] + h * v[1], x[2] - p[2] + h * v[2]
    balls.at[b] = x[0], x[1], x[2], x[3] * balls.factor[b], moved[0], moved[1], moved[2], ZERO
    balls.displacement[b] = moved
    used = used_margin(x, b, balls, drift, convert(control.elapsed[0], h) + h, spare)
    balls.strayed[b] = used > USED * USED
    if used > ONE:
        control.strayed[0] = 1


@kernel(fastmath=STEADY)
def scatter(b, balls: SortedBalls, particles: Particles, control: Control, rate: real, spare: real, impact: real):
    """Bring what the rows changed from a ball to its particle, and note if it has left its margin.

    The prediction moves with the position, and the velocity takes what of it brings velocity: so it keeps digits that
    a position has no room for. `rate` is 1 / h [1/s]; a correction by more than `impact` [m] is noted, too.
    """
    i = balls.particle[b]
    x, now, start = particles.x[i], balls.at[b], balls.displacement[b]
    by = now[0] - x[0], now[1] - x[1], now[2] - x[2]
    change = now[4] - start[0], now[5] - start[1], now[6] - start[2]
    elapsed = convert(control.elapsed[0], rate) + ONE / rate
    if used_margin(now, b, balls, rounded(control.moved[0], rate), elapsed, spare) > ONE:
        control.strayed[0] = 1
    changed = by[0] != ZERO or by[1] != ZERO or by[2] != ZERO
    changed = changed or change[0] != ZERO or change[1] != ZERO or change[2] != ZERO
    if dot(by, by) > impact * impact:
        control.impact[0] = 1
    if x[3] > ZERO and changed:
        particles.x[i] = now[0], now[1], now[2], x[3]
        particles.predicted[i] = add(particles.predicted[i], by)
        particles.v[i] = add(particles.v[i], scale(change, rate))


@kernel(fastmath=STEADY)
def find_strayed(b, balls: SortedBalls, particles: Particles, control: Control, h: real):
    """Note if a ball has left its margin as a substep begins, or will have done so when it ends."""
    x, v = particles.x[balls.particle[b]], particles.v[balls.particle[b]]
    drift, mean, elapsed = rounded(control.drift[0], h), rounded(control.mean[0], h), convert(control.elapsed[0], h)
    used = used_margin(x, b, balls, drift, elapsed, ZERO * h)
    later = add((x[0], x[1], x[2]), scale(sub(v, mean), h))
    used = max(used, used_margin(later, b, balls, drift, elapsed + h, ZERO * h))
    balls.strayed[b] = used > USED * USED
    if used > ONE:
        control.strayed[0] = 1
