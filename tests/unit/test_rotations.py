"""Rotations by axis and angle, Euler angles and matrices."""

import numpy as np
import pytest

import shinari as sn
from shinari.geometry.motion import rotation_matrix


def about(axis: str, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return {
        "x": np.array([[1, 0, 0], [0, c, -s], [0, s, c]]),
        "y": np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]),
        "z": np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]),
    }[axis]


@pytest.mark.parametrize("axis", "xyz")
@pytest.mark.parametrize("angle", [0.0, 0.3, -2.0, np.pi, 3.0])
def test_about_an_axis(axis: str, angle: float) -> None:
    found = sn.rotation(axis=3.0 * np.eye(3)["xyz".index(axis)], angle=angle)
    assert np.allclose(rotation_matrix(found), about(axis, angle), atol=1e-14)


@pytest.mark.parametrize("order", ["xyz", "zyx", "zxz"])
def test_euler_angles_are_about_axes_that_stand_still(order: str) -> None:
    angles = (0.3, -1.2, 2.0)
    expected = about(order[2], angles[2]) @ about(order[1], angles[1]) @ about(order[0], angles[0])
    assert np.allclose(rotation_matrix(sn.rotation(euler=angles, order=order)), expected, atol=1e-14)


def test_a_matrix_and_back() -> None:
    rng = np.random.default_rng(0)
    turns = rng.standard_normal((200, 4))
    turns = np.concatenate([turns, np.eye(4), [[0, 1, 1, 0], [1e-9, 0, 1, 0], [0, 0, 1, -1]]])
    for q in turns / np.linalg.norm(turns, axis=1)[:, None]:
        found = sn.rotation(matrix=rotation_matrix(q))
        assert np.allclose(found * np.sign(found @ q), q, atol=1e-12)


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"axis": (1, 0, 0)},
        {"angle": 1.0},
        {"axis": (1, 0, 0), "angle": 1.0, "euler": (0, 0, 0)},
        {"axis": (0, 0, 0), "angle": 1.0},
        {"axis": (1, 0, 0), "angle": float("nan")},
        {"euler": (0, 0)},
        {"euler": (0, 0, 0), "order": "xyq"},
        {"matrix": np.diag([1, 1, -1])},
        {"matrix": 2.0 * np.eye(3)},
    ],
)
def test_bad_rotations_are_refused(bad: dict) -> None:
    with pytest.raises(sn.SceneError, match="rotation: "):
        sn.rotation(**bad)
