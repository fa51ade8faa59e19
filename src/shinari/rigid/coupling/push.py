"""Sweeps over the contacts of particles and elements with bodies, one after the other, by one thread.

A body is touched by many particles, and each has to see what the others did to it. There are few of them beside all
particles of a scene, and in this order the result is the same whatever the number of threads.

A substep begins with the pushes of the last one, and each sweep brings them nearer to what it takes: a push can become
smaller again, down to nothing. What rests then has a few sweeps for each of many substeps, not for each alone; without
it a box on four points would be tilted by the first, turned back by the last, and walk. Sweeps go there and back in
turn, which keeps them from feeding energy, see `shinari.rigid.coupling.attachment_rows`.
"""

import numba
import numpy as np

from shinari.contact.solid.collide import TWO, law_of, move, place, record, start_of
from shinari.contact.solid.elements import AT_VERTEX, ROUNDS, SMALL, THIRD, blend, deepest
from shinari.maths.function import STEADY, steady
from shinari.maths.vec3 import ONE, ZERO, norm
from shinari.rigid.contact.vectors import add, scale, sub
from shinari.rigid.coupling.response import (
    balance,
    begin_turns,
    finish_turns,
    give_back,
    into_piece,
    respond,
    write_memory,
)
from shinari.rigid.motion import quaternion, vector

# The deepest point of an element has gone elsewhere when a weight changes by more than this.
JUMP = np.float32(0.02)


@steady
def speed_of(x, predicted, velocities, i, rate):
    """Velocity that a particle would have if the substep ended now."""
    return (
        velocities[i, 0] + (x[i, 0] - predicted[i, 0]) * rate,
        velocities[i, 1] + (x[i, 1] - predicted[i, 1]) * rate,
        velocities[i, 2] + (x[i, 2] - predicted[i, 2]) * rate,
    )


@steady
def repeat(
    sign, m, b, memory, impulses, gone, ways, elements, e, x, predicted, velocities, origin, fx, fq, fx0, inverse_mass,
    inverse_inertia, frame_impulses, torques, moved, h
):  # fmt: skip
    """Apply the push that a contact remembers, or its opposite."""
    rate = ONE / h
    i0, i1, i2 = np.int64(elements[e, 0]), np.int64(elements[e, 1]), np.int64(elements[e, 2])
    weights = (memory[m, 8], memory[m, 9], memory[m, 10])
    start = add(origin, blend(
        weights, start_of(x, predicted, velocities, h, i0), start_of(x, predicted, velocities, h, i1),
        start_of(x, predicted, velocities, h, i2)
    ))  # fmt: skip
    push = add(
        scale((memory[m, 4], memory[m, 5], memory[m, 6]), memory[m, 0]), (memory[m, 1], memory[m, 2], memory[m, 3])
    )
    push = scale(push, sign)
    still = (ZERO * push[0], ZERO * push[0], ZERO * push[0])
    record(impulses, m, push, rate)
    share(gone, ways, x, predicted, velocities, i0, weights[0], push, still, rate)
    share(gone, ways, x, predicted, velocities, i1, weights[1], push, still, rate)
    share(gone, ways, x, predicted, velocities, i2, weights[2], push, still, rate)
    give_back(fx, fq, fx0, inverse_mass, inverse_inertia, frame_impulses, torques, moved, b, sub(start, vector(fx0, b)),
              push, still, rate)  # fmt: skip


@numba.njit(cache=True, **STEADY)
def repeat_all(
    items, offsets, solids, memory, impulses, gone, ways, steadies, elements, moved, torques, x, predicted, velocities,
    groups, origins, piece_frames, fx, fq, fx0, fq0, inverse_mass, inverse_inertia, moments, fw, frame_impulses,
    before, h
):  # fmt: skip
    """Begin a substep with the pushes of the last one: what rests is carried before anything is looked at.

    Arguments as of `push_particles`; `elements` (I, 3) holds a particle three times where items are particles. Of an
    element that lay flat on the piece, `steadies` False, the deepest point went from corner to corner: it begins anew.
    """
    begin_turns(before, fq, torques, moved)
    for p in range(len(items)):
        e = np.int64(items[p])
        origin = vector(origins, groups[elements[e, 0]])
        for m in range(offsets[p], offsets[p + 1]):
            if not steadies[m]:
                memory[m, 0] = memory[m, 1] = memory[m, 2] = memory[m, 3] = ZERO
                steadies[m] = True
            if memory[m, 0] > ZERO:
                b = piece_frames[np.int64(solids[m])]
                repeat(ONE, m, b, memory, impulses, gone, ways, elements, e, x, predicted, velocities, origin, fx, fq,
                       fx0, inverse_mass, inverse_inertia, frame_impulses, torques, moved, h)  # fmt: skip
    finish_turns(before, fq, fq0, moments, fw, torques, h)


