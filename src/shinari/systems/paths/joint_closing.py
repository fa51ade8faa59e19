"""Joints of figures whose paths were stopped are closed again, and what was stopped does not go on.

The certificate stops a limb and knows no joints, which gape by what the limb still had to go. They are closed by the
least displacements dX in the norm of the masses,

    (M / h^2 + sum J^T K J) dX = sum J^T f + F,    f = -K C

with the errors C and stiffnesses K of what joints hold, tree by tree as in `shinari.systems.rigid.sweep_trees`. Forces
F >= 0 at the stopped pairs, along the normals of their impacts, keep them from coming nearer; they are found by sweeps
over the pairs, and act on whole figures. All forces act between two bodies, so that momentum is kept. Where joints were
closed as the substep began, dX takes energy. The new paths are certified in turn.
"""

import numpy as np

from shinari.compute import Field, Program, Record, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.quaternion import rotate, rotate_back
from shinari.maths.symmetric import times
from shinari.maths.vec3 import add, cross, dot, norm, scale, sub
from shinari.systems.paths.certifier import Certificate
from shinari.systems.paths.records import Forest, PathState, Stops, Zones
from shinari.systems.paths.zones import inertia_of
from shinari.systems.rigid.block import add_rows, minus, row_dot
from shinari.systems.rigid.direct import add_force_to, add_own_stiffness, add_stiffness
from shinari.systems.rigid.elements import Elements
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.integration import is_free, moved_frame, spin_of
from shinari.systems.rigid.joint_trees import NONE, TreeBodies, TreeJoints, TreePaths, Trees, find_trees
from shinari.systems.rigid.joints.measures import place_of
from shinari.systems.rigid.joints.rows import hold_joint
from shinari.systems.rigid.joints.table import ANGULAR_COMPLIANCE, COMPLIANCE, FIRST, SECOND
from shinari.systems.rigid.joints.values import FORCE, ROWS, STIFFNESS, JointData, JointValues
from shinari.systems.rigid.points import halves
from shinari.systems.rigid.sweep_renewal import read_tree, write_joint_displacement
from shinari.systems.rigid.sweep_trees import (
    ZERO,
    arms_of,
    clear_matrix,
    eliminate,
    push,
    put_inertia,
    read,
    start_states,
    transposed_times,
    wrench,
    write_mobility,
)
from shinari.systems.rigid.system import RigidBodySystem

# Closings in a substep, Newton steps of each, and sweeps over the stopped pairs in a step.
CLOSINGS, STEPS, SWEEPS = 4, 4, 30
# Gap of a joint over its arms, and error of its rotation [rad], from which on it is open.
OPEN, TURNED = 1e-5, 1e-4
STILL = (0.0, 0.0, 0.0)


class ClosingTrees(Record):
    """Trees, T rows."""

    chosen = Field(np.bool_, doc="whether the path of one of its bodies was stopped in the substep")


class ClosingFrames(Record):
    """Frames, F rows."""

    row = Field(np.int64, doc="its body of a tree; -1 where it is in none")
    step = Field(np.float64, 6, unit="m, rad", doc="displacement of what is in no tree")


class HeldRows(Record):
    """Joints, J rows: those that each holds, as in `shinari.systems.rigid.joints.values`."""

    rows = Field(np.float64, ROWS)


class ClosingState(Record):
    """One row."""

    begun = Field(np.int64, doc="closings that have begun in the substep")
    allowed = Field(np.int64, doc="whether another one may be made")
    open = Field(np.int64, doc="whether a joint is open")
    done = Field(np.int64, doc="whether none is")


