"""Paths of bodies against bodies and colliders.

The gap of two shapes changes by no more than what their points move relative to each other, and between convex shapes
by no more than what they move along the normal of their nearest points and by their rotation. Shapes may overlap by a
part of the thickness of the thinner one, which the solver mends; the paths are certified not to go deeper, so that
nothing comes out on the other side.
"""

from typing import Any

import numpy as np

from shinari.collision.narrow.convex import Shapes
from shinari.collision.narrow.faces import ROOM, SMALL_ROOM
from shinari.collision.narrow.features import Features, features_of
from shinari.collision.narrow.fields import BodyFields
from shinari.collision.narrow.manifold import boxes_manifold, convex_manifold
from shinari.collision.narrow.mesh_pool import POOL
from shinari.collision.narrow.planes import plane_manifold
from shinari.collision.narrow.pose_records import Poses, Vector
from shinari.collision.narrow.round import ball_manifold, capsules_manifold
from shinari.collision.narrow.rows import CORE_A, CORE_B, GAP, NORMAL, WIDTH, Rows, forget
from shinari.compute import Field, Program, Record, kernel, scratch, shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.quaternion import rotate_back, rotation_rows
from shinari.maths.vec3 import ONE, ZERO, cross, dot, norm, scale, sub
from shinari.shapes.cone import Cone
from shinari.shapes.hull import ConvexHull
from shinari.shapes.kernels.dispatch import for_kinds
from shinari.shapes.mesh import Mesh
from shinari.shapes.sphere import SPHERE
from shinari.systems.paths.certifier import Certificate
from shinari.systems.paths.records import Forest, PathState, Shares, Stops, Zones
from shinari.systems.paths.shares import need_room, share_of
from shinari.systems.paths.zones import between, join, turned_part
from shinari.systems.rigid.contact.collision_shapes import CollisionShapeArrays, CollisionShapes
from shinari.systems.rigid.contact.margins import Detection
from shinari.systems.rigid.contact.mesh_pairs import points_of_pair
from shinari.systems.rigid.contact.pairs import BALLS, BOXES, CAPSULES, CONVEX, MESHES, PLANES, Pairs, multiplied
from shinari.systems.rigid.contact.table import kinds_of
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.integration import rotation_vector_between
from shinari.systems.rigid.system import RigidBodySystem

# Shapes may overlap by this part of the thickness of the thinner one.
DEPTH = 0.25
# The least extent of its box bounds the thickness of a cone, a hull or a mesh only roughly: so much of it is taken.
ROUGH = 0.3
# Parts of the rest that are kept, that end the search, and that a step takes.
KEPT, NEARER, FARTHER = 0.2, 0.1, 0.9
STEPS = 60
# A search at a mesh ends where its steps have not doubled in so many and would not reach the end: pairs of a jam, with
# next to nothing left of what they may go deeper, took thousands of searches of all steps in a substep.
LOOK, TWICE = 6, 2.0


class RigidPairs(Record):
    """Paths of the pairs of shapes, as in `shinari.systems.rigid.contact.pairs.Pairs`."""

    time = Field(np.float64, doc="time of impact in the substep; 1 where it is safe")
    near = Field(np.bool_, doc="whether its displacements may bring it too deep")
    place = Field(np.float64, 3, unit="m", doc="nearest point of the first at the impact, in the axes of its frame")
    normal = Field(np.float64, 3, doc="unit vector from the second to the first there")


class Thickness(Record):
    """Thickness of the collision shapes."""

    least = Field(np.float64, unit="m", doc="a lower bound of it; infinite without an end")


class Turns(Record):
    """Rotations of the frames in a substep."""

    turn = Field(np.float64, unit="rad")
    x = Field(np.float64, 3, unit="m", doc="origin at which paths were looked at last")
    q = Field(np.float64, 4, doc="quaternion at which paths were looked at last")
    changed = Field(np.bool_, doc="whether it has been moved since, or paths were not looked at in the substep")


