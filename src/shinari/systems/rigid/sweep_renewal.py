"""Trees of joints between sweeps: those whose joints have come far are evaluated and factored again.

The matrix of a tree is that of its joints at the prediction. It serves for all sweeps of a substep where no body turns
from there by more than the direct solution takes for linear, and no limit of a joint becomes active or inactive.
Others, and trees on which a joint acts that belongs to none, are moved, evaluated there and factored anew.
"""

import numpy as np

from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import dot
from shinari.systems.rigid.block import minus
from shinari.systems.rigid.components import Components, Nodes
from shinari.systems.rigid.direct import move
from shinari.systems.rigid.elements import Elements
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.joint_trees import TreeBodies, TreeJoints, Trees
from shinari.systems.rigid.joints.evaluate import write_element
from shinari.systems.rigid.joints.limits import keeps_limits
from shinari.systems.rigid.joints.values import JointData, JointValues
from shinari.systems.rigid.newton import FAR
from shinari.systems.rigid.points import halves
from shinari.systems.rigid.sweep_trees import ZERO, factor_tree, is_swept, matrix_times, relative_of, solve_tree


@steady
def read_tree(first, last, bodies):
    """Write the displacements of a tree by its states; returns the square of the largest rotation."""
    most = 0.0
    for r in range(last - 1, first - 1, -1):
        parent, x = bodies.parent[r], bodies.state[r]
        if parent >= 0:
            x = minus(x, 1.0, matrix_times(bodies.carry, r, bodies.vector[parent]))
        bodies.vector[r] = x
        most = max(most, dot((x[3], x[4], x[5]), (x[3], x[4], x[5])))
    return most


@steady
def write_joint_displacement(r, e, side, bodies, elements):
    """Write the displacement of a joint of a body with its parent, or with what cannot move."""
    parent = bodies.parent[r]
    own, other = bodies.vector[r], ZERO
    if parent >= 0 and elements.nodes[e, 1 - side] >= 0:
        other = bodies.vector[parent]
    x, y = (own, other) if side == 0 else (other, own)
    ra, rb = halves(elements.arms[e])
    elements.displacement[e] = relative_of(x, y, ra, rb)


@steady
def is_near(first, last, bodies, joints, elements, data, values, components):
    """Whether no body of a tree has turned far, and its limits act on the same sides; displacements are written."""
    near = read_tree(first, last, bodies) <= FAR
    for r in range(first, last):
        for k in range(bodies.joint[r], bodies.joint[r + 1]):
            e = joints.joint[k]
            if is_swept(e, elements, components):
                write_joint_displacement(r, e, joints.side[k], bodies, elements)
                near = near and keeps_limits(e, data, values, elements.displacement)
    return near


@steady
def move_tree(first, last, bodies, nodes, frames, solver_frames):
    """Move the bodies of a tree by their displacements since its joints were evaluated."""
    solve_tree(first, last, bodies, nodes, solver_frames)
    for r in range(first, last):
        if bodies.swept[r]:
            frame = bodies.frame[r]
            node = solver_frames.node[frame]
            move(frame, bodies.vector[r], frames, solver_frames)
            nodes.evaluated[node] = nodes.vector[node]


@kernel(fastmath=STEADY)
def renew_tree(
    t,
    trees: Trees,
    bodies: TreeBodies,
    joints: TreeJoints,
    elements: Elements,
    data: JointData,
    values: JointValues,
    components: Components,
    nodes: Nodes,
    frames: Frames,
    solver_frames: SolverFrames,
    h: np.float64,
):
    """Factor a tree before the first sweeps; between sweeps evaluate it at its present place if it has come far."""
    first, last = trees.body[t], trees.body[t + 1]
    trees.renewed[t] = True
    if trees.factored[t]:
        near = is_near(first, last, bodies, joints, elements, data, values, components)
        if near and not trees.linked[t]:
            trees.renewed[t] = False
            return
        move_tree(first, last, bodies, nodes, frames, solver_frames)
        for k in range(bodies.joint[first], bodies.joint[last]):
            if is_swept(joints.joint[k], elements, components):
                write_element(joints.joint[k], data, values, elements, frames, 0, h)
    factor_tree(first, last, bodies, joints, elements, values, components, nodes, solver_frames)
    trees.factored[t] = True
