r"""St. Venant-Kirchhoff: the classical large strain law of a tetrahedron, for comparison.

              3
             /|\            F = deformation gradient (maths/simplex.py)
            / | \           E = (F^T F - 1) / 2, the Green strain;   D = E - (tr E / 3) 1, its deviator
           0 -|- 2
            \ | /           C1 = |D|,               C2 = k tr E,        k = sqrt(K / (2 mu))
             \|/
              1             dC1/dF = F D / |D|,     dC2/dF = k F

The energy of volume V is V (mu |E|^2 + la/2 (tr E)^2) = V (mu |D|^2 + K/2 (tr E)^2) = (C1^2 + C2^2) / (2 alpha) with
alpha = 1 / (2 mu V), shear modulus mu and bulk modulus K = la + 2 mu / 3. Both rows are solved together. In place of
C1 = |E| and la, which is the same energy, the deviator takes Poisson's ratios below zero and keeps the rows apart: for
a change of volume alone their gradients would otherwise be parallel.

Bender, Koschier, Charrier and Weber 2014, Position-based simulation of continuous materials, take the energy itself for
C; split into rows it fits the compliance of Macklin et al. 2016, XPBD. The law is the textbook's, with its defects: a
reflected tetrahedron has E = 0 and stays reflected, and under compression it grows softer below a stretch of 0.577
until a flat one resists no more: what is squeezed further collapses. "neo_hookean" has neither.
"""

import numpy as np

from shinari.constraints.registry import register
from shinari.maths.function import function
from shinari.maths.simplex import tetrahedron_deformation, tetrahedron_gradients, tetrahedron_inverse
from shinari.maths.vec3 import ONE, ZERO, add, dot, reciprocal, root, scale

HALF = np.float32(0.5)
TWO = np.float32(2.0)
THREE = np.float32(3.0)
QUARTER = 0.25  # Poisson's ratio of a row that names no `volume_weight`


@function
def evaluate(x, p):
    """Resists the Green strain of a tetrahedron (St. Venant-Kirchhoff)."""
    a, b, c = tetrahedron_deformation(x, p)
    solid = dot(p[0:3], p[0:3]) > ZERO  # a tetrahedron that is flat at rest has no force
    exx, eyy, ezz = HALF * (dot(a, a) - ONE), HALF * (dot(b, b) - ONE), HALF * (dot(c, c) - ONE)
    exy, exz, eyz = HALF * dot(a, b), HALF * dot(a, c), HALF * dot(b, c)
    trace = exx + eyy + ezz
    dxx, dyy, dzz = exx - trace / THREE, eyy - trace / THREE, ezz - trace / THREE
    size = root(dxx * dxx + dyy * dyy + dzz * dzz + TWO * (exy * exy + exz * exz + eyz * eyz))
    over = reciprocal(size)
    shear = (
        scale(add(add(scale(a, dxx), scale(b, exy)), scale(c, exz)), over),
        scale(add(add(scale(a, exy), scale(b, dyy)), scale(c, eyz)), over),
        scale(add(add(scale(a, exz), scale(b, eyz)), scale(c, dzz)), over),
    )
    k = p[9]
    bulk = scale(a, k), scale(b, k), scale(c, k)
    values = size if solid else ZERO, k * trace if solid else ZERO
    return values, (tetrahedron_gradients(shear, p), tetrahedron_gradients(bulk, p))


def rest(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inverse of the rest edges [1/m], (M, 9), and sqrt(K / (2 mu)), (M,), for Poisson's ratio 1/4."""
    return tetrahedron_inverse(x), np.full(len(x), volume_weight(QUARTER))


def volume_weight(poissons_ratio: float) -> float:
    """Weight sqrt(K / (2 mu)) of the volume row for a Poisson's ratio between -1 and 1/2."""
    return float(np.sqrt((1.0 + poissons_ratio) / (3.0 - 6.0 * poissons_ratio)))


STVK = register(
    "stvk",
    points=4,
    parameters=(("inverse_rest", 9), "volume_weight"),
    evaluate=evaluate,
    rest=rest,
    rows=2,
    lanes=True,
    compliance_unit="1/J",
)