class RigidGate(Record):
    """One row."""

    open = Field(np.int64, doc="whether a pair is looked at")
    moving = Field(np.int64, doc="whether a frame has been moved since paths were looked at, away from where it began")


class RigidPaths:
    """Certifies the paths of bodies against each other and against colliders.

    Args:
        certificate: What all certifiers share.
        bodies: The bodies.
    """

    def __init__(self, certificate: Certificate, bodies: RigidBodySystem) -> None:
        self._certificate = certificate
        shapes = bodies.collision_shapes
        contacts = bodies.equations.contacts
        self._shapes, self._pairs, self._detection = shapes, contacts.pairs, contacts.detection
        self._paths, self._gate = RigidPairs.zeros(0), RigidGate.zeros(1)
        self._poses, self._turns = Poses.zeros(len(shapes)), Turns.zeros(len(bodies.frames))
        self._thickness = Thickness(least=thicknesses(shapes))
        self._features: Features | None = None
        self._kinds, self._jointed = set(kinds_of(shapes)), len(bodies.equations.joints) > 0

    def record_pairs(self, p: Program) -> None:
        """Record that the pairs are marked whose displacements are long."""
        p.require(self._paths, (self._detection.pairs, 0))

    def record_times(self, p: Program) -> None:
        """Record that the times of impact are found."""
        c, arrays, count = self._certificate, self._shapes.arrays, (self._detection.pairs, 0)
        moving = (c.frames,)
        p.copy(0, (self._gate.open, 0))
        p.copy(0, (self._gate.moving, 0))
        with p.when(count):
            p.launch(measure_turn, self._turns, c.frames, c.state, self._gate, count=len(self._turns))
        # where all frames stand, no path meets another
        with p.when((self._gate.moving, 0)):
            records = self._paths, self._pairs, arrays, self._thickness, c.frames, self._turns, self._gate
            p.launch(screen_pair, *records, count=count)
        shapes = self._shapes.shapes
        with p.when((self._gate.open, 0)):
            for kind in sorted(self._kinds & set(FINDERS)):
                finder = for_kinds(FINDERS[kind], {int(each) for each in shapes.kind})
                p.serial(
                    finder, self._paths, self._pairs, self._detection, arrays, self._thickness, *moving, self._poses,
                    c.state, shapes,
                )  # fmt: skip
            if MESHES in self._kinds:
                self._features = features_of(self._shapes.meshes) if self._features is None else self._features
                finder = for_kinds(find_mesh_times, {int(each) for each in shapes.kind})
                p.serial(
                    finder, self._paths, self._pairs, self._detection, arrays, self._thickness, *moving, self._poses,
                    c.state, shapes, self._features, self._shapes.fields,
                )  # fmt: skip

    def record_part(self, p: Program) -> None:
        """Nothing is pushed apart: the solver of the bodies has done that."""

    def record_join(self, p: Program) -> None:
        """Record that bodies whose paths meet are joined, and the pairs listed in `shares`."""
        c = self._certificate
        with p.when((self._gate.open, 0)):
            p.serial(need_room_for_pairs, self._paths, self._detection, c.state)
            p.require(c.shares, (c.state.room, 0))
            p.serial(
                join_frames, self._paths, self._pairs, self._detection, self._shapes.arrays, c.zones, c.forest,
                c.shares, c.state, c.first_frame,
            )  # fmt: skip
            if self._jointed:
                p.serial(need_room_for_stops, self._paths, self._detection, c.state)
                p.require(c.stops, (c.state.room, 0))
                p.serial(keep_stops, self._paths, self._pairs, self._detection, self._shapes.arrays, c.stops, c.state)


def thicknesses(shapes: CollisionShapes) -> np.ndarray:
    """A lower bound of the thickness of each collision shape [m], (G,)."""
    extents = (shapes.arrays.high - shapes.arrays.low).min(axis=1)
    rough = np.array([isinstance(solid, Cone | ConvexHull | Mesh) for solid in shapes.solids], bool)
    return np.where(rough, ROUGH * extents, extents)


