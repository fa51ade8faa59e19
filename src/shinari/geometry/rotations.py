"""Rotations as a user writes them: about an axis, by Euler angles, or as a matrix."""

from typing import Any

import numpy as np

from shinari import check
from shinari.errors import SceneError
from shinari.geometry.motion import NO_ROTATION, quaternion_product

ORTHOGONAL = 1e-6
"""How far a matrix may be from a rotation, entry by entry."""


def rotation(
    *, axis: Any = None, angle: float | None = None, euler: Any = None, order: str = "xyz", matrix: Any = None
) -> np.ndarray:
    """A rotation as the unit quaternion that every `rotation` argument takes.

    Exactly one of these: `axis` and `angle`; `euler`; `matrix`.

    Args:
        axis: Axis, of any length but zero, (3,).
        angle: Angle about it, right-handed [rad].
        euler: Angles about the axes of `order` that stand still, one after the other [rad], (3,). With `"xyz"` these
            are roll, pitch and yaw of a URDF.
        order: Three letters of x, y and z.
        matrix: Matrix whose columns are the turned axes, (3, 3).

    Returns:
        Unit quaternion w x y z, (4,).

    Raises:
        SceneError: None or several are given, the axis is zero, or the matrix is no rotation.
    """
    given = [name for name, value in (("axis", axis), ("euler", euler), ("matrix", matrix)) if value is not None]
    if len(given) != 1 or (axis is None) != (angle is None):
        raise SceneError(f"rotation: give axis and angle, euler, or matrix; got {', '.join(given) or 'none of them'}")
    if euler is not None:
        return _of_euler(euler, order)
    if matrix is not None:
        return _of_matrix(matrix)
    direction = check.vector("rotation", "axis", axis)
    length = float(np.linalg.norm(direction))
    if length == 0.0:
        raise SceneError("rotation: axis: a vector of length zero has no direction")
    return _about(direction / length, check.number("rotation", "angle", angle))


def _about(axis: np.ndarray, angle: float) -> np.ndarray:
    return np.array([np.cos(0.5 * angle), *(np.sin(0.5 * angle) * axis)])


def _of_euler(euler: Any, order: str) -> np.ndarray:
    angles = check.array("rotation", "euler", euler, (3,))
    if not (isinstance(order, str) and len(order) == 3 and set(order) <= set("xyz")):
        raise SceneError(f"rotation: order: expected three letters of x, y and z, got {check.short(order)}")
    result = NO_ROTATION.copy()
    for letter, angle in zip(order, angles.tolist(), strict=True):
        result = quaternion_product(_about(np.eye(3)["xyz".index(letter)], angle), result)
    return result


def _of_matrix(matrix: Any) -> np.ndarray:
    m = check.array("rotation", "matrix", matrix, (3, 3))
    if np.abs(m @ m.T - np.eye(3)).max() > ORTHOGONAL or np.linalg.det(m) < 0.0:
        raise SceneError("rotation: matrix: is no rotation; its columns have to be right-handed unit vectors")
    # the largest of the four components first, after Shepperd 1978, Quaternion from Rotation Matrix
    squares = np.array([np.trace(m), *np.diag(m)])
    k = int(np.argmax(squares))
    q = np.empty(4)
    q[k] = 1.0 + (squares[0] if k == 0 else 2.0 * squares[k] - squares[0])
    skew = np.array([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]])
    if k == 0:
        q[1:] = skew
    else:
        i, j = k % 3, (k + 1) % 3
        q[0] = skew[k - 1]
        q[1 + i], q[1 + j] = m[k - 1, i] + m[i, k - 1], m[k - 1, j] + m[j, k - 1]
    return q / np.linalg.norm(q)
