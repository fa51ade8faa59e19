"""Trees of joints in sweeps: what a force does to a body is what it does to its whole figure.

    A X = sum J^T f + F,    A = M / h^2 + sum J^T K J

for the displacements X of the bodies of a tree since its joints were evaluated, with their forces f and stiffnesses K
there, and all other forces F. A is factored once; bodies are eliminated from the leaves to the root, so that nothing is
filled in. In a sweep a force at a body changes the states on the path to the root, and the displacement of a body
follows along its path from the root (as in Featherstone 2008, Rigid Body Dynamics Algorithms, articulated bodies):

    push    y_c += D_c^-1 F_c,    F_p -= C_c^T F_c        D_c: the block of c that is left as it is eliminated
    read    X_c = y_c - C_c X_p                           C_c = D_c^-1 A_cp

So all joints of a tree hold while sweeps go over its contacts, and a foot carries what stands on it.
"""

from shinari.compute import kernel, shared
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.symmetric import inverse, isotropic, plus, times
from shinari.maths.vec3 import add, cross
from shinari.systems.rigid.block import (
    add_rows,
    divide,
    factor,
    minus,
    row_dot,
    scale_row,
    solve_lower,
    solve_upper,
    subtract_product,
    subtract_times,
    subtract_transposed,
)
from shinari.systems.rigid.components import Components, Nodes
from shinari.systems.rigid.direct import (
    add_force_to,
    add_geometric_stiffness,
    add_own_stiffness,
    add_stiffness,
    join,
)
from shinari.systems.rigid.elements import Elements
from shinari.systems.rigid.frames import SolverFrames
from shinari.systems.rigid.joint_trees import TreeBodies, TreeJoints, Trees
from shinari.systems.rigid.joints.values import JointValues
from shinari.systems.rigid.points import halves

ZERO = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@steady
def is_swept(e, elements, components):
    """Whether sweeps solve an element."""
    component = elements.component[e]
    return component >= 0 and components.direct[component] == 0


@steady
def matrix_times(a, r, v):
    """A v of matrix r."""
    return (
        row_dot(a[r, 0], v), row_dot(a[r, 1], v), row_dot(a[r, 2], v),
        row_dot(a[r, 3], v), row_dot(a[r, 4], v), row_dot(a[r, 5], v),
    )  # fmt: skip


@steady
def transposed_times(a, r, v):
    """A^T v of matrix r: a sum of rows, which takes fewer instructions than products with rows."""
    x = minus(minus(scale_row(a[r, 0], v[0]), -v[1], a[r, 1]), -v[2], a[r, 2])
    y = minus(minus(scale_row(a[r, 3], v[3]), -v[4], a[r, 4]), -v[5], a[r, 5])
    return add_rows(x, y)


@steady
def minus_transposed_times(a, r, v):
    """-A^T v of matrix r."""
    x = minus(minus(scale_row(a[r, 0], -v[0]), v[1], a[r, 1]), v[2], a[r, 2])
    y = minus(minus(scale_row(a[r, 3], -v[3]), v[4], a[r, 4]), v[5], a[r, 5])
    return add_rows(x, y)


@steady
def divide_upper(blocks, p, d, j):
    """Block p becomes U^-1 B with the factor U in d[j]."""
    u0, u1, u2, u3, u4 = d[j, 0], d[j, 1], d[j, 2], d[j, 3], d[j, 4]
    r5 = scale_row(blocks[p, 5], d[j, 5, 5])
    r4 = scale_row(minus(blocks[p, 4], u4[5], r5), u4[4])
    r3 = scale_row(minus(minus(blocks[p, 3], u3[4], r4), u3[5], r5), u3[3])
    r2 = scale_row(minus(minus(minus(blocks[p, 2], u2[3], r3), u2[4], r4), u2[5], r5), u2[2])
    r1 = scale_row(minus(minus(minus(minus(blocks[p, 1], u1[2], r2), u1[3], r3), u1[4], r4), u1[5], r5), u1[1])
    r0 = minus(minus(minus(minus(minus(blocks[p, 0], u0[1], r1), u0[2], r2), u0[3], r3), u0[4], r4), u0[5], r5)
    blocks[p, 1], blocks[p, 2], blocks[p, 3], blocks[p, 4], blocks[p, 5] = r1, r2, r3, r4, r5
    blocks[p, 0] = scale_row(r0, u0[0])


