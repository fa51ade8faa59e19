"""How a user compiles a function that kernels call."""

from collections.abc import Callable
from types import FunctionType
from typing import Any

from shinari import check
from shinari.compute.kernels import STEADY
from shinari.compute.kernels import function as kernel_function
from shinari.errors import SceneError


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
    return kernel_function(python_function)


def steady(python_function: Callable) -> Any:
    """Compile a function that decides by comparing: its arithmetic is not reordered."""
    return kernel_function(python_function, fastmath=STEADY)
