"""Elements that are apart from a collider: how far their particles may go until they can touch.

              n                 A convex solid lies behind each plane that touches it. An element that is above such a
       0 . . .^. . . 1          plane at both ends of a straight path is apart from the solid all along, and stays so
      ________|________         until the path of one of its particles is longer than the gap of that particle.
         solid

Each particle has a bound of its own: the longest path of three says nothing about the other two.
"""

import numpy as np

from shinari.maths.function import steady
from shinari.maths.vec3 import ZERO, dot
from shinari.model.contact_passes import was_moved
from shinari.shapes.kernels.all_distances import is_mesh
from shinari.systems.colliders.contact_list import FAR, THIRD


@steady
def unknown_plane(like):
    """A plane that nothing is above."""
    zero = ZERO * like
    return zero, zero, zero, FAR + zero


@steady
def planar_gaps(plane, points, radii):
    """Gaps of three points that keep distances above a plane: normal, and its product with a point of the plane.

    A convex solid lies behind a plane that touches it. An element that is above it at both ends of a straight path is
    apart from the solid all along.
    """
    n = plane[0], plane[1], plane[2]
    return (
        dot(n, points[0]) - plane[3] - radii[0],
        dot(n, points[1]) - plane[3] - radii[1],
        dot(n, points[2]) - plane[3] - radii[2],
    )


@steady
def are_above(gaps):
    """Whether no gap is negative."""
    return gaps[0] >= ZERO and gaps[1] >= ZERO and gaps[2] >= ZERO


@steady
def stays_above(plane, ends, begins, radii):
    """Whether an element is above a plane all along its path."""
    return are_above(planar_gaps(plane, ends, radii)) and are_above(planar_gaps(plane, begins, radii))


@steady
def is_apart(contacts, m, plane, ends, begins, radii):
    """Whether an element is above a plane all along its path; friction goes on where its contact has pushed before."""
    return contacts.normal_correction[m] <= ZERO and stays_above(plane, ends, begins, radii)


@steady
def are_short(path, i, bound):
    """Whether the path of each particle of an element is shorter than its bound."""
    return path[i[0]] < bound[0] and path[i[1]] < bound[1] and path[i[2]] < bound[2]


@steady
def some_moved(clock, moved_in, i):
    """Whether a contact moved one of three particles noticeably in this pass or the one before."""
    return was_moved(clock, moved_in, i[0]) or was_moved(clock, moved_in, i[1]) or was_moved(clock, moved_in, i[2])


@steady
def takes_part(p, i, items, contact_particles, clock):
    """Whether an element may touch a collider in this pass."""
    apart = are_short(contact_particles.path, i, items.bounds[p])
    return not apart and (clock.local[0] == 0 or some_moved(clock, contact_particles.moved_in, i))


@steady
def is_far(contacts, m, path, i, first):
    """Whether an element cannot touch after it has gone so far; the first pass of a substep begins its contact."""
    if first:
        contacts.normal_correction[m], contacts.friction_correction[m] = ZERO, (ZERO, ZERO, ZERO)
        # what comes out must not depend on when an element was listed or passed over
        contacts.weights[m] = THIRD, THIRD, THIRD
    return are_short(path, i, contacts.bounds[m])


@steady
def leave(contacts, m, path, i, gaps, stays):
    """Pass an element over until a particle has gone as far as its gap, with a contact as at the start of a substep.

    Not where it stays: near, or with a push in this substep.
    """
    if not stays and contacts.normal_correction[m] <= ZERO:
        contacts.bounds[m] = path[i[0]] + gaps[0], path[i[1]] + gaps[1], path[i[2]] + gaps[2]
        contacts.weights[m] = THIRD, THIRD, THIRD


@steady
def bound_with(least, m, contacts, colliders):
    """The least of bounds and those of a contact; contacts with meshes are left to others."""
    bound = contacts.bounds[m]
    lower = min(least[0], bound[0]), min(least[1], bound[1]), min(least[2], bound[2])
    return least if is_mesh(colliders.kind[np.int64(contacts.solid[m])]) else lower
