"""Sweeps over the contacts of particles and elements with bodies, one after the other, by one thread.

A body is touched by many particles, and each has to see what the others did to it. There are few of them beside all
particles of a scene, and in this order the result is the same whatever the number of threads.

A substep begins with the pushes of the last one, and each sweep brings them nearer to what it takes: a push can become
smaller again, down to nothing. What rests then has a few sweeps for each of many substeps, not for each alone; without
it a box on four points would be tilted by the first, turned back by the last, and walk. Sweeps go there and back in
turn, which keeps them from feeding energy, see `shinari.systems.coupling.attachment_rows`.
"""

from functools import cache

import numpy as np

from shinari.collision.law import combined_surface
from shinari.collision.narrow.fields import BodyFields, Four, distances
from shinari.collision.narrow.poses import Vector
from shinari.compute import Kernel, kernel, shared
from shinari.compute.kernels import STEADY, Shared
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, add, norm, scale, sub
from shinari.model.particles import Groups, Particles
from shinari.systems.colliders.collide import TWO, move, place, start_of
from shinari.systems.colliders.elements import (
    AT_VERTEX,
    ROUNDS,
    SMALL,
    blend,
    blend_of,
    deepest,
    inverse_mass_at,
    largest_of,
    least_of,
    longest_path,
    vertex_weights,
    vertices,
)
from shinari.systems.coupling.near import THIRD
from shinari.systems.coupling.records import Contacts, Counts, Items, Margins, PieceTable, Progress, Turns
from shinari.systems.coupling.response import apply_reaction, balance, into_piece, response
from shinari.systems.rigid.frames import Frames

# The deepest point of an element has gone elsewhere when a weight changes by more than this.
JUMP = np.float32(0.02)
# Sweeps in the first substep of a step, which begins without pushes: nothing is carried over that is no state.
FIRST_SWEEPS = 8
Corners = tuple[Vector, Vector, Vector]


@steady
def speed_of(particles, i, rate):
    """Velocity that a particle would have if the substep ended now."""
    x, p, v = particles.x[i], particles.predicted[i], particles.v[i]
    return v[0] + (x[0] - p[0]) * rate, v[1] + (x[1] - p[1]) * rate, v[2] + (x[2] - p[2]) * rate


@steady
def start_at(particles, i, h):
    """Where a particle was when the substep began, relative to its group."""
    return start_of(particles.x, particles.predicted, particles.v, h, i)


@steady
def share(margins, particles, i, weight, push, silent, rate):
    """Move a vertex by its share of a push on a point; `silent` is what a unit of inverse mass moves silently."""
    if particles.x[i, 3] > ZERO and weight > ZERO:
        part = particles.x[i, 3] * weight
        correction = add(push, silent)
        stride = part * norm(correction)
        margins.gone[i] += TWO * stride
        margins.displacement[i] += stride
        move(particles.x, particles.predicted, particles.v, i, part, correction, silent, rate)


@steady
def share_push(margins, particles, i, weights, push, silent, rate):
    """Move the vertices of an element by their shares of a push on a point."""
    share(margins, particles, i[0], weights[0], push, silent, rate)
    share(margins, particles, i[1], weights[1], push, silent, rate)
    share(margins, particles, i[2], weights[2], push, silent, rate)


@steady
def world_path(origin, particles, i, h):
    """Vertices of an element in the world: now, and at the start of the substep."""
    x = particles.x
    now = add(origin, place(x, i[0])), add(origin, place(x, i[1])), add(origin, place(x, i[2]))
    starts = (
        add(origin, start_at(particles, i[0], h)),
        add(origin, start_at(particles, i[1], h)),
        add(origin, start_at(particles, i[2], h)),
    )
    return now, starts


@steady
def triangle_in_piece(pieces, k, x, q, points):
    """Three points of the world in the axes of piece k, whose frame is at x and turned by q."""
    return (
        into_piece(pieces, k, x, q, points[0]),
        into_piece(pieces, k, x, q, points[1]),
        into_piece(pieces, k, x, q, points[2]),
    )


@steady
def jumps(weights, kept):
    """Whether the deepest point of an element has gone elsewhere."""
    change = max(abs(weights[0] - kept[0]), max(abs(weights[1] - kept[1]), abs(weights[2] - kept[2])))
    return change > JUMP


@steady
def record_impulse(contacts, m, push, rate):
    """Add an impulse to those of the step."""
    contacts.impulse[m] = add(contacts.impulse[m], scale(push, rate))


@steady
def forget_push(contacts, m):
    """A contact does not push."""
    contacts.push[m], contacts.hold[m] = 0.0, (0.0, 0.0, 0.0)


