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


ACTS = {
    "step": lambda sim: sim.step(),
    "change": lambda sim: sim.change(gravity=(0, 0, 0)),
    "change material": lambda sim: sim.change_material("line", friction=0.1),
    "pin": lambda sim: sim.pin("line", 0),
    "restore": lambda sim: sim.restore(sim.state.copy()),
}


@pytest.mark.parametrize("name", ACTS)
def test_a_function_of_the_scene_cannot_change_the_simulation_within_a_step(name: str) -> None:
    inside: list[sn.Simulation] = []

    def motion(time: float) -> tuple[float, float, float]:
        if inside:
            ACTS[name](inside[0])
        return 0.0, -time, 0.0

    scene = sn.Scene()
    scene.add_rope([[0, 1, 0], [1, 1, 0]], name="line")
    scene.add_collider(sn.Sphere(0.1), motion=motion)
    sim = sn.Simulation(scene, threads=1)
    sim.step(2)
    before = sim.positions("line").copy()
    inside.append(sim)
    with pytest.raises(sn.SceneError, match="called by a function of the scene within a step"):
        sim.step()
    assert np.array_equal(sim.positions("line"), before)
    inside.clear()
    sim.step()
    ACTS[name](sim)


def test_a_function_of_the_scene_cannot_step_the_worlds() -> None:
    inside: list[sn.Worlds] = []

    def motion(time: float) -> tuple[float, float, float]:
        for worlds in inside:
            worlds.step()
        return 0.0, -time, 0.0

    scene = sn.Scene()
    scene.add_rope([[0, 1, 0], [1, 1, 0]])
    scene.add_collider(sn.Sphere(0.1), motion=motion)
    worlds = sn.Worlds(scene, 2, threads=1)
    inside.append(worlds)
    with pytest.raises(sn.SceneError, match="called by a function of the scene within a step"):
        worlds.step()
    inside.clear()
    worlds.step()
    assert worlds.times.tolist() == [worlds.settings.dt] * 2
