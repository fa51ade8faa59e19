"""Loose particles and surfaces: those that are far are left out of contacts; loads that a sheet cannot carry."""

import numpy as np
import pytest

import shinari as sn
from shinari.systems.surface_contact.system import SurfaceContacts


@sn.function
def pull(x, v, m, t):
    """1e5 m/s^2 downwards."""
    return 0.0, -1e5 * m, 0.0


def shower(height: float, velocity: float = 0.0, precision: str = "float32", pulled: bool = False):
    """Balls above a sheet that is held everywhere; they pass through each other."""
    scene = sn.Scene()
    vertices, faces = sn.grid(size=(0.8, 0.8), shape=(9, 9))
    sheet = scene.add_cloth((vertices, faces), material=sn.ClothMaterial(thickness=0.004), name="sheet")
    sheet.pin(np.arange(len(vertices)))
    side = 0.05 * (np.arange(6) - 2.5)
    x = np.stack(np.meshgrid(side, [height], side, indexing="ij"), axis=-1).reshape(-1, 3)
    balls = scene.add_particles(x, velocity=(0, velocity, 0), radius=0.005, name="balls")
    if pulled:
        scene.add_force_field(pull)
    simulation = sn.Simulation(scene, substeps=10, precision=precision, threads=1)
    return simulation, balls, simulation._bound.get(SurfaceContacts)


def takes_part(contacts: SurfaceContacts) -> bool:
    """Whether loose particles took part at the end of the last step."""
    return bool(contacts._detection.detection.loose[0])


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_balls_are_left_out_until_they_come_near(precision):
    simulation, balls, contacts = shower(1.0, precision=precision)
    simulation.step()
    assert not takes_part(contacts)
    assert contacts._detection.detection.members[0] == 81
    while simulation.positions(balls)[:, 1].min() > 0.05:
        simulation.step()
    assert takes_part(contacts)
    simulation.step(60)
    assert simulation.positions(balls)[:, 1].min() > 0.0, "a ball has passed the sheet"


@pytest.mark.parametrize("speed", [10.0, 100.0, 300.0])
def test_fast_balls_are_not_missed(speed):
    simulation, balls, _ = shower(5.0, velocity=-speed)
    simulation.step(40)
    assert simulation.positions(balls)[:, 1].min() > 0.0


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_balls_that_come_near_in_the_middle_of_a_step_are_not_missed(precision):
    """At rest they are far; a force takes them past the sheet within a step."""
    simulation, balls, contacts = shower(2.0, precision=precision, pulled=True)
    simulation.step()
    assert takes_part(contacts)
    assert simulation.positions(balls)[:, 1].min() > 0.0
    simulation.step(3)
    assert simulation.positions(balls)[:, 1].min() > 0.0


def test_a_checkpoint_resumes_bit_by_bit(tmp_path):
    one, _, _ = shower(0.8)
    one.step(10)
    one.save(tmp_path / "shower.h5")
    again = sn.Simulation.load(tmp_path / "shower.h5")
    for simulation in (one, again):
        simulation.step(15)
    assert one.state == again.state


def loaded(substeps: int, cells: int = 30) -> sn.Simulation:
    """A sheet that is held at its edges, under 128 grains of 15 mm."""
    scene = sn.Scene()
    vertices, faces = sn.grid(size=(0.6, 0.6), shape=(cells + 1, cells + 1))
    sheet = scene.add_cloth((vertices, faces), material=sn.ClothMaterial(density=0.3), name="sheet")
    sheet.pin(np.flatnonzero(np.abs(vertices[:, [0, 2]]).max(axis=1) > 0.2999))
    side = 0.033 * (np.arange(8) - 3.5)
    layers = np.meshgrid(side, [0.025, 0.058], side, indexing="ij")
    scene.add_grains(np.stack(layers, axis=-1).reshape(-1, 3), radius=0.015, name="load")
    return sn.Simulation(scene, substeps=substeps, threads=1)


def test_a_load_that_a_sheet_cannot_carry_is_told():
    with pytest.warns(sn.ContactWarning, match="a grain of 'load' is 312 times .* 'sheet': .* take 16 substeps"):
        loaded(10)


@pytest.mark.parametrize(("substeps", "cells"), [(20, 30), (10, 15)])
def test_a_load_without_a_warning_rests(substeps, cells):
    simulation = loaded(substeps, cells)
    simulation.step(120)
    y = simulation.positions("load")[:, 1]
    assert y.min() > simulation.positions("sheet")[:, 1].min()
    assert simulation.energy().kinetic < 0.01 * 4.8 * 9.81 * 0.2
