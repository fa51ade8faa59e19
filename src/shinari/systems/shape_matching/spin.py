"""The spin that velocities derived from positions lose.

In a substep h a particle goes from x to x* = x + h v, matching pushes it by d, without a torque about x*, and contacts
by e, at x* + d; its new velocity is v' = v + (d + e) / h. The angular momentum about the new places has then changed by

    sum m (d + e) cross v - m d cross e / h = sum m h v' cross v - m d cross (v' - v)

beside what the contacts have given. A lump that turns by an angle f in a substep would lose f^2 of its spin, to first
order, as with any method whose velocities are differences of positions. It is given back as a rotation of the lump as a
whole, so that nothing inside turns for it: v' += w cross (x - c), with the inertia J of the lump as it is now and J w
the opposite of that change.
"""

import numpy as np

from shinari.compute import function, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.polar import solve_symmetric
from shinari.maths.vec3 import add, cross, scale, sub
from shinari.model.particles import Particles
from shinari.systems.shape_matching.kernels import NONE, ONE, THIN, ZERO, away, double
from shinari.systems.shape_matching.records import LumpChunks, Lumps, Matched


@kernel(fastmath=STEADY)
def keep_velocity(p, matched: Matched, particles: Particles):
    """Keep the velocity of the prediction."""
    matched.velocity[p] = particles.v[matched.particle[p]]


@kernel(fastmath=STEADY)
def sum_spin(
    k, chunks: LumpChunks, lumps: Lumps, matched: Matched, particles: Particles, h: np.float64, growth: np.float64
):
    """Sums over a piece: mass, m r, m r r^T and the change of spin.

    `growth` makes the velocities those before damping.
    """
    origin = double(particles.x[lumps.origin[chunks.lump[k]]])
    mass, first, square, product, spin = ZERO, NONE, NONE, NONE, NONE
    for p in range(chunks.begin[k], chunks.end[k]):
        i = matched.particle[p]
        x = particles.x[i]
        m = ONE / x[3] if x[3] > 0.0 else ZERO
        r, d = away(x, origin), double(matched.displacement[p])
        now, before = scale(double(particles.v[i]), growth), double(matched.velocity[p])
        mass, first = mass + m, add(first, scale(r, m))
        square = square[0] + m * r[0] * r[0], square[1] + m * r[1] * r[1], square[2] + m * r[2] * r[2]
        product = product[0] + m * r[1] * r[2], product[1] + m * r[2] * r[0], product[2] + m * r[0] * r[1]
        spin = add(spin, scale(sub(scale(cross(now, before), h), cross(d, sub(now, before))), m))
    chunks.mass[k], chunks.first[k] = mass, first
    chunks.second[k] = square[0], square[1], square[2], product[0], product[1], product[2]
    # of velocities that are damped
    chunks.spin[k] = scale(spin, ONE / growth)


@function(fastmath=STEADY)
def moments_of(chunks, begin, end):
    """Mass and centre of a lump, and the moments of m r r^T about its centre, on and off the diagonal."""
    mass, first, second = chunks.mass[begin], chunks.first[begin], chunks.second[begin]
    square, product = (second[0], second[1], second[2]), (second[3], second[4], second[5])
    for k in range(begin + 1, end):
        second = chunks.second[k]
        mass, first = mass + chunks.mass[k], add(first, chunks.first[k])
        square = add(square, (second[0], second[1], second[2]))
        product = add(product, (second[3], second[4], second[5]))
    c = scale(first, ONE / mass if mass > ZERO else ONE)
    square = sub(square, (mass * c[0] * c[0], mass * c[1] * c[1], mass * c[2] * c[2]))
    product = sub(product, (mass * c[1] * c[2], mass * c[2] * c[0], mass * c[0] * c[1]))
    return mass, c, square, product


@function(fastmath=STEADY)
def inertia_of(square, product, least):
    """Inertia from moments of m r r^T, on and off the diagonal; `least` keeps it from being singular."""
    xx, yy, zz = square
    return (yy + zz + least, zz + xx + least, xx + yy + least), (-product[0], -product[1], -product[2])


@kernel(fastmath=STEADY)
def find_spin(g, chunks: LumpChunks, lumps: Lumps, particles: Particles):
    """Centre, and change of angular velocity, of a lump; none where a particle of it is held."""
    begin, end = lumps.chunks[g]
    _, c, square, product = moments_of(chunks, begin, end)
    spin = chunks.spin[begin]
    for k in range(begin + 1, end):
        spin = add(spin, chunks.spin[k])
    least = THIN * (square[0] + square[1] + square[2])
    diagonal, off = inertia_of(square, product, least)
    turn, _ = solve_symmetric(diagonal, off, scale(spin, -ONE))
    lumps.centre[g] = add(double(particles.x[lumps.origin[g]]), c)
    lumps.spin[g] = turn if not lumps.held[g] and least > ZERO else NONE


@kernel(fastmath=STEADY)
def apply_spin(p, matched: Matched, lumps: Lumps, particles: Particles):
    """Add the spin of its lump to the velocity of a particle."""
    i, g = matched.particle[p], matched.lump[p]
    particles.v[i] = add(particles.v[i], cross(lumps.spin[g], away(particles.x[i], lumps.centre[g])))
