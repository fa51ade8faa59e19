"""The threads that share launches, and how a launch is divided.

Every thread owns a region of the items of a launch, cut into chunks. It takes the chunks of its own region first, so
that what it wrote last is still in its caches, then chunks of others. A thread that the system has not scheduled takes
none, and nobody waits for it: on a busy machine a launch is never much slower than on one thread. Items are
independent, so results do not depend on who takes what. Vector code and the scalar rest of a loop may contract products
and sums differently: long parts begin at multiples of `LANES`, so that no item changes from one to the other.

A ticket is the number of the job and the next part of a region in one word. Taking a part is one compare and exchange:
when it succeeds the job was still the one whose fields had been read.
"""

import ctypes
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Annotated, Any

import numpy as np

from shinari import variables
from shinari.compute.kernels import function, shared
from shinari.compute.primitives import (
    atomic_add,
    atomic_load,
    atomic_store,
    call_entry,
    compare_exchange,
    cycles,
    pause,
)
from shinari.compute.records import Field, Record, View

WORDS = 16
# Rows of the pool.
JOB, DONE, NUMBER, ACTIVE, READY, HELPED, GAINED, WAITED, TICKETS = range(9)
# Columns of the job.
ENTRY, LAUNCH, BEGIN, END, REGIONS, CHUNKS, LATE = range(7)
SHIFT = 20
MASK = (1 << SHIFT) - 1
# A multiple of the items that a vectorised loop takes at once: eight lanes, four times unrolled.
LANES = 64
# Time for which a thread without work stays awake [s], and how many times longer while a program runs: between launches
# that one thread works on alone.
AWAKE, LONGER = 5e-4, 20
# How long the thread that wakes others pauses for them [s], and how often.
PAUSE, PAUSES = 2e-5, 4


class Pool(Record):
    """What the threads share; a row fills the two cache lines that a processor fetches together."""

    word = Field(np.int64, WORDS)


@function
def begin_of(part, parts, items):
    """First item of a part. A loop that is vectorised has the same rest as if nothing was divided."""
    unit = LANES if items >= LANES * parts else 1
    return items if part == parts else items * part // parts // unit * unit


@shared
def take_parts(word: Annotated[Any, View(np.int64, WORDS)], me: int, number: int) -> int:
    """Work on chunks of a job until none is left; returns how many."""
    regions, taken = word[JOB, REGIONS], 0
    for k in range(regions):
        region = me + k if me + k < regions else me + k - regions
        while True:
            ticket = atomic_load(word, TICKETS + region, 0)
            entry, launch, begin, end = word[JOB, ENTRY], word[JOB, LAUNCH], word[JOB, BEGIN], word[JOB, END]
            chunks, total = word[JOB, CHUNKS], word[JOB, CHUNKS] * word[JOB, REGIONS]
            part = ticket & MASK
            if ticket >> SHIFT != number or part >= chunks:
                break
            if compare_exchange(word, TICKETS + region, 0, ticket, ticket + 1):
                at = region * chunks + part
                start, stop = begin_of(at, total, end - begin), begin_of(at + 1, total, end - begin)
                call_entry(entry, launch, begin + start, begin + stop)
                atomic_add(word, DONE, 0, 1)
                taken += 1
    return taken


@shared
def share(pool: Pool, entry: int, launch: int, begin: int, end: int, regions: int, chunks: int, late: int) -> int:
    """Run a launch until it is done on all threads that are awake; if `late` is 1 those that wake up meanwhile join."""
    word = pool.word
    number = word[NUMBER, 0] + 1
    # no part of the last job is left; a thread that was held up in between must not take one with the fields of this
    for region in range(regions):
        atomic_store(word, TICKETS + region, 0, (number << SHIFT) + MASK)
    word[JOB, ENTRY], word[JOB, LAUNCH], word[JOB, BEGIN], word[JOB, END] = entry, launch, begin, end
    word[JOB, REGIONS], word[JOB, CHUNKS], word[JOB, LATE] = regions, chunks, late
    atomic_store(word, DONE, 0, 0)
    for region in range(regions):
        atomic_store(word, TICKETS + region, 0, number << SHIFT)
    atomic_store(word, NUMBER, 0, number)
    start = cycles()
    own = take_parts(word, 0, number)
    worked = cycles() - start
    while atomic_load(word, DONE, 0) < regions * chunks:
        pause()
    if own < regions * chunks:
        word[WAITED, 0] += cycles() - start - worked
        word[GAINED, 0] += worked * (regions * chunks - own) // max(own, 1)
    return 0


@shared
def thread_main(pool: Pool, me: int, patience: int) -> int:
    """The life of a thread of the pool, until there has been no work for so many cycles."""
    word = pool.word
    seen, last = atomic_load(word, NUMBER, 0) - word[JOB, LATE], cycles()
    atomic_add(word, READY, 0, 1)
    while cycles() - last < (LONGER * patience if atomic_load(word, ACTIVE, 0) != 0 else patience):
        number = atomic_load(word, NUMBER, 0)
        if number == seen:
            pause()
        else:
            seen = number
            atomic_add(word, HELPED, 0, take_parts(word, me, number))
            last = cycles()
    atomic_add(word, READY, 0, -1)
    return 0


