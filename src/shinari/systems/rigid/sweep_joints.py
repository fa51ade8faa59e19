"""Sweeps over joints: the solution of one joint, or of one Jacobian row, with all others held.

A force on a node changes its displacement at once, so that the next element finds the changed displacement
(Gauss-Seidel). Forces are accumulated within a substep. They are not carried to the next one: with a few sweeps over
stiff rows they would be an integrator, and a hanging chain of four links gained energy without end.

Between the sweeps forward and those backward joints are evaluated at the poses that were found: errors of
jammed joints are large, and the rotations that a few sweeps find for them are, too.
"""

import numpy as np

from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.symmetric import plus, times
from shinari.maths.vec3 import add, cross, dot, scale, sub
from shinari.systems.rigid.block import minus, row_dot, scale_row
from shinari.systems.rigid.components import Components, Nodes
from shinari.systems.rigid.direct import row_of
from shinari.systems.rigid.elements import Elements
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.joint_trees import TreeBodies, TreeMembers, TreePaths
from shinari.systems.rigid.joints.evaluate import write_element
from shinari.systems.rigid.joints.values import JointData, JointValues
from shinari.systems.rigid.points import halves
from shinari.systems.rigid.sweep_trees import (
    is_swept,
    mobility_at,
    node_times,
    push_node,
    read_node,
    relative_of,
    turns_by_moments,
    wrench,
)

NONE = (0.0, 0.0, 0.0)


@steady
def inverse_times(m0, m1, m2, v):
    """Solution of a 3 x 3 system by Cramer's rule."""
    c12 = cross(m1, m2)
    determinant = dot(m0, c12)
    s = 1.0 / determinant if determinant != 0.0 else 0.0
    # rows m: M y = v, y = (v0 m1 x m2 + v1 m2 x m0 + v2 m0 x m1) / det
    c20, c01 = cross(m2, m0), cross(m0, m1)
    return scale(add(add(scale(c12, v[0]), scale(c20, v[1])), scale(c01, v[2])), s)


@kernel(fastmath=STEADY)
def write_swept_displacement(
    j, elements: Elements, components: Components, nodes: Nodes, members: TreeMembers, bodies: TreeBodies,
    paths: TreePaths
):  # fmt: skip
    """Write the displacement of a swept joint that belongs to no tree since it was evaluated."""
    if not members.chosen[j] and is_swept(j, elements, components):
        elements.displacement[j] = displacement_now(j, elements, bodies, paths, nodes)


@kernel(fastmath=STEADY)
def evaluate_swept(
    j, joints: JointData, values: JointValues, elements: Elements, components: Components, members: TreeMembers,
    frames: Frames, h: np.float64
):  # fmt: skip
    """Evaluate a swept joint that belongs to no tree at the poses that the sweeps have found."""
    if not members.chosen[j] and is_swept(j, elements, components):
        write_element(j, joints, values, elements, frames, 0, h)


@steady
def push_both(e, f, t, elements, bodies, nodes):
    """Apply a force and a moment to frame a of an element, and their opposite to b."""
    ra, rb = halves(elements.arms[e])
    push_node(elements.nodes[e, 0], wrench(ra, f, t, 1.0), bodies, nodes)
    push_node(elements.nodes[e, 1], wrench(rb, f, t, -1.0), bodies, nodes)


@steady
def displacement_now(e, elements, bodies, paths, nodes):
    """The relative displacement d and phi of an element since joints were evaluated."""
    a, b = elements.nodes[e, 0], elements.nodes[e, 1]
    x, y = read_node(a, bodies, paths, nodes), read_node(b, bodies, paths, nodes)
    x = minus(x, 1.0, nodes.evaluated[a]) if a >= 0 else x
    y = minus(y, 1.0, nodes.evaluated[b]) if b >= 0 else y
    ra, rb = halves(elements.arms[e])
    return relative_of(x, y, ra, rb)


@steady
def turns(e, elements):
    """Whether a joint has rows against rotation; a ball joint within its limits has none."""
    stiffness, force, old = elements.stiffness, elements.force, elements.accumulated
    loose = stiffness[e, 6] == 0.0 and stiffness[e, 7] == 0.0 and stiffness[e, 8] == 0.0
    loose = loose and force[e, 3] == 0.0 and force[e, 4] == 0.0 and force[e, 5] == 0.0
    return not (loose and old[e, 3] == 0.0 and old[e, 4] == 0.0 and old[e, 5] == 0.0)


