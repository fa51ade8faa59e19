"""Pulls crossings apart at a limited speed, and keeps contacts from holding them."""

import numpy as np

from shinari.compute import convert, kernel, real
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, reciprocal, scale, sub
from shinari.model.particles import Particles
from shinari.systems.paths.records import Begins
from shinari.systems.surface_contact.records import ContactParticles, Places, Rows
from shinari.systems.surface_contact.rows import FAR
from shinari.systems.untangling.records import Crossings, SheetEdges, SheetPoints, SheetTriangles, TangleState


@steady
def opposed(i, j, points, contact_particles):
    """Whether a particle is drawn out of the object of another one, or both lie on a contour that separates nothing."""
    a, b = points.region[i], points.region[j]
    one = np.uint64(1) << np.uint64(contact_particles.object_index[i] % 64)
    other = np.uint64(1) << np.uint64(contact_particles.object_index[j] % 64)
    out = (points.opponents[a] & other) | (points.opponents[b] & one)
    return (a != b and out != np.uint64(0)) or (points.near[i] and points.near[j])


@steady
def released(r, rows, points, contact_particles):
    """Whether the sides of a row are pulled through each other."""
    i0, i1, i2, i3 = rows.points[r]
    found = opposed(i0, i2, points, contact_particles) or opposed(i0, i3, points, contact_particles)
    if rows.edges[r]:
        return found or opposed(i1, i2, points, contact_particles) or opposed(i1, i3, points, contact_particles)
    return found or opposed(i0, i1, points, contact_particles)


@kernel
def release_row(r, rows: Rows, points: SheetPoints, contact_particles: ContactParticles):
    """Let a row neither push nor be certified where its sides are pulled through each other."""
    if rows.gap[r] >= ZERO and released(r, rows, points, contact_particles):
        rows.active[r], rows.start[r], rows.bound[r] = False, ZERO, FAR


@kernel
def release_fresh(k, fresh: Places, rows: Rows, points: SheetPoints, contact_particles: ContactParticles):
    """The same for a row that was written in the middle of a substep."""
    r = fresh.row[k]
    if released(r, rows, points, contact_particles):
        rows.active[r], rows.start[r], rows.bound[r] = False, ZERO, FAR


@steady
def gone(particles, begins, i):
    """Displacement of a particle in the substep."""
    x = particles.x[i]
    return sub((x[0], x[1], x[2]), begins.x[i])


@steady
def shove(particles, i, share, d):
    """Move a particle."""
    s = share * particles.x[i, 3]
    particles.x[i, 0] += s * d[0]
    particles.x[i, 1] += s * d[1]
    particles.x[i, 2] += s * d[2]


@kernel(fastmath=STEADY)
def pull_crossings(
    _, state: TangleState, crossings: Crossings, edges: SheetEdges, triangles: SheetTriangles, particles: Particles,
    begins: Begins, reach: real
):  # fmt: skip
    """Let each edge go by `reach` [m] relative to its triangle in the substep, one after the other."""
    for c in range(state.crossings[0]):
        n = crossings.push[c]
        p, q = edges.points[crossings.edge[c]]
        i, j, k = triangles.points[crossings.triangle[c]]
        s, w = crossings.place[c], crossings.weights[c]
        b = s - s + np.float32(1.0) - s
        d = add(scale(gone(particles, begins, p), b), scale(gone(particles, begins, q), s))
        d = sub(d, scale(gone(particles, begins, i), w[0]))
        d = sub(d, scale(gone(particles, begins, j), w[1]))
        d = sub(d, scale(gone(particles, begins, k), w[2]))
        x = particles.x
        mobility = b * b * x[p, 3] + s * s * x[q, 3]
        mobility += w[0] * w[0] * x[i, 3] + w[1] * w[1] * x[j, 3] + w[2] * w[2] * x[k, 3]
        missing = reach - dot(n, d)
        if dot(n, n) == ZERO or missing <= ZERO or mobility <= ZERO:
            continue
        # next to a fixed particle little mobility is left: no particle moves farther than `reach`
        most = max(b * x[p, 3], s * x[q, 3])
        most = max(most, max(w[0] * x[i, 3], max(w[1] * x[j, 3], w[2] * x[k, 3])))
        move = scale(n, min(missing / mobility, reach / most))
        shove(particles, p, b, move)
        shove(particles, q, s, move)
        shove(particles, i, -w[0], move)
        shove(particles, j, -w[1], move)
        shove(particles, k, -w[2], move)


