"""Walls of a fluid as planes near its particles: found once a substep, looked up in every iteration.

A plane is kept in the axes of its solid, so it moves with it. Where the shares of several planes overlap, behind an
edge or a corner, what is behind two of them counts once: all of the smaller share for parallel walls, none for opposite
ones, about the product for walls at a right angle, and in between in proportion to the cosine.
"""

import numba
import numpy as np

from shinari.contact.solid.collide import into, turn
from shinari.contact.solid.near import least_gap
from shinari.contact.solid.shapes import BOX, CONTAINER, MESH, PLANE
from shinari.maths.function import STEADY, steady
from shinari.maths.vec3 import ZERO, add, dot, scale, sub

f32 = np.float32
ONE, TWO, HALF = f32(1.0), f32(2.0), f32(0.5)
# Planes of a mesh whose normals are closer than this, as a cosine, are one.
SAME = f32(0.9)
# A wall across the plane of a fluid in two dimensions has a normal along it, not more than this along z.
ACROSS = f32(0.7)

# Particles that are looked at together first.
CHUNK = 32

PLANE_COLUMNS = 6
"""Columns of a plane: normal, offset [m], thickness [m], part of the half space that is solid; in the solid's axes."""

PUSH_COLUMNS = 6
"""Columns of what a plane contributes: normal, share, push, pull; in the end the pull, a vector, in the first three."""


@steady
def looked_up(table, row, d, support):
    """Entry of a table at a distance."""
    last = table.shape[1] - 1
    # in this order what is no number becomes the lower end
    at = min(ONE, max(ZERO, (d + support) / (TWO * support))) * f32(last)
    k = min(np.int64(at), last - 1)
    part = at - f32(k)
    return table[row, k] + part * (table[row, k + 1] - table[row, k])


@steady
def mark_near(
    begin, end, near, x, particles, owners, ignored, kinds, sizes, lows, highs, poses, which, reach
):  # fmt: skip
    """Mark the particles that may be near a solid.

    Args:
        begin: First particle.
        end: End of the particles.
        near: Filled, (n,) bool.
        x: Positions [m], (n, 4).
        particles: Particle of the solver at each place, (n,).
        owners: Thing of each particle of the solver, (N,).
        ignored: Which solids each thing passes through, (T, K) bool.
        kinds: Kind of each solid, (K,).
        sizes: Its numbers, (K, 4).
        lows: Low corners of the solids in their axes [m], (K, 3).
        highs: High corners.
        poses: Matrix and position of each, (K, 12).
        which: Solids that can be near at all, ascending.
        reach: Distance up to which a wall is seen [m].
    """
    close = np.empty(len(which), np.int64)
    for first in range(begin, end, CHUNK):
        last = min(first + CHUNK, end)
        count = solids_of_chunk(first, last, x, kinds, sizes, lows, highs, poses, which, reach, close)
        for i in range(first, last):
            found = False
            for c in range(count):
                k = close[c]
                q = into(poses[k], (x[i, 0], x[i, 1], x[i, 2]))
                found |= (
                    not ignored[owners[particles[i]], k] and least_gap(kinds[k], q, sizes[k], lows, highs, k) <= reach
                )
            near[i] = found


@steady
def solids_of_chunk(first, last, x, kinds, sizes, lows, highs, poses, which, reach, close):
    """List the solids that may be near one of consecutive particles, which lie together; returns how many."""
    low, high = (x[first, 0], x[first, 1], x[first, 2]), (x[first, 0], x[first, 1], x[first, 2])
    for i in range(first, last):
        low = (min(low[0], x[i, 0]), min(low[1], x[i, 1]), min(low[2], x[i, 2]))
        high = (max(high[0], x[i, 0]), max(high[1], x[i, 1]), max(high[2], x[i, 2]))
    half = scale(sub(high, low), HALF)
    # more than rounding: whether a particle is listed must not depend on its chunk
    radius = f32(1.01) * np.sqrt(dot(half, half)) + f32(0.01) * reach
    count = 0
    for c in range(len(which)):
        k = which[c]
        q = into(poses[k], add(low, half))
        if least_gap(kinds[k], q, sizes[k], lows, highs, k) <= reach + radius:
            close[count] = k
            count += 1
    return count


