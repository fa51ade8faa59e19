"""How contact rows move their four points: weights times inverse masses, impulses in kg m."""

from shinari.collision.law import combined_surface, friction_multiplier
from shinari.maths.function import steady
from shinari.maths.vec3 import ZERO, norm, scale, sub
from shinari.systems.colliders.collide import displacement_of


@steady
def sum_of_four(w, a, b, c, d):
    """Weighted sum of four vectors."""
    return (
        w[0] * a[0] + w[1] * b[0] + w[2] * c[0] + w[3] * d[0],
        w[0] * a[1] + w[1] * b[1] + w[2] * c[1] + w[3] * d[1],
        w[0] * a[2] + w[1] * b[2] + w[2] * c[2] + w[3] * d[2],
    )


@steady
def law_between(objects, contact_particles, i, j):
    """Friction, static friction, restitution and compliance of two particles."""
    index = contact_particles.object_index
    return combined_surface(objects.surface[index[i]], objects.surface[index[j]])


@steady
def mobility_of(w, masses):
    """Inverse mass of a row [1/kg]; masses: weights times inverse masses."""
    return w[0] * masses[0] + w[1] * masses[1] + w[2] * masses[2] + w[3] * masses[3]


@steady
def add_to(vectors, i, a, b):
    """Add a multiple of a vector to the first three numbers of a row."""
    vectors[i, 0] += a * b[0]
    vectors[i, 1] += a * b[1]
    vectors[i, 2] += a * b[2]


@steady
def note_path(contact_particles, i, x, length):
    """Add the displacement by a row to the path of a particle; blocks of one colour may share fixed particles."""
    if x[i, 3] > ZERO:
        contact_particles.path[i] += length
        contact_particles.last_position[i] = x[i, 0], x[i, 1], x[i, 2]


@steady
def slip_of(weights, points, particles, h):
    """Weighted sum of the displacements of the points of a row in this substep."""
    x, predicted, v, (i0, i1, i2, i3) = particles.x, particles.predicted, particles.v, points
    return sum_of_four(
        weights, displacement_of(x, predicted, v, h, i0), displacement_of(x, predicted, v, h, i1),
        displacement_of(x, predicted, v, h, i2), displacement_of(x, predicted, v, h, i3)
    )  # fmt: skip


@steady
def push_points(points, masses, along, quiet, particles, contact_particles):
    """Push the points of a row; masses: weights times inverse masses; quiet: what brings no velocity [kg m].

    Returns the sum of the displacements.
    """
    x, predicted, (i0, i1, i2, i3), (m0, m1, m2, m3) = particles.x, particles.predicted, points, masses
    add_to(x, i0, m0, along)
    add_to(x, i1, m1, along)
    add_to(x, i2, m2, along)
    add_to(x, i3, m3, along)
    add_to(predicted, i0, m0, quiet)
    add_to(predicted, i1, m1, quiet)
    add_to(predicted, i2, m2, quiet)
    add_to(predicted, i3, m3, quiet)
    length = norm(along)
    l0, l1, l2, l3 = abs(m0 * length), abs(m1 * length), abs(m2 * length), abs(m3 * length)
    note_path(contact_particles, i0, x, l0)
    note_path(contact_particles, i1, x, l1)
    note_path(contact_particles, i2, x, l2)
    note_path(contact_particles, i3, x, l3)
    return l0 + l1 + l2 + l3


@steady
def grip_of(held, slip, mobility, load, law):
    """Friction in a substep so far [kg m], from that before, the slip [m] and the multiplier that bounds it."""
    return friction_multiplier(sub(scale(held, mobility), slip), load, mobility, law)
