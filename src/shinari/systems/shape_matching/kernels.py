"""Kernels of shape matching: sums over clusters, the pose of each, and the displacement of each particle to its goal.

A cluster of particles i with masses m_i and places q_i at rest, counted from their centre of mass, is now at
p_i = x_i - c. From the sums A = sum m p q^T and the constant Q = sum m q q^T follow the rotation R in A, the best
linear map F = A Q^-1, and the goal of each particle (Mueller et al. 2005, Meshless Deformations Based on Shape
Matching, sections 3.3 and 4.3),

    g_i = c + (beta F / cbrt(det F) + (1 - beta) R) q_i.

A particle in several clusters gives each an equal share of its mass and goes to the mean of its goals (Rivers and James
2007, FastLSM, eq. 2 and 3). sum m (g - x) is zero then, and so is sum m x cross (g - x), since A R^T and A F^T are
symmetric: neither momentum changes.

All sums are in double precision, over pieces of at most `CHUNK` members each and then over the pieces in their order,
so that they do not depend on the number of threads.
"""

import numpy as np

from shinari.compute import function, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.polar import rotation_near, transposed_times
from shinari.maths.quaternion import rotation_rows
from shinari.maths.vec3 import add, cross, dot, scale
from shinari.model.particles import Particles
from shinari.systems.shape_matching.records import (
    Chosen,
    Chunks,
    Clusters,
    Entries,
    Lumps,
    Matched,
    Members,
    Plastic,
    Quadratic,
    QuadraticChunks,
)

CHUNK = 512
ONE, TWO, THREE, ZERO = np.float64(1.0), np.float64(2.0), np.float64(3.0), np.float64(0.0)
NONE = (ZERO, ZERO, ZERO)
# A cluster that is squashed to less of its volume than the first forgets its linear part, with less than the second it
# begins to: turned inside out it has to come back.
LOST, FADING = np.float64(0.05), np.float64(0.3)
# Moment of inertia about an axis, over the whole, below which a lump is a line and cannot be spun about it.
THIN = np.float64(1e-12)


@steady
def double(a):
    """A vector in double precision."""
    return np.float64(a[0]), np.float64(a[1]), np.float64(a[2])


@steady
def away(x, origin):
    """From a position to another in double precision."""
    return np.float64(x[0]) - origin[0], np.float64(x[1]) - origin[1], np.float64(x[2]) - origin[2]


@steady
def rows_of(m):
    """Nine numbers as the rows of a matrix."""
    return (m[0], m[1], m[2]), (m[3], m[4], m[5]), (m[6], m[7], m[8])


@steady
def flat(m):
    """The rows of a matrix as nine numbers."""
    return m[0][0], m[0][1], m[0][2], m[1][0], m[1][1], m[1][2], m[2][0], m[2][1], m[2][2]


@kernel(fastmath=STEADY)
def sum_chunk(k, chunks: Chunks, clusters: Clusters, members: Members, particles: Particles):
    """Sums of m (x - x0) and m (x - x0) q^T over a piece, x0 the origin of the cluster."""
    origin = double(particles.x[clusters.origin[chunks.cluster[k]]])
    first, xs, ys, zs = NONE, NONE, NONE, NONE
    for e in range(chunks.begin[k], chunks.end[k]):
        r = scale(away(particles.x[members.particle[e]], origin), members.weight[e])
        q = double(members.rest[e])
        first = add(first, r)
        xs, ys, zs = add(xs, scale(q, r[0])), add(ys, scale(q, r[1])), add(zs, scale(q, r[2]))
    chunks.first[k], chunks.moment[k] = first, flat((xs, ys, zs))


@steady
def extended(rest, length):
    """Place at rest, and the six products of its coordinates over a length."""
    a, b, c = double(rest)
    s = ONE / length
    return a, b, c, s * a * a, s * b * b, s * c * c, s * a * b, s * b * c, s * c * a


@kernel(fastmath=STEADY)
def sum_quadratic_chunk(
    k,
    chunks: QuadraticChunks,
    clusters: Clusters,
    quadratic: Quadratic,
    members: Members,
    particles: Particles,
):
    """Sums of a piece with the products of coordinates (Mueller et al. 2005, section 4.4)."""
    c = chunks.cluster[k]
    origin, length = double(particles.x[clusters.origin[c]]), quadratic.length[clusters.quadratic[c]]
    chunks.first[k] = NONE
    for row in range(3):
        for column in range(9):
            chunks.moment[k, row, column] = ZERO
    for e in range(chunks.begin[k], chunks.end[k]):
        r = scale(away(particles.x[members.particle[e]], origin), members.weight[e])
        q = extended(members.rest[e], length)
        chunks.first[k] = add(chunks.first[k], r)
        add_row(chunks.moment, k, 0, r[0], q)
        add_row(chunks.moment, k, 1, r[1], q)
        add_row(chunks.moment, k, 2, r[2], q)


