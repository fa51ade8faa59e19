"""Which pieces of bodies are near which particles and elements, found once a step and again when one leaves its margin.

As in `shinari.contact.solid.near`, but a body has a margin of its own: what a particle and a body have gone since the
detection adds up to more than the way that two points on them can have come nearer.
"""

import numba
import numpy as np

from shinari.contact.solid.collide import place, start_of
from shinari.contact.solid.near import THIRD, length, set_bit
from shinari.maths.function import STEADY, steady
from shinari.maths.vec3 import ZERO
from shinari.rigid.contact.vectors import add, dot, scale, sub
from shinari.rigid.coupling.response import into_piece
from shinari.rigid.motion import quaternion, turn_between, vector


@numba.njit(cache=True, **STEADY)
def set_margins(places, margins, gone, ways, factor, dt, drop, x, predicted, velocities, radii, h):
    """Margins of particles [m], and where they are; arrays as of `shinari.contact.solid.near.mark_particles`."""
    for i in range(len(x)):
        now, start = place(x, i), start_of(x, predicted, velocities, h, i)
        stride = length(sub(now, start))
        speed = max(length(place(velocities, i)), stride / h)
        margins[i] = max(factor * dt * (speed + drop) + radii[i], stride)
        gone[i], ways[i] = stride, stride
        places[i, 0], places[i, 1], places[i, 2] = now


@numba.njit(cache=True, **STEADY)
def boxes_of_things(x, margins, radii, owners, groups, origins, boxes):
    """Boxes around the margins of all particles of each thing in the world [m], (T, 6): low and high corner."""
    for t in range(len(boxes)):
        for c in range(3):
            boxes[t, c], boxes[t, 3 + c] = np.inf, -np.inf
    for i in range(len(x)):
        t, g, reach = owners[i], groups[i], margins[i] + radii[i]
        for c in range(3):
            at = origins[g, c] + x[i, c]
            boxes[t, c] = min(boxes[t, c], at - reach)
            boxes[t, 3 + c] = max(boxes[t, 3 + c], at + reach)


@steady
def box_gap(q, lows, highs, k):
    """Distance of a point from the box of piece k, 0 inside."""
    x = max(max(lows[k, 0] - q[0], q[0] - highs[k, 0]), ZERO)
    y = max(max(lows[k, 1] - q[1], q[1] - highs[k, 1]), ZERO)
    z = max(max(lows[k, 2] - q[2], q[2] - highs[k, 2]), ZERO)
    return np.sqrt(x * x + y * y + z * z)


@steady
def is_near(point, reach, k, b, centres, radii, piece_places, lows, highs, fx, fq):
    """Whether a point is nearer than `reach` to the box of piece k."""
    away = sub(point, vector(centres, k))
    most = reach + radii[k]
    if dot(away, away) > most * most:
        return False
    q = into_piece(piece_places, k, vector(fx, b), quaternion(fq, b), point)
    return box_gap(q, lows, highs, k) <= reach


@numba.njit(cache=True, **STEADY)
def mark_particles(
    masks, margins, offsets, candidates, x, radii, owners, groups, origins, piece_frames, piece_places,
    lows, highs, centres, piece_radii, piece_margins, fx, fq, inverse_mass
):  # fmt: skip
    """Mark the pieces near particles.

    Args:
        masks: Bits of the pieces near each particle, (N, words); filled.
        margins: Margins of the particles [m], (N,).
        offsets: Where the candidates of each thing start, (T + 1,).
        candidates: Pieces that may be near a thing.
        x: Positions and inverse mass, (N, 4).
        radii: Distance to keep [m], (N,).
        owners: Thing of each particle, (N,).
        groups: Group of each particle, (N,).
        origins: Origins of the groups, (G, 3) float64.
        piece_frames: Frame of each piece, (K,).
        piece_places: Poses of the pieces in the axes of their frames, (K, 12).
        lows: Low corners of the pieces, (K, 3).
        highs: High corners, (K, 3).
        centres: Middles of the pieces in the world [m], (K, 3).
        piece_radii: Half diagonals of the pieces [m], (K,).
        piece_margins: Margins of the pieces [m], (K,).
        fx: Origins of the frames, (F, 3).
        fq: Quaternions of the frames, (F, 4).
        inverse_mass: Inverse masses of the frames, (F,).
    """
    for i in range(len(masks)):
        for word in range(masks.shape[1]):
            masks[i, word] = np.uint64(0)
        t = owners[i]
        point = add(vector(origins, groups[i]), place(x, i))
        for c in range(offsets[t], offsets[t + 1]):
            k = candidates[c]
            b = piece_frames[k]
            moves = x[i, 3] > ZERO or inverse_mass[b] > ZERO
            reach = np.float64(margins[i]) + radii[i] + piece_margins[k]
            if moves and is_near(point, reach, k, b, centres, piece_radii, piece_places, lows, highs, fx, fq):
                set_bit(masks, i, k)


@numba.njit(cache=True, **STEADY)
def mark_elements(
    masks, elements, margins, offsets, candidates, x, radii, owners, groups, origins, piece_frames,
    piece_places, lows, highs, centres, piece_radii, piece_margins, fx, fq, inverse_mass
):  # fmt: skip
    """Mark the pieces near elements, (E, 3); arguments as of `mark_particles`."""
    for e in range(len(masks)):
        for word in range(masks.shape[1]):
            masks[e, word] = np.uint64(0)
        i0, i1, i2 = elements[e, 0], elements[e, 1], elements[e, 2]
        t = owners[i0]
        if offsets[t] == offsets[t + 1]:
            continue
        x0, x1, x2 = place(x, i0), place(x, i1), place(x, i2)
        centre = scale(add(x0, add(x1, x2)), THIRD)
        extent = max(length(sub(x0, centre)), max(length(sub(x1, centre)), length(sub(x2, centre))))
        margin = max(margins[i0], max(margins[i1], margins[i2]))
        radius = max(radii[i0], max(radii[i1], radii[i2]))
        free = max(x[i0, 3], max(x[i1, 3], x[i2, 3])) > ZERO
        point = add(vector(origins, groups[i0]), centre)
        for c in range(offsets[t], offsets[t + 1]):
            k = candidates[c]
            b = piece_frames[k]
            reach = np.float64(margin) + radius + extent + piece_margins[k]
            moves = free or inverse_mass[b] > ZERO
            if moves and is_near(point, reach, k, b, centres, piece_radii, piece_places, lows, highs, fx, fq):
                set_bit(masks, e, k)


@numba.njit(cache=True, **STEADY)
def measure_pieces(frames, reaches, x, q, x0, q0, reference_x, reference_q, travels):
    """How far any point of each piece has gone since the detection, with its way in this substep, at most [m], (K,)."""
    for k in range(len(frames)):
        b = frames[k]
        here, turned = vector(x, b), quaternion(q, b)
        far = length(sub(here, vector(reference_x, b))) + length(sub(here, vector(x0, b)))
        angle = length(turn_between(quaternion(reference_q, b), turned))
        angle += length(turn_between(quaternion(q0, b), turned))
        travels[k] = far + angle * reaches[k]