@shared(fastmath=STEADY)
def repeat_push(
    sign: float, m: int, contacts: Contacts, items: Items, margins: Margins, particles: Particles, groups: Groups,
    pieces: PieceTable, frames: Frames, turns: Turns, h: float
) -> None:  # fmt: skip
    """Apply the push of a contact in the last sweep, or its opposite."""
    rate = ONE / h
    e, b = contacts.item[m], pieces.frame[contacts.piece[m]]
    i = vertices(items.points[e])
    weights, still = contacts.weights[m], (0.0, 0.0, 0.0)
    start = blend(weights, start_at(particles, i[0], h), start_at(particles, i[1], h), start_at(particles, i[2], h))
    start = add(groups.origin[particles.group[i[0]]], start)
    push = scale(add(scale(contacts.normal[m], contacts.push[m]), contacts.hold[m]), sign)
    record_impulse(contacts, m, push, rate)
    share_push(margins, particles, i, weights, push, still, rate)
    apply_reaction(frames, turns, b, sub(start, frames.x0[b]), push, still, rate)


@kernel(fastmath=STEADY)
def repeat_pushes(
    _, counts: Counts, contacts: Contacts, items: Items, margins: Margins, particles: Particles, groups: Groups,
    pieces: PieceTable, frames: Frames, turns: Turns, h: float
):  # fmt: skip
    """Begin a substep with the pushes of the last one: what rests is carried before anything is looked at.

    Of an element that lay flat on the piece, not `settled`, the deepest point went from corner to corner: it begins
    anew.
    """
    for m in range(counts.contacts[0]):
        if not contacts.settled[m]:
            forget_push(contacts, m)
            contacts.settled[m] = True
        if contacts.push[m] > ZERO:
            repeat_push(1.0, m, contacts, items, margins, particles, groups, pieces, frames, turns, h)


@steady
def remember(contacts, m, push, hold, n, gap):
    """Write the state of a contact."""
    contacts.push[m], contacts.hold[m], contacts.normal[m], contacts.gap[m] = push, hold, n, gap


@steady
def contact_of(turn, count, progress):
    """Contact of a turn of a sweep: sweeps go there and back."""
    return count - 1 - turn if progress.back[0] != 0 else turn


@steady
def distance_gone(far, k, pieces, turns):
    """How far a piece and an item, which has gone `far`, have gone since the detection, at most [m]."""
    b = pieces.frame[k]
    return far + pieces.travel[k] + TWO * (turns.moved[b, 0] + turns.moved[b, 1] * pieces.reach[k])


@cache
def push_particles(meshes: bool) -> Kernel:
    """Kernel of a sweep over the contacts of particles."""
    respond_to_piece = response(meshes)

    @kernel(fastmath=STEADY)
    def push_all_particles(
        _, progress: Progress, counts: Counts, contacts: Contacts, items: Items, margins: Margins,
        particles: Particles, groups: Groups, pieces: PieceTable, fields: BodyFields, frames: Frames, turns: Turns,
    ):  # fmt: skip
        """Keep the listed particles out of the pieces near them; `progress` tells where to, and how far they moved."""
        h, count, largest = progress.substep[0], counts.contacts[0], progress.largest[0]
        rate = ONE / h
        limits = rate * rate, h * progress.escape[0]
        for turn in range(count):
            m = contact_of(turn, count, progress)
            i, k = np.int64(items.points[contacts.item[m], 0]), contacts.piece[m]
            b = pieces.frame[k]
            far = distance_gone(margins.gone[i], k, pieces, turns)
            if far < contacts.bound[m]:
                continue
            w, fixed = np.float64(particles.x[i, 3]), frames.x0[b]
            origin = groups.origin[particles.group[i]]
            start, now = add(origin, start_at(particles, i, h)), add(origin, place(particles.x, i))
            law = combined_surface(margins.surface[i], pieces.surface[k])
            touches, push, silent, n, normal_push, hold, gap = respond_to_piece(
                pieces, fields, frames, k, start, now, np.float64(margins.radius[i]), w, law, contacts.push[m],
                contacts.hold[m], limits
            )  # fmt: skip
            contacts.bound[m] = -1.0 if touches else gap - far
            if not touches:
                continue
            remember(contacts, m, normal_push, hold, n, gap)
            other = frames.inverse_mass[b]
            largest = max(largest, (w + other) * norm(push))
            apart = ONE / (w + other)
            mine_out, their_out = scale(silent, w * apart), scale(silent, -other * apart)
            if w > ZERO:
                correction = add(scale(push, w), mine_out)
                margins.gone[i] += TWO * norm(correction)
                move(particles.x, particles.predicted, particles.v, i, ONE, correction, mine_out, rate)
            apply_reaction(frames, turns, b, sub(start, fixed), push, their_out, rate)
            balance(frames, turns, b, scale(silent, apart), speed_of(particles, i, rate), rate)
            record_impulse(contacts, m, push, rate)
        progress.largest[0] = largest

    return push_all_particles


@cache
def search(meshes: bool) -> Shared:
    """`deepest` for scenes with or without meshes, compiled once."""
    distance_and_normal = distances(meshes)

    @shared(fastmath=STEADY)
    def deepest_point(
        kind: int,
        s: Four,
        fields: BodyFields,
        start: Vector,
        radius: float,
        way: float,
        back: bool,
        ends: Corners,
        begins: Corners,
    ) -> tuple[bool, bool, float, Vector]:
        return deepest(distance_and_normal, kind, s, fields, start, radius, way, back, ends, begins)

    return deepest_point


