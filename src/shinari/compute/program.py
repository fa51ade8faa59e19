"""A program: launches, loops and conditions, recorded by plain Python and replayed by one compiled function.

    p = Program()
    with p.loop(substeps, index=(clock.substep, 0)):
        p.launch(predict, particles, h, count=n)
        with p.repeat(8, until=(flags.done, 0)):
            p.launch(project, rows, particles, h, colours=offsets)
        p.require(contacts, (counters.total, 0))
        p.launch(fill, particles, contacts, count=n)
    p.run(threads=2)

Counts and conditions are numbers, or cells `(array, index)` of int64 arrays that kernels write.
"""

import ctypes
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from shinari.compute import bounds
from shinari.compute.kernels import Kernel, Native, function, has_real, shared
from shinari.compute.object_files import load
from shinari.compute.primitives import atomic_load, call_entry, cycles, load_address, store_address
from shinari.compute.records import Field, Record, address_of
from shinari.compute.threads import MASK, OF_A_TEAM, READY, Pool, cycles_per_second, share, team
from shinari.errors import MemoryLimitError
from shinari.memory_limit import require_memory

LAUNCH, LOOP, NEXT, UNTIL, WHEN, STOP, COPY, REQUIRE = range(8)
# Columns of a line: operation | entry, or address of a value | launch, or where to go | addresses of begin, end | grain
OPERATION, FIRST, SECOND, BEGIN, END, GRAIN = range(6)
# What the replay returns where it does not stop at a line.
FINISHED, STOPPED = -1, -2
# Chunks of the region of a thread.
CHUNKS = 4
# Runs of a program for which other threads are left alone, at most, after they were not worth it.
MOST_ALONE = 63
# Launches in which the slower of one thread and all is tried again, and the most that one launch raises a cost: a
# processor that the system takes away for a moment makes one launch slow, not the next.
TRIALS, RISE = 3, 2.0
# Room that a list gets beyond what it needs, as a part of it.
SPARE = 0.5
# Rows that a list may have: offsets into it are of 32 bits, and a sum that is too large for them ends at the largest.
MOST_ROWS = (1 << 31) - 2

# An entry: launch, begin, end.
ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)

Cell = int | tuple[np.ndarray, int]


class Lines(Record):
    """The lines of a program, and what the replay knows of each."""

    code = Field(np.int64, 6)
    passes = Field(np.int64, doc="of a loop, so far")
    spent = Field(np.int64, unit="cycles")
    speed = Field(np.float64, 2, unit="cycles an item", doc="on one thread and on all")
    wait = Field(np.int64, 2, doc="launches until the slower of both is tried again, and the last wait")


