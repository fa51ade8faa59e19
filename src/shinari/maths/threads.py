"""Threads of parallel loops, when another Python thread takes over or a process forks.

Each Python thread that has run a parallel loop keeps a team of threads for its next one. GNU OpenMP counts the teams
that sleep as well: when all teams together have more threads than the machine has cores, threads that wait for each
other go to sleep at the end of each loop instead of waiting awake, and a step takes five times as long (measured: a
sheet of 100 x 100 on 2 cores, 5.4 ms alone, 28 ms beside a team that sleeps). So who hands a simulation over lets go of
its team.

A forked child has none of the threads of its parent. Its GNU OpenMP would wait for them for ever, so Numba ends the
child at its first loop. A process that forks therefore lets go of its team before, and Numba's layer is told in the
child that it is a process of its own: its first loop starts a team. Other threads may not be in the middle of
compiling a kernel when the process forks, so the locks of compiling are held meanwhile.
"""

import ctypes
import os
import sys
from types import ModuleType
from typing import Any, TypeVar

import numba
from numba.core.compiler_lock import global_compiler_lock

from shinari.errors import ShinariError

_Lock = TypeVar("_Lock")
_PAUSE_SOFT = 1
"""`omp_pause_soft` of OpenMP 5.0, section 3.2.44: give up the threads, keep the settings."""
_held: list[Any] = [global_compiler_lock]
"""Locks that are taken before a fork, in this order."""
_unusable: list[str] = []
"""Why a forked process cannot run parallel loops."""


def let_go_of_threads() -> bool:
    """End the team of the calling thread; its next parallel loop starts another one.

    Does nothing where the loops run on another layer than OpenMP, or on an OpenMP before 5.0.

    Returns:
        Whether there is no team now.
    """
    layer = _openmp()
    if layer is None:
        return True
    pause = getattr(ctypes.CDLL(layer.__file__), "omp_pause_resource_all", None)
    return pause is not None and pause(_PAUSE_SOFT) == 0


def require_threads() -> None:
    """Refuse to run parallel loops in a process in which they would hang.

    Raises:
        ShinariError: The process was forked from one that had run a simulation, and the system's OpenMP cannot start
            anew.
    """
    if _unusable:
        raise ShinariError(_unusable[0])


def held_at_fork(lock: _Lock) -> _Lock:
    """Let a process fork only when no other thread holds a lock; gives the lock.

    A thread that compiles may take the lock, a thread that has the lock may not compile.
    """
    _held.append(lock)
    return lock


def _openmp() -> ModuleType | None:
    """Numba's layer of OpenMP, when loops have run on it."""
    layer = sys.modules.get("numba.np.ufunc.omppool")
    return layer if layer is not None and layer.__file__ is not None else None


class _Fork:
    """What happens before and after a fork."""

    def __init__(self) -> None:
        self._free = True

    def before(self) -> None:
        for lock in _held:
            lock.acquire()
        self._free = let_go_of_threads()

    def in_parent(self) -> None:
        for lock in reversed(_held):
            lock.release()

    def in_child(self) -> None:
        self.in_parent()
        layer = _openmp() or sys.modules.get("numba.np.ufunc.workqueue")
        if layer is None:
            return
        if not self._free:
            _unusable[:] = [
                "processes: this one was forked from one that had run a simulation, whose OpenMP is older than 5.0 and "
                "cannot start anew; use the start method 'spawn' or 'forkserver' of multiprocessing, or set "
                "NUMBA_THREADING_LAYER=workqueue"
            ]
            return
        start = ctypes.CFUNCTYPE(None, ctypes.c_int)(layer.launch_threads)
        start(int(numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]


if hasattr(os, "register_at_fork"):
    _fork = _Fork()
    os.register_at_fork(before=_fork.before, after_in_parent=_fork.in_parent, after_in_child=_fork.in_child)
