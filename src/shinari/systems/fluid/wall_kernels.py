"""Walls of a fluid as planes near its particles: found once a substep, looked up in every iteration.

A plane is kept in the axes of its solid, so it moves with it. Where the shares of several planes overlap, behind an
edge or a corner, what is behind two of them counts once: all of the smaller share for parallel walls, none for opposite
ones, about the product for walls at a right angle, and in between in proportion to the cosine.
"""

import numpy as np

from shinari.compute import Field, Kernel, Record, function, kernel, real
from shinari.compute.kernels import STEADY
from shinari.compute.once import once
from shinari.compute.scan import Offsets
from shinari.maths.poses import rotate_vector, to_local
from shinari.maths.vec3 import ZERO, add, dot, norm, scale, sub
from shinari.shapes.box import BOX, CONTAINER
from shinari.shapes.kernels.all_distances import distances
from shinari.shapes.kernels.mesh_distance import MeshFields
from shinari.shapes.plane import PLANE
from shinari.shapes.registry import LAST_CONVEX
from shinari.systems.colliders.detection import least_gap
from shinari.systems.colliders.records import Poses
from shinari.systems.fluid.records import FluidParticles, Impulses, Log, Solve

ONE, TWO, THREE, HALF = np.float32(1.0), np.float32(2.0), np.float32(3.0), np.float32(0.5)
# A margin above rounding: whether a particle is listed must not depend on its chunk.
SLACK, WIDER = np.float32(0.01), np.float32(1.01)
# Part of the distance to meshes that a particle may go before it is compared with them again.
SAFE = np.float32(0.99)
# Planes of a mesh whose normals are closer than this, as a cosine, are one.
SAME = np.float32(0.9)
# A wall across the plane of a fluid in two dimensions has a normal along it, not more than this along z.
ACROSS = np.float32(0.7)

# Particles that are looked at together first.
CHUNK = 32


class WallSolids(Record):
    """Colliders, then pieces of bodies, K rows."""

    kind = Field(np.int64)
    size = Field(real, 4)
    low = Field(real, 3, unit="m", doc="low corner in its axes")
    high = Field(real, 3, unit="m")
    pose = Field(real, 12, doc="matrix and position relative to the origin of the fluids, now")
    found_pose = Field(real, 12, doc="pose when the planes were listed")
    radius = Field(real, unit="m", doc="distance of its farthest point from its origin; infinite where it has no end")
    counted = Field(np.uint8, doc="whether it counts by its distance")
    still = Field(np.uint8, doc="whether it is a mesh that does not move")
    owner = Field(np.int64, doc="collider, or number of colliders plus body")
    frame = Field(np.int64, doc="frame of the body that it is a piece of, or -1")
    place = Field(np.float64, 12, doc="matrix and position in that frame")


class Passes(Record):
    """Which solids each fluid passes through: row fluid times solids plus solid."""

    ignored = Field(np.uint8)


class Clearances(Record):
    """One row for each member, or none: what is known of its distance from meshes that do not move."""

    value = Field(real, 4, unit="m", doc="where it was compared with them, and how far it was out of their reach")


class Items(Record):
    """Particles near solids."""

    place = Field(np.uint32, doc="row of `FluidParticles`")
    particle = Field(np.uint32, doc="particle in solver order")
    first = Field(np.uint32, doc="its first plane")
    count = Field(np.uint32, doc="planes near it; after counting at least so many")


class Planes(Record):
    """Planes near the particles, one item after the other."""

    solid = Field(np.uint32)
    plane = Field(real, 6, doc="normal, offset [m], thickness [m], part of the half space that is solid; in its axes")
    part = Field(real, 6, doc="pull on its particle [1/m] (3), share, size of the gradient [1/m], pull")
    impulse = Field(np.float64, 3, unit="N s", doc="impulse on the particle in this step")