@steady
def spin_reach(collision_shapes, g, sphere):
    """How far a point of a shape is moved by a turn of its frame at most, for each radian [m]."""
    if sphere:
        return norm((collision_shapes.local[g, 9], collision_shapes.local[g, 10], collision_shapes.local[g, 11]))
    return collision_shapes.radius[g]


@steady
def turn_of(frames, f):
    """Rotation of a frame in the substep [rad]."""
    before, now = frames.begin_q[f], frames.q[f]
    return 0.0 if before == now else norm(rotation_vector_between(before, now))


@kernel(fastmath=STEADY)
def measure_turn(f, turns: Turns, frames: Frames, state: PathState, gate: RigidGate):
    """Write the rotation of a frame in the substep, and whether its path is another than when it was looked at.

    All that are moving write the same flag.
    """
    changed = state.turn[0] == 0 or turns.x[f] != frames.x[f] or turns.q[f] != frames.q[f]
    turns.changed[f] = changed
    if changed:
        turns.turn[f], turns.x[f], turns.q[f] = turn_of(frames, f), frames.x[f], frames.q[f]
        if frames.x[f] != frames.begin_x[f] or frames.q[f] != frames.begin_q[f]:
            gate.moving[0] = 1


@kernel(fastmath=STEADY)
def screen_pair(
    p, paths: RigidPairs, pairs: Pairs, collision_shapes: CollisionShapeArrays, thickness: Thickness, frames: Frames,
    turns: Turns, gate: RigidGate
):  # fmt: skip
    """Mark a pair whose displacements may bring it too deep. All that are marked write the same flag.

    One that is safe stays so while neither of its frames is moved.
    """
    a, b = pairs.collision_shapes[p]
    f, e = collision_shapes.frame[a], collision_shapes.frame[b]
    paths.near[p] = False
    if not (turns.changed[f] or turns.changed[e]) and paths.time[p] == ONE:
        return
    paths.time[p] = 1.0
    allowed = DEPTH * min(thickness.least[a], thickness.least[b])
    if not (frames.active[f] or frames.active[e]) or not (allowed < np.inf):
        return
    gap = min(pairs.reach[p], pairs.least_gap[p])
    move = norm(sub(sub(frames.x[f], frames.begin_x[f]), sub(frames.x[e], frames.begin_x[e])))
    move += turns.turn[f] * min(collision_shapes.radius[a], 1e9)
    move += turns.turn[e] * min(collision_shapes.radius[b], 1e9)
    if move > (ONE - KEPT) * max(gap + allowed, ZERO) and gap > -allowed:
        paths.near[p] = True
        gate.open[0] = 1


@steady
def set_pose(poses, collision_shapes, frames, g, time):
    """Write the pose of a shape at a time in the substep."""
    f = collision_shapes.frame[g]
    m0, m1, m2 = rotation_rows(turned_part(frames.begin_q[f], frames.q[f], time))
    x = between(frames.begin_x[f], frames.x[f], time)
    pose = m0[0], m0[1], m0[2], m1[0], m1[1], m1[2], m2[0], m2[1], m2[2], x[0], x[1], x[2]
    poses.pose[g] = multiplied(pose, collision_shapes.local[g])


@shared(fastmath=STEADY)
def set_poses(
    poses: Poses, collision_shapes: CollisionShapeArrays, frames: Frames, a: int, b: int, time: float
) -> None:
    """Write the poses of two shapes at a time in the substep."""
    set_pose(poses, collision_shapes, frames, a, time)
    set_pose(poses, collision_shapes, frames, b, time)


@steady
def lowest_row(rows, count, none):
    """Least gap of the points of a manifold, or `none`, and the normal there."""
    gap, n = none, (0.0, 0.0, 0.0)
    for i in range(count):
        if rows[i, GAP] < gap:
            gap, n = rows[i, GAP], (rows[i, NORMAL], rows[i, NORMAL + 1], rows[i, NORMAL + 2])
    return gap, n


