"""Triangles and segments against bounded solids: the deepest point of each is a contact of its own.

A solid can press into a triangle between its vertices. The deepest point of the triangle is found by local optimisation
of the signed distance over it, as in Macklin et al. 2020, Local Optimization for Robust Signed Distance Field
Collision. Where the solid is locally a point, a line or a plane (a corner, an edge, a face; the centre of a ball, the
axis of a capsule), the step goes to the point of the triangle that is nearest to it, which is the deepest one as long
as the feature stays the same; so a few evaluations do.

The deepest point then is a particle: weights b, inverse mass sum w b^2, way and response as in
`shinari.contact.collide`. A segment is a triangle whose last two vertices are one.
"""

import numpy as np

from shinari.build.colouring import colour
from shinari.contact.collide import (
    TWO,
    into,
    law_of,
    move,
    out_of,
    place,
    recoil,
    record,
    remember,
    respond,
    start_of,
    turn,
    turn_back,
)
from shinari.contact.shapes import BOX, CAPSULE, CONE, CYLINDER, LAST_CONVEX, MESH, SPHERE
from shinari.maths.function import function
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, reciprocal, scale, sub
from shinari.model import Model
from shinari.scene.scene import Scene

LOOKS = 16
HALF, THIRD = np.float32(0.5), np.float32(1.0 / 3.0)
CLOSE, AT_VERTEX = np.float32(5e-3), np.float32(0.995)


def elements_of(scene: Scene, model: Model) -> tuple[np.ndarray, np.ndarray]:
    """Triangles of cloth and segments of ropes that keep a distance, in solver order, colour after colour.

    Returns:
        Particles, (E, 3) uint32, those of a segment with the last one twice; and where each colour starts, (C + 1,).
    """
    parts, start = [], 0
    for group in scene.groups:
        count = len(group.positions)
        if group.faces is not None and (group.radii > 0.0).any():
            parts.append(group.faces + start)
        elif group.kind == "rope" and (group.radii > 0.0).any():
            first = np.arange(start, start + count - 1)
            parts.append(np.stack([first, first + 1, first + 1], axis=1))
        start += count
    if not parts:
        return np.zeros((0, 3), np.uint32), np.zeros(1, np.int64)
    rows = model.slots[np.concatenate(parts)]
    order, offsets = colour(rows, model.particle_count, free=model.inverse_masses > 0.0)
    return np.ascontiguousarray(rows[order]), offsets


@function
def blend(weights, a, b, c):
    """Point of a triangle."""
    return add(scale(a, weights[0]), add(scale(b, weights[1]), scale(c, weights[2])))


@function
def nearest_weights(y, a, b, c):
    """Weights of the point of a triangle nearest to y; for a degenerate one it lies on an edge."""
    ap, ab, ac = sub(y, a), sub(b, a), sub(c, a)
    bb, cc, bc = dot(ab, ab), dot(ac, ac), dot(ab, ac)
    pb, pc = dot(ap, ab), dot(ap, ac)
    over = reciprocal(bb * cc - bc * bc)
    u, v = (cc * pb - bc * pc) * over, (bb * pc - bc * pb) * over
    r = min(max(pb * reciprocal(bb), ZERO), ONE)
    s = min(max(pc * reciprocal(cc), ZERO), ONE)
    t = min(max((bb - bc + pc - pb) * reciprocal(bb + cc - bc - bc), ZERO), ONE)
    on_ab, on_ac = sub(ap, scale(ab, r)), sub(ap, scale(ac, s))
    on_bc = sub(sub(ap, scale(ab, ONE - t)), scale(ac, t))
    d1, d2, d3 = dot(on_ab, on_ab), dot(on_ac, on_ac), dot(on_bc, on_bc)
    inside = over > ZERO and u >= ZERO and v >= ZERO and u + v <= ONE
    along_ab, along_ac = d1 <= d2 and d1 <= d3, d2 <= d3
    wb = u if inside else (r if along_ab else (ZERO if along_ac else ONE - t))
    wc = v if inside else (ZERO if along_ab else (s if along_ac else t))
    return ONE - wb - wc, wb, wc


@function
def lowest_weights(n, a, b, c):
    """Weights of the vertex that lies lowest along a normal."""
    da, db, dc = dot(n, a), dot(n, b), dot(n, c)
    first, second = da <= db and da <= dc, db <= dc
    return ONE if first else ZERO * da, ZERO * da if first or not second else ONE, ZERO * da if first or second else ONE