class WallLists(Record):
    """One row: the lists of planes, and constants."""

    stale = Field(np.int64, doc="whether the planes have to be listed anew")
    detections = Field(np.int64, doc="`Solve.detections` of the lists")
    items = Field(np.int64, doc="particles near solids")
    room = Field(np.int64, doc="rows of `Planes`")
    counted = Field(np.int64, doc="whether the planes have been counted: they are written next")
    chunks = Field(np.int64, doc="chunks of particles")
    reach = Field(real, unit="m", doc="distance up to which a wall is seen")
    support = Field(real, unit="m", doc="distance at which the smoothing kernels end")
    overlap = Field(real, doc="see `wall_table.overlap_factor`")
    allowed = Field(real, unit="m", doc="how far a solid may go before the planes are listed anew")
    flat = Field(np.int64, doc="whether the fluid has two dimensions")


class Halfspace(Record):
    """What a plane wall contributes, see `shinari.systems.fluid.wall_table`; one row for each distance."""

    share = Field(real, doc="part of the relative density")
    push = Field(real, unit="1/m", doc="size of its gradient")


@function(fastmath=STEADY)
def look_up(column, count, d, support):
    """Entry of a column of the table at a distance, linearly between rows."""
    last = count - 1
    # in this order what is no number becomes the lower end
    at = min(ONE, max(ZERO, (d + support) / (TWO * support))) * np.float32(last)
    k = min(np.int64(at), last - 1)
    return column[k] + (at - np.float32(k)) * (column[k + 1] - column[k])


@kernel
def place_collider(k, walls: WallSolids, poses: Poses, first: np.int64):
    """Bring a collider to its pose; those relative to the origin of the fluids begin at the row `first`."""
    walls.pose[k] = poses.after[first + k]


@kernel(fastmath=STEADY)
def check_solids(_, walls: WallSolids, lists: WallLists, solve: Solve):
    """Ask for new lists when a point of a solid has gone too far, or the particles are in another order."""
    allowed = lists.allowed[0]
    if lists.detections[0] != solve.detections[0]:
        lists.stale[0] = 1
    for k in range(len(walls)):
        turned = ZERO * allowed
        for c in range(9):
            turned = max(turned, abs(walls.pose[k, c] - walls.found_pose[k, c]))
        m, n = walls.pose[k], walls.found_pose[k]
        far = norm((m[9] - n[9], m[10] - n[10], m[11] - n[11]))
        # what does not turn may have no end
        far += THREE * turned * walls.radius[k] if turned > ZERO else ZERO * turned
        if not far <= allowed:
            lists.stale[0] = 1


@kernel
def count_chunks(_, lists: WallLists, solve: Solve):
    """How many chunks there are."""
    lists.chunks[0] = (solve.count[0] + CHUNK - 1) // CHUNK


@kernel(fastmath=STEADY)
def mark_chunk(
    c, fluid: FluidParticles, walls: WallSolids, passes: Passes, marks: Offsets, lists: WallLists, solve: Solve
):
    """Mark the particles of a chunk that may be near a solid; consecutive particles lie together."""
    first, reach = c * CHUNK, lists.reach[0]
    last = min(first + CHUNK, solve.count[0])
    x = fluid.x[first]
    low, high = (x[0], x[1], x[2]), (x[0], x[1], x[2])
    for i in range(first, last):
        x = fluid.x[i]
        low = min(low[0], x[0]), min(low[1], x[1]), min(low[2], x[2])
        high = max(high[0], x[0]), max(high[1], x[1]), max(high[2], x[2])
        marks.start[i] = 0
    half = scale(sub(high, low), HALF)
    middle, bound = add(low, half), reach + WIDER * norm(half) + SLACK * reach
    for k in range(len(walls)):
        if walls.counted[k] != 0:
            pose, size, kind = walls.pose[k], walls.size[k], walls.kind[k]
            if least_gap(kind, to_local(pose, middle), size, walls.low, walls.high, k) <= bound:
                for i in range(first, last):
                    gap = least_gap(kind, to_local(pose, fluid.x[i]), size, walls.low, walls.high, k)
                    if gap <= reach and passes.ignored[fluid.phase[i] * len(walls) + k] == 0:
                        marks.start[i] = 1


