"""Contact rows: two points, each a mean of particles, that keep a distance along a normal.

             x0                C = n . (b0 x0 + b1 x1 + b2 x2 + b3 x3) - d >= 0,   grad_i = b_i n
              |  n
        x1---(+)---x2          n and b_i from the nearest points of point and triangle, or of two edges, at the start of
              x3               the substep: from the side on which they are, a row holds even what has gone through

What C fell in the substep is pushed back and gives velocity; what overlapped at its start comes out at a limited speed
and gives none. Friction takes from the slip of the substep up to mu times the push, all of it when that is enough
(Macklin et al. 2014, Unified Particle Physics, eq. 24). With a compliance the row is one of XPBD (Macklin et al. 2016).

In a stack that is calm sums of pushes and of friction are kept in a substep: what other rows have pushed apart since
takes back what a row has pushed, as in projected Gauss-Seidel. Else pushes only add up, and stacks hop and shiver.
"""

import numpy as np

from shinari.collision.broad.blocks import Blocks, CurrentColour, rows_of_block
from shinari.collision.law import (
    COMPLIANCE,
    RECOVERY,
    SLIDING_FRICTION,
    normal_response,
    recovery,
    tangential,
)
from shinari.compute import kernel, real, scratch, shared
from shinari.compute.kernels import STEADY
from shinari.geometry.proximity import gap_vector, nearest_points, straight_weights
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, add, direction_and_length, dot, norm, reciprocal, scale, sub
from shinari.model.contact_passes import LAST_BITS, NOTICEABLE, ContactPasses, was_moved
from shinari.model.particles import Clock, Particles
from shinari.systems.colliders.supports import Supports
from shinari.systems.paths.records import PathState
from shinari.systems.surface_contact.lanes import store_vector, vector_at
from shinari.systems.surface_contact.pair_points import is_for_vertex
from shinari.systems.surface_contact.pressed_points import (
    NEITHER,
    find_pressed,
    may_press,
    slip_on_colliders,
    tell_colliders,
    without,
)
from shinari.systems.surface_contact.records import (
    BlockOverlaps,
    ContactParticles,
    Frames,
    Objects,
    Paths,
    Places,
    RowCounts,
    Rows,
)
from shinari.systems.surface_contact.row_pushes import (
    add_to,
    grip_of,
    law_between,
    mobility_of,
    push_points,
    slip_of,
    sum_of_four,
)

# Rows in a block, and rows whose nearest points are taken at once.
BLOCK, BATCH = 64, 16
FAR = np.float32(1e30)
# Nearest points are kept of what is expected to end a substep nearer than its gap and this part of it.
NEAR = np.float32(0.5)
# Cosine between the normals at the start and now up to which a pair counts as still on its side.
SAME_SIDE = np.float32(0.2)
# Speed [m/s] up to which what overlapped at the start does bring velocity when it is pushed out: layers that lie on
# each other overlap by what a sweep leaves, and would sink into each other for ever if that were put right silently.
LIVELY = np.float32(0.1)
# Rows are solved again when one that took no part ends with an overlap of more than this part of its gap.
DEEP = np.float32(0.05)
# Speed [m/s] above which a sheet is drawn over a collider; friction is that between it and what lies on it then.
DRAWN = np.float32(0.1)
# Nearer than this part of the gap two objects count as crossing already: the way between them has no direction.
TANGLED = np.float32(1e-4)


@steady
def shift(origin_indices, origins, i, j):
    """Origin of particle j relative to that of particle i; exact, since origins are whole metres."""
    return sub(origins[origin_indices[j]], origins[origin_indices[i]])


@steady
def relative(x, i, j, offset):
    """Position of particle j relative to particle i."""
    return x[j, 0] - x[i, 0] + offset[0], x[j, 1] - x[i, 1] + offset[1], x[j, 2] - x[i, 2] + offset[2]


