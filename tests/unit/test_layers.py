"""Bodies on layers of sheets on the ground: what layers pass on is told, and steps depend on the state alone."""

from pathlib import Path

import numpy as np
import pytest

import shinari as sn

THICKNESS, SIZE, STEPS = 0.003, 0.3, 30


def stack(layers: int, density: float = 4000.0) -> tuple:
    """A box on some sheets, each of them a little beside the one below."""
    scene = sn.Scene()
    ground = scene.add_collider(sn.Plane(), friction=0.5)
    material = sn.ClothMaterial(density=1.0, thickness=THICKNESS, friction=0.5)
    mesh = sn.grid(shape=(13, 13), size=(SIZE, SIZE))
    sheets = [
        scene.add_cloth(
            mesh, material=material, self_collision="triangles", position=(0.004 * k, THICKNESS * (k + 0.5), 0.003 * k)
        )
        for k in range(layers)
    ]
    place = 0.01, layers * THICKNESS + 0.0225, 0.013
    body = scene.add_rigid_body(sn.Box((0.06, 0.045, 0.075)), density=density, position=place, friction=0.5)
    return scene, ground, sheets, body


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_forces_go_down_through_the_layers(precision: str) -> None:
    """Contacts carry each sheet by its weight, the body by its own, and the ground has all of it."""
    scene, ground, sheets, body = stack(3)
    sim = sn.Simulation(scene, substeps=10, precision=precision)
    sim.step(STEPS)
    told: dict[str, list[float]] = {"ground": [], "body": [], **{sheet.name: [] for sheet in sheets}}
    for _ in range(STEPS):
        sim.step()
        for name, handle in ("ground", ground), ("body", body), *((sheet.name, sheet) for sheet in sheets):
            told[name].append(float(sim.forces(handle)[1]))
    weight, sheet = 9.81 * 4000.0 * 0.06 * 0.045 * 0.075, 9.81 * SIZE**2
    # rows between layers leave a thousandth of a gap, which comes out as a shiver of a percent
    assert np.mean(told["body"]) == pytest.approx(weight, rel=0.005)
    assert np.mean(told["ground"]) == pytest.approx(-weight - 3.0 * sheet, rel=0.02)
    for each in sheets:
        # of what goes through a sheet, above and below it
        assert np.mean(told[each.name]) == pytest.approx(sheet, abs=0.02 * weight)


def test_a_resumed_run_goes_on_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    """Also on any number of threads."""
    ends = []
    for threads in 1, 2:
        scene, _, sheets, body = stack(3)
        sim = sn.Simulation(scene, substeps=5, threads=threads)
        sim.step(10)
        sim.save(tmp_path / "state.npz")
        sim.step(10)
        ends.append([sim.pose(body.name)[0], *(sim.positions(sheet.name) for sheet in sheets)])
    again = sn.Simulation.load(tmp_path / "state.npz")
    again.step(10)
    ends.append([again.pose("body")[0], *(again.positions(sheet.name) for sheet in sheets)])
    for end in ends[1:]:
        for found, expected in zip(end, ends[0], strict=True):
            np.testing.assert_array_equal(found, expected)
