"""Direct solution: one Newton step for all elements of a component.

    (M / h^2 + sum J^T K J) dX = sum J^T f - M (X - X_free) / h^2

for the displacements dX of the bodies (three of translation, three of rotation), with the forces f and stiffnesses K of
the elements at the present poses. The matrix has a block for every body and for every two bodies that an element
connects. It is positive definite for any elements, so that loops and redundant rows need no special treatment. It is
factored block by block (Cholesky) in the order of `graph`. Components are independent: each is solved by one thread.
"""

import math

import numpy as np

from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import add, cross, dot, scale, sub
from shinari.systems.rigid.block import add_rows, minus, scale_row
from shinari.systems.rigid.components import SOLVED, Blocks, Components, Nodes
from shinari.systems.rigid.elements import Elements, JacobianRows
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.integration import in_world_axes, moved_frame, vector
from shinari.systems.rigid.joints.measures import geometric_stiffness
from shinari.systems.rigid.joints.values import JointValues


@steady
def row_of(stiffness, e, k, at):
    """Row k of a symmetric matrix (xx yy zz yz zx xy) that starts at a column."""
    xx, yy, zz = stiffness[e, at], stiffness[e, at + 1], stiffness[e, at + 2]
    yz, zx, xy = stiffness[e, at + 3], stiffness[e, at + 4], stiffness[e, at + 5]
    if k == 0:
        return xx, xy, zx
    if k == 1:
        return xy, yy, yz
    return zx, yz, zz


@steady
def join(a, b):
    """A row of six from two vectors of three."""
    return a[0], a[1], a[2], b[0], b[1], b[2]


@steady
def add_stiffness(blocks, j, stiffness, e, ra, rb, sign):
    """Add sign J_a^T K J_b to block j, and the rotational stiffness.

    With d = dx + dtheta x r the rows of K J_b are (K_k, r_b x K_k), and the lower rows of J_a^T (.) are r_a x (.).
    """
    k0, k1, k2 = row_of(stiffness, e, 0, 0), row_of(stiffness, e, 1, 0), row_of(stiffness, e, 2, 0)
    t0, t1, t2 = row_of(stiffness, e, 0, 6), row_of(stiffness, e, 1, 6), row_of(stiffness, e, 2, 6)
    r0, r1, r2 = join(k0, cross(rb, k0)), join(k1, cross(rb, k1)), join(k2, cross(rb, k2))
    none = (0.0, 0.0, 0.0)
    r3 = add_rows(minus(scale_row(r2, ra[1]), ra[2], r1), join(none, t0))
    r4 = add_rows(minus(scale_row(r0, ra[2]), ra[0], r2), join(none, t1))
    r5 = add_rows(minus(scale_row(r1, ra[0]), ra[1], r0), join(none, t2))
    blocks[j, 0] = minus(blocks[j, 0], -sign, r0)
    blocks[j, 1] = minus(blocks[j, 1], -sign, r1)
    blocks[j, 2] = minus(blocks[j, 2], -sign, r2)
    blocks[j, 3] = minus(blocks[j, 3], -sign, r3)
    blocks[j, 4] = minus(blocks[j, 4], -sign, r4)
    blocks[j, 5] = minus(blocks[j, 5], -sign, r5)


@steady
def add_own_stiffness(d, j, stiffness, e, r):
    """Add J^T K J to the upper triangle of the block of node j, and the rotational stiffness."""
    k0, k1, k2 = row_of(stiffness, e, 0, 0), row_of(stiffness, e, 1, 0), row_of(stiffness, e, 2, 0)
    s0, s1, s2 = cross(r, k0), cross(r, k1), cross(r, k2)
    d[j, 0] = minus(d[j, 0], -1.0, join(k0, s0))
    d[j, 1] = minus(d[j, 1], -1.0, join(k1, s1))
    d[j, 2] = minus(d[j, 2], -1.0, join(k2, s2))
    d[j, 3, 3] += stiffness[e, 6] + r[1] * s2[0] - r[2] * s1[0]
    d[j, 3, 4] += stiffness[e, 11] + r[1] * s2[1] - r[2] * s1[1]
    d[j, 3, 5] += stiffness[e, 10] + r[1] * s2[2] - r[2] * s1[2]
    d[j, 4, 4] += stiffness[e, 7] + r[2] * s0[1] - r[0] * s2[1]
    d[j, 4, 5] += stiffness[e, 9] + r[2] * s0[2] - r[0] * s2[2]
    d[j, 5, 5] += stiffness[e, 8] + r[0] * s1[2] - r[1] * s0[2]


