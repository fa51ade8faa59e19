r"""Neo-Hookean: the stable Neo-Hookean energy of a tetrahedron, as two rows solved together.

              3
             /|\            F = deformation gradient (maths/simplex.py),   J = det F
            / | \
           0 -|- 2          C1 = sqrt(|F|^2 - 2 J - 1 + c (J - 1)^2)
            \ | /           C2 = k (J - 1)                                  both with compliance 1 / (mu V)
             \|/
              1             c = min(1, s^2),   k^2 = s^2 - c,   s^2 = la / mu

                            dC1/dF = (F - (1 + c - c J) cof F) / C1,   dC2/dF = k cof F

Per volume the rows store mu/2 (C1^2 + C2^2) = mu/2 (|F|^2 - 3) + la/2 (J - gamma)^2 with gamma = 1 + mu/la, up to its
value at rest: the energy of Macklin and Mueller 2021, A Constraint-based Formulation of Stable Neo-Hookean Materials,
eq. 8 to 13. For small strains it has Lame's parameters mu and la - mu: to get a Poisson's ratio nu it takes
la / mu = 1 + 2 nu / (1 - 2 nu), hence s^2 = 1 / (1 - 2 nu).

The paper's own rows are C_D = |F| and C_H = J - gamma. They share that energy, and only their sum has no force at rest.
There both gradients are parallel to a change of volume, so the solver sees no stiffness against shear: it comes in
through the turning of the gradients alone, from positions before the correction, as in an explicit step, and cubes of
edge l explode once h sqrt(E / rho) is near l (measured: stable at 0.53 l, not at 1.05 l). C1 as above is zero at rest
and grows along the shear, and what a step may do to it is bounded however stiff it is. The square under the root is
never negative for nu >= 0, since |F|^2 >= 3 J^(2/3); below zero the material has states with less energy than at rest,
where C1 is taken as zero.

Near rest the square would lose half of all digits. With the Green strain E, its second and third invariant I2 and I3,
and m = J - 1 it is c m^2 + (2 m tr E - 8 I2 - 16 I3) / (J + 1), every term of which is small itself.

A flat or inverted tetrahedron recovers. One squeezed to a point does not: F = 0 is a minimum of this energy, though a
shallow one: for nu = 0.3 it draws in what is squeezed below a scale of 0.29, for 0.45 below 0.09.
"""

import numpy as np

from shinari.constraints.registry import register
from shinari.maths.function import function
from shinari.maths.mat3 import cofactors, inner
from shinari.maths.simplex import tetrahedron_deformation, tetrahedron_gradients, tetrahedron_inverse
from shinari.maths.vec3 import ONE, ZERO, add, dot, reciprocal, scale

HALF = np.float32(0.5)
TWO = np.float32(2.0)
EIGHT = np.float32(8.0)


@function
def evaluate(x, p):
    """Keeps the shape and the volume of a tetrahedron, as a solid that does not stay flat or inside out."""
    f = tetrahedron_deformation(x, p)
    cof = cofactors(f)
    volume = dot(f[0], cof[0])
    solid = dot(p[0:3], p[0:3]) > ZERO  # a tetrahedron that is flat at rest has no force
    ratio = p[9] * p[9]
    share = ratio if ratio < ONE else ONE
    k = np.sqrt(ratio - share)
    m = volume - ONE
    square = share * m * m + (shear_excess(f, m) if volume > ZERO else inner(f, f) - TWO * volume - ONE)
    size = np.sqrt(square if square > ZERO else ZERO)
    over = reciprocal(size)
    turn = (share * m - ONE) * over
    shear = (
        add(scale(f[0], over), scale(cof[0], turn)),
        add(scale(f[1], over), scale(cof[1], turn)),
        add(scale(f[2], over), scale(cof[2], turn)),
    )
    bulk = scale(cof[0], k), scale(cof[1], k), scale(cof[2], k)
    values = size if solid else ZERO, k * m if solid else ZERO
    return values, (tetrahedron_gradients(shear, p), tetrahedron_gradients(bulk, p))


@function
def shear_excess(f, m):
    """|F|^2 - 2 J - 1 for J = 1 + m above zero, to as many digits near rest as the strain has."""
    a, b, c = f
    xx, yy, zz = HALF * (dot(a, a) - ONE), HALF * (dot(b, b) - ONE), HALF * (dot(c, c) - ONE)
    yz, xz, xy = HALF * dot(b, c), HALF * dot(a, c), HALF * dot(a, b)
    first = xx + yy + zz
    second = xx * yy + yy * zz + zz * xx - yz * yz - xz * xz - xy * xy
    third = xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz)
    return (TWO * m * first - EIGHT * (second + TWO * third)) / (TWO + m)


def hydrostatic_scale(poissons_ratio: float) -> float:
    """s, the root of la / mu, that gives a Poisson's ratio for small strains."""
    return (1.0 - 2.0 * poissons_ratio) ** -0.5


def rest(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Inverse of the rest edges [1/m], (M, 9), and s of a Poisson's ratio of 0.3, (M,)."""
    return tetrahedron_inverse(x), np.full(len(x), hydrostatic_scale(0.3))


NEO_HOOKEAN = register(
    "neo_hookean",
    points=4,
    parameters=(("inverse_rest", 9), "hydrostatic_scale"),
    evaluate=evaluate,
    rest=rest,
    rows=2,
    lanes=True,
    compliance_unit="1/J",
)
