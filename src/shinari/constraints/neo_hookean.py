r"""Neo-Hookean: the stable Neo-Hookean energy of a tetrahedron, as two rows solved together.

              3
             /|\            F = deformation gradient (maths/simplex.py),   J = det F,   m = J - 1 up to |F| = 10
            / | \           u = max(0, 1.6 - |F|)
           0 -|- 2
            \ | /           W / mu = 1/2 (|F|^2 - 3) - m + s^2/2 m^2 + 1/2 u^2,     s^2 = la / mu
             \|/
              1             both rows with compliance 1 / (mu V), so that W V = mu V / 2 (C1^2 + C2^2)

**Energy.** Without u it is mu/2 (|F|^2 - 3) + la/2 (J - gamma)^2 with gamma = 1 + mu/la, up to its value at rest: the
energy of Macklin and Mueller 2021, A Constraint-based Formulation of Stable Neo-Hookean Materials, eq. 8 to 13. For
small strains it has Lame's parameters mu and la - mu: to get a Poisson's ratio nu it takes la / mu = 1 + 2 nu / (1 - 2
nu), hence s^2 = 1 / (1 - 2 nu). At rest |F| = 1.73. Above 1.6 u is zero: in tension, and in a bar with free sides that
is compressed to half its length for nu >= 0.3 (to 0.82 for nu = 0).

**Recovery.** dW/dF = mu (psi F - g cof F), psi = 1 - u / |F|, g = 1 + s^2 (1 - J). Without u (psi = 1) the state F = 0
is a minimum: |F|^2 contracts with the first power of F, J resists with the second. A uniform scale t below the root of
s^2 t (1 + t + t^2) = 1 (0.29 for nu = 0.3, 0.54 for 0) went there, and a bar with free sides lost its width at a
stretch of 1 / (1 + s^2). Smith, de Goes and Kim 2018, Stable Neo-Hookean Flesh Simulation, cancel the first power by
-mu/2 log(|F|^2 + 1), which changes the law at all strains. u^2 acts below |F| = 1.6 alone, and F = 0 is the top of a
cone: 2 |F| - 1.6 pushes outwards with full force below |F| = 0.8. In singular values with signs, W is stationary only
  - at a = b = c = t > 0 with psi = t g: for nu >= 0 at t = 1 alone, since psi < t (2 - t^3) <= t g below 1;
  - at |F| = 0.8 with rank one, and at |a| = |b| = |c| with J < 0: there W falls in other directions, as -g J does.
So rest is the only minimum, up to a rotation. Exactly at rank one or zero no direction is better than another: with
|cof F| below 5e-4 a fixed small matrix is added to F and to cof F.

**Far stretched.** J grows as |F|^3, and the energy of the volume as |F|^6. Where tetrahedra were drawn to hundreds of
their lengths no step that is linear in F could follow: bodies whose pins were moved by 20 m in one step had up to 1e8
times their energy later. So above |F| = 10 the volume counts less, by a part that has no slope at 10:

    m = p J - 1,    dm/dF = p cof F - 4 q (1 - q) J F / |F|^2,    p = q (2 - q),    q = min(1, 100 / |F|^2)

m grows as |F|, and W as |F|^2; at a stretch of 10 nothing has changed, at 12 the volume at rest is a tenth larger. No
other minimum comes of it: W can be stationary there only where all singular values have the same size, above 5.7. Then
|p J| > 190, so that F . dW/dF / mu = |F|^2 - (1 - s^2 m) q (2 + q) J is positive.

**Rows.** The paper's own rows |F| and J - gamma have forces at rest that cancel only in sum, both parallel to a
change of volume: the solver then sees no stiffness against shear. It comes in through the turning of the gradients
alone, as in an explicit step, and cubes of edge l explode once h sqrt(E / rho) is near l (measured: stable at 0.53 l,
not at 1.05 l). Rows that are zero at rest are bounded however stiff they are. With c = min(1, 0.8 s^2), k^2 = s^2 - c

    C1 = sqrt(|F|^2 - 3 - 2 m + c m^2 + u^2)          dC1/dF = (psi F - (1 - c m) dm/dF) / C1
    C2 = k m                                          dC2/dF = k dm/dF

store W. c stays below s^2, since for nu = 0 the single row that c = s^2 leaves explodes from random states where it is
stiff. The root is real for nu > -0.5; below, the material has states with less energy than at rest, and C1 is zero
there. For F far above one both gradients approach cof F, and single precision loses the difference: with
h sqrt(E / rho) = 8 l a few of a thousand random tetrahedra are thrown apart, in double precision none.

Near rest the square under the root of C1 would lose half of all digits. With the Green strain E, its second and third
invariant I2 and I3, it is c m^2 + (2 m tr E - 8 I2 - 16 I3) / (J + 1), every term of which is small itself.
"""