@steady
def push_particles(
    distance_and_normal, items, offsets, solids, memory, impulses, gone, travels, reaches, moved, torques, x, predicted,
    velocities, radii, owners, mine, groups, origins, kinds, sizes, fields, places, piece_frames, theirs, fx, fq, fx0,
    fq0, inverse_mass, inverse_inertia, moments, fw, frame_impulses, before, back, h, speed
):  # fmt: skip
    """Keep listed particles out of the pieces near them.

    Args:
        distance_and_normal: The function of the shapes.
        items: Particles, (A,).
        offsets: Where the pieces of each start, (A + 1,).
        solids: Pieces, (M,).
        memory: What each contact remembers of the substep: pushes in kg m, (M, MEMORY) float64.
        impulses: Sum of the impulses on the particle [N s], (M, 3).
        gone: How far each particle has gone since the detection, with its way in this substep [m], (N,).
        travels: The same for the pieces, (K,).
        reaches: How far each piece reaches from the origin of its frame [m], (K,).
        moved: Scratch, (F, 2).
        torques: Scratch, (F, 3).
        x: Positions and inverse mass, (N, 4).
        predicted: Predicted positions, (N, 3); they move with the positions.
        velocities: Velocities of the prediction, (N, 3); contacts change them.
        radii: Distance to keep [m], (N,).
        owners: Thing of each particle, (N,).
        mine: Surface of each thing, (T, 4).
        groups: Group of each particle, (N,).
        origins: Origins of the groups, (G, 3) float64.
        kinds: Kind of each piece, (K,).
        sizes: Numbers of each, (K, 4).
        fields: Distance fields of the meshes among them.
        places: Pose of each in the axes of its frame, (K, 12).
        piece_frames: Frame of each, (K,).
        theirs: Surface of each, (K, 4).
        fx: Origins of the frames, (F, 3); changed.
        fq: Quaternions of the frames, (F, 4); changed.
        fx0: Origins at the start of the substep.
        fq0: Quaternions at the start of the substep.
        inverse_mass: Of the frames, (F,).
        inverse_inertia: Of the frames, (F, 6).
        moments: Of the frames, (F, 3).
        fw: Angular velocities at the start of the substep, (F, 3).
        frame_impulses: What the frames received in this step, (F, 6).
        before: Scratch, (F, 4).
        back: Whether to go from the last to the first.
        h: Substep [s].
        speed: Speed at which what was inside comes out [m/s].

    Returns:
        The farthest that a push moved a point and a body against each other [m].
    """
    rate = ONE / h
    begin_turns(before, fq, torques, moved)
    largest = ZERO * h
    for turn in range(len(items)):
        p = len(items) - 1 - turn if back else turn
        i = np.int64(items[p])
        w = np.float64(x[i, 3])
        origin = vector(origins, groups[i])
        for item in range(offsets[p + 1] - offsets[p]):
            m = offsets[p + 1] - 1 - item if back else offsets[p] + item
            k = np.int64(solids[m])
            b = piece_frames[k]
            far = gone[i] + travels[k] + TWO * (moved[b, 0] + moved[b, 1] * reaches[k])
            if far < memory[m, 11]:
                continue
            start = add(origin, start_of(x, predicted, velocities, h, i))
            now = add(origin, place(x, i))
            law = law_of(mine, theirs, owners[i], k)
            pose, pose0 = (vector(fx, b), quaternion(fq, b)), (vector(fx0, b), quaternion(fq0, b))
            s = (sizes[k, 0], sizes[k, 1], sizes[k, 2], sizes[k, 3])
            touches, push, silent, n, normal_push, hold, gap = respond(
                distance_and_normal, kinds[k], s, fields, places, k, pose, pose0, inverse_mass, inverse_inertia, b,
                start, now, np.float64(radii[i]), w, law, memory[m, 0], (memory[m, 1], memory[m, 2], memory[m, 3]),
                rate * rate, h * speed
            )  # fmt: skip
            memory[m, 11] = -ONE if touches else gap - far
            if not touches:
                continue
            write_memory(memory, m, normal_push, hold, n, gap)
            largest = max(largest, (w + inverse_mass[b]) * norm(push))
            apart = ONE / (w + inverse_mass[b])
            mine_out, their_out = scale(silent, w * apart), scale(silent, -inverse_mass[b] * apart)
            if w > ZERO:
                correction = add(scale(push, w), mine_out)
                gone[i] += TWO * norm(correction)
                move(x, predicted, velocities, i, ONE, correction, mine_out, rate)
            give_back(fx, fq, fx0, inverse_mass, inverse_inertia, frame_impulses, torques, moved, b,
                      sub(start, pose0[0]), push, their_out, rate)  # fmt: skip
            speed_now = speed_of(x, predicted, velocities, i, rate)
            balance(torques, fx, fx0, inverse_mass, b, scale(silent, apart), speed_now, rate)
            record(impulses, m, push, rate)
    finish_turns(before, fq, fq0, moments, fw, torques, h)
    return largest