@steady
def add_geometric_stiffness(d, j, r, f):
    """Add the positive part of the geometric stiffness of a force f at an arm r.

    Without it a light link under a heavy load rotates too far in a substep once r . f h^2 / I is above one.
    """
    xx, yy, zz, yz, zx, xy = geometric_stiffness(r, f)
    d[j, 3, 3] += xx
    d[j, 3, 4] += xy
    d[j, 3, 5] += zx
    d[j, 4, 4] += yy
    d[j, 4, 5] += yz
    d[j, 5, 5] += zz


@steady
def add_force_to(g, j, f, t, r, sign):
    """Add a force at an arm and a moment to those on node j."""
    g[j] = minus(g[j], -sign, join(f, add(cross(r, f), t)))


@steady
def add_force(g, j, force, e, r, sign):
    """Add an element's force and moment to the right hand side of node j."""
    add_force_to(g, j, vector(force, e), (force[e, 3], force[e, 4], force[e, 5]), r, sign)


@steady
def begin_node(j, q, nodes, blocks, frames, h):
    """Start a node with its mass and inertia, without a force; returns rows x, y, z of the inertia over h^2.

    The inertia is that of a rotation q.
    """
    i, inverse_h2 = nodes.frame[j], 1.0 / (h * h)
    mass = inverse_h2 / frames.inverse_mass[i]
    xx, yy, zz, yz, zx, xy = in_world_axes(q, scale(frames.moments[i], inverse_h2))
    x, y, z = (xx, xy, zx), (xy, yy, yz), (zx, yz, zz)
    nodes.matrix[j, 0] = mass, 0.0, 0.0, 0.0, 0.0, 0.0
    nodes.matrix[j, 1] = 0.0, mass, 0.0, 0.0, 0.0, 0.0
    nodes.matrix[j, 2] = 0.0, 0.0, mass, 0.0, 0.0, 0.0
    nodes.matrix[j, 3] = 0.0, 0.0, 0.0, x[0], x[1], x[2]
    nodes.matrix[j, 4] = 0.0, 0.0, 0.0, y[0], y[1], y[2]
    nodes.matrix[j, 5] = 0.0, 0.0, 0.0, z[0], z[1], z[2]
    for p in range(nodes.column[j], nodes.column[j + 1]):
        for k in range(6):
            blocks.value[p, k] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    return mass, x, y, z


@kernel(fastmath=STEADY)
def start_node(
    j, nodes: Nodes, blocks: Blocks, components: Components, frames: Frames, solver_frames: SolverFrames, h: np.float64
):
    """Start a node with its mass and inertia, and the force of its displacement from the free motion."""
    if components.factoring[nodes.component[j]] == 0:
        return
    # as in the angular momentum that follows from the displacement, see `velocities_after`
    mass, x, y, z = begin_node(j, solver_frames.free_q[nodes.frame[j]], nodes, blocks, frames, h)
    m = solver_frames.displacement[nodes.frame[j]]
    nodes.vector[j] = (
        -mass * m[0],
        -mass * m[1],
        -mass * m[2],
        -(x[0] * m[3] + x[1] * m[4] + x[2] * m[5]),
        -(y[0] * m[3] + y[1] * m[4] + y[2] * m[5]),
        -(z[0] * m[3] + z[1] * m[4] + z[2] * m[5]),
    )


@kernel(fastmath=STEADY)
def start_impact_node(j, nodes: Nodes, blocks: Blocks, components: Components, frames: Frames, h: np.float64):
    """Start a node with its mass and inertia."""
    if components.solution[nodes.component[j]] != SOLVED:
        begin_node(j, frames.q[nodes.frame[j]], nodes, blocks, frames, h)
        nodes.vector[j] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0


@steady
def is_inactive(stiffness, e):
    """Whether the element of a contact point is inactive: an active one has a stiffness along its normal."""
    return stiffness[e, 0] + stiffness[e, 1] + stiffness[e, 2] == 0.0


@steady
def add_element(e, elements, nodes, blocks):
    """Add an element to the blocks and the right hand side."""
    a, b, block = elements.nodes[e]
    arms = elements.arms[e]
    ra, rb = (arms[0], arms[1], arms[2]), (arms[3], arms[4], arms[5])
    if a >= 0:
        add_own_stiffness(nodes.matrix, a, elements.stiffness, e, ra)
        add_force(nodes.vector, a, elements.force, e, ra, 1.0)
    if b >= 0:
        add_own_stiffness(nodes.matrix, b, elements.stiffness, e, rb)
        add_force(nodes.vector, b, elements.force, e, rb, -1.0)
    if block >= 0:
        # the rows of a block are those of the node that is eliminated first
        first, second = (ra, rb) if a < b else (rb, ra)
        add_stiffness(blocks.value, block, elements.stiffness, e, first, second, -1.0)