class JointClosing:
    """Closes the joints of what the certificate has stopped.

    Args:
        certificate: What all certifiers share.
        bodies: The bodies.
    """

    def __init__(self, certificate: Certificate, bodies: RigidBodySystem) -> None:
        joints = bodies.equations.joints
        self._certificate, self._data, self._values = certificate, joints.data, joints.values
        self._solved = bodies.equations.elements
        self._trees = find_trees(joints.table.codes, bodies.frames.inverse_mass > 0.0)
        self._elements, self._held = Elements.zeros(len(joints)), HeldRows.zeros(len(joints))
        self._chosen, self._state = ClosingTrees.zeros(len(self._trees.trees) - 1), ClosingState.zeros(1)
        self._frames = ClosingFrames.zeros(len(bodies.frames))
        count = len(self._trees.bodies) - 1
        self._frames.row[...] = NONE
        self._frames.row[self._trees.bodies.frame[:count]] = np.arange(count)

    def record_begin(self, p: Program) -> int:
        """Record that nothing is stopped or closed yet in a substep; returns how often joints may be closed in it."""
        state = self._certificate.state
        for counter in (self._state.begun, state.stops, state.settled_stops):
            p.copy(0, (counter, 0))
        return CLOSINGS

    def record_close(self, p: Program) -> None:
        """Record that open joints of figures with stopped paths are closed."""
        c, s, trees, own = self._certificate, self._state, self._trees, self._frames
        each, frames, stops = len(self._chosen), c.frames, c.stops
        p.serial(begin_closing, s, stops, frames, c.state)
        with p.when((s.allowed, 0)):
            p.launch(choose_tree, self._chosen, trees.trees, trees.bodies, c.zones, c.first_frame, count=each)
            with p.repeat(STEPS, until=(s.done, 0)):
                p.copy(0, (s.open, 0))
                records = self._chosen, trees.trees, trees.bodies, trees.joints
                joints = self._elements, self._data, self._values, self._held
                p.launch(hold_tree, *records, *joints, frames, s, c.state, count=each, grain=1)
                p.serial(conclude_step, s)
                with p.when((s.open, 0)):
                    p.serial(push_stops, stops, trees.bodies, trees.paths, own, frames, c.state)
                    moved = frames, self._elements, self._solved, self._values, c.forest, c.state
                    p.launch(move_tree, *records, *moved, c.first_frame, count=each, grain=1)


@kernel(fastmath=STEADY)
def begin_closing(_, closing: ClosingState, stops: Stops, frames: Frames, state: PathState):
    """Begin a closing, unless there were enough; settle points and normals of new stops where their bodies are now."""
    closing.allowed[0], closing.done[0] = closing.begun[0] < CLOSINGS, 0
    closing.begun[0] += 1
    for k in range(state.settled_stops[0], state.stops[0]):
        i, j = stops.frames[k]
        at = add(frames.x[i], rotate(frames.q[i], stops.place[k]))
        stops.other[k] = rotate_back(frames.q[j], sub(at, frames.x[j]))
        stops.normal[k] = rotate_back(frames.q[i], stops.normal[k])
    state.settled_stops[0] = state.stops[0]


@kernel
def choose_tree(t, chosen: ClosingTrees, trees: Trees, bodies: TreeBodies, zones: Zones, first: int):
    """Choose a tree of which a body is in a zone."""
    stopped = False
    for r in range(trees.body[t], trees.body[t + 1]):
        stopped = stopped or zones.size[zones.name[first + bodies.frame[r]]] > 1
    chosen.chosen[t] = stopped


@steady
def begin_body(r, f, s, bodies, frames):
    """Start a body with its mass and inertia where it is, times s."""
    i = inertia_of(frames, f, frames.q[f])
    i = s * i[0], s * i[1], s * i[2], s * i[3], s * i[4], s * i[5]
    put_inertia(bodies.matrix, r, s / frames.inverse_mass[f], i)


@steady
def error_of(rows, at, e):
    """Size of the error of three rows of a joint, by their forces and stiffnesses."""
    total = 0.0
    for k in range(3):
        stiffness = rows[e, STIFFNESS + at + k]
        if stiffness > 0.0:
            c = rows[e, FORCE + at + k] / stiffness
            total += c * c
    return np.sqrt(total)


