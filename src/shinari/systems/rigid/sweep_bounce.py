"""Changes of velocity of bouncing components that have no factor, by sweeps over their elements."""

import numpy as np

from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import dot, scale
from shinari.systems.rigid.bounce import BOUNCED
from shinari.systems.rigid.components import Components, Nodes
from shinari.systems.rigid.contact.pairs import Points
from shinari.systems.rigid.direct import relative_displacement
from shinari.systems.rigid.elements import Elements, JacobianRows
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.joint_trees import TreeBodies, TreePaths
from shinari.systems.rigid.points import halves, pair_inverse_mass
from shinari.systems.rigid.sweep_joints import NONE, push_both, sweep_jacobian_row, sweep_joint
from shinari.systems.rigid.sweep_trees import mobility_of

SWEEPS = 12


@kernel(fastmath=STEADY)
def bounce_by_sweeps(
    c,
    components: Components,
    nodes: Nodes,
    elements: Elements,
    jacobian_rows: JacobianRows,
    points: Points,
    frames: Frames,
    solver_frames: SolverFrames,
    bodies: TreeBodies,
    paths: TreePaths,
    joints: np.int64,
    h: np.float64,
):
    """Solve the changes of velocity, times the substep, of a component that bounces and has no factor.

    The elements are those of `shinari.systems.rigid.bounce.write_bounce`.
    """
    if components.bounces[c] != BOUNCED or components.ordered[c] != 0:
        return
    h2, first_point = h * h, joints + len(jacobian_rows)
    begin, end = components.element[c], components.element[c + 1]
    for j in range(components.node[c], components.node[c + 1]):
        nodes.vector[j] = nodes.evaluated[j] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        nodes.tree[j] = -1
        nodes.mobility[j] = mobility_of(nodes.frame[j], frames, h2)
    for s in range(begin, end):
        e = elements.order[s]
        elements.accumulated[e] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if joints <= e < first_point:
            jacobian_rows.accumulated[e - joints] = 0.0
    for sweep in range(SWEEPS):
        for s in range(begin, end):
            e = elements.order[s if sweep % 2 == 0 else begin + end - 1 - s]
            if e < joints:
                sweep_joint(e, elements, bodies, paths, nodes)
            elif e >= first_point:
                sweep_bounce(e, points.normal[e - first_point], elements, bodies, frames, nodes, h2)
            else:
                sweep_jacobian_row(e, e - joints, elements, jacobian_rows, bodies, paths, nodes)
    for s in range(begin, end):
        e = elements.order[s]
        if e >= first_point:
            elements.displacement[e] = displacement_of(e, points.normal[e - first_point], elements)
    for j in range(components.node[c], components.node[c + 1]):
        solver_frames.bounced[nodes.frame[j]] = nodes.vector[j]


@steady
def displacement_of(e, n, elements):
    """Displacement at which a point has the normal force that the sweeps have applied: they need not have converged."""
    s = elements.stiffness[e]
    k = s[0] + s[1] + s[2]
    f, _ = halves(elements.force[e])
    d = scale(n, (dot(n, f) - elements.accumulated[e, 0]) / k if k > 0.0 else 0.0)
    return d[0], d[1], d[2], 0.0, 0.0, 0.0


@steady
def sweep_bounce(e, n, elements, bodies, frames, nodes, h2):
    """Solve the normal velocity of a point; its normal force is not negative."""
    s = elements.stiffness[e]
    k = s[0] + s[1] + s[2]
    if k == 0.0:
        return
    a, b = elements.frames[e]
    ra, rb = halves(elements.arms[e])
    f, _ = halves(elements.force[e])
    d, _ = halves(relative_displacement(e, elements, nodes.vector))
    old_normal = elements.accumulated[e, 0]
    w = h2 * pair_inverse_mass(a, b, ra, rb, n, frames.inverse_mass, frames.inverse_inertia)
    normal_force = max((dot(n, f) - k * dot(n, d) + k * w * old_normal) / (1.0 + k * w), 0.0)
    push_both(e, scale(n, normal_force - old_normal), NONE, elements, bodies, nodes)
    elements.accumulated[e, 0] = normal_force
