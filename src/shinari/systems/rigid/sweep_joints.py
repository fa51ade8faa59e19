"""Sweeps over joints: the solution of one joint, or of one Jacobian row, with all others held.

A force on a node changes its displacement at once, so that the next element finds the changed displacement
(Gauss-Seidel). Forces are accumulated within a substep. They are not carried to the next one: with a few sweeps over
stiff rows they would be an integrator, and a hanging chain of four links gained energy without end.

Between the sweeps forward and backward and the next ones joints are evaluated at the poses that were found: errors of
jammed joints are large, and the rotations that a few sweeps find for them are, too.
"""

import numpy as np

from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import add, cross, dot, scale, sub
from shinari.systems.rigid.components import Components, Nodes
from shinari.systems.rigid.direct import jacobian_row_displacement, relative_displacement, row_of
from shinari.systems.rigid.elements import Elements
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.integration import symmetric_times
from shinari.systems.rigid.joints.evaluate import write_element
from shinari.systems.rigid.joints.values import JointData, JointValues
from shinari.systems.rigid.points import halves

NONE = (0.0, 0.0, 0.0)


@steady
def apply_force(j, i, r, f, t, sign, frames, nodes, h2):
    """Apply a force and a moment to node j, frame i, at an arm, for a substep; `h2` is h^2."""
    if j >= 0:
        shift = scale(f, sign * h2 * frames.inverse_mass[i])
        rotation = scale(symmetric_times(frames.inverse_inertia, i, add(cross(r, f), t)), sign * h2)
        g = nodes.vector[j]
        nodes.vector[j] = (
            g[0] + shift[0], g[1] + shift[1], g[2] + shift[2],
            g[3] + rotation[0], g[4] + rotation[1], g[5] + rotation[2],
        )  # fmt: skip


@steady
def apply_both(e, f, t, elements, frames, nodes, h2):
    """Apply a force and a moment to frame a of an element, and their opposite to b."""
    a, b = elements.frames[e]
    ra, rb = halves(elements.arms[e])
    apply_force(elements.nodes[e, 0], a, ra, f, t, 1.0, frames, nodes, h2)
    apply_force(elements.nodes[e, 1], b, rb, f, t, -1.0, frames, nodes, h2)


@steady
def inverse_times(m0, m1, m2, v):
    """Solution of a 3 x 3 system by Cramer's rule."""
    c12 = cross(m1, m2)
    determinant = dot(m0, c12)
    s = 1.0 / determinant if determinant != 0.0 else 0.0
    # rows m: M y = v, y = (v0 m1 x m2 + v1 m2 x m0 + v2 m0 x m1) / det
    c20, c01 = cross(m2, m0), cross(m0, m1)
    return scale(add(add(scale(c12, v[0]), scale(c20, v[1])), scale(c01, v[2])), s)


@steady
def compliance_column(a, b, ra, rb, n, inverse_mass, inverse_inertia):
    """Change of the relative displacement d by a unit force along n."""
    total = scale(n, inverse_mass[a] + inverse_mass[b])
    if inverse_mass[a] > 0.0:
        total = add(total, cross(symmetric_times(inverse_inertia, a, cross(ra, n)), ra))
    if inverse_mass[b] > 0.0:
        total = add(total, cross(symmetric_times(inverse_inertia, b, cross(rb, n)), rb))
    return total


@steady
def displacement_since(e, elements, nodes):
    """The relative displacement d and phi of an element since joints were evaluated."""
    now, then = relative_displacement(e, elements, nodes.vector), relative_displacement(e, elements, nodes.evaluated)
    return now[0] - then[0], now[1] - then[1], now[2] - then[2], now[3] - then[3], now[4] - then[4], now[5] - then[5]


@kernel(fastmath=STEADY)
def write_swept_displacement(j, elements: Elements, components: Components, nodes: Nodes):
    """Write the displacement of a swept joint since it was evaluated."""
    component = elements.component[j]
    if component >= 0 and components.direct[component] == 0:
        elements.displacement[j] = displacement_since(j, elements, nodes)


@kernel(fastmath=STEADY)
def evaluate_swept(
    j, joints: JointData, values: JointValues, elements: Elements, components: Components, frames: Frames, h: np.float64
):
    """Evaluate a swept joint at the poses that the sweeps have found."""
    component = elements.component[j]
    if component >= 0 and components.direct[component] == 0:
        write_element(j, joints, values, elements, frames, 0, h)


