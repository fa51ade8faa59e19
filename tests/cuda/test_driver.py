"""A device of hardware: what is asked of the driver, by a driver of the test; and what is said where there is none."""

import ctypes
import os
from types import SimpleNamespace

import numpy as np
import pytest

import shinari as sn
from shinari.compute.cuda import api as api_of_cuda
from shinari.compute.cuda import driver as drivers
from shinari.compute.cuda.driver import Driver, DriverDevice
from shinari.compute.cuda.words import set_word
from shinari.errors import LostDeviceError


class Recorder:
    """A driver that remembers its calls; some of them fail.

    Args:
        failing: Status by the name of a function.
    """

    CUdevice_attribute = SimpleNamespace(
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR=75, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR=76
    )
    CUstreamCaptureMode = SimpleNamespace(CU_STREAM_CAPTURE_MODE_RELAXED=2)
    CUlaunchConfig = SimpleNamespace
    CUlaunchAttributeID = SimpleNamespace(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION=6)
    CUlaunchAttribute = staticmethod(lambda: SimpleNamespace(value=SimpleNamespace()))

    def __init__(self, **failing):
        self.calls, self.failing = [], failing
        self.returned = {"cuDeviceGetName": b"Test\0\0", "cuDeviceGetAttribute": 9, "cuMemAlloc": 4096}
        self.returned["cuMemGetInfo"] = 1_500_000, 8_000_000

    def __getattr__(self, name):
        if not name.startswith("cu"):
            raise AttributeError(name)

        def call(*arguments):
            self.calls.append(name)
            return self.failing.get(name, 0), self.returned.get(name, name)

        return call

    def count(self, name):
        return self.calls.count(name)


class Status(int):
    """A status with a name, as the bindings return it."""

    def __new__(cls, name):
        status = super().__new__(cls, 2)
        status.name = name
        return status


def device(**failing):
    api = Recorder(**failing)
    return DriverDevice(Driver(api)), api


LAUNCHES = [("entry", (2, 1), (128, 1), (1, 2, 3, 4, 5))] * 3


def test_same_launches_become_one_graph() -> None:
    there, api = device()
    there.play("step", LAUNCHES)
    assert api.count("cuLaunchKernelEx") == 3
    there.play("step", LAUNCHES)
    assert api.count("cuStreamBeginCapture") == api.count("cuGraphLaunch") == 1
    for _ in range(5):
        there.play("step", LAUNCHES)
    assert api.count("cuGraphLaunch") == 6
    assert api.count("cuLaunchKernelEx") == 6
    there.forget("step")
    assert api.count("cuGraphExecDestroy") == 1


def test_launches_without_a_key_are_launched() -> None:
    there, api = device()
    for _ in range(3):
        there.play(None, LAUNCHES)
    assert api.count("cuLaunchKernelEx") == 9
    assert not api.count("cuStreamBeginCapture")


def test_a_driver_without_graphs_launches_one_by_one() -> None:
    there, api = device(cuStreamBeginCapture=Status("CUDA_ERROR_NOT_SUPPORTED"))
    for _ in range(3):
        there.play("step", LAUNCHES)
    assert api.count("cuLaunchKernelEx") == 9
    assert not api.count("cuGraphLaunch")


def test_errors_name_what_failed() -> None:
    there, _ = device(cuMemAlloc=Status("CUDA_ERROR_OUT_OF_MEMORY"))
    with pytest.raises(sn.MemoryLimitError, match=r"1000\.0 MB were asked for, 1\.5 of 8\.0 MB are free"):
        there.allocate(10**9)
    there, _ = device(cuStreamSynchronize=Status("CUDA_ERROR_LAUNCH_FAILED"))
    with pytest.raises(sn.DeviceError, match="cuStreamSynchronize failed with CUDA_ERROR_LAUNCH_FAILED"):
        there.download(4096, np.zeros(8, np.uint8))


