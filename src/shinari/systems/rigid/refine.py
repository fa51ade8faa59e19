"""Newton steps with an earlier factor of the step: preconditioned conjugate gradients.

    A x = b,    z = (U^T U)^-1 r,    U^T U: the matrix of the last factoring

In a heap at rest the matrix changes by parts in a million from substep to substep, and one or two iterations replace
its assembly and factoring (Hestenes and Stiefel 1952, Methods of Conjugate Gradients for Solving Linear Systems).
A x is summed over the elements, J^T K J x, without a matrix. A component that does not converge is factored again.

No factor is kept from one step to the next: a step depends on the state alone.
"""

import numpy as np

from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import add, cross, dot, sub
from shinari.systems.rigid.block import minus, row_dot
from shinari.systems.rigid.components import SOLVED, Blocks, Components, Nodes
from shinari.systems.rigid.direct import (
    add_force_to,
    displacement_between,
    displacements_of,
    is_inactive,
    jacobian_row_displacement,
    join,
    relative_displacement,
    row_of,
)
from shinari.systems.rigid.elements import Elements, JacobianRows
from shinari.systems.rigid.factor import divide_by_factor
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.integration import momentum_of
from shinari.systems.rigid.joints.measures import geometric_stiffness
from shinari.systems.rigid.joints.values import JointValues
from shinari.systems.rigid.progress import Flags

# Products of blocks per body above which a factor is kept whatever the component does, and failures in a step after
# which it is not. At rest that of a lighter one is kept as well, until it fails: elements are then not added either.
# But not with joints: their rows are so stiff that a residual relative to their forces says little of the softer ones.
KEEP, FAILURES = 12.0, 2
# Costs in products of blocks: of an iteration, for each body and each block of the factor, and of adding the elements
# of a body.
ITERATION, SUBSTITUTION, ASSEMBLY = 6.0, 1.5, 10.0
# Square of the largest relative residual, in the norm of the inverse mass: a bound of the error of the momentum.
CLOSE = 1e-20


@kernel
def drop_factor(c, components: Components):
    """Drop the factor of a component at the begin of a step, also of one that forms within it."""
    components.factored[c], components.factorings[c] = 0, 0
    components.iterations[c], components.failures[c] = 0, 0


@steady
def inertia_times(j, nodes, frames, solver_frames, inverse_h2, m):
    """Mass and inertia of a node over h^2, times a displacement; the inertia is that of the free motion."""
    i = nodes.frame[j]
    mass = inverse_h2 / frames.inverse_mass[i]
    turn = inverse_h2 * m[3], inverse_h2 * m[4], inverse_h2 * m[5]
    spin = momentum_of(solver_frames.free_q[i], frames.moments, i, turn)
    return mass * m[0], mass * m[1], mass * m[2], spin[0], spin[1], spin[2]


@steady
def symmetric_row_times(stiffness, e, at, v):
    """Product of a symmetric matrix of an element, which starts at a column, and a vector."""
    k0, k1, k2 = row_of(stiffness, e, 0, at), row_of(stiffness, e, 1, at), row_of(stiffness, e, 2, at)
    return dot(k0, v), dot(k1, v), dot(k2, v)


@steady
def add_geometric_stiffness_product(y, j, r, f, x):
    """Add the product of the geometric stiffness of a force f at an arm r and a displacement."""
    xx, yy, zz, yz, zx, xy = geometric_stiffness(r, f)
    t = x[j, 3], x[j, 4], x[j, 5]
    y[j, 3] += dot((xx, xy, zx), t)
    y[j, 4] += dot((xy, yy, yz), t)
    y[j, 5] += dot((zx, yz, zz), t)


@steady
def add_jacobian_row_force(e, b, f, elements, jacobian_rows, y):
    """Add J^T f of a Jacobian row to the forces on all of its nodes."""
    for s in range(jacobian_rows.pairs[b]):
        for side in range(2):
            j, at = elements.nodes[e + s, side], 6 * side
            if j >= 0 and jacobian_rows.own[b + s, side] != 0:
                for r in range(6):
                    y[j, r] += f * jacobian_rows.jacobian[b + s, at + r]


@steady
def end_of_points(s, end, elements):
    """Place after the points from place s on that have the same nodes: what they share is read and written once."""
    i, j = elements.nodes[elements.order[s], 0], elements.nodes[elements.order[s], 1]
    while s < end and elements.nodes[elements.order[s], 0] == i and elements.nodes[elements.order[s], 1] == j:
        s += 1
    return s