@cache
def push_elements(meshes: bool) -> Kernel:
    """Kernel of a sweep over the contacts of triangles and segments."""
    respond_to_piece, deepest_point = response(meshes), search(meshes)

    @kernel(fastmath=STEADY)
    def push_all_elements(
        _, progress: Progress, counts: Counts, contacts: Contacts, items: Items, margins: Margins,
        particles: Particles, groups: Groups, pieces: PieceTable, fields: BodyFields, frames: Frames, turns: Turns,
    ):  # fmt: skip
        """Keep the deepest points of the listed elements out of the pieces near them; see `push_particles`."""
        h, count, largest = progress.substep[0], counts.contacts[0], progress.largest[0]
        rate = ONE / h
        limits = rate * rate, h * progress.escape[0]
        for turn in range(count):
            m = contact_of(turn, count, progress)
            k, i = contacts.piece[m], vertices(items.points[contacts.item[m]])
            origin, b = groups.origin[particles.group[i[0]]], pieces.frame[k]
            far = distance_gone(np.float64(largest_of(margins.gone, i)), k, pieces, turns)
            if far < contacts.bound[m]:
                continue
            least = np.float64(least_of(margins.radius, i))
            law, other = combined_surface(margins.surface[i[0]], pieces.surface[k]), frames.inverse_mass[b]
            done = False
            for again in range(ROUNDS):
                fixed, (now, starts) = frames.x0[b], world_path(origin, particles, i, h)
                ends = triangle_in_piece(pieces, k, frames.x[b], frames.q[b], now)
                begins = triangle_in_piece(pieces, k, fixed, frames.q0[b], starts)
                # what comes out must not depend on when an element was listed or passed over
                kept = contacts.weights[m] if contacts.push[m] > ZERO else (THIRD, THIRD, THIRD)
                near, late, low, weights = deepest_point(
                    pieces.kind[k], pieces.size[k], fields, kept, least, longest_path(ends, begins), again == 0, ends,
                    begins
                )  # fmt: skip
                contacts.bound[m] = -1.0 if near or again > 0 else low - far
                part = vertex_weights(weights, i)
                w = inverse_mass_at(particles.x, i, part)
                if not near or not w + other > ZERO:
                    break
                # what touches at a vertex is left to the vertex
                touches, moved = max(part[0], max(part[1], part[2])) <= AT_VERTEX, 0.0
                reach = blend_of(margins.radius, i, part)
                if touches:
                    contacts.settled[m] = contacts.settled[m] and not (contacts.push[m] > ZERO and jumps(weights, kept))
                    contacts.weights[m] = weights
                    start = blend(weights, starts[0], starts[1], starts[2])
                    touches, push, silent, n, normal_push, hold, gap = respond_to_piece(
                        pieces, fields, frames, k, start, blend(weights, now[0], now[1], now[2]), reach, w, law,
                        contacts.push[m], contacts.hold[m], limits
                    )  # fmt: skip
                if touches:
                    done = True
                    remember(contacts, m, normal_push, hold, n, gap)
                    record_impulse(contacts, m, push, rate)
                    apart = ONE / (w + other)
                    share_push(margins, particles, i, part, push, scale(silent, apart), rate)
                    apply_reaction(frames, turns, b, sub(start, fixed), push, scale(silent, -other * apart), rate)
                    speed = blend(weights, speed_of(particles, i[0], rate), speed_of(particles, i[1], rate),
                                  speed_of(particles, i[2], rate))  # fmt: skip
                    balance(frames, turns, b, scale(silent, apart), speed, rate)
                    moved = (w + other) * norm(push)
                    largest = max(largest, moved)
                if not late and (not touches or moved <= SMALL * reach):
                    break
            if contacts.push[m] > ZERO and not done:
                # it has left the body, or a vertex carries it now
                repeat_push(-1.0, m, contacts, items, margins, particles, groups, pieces, frames, turns, h)
                forget_push(contacts, m)
        progress.largest[0] = largest

    return push_all_elements


@kernel
def start_sweeps(_, progress: Progress, first: np.int64, speed: float, h: float):
    """Sweeps begin; `speed` [m/s] is that at which what was inside comes out in the first one of a substep."""
    progress.sweep[0], progress.least[0], progress.escape[0], progress.done[0] = 0, 1, 0.0, 0
    if first != 0:
        progress.least[0] = FIRST_SWEEPS if progress.fresh[0] != 0 else 1
        progress.escape[0] = speed
        progress.fresh[0] = progress.back[0] = 0
    progress.forth[0] = 1 - progress.back[0]
    progress.largest[0], progress.substep[0] = 0.0, h


@kernel
def judge_sweep(_, progress: Progress, small: float):
    """Whether sweeps go on, while one still moves something by more than a length [m]."""
    progress.sweep[0] += 1
    settled = progress.sweep[0] >= progress.least[0] and progress.largest[0] <= small
    progress.done[0] = 1 if settled else 0
    progress.escape[0], progress.largest[0] = 0.0, 0.0
    progress.back[0], progress.forth[0] = progress.forth[0], progress.back[0]
