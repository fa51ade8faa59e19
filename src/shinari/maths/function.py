"""How the project compiles a function that kernels call."""

import os
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba

import shinari.compute.backend  # noqa: F401  kernels of Numba learn to call the functions of `compute`
from shinari.compute.kernels import FAST
from shinari.compute.kernels import STEADY as STEADY_FLAGS
from shinari.compute.kernels import function as compute_function
from shinari.errors import SceneError
from shinari.maths import kernel_cache
from shinari.scene import check

kernel_cache.install()
# A thread that waits for another at the end of a loop first spins, then sleeps. OpenMP spins for so long by default
# that a single busy process elsewhere on the machine makes a step 70 times slower; this much costs nothing on a quiet
# one. It is read when the first parallel loop runs, and what the user has set stays.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
# Vectors of three and of four in a row become vector instructions: a tenth off every kernel.
if "NUMBA_SLP_VECTORIZE" not in os.environ:
    numba.config.SLP_VECTORIZE = 1  # type: ignore[attr-defined]
# Numba's own pool of threads is several times slower at short loops.
if "NUMBA_THREADING_LAYER_PRIORITY" not in os.environ and "NUMBA_THREADING_LAYER" not in os.environ:
    numba.config.THREADING_LAYER_PRIORITY = ["omp", "tbb", "workqueue"]  # type: ignore[attr-defined]

# Flags of the kernels that are compiled by Numba alone.
FLAGS: dict[str, Any] = {
    "fastmath": set(FAST),
    "error_model": "numpy",
    "boundscheck": False,
    # What is inlined decides which products and sums are contracted, and LLVM decides it differently for code that is
    # run at once and code that goes to the disk cache: the first run of a scene would have other last bits.
    "forceinline": True,
}
STEADY: dict[str, Any] = FLAGS | {"fastmath": set(STEADY_FLAGS)}


def function(python_function: Callable) -> Any:
    """Compile a function that is called from kernels, such as the `evaluate` of a constraint.

    It takes and returns scalars and tuples of scalars, so that the same code serves every target.

    Raises:
        SceneError: It is no function that is written in Python.
    """
    if not isinstance(python_function, FunctionType):
        raise SceneError(
            f"function: python_function: expected a function of Python, got {check.short(python_function)}"
        )
    return compute_function(python_function)


def steady(python_function: Callable) -> Any:
    """Compile a function that kernels of contact call."""
    return compute_function(python_function, fastmath=STEADY_FLAGS)


def inlined(python_function: Callable) -> Any:
    """Compile a function that becomes part of its caller before anything else, and takes over its flags.

    For what takes arrays in inner loops: passed to a `function`, each array costs a count of references up and one down
    for every call, together more than the work. And for what is called by kernels with different flags.
    """
    return numba.njit(inline="always", **FLAGS)(python_function)
