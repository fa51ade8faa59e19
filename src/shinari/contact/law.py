"""The law of contact: how the numbers of two surfaces become those of their contact."""

import numpy as np

from shinari.maths.function import steady
from shinari.maths.vec3 import ZERO


@steady
def combined(mine, theirs):
    """Coefficient of friction of a pair: the geometric mean, that of the other where one is negative."""
    both = np.sqrt(max(mine, ZERO) * max(theirs, ZERO))
    return max(theirs, ZERO) if mine < ZERO else (mine if theirs < ZERO else both)
