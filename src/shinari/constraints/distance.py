"""Distance: keeps two points at a rest length.

        0 ------- L ------- 1          C = |x0 - x1| - L
                                       grad0 = n,  grad1 = -n,  n = (x0 - x1) / |x0 - x1|

Mueller et al. 2006, Position Based Dynamics, eq. 10; compliance [m/N] as in Macklin et al. 2016, XPBD, eq. 18.
C > 0 is stretch and C < 0 is compression, so `compression_compliance=inf` makes a row that only pulls.
"""

import numpy as np

from shinari.constraints.registry import register
from shinari.maths.function import function
from shinari.maths.vec3 import direction_and_positive_length, neg, sub


@function
def evaluate(x, p):
    """Keeps two points at a rest length."""
    n, length = direction_and_positive_length(sub(x[0], x[1]))
    return length - p[0], (n, neg(n))


def rest(x: np.ndarray) -> np.ndarray:
    """Rest length [m], (M,)."""
    return np.linalg.norm(x[:, 0] - x[:, 1], axis=1)


DISTANCE = register(
    "distance",
    points=2,
    parameters=("rest_length",),
    evaluate=evaluate,
    rest=rest,
    unit_gradients=True,
    non_negative=("rest_length",),
)
