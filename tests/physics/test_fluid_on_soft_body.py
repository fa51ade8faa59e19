"""A fluid that shakes a soft body or a sheet is told as the simulation is built; with the substeps told it does not."""

import re
import warnings
from collections.abc import Callable

import numpy as np
import pytest

import shinari as sn


def tank(substeps: int) -> sn.Simulation:
    """Water on a soft block of its density in a tank."""
    scene = sn.Scene()
    scene.add_collider(sn.Box((0.25, 1, 0.25), inside=True), position=(0, 0.5, 0))
    vertices, tetrahedra = sn.lattice((7, 3, 7), 0.03)
    scene.add_soft_body(
        (vertices - vertices.mean(axis=0), tetrahedra),
        material=sn.SoftMaterial(density=1000, youngs_modulus=2e4, poissons_ratio=0.45),
        position=(0, 0.06, 0),
        name="block",
    )
    scene.add_fluid(sn.Box((0.21, 0.15, 0.21)), spacing=0.03, position=(0, 0.21, 0), name="water")
    return sn.Simulation(scene, substeps=substeps, threads=1)


def fastest(sim: sn.Simulation, steps: int, last: int) -> float:
    """Largest speed [m/s] of a particle in the last of so many steps."""
    speeds = []
    for _ in range(steps):
        sim.step()
        speeds.append(float(np.abs(sim.velocities(sim.scene.particle_objects[0].name)).max()))
    return max(speeds[-last:])


def shaken_and_calm(
    build: Callable[[int], sn.Simulation], substeps: int, message: str
) -> tuple[sn.Simulation, sn.Simulation]:
    """A simulation that is told with a message, and the one with the substeps of the message, which is not."""
    with pytest.warns(sn.FluidWarning, match=message) as told:
        shaken = build(substeps)
    enough = int(re.findall(r"take (\d+) substeps", str(told[0].message))[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return shaken, build(enough)


def test_water_on_a_soft_block_is_told_where_it_shakes_it():
    shaken, calm = shaken_and_calm(tank, 2, "'water' shakes the soft body 'block' .* take 7 substeps")
    # eight starts that differ by 1e-5 m give 3.9 to 6.0 and 0.9 to 1.6; a fall from the top of the water 2.2
    assert fastest(shaken, 24, 12) > 3.0
    assert fastest(calm, 24, 12) < 2.0


def hammock(substeps: int, held_by: str = "pins") -> sn.Simulation:
    """Water above a sheet of the default material, whose edges are pinned, or its corners attached to something."""
    scene, mesh = sn.Scene(), sn.grid(shape=(13, 13), size=(0.48, 0.48))
    sheet = scene.add_cloth(mesh, material=sn.ClothMaterial(thickness=0.01), name="sheet")
    corners = [0, 12, 156, 168]
    if held_by == "pins":
        sheet.pin(np.flatnonzero(np.abs(mesh[0][:, [0, 2]]).max(axis=1) > 0.23))
    if held_by == "a body":
        frame = scene.add_rigid_body(sn.Box((0.5, 0.01, 0.5)), position=(0, 0.6, 0), kinematic=True)
        scene.attach((sheet, corners), frame)
    for corner in corners if held_by == "ropes" else ():
        rope = scene.add_rope(sheet.positions[corner] + np.linspace((0, 0.4, 0), (0, 0, 0), 5))
        rope.pin(0)
        scene.attach((rope, 4), (sheet, corner))
    if held_by == "places":
        scene.attach((sheet, corners), sheet.positions[corners])
    scene.add_fluid(sn.Box((0.16, 0.16, 0.16)), spacing=0.04, position=(0.004, 0.13, 0.003), name="water")
    return sn.Simulation(scene, substeps=substeps, threads=1)


def excess(sim: sn.Simulation, steps: int) -> float:
    """How much faster than a fall from the top of the water a particle is in so many steps, at most [m/s]."""
    largest = 0.0
    for _ in range(steps):
        sim.step()
        fall = np.sqrt(2 * 9.81 * np.maximum(0.21 - sim.state.positions[:, 1], 0.0))
        largest = max(largest, float((np.linalg.norm(sim.state.velocities, axis=1) - fall).max()))
    return largest


@pytest.mark.parametrize("held_by", ["pins", "a body", "ropes", "places"])
@pytest.mark.parametrize("substeps", [5, 20])
def test_water_on_a_held_sheet_does_not_shake_it(substeps, held_by):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim = hammock(substeps, held_by)
    assert excess(sim, 60) < 5.0


def test_water_that_a_sheet_cannot_carry_is_told():
    with pytest.warns(sn.ContactWarning, match="'water' on 'sheet' is 106 times its mass.* take 3 substeps"):
        hammock(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim = hammock(3)
    assert excess(sim, 60) < 4.0


def test_a_sheet_that_has_lost_its_load_is_as_light_as_before():
    sim = hammock(10)
    sim.step(30)
    carried = sim.state.system_arrays["loads/carried"]
    assert carried[0] > 10.0 * sim.scene.particle_objects[0].masses.sum()
    sim.state.positions[169:, 1] += 50.0
    sim.step(75)
    assert (carried == 0.0).all()
    sheet = sim.scene["sheet"]
    sim.unpin(sheet, range(169))
    shares = sim.scene.particle_objects[0].masses / sim.scene.particle_objects[0].masses.sum()
    before = shares @ sim.velocities(sheet)[:, 1]
    sim.step(15)
    assert before - shares @ sim.velocities(sheet)[:, 1] == pytest.approx(9.81 * 0.25, rel=1e-4)


@pytest.mark.parametrize("apart", [True, False])
def test_a_fluid_apart_from_a_soft_body_or_that_ignores_it_is_not_told(apart):
    scene = sn.Scene()
    body = scene.add_soft_body(sn.lattice((2, 2, 2), 0.05), position=(1 if apart else 0, 0, 0))
    fluid = scene.add_fluid(sn.Box((0.1, 0.1, 0.1)), spacing=0.02, position=(0.05, 0.3, 0.05))
    if not apart:
        scene.ignore_contact(body, fluid)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sn.Simulation(scene, substeps=2, threads=1)
