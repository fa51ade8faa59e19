"""The frame of contact detection: it follows what turns, and never shortens a distance by more than it says."""

import numpy as np
import pytest

import shinari as sn
from shinari.systems.surface_contact.affine_frame import STRETCH, inverse_of, is_too_long
from shinari.systems.surface_contact.system import SurfaceContacts


def moving_sheet(gradient: np.ndarray, drift: tuple[float, float, float], precision: str) -> sn.Simulation:
    """A sheet of 12 x 12 without weight that moves with a velocity gradient [1/s] and a mean velocity [m/s]."""
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    material = sn.ClothMaterial(thickness=0.005, density=0.2)
    scene.add_cloth(sn.grid(shape=(12, 12), size=(0.4, 0.4)), material=material, self_collision="triangles")
    simulation = sn.Simulation(scene, substeps=10, precision=precision)
    places = simulation.state.positions
    simulation.state.velocities[...] = (places - places.mean(axis=0)) @ gradient.T + np.array(drift)
    return simulation


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_frame_follows_a_sheet_that_flies_and_turns(precision):
    """About its normal at 4 rad/s: the gradient is the spin, and all pairs are found once a step."""
    spin = np.array([[0.0, 0.0, 4.0], [0.0, 0.0, 0.0], [-4.0, 0.0, 0.0]])
    simulation = moving_sheet(spin, (30.0, -5.0, 2.0), precision)
    simulation.step()
    surfaces = simulation._run.bound.get(SurfaceContacts)
    assert surfaces.detections == 1
    # the part that is added to the squares of the places makes it too small by a part in 500
    assert surfaces.detection.detection.gradient[0].reshape(3, 3) == pytest.approx(spin, abs=0.02)


def test_matrices_that_stretch_more_are_recognised():
    """Against singular values, for random matrices near a rotation."""
    rng, most = np.random.default_rng(3), float(STRETCH)
    found = 0
    for _ in range(500):
        turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        matrix = turn @ (np.eye(3) + rng.uniform(0.0, 0.06) * rng.normal(size=(3, 3)))
        if np.linalg.svd(matrix, compute_uv=False).max() > most:
            assert is_too_long.py_func(tuple(matrix.ravel()))
        else:
            found += not is_too_long.py_func(tuple(matrix.ravel()))
    assert found > 100


def test_frame_of_a_flow_that_goes_on_stands_still():
    """Places that move with constant velocities A x are where they were in the frame."""
    rng = np.random.default_rng(4)
    gradient, places, time = rng.normal(size=(3, 3)), rng.normal(size=(20, 3)), 0.02
    moved = places + time * places @ gradient.T
    inverse = np.array(inverse_of.py_func(tuple(gradient.ravel()), time)).reshape(3, 3)
    assert moved @ inverse.T == pytest.approx(places, abs=1e-12)