@steady
def heavier(total, particles, i):
    """Sum of masses and momenta with those of another particle; one that is fixed has none."""
    w = particles.x[i, 3]
    m = ONE / w if w > ZERO else w - w
    return total[0] + m, add(total[1], scale(particles.v[i], m))


@steady
def slow(particles, i, mean, factor):
    """Scale the velocity of a free particle relative to a mean."""
    if particles.x[i, 3] > ZERO:
        particles.v[i] = add(mean, scale(sub(particles.v[i], mean), factor))


@kernel(fastmath=STEADY)
def slow_crossings(
    _, state: TangleState, crossings: Crossings, edges: SheetEdges, triangles: SheetTriangles, particles: Particles,
    most: real
):  # fmt: skip
    """Bound the speeds [m/s] of the particles of each crossing relative to each other; their momentum stays."""
    for c in range(state.crossings[0]):
        p, q = edges.points[crossings.edge[c]]
        i, j, k = triangles.points[crossings.triangle[c]]
        zero = most - most
        total = heavier(heavier((zero, (zero, zero, zero)), particles, p), particles, q)
        total = heavier(heavier(heavier(total, particles, i), particles, j), particles, k)
        mean = scale(total[1], reciprocal(total[0]))
        fastest = zero
        for n in range(5):
            at = p if n == 0 else (q if n == 1 else (i if n == 2 else (j if n == 3 else k)))
            fastest = max(fastest, norm(sub(particles.v[at], mean)) if particles.x[at, 3] > ZERO else zero)
        if fastest > most:
            for n in range(5):
                at = p if n == 0 else (q if n == 1 else (i if n == 2 else (j if n == 3 else k)))
                slow(particles, at, mean, most / fastest)


@kernel
def clear_momentum(i, points: SheetPoints):
    """Nothing is known of a region."""
    points.mass[i], points.momentum[i], points.fastest[i] = 0.0, (0.0, 0.0, 0.0), 0.0


@steady
def velocity(particles, i):
    """Velocity in float64."""
    v = particles.v[i]
    return np.float64(v[0]), np.float64(v[1]), np.float64(v[2])


@kernel(fastmath=STEADY, mixed=True)
def measure_regions(_, state: TangleState, crossings: Crossings, edges: SheetEdges, points: SheetPoints,
                    particles: Particles):  # fmt: skip
    """Mass, momentum and largest speed relative to the mean of each region that is pulled."""
    for i in range(len(points)):
        w, region = particles.x[i, 3], points.region[i]
        if w > ZERO:
            m = 1.0 / np.float64(w)
            points.mass[region] += m
            points.momentum[region] = add(points.momentum[region], scale(velocity(particles, i), m))
    for i in range(len(points)):
        region = points.region[i]
        if particles.x[i, 3] > ZERO:
            mean = scale(points.momentum[region], 1.0 / points.mass[region])
            points.fastest[region] = max(points.fastest[region], norm(sub(velocity(particles, i), mean)))
    for c in range(state.crossings[0]):
        for end in range(2):
            points.pulled[points.region[edges.points[crossings.edge[c], end]]] = True


@kernel(fastmath=STEADY, mixed=True)
def limit_speed(i, points: SheetPoints, particles: Particles, most: np.float64):
    """Bound the speed [m/s] of a particle relative to the mean of a region that is pulled; its momentum stays."""
    region, w = points.region[i], particles.x[i, 3]
    if w > ZERO and points.pulled[region] and points.fastest[region] > most:
        mean = scale(points.momentum[region], 1.0 / points.mass[region])
        v = add(mean, scale(sub(velocity(particles, i), mean), most / points.fastest[region]))
        particles.v[i] = convert(v[0], w), convert(v[1], w), convert(v[2], w)