def test_copies_beside_launches_wait_for_those_before_only() -> None:
    there, _ = device()
    seen = []

    def call(name, *arguments):
        seen.append((name, arguments))
        # an answer of its own for each call
        return f"{name} {len(seen)}"

    there._driver.call = call
    first = there.bring(64, np.zeros(16, np.uint8))
    there.wait(first)
    used = [(name, arguments) for name, arguments in seen if name != "cuCtxSetCurrent"]
    names = [name for name, _ in used]
    made = {f"{name} {k + 1}": name for k, (name, _) in enumerate(seen)}
    streams = [key for key, name in made.items() if name == "cuStreamCreate"]
    assert sorted((there.stream, there.stream_beside)) == sorted(streams)
    assert len(streams) == 2
    order = [
        "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuEventDestroy",
        "cuMemcpyDtoHAsync", "cuEventCreate", "cuEventRecord", "cuEventSynchronize", "cuEventDestroy",
    ]  # fmt: skip
    assert [name for name in names if name != "cuStreamCreate"] == order
    (launched, main), (done, beside) = [arguments for name, arguments in used if name == "cuEventRecord"]
    assert (main, beside) == (there.stream, there.stream_beside)
    assert dict(used)["cuStreamWaitEvent"] == (beside, launched, 0)
    assert dict(used)["cuMemcpyDtoHAsync"][1:] == (64, 16, beside)
    assert dict(used)["cuEventSynchronize"] == (done,) == (first,)


def test_locked_memory_is_that_of_the_driver() -> None:
    there, api = device()
    memory = np.arange(24, dtype=np.uint8)
    api.returned["cuMemAllocHost"] = memory.ctypes.data
    locked = there.lock(24)
    assert np.array_equal(locked, memory)
    assert locked.ctypes.data == memory.ctypes.data
    there.unlock(locked)
    assert api.calls[-1] == "cuMemFreeHost"
    api.failing = {"cuMemAllocHost": Status("CUDA_ERROR_OUT_OF_MEMORY")}
    with pytest.raises(sn.MemoryLimitError, match="cuMemAllocHost: out of memory"):
        there.lock(24)


@pytest.mark.parametrize(
    ("call", "code", "kind", "told"),
    [
        ("cuStreamSynchronize", "ILLEGAL_ADDRESS", LostDeviceError, "failed with CUDA_ERROR_ILLEGAL_ADDRESS"),
        ("cuMemcpyDtoHAsync", "UNSUPPORTED_PTX_VERSION", sn.DeviceError, "newer than the driver: update the driver"),
        ("cuMemcpyDtoHAsync", "DEVICE_UNAVAILABLE", sn.DeviceError, "Another process has this GPU for itself"),
    ],
)
def test_errors_say_what_to_do(call, code, kind, told) -> None:
    there, _ = device(**{call: Status(f"CUDA_ERROR_{code}")})
    with pytest.raises(kind, match=told):
        there.download(4096, np.zeros(8, np.uint8))


def test_a_forked_process_is_told() -> None:
    there, _ = device()
    there._process -= 1
    with pytest.raises(sn.DeviceError, match="start it with 'spawn'"):
        there.allocate(8)


@pytest.mark.parametrize("failing", ["cuLaunchKernelEx", "cuStreamEndCapture", "cuGraphInstantiate"])
def test_a_capture_that_fails_is_ended(failing) -> None:
    there, api = device()
    there.play("step", LAUNCHES)
    api.failing = {failing: Status("CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED")}
    if failing == "cuLaunchKernelEx":
        with pytest.raises(sn.DeviceError):
            there.play("step", LAUNCHES)
    else:
        there.play("step", LAUNCHES)
    assert api.count("cuStreamEndCapture") >= 1
    api.failing = {}
    before = api.count("cuLaunchKernelEx")
    there.play("step", LAUNCHES)
    assert api.count("cuLaunchKernelEx") == before + 3