@steady
def mobility_of(i, frames, h2):
    """Displacement of a frame by unit forces in a substep: h^2 times inverse inertia and inverse mass."""
    m = frames.inverse_inertia[i]
    return h2 * m[0], h2 * m[1], h2 * m[2], h2 * m[3], h2 * m[4], h2 * m[5], h2 * frames.inverse_mass[i]


# ---- forces and displacements along paths ----


@steady
def read(r, bodies, paths):
    """Displacement of a body since the joints were evaluated."""
    start = bodies.path[r]
    x = bodies.state[paths.body[start]]
    for s in range(start + 1, bodies.path[r + 1]):
        c = paths.body[s]
        x = minus(bodies.state[c], 1.0, matrix_times(bodies.carry, c, x))
    return x


@steady
def push(r, w, bodies):
    """Apply a force and a moment to a body."""
    bodies.load[r] = add_rows(bodies.load[r], w)
    while r >= 0:
        # D^-1 is symmetric
        bodies.state[r] = add_rows(bodies.state[r], transposed_times(bodies.inverse, r, w))
        parent = bodies.parent[r]
        if parent >= 0:
            w = minus_transposed_times(bodies.carry, r, w)
        r = parent


@steady
def wrench(r, f, t, sign):
    """A force at an arm and a moment, as a force and a moment at the centre."""
    moment = add(cross(r, f), t)
    return sign * f[0], sign * f[1], sign * f[2], sign * moment[0], sign * moment[1], sign * moment[2]


@steady
def node_times(j, w, bodies, nodes):
    """Displacement of node j by a force and a moment; node -1 is immovable."""
    if j < 0:
        return ZERO
    r = nodes.tree[j]
    if r >= 0:
        return transposed_times(bodies.mobility, r, w)
    m = nodes.mobility[j]
    turn = times(m, (w[3], w[4], w[5]))
    return m[6] * w[0], m[6] * w[1], m[6] * w[2], turn[0], turn[1], turn[2]


@steady
def mobility_at(j, r, bodies, nodes):
    """Displacement of a point at arm r of node j by forces there: A + B R + (B R)^T + R^T C R with R f = r x f."""
    if j < 0:
        return ZERO
    t = nodes.tree[j]
    if t < 0:
        m = nodes.mobility[j]
        return plus(isotropic(m[6]), turned_about(r, m))
    m = bodies.mobility
    # columns of B R, with B the displacements by moments
    b0, b1, b2 = half_of(m, t, 0), half_of(m, t, 1), half_of(m, t, 2)
    x = b0[1] * r[2] - b0[2] * r[1], b1[1] * r[2] - b1[2] * r[1], b2[1] * r[2] - b2[2] * r[1]
    y = b0[2] * r[0] - b0[0] * r[2], b1[2] * r[0] - b1[0] * r[2], b2[2] * r[0] - b2[0] * r[2]
    z = b0[0] * r[1] - b0[1] * r[0], b1[0] * r[1] - b1[1] * r[0], b2[0] * r[1] - b2[1] * r[0]
    both = 2.0 * x[0], 2.0 * y[1], 2.0 * z[2], y[2] + z[1], z[0] + x[2], x[1] + y[0]
    at_centre = m[t, 0, 0], m[t, 1, 1], m[t, 2, 2], m[t, 1, 2], m[t, 0, 2], m[t, 0, 1]
    return plus(plus(at_centre, both), turned_about(r, turns_by_moments(j, bodies, nodes)))


@steady
def half_of(m, t, k):
    """What moments do to the displacement along an axis: the second half of row k of matrix t."""
    return m[t, k, 3], m[t, k, 4], m[t, k, 5]


