"""Components that stay where the substep began: they need no Newton step.

A component at rest stays at the poses X0 of the start of the substep where the forces there balance its momentum,

    sum J^T f(X0) = M (X0 - X_free) / h^2

with f the law of contact itself, of which a Newton step knows the slope. One pass over the points decides. Such a
component ends the substep at exactly X0, without a velocity. In the next substep the same question has the same answer
while its points, all its frames and their predictions are the same to the last bit: the component is kept, and nothing
is evaluated. That is forgotten as a step begins: a step depends on the state alone.
"""

import numpy as np

from shinari.collision.law import APART, COMPLIANCE, regularised_force, regularised_stiffness
from shinari.compute import Field, Record, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import add, cross, scale, sub
from shinari.systems.rigid.block import minus, scale_row
from shinari.systems.rigid.components import FOUND, KEPT, MOVES, TRIED, Components, Nodes
from shinari.systems.rigid.contact.margins import Detection, FrameMargins
from shinari.systems.rigid.contact.pairs import Pairs, Points
from shinari.systems.rigid.elements import Elements, PointWork
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.integration import rotation_vector_between
from shinari.systems.rigid.point_steps import exceeds_limit
from shinari.systems.rigid.points import NONE, Terms, opening_at_rest
from shinari.systems.rigid.progress import Flags
from shinari.systems.rigid.refine import add_sum_to, inertia_times, square_over_mass

# Square of the part of the weights by which the forces of a component that stays may be out of balance.
BALANCED = 1e-16
# Rounding of a number, relative to it.
ROUNDING = 2.0**-53


class PairPushes(Record):
    """Sums of the forces of the points of each pair where the substep began, K rows."""

    nodes = Field(np.int32, 2, doc="nodes of a and b; -1: none, as both of a pair that is not asked for")
    force = Field(np.float64, 3, unit="N", doc="force on a")
    on_a = Field(np.float64, 3, unit="N m", doc="moment on a")
    on_b = Field(np.float64, 3, unit="N m", doc="opposite of the moment on b")
    squares = Field(np.float64, unit="N^2/m^2", doc="sum of the squares of the stiffnesses of the points that push")


@steady
def displacement_back(i, frames):
    """Displacement of a frame from its prediction to where the substep began."""
    t, w, here, start = sub(frames.x0[i], frames.x[i]), (0.0, 0.0, 0.0), frames.q[i], frames.q0[i]
    if here != start:
        w = rotation_vector_between(here, start)
    return t[0], t[1], t[2], w[0], w[1], w[2]


@kernel
def find_disturbed(
    j, nodes: Nodes, components: Components, frames: Frames, solver_frames: SolverFrames, margins: FrameMargins
):  # fmt: skip
    """Mark a component that stood in the last substep if a frame has moved, or has another prediction than then."""
    i, c = nodes.frame[j], nodes.component[j]
    same = frames.x[i] == solver_frames.rested_x[i] and frames.q[i] == solver_frames.rested_q[i]
    if components.stood[c] != 0 and not (same and margins.still[i]):
        components.disturbed[c] = 1


@kernel
def choose_resting(c, components: Components, detection: Detection, flags: Flags):
    """Decide whether a component is kept where it stood, or may be found to stay where the substep began."""
    kept = components.stood[c] != 0 and components.disturbed[c] == 0 and components.stays[c] != 0
    kept = kept and detection.rebuild_table[0] == 0 and flags.rebuild[0] == 0
    tried = components.stays[c] != 0 and components.direct[c] != 0 and components.softness[c] == 1.0
    components.stands[c] = KEPT if kept else (TRIED if tried else MOVES)
    components.disturbed[c] = 0
    if kept:
        flags.standing[0] = 1
    elif tried:
        flags.resting[0] = 1