@steady
def add_row(moment, k, row, r, q):
    """Add r q to a row of nine."""
    m = moment[k, row]
    moment[k, row] = (
        m[0] + r * q[0],
        m[1] + r * q[1],
        m[2] + r * q[2],
        m[3] + r * q[3],
        m[4] + r * q[4],
        m[5] + r * q[5],
        m[6] + r * q[6],
        m[7] + r * q[7],
        m[8] + r * q[8],
    )


@function(fastmath=STEADY)
def place_cluster(c, chunks, clusters, particles):
    """Write the centre of a linear cluster; returns its moments, by rows."""
    begin, end = clusters.chunks[c]
    first, moment = chunks.first[begin], rows_of(chunks.moment[begin])
    for k in range(begin + 1, end):
        first, moment = add(first, chunks.first[k]), combination(ONE, moment, ONE, rows_of(chunks.moment[k]))
    clusters.centre[c] = add(double(particles.x[clusters.origin[c]]), scale(first, ONE / clusters.mass[c]))
    return moment


@kernel(fastmath=STEADY)
def match_cluster(k, chosen: Chosen, chunks: Chunks, clusters: Clusters, particles: Particles):
    """Centre and map of a rigid or linear cluster: a F + b R."""
    c = chosen.cluster[k]
    moments = place_cluster(c, chunks, clusters, particles)
    q = rotation_near(moments, clusters.rotation[c])
    clusters.rotation[c] = q
    rotation = rotation_rows(q)
    beta = clusters.law[c, 0]
    if beta > ZERO:
        f = best_map(clusters, c, moments, rotation)
        stretched, turned = blend(beta, dot(f[0], cross(f[1], f[2])))
        rotation = combination(stretched, f, turned, rotation)
    clusters.map[c] = flat(rotation)


@kernel(fastmath=STEADY)
def match_plastic_cluster(
    k, chosen: Chosen, chunks: Chunks, clusters: Clusters, plastic: Plastic, particles: Particles, flow: np.float64
):
    """Centre and map of a cluster that flows for a time: a F + b R S, S its plastic deformation."""
    c = chosen.cluster[k]
    moments = place_cluster(c, chunks, clusters, particles)
    shape, q = rows_of(plastic.shape[c]), clusters.rotation[c]
    f, volume = moments, ZERO
    # once with the deformation so far, and again with that after the flow
    for turn in range(2 if flow > ZERO else 1):
        q = rotation_near(product(moments, transposed(shape)), q)
        if turn == 0:
            f = best_map(clusters, c, moments, product(rotation_rows(q), shape))
            volume = dot(f[0], cross(f[1], f[2]))
            if flow > ZERO:
                shape = flowed(shape, rotation_rows(q), f, clusters.law[c], flow)
                plastic.shape[c] = flat(shape)
    # S has the volume at rest. To scale F to that, too, would drive what its weight presses flat apart for ever.
    kept = kept_part(clusters.law[c, 0], volume)
    clusters.rotation[c] = q
    clusters.map[c] = flat(combination(kept, f, ONE - kept, product(rotation_rows(q), shape)))


@steady
def best_map(clusters, c, moments, rotation):
    """The best linear map of a cluster, and the rotation where it has no extent."""
    spanned, free = rows_of(clusters.inverse[c]), rows_of(clusters.open_part[c])
    return combination(ONE, product(moments, spanned), ONE, product(rotation, free))


@steady
def product(a, b):
    """Product a b of matrices given by rows."""
    return transposed_times(transposed(a), b)


@steady
def transposed(a):
    """Transpose of a matrix given by rows."""
    return (a[0][0], a[1][0], a[2][0]), (a[0][1], a[1][1], a[2][1]), (a[0][2], a[1][2], a[2][2])


@steady
def combination(s, a, t, b):
    """The sum s a + t b of matrices given by rows."""
    return (
        (s * a[0][0] + t * b[0][0], s * a[0][1] + t * b[0][1], s * a[0][2] + t * b[0][2]),
        (s * a[1][0] + t * b[1][0], s * a[1][1] + t * b[1][1], s * a[1][2] + t * b[1][2]),
        (s * a[2][0] + t * b[2][0], s * a[2][1] + t * b[2][1], s * a[2][2] + t * b[2][2]),
    )


