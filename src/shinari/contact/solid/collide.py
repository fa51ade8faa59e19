"""A point against a solid: stop at the surface, with Coulomb friction, compliance and restitution.

A point moves in a substep from a to b, both in the frame of the solid at the start and at the end, so that a moving
solid is a moving frame. Where b lies in the solid the point is put back to the surface; where the way from a to b
enters a bounded solid, to the plane that touches it where it was entered, so that nothing comes out on the far side.
What was inside already at the start comes out at a limited speed and gains no velocity by it.

The push along the normal adds up over the iterations of a substep, and so does what friction takes from the slip of the
substep: all of it while it stays below mu_s times the push, otherwise mu_k times the push (Macklin et al. 2014, Unified
Particle Physics, eq. 24). A contact with a compliance is an XPBD row C + alpha lambda / h^2 = 0, lambda >= 0 (Macklin
et al. 2016, eq. 18); it brings all of its velocity, since resting deep inside is what it is for.

The velocity of a contact goes into the velocities at once, and the prediction moves with the position: far from the
origin a position in single precision has no room for the mu g h^2 that friction takes in a substep.
"""

import numpy as np

from shinari.contact.solid.shapes import CONTAINER, LAST_CONVEX, LAST_UNBOUNDED
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, reciprocal, scale, sub

TRACES = 24
SAME_SIDE = np.float32(0.7)
TOUCH = np.float32(1e-3)
HALF, TWO = np.float32(0.5), np.float32(2.0)

# What a contact remembers: of a substep the push along the normal [m], what friction took [m] and the normal, both in
# world axes, and the gap at the start [m]; the weights of its point in an element; and how far the particle may have
# gone since the detection before it has to be looked at again [m].
MEMORY = 12


@steady
def turn(m, v):
    """Rotate by the matrix in the first nine numbers of a pose."""
    return (
        m[0] * v[0] + m[1] * v[1] + m[2] * v[2],
        m[3] * v[0] + m[4] * v[1] + m[5] * v[2],
        m[6] * v[0] + m[7] * v[1] + m[8] * v[2],
    )


@steady
def turn_back(m, v):
    """Rotate by the transpose."""
    return (
        m[0] * v[0] + m[3] * v[1] + m[6] * v[2],
        m[1] * v[0] + m[4] * v[1] + m[7] * v[2],
        m[2] * v[0] + m[5] * v[1] + m[8] * v[2],
    )


@steady
def into(m, v):
    """A point of the world in the frame of a pose."""
    return turn_back(m, (v[0] - m[9], v[1] - m[10], v[2] - m[11]))


@steady
def out_of(m, v):
    """A point in the frame of a pose in the world."""
    return add(turn(m, v), (m[9], m[10], m[11]))


@steady
def place(x, i):
    """Position of a particle."""
    return x[i, 0], x[i, 1], x[i, 2]


@steady
def start_of(x, predicted, velocities, h, i):
    """Where a particle was when the substep began."""
    return (
        x[i, 0] - (x[i, 0] - predicted[i, 0] + h * velocities[i, 0]),
        x[i, 1] - (x[i, 1] - predicted[i, 1] + h * velocities[i, 1]),
        x[i, 2] - (x[i, 2] - predicted[i, 2] + h * velocities[i, 2]),
    )


@steady
def touching_plane(distance_and_normal, kind, s, fields, a, b, radius, gap_b, normal_b):
    """Normal of the contact, depth of b below its plane (negative above it) and depth of a in the solid, at least 0.

    `gap_b` and `normal_b` are the distance of the particle's surface and the normal at b.
    """
    way = sub(b, a)
    length = norm(way)
    # march along the way, each time to the plane that touches the solid where it is nearest: a convex solid lies behind
    # it; one that is not convex is no nearer than its distance. What starts inside has entered where it is
    convex = kind <= LAST_CONVEX
    trace = kind > LAST_UNBOUNDED
    t = length - length
    gap_a, gap, n, hit = gap_b, gap_b, normal_b, b
    for k in range(TRACES):
        hit = add(a, scale(way, t * reciprocal(length)))
        value, n = distance_and_normal(kind, hit, s, fields)
        gap = value - radius
        gap_a = gap if k == 0 else gap_a
        if gap <= TOUCH * length or not trace:
            break
        closing = -dot(n, way)
        ahead = gap * length / closing if closing > ZERO else length
        t = t + (ahead if convex else gap)
        if t >= length:
            break
    # the same distance, compiled at two places, may differ by a rounding that would look like a push
    before = max(-gap_b if length == ZERO else -gap_a, ZERO)
    if not trace or t >= length or length == ZERO or (gap_b < ZERO and dot(n, normal_b) > SAME_SIDE):
        return normal_b, -gap_b, before
    return n, -dot(n, sub(b, hit)) - gap, before


