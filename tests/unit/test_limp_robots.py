"""Limp robots that fall onto their limits: the direct solution of a substep stays bounded where it does not settle."""

import sys
from pathlib import Path

import numpy as np
import pytest

import shinari as sn

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
