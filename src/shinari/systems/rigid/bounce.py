"""Restitution: the velocities after an impact, as in the velocity pass of Mueller et al. 2020, section 3.6.

An impact ends a substep at the place to which the bounce would have led, e (|v| h - gap), and with the velocity e |v|
along the normal. The positions alone would give another one, so that the velocities are corrected: by impulses at the
points that have bounced, found for all bodies that hang together by the system of the positions, with its joints; then
by their friction.
"""

import numpy as np

from shinari.collision.law import APART, friction_share, separation_speed, tangential
from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import add, cross, direction_and_length, dot, scale, sub
from shinari.systems.rigid.contact.table import Points
from shinari.systems.rigid.elements import Elements, JacobianRows, PointWork
from shinari.systems.rigid.frames import Frames, Motions
from shinari.systems.rigid.graph import Components, Nodes
from shinari.systems.rigid.motion import symmetric_times, velocity_at, write_inverse_inertia
from shinari.systems.rigid.points import clear_point, halves, pair_inverse_mass, write_point
from shinari.systems.rigid.progress import Flags

# Components with points that came fast enough to bounce, and with points that have bounced.
CAME, BOUNCED = 1, 2


@kernel
def clear_bounce(c, components: Components):
    """No point of a component is known yet to have bounced."""
    components.bounces[c] = 0


@kernel
def find_bouncing(p, work: PointWork, elements: Elements, components: Components, first_point: np.int64):
    """Mark the component of a point that came fast enough to bounce."""
    home = elements.component[first_point + p]
    if work.fast[p] < 0.0 and home >= 0:
        components.bounces[home] = CAME


@kernel
def find_bounced(p, work: PointWork, elements: Elements, components: Components, flags: Flags, first_point: np.int64):
    """Mark the component of a point that has bounced."""
    home = elements.component[first_point + p]
    if work.fast[p] < 0.0 and home >= 0 and work.status[p] != APART:
        components.bounces[home] = BOUNCED
        flags.bouncing[0] = 1


@kernel
def choose_bounced(c, components: Components):
    """Components that bounce are solved again, for their velocities."""
    components.unfinished[c] = components.ordered[c] if components.bounces[c] == BOUNCED else 0


@kernel
def clear_joint(j, elements: Elements):
    """A joint keeps its stiffness alone."""
    elements.force[j] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0


@kernel
def clear_jacobian_row(g, jacobian_rows: JacobianRows):
    """A Jacobian row keeps its stiffness alone."""
    jacobian_rows.force[g] = 0.0


@steady
def slip_velocity(e, elements, frames):
    """Relative velocity of both frames at a point, and its arms."""
    a, b = elements.frames[e]
    ra, rb = halves(elements.arms[e])
    return sub(velocity_at(frames.v, frames.w, a, ra), velocity_at(frames.v, frames.w, b, rb)), ra, rb


@kernel(fastmath=STEADY)
def write_bounce(p, points: Points, work: PointWork, elements: Elements, frames: Frames, first_point: np.int64,
                 h: np.float64):  # fmt: skip
    """Write the element of a point: one that bounces gets its speed, another in contact comes no nearer."""
    e, n = first_point + p, points.normal[p]
    clear_point(e, elements)
    if work.status[p] == APART:
        return
    apart, _, _ = slip_velocity(e, elements, frames)
    speed, goal = dot(n, apart), separation_speed(points.law[p, 2], work.fast[p], 0.0)
    if work.fast[p] < 0.0 or speed < 0.0:
        pull = work.stiff[p] * (goal - speed) * h
        write_point(e, n, work.stiff[p], 0.0, (0.0, 0.0, 0.0), scale(n, pull), elements)


@steady
def impulse_of(e, n, elements):
    """Stiffness of a point along its normal, and its force there after the last motion."""
    f, s, m = elements.force[e], elements.stiffness[e], elements.motion[e]
    k = s[0] + s[1] + s[2]
    return k, dot(n, (f[0], f[1], f[2])) - k * dot(n, (m[0], m[1], m[2]))


@kernel(fastmath=STEADY)
def drop_pull(p, points: Points, elements: Elements, flags: Flags, first_point: np.int64):
    """Take a point out that would have to pull."""
    k, push = impulse_of(first_point + p, points.normal[p], elements)
    if k > 0.0 and push < 0.0:
        flags.settled[0] = 0
        clear_point(first_point + p, elements)


@kernel(fastmath=STEADY)
def speed_up(j, nodes: Nodes, frames: Frames, motions: Motions, h: np.float64):
    """Add the change of velocity of a bounce."""
    i = nodes.frame[j]
    change = motions.bounced[i]
    frames.v[i] = add(frames.v[i], (change[0] / h, change[1] / h, change[2] / h))
    frames.w[i] = add(frames.w[i], (change[3] / h, change[4] / h, change[5] / h))


@kernel(fastmath=STEADY)
def find_inertia(i, frames: Frames, motions: Motions):
    """Inverse inertia at the final pose.

    With that of the predicted poses, friction would increase the energy of a body that the impact has turned far.
    """
    write_inverse_inertia(motions.inverse_inertia, frames.inverse_mass, frames.moments, frames.q, i)


@steady
def apply_frame_impulse(i, r, push, sign, frames, motions):
    """Change the velocities of a frame by an impulse at an arm."""
    if frames.inverse_mass[i] > 0.0:
        frames.v[i] = add(frames.v[i], scale(push, sign * frames.inverse_mass[i]))
        turn = symmetric_times(motions.inverse_inertia, i, cross(r, push))
        frames.w[i] = add(frames.w[i], scale(turn, sign))


@kernel(fastmath=STEADY)
def apply_friction(
    c, components: Components, points: Points, work: PointWork, elements: Elements, frames: Frames,
    motions: Motions, first_point: np.int64, h: np.float64
):  # fmt: skip
    """Friction of the impulses of a bounce: what stops the slip, within its cone, point by point."""
    for s in range(components.element[c], components.element[c + 1]):
        e = elements.order[s]
        p = e - first_point
        if p >= 0 and work.fast[p] != 0.0:
            n = points.normal[p]
            k, along = impulse_of(e, n, elements)
            most = work.mu[p] * h * max(along, 0.0)
            apart, ra, rb = slip_velocity(e, elements, frames)
            direction, speed = direction_and_length(tangential(apart, n))
            if k != 0.0 and speed != 0.0:
                a, b = elements.frames[e]
                weight = pair_inverse_mass(a, b, ra, rb, direction, frames.inverse_mass, motions.inverse_inertia)
                wanted = speed / weight
                push = scale(direction, -wanted * friction_share(wanted, most, most))
                apply_frame_impulse(a, ra, push, 1.0, frames, motions)
                apply_frame_impulse(b, rb, push, -1.0, frames, motions)
