"""Linear tetrahedra and triangles: the deformation gradient of their points, and back from its derivative to gradients.

    F = [x1 - x0, x2 - x0, x3 - x0] B,   B = [X1 - X0, X2 - X0, X3 - X0]^-1   (rest points X)

For C(F) with P = dC/dF the gradients of points 1 to 3 are the columns of P B^T, and that of point 0 is minus their sum.
"""

import numpy as np

from shinari.maths.function import function
from shinari.maths.mat3 import times, times_transposed
from shinari.maths.vec3 import add, neg, scale, sub

# A cell is flat when its volume, relative to the cube of its longest edge, is below what single precision resolves;
# shorter edges than this [m] have an inverse whose square leaves its range.
FLAT = 1e-6
SHORT = 1e-12


@function
def tetrahedron_deformation(x, b):
    """Deformation gradient as three columns, for four points and B by rows (9)."""
    return times((sub(x[1], x[0]), sub(x[2], x[0]), sub(x[3], x[0])), b)


@function
def tetrahedron_gradients(p, b):
    """Gradients of four points from P as three columns."""
    g1, g2, g3 = times_transposed(p, b)
    return neg(add(add(g1, g2), g3)), g1, g2, g3


@function
def triangle_deformation(x, b):
    """Deformation gradient as two columns of three, for three points and B by rows (4)."""
    d1, d2 = sub(x[1], x[0]), sub(x[2], x[0])
    return add(scale(d1, b[0]), scale(d2, b[2])), add(scale(d1, b[1]), scale(d2, b[3]))


@function
def triangle_gradients(p, b):
    """Gradients of three points from P as two columns."""
    g1 = add(scale(p[0], b[0]), scale(p[1], b[1]))
    g2 = add(scale(p[0], b[2]), scale(p[1], b[3]))
    return neg(add(g1, g2)), g1, g2


def tetrahedron_inverse(x: np.ndarray) -> np.ndarray:
    """B by rows [1/m], (M, 9), for rest points (M, 4, 3); zero for a flat tetrahedron, which then has no force."""
    x = np.asarray(x, np.float64)
    return _inverse(np.swapaxes(x[:, 1:] - x[:, :1], 1, 2))


def triangle_inverse(x: np.ndarray, direction: np.ndarray | None = None) -> np.ndarray:
    """B by rows [1/m], (M, 4), for rest points (M, 3, 3); zero for a triangle without area.

    Args:
        x: Rest points [m], (M, 3, 3).
        direction: Where the first axis of the material points, (3,) or (M, 3), laid into each triangle; None, or where
            it is perpendicular to one: along its first edge.
    """
    x = np.asarray(x, np.float64)
    a, b = x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]
    normal = _unit(np.cross(a, b))
    first = _unit(a)
    if direction is not None:
        laid = direction - np.sum(direction * normal, axis=1, keepdims=True) * normal
        length = np.linalg.norm(laid, axis=1, keepdims=True)
        first = np.where(length > FLAT * np.linalg.norm(direction), _unit(laid), first)
    second = np.cross(normal, first)
    rows = [[np.sum(axis * edge, axis=1) for edge in (a, b)] for axis in (first, second)]
    return _inverse(np.moveaxis(np.array(rows), 2, 0))


def _unit(v: np.ndarray) -> np.ndarray:
    length = np.linalg.norm(v, axis=1, keepdims=True)
    return np.divide(v, length, out=np.zeros_like(v), where=length > 0.0)


def _inverse(edges: np.ndarray) -> np.ndarray:
    """Inverse by rows (M, n^2) of matrices whose columns are edges (M, n, n); zero where they are flat."""
    m, n = edges.shape[:2]
    longest = np.linalg.norm(edges, axis=1).max(axis=1)
    solid = (np.abs(np.linalg.det(edges)) > FLAT * longest**n) & (longest > SHORT)
    inverse = np.zeros((m, n * n))
    inverse[solid] = np.linalg.inv(edges[solid]).reshape(-1, n * n)
    return inverse
