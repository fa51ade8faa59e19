r"""Strain of a tetrahedron: stretch along three axes of the material, and the shears between them.

              3
             /|\            f_x, f_y, f_z: the deformed axes, columns of the deformation gradient (maths/simplex.py)
            / | \
           0 -|- 2          e_i = |f_i| - 1,   n_i = f_i / |f_i|,   s_ij = n_i . n_j
            \ | /
             \|/            C_i = w_e e_i + w_c (e_x + e_y + e_z),      C_ij = w_s s_ij
              1
                            de_i/df_i = n_i,   ds_ij/df_i = (n_j - s_ij n_i) / |f_i|

Six rows, x y z yz xz xy, solved together. Mueller, Chentanez, Kim and Macklin 2014, Strain Based Dynamics: stretch
along axes and normalised shear as rows, with stiffnesses of their own. Here the weights carry them, and w_c couples the
stretches, for a change of volume. Like |f| itself the rows do not see a reflection: what is turned inside out stays so,
unless a row of type "volume" is laid over the tetrahedron.

Isotropic solid: the energy of a volume V is V (mu sum e_i^2 + la/2 (sum e_i)^2 + mu/2 sum s_ij^2) = |C|^2 / (2 alpha)
with alpha = 1 / (2 mu V), w_e = 1, (1 + 3 w_c)^2 = 1 + 3 la / (2 mu) and w_s^2 = 1/2: `isotropic`. That is Hooke's
law, whatever the axes, while the strain is small.
"""

import numpy as np

from shinari.constraints.registry import register
from shinari.maths.function import function
from shinari.maths.simplex import tetrahedron_deformation, tetrahedron_gradients, tetrahedron_inverse
from shinari.maths.vec3 import ONE, ZERO, direction_and_length, dot, reciprocal, scale, sub

QUARTER = 0.25  # Poisson's ratio of a row that names no weights


@function
def evaluate(x, p):
    """Resists the stretch of a tetrahedron along three axes of the material and the shears between them."""
    f = tetrahedron_deformation(x, p)
    a, long_a = direction_and_length(f[0])
    b, long_b = direction_and_length(f[1])
    c, long_c = direction_and_length(f[2])
    solid = dot(p[0:3], p[0:3]) > ZERO  # a tetrahedron that is flat at rest has no force
    stretch, volume, shear = p[9], p[10], p[11]
    e_a, e_b, e_c = long_a - ONE if solid else ZERO, long_b - ONE if solid else ZERO, long_c - ONE if solid else ZERO
    total = volume * (e_a + e_b + e_c)
    both = stretch + volume
    bc, ac, ab = dot(b, c), dot(a, c), dot(a, b)
    over_a, over_b, over_c = shear * reciprocal(long_a), shear * reciprocal(long_b), shear * reciprocal(long_c)
    none = ZERO * a[0], ZERO * a[1], ZERO * a[2]
    values = stretch * e_a + total, stretch * e_b + total, stretch * e_c + total, shear * bc, shear * ac, shear * ab
    return values, (
        tetrahedron_gradients((scale(a, both), scale(b, volume), scale(c, volume)), p),
        tetrahedron_gradients((scale(a, volume), scale(b, both), scale(c, volume)), p),
        tetrahedron_gradients((scale(a, volume), scale(b, volume), scale(c, both)), p),
        tetrahedron_gradients((none, scale(sub(c, scale(b, bc)), over_b), scale(sub(b, scale(c, bc)), over_c)), p),
        tetrahedron_gradients((scale(sub(c, scale(a, ac)), over_a), none, scale(sub(a, scale(c, ac)), over_c)), p),
        tetrahedron_gradients((scale(sub(b, scale(a, ab)), over_a), scale(sub(a, scale(b, ab)), over_b), none), p),
    )


def rest(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inverse of the rest edges [1/m], (M, 9), and weights (M, 3) for Poisson's ratio 1/4."""
    return tetrahedron_inverse(x), np.tile(isotropic(QUARTER), (len(x), 1))


def isotropic(poissons_ratio: float) -> tuple[float, float, float]:
    """Weights of stretch, of its coupling and of shear for an isotropic solid with alpha = 1 / (2 mu V)."""
    coupled = np.sqrt((1.0 + poissons_ratio) / (1.0 - 2.0 * poissons_ratio))
    return 1.0, (coupled - 1.0) / 3.0, np.sqrt(0.5)


STRAIN_TETRAHEDRON = register(
    "strain_tetrahedron",
    points=4,
    parameters=(("inverse_rest", 9), ("weights", 3)),
    evaluate=evaluate,
    rest=rest,
    rows=6,
    lanes=True,
    compliance_unit="1/J",
)