@steady
def height(edges, n, a, b, c):
    """How far the first element is above the second along n, all of the one over all of the other.

    Nearest points of the start would tell less: what is pushed aside meets with other points.
    """
    p, q, r = dot(n, a), dot(n, b), dot(n, c)
    return min(ZERO, p) - max(q, r) if edges else -max(p, max(q, r))


@steady
def store_relative(lanes, row, k, x, i, j, origin_indices, origins):
    """Write the position of particle j relative to particle i to three rows of a table, column k."""
    first, second = origin_indices[i], origin_indices[j]
    p = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
    store_vector(lanes, row, k, p if first == second else relative(x, i, j, sub(origins[second], origins[first])))


@steady
def find_nearest(edges, lanes, k):
    """Weights of the nearest points, normal and distance of the pair in a column of a table, written below it.

    It has no branches, so that several pairs are taken at once.
    """
    a, b, c = vector_at(lanes, 0, k), vector_at(lanes, 3, k), vector_at(lanes, 6, k)
    w = straight_weights(edges, a, b, c)
    separating_vector = gap_vector(w, a, b, c)
    distance = norm(separating_vector)
    lanes[9, k], lanes[10, k], lanes[11, k], lanes[12, k] = w[0], w[1], w[2], w[3]
    store_vector(lanes, 13, k, scale(separating_vector, reciprocal(distance)))
    lanes[16, k] = distance


@steady
def expected_clearance(r, lanes, k, rows, particles, h):
    """How far a row in a table is above its gap along its normal after the displacements that velocities bring."""
    i0, i1, i2, i3 = rows.points[r]
    v = particles.v
    at = v[i0]
    a = add(vector_at(lanes, 0, k), scale(sub(v[i1], at), h))
    b = add(vector_at(lanes, 3, k), scale(sub(v[i2], at), h))
    c = add(vector_at(lanes, 6, k), scale(sub(v[i3], at), h))
    return height(rows.edges[r], vector_at(lanes, 13, k), a, b, c) - rows.gap[r]


@steady
def take(r, lanes, k, rows, particles, paths, frames):
    """Take the nearest points of a row from a table, where they have a side."""
    i0, i1, i2, i3 = rows.points[r]
    w, n, v = (lanes[9, k], lanes[10, k], lanes[11, k], lanes[12, k]), vector_at(lanes, 13, k), particles.v
    indices, origins = particles.origin_index, frames.origin
    o1, o2, o3 = shift(indices, origins, i0, i1), shift(indices, origins, i0, i2), shift(indices, origins, i0, i3)
    rows.weights[r], rows.normal[r] = w, n
    rows.shift[r] = w[1] * dot(n, o1) + w[2] * dot(n, o2) + w[3] * dot(n, o3)
    rows.distance[r], rows.approach[r] = lanes[16, k], dot(n, sum_of_four(w, v[i0], v[i1], v[i2], v[i3]))
    rows.active[r] = lanes[16, k] > TANGLED * rows.gap[r]


@steady
def take_distance(r, lanes, k, rows, paths):
    """Take the distance and the normal of a row from a table."""
    i0, i1, i2, i3 = rows.points[r]
    travel = paths.travel
    rows.start[r], rows.normal[r] = lanes[16, k], vector_at(lanes, 13, k)
    rows.base[r] = lanes[16, k] + travel[i0, 0] + travel[i1, 0] + travel[i2, 0] + travel[i3, 0]


@steady
def store_row(r, lanes, k, rows, particles, paths, frames):
    """Write the particles of a row at the start of the substep to a table, column k."""
    i0, i1, i2, i3 = rows.points[r]
    begin, indices, origins = paths.begin, particles.origin_index, frames.origin
    store_relative(lanes, 0, k, begin, i0, i1, indices, origins)
    store_relative(lanes, 3, k, begin, i0, i2, indices, origins)
    store_relative(lanes, 6, k, begin, i0, i3, indices, origins)


