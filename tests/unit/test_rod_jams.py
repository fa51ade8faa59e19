"""Rods that would jam where they are wound on themselves are told when a simulation is built."""

import math
import warnings

import numpy as np
import pytest

import shinari as sn


def rod_between(segments: int, clamps: list[int], self_collision: bool, modulus: float = 2e6) -> sn.Scene:
    """A rod of 0.6 m, of rubber."""
    scene = sn.Scene()
    points = np.linspace((0.0, 0.0, 0.0), (0.6, 0.0, 0.0), segments + 1)
    material = sn.RodMaterial(radius=0.004, youngs_modulus=modulus, poissons_ratio=0.3, density=1000.0)
    scene.add_rod(points, material=material, self_collision=self_collision, name="coil").clamp(clamps)
    return scene


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(("segments", "substeps", "iterations"), [(64, 10, 1), (64, 20, 1), (128, 20, 1), (64, 10, 4)])
def test_a_rod_that_would_jam_is_told_with_the_substeps_that_are_enough(segments, substeps, iterations, precision):
    """X = E h^2 / (32 k rho r l) falls to 0.12 at the substeps that it tells, and such a rod is not told."""
    options = {"precision": precision, "iterations": iterations}
    strain = 2e6 / (60.0 * substeps) ** 2 / (32.0 * iterations * 1000.0 * 0.004 * 0.6 / segments)
    enough = math.ceil(substeps * math.sqrt(strain / 0.12))
    scene = rod_between(segments, [0, segments - 1], self_collision=True)
    with pytest.warns(sn.ContactWarning, match=rf"rod 'coil' wants {enough} substeps in place of {substeps};"):
        sn.Simulation(scene, substeps=substeps, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sn.Simulation(scene, substeps=enough, **options)


@pytest.mark.parametrize(
    ("clamps", "self_collision", "modulus"), [([0], True, 2e6), ([0, 63], False, 2e6), ([0, 63], True, 2e11)]
)
def test_a_rod_that_is_not_wound_is_not_told(clamps, self_collision, modulus):
    """No turns can be put into it, or nobody can wind it around itself: it is of steel."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sn.Simulation(rod_between(64, clamps, self_collision, modulus), substeps=10)
