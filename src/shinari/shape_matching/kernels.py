"""Kernels of shape matching: sums over clusters, the pose of each, and the way of each particle to its goal.

A cluster of particles i with masses m_i and places q_i at rest, counted from their centre of mass, is now at
p_i = x_i - c. From the sums A = sum m p q^T and the constant Q = sum m q q^T follow the rotation R in A, the best
linear map F = A Q^-1, and the goal of each particle (Mueller et al. 2005, Meshless Deformations Based on Shape
Matching, sections 3.3 and 4.3),

    g_i = c + (beta F / cbrt(det F) + (1 - beta) R) q_i.

A particle in several clusters gives each an equal share of its mass and goes to the mean of its goals (Rivers and James
2007, FastLSM, eq. 2 and 3). sum m (g - x) is zero then, and so is sum m x cross (g - x), since A R^T and A F^T are
symmetric: neither momentum changes.

All sums are in double precision, over pieces of at most `PIECE` members each and then over the pieces in their order,
so that they do not depend on the number of threads.
"""

import numba
import numpy as np

from shinari.maths.function import STEADY, steady
from shinari.maths.polar import matrix_of, rotation_near, transposed_times
from shinari.maths.vec3 import cross, dot

PIECE = 512
ONE, TWO, THREE, ZERO = np.float64(1.0), np.float64(2.0), np.float64(3.0), np.float64(0.0)
# A cluster that is squashed to less of its volume than the first forgets its linear part, with less than the second it
# begins to: turned inside out it has to come back.
LOST, FADING = np.float64(0.05), np.float64(0.3)
# Moment of inertia about an axis, over the whole, below which a lump is a line and cannot be spun about it.
THIN = np.float64(1e-12)