@shared(fastmath=STEADY)
def keep_impact(
    paths: RigidPairs, p: int, rows: Rows, count: int, frames: Frames, f: int, time: float, swapped: bool
) -> None:
    """Keep where a pair is nearest, and the normal there; rows are those of a manifold at a time."""
    gap, k = np.inf, 0
    for i in range(count):
        if rows[i, GAP] < gap:
            gap, k = rows[i, GAP], i
    side, sign = (CORE_B, -1.0) if swapped else (CORE_A, 1.0)
    n = scale((rows[k, NORMAL], rows[k, NORMAL + 1], rows[k, NORMAL + 2]), sign)
    core = rows[k, side], rows[k, side + 1], rows[k, side + 2]
    # the radius stands behind the core point
    at = sub(sub(core, scale(n, rows[k, side + 3])), between(frames.begin_x[f], frames.x[f], time))
    paths.place[p], paths.normal[p] = rotate_back(turned_part(frames.begin_q[f], frames.q[f], time), at), n


@shared(fastmath=STEADY)
def bounds_of(
    a: int, b: int, collision_shapes: CollisionShapeArrays, shapes: Shapes, frames: Frames
) -> tuple[Vector, float]:
    """Relative displacement of two shapes without their turns, and how far these move a point at most [m]."""
    f, e = collision_shapes.frame[a], collision_shapes.frame[b]
    move = sub(sub(frames.x[f], frames.begin_x[f]), sub(frames.x[e], frames.begin_x[e]))
    apart = max(norm(sub(frames.x[f], frames.x[e])), norm(sub(frames.begin_x[f], frames.begin_x[e])))
    reach_a = min(spin_reach(collision_shapes, a, shapes.kind[a] == SPHERE), apart + collision_shapes.radius[b])
    reach_b = min(spin_reach(collision_shapes, b, shapes.kind[b] == SPHERE), apart + collision_shapes.radius[a])
    spin = turn_of(frames, f) * reach_a + turn_of(frames, e) * reach_b
    return move, spin


@steady
def closing_beside(a, b, n, time, collision_shapes, frames):
    """How fast shape a comes nearer to a plane fixed to the frame of b at most, from a time on [m].

    n: the normal of the plane at that time, towards a. In the axes of b a point p of a moves by

        V + (w_a - w_b) x (p - x_a),    V = v_a - v_b - w_b x (x_a - x_b)

    which turns with b, and changes with x_a - x_b.
    """
    f, e = collision_shapes.frame[a], collision_shapes.frame[b]
    move = sub(sub(frames.x[f], frames.begin_x[f]), sub(frames.x[e], frames.begin_x[e]))
    apart = sub(between(frames.begin_x[f], frames.x[f], time), between(frames.begin_x[e], frames.x[e], time))
    turn = rotation_vector_between(frames.begin_q[e], frames.q[e])
    other = rotation_vector_between(frames.begin_q[f], frames.q[f])
    v = sub(move, cross(turn, apart))
    changes = norm(turn) * (norm(move) + norm(v)) * (ONE - time)
    return max(-dot(n, v), 0.0) + changes + norm(sub(other, turn)) * min(collision_shapes.radius[a], 1e9)


@shared(fastmath=STEADY)
def closing_along(
    a: int,
    b: int,
    n: Vector,
    time: float,
    move: Vector,
    spin: float,
    collision_shapes: CollisionShapeArrays,
    frames: Frames,
) -> float:
    """How fast two shapes come nearer to each other along a normal, from b to a, at most, from a time on [m]."""
    closing = max(-dot(n, move), 0.0) + spin
    closing = min(closing, closing_beside(a, b, n, time, collision_shapes, frames))
    return min(closing, closing_beside(b, a, scale(n, -1.0), time, collision_shapes, frames))


