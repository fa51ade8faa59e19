"""Candidates of each collision shape: those of larger numbers whose boxes overlap its own, along the paths of both.

The shapes of a leaf of the tree descend together: one descent finds the boxes that overlap any of theirs.
"""

import numpy as np

from shinari.collision.broad.pairs import first_from
from shinari.collision.narrow.pose_records import Poses
from shinari.compute import Field, Record, kernel, scratch, shared
from shinari.compute.kernels import STEADY
from shinari.compute.scan import Offsets
from shinari.geometry.boxes import LEAF, Boxes, Leaves, Nodes, Places, boxes_overlap
from shinari.maths.function import steady
from shinari.maths.poses import origin, rotate_vector
from shinari.maths.vec3 import ZERO, add, dot, scale, sub
from shinari.systems.rigid.contact.collision_shapes import CollisionShapeArrays
from shinari.systems.rigid.contact.margins import SLACK, Detection, FrameMargins
from shinari.systems.rigid.contact.oriented_boxes import StartBoxes, stay_apart
from shinari.systems.rigid.contact.pair_lists import Found
from shinari.systems.rigid.frames import Frames

# Candidates of a shape that are kept as they are counted; of one with more they are searched again.
FEW = 32
# Boxes that a leaf may meet, with room for those of one more leaf.
MET = 256
MET_ROOM = MET + LEAF


class SearchNodes(Nodes):
    """Nodes of the tree, and in which of them there is a box whose pairs are sought."""

    sought = Field(np.bool_)


class HalfSpaces(Record):
    """Half spaces: the unbounded collision shapes."""

    collision_shape = Field(np.int64)
    local = Field(np.float64, 4, unit="1, m", doc="outward normal and offset in the axes of its frame")
    normal = Field(np.float64, 3, doc="outward normal in the world")
    height = Field(np.float64, unit="m", doc="offset in the world")
    moving = Field(np.bool_)


class Ignored(Record):
    """For each frame, and once more, where its list begins; then the lists, frame by frame."""

    entry = Field(
        np.int64, doc="row of the first of a list; or a frame of a larger number that it never collides with, ascending"
    )

    @classmethod
    def of(cls, keys: np.ndarray, frames: int) -> "Ignored":
        """From sorted keys first * frames + second of pairs of frames."""
        starts = np.searchsorted(keys, np.arange(frames + 1) * frames) + frames + 1
        return cls(np.float64, entry=np.concatenate([starts, keys % frames]))


@steady
def may_collide(f, e, frames, ignored):
    """Whether two frames may collide."""
    low, high = min(f, e), max(f, e)
    free = f != e and (frames.inverse_mass[f] > ZERO or frames.inverse_mass[e] > ZERO)
    end = ignored.entry[low + 1]
    at = first_from(high, ignored.entry, ignored.entry[low], end)
    return free and (at == end or ignored.entry[at] != high)


