"""Newton steps of all components: which components are solved, and which need another step."""

from typing import NamedTuple

import numpy as np

from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.systems.rigid.components import (
    MOVES,
    PENDING,
    RENEWED,
    SOLVED,
    UNLOADED,
    UNSETTLED,
    Components,
    Nodes,
    RestSpeeds,
    has_failed,
    is_unsettled_loop,
    may_be_direct,
    motion_of,
)
from shinari.systems.rigid.contact.pairs import Points
from shinari.systems.rigid.elements import (
    Elements,
    JacobianRows,
    accumulate_force,
    accumulate_moment,
    accumulate_row_step,
)
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.joint_trees import TreeMembers
from shinari.systems.rigid.joints.table import FLAGS, REDUNDANT
from shinari.systems.rigid.joints.values import JointData
from shinari.systems.rigid.progress import Counts, Flags

# Largest number of updates of the limits of friction in a substep.
MOST_RENEWALS = 4
# Square of a rotation [rad^2] up to which the rows of a joint count as linear. Beyond it they are evaluated again at
# the new pose.
FAR = 0.02**2
# Newton steps that are made, at most, until loops that hold something twice settle.
MOST_STEPS_IN_LOOPS = 8


@kernel
def start_solution(_, counts: Counts, flags: Flags):
    """Clear the counters of the solution."""
    counts.renewals[0], counts.steps[0], flags.renewed[0], flags.failed[0] = 0, 0, 0, 0


class DirectLimits(NamedTuple):
    """Costs of a factor, in products of blocks, up to which a component is solved directly.

    Attributes:
        simple: For each body: a tree or a chain, whatever it does.
        light: For each body, in motion, as a trial.
        small: For all bodies together: contacts alone, whatever they do, and as a trial with joints.
        heavy: For each body, at rest.
    """

    simple: float
    light: float
    small: float
    heavy: float


LIMITS = {
    "direct": DirectLimits(np.inf, np.inf, np.inf, np.inf),
    "sweeps": DirectLimits(-1.0, -1.0, -1.0, -1.0),
    "auto": DirectLimits(6.0, 60.0, 500.0, 1000.0),
}
# Newton steps of a substep, at most; most take one: bodies at rest keep their contacts. Steps after which a trial has
# failed, and where all bodies of a component move. That of a large one at rest is made once, and worth all steps.
MOST_STEPS, TRIES, STIRRED_TRIES = 30, 15, 8
# Steps of which one tries to solve a component directly that rests, but was swept.
RETRY = 8
# Newton steps after which a costly heap at rest goes on in the next substep: its points find their states there as
# well. With two they do not, and with one a pyramid falls.
GRADUAL_STEPS = 4
# Rounding of a gap relative to the largest coordinate of its component: two spacings of numbers for each body.
ROUNDING = 2.0**-50


@kernel(in_order=True)
def mark_figure(c, components: Components, elements: Elements, members: TreeMembers, first_point: np.int64):
    """Decide whether a component has contact points, and all its joints are in trees, which hold in sweeps as well."""
    trees, touches = True, False
    for s in range(components.element[c], components.element[c + 1]):
        e = elements.order[s]
        if e < first_point:
            trees = trees and e < len(members) and members.chosen[e]
        else:
            touches = True
    components.figure[c] = 1 if trees and touches else 0


@kernel
def mark_redundant(c, components: Components, elements: Elements, joints: JointData):
    """Decide whether a component has joints that hold something twice."""
    components.redundant[c] = 0
    for s in range(components.element[c], components.element[c + 1]):
        e = elements.order[s]
        if e < len(joints) and joints.codes[e, FLAGS] & REDUNDANT != 0:
            components.redundant[c] = 1


@kernel
def mark_unloaded(c, components: Components, elements: Elements, points: Points, first_point: np.int64):
    """Decide whether a component that rests has just begun to: no point has had a force in the last substep.

    Its points are then as soft as they are over many substeps, in each of which a part of their overlap recovers: the
    heap is at once where it would come to rest.
    """
    if components.calm[c] == 0 or components.resting[c] == 0:
        return
    for s in range(components.element[c], components.element[c + 1]):
        f = points.force[elements.order[s] - first_point]
        if f[0] != 0.0 or f[1] != 0.0 or f[2] != 0.0:
            return
    components.softness[c] = UNLOADED