@steady
def turned_about(r, c):
    """R^T C R of a symmetric C, with R f = r x f."""
    x = c[5] * r[2] - c[4] * r[1], c[1] * r[2] - c[3] * r[1], c[3] * r[2] - c[2] * r[1]
    y = c[4] * r[0] - c[0] * r[2], c[3] * r[0] - c[5] * r[2], c[2] * r[0] - c[4] * r[2]
    z = c[0] * r[1] - c[5] * r[0], c[5] * r[1] - c[1] * r[0], c[4] * r[1] - c[3] * r[0]
    return (
        r[2] * x[1] - r[1] * x[2], r[0] * y[2] - r[2] * y[0], r[1] * z[0] - r[0] * z[1],
        r[0] * z[2] - r[2] * z[0], r[2] * z[1] - r[1] * z[2], r[0] * x[2] - r[2] * x[0],
    )  # fmt: skip


@steady
def turns_by_moments(j, bodies, nodes):
    """Rotation of node j by moments, a symmetric matrix."""
    if j < 0:
        return ZERO
    t = nodes.tree[j]
    if t < 0:
        m = nodes.mobility[j]
        return m[0], m[1], m[2], m[3], m[4], m[5]
    m = bodies.mobility
    return m[t, 3, 3], m[t, 4, 4], m[t, 5, 5], m[t, 4, 5], m[t, 3, 5], m[t, 3, 4]


@steady
def read_node(j, bodies, paths, nodes):
    """Displacement of node j since its free motion."""
    if j < 0:
        return ZERO
    r = nodes.tree[j]
    return nodes.vector[j] if r < 0 else add_rows(nodes.evaluated[j], read(r, bodies, paths))


@steady
def push_node(j, w, bodies, nodes):
    """Apply a force and a moment to node j."""
    if j >= 0:
        r = nodes.tree[j]
        if r >= 0:
            push(r, w, bodies)
        else:
            nodes.vector[j] = add_rows(nodes.vector[j], node_times(j, w, bodies, nodes))


# ---- the matrix of a tree ----


@kernel
def start_tree(
    t,
    trees: Trees,
    bodies: TreeBodies,
    joints: TreeJoints,
    elements: Elements,
    values: JointValues,
    components: Components,
    nodes: Nodes,
    solver_frames: SolverFrames,
):
    """Find the nodes of a tree, and clear its forces."""
    first, last = trees.body[t], trees.body[t + 1]
    trees.factored[t] = False
    for r in range(first, last):
        node = solver_frames.node[bodies.frame[r]]
        bodies.swept[r] = node >= 0 and components.direct[nodes.component[node]] == 0
        bodies.load[r] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if bodies.swept[r]:
            nodes.tree[node] = r
    for k in range(bodies.joint[first], bodies.joint[last]):
        if is_swept(joints.joint[k], elements, components):
            elements.accumulated[joints.joint[k]] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0


@steady
def put_inertia(a, r, mass, i):
    """The matrix of a mass and a moment of inertia, xx, yy, zz, yz, zx, xy."""
    a[r, 0] = mass, 0.0, 0.0, 0.0, 0.0, 0.0
    a[r, 1] = 0.0, mass, 0.0, 0.0, 0.0, 0.0
    a[r, 2] = 0.0, 0.0, mass, 0.0, 0.0, 0.0
    a[r, 3] = 0.0, 0.0, 0.0, i[0], i[5], i[4]
    a[r, 4] = 0.0, 0.0, 0.0, i[5], i[1], i[3]
    a[r, 5] = 0.0, 0.0, 0.0, i[4], i[3], i[2]


@steady
def begin_body(r, m, away, bodies):
    """Start a body with its mass and inertia over h^2, from its mobility, and its displacement from the free motion."""
    i, mass = inverse(m), 1.0 / m[6]
    put_inertia(bodies.matrix, r, mass, i)
    turn = times(i, (away[3], away[4], away[5]))
    bodies.rest[r] = -mass * away[0], -mass * away[1], -mass * away[2], -turn[0], -turn[1], -turn[2]


