"""Soft bodies whose pins are moved by hundreds of their edges in one step."""

import numpy as np
import pytest

import shinari as sn

EDGE = 0.05


def moved(nu: float, modulus: float, away: float, back: bool, gravity: float, precision: str) -> list[float]:
    """Energies [J] after each of two seconds of steps, of a bar that is held at a side which was moved away [m]."""
    scene = sn.Scene(gravity=(0.0, -gravity, 0.0))
    material = sn.SoftMaterial(density=1000.0, youngs_modulus=modulus, poissons_ratio=nu)
    bar = scene.add_soft_body(sn.lattice((2, 2, 10), EDGE), material=material)
    bar.pin(np.flatnonzero(bar.positions[:, 0] < bar.positions[:, 0].min() + 0.5 * EDGE))
    sim = sn.Simulation(scene, precision=precision)
    sim.step(5)
    pins = sim.pinned(bar)
    sim.positions(bar)[pins, 0] += away
    if back:
        sim.step()
        sim.positions(bar)[pins, 0] -= away
    energies = []
    for _ in range(120):
        sim.step()
        energies.append(sim.energy().total)
    return energies


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(
    ("nu", "modulus", "away", "back", "gravity"),
    [(0.0, 1e5, 20.0, False, 9.81), (0.0, 1e5, 20.0, False, 0.0), (0.3, 1e5, 20.0, False, 0.0),
     (0.49, 1e5, 20.0, False, 0.0), (0.49, 1e5, 20.0, True, 9.81), (0.45, 1e6, 200.0, False, 9.81),
     (0.3, 1e5, 2.0, False, 9.81), (0.3, 1e6, 0.5, True, 9.81)],
)  # fmt: skip
def test_bodies_whose_pins_were_moved_far_gain_no_energy(nu, modulus, away, back, gravity, precision) -> None:
    """Once the pins are held, motion and strain share what they were given, and all of it is lost in time."""
    energies = moved(nu, modulus, away, back, gravity, precision)
    assert max(energies) == energies[0]
    # that of the weight: 5 kg within 0.5 m
    assert energies[-1] < 1e-3 * energies[0] + 5.0 * gravity * 0.5