@kernel(fastmath=STEADY)
def set_box(
    k,
    start_boxes: StartBoxes,
    boxes: Boxes,
    collision_shapes: CollisionShapeArrays,
    frames: Frames,
    margins: FrameMargins,
    poses: Poses,
    detection: Detection,
):
    """Write the boxes of a collision shape; along the axes of the world with its margin and the slack, and of its path.

    That of a frame that drifts is where it would have been at the first search of the step, so that all paths begin at
    the same time. Rotation enlarges that of a swept frame by `spin`, bounded by the ball around its origin.
    """
    g = start_boxes.collision_shape[k]
    f = collision_shapes.frame[g]
    if not margins.sought[f]:
        return
    pose, low, high, x = poses.pose[g], collision_shapes.low[g], collision_shapes.high[g], frames.x0[f]
    middle = 0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]), 0.5 * (low[2] + high[2])
    s = sub(high, middle)
    c = rotate_vector(pose, middle)
    wide = margins.margin[f] + (SLACK * collision_shapes.size[g] if frames.inverse_mass[f] > ZERO else 0.0)
    spin, radius = margins.spin[f], collision_shapes.radius[g]
    since = scale(margins.drift[f], detection.elapsed[0]) if margins.drifts[f] else (0.0, 0.0, 0.0)
    for i in range(3):
        ci = c[0] if i == 0 else (c[1] if i == 1 else c[2])
        ci += poses.pose[g, 9 + i]
        xi = x[0] if i == 0 else (x[1] if i == 1 else x[2])
        si = abs(poses.pose[g, 3 * i]) * s[0] + abs(poses.pose[g, 3 * i + 1]) * s[1]
        si += abs(poses.pose[g, 3 * i + 2]) * s[2]
        first, last = ci - si, ci + si
        if spin > ZERO:
            first, last = max(first - spin, xi - radius), min(last + spin, xi + radius)
        back = since[0] if i == 0 else (since[1] if i == 1 else since[2])
        first, last = first - back, last - back
        start_boxes.low[k, i], start_boxes.high[k, i] = first - wide, last + wide
        boxes.low[k, i] = first - wide + min(margins.path[f, i], 0.0)
        boxes.high[k, i] = last + wide + max(margins.path[f, i], 0.0)
    start_boxes.centre[k], start_boxes.half[k] = sub(add(c, origin(pose)), since), s
    start_boxes.axes[k] = pose[0], pose[1], pose[2], pose[3], pose[4], pose[5], pose[6], pose[7], pose[8]
    start_boxes.wide[k] = wide


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


@steady
def overlaps_on_path(k, other, f, e, start_boxes, margins):
    """Whether two boxes, of which the places overlap, are a pair that is sought, and meet along their paths."""
    if not (margins.sought[f] or margins.sought[e]):
        return False
    swept = margins.swept[f] or margins.swept[e]
    if not swept and stay_apart(k, other, f, e, start_boxes, margins):
        return False
    if swept == (margins.drifts[f] or margins.drifts[e]):
        # none has a path, or that of one begins with the substep and that of the other with the step
        return True
    return swept_boxes_overlap(k, other, start_boxes, margins.path[f], margins.path[e])


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
    ignored: Ignored,
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
    if not margins.sought[f]:
        return n
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


@kernel
def mark_leaf(
    leaf, nodes: SearchNodes, places: Places, leaves: Leaves, start_boxes: StartBoxes,
    collision_shapes: CollisionShapeArrays, margins: FrameMargins
):  # fmt: skip
    """Mark the node of a leaf in which there is a box whose pairs are sought."""
    sought = False
    for p in range(leaves.first[leaf], leaves.first[leaf + 1]):
        g = start_boxes.collision_shape[np.int64(places.box[p])]
        sought |= margins.sought[collision_shapes.frame[g]]
    nodes.sought[len(leaves) - 1 + leaf] = sought


@kernel
def mark_nodes(_, nodes: SearchNodes, leaves: np.int64):
    """Mark the nodes above them."""
    for n in range(leaves - 1, 0, -1):
        nodes.sought[n] = nodes.sought[2 * n] or nodes.sought[2 * n + 1]


@steady
def next_leaf(box, nodes, everywhere, count, stack, depth):
    """Go on down a tree of `count` leaves: the next one whose box overlaps, -1 without one; the depth of the stack.

    Only leaves with boxes whose pairs are sought, unless `everywhere`.
    """
    while depth > 0:
        depth -= 1
        node = stack[depth]
        if (everywhere or nodes.sought[node]) and boxes_overlap(box, nodes.box[node]):
            if node >= count:
                return node - count, depth
            stack[depth], stack[depth + 1] = 2 * node + 1, 2 * node
            depth += 2
    return -1, depth


