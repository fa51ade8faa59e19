"""A recorded program, played on a device.

The lines of a program become a list of launches with all loops unrolled. Conditions are words on the device, so Python
decides nothing while a step runs: a launch whose gate is closed does nothing. Python comes in where a list has no room
(the run is interrupted there, and goes on there), and where a loop has as many passes as a kernel says.
"""

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from shinari.compute.cuda.api import Launch
from shinari.compute.cuda.memory import DeviceMemory, raw
from shinari.compute.cuda.unroll import STEERING, Placed, Unrolled
from shinari.compute.kernels import Kernel
from shinari.compute.program import LAUNCH, Cell, Program
from shinari.compute.records import Record


class DeviceProgram(Program):
    """A program whose records live on a device.

    Args:
        memory: The memory there.
    """

    def __init__(self, memory: DeviceMemory) -> None:
        super().__init__()
        self.device_memory = memory
        self.calls: list[tuple[Kernel, type, tuple, np.ndarray]] = []
        self.operands: list[Cell] = []
        self.targets: list[np.ndarray] = []
        self._player: _Player | None = None

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

    def prepare(self) -> None:
        """Compile all kernels, and give their records a place on the device."""
        if self._player is None:
            self._player = _Player(self)
            self._run = self._player.run

    def run(self, threads: int = 1) -> bool:
        """Play the program; False when a `stop_if` ended it."""
        self.prepare()
        return self._run()

    def make_room(self, line: int) -> None:
        """Let the list of a line grow."""
        self.device_memory.fetch(self._lists[line][1][0])
        super().make_room(line)

    def profile(self) -> list[tuple[str, str, float]]:
        """Nothing: launches on the device are not timed one by one."""
        return []

    def memory(self) -> int:
        """Bytes of all records that its kernels read or write."""
        return sum({array.ctypes.data: array.nbytes for array in self.arrays()}.values())

    def records(self) -> list[Record]:
        """Records of all launches, each once."""
        found = {id(v): v for _, _, arguments, _ in self.calls for v in arguments if isinstance(v, Record)}
        return list(found.values())

    def arrays(self) -> list[np.ndarray]:
        """Arrays of the host that have copies which kernels may write."""
        return [array for record in self.records() for array in raw(record)] + self.targets

    def _unread_cell(self) -> int:
        """A constant: the number of a pass that no kernel reads is not written, which saves a launch in each pass."""
        return self._cell(0)

    def _cell(self, value: Any) -> int:
        """Number of a cell, or of a constant."""
        if isinstance(value, tuple) and value[0].dtype != np.int64:
            raise TypeError(f"program: cell: got {value[0].dtype}; expected int64")
        self.operands.append(value)
        return len(self.operands) - 1


class _Player:
    """Plays a program.

    The launches up to the place where a loop has as many passes as a kernel says are a segment; most programs are one.
    """

    def __init__(self, program: DeviceProgram) -> None:
        self._program, self._memory = program, program.device_memory
        self._device = self._memory.device
        self._unrolled = Unrolled(program.recorded, program.operands, self._place(program))
        self._program.targets += self._unrolled.written_cells()
        self._static: list[Launch] | None = None
        # the device keeps the key, which must not keep the program and its memory alive
        self._key = object()
        weakref.finalize(self, self._device.forget, self._key)

    def _place(self, program: DeviceProgram) -> Placed:
        """Compile all kernels, and put records and arguments on the device."""
        wanted = [(kernel, precision) for kernel, precision, _, _ in program.calls]
        entries = self._device.compile(wanted + [(kernel, np.float32) for kernel in STEERING])
        tables = [self._arguments(arguments, table) for _, _, arguments, table in program.calls]
        steering = dict(zip(STEERING, entries[len(wanted) :], strict=True))
        rooms = {id(record.addresses): record for record in program.lists()}
        return Placed(self._memory, entries, tables, steering, rooms, [id(array) for array in program.arrays()])

    def _arguments(self, arguments: tuple, table: np.ndarray) -> int:
        """Address of the arguments of a launch, with the tables of records on the device."""
        placed = table.copy()
        for k, value in enumerate(arguments):
            if isinstance(value, Record):
                placed[k] = self._memory.table_of(value)
        return self._memory.constant(placed)

    def run(self) -> bool:
        """Play from the first line to the last; False if the run was stopped."""
        self._memory.before_run()
        self._unrolled.go_on()
        try:
            if self._static is not None:
                return self._issue(self._static, self._key)
            segment: list[Launch] = []
            for part in self._unrolled.parts():
                if part is not None:
                    segment += part
                elif self._issue(segment, None):
                    segment = []
                else:
                    return False
            if self._unrolled.is_static:
                self._static = segment
            return self._issue(segment, None)
        finally:
            self._memory.after_run(self._program.arrays())

    def _issue(self, segment: list[Launch], key: Any) -> bool:
        """Play launches, making room where they ask for it; False if they were stopped."""
        self._device.play(key, segment)
        while (halt := self._unrolled.halted()) > 0:
            place, line = self._unrolled.interrupts[halt - 1]
            self._memory.after_run(self._program.arrays())
            self._program.make_room(line)
            self._memory.before_run()
            self._unrolled.go_on()
            self._device.play(None, segment[place:])
        return halt == 0
