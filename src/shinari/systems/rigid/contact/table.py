"""The table of contact points between bodies, and with colliders, that the solver of the bodies reads.

The points of a substep are those at its start, up to a gap that the substep may close. Points are sorted by key, so the
table does not depend on the threads. The force of the last substep is matched by key (warm starting).
"""

import itertools

import numpy as np

from shinari.collision.law import ROLLING, TORSION, combined_surface
from shinari.collision.narrow.convex import Shapes
from shinari.collision.narrow.features import features_of
from shinari.collision.narrow.pose_records import Poses
from shinari.collision.narrow.reduction import SLOTS
from shinari.collision.narrow.rows import FEW_POINTS
from shinari.compute import Field, Program, Record, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import dot, sub
from shinari.shapes.kernels.dispatch import for_kinds
from shinari.systems.rigid.contact.broad import BroadPhase
from shinari.systems.rigid.contact.collision_shapes import CollisionShapeArrays, CollisionShapes
from shinari.systems.rigid.contact.finders import finder
from shinari.systems.rigid.contact.margins import Detection, FrameMargins
from shinari.systems.rigid.contact.pair_lists import give_places, list_sought
from shinari.systems.rigid.contact.pair_points import PairPoints
from shinari.systems.rigid.contact.pairs import (
    FEATURES,
    MESHES,
    Pairs,
    Points,
    is_moved,
    kind_of_pair,
    place_points,
    rows_of_key,
    set_frame_pose,
    set_shape_pose,
    update_pair,
)
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.progress import ROOM

# Largest distance, in sizes of the smaller collision shape, at which a point takes the force of one with another key.
CLOSE = 0.1
# Pairs for each thread, and pairs whose points it seeks.
SHARE, SEARCHES = 64, 16
# Memory of a point with the work arrays of the solver, which have room for more points [bytes].
POINT_BYTES = 1200
PLACES = "rigid bodies: contacts: {count} points of pairs"
POINTS = "rigid bodies: contacts: {count} points"


class OldPoints(Record):
    """The points of the table before."""

    key = Field(np.int64)
    core = Field(np.float64, 3, unit="m", doc="core point of a in the axes of frame a")
    force = Field(np.float64, 3, unit="N", doc="force on a")


