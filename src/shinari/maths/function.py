"""How the project compiles a function that kernels call."""

from collections.abc import Callable
from typing import Any

import numba

# The compiler may contract, reorder and use approximate division, but NaN and infinity keep their meaning:
# an infinite compliance is a row without force, and a NaN has to reach the check that stops the run.
FLAGS: dict[str, Any] = {
    "fastmath": {"contract", "nsz", "arcp", "afn", "reassoc"},
    "error_model": "numpy",
    "boundscheck": False,
}


def function(python_function: Callable) -> Any:
    """Compile a function that is called from kernels, such as the `evaluate` of a constraint.

    It takes and returns scalars and tuples of scalars, so that the same code serves every target.
    """
    return numba.njit(**FLAGS)(python_function)
