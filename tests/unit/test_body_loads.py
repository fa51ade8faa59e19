"""Bodies on held sheets: what is too heavy is told, elastic sheets spring back, and steps depend on the state alone."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.errors import ContactWarning

SIZE = 0.6


def held(density: float, compliance: float = 1e-5, height: float = 0.001, sheet: float = 1.0) -> tuple:
    """A ball of 12 cm above a sheet of 16 x 16 cells that is held at its edges."""
    scene, mesh = sn.Scene(), sn.grid(shape=(17, 17), size=(SIZE, SIZE))
    material = sn.ClothMaterial(density=sheet, thickness=0.004, stretch_compliance=compliance)
    cloth = scene.add_cloth(mesh, material=material)
    cloth.pin(np.flatnonzero(np.abs(mesh[0][:, [0, 2]]).max(axis=1) > 0.499 * SIZE))
    body = scene.add_rigid_body(sn.Sphere(0.06), density=density, position=(0.0, 0.062 + height, 0.0))
    return scene, cloth, body


@pytest.mark.parametrize(("density", "substeps"), [(1000.0, 10), (8000.0, 5), (8000.0, 20), (100e3, 10)])
def test_a_load_that_a_sheet_cannot_carry_is_told(density: float, substeps: int) -> None:
    """The message says how many substeps are enough, and with these there is none."""
    with pytest.warns(ContactWarning, match="above 'cloth'.*take") as told:
        sn.Simulation(held(density, sheet=0.3)[0], substeps=substeps)
    enough = int(str(told[0].message).split("take ")[1].split()[0])
    assert enough > substeps
    with warnings.catch_warnings():
        warnings.simplefilter("error", ContactWarning)
        sn.Simulation(held(density, sheet=0.3)[0], substeps=enough)


@pytest.mark.parametrize(("ratio", "substeps"), [(1000.0, 10), (10000.0, 20)])
def test_a_load_that_a_sheet_carries_is_not_told(ratio: float, substeps: int) -> None:
    """A box of so many times the mass of a particle; with five times as much it is."""
    for factor, told in (1.0, False), (5.0, True):
        scene, _, _ = held(1.0)
        scene.add_rigid_body(sn.Box((0.12, 0.12, 0.12)), mass=factor * ratio * SIZE**2 / 256, position=(0, 0.3, 0))
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always", ContactWarning)
            sn.Simulation(scene, substeps=substeps)
        assert bool(found) == told


def test_a_load_beside_a_sheet_is_not_told() -> None:
    """Nor one that lies below it, or that ignores it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ContactWarning)
        for place in (2.0, 0.2, 0.0), (0.0, -0.5, 0.0):
            scene, _, _ = held(500.0)
            scene.add_rigid_body(sn.Sphere(0.06), density=1e6, position=place)
            sn.Simulation(scene, substeps=5)
        scene, cloth, body = held(1e6)
        scene.ignore_contact(cloth, body)
        sn.Simulation(scene, substeps=5)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_sheet_that_is_asked_to_be_elastic_springs_back(precision: str) -> None:
    """The energy of a fall from 10 cm brings a ball up again; a sheet that cannot stretch keeps it."""
    up = []
    for compliance in 1e-3, 0.0:
        scene, _, body = held(500.0, compliance, height=0.1)
        sim = sn.Simulation(scene, substeps=20, precision=precision)
        heights = []
        for _ in range(90):
            sim.step()
            heights.append(float(sim.pose(body)[0][1]))
        lowest = int(np.argmin(heights))
        up.append(max(heights[lowest:]) - heights[lowest])
    # of 0.1 m and the sag of 0.12 m
    assert up[0] > 0.15
    assert up[1] < 0.1


def test_a_resumed_run_goes_on_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    """Also while a load lies on a sheet, and on any number of threads."""
    ends = []
    for threads in 1, 2:
        scene, cloth, body = held(2000.0)
        sim = sn.Simulation(scene, substeps=10, threads=threads)
        sim.step(25)
        sim.save(tmp_path / "state.npz")
        sim.step(15)
        ends.append((sim.positions(cloth.name), sim.pose(body.name)[0]))
    again = sn.Simulation.load(tmp_path / "state.npz")
    again.step(15)
    ends.append((again.positions(cloth.name), again.pose(body.name)[0]))
    for points, place in ends[1:]:
        np.testing.assert_array_equal(points, ends[0][0])
        np.testing.assert_array_equal(place, ends[0][1])


@pytest.mark.parametrize("speed", [-0.5, 0.0, 0.5])
def test_a_sheet_that_is_carried_along_keeps_its_load_at_rest(speed: float) -> None:
    """Sweeps follow the speed of the load relative to what is pinned: on a lift it settles, too."""
    scene, cloth, body = held(1000.0)
    sim = sn.Simulation(scene, substeps=10)
    pins = np.flatnonzero(np.abs(sim.positions(cloth)[:, [0, 2]]).max(axis=1) > 0.499 * SIZE)
    sim.state.body_velocities = [[0.0, speed, 0.0]]
    sim.state.velocities = np.tile([0.0, speed, 0.0], (len(sim.state.velocities), 1))
    heights = []
    for step in range(90):
        sim.state.positions[pins, 1] = speed * (step + 1) / 60.0
        sim.step()
        heights.append(float(sim.pose(body)[0][1]) - speed * (step + 1) / 60.0)
    assert np.ptp(heights[60:]) < 0.01