class BodyContacts:
    """Finds the points of contact of bodies in each substep.

    Args:
        collision_shapes: The collision shapes of the scene.
        frames: The frames: poses at the start of the substep and velocities are read.
        dt: Step [s].
        h: Substep [s].
        weight: Magnitude of gravity [m/s^2].
        detection: When pairs are found: `"frame"`, once a step and when a frame leaves its margin, or `"substep"`.

    Attributes:
        table: The points.
        pairs: The candidate pairs of collision shapes.
        stored: Points of pairs.
        margins: Margins and paths of the frames.
        detection: State of contact detection.
    """

    def __init__(
        self,
        collision_shapes: CollisionShapes,
        frames: Frames,
        dt: float,
        h: float,
        weight: float,
        detection: str = "frame",
    ) -> None:
        self._collision_shapes, self._frames, self._h, self._weight = collision_shapes, frames, h, weight
        self.poses, self._shape_poses = Poses.zeros(collision_shapes.frame_count), Poses.zeros(len(collision_shapes))
        self._broad = BroadPhase(collision_shapes, frames, self._shape_poses, dt, h, weight)
        self.pairs, self.margins, self.detection = self._broad.pairs, self._broad.margins, self._broad.detection
        self.stored: PairPoints = PairPoints.zeros(0, np.float64)
        self.detection.each_substep[0] = detection == "substep"
        self.table: Points = Points.zeros(0, np.float64)
        self.table.detection = self.detection
        self._old = OldPoints.zeros(0, np.float64)
        self._kinds = kinds_of(collision_shapes)
        self._most = SLOTS if MESHES in self._kinds else FEW_POINTS

    @property
    def detections(self) -> int:
        """Searches for pairs in the last step."""
        return int(self.detection.detections[0])

    @property
    def pair_count(self) -> int:
        """Pairs in the list."""
        return int(self.detection.pairs[0])

    @property
    def swept_cell(self) -> tuple[np.ndarray, int]:
        """Cell: whether a frame was swept in the last search."""
        return self.detection.any_swept, 0

    @property
    def left_path_cell(self) -> tuple[np.ndarray, int]:
        """Cell: whether the last solution has moved a frame off its path."""
        return self.detection.left_path, 0

    def begin(self) -> None:
        """Begin a step: pairs and points are found again, so that they depend on the state alone."""
        self._broad.begin()

    def warm_start(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Warm start of the next substep: keys (P,), core points of a and forces (P, 3) of the last one, as views."""
        table, n = self.table, self.table.count
        return table.key[:n], table.core[:n], table.force[:n]

    def set_warm_start(self, keys: np.ndarray, rows: np.ndarray) -> None:
        """Set the points of the last substep: keys (P,), core points of a and forces (P, 6)."""
        n, table = len(keys), self.table
        if n > len(table):
            table.grow(n)
        self.detection.points[0] = n
        table.key[:n], table.core[:n], table.force[:n] = keys, rows[:, :3], rows[:, 3:]
        self.detection.searched[0] = self.detection.pairs[0] = self.detection.unmoved[0] = 0

    def record_find(self, p: Program) -> None:
        """Record the search for the points at the start of a substep."""
        if len(self._collision_shapes) == 0:
            return
        frames, arrays, margins = self._frames, self._collision_shapes.arrays, self.margins
        self._broad.record_decide(p)
        p.launch(set_frame_pose, frames, margins, self.poses, count=len(self.poses))
        p.launch(set_shape_pose, arrays, margins, self.poses, self._shape_poses, count=len(arrays))
        with p.when((self.detection.renew, 0)):
            self._broad.record_find(p)
        self._record_points(p)

    def record_find_left(self, p: Program) -> None:
        """Record the search along the new paths of frames that left theirs; see `left_path_cell`."""
        if len(self._collision_shapes) == 0:
            return
        self._broad.record_extend(p)
        with p.when((self.detection.left_path, 0)):
            p.copy(1, (self.detection.renew, 0))
            self._record_points(p)

    def _record_points(self, p: Program) -> None:
        """Points of the pairs."""
        arrays, pairs, d, old, table = self._collision_shapes.arrays, self.pairs, self.detection, self._old, self.table
        count, fall = (d.pairs, 0), self._weight * self._h
        shapes, frames = self._collision_shapes.shapes, self._frames
        p.copy(0, (d.changed, 0))
        records = pairs, self.stored, arrays, shapes, frames, self.poses, self.margins, table, d
        p.launch(update_pair, *records, fall, self._h, count=count)
        with p.when((d.changed, 0)):
            p.serial(list_sought, pairs, self._broad.free, d, self._most)
            p.require(self.stored, (d.places_needed, 0), PLACES, spare=ROOM)
            p.require(self._broad.free, (d.places_needed, 0), spare=ROOM)
            p.serial(give_places, pairs, self._broad.free, d, self._most)
            for kind in self._kinds:
                self._record_finder(p, kind)
        p.serial(number_points, pairs, d)
        with p.when((d.rebuild_table, 0)), p.when((d.moves_rows, 0)):
            p.require(old, (d.old_points, 0), spare=ROOM)
            p.launch(store_point, table, old, count=(d.old_points, 0))
            p.require(table, (d.points, 0), POINTS, POINT_BYTES, spare=ROOM)
            records = pairs, self.stored, arrays, shapes, self.poses, self.margins, table, old, d
            p.launch(write_points, *records, count=(d.active_pairs, 0), grain=SHARE)

    def _record_finder(self, p: Program, kind: int) -> None:
        arrays, count = self._collision_shapes.arrays, (self.detection.sought_pairs, 0)
        poses, kinds = (
            (self._collision_shapes.shapes, self.poses, self._shape_poses),
            self._collision_shapes.shapes.kind,
        )
        if kind != MESHES:
            records = self.pairs, self.stored, arrays, *poses, self.margins, self.table, self.detection
            p.launch(finder(kind, kinds), *records, 2.0 * self._h, count=count, grain=SEARCHES)
            return
        # imported here: a scene without meshes does not wait for their kernels
        from shinari.systems.rigid.contact.mesh_pairs import find_mesh_points

        features = features_of(self._collision_shapes.meshes)
        of_meshes = for_kinds(find_mesh_points, kinds)
        p.launch(
            of_meshes,
            self.pairs,
            self.stored,
            arrays,
            *poses,
            features,
            self._collision_shapes.fields,
            self.margins,
            2.0 * self._h,
            count=count,
            grain=1,
        )


def kinds_of(collision_shapes: CollisionShapes) -> list[int]:
    """Kinds of the pairs that can occur: at least one of the two is a collision shape of a body."""
    shapes = collision_shapes.shapes.kind.tolist()
    bodies = {shape for g, shape in enumerate(shapes) if collision_shapes.arrays.frame[g] < collision_shapes.body_count}
    return sorted({int(kind_of_pair(*pair)) for pair in itertools.product(bodies, set(shapes))})


@kernel(in_order=True)
def number_points(_, pairs: Pairs, detection: Detection):
    """Find the first row of each pair in the table, if the table is rebuilt.

    A search that finds no points for a pair without rows is no reason: when it happens depends on the steps before.
    """
    total, rebuild, p = 0, detection.renew[0] != 0, 0
    while not rebuild and detection.changed[0] != 0 and p < detection.pairs[0]:
        rebuild = pairs.changed[p] and (pairs.mask[p] != 0 or pairs.rows[p] != 0)
        p += 1
    detection.rebuild_table[0] = 1 if rebuild else 0
    if not rebuild:
        return
    moves, active = False, 0
    for p in range(detection.pairs[0]):
        if pairs.mask[p] == 0 and pairs.rows[p] == 0:
            continue
        rows = 0
        for k in range(SLOTS):
            rows += (pairs.mask[p] >> k) & 1
        pairs.old_start[p], pairs.old_rows[p] = pairs.start[p], pairs.rows[p]
        pairs.start[p], pairs.rows[p] = total, rows
        if rows > 0:
            moves = moves or is_moved(pairs, p)
            pairs.active[active] = p
            active += 1
        total += rows
    detection.moves_rows[0], detection.active_pairs[0] = 1 if moves else 0, active
    detection.old_points[0], detection.points[0] = detection.points[0], total


@kernel
def store_point(i, points: Points, old: OldPoints):
    """Store key, core point and force of a point."""
    old.key[i], old.force[i], old.core[i] = points.key[i], points.force[i], points.core[i]


@steady
def law_of(a, b, surface):
    """Friction, static friction, restitution, compliance, rolling and torsional friction of two collision shapes."""
    first, second = surface[a], surface[b]
    return *combined_surface(first, second), max(first[ROLLING], second[ROLLING]), max(first[TORSION], second[TORSION])


@steady
def match_by_key(begin, end, first, last, points, old):
    """Copy the forces of the old rows of a pair to its new rows with the same keys; returns bits of both."""
    taken = given = 0
    for at in range(begin, end):
        points.force[at] = 0.0, 0.0, 0.0
        for i in range(first, last):
            if old.key[i] == points.key[at]:
                points.force[at] = old.force[i]
                taken |= 1 << (i - first)
                given |= 1 << (at - begin)
    return taken, given


@steady
def nearest_old(core, close, first, last, taken, old):
    """The nearest old row of a pair that is not taken, up to a distance; -1 if there is none."""
    best, least = -1, close * close
    for i in range(first, last):
        moved = sub(core, old.core[i])
        square = dot(moved, moved)
        nearer = square < least and not (taken >> (i - first)) & 1
        best, least = (i, square) if nearer else (best, least)
    return best


@kernel(fastmath=STEADY)
def write_points(
    i, pairs: Pairs, stored: PairPoints, collision_shapes: CollisionShapeArrays, shapes: Shapes, poses: Poses,
    margins: FrameMargins, points: Points, old: OldPoints, detection: Detection
):  # fmt: skip
    """Write the points of a pair, with the forces of the last substep: by key, then of the nearest remaining point.

    Keys change where equal faces coincide or the reduction selects other points.
    """
    p = pairs.active[i]
    if not is_moved(pairs, p):
        return
    a, b = pairs.collision_shapes[p]
    f, e = collision_shapes.frame[a], collision_shapes.frame[b]
    base = (a * len(collision_shapes) + b) * FEATURES
    begin, at = pairs.start[p], pairs.start[p]
    terms, place = law_of(a, b, collision_shapes.surface), pairs.place[p]
    radii = shapes.radius[a], shapes.radius[b]
    for k in range(pairs.count[p]):
        if (pairs.mask[p] >> k) & 1:
            points.frames[at], points.collision_shapes[at], points.law[at] = (f, e), (a, b), terms
            points.radius[at], points.key[at] = radii, base + np.int64(stored.feature[place + k])
            at += 1
    place_points(p, collision_shapes, pairs, stored, poses, margins, points, 0.0)
    first, last = pairs.old_start[p], pairs.old_start[p] + pairs.old_rows[p]
    if detection.renew[0] != 0 and pairs.before[p] < 0:
        # of a state that was loaded
        first, last = rows_of_key(base, old.key, detection.old_points[0])
    taken, given = match_by_key(begin, at, first, last, points, old)
    if given == (1 << (at - begin)) - 1 or last == first:
        return
    close = CLOSE * min(collision_shapes.size[a], collision_shapes.size[b])
    for k in range(begin, at):
        if not (given >> (k - begin)) & 1:
            best = nearest_old(points.core[k], close, first, last, taken, old)
            if best >= 0:
                points.force[k] = old.force[best]
                taken |= 1 << (best - first)
