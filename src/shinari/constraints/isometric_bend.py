r"""Isometric bending: resists the fold of two triangles whose edges keep their lengths.

               2
             / A \              A = (0, 1, 2) and B = (1, 0, 3), points as in "dihedral"
           /       \
         0 --- l --- 1           v = sum K_i x_i
           \       /
             \ B /              C = |v| - C0,    grad_i = K_i v / |v|
               3

K holds cotangents of the rest angles at the edge, A0 the angle of A at point 0 and so on:

    K0 = cot A1 + cot B1,   K1 = cot A0 + cot B0,   K2 = -(cot A0 + cot A1),   K3 = -(cot B0 + cot B1)

Why: with the foot of the height h of 2 at s from 0 to 1, cot A0 = s l / h and cot A1 = (1 - s) l / h, so the part of A
in v is (l / h) ((1 - s) x0 + s x1 - x2) = -l u_a, where u_a is the unit vector in A from the edge to 2. Then
v = -l (u_a + u_b): zero when flat, of length 2 l sin(theta / 2) at the bending angle theta as long as the edges keep
their lengths, unchanged by translation (sum K = 0) and turned by rotation. K itself stays as it was at rest, so the
energy is quadratic in the positions and a row at C0 = 0 is solved exactly by one projection.

Bergou et al. 2006, A Quadratic Bending Model for Inextensible Surfaces: energy 1/2 k_b 3 / (A_a + A_b) |v|^2, areas A,
bending stiffness k_b [N m]. So the compliance is `compliance_factor(x) / k_b` [m/N]. For small angles it is the hinge
energy of "dihedral"; for large ones it grows as 4 sin^2(theta / 2) instead of theta^2.

C0 keeps the size of a rest fold but not its side: a shape curved at rest may snap through; "dihedral" knows the sign.
Exactly flat, v has no direction: the gradients are 0.
"""

import numpy as np

from shinari.constraints.dihedral import face_areas
from shinari.constraints.registry import register
from shinari.maths.function import function
from shinari.maths.vec3 import add, direction_and_length, scale, sub


@function
def evaluate(x, p):
    """Resists the fold of two triangles whose edges keep their lengths."""
    # sum K = 0: differences keep the digits that positions far from the origin would lose
    side = add(scale(sub(x[2], x[0]), p[2]), scale(sub(x[3], x[0]), p[3]))
    n, length = direction_and_length(add(scale(sub(x[1], x[0]), p[1]), side))
    return length - p[4], (scale(n, p[0]), scale(n, p[1]), scale(n, p[2]), scale(n, p[3]))


@function
def gradient_squares(p):
    """Squares of the lengths of the gradients, K_i^2."""
    return p[0] * p[0], p[1] * p[1], p[2] * p[2], p[3] * p[3]


def rest(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights K (M, 4) and rest fold C0 [m], (M,): 0 when flat; only the magnitude of a fold is kept.

    The weights of a face without area are 0, where "dihedral" draws the line.
    """
    x = np.asarray(x, np.float64)
    a0, a1 = _cotangents(x[:, 0], x[:, 1], x[:, 2])
    b0, b1 = _cotangents(x[:, 0], x[:, 1], x[:, 3])
    weights = np.stack([a1 + b1, a0 + b0, -(a0 + a1), -(b0 + b1)], axis=1)
    fold = np.einsum("mi,mid->md", weights[:, 1:], x[:, 1:] - x[:, :1])
    return weights, np.linalg.norm(fold, axis=1)


def compliance_factor(x: np.ndarray) -> np.ndarray:
    """Compliance times bending stiffness, (A_a + A_b) / 3 [m^2], (M,), for rest points (M, 4, 3)."""
    return face_areas(x) / 3.0


def _cotangents(first: np.ndarray, second: np.ndarray, apex: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cotangents of the angles at the first and second point of a triangle, (M,)."""
    edge, side = second - first, apex - first
    double_area = np.linalg.norm(np.cross(edge, side), axis=1)
    sides = np.linalg.norm(edge, axis=1) * np.linalg.norm(side, axis=1)
    inverse = np.divide(1.0, double_area, out=np.zeros_like(double_area), where=double_area > 1e-6 * sides)
    along = np.sum(edge * side, axis=1)
    return along * inverse, (np.sum(edge * edge, axis=1) - along) * inverse


ISOMETRIC_BEND = register(
    "isometric_bend",
    points=4,
    parameters=(("weights", 4), "rest_curvature"),
    evaluate=evaluate,
    rest=rest,
    gradient_squares=gradient_squares,
)
