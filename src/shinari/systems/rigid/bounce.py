"""Restitution: the velocities after an impact, as in the velocity pass of Mueller et al. 2020, section 3.6.

The position solve ends an impact at the gap e (|v| h - gap). The normal velocity has to be e |v|, corrected for the
time of the impact within the substep (`shinari.collision.law.rebound_within`). Impulses at the bouncing points bring
it about. They are solved for a whole component with the matrix of the position solve; friction impulses follow.
"""

import numpy as np

from shinari.collision.law import APART, friction_share, tangential
from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.quaternion import rotate, rotate_back
from shinari.maths.vec3 import add, cross, direction_and_length, dot, scale, sub
from shinari.systems.rigid.components import Components, Nodes
from shinari.systems.rigid.contact.pairs import Points
from shinari.systems.rigid.elements import Elements, JacobianRows, PointWork
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.integration import symmetric_times, velocity_at
from shinari.systems.rigid.points import clear_point, halves, pair_inverse_mass, share_of_gap, write_point
from shinari.systems.rigid.progress import Counts, Flags
from shinari.systems.rigid.report import Log

# Components with points whose approach is fast enough to bounce, and with points that have bounced.
CAME, BOUNCED = 1, 2


@kernel
def clear_bounce(c, components: Components):
    """Clear the bounce state of a component."""
    components.bounces[c] = 0


@kernel
def find_bouncing(p, work: PointWork, elements: Elements, components: Components, first_point: np.int64):
    """Mark the component of a point whose approach is fast enough to bounce."""
    component = elements.component[first_point + p]
    if work.approach[p] < 0.0 and component >= 0:
        components.bounces[component] = CAME


@kernel
def find_bounced(p, work: PointWork, elements: Elements, components: Components, flags: Flags, first_point: np.int64):
    """Mark the component of a point that has bounced."""
    component = elements.component[first_point + p]
    if work.approach[p] < 0.0 and component >= 0 and work.status[p] != APART:
        components.bounces[component] = BOUNCED
        flags.bouncing[0] = 1


@kernel
def choose_bounced(c, components: Components):
    """Components that bounce are solved again, for their velocities."""
    components.solution[c] = components.ordered[c] if components.bounces[c] == BOUNCED else 0


@kernel
def clear_joint(j, elements: Elements):
    """Clear the force of a joint."""
    elements.force[j] = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0


@kernel
def clear_jacobian_row(g, jacobian_rows: JacobianRows):
    """Clear the force of a Jacobian row."""
    jacobian_rows.force[g] = 0.0


@steady
def slip_velocity(e, elements, frames):
    """Relative velocity of both frames at a point, and its arms."""
    a, b = elements.frames[e]
    ra, rb = halves(elements.arms[e])
    return sub(velocity_at(frames.v, frames.w, a, ra), velocity_at(frames.v, frames.w, b, rb)), ra, rb


@steady
def meet_at_end(e, elements, frames):
    """Turn both arms of a point with their frames, and let them end at one point, see `share_of_gap`."""
    a, b = elements.frames[e]
    ra, rb = halves(elements.arms[e])
    at_a = rotate(frames.q[a], rotate_back(frames.q0[a], ra))
    at_b = rotate(frames.q[b], rotate_back(frames.q0[b], rb))
    between, share = sub(add(frames.x[a], at_a), add(frames.x[b], at_b)), share_of_gap(a, b, frames.inverse_mass)
    ra, rb = sub(at_a, scale(between, share)), add(at_b, scale(between, 1.0 - share))
    elements.arms[e] = ra[0], ra[1], ra[2], rb[0], rb[1], rb[2]