@steady
def hold(r, e, side, bodies, elements, data, held):
    """Add a joint of a body with its parent, or with what cannot move; whether it is open.

    What gives under a force is not closed.
    """
    own, other = arms_of(e, side, elements)
    f, m = halves(elements.force[e])
    stiff, firm = data.numbers[e, COMPLIANCE] == 0.0, data.numbers[e, ANGULAR_COMPLIANCE] == 0.0
    f, m = scale(f, 1.0 if stiff else 0.0), scale(m, 1.0 if firm else 0.0)
    elements.force[e] = f[0], f[1], f[2], m[0], m[1], m[2]
    sign, parent = 1.0 - 2.0 * side, bodies.parent[r]
    add_own_stiffness(bodies.matrix, r, elements.stiffness, e, own)
    add_force_to(bodies.rest, r, f, m, own, sign)
    elements.nodes[e] = NONE, NONE, NONE
    if parent >= 0 and data.codes[e, SECOND if side == 0 else FIRST] == bodies.frame[parent]:
        elements.nodes[e] = 0, 0, 0
        add_own_stiffness(bodies.matrix, parent, elements.stiffness, e, other)
        add_force_to(bodies.rest, parent, f, m, other, -sign)
        add_stiffness(bodies.block, r, elements.stiffness, e, own, other, -1.0)
    gapes = stiff and error_of(held.rows, 0, e) > OPEN * (norm(own) + norm(other))
    return gapes or (firm and error_of(held.rows, 3, e) > TURNED)


@kernel(fastmath=STEADY)
def hold_tree(
    t, chosen: ClosingTrees, trees: Trees, bodies: TreeBodies, joints: TreeJoints, elements: Elements,
    data: JointData, values: JointValues, held: HeldRows, frames: Frames, closing: ClosingState, state: PathState
):  # fmt: skip
    """Factor a chosen tree with its joints where they are, and solve it; all with an open joint write the same flag."""
    if not chosen.chosen[t]:
        return
    first, last, h = trees.body[t], trees.body[t + 1], state.substep[0]
    for r in range(first, last):
        clear_matrix(bodies.block, r, 0.0)
        bodies.swept[r] = is_free(frames, bodies.frame[r])
        bodies.load[r], bodies.rest[r] = ZERO, ZERO
        if bodies.swept[r]:
            begin_body(r, bodies.frame[r], 1.0 / (h * h), bodies, frames)
    for r in range(first, last):
        for k in range(bodies.joint[r], bodies.joint[r + 1]):
            e = joints.joint[k]
            if not values.broken[e]:
                place = place_of(data.codes, data.numbers, e, frames.x, frames.q)
                hold_joint(e, data, held, elements, place, h)
                if hold(r, e, joints.side[k], bodies, elements, data, held):
                    closing.open[0] = 1
    for r in range(first, last):
        eliminate(r, bodies)
    start_states(first, last, bodies)
    for r in range(last - 1, first - 1, -1):
        if not bodies.swept[r]:
            bodies.state[r] = ZERO
        write_mobility(r, bodies)


@kernel
def conclude_step(_, closing: ClosingState):
    """Whether all joints are closed."""
    closing.done[0] = closing.open[0] == 0


@steady
def along(i, arm, n, bodies, own, frames, h):
    """Displacement of a point of a frame along n by a unit force there."""
    w = wrench(arm, n, STILL, 1.0)
    return row_dot(w, displacement_by(i, w, bodies, own, frames, h))


@steady
def displacement_by(i, w, bodies, own, frames, h):
    """Displacement of a frame by a force and a moment on it."""
    if not is_free(frames, i):
        return ZERO
    r = own.row[i]
    if r >= 0:
        return transposed_times(bodies.mobility, r, w)
    s = h * h * frames.inverse_mass[i]
    turn = scale(spin_of(frames.q[i], frames.moments, i, (w[3], w[4], w[5])), h * h)
    return s * w[0], s * w[1], s * w[2], turn[0], turn[1], turn[2]


@steady
def displaced_point(i, arm, bodies, paths, own, frames):
    """Displacement of a point of a frame by all forces so far."""
    if not is_free(frames, i):
        return STILL
    r = own.row[i]
    x = read(r, bodies, paths) if r >= 0 else own.step[i]
    return add((x[0], x[1], x[2]), cross((x[3], x[4], x[5]), arm))


@steady
def apply(i, w, bodies, own, frames, h):
    """Apply a force and a moment to a frame."""
    if is_free(frames, i):
        r = own.row[i]
        if r >= 0:
            push(r, w, bodies)
        else:
            own.step[i] = add_rows(own.step[i], displacement_by(i, w, bodies, own, frames, h))