@kernel
def count_batches(_, counts: RowCounts):
    """Batches of the rows."""
    counts.batches[0] = (counts.rows[0] + BATCH - 1) // BATCH


@kernel
def step_aside(_, counts: RowCounts, clock: Clock):
    """Without rows there are no contacts to solve in the substep."""
    if counts.rows[0] == 0:
        clock.solvers[0] -= 1


@kernel(fastmath=STEADY)
def refresh_rows(
    b, counts: RowCounts, rows: Rows, particles: Particles, contact_particles: ContactParticles, objects: Objects,
    clock: Clock, supports: Supports, paths: Paths, frames: Frames, h: real,
):  # fmt: skip
    """Find how far the particles of a batch of rows may stray in a substep until the rows overlap.

    Nearest points and normals are taken where that may be by less than they are expected to move. Points and triangles
    are written to a table from the front, edges from the back.
    """
    travel, like = paths.travel, h
    lanes, taken = scratch((17, BATCH), like), scratch(BATCH, 0)
    faces, edges = 0, 0
    for r in range(b * BATCH, min((b + 1) * BATCH, counts.rows[0])):
        i0, i1, i2, i3 = rows.points[r]
        two, gap = rows.edges[r], rows.gap[r]
        least = rows.base[r] - (travel[i0, 0] + travel[i1, 0] + travel[i2, 0] + travel[i3, 0])
        second = max(travel[i2, 1], travel[i3, 1])
        ahead = max(travel[i0, 1], travel[i1, 1]) + second if two else travel[i0, 1] + max(travel[i1, 1], second)
        rows.multiplier[r], rows.hold[r], rows.active[r], rows.start[r] = ZERO, (ZERO, ZERO, ZERO), False, least
        rows.bound[r] = least - ahead - gap if gap >= ZERO else FAR
        stray = travel[i0, 2] + travel[i1, 2] + travel[i2, 2] + travel[i3, 2]
        if gap >= ZERO and least - ahead < gap + stray:
            k = BATCH - 1 - edges if two else faces
            edges, faces = edges + np.int64(two), faces + np.int64(not two)
            taken[k] = r
            store_row(r, lanes, k, rows, particles, paths, frames)
    if faces > 0:
        for k in range(BATCH):
            find_nearest(False, lanes, k)
    # the columns of points and triangles have been read
    if edges > 0:
        for k in range(BATCH - edges, BATCH):
            find_nearest(True, lanes, k)
    for k in range(BATCH):
        if k < faces or k >= BATCH - edges:
            r = taken[k]
            take_distance(r, lanes, k, rows, paths)
            apart = expected_clearance(r, lanes, k, rows, particles, h)
            w = lanes[9, k], lanes[10, k], lanes[11, k], lanes[12, k]
            both = vector_at(lanes, 0, k), sub(vector_at(lanes, 6, k), vector_at(lanes, 3, k))
            if apart < NEAR * rows.gap[r] and not is_for_vertex(r, w, both, rows, contact_particles, objects, clock):
                take(r, lanes, k, rows, particles, paths, frames)
            if len(supports) > 0 and rows.active[r] and may_press(r, rows, particles.x):
                counts.pressing[0] = 1
            # what has no side stays out
            rows.bound[r] = apart if lanes[16, k] > TANGLED * rows.gap[r] else FAR


@shared(fastmath=STEADY)
def evaluate(r: int, rows: Rows, particles: Particles, paths: Paths, frames: Frames) -> None:
    """Take the nearest points of a row in the middle of a substep, from the positions at its start."""
    lanes = scratch((17, 1), rows.gap[r])
    store_row(r, lanes, 0, rows, particles, paths, frames)
    find_nearest(rows.edges[r], lanes, 0)
    take_distance(r, lanes, 0, rows, paths)
    take(r, lanes, 0, rows, particles, paths, frames)
    rows.bound[r] = -ONE if rows.active[r] else FAR