@steady
def add_sum_to(y, i, j, f, on_a, on_b):
    """Add the sum of forces between nodes i and j, and the sums of their moments on both."""
    if i >= 0:
        y[i] = minus(y[i], -1.0, join(f, on_a))
    if j >= 0:
        y[j] = minus(y[j], 1.0, join(f, on_b))


@steady
def points_times(s, end, elements, x, y):
    """Add the product for the points from place s on, which have the same nodes."""
    first = elements.order[s]
    one, other = displacements_of(first, elements, x)
    turn = sub(one[1], other[1])
    f = on_a = on_b = 0.0, 0.0, 0.0
    for k in range(s, end):
        e = elements.order[k]
        if is_inactive(elements.stiffness, e):
            continue
        arms = elements.arms[e]
        force = symmetric_row_times(elements.stiffness, e, 0, displacement_between(one, other, arms))
        f = add(f, force)
        on_a = add(on_a, cross((arms[0], arms[1], arms[2]), force))
        on_b = add(on_b, cross((arms[3], arms[4], arms[5]), force))
        if elements.stiffness[e, 6] + elements.stiffness[e, 7] + elements.stiffness[e, 8] > 0.0:
            moment = symmetric_row_times(elements.stiffness, e, 6, turn)
            on_a, on_b = add(on_a, moment), add(on_b, moment)
    add_sum_to(y, elements.nodes[first, 0], elements.nodes[first, 1], f, on_a, on_b)


@steady
def joint_times(e, elements, values, x, y):
    """Add the product for a joint, with its geometric stiffness."""
    i, j, arms, m = elements.nodes[e, 0], elements.nodes[e, 1], elements.arms[e], relative_displacement(e, elements, x)
    ra, rb = (arms[0], arms[1], arms[2]), (arms[3], arms[4], arms[5])
    f = symmetric_row_times(elements.stiffness, e, 0, (m[0], m[1], m[2]))
    t, load = (0.0, 0.0, 0.0), values.applied[e]
    if elements.stiffness[e, 6] + elements.stiffness[e, 7] + elements.stiffness[e, 8] > 0.0:
        t = symmetric_row_times(elements.stiffness, e, 6, (m[3], m[4], m[5]))
    if i >= 0:
        add_force_to(y, i, f, t, ra, 1.0)
        add_geometric_stiffness_product(y, i, ra, load, x)
    if j >= 0:
        add_force_to(y, j, f, t, rb, -1.0)
        add_geometric_stiffness_product(y, j, rb, (-load[0], -load[1], -load[2]), x)


@steady
def matrix_times(c, components, nodes, elements, jacobian_rows, values, frames, solver_frames, inverse_h2, x, y):
    """Write y = A x of a component."""
    for j in range(components.node[c], components.node[c + 1]):
        y[j] = inertia_times(j, nodes, frames, solver_frames, inverse_h2, x[j])
    joints = len(values)
    s, end, first_point = components.element[c], components.element[c + 1], joints + len(jacobian_rows)
    while s < end:
        e = elements.order[s]
        if e >= first_point:
            begin, s = s, end_of_points(s, end, elements)
            points_times(begin, s, elements, x, y)
            continue
        s += 1
        if e < joints:
            joint_times(e, elements, values, x, y)
        else:
            b = e - joints
            f = jacobian_rows.stiffness[b] * jacobian_row_displacement(e, b, elements, jacobian_rows, x)
            add_jacobian_row_force(e, b, f, elements, jacobian_rows, y)


@steady
def load_points(s, end, elements, b):
    """Add the forces of the points from place s on, which have the same nodes."""
    first = elements.order[s]
    f = on_a = on_b = 0.0, 0.0, 0.0
    for k in range(s, end):
        force, arms = elements.force[elements.order[k]], elements.arms[elements.order[k]]
        push, moment = (force[0], force[1], force[2]), (force[3], force[4], force[5])
        f = add(f, push)
        on_a = add(on_a, add(cross((arms[0], arms[1], arms[2]), push), moment))
        on_b = add(on_b, add(cross((arms[3], arms[4], arms[5]), push), moment))
    add_sum_to(b, elements.nodes[first, 0], elements.nodes[first, 1], f, on_a, on_b)


