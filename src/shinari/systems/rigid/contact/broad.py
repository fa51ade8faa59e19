"""Broad phase of the bodies: candidate pairs of collision shapes, found once a step and when a frame leaves its margin.

The boxes around the shapes are wider by the margins of their frames (`shinari.systems.rigid.contact.margins`). A frame
that is swept has a path, and a pair counts when the two boxes meet on their paths. What solutions have thrown off its
path by more than its margin is noticed after the solution, and its pairs are sought along the path that it took.

Each shape searches the tree for shapes of larger numbers. So the pairs are counted and listed shape by shape, sorted.
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
    Motion,
    check_margin,
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
    keep_pair,
    list_pairs,
    note_pair,
    number_kept,
)
from shinari.systems.rigid.contact.pairs import Kept, Pairs
from shinari.systems.rigid.frames import Frames

ENDLESS = 1e9
# Detections for which a tree serves before its boxes are put in a new order.
TREE_AGE = 16
# The size of a flat collision shape, whose box has no volume, as part of half its diagonal.
FLAT = 0.1
PAIRS = "rigid bodies: contacts: {count} pairs that may touch"


class Reaches(Record):
    """Boxes around collision shapes that have an end, wider by the margins, at the beginnings of their paths."""

    collision_shape = Field(np.int64)
    low = Field(np.float64, 3, unit="m", doc="low corner")
    high = Field(np.float64, 3, unit="m", doc="high corner")


class Walls(Record):
    """Collision shapes without an end: half spaces."""

    collision_shape = Field(np.int64)
    local = Field(np.float64, 4, unit="1, m", doc="outward normal and offset in the axes of its frame")
    normal = Field(np.float64, 3, doc="outward normal in the world")
    height = Field(np.float64, unit="m", doc="offset in the world")
    moving = Field(np.bool_)


@steady
def may_collide(f, e, frames, apart):
    """Whether two frames may touch each other."""
    free = f != e and (frames.inverse_mass[f] > ZERO or frames.inverse_mass[e] > ZERO)
    return free and not contains(apart, min(f, e) * len(frames) + max(f, e))


@kernel(fastmath=STEADY)
def set_box(
    k,
    reaches: Reaches,
    boxes: Boxes,
    collision_shapes: CollisionShapeArrays,
    frames: Frames,
    motion: Motion,
    poses: Poses,
):
    """Box around a collision shape, wider by the margin of its frame and by the slack; and that around it on its path.

    Turning makes a box wider by `spin`, but never wider than the ball around the origin of the frame.
    """
    g = reaches.collision_shape[k]
    f = collision_shapes.frame[g]
    pose, low, high, x = poses.pose[g], collision_shapes.low[g], collision_shapes.high[g], frames.x0[f]
    middle = 0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]), 0.5 * (low[2] + high[2])
    s = sub(high, middle)
    c = rotate_vector(pose, middle)
    wide = motion.margin[f] + (SLACK * collision_shapes.size[g] if frames.inverse_mass[f] > ZERO else 0.0)
    spin, radius = motion.spin[f], collision_shapes.radius[g]
    for i in range(3):
        ci = c[0] if i == 0 else (c[1] if i == 1 else c[2])
        ci += poses.pose[g, 9 + i]
        xi = x[0] if i == 0 else (x[1] if i == 1 else x[2])
        si = abs(poses.pose[g, 3 * i]) * s[0] + abs(poses.pose[g, 3 * i + 1]) * s[1]
        si += abs(poses.pose[g, 3 * i + 2]) * s[2]
        first, last = ci - si, ci + si
        if spin > ZERO:
            first, last = max(first - spin, xi - radius), min(last + spin, xi + radius)
        reaches.low[k, i], reaches.high[k, i] = first - wide, last + wide
        boxes.low[k, i] = first - wide + min(motion.path[f, i], 0.0)
        boxes.high[k, i] = last + wide + max(motion.path[f, i], 0.0)


@steady
def swept_boxes_overlap(one, other, reaches, path, other_path):
    """Whether two boxes that move by their paths share a point at some time on their way."""
    begin, end, apart = 0.0, 1.0, False
    for i in range(3):
        relative_displacement = (
            path[0] - other_path[0] if i == 0 else (path[1] - other_path[1] if i == 1 else path[2] - other_path[2])
        )
        # the gap on one side closes and that on the other opens: 0 <= ahead + way t and 0 <= behind - way t
        ahead, behind = reaches.high[one, i] - reaches.low[other, i], reaches.high[other, i] - reaches.low[one, i]
        if relative_displacement == ZERO:
            apart |= (ahead < ZERO) | (behind < ZERO)
        else:
            a, b = -ahead / relative_displacement, behind / relative_displacement
            begin, end = max(begin, min(a, b)), min(end, max(a, b))
    return not apart and begin <= end


@kernel(fastmath=STEADY)
def set_wall(e, walls: Walls, collision_shapes: CollisionShapeArrays, frames: Frames, poses: Poses):
    """Where a half space is."""
    f, pose, local = (
        collision_shapes.frame[walls.collision_shape[e]],
        poses.pose[walls.collision_shape[e]],
        walls.local[e],
    )
    n = rotate_vector(pose, (local[0], local[1], local[2]))
    walls.normal[e], walls.height[e] = n, local[3] + dot(n, origin(pose))
    v, w = frames.v[f], frames.w[f]
    walls.moving[e] = (v[0] != ZERO or v[1] != ZERO or v[2] != ZERO) or (w[0] != ZERO or w[1] != ZERO or w[2] != ZERO)


@shared(fastmath=STEADY)
def beside_walls(
    g: int,
    at: int,
    found: Found,
    reaches: Reaches,
    collision_shapes: CollisionShapeArrays,
    frames: Frames,
    motion: Motion,
    apart: Keys,
    walls: Walls,
) -> int:
    """List the half spaces that the box of a collision shape reaches, wider by what its frame may go; all that move.

    Arguments and result as of `search`; only colliders have no end, and they have the largest numbers.
    """
    k, f = collision_shapes.box[g], collision_shapes.frame[g]
    low, high = reaches.low[k], reaches.high[k]
    c = scale(add(low, high), 0.5)
    s = sub(high, c)
    more, n = motion.wider[f], 0
    for i in range(len(walls)):
        normal = walls.normal[i]
        height = dot(normal, c) - walls.height[i]
        wide = abs(normal[0]) * (s[0] + more) + abs(normal[1]) * (s[1] + more) + abs(normal[2]) * (s[2] + more)
        if (walls.moving[i] or height <= wide) and may_collide(
            f, collision_shapes.frame[walls.collision_shape[i]], frames, apart
        ):
            if at >= 0:
                found.collision_shape[at + n] = walls.collision_shape[i]
            n += 1
    return n


@shared(fastmath=STEADY)
def search(
    g: int,
    at: int,
    found: Found,
    reaches: Reaches,
    places: Places,
    leaves: Leaves,
    nodes: Nodes,
    collision_shapes: CollisionShapeArrays,
    frames: Frames,
    motion: Motion,
    apart: Keys,
) -> int:
    """List the collision shapes of larger numbers whose boxes meet that of a collision shape on their paths.

    Args:
        g: The collision shape.
        at: Row of the first; -1 to count only.
        found: Receives the collision shapes.
        reaches: Boxes at the beginnings of the paths.
        places: The boxes around those on their paths, in the order of the tree.
        leaves: Leaves of the tree.
        nodes: Nodes of the tree.
        collision_shapes: The collision shapes.
        frames: The frames.
        motion: Their paths.
        apart: Keys first * frames + second of frames that never touch.

    Returns:
        How many there are.
    """
    k, f = collision_shapes.box[g], collision_shapes.frame[g]
    path, low, high = motion.path[f], reaches.low[k], reaches.high[k]
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
            to = reaches.collision_shape[other]
            there = places.x0[p], places.y0[p], places.z0[p], places.x1[p], places.y1[p], places.z1[p]
            if to > g and boxes_overlap(box, there):
                e = collision_shapes.frame[to]
                met = swept_boxes_overlap(k, other, reaches, path, motion.path[e])
                if met and may_collide(f, e, frames, apart):
                    if at >= 0:
                        found.collision_shape[at + n] = to
                    n += 1
    return n


@kernel(fastmath=STEADY)
def count_near(
    g, offsets: Offsets, found: Found, reaches: Reaches, places: Places, leaves: Leaves, nodes: Nodes,
    collision_shapes: CollisionShapeArrays, frames: Frames, motion: Motion, apart: Keys, walls: Walls
):  # fmt: skip
    """Count the collision shapes near a collision shape."""
    n = 0
    if collision_shapes.box[g] >= 0:
        n = search(g, -1, found, reaches, places, leaves, nodes, collision_shapes, frames, motion, apart)
        n += beside_walls(g, -1, found, reaches, collision_shapes, frames, motion, apart, walls)
    offsets.start[g] = n


@kernel(fastmath=STEADY)
def list_near(
    g, offsets: Offsets, found: Found, reaches: Reaches, places: Places, leaves: Leaves, nodes: Nodes,
    collision_shapes: CollisionShapeArrays, frames: Frames, motion: Motion, apart: Keys, walls: Walls
):  # fmt: skip
    """List the collision shapes near a collision shape, sorted."""
    begin, end = offsets.start[g], offsets.start[g + 1]
    if end > begin:
        at = begin + search(g, begin, found, reaches, places, leaves, nodes, collision_shapes, frames, motion, apart)
        beside_walls(g, at, found, reaches, collision_shapes, frames, motion, apart, walls)
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
def check_margins(_, detection: Detection, reaches: Reaches):
    """Whether the margins are good: they are bounded where they give too many pairs."""
    few = detection.near[0] <= PLENTY * len(reaches)
    detection.done[0] = 1 if detection.tight[0] != 0 or detection.bounded[0] == 0 or few else 0
    detection.tight[0] = 1


class BroadPhase:
    """Finds the pairs of collision shapes that may touch.

    Args:
        collision_shapes: The collision shapes.
        frames: The frames; their poses at the start of the substep and their velocities are read.
        poses: Poses of the collision shapes at the start of the substep.
        dt: Step [s].
        h: Substep [s].
        weight: Size of gravity [m/s^2].

    Attributes:
        detection: What it decides by.
        motion: How the frames move between detections.
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
        bounded, walls = np.flatnonzero(~endless), np.flatnonzero(endless)
        self.detection: Detection = Detection.zeros(1)
        self.motion: Motion = Motion.zeros(len(frames.x))
        # of an endless frame any turn counts as leaving its margin
        np.maximum.at(self.motion.radius, arrays.frame, np.where(endless, ENDLESS, arrays.radius))
        self.motion.size[...] = frame_sizes(arrays, len(frames.x))
        self.pairs: Pairs = Pairs.zeros(0, np.float64)
        self._reaches: Reaches = Reaches.zeros(len(bounded), np.float64)
        self._reaches.collision_shape[...] = bounded
        self._walls: Walls = Walls.zeros(len(walls), np.float64)
        self._walls.collision_shape[...], self._walls.local[...] = walls, collision_shapes.shapes.size[walls]
        self._apart = Keys(np.float64, key=collision_shapes.apart)
        self._tree = Bvh(np.zeros((len(bounded), 3)), np.float64)
        self._near, self._merged = Offsets.zeros(len(collision_shapes) + 1), Offsets.zeros(len(collision_shapes) + 1)
        self._scans = Scan(self._near), Scan(self._merged)
        self._found, self._old, self._kept = Found.zeros(0), OldPairs.zeros(0), Kept.zeros(0)
        self._age = TREE_AGE

    def begin(self) -> None:
        """A step begins: put the boxes into a new order where the old one has served for long; it decides of speed."""
        d = self.detection
        self._age += int(d.detections[0])
        d.found[0], d.factor[0], d.detections[0] = 0, 1.0, 0
        if self._age >= TREE_AGE and len(self._reaches) > 1:
            self._age = 0
            frame = self._collision_shapes.arrays.frame[self._reaches.collision_shape]
            self._tree.places.box[...] = hilbert_order(self._frames.x[frame])

    def record_decide(self, p: Program) -> None:
        """Record whether the pairs have to be found now, into `detection.renew`."""
        frames, motion = self._frames, self.motion
        p.launch(check_margin, frames, motion, self._weight * self._h, self._h, count=len(motion))
        p.serial(decide, self.detection, motion)

    def record_find(self, p: Program) -> None:
        """Record that the pairs are found; of those that stay what is known is kept if `detection.known`."""
        frames, motion, d = self._frames, self.motion, self.detection
        with p.repeat(2, until=(d.done, 0)):
            p.launch(set_margin, frames, motion, d, self._weight, self._dt, self._h, count=len(motion))
            p.serial(sum_margins, d, motion)
            self._record_search(p)
            p.serial(check_margins, d, self._reaches)
        self._record_list(p)
        p.serial(count_detection, d)

    def record_extend(self, p: Program) -> None:
        """Record that pairs are added along the paths that frames took instead of those which were known.

        `detection.thrown` tells whether there are such frames; nothing else is done where not.
        """
        d = self.detection
        p.launch(check_path, self._frames, self.motion, count=len(self.motion))
        p.serial(extend_paths, d, self._frames, self.motion, self._h)
        with p.when((d.thrown, 0)):
            self._record_search(p)
            self._record_list(p)

    def _record_search(self, p: Program) -> None:
        arrays, reaches, tree = self._collision_shapes.arrays, self._reaches, self._tree
        frames, poses, scan = self._frames, self._poses, self._scans[0]
        p.launch(set_box, reaches, tree.boxes, arrays, frames, self.motion, poses, count=len(reaches))
        p.launch(set_wall, self._walls, arrays, frames, poses, count=len(self._walls))
        tree.record_refit(p)
        p.launch(count_near, *self._search, count=len(self._collision_shapes), grain=32)
        scan.record(p, len(self._collision_shapes))
        p.copy(scan.total, (self.detection.near, 0))

    @property
    def _search(self) -> tuple[Record, ...]:
        tree = self._tree
        return (
            self._near,
            self._found,
            self._reaches,
            tree.places,
            tree.leaves,
            tree.nodes,
            self._collision_shapes.arrays,
            self._frames,
            self.motion,
            self._apart,
            self._walls,
        )

    def _record_list(self, p: Program) -> None:
        arrays, pairs, old, kept, d = self._collision_shapes.arrays, self.pairs, self._old, self._kept, self.detection
        count, scan = len(self._collision_shapes), self._scans[1]
        p.require(self._found, (d.near, 0))
        p.launch(list_near, *self._search, count=count, grain=32)
        p.copy(0, (d.old_pairs, 0))
        with p.when((d.known, 0)):
            p.copy((d.pairs, 0), (d.old_pairs, 0))
            p.require(old, (d.pairs, 0))
            p.launch(note_pair, pairs, old, arrays, self.motion, count=(d.pairs, 0))
            p.serial(number_kept, d, old)
            p.require(kept, (d.kept, 0), PAIRS)
            p.launch(keep_pair, pairs, old, kept, count=(d.pairs, 0))
        lists = self._merged, self._near, self._found, old, d, pairs, arrays
        p.launch(count_pairs, *lists, count=count)
        scan.record(p, count)
        p.require(pairs, scan.total, PAIRS)
        p.copy(scan.total, (d.pairs, 0))
        p.launch(list_pairs, *lists, count=count)
        p.launch(begin_pair, pairs, old, kept, d, arrays, self._collision_shapes.shapes, count=(d.pairs, 0))


def frame_sizes(arrays: CollisionShapeArrays, count: int) -> np.ndarray:
    """Size of each frame [m], (F,): the edge of the cube with the volume of the box of its largest collision shape.

    Infinite without collision shapes, and where one has no end.
    """
    edges = arrays.high - arrays.low
    with np.errstate(invalid="ignore"):
        sizes = np.maximum(np.cbrt(edges.prod(axis=1)), FLAT * arrays.size)
    sizes[np.isinf(arrays.size)] = np.inf
    largest = np.zeros(count)
    np.maximum.at(largest, arrays.frame, sizes)
    return np.where(largest > 0.0, largest, np.inf)
