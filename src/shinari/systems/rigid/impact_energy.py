"""Energy of impacts: an impact with a restitution of at most 1 never increases the kinetic energy.

Newton's law of restitution does not imply this by itself. It demands a speed at each point, and where several points
bounce at once, such as those of a body between opposite walls, the speeds contradict each other; so do the places to
which the bounces lead. The energy is therefore limited, for all bodies that contacts and joints connect:

    T(t) = T(v + t dv) = T0 + 2 b t + c t^2,    T(t) <= max(T_free, T0),    0 <= t <= 1

with the velocities v that follow from the positions, the correction dv of the restitution, and the kinetic energy
T_free of the velocities at which the substep was predicted. A common factor t of all impulses keeps the momentum.
Where immovable frames hold a component and T0 itself is above T_free, v is scaled down before.

Energy is measured relative to the immovable frames that a component touches. It is not limited where these move
differently or turn, where a spring or a motor acts, or where particles press on a body: there it may increase.
"""

import math

import numpy as np

from shinari.collision.law import APART
from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import dot, scale, sub
from shinari.systems.rigid.bounce import CAME
from shinari.systems.rigid.contact.table import Points
from shinari.systems.rigid.elements import Elements, PointWork
from shinari.systems.rigid.frames import Frames, Motions
from shinari.systems.rigid.graph import Components, Nodes
from shinari.systems.rigid.joints.values import JointData
from shinari.systems.rigid.motion import is_free, momentum_of, velocities_after
from shinari.systems.rigid.progress import Flags

# States of a component: it touches no immovable frame, or frames that all move alike, or it is not limited.
FREE, HELD, UNLIMITED = 0, 1, 2
# Part of the leap of a bounce by which a point may miss it.
MISSED = 0.05


# Part of the kinetic energy that the positions of an impact may gain before it is solved again without leaps.
MOST_GAIN = 1e-3


@steady
def has_external_impulse(i, frames):
    """Whether something else than the bodies' own solver has acted on a frame."""
    a = frames.impulses[i]
    return a[0] != 0.0 or a[1] != 0.0 or a[2] != 0.0 or a[3] != 0.0 or a[4] != 0.0 or a[5] != 0.0


@kernel(fastmath=STEADY)
def classify_component(
    c, components: Components, elements: Elements, joints: JointData, points: Points, work: PointWork,
    frames: Frames, motions: Motions, first_point: np.int64
):  # fmt: skip
    """Find the velocity of the immovable frames that a component touches, and its state."""
    state, reference = FREE, (0.0, 0.0, 0.0)
    for s in range(components.element[c], components.element[c + 1]):
        e = elements.order[s]
        p = e - first_point
        # Jacobian rows are joints as well
        if (e >= len(joints) and p < 0) or (p >= 0 and work.status[p] == APART):
            continue
        supplies = joints.active[e] if p < 0 else points.law[p, 3] > 0.0
        for side in range(2):
            i, other = elements.frames[e, side], elements.frames[e, 1 - side]
            if motions.node[i] < 0:
                continue
            if supplies or has_external_impulse(i, frames):
                state = UNLIMITED
            if motions.node[other] >= 0 or state == UNLIMITED:
                continue
            speed, spin = motions.free_v[other], motions.free_w[other]
            if dot(spin, spin) > 0.0 or (state == HELD and speed != reference):
                state = UNLIMITED
            else:
                state, reference = HELD, speed
    components.state[c], components.reference[c] = state, reference


@steady
def kinetic(i, v, w, q, frames, reference):
    """Kinetic energy of a body relative to a velocity [J]."""
    speed, spin = sub(v, reference), w
    return 0.5 * (dot(speed, speed) / frames.inverse_mass[i] + dot(spin, momentum_of(q, frames.moments, i, spin)))


@kernel(fastmath=STEADY)
def limit_energy(c, components: Components, nodes: Nodes, frames: Frames, motions: Motions):
    """Kinetic energy of the prediction of a component, relative to its reference: the limit after impacts."""
    energy, reference = 0.0, components.reference[c]
    for j in range(components.node[c], components.node[c + 1]):
        i = nodes.frame[j]
        energy += kinetic(i, motions.free_v[i], motions.free_w[i], frames.q0[i], frames, reference)
    components.limit[c] = energy


@kernel(fastmath=STEADY)
def foresee_velocities(i, frames: Frames, motions: Motions, h: np.float64):
    """Velocities that the solution leads to, without damping."""
    motions.later_v[i], motions.later_w[i] = frames.v[i], frames.w[i]
    if is_free(frames, i):
        motions.later_v[i], motions.later_w[i] = velocities_after(frames, motions, i, h)


