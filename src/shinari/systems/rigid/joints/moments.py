"""Moments of joint forces about the arms of the start of a substep, which keep the angular momentum.

Positions follow velocities, x1 = x0 + h v1, so that the angular momentum m x x v of a body changes by h x0 x f in a
substep. A force of a joint therefore leaves that of both bodies together as it is where it acts on them at one point of
the start, and does so without work, since velocities are those of the middle of a substep.

The solution has it act at the arms of the prediction, and adds the geometric stiffness G+ of that force, without which
a light link under a heavy load turns too far. That takes h (v_a - v_b) x f from the angular momentum and h w^T G w
from the energy, which is a gain where a joint is pressed. So poses and velocities are those of the solution, and the
next substep begins with

    L + h (r0 - r) x f + h G+ phi        r0: arm at the start; r, phi: arm, and rotation since the joint was evaluated

A swing with k = h^2 r . f / I below one then neither gains nor loses. A faster one is not resolved by the substep: for
it, as for light links under heavy loads, the solution stands, which damps it.
"""

import math

import numpy as np

from shinari.compute import Field, Record, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.quaternion import rotate
from shinari.maths.symmetric import times
from shinari.maths.vec3 import add, cross, dot, neg, scale, sub
from shinari.systems.rigid.components import Components, is_unsettled_loop
from shinari.systems.rigid.elements import Elements
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.integration import is_free, momentum_of, spin_of, vector
from shinari.systems.rigid.joints.measures import geometric_stiffness, vector_at
from shinari.systems.rigid.joints.results import load_of
from shinari.systems.rigid.joints.table import ANCHOR_A, DISTANCE, FIRST, GEAR, KIND, SECOND
from shinari.systems.rigid.joints.values import JointData, JointValues
from shinari.systems.rigid.points import halves

ZERO = (0.0, 0.0, 0.0)
# k of a swing from which on nothing is returned; up to half of it, all.
FAST = 1.0


class HeldJoints(Record):
    """Joints that hold two points together."""

    joint = Field(np.int64)
    first = Field(np.float64, 3, unit="N m s", doc="what it returns to the angular momentum of its first frame")
    second = Field(np.float64, 3, unit="N m s", doc="the same of its second frame")


class FrameJoints(Record, ragged=True):
    """Joints of each frame that hold two points together."""

    begin = Field(np.int64, doc="first joint of each frame, F rows and one")
    held = Field(np.int64, doc="rows in `HeldJoints`")
    side = Field(np.int64, doc="0 where the frame is its first one, 1 where it is its second one")


def held_joints(codes: np.ndarray, frames: int, pulled: np.ndarray) -> tuple[HeldJoints, FrameJoints]:
    """List the joints that return their moments, and those of each of so many frames.

    Gears and distances hold no points together. Tendons act at their ends after the solution, too: on the frames that
    they pull at points, the errors of both balance better than that of either alone.
    """
    alone = ~np.isin(codes[:, FIRST : SECOND + 1], pulled).any(axis=1)
    joints = np.flatnonzero((codes[:, KIND] != GEAR) & (codes[:, KIND] != DISTANCE) & alone)
    held = HeldJoints.zeros(len(joints))
    held.joint[...] = joints
    owner = codes[joints, FIRST : SECOND + 1].T.ravel()
    order = np.argsort(owner, kind="stable")
    begin = np.searchsorted(owner[order], np.arange(frames + 1)).astype(np.int64)
    rows, side = np.tile(np.arange(len(joints)), 2), np.repeat(np.arange(2), len(joints))
    return held, FrameJoints(begin=begin, held=rows[order], side=side[order])


@steady
def swing(i, arm, frames):
    """Square of the k of the swing of a body about a joint, for h^2 times its load as a unit; 0 of an immovable one."""
    if not is_free(frames, i):
        return 0.0
    moments = frames.moments
    least = min(moments[i, 0], moments[i, 1], moments[i, 2])
    return dot(arm, arm) / (least * least)


@steady
def part_returned(j, codes, load, pull, elements, frames, h):
    """The part of the moments of a joint that is returned: all where neither body swings too fast for a substep.

    In a jam the force with which the joint was evaluated may be far larger than that of the solution.
    """
    first = swing(codes[j, FIRST], vector_at(elements.arms, j, 0), frames)
    second = swing(codes[j, SECOND], vector_at(elements.arms, j, 3), frames)
    k = h * h * math.sqrt(max(first, second) * max(dot(load, load), dot(pull, pull)))
    return min(max(2.0 - 2.0 * k / FAST, 0.0), 1.0)


@steady
def moment_returned(arm, start, load, pull, turn):
    """What a force on a frame at an arm returns to its angular momentum, over h; `start` is the arm at the start."""
    return add(cross(sub(start, arm), load), times(geometric_stiffness(arm, pull), turn))


@kernel(fastmath=STEADY)
def find_returned(
    i, held: HeldJoints, joints: JointData, values: JointValues, elements: Elements, components: Components,
    frames: Frames, solver_frames: SolverFrames, h: np.float64
):  # fmt: skip
    """Write what a joint returns to the angular momenta of both of its frames."""
    j = held.joint[i]
    held.first[i], held.second[i] = ZERO, ZERO
    c = elements.component[j]
    if c < 0 or values.broken[j] or is_unsettled_loop(c, components):
        return
    codes, turns = joints.codes, solver_frames.last_turn
    a, b = codes[j, FIRST], codes[j, SECOND]
    (load, _), pull = halves(load_of(j, elements, components)), vector(values.pull, j)
    part = h * part_returned(j, codes, load, pull, elements, frames, h)
    if part == 0.0:
        return
    ra, rb = halves(elements.arms[j])
    start = rotate(frames.q0[a], vector_at(joints.numbers, j, ANCHOR_A))
    held.first[i] = scale(moment_returned(ra, start, neg(load), pull, turns[a]), part)
    start = add(sub(frames.x0[a], frames.x0[b]), start)
    held.second[i] = scale(moment_returned(rb, start, load, neg(pull), turns[b]), part)


@kernel(fastmath=STEADY)
def return_moments(i, frame_joints: FrameJoints, held: HeldJoints, frames: Frames, solver_frames: SolverFrames):
    """Write what the next substep returns to the angular momentum of a frame."""
    if not is_free(frames, i):
        return
    total = ZERO
    for k in range(frame_joints.begin[i], frame_joints.begin[i + 1]):
        n = frame_joints.held[k]
        total = add(total, held.second[n] if frame_joints.side[k] else held.first[n])
    solver_frames.returned[i] = total


@kernel(fastmath=STEADY)
def take_returned(i, frames: Frames, solver_frames: SolverFrames):
    """Add to the angular momentum of a frame what the last substep has left for it."""
    total = solver_frames.returned[i]
    solver_frames.returned[i] = 0.0, 0.0, 0.0
    if is_free(frames, i) and (total[0] != 0.0 or total[1] != 0.0 or total[2] != 0.0):
        q, moments = frames.q[i], frames.moments
        frames.w[i] = spin_of(q, moments, i, add(momentum_of(q, moments, i, frames.w[i]), total))
