"""The lines of a program as a list of launches, with all loops unrolled and conditions turned into gates."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from shinari.compute.cuda import words
from shinari.compute.cuda.api import Launch
from shinari.compute.cuda.memory import DeviceMemory
from shinari.compute.kernels import Kernel
from shinari.compute.program import COPY, LAUNCH, LOOP, REQUIRE, STOP, UNTIL, WHEN, Cell
from shinari.compute.records import Record

# Threads of a block; blocks of a launch whose number of items only the device knows: items are taken in strides.
THREADS, BLOCKS = 128, 1024

# Launches that do nothing because a condition does not hold, at most; before more of them Python reads it.
MOST_IDLE = 32

STEERING = (words.set_word, words.copy_word, words.open_gate, words.close_gate, words.stop_run, words.require_room)


@dataclass
class Placed:
    """Addresses and entries of a program on the device.

    Attributes:
        memory: The memory.
        entries: Entry of each call.
        tables: Address of the arguments of each call.
        steering: Entries of the kernels that steer.
        rooms: Records that may grow, by the identity of their table of addresses.
        arrays: Identities of arrays that kernels may write.
    """

    memory: DeviceMemory
    entries: list[Any]
    tables: list[int]
    steering: dict[Kernel, Any]
    rooms: dict[int, Record]
    arrays: list[int]

    def word(self, cell: Cell) -> int:
        """Address of a cell or of a constant."""
        if not isinstance(cell, tuple):
            return self.memory.constant(np.array([cell], np.int64))
        array, index = cell
        if id(array) in self.rooms:
            return self.memory.table_of(self.rooms[id(array)]) + 8 * index
        return self.memory.cell(array, index)

    def blocks(self, begin: Cell, end: Cell) -> tuple[int, int]:
        """Blocks and threads for the items between two cells."""
        cells = [cell for cell in (begin, end) if isinstance(cell, tuple)]
        if any(id(array) in self.arrays for array, _ in cells):
            return BLOCKS, THREADS
        first, last = (int(cell[0][cell[1]]) if isinstance(cell, tuple) else int(cell) for cell in (begin, end))
        items = max(last - first, 1)
        return (1, 1) if items == 1 else (-(-items // THREADS), THREADS)


class Unrolled:
    """The launches of a program.

    A short part whose condition does not hold is launched and does nothing. Before a long one the segment ends, and
    Python reads whether it runs: that takes about as long as a few tens of launches that do nothing.

    Args:
        lines: The lines; cells are numbers.
        cells: The cells.
        placed: Addresses and entries on the device.

    Attributes:
        interrupts: For each launch that may interrupt the run its place in the segment, and its line.
        is_static: Whether the launches are the same in each run: Python reads nothing.
    """

    def __init__(self, lines: list[list[int]], cells: list[Cell], placed: Placed) -> None:
        self._lines, self._cells, self._placed = lines, cells, placed
        guarded = [at for at, line in enumerate(lines) if line[0] in (WHEN, LOOP)]
        self._gates = {at: 2 + k for k, at in enumerate(guarded)}
        self._control = placed.memory.words(2 + len(guarded))
        placed.memory.write_words(self._control, [0, 1] + len(guarded) * [0])
        self.interrupts: list[tuple[int, int]] = []
        self._sizes: dict[int, float] = {}
        self.is_static = self._size(0, len(lines)) < np.inf
        self._place = 0
        self._made: dict[tuple[int, int, int], tuple[list[Launch], list[tuple[int, int]]]] = {}

    def written_cells(self) -> list[np.ndarray]:
        """Arrays whose cells are written by lines of the program."""
        numbers = [line[2] if line[0] == COPY else line[3] for line in self._lines if line[0] in (COPY, LOOP)]
        return [cell[0] for cell in map(self._cells.__getitem__, numbers) if isinstance(cell, tuple)]

    def go_on(self) -> None:
        """A run begins, or goes on where it was interrupted."""
        self._placed.memory.write_words(self._control, [0])

    def halted(self) -> int:
        """0, `words.STOP`, or the number of an interrupt and 1; after all launches."""
        return self._placed.memory.read_word(self._control)

    def parts(self) -> Iterator[list[Launch] | None]:
        """Launches part after part; None ends a segment: all that came before has to be launched now."""
        self._begin_segment()
        for each in self._block(0, len(self._lines), words.OPEN):
            if each is None:
                yield None
                self._begin_segment()
            else:
                self._place += len(each)
                yield each

    def _begin_segment(self) -> None:
        self._place = 0
        self.interrupts.clear()

    def _size(self, at: int, stop: int) -> float:
        """Launches of some lines; infinite where Python reads something."""
        total = 0.0
        while at < stop:
            operation, count, after, _, _, _ = self._lines[at]
            if operation not in (WHEN, LOOP):
                total, at = total + 1, at + 1
                continue
            if at not in self._sizes:
                inside = self._size(at + 1, after)
                if operation == LOOP:
                    passes = self._cells[count]
                    inside = np.inf if isinstance(passes, tuple) else inside * passes
                    self._sizes[at] = np.inf if self._is_repeat(at) and inside > MOST_IDLE else inside
                else:
                    self._sizes[at] = np.inf if inside > MOST_IDLE else inside + 1
            total, at = total + self._sizes[at], after
        return total

    def _is_repeat(self, at: int) -> bool:
        """Whether a loop ends by a condition."""
        last = self._lines[at][2] - 1
        return self._lines[last - 1][0] == UNTIL and self._lines[last - 1][2] == at

    def _block(self, at: int, stop: int, gate: int) -> Iterator[list[Launch] | None]:
        """Launches of the lines `at` to `stop`, which run where a gate is open."""
        while at < stop:
            after = at
            while after < stop and self._sizes.get(after, 0.0) < np.inf:
                after = self._lines[after][2] if self._lines[after][0] in (WHEN, LOOP) else after + 1
            if after > at:
                yield self._flat(at, after, gate)
            elif self._lines[at][0] == WHEN:
                after = self._lines[at][2]
                inner = self._gates[at]
                yield [self._open(inner, gate, self._word(self._lines[at][1]))]
                yield None
                if self._is_open(inner):
                    yield from self._block(at + 1, after, inner)
            else:
                after = self._lines[at][2]
                yield from self._loop(at, gate)
            at = after

    def _loop(self, at: int, gate: int) -> Iterator[list[Launch] | None]:
        """Launches of all passes of a loop in which Python reads something."""
        _, count, after, index, _, _ = self._lines[at]
        passes, inner = self._cells[count], gate
        if isinstance(passes, tuple):
            yield None
            passes = self._placed.memory.read_word(self._word(count)) if self._is_open(gate) else 0
        repeats = self._is_repeat(at)
        if repeats:
            inner = self._gates[at]
            yield [self._open(inner, gate, self._gate(gate))]
        for number in range(passes):
            if isinstance(self._cells[index], tuple):
                yield [self._steer(words.set_word, inner, self._word(index), number)]
            yield from self._block(at + 1, after - 1, inner)
            if repeats:
                yield None
                if not self._is_open(inner):
                    break

    def _flat(self, at: int, stop: int, gate: int) -> list[Launch]:
        """Launches of lines in which Python reads nothing, made once."""
        key = at, gate, len(self.interrupts)
        if key not in self._made:
            kept = self.interrupts
            self.interrupts = kept.copy()
            launches: list[Launch] = []
            self._unroll(at, stop, gate, launches)
            new = [(place, line) for place, line in self.interrupts[len(kept) :]]
            self._made[key] = launches, new
            self.interrupts = kept
        launches, interrupts = self._made[key]
        self.interrupts += [(self._place + place, line) for place, line in interrupts]
        return launches

    def _unroll(self, at: int, stop: int, gate: int, launches: list[Launch]) -> None:
        """Append the launches of lines in which Python reads nothing."""
        while at < stop:
            operation, first, after, index, _, _ = self._lines[at]
            if operation == WHEN:
                inner = self._gates[at]
                launches.append(self._open(inner, gate, self._word(first)))
                self._unroll(at + 1, after, inner, launches)
                at = after
            elif operation == LOOP:
                inner = self._gates[at] if self._is_repeat(at) else gate
                if inner != gate:
                    launches.append(self._open(inner, gate, self._gate(gate)))
                for number in range(int(self._cells[first])):  # type: ignore[arg-type]
                    if isinstance(self._cells[index], tuple):
                        launches.append(self._steer(words.set_word, inner, self._word(index), number))
                    self._unroll(at + 1, after - 1, inner, launches)
                at = after
            else:
                launches.append(self._launch(at, gate, len(launches)))
                at += 1

    def _launch(self, at: int, gate: int, place: int) -> Launch:
        """The launch of a line without a body."""
        operation, first, second, begin, end, _ = self._lines[at]
        if operation == LAUNCH:
            size = self._placed.blocks(self._cells[begin], self._cells[end])
            arguments = self._gate(gate), self._placed.tables[first], self._word(begin), self._word(end)
            return self._placed.entries[first], *size, (self._control, *arguments)
        if operation == UNTIL:
            return self._steer(words.close_gate, gate, self._gate(gate), self._word(first))
        if operation == STOP:
            return self._steer(words.stop_run, gate, self._control, self._word(first))
        if operation == COPY:
            return self._steer(words.copy_word, gate, self._word(first), self._word(second))
        assert operation == REQUIRE
        self.interrupts.append((place, at))
        number = len(self.interrupts) - 1
        return self._steer(words.require_room, gate, self._control, self._word(first), self._word(second), number)

    def _open(self, inner: int, gate: int, condition: int) -> Launch:
        """The launch that opens a gate inside of another one if a word is not zero."""
        return self._steer(words.open_gate, words.OPEN, self._gate(inner), self._gate(gate), condition)

    def _is_open(self, gate: int) -> bool:
        return gate == words.OPEN or self._placed.memory.read_word(self._gate(gate)) != 0

    def _steer(self, kernel: Kernel, gate: int, *arguments: int) -> Launch:
        """The launch of a kernel that steers."""
        memory = self._placed.memory
        begin, end = memory.constant(np.array([0], np.int64)), memory.constant(np.array([1], np.int64))
        table = memory.constant(np.array(arguments, np.int64))
        return self._placed.steering[kernel], 1, 1, (self._control, self._gate(gate), table, begin, end)

    def _gate(self, gate: int) -> int:
        return self._control + 8 * gate

    def _word(self, number: int) -> int:
        return self._placed.word(self._cells[number])
