"""Energy of impacts: an impact with a restitution of at most 1 never increases the kinetic energy.

Newton's law of restitution does not imply this by itself. It demands a speed at each point, and where several points
bounce at once, such as those of a body between opposite walls, the speeds are inconsistent; so are the bounce offsets.
The energy is therefore limited, for all bodies that contacts and joints connect:

    T(t) = T(v + t dv) = T0 + 2 b t + c t^2,    T(t) <= max(T_free + sum m g . d, T0),    0 <= t <= 1

with the velocities v that follow from the positions, the correction dv of the restitution, the kinetic energy T_free of
the velocities at which the substep was predicted, and the work of gravity along the displacements d since the
prediction. A common factor t of all impulses keeps the momentum.

Where T0 itself is above the limit, v is scaled down before: all of it where immovable frames hold a component; else its
difference from the motion as one rigid body. That has the least energy of all motions with this momentum and angular
momentum, and both stay.

A velocity of the substeps belongs to the middle of a substep: v + g h / 2 is that at its end, and T is taken of it.
With it kinetic and gravitational energy together are the same after each substep of a free fall.

Energy is measured relative to the immovable frames in contact with a component. It is not limited where these move
differently or rotate, where a spring or a motor acts, or where particles act on a body: there it may increase.
"""

import math

import numpy as np

from shinari.collision.law import APART, COMPLIANCE
from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.polar import solve_symmetric
from shinari.maths.symmetric import isotropic, outer, plus
from shinari.maths.vec3 import add, cross, dot, scale, sub
from shinari.systems.rigid.bounce import CAME
from shinari.systems.rigid.components import SOLVED, Components, Nodes
from shinari.systems.rigid.contact.pairs import Points
from shinari.systems.rigid.direct import relative_displacement
from shinari.systems.rigid.elements import Elements, PointWork
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.integration import in_world_axes, is_free, momentum_of, velocities_after
from shinari.systems.rigid.joints.values import JointData
from shinari.systems.rigid.progress import Flags

# States of a component: without contact with immovable frames; in contact with frames of one velocity; not limited.
FREE, HELD, UNLIMITED = 0, 1, 2
# Part of the bounce offset by which a point may miss it.
MISSED = 0.05

# Relative gain of kinetic energy by the positions of an impact above which it is solved again without bounce offsets.
MOST_GAIN = 1e-3


@steady
def has_external_impulse(i, frames):
    """Whether an external impulse has acted on a frame."""
    a = frames.impulses[i]
    return a[0] != 0.0 or a[1] != 0.0 or a[2] != 0.0 or a[3] != 0.0 or a[4] != 0.0 or a[5] != 0.0


@kernel(fastmath=STEADY)
def classify_component(
    c, components: Components, elements: Elements, joints: JointData, points: Points, work: PointWork,
    frames: Frames, solver_frames: SolverFrames, first_tendon: np.int64, first_point: np.int64
):  # fmt: skip
    """Find the velocity of the immovable frames in contact with a component, and its state."""
    state, reference = FREE, (0.0, 0.0, 0.0)
    for s in range(components.element[c], components.element[c + 1]):
        e = elements.order[s]
        p = e - first_point
        # gears are joints as well
        if (len(joints) <= e < first_tendon) or (p >= 0 and work.status[p] == APART):
            continue
        tendon = e >= first_tendon and p < 0
        supplies = tendon or (joints.active[e] if p < 0 else points.law[p, COMPLIANCE] > 0.0)
        for side in range(2):
            i, other = elements.frames[e, side], elements.frames[e, 1 - side]
            if solver_frames.node[i] < 0:
                continue
            if supplies or has_external_impulse(i, frames):
                state = UNLIMITED
            if solver_frames.node[other] >= 0 or state == UNLIMITED:
                continue
            speed, spin = solver_frames.free_v[other], solver_frames.free_w[other]
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


@steady
def past_half(reference, kick):
    """The reference for velocities in the middle of a substep; kick: change of velocity by gravity in half of it."""
    return sub(reference, kick)


@steady
def kick_of(i, frames, kick):
    """Change of the velocity of a body by gravity in half of a substep."""
    return scale(kick, frames.gravity_scale[i])


@steady
def part_within(rise, slope, room):
    """The largest t of 0 to 1 at which rise t^2 + 2 slope t <= room; that of the least value where there is none."""
    if rise + 2.0 * slope <= room or rise == 0.0:
        return 1.0
    root = math.sqrt(max(slope * slope + rise * room, 0.0))
    part = room / (root + slope) if slope > 0.0 else (root - slope) / rise
    return min(max(part, 0.0), 1.0)