@numba.njit(parallel=True, cache=True, **STEADY)
def cluster_sums(parts, pieces, starts, members, rest, weights, quadratic, lengths, x, sums):
    """Sums of m (x - x0) and m (x - x0) q^T over pieces of clusters, x0 the first member of the cluster.

    Args:
        parts: How many threads share the pieces.
        pieces: Cluster, first and end of the members of each piece, (K, 3).
        starts: First member of each cluster, (C + 1,).
        members: Particle of each member, (E,).
        rest: Its place at rest from the centre of the cluster [m], (E, 3).
        weights: Its mass in the cluster [kg], (E,).
        quadratic: Number among the quadratic clusters, or -1, (C,).
        lengths: Length that makes products of coordinates lengths [m], (C,).
        x: Positions and inverse mass, (N, 4).
        sums: Filled: m (x - x0), then by rows m (x - x0) q^T with 3 columns, 9 of quadratic clusters, (K, 12 or 30).
    """
    count = len(pieces)
    for t in numba.prange(parts):
        for k in range(count * t // parts, count * (t + 1) // parts):
            c, first, end = pieces[k, 0], pieces[k, 1], pieces[k, 2]
            if quadratic[c] < 0:
                linear_sums(k, members[starts[c]], first, end, members, rest, weights, x, sums)
            else:
                quadratic_sums(k, members[starts[c]], first, end, members, rest, weights, lengths[c], x, sums)


@steady
def linear_sums(k, origin, first, end, members, rest, weights, x, sums):
    """Sums of piece k."""
    ox, oy, oz = np.float64(x[origin, 0]), np.float64(x[origin, 1]), np.float64(x[origin, 2])
    px = py = pz = xx = xy = xz = yx = yy = yz = zx = zy = zz = ZERO
    for e in range(first, end):
        i, m = members[e], np.float64(weights[e])
        a, b, c = np.float64(rest[e, 0]), np.float64(rest[e, 1]), np.float64(rest[e, 2])
        u, v, w = m * (x[i, 0] - ox), m * (x[i, 1] - oy), m * (x[i, 2] - oz)
        px, py, pz = px + u, py + v, pz + w
        xx, xy, xz = xx + u * a, xy + u * b, xz + u * c
        yx, yy, yz = yx + v * a, yy + v * b, yz + v * c
        zx, zy, zz = zx + w * a, zy + w * b, zz + w * c
    sums[k, 0], sums[k, 1], sums[k, 2] = px, py, pz
    sums[k, 3], sums[k, 4], sums[k, 5] = xx, xy, xz
    sums[k, 6], sums[k, 7], sums[k, 8] = yx, yy, yz
    sums[k, 9], sums[k, 10], sums[k, 11] = zx, zy, zz


@steady
def extended(rest, e, length):
    """Place at rest, and the six products of its coordinates over a length."""
    a, b, c = np.float64(rest[e, 0]), np.float64(rest[e, 1]), np.float64(rest[e, 2])
    s = ONE / length
    return a, b, c, s * a * a, s * b * b, s * c * c, s * a * b, s * b * c, s * c * a


@steady
def quadratic_sums(k, origin, first, end, members, rest, weights, length, x, sums):
    """Sums of piece k with the products of coordinates (Mueller et al. 2005, section 4.4)."""
    for column in range(30):
        sums[k, column] = ZERO
    for e in range(first, end):
        i, m = members[e], np.float64(weights[e])
        q = extended(rest, e, length)
        for row in range(3):
            u = m * (np.float64(x[i, row]) - np.float64(x[origin, row]))
            sums[k, row] += u
            for column in range(9):
                sums[k, 3 + 9 * row + column] += u * q[column]


@numba.njit(parallel=True, cache=True, **STEADY)
def cluster_poses(
    parts, piece_starts, sums, starts, members, x, masses, inverse, open_part, laws, quadratic, lengths, inverse_nine,
    means, rotations, plastic, flow, poses
):  # fmt: skip
    """Centre and map to the goals of each cluster, from its sums.

    Args:
        parts: How many threads share the clusters.
        piece_starts: First piece of each cluster, (C + 1,).
        sums: Sums of the pieces, (K, 12 or 30).
        starts: First member of each cluster, (C + 1,).
        members: Particle of each member, (E,).
        x: Positions and inverse mass, (N, 4).
        masses: Mass of each cluster [kg], (C,).
        inverse: Inverse of sum m q q^T on what the cluster spans, by rows, (C, 9).
        open_part: Projection on what it does not span, by rows, (C, 9).
        laws: beta, yield, creep [1/s] and largest plastic strain, (C, 4).
        quadratic: Number among the quadratic clusters, or -1, (C,).
        lengths: Length of the products of coordinates [m], (C,).
        inverse_nine: Inverse of the moments of all nine columns of each quadratic cluster, (Q, 9, 9).
        means: Means of the six products of coordinates, (Q, 6) [m].
        rotations: Rotation of each cluster, w x y z, followed, (C, 4).
        plastic: Plastic deformation of each cluster, by rows, (C, 9), or none (0, 9).
        flow: Time for which what is beyond the yield flows now [s]; 0 leaves the plastic deformation as it is.
        poses: Filled: centre, then by rows the map of the place at rest to the goal, (C, 12 or 30).
    """
    count = len(masses)
    for t in numba.prange(parts):
        for c in range(count * t // parts, count * (t + 1) // parts):
            first = piece_starts[c]
            for k in range(first + 1, piece_starts[c + 1]):
                for column in range(sums.shape[1]):
                    sums[first, column] += sums[k, column]
            for column in range(3):
                shift = sums[first, column] / masses[c]
                poses[c, column] = np.float64(x[members[starts[c]], column]) + shift
            if quadratic[c] < 0:
                linear_pose(c, first, sums, inverse, open_part, laws, rotations, plastic, flow, poses)
            else:
                g = quadratic[c]
                quadratic_pose(c, first, g, sums, masses, laws, inverse_nine, means, rotations, poses)


@steady
def rows_of(table, k, at):
    """Nine numbers of a row from a column on, as the rows of a matrix."""
    return (
        (table[k, at], table[k, at + 1], table[k, at + 2]),
        (table[k, at + 3], table[k, at + 4], table[k, at + 5]),
        (table[k, at + 6], table[k, at + 7], table[k, at + 8]),
    )


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
def blend(beta, volume):
    """Factors of F and of R, so that the linear part keeps the volume; none of it when there is hardly any left."""
    part = min(max((volume - LOST) / (FADING - LOST), ZERO), ONE)
    kept = beta * part * part * (THREE - TWO * part)
    return kept / np.cbrt(max(volume, LOST)), ONE - kept


@steady
def write(poses, c, a):
    """Write a matrix given by rows as the map of a cluster."""
    for row in range(3):
        for column in range(3):
            poses[c, 3 + 3 * row + column] = a[row][column]


@steady
def linear_pose(c, first, sums, inverse, open_part, laws, rotations, plastic, flow, poses):
    """Map of a rigid or linear cluster: (a F + b R S), S its plastic deformation."""
    moments = rows_of(sums, first, 3)
    q = (rotations[c, 0], rotations[c, 1], rotations[c, 2], rotations[c, 3])
    flows = len(plastic) > 0
    shape = rows_of(plastic, c, 0) if flows else identity()
    q = rotation_near(product(moments, transposed(shape)) if flows else moments, q)
    rotation = product(matrix_of(q), shape)
    if flows or laws[c, 0] > ZERO:
        spanned, free = rows_of(inverse, c, 0), rows_of(open_part, c, 0)
        f = combination(ONE, product(moments, spanned), ONE, product(rotation, free))
        volume = dot(f[0], cross(f[1], f[2]))
        if flows and flow > ZERO:
            shape = flowed(shape, matrix_of(q), f, laws, c, flow)
            for row in range(3):
                for column in range(3):
                    plastic[c, 3 * row + column] = shape[row][column]
            q = rotation_near(product(moments, transposed(shape)), q)
            rotation = product(matrix_of(q), shape)
        stretched, turned = blend(laws[c, 0], volume)
        rotation = combination(stretched, f, turned, rotation)
    for k in range(4):
        rotations[c, k] = q[k]
    write(poses, c, rotation)


@steady
def flowed(shape, rotation, f, laws, c, flow):
    """Plastic deformation after a time (Mueller et al. 2005, section 4.5): what is beyond the yield creeps into it.

    The strain is that of the symmetric part S of R^T F shape^-1. Its excess flows at the creep rate, which is the same
    for any number of substeps; the whole is limited, and keeps the volume.
    """
    volume = dot(shape[0], cross(shape[1], shape[2]))
    stretch = transposed_times(rotation, product(f, inverse_of(shape, volume)))
    stretch = combination(ONE / TWO, stretch, ONE / TWO, transposed(stretch))
    excess = combination(ONE, stretch, -ONE, identity())
    share = min(flow * laws[c, 2], ONE)
    grown = combination(ONE, shape, share if size_of(excess) > laws[c, 1] else ZERO, product(excess, shape))
    plastic = combination(ONE, grown, -ONE, identity())
    size = size_of(plastic)
    limited = combination(ONE, identity(), min(ONE, laws[c, 3] / size) if size > ZERO else ONE, plastic)
    volume = dot(limited[0], cross(limited[1], limited[2]))
    good = volume > LOST
    s = ONE / np.cbrt(volume if good else ONE)
    return combination(s if good else ZERO, limited, ZERO if good else ONE, shape)


@steady
def quadratic_pose(c, first, g, sums, masses, laws, inverse_nine, means, rotations, poses):
    """Map of a quadratic cluster, three rows of nine; the products of coordinates count from their means."""
    for row in range(3):
        for column in range(6):
            sums[first, 6 + 9 * row + column] -= sums[first, row] * means[g, column]
    moments = (
        (sums[first, 3], sums[first, 4], sums[first, 5]),
        (sums[first, 12], sums[first, 13], sums[first, 14]),
        (sums[first, 21], sums[first, 22], sums[first, 23]),
    )
    q = rotation_near(moments, (rotations[c, 0], rotations[c, 1], rotations[c, 2], rotations[c, 3]))
    for k in range(4):
        rotations[c, k] = q[k]
    for row in range(3):
        for column in range(9):
            total = ZERO
            for k in range(9):
                total += sums[first, 3 + 9 * row + k] * inverse_nine[g, k, column]
            poses[c, 3 + 9 * row + column] = total
    f = (
        (poses[c, 3], poses[c, 4], poses[c, 5]),
        (poses[c, 12], poses[c, 13], poses[c, 14]),
        (poses[c, 21], poses[c, 22], poses[c, 23]),
    )
    stretched, turned = blend(laws[c, 0], dot(f[0], cross(f[1], f[2])))
    rotation = matrix_of(q)
    for row in range(3):
        for column in range(9):
            poses[c, 3 + 9 * row + column] *= stretched
        for column in range(3):
            poses[c, 3 + 9 * row + column] += turned * rotation[row][column]


@steady
def goal(e, c, rest, quadratic, lengths, means, poses):
    """Where a cluster wants one of its members."""
    a, b, d = np.float64(rest[e, 0]), np.float64(rest[e, 1]), np.float64(rest[e, 2])
    if quadratic[c] < 0:
        return (
            poses[c, 0] + poses[c, 3] * a + poses[c, 4] * b + poses[c, 5] * d,
            poses[c, 1] + poses[c, 6] * a + poses[c, 7] * b + poses[c, 8] * d,
            poses[c, 2] + poses[c, 9] * a + poses[c, 10] * b + poses[c, 11] * d,
        )
    return curved_goal(e, c, rest, quadratic, lengths, means, poses)


@steady
def curved_goal(e, c, rest, quadratic, lengths, means, poses):
    """Where a quadratic cluster wants one of its members."""
    q = extended(rest, e, lengths[c])
    g = quadratic[c]
    px, py, pz = poses[c, 0], poses[c, 1], poses[c, 2]
    for k in range(9):
        part = q[k] - (means[g, max(k - 3, 0)] if k > 2 else ZERO)
        px, py, pz = px + poses[c, 3 + k] * part, py + poses[c, 12 + k] * part, pz + poses[c, 21 + k] * part
    return px, py, pz


@numba.njit(parallel=True, cache=True, **STEADY)
def move_to_goals(
    parts, first, particles, lumps, entry_starts, entries, clusters, rest, quadratic, lengths, means, poses, shares, x,
    moves
):  # fmt: skip
    """Move each particle towards the mean of its goals.

    It is an XPBD row C = x - g of three components with inverse stiffness 1 / (m w^2), w the angular frequency of the
    material (Macklin et al. 2016, eq. 18): dx = -s (C + r d), with r = 1 / (w h)^2, s = 1 / (1 + r), and d what it has
    moved in this substep.

    Args:
        parts: How many threads share the particles.
        first: Whether it is the first iteration of the substep.
        particles: Particles that are in clusters, (P,).
        lumps: Lump of each, (P,).
        entry_starts: First place of each particle among the entries, (P + 1,).
        entries: Its members of clusters, (E,).
        clusters: Cluster of each member, (E,).
        rest: Place at rest of each member [m], (E, 3).
        quadratic: Number among the quadratic clusters, or -1, (C,).
        lengths: Length of the products of coordinates [m], (C,).
        means: Means of the products, (Q, 6).
        poses: Poses of the clusters, (C, 12 or 30).
        shares: s and r of each lump, (L, 2).
        x: Positions and inverse mass, (N, 4).
        moves: What each particle has moved in this substep [m], (P, 3).
    """
    count = len(particles)
    for t in numba.prange(parts):
        for p in range(count * t // parts, count * (t + 1) // parts):
            to_goal(p, first, particles, lumps, entry_starts, entries, clusters, rest, quadratic, lengths, means, poses,
                    shares, x, moves)  # fmt: skip


@steady
def to_goal(
    p, first, particles, lumps, entry_starts, entries, clusters, rest, quadratic, lengths, means, poses, shares, x,
    moves
):  # fmt: skip
    """Move one particle."""
    i = particles[p]
    begin, end = entry_starts[p], entry_starts[p + 1]
    gx = gy = gz = ZERO
    for k in range(begin, end):
        e = entries[k]
        place = goal(e, clusters[e], rest, quadratic, lengths, means, poses)
        gx, gy, gz = gx + place[0], gy + place[1], gz + place[2]
    n = ONE / (end - begin)
    g = (n * gx, n * gy, n * gz)
    s, r = shares[lumps[p], 0], shares[lumps[p], 1]
    free = x[i, 3] > 0.0
    for k in range(3):
        before = ZERO if first else np.float64(moves[p, k])
        change = -s * (np.float64(x[i, k]) - g[k] + r * before) if free else ZERO
        x[i, k] += change
        moves[p, k] = before + change
