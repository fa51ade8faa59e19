r"""Strain of a triangle: stretch along two axes of the material, and the shear between them.

        2
        |  \               f_u, f_v: the deformed axes, columns of the deformation gradient (maths/simplex.py)
      v |     \
        0 --u-- 1          e_u = |f_u| - 1,   e_v = |f_v| - 1,   s = n_u . n_v,   n = f / |f|

    C1 = w_u e_u + w_c e_v,     C2 = w_c e_u + w_v e_v,     C3 = w_s s

    de_u/df_u = n_u,   ds/df_u = (n_v - s n_u) / |f_u|,   ds/df_v = (n_u - s n_v) / |f_v|

s is the sine of the angle by which the axes shear, free of their lengths. Mueller, Chentanez, Kim and Macklin 2014,
Strain Based Dynamics: stretch along chosen axes and normalised shear as rows, each with a stiffness of its own. Here
the weights w carry it, and w_c couples the two stretches. The three rows are solved together.

Membrane: for stretch moduli Y = ((Y_u, Y_c), (Y_c, Y_v)) and a shear modulus G, both times thickness [N/m], the energy
of an area A is A/2 (e^T Y e + G s^2) = |C|^2 / (2 alpha) with alpha = 1 / (A Y_0), for any Y_0 [N/m], when the weights
of stretch are the square root of the matrix Y / Y_0 and w_s^2 = G / Y_0. `plane_stress` gives those of an isotropic
sheet, whose law at small strain is the same in every direction.
"""

import numpy as np

from shinari.constraints.registry import register
from shinari.maths.function import function
from shinari.maths.simplex import triangle_deformation, triangle_gradients, triangle_inverse
from shinari.maths.vec3 import ONE, ZERO, direction_and_length, dot, reciprocal, scale, sub

NO_WEIGHTS = (1.0, 1.0, 0.0, 1.0)


@function
def evaluate(x, p):
    """Resists the stretch of a triangle along two axes of the material and the shear between them."""
    f_u, f_v = triangle_deformation(x, p)
    u, long_u = direction_and_length(f_u)
    v, long_v = direction_and_length(f_v)
    solid = abs(p[0]) + abs(p[1]) > ZERO  # a triangle without area at rest has no force
    e_u, e_v = long_u - ONE if solid else ZERO, long_v - ONE if solid else ZERO
    s = dot(u, v)
    w_u, w_v, w_c, w_s = p[4], p[5], p[6], p[7]
    shear_u = scale(sub(v, scale(u, s)), w_s * reciprocal(long_u))
    shear_v = scale(sub(u, scale(v, s)), w_s * reciprocal(long_v))
    return (w_u * e_u + w_c * e_v, w_c * e_u + w_v * e_v, w_s * s), (
        triangle_gradients((scale(u, w_u), scale(v, w_c)), p),
        triangle_gradients((scale(u, w_c), scale(v, w_v)), p),
        triangle_gradients((shear_u, shear_v), p),
    )


def rest(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inverse of the rest edges [1/m], (M, 4), with u along the first; weights (M, 4) of one, without coupling."""
    return triangle_inverse(x), np.tile(NO_WEIGHTS, (len(x), 1))


def plane_stress(poissons_ratio: float) -> tuple[float, float, float, float]:
    """Weights of an isotropic sheet in plane stress, for alpha = (1 - nu^2) / (A E t)."""
    plus, minus = np.sqrt(1.0 + poissons_ratio), np.sqrt(1.0 - poissons_ratio)
    along, across = 0.5 * (plus + minus), 0.5 * (plus - minus)
    return along, along, across, np.sqrt(0.5) * minus


STRAIN_TRIANGLE = register(
    "strain_triangle",
    points=3,
    parameters=(("inverse_rest", 4), ("weights", 4)),
    evaluate=evaluate,
    rest=rest,
    rows=3,
    lanes=True,
    compliance_unit="1/J",
)