@steady
def find_planes(
    distance_and_normal, begin, end, items, slots, counts, solids, planes, x, particles, owners, ignored, kinds, sizes,
    fields, lows, highs, poses, which, still, far, table, support, reach, flat
):  # fmt: skip
    """List the planes near particles; a particle with more than there are slots only counts them.

    Item p is particle `items[p]`; `counts` (A,) says how many planes it has, which stand from p `slots` on in `solids`
    (A slots,) and `planes` (A slots, PLANE_COLUMNS). `fields` are the distance fields of meshes. `still` (K,) says
    which solids are meshes that do not move, and `far` (N, 4), which may have no rows, where a particle of the solver
    was when it was compared with them and how far it was out of their reach. `table` is that of
    `shinari.fluid.wall_table`, `flat` says that the fluid has two dimensions; the rest is as in `mark_near`.
    """
    for p in range(begin, end):
        i = np.int64(items[p])
        owner = particles[i]
        # what was far from the meshes that do not move is looked at again only when it has gone as far
        clear, room = False, TWO * support
        if len(far):
            way = sub((x[i, 0], x[i, 1], x[i, 2]), (far[owner, 0], far[owner, 1], far[owner, 2]))
            clear = dot(way, way) < far[owner, 3] * abs(far[owner, 3])
        count = 0
        for c in range(len(which)):
            k = which[c]
            pose, s = poses[k], sizes[k]
            if ignored[owners[owner], k] or (clear and still[k]):
                continue
            q = into(pose, (x[i, 0], x[i, 1], x[i, 2]))
            gap = least_gap(kinds[k], q, s, lows, highs, k)
            if gap > reach:
                room = min(room, gap - reach) if still[k] else room
                continue
            if kinds[k] == CONTAINER:
                count = container_planes(p, slots, count, solids, planes, k, q, s, pose, reach, flat)
                continue
            d, n = distance_and_normal(kinds[k], q, s, fields)
            room = min(room, d - reach) if still[k] else room
            if d > reach:
                continue
            thick, cover = TWO * support, ONE + ZERO * d
            if kinds[k] == BOX:
                plain = looked_up(table, 0, d, support)
                cover = box_share(table, q, s, support) / plain if plain > ZERO else cover
            elif kinds[k] > PLANE:
                # how deep the solid is behind its surface, from the distance of a point below it
                behind = distance_and_normal(kinds[k], sub(q, scale(n, d + support)), s, fields)[0]
                thick = max(support - behind, ZERO)
            count = keep(p, slots, count, solids, planes, k, n, dot(n, q) - d, thick, min(cover, ONE), pose, flat)
            if kinds[k] >= MESH:
                count = corner_planes(
                    distance_and_normal, p, slots, count, solids, planes, k, q, n, kinds[k], s, fields, thick, pose,
                    reach, flat
                )  # fmt: skip
        counts[p] = count
        if len(far) and not clear:
            far[owner, 0], far[owner, 1], far[owner, 2] = x[i, 0], x[i, 1], x[i, 2]
            far[owner, 3] = f32(0.99) * room


@steady
def container_planes(p, slots, count, solids, planes, k, q, s, pose, reach, flat):
    """The faces of a container near a point; returns how many planes the item has then."""
    far = TWO * (s[0] + s[1] + s[2])
    for face in range(6):
        axis = face // 2
        up = ONE if face % 2 == 0 else -ONE
        at = q[0] if axis == 0 else (q[1] if axis == 1 else q[2])
        if s[axis] - up * at <= reach:
            n = (-up if axis == 0 else ZERO, -up if axis == 1 else ZERO, -up if axis == 2 else ZERO)
            count = keep(p, slots, count, solids, planes, k, n, -s[axis], far, ONE, pose, flat)
    return count


@steady
def corner_planes(
    distance_and_normal, p, slots, count, solids, planes, k, q, n, kind, s, fields, thick, pose, reach, flat
):  # fmt: skip
    """Further planes of a mesh near a point that lies in a hollow of it: seen from four points to the sides."""
    first = count - 1
    most = max(abs(n[0]), max(abs(n[1]), abs(n[2])))
    aside = (ONE, ZERO, ZERO) if abs(n[0]) < most else (ZERO, ONE, ZERO)
    along = sub(aside, scale(n, dot(aside, n)))
    along = scale(along, ONE / np.sqrt(dot(along, along)))
    other = (
        n[1] * along[2] - n[2] * along[1], n[2] * along[0] - n[0] * along[2], n[0] * along[1] - n[1] * along[0]
    )  # fmt: skip
    for side in range(4):
        way = scale(along if side % 2 == 0 else other, reach if side < 2 else -reach)
        at = add(q, way)
        d, m = distance_and_normal(kind, at, s, fields)
        gap = d - dot(m, way)
        # beyond a convex edge the other plane lies above the point
        new = gap > ZERO and gap <= reach and d <= reach
        for e in range(max(first, 0), min(count, slots)):
            b = p * slots + e
            new = new and dot(m, (planes[b, 0], planes[b, 1], planes[b, 2])) < SAME
        if new:
            count = keep(p, slots, count, solids, planes, k, m, dot(m, at) - d, thick, ONE, pose, flat)
    return count


@steady
def keep(p, slots, count, solids, planes, k, n, offset, thick, cover, pose, flat):
    """Write a plane where there is room; returns how many the item has then, room or not."""
    if flat and abs(turn(pose, n)[2]) > ACROSS:
        return count
    if count < slots:
        e = p * slots + count
        solids[e] = k
        planes[e, 0], planes[e, 1], planes[e, 2] = n
        planes[e, 3], planes[e, 4], planes[e, 5] = offset, thick, cover
    return count + 1


