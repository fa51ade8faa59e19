"""Programs side by side: each runs on one thread from its begin to its end, several at once.

    batch = Batch(len(programs))
    for k, program in enumerate(programs):
        batch.put({k: program})
    stopped = batch.run(np.arange(len(programs)), threads=2)

A program gives the same bits in a batch as alone, since a launch gives the same on any number of threads. One whose
list has too little room leaves the batch; when the others are done Python makes room, and it goes on where it was.
"""

import numpy as np

from shinari.compute.kernels import kernel
from shinari.compute.primitives import call_entry
from shinari.compute.program import STOPPED, Lines, Program, replay
from shinari.compute.records import Field, Record
from shinari.compute.threads import Pool, team


class Jobs(Record):
    """The programs: the address of the entry that runs one, and what each gives to it."""

    entry = Field(np.int64)
    arguments = Field(np.int64, doc="address of the arguments of `run_program`")


class Places(Record):
    """Where each program is."""

    at = Field(np.int64, doc="line to go on from; at the end what `replay` returned")


class Chosen(Record):
    """The programs of a run."""

    job = Field(np.int64)


class Bytes(Record):
    """An array of any type."""

    byte = Field(np.uint8)


@kernel
def run_program(_, lines: Lines, pool: Pool, places: Places, job: int):
    """Run a program from its line on, on this thread."""
    places.at[job] = replay(lines, pool, places.at[job], 1)


@kernel
def run_job(i, chosen: Chosen, jobs: Jobs):
    """Run one of the chosen programs."""
    job = chosen.job[i]
    call_entry(jobs.entry[job], jobs.arguments[job], 0, 1)


@kernel
def copy_byte(i, source: Bytes, target: Bytes):
    """Copy a byte."""
    target.byte[i] = source.byte[i]


class Batch:
    """Programs that run side by side.

    Args:
        count: How many.
    """

    def __init__(self, count: int) -> None:
        self._programs: list[Program | None] = [None] * count
        self._arguments: list[np.ndarray | None] = [None] * count
        self._jobs, self._places, self._chosen = Jobs.zeros(count), Places.zeros(count), Chosen.zeros(count)
        self._most = np.zeros(1, np.int64)
        self._run = Program()
        self._run.launch(run_job, self._chosen, self._jobs, count=(self._most, 0), grain=0)

    def put(self, programs: dict[int, Program]) -> None:
        """Make programs those of their places in the batch; most are so already."""
        mine = self._programs
        for job, program in programs.items():
            if mine[job] is not program:
                self._put(job, program)

    def _put(self, job: int, program: Program) -> None:
        program.prepare()
        table, precision = run_program.pack((program.lines, team().pool, self._places, job))
        self._programs[job], self._arguments[job] = program, table
        self._jobs.entry[job] = run_program.native(precision).address
        self._jobs.arguments[job] = table.ctypes.data

    def run(self, jobs: np.ndarray, threads: int) -> tuple[np.ndarray, dict[int, Exception]]:
        """Run programs from their begin to their end.

        Args:
            jobs: Their places in the batch, (J,) int64.
            threads: Threads to use.

        Returns:
            Those that a `stop_if` ended, and errors of others: no memory for a list.
        """
        errors: dict[int, Exception] = {}
        left = np.asarray(jobs, np.int64)
        self._places.at[left] = 0
        try:
            while len(left):
                self._chosen.job[: len(left)], self._most[0] = left, len(left)
                self._run.run(threads)
                left = left[self._places.at[left] >= 0]
                for job in left.tolist():
                    try:
                        self._program(job).make_room(int(self._places.at[job]))
                    except MemoryError as error:
                        errors[job] = error
                left = left[[job not in errors for job in left.tolist()]]
        finally:
            stopped = jobs[self._places.at[jobs] == STOPPED]
            for job in {*stopped.tolist(), *left.tolist(), *errors}:
                self._program(job).rewind()
        return stopped, errors

    def _program(self, job: int) -> Program:
        program = self._programs[job]
        assert program is not None
        return program


def record_copy(p: Program, source: np.ndarray, target: np.ndarray) -> None:
    """Record how to copy a contiguous array to another one of the same type and shape."""
    p.launch(copy_byte, _bytes(source), _bytes(target), count=source.nbytes, grain=1 << 20)


def _bytes(array: np.ndarray) -> Bytes:
    assert array.flags.c_contiguous
    return Bytes(byte=array.reshape(-1).view(np.uint8))
