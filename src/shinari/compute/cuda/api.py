"""numba-cuda, chosen in one line, and the device that a simulation runs on.

`NUMBA_ENABLE_CUDASIM=1` gives the simulator, which runs kernels as plain Python and needs no GPU.
"""

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from shinari.compute.kernels import Kernel
from shinari.errors import MissingExtraError, ShinariError

PACKAGE, MODULE = "numba_cuda", "numba.cuda"
"""The package that brings the interface, and the module that it is: this line chooses between it and its successors."""


BLOCK_ROWS = 16
"""Rows that a thread of a GPU solves one after the other; see `Device`."""

Launch = tuple[Any, tuple[int, int], tuple[int, int], tuple[int, ...]]
"""A launch: entry, blocks along two axes, threads of a block along two axes, and arguments."""


class Device(Protocol):
    """Memory of a device, and launches on it. Addresses are integers.

    Attributes:
        name: Name, for people.
        block_rows: Rows that a thread solves one after the other: a GPU wants few, and many threads.
        checked: Whether arrays that are old on the host are made useless, to find who uses them.
    """

    name: str
    block_rows: int
    checked: bool

    def allocate(self, count: int) -> int:
        """Address of so many new bytes.

        Raises:
            MemoryLimitError: The device has no more.
        """
        ...

    def free(self, address: int) -> None:
        """Give memory back."""
        ...

    def upload(self, address: int, data: np.ndarray) -> None:
        """Copy bytes, (n,) uint8, to the device."""
        ...

    def download(self, address: int, data: np.ndarray) -> None:
        """Copy bytes from the device into an array, (n,) uint8; what was launched before is over."""
        ...

    def copy(self, target: int, source: int, count: int) -> None:
        """Copy bytes on the device, after what was launched before."""
        ...

    def lock(self, count: int) -> np.ndarray:
        """So many bytes of the host, (count,) uint8, that `bring` copies to.

        Raises:
            MemoryLimitError: The host has no more.
        """
        ...

    def unlock(self, data: np.ndarray) -> None:
        """Give bytes of the host back."""
        ...

    def bring(self, address: int, data: np.ndarray) -> Any:
        """Begin to copy bytes of the device into an array that `lock` gave, or its first part.

        It is done after what was launched before, and beside what is launched from now on.

        Returns:
            What `wait` takes.
        """
        ...

    def wait(self, copying: Any) -> None:
        """Wait until what `bring` began is there."""
        ...

    def synchronise(self) -> None:
        """Wait for all that was launched."""
        ...

    def compile(self, kernels: list[tuple[Kernel, type]]) -> list[Any]:
        """Entries of kernels at a precision, to be launched.

        The arguments of an entry are five addresses, of the word of control, of a gate, of the arguments of the kernel
        and of the words where its items begin and end; then, for many worlds, the address of a table with a row of such
        five for each, and the number of worlds, which is 0 for the five that are given.

        Raises:
            CompileError: A kernel does not compile.
        """
        ...

    def play(self, key: Any, launches: list[Launch]) -> None:
        """Run launches one after the other; the same key says that they are the same as before."""
        ...

    def forget(self, key: Any) -> None:
        """Give back what is kept for the launches of a key."""
        ...


def compiler() -> Any:
    """The module of numba-cuda.

    Raises:
        MissingExtraError: It is not installed.
    """
    if find_spec(PACKAGE) is None:
        raise MissingExtraError(
            "numba-cuda is not installed; it comes with the extra [cuda]: pip install 'shinari[cuda]'"
        )
    return import_module(MODULE)


def internal(name: str) -> Any:
    """A module of numba-cuda by its path in it, such as `"typing.templates"`."""
    return import_module(f"{MODULE}.{name}")


def is_simulated() -> bool:
    """Whether the simulator takes the place of hardware."""
    return bool(compiler().config.ENABLE_CUDASIM)


@cache
def device() -> Device:
    """The device that simulations run on: the first one of the driver, or the simulator.

    Raises:
        MissingExtraError: numba-cuda is not installed.
        DeviceError: There is no driver or no device.
    """
    if is_simulated():
        from shinari.compute.cuda.simulator import SimulatedDevice

        return SimulatedDevice()
    from shinari.compute.cuda.driver import first_device

    return first_device()


def status() -> str:
    """One line for people: the device and whether kernels compile for it, or the reason why there is none."""
    try:
        there = device()
    except ShinariError as error:
        return f"none: {error}"
    from shinari.compute.cuda.words import set_word

    try:
        there.compile([(set_word, np.float64)])
    except ShinariError as error:
        return f"{there.name}, of no use: {error}"
    return there.name