@steady
def add_jacobian_row(e, b, elements, jacobian_rows, nodes, blocks):
    """Add Jacobian row b, which is element e of the graph."""
    lead = jacobian_rows.lead[b]
    k, f = jacobian_rows.stiffness[lead], jacobian_rows.force[lead]
    for side in range(2):
        j, at = elements.nodes[e, side], 6 * side
        if j >= 0 and jacobian_rows.own[b, side] != 0:
            for r in range(6):
                nodes.vector[j, r] += f * jacobian_rows.jacobian[b, at + r]
                for c in range(r, 6):
                    nodes.matrix[j, r, c] += k * jacobian_rows.jacobian[b, at + r] * jacobian_rows.jacobian[b, at + c]
    block = elements.nodes[e, 2]
    if block >= 0:
        row, column = (0, 6) if elements.nodes[e, 0] < elements.nodes[e, 1] else (6, 0)
        for r in range(6):
            for c in range(6):
                blocks.value[block, r, c] += (
                    k * jacobian_rows.jacobian[b, row + r] * jacobian_rows.jacobian[b, column + c]
                )


@kernel(fastmath=STEADY)
def assemble(
    c,
    components: Components,
    nodes: Nodes,
    blocks: Blocks,
    elements: Elements,
    jacobian_rows: JacobianRows,
    values: JointValues,
):
    """Add the elements of a component to its blocks and right hand side; joints also with their geometric stiffness."""
    if components.factoring[c] == 0:
        return
    joints = len(values)
    for s in range(components.element[c], components.element[c + 1]):
        e = elements.order[s]
        if joints <= e < joints + len(jacobian_rows):
            add_jacobian_row(e, e - joints, elements, jacobian_rows, nodes, blocks)
        elif e < joints or not is_inactive(elements.stiffness, e):
            if e < joints:
                f, arms = values.applied[e], elements.arms[e]
                if elements.nodes[e, 0] >= 0:
                    add_geometric_stiffness(nodes.matrix, elements.nodes[e, 0], (arms[0], arms[1], arms[2]), f)
                if elements.nodes[e, 1] >= 0:
                    back = -f[0], -f[1], -f[2]
                    add_geometric_stiffness(nodes.matrix, elements.nodes[e, 1], (arms[3], arms[4], arms[5]), back)
            add_element(e, elements, nodes, blocks)


@kernel(fastmath=STEADY)
def assemble_impact(
    c,
    components: Components,
    nodes: Nodes,
    blocks: Blocks,
    elements: Elements,
    jacobian_rows: JacobianRows,
    joints: np.int64,
):
    """Add the elements of a component to its blocks and right hand side."""
    components.factored[c], components.factoring[c] = 0, 0 if components.solution[c] == SOLVED else 1
    if components.solution[c] == SOLVED:
        return
    for s in range(components.element[c], components.element[c + 1]):
        e = elements.order[s]
        if joints <= e < joints + len(jacobian_rows):
            add_jacobian_row(e, e - joints, elements, jacobian_rows, nodes, blocks)
        else:
            add_element(e, elements, nodes, blocks)


@steady
def node_displacement(x, j):
    """Displacement and rotation of node j in x; zero where the frame is immovable."""
    if j < 0:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    g = x[j]
    return (g[0], g[1], g[2]), (g[3], g[4], g[5])


@steady
def displacements_of(e, elements, x):
    """Displacements and rotations of both nodes of an element."""
    return node_displacement(x, elements.nodes[e, 0]), node_displacement(x, elements.nodes[e, 1])


@steady
def displacement_between(one, other, arms):
    """Displacement of the point of a past that of b, for the displacements and rotations of both and their arms."""
    ra, rb = (arms[0], arms[1], arms[2]), (arms[3], arms[4], arms[5])
    return sub(add(one[0], cross(one[1], ra)), add(other[0], cross(other[1], rb)))


@steady
def relative_displacement(e, elements, x):
    """The relative displacement d and phi of an element, for the displacements x of the nodes."""
    one, other = displacements_of(e, elements, x)
    return join(displacement_between(one, other, elements.arms[e]), sub(one[1], other[1]))


