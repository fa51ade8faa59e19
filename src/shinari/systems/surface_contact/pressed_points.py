"""Points of contact rows that lie on a collider and are pressed on it by what lies on them.

       upper       |         A row moves its points by their inverse masses. A lower one between an upper one and a
    ----o----      v         collider is pushed into the collider, which pushes it back in the next pass: of that the
      lower o                upper one gets as little as the masses differ. A heavy one sinks until it lies on the
    ----^----  ^ g           collider itself, a stack of equal sheets sinks where it is thin and creeps. So the lower
     collider                side counts as part of the collider: it does not give way, and the push has the direction
                             of the normal g of the collider.

A layer almost without mass passes on the force of the collider, which is along g and within its cone of friction; the
normal of the row may be tilted by the unevenness of the layer. Where the collider is smoother than the layer the two
move together over it. The collider is told what it has given (`shinari.systems.colliders.supports`).
"""

import numpy as np

from shinari.collision.law import tangential
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, add, dot, norm, reciprocal, scale
from shinari.systems.colliders.supports import LIGHTER, is_on_body, touches_plane
from shinari.systems.surface_contact.row_pushes import slip_of

# Cosine of the angle between the normals of a row and of a collider up to which the push is that of the collider.
ALIKE = np.float32(0.8)
# Part of the push that has to go to points which lie on a collider.
NEARLY_ALL = np.float32(0.99)
# Sides of a row.
NEITHER, SECOND, FIRST = 0, 1, -1


@steady
def normal_below(supports, i):
    """Normal of what particle i lies on."""
    return supports.normal[i, 0], supports.normal[i, 1], supports.normal[i, 2]


@steady
def is_on(side, k, edges):
    """Whether point k of a row is on a side."""
    return side != NEITHER and (k < (2 if edges else 1)) == (side == FIRST)


@steady
def without(side, edges, four):
    """Numbers of the four points of a row with 0 for those on a side."""
    zero = ZERO * four[0]
    return (
        zero if is_on(side, 0, edges) else four[0],
        zero if is_on(side, 1, edges) else four[1],
        zero if is_on(side, 2, edges) else four[2],
        zero if is_on(side, 3, edges) else four[3],
    )


@steady
def mobilities(edges, w, masses):
    """Inverse masses of both sides of a row [1/kg]; masses: weights times inverse masses."""
    both = w[1] * masses[1]
    first, second = w[0] * masses[0], w[2] * masses[2] + w[3] * masses[3]
    return (first + both, second) if edges else (first, second + both)


@steady
def differ(first, second):
    """Whether one of two sides with these inverse masses [1/kg] is so much heavier that layers below it are sought."""
    return max(first, second) > LIGHTER * min(first, second)


@steady
def part_on_colliders(supports, radius, x, points, edges, w, n, side):
    """Weights of the points of a side that lie on colliders, their mean normal on the side of n, and their friction."""
    zero = ZERO * w[0]
    # from the side to the other one; what has stopped a push lies on its plane for the substep
    sign = ONE if side == SECOND else -ONE
    up, parts, grip = (zero, zero, zero), zero, zero
    for k in range(4):
        i = points[k]
        if is_on(side, k, edges) and w[k] != ZERO and supports.solid[i] != 0 and not is_on_body(supports, i):
            g, part = normal_below(supports, i), abs(w[k])
            if sign * dot(g, n) > ALIKE and (touches_plane(supports, i, x, radius[i]) or supports.push[i] > ZERO):
                up, parts, grip = add(up, scale(g, part)), parts + part, grip + part * supports.grip[i]
    return parts, scale(up, sign * reciprocal(norm(up))), grip


@steady
def find_pressed(supports, radius, x, points, edges, w, masses, n):
    """Find the side of a row that is pressed on colliders by the other one: the lighter one, if both may be.

    Args:
        supports: What particles lie on; none where nothing presses.
        radius: Distances that particles keep [m].
        x: Positions and inverse masses.
        points: The four particles of the row.
        edges: Whether it is one of two edges.
        w: Their weights.
        masses: These times inverse masses [1/kg].
        n: Normal, from the second side to the first.

    Returns:
        The side; the normal of the colliders on the side of n; and their mean coefficient of friction.
    """
    zero = ZERO * w[0]
    none = NEITHER, n, zero + np.float32(np.inf)
    if len(supports) == 0:
        return none
    first, second = mobilities(edges, w, masses)
    # heavy objects are stopped by planes of layers; rows between layers that do not give way would lift these
    if not (differ(first, second) or supports.even[0]):
        return none
    lighter = FIRST if first > second else SECOND
    parts, up, grip = part_on_colliders(supports, radius, x, points, edges, w, n, lighter)
    if parts >= NEARLY_ALL:
        return lighter, up, grip
    if not supports.even[0]:
        return none
    parts, up, grip = part_on_colliders(supports, radius, x, points, edges, w, n, -lighter)
    return (-lighter, up, grip) if parts >= NEARLY_ALL else none


@steady
def may_press(r, rows, x):
    """Whether what lies in layers below a row is to be found."""
    (i0, i1, i2, i3), w = rows.points[r], rows.weights[r]
    masses = w[0] * x[i0, 3], w[1] * x[i1, 3], w[2] * x[i2, 3], w[3] * x[i3, 3]
    first, second = mobilities(rows.edges[r], w, masses)
    return differ(first, second)


@steady
def motion_of_colliders(supports, side, edges, points, w):
    """Weighted sum of the displacements of the colliders below the points of a side [m]."""
    x, y, z = ZERO * w[0], ZERO * w[0], ZERO * w[0]
    for k in range(4):
        if is_on(side, k, edges):
            motion = supports.motion[points[k]]
            x, y, z = x + w[k] * motion[0], y + w[k] * motion[1], z + w[k] * motion[2]
    return x, y, z


@steady
def slip_on_colliders(supports, particles, side, edges, points, w, h):
    """Weighted displacement of the heavier side in this substep less that of the colliders below the other one [m]."""
    heavier = slip_of(without(side, edges, w), points, particles, h)
    return add(heavier, motion_of_colliders(supports, side, edges, points, w))


@steady
def tell_colliders(supports, x, side, edges, points, w, push):
    """Tell the colliders below the points of a side what they have given back of a push.

    `push`: what a row gives to a point with weight 1, without what is silent [kg m].
    """
    for k in range(4):
        i, part = points[k], -w[k] * x[points[k], 3]
        if is_on(side, k, edges) and part != ZERO:
            g = normal_below(supports, i)
            along = tangential(push, g)
            supports.push[i] += part * dot(push, g)
            for c in range(3):
                supports.hold[i, c] += part * along[c]
