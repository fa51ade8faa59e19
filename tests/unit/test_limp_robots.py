"""Limp robots that fall onto their limits: the direct solution of a substep stays bounded where it does not settle."""

import sys
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.geometry.motion import rotation_matrix

pytest.importorskip("mujoco", reason="the extra [robot] is not installed")

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from robot_cases import crowd


def test_limp_robots_at_few_substeps_stay_together() -> None:
    """Fifty of thirty hinges at three substeps: none is faster than what falls from twice its height, 6 m/s, times two.

    A Newton step that turns bodies by more than rows of joints are linear for is shortened: without that one of them
    flew apart at 425 m/s.
    """
    scene, robots = crowd(50, 0.3, ground=True)
    assert len(robots[0].names) == 30
    sim = sn.Simulation(scene, substeps=3)
    for _ in range(200):
        sim.step()
        assert np.abs(sim.state.body_velocities).max() < 12.0


@pytest.mark.filterwarnings("ignore::shinari.ContactWarning")
def test_robots_that_start_in_themselves_stay_together() -> None:
    """Twenty in poses of their own: the certificate of paths stops limbs, and joints gaped by 39 mm."""
    scene, _ = crowd(20, 0.3, ground=True, spread=0.9)
    sim = sn.Simulation(scene, substeps=16, threads=1)
    anchors = np.array([joint.places for joint in scene.joints], float)
    ends = np.array([(joint.first, joint.second) for joint in scene.joints])
    for _ in range(16):
        sim.step()
        x, turn = np.array(sim.state.body_positions), rotation_matrix(np.array(sim.state.body_rotations))
        places = x[ends] + np.einsum("jsab,jsb->jsa", turn[ends], anchors)
        assert np.linalg.norm(places[:, 0] - places[:, 1], axis=1).max() < 1e-4
