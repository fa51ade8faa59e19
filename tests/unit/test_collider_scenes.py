"""Scenes of colliders alone: time and motions go on, rays meet them, and files hold them."""

from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.cli.info import describe

DOWN = (0.0, -1.0, 0.0)


def level() -> sn.Scene:
    """A floor and a crate that swings along x."""
    scene = sn.Scene()
    scene.add_collider(sn.Plane(), name="floor")
    scene.add_collider(sn.Box((1, 1, 1)), motion=sn.Oscillation((0, 1, 0), (2, 0, 0), 0.25), name="crate")
    return scene


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_rays_meet_colliders_where_they_have_moved(precision: str) -> None:
    sim = sn.Simulation(level(), precision=precision)
    assert sim.cast_rays([(0, 5, 0), (2, 5, 0)], DOWN).names.tolist() == ["crate", "floor"]
    sim.run(1.0)
    assert sim.time == pytest.approx(1.0)
    assert sim.collider_poses()[0][1] == pytest.approx((2, 1, 0))
    hits = sim.cast_rays([(0, 5, 0), (2, 5, 0)], DOWN)
    assert hits.names.tolist() == ["floor", "crate"]
    assert hits.distances == pytest.approx([5.0, 3.5])


def test_questions_have_answers_without_objects() -> None:
    scene = level()
    ball = scene.add_collider(sn.Sphere(0.2), position=(5, 5, 5))
    sim = sn.Simulation(scene)
    sim.step(3)
    measured = sim.measure()
    assert (measured.energy.total, measured.residual, len(measured.strains)) == (0.0, 0.0, 0)
    assert not sim.momentum().any()
    assert not sim.forces(ball).any()
    assert (len(sim.contacts().positions), sim.state.positions.shape) == (0, (0, 3))
    assert "3 steps" in str(sim.profile())
    sim.change(gravity=(0, 0, 0))
    kept = sim.state.copy()
    sim.step()
    sim.restore(kept)
    assert sim.time == pytest.approx(3 / 60)


def test_checkpoints_and_worlds_go_on(tmp_path: Path) -> None:
    sim = sn.Simulation(level())
    sim.step(30)
    sim.save(tmp_path / "level.ckpt")
    resumed = sn.Simulation.load(tmp_path / "level.ckpt")
    worlds = sn.Worlds(level(), 2)
    worlds.step(30)
    for each in (sim, resumed):
        each.step(30)
    worlds.step(30)
    poses = [each.collider_poses()[0] for each in (sim, resumed, worlds.world(1))]
    assert poses[0][1] == pytest.approx((2, 1, 0))
    np.testing.assert_array_equal(poses[0], poses[1])
    np.testing.assert_array_equal(poses[0], poses[2])


@pytest.mark.parametrize("suffix", [".npz", ".ply", ".usda", ".glb", ".pc2", ".mdd", ".html", ".vtkhdf"])
def test_runs_are_recorded(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"level{suffix}"
    sn.Simulation(level()).run(0.1, record=path)
    if suffix == ".npz":
        assert describe(path)["colliders"] == ["floor", "crate"]
    else:
        assert path.exists() or list(tmp_path.iterdir())
