"""Broad phase of the bodies: candidate pairs of collision shapes, found once a step and when a frame leaves its margin.

The boxes around the shapes are wider by the margins of their frames (`shinari.systems.rigid.contact.margins`). A frame
that is swept has a path, and a pair counts when the two boxes overlap along their paths. After a solution, a frame that
is farther from its path than its margin gets a new path, and its pairs are found again.

Each shape searches the tree for shapes of larger numbers, so that pairs are counted and listed shape by shape, sorted.
"""

import numpy as np

from shinari.collision.broad.pairs import Keys, contains
from shinari.collision.narrow.pose_records import Poses
from shinari.compute import Field, Program, Record, kernel, scratch, shared
from shinari.compute.kernels import STEADY
from shinari.compute.scan import Offsets, Scan
from shinari.geometry.bvh import Boxes, Bvh, Leaves, Nodes, Places, boxes_overlap
from shinari.geometry.ordering import hilbert_order
from shinari.maths.function import steady
from shinari.maths.poses import origin, rotate_vector
from shinari.maths.vec3 import ZERO, add, dot, scale, sub
from shinari.systems.rigid.contact.collision_shapes import CollisionShapeArrays, CollisionShapes
from shinari.systems.rigid.contact.margins import (
    PLENTY,
    SLACK,
    Detection,
    FrameMargins,
    check_margin_left,
    check_path,
    count_detection,
    decide,
    extend_paths,
    set_margin,
    sum_margins,
)
from shinari.systems.rigid.contact.pair_lists import (
    Found,
    OldPairs,
    begin_pair,
    count_pairs,
    list_pairs,
    number_kept,
    store_pair,
    store_pair_key,
)
from shinari.systems.rigid.contact.pairs import Kept, Pairs
from shinari.systems.rigid.frames import Frames

ENDLESS = 1e9
# Searches after which the boxes of the tree are sorted again.
TREE_AGE = 16
# The size of a flat collision shape, whose box has no volume, as part of half its diagonal.
FLAT = 0.1
# Candidates of a shape that are kept as they are counted; of one with more they are searched again.
FEW = 32
PAIRS = "rigid bodies: contacts: {count} candidate pairs"


class StartBoxes(Record):
    """Bounding boxes of bounded shapes at the start of the substep, enlarged by the margins."""

    collision_shape = Field(np.int64)
    low = Field(np.float64, 3, unit="m", doc="low corner")
    high = Field(np.float64, 3, unit="m", doc="high corner")


class HalfSpaces(Record):
    """Half spaces: the unbounded collision shapes."""

    collision_shape = Field(np.int64)
    local = Field(np.float64, 4, unit="1, m", doc="outward normal and offset in the axes of its frame")
    normal = Field(np.float64, 3, doc="outward normal in the world")
    height = Field(np.float64, unit="m", doc="offset in the world")
    moving = Field(np.bool_)


@steady
def may_collide(f, e, frames, ignored):
    """Whether two frames may collide."""
    free = f != e and (frames.inverse_mass[f] > ZERO or frames.inverse_mass[e] > ZERO)
    return free and not contains(ignored, min(f, e) * len(frames) + max(f, e))


@kernel(fastmath=STEADY)
def set_box(
    k,
    start_boxes: StartBoxes,
    boxes: Boxes,
    collision_shapes: CollisionShapeArrays,
    frames: Frames,
    margins: FrameMargins,
    poses: Poses,
):
    """Write the box of a collision shape, enlarged by its margin and the slack; and the box of its path.

    Rotation enlarges a box by `spin`, bounded by the ball around the origin of the frame.
    """
    g = start_boxes.collision_shape[k]
    f = collision_shapes.frame[g]
    pose, low, high, x = poses.pose[g], collision_shapes.low[g], collision_shapes.high[g], frames.x0[f]
    middle = 0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]), 0.5 * (low[2] + high[2])
    s = sub(high, middle)
    c = rotate_vector(pose, middle)
    wide = margins.margin[f] + (SLACK * collision_shapes.size[g] if frames.inverse_mass[f] > ZERO else 0.0)
    spin, radius = margins.spin[f], collision_shapes.radius[g]
    for i in range(3):
        ci = c[0] if i == 0 else (c[1] if i == 1 else c[2])
        ci += poses.pose[g, 9 + i]
        xi = x[0] if i == 0 else (x[1] if i == 1 else x[2])
        si = abs(poses.pose[g, 3 * i]) * s[0] + abs(poses.pose[g, 3 * i + 1]) * s[1]
        si += abs(poses.pose[g, 3 * i + 2]) * s[2]
        first, last = ci - si, ci + si
        if spin > ZERO:
            first, last = max(first - spin, xi - radius), min(last + spin, xi + radius)
        start_boxes.low[k, i], start_boxes.high[k, i] = first - wide, last + wide
        boxes.low[k, i] = first - wide + min(margins.path[f, i], 0.0)
        boxes.high[k, i] = last + wide + max(margins.path[f, i], 0.0)