@pytest.mark.parametrize(("capability", "early"), [((9, 0), True), ((8, 9), False)])
def test_launches_pass_shapes_and_the_addresses_of_their_arguments(capability, early) -> None:
    there, _ = device()
    there.capability = capability
    seen = []
    there._driver.call = lambda name, *arguments: seen.append((name, arguments))
    there.launch("entry", (7, 3), (32, 4), (10, 20))
    name, (shape, entry, pointers, extra) = seen[-1]
    assert (name, entry, extra) == ("cuLaunchKernelEx", "entry", 0)
    assert (shape.gridDimX, shape.gridDimY, shape.gridDimZ) == (7, 3, 1)
    assert (shape.blockDimX, shape.blockDimY, shape.blockDimZ) == (32, 4, 1)
    pointers = np.ctypeslib.as_array((ctypes.c_int64 * 2).from_address(pointers))
    assert [ctypes.c_int64.from_address(int(each)).value for each in pointers] == [10, 20]
    assert hasattr(shape, "attrs") == early
    if early:
        assert [each.value.programmaticStreamSerializationAllowed for each in shape.attrs] == [1]


def test_a_compiler_that_is_missing_or_too_new_for_the_gpu_is_told(monkeypatch) -> None:
    def fails(*_):
        raise RuntimeError("GPU compute capability 6.1 is not supported(requires >=7.5)")

    there, _ = device()
    there.capability = 6, 1
    monkeypatch.setattr(drivers, "ptx_of_all", fails)
    with pytest.raises(sn.DeviceError, match=r"Test \(compute capability 6.1\): .*requires >=7.5.*numba-cuda\[cu13\]"):
        there.compile([(set_word, np.float64)])
    monkeypatch.setattr(api_of_cuda, "device", lambda: there)
    assert api_of_cuda.status().startswith("Test, of no use: device: 'cuda': NVIDIA's compiler is missing")


def test_a_function_that_an_old_driver_lacks_is_told() -> None:
    def missing(*_):
        raise RuntimeError('Function "cuGraphInstantiateWithFlags" not found')

    there, api = device()
    vars(api)["cuGraphInstantiate"] = missing
    with pytest.raises(sn.DeviceError, match="the driver has no cuGraphInstantiate, update it: Function"):
        there._driver.call("cuGraphInstantiate")
    # steps go on without graphs
    for _ in range(3):
        there.play("step", LAUNCHES)
    assert api.count("cuLaunchKernelEx") == 12


def test_no_device_is_told(monkeypatch) -> None:
    def none(name):
        return Recorder(cuInit=Status("CUDA_ERROR_NO_DEVICE"))

    monkeypatch.setattr(drivers, "import_module", none)
    with pytest.raises(sn.DeviceError, match="'cuda': no driver of an NVIDIA GPU works here"):
        drivers.first_device()

    def library(*_):
        raise RuntimeError("the library of the driver is not there")

    monkeypatch.setattr(drivers, "import_module", lambda name: SimpleNamespace(cuInit=library))
    with pytest.raises(sn.DeviceError, match=r"works here \(the library of the driver is not there\)"):
        drivers.first_device()
    hidden = Recorder()
    hidden.returned["cuDeviceGetCount"] = 0
    monkeypatch.setattr(drivers, "import_module", lambda name: hidden)
    with pytest.raises(sn.DeviceError, match="finds no NVIDIA GPU"):
        drivers.first_device()


def test_the_extra_is_named(monkeypatch) -> None:
    from shinari.compute.cuda import api

    monkeypatch.setattr(api, "find_spec", lambda name: None)
    with pytest.raises(sn.MissingExtraError, match=r"pip install 'shinari\[cuda\]'"):
        api.compiler()


@pytest.mark.skipif(os.environ.get("NUMBA_ENABLE_CUDASIM") == "1", reason="the simulator is a device")
def test_simulations_say_what_is_missing() -> None:
    from shinari.compute.cuda.api import device, status

    try:
        device()
    except sn.ShinariError as error:
        assert status().startswith("none: ")
        scene = sn.Scene()
        scene.add_particles([(0, 0, 0)])
        with pytest.raises(type(error)):
            sn.Simulation(scene, device="cuda")
    else:
        pytest.skip("there is a GPU")


def test_unknown_devices_are_refused() -> None:
    scene = sn.Scene()
    scene.add_particles([(0, 0, 0)])
    with pytest.raises(sn.SceneError, match="device"):
        sn.Simulation(scene, device="tpu")