import numpy as np

from shinari.constraints.registry import register
from shinari.maths.function import function
from shinari.maths.mat3 import cofactors, inner
from shinari.maths.simplex import tetrahedron_deformation, tetrahedron_gradients, tetrahedron_inverse
from shinari.maths.vec3 import ONE, ZERO, add, dot, reciprocal, root, scale

HALF = np.float32(0.5)
TWO = np.float32(2.0)
THREE = np.float32(3.0)
FOUR = np.float32(4.0)
EIGHT = np.float32(8.0)

CORE = np.float32(1.6)  # |F| below which the energy differs from the paper's
SHARE = np.float32(0.8)  # of s^2 that C1 takes at most
NEAR = np.float32(12.0)  # |F|^2 above which the expansion around rest has larger terms than the sum itself
STRETCHED = np.float32(100.0)  # |F|^2 above which the volume is held less
DEGENERATE = np.float32(5e-4)  # |cof F| of what has rank one in single precision


@function
def evaluate(x, p):
    """Keeps the shape and the volume of a tetrahedron, as a solid that does not stay flat or inside out."""
    f = tetrahedron_deformation(x, p)
    cof = cofactors(f)
    nudge = DEGENERATE if inner(cof, cof) < DEGENERATE * DEGENERATE else ZERO
    f, cof = nudged(f, nudge), nudged(cof, nudge)
    volume = dot(f[0], cof[0])
    solid = dot(p[0:3], p[0:3]) > ZERO  # a tetrahedron that is flat at rest has no force
    ratio = p[9] * p[9]
    share = SHARE * ratio
    share = share if share < ONE else ONE
    k = np.sqrt(ratio - share)
    norm_square = inner(f, f)
    norm = root(norm_square)
    inverse = reciprocal(norm)
    m, cof = held_less(f, cof, volume, inverse * inverse)
    short = CORE - norm
    short = short if short > ZERO else ZERO
    near = volume > ZERO and norm_square < NEAR
    square = share * m * m + short * short + (shear_excess(f, m) if near else norm_square - TWO * m - THREE)
    size = root(square)
    over = reciprocal(size)
    along, turn = (ONE - short * inverse) * over, (share * m - ONE) * over
    shear = (
        add(scale(f[0], along), scale(cof[0], turn)),
        add(scale(f[1], along), scale(cof[1], turn)),
        add(scale(f[2], along), scale(cof[2], turn)),
    )
    bulk = scale(cof[0], k), scale(cof[1], k), scale(cof[2], k)
    values = size if solid else ZERO, k * m if solid else ZERO
    return values, (tetrahedron_gradients(shear, p), tetrahedron_gradients(bulk, p))


@function
def held_less(f, cof, volume, inverse_square):
    """Measure m of the volume, J - 1 up to |F| = 10, and dm/dF; 1 / |F|^2 is given."""
    part = STRETCHED * inverse_square
    part = part if part < ONE else ONE
    share, slope = part * (TWO - part), FOUR * part * (part - ONE) * volume * inverse_square
    return share * volume - ONE, (
        add(scale(cof[0], share), scale(f[0], slope)),
        add(scale(cof[1], share), scale(f[1], slope)),
        add(scale(cof[2], share), scale(f[2], slope)),
    )


@function
def nudged(a, s):
    """Matrix a + s diag(4, 2, 1): no two directions are equal, so that no symmetry is left."""
    x, y, z = a
    return (x[0] + FOUR * s, x[1], x[2]), (y[0], y[1] + TWO * s, y[2]), (z[0], z[1], z[2] + s)


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
