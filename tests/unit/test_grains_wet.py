"""Wet grains: what is put in and refused, which pairs attract each other, and the same bits again."""

import numpy as np
import pytest

import shinari as sn
from shinari.systems.grains.bridges import RUPTURE, contact_force
from shinari.systems.particle_contact.records import CHUNK

RADIUS = 0.005


def pair(gap: float, *materials: sn.GrainMaterial) -> float:
    """Speed at which two grains come together in a substep of 0.1 ms [m/s]."""
    scene = sn.Scene(gravity=(0, 0, 0))
    for x, material in zip((0.0, 2.0 * RADIUS + gap), materials, strict=True):
        scene.add_grains([[x, 0.0, 0.0]], radius=RADIUS, material=material)
    simulation = sn.Simulation(scene, dt=1e-4, substeps=1, precision="float64", threads=1)
    simulation.step()
    first, second = simulation.state.velocities[:, 0]
    assert first == pytest.approx(-second, abs=1e-15)
    return float(first - second)


def test_the_drier_of_two_decides():
    dry, damp, wet = (sn.GrainMaterial(cohesion=c) for c in (0.0, 100.0, 800.0))
    gap = 0.1 * RADIUS
    assert pair(gap, dry, wet) == pair(gap, dry, dry) == 0.0
    assert pair(gap, damp, wet) == pytest.approx(pair(gap, damp, damp), rel=1e-12)
    assert pair(gap, wet, wet) == pytest.approx(8.0 * pair(gap, damp, damp), rel=1e-12)
    assert pair(1.01 * RUPTURE * RADIUS, wet, wet) == 0.0
    assert pair(0.99 * RUPTURE * RADIUS, wet, wet) > 0.0


def test_grains_that_touch_push_as_much_as_they_pull():
    wet = sn.GrainMaterial(cohesion=300.0)
    assert pair(0.0, wet, wet) == pytest.approx(0.0, abs=1e-9)


def test_grains_that_turn_are_drawn_together_too():
    wet, turning = sn.GrainMaterial(cohesion=300.0), sn.GrainMaterial(cohesion=300.0, rolling_friction=0.1)
    assert pair(0.1 * RADIUS, turning, turning) == pytest.approx(pair(0.1 * RADIUS, wet, wet), rel=1e-12)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, "wet", None])
def test_a_cohesion_is_a_number(value):
    with pytest.raises(sn.SceneError, match="GrainMaterial: cohesion"):
        sn.GrainMaterial(cohesion=value)


def test_wet_sand_is_a_preset():
    assert sn.GrainMaterial.preset("wet sand").cohesion == 1000.0
    assert sn.GrainMaterial.preset("sand").cohesion == 0.0


def test_substeps_that_are_too_few_are_warned_of():
    strength, mass = 1e4, 2650.0 * 4.0 / 3.0 * np.pi * RADIUS**3
    scene = sn.Scene()
    wet = sn.GrainMaterial(cohesion=strength)
    scene.add_grains([[0, 0, 0], [0, 3 * RADIUS, 0]], radius=RADIUS, material=wet)
    enough = np.ceil(np.sqrt(contact_force(strength, RADIUS) / mass / (0.25 * RADIUS)) / 60.0)
    with pytest.warns(sn.ContactWarning, match=f"cohesion: 10000 Pa .* at least {enough:.0f} substeps"):
        sn.Simulation(scene, substeps=4)
    sn.Simulation(scene, substeps=int(enough))


def heap(threads: int) -> sn.Simulation:
    scene = sn.Scene()
    wet = sn.GrainMaterial.preset("wet sand", cohesion=500.0)
    scene.add_grains(sn.Box((0.44, 0.3, 0.44)), radius=0.008, spread=0.2, position=(0.0, 0.15, 0.0), material=wet)
    scene.add_collider(sn.Plane(), friction=0.5)
    return sn.Simulation(scene, substeps=3, threads=threads)


def test_bits_do_not_depend_on_threads_or_on_a_pause(tmp_path):
    one, two = heap(1), heap(2)
    assert one.model.particle_count >= 4 * CHUNK, "a second thread would sleep"
    one.step(6)
    two.step(3)
    two.save(tmp_path / "heap.h5")
    two.step(3)
    assert one.state == two.state
    again = sn.Simulation.load(tmp_path / "heap.h5")
    again.step(3)
    assert again.state == one.state


def test_forces_are_those_of_contact_and_bridge():
    """A grain hangs from one that is held: the upper one carries it."""
    scene, density = sn.Scene(), 2650.0
    material = sn.GrainMaterial(cohesion=300.0, density=density)
    upper = scene.add_grains([[0.0, 0.0, 0.0]], radius=RADIUS, material=material)
    scene.add_grains([[0.0, -2.0 * RADIUS, 0.0]], radius=RADIUS, material=material)
    scene.pin(0)
    simulation = sn.Simulation(scene, substeps=8, precision="float64", threads=1)
    simulation.step(5)
    weight = density * 4.0 / 3.0 * np.pi * RADIUS**3 * 9.81
    assert simulation.forces(upper)[1] == pytest.approx(-weight, rel=1e-6)
