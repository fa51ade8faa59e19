"""A device of hardware: memory, modules, launches and graphs by the interface of the driver.

The primary context of the device is used, which PyTorch and CuPy share. Launches that are the same as in the run before
are captured as one graph and launched at once; a driver that cannot capture launches them one by one.
"""

import ctypes
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from shinari.compute.cuda.api import BLOCK_ROWS, Launch
from shinari.compute.cuda.ptx import SYMBOL, ptx_of_all
from shinari.compute.cuda.words import FOLLOWS
from shinari.compute.kernels import Kernel
from shinari.compute.once import cached_property
from shinari.errors import DeviceError, LostDeviceError, MemoryLimitError

# CU_EVENT_DISABLE_TIMING and CU_STREAM_NON_BLOCKING.
NO_TIMES, BY_ITSELF = 2, 1

# Launches whose arguments are kept in memory: packing them takes ten times as long as a launch.
MOST_PACKED = 1 << 14

# Graphs that are kept; a program needs one for each of its segments.
MOST_GRAPHS = 256

# Errors after which all calls of a process fail.
LOST = (
    "ILLEGAL_ADDRESS", "LAUNCH_FAILED", "LAUNCH_TIMEOUT", "HARDWARE_STACK_ERROR", "ILLEGAL_INSTRUCTION",
    "MISALIGNED_ADDRESS", "INVALID_ADDRESS_SPACE", "INVALID_PC", "ECC_UNCORRECTABLE", "NVLINK_UNCORRECTABLE", "ASSERT",
    "CONTAINED", "CONTEXT_IS_DESTROYED", "DEINITIALIZED", "UNKNOWN",
)  # fmt: skip

# What to do about an error, by the end of its name.
ADVICE = {
    "UNSUPPORTED_PTX_VERSION": "The compiler is newer than the driver: update the driver, or install the NVVM of its "
    "CUDA version, such as 'nvidia-nvvm<=13.0.*'",
    "NO_BINARY_FOR_GPU": "The compiler does not know this GPU: install a newer nvidia-nvvm",
    "DEVICE_UNAVAILABLE": "Another process has this GPU for itself: end it, or set the compute mode to the default",
    "NOT_PERMITTED": "Another process has this GPU for itself: end it, or set the compute mode to the default",
    "NOT_INITIALIZED": "A process that was forked cannot use the GPU of its parent: start it with 'spawn'",
}


@lru_cache(maxsize=MOST_PACKED)
def packed(arguments: tuple[int, ...]) -> tuple[np.ndarray, int]:
    """Arguments of a launch in memory with pointers to them behind, and the address of these."""
    count = len(arguments)
    memory = np.zeros(2 * count, np.int64)
    begin = memory.ctypes.data
    memory[:count] = arguments
    memory[count:] = begin + 8 * np.arange(count)
    return memory, begin + 8 * count


class Driver:
    """Calls of the driver that raise where they fail.

    Args:
        api: The module `cuda.bindings.driver`.
    """

    def __init__(self, api: Any) -> None:
        self.api = api

    def call(self, function: str, *arguments: Any) -> Any:
        """Return values of a function of the driver, without its status.

        Raises:
            MemoryLimitError: The device has no more memory.
            LostDeviceError: The device has failed; every further call will.
            DeviceError: Anything else; the message has the name of the error.
        """
        try:
            status, *values = getattr(self.api, function)(*arguments)
        except RuntimeError as error:
            raise DeviceError(f"device: the driver has no {function}, update it: {_first_line(error)}") from error
        if int(status) == 0:
            return values[0] if len(values) == 1 else tuple(values)
        code = getattr(status, "name", str(status))
        if "OUT_OF_MEMORY" in code:
            raise MemoryLimitError(f"device: {function}: out of memory ({code}). Use a smaller scene, or device='cpu'.")
        name = code.removeprefix("CUDA_ERROR_")
        kind = LostDeviceError if name in LOST else DeviceError
        advice = f". {ADVICE[name]}." if name in ADVICE else ""
        raise kind(f"device: {function} failed with {code}{advice}")


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def first_device() -> "DriverDevice":
    """The first device.

    Raises:
        DeviceError: There is no driver, or no device.
    """
    try:
        api = import_module("cuda.bindings.driver")
    except ImportError as error:
        raise DeviceError(f"device: 'cuda': the bindings of the driver cannot be imported: {error}") from error
    driver = Driver(api)
    try:
        driver.call("cuInit", 0)
        count = driver.call("cuDeviceGetCount")
    except DeviceError as error:
        raise DeviceError(
            f"device: 'cuda': no driver of an NVIDIA GPU works here ({_first_line(error.__cause__ or error)}). "
            "NUMBA_ENABLE_CUDASIM=1 runs small scenes in the simulator."
        ) from error
    if count == 0:
        raise DeviceError("device: 'cuda': the driver finds no NVIDIA GPU; CUDA_VISIBLE_DEVICES may hide it")
    return DriverDevice(driver)