@steady
def clear_matrix(a, r, diagonal):
    """A multiple of the unit matrix."""
    zero = diagonal - diagonal
    a[r, 0] = diagonal, zero, zero, zero, zero, zero
    a[r, 1] = zero, diagonal, zero, zero, zero, zero
    a[r, 2] = zero, zero, diagonal, zero, zero, zero
    a[r, 3] = zero, zero, zero, diagonal, zero, zero
    a[r, 4] = zero, zero, zero, zero, diagonal, zero
    a[r, 5] = zero, zero, zero, zero, zero, diagonal


@steady
def arms_of(e, side, elements):
    """Arms of an element: of the body on a side, and of the other one."""
    ra, rb = halves(elements.arms[e])
    return (ra, rb) if side == 0 else (rb, ra)


@steady
def add_joint(r, e, side, bodies, elements, values):
    """Add a joint of a body with its parent, or with what cannot move."""
    parent = bodies.parent[r]
    own, other = arms_of(e, side, elements)
    load, sign = values.applied[e], 1.0 - 2.0 * side
    pull = sign * load[0], sign * load[1], sign * load[2]
    values.pull[e] = load
    f, t = halves(elements.force[e])
    add_own_stiffness(bodies.matrix, r, elements.stiffness, e, own)
    add_geometric_stiffness(bodies.matrix, r, own, pull)
    add_force_to(bodies.rest, r, f, t, own, sign)
    if parent >= 0 and elements.nodes[e, 1 - side] >= 0:
        add_own_stiffness(bodies.matrix, parent, elements.stiffness, e, other)
        add_geometric_stiffness(bodies.matrix, parent, other, (-pull[0], -pull[1], -pull[2]))
        add_force_to(bodies.rest, parent, f, t, other, -sign)
        add_stiffness(bodies.block, r, elements.stiffness, e, own, other, -1.0)


@shared(fastmath=STEADY)
def factor_tree(
    first: int,
    last: int,
    bodies: TreeBodies,
    joints: TreeJoints,
    elements: Elements,
    values: JointValues,
    components: Components,
    nodes: Nodes,
    solver_frames: SolverFrames,
) -> None:
    """Assemble and factor the matrix of a tree, and solve it with the present forces."""
    for r in range(first, last):
        clear_matrix(bodies.block, r, 0.0)
        if bodies.swept[r]:
            frame = bodies.frame[r]
            begin_body(r, nodes.mobility[solver_frames.node[frame]], solver_frames.displacement[frame], bodies)
    for r in range(first, last):
        for k in range(bodies.joint[r], bodies.joint[r + 1]):
            if is_swept(joints.joint[k], elements, components):
                add_joint(r, joints.joint[k], joints.side[k], bodies, elements, values)
    for r in range(first, last):
        eliminate(r, bodies)
    start_states(first, last, bodies)
    for r in range(last - 1, first - 1, -1):
        write_mobility(r, bodies)


@steady
def eliminate(r, bodies):
    """Factor the block of a body, and subtract it from that of its parent."""
    if not bodies.swept[r]:
        clear_matrix(bodies.carry, r, 0.0)
        clear_matrix(bodies.inverse, r, 0.0)
        return
    factor(bodies.matrix, r)
    clear_matrix(bodies.inverse, r, 1.0)
    divide(bodies.inverse, r, bodies.matrix, r)
    divide_upper(bodies.inverse, r, bodies.matrix, r)
    parent = bodies.parent[r]
    if parent >= 0:
        divide(bodies.block, r, bodies.matrix, r)
        subtract_product(bodies.matrix, parent, bodies.block, r, r)
        for k in range(6):
            bodies.carry[r, k] = bodies.block[r, k]
        divide_upper(bodies.carry, r, bodies.matrix, r)


@steady
def forward(first, last, bodies):
    """Solve from the leaves to the root, with the present forces."""
    for r in range(first, last):
        bodies.vector[r] = add_rows(bodies.rest[r], bodies.load[r])
    for r in range(first, last):
        if bodies.swept[r]:
            solve_lower(bodies.matrix, r, bodies.vector)
            if bodies.parent[r] >= 0:
                subtract_transposed(bodies.vector, bodies.parent[r], bodies.block, r, r)


