"""Words on a device that belong to one player: constants, tables of addresses, and what steers a program."""

import weakref
from contextlib import suppress

import numpy as np

from shinari.compute.cuda.api import Device


class Constants:
    """Words on a device; they are given back when nobody has this any more.

    Args:
        device: The device.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._known: dict[bytes, int] = {}
        self._addresses: list[int] = []
        weakref.finalize(self, _give_back, device, self._addresses).atexit = False

    def words(self, count: int) -> int:
        """Address of so many new int64."""
        self._addresses.append(self._device.allocate(8 * max(count, 1)))
        return self._addresses[-1]

    def constant(self, values: np.ndarray) -> int:
        """Address of int64 that never change."""
        key = np.ascontiguousarray(values, np.int64).tobytes()
        if key not in self._known:
            address = self.words(values.size)
            self.write(address, values)
            self._known[key] = address
        return self._known[key]

    def write(self, address: int, values: np.ndarray) -> None:
        """Write int64 to the device."""
        if values.size:
            self._device.upload(address, np.ascontiguousarray(values, np.int64).reshape(-1).view(np.uint8))

    def read(self, address: int, count: int) -> np.ndarray:
        """Int64 of the device, (count,), after all that was launched."""
        values = np.zeros(count, np.int64)
        self._device.download(address, values.view(np.uint8))
        return values


def _give_back(device: Device, addresses: list[int]) -> None:
    # a device that has failed takes nothing back
    with suppress(Exception):
        for address in addresses:
            device.free(address)