@steady
def box_share(table, q, s, support):
    """Part of the density that a box fills: of each axis the part between its two faces."""
    share = ONE + ZERO * q[0]
    for axis in range(3):
        at = abs(q[0]) if axis == 0 else (abs(q[1]) if axis == 1 else abs(q[2]))
        part = looked_up(table, 0, at - s[axis], support) - looked_up(table, 0, at + s[axis], support)
        share *= part / table[0, 0] if axis < 2 else part
    return share


@steady
def gather_part(
    begin, end, items, slots, counts, solids, planes, pushes, poses, table, support, overlap, x, sums, pulls
):  # fmt: skip
    """Add what walls contribute to densities and pulls.

    Args:
        begin: First item.
        end: End of the items.
        items: Particles, (A,).
        slots: Planes that each has room for.
        counts: Planes of each, (A,).
        solids: Solid of each plane, (A slots,).
        planes: (A slots, PLANE_COLUMNS).
        pushes: Part of each plane in the pull of its particle [1/m], (A slots, PUSH_COLUMNS), first three; filled.
        poses: Matrix and position of each solid, (K, 12).
        table: See `shinari.fluid.wall_table`, (2, points).
        support: Distance at which the kernels end [m].
        overlap: See `shinari.fluid.wall_table.overlap_factor`.
        x: Positions [m], (n, 4).
        sums: Relative densities, (n,); added to.
        pulls: Gradients [1/m], (n, 3); added to.
    """
    for p in range(begin, end):
        i = np.int64(items[p])
        first, last = p * slots, p * slots + counts[p]
        total = ZERO * support
        for e in range(first, last):
            k = np.int64(solids[e])
            local = (planes[e, 0], planes[e, 1], planes[e, 2])
            d = dot(local, into(poses[k], (x[i, 0], x[i, 1], x[i, 2]))) - planes[e, 3]
            beyond = d + planes[e, 4]
            share = planes[e, 5] * (looked_up(table, 0, d, support) - looked_up(table, 0, beyond, support))
            push = planes[e, 5] * (looked_up(table, 1, d, support) - looked_up(table, 1, beyond, support))
            planes_now(pushes, e, turn(poses[k], local), share, push)
        for e in range(first, last):
            alone, seen = ONE + ZERO * support, ONE + ZERO * support
            share = pushes[e, 3]
            n = (pushes[e, 0], pushes[e, 1], pushes[e, 2])
            for o in range(first, last):
                if o != e and share > ZERO:
                    both = shared(share, pushes[o, 3], dot(n, (pushes[o, 0], pushes[o, 1], pushes[o, 2])), overlap)
                    part = max(ONE - both / share, ZERO)
                    seen *= part
                    alone *= part if o < e else ONE
            total += share * alone
            pushes[e, 5] = -pushes[e, 4] * seen
        for e in range(first, last):
            pull = pushes[e, 5]
            pushes[e, 0], pushes[e, 1], pushes[e, 2] = pull * pushes[e, 0], pull * pushes[e, 1], pull * pushes[e, 2]
            pulls[i, 0] += pushes[e, 0]
            pulls[i, 1] += pushes[e, 1]
            pulls[i, 2] += pushes[e, 2]
        sums[i] += total


@steady
def planes_now(pushes, e, n, share, push):
    """Write the normal, the share and the push of a plane."""
    pushes[e, 0], pushes[e, 1], pushes[e, 2] = n
    pushes[e, 3], pushes[e, 4] = share, push


@steady
def shared(a, b, cosine, overlap):
    """What the shares of two walls have in common."""
    square = overlap * a * b
    if cosine > ZERO:
        return (ONE - cosine) * square + cosine * min(a, b)
    return max(ONE + cosine, ZERO) * square


@numba.njit(parallel=True, cache=True, **STEADY)
def gather(
    threads, items, slots, counts, solids, planes, pushes, poses, table, support, overlap, x, sums, pulls
):  # fmt: skip
    """`gather_part` on so many threads."""
    count = len(items)
    for t in numba.prange(threads):
        gather_part(
            count * t // threads, count * (t + 1) // threads, items, slots, counts, solids, planes, pushes, poses,
            table, support, overlap, x, sums, pulls
        )  # fmt: skip


@numba.njit(cache=True, **STEADY)
def record(items, slots, counts, pushes, impulses, x, rate):
    """Add the impulses of the walls on the particles by the last change of their multipliers [N s], (A slots, 3)."""
    for p in range(len(items)):
        change = -np.float64(x[np.int64(items[p]), 3]) * rate
        for e in range(p * slots, p * slots + counts[p]):
            for c in range(3):
                impulses[e, c] += change * pushes[e, c]


@numba.njit(cache=True, **STEADY)
def pushing(slots, counts, impulses, found):
    """List the planes that pushed, ascending; returns how many."""
    total = 0
    for p in range(len(counts)):
        for e in range(p * slots, p * slots + counts[p]):
            if impulses[e, 0] != ZERO or impulses[e, 1] != ZERO or impulses[e, 2] != ZERO:
                found[total] = e
                total += 1
    return total
