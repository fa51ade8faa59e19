"""The points of a pair of geoms: found anew, or moved along with the frames since they were found.

What a pair keeps of a point is fixed to the frames: the core point of each side and the normal, which turns with the
frame whose face it belongs to. While the frames have hardly moved against each other the points of two polytopes are
only carried along; beyond `MOST_TURN` and `MOST_SLIDE` they are found anew.
"""

from typing import NamedTuple

import numpy as np

from shinari.contact.solid.shapes import BOX, PLANE
from shinari.maths.function import steady
from shinari.maths.quaternion import conjugate, multiply
from shinari.maths.vec3 import ZERO, add, dot, norm, scale, sub
from shinari.rigid.contact.broad import SLACK, TWO
from shinari.rigid.contact.manifold import manifold
from shinari.rigid.contact.shapes import HULL

SLOTS = 8
"""Most points of a pair."""
# Turn [rad] and slide [of the smaller size] after which the points of a pair are found anew.
MOST_TURN = np.float32(0.01)
MOST_SLIDE = np.float32(0.01)

# Columns of a slot.
CORE_A, CORE_B, NORMAL, RADIUS_A, RADIUS_B, SIDE, GAP, FEATURE, NOW_A, NOW_B, NOW_NORMAL = (
    0,
    3,
    6,
    9,
    10,
    11,
    12,
    13,
    14,
    17,
    20,
)
COLUMNS = 23


class PairArrays(NamedTuple):
    """What K pairs keep from substep to substep.

    Attributes:
        geoms: Geoms a < b, (K, 2) int64.
        valid: Whether the points may be carried along, (K,) bool.
        count: Points found, (K,) int64.
        mask: Bits of those that are near enough now, (K,) int64.
        changed: Whether other points are near than in the last substep, or they were found anew, (K,) bool.
        place: Where a was in the axes of b, and its turn, when the points were found, (K, 7).
        margin: Up to which gap the points were found [m], (K,).
        slots: Points, (K, SLOTS, COLUMNS): core points in the axes of both frames; normal in the axes of the frame it
            turns with; radii; 1 where that is a, 0 where it is b; gap; feature; core points and normal (world) now.
    """

    geoms: np.ndarray
    valid: np.ndarray
    count: np.ndarray
    mask: np.ndarray
    changed: np.ndarray
    place: np.ndarray
    margin: np.ndarray
    slots: np.ndarray

    @staticmethod
    def size_of(count: int) -> int:
        """Memory of so many pairs [bytes]."""
        return count * (8 * SLOTS * COLUMNS + 8 * (2 + 1 + 1 + 7 + 1) + 2)

    @staticmethod
    def of(geoms: np.ndarray) -> "PairArrays":
        """Pairs without points."""
        count = len(geoms)
        return PairArrays(
            geoms=geoms,
            valid=np.zeros(count, np.bool_),
            count=np.zeros(count, np.int64),
            mask=np.zeros(count, np.int64),
            changed=np.ones(count, np.bool_),
            place=np.zeros((count, 7)),
            margin=np.zeros(count),
            slots=np.zeros((count, SLOTS, COLUMNS)),
        )


@steady
def triple(table, i, k):
    """Three numbers of a row."""
    return table[i, k], table[i, k + 1], table[i, k + 2]


@steady
def turn_out(poses, f, v):
    """A vector in the axes of frame f, in those of the world."""
    return (
        poses[f, 0] * v[0] + poses[f, 1] * v[1] + poses[f, 2] * v[2],
        poses[f, 3] * v[0] + poses[f, 4] * v[1] + poses[f, 5] * v[2],
        poses[f, 6] * v[0] + poses[f, 7] * v[1] + poses[f, 8] * v[2],
    )


@steady
def turn_in(poses, f, v):
    """A vector in the axes of the world, in those of frame f."""
    return (
        poses[f, 0] * v[0] + poses[f, 3] * v[1] + poses[f, 6] * v[2],
        poses[f, 1] * v[0] + poses[f, 4] * v[1] + poses[f, 7] * v[2],
        poses[f, 2] * v[0] + poses[f, 5] * v[1] + poses[f, 8] * v[2],
    )