@steady
def identity():
    """The identity matrix."""
    return (ONE, ZERO, ZERO), (ZERO, ONE, ZERO), (ZERO, ZERO, ONE)


@steady
def size_of(a):
    """Frobenius norm."""
    return np.sqrt(dot(a[0], a[0]) + dot(a[1], a[1]) + dot(a[2], a[2]))


@steady
def trace(a):
    """Trace of a matrix given by rows."""
    return a[0][0] + a[1][1] + a[2][2]


@steady
def inverse_of(a, volume):
    """Inverse of a matrix given by rows, with its determinant."""
    c0, c1, c2 = cross(a[1], a[2]), cross(a[2], a[0]), cross(a[0], a[1])
    s = ONE / volume
    return (
        (s * c0[0], s * c1[0], s * c2[0]),
        (s * c0[1], s * c1[1], s * c2[1]),
        (s * c0[2], s * c1[2], s * c2[2]),
    )


@steady
def kept_part(beta, volume):
    """Part of the deformation that the goal takes over; none of it when there is hardly any volume left."""
    part = min(max((volume - LOST) / (FADING - LOST), ZERO), ONE)
    return beta * part * part * (THREE - TWO * part)


@steady
def blend(beta, volume):
    """Factors of F and of R, so that the linear part keeps the volume."""
    kept = kept_part(beta, volume)
    return kept / np.cbrt(max(volume, LOST)), ONE - kept


@steady
def flowed(shape, rotation, f, law, flow):
    """Plastic deformation after a time (Mueller et al. 2005, section 4.5): what is beyond the yield creeps into it.

    The strain is that of the symmetric part of R^T F S^-1, S the shape so far. Its excess E flows at the creep rate,
    which is the same for any number of substeps; the whole is limited, and keeps the volume. Of all changes D S with
    tr D = 0 the flow goes to that which leaves the least |(D - E) S|, the distance to the goals:

        D = E - (tr E / tr C) C,    C = (S S^T)^-1

    With a multiple of the identity in place of C a lump that lies flat would be made flatter for ever, by the part of E
    that it has anyhow, and wider by as much, which costs far more than the other gives.
    """
    back = inverse_of(shape, dot(shape[0], cross(shape[1], shape[2])))
    stretch = transposed_times(rotation, product(f, back))
    stretch = combination(ONE / TWO, stretch, ONE / TWO, transposed(stretch))
    excess = combination(ONE, stretch, -ONE, identity())
    share = min(flow * law[2], ONE)
    keeping = transposed_times(back, back)
    change = combination(ONE, excess, -trace(excess) / trace(keeping), keeping)
    grown = combination(ONE, shape, share if size_of(excess) > law[1] else ZERO, product(change, shape))
    plastic = combination(ONE, grown, -ONE, identity())
    size = size_of(plastic)
    limited = combination(ONE, identity(), min(ONE, law[3] / size) if size > ZERO else ONE, plastic)
    volume = dot(limited[0], cross(limited[1], limited[2]))
    good = volume > LOST
    s = ONE / np.cbrt(volume if good else ONE)
    return combination(s if good else ZERO, limited, ZERO if good else ONE, shape)


@kernel(fastmath=STEADY)
def match_quadratic_cluster(g, quadratic: Quadratic, chunks: QuadraticChunks, clusters: Clusters, particles: Particles):
    """Centre and map of a quadratic cluster; the products of coordinates count from their means."""
    c = quadratic.cluster[g]
    begin, end = clusters.chunks[c]
    sums = chunks.moment
    for k in range(begin + 1, end):
        chunks.first[begin] = add(chunks.first[begin], chunks.first[k])
        for row in range(3):
            for column in range(9):
                sums[begin, row, column] += sums[k, row, column]
    clusters.centre[c] = add(
        double(particles.x[clusters.origin[c]]), scale(chunks.first[begin], ONE / clusters.mass[c])
    )
    for row in range(3):
        for column in range(6):
            sums[begin, row, 3 + column] -= chunks.first[begin, row] * quadratic.mean[g, column]
    q = rotation_near(linear_part(sums, begin), clusters.rotation[c])
    clusters.rotation[c] = q
    for row in range(3):
        for column in range(9):
            total = ZERO
            for k in range(9):
                total += sums[begin, row, k] * quadratic.inverse[g, k, column]
            quadratic.map[g, row, column] = total
    f = linear_part(quadratic.map, g)
    stretched, turned = blend(clusters.law[c, 0], dot(f[0], cross(f[1], f[2])))
    for row in range(3):
        for column in range(9):
            quadratic.map[g, row, column] *= stretched
    m = combination(stretched, f, turned, rotation_rows(q))
    clusters.map[c] = flat(m)
    put_row(quadratic.map, g, 0, m[0])
    put_row(quadratic.map, g, 1, m[1])
    put_row(quadratic.map, g, 2, m[2])