@steady
def load_forces(c, components, nodes, elements, jacobian_rows, frames, solver_frames, joints, inverse_h2, b):
    """Write the right hand side, b = sum J^T f - M (X - X_free) / h^2, of a component."""
    for j in range(components.node[c], components.node[c + 1]):
        m = inertia_times(j, nodes, frames, solver_frames, inverse_h2, solver_frames.displacement[nodes.frame[j]])
        b[j] = -m[0], -m[1], -m[2], -m[3], -m[4], -m[5]
    s, end = components.element[c], components.element[c + 1]
    while s < end:
        e = elements.order[s]
        if e >= joints + len(jacobian_rows):
            begin, s = s, end_of_points(s, end, elements)
            load_points(begin, s, elements, b)
            continue
        s += 1
        if e >= joints:
            row = e - joints
            add_jacobian_row_force(e, row, jacobian_rows.force[row], elements, jacobian_rows, b)
            continue
        force, arms = elements.force[e], elements.arms[e]
        f, t = (force[0], force[1], force[2]), (force[3], force[4], force[5])
        if elements.nodes[e, 0] >= 0:
            add_force_to(b, elements.nodes[e, 0], f, t, (arms[0], arms[1], arms[2]), 1.0)
        if elements.nodes[e, 1] >= 0:
            add_force_to(b, elements.nodes[e, 1], f, t, (arms[3], arms[4], arms[5]), -1.0)


@steady
def square_over_mass(c, components, nodes, frames, r):
    """Square of forces in the norm of the inverse mass."""
    total = 0.0
    for j in range(components.node[c], components.node[c + 1]):
        i, f = nodes.frame[j], r[j]
        q = frames.moments[i]
        turning = (f[3] * f[3] + f[4] * f[4] + f[5] * f[5]) / min(q[0], q[1], q[2])
        total += (f[0] * f[0] + f[1] * f[1] + f[2] * f[2]) * frames.inverse_mass[i] + turning
    return total


@steady
def inner(c, components, a, b):
    """Inner product of two vectors of a component."""
    total = 0.0
    for j in range(components.node[c], components.node[c + 1]):
        total += row_dot(a[j], b[j])
    return total


@steady
def converges(c, components, nodes, blocks, elements, jacobian_rows, values, frames, solver_frames, inverse_h2, enough):
    """Improve the displacements by conjugate gradients; whether the residual is small enough in the end."""
    x, r, z, d, y = nodes.vector, nodes.residual, nodes.correction, nodes.direction, nodes.image
    first, last = components.node[c], components.node[c + 1]
    for j in range(first, last):
        z[j] = r[j]
    divide_by_factor(c, components, nodes, blocks, z)
    for j in range(first, last):
        d[j] = z[j]
    slope = inner(c, components, r, z)
    cost = ITERATION * (last - first) + SUBSTITUTION * (nodes.column[last] - nodes.column[first])
    most = max(int((components.cost[c] + ASSEMBLY * (last - first)) / cost), 1)
    for k in range(most):
        components.iterations[c] += 1
        matrix_times(c, components, nodes, elements, jacobian_rows, values, frames, solver_frames, inverse_h2, d, y)
        bend = inner(c, components, d, y)
        t = slope / bend if bend > 0.0 else 0.0
        for j in range(first, last):
            x[j], r[j] = minus(x[j], -t, d[j]), minus(r[j], t, y[j])
        if square_over_mass(c, components, nodes, frames, r) <= enough:
            return True
        if k + 1 == most:
            break
        for j in range(first, last):
            z[j] = r[j]
        divide_by_factor(c, components, nodes, blocks, z)
        new = inner(c, components, r, z)
        for j in range(first, last):
            d[j] = minus(z[j], -new / slope, d[j])
        slope = new
    return False


@kernel(fastmath=STEADY)
def solve_again(
    c, components: Components, nodes: Nodes, blocks: Blocks, elements: Elements, jacobian_rows: JacobianRows,
    values: JointValues, frames: Frames, solver_frames: SolverFrames, flags: Flags, h: np.float64
):  # fmt: skip
    """Solve for the displacements of a component with an earlier factor, or request a new factor."""
    components.factoring[c] = 0
    if components.solution[c] == SOLVED:
        return
    inverse_h2 = 1.0 / (h * h)
    if components.factored[c] != 0:
        b = nodes.residual
        load_forces(c, components, nodes, elements, jacobian_rows, frames, solver_frames, len(values), inverse_h2, b)
        enough = CLOSE * square_over_mass(c, components, nodes, frames, b)
        for j in range(components.node[c], components.node[c + 1]):
            nodes.vector[j] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if converges(
            c, components, nodes, blocks, elements, jacobian_rows, values, frames, solver_frames, inverse_h2, enough
        ):
            return
        components.failures[c] += 1
    components.factored[c], components.factoring[c], flags.factoring[0] = 0, 1, 1