@kernel(fastmath=STEADY)
def limit_energy(
    c, components: Components, nodes: Nodes, frames: Frames, solver_frames: SolverFrames,
    kx: np.float64, ky: np.float64, kz: np.float64, h: np.float64
):  # fmt: skip
    """Limit of the kinetic energy of a component after impacts: of the prediction, and the work of gravity since."""
    energy = 0.0
    for j in range(components.node[c], components.node[c + 1]):
        i = nodes.frame[j]
        kick = kick_of(i, frames, (kx, ky, kz))
        reference = past_half(components.reference[c], kick)
        energy += kinetic(i, solver_frames.free_v[i], solver_frames.free_w[i], frames.q0[i], frames, reference)
        d = solver_frames.displacement[i]
        energy += 2.0 * dot(kick, (d[0], d[1], d[2])) / (h * frames.inverse_mass[i])
    components.limit[c] = energy


@kernel(fastmath=STEADY)
def predict_final_velocities(i, frames: Frames, solver_frames: SolverFrames, h: np.float64):
    """Velocities that follow from the solved poses, without damping."""
    solver_frames.final_v[i], solver_frames.final_w[i] = frames.v[i], frames.w[i]
    if is_free(frames, i):
        solver_frames.final_v[i], solver_frames.final_w[i] = velocities_after(frames, solver_frames, i, h)


@kernel(fastmath=STEADY)
def check_gain(
    c, components: Components, nodes: Nodes, frames: Frames, solver_frames: SolverFrames, flags: Flags,
    kx: np.float64, ky: np.float64, kz: np.float64
):  # fmt: skip
    """Mark a component whose solution exceeds its limit of energy."""
    energy = 0.0
    for j in range(components.node[c], components.node[c + 1]):
        i = nodes.frame[j]
        reference = past_half(components.reference[c], kick_of(i, frames, (kx, ky, kz)))
        energy += kinetic(i, solver_frames.final_v[i], solver_frames.final_w[i], frames.q[i], frames, reference)
    wrong = energy > components.limit[c] * (1.0 + MOST_GAIN) and components.state[c] != UNLIMITED
    components.wrong[c] = 1 if wrong else 0
    if wrong:
        flags.wrong[0] = 1


@kernel(fastmath=STEADY)
def mark_missed(
    p, points: Points, work: PointWork, elements: Elements, components: Components, nodes: Nodes, flags: Flags,
    first_point: np.int64
):  # fmt: skip
    """Mark the component of a bouncing point that misses its target gap."""
    e = first_point + p
    component, bounce_offset, gap = elements.component[e], work.bounce_offset[p], work.gap[p]
    if component >= 0 and work.status[p] != APART and bounce_offset > 0.0:
        if components.direct[component] != 0 and components.solution[component] == SOLVED:
            # the last step, a full one, has left the gap as it was
            d = relative_displacement(e, elements, nodes.vector)
            gap += dot(points.normal[p], (d[0], d[1], d[2]))
        if gap < -MISSED * bounce_offset:
            components.wrong[component], flags.wrong[0] = 1, 1


@kernel
def store_poses(i, frames: Frames, solver_frames: SolverFrames):
    """Store the pose before a solution."""
    solver_frames.stored_x[i], solver_frames.stored_q[i], solver_frames.stored_displacement[i] = (
        frames.x[i],
        frames.q[i],
        solver_frames.displacement[i],
    )


@kernel
def restore_poses(i, frames: Frames, solver_frames: SolverFrames):
    """Restore the pose before the solution."""
    frames.x[i], frames.q[i], solver_frames.displacement[i] = (
        solver_frames.stored_x[i],
        solver_frames.stored_q[i],
        solver_frames.stored_displacement[i],
    )


@kernel
def store_limit(p, work: PointWork):
    """Store the limit of friction before a solution."""
    work.stored_limit[p] = work.limit[p]


@kernel(fastmath=STEADY)
def drop_bounce_offset(p, work: PointWork, elements: Elements, components: Components, first_point: np.int64):
    """Restore the limit of friction; drop the bounce offsets of inconsistent components."""
    work.limit[p] = work.stored_limit[p]
    component = elements.component[first_point + p]
    if component >= 0 and components.wrong[component] != 0:
        work.target_gap[p] -= work.bounce_offset[p]
        work.bounce_offset[p] = 0.0


