"""Lists of candidate pairs, rebuilt by a search; the points of pairs that remain are kept."""

import numpy as np

from shinari.collision.narrow.convex import Shapes
from shinari.compute import Field, Record, kernel
from shinari.compute.scan import Offsets
from shinari.maths.function import steady
from shinari.systems.rigid.contact.collision_shapes import CollisionShapeArrays
from shinari.systems.rigid.contact.margins import Detection, FrameMargins
from shinari.systems.rigid.contact.pair_points import FreePlaces
from shinari.systems.rigid.contact.pairs import Kept, Pairs, is_empty, kind_of_pair


class Found(Record):
    """Candidates of each collision shape that have a larger number, shape by shape."""

    collision_shape = Field(np.int32)


class OldPairs(Record):
    """The pairs before a search."""

    key = Field(np.int64, doc="a * collision shapes + b, ascending")
    stays = Field(np.bool_, doc="whether it stays a pair where it is not found")
    row = Field(np.int32, doc="row of its points in `Kept`, IN_PLACE or DROPPED")
    start = Field(np.int32, doc="first row of its points in the table")
    rows = Field(np.int8, doc="rows in it")
    place = Field(np.int32, doc="place of its points; -1: none")


# Where the points of an old pair are: in its row, which is that of the pair in the new list as well; nowhere.
IN_PLACE, DROPPED = -2, -1


@kernel
def store_pair_key(
    p, pairs: Pairs, old: OldPairs, collision_shapes: CollisionShapeArrays, margins: FrameMargins,
    detection: Detection
):  # fmt: skip
    """Store the key of an old pair, whether it stays, and whether its points are kept.

    Those of swept frames are not, and those of the last step only where they were found at poses at which the frames
    still stand: a search would find the same. That there are none depends on poses alone.
    """
    a, b = pairs.collision_shapes[p]
    f, e = collision_shapes.frame[a], collision_shapes.frame[b]
    old.key[p] = a * len(collision_shapes) + b
    same = pairs.fresh[p] and margins.still[f] and margins.still[e]
    of_this_step = detection.searched[0] != 0 and not (margins.swept[f] or margins.swept[e])
    again = detection.partial[0] != 0 and (margins.sought[f] or margins.sought[e])
    old.stays[p] = detection.keep_pairs[0] != 0 and not again
    old.row[p] = IN_PLACE if same or of_this_step or is_empty(pairs, p) else DROPPED
    old.start[p], old.rows[p], old.place[p] = pairs.start[p], pairs.rows[p], pairs.place[p]


@kernel
def forget_places(_, detection: Detection):
    """Without pairs that remain, nobody has a place."""
    if detection.old_pairs[0] == 0:
        detection.places[0] = detection.free_places[0] = 0


@steady
def release_place(place, free, detection):
    """A place, if it is one, is free."""
    if place >= 0:
        free.place[detection.free_places[0]] = place
        detection.free_places[0] += 1


@kernel
def number_kept(_, pairs: Pairs, detection: Detection, old: OldPairs, free: FreePlaces):
    """Rows of the pairs whose points are kept, and have another row in the new list. Places of the others are free."""
    n = k = 0
    for p in range(detection.pairs[0]):
        before = pairs.before[p]
        while k < before:
            release_place(old.place[k], free, detection)
            k += 1
        if before >= 0:
            k = before + 1
            if before != p and old.row[before] == IN_PLACE:
                old.row[before] = n
                n += 1
    while k < detection.old_pairs[0]:
        release_place(old.place[k], free, detection)
        k += 1
    detection.kept[0] = n


@kernel(in_order=True)
def list_sought(_, pairs: Pairs, free: FreePlaces, detection: Detection, most: int):
    """List the pairs whose points are sought; count the rows of all places with those of the first time, `most` each.

    Places of pairs without points are free.
    """
    sought = wanted = 0
    for p in range(detection.pairs[0]):
        new, placed = pairs.renew[p], pairs.place[p] >= 0
        pairs.sought[sought] = p
        sought += 1 if new else 0
        wanted += 1 if new and not placed else 0
        if placed and not new and pairs.count[p] == 0:
            release_place(pairs.place[p], free, detection)
            pairs.place[p] = -1
    detection.sought_pairs[0] = sought
    detection.places_needed[0] = detection.places[0] + most * max(wanted - detection.free_places[0], 0)