@steady
def sweep_anchor(e, elements, frames, nodes, h2):
    """Solve the anchor of a joint."""
    a, b = elements.frames[e]
    ra, rb = halves(elements.arms[e])
    d, _ = halves(displacement_since(e, elements, nodes))
    mass, inertia = frames.inverse_mass, frames.inverse_inertia
    x = compliance_column(a, b, ra, rb, (h2, 0.0, 0.0), mass, inertia)
    y = compliance_column(a, b, ra, rb, (0.0, h2, 0.0), mass, inertia)
    z = compliance_column(a, b, ra, rb, (0.0, 0.0, h2), mass, inertia)
    change = change_of_force(e, 0, d, x, y, z, elements)
    apply_both(e, change, NONE, elements, frames, nodes, h2)


@steady
def sweep_rotation(e, elements, frames, nodes, h2):
    """Solve the rotation of a joint."""
    a, b = elements.frames[e]
    _, phi = halves(displacement_since(e, elements, nodes))
    inertia = frames.inverse_inertia
    x = add(symmetric_times(inertia, a, (h2, 0.0, 0.0)), symmetric_times(inertia, b, (h2, 0.0, 0.0)))
    y = add(symmetric_times(inertia, a, (0.0, h2, 0.0)), symmetric_times(inertia, b, (0.0, h2, 0.0)))
    z = add(symmetric_times(inertia, a, (0.0, 0.0, h2)), symmetric_times(inertia, b, (0.0, 0.0, h2)))
    change = change_of_force(e, 3, phi, x, y, z, elements)
    apply_both(e, NONE, change, elements, frames, nodes, h2)


@steady
def change_of_force(e, at, d, x, y, z, elements):
    """Change of the force (`at` 0) or moment (3) of a joint at a relative displacement; it is accumulated.

    x, y, z are the changes of that displacement by unit forces.
    """
    k = 2 * at
    k0, k1, k2 = (row_of(elements.stiffness, e, 0, k), row_of(elements.stiffness, e, 1, k),
                  row_of(elements.stiffness, e, 2, k))  # fmt: skip
    force, accumulated = elements.force, elements.accumulated
    old = (accumulated[e, at], accumulated[e, at + 1], accumulated[e, at + 2])
    goal = (force[e, at] - dot(k0, d), force[e, at + 1] - dot(k1, d), force[e, at + 2] - dot(k2, d))
    m0 = (1.0 + dot(k0, x), dot(k0, y), dot(k0, z))
    m1 = (dot(k1, x), 1.0 + dot(k1, y), dot(k1, z))
    m2 = (dot(k2, x), dot(k2, y), 1.0 + dot(k2, z))
    change = inverse_times(m0, m1, m2, sub(goal, old))
    accumulated[e, at], accumulated[e, at + 1], accumulated[e, at + 2] = (
        old[0] + change[0],
        old[1] + change[1],
        old[2] + change[2],
    )
    return change


@steady
def row_on(jacobian_rows, b, side):
    """Parts of a Jacobian row on one of its frames: along and about the axes."""
    jacobian, at = jacobian_rows.jacobian, 6 * side
    linear = (jacobian[b, at], jacobian[b, at + 1], jacobian[b, at + 2])
    return linear, (jacobian[b, at + 3], jacobian[b, at + 4], jacobian[b, at + 5])


@steady
def sweep_jacobian_row(e, b, elements, jacobian_rows, frames, nodes, h2):
    """Solve a Jacobian row that leads."""
    pairs, w = jacobian_rows.pairs[b], 0.0
    for k in range(2 * pairs):
        s, side = k // 2, k % 2
        if jacobian_rows.own[b + s, side] != 0:
            f = elements.frames[e + s, side]
            linear, angular = row_on(jacobian_rows, b + s, side)
            w += frames.inverse_mass[f] * dot(linear, linear)
            w += dot(symmetric_times(frames.inverse_inertia, f, angular), angular)
    goal = jacobian_rows.force[b] - jacobian_rows.stiffness[b] * jacobian_row_displacement(
        e, b, elements, jacobian_rows, nodes.vector
    )
    change = (goal - jacobian_rows.accumulated[b]) / (1.0 + jacobian_rows.stiffness[b] * h2 * w)
    jacobian_rows.accumulated[b] += change
    for k in range(2 * pairs):
        s, side = k // 2, k % 2
        if jacobian_rows.own[b + s, side] != 0:
            f = elements.frames[e + s, side]
            linear, angular = row_on(jacobian_rows, b + s, side)
            apply_force(elements.nodes[e + s, side], f, NONE, linear, angular, change, frames, nodes, h2)