@function
def feature(kind, s, q, gap, n, size):
    """What the surface nearest to q is like: a point, a line along an axis or a plane.

    Returns:
        A point of it, 1 for each axis that counts (0 along a line), and whether it is a plane.
    """
    one, zero = ONE + ZERO * gap, ZERO * gap
    deep = gap + size if kind >= MESH else gap  # the middle of a ball as large as the triangle
    target, keep, flat = sub(q, scale(n, deep)), (one, one, one), False
    if kind == SPHERE:
        target = (zero, zero, zero)
    elif kind == CAPSULE:
        beyond = abs(q[1]) > s[1]
        target = (zero, s[1] if q[1] > ZERO else -s[1], zero)
        keep = (one, one if beyond else zero, one)
    elif kind == BOX:
        x, y, z = abs(q[0]) > s[0], abs(q[1]) > s[1], abs(q[2]) > s[2]
        keep = (one if x else zero, one if y else zero, one if z else zero)
        flat = keep[0] + keep[1] + keep[2] <= ONE
    elif kind in (CYLINDER, CONE):
        side = n[1] == ZERO if kind == CYLINDER else False
        flat = abs(n[1]) == ONE
        target = (zero, q[1], zero) if side else target
        keep = (one, zero if side else one, one)
        rho = np.sqrt(q[0] * q[0] + q[2] * q[2])
        slant = kind == CONE and abs(n[1] - s[3]) < CLOSE
        deep = rho / s[2] if slant else gap
        target = sub(q, scale(n, deep)) if slant else target
    return target, keep, flat


@function
def step_to(kind, s, q, gap, n, size, a, b, c):
    """Weights of the point of a triangle that is deepest if the solid is as it is nearest to q."""
    target, keep, flat = feature(kind, s, q, gap, n, size)
    ka = (keep[0] * a[0], keep[1] * a[1], keep[2] * a[2])
    kb = (keep[0] * b[0], keep[1] * b[1], keep[2] * b[2])
    kc = (keep[0] * c[0], keep[1] * c[1], keep[2] * c[2])
    near = nearest_weights((keep[0] * target[0], keep[1] * target[1], keep[2] * target[2]), ka, kb, kc)
    low = lowest_weights(n, a, b, c)
    return low if flat else near


@function
def deepest(distance_and_normal, kind, s, fields, start, radius, way, ends, begins):
    """Weights of the point that a solid meets first.

    Looks at the triangle at the end of the substep; where its way is longer than the distance at which it ends, it may
    have gone through, and the start is looked at instead.

    Args:
        distance_and_normal: The function of the shapes.
        kind: Kind of the solid.
        s: Its numbers.
        fields: Distance fields of meshes.
        start: Weights to start from.
        radius: Least distance that the triangle keeps [m].
        way: The longest way of its vertices [m].
        ends: Its three vertices at the end of the substep, in the frame of the solid.
        begins: The same at the start.

    Returns:
        Whether it may touch, a lower bound of its gap [m] at the end, the weights.
    """
    a, b, c = ends
    best, trial = start, start
    nothing = way - way
    gap = nothing
    size = max(norm(sub(b, a)), norm(sub(c, a))) * HALF
    stretch = size
    low = nothing
    touches, looks, fresh, late = True, 0, True, False
    while looks < LOOKS:
        looks += 1
        x = blend(trial, a, b, c)
        value, n = distance_and_normal(kind, x, s, fields)
        # a convex solid lies behind the plane that touches it: no point of the triangle is deeper than this
        dip = min(dot(n, sub(a, x)), min(dot(n, sub(b, x)), dot(n, sub(c, x))))
        if fresh and not late:
            low = value + (dip if kind <= LAST_CONVEX else -size - size) - radius
            if low >= way:
                touches = False
                break
        done = looks == LOOKS
        if fresh or value < gap:
            best, gap, fresh = trial, value, False
            done |= kind <= LAST_CONVEX and -dip <= CLOSE * (radius + CLOSE * size)
            trial = best if done else step_to(kind, s, x, value, n, stretch, a, b, c)
            stretch = stretch + stretch
        else:  # halfway back
            trial = (HALF * (trial[0] + best[0]), HALF * (trial[1] + best[1]), HALF * (trial[2] + best[2]))
            stretch = HALF * HALF * stretch
        moved = max(abs(trial[0] - best[0]), max(abs(trial[1] - best[1]), abs(trial[2] - best[2])))
        if done or moved < CLOSE:
            if late or gap > way:
                break
            a, b, c = begins
            trial, fresh, late, looks, stretch = best, True, True, 0, size
    return touches and (late or gap - radius < way), low, best