class DriverDevice:
    """The first device of the driver.

    Args:
        driver: The driver, initialised.
    """

    checked, block_rows = False, BLOCK_ROWS

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        number = driver.call("cuDeviceGet", 0)
        text = driver.call("cuDeviceGetName", 128, number)
        self.name = text.split(b"\0")[0].decode() if isinstance(text, bytes) else str(text)
        attribute = driver.api.CUdevice_attribute
        kinds = (
            attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        )
        self.capability = tuple(driver.call("cuDeviceGetAttribute", kind, number) for kind in kinds)
        self._context = driver.call("cuDevicePrimaryCtxRetain", number)
        self._entries: dict[tuple[Kernel, type], Any] = {}
        self._graphs: dict[Any, Any] = {}
        self._shapes: dict[tuple[int, ...], Any] = {}
        self._seen: set[Any] = set()
        self._can_capture = True
        self._process = os.getpid()

    @cached_property
    def stream(self) -> Any:
        """The stream of all launches and copies."""
        self._use()
        return self._driver.call("cuStreamCreate", 0)

    @cached_property
    def stream_beside(self) -> Any:
        """The stream of copies to the host that run beside launches."""
        self._use()
        return self._driver.call("cuStreamCreate", BY_ITSELF)

    def allocate(self, count: int) -> int:
        """Address of so many new bytes."""
        self._use()
        try:
            return int(self._driver.call("cuMemAlloc", count))
        except MemoryLimitError as error:
            free, total = self._driver.call("cuMemGetInfo")
            raise MemoryLimitError(
                f"device: out of memory: {count / 1e6:.1f} MB were asked for, {free / 1e6:.1f} of {total / 1e6:.1f} MB "
                "are free; other processes may have the rest. Use a smaller scene, or device='cpu'."
            ) from error

    def free(self, address: int) -> None:
        """Give memory back."""
        self._use()
        self._driver.call("cuMemFree", address)

    def upload(self, address: int, data: np.ndarray) -> None:
        """Copy bytes to the device."""
        self._use()
        # memory that is not locked is copied to the driver's own before this returns: the host may change it then
        self._driver.call("cuMemcpyHtoDAsync", address, data.ctypes.data, data.nbytes, self.stream)

    def download(self, address: int, data: np.ndarray) -> None:
        """Copy bytes from the device into an array; what was launched before is over."""
        self._use()
        self._driver.call("cuMemcpyDtoHAsync", data.ctypes.data, address, data.nbytes, self.stream)
        self._driver.call("cuStreamSynchronize", self.stream)

    def copy(self, target: int, source: int, count: int) -> None:
        """Copy bytes on the device."""
        self._use()
        self._driver.call("cuMemcpyDtoDAsync", target, source, count, self.stream)

    def lock(self, count: int) -> np.ndarray:
        """So many bytes of the host that the driver keeps in place, so that copies to them go on by themselves."""
        self._use()
        address = int(self._driver.call("cuMemAllocHost", count))
        return np.ctypeslib.as_array((ctypes.c_uint8 * count).from_address(address))

    def unlock(self, data: np.ndarray) -> None:
        """Give bytes of the host back."""
        self._use()
        self._driver.call("cuMemFreeHost", data.ctypes.data)

    def bring(self, address: int, data: np.ndarray) -> Any:
        """Begin to copy bytes to the host, after what was launched before and beside what follows."""
        self._use()
        call, beside = self._driver.call, self.stream_beside
        launched = self._mark(self.stream)
        call("cuStreamWaitEvent", beside, launched, 0)
        # the driver keeps it until it has come
        call("cuEventDestroy", launched)
        call("cuMemcpyDtoHAsync", data.ctypes.data, address, data.nbytes, beside)
        return self._mark(beside)

    def wait(self, copying: Any) -> None:
        """Wait until what `bring` began is there."""
        self._use()
        self._driver.call("cuEventSynchronize", copying)
        self._driver.call("cuEventDestroy", copying)

    def _mark(self, stream: Any) -> Any:
        """An event that comes when what a stream has been given so far is done."""
        event = self._driver.call("cuEventCreate", NO_TIMES)
        self._driver.call("cuEventRecord", event, stream)
        return event

    def synchronise(self) -> None:
        """Wait for all that was launched."""
        self._use()
        self._driver.call("cuStreamSynchronize", self.stream)

    def compile(self, kernels: list[tuple[Kernel, type]]) -> list[Any]:
        """Entries of kernels at a precision; modules are loaded once a process."""
        missing = [each for each in dict.fromkeys(kernels) if each not in self._entries]
        texts = self._ptx(missing)
        # the driver makes machine code of each, side by side
        with ThreadPoolExecutor(max(min(len(missing), os.cpu_count() or 1), 1)) as threads:
            self._entries.update(zip(missing, threads.map(self._load, texts), strict=True))
        return [self._entries[each] for each in kernels]

    def _load(self, text: str) -> Any:
        self._use()
        module = self._driver.call("cuModuleLoadData", text.encode() + b"\0")
        return self._driver.call("cuModuleGetFunction", module, SYMBOL.encode())

    def _ptx(self, kernels: list[tuple[Kernel, type]]) -> list[str]:
        try:
            return ptx_of_all(kernels, self.capability)  # type: ignore[arg-type]
        except AttributeError as error:
            if "module 'numpy'" not in str(error):
                raise
            # numba-cuda asks NumPy for what a newer one no longer has
            raise DeviceError(
                f"device: 'cuda': numba-cuda cannot be imported with NumPy {np.__version__}: {_first_line(error)}. "
                "Install a newer numba-cuda, or an older NumPy."
            ) from error
        except (RuntimeError, ImportError) as error:
            version = ".".join(map(str, self.capability))
            raise DeviceError(
                f"device: 'cuda': NVIDIA's compiler is missing, or does not know {self.name} (compute capability "
                f"{version}): {_first_line(error)}. pip install 'numba-cuda[cu13]' brings it, for 7.5 and newer."
            ) from error

    def launch(self, entry: Any, blocks: tuple[int, int], threads: tuple[int, int], arguments: tuple[int, ...]) -> None:
        """Run an entry after what was launched before."""
        _, pointers = packed(arguments)
        shape = *blocks, *threads
        if shape not in self._shapes:
            self._shapes[shape] = self._shape(blocks, threads)
        self._driver.call("cuLaunchKernelEx", self._shapes[shape], entry, pointers, 0)

    def _shape(self, blocks: tuple[int, int], threads: tuple[int, int]) -> Any:
        """How launches of so many blocks and threads go to the driver; they may come early where kernels wait."""
        api = self._driver.api
        shape = api.CUlaunchConfig()
        shape.gridDimX, shape.gridDimY, shape.gridDimZ = *blocks, 1
        shape.blockDimX, shape.blockDimY, shape.blockDimZ = *threads, 1
        shape.hStream = self.stream
        if self.capability >= FOLLOWS:
            early = api.CUlaunchAttribute()
            early.id = api.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
            early.value.programmaticStreamSerializationAllowed = 1
            shape.attrs, shape.numAttrs = [early], 1
        return shape

    def play(self, key: Any, launches: list[Launch]) -> None:
        """Run launches; the second time a key comes they are captured, and launched at once from then on."""
        self._use()
        if key is None or not self._can_capture:
            self._launch_all(launches)
        elif key in self._graphs:
            self._driver.call("cuGraphLaunch", self._graphs[key], self.stream)
        elif key not in self._seen:
            self._seen.add(key)
            self._launch_all(launches)
        else:
            self._capture(key, launches)

    def forget(self, key: Any) -> None:
        """Give the graph of a key back."""
        self._seen.discard(key)
        if key in self._graphs:
            self._driver.call("cuGraphExecDestroy", self._graphs.pop(key))

    def _capture(self, key: Any, launches: list[Launch]) -> None:
        # memory of other simulations may be given back meanwhile
        mode = self._driver.api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        try:
            self._driver.call("cuStreamBeginCapture", self.stream, mode)
            self._launch_all(launches)
            graph = self._driver.call("cuStreamEndCapture", self.stream)
            self._graphs[key] = self._driver.call("cuGraphInstantiate", graph, 0)
            self._driver.call("cuGraphDestroy", graph)
        except LostDeviceError:
            raise
        except (DeviceError, MemoryLimitError):
            # a driver without graphs, or no memory for one: nothing has run yet
            self._can_capture = False
            with suppress(DeviceError):
                self._driver.call("cuStreamEndCapture", self.stream)
            self._launch_all(launches)
            return
        while len(self._graphs) > MOST_GRAPHS:
            self.forget(next(iter(self._graphs)))
        self._driver.call("cuGraphLaunch", self._graphs[key], self.stream)

    def _launch_all(self, launches: list[Launch]) -> None:
        for each in launches:
            self.launch(*each)

    def _use(self) -> None:
        """Make the context that of this thread.

        Raises:
            DeviceError: This process was forked from the one that has the context.
        """
        if os.getpid() != self._process:
            raise DeviceError(f"device: 'cuda': {ADVICE['NOT_INITIALIZED'].lower()}")
        self._driver.call("cuCtxSetCurrent", self._context)