@steady
def gap_at_end(manifold, a, b, margin, shapes, poses, collision_shapes, frames, rows):
    """Least gap of a pair at the end of the substep [m]."""
    set_poses(poses, collision_shapes, frames, a, b, 1.0)
    forget(rows)
    return lowest_row(rows, manifold(shapes, poses, a, b, margin, rows), margin)[0]


@steady
def mesh_gap_at_end(a, b, margin, poses, collision_shapes, features, shapes, fields, frames, pool):
    """Least gap of a pair of which one is a mesh at the end of the substep [m]."""
    set_poses(poses, collision_shapes, frames, a, b, 1.0)
    return lowest_row(
        pool, points_of_pair(a, b, margin, np.inf, poses, collision_shapes, features, shapes, fields, pool), margin
    )[0]


def _finder(wanted: int, manifold: Any, name: str, room: int = ROOM) -> Any:
    """Kernel that finds the times of impact of the marked pairs of a kind."""

    def find(
        _, paths: RigidPairs, pairs: Pairs, detection: Detection, collision_shapes: CollisionShapeArrays,
        thickness: Thickness, frames: Frames, poses: Poses, state: PathState, shapes: Shapes
    ):  # fmt: skip
        """Times of impact of the marked pairs of the kind."""
        for p in range(detection.pairs[0]):
            if not paths.near[p] or pairs.kind[p] != wanted:
                continue
            a, b = pairs.collision_shapes[p]
            rows = scratch((room, WIDTH), 0.0)
            swapped = shapes.kind[a] > shapes.kind[b]
            first, second = (b, a) if swapped else (a, b)
            allowed = DEPTH * min(thickness.least[a], thickness.least[b])
            move, spin = bounds_of(a, b, collision_shapes, shapes, frames)
            fastest = norm(move) + spin
            time, safe, least, stop = 0.0, 0.0, 0.0, 0.0
            for step in range(STEPS):
                set_poses(poses, collision_shapes, frames, a, b, time)
                margin = 1.05 * fastest + allowed
                forget(rows)
                count = manifold(shapes, poses, first, second, margin, rows)
                gap, n = lowest_row(rows, count, margin)
                depth = gap + allowed
                if step == 0:
                    least = KEPT * min(allowed, depth)
                    stop = NEARER * (min(allowed, depth) - least)
                    # between two ends that are safe a short path goes deeper by half of its length at most
                    if depth <= ZERO or (
                        fastest <= allowed
                        and gap_at_end(manifold, first, second, margin, shapes, poses, collision_shapes, frames, rows)
                        >= least - allowed
                    ):
                        safe = 1.0
                        break
                elif depth - least < stop:
                    break
                safe = time
                to_a = scale(n, -1.0) if swapped else n
                closing = (
                    closing_along(a, b, to_a, time, move, spin, collision_shapes, frames) if count > 0 else fastest
                )
                time += FARTHER * (depth - least) / closing if closing > ZERO else 1.0
                if time >= ONE:
                    safe = 1.0
                    break
            paths.time[p] = safe
            if safe < ONE:
                state.solid[0] = 1
                keep_impact(paths, p, rows, count, frames, collision_shapes.frame[a], time, swapped)

    find.__name__ = name
    return kernel(find, fastmath=STEADY)


FINDERS = {
    PLANES: _finder(PLANES, plane_manifold, "find_plane_times"),
    BALLS: _finder(BALLS, ball_manifold, "find_ball_times"),
    CAPSULES: _finder(CAPSULES, capsules_manifold, "find_capsule_times"),
    BOXES: _finder(BOXES, boxes_manifold, "find_box_times", SMALL_ROOM),
    CONVEX: _finder(CONVEX, convex_manifold, "find_convex_times"),
}
"""Kernels by the kind of pair."""