@shared
def launch_shared(lines: Lines, pool: Pool, at: int, threads: int) -> int:
    """Run a launch of long items on all threads, an item at a time, also on those that come late."""
    _, entry, arguments, first, last, _ = lines.code[at]
    begin, end = load_address(first), load_address(last)
    start = cycles()
    if threads > 1 and end - begin > 1:
        parts = min((end - begin + threads - 1) // threads, MASK - 1)
        share(pool, entry, arguments, begin, end, threads, parts, 1)
    else:
        call_entry(entry, arguments, begin, end)
    lines.spent[at] += cycles() - start
    return 0


@shared
def launch(lines: Lines, pool: Pool, at: int, threads: int) -> int:
    """Run a launch on one thread or on all, as measured last; the slower is tried again after 4, 8, ... launches.

    A trial ends when the slower has become the faster one, or after `TRIALS` launches. All threads are tried first.
    Nothing is learnt from that while the others are asleep. The time on one thread is learnt also in runs that have one
    thread: where a launch grows meanwhile, all threads are the faster way again at once.
    """
    _, entry, arguments, first, last, grain = lines.code[at]
    begin, end = load_address(first), load_address(last)
    if end <= begin:
        return 0
    if grain == 0:
        return launch_shared(lines, pool, at, threads)
    wide = end - begin >= 2 * grain
    split = threads > 1 and wide
    together, trial, ready = False, False, False
    if split:
        speed, wait = lines.speed[at], lines.wait[at]
        ready = atomic_load(pool.word, READY, 0) > 0
        if speed[0] == 0.0 or speed[1] == 0.0:
            together = speed[1] == 0.0
        else:
            trial = wait[0] <= 1
            together = (speed[1] <= speed[0]) != trial
    start = cycles()
    if together:
        parts = min(max((end - begin) // (threads * grain), 1), CHUNKS)
        share(pool, entry, arguments, begin, end, threads, parts, 0)
    else:
        call_entry(entry, arguments, begin, end)
    used = cycles() - start
    lines.spent[at] += used
    if wide and (ready or not together):
        cost = used / (end - begin)
        speed, wait = lines.speed[at], lines.wait[at]
        old = speed[1] if together else speed[0]
        new = cost if trial or old == 0.0 else 0.75 * old + 0.25 * min(cost, RISE * old)
        if trial and wait[0] < 1:
            new = min(cost, old)
        better = speed[1] <= speed[0]
        speed = (speed[0], new) if together else (new, speed[1])
        lines.speed[at] = speed
        if split:
            same = (speed[1] <= speed[0]) == better
            longer = min(2 * wait[1], 4096) if same else 4
            decided = trial and (not same or wait[0] <= 2 - TRIALS)
            lines.wait[at] = (longer, longer) if decided else (wait[0] - 1, wait[1])
    return 0


@function
def next_pass(lines, at, first, second):
    """Line that follows the head of a loop: the next one for another pass, else the one after the loop."""
    done = lines.passes[at]
    last = done >= load_address(first)
    if not last:
        store_address(lines.code[at, BEGIN], done)
    lines.passes[at] = 0 if last else done + 1
    return second if last else at + 1


@function
def after_until(lines, at, first, second):
    """Line that follows the condition at the end of a pass: the next one, or the one after the loop."""
    met = load_address(first) != 0
    if met:
        lines.passes[second] = 0
    return lines.code[second, SECOND] if met else at + 1


@shared
def replay(lines: Lines, pool: Pool, at: int, threads: int) -> int:
    """Run from a line to the end.

    Returns:
        `FINISHED`, `STOPPED`, or the line whose list has too little room.
    """
    count = len(lines)
    while at < count:
        operation, first, second = lines.code[at, OPERATION], lines.code[at, FIRST], lines.code[at, SECOND]
        if operation == LAUNCH:
            launch(lines, pool, at, threads)
        elif operation == LOOP:
            at = next_pass(lines, at, first, second)
            continue
        elif operation == NEXT:
            at = second
            continue
        elif operation == UNTIL:
            at = after_until(lines, at, first, second)
            continue
        elif operation == WHEN:
            if load_address(first) == 0:
                at = second
                continue
        elif operation == STOP:
            if load_address(first) != 0:
                return STOPPED
        elif operation == COPY:
            store_address(second, load_address(first))
        elif load_address(first) > load_address(second):
            return at
        at += 1
    return FINISHED


class Program:
    """A recorded list of launches.

    Attributes:
        scan_chunk: Numbers that a thread adds in a scan.
        most_parts: Parts of which each counts for itself in memory of its own, at most.
        block_rows: Rows that a thread solves one after the other, where they are brought into blocks.
        grown: How often Python was asked to make room.
        part: Name of the part that is being recorded, for `profile`.
    """

    scan_chunk, most_parts, block_rows = 2048, 32, 128

    def __init__(self) -> None:
        self._lines: list[list[int]] = []
        self._names: list[str] = []
        self._parts: list[str] = []
        self._kept: list[Any] = []
        self._cells: dict[int, tuple[np.ndarray, int]] = {}
        self._numbers: dict[int, tuple[np.ndarray, int]] = {}
        self._natives: list[tuple[int, Native]] = []
        self._lists: dict[int, tuple[Record, tuple[np.ndarray, int], str, int, float]] = {}
        self._instructions: Any = None
        self._run: Any = None
        self._alone = self._in_vain = 0
        self.grown, self.part = 0, ""

    def launch(
        self,
        kernel: Kernel,
        *arguments: Any,
        count: Cell | None = None,
        colours: Sequence[int] | np.ndarray | None = None,
        grain: int = 256,
    ) -> None:
        """Run a kernel for every index below a count, split over threads; or colour after colour.

        Args:
            kernel: The kernel.
            arguments: Its records and scalars.
            count: Items.
            colours: In place of a count: where each colour begins, and the end; int64. Items of a colour share nothing.
            grain: Items below which a chunk is not worth sharing; 0: each is, whatever was measured.
        """
        table, precision = kernel.pack(arguments)
        if isinstance(count, int) and count == 0:
            return
        self._kept += [table, arguments]
        if (count is None) == (colours is None):
            raise TypeError(f"{kernel.name}: expected either a count or colours")
        if colours is None:
            cells = [(self._cell(0), self._cell(count))]
        else:
            if isinstance(colours, np.ndarray) and colours.dtype != np.int64:
                # kernels may write it: a copy would not follow
                raise TypeError(f"{kernel.name}: colours: got {colours.dtype}; expected int64")
            offsets = np.ascontiguousarray(colours, np.int64)
            cells = [(self._cell((offsets, k)), self._cell((offsets, k + 1))) for k in range(len(offsets) - 1)]
        native = kernel.native(precision)
        for begin, end in cells:
            at = self._line(LAUNCH, 0, address_of(table), begin, end, grain, kernel.name)
            self._natives.append((at, native))

    def serial(self, kernel: Kernel, *arguments: Any) -> None:
        """Run a kernel for a single item, 0: sums, scans, decisions."""
        self.launch(kernel, *arguments, count=1)

    def copy(self, source: Cell, target: tuple[np.ndarray, int]) -> None:
        """Copy a number or a cell to a cell."""
        self._line(COPY, self._cell(source), self._cell(target))

    @contextmanager
    def loop(self, count: Cell, index: tuple[np.ndarray, int] | None = None) -> Iterator[int]:
        """Repeat what is recorded inside; `index` is a cell that holds the number of the pass."""
        written = self._cell(index) if index is not None else self._unread_cell()
        start = self._line(LOOP, self._cell(count), 0, written)
        yield start
        self._line(NEXT, 0, start)
        self._lines[start][SECOND] = len(self._lines)

    @contextmanager
    def repeat(self, most: Cell, until: tuple[np.ndarray, int]) -> Iterator[None]:
        """Repeat at most so often, until the cell `until` is not zero at the end of a pass."""
        with self.loop(most) as start:
            yield
            self._line(UNTIL, self._cell(until), start)

    @contextmanager
    def when(self, condition: tuple[np.ndarray, int]) -> Iterator[None]:
        """Run what is recorded inside if a cell is not zero."""
        start = self._line(WHEN, self._cell(condition))
        yield
        self._lines[start][SECOND] = len(self._lines)

    def stop_if(self, condition: tuple[np.ndarray, int]) -> None:
        """End the run if a cell is not zero; `run` returns False."""
        self._line(STOP, self._cell(condition))

    def require(
        self,
        record: Record,
        count: tuple[np.ndarray, int],
        name: str = "",
        row_bytes: int | None = None,
        spare: float = SPARE,
    ) -> None:
        """Before a list is filled: room for as many rows as a cell says. Python makes room, and the replay goes on.

        Where the memory for it cannot be had, `run` raises a MemoryLimitError.

        Args:
            record: The list.
            count: Where the number of rows stands.
            name: Object and list for the message, with `{count}`; the name of the record if it is empty.
            row_bytes: Memory of a row with all that grows with it [bytes]; that of the record if it is None.
            spare: Room that it gets beyond what it needs, as a part of it: little for large lists that seldom grow.
        """
        # the number of rows stands at the end of the table of addresses, whoever makes room
        at = self._line(REQUIRE, self._cell(count), self._cell((record.addresses, len(record.fields))))
        if row_bytes is None:
            row_bytes = sum(array.itemsize * math.prod(array.shape[1:]) for array in record.arrays.values())
        self._lists[at] = record, count, name or f"{type(record).__name__}: {{count}} rows", row_bytes, spare

    def prepare(self, *others: "Program") -> None:
        """Load or compile all kernels, at once with those of other programs that will run soon."""
        if self._run is not None:
            return
        _load_with_replay([native for each in (self, *others) for _, native in each._natives])
        for at, native in self._natives:
            self._lines[at][FIRST] = native.address
        self._instructions = Lines.zeros(len(self._lines))
        self._instructions.code[...] = np.array(self._lines, np.int64).reshape(-1, 6)
        self._instructions.wait[...] = 0, 4
        self._address = self._instructions.address
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4)
        self._run = kind(replay.native(np.float32).address)

    def run(self, threads: int = 1) -> bool:
        """Replay the program; False when a `stop_if` ended it."""
        self.prepare()
        crew = team()
        self._alone = max(self._alone - 1, 0)
        usable = crew.acquire(1 if self._alone else threads)
        try:
            at = 0
            while True:
                at = self._replay(crew.pool, at, usable)
                if at < 0:
                    break
                self.make_room(at)
        except BaseException:
            self.rewind()
            raise
        finally:
            if usable > 1:
                # threads that were not worth it in a run are left alone in the next 2, 4, 8 ... runs
                self._in_vain = 0 if crew.release() else min(2 * self._in_vain + 1, MOST_ALONE)
                self._alone = self._in_vain + 1 if self._in_vain else 0
        bounds.check()
        if at == STOPPED:
            self.rewind()
        return at == FINISHED

    def rewind(self) -> None:
        """Forget in which passes the loops were: the next run begins at the first line."""
        self._instructions.passes[...] = 0

    @property
    def lines(self) -> Lines:
        """The lines of a prepared program."""
        return self._instructions

    def _replay(self, pool: Pool, at: int, threads: int) -> int:
        """Run compiled code from a line on; returns `FINISHED`, `STOPPED` or the line whose list has no room."""
        return self._run(self._address, pool.address, at, threads)

    def make_room(self, at: int) -> None:
        """Make room for the list of a line at which `replay` has stopped.

        Raises:
            MemoryLimitError: The memory for it cannot be had, or it is longer than rows can be numbered.
        """
        record, (array, index), name, row_bytes, spare = self._lists[at]
        count = int(array[index])
        if count > MOST_ROWS:
            raise MemoryLimitError(f"{name.format(count=count)}; accepted are at most {MOST_ROWS}")
        require_memory(count * row_bytes, name.format(count=count))
        record.grow(count + int(spare * count))
        self.grown += 1

    def profile(self) -> list[tuple[str, str, float]]:
        """Part, kernel and time [s] of each launch so far, in the order in which they were recorded."""
        rate, spent = cycles_per_second(), self._instructions.spent
        return [(self._parts[k], self._names[k], spent[k] / rate) for k in np.flatnonzero(spent)]

    def memory(self) -> int:
        """Bytes of all records that its kernels read or write."""
        arrays = {array.ctypes.data: array.nbytes for each in self.records() for array in each.arrays.values()}
        return sum(arrays.values())

    def records(self) -> list[Record]:
        """All records that its kernels read or write, and lists that may grow, each once."""
        kept = [each for kept in self._kept if isinstance(kept, tuple) for each in kept if isinstance(each, Record)]
        return list({id(each): each for each in (*kept, *self.lists())}.values())

    def lists(self) -> list[Record]:
        """The lists that may grow, each once."""
        return list({id(record): record for record, *_ in self._lists.values()}.values())

    def cells(self) -> list[np.ndarray]:
        """Arrays of counts and conditions, which may belong to records, too, each once."""
        return [array for array, _ in self._cells.values()]

    def _unread_cell(self) -> int:
        """A cell for the number of a pass that no kernel reads; constants are shared, so none of them serves."""
        return self._cell((np.zeros(1, np.int64), 0))

    def _cell(self, value: Any) -> int:
        """Address of an int64: of a cell that is given, or of a constant that is kept."""
        if isinstance(value, tuple):
            array, index = value
            if array.dtype != np.int64:
                raise TypeError(f"program: cell: got {array.dtype}; expected int64")
            if id(array) not in self._cells:
                self._cells[id(array)] = array, address_of(array)
            return self._cells[id(array)][1] + 8 * index
        # one cell for each number
        if value not in self._numbers:
            constant = np.array([value], np.int64)
            self._numbers[value] = constant, address_of(constant)
        return self._numbers[value][1]

    def _line(
        self,
        operation: int,
        first: int = 0,
        second: int = 0,
        begin: int = 0,
        end: int = 0,
        grain: int = 0,
        name: str = "",
    ) -> int:
        if self._run is not None:
            raise RuntimeError("program: was prepared; record all launches before the first run")
        self._lines.append([operation, first, second, begin, end, grain])
        self._names.append(name)
        self._parts.append(self.part)
        return len(self._lines) - 1


def load_kernels(*kernels: Kernel, precision: type = np.float64) -> None:
    """Bring kernels that will run soon into memory, and those of the replay: missing ones are compiled side by side.

    Without it each of them would be compiled alone, when it is first run.

    Args:
        kernels: The kernels.
        precision: Precision of their records; it does not matter where they have no `real`.
    """
    single = [each for each in kernels if not any(map(has_real, each.records))]
    _load_with_replay([each.native(np.float32 if each in single else precision) for each in kernels])


def _load_with_replay(natives: list[Native]) -> None:
    """Load kernels, and those of every replay, or compile them."""
    natives += [each.native(np.float32) for each in (replay, *OF_A_TEAM)]
    if missing := [native for native in natives if not native.is_loaded]:
        load(missing)


def run_once(kernel: Kernel, *arguments: Any, count: int, threads: int | None = None, grain: int = 256) -> None:
    """Run a kernel for every index below a count, once: where a scene is built, and for results.

    Args:
        kernel: The kernel.
        arguments: Its records and scalars.
        count: Items.
        threads: Threads to use; None: all.
        grain: Items below which a chunk is not worth sharing.
    """
    threads = team().size if threads is None else threads
    if threads == 1 or count < 2 * grain:
        table, precision = kernel.pack(arguments)
        if count:
            ENTRY(kernel.native(precision).address)(table.ctypes.data, 0, count)
            bounds.check()
        return
    p = Program()
    p.launch(kernel, *arguments, count=count, grain=grain)
    p.run(threads)


def run_recorded(record: Callable[..., None], *arguments: Any, threads: int = 1) -> bool:
    """Run what a function records, once: `record(program, *arguments)`."""
    p = Program()
    record(p, *arguments)
    return p.run(threads)
