r"""Neo-Hookean: the stable Neo-Hookean energy of a tetrahedron, as two rows solved together.

              3
             /|\              F = Ds B,   Ds = (x1 - x0, x2 - x0, x3 - x0),   B = inverse of Ds at rest
            / | \
           /  |  \            C_D = |F|                  (Frobenius norm)     compliance 1 / (mu V)
          0 - | - 2           C_H = s (J - 1) - 1 / s,   J = det F            compliance 1 / (mu V)
           \  |  /
            \ | /             s^2 = la / mu
              1

Macklin and Mueller 2021, A Constraint-based Formulation of Stable Neo-Hookean Materials, eq. 9 to 13. With s the two
rows share one compliance and their energy per volume is

    mu/2 (|F|^2 - 3) + la/2 (J - gamma)^2,    gamma = 1 + mu/la,    up to its value at rest.

Neither row is zero at rest: it is their sum that has no force there, so they are solved as one system; one after the
other, the second undoes what the first did. For small strains the energy has the Lame parameters mu and la - mu: to get
a Poisson's ratio nu it takes la = mu 2 nu / (1 - 2 nu) + mu, hence s^2 = 1 / (1 - 2 nu).

With H = cof F = (f1 x f2, f2 x f0, f0 x f1) for the columns f of F, the gradients with respect to x1, x2, x3 are the
columns of F B^T / |F| and s H B^T; that of x0 is minus their sum. Nothing here fails when the tetrahedron is flat or
inverted; where all four points coincide C_D has no direction and gives no push.
"""

import numpy as np

from shinari.constraints.registry import register
from shinari.maths.function import function
from shinari.maths.vec3 import ONE, add, cross, dot, neg, reciprocal, scale, sub


@function
def evaluate(x, p):
    """Keeps the shape and the volume of a tetrahedron, as a solid that never turns inside out for good."""
    a, b, c = sub(x[1], x[0]), sub(x[2], x[0]), sub(x[3], x[0])
    f0 = add(scale(a, p[0]), add(scale(b, p[3]), scale(c, p[6])))
    f1 = add(scale(a, p[1]), add(scale(b, p[4]), scale(c, p[7])))
    f2 = add(scale(a, p[2]), add(scale(b, p[5]), scale(c, p[8])))
    h0, h1, h2 = cross(f1, f2), cross(f2, f0), cross(f0, f1)
    s = p[9]
    size = np.sqrt(dot(f0, f0) + dot(f1, f1) + dot(f2, f2))
    r = reciprocal(size)
    d1 = scale(add(scale(f0, p[0]), add(scale(f1, p[1]), scale(f2, p[2]))), r)
    d2 = scale(add(scale(f0, p[3]), add(scale(f1, p[4]), scale(f2, p[5]))), r)
    d3 = scale(add(scale(f0, p[6]), add(scale(f1, p[7]), scale(f2, p[8]))), r)
    v1 = scale(add(scale(h0, p[0]), add(scale(h1, p[1]), scale(h2, p[2]))), s)
    v2 = scale(add(scale(h0, p[3]), add(scale(h1, p[4]), scale(h2, p[5]))), s)
    v3 = scale(add(scale(h0, p[6]), add(scale(h1, p[7]), scale(h2, p[8]))), s)
    return (size, s * (dot(f0, h0) - ONE) - ONE / s), (
        (neg(add(add(d1, d2), d3)), d1, d2, d3),
        (neg(add(add(v1, v2), v3)), v1, v2, v3),
    )


def inverse_rest(x: np.ndarray) -> np.ndarray:
    """B [1/m], row after row, (M, 9), of rest positions (M, 4, 3)."""
    edges = np.swapaxes(np.asarray(x[:, 1:], np.float64) - x[:, :1], 1, 2)
    return np.linalg.inv(edges).reshape(-1, 9)


def hydrostatic_scale(poissons_ratio: float) -> float:
    """s, the root of la / mu, that gives a Poisson's ratio for small strains."""
    return (1.0 - 2.0 * poissons_ratio) ** -0.5


def ground(parameters: np.ndarray) -> np.ndarray:
    """C_D^2 + C_H^2 at rest, (M,)."""
    return 3.0 + parameters[:, 9] ** -2.0


def rest(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """B [1/m], (M, 9), and s of a Poisson's ratio of 0.3, (M,)."""
    return inverse_rest(x), np.full(len(x), hydrostatic_scale(0.3))


NEO_HOOKEAN = register(
    "neo_hookean",
    points=4,
    parameters=(("inverse_rest", 9), "hydrostatic_scale"),
    evaluate=evaluate,
    rest=rest,
    rows=2,
    ground=ground,
    lanes=True,
    compliance_unit="1/J",
)