@kernel(fastmath=STEADY)
def find_mesh_times(
    _, paths: RigidPairs, pairs: Pairs, detection: Detection, collision_shapes: CollisionShapeArrays,
    thickness: Thickness, frames: Frames, poses: Poses, state: PathState, shapes: Shapes,
    features: Features, fields: BodyFields
):  # fmt: skip
    """Times of impact of the marked pairs of which one is a mesh."""
    for p in range(detection.pairs[0]):
        if not paths.near[p] or pairs.kind[p] != MESHES:
            continue
        a, b = pairs.collision_shapes[p]
        pool = scratch((POOL, WIDTH), 0.0)
        allowed = DEPTH * min(thickness.least[a], thickness.least[b])
        move, spin = bounds_of(a, b, collision_shapes, shapes, frames)
        fastest = norm(move) + spin
        time, safe, least, stop, before = 0.0, 0.0, 0.0, 0.0, 0.0
        for step in range(STEPS):
            set_poses(poses, collision_shapes, frames, a, b, time)
            margin = (ONE - time) * fastest + allowed
            count = points_of_pair(a, b, margin, np.inf, poses, collision_shapes, features, shapes, fields, pool)
            gap, _n = lowest_row(pool, count, margin)
            depth = gap + allowed
            if step == 0:
                least = KEPT * min(allowed, depth)
                stop = NEARER * (min(allowed, depth) - least)
                # as between convex shapes
                if depth <= ZERO or (
                    fastest <= allowed
                    and mesh_gap_at_end(a, b, margin, poses, collision_shapes, features, shapes, fields, frames, pool)
                    >= least - allowed
                ):
                    safe = 1.0
                    break
            elif depth - least < stop:
                break
            safe = time
            advance = FARTHER * (depth - least) / fastest if fastest > ZERO else 1.0
            if step % LOOK == 0:
                if step > 0 and advance < TWICE * before and advance * (STEPS - step) < ONE - time:
                    break
                before = advance
            time += advance
            if time >= ONE:
                safe = 1.0
                break
        paths.time[p] = safe
        if safe < ONE:
            state.solid[0] = 1
            keep_impact(paths, p, pool, count, frames, collision_shapes.frame[a], time, False)


@kernel
def need_room_for_pairs(_, paths: RigidPairs, detection: Detection, state: PathState):
    """Tell how many rows of `shares` may be needed."""
    need_room(paths, detection.pairs[0], state)


@kernel
def join_frames(
    _, paths: RigidPairs, pairs: Pairs, detection: Detection, collision_shapes: CollisionShapeArrays, zones: Zones,
    forest: Forest, shares: Shares, state: PathState, first: int
):  # fmt: skip
    """Join the frames of pairs whose paths meet."""
    for p in range(detection.pairs[0]):
        if paths.time[p] < ONE:
            state.impacts[0] += 1
            a, b = pairs.collision_shapes[p]
            i, j = first + collision_shapes.frame[a], first + collision_shapes.frame[b]
            join(zones, i, j, paths.time[p])
            row = share_of(forest, shares, state, i, j)
            if row >= 0:
                shares.place[row], shares.normal[row] = paths.place[p], paths.normal[p]


@kernel
def need_room_for_stops(_, paths: RigidPairs, detection: Detection, state: PathState):
    """Tell how many rows of `stops` are needed."""
    room = state.stops[0]
    for p in range(detection.pairs[0]):
        room += paths.time[p] < ONE
    state.room[0] = room


@kernel
def keep_stops(
    _, paths: RigidPairs, pairs: Pairs, detection: Detection, collision_shapes: CollisionShapeArrays, stops: Stops,
    state: PathState
):  # fmt: skip
    """Keep the pairs whose paths meet, for the joints of their bodies."""
    for p in range(detection.pairs[0]):
        if paths.time[p] < ONE:
            a, b = pairs.collision_shapes[p]
            k = state.stops[0]
            stops.frames[k] = collision_shapes.frame[a], collision_shapes.frame[b]
            stops.place[k], stops.normal[k] = paths.place[p], paths.normal[p]
            state.stops[0] = k + 1