@kernel
def evaluate_fresh(k, fresh: Places, rows: Rows, particles: Particles, paths: Paths, frames: Frames):
    """Take the nearest points of a new row; what begins in another object stays out of the substep."""
    r = fresh.row[k]
    evaluate(r, rows, particles, paths, frames)
    if rows.start[r] <= (ONE - DEEP) * rows.gap[r]:
        rows.bound[r] = FAR


@kernel(fastmath=STEADY)
def find_deep(
    r, rows: Rows, particles: Particles, contact_particles: ContactParticles, objects: Objects,
    paths: Paths, frames: Frames, clock: Clock, counts: RowCounts, path_state: PathState
):  # fmt: skip
    """Tell whether a row that has not pushed is deep at the end of the displacements; local passes begin there.

    It is new, or what other contacts have pushed went elsewhere than was expected. None is told when something moves
    as one: a push would take it apart. All that are deep write the same numbers.
    """
    gap, least = rows.gap[r], (ONE - DEEP) * rows.gap[r]
    # what begins in another object, or is to pass through it, stays out
    if rows.multiplier[r] > ZERO or gap < ZERO or rows.start[r] <= least or path_state.joined[0] != 0:
        return
    i0, i1, i2, i3 = rows.points[r]
    path = contact_particles.path
    if path[i0] + path[i1] + path[i2] + path[i3] < rows.bound[r]:
        return
    origin_indices, origins, x = particles.origin_index, frames.origin, particles.x
    a = relative(x, i0, i1, shift(origin_indices, origins, i0, i1))
    b = relative(x, i0, i2, shift(origin_indices, origins, i0, i2))
    c = relative(x, i0, i3, shift(origin_indices, origins, i0, i3))
    # the normal that was taken last tells most
    if height(rows.edges[r], rows.normal[r], a, b, c) >= least:
        return
    w = nearest_points(rows.edges[r], a, b, c)
    if norm(gap_vector(w, a, b, c)) < least and not is_for_vertex(
        r, w, (a, sub(c, b)), rows, contact_particles, objects, clock
    ):
        if not rows.active[r]:
            evaluate(r, rows, particles, paths, frames)
        counts.deep[0], number = 1, clock.contact_pass[0]
        note_all_moved(contact_particles.moved_in, rows.points[r], x, number)


@steady
def longest_move(edges, lengths, i0, i1, i2, i3):
    """By how much the elements of a row can have come nearer, from the lengths of displacements."""
    first, second = max(lengths[i0], lengths[i1]), max(lengths[i2], lengths[i3])
    return first + second if edges else lengths[i0] + max(lengths[i1], second)


@steady
def note_all_moved(moved_in, points, x, number):
    """Note in which pass the particles of a row moved; blocks of one colour may share what is fixed."""
    for k in range(4):
        if x[points[k], 3] > ZERO:
            moved_in[points[k]] = number & LAST_BITS


@steady
def was_any_moved(r, rows, contact_particles, clock):
    """Whether a contact moved one of the particles of a row noticeably in this pass or the one before."""
    i0, i1, i2, i3 = rows.points[r]
    moved_in = contact_particles.moved_in
    near = was_moved(clock, moved_in, i0) or was_moved(clock, moved_in, i1)
    return near or was_moved(clock, moved_in, i2) or was_moved(clock, moved_in, i3)


