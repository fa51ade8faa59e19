"""Energy of rows that are not solved, of joints, and work from outside through copies, checkpoints and files."""

from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.io.results import MEASURES, MEASURES_0_1
from shinari.io.run_reader import open_cache
from shinari.output.recorder import Recorder

G = 9.81


def lifted(precision: str = "float64") -> sn.Simulation:
    """A particle that a rigid hand lifts by 0.1 m in one step."""
    scene = sn.Scene(gravity=(0, -G, 0))
    scene.add_particles([(0, 0, 0)], mass=2.0, name="ball")
    simulation = sn.Simulation(scene, dt=1 / 30, substeps=4, precision=precision)
    grab = simulation.grab("ball", 0, compliance=0.0)
    grab.target = (0.0, 0.1, 0.0)
    simulation.step()
    return simulation


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_stiff_sheet_stores_no_more_than_was_put_in(precision: str) -> None:
    """At one iteration 1/2 C^2 / compliance would be thousands of joules."""
    scene = sn.Scene(gravity=(0, 0, 0))
    material = sn.ClothMaterial(stretch_compliance=1e-9, damping=1e-3)
    cloth = scene.add_cloth(sn.grid(shape=(11, 11)), material=material, name="cloth")
    cloth.pin(list(range(11)))
    simulation = sn.Simulation(scene, substeps=5, precision=precision)
    grab = simulation.grab("cloth", 120, compliance=1e-3)
    for _ in range(10):
        grab.target = np.add(grab.target, (0.02, 0.0, 0.02))
        simulation.step()
    energy = simulation.energy()
    assert 0.0 < energy.elastic < energy.external_work < 100.0
    before = energy.total - energy.external_work
    grab.release()
    simulation.step(20)
    after = simulation.energy()
    assert after.external_work == energy.external_work
    assert after.total - after.external_work < before
    # what a user writes is a place, whatever forces acted before
    simulation.positions("cloth")[60] += (0.0, 0.01, 0.0)
    assert simulation.energy().elastic > 100.0


def test_before_the_first_step_the_positions_count() -> None:
    scene = sn.Scene(gravity=(0, 0, 0))
    pair = scene.add_particles([(0, 0, 0), (1.2, 0, 0)])
    scene.add_constraint("distance", [[0, 1]], rest_length=1.0, compliance=1e-3)
    simulation = sn.Simulation(scene, precision="float64")
    assert simulation.energy().elastic == pytest.approx(0.5 * 0.2**2 / 1e-3)
    assert len(pair) == 2


def test_joints_that_broke_and_rigid_ones_store_nothing() -> None:
    scene = sn.Scene(gravity=(0, -G, 0))
    for x, options in ((0.0, {"break_force": 5.0, "compliance": 1e-3}), (3.0, {})):
        box = scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), mass=2.0, position=(x, 0, 0))
        scene.add_joint("ball", box, anchor=(x, 0, 0), **options)  # type: ignore[arg-type]
    simulation = sn.Simulation(scene, threads=1)
    simulation.step(60)
    assert simulation.joint("joint").broken
    assert simulation.energy().elastic == 0.0


def test_gears_store_what_they_yield() -> None:
    scene = sn.Scene(gravity=(0, 0, 0))
    first = scene.add_rigid_body(None, mass=1.0, inertia=(0.1,) * 3, name="first", angular_velocity=(0, 0, 1.0))
    second = scene.add_rigid_body(None, mass=1.0, inertia=(0.1,) * 3, position=(1, 0, 0))
    for body, x in ((first, 0.0), (second, 1.0)):
        scene.add_joint("hinge", body, anchor=(x, 0, 0), axis=(0, 0, 1))
    scene.add_joint("gear", first, second, axis=(0, 0, 1), ratio=-1.0, angular_compliance=0.5)
    simulation = sn.Simulation(scene, threads=1, substeps=50)
    start, stored = simulation.energy().total, 0.0
    for _ in range(20):
        simulation.step()
        energy = simulation.energy()
        stored = max(stored, energy.elastic)
        assert energy.total == pytest.approx(start, rel=0.02)  # w^2 h t of implicit Euler
    assert stored == pytest.approx(0.5 * start, rel=0.05)  # the wheels turn as one: half of it is in the spring


def test_a_spring_stiffer_than_the_solver_stores_what_the_solver_holds() -> None:
    stored = []
    for compliance in (1e-20, 1e-14):
        scene = sn.Scene(gravity=(0, 0, 0))
        box = scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), mass=2.0)
        scene.add_joint("ball", box, anchor=(0, 0, 0), compliance=compliance)
        simulation = sn.Simulation(scene, threads=1)
        simulation.state.body_positions[0, 0] = 1e-3
        stored.append(simulation.energy().elastic)
    assert stored[0] == pytest.approx(stored[1])
    h = simulation.settings.substep
    assert stored[0] == pytest.approx(0.5 * 1e-6 * 2.0 * 1e6 / h**2)


def test_work_goes_with_the_state(tmp_path: Path) -> None:
    simulation = lifted()
    work = simulation.energy().external_work
    # force times displacement, the jerk of a rigid hand twice
    assert work == pytest.approx(2.0 * G * 0.1 + 2.0 * (0.1 * 30) ** 2, rel=1e-9)
    kept = simulation.state.copy()
    simulation._grabs[0].target = (0.0, 0.3, 0.0)
    simulation.step(3)
    assert simulation.energy().external_work > work
    simulation.restore(kept)
    assert simulation.energy().external_work == work
    pytest.importorskip("h5py", reason="h5py is not installed")
    simulation.save(tmp_path / "it.h5")
    assert sn.Simulation.load(tmp_path / "it.h5").energy().external_work == work


def test_a_step_that_diverges_does_no_work() -> None:
    simulation = lifted()
    work = simulation.energy().external_work
    simulation.state.velocities[0] = np.nan
    with pytest.raises(sn.DivergenceError):
        simulation.step()
    assert simulation.energy().external_work == work


def test_work_is_measured_and_files_of_older_versions_have_none(tmp_path: Path) -> None:
    simulation = lifted()
    found = simulation.energy()
    path = tmp_path / "run.npz"
    with Recorder(simulation, [path]) as recorder:
        recorder.record()
    with open_cache(path) as cache:
        assert cache.measures()[0, MEASURES.index("external_work")] == found.external_work
    with np.load(path) as file:
        arrays = dict(file)
    arrays["measures"], arrays["measure_names"] = arrays["measures"][:, :-1], np.array(MEASURES_0_1)
    old = tmp_path / "old.npz"
    np.savez(old, **arrays)
    with open_cache(old) as cache:
        (row,) = cache.measures()
        assert np.isnan(row[-1])
        assert row[:3].sum() == pytest.approx(found.total)
        assert np.array_equal(cache.frame(0).measures, row, equal_nan=True)
