"""The points of a pair of collision shapes: found by the narrow phase, or kept from the last substep.

A pair stores its points in the axes of the frames, as a plane of one frame and a core point of the other: the normal
and the height of the plane in the axes of the frame whose face it is. The core point on the face is the projection of
the other one, so that both stay opposite; where on the face it is does not change the gap. While the relative pose of
the frames changes little, the points of two polytopes are kept; beyond `MOST_TURN` and `MOST_SLIDE` they are found
again, by the kernels of `finders`.
"""

import numpy as np

from shinari.collision.broad.pairs import first_from
from shinari.collision.narrow.convex import Shapes
from shinari.collision.narrow.pose_records import Poses
from shinari.collision.narrow.rows import (
    CORE_A,
    CORE_B,
    FEATURE,
    NORMAL,
    OF_A,
    RADIUS_A,
    RADIUS_B,
    Rows,
)
from shinari.compute import Field, Record, kernel, shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.poses import origin, rotate_vector, rotate_vector_back, to_local
from shinari.maths.quaternion import conjugate, multiply, rotation_rows
from shinari.maths.vec3 import ZERO, add, dot, norm, sub
from shinari.shapes.box import BOX
from shinari.shapes.capsule import CAPSULE
from shinari.shapes.mesh import MESH, MESH_SHEET
from shinari.shapes.plane import PLANE
from shinari.shapes.sphere import SPHERE
from shinari.systems.rigid.contact.collision_shapes import CollisionShapeArrays
from shinari.systems.rigid.contact.margins import SLACK, TWO, Detection, FrameMargins
from shinari.systems.rigid.contact.pair_points import (
    SLOT_NORMAL,
    SLOT_OFFSET,
    SLOT_POINT,
    SLOT_SIDE,
    PairPoints,
    approach_of,
    core_of_a,
    point_of_slot,
    put_vector,
    vector_at,
)
from shinari.systems.rigid.frames import Frames

# Relative rotation [rad] and displacement [sizes of the smaller shape] beyond which points are found again.
MOST_TURN = np.float32(0.01)
MOST_SLIDE = np.float32(0.01)
# Part of the bound of the approach of two frames up to which points are active that do not approach by themselves: what
# else acts may turn the motion along the surface against it.
ASIDE = 0.25
# The same for pairs with a mesh, whose faces are not flat.
MOST_MESH_TURN, MOST_MESH_SLIDE = 0.002, 0.001

# A key is the number of the pair, a * G + b, times this, plus the number of the feature.
FEATURES = 1 << 28

# Kinds of pairs, by the shapes of the two.
PLANES, BALLS, CAPSULES, BOXES, CONVEX, MESHES = range(6)


class Pairs(Record):
    """Candidate pairs of collision shapes with their points, K rows."""

    collision_shapes = Field(np.int32, 2, doc="collision shapes a < b; the pairs are sorted")
    kind = Field(np.int8, doc="kind of the pair, by the shapes")
    before = Field(np.int32, doc="its row in the list before; -1: it was not in it")
    valid = Field(np.bool_, doc="whether the points may be updated")
    current = Field(np.bool_, doc="whether the points are those of the last poses at which contacts were detected")
    fresh = Field(np.bool_, doc="whether they were found at these poses, so that they depend on nothing else")
    renew = Field(np.bool_, doc="whether the points are found again in this substep")
    begun = Field(
        np.bool_, doc="whether its points began in the first substep of a step, and their component has stood since"
    )
    direct = Field(np.bool_, doc="whether its points took part in a direct solution as the last one began")
    changed = Field(
        np.bool_, doc="whether the active points differ from those of the last substep, or were found again"
    )
    count = Field(np.int8, doc="points found")
    mask = Field(np.int32, doc="bits of the active points: those whose gap is below the reach")
    start = Field(np.int32, doc="first row in the table of points")
    rows = Field(np.int8, doc="rows in it")
    old_start = Field(np.int32, doc="first row in the table before")
    old_rows = Field(np.int8, doc="rows in it")
    found_pose = Field(
        np.float64, 7, doc="pose of a in the axes of b when the points were found: position [m], quaternion"
    )
    margin = Field(np.float64, unit="m", doc="largest gap up to which points were found; without points a gap it has")
    separation = Field(
        np.float32, 3, doc="of two hulls without points the direction from b to a of that gap, in the axes of b; or 0"
    )
    reach = Field(np.float64, unit="m", doc="largest gap up to which points are active")
    near = Field(np.float64, unit="m", doc="gap up to which they are, however they move")
    least_gap = Field(np.float64, unit="m", doc="least gap of its points; infinite without points")
    active = Field(
        np.int32, doc="the pairs with rows in the table, as many as `detection.active_pairs`, in their order"
    )
    sought = Field(np.int32, doc="the pairs that are renewed, as many as `detection.sought_pairs`, in their order")
    place = Field(np.int32, doc="first row of its points in `PairPoints`; -1: it has none")


