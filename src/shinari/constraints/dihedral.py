r"""Dihedral: keeps the angle between two triangles that share an edge.

               2
             / A \              A = (0, 1, 2) and B = (1, 0, 3), both counterclockwise
           /       \
         0 -- e ---> 1           e = (x1 - x0) / l,  l = |x1 - x0|
           \       /            a = e x (x2 - x0) = h_a n_a     height h_a, unit normal n_a
             \ B /              b = (x3 - x0) x e = h_b n_b
               3
                                 theta = atan2((n_a x n_b) . e, n_a . n_b),    C = theta - theta0

theta is the bending angle: 0 when flat, positive when the faces fold away from their normals (a ridge seen from the
side the normals point to), negative when they fold towards them, +-pi when one lies on the other. Both arguments of
atan2 are smooth, so theta is smooth at flat, where the arc cosine of n_a . n_b has no derivative. C is brought to
(-pi, pi]: a face that passes the other one at theta = pi is pulled back the short way round. The rest angle is a
parameter in [-pi, pi] and 0 for flat cloth, whatever the angle between the faces themselves is called.

Moving 2 by d turns A about the edge by (d . n_a) / h_a. The edge points take the opposite, shared like a load on a
lever that rests on both of them, with the foot of the height at s_a = (x2 - x0) . e / l along it:

    grad2 = -n_a / h_a        grad0 = -(1 - s_a) grad2 - (1 - s_b) grad3
    grad3 = -n_b / h_b        grad1 = -s_a grad2 - s_b grad3

Bridson et al. 2003, Simulation of Clothing with Folds and Wrinkles, section 4 (the same four vectors); Tamstorf and
Grinspun 2013, Discrete Bending Forces and Their Jacobians. They are exact at every angle.

Material: Grinspun et al. 2003, Discrete Shells, weighs a hinge by l over a third of its mean height, the energy is
1/2 k_b 3 l^2 / (A_a + A_b) (theta - theta0)^2 with areas A and bending stiffness k_b [N m]. So the compliance is
`compliance_factor(x) / k_b`, in rad^2/J = rad/(N m).

A face whose height is below a millionth of its side has no normal in single precision: C and the gradients are 0.
"""

import numpy as np

from shinari.constraints.registry import register
from shinari.maths.function import function
from shinari.maths.vec3 import ONE, ZERO, add, cross, direction_and_length, dot, neg, reciprocal, scale, sub

PI = np.float32(np.pi)
# 2 pi in two parts: one float32 alone would bring an error of 1.7e-7 into float64 rows, the two leave 1e-14.
TURN = np.float32(2.0 * np.pi)
TURN_REST = np.float32(2.0 * np.pi - float(TURN))
FLATNESS = np.float32(1e-12)  # square of the least height of a face relative to its side


@function
def evaluate(x, p):
    """Keeps the angle between two triangles that share an edge."""
    edge, length = direction_and_length(sub(x[1], x[0]))
    to_2, to_3 = sub(x[2], x[0]), sub(x[3], x[0])
    n_a, h_a = direction_and_length(cross(edge, to_2))
    n_b, h_b = direction_and_length(cross(to_3, edge))
    valid = (h_a * h_a > FLATNESS * dot(to_2, to_2)) and (h_b * h_b > FLATNESS * dot(to_3, to_3))

    angle = np.arctan2(dot(cross(n_a, n_b), edge), dot(n_a, n_b)) - p[0]
    angle = angle - TURN - TURN_REST if angle > PI else angle
    angle = angle + TURN + TURN_REST if angle <= -PI else angle

    along = reciprocal(length)
    s_a, s_b = along * dot(to_2, edge), along * dot(to_3, edge)
    up_a = scale(n_a, reciprocal(h_a) if valid else ZERO)  # -grad2
    up_b = scale(n_b, reciprocal(h_b) if valid else ZERO)  # -grad3
    grad0 = add(scale(up_a, ONE - s_a), scale(up_b, ONE - s_b))
    grad1 = add(scale(up_a, s_a), scale(up_b, s_b))
    return angle if valid else ZERO, (grad0, grad1, neg(up_a), neg(up_b))


def rest(x: np.ndarray) -> np.ndarray:
    """Rest bending angle theta [rad] in (-pi, pi], (M,); 0 when flat or when a face has no area."""
    edge, a, b = _edge_and_normals(x)
    angle = np.arctan2(np.sum(np.cross(a, b) * edge, axis=1), np.linalg.norm(edge, axis=1) * np.sum(a * b, axis=1))
    return np.where(angle <= -np.pi, np.pi, angle)


def face_areas(x: np.ndarray) -> np.ndarray:
    """Area of the two faces together, A_a + A_b [m^2], (M,), for points (M, 4, 3)."""
    _, a, b = _edge_and_normals(x)
    return 0.5 * (np.linalg.norm(a, axis=1) + np.linalg.norm(b, axis=1))


def compliance_factor(x: np.ndarray) -> np.ndarray:
    """Compliance times bending stiffness, (A_a + A_b) / (3 l^2), (M,), for rest points (M, 4, 3)."""
    edge, _, _ = _edge_and_normals(x)
    return face_areas(x) / (3.0 * np.sum(edge * edge, axis=1))


def _edge_and_normals(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edge vector and normals of the faces, each of twice the area, (M, 3)."""
    edge, to_2, to_3 = (np.asarray(x[:, i], np.float64) - x[:, 0] for i in (1, 2, 3))
    return edge, np.cross(edge, to_2), np.cross(to_3, edge)


DIHEDRAL = register(
    "dihedral",
    points=4,
    parameters=("rest_angle",),
    evaluate=evaluate,
    rest=rest,
    lanes=True,
    compliance_unit="rad/(N m)",
)
