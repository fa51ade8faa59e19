"""Compiles missing kernels, in several processes where that pays, and tells how far it is.

Threads would wait for each other at Numba's lock; processes do not. A forked child inherits the kernels as they are,
closures and functions of notebooks included, writes object files and ends. Where the system has no fork, or a child
fails or hangs, this process compiles what is left.
"""

import contextlib
import gc
import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from shinari import variables
from shinari.compute import cached_files, object_files
from shinari.compute.progress import Progress

if TYPE_CHECKING:
    from shinari.compute.kernels import Native

# A child that compiles nothing for so long hangs [s]: it was forked while another thread held a lock.
HANGS = 120.0

compiled: list[str] = []
"""Symbols that were compiled for this process."""


def compile_missing(missing: "Iterable[Native]") -> dict[str, tuple[bytes, Path]]:
    """Compile kernels into the cache.

    Returns:
        The object code of each symbol and its file, which another process may have removed since.

    Raises:
        CompileError: One does not compile; the message says which and why.
    """
    from shinari.compute import backend
    from shinari.compute.kernels import Kernel

    natives = sorted(missing, key=lambda native: (native.source.python_function.__module__ or "", native.symbol))
    for native in natives:
        if isinstance(native.source, Kernel):
            native.source.require_own_variables()
    progress = Progress(len(natives))
    object_files.folder()  # children write to that of this process
    if len(natives) > 1 and processes() > 1:
        # Numba reads what it can compile when it first compiles, for 0.3 s: each child would do that again
        backend.cpu_target.typing_context.refresh()
        backend.cpu_target.target_context.refresh()
        in_children(lambda number, wait: _compile_alone(natives[number], wait=wait), len(natives), progress)
    made = {}
    for native in natives:
        found = object_files.read(native.symbol)
        if found is None:
            progress.tell(progress.done)
            data = backend.compile_object(native)
            found = data, object_files.write(native.symbol, data)
            progress.tell(progress.done + 1)
        made[native.symbol] = found
        compiled.append(native.symbol)
    progress.finish(kept=object_files.is_kept())
    return made


def processes() -> int:
    """Processes that compile."""
    if (wanted := variables.read("SHINARI_COMPILE_PROCESSES")) is not None:
        return wanted
    if not hasattr(os, "fork") or sys.platform == "darwin":
        return 1
    return len(os.sched_getaffinity(0))


Work = Callable[[int, bool], bool]
"""Compiles what has a number, and whether it is to wait for another process that does; False: it is left for later."""


def in_children(work: Work, number: int, progress: Progress) -> None:
    """Compile so many things in forked children; those that fail leave their share undone."""
    count = min(processes(), number)
    # neighbours share callees, which every process compiles for itself: each begins with a part of its own
    bounds = [number * k // count for k in range(count + 1)]
    queues = [_queue(range(*pair)) for pair in pairwise(bounds)]
    heard, said = os.pipe()
    children = [_fork(work, queues[k:] + queues[:k], said) for k in range(count)]
    for end in (*queues, said):
        os.close(end)
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


def _queue(numbers: range) -> int:
    """A pipe from which processes read numbers; the end from which they read."""
    take, give = os.pipe()
    for number in numbers:
        os.write(give, number.to_bytes(2, "little"))
    os.close(give)
    return take


def _fork(work: Work, queues: list[int], said: int) -> int:
    """A child that compiles what the queues say, one after the other; its number."""
    with warnings.catch_warnings():
        # other threads of this process do not matter: the child compiles, writes files and ends
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        return child
    try:
        # it ends soon: what it inherited and what it leaves need not be searched for garbage
        gc.disable()
        left = []
        for queue in queues:
            while token := os.read(queue, 2):
                number = int.from_bytes(token, "little")
                if work(number, False):
                    os.write(said, b".")
                else:
                    left.append(number)
        for number in left:
            work(number, True)
            os.write(said, b".")
    finally:
        # no clean-up of what belongs to the parent
        os._exit(0)


def _compile_alone(native: "Native", *, wait: bool) -> bool:
    """Compile a kernel unless another process has: tests and sweeps start several that need the same.

    Returns whether there is a file now; without waiting there is none while another process compiles it. A lock ends
    with the process that holds it.
    """
    import fcntl

    from shinari.compute import backend

    path = object_files.folder() / f"{native.symbol}.lock"
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            # a pipe opened for both is not waited for
            file = os.open(path, os.O_RDWR | os.O_CREAT)
            stack.callback(os.close, file)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                return False
        if object_files.read(native.symbol) is None:
            object_files.write(native.symbol, backend.compile_object(native))
        cached_files.remove(path)
    return True
