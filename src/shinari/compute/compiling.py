"""Compiles missing kernels, in several processes where that pays, and tells how far it is.

Threads would wait for each other at Numba's lock; processes do not. A forked child inherits the kernels as they are,
closures and functions of notebooks included, writes object files and ends. Where the system has no fork, or a child
fails or hangs, this process compiles what is left.
"""

import contextlib
import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

from shinari.compute import cache
from shinari.compute.progress import Progress

if TYPE_CHECKING:
    from shinari.compute.kernels import Native

# Kernels that a process takes at a time: neighbours share callees.
AT_A_TIME = 3

# A child that compiles nothing for so long hangs [s]: it was forked while another thread held a lock.
HANGS = 120.0

compiled: list[str] = []
"""Symbols that were compiled for this process."""


def compile_missing(missing: "Iterable[Native]") -> None:
    """Compile kernels into the cache.

    Raises:
        CompileError: One does not compile; the message says which and why.
    """
    from shinari.compute import backend

    natives = sorted(missing, key=lambda native: (native.source.python_function.__module__ or "", native.symbol))
    progress = Progress(len(natives))
    if len(natives) > 1 and _processes() > 1:
        _compile_in_children(natives, progress)
    for native in natives:
        if cache.read(native.symbol) is None:
            progress.tell(progress.done)
            cache.write(native.symbol, backend.compile_object(native))
            progress.tell(progress.done + 1)
        compiled.append(native.symbol)
    progress.finish()


def _processes() -> int:
    wanted = os.environ.get("SHINARI_COMPILE_PROCESSES")
    if wanted is not None and wanted.isdigit():
        return int(wanted)
    if not hasattr(os, "fork") or sys.platform == "darwin":
        return 1
    return len(os.sched_getaffinity(0))


def _compile_in_children(natives: "list[Native]", progress: Progress) -> None:
    """Compile in forked children; those that fail leave their share undone."""
    tasks = [natives[k : k + AT_A_TIME] for k in range(0, len(natives), AT_A_TIME)]
    count = min(_processes(), len(natives))
    if len(tasks) < count:
        tasks = [[native] for native in natives]
    take, give = os.pipe()
    for number in range(len(tasks)):
        os.write(give, number.to_bytes(2, "little"))
    os.close(give)
    heard, said = os.pipe()
    children = [_fork(tasks, take, said) for _ in range(count)]
    os.close(take)
    os.close(said)
    last = time.perf_counter()
    while True:
        if select.select([heard], [], [], 0.5)[0]:
            if not (news := os.read(heard, 1024)):
                break
            progress.tell(progress.done + len(news))
            last = time.perf_counter()
        elif time.perf_counter() - last > HANGS:
            for child in children:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            break
        progress.tell(progress.done)
    os.close(heard)
    for child in children:
        os.waitpid(child, 0)


def _fork(tasks: "list[list[Native]]", take: int, said: int) -> int:
    with warnings.catch_warnings():
        # other threads of this process do not matter: the child compiles, writes files and ends
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        return child
    try:
        from shinari.compute import backend

        while token := os.read(take, 2):
            for native in tasks[int.from_bytes(token, "little")]:
                cache.write(native.symbol, backend.compile_object(native))
                os.write(said, b".")
    finally:
        # no clean-up of what belongs to the parent
        os._exit(0)
