"""Kernels that check the bounds of their arrays, for tests. There are two ways.

Compiled: Numba checks every index. A parallel loop of Numba swallows an exception of its body: with two threads the
call returns as if nothing had happened. So kernels are compiled without `parallel`, and an index that is out of bounds
is an `IndexError` of the call. A negative index counts from the end and would hide a fault: here it is out of bounds,
too, unless it is a constant as in `a[-1]`.

Interpreted: no kernel is compiled, NumPy checks every index but lets negative ones count from the end. It is some
hundred times slower, for small scenes, and needs no time to compile.

Processes that a test starts run ordinary kernels, from their ordinary cache.
"""

import hashlib
import importlib.util
import os
from pathlib import Path
from typing import Any

import numba
import numba.extending
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.np import arrayobj

COMPILED, INTERPRETED = "compiled", "interpreted"


def switch_on(mode: str, folder: Path) -> None:
    """Check the bounds in every kernel; to be called before the first import of the package.

    Args:
        mode: `COMPILED` or `INTERPRETED`.
        folder: Where compiled kernels are cached.
    """
    os.environ["SHINARI_CACHE_DIR"] = str(folder)
    if mode == INTERPRETED:
        _interpret()
        return
    numba.config.BOUNDSCHECK = 1  # type: ignore[attr-defined]
    numba.config.CACHE_DIR = str(folder / "numba")  # type: ignore[attr-defined]
    compile_function = numba.njit

    def njit(*args: Any, **options: Any) -> Any:
        return compile_function(*args, **{name: value for name, value in options.items() if name != "parallel"})

    numba.njit = njit
    arrayobj.fix_integer_index = _index


def _interpret() -> None:
    """Leave all functions as they are; they look compiled to those who ask."""

    def njit(*args: Any, **options: Any) -> Any:
        def mark(function: Any) -> Any:
            if not hasattr(function, "py_func"):
                function.py_func, function.targetoptions = function, options
            return function

        return mark(args[0]) if args else mark

    numba.njit = njit
    # the one of the package gives back what it takes
    numba.extending.intrinsic = lambda function: lambda array: array
    np.seterr(all="ignore")


def hash_of_sources() -> str:
    """Hash of all source files of the package."""
    spec = importlib.util.find_spec("shinari")
    assert spec is not None
    assert spec.origin is not None
    total = hashlib.sha256(Path(__file__).read_bytes())
    for path in sorted(Path(spec.origin).parent.rglob("*.py")):
        total.update(path.read_bytes())
    return total.hexdigest()


_wrapped = arrayobj.fix_integer_index


def _index(context: Any, builder: Any, index_type: Any, index: Any, size: Any) -> Any:
    """Index along a dimension; one below zero stays so, and is out of bounds, unless it is a constant."""
    if not index_type.signed or _is_constant(index):
        return _wrapped(context, builder, index_type, index, size)
    return context.cast(builder, index, index_type, types.intp)


def _is_constant(value: Any) -> bool:
    """Whether a value is a constant, or the member of a tuple that was made from one."""
    if isinstance(value, ir.instructions.ExtractValue):
        source = value.aggregate
        while isinstance(source, ir.instructions.InsertValue):
            if source.indices == value.indices:
                return _is_constant(source.value)
            source = source.aggregate
    return isinstance(value, ir.Constant)
