"""Seam: draws two points together and holds them.

        0 ------> L <------ 1          C = |x0 - x1| - L, resisted only where C > 0
                                       grad0 = n,  grad1 = -n,  n = (x0 - x1) / |x0 - x1|

L is the length of the thread that is left. It begins as the distance at the start and falls to zero at a constant rate
in `closing_time` [s] (`shinari.systems.rows.closing`), so that a panel comes at a speed that the scene chose, not with
all that a rigid row of length zero would do to it in one substep. Then C = |x0 - x1|: in every direction the whole
distance is taken out, and the two points move as one of both masses.
"""

import numpy as np

from shinari.constraints.distance import evaluate
from shinari.constraints.registry import register

CLOSING_TIME = 0.5
"""Closing time of seams that name none [s]."""


def rest(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance at the start [m], (M,), and closing time [s], (M,)."""
    return np.linalg.norm(x[:, 0] - x[:, 1], axis=1), np.full(len(x), CLOSING_TIME)


SEAM = register(
    "seam",
    points=2,
    parameters=("rest_length", "closing_time"),
    evaluate=evaluate,
    rest=rest,
    unit_gradients=True,
    one_sided=True,
    non_negative=("rest_length", "closing_time"),
    summary="Draws two points together and holds them.",
)