@steady
def swept_boxes_overlap(one, other, start_boxes, path, other_path):
    """Whether two boxes overlap at some time along their paths."""
    begin, end, separated = 0.0, 1.0, False
    for i in range(3):
        relative_displacement = (
            path[0] - other_path[0] if i == 0 else (path[1] - other_path[1] if i == 1 else path[2] - other_path[2])
        )
        # with displacement d of one relative to the other they overlap while ahead + d t >= 0 and behind - d t >= 0
        ahead, behind = (
            start_boxes.high[one, i] - start_boxes.low[other, i],
            start_boxes.high[other, i] - start_boxes.low[one, i],
        )
        if relative_displacement == ZERO:
            separated |= (ahead < ZERO) | (behind < ZERO)
        else:
            a, b = -ahead / relative_displacement, behind / relative_displacement
            begin, end = max(begin, min(a, b)), min(end, max(a, b))
    return not separated and begin <= end


@kernel(fastmath=STEADY)
def set_half_space(e, half_spaces: HalfSpaces, collision_shapes: CollisionShapeArrays, frames: Frames, poses: Poses):
    """Write normal and offset of a half space in the world."""
    f, pose, local = (
        collision_shapes.frame[half_spaces.collision_shape[e]],
        poses.pose[half_spaces.collision_shape[e]],
        half_spaces.local[e],
    )
    n = rotate_vector(pose, (local[0], local[1], local[2]))
    half_spaces.normal[e], half_spaces.height[e] = n, local[3] + dot(n, origin(pose))
    v, w = frames.v[f], frames.w[f]
    half_spaces.moving[e] = (v[0] != ZERO or v[1] != ZERO or v[2] != ZERO) or (
        w[0] != ZERO or w[1] != ZERO or w[2] != ZERO
    )


@shared(fastmath=STEADY)
def find_half_spaces(
    g: int,
    at: int,
    room: int,
    found: Found,
    start_boxes: StartBoxes,
    collision_shapes: CollisionShapeArrays,
    frames: Frames,
    margins: FrameMargins,
    ignored: Keys,
    half_spaces: HalfSpaces,
) -> int:
    """List the half spaces within reach of a shape until the end of the step. Moving half spaces are always listed.

    Arguments and result as of `find_box_overlaps`; only colliders are unbounded, and they have the largest numbers.
    """
    k, f = collision_shapes.box[g], collision_shapes.frame[g]
    low, high = start_boxes.low[k], start_boxes.high[k]
    c = scale(add(low, high), 0.5)
    s = sub(high, c)
    more, n = margins.wider[f], 0
    for i in range(len(half_spaces)):
        normal = half_spaces.normal[i]
        height = dot(normal, c) - half_spaces.height[i]
        wide = abs(normal[0]) * (s[0] + more) + abs(normal[1]) * (s[1] + more) + abs(normal[2]) * (s[2] + more)
        if (half_spaces.moving[i] or height <= wide) and may_collide(
            f, collision_shapes.frame[half_spaces.collision_shape[i]], frames, ignored
        ):
            if n < room:
                found.collision_shape[at + n] = half_spaces.collision_shape[i]
            n += 1
    return n