@steady
def respond(distance_and_normal, kind, size, fields, a, b, reach, w, law, old_push, old_hold, ease, escape):
    """How a solid moves a point, all in the frame of the solid.

    Args:
        distance_and_normal: The function of the shapes.
        kind: Kind of the solid.
        size: Its numbers.
        fields: Distance fields of meshes.
        a: Point at the start of the substep.
        b: Point now.
        reach: Distance that it keeps [m].
        w: Its inverse mass [1/kg].
        law: Friction, static friction, restitution and compliance of the pair.
        old_push: Push along the normal so far in this substep [m].
        old_hold: What friction has moved so far in this substep [m].
        ease: 1 / h^2.
        escape: How far what was inside comes out at most [m].

    Returns:
        Whether it touches, correction, part of it that brings no velocity, normal, push and hold so far, and the gap at
        the start of the substep, or now when it does not touch.
    """
    zero = (b[0] - b[0], b[1] - b[1], b[2] - b[2])
    # a ball in a container is a point in a smaller one: its corners are as sharp
    margin = min(reach, min(size[0], min(size[1], size[2]))) if kind == CONTAINER else reach - reach
    s, radius = (size[0] - margin, size[1] - margin, size[2] - margin, size[3]), reach - margin
    value, normal = distance_and_normal(kind, b, s, fields)
    gap_b = value - radius
    way = sub(b, a)
    if gap_b >= norm(way):
        return False, zero, zero, zero, old_push, old_hold, gap_b
    n, depth, before = touching_plane(distance_and_normal, kind, s, fields, a, b, radius, gap_b, normal)
    if depth <= ZERO and old_push <= ZERO:
        return False, zero, zero, zero, old_push, old_hold, gap_b
    softness = law[3] * ease / w
    soft = softness > ZERO
    fresh = max(depth - before, ZERO)
    change = max((depth - softness * old_push) / (ONE + softness), -old_push) if soft else fresh
    out = ZERO * depth if soft else min(max(depth - fresh, ZERO), escape)
    push = old_push + change
    wanted = sub(old_hold, sub(way, scale(n, dot(n, way))))
    length = norm(wanted)
    sticks = length <= law[1] * push
    hold = scale(wanted, ONE if sticks else min(law[0] * push * reciprocal(length), ONE))
    correction = add(scale(n, change + out), sub(hold, old_hold))
    gap_a = max(dot(n, sub(a, b)) - depth, ZERO)
    return True, correction, scale(n, out), n, push, hold, gap_a


@steady
def combined(mine, theirs):
    """Coefficient of friction of a pair: the geometric mean, that of the other where one is negative."""
    both = np.sqrt(max(mine, ZERO) * max(theirs, ZERO))
    return max(theirs, ZERO) if mine < ZERO else (mine if theirs < ZERO else both)


@steady
def law_of(mine, theirs, t, k):
    """Friction, static friction, restitution and compliance of a thing and a solid."""
    return (
        combined(mine[t, 0], theirs[k, 0]),
        combined(mine[t, 1], theirs[k, 1]),
        max(mine[t, 2], theirs[k, 2]),
        mine[t, 3] + theirs[k, 3],
    )


@steady
def recoil(n, gap, start, now, carried, law, gravity, weight, h):
    """Change of velocity by restitution of a contact that pushed in this substep (Mueller et al. 2020, eq. 34).

    In free flight symplectic Euler keeps (v - g h / 2)^2 / 2 + g y exactly, v upward after a substep. The speed at the
    touch follows from that at the start of the substep, and the particle leaves the surface at e times that speed, both
    of them without the error that a velocity at the end of a substep has.

    Args:
        n: Normal.
        gap: Gap at the start of the substep [m].
        start: Velocity at the start of the substep [m/s].
        now: Velocity at its end [m/s].
        carried: Velocity of the solid there [m/s].
        law: Friction, static friction, restitution, compliance.
        gravity: Acceleration [m/s^2].
        weight: Its magnitude [m/s^2].
        h: Substep [s].
    """
    pull = -dot(n, gravity)
    kick = HALF * pull * h
    approach = dot(n, sub(start, carried)) - kick
    speed = np.sqrt(max(approach * approach + TWO * pull * gap, ZERO))
    slide = sub(now, carried)
    normal = dot(n, slide)
    bounces = approach < ZERO and speed > TWO * weight * h
    change = max(law[2] * speed + kick - normal, ZERO) if bounces else ZERO * speed
    along = sub(slide, scale(n, normal))
    length = norm(along)
    hold = ONE if length <= law[1] * change else min(law[0] * change * reciprocal(length), ONE)
    return sub(scale(n, change), scale(along, hold if bounces else ZERO * hold))