@kernel(fastmath=STEADY)
def check_gain(c, components: Components, nodes: Nodes, frames: Frames, motions: Motions, flags: Flags):
    """Mark a component whose solution leads to more energy than it may have."""
    energy, reference = 0.0, components.reference[c]
    for j in range(components.node[c], components.node[c + 1]):
        i = nodes.frame[j]
        energy += kinetic(i, motions.later_v[i], motions.later_w[i], frames.q[i], frames, reference)
    wrong = energy > components.limit[c] * (1.0 + MOST_GAIN) and components.state[c] != UNLIMITED
    components.wrong[c] = 1 if wrong else 0
    if wrong:
        flags.wrong[0] = 1


@kernel(fastmath=STEADY)
def mark_missed(p, work: PointWork, elements: Elements, components: Components, flags: Flags, first_point: np.int64):
    """Mark the component of a point that bounces and does not get where its bounce leads."""
    home = elements.component[first_point + p]
    leap = work.bounce_offset[p]
    if home >= 0 and work.status[p] != APART and leap > 0.0 and work.gap[p] < -MISSED * leap:
        components.wrong[home], flags.wrong[0] = 1, 1


@kernel
def keep_poses(i, frames: Frames, motions: Motions):
    """Keep the pose before a solution."""
    motions.kept_x[i], motions.kept_q[i], motions.kept_moved[i] = frames.x[i], frames.q[i], motions.moved[i]


@kernel
def restore_poses(i, frames: Frames, motions: Motions):
    """Go back to the pose before the solution."""
    frames.x[i], frames.q[i], motions.moved[i] = motions.kept_x[i], motions.kept_q[i], motions.kept_moved[i]


@kernel
def keep_limit(p, work: PointWork):
    """Keep the limit of friction before a solution."""
    work.kept_limit[p] = work.limit[p]


@kernel(fastmath=STEADY)
def drop_bounce_offset(p, work: PointWork, elements: Elements, components: Components, first_point: np.int64):
    """Go back to the limit of friction; points of marked components end on the surface, not where bounces lead."""
    work.limit[p] = work.kept_limit[p]
    home = elements.component[first_point + p]
    if home >= 0 and components.wrong[home] != 0:
        work.wanted[p] -= work.bounce_offset[p]
        work.bounce_offset[p] = 0.0


@kernel(fastmath=STEADY)
def limit_velocities(c, components: Components, nodes: Nodes, frames: Frames):
    """Scale the velocities of a component that presses on immovable frames down to its limit.

    A body that a position solve turns far gains energy at the same angular momentum, and so does one that it pushes
    out of an overlap.
    """
    if components.bounces[c] < CAME or components.state[c] != HELD:
        return
    energy, reference = 0.0, components.reference[c]
    for j in range(components.node[c], components.node[c + 1]):
        i = nodes.frame[j]
        energy += kinetic(i, frames.v[i], frames.w[i], frames.q[i], frames, reference)
    if energy > components.limit[c]:
        share = math.sqrt(components.limit[c] / energy)
        for j in range(components.node[c], components.node[c + 1]):
            i = nodes.frame[j]
            v = scale(sub(frames.v[i], reference), share)
            frames.v[i] = reference[0] + v[0], reference[1] + v[1], reference[2] + v[2]
            frames.w[i] = scale(frames.w[i], share)


@kernel(fastmath=STEADY)
def limit_bounce(c, components: Components, nodes: Nodes, frames: Frames, motions: Motions, h: np.float64):
    """Find the part of the change of velocity that a component may take, and scale it."""
    components.part[c] = 1.0
    if components.state[c] == UNLIMITED:
        return
    before, slope, rise, reference = 0.0, 0.0, 0.0, components.reference[c]
    for j in range(components.node[c], components.node[c + 1]):
        i = nodes.frame[j]
        speed, m = sub(frames.v[i], reference), motions.bounced[i]
        change, turn = (m[0] / h, m[1] / h, m[2] / h), (m[3] / h, m[4] / h, m[5] / h)
        momentum = momentum_of(frames.q[i], frames.moments, i, turn)
        before += kinetic(i, frames.v[i], frames.w[i], frames.q[i], frames, reference)
        slope += 0.5 * (dot(speed, change) / frames.inverse_mass[i] + dot(frames.w[i], momentum))
        rise += 0.5 * (dot(change, change) / frames.inverse_mass[i] + dot(turn, momentum))
    room = max(components.limit[c] - before, 0.0)
    # the positive root of rise t^2 + 2 slope t = room
    if rise > 0.0 and rise + 2.0 * slope > room:
        root = math.sqrt(slope * slope + rise * room)
        part = room / (root + slope) if slope > 0.0 else (root - slope) / rise
        components.part[c] = part
        for j in range(components.node[c], components.node[c + 1]):
            for k in range(6):
                motions.bounced[nodes.frame[j], k] *= part


@kernel(fastmath=STEADY)
def scale_impulse(p, elements: Elements, components: Components, first_point: np.int64):
    """Scale the impulse of a point by the part of its component, for its friction."""
    e = first_point + p
    home = elements.component[e]
    if home >= 0 and components.part[home] < 1.0:
        for k in range(6):
            elements.force[e, k] *= components.part[home]
            elements.motion[e, k] *= components.part[home]