class Points(Record):
    """Contact points between frames a and b; the first `detection.points[0]` rows are in use.

    Attributes:
        detection: State of contact detection, with the number of points.
    """

    frames = Field(np.int32, 2, doc="frames a and b")
    core = Field(np.float64, 3, unit="m", doc="core point of a in the axes of frame a; that of b is opposite to it")
    radius = Field(np.float64, 2, unit="m", doc="distance of the surface of a and of b from the core point")
    normal = Field(np.float64, 3, doc="unit vector from b to a at the start of the substep, world axes")
    gap = Field(np.float64, unit="m", doc="gap at the start of the substep")
    law = Field(
        np.float64,
        6,
        unit="1, 1, 1, m/N, m, m",
        doc="friction, static friction, restitution, compliance, rolling and torsional friction",
    )
    key = Field(np.int64, doc="unique, and the same for the same features in the next substep, ascending")
    force = Field(np.float64, 3, unit="N", doc="force on a in the last substep, world axes")
    collision_shapes = Field(np.int32, 2, doc="collision shapes a and b")

    def __init__(self, precision: type = np.float64, **arrays: np.ndarray) -> None:
        super().__init__(precision, **arrays)
        self.detection: Detection = Detection.zeros(1)

    @property
    def count(self) -> int:
        """Points, P."""
        return int(self.detection.points[0])


class Kept(Record):
    """Points of the pairs that remain while the list is rebuilt; fields as of `Pairs`."""

    valid = Field(np.bool_)
    current = Field(np.bool_)
    fresh = Field(np.bool_)
    count = Field(np.int8)
    mask = Field(np.int32)
    margin = Field(np.float64, unit="m")
    least_gap = Field(np.float64, unit="m")
    found_pose = Field(np.float64, 7)
    separation = Field(np.float32, 3)


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
def set_frame_pose(f, frames: Frames, margins: FrameMargins, poses: Poses):
    """Pose of a frame at the start of the substep; one that stands still has that of the last one."""
    if margins.still[f]:
        return
    m0, m1, m2 = rotation_rows(frames.q0[f])
    x = frames.x0[f]
    poses.pose[f] = m0[0], m0[1], m0[2], m1[0], m1[1], m1[2], m2[0], m2[1], m2[2], x[0], x[1], x[2]


@kernel(fastmath=STEADY)
def set_shape_pose(
    g, collision_shapes: CollisionShapeArrays, margins: FrameMargins, frame_poses: Poses, poses: Poses
):  # fmt: skip
    """Pose of a collision shape; that of a frame that stands still is as it was."""
    if not margins.still[collision_shapes.frame[g]]:
        poses.pose[g] = multiplied(frame_poses.pose[collision_shapes.frame[g]], collision_shapes.local[g])


@steady
def reach_of(a, b, f, e, collision_shapes, frames, margins, fall, h):
    """Largest gap [m] of points of shapes a and b, of frames f and e: a little more than twice their approach."""
    radius_a, radius_b = collision_shapes.radius[a], collision_shapes.radius[b]
    if radius_a != radius_b:
        # only the part of the larger one within reach of the other counts
        distance = norm(sub(frames.x0[f], frames.x0[e]))
        radius_a, radius_b = min(radius_a, distance + radius_b), min(radius_b, distance + radius_a)
    spin = norm(margins.angular_velocity[f]) * radius_a + norm(margins.angular_velocity[e]) * radius_b
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
def is_active(p, i, n, at, gap, f, e, pairs, stored, poses, margins, time):
    """Whether a point may close its gap in the substep; with no time only where it is near."""
    if gap < pairs.near[p]:
        return True
    if gap >= pairs.reach[p] or time == ZERO:
        return False
    return gap < pairs.near[p] + time * approach_of(stored.slots, i, n, at, f, e, poses, margins)


