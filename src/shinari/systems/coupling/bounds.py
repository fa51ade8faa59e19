"""How far items and pieces of bodies have gone since the detection, and until when a contact is passed over.

What is apart stays apart until the paths of its particles and of the piece, added up, are as long as its gap. An
element has a gap for each of its particles, over a plane that a convex piece lies behind; see
`shinari.systems.colliders.element_bounds`.

An element is as deep as its lowest vertex over that plane, at most. Where the piece is flat, that vertex is as deep as
the plane tells, and the element has nothing to do.
"""

import numpy as np

from shinari.maths.function import steady
from shinari.maths.vec3 import ZERO, add, dot, norm, sub
from shinari.systems.colliders.element_bounds import planar_gaps, stays_above
from shinari.systems.colliders.element_points import blend, longest_path
from shinari.systems.colliders.elements import lowest_weights
from shinari.systems.rigid.integration import rotation_vector_between

# Part of the distance that an element keeps by which it may be deeper than its lowest vertex.
LEVEL = 0.01


@steady
def piece_path(k, body_shapes, body_sweeps):
    """Length of the path of any point of a piece since the detection, at most [m]."""
    b = body_shapes.frame[k]
    return body_sweeps.path[b, 0] + body_sweeps.path[b, 1] * body_shapes.reach[k]


@steady
def piece_stride(frames, k, body_shapes):
    """How far a point of a piece has gone in the substep, at most [m]."""
    b = body_shapes.frame[k]
    turned = norm(rotation_vector_between(frames.q0[b], frames.q[b]))
    return norm(sub(frames.x[b], frames.x0[b])) + turned * body_shapes.reach[k]


@steady
def paths_with(path, i, far):
    """Lengths of the paths of three particles since the detection, each with that of the piece, `far` [m]."""
    return path[i[0]] + far, path[i[1]] + far, path[i[2]] + far


@steady
def are_shorter(lengths, bounds):
    """Whether three lengths are each below its bound."""
    return lengths[0] < bounds[0] and lengths[1] < bounds[1] and lengths[2] < bounds[2]


@steady
def leave_apart(contacts, m, again, ways, ends, begins):
    """Pass an element over that is above the plane of its contact, until it or the piece has gone as far as it is.

    A contact that has pushed may push back. In further rounds of an element, `again`, only whether it is above.

    Args:
        contacts: The contacts.
        m: The contact.
        again: Round.
        ways: Lengths of the paths of its particles and the piece so far, and the distances that they keep [m].
        ends: Its vertices in the axes of the piece.
        begins: The same at the start of the substep.

    Returns:
        Whether it is apart.
    """
    far, radii = ways
    apart = contacts.multiplier[m] <= ZERO and stays_above(contacts.plane[m], ends, begins, radii)
    if apart and again == 0:
        contacts.bound[m] = add(far, planar_gaps(contacts.plane[m], ends, radii))
    return apart


@steady
def leave_to_vertices(distance_and_normal, contacts, m, piece, ways, ends, begins):
    """Pass an element over that is no deeper than its lowest vertex, but for a small part of the distance it keeps.

    It stays so until the paths of its particles and the piece have used up what is left of that part: each end of the
    comparison changes by them at most. What may have gone through is looked at.

    Args:
        distance_and_normal: The function of the shapes.
        contacts: The contacts.
        m: The contact; its plane is one that the piece lies behind.
        piece: Kind and numbers of the piece, and the distance fields of meshes.
        ways: Lengths of the paths of its particles and the piece so far, and the distances that they keep [m].
        ends: Its vertices in the axes of the piece.
        begins: The same at the start of the substep.

    Returns:
        Whether it is left to its vertices.
    """
    plane, (far, radii), (kind, size, fields) = contacts.plane[m], ways, piece
    n = plane[0], plane[1], plane[2]
    share = lowest_weights(n, ends[0], ends[1], ends[2])
    lowest = blend(share, ends[0], ends[1], ends[2])
    reach = share[0] * radii[0] + share[1] * radii[1] + share[2] * radii[2]
    value, _ = distance_and_normal(kind, lowest, size, fields)
    room = 0.5 * (dot(n, lowest) - plane[3] + LEVEL * reach - value)
    if room < ZERO or value <= longest_path(ends, begins):
        return False
    contacts.bound[m] = add(far, (room, room, room))
    return True


@steady
def radii_of(contact_particles, i):
    """Distances that the vertices of an element keep [m]."""
    radius = contact_particles.radius
    return np.float64(radius[i[0]]), np.float64(radius[i[1]]), np.float64(radius[i[2]])
