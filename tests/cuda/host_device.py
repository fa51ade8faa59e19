"""A device whose memory is that of the process and whose kernels are those of the host.

Programs, memory and copies are those of a GPU, and the arithmetic is that of the host: results have the same bits.
"""

import ctypes

import numpy as np

from shinari.compute.cuda.placed import STEERING
from shinari.compute.cuda.words import load_word
from shinari.compute.object_files import load
from shinari.compute.program import ENTRY, Program


def memory_at(address: int, count: int) -> np.ndarray:
    return np.ctypeslib.as_array((ctypes.c_uint8 * count).from_address(address)) if count else np.zeros(0, np.uint8)


class HostDevice:
    """The device; it checks that nobody uses arrays that are old."""

    name, checked, block_rows = "host", True, Program.block_rows

    def __init__(self):
        self._memory = {}

    def allocate(self, count):
        raw = np.full(count + 64, 255, np.uint8)
        # like a GPU's, at a multiple of what rows need
        address = -(-raw.ctypes.data // 64) * 64
        self._memory[address] = raw
        return address

    def free(self, address):
        del self._memory[address]

    def upload(self, address, data):
        memory_at(address, len(data))[...] = data

    def download(self, address, data):
        data[...] = memory_at(address, len(data))

    def copy(self, target, source, count):
        memory_at(target, count)[...] = memory_at(source, count)

    def lock(self, count):
        return np.zeros(count, np.uint8)

    def unlock(self, data):
        pass

    def bring(self, address, data):
        """As late as it may be: a copy that is waited for when the next step has run."""
        return address, data

    def wait(self, copying):
        self.download(*copying)

    def synchronise(self):
        pass

    def forget(self, key):
        pass

    def compile(self, kernels):
        load([kernel.native(precision) for kernel, precision in kernels if kernel not in STEERING])
        return [each if each[0] in STEERING else ENTRY(each[0].native(each[1]).address) for each in kernels]

    def play(self, key, launches):
        for entry, _, _, arguments in launches:
            *row, table, count = arguments
            if count == 0:
                run(entry, row)
                continue
            for row in memory_at(table, 40 * count).view(np.int64).reshape(count, 5).tolist():
                run(entry, row)


def run(entry, row):
    """Run an entry with the addresses of a launch, for one world."""
    control, gate, table, begin, end = row
    if load_word(control) == 0 and load_word(gate) != 0:
        if isinstance(entry, tuple):
            arguments = memory_at(table, 8 * len(entry[0].parameters)).view(np.int64)
            entry[0].python_function(0, *arguments.tolist())
        elif load_word(begin) < load_word(end):
            entry(table, load_word(begin), load_word(end))
