"""Coincidence: holds two points together.

        0 . . . . . 1          C = x0 - x1 - d  (three rows, solved together)
                               grad0 of row r = the unit vector of axis r,  grad1 = -grad0

The offset d is fixed in world axes. Keeping the present x0 - x1 would forbid the pair to turn and exert a torque from
nowhere, so d is zero unless it is given; then the force runs along x0 - x1 and conserves angular momentum. Points
that should keep their distance but turn freely want "distance"; a body takes its offset in its own axes as an anchor.
"""

import numpy as np

from shinari.constraints.registry import register
from shinari.maths.function import function
from shinari.maths.vec3 import ONE, ZERO, sub


@function
def evaluate(x, p):
    """Holds two points together."""
    return sub(sub(x[0], x[1]), p), (
        ((ONE, ZERO, ZERO), (-ONE, ZERO, ZERO)),
        ((ZERO, ONE, ZERO), (ZERO, -ONE, ZERO)),
        ((ZERO, ZERO, ONE), (ZERO, ZERO, -ONE)),
    )


def rest(x: np.ndarray) -> np.ndarray:
    """Offset x0 - x1 in world axes [m], (M, 3): zero, wherever the points are."""
    return np.zeros((len(x), 3))


COINCIDENCE = register(
    "coincidence",
    points=2,
    parameters=(("offset", 3),),
    evaluate=evaluate,
    rest=rest,
    rows=3,
    unit_gradients=True,
)
