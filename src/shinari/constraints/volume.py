r"""Volume: keeps the signed volume of a tetrahedron.

              3
             /|\
            / | \             a = x1 - x0,  b = x2 - x0,  c = x3 - x0
           /  |  \
          0 - | - 2           C = a . (b x c) / 6 - V0
           \  |  /
            \ | /             grad1 = b x c / 6,  grad2 = c x a / 6,  grad3 = a x b / 6
              1               grad0 = -(grad1 + grad2 + grad3)

Mueller et al. 2006, Position Based Dynamics; Bender et al. 2015, Position-Based Simulation Methods. Each gradient is
the area of the face opposite its point, over three, along the inward normal of that face.

The volume is positive when 0, 1, 2 turn counterclockwise as seen from 3, and negative once a point has passed through
the opposite face: an inverted tetrahedron is thereby pushed back through it, not held inside out as with |V|.

The energy C^2 / (2 alpha) makes alpha [m^6 / J] = [m^5 / N]; for a bulk modulus K [Pa] alpha = V0 / K.
"""

import numpy as np

from shinari.constraints.registry import register
from shinari.maths.function import function
from shinari.maths.vec3 import add, cross, dot, neg, sub

SIX = np.float32(6.0)  # divide by it: one sixth is not a float32, six is exact in either precision


@function
def evaluate(x, p):
    """Keeps the signed volume of a tetrahedron."""
    a, b, c = sub(x[1], x[0]), sub(x[2], x[0]), sub(x[3], x[0])
    bc, ca, ab = cross(b, c), cross(c, a), cross(a, b)
    g1 = bc[0] / SIX, bc[1] / SIX, bc[2] / SIX
    g2 = ca[0] / SIX, ca[1] / SIX, ca[2] / SIX
    g3 = ab[0] / SIX, ab[1] / SIX, ab[2] / SIX
    return dot(a, g1) - p[0], (neg(add(add(g1, g2), g3)), g1, g2, g3)


def rest(x: np.ndarray) -> np.ndarray:
    """Signed rest volume [m^3], (M,)."""
    a, b, c = (np.asarray(x[:, i], np.float64) - x[:, 0] for i in (1, 2, 3))
    return np.sum(a * np.cross(b, c), axis=1) / 6.0


VOLUME = register(
    "volume", points=4, parameters=("rest_volume",), evaluate=evaluate, rest=rest, compliance_unit="m^5/N"
)
