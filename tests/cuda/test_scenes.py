"""Scenes of all systems that run on a GPU agree with the host, in the simulator of CUDA (`make cuda`)."""

import numpy as np
import pytest
from devices import in_simulator, on_device
from scenes import ITERATIVE, SCENES, assert_agree, start, tolerances

import shinari as sn
from shinari.systems.fluid.system import Fluid

# particles start beside and inside colliders of all shapes
pytestmark = [on_device, pytest.mark.filterwarnings("ignore::shinari.ContactWarning")]


@pytest.mark.parametrize("name", SCENES)
def test_device_agrees_with_host(name) -> None:
    host, device = (start(name, precision="float64", device=each) for each in ("cpu", "cuda"))
    for _ in range(3):
        host.step()
        device.step()
        assert len(host.contacts().positions) == len(device.contacts().positions)
    assert_agree(host, device)
    assert device.energy().total == pytest.approx(host.energy().total, rel=ITERATIVE if host.scene.bodies else 1e-9)
    assert device.residual().blocks.keys() == host.residual().blocks.keys()


@pytest.mark.parametrize("name", ["cloth_on_sphere", "rod", "fluid"])
def test_single_precision_agrees_within_its_roundings(name) -> None:
    host, device = (start(name, device=each) for each in ("cpu", "cuda"))
    for each in (host, device):
        each.step(2)
    assert_agree(host, device)


def test_scenes_have_contacts() -> None:
    """The scenes that are compared above have contacts on the host."""
    for name in ("cloth_on_sphere", "colliders", "mesh_collider", "particle_contact", "grains", "surface_contact"):
        simulation, most = start(name), 0
        for _ in range(3):
            simulation.step()
            most = max(most, len(simulation.contacts().positions))
        assert most > 0, name


def test_a_device_repeats_its_bits() -> None:
    first, second = (start("cloth_on_sphere", device="cuda") for _ in range(2))
    first.step(2)
    second.step(2)
    assert first.state == second.state


def test_grabs_hold_and_let_go() -> None:
    runs = [start("pins", precision="float64", device=each) for each in ("cpu", "cuda")]
    for each in runs:
        each.step()
        grab = each.grab(each.scene.particle_objects[0].name, 3, compliance=0.0)
        grab.target = np.add(grab.target, (0.0, 0.01, 0.0))
        each.step()
        grab.release()
        each.step()
    assert_agree(*runs)


def test_what_does_not_run_is_refused_by_name(monkeypatch) -> None:
    monkeypatch.setattr(Fluid, "on_device", False)
    with pytest.raises(sn.SceneError, match="simulation: device: Fluid: does not run on a GPU yet"):
        start("fluid", device="cuda")


def test_what_is_written_to_the_state_acts() -> None:
    runs = [start("pins", precision="float64", device=each) for each in ("cpu", "cuda")]
    for each in runs:
        each.step()
        each.state.velocities[2] = (0.0, 0.5, 0.0)
        each.state.positions[0] += (0.0, 0.01, 0.0)
        each.step()
    assert_agree(*runs)
    assert runs[1].state.positions[0, 1] == 0.01


@in_simulator
def test_others_read_and_write_the_state_on_the_device() -> None:
    """The simulator's memory is that of the host, so that NumPy reads it by DLPack."""
    runs = [start("pins", precision="float64", device=each) for each in ("cpu", "cuda")]
    for each in runs:
        each.step()
    there = runs[1].state.on_device("velocities")
    assert there.__cuda_array_interface__["shape"] == there.shape == (6, 3)
    assert there.__dlpack_device__()[1] == 0
    velocities = np.from_dlpack(there)
    assert velocities.ctypes.data == there.__cuda_array_interface__["data"][0]
    assert np.abs(velocities - runs[0].state.velocities).max() <= tolerances(runs[0])[1]
    values = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_double * 18).from_address(there.address)).reshape(6, 3)
    for each in (values, runs[0].state.velocities):
        each[2] = (0.0, 0.5, 0.0)
    for each in runs:
        each.step()
    assert_agree(*runs)
    with pytest.raises(sn.SceneError, match="device='cuda'"):
        runs[0].state.on_device("positions")


def test_states_are_copied_and_restored() -> None:
    device = start("pins", device="cuda")
    device.step()
    kept = device.state.copy()
    device.step()
    after = device.state.copy()
    device.restore(kept)
    assert device.state == kept
    device.step()
    assert device.state == after


def test_a_host_goes_on_where_a_device_was() -> None:
    host, device = (start("pins", precision="float64", device=each) for each in ("cpu", "cuda"))
    device.step(2)
    host.restore(device.state)
    host.step()
    device.step()
    assert_agree(host, device)


def test_divergence_is_told_and_the_last_good_state_stays() -> None:
    device = start("pins", device="cuda")
    device.step()
    good = device.state.positions.copy()
    device.state.velocities[2] = (1e38, 1e38, 0.0)
    with pytest.raises(sn.DivergenceError, match="frame 2"):
        device.step()
    assert np.array_equal(device.state.positions, good)
