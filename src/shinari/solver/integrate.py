"""Predict positions, and derive velocities from what the constraints did to them.

Velocities change by (x - predicted) / h instead of being set to (x - x_n) / h. Both are the same in exact arithmetic,
but a position far larger than h v has no room for its last digits: in single precision the difference x - x_n would
lose the increment g h^2 at many substeps, and here gravity reaches the velocity without passing through a position.

Global damping acts on the velocity that a substep ends with, not on the prediction: what hangs at rest then carries its
whole weight, whatever the damping, and the forces of its rows sum up to it.
"""

import numba
import numpy as np

from shinari.maths.function import FLAGS

ZERO = np.float32(0.0)


@numba.njit(parallel=True, cache=True, **FLAGS)
def predict(x, predicted, velocities, kick, h):
    """Step velocities and positions of free particles; fixed ones move on at their velocity.

    Args:
        x: Positions and inverse mass, (N, 4).
        predicted: Filled with the new positions, (N, 3).
        velocities: Velocities [m/s], (N, 3).
        kick: Change of velocity by gravity in a substep [m/s], (3,).
        h: Substep [s].
    """
    gx, gy, gz = kick[0], kick[1], kick[2]
    for i in numba.prange(len(x)):
        vx, vy, vz = velocities[i, 0], velocities[i, 1], velocities[i, 2]
        if x[i, 3] > ZERO:
            vx, vy, vz = vx + gx, vy + gy, vz + gz
            velocities[i, 0], velocities[i, 1], velocities[i, 2] = vx, vy, vz
        px, py, pz = x[i, 0] + h * vx, x[i, 1] + h * vy, x[i, 2] + h * vz
        x[i, 0], x[i, 1], x[i, 2] = px, py, pz
        predicted[i, 0], predicted[i, 1], predicted[i, 2] = px, py, pz


@numba.njit(parallel=True, cache=True, **FLAGS)
def update_velocities(x, predicted, velocities, decay, inverse_h):
    """Add what the constraints moved to the velocities, and damp those of free particles.

    Args:
        x: Positions and inverse mass, (N, 4).
        predicted: Positions before the constraints, (N, 3).
        velocities: Velocities [m/s], (N, 3).
        decay: Factor of global damping on velocities.
        inverse_h: 1 / h [1/s].
    """
    for i in numba.prange(len(x)):
        if x[i, 3] > ZERO:
            for k in range(3):
                velocities[i, k] = (velocities[i, k] + (x[i, k] - predicted[i, k]) * inverse_h) * decay


# Positions of the user are in the world; those of the solver are relative to the origin of their group. What the user
# has not touched keeps its digits: the two are compared after rounding in the same way.


@numba.njit(parallel=True, cache=True, error_model="numpy")
def take_in(positions, state_velocities, slots, groups, origins, x, velocities, inverse_dt):
    """Bring what the user wrote into the solver: moved fixed particles get the velocity that takes them there in dt."""
    real = positions.dtype.type
    for i in numba.prange(len(positions)):
        s = slots[i]
        free = x[s, 3] > 0.0
        for k in range(3):
            origin = origins[groups[s], k]
            world = positions[i, k]
            here = real(origin + x[s, k])
            if free:
                velocities[s, k] = state_velocities[i, k]
                if here != world:
                    x[s, k] = world - origin
            else:
                # rounded like the position that it is compared with: at rest it is zero
                velocities[s, k] = (real(world - origin) - x[s, k]) * inverse_dt if here != world else 0.0


@numba.njit(parallel=True, cache=True, error_model="numpy")
def publish(positions, state_velocities, slots, groups, origins, x, velocities):
    """Write positions and velocities back for the user; fixed particles are where the user put them."""
    real = positions.dtype.type
    for i in numba.prange(len(positions)):
        s = slots[i]
        free = x[s, 3] > 0.0
        for k in range(3):
            origin = origins[groups[s], k]
            if free:
                positions[i, k] = origin + x[s, k]
            elif real(origin + x[s, k]) != positions[i, k]:
                x[s, k] = positions[i, k] - origin
            state_velocities[i, k] = velocities[s, k]
