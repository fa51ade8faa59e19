"""Sleep: islands at rest are not simulated until they are disturbed.

A body is idle while it is slower than a limit. An island is a set of bodies that joints or contacts with a force
connect. An island sleeps when all its bodies have been idle for WAIT. A moving frame that touches it, a user edit or an
external impulse wakes it at once. The long wait and the immediate wake keep islands from flickering.
"""

import numpy as np

from shinari.systems.rigid.graph import roots_of

# A body is idle below these speeds [m/s], [rad/s], and sleeps after this time [s].
SLOW, SLOW_TURN = 0.01, 0.03
WAIT = 0.5


def asleep(idle: np.ndarray) -> np.ndarray:
    """Whether each body sleeps, (B,), by its idle time [s]."""
    return idle >= WAIT


def update_idle_times(
    idle: np.ndarray,
    v: np.ndarray,
    w: np.ndarray,
    pairs: np.ndarray,
    free: np.ndarray,
    disturbed: np.ndarray,
    dt: float,
) -> None:
    """Update the idle times of bodies at the end of a step.

    Args:
        idle: Times [s], (B,), in place.
        v: Velocities, (B, 3).
        w: Angular velocities, (B, 3).
        pairs: Frames that joints and contacts with a force connect, (P, 2).
        free: Frames that can move, asleep or not, (F,).
        disturbed: Frames that stay awake: immovable ones that move, others with a motor or an external impulse, (F,).
        dt: Step [s].
    """
    count = len(idle)
    still = (np.linalg.norm(v, axis=1) < SLOW) & (np.linalg.norm(w, axis=1) < SLOW_TURN) & ~disturbed[:count]
    idle[...] = np.where(still, idle + dt, 0.0)
    roots = roots_of(pairs, free)[:count]
    roots = np.where(roots >= 0, roots, np.arange(count))
    least = np.full(len(free), np.inf)
    np.minimum.at(least, roots, idle)
    # an immovable frame that moves keeps the bodies in contact with it awake
    moved = disturbed & ~free
    for a, b in ((0, 1), (1, 0)):
        touched = pairs[moved[pairs[:, a]], b]
        touched = touched[touched < count]
        np.minimum.at(least, roots[touched], 0.0)
    idle[...] = np.minimum(idle, least[roots])
