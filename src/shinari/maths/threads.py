"""Threads of parallel loops, when another Python thread takes over.

Each Python thread that has run a parallel loop keeps a team of threads for its next one. GNU OpenMP counts the teams
that sleep as well: when all teams together have more threads than the machine has cores, threads that wait for each
other go to sleep at the end of each loop instead of waiting awake, and a step takes five times as long (measured: a
sheet of 100 x 100 on 2 cores, 5.4 ms alone, 28 ms beside a team that sleeps). So who hands a simulation over lets go of
its team.
"""

import ctypes
import sys

_PAUSE_SOFT = 1
"""`omp_pause_soft` of OpenMP 5.0, section 3.2.44: give up the threads, keep the settings."""


def let_go_of_threads() -> None:
    """End the team of the calling thread; its next parallel loop starts another one.

    Does nothing where the loops run on another layer than OpenMP, or on an OpenMP before 5.0.
    """
    layer = sys.modules.get("numba.np.ufunc.omppool")
    if layer is None or layer.__file__ is None:
        return
    pause = getattr(ctypes.CDLL(layer.__file__), "omp_pause_resource_all", None)
    if pause is not None:
        pause(_PAUSE_SOFT)