@steady
def start_states(first, last, bodies):
    """Write the states by the present forces."""
    forward(first, last, bodies)
    for r in range(first, last):
        bodies.state[r] = bodies.vector[r]
        if bodies.swept[r]:
            solve_upper(bodies.matrix, r, bodies.state)


@steady
def write_mobility(r, bodies):
    """Write D^-1 + C G C^T with the mobility G of the parent."""
    parent = bodies.parent[r]
    for k in range(6):
        bodies.mobility[r, k] = bodies.inverse[r, k]
    if parent >= 0 and bodies.swept[r]:
        for k in range(6):
            c = bodies.carry[r, k]
            # G is symmetric
            row = matrix_times(bodies.carry, r, transposed_times(bodies.mobility, parent, c))
            bodies.mobility[r, k] = add_rows(bodies.mobility[r, k], row)


@steady
def force_of(e, elements, nodes):
    """Force and moment of a joint, f - K d, with the displacement d since it was evaluated."""
    m, f, s = displacement_since(e, elements, nodes), elements.force[e], elements.stiffness[e]
    held = times((s[0], s[1], s[2], s[3], s[4], s[5]), (m[0], m[1], m[2]))
    turned = times((s[6], s[7], s[8], s[9], s[10], s[11]), (m[3], m[4], m[5]))
    return f[0] - held[0], f[1] - held[1], f[2] - held[2], f[3] - turned[0], f[4] - turned[1], f[5] - turned[2]


@shared(fastmath=STEADY)
def solve_tree(first: int, last: int, bodies: TreeBodies, nodes: Nodes, solver_frames: SolverFrames) -> None:
    """Write the displacements of a tree by the present forces."""
    forward(first, last, bodies)
    for r in range(last - 1, first - 1, -1):
        if bodies.swept[r]:
            if bodies.parent[r] >= 0:
                subtract_times(bodies.vector, r, bodies.block, r, bodies.parent[r])
            solve_upper(bodies.matrix, r, bodies.vector)
            node = solver_frames.node[bodies.frame[r]]
            nodes.vector[node] = add_rows(nodes.evaluated[node], bodies.vector[r])


@kernel(fastmath=STEADY)
def finish_tree(
    t,
    trees: Trees,
    bodies: TreeBodies,
    joints: TreeJoints,
    elements: Elements,
    values: JointValues,
    components: Components,
    nodes: Nodes,
    solver_frames: SolverFrames,
):
    """Write displacements and joint forces of a tree; solved anew, so that no rounding of the sweeps is in them."""
    first, last = trees.body[t], trees.body[t + 1]
    solve_tree(first, last, bodies, nodes, solver_frames)
    for k in range(bodies.joint[first], bodies.joint[last]):
        e = joints.joint[k]
        if is_swept(e, elements, components):
            elements.accumulated[e] = force_of(e, elements, nodes)


@steady
def displacement_since(e, elements, nodes):
    """The relative displacement d and phi of an element since joints were evaluated."""
    a, b = elements.nodes[e, 0], elements.nodes[e, 1]
    ra, rb = halves(elements.arms[e])
    x = minus(nodes.vector[a], 1.0, nodes.evaluated[a]) if a >= 0 else ZERO
    y = minus(nodes.vector[b], 1.0, nodes.evaluated[b]) if b >= 0 else ZERO
    return relative_of(x, y, ra, rb)


@steady
def displaced(x, y, ra, rb):
    """Relative displacement of two nodes at their arms."""
    a, b = cross((x[3], x[4], x[5]), ra), cross((y[3], y[4], y[5]), rb)
    return x[0] + a[0] - y[0] - b[0], x[1] + a[1] - y[1] - b[1], x[2] + a[2] - y[2] - b[2]


@steady
def relative_of(x, y, ra, rb):
    """Relative displacement and rotation of two displacements at their arms."""
    return join(displaced(x, y, ra, rb), (x[3] - y[3], x[4] - y[4], x[5] - y[5]))