@kernel
def list_item(i, items: Items, marks: Offsets, fluid: FluidParticles):
    """Put a marked particle into the list of items."""
    at = marks.start[i]
    if marks.start[i + 1] != at:
        items.place[at], items.particle[at] = i, fluid.particle[i]


@kernel
def begin_lists(_, walls: WallSolids, lists: WallLists, solve: Solve, marks: Offsets):
    """The items are known: their planes are to be counted."""
    lists.items[0] = marks.start[solve.count[0]]
    lists.stale[0], lists.detections[0], lists.counted[0] = 0, solve.detections[0], 0
    for k in range(len(walls)):
        walls.found_pose[k] = walls.pose[k]


@kernel(in_order=True)
def place_planes(_, items: Items, lists: WallLists):
    """Where the planes of each item begin."""
    total = 0
    for p in range(lists.items[0]):
        items.first[p] = total
        total += np.int64(items.count[p])
    lists.room[0], lists.counted[0] = total, 1


@function
def planes_of(items, p):
    """First plane of an item, and the end of its planes."""
    first = np.int64(items.first[p])
    return first, first + np.int64(items.count[p])


@function(fastmath=STEADY)
def keep(place, count, planes, k, n, offset, thick, cover, pose, flat):
    """Write a plane where there is room, `place`: first row and rows; returns how many there are then, room or not."""
    if flat != 0 and abs(rotate_vector(pose, n)[2]) > ACROSS:
        return count
    if count < place[1]:
        e = place[0] + count
        planes.solid[e] = k
        planes.plane[e] = n[0], n[1], n[2], offset, thick, cover
    return count + 1


@function(fastmath=STEADY)
def container_planes(place, count, planes, k, q, s, pose, reach, flat):
    """The faces of a container near a point; returns how many planes the item has then."""
    far = TWO * (s[0] + s[1] + s[2])
    for face in range(6):
        axis = face // 2
        up = ONE if face % 2 == 0 else -ONE
        at = q[0] if axis == 0 else (q[1] if axis == 1 else q[2])
        half = s[0] if axis == 0 else (s[1] if axis == 1 else s[2])
        if half - up * at <= reach:
            n = (-up if axis == 0 else ZERO, -up if axis == 1 else ZERO, -up if axis == 2 else ZERO)
            count = keep(place, count, planes, k, n, -half, far, ONE, pose, flat)
    return count


@function(fastmath=STEADY)
def box_share(table, q, s, support):
    """Part of the density that a box fills: of each axis the part between its two faces."""
    share = ONE + ZERO * q[0]
    rows = len(table)
    for axis in range(3):
        at = abs(q[0]) if axis == 0 else (abs(q[1]) if axis == 1 else abs(q[2]))
        half = s[0] if axis == 0 else (s[1] if axis == 1 else s[2])
        part = look_up(table.share, rows, at - half, support) - look_up(table.share, rows, at + half, support)
        share *= part / table.share[0] if axis < 2 else part
    return share


@function(fastmath=STEADY)
def box_cover(table, q, s, d, support):
    """Share of a box in the density, over that of the plane at its nearest point, at a distance d."""
    plain = look_up(table.share, len(table), d, support)
    return box_share(table, q, s, support) / plain if plain > ZERO else ONE + ZERO * d


