"""The lines of a program as a list of launches, with all loops unrolled and conditions turned into gates."""

from collections.abc import Iterator

import numpy as np

from shinari.compute.cuda import words
from shinari.compute.cuda.api import Launch
from shinari.compute.cuda.placed import Made, Placed
from shinari.compute.kernels import Kernel
from shinari.compute.program import COPY, LAUNCH, LOOP, REQUIRE, STOP, UNTIL, WHEN

# Launches that do nothing because a condition does not hold, at most; before more of them Python reads it.
MOST_IDLE = 32

# Times that Python has to find a part running before it launches it without reading.
SURE = 2

# Words of control that Python reads at once.
MOST_WORDS = 4096


class Unrolled:
    """The launches of programs of one or many worlds.

    A short part whose condition does not hold is launched and does nothing. Before a long one the segment ends, and
    Python reads whether it runs in a world: that takes about as long as a few tens of launches that do nothing. One
    that has run again and again is launched without that, and Python learns with what it reads next whether it did.

    Args:
        placed: The programs on the device.

    Attributes:
        interrupts: For each launch that may interrupt the run its place in the segment, and its line.
        running: Worlds that go on, (W,) bool, as far as Python knows.
    """

    def __init__(self, placed: Placed) -> None:
        self._placed, self._lines, worlds = placed, placed.lines, placed.worlds
        guarded = [at for at, line in enumerate(self._lines) if line[0] in (WHEN, LOOP)]
        self._gates = {at: 2 + k for k, at in enumerate(guarded)}
        self._counters = {at: 2 + len(guarded) + k for k, at in enumerate(guarded)}
        # word after word, each of all worlds
        count = worlds * (2 + 2 * len(guarded))
        self._control = placed.constants.words(count)
        placed.constants.write(self._control, np.repeat([0, 1, 0], [worlds, worlds, count - 2 * worlds]))
        self._words = np.zeros(count if count <= MOST_WORDS else worlds, np.int64)
        self.interrupts: list[tuple[int, int]] = []
        self.running = np.ones(worlds, bool)
        self._streaks: dict[int, int] = {}
        self._sizes: dict[int, float] = {}
        self._on_host = {at for at in range(len(self._lines)) if self._is_on_host(at)}
        self._size(0, len(self._lines))
        self._place = 0
        self._made: dict[tuple[int, int, int], tuple[list[Launch], list[tuple[int, int]]]] = {}
        self._single: dict[tuple[str, int, int], list[Launch]] = {}

    def halt(self, values: np.ndarray) -> None:
        """Write the word of each world, (W,), that says whether it goes on."""
        self._placed.constants.write(self._control, values)

    def halted(self) -> np.ndarray:
        """Of each world 0, `words.STOP`, `words.HELD`, or the number of an interrupt and 1; after all launches.

        Gates and counts are read with it, if they are few.
        """
        self._words = self._placed.constants.read(self._control, len(self._words))
        return self._words[: self._placed.worlds]

    def parts(self) -> Iterator[list[Launch] | int | None]:
        """Launches part after part; None ends a segment: all that came before has to be launched now.

        A part is the same list whenever it comes. A number is a line that the host runs; all before has been launched.
        """
        self._begin_segment()
        for each in self._block(0, len(self._lines), words.OPEN):
            if not isinstance(each, list):
                yield each
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
                total, at = total + (np.inf if at in self._on_host else 1), at + 1
                continue
            if at not in self._sizes:
                inside = self._size(at + 1, after)
                if operation == LOOP:
                    passes = self._placed.cell(count)
                    inside = np.inf if isinstance(passes, tuple) else inside * passes
                    self._sizes[at] = np.inf if self._is_repeat(at) and inside > MOST_IDLE else inside
                else:
                    self._sizes[at] = np.inf if inside > MOST_IDLE else inside + 1
            total, at = total + self._sizes[at], after
        return total

    def _is_on_host(self, at: int) -> bool:
        """Whether the host runs a line."""
        return self._lines[at][0] == LAUNCH and self._placed.is_on_host(self._placed.kernel(self._lines[at]))

    def _is_repeat(self, at: int) -> bool:
        """Whether a loop ends by a condition."""
        last = self._lines[at][2] - 1
        return self._lines[last - 1][0] == UNTIL and self._lines[last - 1][2] == at

    def _block(self, at: int, stop: int, gate: int) -> Iterator[list[Launch] | int | None]:
        """Launches of the lines `at` to `stop`, which run where a gate is open."""
        while at < stop:
            after = at
            while after < stop and self._sizes.get(after, 0.0) < np.inf and after not in self._on_host:
                after = self._lines[after][2] if self._lines[after][0] in (WHEN, LOOP) else after + 1
            if after > at:
                yield self._flat(at, after, gate)
            elif at in self._on_host:
                after = at + 1
                yield None
                if self._is_open(gate).any():
                    yield at
            elif self._lines[at][0] == WHEN:
                after = self._lines[at][2]
                inner = self._gates[at]
                yield self._once("open", at, 0, lambda at=at: [self._open(at, gate, self._word(self._lines[at][1]))])
                sure = self._is_sure(at)
                if not sure:
                    yield None
                    self._streaks[at] = self._streaks.get(at, 0) + 1 if self._is_open(inner).any() else 0
                if sure or self._streaks[at]:
                    yield from self._block(at + 1, after, inner)
            else:
                after = self._lines[at][2]
                yield from self._loop(at, gate)
            at = after

    def _loop(self, at: int, gate: int) -> Iterator[list[Launch] | int | None]:
        """Launches of all passes of a loop in which Python reads something."""
        _, count, after, index, _, _ = self._lines[at]
        passes, inner = self._placed.cell(count), gate
        counted = isinstance(passes, tuple)
        if isinstance(passes, tuple):
            # the counts of worlds lie in records of their own; side by side they are read at once
            words_of_worlds = self._word(count), self._gate(self._counters[at])
            yield self._once("count", at, gate, lambda: [self._steer(words.copy_word, gate, *words_of_worlds)])
            yield None
            passes = self._most(at, gate)
        repeats, differ = self._is_repeat(at), counted and self._placed.worlds > 1
        if repeats or differ:
            inner = self._gates[at]
            yield self._once("open", at, 0, lambda: self._enter(at, gate))
        has_index = isinstance(self._placed.cell(index), tuple)
        long = differ and self._size(at + 1, after - 1) > MOST_IDLE
        for number in range(passes):
            if differ:
                arguments = self._gate(inner), self._gate(self._counters[at]), self._word(count)
                yield self._once("pass", at, 0, lambda a=arguments: [self._steer(words.next_pass, inner, *a)])
            if has_index:
                arguments = self._word(index), number
                yield self._once("index", at, number, lambda a=arguments: [self._steer(words.set_word, inner, *a)])
            yield from self._block(at + 1, after - 1, inner)
            if repeats or long:
                yield None
                if not self._is_open(inner).any():
                    break

    def _enter(self, at: int, gate: int) -> list[Launch]:
        """Launches that open the gate of a loop and count its passes from zero."""
        counter = self._gate(self._counters[at])
        return [self._open(at, gate, self._gate(gate)), self._steer(words.set_word, words.OPEN, counter, 0)]

    def _once(self, kind: str, at: int, number: int, make: Made) -> list[Launch]:
        """Launches that are made when they are first needed."""
        key = kind, at, number
        if key not in self._single:
            self._single[key] = make()
        return self._single[key]

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
                launches.append(self._open(at, gate, self._word(first)))
                self._unroll(at + 1, after, self._gates[at], launches)
                at = after
            elif operation == LOOP:
                inner = self._gates[at] if self._is_repeat(at) else gate
                if inner != gate:
                    launches.append(self._open(at, gate, self._gate(gate)))
                for number in range(int(self._placed.cell(first))):  # type: ignore[arg-type]
                    if isinstance(self._placed.cell(index), tuple):
                        launches.append(self._steer(words.set_word, inner, self._word(index), number))
                    self._unroll(at + 1, after - 1, inner, launches)
                at = after
            else:
                launches.append(self._launch(at, gate, len(launches)))
                at += 1

    def _launch(self, at: int, gate: int, place: int) -> Launch:
        """The launch of a line without a body."""
        operation, first, second, _, _, _ = self._lines[at]
        if operation == LAUNCH:
            made = self._once("launch", at, gate, lambda: [self._placed.launch(self._lines[at], *self._guards(gate))])
            return made[0]
        if operation == UNTIL:
            return self._steer(words.close_gate, gate, self._gate(gate), self._word(first))
        if operation == STOP:
            return self._steer(words.stop_run, gate, self._gate(words.HALT), self._word(first))
        if operation == COPY:
            return self._steer(words.copy_word, gate, self._word(first), self._word(second))
        assert operation == REQUIRE
        self.interrupts.append((place, at))
        number = len(self.interrupts) - 1
        control = self._gate(words.HALT)
        return self._steer(words.require_room, gate, control, self._word(first), self._word(second), number)

    def _open(self, at: int, gate: int, condition: np.ndarray) -> Launch:
        """The launch that opens the gate of a line inside of another one if a word is not zero."""
        return self._steer(words.open_gate, words.OPEN, self._gate(self._gates[at]), self._gate(gate), condition)

    def _is_open(self, gate: int) -> np.ndarray:
        """Worlds that run and in which a gate is open, (W,) bool."""
        if gate == words.OPEN:
            return self.running
        return self.running & (self._values(gate) != 0)

    def _is_sure(self, at: int) -> bool:
        """Whether a part ran the last times that Python knows of; where it does not this time, it does nothing."""
        end = self._placed.worlds * (self._gates[at] + 1)
        return (
            self._streaks.get(at, 0) >= SURE and end <= len(self._words) and bool(self._is_open(self._gates[at]).any())
        )

    def _values(self, gate: int) -> np.ndarray:
        """What a gate or counter of each world is, (W,), at the end of the segment."""
        worlds = self._placed.worlds
        begin = worlds * gate
        if begin + worlds <= len(self._words):
            return self._words[begin : begin + worlds]
        return self._placed.constants.read(int(self._gate(gate)[0]), worlds)

    def _most(self, at: int, gate: int) -> int:
        """Most passes of a loop in a world in which a gate is open."""
        is_open = self._is_open(gate)
        return int(self._values(self._counters[at])[is_open].max()) if is_open.any() else 0

    def _steer(self, kernel: Kernel, gate: int, *arguments: np.ndarray | int) -> Launch:
        """The launch of a kernel that steers."""
        return self._placed.steer(kernel, *self._guards(gate), *arguments)

    def _guards(self, gate: int) -> tuple[np.ndarray, np.ndarray]:
        """Addresses of the word of control and of a gate in each world."""
        return self._gate(words.HALT), self._gate(gate)

    def _gate(self, gate: int) -> np.ndarray:
        worlds = self._placed.worlds
        return self._control + 8 * (worlds * gate + np.arange(worlds))

    def _word(self, number: int) -> np.ndarray:
        return self._placed.word(number)
