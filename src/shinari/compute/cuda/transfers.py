"""Arrays on their way to the host, beside the launches that follow.

Arrays are copied on the device first, into one block, which the next launches leave alone; the block then goes to
locked memory of the host while they run. A block belongs to its transfer until that is closed.
"""

import weakref
from contextlib import suppress
from typing import Any

import numpy as np

from shinari.compute.cuda.api import Device
from shinari.compute.cuda.memory import DeviceMemory

# Arrays begin at multiples of so many bytes in a block.
ALIGNMENT = 64


class _Block:
    """Memory on the device, and as much on the host that copies go to.

    Args:
        device: The device.
        size: Bytes of each.

    Raises:
        MemoryLimitError: There is not so much.
    """

    def __init__(self, device: Device, size: int) -> None:
        self.device, self.size = device, size
        self.address = device.allocate(size)
        try:
            self.data = device.lock(size)
        except MemoryError:
            device.free(self.address)
            raise

    def free(self) -> None:
        """Give both back."""
        self.device.unlock(self.data)
        self.device.free(self.address)


class Transfer:
    """Arrays as they were when it began.

    Args:
        owner: Who gets its block back.
        block: Its block; None: nothing is on its way.
        copying: What `Device.wait` takes.
        arrays: Arrays by name: parts of the block, and such as were on the host.
    """

    def __init__(self, owner: "Transfers", block: _Block | None, copying: Any, arrays: dict[str, np.ndarray]) -> None:
        self._owner, self._block, self._copying, self._arrays = owner, block, copying, arrays

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays by name, once they have arrived; theirs is the memory of the transfer, until it is closed.

        Raises:
            LostDeviceError: The device has failed meanwhile.
        """
        if self._block is not None and self._copying is not None:
            self._block.device.wait(self._copying)
            self._copying = None
        return self._arrays

    def close(self) -> None:
        """Nobody reads the arrays any more."""
        if self._block is not None:
            self._owner.free.append(self._block)
            self._block, self._arrays = None, {}

    def __del__(self) -> None:
        self.close()


class Transfers:
    """Brings arrays of a simulation to the host.

    Args:
        memory: Where they are.

    Attributes:
        free: Blocks that no transfer has.
    """

    def __init__(self, memory: DeviceMemory) -> None:
        self._memory = memory
        self.free: list[_Block] = []
        weakref.finalize(self, _give_back, self.free).atexit = False

    def begin(self, arrays: dict[str, np.ndarray]) -> Transfer:
        """Begin to bring arrays of the host over as they are now; those that are up to date are copied there.

        Where there is no memory for that they are fetched at once.
        """
        there = {name: array for name, array in arrays.items() if self._memory.is_newer(array)}
        found = {name: array.copy() for name, array in arrays.items() if name not in there}
        places, size = {}, 0
        for name, array in there.items():
            places[name] = size
            size += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        try:
            block = self._block(size) if size else None
        except MemoryError:
            return Transfer(self, None, None, found | {k: self._memory.fetch(a).copy() for k, a in there.items()})
        if block is None:
            return Transfer(self, None, None, found)
        for name, array in there.items():
            begin = places[name]
            block.device.copy(block.address + begin, self._memory.address_of(array), array.nbytes)
            found[name] = block.data[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
        return Transfer(self, block, block.device.bring(block.address, block.data[:size]), found)

    def _block(self, size: int) -> _Block:
        """A block that has room for so many bytes."""
        for block in self.free:
            if block.size >= size:
                self.free.remove(block)
                return block
        while self.free:
            # lists have grown
            self.free.pop().free()
        return _Block(self._memory.device, size)


def _give_back(blocks: list[_Block]) -> None:
    # a device that has failed takes nothing back
    with suppress(Exception):
        for block in blocks:
            block.free()