@steady
def mark_active(p, f, e, pairs, stored, poses, margins, time):
    """Mark the points that may close their gap in the substep."""
    mask, least = 0, np.inf
    for k in range(pairs.count[p]):
        i = pairs.place[p] + k
        n, at, gap = point_of_slot(stored.slots, i, f, e, poses)
        mask |= (1 if is_active(p, i, n, at, gap, f, e, pairs, stored, poses, margins, time) else 0) << k
        least = min(least, gap)
    pairs.least_gap[p], pairs.mask[p] = least, mask


@shared(fastmath=STEADY)
def place_points(
    p: int,
    collision_shapes: CollisionShapeArrays,
    pairs: Pairs,
    stored: PairPoints,
    poses: Poses,
    margins: FrameMargins,
    points: Points,
    time: float,
) -> int:
    """Write normals, gaps and core points of the rows of pair p, those of its active points; find its least gap.

    Compiled once: points that stay have the same bits as those that are written anew.

    Args:
        p: The pair.
        collision_shapes: The collision shapes.
        pairs: The pairs.
        stored: Their points.
        poses: Poses of the frames.
        margins: Their velocities.
        points: The points.
        time: Two substeps [s]; 0: the result is not asked for.

    Returns:
        Bits of the points that may close their gap in the substep.
    """
    f, e = collision_shapes.frame[pairs.collision_shapes[p, 0]], collision_shapes.frame[pairs.collision_shapes[p, 1]]
    mask, active, least, at = 0, pairs.mask[p], np.inf, pairs.start[p]
    slots, place = stored.slots, pairs.place[p]
    for k in range(pairs.count[p]):
        n, other, gap = point_of_slot(slots, place + k, f, e, poses)
        mask |= (1 if is_active(p, place + k, n, other, gap, f, e, pairs, stored, poses, margins, time) else 0) << k
        least = min(least, gap)
        if (active >> k) & 1:
            height = gap + points.radius[at, 0] + points.radius[at, 1]
            points.core[at] = core_of_a(slots, place + k, n, other, height, poses.pose[f])
            points.normal[at], points.gap[at] = n, gap
            at += 1
    pairs.least_gap[p] = least
    return mask


@steady
def write_slot(at, f, e, poses, stored, rows, i):
    """Store row i of a manifold as the point in row `at`."""
    side, slots = rows[i, OF_A], stored.slots
    own, other = (f, e) if side > ZERO else (e, f)
    core, face = (CORE_B, CORE_A) if side > ZERO else (CORE_A, CORE_B)
    n, pose = vector_at(rows, i, NORMAL), poses.pose[own]
    put_vector(slots, at, SLOT_POINT, to_local(poses.pose[other], vector_at(rows, i, core)))
    put_vector(slots, at, SLOT_NORMAL, rotate_vector_back(pose, n))
    # the plane is shifted by the radii, so that its distance from the core point is the gap
    radii = rows[i, RADIUS_A] + rows[i, RADIUS_B]
    offset = dot(n, sub(vector_at(rows, i, face), origin(pose)))
    slots[at, SLOT_OFFSET], slots[at, SLOT_SIDE] = offset - radii if side > ZERO else offset + radii, side
    stored.feature[at] = np.int32(rows[i, FEATURE])


