"""A device in plain Python: the simulator of numba-cuda runs the bodies of kernels, a Python thread for each thread.

Its memory is memory of the process; addresses, tables and launches are those of hardware. An index outside of a record
raises, where hardware would write somewhere.
"""

import ctypes
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from shinari.compute.cuda.api import BLOCK_ROWS, Launch, compiler
from shinari.compute.cuda.words import load_word
from shinari.compute.entries import entry
from shinari.compute.kernels import Kernel
from shinari.compute.records import Record, Rows, concrete

# Threads and blocks of a launch: few, for each is a thread of Python; items are shared among them in strides.
THREADS, BLOCKS = 4, 2
# Worlds side by side in a block.
BESIDE = 2

# Among the globals of `_run` once it is made for a kernel.
cuda: Any
body: Any


class SimulatedDevice:
    """A device in plain Python."""

    name, checked, block_rows = "simulator of numba-cuda", True, BLOCK_ROWS

    def __init__(self) -> None:
        self._cuda = compiler()
        self._memory: dict[int, np.ndarray] = {}
        self._entries: dict[tuple[Kernel, type], Any] = {}

    def allocate(self, count: int) -> int:
        """Address of so many new bytes."""
        # what is not written is no number, as on hardware it may be
        memory = self._cuda.to_device(np.full(count, 255, np.uint8))._ary
        self._memory[memory.ctypes.data] = memory
        return memory.ctypes.data

    def free(self, address: int) -> None:
        """Give memory back."""
        del self._memory[address]

    def upload(self, address: int, data: np.ndarray) -> None:
        """Copy bytes to the device."""
        _bytes(address, len(data))[...] = data

    def download(self, address: int, data: np.ndarray) -> None:
        """Copy bytes from the device into an array."""
        data[...] = _bytes(address, len(data))

    def copy(self, target: int, source: int, count: int) -> None:
        """Copy bytes on the device."""
        _bytes(target, count)[...] = _bytes(source, count)

    def lock(self, count: int) -> np.ndarray:
        """So many bytes of the host."""
        return np.zeros(count, np.uint8)

    def unlock(self, data: np.ndarray) -> None:
        """They are given back by themselves."""

    def bring(self, address: int, data: np.ndarray) -> None:
        """Copy bytes from the device: nothing runs beside each other."""
        self.download(address, data)

    def wait(self, copying: None) -> None:
        """Nothing is under way."""

    def synchronise(self) -> None:
        """Nothing is under way."""

    def compile(self, kernels: list[tuple[Kernel, type]]) -> list[Any]:
        """Entries of kernels at a precision."""
        for each in kernels:
            if each not in self._entries:
                self._entries[each] = self._cuda.jit(_grid_loop(*each))
        return [self._entries[each] for each in kernels]

    def play(self, key: Any, launches: list[Launch]) -> None:
        """Run launches one after the other."""
        for each, blocks, threads, arguments in launches:
            beside = min(threads[1], BESIDE)
            worlds = blocks[0] * threads[1]
            each[(-(-worlds // beside), min(blocks[1], BLOCKS)), (min(threads[0], THREADS // beside), beside)](
                *arguments
            )

    def forget(self, key: Any) -> None:
        """Nothing is kept."""


def _bytes(address: int, count: int) -> np.ndarray:
    return np.ctypeslib.as_array((ctypes.c_uint8 * count).from_address(address)) if count else np.zeros(0, np.uint8)


def _grid_loop(kernel: Kernel, precision: type) -> Callable:
    """The entry of a kernel: one thread for each item, or as many as there are in strides."""
    body = entry(kernel, lambda k: _reader(kernel.parameters[k][1], precision, k))
    # the simulator replaces `cuda` among the globals of a function while it runs
    scope = {"cuda": compiler(), "body": body, "load_word": load_word, "np": np, "range": range}
    return FunctionType(_run.__code__, scope, kernel.name)


def _run(control: int, gate: int, arguments: int, begin: int, end: int, table: int, worlds: int) -> None:
    world = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y  # noqa: F821
    if worlds > 0:
        if world >= worlds:
            return
        control, gate, arguments, begin, end = (load_word(table + 8 * (5 * world + k)) for k in range(5))
    if load_word(control) != 0 or load_word(gate) == 0:
        return
    first = load_word(begin) + cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x  # noqa: F821
    with np.errstate(all="ignore"):
        for i in range(first, load_word(end), cuda.gridDim.y * cuda.blockDim.x):  # noqa: F821
            body(arguments, i, i + 1)  # noqa: F821


def _reader(kind: Any, precision: type, slot: int) -> Callable[[int], Any]:
    """Reads an argument of a launch from its table: a record as plain Python sees it, or a number."""
    if isinstance(kind, type) and issubclass(kind, Record):
        return lambda table: DeviceRecord(kind, precision, load_word(table + 8 * slot))
    dtype = concrete(kind, precision)
    return lambda table: _bytes(table + 8 * slot, dtype.itemsize).view(dtype)[0]


class DeviceRecord:
    """A record on the device as plain Python sees it in the body of a kernel."""

    def __init__(self, kind: type[Record], precision: type, table: int) -> None:
        self._kind, self._precision = kind, precision
        slots = len(kind.fields) + 1 + kind.rows_of_each * len(kind.fields)
        self._table = _bytes(table, 8 * slots).view(np.int64)

    def __getattr__(self, name: str) -> Rows:
        kind = self._kind
        if name not in kind.fields:
            raise AttributeError(f"{kind.__name__}: {name}: no such field; fields: {', '.join(kind.fields)}")
        k, declared = list(kind.fields).index(name), kind.fields[name]
        rows = int(self._table[len(kind.fields) + (1 + k) * kind.rows_of_each])
        dtype = concrete(declared.dtype, self._precision)
        shape = (rows, *declared.shape)
        count = int(np.prod(shape)) * dtype.itemsize
        self.__dict__[name] = Rows(_bytes(int(self._table[k]), count).view(dtype).reshape(shape))
        return self.__dict__[name]

    def __len__(self) -> int:
        return int(self._table[len(self._kind.fields)])
