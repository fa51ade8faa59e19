"""The points of a pair of collision shapes: found by the narrow phase, or updated from the last substep.

A pair stores its points in the axes of the frames: the core point of each side, and the normal in the axes of the frame
whose face it belongs to. While the relative pose of the frames changes little, the points of two polytopes are updated;
beyond `MOST_TURN` and `MOST_SLIDE` they are found again. Each kind of pair has its own kernel, and only the kinds that
occur in a scene are compiled.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from shinari.collision.narrow.convex import Shapes
from shinari.collision.narrow.faces import ROOM, SMALL_ROOM
from shinari.collision.narrow.manifold import boxes_manifold, convex_manifold
from shinari.collision.narrow.planes import plane_manifold
from shinari.collision.narrow.pose_records import Poses
from shinari.collision.narrow.reduction import SLOTS
from shinari.collision.narrow.round import ball_manifold, capsules_manifold
from shinari.collision.narrow.rows import (
    CORE_A,
    CORE_B,
    FEATURE,
    GAP,
    NORMAL,
    OF_A,
    RADIUS_A,
    RADIUS_B,
    WIDTH,
    Rows,
    mirror,
)
from shinari.compute import Field, Record, kernel, scratch, shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.poses import origin, rotate_vector, rotate_vector_back
from shinari.maths.quaternion import conjugate, multiply, rotation_rows
from shinari.maths.vec3 import ZERO, add, dot, norm, scale, sub
from shinari.shapes.box import BOX
from shinari.shapes.capsule import CAPSULE
from shinari.shapes.kernels.dispatch import for_kinds
from shinari.shapes.mesh import MESH, MESH_SHEET
from shinari.shapes.plane import PLANE
from shinari.shapes.registry import types_of_kinds
from shinari.shapes.sphere import SPHERE
from shinari.systems.rigid.contact.collision_shapes import CollisionShapeArrays
from shinari.systems.rigid.contact.margins import SLACK, TWO, FrameMargins
from shinari.systems.rigid.frames import Frames

# Relative rotation [rad] and displacement [sizes of the smaller shape] beyond which points are found again.
MOST_TURN = np.float32(0.01)
MOST_SLIDE = np.float32(0.01)
# The same for pairs with a mesh, whose faces are not flat.
MOST_MESH_TURN, MOST_MESH_SLIDE = 0.002, 0.001

# Columns of a slot.
(
    SLOT_CORE_A,
    SLOT_CORE_B,
    SLOT_NORMAL,
    SLOT_RADIUS_A,
    SLOT_RADIUS_B,
    SLOT_SIDE,
    SLOT_GAP,
    SLOT_FEATURE,
    SLOT_NOW_A,
    SLOT_NOW_B,
    SLOT_NOW_NORMAL,
) = (
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
SLOT_COLUMNS = 23

# Kinds of pairs, by the shapes of the two.
PLANES, BALLS, CAPSULES, BOXES, CONVEX, MESHES = range(6)


class Pairs(Record):
    """Candidate pairs of collision shapes with their points, K rows."""

    collision_shapes = Field(np.int64, 2, doc="collision shapes a < b; the pairs are sorted")
    kind = Field(np.int64, doc="kind of the pair, by the shapes")
    valid = Field(np.bool_, doc="whether the points may be updated")
    frozen = Field(np.bool_, doc="whether the points were found at poses from which the frames do not move")
    renew = Field(np.bool_, doc="whether the points are found again in this substep")
    changed = Field(
        np.bool_, doc="whether the active points differ from those of the last substep, or were found again"
    )
    count = Field(np.int64, doc="points found")
    mask = Field(np.int64, doc="bits of the active points: those whose gap is below the reach")
    start = Field(np.int64, doc="first row in the table of points")
    rows = Field(np.int64, doc="rows in it")
    old_start = Field(np.int64, doc="first row in the table before")
    old_rows = Field(np.int64, doc="rows in it")
    found_pose = Field(
        np.float64, 7, doc="pose of a in the axes of b when the points were found: position [m], quaternion"
    )
    pose = Field(np.float64, 7, doc="present pose of a in the axes of b")
    margin = Field(np.float64, unit="m", doc="largest gap up to which points were found; without points a gap it has")
    reach = Field(np.float64, unit="m", doc="largest gap up to which points are active")
    least_gap = Field(np.float64, unit="m", doc="least gap of its points; infinite without points")
    slots = Field(
        np.float64,
        (SLOTS, SLOT_COLUMNS),
        doc="points: core points in the axes of both frames; normal in the axes of the frame it turns with; radii; 1 "
        "where that is a, 0 where it is b; gap; feature; core points and normal (world) now",
    )


class Kept(Record):
    """Points of the pairs that remain while the list is rebuilt; fields as of `Pairs`."""

    valid = Field(np.bool_)
    frozen = Field(np.bool_)
    count = Field(np.int64)
    mask = Field(np.int64)
    margin = Field(np.float64, unit="m")
    reach = Field(np.float64, unit="m")
    found_pose = Field(np.float64, 7)
    slots = Field(np.float64, (SLOTS, SLOT_COLUMNS))


@steady
def kind_of_pair(one, other):
    """Kind of a pair of shapes."""
    first, second = min(one, other), max(one, other)
    if first in (MESH, MESH_SHEET) or second in (MESH, MESH_SHEET):
        return MESHES
    if first == PLANE:
        return PLANES
    if first == SPHERE:
        return BALLS
    if first == CAPSULE and second == CAPSULE:
        return CAPSULES
    return BOXES if first == BOX and second == BOX else CONVEX


@steady
def multiplied(pose, local):
    """Product of the pose of a frame and a local pose."""
    x = rotate_vector(pose, (local[0], local[3], local[6]))
    y = rotate_vector(pose, (local[1], local[4], local[7]))
    z = rotate_vector(pose, (local[2], local[5], local[8]))
    p = add(rotate_vector(pose, (local[9], local[10], local[11])), origin(pose))
    return x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2], p[0], p[1], p[2]


@kernel(fastmath=STEADY)
def set_frame_pose(f, frames: Frames, poses: Poses):
    """Pose of a frame at the start of the substep."""
    m0, m1, m2 = rotation_rows(frames.q0[f])
    x = frames.x0[f]
    poses.pose[f] = m0[0], m0[1], m0[2], m1[0], m1[1], m1[2], m2[0], m2[1], m2[2], x[0], x[1], x[2]


@kernel(fastmath=STEADY)
def set_shape_pose(g, collision_shapes: CollisionShapeArrays, frame_poses: Poses, poses: Poses):
    """Pose of a collision shape."""
    poses.pose[g] = multiplied(frame_poses.pose[collision_shapes.frame[g]], collision_shapes.local[g])


@steady
def reach_of(a, b, f, e, collision_shapes, frames, margins, fall, h):
    """Largest gap [m] of points of shapes a and b, of frames f and e: a little more than twice their approach."""
    distance = norm(sub(frames.x0[f], frames.x0[e]))
    radius_a, radius_b = collision_shapes.radius[a], collision_shapes.radius[b]
    spin = norm(frames.w[f]) * min(radius_a, distance + radius_b)
    spin += norm(frames.w[e]) * min(radius_b, distance + radius_a)
    approach = norm(sub(margins.velocity[f], margins.velocity[e])) + spin + fall
    return TWO * h * approach + SLACK * min(collision_shapes.size[a], collision_shapes.size[b])


@steady
def relative_pose(f, e, poses, frames):
    """Pose of frame f in the axes of frame e: position and quaternion."""
    at = rotate_vector_back(poses.pose[e], sub(origin(poses.pose[f]), origin(poses.pose[e])))
    against = multiply(conjugate(frames.q0[e]), frames.q0[f])
    return at[0], at[1], at[2], against[0], against[1], against[2], against[3]


@steady
def pose_change(now, place):
    """Relative displacement [m] and rotation [rad] of two frames since the points of a pair were found."""
    travelled = norm((now[0] - place[0], now[1] - place[1], now[2] - place[2]))
    along = now[3] * place[3] + now[4] * place[4] + now[5] * place[5] + now[6] * place[6]
    sign = 1.0 if along >= ZERO else -1.0
    w, x = now[3] - sign * place[3], now[4] - sign * place[4]
    y, z = now[5] - sign * place[5], now[6] - sign * place[6]
    return travelled, TWO * np.sqrt(w * w + x * x + y * y + z * z)


@steady
def vector_at(rows, i, column):
    """Three numbers of a row."""
    return rows[i, column], rows[i, column + 1], rows[i, column + 2]


@steady
def put_vector(slots, p, k, column, v):
    """Write three numbers of a slot."""
    slots[p, k, column], slots[p, k, column + 1], slots[p, k, column + 2] = v[0], v[1], v[2]


@steady
def vector_of(slots, p, k, column):
    """Three numbers of a slot."""
    return slots[p, k, column], slots[p, k, column + 1], slots[p, k, column + 2]


@steady
def update_point(p, f, e, poses, slots, k):
    """Update point k of pair p to the present poses of its frames.

    The core point on the face is the projection of the other one, so that both stay opposite.
    """
    pose_f, pose_e = poses.pose[f], poses.pose[e]
    side = slots[p, k, SLOT_SIDE] > ZERO
    n = rotate_vector(poses.pose[f if side else e], vector_of(slots, p, k, SLOT_NORMAL))
    radii = slots[p, k, SLOT_RADIUS_A] + slots[p, k, SLOT_RADIUS_B]
    xf, xe = origin(pose_f), origin(pose_e)
    a = add(rotate_vector(pose_f, vector_of(slots, p, k, SLOT_CORE_A)), xf)
    b = add(rotate_vector(pose_e, vector_of(slots, p, k, SLOT_CORE_B)), xe)
    height = dot(n, sub(a, b))
    a_now = add(b, scale(n, height)) if side else a
    b_now = b if side else sub(a, scale(n, height))
    slots[p, k, SLOT_GAP] = height - radii
    put_vector(slots, p, k, SLOT_NOW_A, rotate_vector_back(pose_f, sub(a_now, xf)))
    put_vector(slots, p, k, SLOT_NOW_B, rotate_vector_back(pose_e, sub(b_now, xe)))
    put_vector(slots, p, k, SLOT_NOW_NORMAL, n)


@steady
def write_slot(p, k, f, e, poses, slots, rows, i):
    """Store row i of a manifold as slot k of pair p."""
    pose_f, pose_e = poses.pose[f], poses.pose[e]
    n = vector_at(rows, i, NORMAL)
    core_a = rotate_vector_back(pose_f, sub(vector_at(rows, i, CORE_A), origin(pose_f)))
    core_b = rotate_vector_back(pose_e, sub(vector_at(rows, i, CORE_B), origin(pose_e)))
    put_vector(slots, p, k, SLOT_CORE_A, core_a)
    put_vector(slots, p, k, SLOT_CORE_B, core_b)
    put_vector(slots, p, k, SLOT_NORMAL, rotate_vector_back(poses.pose[f if rows[i, OF_A] > ZERO else e], n))
    slots[p, k, SLOT_RADIUS_A], slots[p, k, SLOT_RADIUS_B] = rows[i, RADIUS_A], rows[i, RADIUS_B]
    slots[p, k, SLOT_SIDE] = rows[i, OF_A]
    slots[p, k, SLOT_GAP], slots[p, k, SLOT_FEATURE] = rows[i, GAP], rows[i, FEATURE]
    put_vector(slots, p, k, SLOT_NOW_A, core_a)
    put_vector(slots, p, k, SLOT_NOW_B, core_b)
    put_vector(slots, p, k, SLOT_NOW_NORMAL, n)


@shared(fastmath=STEADY)
def write_slots(
    p: int, count: int, pairs: Pairs, collision_shapes: CollisionShapeArrays, poses: Poses, rows: Rows
) -> None:
    """Store the rows of a manifold as slots of pair p, sorted by feature.

    Args:
        p: The pair.
        count: Points found.
        pairs: The pairs.
        collision_shapes: The collision shapes.
        poses: Poses of the frames.
        rows: The points.
    """
    f, e = collision_shapes.frame[pairs.collision_shapes[p, 0]], collision_shapes.frame[pairs.collision_shapes[p, 1]]
    for i in range(count):
        rank = 0
        for j in range(count):
            mine, other = rows[i, FEATURE], rows[j, FEATURE]
            rank += 1 if other < mine or (other == mine and j < i) else 0
        write_slot(p, rank, f, e, poses, pairs.slots, rows, i)
    pairs.count[p] = count
    pairs.found_pose[p] = pairs.pose[p]


@steady
def is_empty(pairs, p):
    """Whether a pair is known to have no points: they need not be sought before its gap is as small as `margin`.

    That a search would find none does not depend on when the last one was. Points of a mesh are those that were tried.
    """
    return pairs.count[p] == 0 and pairs.kind[p] != MESHES


@kernel(fastmath=STEADY)
def update_pair(
    p,
    pairs: Pairs,
    collision_shapes: CollisionShapeArrays,
    frames: Frames,
    poses: Poses,
    margins: FrameMargins,
    fall: float,
    h: float,
):
    """Update the points of a pair if its relative pose has changed little; else mark it for the narrow phase.

    Those of two frames that are not active are found once: they depend on the poses alone.

    Args:
        p: The pair.
        pairs: The pairs.
        collision_shapes: The collision shapes.
        frames: The frames.
        poses: Poses of the frames.
        margins: Velocities of the frames.
        fall: Speed that gravity adds in a substep [m/s].
        h: Substep [s].
    """
    a, b = pairs.collision_shapes[p]
    f, e = collision_shapes.frame[a], collision_shapes.frame[b]
    frozen = not (frames.active[f] or frames.active[e])
    if frozen and pairs.frozen[p]:
        pairs.renew[p] = False
        return
    pairs.frozen[p] = frozen
    reach = reach_of(a, b, f, e, collision_shapes, frames, margins, fall, h)
    now = relative_pose(f, e, poses, frames)
    mesh = pairs.kind[p] == MESHES
    most_turn = MOST_MESH_TURN if mesh else np.float64(MOST_TURN)
    bound = (MOST_MESH_SLIDE if mesh else np.float64(MOST_SLIDE)) * min(
        collision_shapes.size[a], collision_shapes.size[b]
    )
    travelled, angle = pose_change(now, pairs.found_pose[p])
    travelled += angle * collision_shapes.radius[a]
    if is_empty(pairs, p):
        good = travelled + (reach + bound) <= pairs.margin[p]
    else:
        good = (
            not frozen
            and pairs.valid[p]
            and angle <= most_turn
            and travelled <= bound
            and travelled + reach <= pairs.margin[p]
        )
    pairs.renew[p], pairs.reach[p], pairs.pose[p] = not good, reach, now
    if good:
        for k in range(pairs.count[p]):
            update_point(p, f, e, poses, pairs.slots, k)
    else:
        pairs.margin[p] = reach + bound


@kernel(fastmath=STEADY)
def mark_active_points(p, pairs: Pairs, shapes: Shapes):
    """Mark the points whose gap is below the reach."""
    mask, least = 0, np.inf
    for k in range(pairs.count[p]):
        gap = pairs.slots[p, k, SLOT_GAP]
        mask |= (1 if gap < pairs.reach[p] else 0) << k
        least = min(least, gap)
    pairs.least_gap[p] = least
    pairs.changed[p] = pairs.renew[p] or mask != pairs.mask[p]
    pairs.mask[p] = mask
    if pairs.renew[p]:
        a, b = pairs.collision_shapes[p]
        if pairs.kind[p] == MESHES:
            pairs.valid[p] = shapes.angular[a] and shapes.angular[b]
        else:
            # between two edges the normal turns with b: its gap is wrong by the turn times the slide
            pairs.valid[p] = shapes.flat[a] and shapes.flat[b]


def _finder(wanted: int, manifold: Any, name: str, room: int = ROOM) -> Any:
    """Kernel that finds the points of the pairs of a kind, with a table of so many rows."""

    def find(p, pairs: Pairs, collision_shapes: CollisionShapeArrays, shapes: Shapes, frame_poses: Poses, poses: Poses):
        """Points of a pair of the kind."""
        if pairs.renew[p] and pairs.kind[p] == wanted:
            a, b = pairs.collision_shapes[p]
            rows = scratch((room, WIDTH), pairs.margin[p])
            swapped = shapes.kind[a] > shapes.kind[b]
            first, second = (b, a) if swapped else (a, b)
            count = manifold(shapes, poses, first, second, pairs.margin[p], rows)
            if count == 0:
                pairs.margin[p] = max(pairs.margin[p], rows[0, GAP])
            if swapped:
                mirror(rows, count)
            write_slots(p, count, pairs, collision_shapes, frame_poses, rows)

    find.__name__ = name
    return kernel(find, fastmath=STEADY)


FINDERS = {
    PLANES: _finder(PLANES, plane_manifold, "find_plane_points"),
    BALLS: _finder(BALLS, ball_manifold, "find_ball_points"),
    CAPSULES: _finder(CAPSULES, capsules_manifold, "find_capsule_points"),
    BOXES: _finder(BOXES, boxes_manifold, "find_box_points", SMALL_ROOM),
    CONVEX: _finder(CONVEX, convex_manifold, "find_convex_points"),
}
PLANES_WITHOUT_HULLS = _finder(PLANES, plane_manifold, "find_plane_points", SMALL_ROOM)


def finder(kind: int, kinds: Iterable[int]) -> Any:
    """Kernel that finds the points of the pairs of a kind in a scene with some kinds of shapes."""
    if kind == PLANES and all(each.common for each in types_of_kinds(kinds)):
        return PLANES_WITHOUT_HULLS
    return for_kinds(FINDERS[kind], kinds)


"""Kernels by the kind of pair; that of meshes is in `mesh_pairs`."""