@kernel(fastmath=STEADY)
def limit_velocities(
    c, components: Components, nodes: Nodes, frames: Frames, kx: np.float64, ky: np.float64, kz: np.float64
):
    """Scale the velocities of a component down to its limit.

    A body that a position solve rotates far gains energy at the same angular momentum, and so does one that it moves
    out of an overlap.
    """
    if components.bounces[c] < CAME or components.state[c] == UNLIMITED:
        return
    if components.state[c] == FREE:
        limit_free(c, components, nodes, frames, (kx, ky, kz))
        return
    reference = components.reference[c]
    rise, slope, room = 0.0, 0.0, components.limit[c]
    for j in range(components.node[c], components.node[c + 1]):
        i = nodes.frame[j]
        kick = kick_of(i, frames, (kx, ky, kz))
        rise += kinetic(i, frames.v[i], frames.w[i], frames.q[i], frames, reference)
        slope += 0.5 * dot(sub(frames.v[i], reference), kick) / frames.inverse_mass[i]
        room -= 0.5 * dot(kick, kick) / frames.inverse_mass[i]
    part = part_within(rise, slope, room)
    if part < 1.0:
        for j in range(components.node[c], components.node[c + 1]):
            i = nodes.frame[j]
            frames.v[i] = add(reference, scale(sub(frames.v[i], reference), part))
            frames.w[i] = scale(frames.w[i], part)


@steady
def limit_free(c, components, nodes, frames, kick):
    """Bring the velocities of a free component so near to its motion as one rigid body that its energy is the limit."""
    mass, falling, centre, speed = 0.0, 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for j in range(components.node[c], components.node[c + 1]):
        i = nodes.frame[j]
        m = 1.0 / frames.inverse_mass[i]
        falling += m * frames.gravity_scale[i]
        mass, centre, speed = mass + m, add(centre, scale(frames.x[i], m)), add(speed, scale(frames.v[i], m))
    centre, speed = scale(centre, 1.0 / mass), scale(speed, 1.0 / mass)
    momentum, inertia, energy = (0.0, 0.0, 0.0), isotropic(0.0), 0.0
    for j in range(components.node[c], components.node[c + 1]):
        i = nodes.frame[j]
        m, r, v = 1.0 / frames.inverse_mass[i], sub(frames.x[i], centre), sub(frames.v[i], speed)
        own = add(momentum_of(frames.q[i], frames.moments, i, frames.w[i]), scale(cross(r, v), m))
        momentum = add(momentum, own)
        inertia = plus(inertia, in_world_axes(frames.q[i], frames.moments[i]))
        inertia = plus(inertia, plus(isotropic(m * dot(r, r)), outer(r, -m)))
        energy += kinetic(i, frames.v[i], frames.w[i], frames.q[i], frames, speed)
    spin, _ = solve_symmetric(inertia[:3], inertia[3:], momentum)
    total, least = add(speed, scale(kick, falling / mass)), 0.5 * dot(spin, momentum)
    room, excess = max(components.limit[c] - 0.5 * mass * dot(total, total) - least, 0.0), energy - least
    if excess <= room:
        return
    part = math.sqrt(room / excess)
    for j in range(components.node[c], components.node[c + 1]):
        i = nodes.frame[j]
        rigid = add(speed, cross(spin, sub(frames.x[i], centre)))
        frames.v[i] = add(rigid, scale(sub(frames.v[i], rigid), part))
        frames.w[i] = add(spin, scale(sub(frames.w[i], spin), part))


@kernel(fastmath=STEADY)
def limit_bounce(
    c, components: Components, nodes: Nodes, frames: Frames, solver_frames: SolverFrames, kx: np.float64,
    ky: np.float64, kz: np.float64, h: np.float64
):  # fmt: skip
    """Find the part of the change of velocity that a component may take, and scale it."""
    components.part[c] = 1.0
    if components.state[c] == UNLIMITED:
        return
    before, slope, rise = 0.0, 0.0, 0.0
    for j in range(components.node[c], components.node[c + 1]):
        i = nodes.frame[j]
        reference = past_half(components.reference[c], kick_of(i, frames, (kx, ky, kz)))
        speed, m = sub(frames.v[i], reference), solver_frames.bounced[i]
        change, rotation = (m[0] / h, m[1] / h, m[2] / h), (m[3] / h, m[4] / h, m[5] / h)
        momentum = momentum_of(frames.q[i], frames.moments, i, rotation)
        before += kinetic(i, frames.v[i], frames.w[i], frames.q[i], frames, reference)
        slope += 0.5 * (dot(speed, change) / frames.inverse_mass[i] + dot(frames.w[i], momentum))
        rise += 0.5 * (dot(change, change) / frames.inverse_mass[i] + dot(rotation, momentum))
    part = part_within(rise, slope, max(components.limit[c] - before, 0.0))
    if part < 1.0:
        components.part[c] = part
        for j in range(components.node[c], components.node[c + 1]):
            for k in range(6):
                solver_frames.bounced[nodes.frame[j], k] *= part


@kernel(fastmath=STEADY)
def scale_impulse(p, elements: Elements, components: Components, first_point: np.int64):
    """Scale the impulse of a point by the part of its component, for its friction."""
    e = first_point + p
    component = elements.component[e]
    if component >= 0 and components.part[component] < 1.0:
        for k in range(6):
            elements.force[e, k] *= components.part[component]
            elements.displacement[e, k] *= components.part[component]
