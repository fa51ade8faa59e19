"""Attachment: holds one point at a place in the world.

        0 . . . . . x          C = x0 - target  (three rows, solved together)
                 target        grad0 of row r = the unit vector of axis r

Unlike a pin, which takes the particle out of the dynamics, an attachment has a compliance and a readable force [N],
lambda / h^2 along the three axes. With one compliance for all rows it is a spring of zero length, the same in every
direction; a moving target drags the point along.
"""

import numpy as np

from shinari.constraints.registry import register
from shinari.maths.function import function
from shinari.maths.vec3 import ONE, ZERO, sub


@function
def evaluate(x, p):
    """Holds one point at a place in the world."""
    return sub(x[0], p), (((ONE, ZERO, ZERO),), ((ZERO, ONE, ZERO),), ((ZERO, ZERO, ONE),))


def rest(x: np.ndarray) -> np.ndarray:
    """Target [m], (M, 3): where the point is."""
    return np.array(x[:, 0], np.float64)


ATTACHMENT = register(
    "attachment",
    points=1,
    parameters=(("target", 3),),
    evaluate=evaluate,
    rest=rest,
    rows=3,
    unit_gradients=True,
    translation_invariant=False,
    places=("target",),
)
