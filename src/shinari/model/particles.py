"""Particles: their record, the prediction of a substep, and velocities from what the constraints did.

Velocities change by (x - predicted) / h instead of being set to (x - x_n) / h. Both are the same in exact arithmetic,
but a position far larger than h v has no room for its last digits: in single precision the difference x - x_n would
lose the increment g h^2 at many substeps, and here gravity reaches the velocity without passing through a position.

Global damping acts on the velocity that a substep ends with, not on the prediction: a body that hangs at rest then
carries its whole weight, whatever the damping, and the forces of its rows sum up to it.
"""

import numpy as np

from shinari.compute import Field, Record, convert, kernel, real

ZERO = np.float32(0.0)


class Particles(Record):
    """Particles in solver order, N rows."""

    x = Field(real, 4, unit="m, 1/kg", doc="position relative to their origin, and inverse mass", saved=True)
    v = Field(real, 3, unit="m/s", doc="velocity", saved=True)
    predicted = Field(real, 3, unit="m", doc="position before the constraints of the substep")
    origin_index = Field(np.uint16, doc="row of `Origins` that positions are relative to")


class UserState(Record):
    """Particles as users read and write them, in the order in which they were added, N rows."""

    position = Field(real, 3, unit="m", doc="position in the world", saved=True)
    velocity = Field(real, 3, unit="m/s", saved=True)
    slot = Field(np.uint32, doc="particle in solver order")


class Origins(Record):
    """Origins of positions, G rows: objects that share constraint rows have the same."""

    position = Field(np.float64, 3, unit="m", doc="what positions are relative to", saved=True)


class Clock(Record):
    """One row: where the step is."""

    substep_length = Field(real, unit="s")
    substep = Field(np.int64, doc="number of the substep")
    iteration = Field(np.int64, doc="number of the iteration in it; 0 again in the second")
    calm = Field(np.int64, doc="whether sheets or ropes that lie on each other are almost at rest")
    contact_pass = Field(np.int64, doc="number of the pass over the contacts, counted on from substep to substep")
    first = Field(np.int64, doc="whether this pass is the first one of a substep")
    local = Field(np.int64, doc="whether this pass takes only contacts of what the last one moved noticeably")
    solvers = Field(np.int64, doc="systems that have contacts to solve in the substep")
    written = Field(np.int64, doc="whether the user has moved free particles; who looks at it clears it")
    disturbed = Field(np.int64, doc="whether the user has written anything of particles; who looks at it clears it")
    awake = Field(np.int64, doc="whether there is anything to do in the step")
    moving = Field(np.int64, doc="whether something has moved in the step; see `shinari.solver.rest`")


class Times(Record):
    """One row for each substep."""

    end = Field(real, unit="s", doc="time at which the substep ends")


@kernel
def predict(i, particles: Particles, gx: real, gy: real, gz: real, h: real):
    """Advance velocity and position; (gx, gy, gz) is gravity's change of velocity, which fixed particles do not get."""
    x, v = particles.x[i], particles.v[i]
    free = x[3] > ZERO
    v = v[0] + (gx if free else ZERO), v[1] + (gy if free else ZERO), v[2] + (gz if free else ZERO)
    particles.v[i] = v
    p = x[0] + h * v[0], x[1] + h * v[1], x[2] + h * v[2]
    particles.x[i] = p[0], p[1], p[2], x[3]
    particles.predicted[i] = p


@kernel
def update_velocities(i, particles: Particles, decay: real, inverse_h: real):
    """Add what the constraints moved to the velocity of a free particle, and damp it by the factor `decay`."""
    x, p, v = particles.x[i], particles.predicted[i], particles.v[i]
    free = x[3] > ZERO
    particles.v[i] = (
        (v[0] + (x[0] - p[0]) * inverse_h) * decay if free else v[0],
        (v[1] + (x[1] - p[1]) * inverse_h) * decay if free else v[1],
        (v[2] + (x[2] - p[2]) * inverse_h) * decay if free else v[2],
    )


# Positions of the user are in the world; those of the solver are relative to their origin. Where the user
# has not written, the digits of the solver stay: the two are compared after rounding in the same way.
EXACT: frozenset[str] = frozenset()


@kernel(fastmath=EXACT, mixed=True)
def read_user_state(i, user: UserState, particles: Particles, origins: Origins, clock: Clock, inverse_dt: real):
    """Take over what the user wrote; a fixed particle that was moved gets the velocity that takes it there in dt."""
    s = user.slot[i]
    g = particles.origin_index[s]
    free = particles.x[s, 3] > ZERO
    for k in range(3):
        origin, world = origins.position[g, k], user.position[i, k]
        local = particles.x[s, k]
        # rounded like the position that it is compared with: at rest the difference is zero
        moved = convert(origin + local, world) != world
        if free:
            if particles.v[s, k] != user.velocity[i, k]:
                particles.v[s, k] = user.velocity[i, k]
                clock.disturbed[0] = 1
            if moved:
                particles.x[s, k] = convert(world - origin, world)
                clock.written[0] = 1
        else:
            particles.v[s, k] = (convert(world - origin, world) - local) * inverse_dt if moved else ZERO
        if moved:
            clock.disturbed[0] = 1


@kernel(fastmath=EXACT, mixed=True)
def publish(i, user: UserState, particles: Particles, origins: Origins):
    """Write positions and velocities for the user; a fixed particle is where the user put it."""
    s = user.slot[i]
    g = particles.origin_index[s]
    free = particles.x[s, 3] > ZERO
    for k in range(3):
        origin, world = origins.position[g, k], user.position[i, k]
        here = convert(origin + particles.x[s, k], world)
        if free:
            user.position[i, k] = here
        elif here != world:
            particles.x[s, k] = convert(world - origin, world)
        user.velocity[i, k] = particles.v[s, k]
