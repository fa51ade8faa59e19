"""A GPU without memory, or one that fails: the state that is left, and what is said. Kernels are those of the host."""

import gc

import numpy as np
import pytest
from host_device import HostDevice
from scenes import start

import shinari as sn
from shinari.compute.cuda import api
from shinari.errors import LostDeviceError
from shinari.solver import device_state

pytestmark = pytest.mark.filterwarnings("ignore::shinari.ContactWarning")


class Failing(HostDevice):
    """A device that fails for good, or has no more memory, when it is told to."""

    lost = full = False

    def allocate(self, count):
        if self.full:
            raise sn.MemoryLimitError("device: out of memory")
        return super().allocate(count)

    def _answer(self):
        if self.lost:
            raise LostDeviceError("device: cuStreamSynchronize failed with CUDA_ERROR_ILLEGAL_ADDRESS")

    def free(self, address):
        self._answer()
        super().free(address)

    def upload(self, address, data):
        self._answer()
        super().upload(address, data)

    def download(self, address, data):
        self._answer()
        super().download(address, data)

    def play(self, key, launches):
        self._answer()
        super().play(key, launches)


@pytest.fixture
def device(monkeypatch):
    there = Failing()
    monkeypatch.setattr(api, "device", lambda: there)
    return there


def test_the_last_state_on_the_host_is_left_when_a_device_fails(device, monkeypatch, tmp_path) -> None:
    pytest.importorskip("h5py")
    monkeypatch.setattr(device_state, "KEEP_EVERY", 0.0)
    host, simulation = start("bodies", device="cpu"), start("bodies", device="cuda")
    host.step(3)
    simulation.step(3)
    device.lost = True
    for _ in range(2):
        with pytest.raises(sn.DeviceError, match=r"failed in frame 4: .*ILLEGAL_ADDRESS|failed before") as told:
            simulation.step()
        assert "The state is that of frame 3" in str(told.value)
    assert simulation.state.frame == 3
    assert np.array_equal(simulation.state.body_positions, host.state.body_positions)
    assert simulation.energy() == host.energy()
    simulation.save(tmp_path / "c.vtkhdf")
    # as in a new process
    device.lost = False
    again = sn.Simulation.load(tmp_path / "c.vtkhdf")
    assert again.state.frame == 3


def test_a_state_is_kept_only_now_and_then(device) -> None:
    simulation = start("pins", device="cuda")
    good = simulation.state.positions.copy()
    simulation.step(2)
    device.lost = True
    with pytest.raises(sn.DeviceError, match=r"frame 3: .* The state is that of frame 0"):
        simulation.step()
    assert np.array_equal(simulation.state.positions, good)


def test_a_step_without_memory_leaves_the_state_before_it(device) -> None:
    """A list has no room: the simulation goes on when there is memory again."""
    host, simulation = start("particle_contact", device="cpu"), start("particle_contact", device="cuda")
    device.full = True
    failed = 0
    for _ in range(6):
        host.step()
        before = simulation.state.positions.copy()
        try:
            simulation.step()
        except sn.MemoryLimitError:
            failed += 1
            device.full = False
            assert np.array_equal(simulation.state.positions, before)
            simulation.step()
        assert np.array_equal(simulation.state.positions, host.state.positions)
    assert failed == 1


def test_memory_is_given_back_with_the_simulation(device) -> None:
    simulation = start("cloth_on_sphere", device="cuda")
    simulation.step(3)
    assert device._memory
    del simulation
    gc.collect()
    assert not device._memory


def test_what_lasts_is_kept_on_the_device(device) -> None:
    """Undoing a step costs no copy to the host."""
    simulation = start("breaking_attachment", device="cuda")
    simulation.step(2)
    memory = simulation._run._device.memory
    copied = memory.copied[1]
    simulation.step(2)
    assert memory.copied[1] == copied


def test_an_interrupted_step_is_undone_to_the_bit(device, monkeypatch) -> None:
    simulation, other = (start("breaking_attachment", device="cuda") for _ in range(2))
    simulation.step(2)
    other.step(2)
    bound = simulation._bound

    def interrupted(*arguments) -> None:
        type(bound).advance(bound, *arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(bound, "advance", interrupted)
        with pytest.raises(KeyboardInterrupt):
            simulation.step()
    assert simulation.state == other.state
    simulation.step(3)
    other.step(3)
    assert simulation.state == other.state


def two_worlds() -> list[sn.Worlds]:
    """Worlds on the host and on the device, in which a rope hangs under gravities of its own."""
    scene = sn.Scene()
    scene.add_rope(np.array([[0.1 * k, 0, 0] for k in range(5)])).pin([0])
    vary = {"gravity": [(0, -9.81, 0), (0, -1.62, 0)]}
    return [sn.Worlds(scene, 2, vary=vary, substeps=2, device=each) for each in ("cpu", "cuda")]


def test_worlds_keep_the_last_states_on_the_host_when_a_device_fails(device, monkeypatch) -> None:
    monkeypatch.setattr(device_state, "KEEP_EVERY", 0.0)
    host, worlds = two_worlds()
    for each in (host, worlds):
        each.step(2)
        each.step(mask=[1])
    # they are copied when steps begin
    worlds.step(mask=[0])
    device.lost = True
    for _ in range(2):
        with pytest.raises(sn.DeviceError, match=r"worlds: step: .*(ILLEGAL_ADDRESS|failed before)") as told:
            worlds.step()
        assert "The states are those of frames 2 to 3" in str(told.value)
    assert np.array_equal(worlds.state.positions, host.state.positions)
    assert np.array_equal(worlds.times, host.times)


def test_worlds_without_memory_on_the_device_keep_their_states(device) -> None:
    """Also where it is missing for all of them: they go on when there is memory again."""
    host, worlds = two_worlds()
    before = worlds.state.positions.copy()
    device.full = True
    with pytest.raises(sn.MemoryLimitError):
        worlds.step(3)
    assert np.array_equal(worlds.state.positions, before)
    device.full = False
    for each in (host, worlds):
        each.step(3)
    assert np.array_equal(worlds.state.positions, host.state.positions)
