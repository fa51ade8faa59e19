"""Frames of a simulation on a device that arrive while the next step runs: they are those of the moment they began."""

import gc
from dataclasses import fields
from time import sleep

import numpy as np
import pytest
from host_device import HostDevice
from scenes import SCENES, start

import shinari as sn
from shinari.api.moment import Moment
from shinari.compute.cuda import api
from shinari.errors import LostDeviceError
from shinari.io.frames import frame_of
from shinari.output.recorder import Recorder
from shinari.view.live_player import Runner

pytestmark = pytest.mark.filterwarnings("ignore::shinari.ContactWarning")
PATIENCE = 60.0


class Late(HostDevice):
    """A device whose copies to the host are made when they are waited for; it counts what it locks."""

    locked = waited = 0
    full = lost = False

    def lock(self, count):
        if self.full:
            raise sn.MemoryLimitError("device: out of memory")
        self.locked += 1
        return super().lock(count)

    def unlock(self, data):
        self.locked -= 1

    def wait(self, copying):
        if self.lost:
            raise LostDeviceError("device: cuEventSynchronize failed with CUDA_ERROR_ILLEGAL_ADDRESS")
        self.waited += 1
        super().wait(copying)

    def play(self, key, launches):
        if self.lost:
            raise LostDeviceError("device: cuLaunchKernel failed with CUDA_ERROR_ILLEGAL_ADDRESS")
        super().play(key, launches)


@pytest.fixture
def device(monkeypatch):
    there = Late()
    monkeypatch.setattr(api, "device", lambda: there)
    return there


def arrays_of(frame) -> dict:
    """What a frame holds, copied."""
    return {field.name: np.array(getattr(frame, field.name)) for field in fields(frame)}


def assert_same(first: dict, second: dict) -> None:
    for name, values in first.items():
        assert np.array_equal(values, second[name], equal_nan=True), name


@pytest.mark.parametrize("name", SCENES)
def test_a_moment_stays_what_it_was(name, device) -> None:
    """With what is drawn only, and with all that is measured."""
    simulation, fetched = (start(name, device="cuda") for _ in range(2))
    for each in (simulation, fetched):
        each.step(2)
    moments = [Moment(simulation, everything=each) for each in (False, True)]
    expected = [arrays_of(frame_of(fetched, each)) for each in (False, True)]
    simulation.step(2)
    for k, moment in enumerate(moments):
        assert moment.is_on_its_way
        assert_same(expected[k], arrays_of(frame_of(moment.simulation(), bool(k))))
    # it has changed nothing
    fetched.step(2)
    assert simulation.state == fetched.state


def test_moments_at_a_time_have_memory_of_their_own(device) -> None:
    simulation = start("cloth_on_sphere", device="cuda")
    moments, expected = [], []
    for _ in range(3):
        simulation.step()
        moments.append(Moment(simulation, everything=True))
        expected.append(simulation.state.positions.copy())
    for moment, positions in zip(moments, expected, strict=True):
        assert np.array_equal(moment.simulation().state.positions, positions)
    assert device.locked == 3
    del simulation, moment, moments
    gc.collect()
    assert device.locked == 0
    assert not device._memory


def test_a_recorder_needs_two_blocks(device, tmp_path) -> None:
    path = tmp_path / "a.npz"
    simulation = start("pins", device="cuda", dt=1 / 30)
    with Recorder(simulation, [path]) as recorder:
        recorder.record()
        for _ in range(6):
            simulation.step()
            recorder.record()
        assert device.locked == 2
        assert recorder.frames == 6  # that of the start, and all but the last one
    assert recorder.frames == device.waited + 1 == 7
    again = start("pins", device="cpu", dt=1 / 30)
    again.run(0.2, record=tmp_path / "b.npz")
    first, second = (dict(np.load(tmp_path / f"{each}.npz", allow_pickle=False)) for each in "ab")
    for name, values in first.items():
        if values.dtype.kind == "f":
            assert np.array_equal(values, second[name], equal_nan=True), name


def test_without_memory_frames_are_fetched_at_once(device) -> None:
    simulation = start("cloth_on_sphere", device="cuda")
    simulation.step(2)
    expected = arrays_of(frame_of(simulation))
    simulation.step(0)
    device.full = True
    moment = Moment(simulation, everything=False)
    simulation.step()
    assert_same(expected, arrays_of(frame_of(moment.simulation())))
    assert device.locked == device.waited == 0


def test_frames_before_a_failure_are_kept(device, tmp_path) -> None:
    simulation = start("pins", device="cuda", dt=1 / 30)
    recorder = Recorder(simulation, [tmp_path / "a.npz"])

    def run() -> None:
        with recorder:
            recorder.record()
            for _ in range(4):
                device.lost = simulation.state.frame == 3
                simulation.step()
                recorder.record()

    with pytest.raises(sn.DeviceError, match="failed in frame 4"):
        run()
    assert recorder.frames == 3  # the frame that was on its way is lost
    assert len(np.load(tmp_path / "a.partial.npz")["times"]) == 3


def test_a_last_frame_that_does_not_come_is_told(device, tmp_path) -> None:
    simulation = start("pins", device="cuda", dt=1 / 30)
    recorder = Recorder(simulation, [tmp_path / "a.npz"])
    recorder.__enter__()
    simulation.step()
    recorder.record()
    device.lost = True
    with pytest.raises(sn.DeviceError, match="cuEventSynchronize"):
        recorder.__exit__(None, None, None)


def test_a_runner_shows_its_last_frame_when_it_stops(device) -> None:
    runner = Runner(start("pins", device="cuda", dt=1e-3))
    try:
        runner.play().result(PATIENCE)
        while runner.steps < 20:
            sleep(0.01)
        runner.pause().result(PATIENCE)
        taken = runner.do(lambda simulation: (simulation.time, simulation.state.positions.copy())).result(PATIENCE)
        for _ in range(int(PATIENCE / 0.01)):
            if runner.latest().time == taken[0]:
                break
            sleep(0.01)
        assert runner.latest().time == taken[0]
        assert np.array_equal(runner.latest().positions, taken[1])
    finally:
        runner.close()
