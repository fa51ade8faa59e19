"""Broad phase of the bodies: candidate pairs of collision shapes, found once a step and when a frame leaves its margin.

The boxes around the shapes are wider by the margins of their frames (`shinari.systems.rigid.contact.margins`). A frame
that moves has a path, and a pair counts when the two boxes overlap along their paths. After a solution, a frame that
is farther from its path than its margin gets a new path, and its pairs are found again.

The shapes of larger numbers are found for each shape (`shinari.systems.rigid.contact.candidates`), so that pairs are
counted and listed shape by shape, sorted.
"""

import numpy as np

from shinari.collision.narrow.convex import contact_shape
from shinari.collision.narrow.pose_records import Poses
from shinari.compute import Program, Record, kernel
from shinari.compute.scan import Offsets, Scan
from shinari.geometry.bvh import Bvh
from shinari.geometry.ordering import hilbert_order
from shinari.shapes.registry import type_of
from shinari.systems.rigid.contact.candidates import (
    FEW,
    HalfSpaces,
    Ignored,
    SearchNodes,
    clear_count,
    copy_candidates,
    count_candidates,
    list_candidates,
    mark_leaf,
    mark_nodes,
    set_box,
    set_half_space,
)
from shinari.systems.rigid.contact.collision_shapes import CollisionShapeArrays, CollisionShapes
from shinari.systems.rigid.contact.margins import (
    FEW_TOO_MANY,
    MIDDLE,
    PLENTY,
    TIGHT,
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
from shinari.systems.rigid.contact.oriented_boxes import StartBoxes
from shinari.systems.rigid.contact.pair_lists import (
    Found,
    OldPairs,
    begin_pair,
    count_pairs,
    forget_places,
    keep_offset,
    list_pairs,
    number_kept,
    store_pair,
    store_pair_key,
)
from shinari.systems.rigid.contact.pair_points import FreePlaces
from shinari.systems.rigid.contact.pairs import Kept, Pairs
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.progress import ROOM

ENDLESS = 1e9
# Searches after which the boxes of the tree are sorted again, if one has moved by this part of its size.
TREE_AGE, STALE = 16, 0.5
# The size of a flat collision shape, whose box has no volume, as part of half its diagonal.
FLAT = 0.1
PAIRS = "rigid bodies: contacts: {count} candidate pairs"


@kernel
def check_pair_count(_, detection: Detection, start_boxes: StartBoxes):
    """Accept the margins unless they give too many pairs; then bound them, by MIDDLE or by TIGHT."""
    found, bound, plenty = detection.found_pairs[0], detection.bound[0], PLENTY * len(start_boxes)
    done = detection.partial[0] != 0 or bound == TIGHT or detection.above_tight[0] == 0 or found <= plenty
    detection.done[0] = 1 if done else 0
    if not done:
        detection.bound[0] = MIDDLE if bound == 0.0 and found <= FEW_TOO_MANY * plenty else TIGHT


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
        free: Places of points that no pair has.
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
        np.maximum.at(self.margins.swing, arrays.frame, swings(collision_shapes))
        self.pairs: Pairs = Pairs.zeros(0, np.float64)
        self.free: FreePlaces = FreePlaces.zeros(0)
        self._start_boxes: StartBoxes = StartBoxes.zeros(len(bounded), np.float64)
        self._start_boxes.collision_shape[...] = bounded
        self._half_spaces: HalfSpaces = HalfSpaces.zeros(len(half_spaces), np.float64)
        self._half_spaces.collision_shape[...], self._half_spaces.local[...] = (
            half_spaces,
            collision_shapes.shapes.size[half_spaces],
        )
        self._ignored = Ignored.of(collision_shapes.ignored_keys, len(frames.x))
        self._tree = Bvh(np.zeros((len(bounded), 3)), np.float64)
        nodes = self._tree.nodes
        self._nodes: SearchNodes = SearchNodes(np.float64, box=nodes.box, sought=np.ones(len(nodes), np.bool_))
        rows = len(collision_shapes) + 1
        self._candidates, self._merged, self._before = Offsets.zeros(rows), Offsets.zeros(rows), Offsets.zeros(rows)
        self._scans = Scan(self._candidates), Scan(self._merged)
        self._few = Found.zeros(FEW * len(collision_shapes))
        self._found, self._old, self._kept = Found.zeros(0), OldPairs.zeros(0), Kept.zeros(0)
        self._age, self._sorted_at = TREE_AGE, np.full_like(frames.x, np.inf)

    def begin(self) -> None:
        """Begin a step; sort the boxes of the tree again after `TREE_AGE` searches, which affects speed alone."""
        d = self.detection
        self._age += int(d.detections[0])
        d.searched[0] = d.detections[0] = 0
        if self._age >= TREE_AGE and len(self._start_boxes) > 1:
            self._age = 0
            x, size = self._frames.x, self.margins.size
            if (np.abs(x - self._sorted_at).max(axis=1) > STALE * size).any():
                self._sorted_at = x.copy()
                frame = self._collision_shapes.arrays.frame[self._start_boxes.collision_shape]
                self._tree.places.box[...] = hilbert_order(x[frame])

    def record_decide(self, p: Program) -> None:
        """Record the decision whether pairs are found in this substep, `detection.renew`."""
        records, margins = (self._frames, self.margins, self.detection), self.margins
        p.launch(check_margin_left, *records, self._weight * self._h, self._h, count=len(margins))
        p.serial(decide, self.detection, margins, self._dt, self._h)

    def record_find(self, p: Program) -> None:
        """Record the search for pairs. Points of pairs that remain are kept if `detection.keep_points`."""
        frames, margins, d = self._frames, self.margins, self.detection
        with p.when((d.search, 0)):
            with p.repeat(3, until=(d.done, 0)):
                p.launch(set_margin, frames, margins, d, self._weight, self._dt, self._h, count=len(margins))
                p.serial(sum_margins, d, margins)
                self._record_search(p)
                p.serial(check_pair_count, d, self._start_boxes)
            self._record_found(p)
        self._record_list(p)
        p.serial(count_detection, d)

    def record_extend(self, p: Program) -> None:
        """Record the search along the new paths of frames that left theirs; does nothing without such frames.

        `detection.left_path` tells whether there are such frames.
        """
        d = self.detection
        p.launch(check_path, self._frames, self.margins, d, self._h, count=len(self.margins))
        p.serial(extend_paths, d, self._frames, self.margins, self._h)
        with p.when((d.left_path, 0)):
            self._record_search(p)
            self._record_found(p)
            self._record_list(p)

    def _record_search(self, p: Program) -> None:
        arrays, start_boxes, tree = self._collision_shapes.arrays, self._start_boxes, self._tree
        frames, poses, scan = self._frames, self._poses, self._scans[0]
        records = start_boxes, tree.boxes, arrays, frames, self.margins, poses, self.detection
        p.launch(set_box, *records, count=len(start_boxes))
        p.launch(set_half_space, self._half_spaces, arrays, frames, poses, count=len(self._half_spaces))
        tree.record_refit(p)
        p.launch(mark_leaf, self._nodes, tree.places, tree.leaves, start_boxes, arrays, self.margins,
                 count=len(tree.leaves) - 1, grain=64)  # fmt: skip
        p.serial(mark_nodes, self._nodes, len(tree.leaves) - 1)
        p.launch(clear_count, self._candidates, arrays, count=len(self._collision_shapes), grain=4096)
        p.launch(count_candidates, self._candidates, self._few, *self._search, count=len(tree.leaves) - 1, grain=4)
        scan.record(p, len(self._collision_shapes))
        p.copy(scan.total, (self.detection.found_pairs, 0))

    @property
    def _search(self) -> tuple[Record, ...]:
        tree = self._tree
        return (
            self._start_boxes,
            tree.places,
            tree.leaves,
            self._nodes,
            self._collision_shapes.arrays,
            self._frames,
            self.margins,
            self._ignored,
            self._half_spaces,
        )

    def _record_found(self, p: Program) -> None:
        """Record the list of the candidates that a search has counted."""
        count = len(self._collision_shapes)
        p.require(self._found, (self.detection.found_pairs, 0))
        p.launch(copy_candidates, self._candidates, self._few, self._found, count=count, grain=32)
        p.launch(list_candidates, self._candidates, self._found, *self._search, count=count, grain=32)

    def _record_list(self, p: Program) -> None:
        """Record the list of the pairs, by the candidates."""
        arrays, pairs, old, kept, d = self._collision_shapes.arrays, self.pairs, self._old, self._kept, self.detection
        count, scan = len(self._collision_shapes), self._scans[1]
        p.copy(0, (d.old_pairs, 0))
        with p.when((d.keep_points, 0)):
            p.copy((d.pairs, 0), (d.old_pairs, 0))
            p.require(old, (d.pairs, 0), spare=ROOM)
            records = pairs, old, arrays, self.margins, d
            p.launch(store_pair_key, *records, count=(d.pairs, 0))
        p.serial(forget_places, d)
        p.launch(keep_offset, self._merged, self._before, count=count + 1, grain=4096)
        lists = self._merged, self._before, self._candidates, self._found, old, d, pairs, arrays
        p.launch(count_pairs, *lists, count=count)
        scan.record(p, count)
        p.require(pairs, scan.total, PAIRS, spare=ROOM)
        p.copy(scan.total, (d.pairs, 0))
        p.launch(list_pairs, *lists, count=count)
        with p.when((d.keep_points, 0)):
            p.serial(number_kept, pairs, d, old, self.free)
            p.require(kept, (d.kept, 0), PAIRS, spare=ROOM)
            p.launch(store_pair, pairs, old, kept, count=(d.old_pairs, 0))
        p.launch(begin_pair, pairs, old, kept, self._collision_shapes.shapes, count=(d.pairs, 0))


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


def swings(collision_shapes: CollisionShapes) -> np.ndarray:
    """How far any rotation of its frame makes the box of each collision shape grow [m], (G,): not beyond a ball.

    The ball around the origin of the frame holds the shape. Along each axis the box of a shape with a radius begins
    with a ball of that radius around its own origin; of others the bound is the largest displacement of a point.
    """
    arrays, radius = collision_shapes.arrays, collision_shapes.shapes.radius
    common = np.array([type_of(contact_shape(solid)).common for solid in collision_shapes.solids], np.bool_)
    within = arrays.radius - radius + np.linalg.norm(arrays.local[:, 9:], axis=1)
    return np.where(common & (radius > 0.0), within, 2.0 * arrays.radius)