@steady
def response(r, rows, depth, most, takes_back, scaled_compliance, mobility, lively, reach):
    """Change of the multiplier of a row, and displacement that brings no velocity [m].

    Args:
        r: The row.
        rows: The rows.
        depth: Depth now [m].
        most: Displacement that may bring velocity [m].
        takes_back: Whether it takes back what it has pushed, where others have pushed it apart since.
        scaled_compliance: Compliance / h^2 [1/kg].
        mobility: Sum of the inverse masses along the normal [1/kg].
        lively: Overlap of the start that brings velocity [m].
        reach: How far what overlapped at the start may come out [m].
    """
    zero, old = ZERO * depth, rows.multiplier[r]
    # what overlapped at the start comes out silently; a compliant row is in equilibrium at some depth and pushes
    before = max(rows.gap[r] - rows.distance[r] - lively, zero)
    out = recovery(RECOVERY * min(depth, before), reach) if scaled_compliance == ZERO else zero
    fresh, least = min(depth - before, most), zero
    if takes_back:
        fresh, least = max(fresh, min(depth, zero)), -old
    return normal_response(depth, fresh, old, scaled_compliance, mobility, least), out


@steady
def solve(r, rows, particles, contact_particles, supports, objects, frames, clock, reach):
    """Solve one row; return what it overlapped, as part of its gap, and the sum of the displacements [m].

    `reach` is how far what overlapped at the start may come out [m].
    """
    h, number = clock.substep_length[0], clock.contact_pass[0]
    points = i0, i1, i2, i3 = rows.points[r]
    path, zero = contact_particles.path, ZERO * h
    gone = path[i0] + path[i1] + path[i2] + path[i3]
    if gone < rows.bound[r]:
        return zero, zero
    x, origin_indices, origins, gap = particles.x, particles.origin_index, frames.origin, rows.gap[r]
    w, n, old = rows.weights[r], rows.normal[r], rows.multiplier[r]
    o1, o2, o3 = (
        shift(origin_indices, origins, i0, i1),
        shift(origin_indices, origins, i0, i2),
        shift(origin_indices, origins, i0, i3),
    )
    a, b, c = relative(x, i0, i1, o1), relative(x, i0, i2, o2), relative(x, i0, i3, o3)
    apart = height(rows.edges[r], n, a, b, c) - gap
    rows.bound[r] = gone + apart
    takes_back = clock.calm[0] != 0 and old > ZERO
    if apart >= ZERO and not takes_back:
        # a row that has pushed does not pull
        return zero, zero
    # The normal of the start tells the side. Where the points are still on it, the nearest points of now tell more:
    # what slides along a flat sheet comes nearer along the tilted normals of features beside it without touching them.
    p0, p1, p2, p3 = x[i0], x[i1], x[i2], x[i3]
    place = rows.shift[r] + dot(n, sum_of_four(w, p0, p1, p2, p3))
    now = nearest_points(rows.edges[r], a, b, c)
    m, length = direction_and_length(gap_vector(now, a, b, c))
    if dot(m, n) > SAME_SIDE:
        w, n, place = now, m, length
        # they are apart until their particles have moved by what is between them beyond the gap
        rows.bound[r] = gone + length - gap
    depth = gap - place
    masses = w[0] * p0[3], w[1] * p1[3], w[2] * p2[3], w[3] * p3[3]
    law = law_between(objects, contact_particles, i0, i2)
    two = rows.edges[r]
    side, up, grip = find_pressed(supports, contact_particles.radius, x, points, two, w, masses, n)
    moving = without(side, two, masses)
    mobility = mobility_of(w, moving)
    if mobility <= ZERO:
        return zero, zero
    if side != NEITHER:
        depth /= dot(n, up)
    none = zero, zero, zero
    own, most = none, zero + FAR
    if side != NEITHER:
        own = slip_on_colliders(supports, particles, side, two, points, w, h)
        # velocity stops its approach to the collider, no more: what moves over an uneven layer is not thrown
        most = max(LIVELY * h - dot(own, up), zero)
    change, out = response(r, rows, depth, most, takes_back, law[COMPLIANCE] / (h * h), mobility, LIVELY * h, reach)
    push = change * mobility
    if push == ZERO and out == ZERO and not takes_back:
        return zero, zero
    rows.weights[r], rows.normal[r], rows.bound[r] = w, n, -ONE
    rows.shift[r] = w[1] * dot(n, o1) + w[2] * dot(n, o2) + w[3] * dot(n, o3)
    # friction: the relative displacement of the two points in this substep, along the surface
    slip, rough, load = slip_of(w, points, particles, h), law, old + change if takes_back else change
    held, rubs = tangential(rows.hold[r], up) if takes_back else none, side != NEITHER and law[SLIDING_FRICTION] > grip
    # what lies on a collider holds a light layer, which moves little; one that is as heavy passes on what rubs at it
    passes_on = rubs and supports.even[0]
    if side != NEITHER and (rubs or norm(tangential(sub(slip, own), up)) < DRAWN * h):
        slip, rough = own, (min(law[0], grip), min(law[1], grip), law[2], law[3])
    hold = held if passes_on else grip_of(held, tangential(slip, up), mobility, load, rough)
    along, quiet = add(scale(up, (push + out) / mobility), sub(hold, held)), scale(up, out / mobility)
    moved_by = push_points(points, moving, along, quiet, particles, contact_particles)
    if side != NEITHER:
        tell_colliders(supports, x, side, two, points, w, sub(along, quiet))
    if rubs:
        slip, last = tangential(slip_of(w, points, particles, h), up), held if passes_on else none
        hold = grip_of(last, slip, mobility_of(w, masses), load, law)
        moved_by += push_points(points, masses, sub(hold, last), none, particles, contact_particles)
        along = add(along, sub(hold, last))
    add_to(rows.impulse, r, ONE / h, sub(along, quiet))
    rows.multiplier[r], rows.hold[r] = old + change, hold
    rows.distance[r] += out
    if abs(push) > NOTICEABLE * gap:
        note_all_moved(contact_particles.moved_in, points, x, number)
    return push / gap, moved_by