@kernel(in_order=True)
def give_places(_, pairs: Pairs, free: FreePlaces, detection: Detection, most: int):
    """Give places to pairs whose points are sought for the first time."""
    for i in range(detection.sought_pairs[0]):
        p = pairs.sought[i]
        if pairs.place[p] < 0:
            pairs.place[p] = new_place(free, detection, most)


@steady
def new_place(free, detection, most):
    """A place that is free, or one after all others."""
    if detection.free_places[0] > 0:
        detection.free_places[0] -= 1
        return free.place[detection.free_places[0]]
    place = detection.places[0]
    detection.places[0] += most
    return place


@steady
def copy_points(to, row, pairs, p):
    """Copy the state of the points of pair p to a row: from the list to `Kept`, or back."""
    to.valid[row], to.count[row], to.mask[row] = pairs.valid[p], pairs.count[p], pairs.mask[p]
    to.margin[row], to.found_pose[row] = pairs.margin[p], pairs.found_pose[p]
    to.current[row], to.fresh[row] = pairs.current[p], pairs.fresh[p]
    to.least_gap[row], to.separation[row] = pairs.least_gap[p], pairs.separation[p]


@kernel
def store_pair(p, pairs: Pairs, old: OldPairs, kept: Kept):
    """Store the points of a pair that gets another row."""
    if old.row[p] >= 0:
        copy_points(kept, old.row[p], pairs, p)


@steady
def merge(g, at, before, offsets, found, old, detection, pairs, collision_shapes):
    """Write the pairs of a shape from row `at` on, or count them (-1): those found, and the old ones that stay."""
    i, end, k, last, n = offsets.start[g], offsets.start[g + 1], 0, 0, 0
    keep = detection.keep_pairs[0] != 0
    if detection.old_pairs[0] > 0 and (keep or at >= 0):
        k, last = before.start[g], before.start[g + 1]
    while i < end or k < last:
        one = found.collision_shape[i] if i < end else len(collision_shapes)
        two = old.key[k] - g * len(collision_shapes) if k < last else len(collision_shapes)
        if one <= two or old.stays[k]:
            if at >= 0:
                pairs.collision_shapes[at + n] = g, min(one, two)
                pairs.before[at + n] = k if two <= one else -1
            n += 1
        i += 1 if one <= two else 0
        k += 1 if two <= one else 0
    return n


@kernel
def keep_offset(g, merged: Offsets, before: Offsets):
    """Keep where the pairs of a collision shape start in the list before."""
    before.start[g] = merged.start[g]


@kernel
def count_pairs(
    g, merged: Offsets, before: Offsets, offsets: Offsets, found: Found, old: OldPairs, detection: Detection,
    pairs: Pairs, collision_shapes: CollisionShapeArrays
):  # fmt: skip
    """Count the pairs of a collision shape with those of larger numbers."""
    merged.start[g] = merge(g, -1, before, offsets, found, old, detection, pairs, collision_shapes)


@kernel
def list_pairs(
    g, merged: Offsets, before: Offsets, offsets: Offsets, found: Found, old: OldPairs, detection: Detection,
    pairs: Pairs, collision_shapes: CollisionShapeArrays
):  # fmt: skip
    """List the pairs of a collision shape with those of larger numbers."""
    merge(g, merged.start[g], before, offsets, found, old, detection, pairs, collision_shapes)


@kernel
def begin_pair(
    p, pairs: Pairs, old: OldPairs, kept: Kept, shapes: Shapes
):  # fmt: skip
    """Start a pair of the new list: one that was in the old list gets its points."""
    before = pairs.before[p]
    row = old.row[before] if before >= 0 else DROPPED
    pairs.start[p], pairs.rows[p] = (old.start[before], old.rows[before]) if before >= 0 else (0, 0)
    pairs.place[p] = old.place[before] if before >= 0 else -1
    if row == IN_PLACE and before == p:
        return
    a, b = pairs.collision_shapes[p]
    pairs.kind[p] = kind_of_pair(shapes.kind[a], shapes.kind[b])
    pairs.valid[p], pairs.changed[p], pairs.count[p], pairs.mask[p] = False, True, 0, 0
    pairs.current[p], pairs.fresh[p], pairs.begun[p], pairs.margin[p] = False, False, False, 0.0
    pairs.separation[p] = np.float32(0.0), np.float32(0.0), np.float32(0.0)
    if row >= 0:
        copy_points(pairs, p, kept, row)
