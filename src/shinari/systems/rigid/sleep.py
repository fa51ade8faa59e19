"""Sleep: bodies that have come to rest stop, with all that they hang together with, until something comes.

A body is idle while it is slower than a limit. An island, all bodies that joints or pushing contacts connect, falls
asleep when each of its bodies has been idle for long enough; what moves and touches it wakes it, as does what a user
writes or a particle that pushes. The long wait against the instant wake keeps islands from flickering.
"""

import numpy as np

from shinari.systems.rigid.graph import roots_of

# A body is idle below these speeds [m/s], [rad/s], and sleeps after this time [s].
SLOW, SLOW_TURN = 0.01, 0.03
WAIT = 0.5


def asleep(idle: np.ndarray) -> np.ndarray:
    """Which bodies sleep, (B,), by the times for which they have been idle."""
    return idle >= WAIT


def follow(
    idle: np.ndarray, v: np.ndarray, w: np.ndarray, pairs: np.ndarray, free: np.ndarray, stirred: np.ndarray, dt: float
) -> None:
    """Bring the times for which bodies have been idle to the end of a step.

    Args:
        idle: Times [s], (B,), in place.
        v: Velocities, (B, 3).
        w: Angular velocities, (B, 3).
        pairs: Frames that joints and pushing contacts connect, (P, 2).
        free: Frames that can move, asleep or not, (F,).
        stirred: Frames that something else keeps awake: they move without being pushed, or were pushed, (F,).
        dt: Step [s].
    """
    count = len(idle)
    still = (np.linalg.norm(v, axis=1) < SLOW) & (np.linalg.norm(w, axis=1) < SLOW_TURN) & ~stirred[:count]
    idle[...] = np.where(still, idle + dt, 0.0)
    roots = roots_of(pairs, free)[:count]
    roots = np.where(roots >= 0, roots, np.arange(count))
    least = np.full(len(free), np.inf)
    np.minimum.at(least, roots, idle)
    # a frame that is not pushed and moves keeps awake what touches it
    moved = stirred & ~free
    for a, b in ((0, 1), (1, 0)):
        touched = pairs[moved[pairs[:, a]], b]
        touched = touched[touched < count]
        np.minimum.at(least, roots[touched], 0.0)
    idle[...] = np.minimum(idle, least[roots])