@kernel(fastmath=STEADY)
def solve_block(
    block,
    blocks: Blocks,
    current: CurrentColour,
    overlaps: BlockOverlaps,
    rows: Rows,
    particles: Particles,
    contact_particles: ContactParticles,
    supports: Supports,
    objects: Objects,
    frames: Frames,
    clock: Clock,
    reach: real,
):
    """Solve the rows of a block that may overlap, in order, and keep the largest overlap found, as part of the gap.

    Blocks of one colour share no free particle.
    """
    begin, end = rows_of_block(block, blocks, current)
    path, local = contact_particles.path, clock.local[0] != 0
    slack, taken = scratch(BLOCK, reach), scratch(BLOCK, 0)
    worst, lost, count = ZERO * reach, ZERO * reach, 0
    for r in range(begin, end):
        taken[count] = r
        count += np.int64(rows.active[r])
    for k in range(count):
        i0, i1, i2, i3 = rows.points[taken[k]]
        slack[k] = rows.bound[taken[k]] - (path[i0] + path[i1] + path[i2] + path[i3])
    for k in range(count):
        r = taken[k]
        # all that was moved in the block may have been its particles
        if slack[k] > lost or (local and not was_any_moved(r, rows, contact_particles, clock)):
            continue
        overlap, moved_by = solve(r, rows, particles, contact_particles, supports, objects, frames, clock, reach)
        worst, lost = max(worst, overlap), lost + moved_by
    overlaps.largest[current.first[0] + block] = worst


@kernel
def find_overlap(_, overlaps: BlockOverlaps, current: CurrentColour, counts: RowCounts):
    """Largest overlap that a sweep found."""
    worst = ZERO * counts.overlap[0]
    for k in range(current.blocks[0]):
        worst = max(worst, overlaps.largest[k])
    counts.overlap[0] = worst


@kernel
def tell_overlap(_, counts: RowCounts, passes: ContactPasses, clock: Clock, most: int):
    """Raise the largest overlap of a turn to that of the rows; a calm stack asks for so many passes at least."""
    passes.overlap[0] = max(passes.overlap[0], counts.overlap[0])
    if clock.calm[0] != 0:
        passes.wanted[0] = max(passes.wanted[0], most)