@shared(fastmath=STEADY)
def find_box_overlaps(
    g: int,
    at: int,
    room: int,
    found: Found,
    start_boxes: StartBoxes,
    places: Places,
    leaves: Leaves,
    nodes: Nodes,
    collision_shapes: CollisionShapeArrays,
    frames: Frames,
    margins: FrameMargins,
    ignored: Keys,
) -> int:
    """List the collision shapes of larger numbers whose boxes overlap that of a collision shape along their paths.

    Args:
        g: The collision shape.
        at: Row of the first.
        room: Number of them that are listed at most.
        found: Receives the collision shapes.
        start_boxes: Boxes at the starts of the paths.
        places: The boxes of the paths, in the order of the tree.
        leaves: Leaves of the tree.
        nodes: Nodes of the tree.
        collision_shapes: The collision shapes.
        frames: The frames.
        margins: Their paths.
        ignored: Keys first * frames + second of frames that never collide.

    Returns:
        Their number.
    """
    k, f = collision_shapes.box[g], collision_shapes.frame[g]
    path, low, high = margins.path[f], start_boxes.low[k], start_boxes.high[k]
    box = (
        low[0] + min(path[0], 0.0),
        low[1] + min(path[1], 0.0),
        low[2] + min(path[2], 0.0),
        high[0] + max(path[0], 0.0),
        high[1] + max(path[1], 0.0),
        high[2] + max(path[2], 0.0),
    )
    stack, count, n, depth = scratch(64, 0), len(leaves) - 1, 0, 1
    stack[0] = 1
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if not boxes_overlap(box, nodes.box[node]):
            continue
        if node < count:
            stack[depth], stack[depth + 1] = 2 * node + 1, 2 * node
            depth += 2
            continue
        for p in range(leaves.first[node - count], leaves.first[node - count + 1]):
            other = np.int64(places.box[p])
            to = start_boxes.collision_shape[other]
            there = places.x0[p], places.y0[p], places.z0[p], places.x1[p], places.y1[p], places.z1[p]
            if to > g and boxes_overlap(box, there):
                e = collision_shapes.frame[to]
                met = swept_boxes_overlap(k, other, start_boxes, path, margins.path[e])
                if met and may_collide(f, e, frames, ignored):
                    if n < room:
                        found.collision_shape[at + n] = to
                    n += 1
    return n


@kernel(fastmath=STEADY)
def count_candidates(
    g, offsets: Offsets, few: Found, start_boxes: StartBoxes, places: Places, leaves: Leaves, nodes: Nodes,
    collision_shapes: CollisionShapeArrays, frames: Frames, margins: FrameMargins, ignored: Keys,
    half_spaces: HalfSpaces
):  # fmt: skip
    """Count the candidates of a collision shape, and list the first of them."""
    n, at = 0, FEW * g
    if collision_shapes.box[g] >= 0:
        n = find_box_overlaps(
            g, at, FEW, few, start_boxes, places, leaves, nodes, collision_shapes, frames, margins, ignored
        )
        n += find_half_spaces(
            g, at + n, FEW - n, few, start_boxes, collision_shapes, frames, margins, ignored, half_spaces
        )
    offsets.start[g] = n


@kernel
def copy_candidates(g, offsets: Offsets, few: Found, found: Found):
    """List the candidates of a collision shape that has few, sorted."""
    begin, end = offsets.start[g], offsets.start[g + 1]
    if end - begin <= FEW:
        for k in range(end - begin):
            found.collision_shape[begin + k] = few.collision_shape[FEW * g + k]
        sort(found.collision_shape, begin, end)


@kernel(fastmath=STEADY)
def list_candidates(
    g, offsets: Offsets, found: Found, start_boxes: StartBoxes, places: Places, leaves: Leaves, nodes: Nodes,
    collision_shapes: CollisionShapeArrays, frames: Frames, margins: FrameMargins, ignored: Keys,
    half_spaces: HalfSpaces
):  # fmt: skip
    """List the candidates of a collision shape that has many, sorted."""
    begin, end = offsets.start[g], offsets.start[g + 1]
    room = end - begin
    if room > FEW:
        n = find_box_overlaps(
            g, begin, room, found, start_boxes, places, leaves, nodes, collision_shapes, frames, margins, ignored
        )
        find_half_spaces(
            g, begin + n, room - n, found, start_boxes, collision_shapes, frames, margins, ignored, half_spaces
        )
        sort(found.collision_shape, begin, end)


