"""Newton steps at the contact points, pair by pair: what a full step leaves, and what follows from a part of it.

A full step that changes no state needs no other: its forces are those of the solution, and nothing else is written.
Where a component needs another step, its points advance by their displacements and are classified there.
"""

import numpy as np

from shinari.collision.law import (
    APART,
    COMPLIANCE,
    SLIDING,
    regularised_force,
    regularised_stiffness,
)
from shinari.compute import Field, Record, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.symmetric import times
from shinari.maths.vec3 import add, dot, scale, sub
from shinari.systems.rigid.components import FOUND, MOVES, PENDING, SOLVED, UNSETTLED, Components, Nodes
from shinari.systems.rigid.contact.margins import Detection
from shinari.systems.rigid.contact.pairs import Pairs, Points
from shinari.systems.rigid.direct import displacement_between, displacements_of
from shinari.systems.rigid.elements import Elements, PointWork
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.points import classify_point_contact, resists_rotation
from shinari.systems.rigid.progress import Counts

# Relative tolerance of the limits of friction.
CLOSE = 1e-2
# Cosine of the largest change of the direction of sliding in a Newton step that needs no other.
STRAIGHT = 0.9999


class DirectPairs(Record):
    """Pairs that are solved directly, with room for all that have points."""

    pair = Field(np.int32)


@kernel(in_order=True)
def list_direct_pairs(_, pairs: Pairs, direct: DirectPairs, detection: Detection, counts: Counts):
    """List the pairs with points that are solved directly."""
    n = 0
    for i in range(detection.active_pairs[0]):
        k = pairs.active[i]
        direct.pair[n] = k
        n += 1 if pairs.direct[k] else 0
    counts.direct_pairs[0] = n


@kernel(fastmath=STEADY)
def check_points(
    i, direct: DirectPairs, pairs: Pairs, points: Points, work: PointWork, elements: Elements, components: Components,
    nodes: Nodes, first_point: np.int64
):  # fmt: skip
    """Write the forces of the points of a pair after a full step, and mark what the step changes in its component.

    It is crossing when a point changes its state or reverses its friction. It is unsettled when a point changes its
    state or the direction of its sliding. It is exceeding when a limit of friction is not that of the normal force.
    Points with a gap within the rounding of positions change nothing: those of a high heap come and go for ever.
    """
    k = direct.pair[i]
    first = pairs.start[k]
    component = elements.component[first_point + first]
    if components.solution[component] == SOLVED:
        return
    one, other = displacements_of(first_point + first, elements, nodes.vector)
    compliance, softness = points.law[first, COMPLIANCE], components.softness[component]
    rounding = components.rounding[component]
    crossing, unsettled, exceeding = False, False, False
    for p in range(first, first + pairs.rows[k]):
        n, d = points.normal[p], displacement_between(one, other, elements.arms[first_point + p])
        along, stiffness, old = dot(n, d), softness * work.stiffness[p], work.status[p]
        most = work.friction_coefficient[p] * work.limit[p]
        slip = add(work.slip[p], sub(d, scale(n, along)))
        grip = softness * work.grip[p]
        status, normal, hold, _ = regularised_force(
            work.gap[p] + along, slip, n, grip, regularised_stiffness(stiffness, compliance), points.force[p], most
        )
        work.force[p] = add(scale(n, normal), hold)
        straight = dot(hold, work.sliding_direction[p]) if status == SLIDING and old == SLIDING else np.inf
        bent = most > 0.0 and straight < STRAIGHT * most
        if abs(work.gap[p] + along) > rounding:
            crossing |= status != old or straight < 0.0
            unsettled |= status != old or bent
            exceeding |= exceeds_limit(status, normal, hold, work.limit[p], work.friction_coefficient[p])
    if crossing:
        components.crossing[component] = 1
    if exceeding:
        components.exceeding[component] = 1
    if unsettled:
        components.solution[component] = UNSETTLED


@steady
def exceeds_limit(status, normal, hold, limit, coefficient):
    """Whether the limit of friction of a point is not that of its normal force."""
    most = coefficient * normal * (1.0 + CLOSE)
    wrong = (status == SLIDING and abs(normal - limit) > CLOSE * normal) or dot(hold, hold) > most * most
    return status != APART and coefficient != 0.0 and wrong


