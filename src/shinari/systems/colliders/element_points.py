"""Points of triangles and segments: weights of their vertices, masses, paths, and how their vertices are moved.

A segment is a triangle whose last two vertices are one.
"""

import numpy as np

from shinari.maths.function import steady
from shinari.maths.poses import to_local
from shinari.maths.vec3 import ZERO, add, norm, scale, sub
from shinari.systems.colliders.collide import apply_correction, displacement_of, place, previous_position

# A triangle that was pushed away at one point may lie deeper at another.
ROUNDS = 6
# What touches with such a weight of a vertex is left to the vertex; a push by less than a part of the distance to keep
# does not move what is deepest.
AT_VERTEX, SMALL = np.float32(0.995), np.float32(0.05)


@steady
def blend(weights, a, b, c):
    """Point of a triangle."""
    return add(scale(a, weights[0]), add(scale(b, weights[1]), scale(c, weights[2])))


@steady
def vertices(points):
    """Indices of the particles of an element."""
    return np.int64(points[0]), np.int64(points[1]), np.int64(points[2])


@steady
def radii_of(contact_particles, i):
    """Distances that the vertices of an element keep."""
    radius = contact_particles.radius
    return radius[i[0]], radius[i[1]], radius[i[2]]


@steady
def largest_of(values, i):
    """Largest of the values of three particles."""
    return max(values[i[0]], max(values[i[1]], values[i[2]]))


@steady
def least_of(values, i):
    """Least of the values of three particles."""
    return min(values[i[0]], min(values[i[1]], values[i[2]]))


@steady
def blend_of(values, i, share):
    """Value at a point of an element."""
    return share[0] * values[i[0]] + share[1] * values[i[1]] + share[2] * values[i[2]]


@steady
def vertex_weights(weights, i):
    """Weights of the vertices of an element; the last two of a segment are one, and have their sum once."""
    segment = i[1] == i[2]
    zero = ZERO * weights[2]
    return weights[0], weights[1] + weights[2] if segment else weights[1], zero if segment else weights[2]


@steady
def inverse_mass_at(x, i, share):
    """Inverse mass of a point of an element, sum w b^2 [1/kg]."""
    b0, b1, b2 = share
    return x[i[0], 3] * b0 * b0 + x[i[1], 3] * b1 * b1 + x[i[2], 3] * b2 * b2


@steady
def local_path(before, after, particles, i, h):
    """Vertices of an element in the axes of a collider: now, and at the start of the substep."""
    x, predicted, v = particles.x, particles.predicted, particles.v
    ends = to_local(after, place(x, i[0])), to_local(after, place(x, i[1])), to_local(after, place(x, i[2]))
    begins = (
        to_local(before, previous_position(x, predicted, v, h, i[0])),
        to_local(before, previous_position(x, predicted, v, h, i[1])),
        to_local(before, previous_position(x, predicted, v, h, i[2])),
    )
    return ends, begins


@steady
def longest_path(ends, begins):
    """Largest displacement of three points."""
    first, second, third = norm(sub(ends[0], begins[0])), norm(sub(ends[1], begins[1])), norm(sub(ends[2], begins[2]))
    return max(first, max(second, third))


@steady
def displacement_at(particles, i, share, h):
    """Displacement of a point of an element in the substep."""
    x, predicted, v = particles.x, particles.predicted, particles.v
    first = displacement_of(x, predicted, v, h, i[0])
    second = displacement_of(x, predicted, v, h, i[1])
    return blend(share, first, second, displacement_of(x, predicted, v, h, i[2]))


@steady
def move_vertices(contact_particles, particles, i, share, w, correction, silent, clock, rate):
    """Move the vertices of an element by their shares of the correction of a point."""
    move_vertex(contact_particles, particles, i[0], share[0], w, correction, silent, clock, rate)
    move_vertex(contact_particles, particles, i[1], share[1], w, correction, silent, clock, rate)
    move_vertex(contact_particles, particles, i[2], share[2], w, correction, silent, clock, rate)


@steady
def move_vertex(contact_particles, particles, i, b, w, correction, silent, clock, rate):
    """Move a vertex by its share of the correction of a point; one that is fixed is not written."""
    x = particles.x
    if x[i, 3] > ZERO and b > ZERO:
        part = x[i, 3] * b / w
        contact_particles.displacement[i] += part * norm(correction)
        apply_correction(contact_particles, particles, i, part, correction, silent, clock, rate)


@steady
def add_share(vectors, i, share, change):
    """Add a share of a change to the velocity or the position of a vertex; one that is fixed is not written."""
    if share > ZERO:
        vectors[i, 0] += share * change[0]
        vectors[i, 1] += share * change[1]
        vectors[i, 2] += share * change[2]