@steady
def linear_part(table, k):
    """The first three of nine columns, by rows."""
    return (
        (table[k, 0, 0], table[k, 0, 1], table[k, 0, 2]),
        (table[k, 1, 0], table[k, 1, 1], table[k, 1, 2]),
        (table[k, 2, 0], table[k, 2, 1], table[k, 2, 2]),
    )


@steady
def put_row(table, k, row, m):
    """Write the first three of nine columns."""
    table[k, row, 0], table[k, row, 1], table[k, row, 2] = m


@steady
def mapped(clusters, c, q):
    """Where a cluster takes a place at rest, counted from its centre."""
    m = rows_of(clusters.map[c])
    return add(clusters.centre[c], (dot(m[0], q), dot(m[1], q), dot(m[2], q)))


@steady
def curvature(clusters, quadratic, c, q):
    """What the products of coordinates add to where a cluster takes a place at rest; zero for a linear one."""
    g = clusters.quadratic[c]
    place = NONE
    if g >= 0:
        columns, mean = extended(q, quadratic.length[g]), quadratic.mean[g]
        parts = (
            columns[3] - mean[0],
            columns[4] - mean[1],
            columns[5] - mean[2],
            columns[6] - mean[3],
            columns[7] - mean[4],
            columns[8] - mean[5],
        )
        place = (
            six_of(quadratic.map[g, 0], parts),
            six_of(quadratic.map[g, 1], parts),
            six_of(quadratic.map[g, 2], parts),
        )
    return place


@steady
def six_of(m, parts):
    """The last six of nine columns times as many numbers."""
    return (
        m[3] * parts[0] + m[4] * parts[1] + m[5] * parts[2] + m[6] * parts[3] + m[7] * parts[4] + m[8] * parts[5]
    )  # fmt: skip


@kernel(fastmath=STEADY)
def move_to_goal(
    p,
    matched: Matched,
    lumps: Lumps,
    entries: Entries,
    members: Members,
    clusters: Clusters,
    particles: Particles,
    first: np.int64,
):
    """Move a particle towards the mean of its goals, all of them of linear clusters.

    It is an XPBD row C = x - g of three components with inverse stiffness 1 / (m w^2), w the angular frequency of the
    material (Macklin et al. 2016, eq. 18): dx = -s (C + r d), with r = 1 / (w h)^2, s = 1 / (1 + r), and d the
    displacement by matching in this substep.
    """
    begin, end = matched.entries[p]
    goal = NONE
    for k in range(begin, end):
        e = entries.member[k]
        goal = add(goal, mapped(clusters, members.cluster[e], double(members.rest[e])))
    move(p, scale(goal, ONE / (end - begin)), matched, lumps, particles, first)


@kernel(fastmath=STEADY)
def move_to_curved_goal(
    p,
    matched: Matched,
    lumps: Lumps,
    entries: Entries,
    members: Members,
    clusters: Clusters,
    quadratic: Quadratic,
    particles: Particles,
    first: np.int64,
):
    """The same where some clusters are quadratic."""
    begin, end = matched.entries[p]
    goal = NONE
    for k in range(begin, end):
        e = entries.member[k]
        c, q = members.cluster[e], double(members.rest[e])
        goal = add(goal, add(mapped(clusters, c, q), curvature(clusters, quadratic, c, q)))
    move(p, scale(goal, ONE / (end - begin)), matched, lumps, particles, first)


@steady
def move(p, goal, matched, lumps, particles, first):
    """Move a free particle towards its goal."""
    i = matched.particle[p]
    x, share = particles.x[i], lumps.share[matched.lump[p]]
    before = scale(double(matched.displacement[p]), ZERO if first else ONE)
    s = -share[0] if x[3] > 0.0 else ZERO
    change = scale(add(away(x, goal), scale(before, share[1])), s)
    particles.x[i] = x[0] + change[0], x[1] + change[1], x[2] + change[2], x[3]
    matched.displacement[p] = add(before, change)
