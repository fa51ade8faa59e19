"""Rods that are twisted by many turns: the moment of a joint is that of its angle, up to half a turn; then it slips."""

import numpy as np
import pytest
from small_scenes import precisions

import shinari as sn
from shinari.systems.rods.build import product, quaternion_of

MATERIAL = sn.RodMaterial(radius=0.002, density=1000.0, youngs_modulus=1e7)


def twisted(turns, segments, substeps, precision):
    """A straight rod of 1 m whose end was turned, ten turns a second: simulation, rod, largest kinetic energy."""
    points = np.linspace([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], segments + 1)
    scene = sn.Scene(gravity=(0, 0, 0), damping=1.0)
    rod = scene.add_rod(points, material=MATERIAL)
    # all points are held: what is asked is the twist alone, without the buckling that comes with it
    rod.pin(np.arange(segments + 1))
    rod.clamp([0, segments - 1])
    sim = sn.Simulation(scene, substeps=substeps, precision=precision, threads=1)
    start, moving = np.array(sim.frames(rod)[-1]), 0.0
    for k in range(6 * turns + 120):
        angle = 2.0 * np.pi * turns * min(1.0, (k + 1) / (6 * turns))
        sim.frames(rod)[-1] = product(quaternion_of(np.array([angle, 0.0, 0.0])), start)
        sim.step()
        moving = max(moving, sim.energy().kinetic)
    return sim, rod, moving


@precisions
@pytest.mark.parametrize(("turns", "segments"), [(3, 60), (10, 60), (12, 40), (16, 40)])
def test_the_moment_is_that_of_the_angle(turns, segments, precision):
    """18 to 148 degrees from segment to segment; from 90 on the rod was thrown about, with ten times its energy."""
    sim, rod, _ = twisted(turns, segments, 20, precision)
    between = 1.0 - 1.0 / segments
    stiffness = MATERIAL.stiffness[3]
    moments = sim.rod_loads(rod).moments
    assert moments[:, 0] == pytest.approx(np.full(segments - 1, stiffness * 2.0 * np.pi * turns / between), rel=1e-3)
    assert sim.energy().elastic == pytest.approx(0.5 * stiffness * (2.0 * np.pi * turns) ** 2 / between, rel=1e-3)


@precisions
@pytest.mark.parametrize("substeps", [5, 20, 60])
def test_a_rod_that_is_twisted_beyond_half_a_turn_a_segment_slips(substeps, precision):
    """It has less energy than what it was twisted with until it slipped, and comes to rest."""
    turns, segments = 30, 40
    sim, rod, moving = twisted(turns, segments, substeps, precision)
    # half a turn in each of its joints
    stiffness, between = MATERIAL.stiffness[3], 1.0 - 1.0 / segments
    most = 0.5 * stiffness * (np.pi * (segments - 1)) ** 2 / between
    assert moving < most
    assert sim.energy().elastic < most
    assert sim.energy().kinetic < 1e-3 * most
    assert np.abs(sim.rod_loads(rod).moments[:, 0]).max() <= stiffness * np.pi * segments * 1.001