@shared(fastmath=STEADY)
def find_box_overlaps(
    g: int,
    at: int,
    room: int,
    found: Found,
    start_boxes: StartBoxes,
    places: Places,
    leaves: Leaves,
    nodes: SearchNodes,
    collision_shapes: CollisionShapeArrays,
    frames: Frames,
    margins: FrameMargins,
    ignored: Ignored,
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
        ignored: Pairs of frames that never collide.

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
    stack, n, depth = scratch(64, 0), 0, 1
    stack[0] = 1
    while depth > 0:
        leaf, depth = next_leaf(box, nodes, margins.sought[f], len(leaves) - 1, stack, depth)
        if leaf < 0:
            break
        for p in range(leaves.first[leaf], leaves.first[leaf + 1]):
            other = np.int64(places.box[p])
            to = start_boxes.collision_shape[other]
            there = places.x0[p], places.y0[p], places.z0[p], places.x1[p], places.y1[p], places.z1[p]
            if to > g and boxes_overlap(box, there):
                e = collision_shapes.frame[to]
                if overlaps_on_path(k, other, f, e, start_boxes, margins) and may_collide(f, e, frames, ignored):
                    if n < room:
                        found.collision_shape[at + n] = to
                    n += 1
    return n


@kernel
def clear_count(g, offsets: Offsets, collision_shapes: CollisionShapeArrays):
    """A collision shape without an end has no candidates of its own."""
    if collision_shapes.box[g] < 0:
        offsets.start[g] = 0


@steady
def meet_leaf(leaf, places, leaves, nodes, start_boxes, near, rows):
    """Write the boxes that overlap that of a leaf, in the order of the tree, and their rows and collision shapes.

    Returns how many; more than MET where they are too many.
    """
    box, everywhere = nodes.box[len(leaves) - 1 + leaf], nodes.sought[len(leaves) - 1 + leaf]
    stack, met, depth = scratch(64, 0), 0, 1
    stack[0] = 1
    while depth > 0 and met <= MET:
        other, depth = next_leaf(box, nodes, everywhere, len(leaves) - 1, stack, depth)
        if other < 0:
            break
        for p in range(leaves.first[other], leaves.first[other + 1]):
            there = places.x0[p], places.y0[p], places.z0[p], places.x1[p], places.y1[p], places.z1[p]
            near[0, met], near[1, met], near[2, met], near[3, met], near[4, met], near[5, met] = there
            row = np.int64(places.box[p])
            rows[0, met], rows[1, met] = row, start_boxes.collision_shape[row]
            met += np.int64(boxes_overlap(box, there))
    return met


@kernel(fastmath=STEADY)
def count_candidates(
    leaf, offsets: Offsets, few: Found, start_boxes: StartBoxes, places: Places, leaves: Leaves, nodes: SearchNodes,
    collision_shapes: CollisionShapeArrays, frames: Frames, margins: FrameMargins, ignored: Ignored,
    half_spaces: HalfSpaces
):  # fmt: skip
    """Count the candidates of the collision shapes of a leaf, and list the first of each.

    One descent finds the boxes that overlap any of the leaf; where these are too many, each shape descends by itself.
    """
    near, rows, hits = scratch((6, MET_ROOM), nodes.box[0, 0]), scratch((2, MET_ROOM), 0), scratch(MET_ROOM, 0)
    met = meet_leaf(leaf, places, leaves, nodes, start_boxes, near, rows)
    for q in range(leaves.first[leaf], leaves.first[leaf + 1]):
        k = np.int64(places.box[q])
        g = start_boxes.collision_shape[k]
        f, n, at = collision_shapes.frame[g], 0, FEW * g
        box = places.x0[q], places.y0[q], places.z0[q], places.x1[q], places.y1[q], places.z1[q]
        # flags first: this loop becomes vector instructions
        for j in range(met if met <= MET else 0):
            there = near[0, j], near[1, j], near[2, j], near[3, j], near[4, j], near[5, j]
            hits[j] = np.int64(boxes_overlap(box, there) & (rows[1, j] > g))
        count = 0
        for j in range(met if met <= MET else 0):
            hit = hits[j]
            hits[count] = j
            count += hit
        for i in range(count):
            to = rows[1, hits[i]]
            e = collision_shapes.frame[to]
            if overlaps_on_path(k, rows[0, hits[i]], f, e, start_boxes, margins) and may_collide(f, e, frames, ignored):
                if n < FEW:
                    few.collision_shape[at + n] = to
                n += 1
        if met > MET:
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
    g, offsets: Offsets, found: Found, start_boxes: StartBoxes, places: Places, leaves: Leaves, nodes: SearchNodes,
    collision_shapes: CollisionShapeArrays, frames: Frames, margins: FrameMargins, ignored: Ignored,
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