@steady
def extent_of(c, components, nodes, frames):
    """Largest coordinate of a body of a component, at least in size."""
    most = 0.0
    for j in range(components.node[c], components.node[c + 1]):
        x = frames.x[nodes.member[j]]
        most = max(most, abs(x[0]), abs(x[1]), abs(x[2]))
    return most


@kernel(in_order=True)
def choose_solver(
    c, components: Components, nodes: Nodes, elements: Elements, frames: Frames, solver_frames: SolverFrames,
    flags: Flags, speeds: RestSpeeds, first_point: np.int64, simple: float, light: float, small: float
):  # fmt: skip
    """Decide whether a component is solved directly or by sweeps in a substep.

    A small component of contacts alone is tried in each substep if it rests or its masses are different, and swept
    where Newton steps do not settle it. At rest one factor serves for a whole step; in motion every Newton step would
    need another. A light component that was not swept is tried: if few Newton steps do not settle it, it is swept until
    it rests. One with very different masses, whose forces sweeps do not find, is tried in each substep; a simple one
    that is a figure once a step, and one that has come to rest once in `RETRY` steps, until it succeeds.

    Args:
        c: The component.
        components: The components.
        nodes: Their nodes.
        elements: The elements, of each component the joints first.
        frames: Masses of the frames.
        solver_frames: Velocities of the frames.
        flags: Receives whether a component is solved by sweeps; whether this is the first substep of a step.
        speeds: Speeds below which a component stays direct.
        first_point: Element of the first point.
        simple: See `DirectLimits`.
        light: See `DirectLimits`.
        small: See `DirectLimits`.
    """
    first, last, cost = components.node[c], components.node[c + 1], components.cost[c]
    motion = motion_of(c, components, nodes, frames, solver_frames, speeds)
    swept, again = motion.swept, flags.first_of_step[0] != 0 or not motion.swept
    start, end = components.element[c], components.element[c + 1]
    unjointed = start < end and elements.order[start] >= first_point
    heap = unjointed and cost <= small and (motion.calm or motion.mixed)
    direct, calm, trial = components.ordered[c] != 0, False, False
    if direct and cost > simple * (last - first):
        calm = motion.calm and (heap or not swept or (again and flags.retrying[0] != 0))
        light_enough = cost <= light * (last - first) or cost <= small
        trial = heap or (light_enough and not motion.calm and may_be_direct(motion))
        direct = calm or trial
    elif direct and components.figure[c] != 0 and not heap:
        # contacts alone that move, and that Newton steps did not settle, hardly settle a step later
        waits = unjointed and motion.swept and not (motion.calm or motion.uneven) and flags.retrying[0] == 0
        direct = trial = again and not waits
    components.rounding[c] = ROUNDING * extent_of(c, components, nodes, frames)
    # forces between limbs are those of jams as well, no loads
    components.uneven[c] = 1 if motion.uneven and unjointed else 0
    resting = motion.calm and unjointed
    components.resting[c] = 1 if resting else 0
    components.stays[c] = 1 if resting and motion.still and not motion.uneven else 0
    components.direct[c], components.calm[c], components.softness[c] = 1 if direct else 0, 1 if calm else 0, 1.0
    components.gradual[c] = 1 if calm and unjointed and not (heap or swept) else 0
    # a heap that rests from the start has many states to find, over several substeps
    components.trial[c] = 1 if trial or (calm and (swept or motion.large)) else 0
    patient = motion.calm and (motion.large or not swept)
    components.tries[c] = MOST_STEPS if patient else (STIRRED_TRIES if motion.stirred else TRIES)
    if components.trial[c] != 0:
        flags.trying[0] = 1
    if not direct:
        flags.sweeping[0] = 1


@kernel
def start_component(c, components: Components, flags: Flags):
    """Mark a directly solved component as pending, unless it stays where the substep began."""
    stands = components.stands[c] != MOVES
    components.solution[c], components.early[c] = SOLVED if stands else components.direct[c], 0
    components.stood[c] = 1 if stands and flags.continued[0] == 0 else 0