@steady
def sort(values, begin, end):
    """Sort a part of a list (Shell 1959)."""
    gap = 1
    while 3 * gap + 1 < end - begin:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(begin + gap, end):
            value, j = values[i], i
            while j >= begin + gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap //= 3


@kernel
def check_pair_count(_, detection: Detection, start_boxes: StartBoxes):
    """Accept the margins unless they give too many pairs; then bound them by TIGHT."""
    few = detection.found_pairs[0] <= PLENTY * len(start_boxes)
    detection.done[0] = 1 if detection.tight[0] != 0 or detection.above_tight[0] == 0 or few else 0
    detection.tight[0] = 1


class BroadPhase:
    """Finds the candidate pairs of collision shapes.

    Args:
        collision_shapes: The collision shapes.
        frames: The frames; their poses at the start of the substep and their velocities are read.
        poses: Poses of the collision shapes at the start of the substep.
        dt: Step [s].
        h: Substep [s].
        weight: Magnitude of gravity [m/s^2].

    Attributes:
        detection: State of contact detection.
        margins: Margins and paths of the frames.
        pairs: The pairs; `detection.pairs[0]` rows count.
    """

    def __init__(
        self, collision_shapes: CollisionShapes, frames: Frames, poses: Poses, dt: float, h: float, weight: float
    ) -> None:
        self._collision_shapes, self._frames, self._poses, self._dt, self._h, self._weight = (
            collision_shapes,
            frames,
            poses,
            dt,
            h,
            weight,
        )
        arrays = collision_shapes.arrays
        endless = np.isinf(arrays.size)
        bounded, half_spaces = np.flatnonzero(~endless), np.flatnonzero(endless)
        self.detection: Detection = Detection.zeros(1)
        self.margins: FrameMargins = FrameMargins.zeros(len(frames.x))
        # any rotation of an unbounded frame leaves its margin
        np.maximum.at(self.margins.radius, arrays.frame, np.where(endless, ENDLESS, arrays.radius))
        self.margins.size[...] = frame_sizes(arrays, len(frames.x))
        self.pairs: Pairs = Pairs.zeros(0, np.float64)
        self._start_boxes: StartBoxes = StartBoxes.zeros(len(bounded), np.float64)
        self._start_boxes.collision_shape[...] = bounded
        self._half_spaces: HalfSpaces = HalfSpaces.zeros(len(half_spaces), np.float64)
        self._half_spaces.collision_shape[...], self._half_spaces.local[...] = (
            half_spaces,
            collision_shapes.shapes.size[half_spaces],
        )
        self._ignored = Keys(np.float64, key=collision_shapes.ignored_keys)
        self._tree = Bvh(np.zeros((len(bounded), 3)), np.float64)
        self._candidates, self._merged = (
            Offsets.zeros(len(collision_shapes) + 1),
            Offsets.zeros(len(collision_shapes) + 1),
        )
        self._scans = Scan(self._candidates), Scan(self._merged)
        self._few = Found.zeros(FEW * len(collision_shapes))
        self._found, self._old, self._kept = Found.zeros(0), OldPairs.zeros(0), Kept.zeros(0)
        self._age = TREE_AGE

    def begin(self) -> None:
        """Begin a step; sort the boxes of the tree again after `TREE_AGE` searches, which affects speed alone."""
        d = self.detection
        self._age += int(d.detections[0])
        d.searched[0], d.factor[0], d.detections[0] = 0, 1.0, 0
        if self._age >= TREE_AGE and len(self._start_boxes) > 1:
            self._age = 0
            frame = self._collision_shapes.arrays.frame[self._start_boxes.collision_shape]
            self._tree.places.box[...] = hilbert_order(self._frames.x[frame])

    def record_decide(self, p: Program) -> None:
        """Record the decision whether pairs are found in this substep, `detection.renew`."""
        frames, margins = self._frames, self.margins
        p.launch(check_margin_left, frames, margins, self._weight * self._h, self._h, count=len(margins))
        p.serial(decide, self.detection, margins)

    def record_find(self, p: Program) -> None:
        """Record the search for pairs. Points of pairs that remain are kept if `detection.keep_points`."""
        frames, margins, d = self._frames, self.margins, self.detection
        with p.repeat(2, until=(d.done, 0)):
            p.launch(set_margin, frames, margins, d, self._weight, self._dt, self._h, count=len(margins))
            p.serial(sum_margins, d, margins)
            self._record_search(p)
            p.serial(check_pair_count, d, self._start_boxes)
        self._record_list(p)
        p.serial(count_detection, d)

    def record_extend(self, p: Program) -> None:
        """Record the search along the new paths of frames that left theirs; does nothing without such frames.

        `detection.left_path` tells whether there are such frames.
        """
        d = self.detection
        p.launch(check_path, self._frames, self.margins, count=len(self.margins))
        p.serial(extend_paths, d, self._frames, self.margins, self._h)
        with p.when((d.left_path, 0)):
            self._record_search(p)
            self._record_list(p)

    def _record_search(self, p: Program) -> None:
        arrays, start_boxes, tree = self._collision_shapes.arrays, self._start_boxes, self._tree
        frames, poses, scan = self._frames, self._poses, self._scans[0]
        p.launch(set_box, start_boxes, tree.boxes, arrays, frames, self.margins, poses, count=len(start_boxes))
        p.launch(set_half_space, self._half_spaces, arrays, frames, poses, count=len(self._half_spaces))
        tree.record_refit(p)
        p.launch(
            count_candidates, self._candidates, self._few, *self._search, count=len(self._collision_shapes), grain=32
        )
        scan.record(p, len(self._collision_shapes))
        p.copy(scan.total, (self.detection.found_pairs, 0))

    @property
    def _search(self) -> tuple[Record, ...]:
        tree = self._tree
        return (
            self._start_boxes,
            tree.places,
            tree.leaves,
            tree.nodes,
            self._collision_shapes.arrays,
            self._frames,
            self.margins,
            self._ignored,
            self._half_spaces,
        )

    def _record_list(self, p: Program) -> None:
        arrays, pairs, old, kept, d = self._collision_shapes.arrays, self.pairs, self._old, self._kept, self.detection
        count, scan = len(self._collision_shapes), self._scans[1]
        p.require(self._found, (d.found_pairs, 0))
        p.launch(copy_candidates, self._candidates, self._few, self._found, count=count, grain=32)
        p.launch(list_candidates, self._candidates, self._found, *self._search, count=count, grain=32)
        p.copy(0, (d.old_pairs, 0))
        with p.when((d.keep_points, 0)):
            p.copy((d.pairs, 0), (d.old_pairs, 0))
            p.require(old, (d.pairs, 0))
            records = pairs, old, arrays, self._frames, self.margins, d
            p.launch(store_pair_key, *records, count=(d.pairs, 0))
            p.serial(number_kept, d, old)
            p.require(kept, (d.kept, 0), PAIRS)
            p.launch(store_pair, pairs, old, kept, count=(d.pairs, 0))
        lists = self._merged, self._candidates, self._found, old, d, pairs, arrays
        p.launch(count_pairs, *lists, count=count)
        scan.record(p, count)
        p.require(pairs, scan.total, PAIRS)
        p.copy(scan.total, (d.pairs, 0))
        p.launch(list_pairs, *lists, count=count)
        p.launch(begin_pair, pairs, old, kept, d, arrays, self._collision_shapes.shapes, count=(d.pairs, 0))


def frame_sizes(arrays: CollisionShapeArrays, count: int) -> np.ndarray:
    """Size of each frame [m], (F,): the edge of the cube with the volume of the box of its largest collision shape.

    Infinite without collision shapes, and where one is unbounded.
    """
    edges = arrays.high - arrays.low
    with np.errstate(invalid="ignore"):
        sizes = np.maximum(np.cbrt(edges.prod(axis=1)), FLAT * arrays.size)
    sizes[np.isinf(arrays.size)] = np.inf
    largest = np.zeros(count)
    np.maximum.at(largest, arrays.frame, sizes)
    return np.where(largest > 0.0, largest, np.inf)