@kernel(fastmath=STEADY)
def push_at_start(
    i, pairs: Pairs, points: Points, work: PointWork, elements: Elements, components: Components, pushes: PairPushes,
    terms: Terms, first_point: np.int64
):  # fmt: skip
    """Write states and forces of the points of a pair where the substep began, and their sum.

    A component does not stay where the limit of friction of a point is not that of its normal force, or one may bounce.
    """
    k = pairs.active[i]
    first = pairs.start[k]
    c = elements.component[first_point + first]
    if c < 0 or components.stands[c] != TRIED:
        pushes.nodes[i] = -1, -1
        return
    law, calm, rounding = points.law[first], components.calm[c] != 0, components.rounding[c]
    moves, squares, force, on_a, on_b = False, 0.0, NONE, NONE, NONE
    for p in range(first, first + pairs.rows[k]):
        n, stiffness, gap = points.normal[p], work.stiffness[p], points.gap[p] - work.target_gap[p]
        if calm:
            gap += opening_at_rest(p, points, work, terms)
        coefficient, limit = work.friction_coefficient[p], work.limit[p]
        along = regularised_stiffness(stiffness, law[COMPLIANCE])
        status, normal, hold, _ = regularised_force(
            gap, NONE, n, work.grip[p], along, points.force[p], coefficient * limit
        )  # fmt: skip
        if abs(gap) > rounding:
            moves |= exceeds_limit(status, normal, hold, limit, coefficient)
        moves |= work.approach[p] != 0.0
        f, arms = add(scale(n, normal), hold), elements.arms[first_point + p]
        work.status[p], work.force[p] = status, f
        force = add(force, f)
        on_a = add(on_a, cross((arms[0], arms[1], arms[2]), f))
        on_b = add(on_b, cross((arms[3], arms[4], arms[5]), f))
        trace = along + 2.0 * work.grip[p]
        squares += trace * trace if status != APART else 0.0
    pushes.nodes[i] = elements.nodes[first_point + first, 0], elements.nodes[first_point + first, 1]
    pushes.force[i], pushes.on_a[i], pushes.on_b[i], pushes.squares[i] = force, on_a, on_b, squares
    if moves:
        components.disturbed[c] = 1


@kernel(fastmath=STEADY)
def begin_balance(j, nodes: Nodes, components: Components, frames: Frames, solver_frames: SolverFrames, h: np.float64):
    """Begin the sum of the forces on a node with that of its inertia, if its component is tried."""
    if components.stands[nodes.component[j]] == TRIED:
        i = nodes.frame[j]
        moved = minus(solver_frames.displacement[i], -1.0, displacement_back(i, frames))
        held = inertia_times(j, nodes, frames, solver_frames, 1.0 / (h * h), moved)
        nodes.image[j], nodes.residual[j], nodes.squares[j] = held, scale_row(held, -1.0), 0.0


@kernel(fastmath=STEADY)
def add_pushes(_, pushes: PairPushes, nodes: Nodes, detection: Detection):
    """Add the forces of all pairs to those on their nodes."""
    for k in range(detection.active_pairs[0]):
        i, j = pushes.nodes[k]
        if i >= 0 or j >= 0:
            add_sum_to(nodes.residual, i, j, pushes.force[k], pushes.on_a[k], pushes.on_b[k])
            if i >= 0:
                nodes.squares[i] += pushes.squares[k]
            if j >= 0:
                nodes.squares[j] += pushes.squares[k]


@steady
def rounding_of(c, components, nodes, frames):
    """Square of what rounded positions change in the forces of points, in the norm of the inverse mass."""
    total = 0.0
    for j in range(components.node[c], components.node[c + 1]):
        i = nodes.frame[j]
        x = frames.x[i]
        size = ROUNDING * (abs(x[0]) + abs(x[1]) + abs(x[2]))
        total += nodes.squares[j] * size * size * frames.inverse_mass[i]
    return total


@kernel(fastmath=STEADY)
def find_balance(c, components: Components, nodes: Nodes, frames: Frames, flags: Flags):
    """Decide whether the forces where the substep began balance the momentum of a component."""
    if components.stands[c] != TRIED:
        return
    moves = components.disturbed[c] != 0
    components.stands[c], components.disturbed[c] = MOVES, 0
    if moves:
        return
    most = BALANCED * square_over_mass(c, components, nodes, frames, nodes.image)
    most = max(most, rounding_of(c, components, nodes, frames))
    if square_over_mass(c, components, nodes, frames, nodes.residual) <= most:
        components.stands[c], flags.standing[0] = FOUND, 1


@kernel
def stay(j, nodes: Nodes, components: Components, frames: Frames, solver_frames: SolverFrames):
    """Put a frame of a component that stays back to where the substep began; keep its prediction."""
    stands = components.stands[nodes.component[j]]
    if stands != FOUND and stands != KEPT:
        return
    i = nodes.frame[j]
    solver_frames.displacement[i] = minus(solver_frames.displacement[i], -1.0, displacement_back(i, frames))
    if stands == FOUND:
        solver_frames.rested_x[i], solver_frames.rested_q[i] = frames.x[i], frames.q[i]
    frames.x[i], frames.q[i] = frames.x0[i], frames.q0[i]
