"""Sweeps over the contacts of particles and elements with bodies, one after the other, by one thread.

A body is touched by many particles, and each has to see what the others did to it. There are few of them beside all
particles of a scene, and in this order the result is the same whatever the number of threads.

A substep begins with the pushes of the last one, and each sweep brings them nearer to what it takes: a push can become
smaller again, down to nothing. What rests then has a few sweeps for each of many substeps, not for each alone; without
it a box on four points would be tilted by the first, turned back by the last, and walk. Sweeps go there and back in
turn, which keeps them from feeding energy, see `shinari.rigid.coupling.attachment_rows`.
"""

from functools import cache

import numpy as np

from shinari.compute import Kernel, kernel, shared
from shinari.compute.kernels import STEADY, Shared
from shinari.contact.law import combined_surface
from shinari.contact.solid.collide import TWO, move, place, start_of
from shinari.contact.solid.elements import AT_VERTEX, ROUNDS, SMALL, blend, deepest
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, add, norm, scale, sub
from shinari.rigid.contact.fields import BodyFields, Four, distances
from shinari.rigid.contact.poses import Vector
from shinari.rigid.coupling.near import THIRD
from shinari.rigid.coupling.records import Contacts, Counts, Items, Margins, PieceTable, Progress, Turns
from shinari.rigid.coupling.response import apply_reaction, balance, into_piece, response
from shinari.rigid.frames import Frames
from shinari.solver.particles import Groups, Particles

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
    i0, i1, i2 = items.points[e]
    weights, still = contacts.weights[m], (0.0, 0.0, 0.0)
    start = blend(weights, start_at(particles, i0, h), start_at(particles, i1, h), start_at(particles, i2, h))
    start = add(groups.origin[particles.group[i0]], start)
    push = scale(add(scale(contacts.normal[m], contacts.push[m]), contacts.hold[m]), sign)
    record_impulse(contacts, m, push, rate)
    share(margins, particles, i0, weights[0], push, still, rate)
    share(margins, particles, i1, weights[1], push, still, rate)
    share(margins, particles, i2, weights[2], push, still, rate)
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


