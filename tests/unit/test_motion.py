"""Motions that are data, and the rotations that they are made of."""

import numpy as np
import pytest

import shinari as sn
from shinari.geometry.motion import pose_at, quaternion_product, rotation_matrix

PLACES = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 2.0], [1.0, 4.0, 2.0]])


def about_z(angle: float) -> np.ndarray:
    return np.array([np.cos(0.5 * angle), 0.0, 0.0, np.sin(0.5 * angle)])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_keyframes_go_straight_and_turn_along_the_short_arc(sign: float) -> None:
    """Either of the two quaternions of a rotation means the same."""
    turns = np.stack([about_z(0.2), sign * about_z(1.0), about_z(1.0)])
    motion = sn.Keyframes(np.array([1.0, 2.0, 4.0]), PLACES, turns)
    for time, place, angle in [
        (0.0, [0, 0, 0], 0.2),
        (1.25, [0.25, 0, 0.5], 0.4),
        (2.0, [1, 0, 2], 1.0),
        (3.0, [1, 2, 2], 1.0),
        (9.0, [1, 4, 2], 1.0),
    ]:
        position, rotation = motion(time)
        assert np.allclose(position, place)
        assert np.allclose(rotation_matrix(rotation), rotation_matrix(about_z(angle)))


def test_a_single_keyframe_stays() -> None:
    motion = sn.Keyframes(np.array([1.0]), PLACES[1:2], about_z(0.3)[None])
    for time in (0.0, 1.0, 2.0):
        assert np.allclose(motion(time)[0], PLACES[1])
        assert np.allclose(motion(time)[1], about_z(0.3))


def test_a_motion_without_rotations_keeps_the_own_one() -> None:
    assert np.array_equal(pose_at(lambda time: (time, 0.0, 0.0), 3.0, about_z(1.0))[1], about_z(1.0))
    with pytest.raises(sn.SceneError, match=r"ball: position at t = 3 s"):
        pose_at(lambda time: (time, np.nan, 0.0), 3.0, about_z(1.0), "ball")


def test_many_rotations_are_turned_into_matrices_as_one_is() -> None:
    turns = np.random.default_rng(4).normal(size=(5, 4))
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    matrices = rotation_matrix(turns)
    assert np.array_equal(matrices, [rotation_matrix(turn) for turn in turns])
    assert np.allclose(matrices @ matrices.transpose(0, 2, 1), np.eye(3))
    assert np.allclose(rotation_matrix(quaternion_product(turns[0], turns[1])), matrices[0] @ matrices[1])
    assert rotation_matrix(np.zeros((0, 4))).shape == (0, 3, 3)
