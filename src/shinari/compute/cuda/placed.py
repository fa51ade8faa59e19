"""Where programs of one or many worlds are on a device: addresses of words, tables of arguments, shapes of launches.

Programs that are played together have the same lines and kernels; what differs is where their records lie. A launch of
one world has the addresses as its arguments, one of many a table with a row for each world. Its blocks along the first
axis have other worlds, those along the second other items; neighbouring threads of a block have neighbouring items.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shinari.compute.cuda import words
from shinari.compute.cuda.api import Launch
from shinari.compute.cuda.constants import Constants
from shinari.compute.cuda.memory import owner_of
from shinari.compute.kernels import Kernel
from shinari.compute.program import Cell
from shinari.compute.records import Record

if TYPE_CHECKING:
    from shinari.compute.cuda.program import DeviceProgram

# Threads of a block; blocks of a launch whose number of items only the device knows: items are taken in strides.
THREADS, BLOCKS = 128, 1024
# Addresses of a launch in a world.
ADDRESSES = 5
# Most blocks along the second axis.
MOST_SECOND = 65535

STEERING = (
    words.set_word, words.copy_word, words.open_gate, words.close_gate, words.next_pass, words.stop_run,
    words.require_room,
)  # fmt: skip


def shape(items: int | None, worlds: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Blocks and threads for so many items, None if only the device knows how many, of each of some worlds."""
    if items is None:
        return (worlds, max(BLOCKS // worlds, 1)), (THREADS, 1)
    along = min(1 << (items - 1).bit_length(), THREADS)
    beside = min(THREADS // along, worlds)
    return (-(-worlds // beside), min(-(-items // along), MOST_SECOND)), (along, beside)


class Placed:
    """Programs of the same lines on a device.

    Args:
        programs: The programs, one for each world.

    Attributes:
        lines: Their lines.
        worlds: How many worlds there are.
        constants: Words that belong to them.
    """

    def __init__(self, programs: "Sequence[DeviceProgram]") -> None:
        first = programs[0]
        self.lines, self.worlds = first.recorded, len(programs)
        self.memory = first.device_memory
        self.constants = Constants(self.memory.device)
        self._programs = programs
        wanted = [(kernel, precision) for kernel, precision, _, _ in first.calls]
        there = [each for each in wanted if not self.is_on_host(each[0])]
        entries = dict(zip(there, self.memory.device.compile(there), strict=True))
        self._entries = [entries.get(each) for each in wanted]
        steering = self.memory.device.compile([(kernel, np.float32) for kernel in STEERING])
        self._steering: dict[Kernel, Any] = dict(zip(STEERING, steering, strict=True))
        self._rooms: dict[int, Record] = {
            id(record.addresses): record for program in programs for record in program.lists()
        }
        self._written = {id(owner_of(array)) for program in programs for array in program.arrays()}
        self._tables = [self._arguments(call) for call in range(len(wanted))]
        # all of them now: what has no copy on the device yet is brought there before the first launch
        self._words = [self._everywhere(number) for number in range(len(first.operands))]

    def is_on_host(self, kernel: Kernel) -> bool:
        """Whether the host runs a kernel. Of many worlds all have a thread of the device each."""
        return kernel.in_order and self.worlds == 1

    def kernel(self, line: list[int]) -> Kernel:
        """The kernel that a line launches."""
        return self._programs[0].calls[line[1]][0]

    def cell(self, number: int) -> Cell:
        """A cell or constant by its number; of the first world, if it is a cell."""
        return self._programs[0].operands[number]

    def word(self, number: int) -> np.ndarray:
        """Address of a cell or of a constant in each world, (W,)."""
        return self._words[number]

    def _everywhere(self, number: int) -> np.ndarray:
        cell = self.cell(number)
        if not isinstance(cell, tuple):
            return np.full(self.worlds, self.number(cell))
        return np.array([self._address(program, program.operands[number]) for program in self._programs], np.int64)

    def number(self, value: int) -> int:
        """Address of a constant."""
        return self.constants.constant(np.array([value], np.int64))

    def launch(self, line: list[int], control: np.ndarray, gate: np.ndarray) -> Launch:
        """The launch of a kernel, its gate and control given for each world."""
        _, call, _, begin, end, _ = line
        columns = control, gate, self._tables[call], self.word(begin), self.word(end)
        return self._launch(self._entries[call], self._items(begin, end), columns)

    def steer(self, kernel: Kernel, control: np.ndarray, gate: np.ndarray, *arguments: np.ndarray | int) -> Launch:
        """The launch of a kernel that steers; arguments are numbers or given for each world."""
        table = self._rows([np.broadcast_to(np.int64(value), self.worlds) for value in arguments])
        one = np.full(self.worlds, self.number(1))
        columns = control, gate, table, np.full(self.worlds, self.number(0)), one
        return self._launch(self._steering[kernel], 1, columns)

    def _launch(self, entry: Any, items: int | None, columns: Sequence[np.ndarray]) -> Launch:
        size = shape(items, self.worlds)
        if self.worlds == 1:
            return entry, *size, (*(int(column[0]) for column in columns), 0, 0)
        return entry, *size, (*ADDRESSES * [0], self.constants.constant(np.stack(columns, axis=1)), self.worlds)

    def _rows(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Addresses of rows of a table, one for each world."""
        table = np.stack(columns, axis=1).astype(np.int64)
        return self.constants.constant(table) + 8 * table.shape[1] * np.arange(self.worlds)

    def _arguments(self, call: int) -> np.ndarray:
        """Address of the arguments of a launch in each world, with the tables of records on the device."""
        tables = []
        for program in self._programs:
            _, _, arguments, table = program.calls[call]
            placed = table.copy()
            for k, value in enumerate(arguments):
                if isinstance(value, Record):
                    placed[k] = self.memory.table_of(value, program.owner)
            tables.append(placed)
        return self._rows(list(np.array(tables).T)) if len(tables[0]) else np.full(self.worlds, self.number(0))

    def _address(self, program: "DeviceProgram", cell: Any) -> int:
        array, index = cell
        if id(array) in self._rooms:
            return self.memory.table_of(self._rooms[id(array)], program.owner) + 8 * index
        return self.memory.cell(array, index, program.owner)

    def _items(self, begin: int, end: int) -> int | None:
        """Most items between two cells in a world; None if only the device knows."""
        most = 1
        for program in self._programs:
            cells = program.operands[begin], program.operands[end]
            # a cell may be part of a view
            if any(isinstance(cell, tuple) and id(owner_of(cell[0])) in self._written for cell in cells):
                return None
            first, last = (int(cell[0][cell[1]]) if isinstance(cell, tuple) else int(cell) for cell in cells)
            most = max(most, last - first)
        return most


Made = Callable[[], list[Launch]]
"""Makes the launches of a part of a program."""