@kernel(fastmath=STEADY)
def advance_points(
    i, direct: DirectPairs, pairs: Pairs, points: Points, work: PointWork, elements: Elements, components: Components,
    nodes: Nodes, first_point: np.int64
):  # fmt: skip
    """Advance the points of a pair by their part of the step, and classify them for the next one.

    Limits of friction are renewed first where they were exceeded; the step is then a full one.
    """
    k = direct.pair[i]
    first = pairs.start[k]
    component = elements.component[first_point + first]
    if components.solution[component] != PENDING:
        return
    one, other = displacements_of(first_point + first, elements, nodes.vector)
    part, renewed, law = components.part[component], components.renewed[component], points.law[first]
    softness = components.softness[component]
    for p in range(first, first + pairs.rows[k]):
        e, n = first_point + p, points.normal[p]
        d = displacement_between(one, other, elements.arms[e])
        along = dot(n, d)
        work.applied[p] = add(scale(work.applied[p], 1.0 - part), force_of_part(e, d, part, elements))
        work.gap[p] += along
        work.slip[p] = add(work.slip[p], sub(d, scale(n, along)))
        if resists_rotation(law):
            work.rotation[p] = add(work.rotation[p], sub(one[1], other[1]))
        if renewed != 0:
            work.limit[p] = max(dot(n, work.force[p]), 0.0)
        classify_point_contact(p, e, law, softness, points, work, elements)


@steady
def force_of_part(e, d, part, elements):
    """Force of a point by a part of a step, t f - K d, with the displacement of the part; see `accumulate_force`."""
    f, s = elements.force[e], elements.stiffness[e]
    return sub(scale((f[0], f[1], f[2]), part), times((s[0], s[1], s[2], s[3], s[4], s[5]), d))


@steady
def applied_force(p, e, one, other, early, work, elements):
    """Force that a full step, the last one of its component, has applied at a point: f - K d.

    Where the component has settled, that is the force after the step, which is linear, but for sliding.
    """
    if early or work.status[p] == SLIDING:
        return force_of_part(e, displacement_between(one, other, elements.arms[e]), 1.0, elements)
    return work.force[p]


@kernel(fastmath=STEADY)
def continue_points(
    i, pairs: Pairs, work: PointWork, elements: Elements, components: Components, nodes: Nodes, first_point: np.int64
):  # fmt: skip
    """Before a further solution in the same substep: keep what the last one has applied at the points of a pair."""
    k = pairs.active[i]
    first = pairs.start[k]
    c = elements.component[first_point + first]
    if c < 0 or components.direct[c] == 0 or components.solution[c] != SOLVED:
        return
    if components.stands[c] != MOVES:
        for p in range(first, first + pairs.rows[k]):
            work.applied[p] = work.force[p]
    else:
        one, other = displacements_of(first_point + first, elements, nodes.vector)
        early = components.early[c] != 0
        for p in range(first, first + pairs.rows[k]):
            work.applied[p] = applied_force(p, first_point + p, one, other, early, work, elements)


@kernel
def clear_applied(p, work: PointWork):
    """Clear the applied force of a point, where its frames stand at their prediction."""
    work.applied[p] = 0.0, 0.0, 0.0


@kernel(fastmath=STEADY)
def store_points(
    i, pairs: Pairs, points: Points, work: PointWork, elements: Elements, components: Components, nodes: Nodes,
    frames: Frames, first_point: np.int64
):  # fmt: skip
    """Store the forces of the points of a pair for the next substep; 0 where their component is not solved.

    The force of the substep is that which the Newton steps have applied: it balances the momentum, in a jam too, where
    they end without a solution and the force of the last state is the rest of the gap times a stiffness.
    """
    k = pairs.active[i]
    first = pairs.start[k]
    a, b = points.frames[first]
    if not (frames.active[a] or frames.active[b]):
        return
    c = elements.component[first_point + first]
    stands = components.stands[c] if c >= 0 else MOVES
    if stands != MOVES:
        for p in range(first, first + pairs.rows[k] if stands == FOUND else first):
            points.force[p] = work.force[p]
        return
    direct, solved = c >= 0 and components.direct[c] != 0, c < 0 or components.solution[c] == SOLVED
    if direct and solved:
        one, other = displacements_of(first_point + first, elements, nodes.vector)
        early = components.early[c] != 0
        for p in range(first, first + pairs.rows[k]):
            points.force[p] = work.force[p]
            work.force[p] = applied_force(p, first_point + p, one, other, early, work, elements)
        return
    for p in range(first, first + pairs.rows[k]):
        if direct:
            points.force[p], work.force[p] = (0.0, 0.0, 0.0), work.applied[p]
        else:
            points.force[p] = work.force[p] if c < 0 else work.applied[p]