@function(fastmath=STEADY)
def corner_planes(distance_and_normal, place, lists, count, planes, walls, k, q, n, fields, thick):
    """Further planes of a mesh near a point that lies in a hollow of it: seen from four points to the sides."""
    kind, s, pose = walls.kind[k], walls.size[k], walls.pose[k]
    reach, flat = lists.reach[0], lists.flat[0]
    first = count - 1
    most = max(abs(n[0]), max(abs(n[1]), abs(n[2])))
    aside = (ONE, ZERO, ZERO) if abs(n[0]) < most else (ZERO, ONE, ZERO)
    along = sub(aside, scale(n, dot(aside, n)))
    along = scale(along, ONE / np.sqrt(dot(along, along)))
    other = n[1] * along[2] - n[2] * along[1], n[2] * along[0] - n[0] * along[2], n[0] * along[1] - n[1] * along[0]
    for side in range(4):
        sideways = scale(along if side % 2 == 0 else other, reach if side < 2 else -reach)
        at = add(q, sideways)
        d, m = distance_and_normal(kind, at, s, fields)
        gap = d - dot(m, sideways)
        # beyond a convex edge the other plane lies above the point
        new = gap > ZERO and gap <= reach and d <= reach
        for e in range(max(first, 0), min(count, place[1])):
            o = planes.plane[place[0] + e]
            new = new and dot(m, (o[0], o[1], o[2])) < SAME
        if new:
            count = keep(place, count, planes, k, m, dot(m, at) - d, thick, ONE, pose, flat)
    return count


@function(fastmath=STEADY)
def is_clear(m, x, clearances):
    """Whether a particle is still so near to where it was last looked at that no mesh that stands still is near."""
    if len(clearances) == 0:
        return False
    far = clearances.value[m]
    sideways = sub(x, far)
    return dot(sideways, sideways) < far[3] * abs(far[3])


@once
def find_planes(hollow: bool) -> Kernel:
    """Kernel that lists the planes near an item, with or without hollow solids; first it only counts them."""
    distance_and_normal = distances(hollow)

    @kernel(fastmath=STEADY)
    def list_planes(
        p, items: Items, planes: Planes, lists: WallLists, fluid: FluidParticles, walls: WallSolids, passes: Passes,
        clearances: Clearances, fields: MeshFields, table: Halfspace
    ):  # fmt: skip
        i, (first, last) = np.int64(items.place[p]), planes_of(items, p)
        place = (first, last - first) if lists.counted[0] != 0 else (0, 0)
        reach, support, flat = lists.reach[0], lists.support[0], lists.flat[0]
        m, x = fluid.member[i], fluid.x[i]
        for e in range(place[0], place[0] + place[1]):
            planes.impulse[e] = 0.0, 0.0, 0.0
        # what was far from the meshes that do not move is looked at again only when it has gone as far
        clear, room = is_clear(m, x, clearances), TWO * support
        count = 0
        for k in range(len(walls)):
            still = walls.still[k] != 0
            if walls.counted[k] == 0 or passes.ignored[fluid.phase[i] * len(walls) + k] != 0 or (clear and still):
                continue
            pose, s, kind = walls.pose[k], walls.size[k], walls.kind[k]
            q = to_local(pose, x)
            gap = least_gap(kind, q, s, walls.low, walls.high, k)
            if gap > reach:
                room = min(room, gap - reach) if still else room
                continue
            if kind == CONTAINER:
                count = container_planes(place, count, planes, k, q, s, pose, reach, flat)
                continue
            d, n = distance_and_normal(kind, q, s, fields)
            room = min(room, d - reach) if still else room
            if d > reach:
                continue
            thick, cover = TWO * support, ONE + ZERO * d
            if kind == BOX:
                cover = box_cover(table, q, s, d, support)
            elif kind > PLANE:
                # how deep the solid is behind its surface, from the distance of a point below it
                behind = distance_and_normal(kind, sub(q, scale(n, d + support)), s, fields)[0]
                thick = max(support - behind, ZERO)
            count = keep(place, count, planes, k, n, dot(n, q) - d, thick, min(cover, ONE), pose, flat)
            if hollow and kind > LAST_CONVEX:
                count = corner_planes(distance_and_normal, place, lists, count, planes, walls, k, q, n, fields, thick)
        items.count[p] = count
        if len(clearances) > 0 and not clear:
            clearances.value[m] = x[0], x[1], x[2], SAFE * room

    return list_planes