@cache
def push_particles(meshes: bool) -> Kernel:
    """Kernel of a sweep over the contacts of particles."""
    respond_to_piece = response(meshes)

    @kernel(fastmath=STEADY)
    def push_all_particles(
        _,
        progress: Progress,
        counts: Counts,
        contacts: Contacts,
        items: Items,
        margins: Margins,
        particles: Particles,
        groups: Groups,
        pieces: PieceTable,
        fields: BodyFields,
        frames: Frames,
        turns: Turns,
        h: float,
    ):
        """Keep the listed particles out of the pieces near them; `progress` tells where to, and how far they moved."""
        rate, back, count = ONE / h, progress.back[0] != 0, counts.contacts[0]
        largest = progress.largest[0]
        limits = rate * rate, h * progress.escape[0]
        for turn in range(count):
            m = count - 1 - turn if back else turn
            i, k = np.int64(items.points[contacts.item[m], 0]), contacts.piece[m]
            b = pieces.frame[k]
            far = margins.gone[i] + pieces.travel[k] + TWO * (turns.moved[b, 0] + turns.moved[b, 1] * pieces.reach[k])
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
        _,
        progress: Progress,
        counts: Counts,
        contacts: Contacts,
        items: Items,
        margins: Margins,
        particles: Particles,
        groups: Groups,
        pieces: PieceTable,
        fields: BodyFields,
        frames: Frames,
        turns: Turns,
        h: float,
    ):
        """Keep the deepest points of the listed elements out of the pieces near them; see `push_particles`."""
        rate, back, count = ONE / h, progress.back[0] != 0, counts.contacts[0]
        largest = progress.largest[0]
        limits = rate * rate, h * progress.escape[0]
        for turn in range(count):
            m = count - 1 - turn if back else turn
            k = contacts.piece[m]
            p0, p1, p2 = items.points[contacts.item[m]]
            i0, i1, i2 = np.int64(p0), np.int64(p1), np.int64(p2)
            origin, b = groups.origin[particles.group[i0]], pieces.frame[k]
            far = np.float64(max(margins.gone[i0], max(margins.gone[i1], margins.gone[i2])))
            far += pieces.travel[k] + TWO * (turns.moved[b, 0] + turns.moved[b, 1] * pieces.reach[k])
            if far < contacts.bound[m]:
                continue
            least = np.float64(min(margins.radius[i0], min(margins.radius[i1], margins.radius[i2])))
            law, other = combined_surface(margins.surface[i0], pieces.surface[k]), frames.inverse_mass[b]
            done = False
            for again in range(ROUNDS):
                fixed, q0, x, q = frames.x0[b], frames.q0[b], frames.x[b], frames.q[b]
                n0, n1, n2 = place(particles.x, i0), place(particles.x, i1), place(particles.x, i2)
                n0, n1, n2 = add(origin, n0), add(origin, n1), add(origin, n2)
                s0, s1, s2 = start_at(particles, i0, h), start_at(particles, i1, h), start_at(particles, i2, h)
                s0, s1, s2 = add(origin, s0), add(origin, s1), add(origin, s2)
                ends = (
                    into_piece(pieces, k, x, q, n0), into_piece(pieces, k, x, q, n1), into_piece(pieces, k, x, q, n2)
                )  # fmt: skip
                begins = (
                    into_piece(pieces, k, fixed, q0, s0),
                    into_piece(pieces, k, fixed, q0, s1),
                    into_piece(pieces, k, fixed, q0, s2),
                )
                way = norm(sub(ends[0], begins[0]))
                way = max(way, max(norm(sub(ends[1], begins[1])), norm(sub(ends[2], begins[2]))))
                # what comes out must not depend on when an element was listed or passed over
                kept = contacts.weights[m] if contacts.push[m] > ZERO else (THIRD, THIRD, THIRD)
                near, late, low, weights = deepest_point(
                    pieces.kind[k], pieces.size[k], fields, kept, least, way, again == 0, ends, begins
                )
                contacts.bound[m] = -1.0 if near or again > 0 else low - far
                b0 = weights[0]
                b1 = weights[1] + weights[2] if i1 == i2 else weights[1]
                b2 = 0.0 if i1 == i2 else weights[2]
                w = particles.x[i0, 3] * b0 * b0 + particles.x[i1, 3] * b1 * b1 + particles.x[i2, 3] * b2 * b2
                # what touches at a vertex is left to the vertex
                if not near or not w + other > ZERO:
                    break
                if max(b0, max(b1, b2)) > AT_VERTEX:
                    if late:
                        continue
                    break
                jump = max(abs(weights[0] - kept[0]), max(abs(weights[1] - kept[1]), abs(weights[2] - kept[2])))
                contacts.settled[m] = contacts.settled[m] and not (contacts.push[m] > ZERO and jump > JUMP)
                contacts.weights[m] = weights
                reach = b0 * margins.radius[i0] + b1 * margins.radius[i1] + b2 * margins.radius[i2]
                start = blend(weights, s0, s1, s2)
                touches, push, silent, n, normal_push, hold, gap = respond_to_piece(
                    pieces, fields, frames, k, start, blend(weights, n0, n1, n2), reach, w, law, contacts.push[m],
                    contacts.hold[m], limits
                )  # fmt: skip
                if not touches:
                    if late:
                        continue
                    break
                done = True
                remember(contacts, m, normal_push, hold, n, gap)
                record_impulse(contacts, m, push, rate)
                apart = ONE / (w + other)
                mine_out, their_out = scale(silent, apart), scale(silent, -other * apart)
                share(margins, particles, i0, b0, push, mine_out, rate)
                share(margins, particles, i1, b1, push, mine_out, rate)
                share(margins, particles, i2, b2, push, mine_out, rate)
                apply_reaction(frames, turns, b, sub(start, fixed), push, their_out, rate)
                v0, v1, v2 = speed_of(particles, i0, rate), speed_of(particles, i1, rate), speed_of(particles, i2, rate)
                balance(frames, turns, b, scale(silent, apart), blend(weights, v0, v1, v2), rate)
                moved = (w + other) * norm(push)
                largest = max(largest, moved)
                if not late and moved <= SMALL * reach:
                    break
            if contacts.push[m] > ZERO and not done:
                # it has left the body, or a vertex carries it now
                repeat_push(-1.0, m, contacts, items, margins, particles, groups, pieces, frames, turns, h)
                forget_push(contacts, m)
        progress.largest[0] = largest

    return push_all_elements


@kernel
def start_sweeps(_, progress: Progress, first: np.int64, speed: float):
    """Sweeps begin; `speed` [m/s] is that at which what was inside comes out in the first one of a substep."""
    progress.sweep[0], progress.least[0], progress.escape[0], progress.done[0] = 0, 1, 0.0, 0
    if first != 0:
        progress.least[0] = FIRST_SWEEPS if progress.fresh[0] != 0 else 1
        progress.escape[0] = speed
        progress.fresh[0] = progress.back[0] = 0
    progress.forth[0] = 1 - progress.back[0]
    progress.largest[0] = 0.0


@kernel
def judge_sweep(_, progress: Progress, small: float):
    """Whether sweeps go on, while one still moves something by more than a length [m]."""
    progress.sweep[0] += 1
    settled = progress.sweep[0] >= progress.least[0] and progress.largest[0] <= small
    progress.done[0] = 1 if settled else 0
    progress.escape[0], progress.largest[0] = 0.0, 0.0
    progress.back[0], progress.forth[0] = progress.forth[0], progress.back[0]
