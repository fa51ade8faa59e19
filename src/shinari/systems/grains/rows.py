"""Contact rows of grains: as those of other balls, but what a row did in the last substep is its first guess.

A heap of many layers rests only when each contact carries what is above it. One sweep in a substep does not find that
anew, so the multiplier L >= 0 of a row and the friction H of its plane are kept, as part of the state, and each substep
only corrects them. What overlaps when a substep begins comes out without velocity (Macklin et al. 2014, section 4.4):

    displacement . n >= -gap, L >= 0, one of the two equal          |H| <= mu L, along the slip when equal

A sweep may take back what the guess has pushed too much. All is done in displacements of the substep: L has the unit
kg m.
"""

import numpy as np

from shinari.collision.broad.blocks import Blocks, CurrentColour, rows_of_block
from shinari.collision.law import friction, normal_response, recovery, tangential
from shinari.compute import convert, function, kernel, real
from shinari.compute.kernels import STEADY
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, scale, sub
from shinari.model.particles import Origins
from shinari.systems.particle_contact.pair_rows import between, contact_plane, move, upright
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
    return push, friction(tangential(sub(held, scale(moved, ONE / mobility)), n), push, law)


@kernel(fastmath=STEADY)
def start_grains(
    k,
    blocks: Blocks,
    current: CurrentColour,
    row_balls: RowBalls,
    rows: Rows,
    balls: SortedBalls,
    shifts: Shifts,
    escape: real,
):
    """Let the rows of a block push as in the last substep, and what overlaps come out, by `escape` [m] at most."""
    begin, end = rows_of_block(k, blocks, current)
    for r in range(begin, end):
        i, j = row_balls.points[r]
        one, other = balls.at[i], balls.at[j]
        b, moved = between(one, other, i, j, balls, shifts)
        a, push = sub(b, moved), rows.push[r]
        before = rows.keep[r] - norm(a)
        if push > ZERO or before > ZERO:
            n, hold = upright(a, b), rows.friction_multiplier[r]
            hold = tangential(hold, n)
            rows.friction_multiplier[r] = hold
            w0, w1 = one[3], other[3]
            loud = add(scale(n, push), hold)
            by = add(loud, scale(n, recovery(before, escape) / (w0 + w1)))
            balls.at[i] = move(one, w0, by, loud)
            balls.at[j] = move(other, -w1, by, loud)


@kernel(fastmath=STEADY)
def sweep_grains(
    k,
    blocks: Blocks,
    current: CurrentColour,
    row_balls: RowBalls,
    rows: Rows,
    balls: SortedBalls,
    shifts: Shifts,
    rate: real,
):
    """Solve the rows of a block once, in order; `rate` is 1 / h [1/s]."""
    begin, end = rows_of_block(k, blocks, current)
    for r in range(begin, end):
        i, j = row_balls.points[r]
        one, other, keep = balls.at[i], balls.at[j], rows.keep[r]
        b, moved = between(one, other, i, j, balls, shifts)
        a, old = sub(b, moved), rows.push[r]
        n, depth, before = contact_plane(a, b, moved, keep)
        if depth > ZERO or old > ZERO:
            if depth <= ZERO:
                n, depth, before = upright(b, a), keep - norm(b), keep - norm(a)
                before = before if before > -SLOP * keep else ZERO * before
            w0, w1, held, law = one[3], other[3], rows.friction_multiplier[r], rows.law[r]
            push, hold = answer(n, depth, before, moved, old, held, law, law[2] * rate * rate, w0 + w1)
            loud = add(scale(n, push - old), sub(hold, held))
            balls.at[i] = move(one, w0, loud, loud)
            balls.at[j] = move(other, -w1, loud, loud)
            rows.push[r], rows.friction_multiplier[r], rows.normal[r] = push, hold, n


@kernel(fastmath=STEADY)
def add_impulse(r, rows: Rows, rate: real):
    """Add to the impulse of a row what it did in a substep."""
    push = scale(rows.normal[r], rows.push[r])
    rows.impulse[r] = add(rows.impulse[r], scale(add(push, rows.friction_multiplier[r]), rate))


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