@function(fastmath=STEADY)
def common_share(a, b, cosine, overlap):
    """What the shares of two walls have in common."""
    square = overlap * a * b
    if cosine > ZERO:
        return (ONE - cosine) * square + cosine * min(a, b)
    return max(ONE + cosine, ZERO) * square


@kernel(fastmath=STEADY)
def add_planes(
    p, items: Items, planes: Planes, lists: WallLists, fluid: FluidParticles, walls: WallSolids, table: Halfspace
):
    """Add the walls near a particle to its density and gradient."""
    i, rows = np.int64(items.place[p]), len(table)
    support, overlap = lists.support[0], lists.overlap[0]
    first, last = planes_of(items, p)
    x = fluid.x[i]
    for e in range(first, last):
        pose, plane = walls.pose[planes.solid[e]], planes.plane[e]
        local = plane[0], plane[1], plane[2]
        d = dot(local, to_local(pose, x)) - plane[3]
        beyond = d + plane[4]
        share = plane[5] * (look_up(table.share, rows, d, support) - look_up(table.share, rows, beyond, support))
        push = plane[5] * (look_up(table.push, rows, d, support) - look_up(table.push, rows, beyond, support))
        n = rotate_vector(pose, local)
        planes.part[e] = n[0], n[1], n[2], share, push, ZERO * push
    total = ZERO * support
    for e in range(first, last):
        alone, seen = ONE + ZERO * support, ONE + ZERO * support
        n = planes.part[e]
        for o in range(first, last):
            if o != e and n[3] > ZERO:
                other = planes.part[o]
                part = max(ONE - common_share(n[3], other[3], dot(n, other), overlap) / n[3], ZERO)
                seen *= part
                alone *= part if o < e else ONE
        total += n[3] * alone
        planes.part[e, 5] = -n[4] * seen
    pull = fluid.gradient[i]
    for e in range(first, last):
        n = planes.part[e]
        part = scale(n, n[5])
        planes.part[e] = part[0], part[1], part[2], n[3], n[4], n[5]
        pull = add(pull, part)
    fluid.gradient[i] = pull
    fluid.density[i] += total


@kernel(mixed=True)
def add_impulses(p, items: Items, planes: Planes, fluid: FluidParticles, rate: np.float64):
    """Add the impulses of the walls on a particle by the last change of its multiplier."""
    change = -np.float64(fluid.x[items.place[p], 3]) * rate
    first, last = planes_of(items, p)
    for e in range(first, last):
        part, impulse = planes.part[e], planes.impulse[e]
        planes.impulse[e] = impulse[0] + change * part[0], impulse[1] + change * part[1], impulse[2] + change * part[2]


@function
def has_impulse(impulse):
    """Whether there was an impulse."""
    return impulse[0] != 0.0 or impulse[1] != 0.0 or impulse[2] != 0.0


@kernel
def count_impulses(_, items: Items, planes: Planes, lists: WallLists, log: Log):
    """How many planes have pushed, beside what is in the log."""
    total = log.count[0]
    for p in range(lists.items[0]):
        first, last = planes_of(items, p)
        for e in range(first, last):
            total += 1 if has_impulse(planes.impulse[e]) else 0
    log.room[0] = total


@kernel(fastmath=STEADY, mixed=True)
def log_impulses(_, items: Items, planes: Planes, lists: WallLists, walls: WallSolids, log: Log, impulses: Impulses):
    """Put the impulses of the planes into the log, and forget the lists."""
    at = log.count[0]
    for p in range(lists.items[0]):
        first, last = planes_of(items, p)
        for e in range(first, last):
            if has_impulse(planes.impulse[e]):
                k = np.int64(planes.solid[e])
                n = rotate_vector(walls.pose[k], planes.plane[e])
                impulses.particle[at], impulses.other[at] = items.particle[p], walls.owner[k]
                impulses.normal[at] = np.float64(n[0]), np.float64(n[1]), np.float64(n[2])
                impulses.impulse[at] = planes.impulse[e]
                at += 1
    log.count[0], lists.items[0] = at, 0