@kernel(fastmath=STEADY)
def push_stops(
    _, stops: Stops, bodies: TreeBodies, paths: TreePaths, own: ClosingFrames, frames: Frames, state: PathState
):  # fmt: skip
    """Sweep over the stopped pairs; move what is in no tree."""
    h, count = state.substep[0], state.stops[0]
    for k in range(count):
        i, j = stops.frames[k]
        own.step[i], own.step[j], stops.push[k] = ZERO, ZERO, 0.0
        n = rotate(frames.q[i], stops.normal[k])
        ra, rb = rotate(frames.q[i], stops.place[k]), rotate(frames.q[j], stops.other[k])
        stops.mobility[k] = along(i, ra, n, bodies, own, frames, h) + along(j, rb, n, bodies, own, frames, h)
    for _sweep in range(SWEEPS):
        for k in range(count):
            i, j = stops.frames[k]
            if stops.mobility[k] <= 0.0:
                continue
            n = rotate(frames.q[i], stops.normal[k])
            ra, rb = rotate(frames.q[i], stops.place[k]), rotate(frames.q[j], stops.other[k])
            a = add(add(frames.x[i], ra), displaced_point(i, ra, bodies, paths, own, frames))
            b = add(add(frames.x[j], rb), displaced_point(j, rb, bodies, paths, own, frames))
            total = max(stops.push[k] - dot(n, sub(a, b)) / stops.mobility[k], 0.0)
            f = scale(n, total - stops.push[k])
            stops.push[k] = total
            if f != STILL:
                apply(i, wrench(ra, f, STILL, 1.0), bodies, own, frames, h)
                apply(j, wrench(rb, f, STILL, -1.0), bodies, own, frames, h)
    for k in range(count):
        for side in range(2):
            i = stops.frames[k, side]
            if own.row[i] < 0 and is_free(frames, i):
                move_by(i, own.step[i], frames)
                own.step[i] = ZERO


@steady
def move_by(i, x, frames):
    """Move a frame."""
    frames.x[i] = add(frames.x[i], (x[0], x[1], x[2]))
    frames.q[i] = moved_frame(frames.q[i], (x[3], x[4], x[5]))


@steady
def tell(e, elements, solved):
    """Add the force f - K d of a joint to that of its solution."""
    f, s, m = elements.force[e], elements.stiffness[e], elements.displacement[e]
    held = times((s[0], s[1], s[2], s[3], s[4], s[5]), (m[0], m[1], m[2]))
    turned = times((s[6], s[7], s[8], s[9], s[10], s[11]), (m[3], m[4], m[5]))
    more = f[0] - held[0], f[1] - held[1], f[2] - held[2], f[3] - turned[0], f[4] - turned[1], f[5] - turned[2]
    # which of them is told depends on how it was solved
    solved.force[e], solved.accumulated[e] = add_rows(solved.force[e], more), add_rows(solved.accumulated[e], more)


@kernel(fastmath=STEADY)
def move_tree(
    t, chosen: ClosingTrees, trees: Trees, bodies: TreeBodies, joints: TreeJoints, frames: Frames, elements: Elements,
    solved: Elements, values: JointValues, forest: Forest, state: PathState, first_frame: int
):  # fmt: skip
    """Move the bodies of a chosen tree; tell the forces of its joints, which went through no stopped pair."""
    if not chosen.chosen[t]:
        return
    first, last, h = trees.body[t], trees.body[t + 1], state.substep[0]
    read_tree(first, last, bodies)
    for r in range(first, last):
        for k in range(bodies.joint[r], bodies.joint[r + 1]):
            e = joints.joint[k]
            if not values.broken[e]:
                write_joint_displacement(r, e, joints.side[k], bodies, elements)
                tell(e, elements, solved)
    for r in range(first, last):
        if bodies.swept[r]:
            i, x = bodies.frame[r], bodies.vector[r]
            move_by(i, x, frames)
            pushed = minus(x, h * h * frames.inverse_mass[i], bodies.load[r])
            forest.start[first_frame + i] = add(forest.start[first_frame + i], (pushed[0], pushed[1], pushed[2]))