@steady
def push_particles(
    distance_and_normal, begin, end, items, offsets, solids, memory, impulses, gone, ways, moves, x, predicted,
    velocities, radii, owners, mine, groups, kinds, sizes, fields, theirs, before, after, first, h, speed
):  # fmt: skip
    """Keep listed particles out of the solids near them.

    Args:
        distance_and_normal: The function of the shapes.
        begin: First item.
        end: End of the items.
        items: Particles, (A,).
        offsets: Where the solids of each start, (A + 1,).
        solids: Solids, (M,).
        memory: What each contact remembers of the substep, (M, MEMORY).
        impulses: Sum of the impulses on the particle, (M, 3) float64 [N s].
        gone: How far each particle has gone since the detection, with its way in this substep [m], (N,).
        ways: Way of each particle in this substep [m], (N,); only those of elements are kept up to date.
        moves: Which solids move, (K,) bool.
        x: Positions and inverse mass, (N, 4).
        predicted: Predicted positions, (N, 3); they move with the positions.
        velocities: Velocities of the prediction [m/s], (N, 3); contacts change them.
        radii: Distance to keep [m], (N,).
        owners: Thing of each particle, (N,).
        mine: Surface of each thing, (T, 4).
        groups: Group of each particle, (N,).
        kinds: Kind of each solid, (K,).
        sizes: Numbers of each solid, (K, 4).
        fields: Distance fields of the meshes among them.
        theirs: Surface of each solid, (K, 4).
        before: Pose of each solid at the start of the substep relative to each group, (G, K, 12): matrix, position.
        after: The same at its end.
        first: Whether it is the first iteration of the substep.
        h: Substep [s].
        speed: Speed at which what was inside comes out [m/s].
    """
    rate = ONE / h
    for p in range(begin, end):
        i = np.int64(items[p])
        g, w = groups[i], x[i, 3]
        for m in range(offsets[p], offsets[p + 1]):
            k = np.int64(solids[m])
            if first:
                memory[m, 0] = ZERO
                memory[m, 1] = memory[m, 2] = memory[m, 3] = ZERO
            if gone[i] < memory[m, 11]:
                continue
            p1 = after[g, k]
            now = place(x, i)
            a, b = into(before[g, k], start_of(x, predicted, velocities, h, i)), into(p1, now)
            law = law_of(mine, theirs, owners[i], k)
            hold = turn_back(p1, (memory[m, 1], memory[m, 2], memory[m, 3]))
            touches, correction, silent, n, push, hold, gap = respond(
                distance_and_normal, kinds[k], sizes[k], fields, a, b, radii[i], w, law, memory[m, 0], hold,
                rate * rate, h * speed
            )  # fmt: skip
            memory[m, 11] = -ONE if moves[k] else gap - gone[i]
            if not touches:
                continue
            remember(memory, m, push, turn(p1, hold), turn(p1, n), gap)
            correction, silent = turn(p1, correction), turn(p1, silent)
            gone[i] += TWO * norm(correction)
            move(x, predicted, velocities, i, ONE, correction, silent, rate)
            record(impulses, m, sub(correction, silent), rate / w)


@steady
def remember(memory, m, push, hold, n, gap):
    """Write what a contact remembers."""
    memory[m, 0] = push
    memory[m, 1], memory[m, 2], memory[m, 3] = hold
    memory[m, 4], memory[m, 5], memory[m, 6] = n
    memory[m, 7] = gap


@steady
def move(x, predicted, velocities, i, share, correction, silent, rate):
    """Move a particle by a share of a correction; the silent part of it brings no velocity."""
    for c in range(3):
        moved = x[i, c] + share * correction[c]
        predicted[i, c] += moved - x[i, c]
        x[i, c] = moved
        velocities[i, c] += share * (correction[c] - silent[c]) * rate


@steady
def record(impulses, m, change, mass):
    """Add an impulse."""
    for c in range(3):
        impulses[m, c] += mass * change[c]


@steady
def bounce_particles(
    begin, end, items, offsets, solids, memory, impulses, x, velocities, starts, owners, mine, groups, theirs, before,
    after, gravity, weight, h
):  # fmt: skip
    """Restitution of listed particles; `starts` are the velocities at the start of the substep, (N, 3)."""
    pull = (gravity[0], gravity[1], gravity[2])
    for p in range(begin, end):
        i = np.int64(items[p])
        g = groups[i]
        for m in range(offsets[p], offsets[p + 1]):
            k = np.int64(solids[m])
            law = law_of(mine, theirs, owners[i], k)
            if memory[m, 0] <= ZERO or law[2] <= ZERO:
                continue
            now = place(x, i)
            carried = scale(sub(now, out_of(before[g, k], into(after[g, k], now))), ONE / h)
            n = (memory[m, 4], memory[m, 5], memory[m, 6])
            change = recoil(n, memory[m, 7], place(starts, i), place(velocities, i), carried, law, pull, weight, h)
            for c in range(3):
                velocities[i, c] += change[c]
            record(impulses, m, change, ONE / x[i, 3])
