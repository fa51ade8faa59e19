"""Compiles missing kernels, in several processes where that pays, and tells how far it is.

Threads would wait for each other at Numba's lock; processes do not. A forked child inherits the kernels as they are,
closures and functions of notebooks included, writes object files and ends. Where the system has no fork, or a child
fails, this process compiles what is left.
"""

import os
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from shinari.compute import cache

if TYPE_CHECKING:
    from shinari.compute.kernels import Native

# Kernels that a process takes at a time: neighbours share callees.
AT_A_TIME = 3

listeners: list[Callable[[int, int], None]] = []
"""Called with kernels compiled and kernels to compile, whenever one is done."""
compiled: list[str] = []
"""Symbols that were compiled for this process."""


def compile_missing(missing: "Iterable[Native]") -> None:
    """Compile kernels into the cache.

    Raises:
        CompileError: One does not compile; the message says which and why.
    """
    from shinari.compute import backend

    natives = sorted(missing, key=lambda native: (native.source.python_function.__module__ or "", native.symbol))
    _tell(0, len(natives))
    done = 0
    if len(natives) > 1 and _processes() > 1:
        done = _compile_in_children(natives)
    for native in natives:
        if cache.read(native.symbol) is None:
            cache.write(native.symbol, backend.compile_object(native))
            done += 1
            _tell(done, len(natives))
        compiled.append(native.symbol)


def _processes() -> int:
    wanted = os.environ.get("SHINARI_COMPILE_PROCESSES")
    if wanted is not None and wanted.isdigit():
        return int(wanted)
    if not hasattr(os, "fork") or sys.platform == "darwin":
        return 1
    return len(os.sched_getaffinity(0))


def _tell(done: int, total: int) -> None:
    for listener in listeners:
        listener(done, total)


def _compile_in_children(natives: "list[Native]") -> int:
    """Compile in forked children; returns how many they compiled. Children that fail leave their share undone."""
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
    done = 0
    while news := os.read(heard, 1024):
        done += len(news)
        _tell(done, len(natives))
    os.close(heard)
    for child in children:
        os.waitpid(child, 0)
    return done


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
