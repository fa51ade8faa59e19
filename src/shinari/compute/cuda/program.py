"""A recorded program, played on a device.

The lines of a program become a list of launches with all loops unrolled. Conditions are words on the device, so Python
decides nothing while a step runs: a launch whose gate is closed does nothing. Python comes in where a list has no room
(the run is interrupted there, and goes on there), and where a loop has as many passes as a kernel says.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from shinari.compute.cuda.field_use import fields_of
from shinari.compute.cuda.memory import DeviceMemory, plain, raw
from shinari.compute.cuda.player import Player
from shinari.compute.kernels import Kernel
from shinari.compute.object_files import load
from shinari.compute.program import COPY, ENTRY, LAUNCH, LOOP, Cell, Program
from shinari.compute.records import Record


class DeviceProgram(Program):
    """A program whose records live on a device.

    Args:
        memory: The memory there.
        owner: Whose records they are, for `DeviceMemory.release`.
    """

    # enough threads for a GPU from some thousands of items on; see docs/decisions/gpu.md
    scan_chunk, most_parts = 64, 1024

    def __init__(self, memory: DeviceMemory, owner: object = None) -> None:
        super().__init__()
        self.device_memory, self.owner = memory, owner
        self.block_rows = memory.device.block_rows
        self.calls: list[tuple[Kernel, type, tuple, np.ndarray]] = []
        self.operands: list[Cell] = []
        self._player: Player | None = None

    def launch(
        self,
        kernel: Kernel,
        *arguments: Any,
        count: Cell | None = None,
        colours: Sequence[int] | np.ndarray | None = None,
        grain: int = 256,
    ) -> None:
        """Run a kernel for every index below a count, or colour after colour; see `Program.launch`."""
        table, precision = kernel.pack(arguments)
        if isinstance(count, int) and count == 0:
            return
        if (count is None) == (colours is None):
            raise TypeError(f"{kernel.name}: expected either a count or colours")
        self.calls.append((kernel, precision, arguments, table))
        number = len(self.calls) - 1
        if colours is None:
            self._line(LAUNCH, number, 0, self._cell(0), self._cell(count), grain, kernel.name)
            return
        offsets = np.ascontiguousarray(colours, np.int64)
        for k in range(len(offsets) - 1):
            cells = self._cell((offsets, k)), self._cell((offsets, k + 1))
            self._line(LAUNCH, number, 0, *cells, grain, kernel.name)

    @property
    def recorded(self) -> list[list[int]]:
        """The recorded lines; cells are numbers of `operands`."""
        return self._lines

    def prepare(self, *_: Program) -> None:
        """Compile all kernels."""
        if self._run is None:
            kernels = [(kernel, precision) for kernel, precision, _, _ in self.calls]
            self.device_memory.device.compile([each for each in kernels if not each[0].in_order])
            load([kernel.native(precision) for kernel, precision in kernels if kernel.in_order])
            self._run = self._play

    def run(self, threads: int = 1) -> bool:
        """Play the program; False when a `stop_if` ended it."""
        self.prepare()
        return self._run()

    def _play(self) -> bool:
        if self._player is None:
            self._player = Player([self])
        halts, errors = self._player.run(np.ones(1, bool))
        for error in errors.values():
            raise error
        return bool(halts[0] == 0)

    def signature(self) -> tuple:
        """What programs that are played together have in common: lines, kernels and constants."""
        constants = tuple(None if isinstance(cell, tuple) else int(cell) for cell in self.operands)
        kernels = tuple((kernel, precision) for kernel, precision, _, _ in self.calls)
        return tuple(map(tuple, self._lines)), kernels, constants

    def make_room(self, line: int) -> None:
        """Let the list of a line grow."""
        self.device_memory.fetch(self._lists[line][1][0])
        super().make_room(line)

    def run_on_host(self, line: int) -> None:
        """Run the kernel of a line on the host: what it reads is fetched, what it writes goes back before a launch."""
        memory = self.device_memory
        _, call, _, begin, end, _ = self._lines[line]
        kernel, precision, arguments, table = self.calls[call]
        for value, fields in zip(arguments, fields_of(kernel), strict=True):
            for name, is_written in fields.items():
                array = plain(value.arrays)[name]
                memory.fetch(array) if is_written else memory.read(array)
        first, stop = (self._number(self.operands[number]) for number in (begin, end))
        if first < stop:
            ENTRY(kernel.native(precision).address)(table.ctypes.data, first, stop)

    def _number(self, cell: Cell) -> int:
        return int(self.device_memory.read(cell[0])[cell[1]]) if isinstance(cell, tuple) else int(cell)

    def profile(self) -> list[tuple[str, str, float]]:
        """Nothing: launches on the device are not timed one by one."""
        return []

    def memory(self) -> int:
        """Bytes of all records that its kernels read or write."""
        return sum({array.ctypes.data: array.nbytes for array in self.arrays()}.values())

    def cells(self) -> list[np.ndarray]:
        """Arrays of counts and conditions, which may belong to records, too, each once."""
        return list({id(cell[0]): cell[0] for cell in self.operands if isinstance(cell, tuple)}.values())

    def records(self) -> list[Record]:
        """Records of all launches, each once."""
        found = {id(v): v for _, _, arguments, _ in self.calls for v in arguments if isinstance(v, Record)}
        return list(found.values())

    def arrays(self) -> list[np.ndarray]:
        """Arrays of the host that have copies which kernels may write."""
        numbers = [line[2] if line[0] == COPY else line[3] for line in self._lines if line[0] in (COPY, LOOP)]
        written = [cell[0] for number in numbers if isinstance(cell := self.operands[number], tuple)]
        return [array for record in self.records() for array in raw(record)] + written

    def _unread_cell(self) -> int:
        """A constant: the number of a pass that no kernel reads is not written, which saves a launch in each pass."""
        return self._cell(0)

    def _cell(self, value: Any) -> int:
        """Number of a cell, or of a constant."""
        if isinstance(value, tuple) and value[0].dtype != np.int64:
            raise TypeError(f"program: cell: got {value[0].dtype}; expected int64")
        self.operands.append(value)
        return len(self.operands) - 1