class Team:
    """The threads of this process beside those that call: one for each further core, started when first needed.

    Attributes:
        pool: What they share.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.pool: Any = Pool.zeros(TICKETS + size)
        self._busy = threading.Lock()
        self._asleep = np.zeros(size, np.int64)
        self._wake = [threading.Semaphore(0) for _ in range(size)]
        self._threads: dict[int, threading.Thread] = {}
        self._process = os.getpid()
        self._started = False
        self._patience = 0

    def acquire(self, threads: int) -> int:
        """Reserve the team for a run; returns the threads that may be used, 1 while somebody else has it."""
        if min(threads, self.size) <= 1 or not self._busy.acquire(blocking=False):
            return 1
        if not self._started:
            self._start()
        word = self.pool.word
        word[ACTIVE, 0], word[HELPED, 0], word[GAINED, 0], word[WAITED, 0] = 1, 0, 0, 0
        if self._asleep.any():
            self._wake_up()
        return min(threads, self.size)

    def _wake_up(self) -> None:
        """Wake the threads that sleep, and pause until the first is there.

        Linux wakes a thread on the processor of the one that wakes it, where it would wait for up to 20 ms, or take
        turns with it for as long: they are kept off that processor while they wake up.
        """
        asleep = np.flatnonzero(self._asleep)
        numbers = [self._threads[int(k)].native_id for k in asleep]
        with off_this_processor([number for number in numbers if number is not None]):
            for k in asleep:
                self._asleep[k] = 0
                self._wake[k].release()
            for _ in range(PAUSES):
                if self.pool.word[READY, 0] > 0:
                    break
                time.sleep(PAUSE)

    def release(self) -> bool:
        """The run is over; returns whether other threads were worth it.

        They were if they have taken more work off the thread that shared it than it has waited for them: where other
        programs keep the processors busy, the system takes a processor away from a thread in the midst of a part.
        """
        word = self.pool.word
        word[ACTIVE, 0] = 0
        worth = bool(word[HELPED, 0]) and bool(word[GAINED, 0] >= word[WAITED, 0])
        self._busy.release()
        return worth

    def _start(self) -> None:
        self._started = True
        self._patience = int(cycles_per_second() * AWAKE)
        entry = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(
            thread_main.native(np.float32).address
        )
        for k in range(1, self.size):
            thread = threading.Thread(target=self._live, args=(entry, k), name=f"shinari-{k}", daemon=True)
            thread.start()
            self._threads[k] = thread

    def _live(self, entry: Any, k: int) -> None:
        table = self.pool.address
        while True:
            entry(table, k, self._patience)
            self._asleep[k] = 1
            # a run that began before that would wake nobody
            if self.pool.word[ACTIVE, 0] == 0:
                self._wake[k].acquire()
            self._asleep[k] = 0


@shared
def read_cycles() -> int:
    """The counter, for Python."""
    return cycles()


OF_A_TEAM = thread_main, read_cycles
"""What a team calls when it starts: loaded with the first program, so that no step waits for it."""


def _counter() -> int:
    return ctypes.CFUNCTYPE(ctypes.c_int64)(read_cycles.native(np.float32).address)()


@cache
def cycles_per_second() -> float:
    """Rate of the counter, measured over a millisecond."""
    begun, counted = _instant()
    while time.perf_counter() - begun < 1e-3:
        pass
    ended, count = _instant()
    return (count - counted) / (ended - begun)


def _instant() -> tuple[float, int]:
    """Time [s] and count of one moment: of ten readings that with the least time between both.

    The system may take the processor away between them.
    """
    readings = []
    for _ in range(10):
        before, count, after = time.perf_counter(), _counter(), time.perf_counter()
        readings.append((after - before, before, count))
    _, begun, count = min(readings)
    return begun, count


@cache
def _system() -> Any:
    """The C library, where it tells the processor of a thread; else None."""
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):
        return None
    return library if hasattr(library, "sched_getcpu") and hasattr(os, "sched_setaffinity") else None


@contextmanager
def off_this_processor(threads: list[int]) -> Iterator[None]:
    """Keep threads, by their numbers in the system, off the processor of the calling one for a moment.

    Nothing happens where the system has no such call, or they have no other processor.
    """
    before: dict[int, set[int]] = {}
    if (library := _system()) is not None:
        here = library.sched_getcpu()
        for number in threads:
            with suppress(OSError):
                may = os.sched_getaffinity(number)
                if here in may and len(may) > 1:
                    os.sched_setaffinity(number, may - {here})
                    before[number] = may
    try:
        yield
    finally:
        for number, may in before.items():
            with suppress(OSError):
                os.sched_setaffinity(number, may)


def processors() -> int:
    """Processors that this process may use; `SHINARI_NUM_THREADS` lowers it."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(variables.read("SHINARI_NUM_THREADS") or count, count)


_team: Team | None = None


def team() -> Team:
    """The team of this process; a forked child gets one of its own."""
    global _team
    if _team is None or _team._process != os.getpid():
        _team = Team(processors())
    return _team