@function
def push_elements(
    distance_and_normal, begin, end, items, offsets, solids, memory, impulses, gone, ways, moves, elements, x,
    predicted, velocities, radii, owners, mine, groups, kinds, sizes, fields, theirs, before, after, first, h, speed
):  # fmt: skip
    """Keep the deepest points of listed elements out of the solids near them; arguments as of `push_particles`.

    `memory` keeps the weights of the point too, from which the next search in the same step starts.
    """
    rate = ONE / h
    for p in range(begin, end):
        e = np.int64(items[p])
        i0, i1, i2 = np.int64(elements[e, 0]), np.int64(elements[e, 1]), np.int64(elements[e, 2])
        g = groups[i0]
        for m in range(offsets[p], offsets[p + 1]):
            k = np.int64(solids[m])
            if first:
                memory[m, 0] = memory[m, 1] = memory[m, 2] = memory[m, 3] = ZERO
            far = max(gone[i0], max(gone[i1], gone[i2]))
            if far < memory[m, 11]:
                continue
            p0, p1 = before[g, k], after[g, k]
            ends = into(p1, place(x, i0)), into(p1, place(x, i1)), into(p1, place(x, i2))
            way = max(ways[i0], max(ways[i1], ways[i2]))
            begins = (
                into(p0, start_of(x, predicted, velocities, h, i0)),
                into(p0, start_of(x, predicted, velocities, h, i1)),
                into(p0, start_of(x, predicted, velocities, h, i2)),
            )
            if moves[k]:
                way = max(
                    norm(sub(ends[0], begins[0])), max(norm(sub(ends[1], begins[1])), norm(sub(ends[2], begins[2])))
                )
            kept = (memory[m, 8], memory[m, 9], memory[m, 10])
            least = min(radii[i0], min(radii[i1], radii[i2]))
            s = (sizes[k, 0], sizes[k, 1], sizes[k, 2], sizes[k, 3])
            near, gap, b = deepest(distance_and_normal, kinds[k], s, fields, kept, least, way, ends, begins)
            memory[m, 8], memory[m, 9], memory[m, 10] = b
            memory[m, 11] = -ONE if near or moves[k] else gap - far
            b0, b1, b2 = b[0], b[1] + b[2] if i1 == i2 else b[1], ZERO * b[2] if i1 == i2 else b[2]
            w = x[i0, 3] * b0 * b0 + x[i1, 3] * b1 * b1 + x[i2, 3] * b2 * b2
            # what touches at a vertex is left to the vertex
            if not near or max(b0, max(b1, b2)) > AT_VERTEX or w <= ZERO:
                continue
            law = law_of(mine, theirs, owners[i0], k)
            hold = turn_back(p1, (memory[m, 1], memory[m, 2], memory[m, 3]))
            reach = b0 * radii[i0] + b1 * radii[i1] + b2 * radii[i2]
            touches, correction, silent, n, push, hold, gap = respond(
                distance_and_normal, kinds[k], s, fields, blend(b, *begins), blend(b, *ends), reach, w, law,
                memory[m, 0], hold, rate * rate, h * speed
            )  # fmt: skip
            if not touches:
                continue
            remember(memory, m, push, turn(p1, hold), turn(p1, n), gap)
            correction, silent = turn(p1, correction), turn(p1, silent)
            record(impulses, m, sub(correction, silent), rate / w)
            share(gone, ways, x, predicted, velocities, i0, b0, w, correction, silent, rate)
            share(gone, ways, x, predicted, velocities, i1, b1, w, correction, silent, rate)
            share(gone, ways, x, predicted, velocities, i2, b2, w, correction, silent, rate)


@function
def share(gone, ways, x, predicted, velocities, i, b, w, correction, silent, rate):
    """Move a vertex by its share of the correction of a point; one that is fixed is not written."""
    if x[i, 3] > ZERO and b > ZERO:
        part = x[i, 3] * b / w
        stride = part * norm(correction)
        gone[i] += TWO * stride
        ways[i] += stride
        move(x, predicted, velocities, i, part, correction, silent, rate)


@function
def bounce_elements(
    begin, end, items, offsets, solids, memory, impulses, elements, x, velocities, starts, owners, mine, groups, theirs,
    before, after, gravity, weight, h
):  # fmt: skip
    """Restitution of listed elements; arguments as of `bounce_particles`."""
    pull = (gravity[0], gravity[1], gravity[2])
    for p in range(begin, end):
        e = np.int64(items[p])
        i0, i1, i2 = np.int64(elements[e, 0]), np.int64(elements[e, 1]), np.int64(elements[e, 2])
        g = groups[i0]
        for m in range(offsets[p], offsets[p + 1]):
            k = np.int64(solids[m])
            law = law_of(mine, theirs, owners[i0], k)
            b = (memory[m, 8], memory[m, 9], memory[m, 10])
            b0, b1, b2 = b[0], b[1] + b[2] if i1 == i2 else b[1], ZERO * b[2] if i1 == i2 else b[2]
            w = x[i0, 3] * b0 * b0 + x[i1, 3] * b1 * b1 + x[i2, 3] * b2 * b2
            if memory[m, 0] <= ZERO or law[2] <= ZERO or w <= ZERO:
                continue
            point = blend(b, place(x, i0), place(x, i1), place(x, i2))
            carried = scale(sub(point, out_of(before[g, k], into(after[g, k], point))), ONE / h)
            start = blend(b, place(starts, i0), place(starts, i1), place(starts, i2))
            now = blend(b, place(velocities, i0), place(velocities, i1), place(velocities, i2))
            n = (memory[m, 4], memory[m, 5], memory[m, 6])
            change = recoil(n, memory[m, 7], start, now, carried, law, pull, weight, h)
            record(impulses, m, change, ONE / w)
            kick(velocities, i0, x[i0, 3] * b0 / w, change)
            kick(velocities, i1, x[i1, 3] * b1 / w, change)
            kick(velocities, i2, x[i2, 3] * b2 / w, change)


@function
def kick(velocities, i, share, change):
    """Change the velocity of a vertex; one that is fixed is not written."""
    if share > ZERO:
        for c in range(3):
            velocities[i, c] += share * change[c]