@kernel(fastmath=STEADY)
def write_bounce(
    p, points: Points, work: PointWork, elements: Elements, components: Components, frames: Frames,
    first_point: np.int64, h: np.float64
):  # fmt: skip
    """Write the element of a point: a bouncing one separates at its speed, another one in contact does not approach.

    Its arms are those of the final pose, at one point of the world, so that impulses turn the whole by nothing.
    """
    e, n = first_point + p, points.normal[p]
    clear_point(e, elements)
    if work.status[p] == APART:
        return
    component = elements.component[e]
    if component >= 0 and components.bounces[component] == BOUNCED:
        meet_at_end(e, elements, frames)
    relative_velocity, _, _ = slip_velocity(e, elements, frames)
    speed, goal = dot(n, relative_velocity), work.rebound[p]
    if work.approach[p] < 0.0 or speed < 0.0:
        force = work.stiffness[p] * (goal - speed) * h
        write_point(e, n, work.stiffness[p], 0.0, (0.0, 0.0, 0.0), scale(n, force), elements)


@steady
def normal_force_of(e, n, elements):
    """Stiffness of a point along its normal, and its normal force after the last solution."""
    f, s, m = elements.force[e], elements.stiffness[e], elements.displacement[e]
    k = s[0] + s[1] + s[2]
    return k, dot(n, (f[0], f[1], f[2])) - k * dot(n, (m[0], m[1], m[2]))


@kernel(fastmath=STEADY)
def release_pulling_point(p, points: Points, elements: Elements, flags: Flags, first_point: np.int64):
    """Release a point whose normal force would be negative."""
    k, normal_force = normal_force_of(first_point + p, points.normal[p], elements)
    if k > 0.0 and normal_force < 0.0:
        flags.settled[0] = 0
        clear_point(first_point + p, elements)


@kernel(fastmath=STEADY)
def apply_bounce(j, nodes: Nodes, frames: Frames, solver_frames: SolverFrames, h: np.float64):
    """Add the change of velocity of a bounce."""
    i = nodes.frame[j]
    change = solver_frames.bounced[i]
    frames.v[i] = add(frames.v[i], (change[0] / h, change[1] / h, change[2] / h))
    frames.w[i] = add(frames.w[i], (change[3] / h, change[4] / h, change[5] / h))


@steady
def apply_frame_impulse(i, r, impulse, sign, frames):
    """Change the velocities of a frame by an impulse at an arm."""
    if frames.inverse_mass[i] > 0.0:
        frames.v[i] = add(frames.v[i], scale(impulse, sign * frames.inverse_mass[i]))
        rotation = symmetric_times(frames.inverse_inertia, i, cross(r, impulse))
        frames.w[i] = add(frames.w[i], scale(rotation, sign))


@kernel(fastmath=STEADY)
def apply_friction(
    c, components: Components, points: Points, work: PointWork, elements: Elements, frames: Frames, log: Log,
    counts: Counts, first_point: np.int64, h: np.float64
):  # fmt: skip
    """Apply the friction impulses of a bounce, point by point: they stop the slip, bounded by the friction cone.

    The impulses of the bounce are logged with those of the position solve.
    """
    if components.bounces[c] != BOUNCED:
        return
    for s in range(components.element[c], components.element[c + 1]):
        e = elements.order[s]
        p = e - first_point
        if p < 0:
            continue
        n, entry = points.normal[p], counts.log_start[0] + p
        k, along = normal_force_of(e, n, elements)
        log.impulse[entry] = add(log.impulse[entry], scale(n, h * along))
        if work.approach[p] != 0.0:
            most = work.friction_coefficient[p] * h * max(along, 0.0)
            relative_velocity, ra, rb = slip_velocity(e, elements, frames)
            direction, speed = direction_and_length(tangential(relative_velocity, n))
            if k != 0.0 and speed != 0.0:
                a, b = elements.frames[e]
                weight = pair_inverse_mass(a, b, ra, rb, direction, frames.inverse_mass, frames.inverse_inertia)
                size = speed / weight
                impulse = scale(direction, -size * friction_share(size, most, most))
                apply_frame_impulse(a, ra, impulse, 1.0, frames)
                apply_frame_impulse(b, rb, impulse, -1.0, frames)
                log.impulse[entry] = add(log.impulse[entry], impulse)