@steady
def jacobian_row_displacement(e, b, elements, jacobian_rows, x):
    """J times the displacements x of all nodes of a row; 0 of one that does not lead."""
    displacement = 0.0
    for s in range(jacobian_rows.pairs[b]):
        for side in range(2):
            j, at = elements.nodes[e + s, side], 6 * side
            if j >= 0 and jacobian_rows.own[b + s, side] != 0:
                for r in range(6):
                    displacement += jacobian_rows.jacobian[b + s, at + r] * x[j, r]
    return displacement


@kernel(fastmath=STEADY)
def write_displacement(
    e, elements: Elements, components: Components, nodes: Nodes, jacobian_rows: JacobianRows, joints: np.int64
):
    """Write the displacement of an element."""
    component = elements.component[e]
    if component < 0 or components.solution[component] == SOLVED:
        return
    if joints <= e < joints + len(jacobian_rows):
        jacobian_rows.displacement[e - joints] = jacobian_row_displacement(
            e, e - joints, elements, jacobian_rows, nodes.vector
        )
    else:
        elements.displacement[e] = relative_displacement(e, elements, nodes.vector)


@kernel(fastmath=STEADY)
def update_load(j, values: JointValues, elements: Elements, components: Components):
    """Write the force f - K d of a joint."""
    component = elements.component[j]
    if component < 0 or components.solution[component] == SOLVED:
        return
    d = vector(elements.displacement, j)
    stiffness = elements.stiffness
    k0, k1, k2 = row_of(stiffness, j, 0, 0), row_of(stiffness, j, 1, 0), row_of(stiffness, j, 2, 0)
    held = dot(k0, d), dot(k1, d), dot(k2, d)
    values.pull[j] = values.applied[j]
    values.applied[j] = sub(vector(elements.force, j), held)


# Largest rotation of a body in a Newton step [rad]: rows of joints that are linear at the start of a step tell nothing
# about more.
MOST_TURN = 0.5


@kernel(fastmath=STEADY)
def apply_step(
    c,
    components: Components,
    nodes: Nodes,
    elements: Elements,
    jacobian_rows: JacobianRows,
    frames: Frames,
    solver_frames: SolverFrames,
    joints: np.int64,
):
    """Move a component by its part of the step."""
    if components.solution[c] == SOLVED:
        return
    t, turn = components.part[c], 0.0
    for j in range(components.node[c], components.node[c + 1]):
        rotation = nodes.vector[j]
        turn = max(turn, rotation[3] * rotation[3] + rotation[4] * rotation[4] + rotation[5] * rotation[5])
    if t * t * turn > MOST_TURN * MOST_TURN:
        t = components.part[c] = MOST_TURN / math.sqrt(turn)
    if t < 1.0:
        for s in range(components.element[c], components.element[c + 1]):
            e = elements.order[s]
            if joints <= e < joints + len(jacobian_rows):
                jacobian_rows.displacement[e - joints] *= t
            else:
                for k in range(6):
                    elements.displacement[e, k] *= t
    largest = 0.0
    for j in range(components.node[c], components.node[c + 1]):
        for k in range(6):
            nodes.vector[j, k] *= t
        move(nodes.frame[j], nodes.vector[j], frames, solver_frames)
        rotation = nodes.vector[j]
        largest = max(largest, rotation[3] * rotation[3] + rotation[4] * rotation[4] + rotation[5] * rotation[5])
    components.largest_rotation_squared[c] = largest if t == 1.0 else math.inf


@steady
def move(i, g, frames, solver_frames):
    """Move a frame by a displacement.

    Its turns in a substep add up to one rotation vector: its angular momentum changes by the inertia times that.
    """
    q, before = frames.q[i], solver_frames.displacement[i]
    turned = before[3], before[4], before[5]
    if dot(turned, turned) > 0.0:
        q = moved_frame(q, scale(turned, -1.0))
    frames.x[i], frames.q[i] = add(frames.x[i], g), moved_frame(q, add(turned, (g[3], g[4], g[5])))
    for c in range(6):
        solver_frames.displacement[i, c] += g[c]
    solver_frames.last_turn[i] = g[3], g[4], g[5]


@kernel
def store_impact(j, nodes: Nodes, components: Components, solver_frames: SolverFrames):
    """Write the change of velocity of a frame, times the substep."""
    chosen = components.solution[nodes.component[j]] != SOLVED
    g = nodes.vector[j]
    solver_frames.bounced[nodes.frame[j]] = g if chosen else (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