@kernel
def conclude_step(_, counts: Counts, flags: Flags, bounded: np.int64):
    """Count the Newton step, and clear the decisions about the next one."""
    counts.renewals[0] += flags.renewed[0]
    counts.steps[0] += 1
    flags.renewing[0] = 1 if counts.renewals[0] < MOST_RENEWALS else 0
    flags.reconsidering[0], flags.renewed[0], flags.done[0], flags.unsettled[0] = bounded, 0, 1, 0


@kernel(fastmath=STEADY)
def accumulate(e, elements: Elements, jacobian_rows: JacobianRows, components: Components, joints: np.int64):
    """Accumulate the force of a joint or a Jacobian row whose component is not solved."""
    c = elements.component[e]
    if c < 0 or components.solution[c] == SOLVED:
        return
    if e < joints:
        accumulate_force(e, elements, components.part[c])
        accumulate_moment(e, elements, components.part[c])
    else:
        accumulate_row_step(e - joints, jacobian_rows, components.part[c])


@kernel
def check_step(c, components: Components, counts: Counts, flags: Flags, joints: np.int64):
    """Mark a component unsettled after a partial step, or after one that rotated a jointed body far.

    One whose points keep their states, but not the limits of their friction, has these renewed.
    """
    if components.solution[c] != SOLVED:
        turn = components.largest_rotation_squared[c]
        far = joints > 0 and turn > FAR
        if turn == np.inf or far or (counts.steps[0] < MOST_STEPS_IN_LOOPS and is_unsettled_loop(c, components)):
            components.solution[c] = UNSETTLED
        if components.solution[c] == PENDING and components.exceeding[c] != 0 and flags.renewing[0] != 0:
            components.solution[c] = RENEWED
        if components.solution[c] >= UNSETTLED:
            flags.reconsidering[0] = 1


@kernel
def conclude_component(c, components: Components, counts: Counts, flags: Flags):
    """A pending component is solved. An unsettled one becomes pending for the next Newton step.

    Its points are then classified again. A trial that has taken all its steps has failed; a gradual solution ends with
    a full step, whose forces balance the momenta.
    """
    state = components.solution[c]
    whole = components.part[c] == 1.0
    if state >= UNSETTLED and components.gradual[c] != 0 and counts.steps[0] >= GRADUAL_STEPS and whole:
        components.solution[c], components.early[c], components.renewed[c] = SOLVED, 1, 0
        return
    if state >= UNSETTLED and components.trial[c] != 0 and counts.steps[0] >= components.tries[c]:
        components.direct[c], components.solution[c], components.renewed[c] = 0, SOLVED, 0
        flags.failed[0] = flags.sweeping[0] = 1
        return
    components.renewed[c] = 1 if state == RENEWED else 0
    components.solution[c] = PENDING if state >= UNSETTLED else SOLVED
    if state >= UNSETTLED:
        flags.done[0], flags.unsettled[0] = 0, 1
    if state == RENEWED:
        flags.renewed[0] = 1


@kernel
def store_trial(j, nodes: Nodes, components: Components, frames: Frames, solver_frames: SolverFrames):
    """Store the pose from which a trial starts."""
    c = nodes.component[j]
    if components.trial[c] != 0 and components.stands[c] == MOVES:
        i = nodes.frame[j]
        solver_frames.trial_x[i], solver_frames.trial_q[i] = frames.x[i], frames.q[i]
        solver_frames.trial_displacement[i] = solver_frames.displacement[i]


@kernel
def restore_trial(j, nodes: Nodes, components: Components, frames: Frames, solver_frames: SolverFrames):
    """Restore the pose from which a failed trial started."""
    if has_failed(nodes.component[j], components):
        i = nodes.frame[j]
        frames.x[i], frames.q[i] = solver_frames.trial_x[i], solver_frames.trial_q[i]
        solver_frames.displacement[i] = solver_frames.trial_displacement[i]


@kernel
def set_failed(c, components: Components, solution: int):
    """Set the solution of components whose trial has failed."""
    if has_failed(c, components):
        components.solution[c] = solution