@steady
def push_elements(
    distance_and_normal, items, offsets, solids, memory, impulses, gone, ways, steadies, travels, reaches, moved,
    torques, elements, x, predicted, velocities, radii, owners, mine, groups, origins, kinds, sizes, fields, places,
    piece_frames, theirs, fx, fq, fx0, fq0, inverse_mass, inverse_inertia, moments, fw, frame_impulses, before, back, h,
    speed
):  # fmt: skip
    """Keep the deepest points of listed elements out of the pieces near them; arguments as of `push_particles`."""
    rate = ONE / h
    begin_turns(before, fq, torques, moved)
    largest = ZERO * h
    for turn in range(len(items)):
        p = len(items) - 1 - turn if back else turn
        e = np.int64(items[p])
        i0, i1, i2 = np.int64(elements[e, 0]), np.int64(elements[e, 1]), np.int64(elements[e, 2])
        origin = vector(origins, groups[i0])
        for item in range(offsets[p + 1] - offsets[p]):
            m = offsets[p + 1] - 1 - item if back else offsets[p] + item
            k = np.int64(solids[m])
            b = piece_frames[k]
            travel = travels[k] + TWO * (moved[b, 0] + moved[b, 1] * reaches[k])
            far = max(gone[i0], max(gone[i1], gone[i2])) + travel
            if far < memory[m, 11]:
                continue
            s = (sizes[k, 0], sizes[k, 1], sizes[k, 2], sizes[k, 3])
            least = np.float64(min(radii[i0], min(radii[i1], radii[i2])))
            law = law_of(mine, theirs, owners[i0], k)
            done = False
            for again in range(ROUNDS):
                fixed = vector(fx0, b)
                pose, pose0 = (vector(fx, b), quaternion(fq, b)), (fixed, quaternion(fq0, b))
                n0, n1, n2 = add(origin, place(x, i0)), add(origin, place(x, i1)), add(origin, place(x, i2))
                s0 = add(origin, start_of(x, predicted, velocities, h, i0))
                s1 = add(origin, start_of(x, predicted, velocities, h, i1))
                s2 = add(origin, start_of(x, predicted, velocities, h, i2))
                ends = (
                    into_piece(places, k, pose[0], pose[1], n0),
                    into_piece(places, k, pose[0], pose[1], n1),
                    into_piece(places, k, pose[0], pose[1], n2),
                )
                begins = (
                    into_piece(places, k, pose0[0], pose0[1], s0),
                    into_piece(places, k, pose0[0], pose0[1], s1),
                    into_piece(places, k, pose0[0], pose0[1], s2),
                )
                way = max(
                    norm(sub(ends[0], begins[0])), max(norm(sub(ends[1], begins[1])), norm(sub(ends[2], begins[2])))
                )
                # what comes out must not depend on when an element was listed or passed over
                pushes = memory[m, 0] > ZERO
                kept = (
                    memory[m, 8] if pushes else np.float64(THIRD),
                    memory[m, 9] if pushes else np.float64(THIRD),
                    memory[m, 10] if pushes else np.float64(THIRD),
                )
                near, late, low, weights = deepest(
                    distance_and_normal, kinds[k], s, fields, kept, least, way, again == 0, ends, begins
                )
                memory[m, 11] = -ONE if near or again > 0 else low - far
                b0 = weights[0]
                b1 = weights[1] + weights[2] if i1 == i2 else weights[1]
                b2 = ZERO * weights[2] if i1 == i2 else weights[2]
                w = x[i0, 3] * b0 * b0 + x[i1, 3] * b1 * b1 + x[i2, 3] * b2 * b2
                # what touches at a vertex is left to the vertex
                if not near or not w + inverse_mass[b] > ZERO:
                    break
                if max(b0, max(b1, b2)) > AT_VERTEX:
                    if late:
                        continue
                    break
                jump = max(abs(weights[0] - kept[0]), max(abs(weights[1] - kept[1]), abs(weights[2] - kept[2])))
                steadies[m] = steadies[m] and not (pushes and jump > JUMP)
                memory[m, 8], memory[m, 9], memory[m, 10] = weights
                reach = b0 * radii[i0] + b1 * radii[i1] + b2 * radii[i2]
                start = blend(weights, s0, s1, s2)
                touches, push, silent, n, normal_push, hold, gap = respond(
                    distance_and_normal, kinds[k], s, fields, places, k, pose, pose0, inverse_mass, inverse_inertia, b,
                    start, blend(weights, n0, n1, n2), reach, w, law, memory[m, 0],
                    (memory[m, 1], memory[m, 2], memory[m, 3]), rate * rate, h * speed
                )  # fmt: skip
                if not touches:
                    if late:
                        continue
                    break
                done = True
                write_memory(memory, m, normal_push, hold, n, gap)
                record(impulses, m, push, rate)
                apart = ONE / (w + inverse_mass[b])
                mine_out, their_out = scale(silent, apart), scale(silent, -inverse_mass[b] * apart)
                share(gone, ways, x, predicted, velocities, i0, b0, push, mine_out, rate)
                share(gone, ways, x, predicted, velocities, i1, b1, push, mine_out, rate)
                share(gone, ways, x, predicted, velocities, i2, b2, push, mine_out, rate)
                give_back(fx, fq, fx0, inverse_mass, inverse_inertia, frame_impulses, torques, moved, b,
                          sub(start, fixed), push, their_out, rate)  # fmt: skip
                speed_now = blend(
                    weights,
                    speed_of(x, predicted, velocities, i0, rate),
                    speed_of(x, predicted, velocities, i1, rate),
                    speed_of(x, predicted, velocities, i2, rate),
                )
                balance(torques, fx, fx0, inverse_mass, b, scale(silent, apart), speed_now, rate)
                largest = max(largest, (w + inverse_mass[b]) * norm(push))
                if not late and (w + inverse_mass[b]) * norm(push) <= SMALL * reach:
                    break
            if memory[m, 0] > ZERO and not done:
                # it has left the body, or a vertex carries it now
                repeat(-ONE, m, b, memory, impulses, gone, ways, elements, e, x, predicted, velocities, origin, fx, fq,
                       fx0, inverse_mass, inverse_inertia, frame_impulses, torques, moved, h)  # fmt: skip
                memory[m, 0] = memory[m, 1] = memory[m, 2] = memory[m, 3] = ZERO
    finish_turns(before, fq, fq0, moments, fw, torques, h)
    return largest


@steady
def share(gone, ways, x, predicted, velocities, i, weight, push, silent, rate):
    """Move a vertex by its share of a push on a point; `silent` is what a unit of inverse mass moves silently."""
    if x[i, 3] > ZERO and weight > ZERO:
        part = x[i, 3] * weight
        correction = add(push, silent)
        stride = part * norm(correction)
        gone[i] += TWO * stride
        ways[i] += stride
        move(x, predicted, velocities, i, part, correction, silent, rate)
