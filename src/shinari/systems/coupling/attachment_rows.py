"""Rows between particles and places on bodies, solved one after the other by one thread.

    held at the place      C = x - p                (three rows, solved together)
    kept at a distance     C = |x - p| - L          p = X + R a, the place a on the body at X, turned by R

XPBD (Macklin et al. 2016, eq. 18) with the inverse mass of the particle and that of the body at the place. A push P on
the particle acts as -P on the body, at an arm that makes the two moments cancel exactly, see
`shinari.systems.coupling.response`: for what is held the place of the particle at the start of the substep. What is
kept at a distance is pushed along the line that both ends had at the start, as SHAKE does (Ryckaert, Ciccotti and
Berendsen 1977), so that both moments are those of one line; Newton steps bring the distance there.

Rows are solved in order and then back again. Of one sweep alone the eigenvalues may be complex, since many rows share a
body, and z^2 = s (2 z - 1), which a substep does to an error with the eigenvalue s of a sweep, then has solutions
beyond the unit circle: a light body with ten heavy particles welded to it gained energy without end. There and back the
sweep is symmetric in the norm of the masses, s lies between 0 and 1, and |z|^2 = s.
"""

import numpy as np

from shinari.compute import Field, Record, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.polar import solve_symmetric
from shinari.maths.quaternion import rotate
from shinari.maths.vec3 import ONE, ZERO, add, cross, direction_and_length, dot, norm, scale, sub
from shinari.model.particles import Origins, Particles
from shinari.systems.colliders.collide import place, previous_position
from shinari.systems.coupling.records import BodySweeps
from shinari.systems.coupling.response import apply_reaction, effective_inverse_mass
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.integration import symmetric_times

# Newton steps of a row that keeps a distance: its line turns little in a substep.
NEWTON = 3


class AttachmentRows(Record):
    """Attachments of particles to bodies, M rows."""

    particle = Field(np.int64)
    body = Field(np.int64)
    place = Field(np.float64, 3, unit="m", doc="place in the axes of the body's frame")
    length = Field(np.float64, unit="m", doc="distance to keep; 0: held there")
    compliance = Field(np.float64, unit="m/N")
    limit = Field(np.float64, unit="N", doc="force above which it breaks")
    broken = Field(np.bool_)
    multiplier = Field(np.float64, 3, unit="kg m", doc="push on the particle in this substep")


class Breaks(Record):
    """One row."""

    broke = Field(np.int64, doc="whether an attachment has broken since this was set to 0")


@steady
def move_particle(particles, i, push):
    """Apply a push to a particle."""
    x = particles.x[i]
    if x[3] > ZERO:
        particles.x[i, 0] = x[0] + x[3] * push[0]
        particles.x[i, 1] = x[1] + x[3] * push[1]
        particles.x[i, 2] = x[2] + x[3] * push[2]


@steady
def attachment_multiplier(error, w, frames, b, arm, soft, multiplier):
    """Push that brings the three rows C + alpha lambda / h^2 to zero: (w + B + alpha / h^2) P = -(C + ...)."""
    inverse_inertia = frames.inverse_inertia
    x = cross(symmetric_times(inverse_inertia, b, cross(arm, (1.0, 0.0, 0.0))), arm)
    y = cross(symmetric_times(inverse_inertia, b, cross(arm, (0.0, 1.0, 0.0))), arm)
    z = cross(symmetric_times(inverse_inertia, b, cross(arm, (0.0, 0.0, 1.0))), arm)
    own = w + frames.inverse_mass[b] + soft
    wanted = sub(scale(multiplier, -soft), error)
    push, least = solve_symmetric((x[0] + own, y[1] + own, z[2] + own), (y[2], x[2], x[1]), wanted)
    good = least > ZERO
    return push[0] if good else 0.0, push[1] if good else 0.0, push[2] if good else 0.0


@steady
def place_on_body(rows, m, x, q):
    """Where the place of a row is in the world."""
    return add(x, rotate(q, rows.place[m]))


@kernel(fastmath=STEADY)
def solve_attachments(
    _,
    rows: AttachmentRows,
    particles: Particles,
    origins: Origins,
    frames: Frames,
    body_sweeps: BodySweeps,
    first: np.int64,
    h: float,
):
    """Solve all attachments once; `first` is 1 in the first iteration of a substep."""
    rate, still = ONE / h, (0.0, 0.0, 0.0)
    count = len(rows)
    for turn in range(2 * count):
        # there and back: see above
        m = turn if turn < count else 2 * count - 1 - turn
        i, b = rows.particle[m], rows.body[m]
        w = np.float64(particles.x[i, 3])
        if first != 0 and turn < count:
            rows.multiplier[m] = 0.0, 0.0, 0.0
        if rows.broken[m] or not w + frames.inverse_mass[b] > ZERO:
            continue
        origin = origins.position[particles.origin_index[i]]
        soft, length = rows.compliance[m] * rate * rate, rows.length[m]
        start = add(origin, previous_position(particles.x, particles.predicted, particles.v, h, i))
        held = length <= ZERO
        arm = sub(start, frames.x0[b]) if held else rotate(frames.q0[b], rows.place[m])
        line, give = (0.0, 1.0, 0.0), 0.0
        if not held:
            line = direction_and_length(sub(start, add(frames.x0[b], arm)))[0]
            give = w + effective_inverse_mass(frames, b, arm, line)
        for _step in range(1 if held else NEWTON):
            there = place_on_body(rows, m, frames.x[b], frames.q[b])
            error = sub(add(origin, place(particles.x, i)), there)
            if held:
                push = attachment_multiplier(error, w, frames, b, arm, soft, rows.multiplier[m])
            else:
                now, distance = direction_and_length(error)
                slope = dot(now, line)
                if not slope > ZERO:
                    break
                pull = dot(line, rows.multiplier[m])
                push = scale(line, -(distance - length + soft * pull) / (slope * give + soft))
            move_particle(particles, i, push)
            apply_reaction(frames, body_sweeps, b, arm, push, still, rate)
            rows.multiplier[m] = add(rows.multiplier[m], push)


@kernel
def break_attachments(_, rows: AttachmentRows, breaks: Breaks, h: float):
    """Break the rows whose force is above their limit."""
    for m in range(len(rows)):
        if not rows.broken[m] and norm(rows.multiplier[m]) > rows.limit[m] * h * h:
            rows.broken[m] = True
            breaks.broke[0] = 1