@shared(fastmath=STEADY)
def write_slots(
    p: int,
    count: int,
    pairs: Pairs,
    stored: PairPoints,
    collision_shapes: CollisionShapeArrays,
    poses: Poses,
    margins: FrameMargins,
    time: float,
    rows: Rows,
) -> None:
    """Store the rows of a manifold as slots of pair p, sorted by feature, and mark those that are active.

    Args:
        p: The pair.
        count: Points found.
        pairs: The pairs.
        stored: Receives the points.
        collision_shapes: The collision shapes.
        poses: Poses of the frames.
        margins: Their velocities.
        time: Two substeps [s].
        rows: The points.
    """
    f, e = collision_shapes.frame[pairs.collision_shapes[p, 0]], collision_shapes.frame[pairs.collision_shapes[p, 1]]
    for i in range(count):
        rank = 0
        for j in range(count):
            mine, other = rows[i, FEATURE], rows[j, FEATURE]
            rank += 1 if other < mine or (other == mine and j < i) else 0
        write_slot(pairs.place[p] + rank, f, e, poses, stored, rows, i)
    pairs.count[p] = count
    mark_active(p, f, e, pairs, stored, poses, margins, time)


@steady
def rows_of_key(base, keys, count):
    """First row of a pair among the sorted keys of points, and the one after its last; `base` is its first key."""
    first = first_from(base, keys, 0, count)
    last = first
    while last < count and keys[last] < base + FEATURES:
        last += 1
    return first, last


@steady
def is_moved(pairs, p):
    """Whether a pair with rows in the table has other points than before that was rebuilt, or other rows in it."""
    return pairs.changed[p] or pairs.start[p] != pairs.old_start[p]


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
    stored: PairPoints,
    collision_shapes: CollisionShapeArrays,
    shapes: Shapes,
    frames: Frames,
    poses: Poses,
    margins: FrameMargins,
    points: Points,
    detection: Detection,
    fall: float,
    h: float,
):
    """Keep the points of a pair if its relative pose has changed little; else mark it for the narrow phase.

    Those of two frames that stand still since contacts were last detected stay as they are.

    Args:
        p: The pair.
        pairs: The pairs.
        stored: Their points.
        collision_shapes: The collision shapes.
        shapes: Whether their faces are flat.
        frames: The frames.
        poses: Poses of the frames.
        margins: Velocities of the frames, and which of them stand still.
        points: Receives the geometry of points that stay in the table.
        detection: Receives whether the points of a pair have changed.
        fall: Speed that gravity adds in a substep [m/s].
        h: Substep [s].
    """
    a, b = pairs.collision_shapes[p]
    f, e = collision_shapes.frame[a], collision_shapes.frame[b]
    if pairs.current[p] and margins.still[f] and margins.still[e]:
        pairs.renew[p] = pairs.changed[p] = False
        return
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
        if good:
            pairs.renew[p], pairs.changed[p], pairs.current[p], pairs.fresh[p] = False, False, True, False
            pairs.reach[p] = reach
            return
    else:
        good = pairs.valid[p] and angle <= most_turn and travelled <= bound and travelled + reach <= pairs.margin[p]
    pairs.renew[p], pairs.reach[p], changed = not good, reach, True
    # of what is fast for its size, or left its path, the direction may change within the substep
    least = SLACK * min(collision_shapes.size[a], collision_shapes.size[b]) + TWO * h * fall
    part = 1.0 if margins.swept[f] or margins.swept[e] else ASIDE
    pairs.near[p] = least + part * (reach - least)
    # a search for the points of a mesh prefers those that the pair had
    pairs.current[p], pairs.fresh[p] = True, not good and not (mesh and pairs.count[p] > 0)
    if good and detection.renew[0] != 0:
        # the rows of the table are those of the pairs before
        mark_active(p, f, e, pairs, stored, poses, margins, TWO * h)
    elif good:
        # where others are active than before, the table is rebuilt, and all are placed again
        mask = place_points(p, collision_shapes, pairs, stored, poses, margins, points, TWO * h)
        changed, pairs.mask[p] = mask != pairs.mask[p], mask
    else:
        pairs.margin[p], pairs.found_pose[p] = reach + bound, now
        # between two edges the normal turns with b: its gap is wrong by the turn times the slide
        pairs.valid[p] = shapes.angular[a] and shapes.angular[b] if mesh else shapes.flat[a] and shapes.flat[b]
    pairs.changed[p] = changed
    if changed:
        detection.changed[0] = 1