@steady
def world_pose(g, geoms, poses):
    """Pose of a geom in the world: matrix in rows, position."""
    f = geoms.frame[g]
    local = geoms.local
    x = turn_out(poses, f, (local[g, 0], local[g, 3], local[g, 6]))
    y = turn_out(poses, f, (local[g, 1], local[g, 4], local[g, 7]))
    z = turn_out(poses, f, (local[g, 2], local[g, 5], local[g, 8]))
    p = add(turn_out(poses, f, triple(local, g, 9)), triple(poses, f, 9))
    return x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2], p[0], p[1], p[2]


@steady
def reach_of(a, b, f, e, geoms, x, v, w, fall, h):
    """Up to which gap [m] points of geoms a and b, of frames f and e, matter: twice what they approach, and a bit."""
    apart = norm(sub(triple(x, f, 0), triple(x, e, 0)))
    radius_a, radius_b = geoms.radius[a], geoms.radius[b]
    spin = norm(triple(w, f, 0)) * min(radius_a, apart + radius_b)
    spin += norm(triple(w, e, 0)) * min(radius_b, apart + radius_a)
    approach = norm(sub(triple(v, f, 0), triple(v, e, 0))) + spin + fall
    return TWO * h * approach + SLACK * min(geoms.size[a], geoms.size[b])


@steady
def place_of(f, e, poses, q):
    """Where frame f is in the axes of frame e, and how it is turned against it."""
    at = turn_in(poses, e, sub(triple(poses, f, 9), triple(poses, e, 9)))
    turn = multiply(conjugate((q[e, 0], q[e, 1], q[e, 2], q[e, 3])), (q[f, 0], q[f, 1], q[f, 2], q[f, 3]))
    return at, turn


@steady
def moved_since(p, at, turn, place):
    """How far frame f has moved against frame e since the points of pair p were found, and turned [rad]."""
    way = norm(sub(at, triple(place, p, 0)))
    d = (turn[0] * place[p, 3], turn[1] * place[p, 4], turn[2] * place[p, 5], turn[3] * place[p, 6])
    same = d[0] + d[1] + d[2] + d[3] >= ZERO
    square = ZERO * way
    for k in range(4):
        difference = turn[k] - place[p, 3 + k] if same else turn[k] + place[p, 3 + k]
        square += difference * difference
    return way, TWO * np.sqrt(square)


@steady
def carry_along(p, f, e, poses, slots, k):
    """Move point k of pair p to where its frames are now.

    The point of the frame that has the face follows the other on the face: both stay opposite to each other.
    """
    slot = slots[p]
    side = slot[k, SIDE] > ZERO
    n = turn_out(poses, f if side else e, triple(slot, k, NORMAL))
    radii = slot[k, RADIUS_A] + slot[k, RADIUS_B]
    xf, xe = triple(poses, f, 9), triple(poses, e, 9)
    a = add(turn_out(poses, f, triple(slot, k, CORE_A)), xf)
    b = add(turn_out(poses, e, triple(slot, k, CORE_B)), xe)
    height = dot(n, sub(a, b))
    a_now = add(b, scale(n, height)) if side else a
    b_now = b if side else sub(a, scale(n, height))
    core_a = turn_in(poses, f, sub(a_now, xf))
    core_b = turn_in(poses, e, sub(b_now, xe))
    slot[k, GAP] = height - radii
    slot[k, NOW_A], slot[k, NOW_A + 1], slot[k, NOW_A + 2] = core_a
    slot[k, NOW_B], slot[k, NOW_B + 1], slot[k, NOW_B + 2] = core_b
    slot[k, NOW_NORMAL], slot[k, NOW_NORMAL + 1], slot[k, NOW_NORMAL + 2] = n


