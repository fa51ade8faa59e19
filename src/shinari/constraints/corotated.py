r"""Corotated: linear elasticity of a tetrahedron in axes that turn with it, for comparison.

              3
             /|\            F = R S: deformation gradient, its rotation (maths/mat3.py) and stretch S
            / | \           D = S - (tr S / 3) 1, the deviator of the stretch
           0 -|- 2
            \ | /           C1 = |D|,               C2 = k (tr S - 3),      k = sqrt(K / (2 mu))
             \|/
              1             dC1/dF = R D / |D|,     dC2/dF = k R

The energy of volume V is V (mu |F - R|^2 + la/2 (tr S - 3)^2) = V (mu |D|^2 + K/2 (tr S - 3)^2)
= (C1^2 + C2^2) / (2 alpha) with alpha = 1 / (2 mu V) and bulk modulus K = la + 2 mu / 3. Both rows are solved together.
How R turns with F does not enter the derivatives: R is where |F - R|^2 is least, and R : dR = 0 for a rotation.

Mueller and Gross 2004, Interactive Virtual Materials. The stress follows the strain S - 1 in proportion however large
it is; what is squeezed flat resists with finite force. R is a proper rotation, so an inverted tetrahedron turns back.
"""

import numpy as np

from shinari.constraints.registry import register
from shinari.constraints.stvk import QUARTER, volume_weight
from shinari.maths.function import function
from shinari.maths.mat3 import inner, rotation_part
from shinari.maths.simplex import tetrahedron_deformation, tetrahedron_gradients, tetrahedron_inverse
from shinari.maths.vec3 import ZERO, dot, reciprocal, root, scale, sub

THREE = np.float32(3.0)


@function
def evaluate(x, p):
    """Resists the stretch of a tetrahedron in axes that turn with it (corotated linear elasticity)."""
    f = tetrahedron_deformation(x, p)
    solid = dot(p[0:3], p[0:3]) > ZERO  # a tetrahedron that is flat at rest has no force
    r = rotation_part(f)
    # tr S - 3 from differences: near rest tr S itself would leave only its rounding
    strain = sub(f[0], r[0]), sub(f[1], r[1]), sub(f[2], r[2])
    trace = inner(r, strain)
    mean = trace / THREE
    d = sub(strain[0], scale(r[0], mean)), sub(strain[1], scale(r[1], mean)), sub(strain[2], scale(r[2], mean))
    size = root(inner(d, d))
    over = reciprocal(size) if solid else ZERO
    k = p[9] if solid else ZERO
    shear = scale(d[0], over), scale(d[1], over), scale(d[2], over)
    bulk = scale(r[0], k), scale(r[1], k), scale(r[2], k)
    values = size if solid else ZERO, k * trace
    return values, (tetrahedron_gradients(shear, p), tetrahedron_gradients(bulk, p))


def rest(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inverse of the rest edges [1/m], (M, 9), and sqrt(K / (2 mu)), (M,), for Poisson's ratio 1/4."""
    return tetrahedron_inverse(x), np.full(len(x), volume_weight(QUARTER))


COROTATED = register(
    "corotated",
    points=4,
    parameters=(("inverse_rest", 9), "volume_weight"),
    evaluate=evaluate,
    rest=rest,
    rows=2,
    compliance_unit="1/J",
)