@steady
def sweep_joint(e, elements, bodies, paths, nodes):
    """Solve the anchor of a joint, then its rotation."""
    a, b = elements.nodes[e, 0], elements.nodes[e, 1]
    ra, rb = halves(elements.arms[e])
    d, _ = halves(displacement_now(e, elements, bodies, paths, nodes))
    moved = plus(mobility_at(a, ra, bodies, nodes), mobility_at(b, rb, bodies, nodes))
    push_both(e, change_of_force(e, 0, d, moved, elements), NONE, elements, bodies, nodes)
    if turns(e, elements):
        _, phi = halves(displacement_now(e, elements, bodies, paths, nodes))
        moved = plus(turns_by_moments(a, bodies, nodes), turns_by_moments(b, bodies, nodes))
        push_both(e, NONE, change_of_force(e, 3, phi, moved, elements), elements, bodies, nodes)


@steady
def change_of_force(e, at, d, m, elements):
    """Change of the force (`at` 0) or moment (3) of a joint at a relative displacement; it is accumulated.

    m is the displacement by forces, symmetric.
    """
    k = 2 * at
    k0, k1, k2 = (row_of(elements.stiffness, e, 0, k), row_of(elements.stiffness, e, 1, k),
                  row_of(elements.stiffness, e, 2, k))  # fmt: skip
    force, accumulated = elements.force, elements.accumulated
    old = (accumulated[e, at], accumulated[e, at + 1], accumulated[e, at + 2])
    goal = (force[e, at] - dot(k0, d), force[e, at + 1] - dot(k1, d), force[e, at + 2] - dot(k2, d))
    # 1 + K M, row by row
    m0, m1, m2 = times(m, k0), times(m, k1), times(m, k2)
    m0, m1, m2 = (1.0 + m0[0], m0[1], m0[2]), (m1[0], 1.0 + m1[1], m1[2]), (m2[0], m2[1], 1.0 + m2[2])
    change = inverse_times(m0, m1, m2, sub(goal, old))
    accumulated[e, at], accumulated[e, at + 1], accumulated[e, at + 2] = (
        old[0] + change[0],
        old[1] + change[1],
        old[2] + change[2],
    )
    return change


@steady
def row_on(jacobian_rows, b, side):
    """Part of a Jacobian row on one of its frames."""
    jacobian, at = jacobian_rows.jacobian, 6 * side
    return (
        jacobian[b, at], jacobian[b, at + 1], jacobian[b, at + 2],
        jacobian[b, at + 3], jacobian[b, at + 4], jacobian[b, at + 5],
    )  # fmt: skip


@steady
def sweep_jacobian_row(e, b, elements, jacobian_rows, bodies, paths, nodes):
    """Solve a Jacobian row that leads.

    What bodies of one tree do to each other by a force on both is not counted: of n bodies together they move at most n
    times as far as each by itself.
    """
    pairs, w, c, count, jointed = jacobian_rows.pairs[b], 0.0, 0.0, 0, False
    for k in range(2 * pairs):
        s, side = k // 2, k % 2
        j = elements.nodes[e + s, side]
        if jacobian_rows.own[b + s, side] != 0 and j >= 0:
            row = row_on(jacobian_rows, b + s, side)
            c += row_dot(row, read_node(j, bodies, paths, nodes))
            w += row_dot(row, node_times(j, row, bodies, nodes))
            count, jointed = count + 1, jointed or nodes.tree[j] >= 0
    w *= max(0.5 * count, 1.0) if jointed else 1.0
    goal = jacobian_rows.force[b] - jacobian_rows.stiffness[b] * c
    change = (goal - jacobian_rows.accumulated[b]) / (1.0 + jacobian_rows.stiffness[b] * w)
    jacobian_rows.accumulated[b] += change
    for k in range(2 * pairs):
        s, side = k // 2, k % 2
        if jacobian_rows.own[b + s, side] != 0:
            push_node(elements.nodes[e + s, side], scale_row(row_on(jacobian_rows, b + s, side), change), bodies, nodes)