@steady
def keep(p, k, f, e, poses, slots, row):
    """Write a point that was found as slot k of pair p."""
    slot = slots[p]
    n = (row[8], row[9], row[10])
    core_a = turn_in(poses, f, sub((row[0], row[1], row[2]), triple(poses, f, 9)))
    core_b = turn_in(poses, e, sub((row[4], row[5], row[6]), triple(poses, e, 9)))
    local = turn_in(poses, f if row[13] > ZERO else e, n)
    slot[k, CORE_A], slot[k, CORE_A + 1], slot[k, CORE_A + 2] = core_a
    slot[k, CORE_B], slot[k, CORE_B + 1], slot[k, CORE_B + 2] = core_b
    slot[k, NORMAL], slot[k, NORMAL + 1], slot[k, NORMAL + 2] = local
    slot[k, RADIUS_A], slot[k, RADIUS_B], slot[k, SIDE] = row[3], row[7], row[13]
    slot[k, GAP], slot[k, FEATURE] = row[11], row[12]
    slot[k, NOW_A], slot[k, NOW_A + 1], slot[k, NOW_A + 2] = core_a
    slot[k, NOW_B], slot[k, NOW_B + 1], slot[k, NOW_B + 2] = core_b
    slot[k, NOW_NORMAL], slot[k, NOW_NORMAL + 1], slot[k, NOW_NORMAL + 2] = n


@steady
def keep_all(p, count, f, e, poses, slots, found):
    """Write the points that were found as slots of pair p, sorted by feature."""
    for i in range(count):
        rank = 0
        for j in range(count):
            rank += found[j, 12] < found[i, 12] or (found[j, 12] == found[i, 12] and j < i)
        keep(p, rank, f, e, poses, slots, found[i])


@steady
def near_enough(p, count, slots, reach):
    """Bits of the points of a pair whose gap is below the reach."""
    mask = 0
    for k in range(count):
        mask |= (1 if slots[p, k, GAP] < reach else 0) << k
    return mask


@steady
def flat(kind):
    """Whether a shape has flat faces alone, so that its points can be carried along."""
    return kind in (BOX, HULL, PLANE)


@steady
def update_pairs(begin, end, which, pairs, geoms, shapes, poses, q, v, w, weight, h):
    """Points of convex pairs at the start of a substep: carried along where that is good enough, else found anew."""
    found = np.empty((SLOTS, 14))
    x = poses[:, 9:]
    for i in range(begin, end):
        p = which[i]
        a, b = pairs.geoms[p, 0], pairs.geoms[p, 1]
        f, e = geoms.frame[a], geoms.frame[b]
        reach = reach_of(a, b, f, e, geoms, x, v, w, weight * h, h)
        at, turn = place_of(f, e, poses, q)
        bound = MOST_SLIDE * min(geoms.size[a], geoms.size[b])
        renew = not pairs.valid[p]
        if not renew:
            way, angle = moved_since(p, at, turn, pairs.place)
            way += angle * geoms.radius[a]
            renew = not (angle <= MOST_TURN and way <= bound and way + reach <= pairs.margin[p])
        if renew:
            margin = reach + bound
            count = manifold(shapes, a, world_pose(a, geoms, poses), b, world_pose(b, geoms, poses), margin, found)
            keep_all(p, count, f, e, poses, pairs.slots, found)
            # a single point may be where two edges cross: its normal turns with neither
            pairs.valid[p] = flat(shapes.kind[a]) and flat(shapes.kind[b]) and count != 1
            pairs.count[p], pairs.margin[p] = count, margin
            pairs.place[p, 0], pairs.place[p, 1], pairs.place[p, 2] = at
            pairs.place[p, 3], pairs.place[p, 4], pairs.place[p, 5], pairs.place[p, 6] = turn
        else:
            for k in range(pairs.count[p]):
                carry_along(p, f, e, poses, pairs.slots, k)
        mask = near_enough(p, pairs.count[p], pairs.slots, reach)
        pairs.changed[p] = renew or mask != pairs.mask[p]
        pairs.mask[p] = mask
