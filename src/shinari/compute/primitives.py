"""Operations of the machine that Python has no words for; `backend` says what each becomes in compiled code.

Called as plain Python they raise, but for `scratch`: the replay and the threads exist in compiled code only.
"""

from collections.abc import Callable
from typing import Any

import numpy as np


def primitive(python_function: Callable) -> Callable:
    """Mark a function whose machine code is written in `backend`."""
    python_function.is_primitive = True  # type: ignore[attr-defined]
    return python_function


@primitive
def scratch(shape: Any, like: Any) -> np.ndarray:
    """Memory of one item, not initialised: in compiled code a view in the frame of the entry.

    Args:
        shape: Shape; a constant, int or tuple.
        like: A scalar of the type that is wanted.
    """
    return np.zeros(shape, np.asarray(like).dtype)


@primitive
def convert(value: Any, like: Any) -> Any:
    """A number as the type of another one: float64 arithmetic rounded to the precision of the simulation."""
    return np.asarray(like).dtype.type(value)


def _compiled_only(name: str) -> Any:
    raise NotImplementedError(f"{name}: exists in compiled code only")


@primitive
def load_address(address: int) -> int:
    """The int64 at an address, read anew each time."""
    return _compiled_only("load_address")


@primitive
def store_address(address: int, value: int) -> None:
    """Write an int64 to an address."""
    _compiled_only("store_address")


@primitive
def call_entry(entry: int, launch: int, begin: int, end: int) -> None:
    """Call an entry by its address."""
    _compiled_only("call_entry")


@primitive
def cycles() -> int:
    """A counter of time that is cheap to read; its unit is that of the processor."""
    return _compiled_only("cycles")


@primitive
def pause() -> None:
    """Tell the processor that the thread is waiting."""
    _compiled_only("pause")


@primitive
def atomic_load(view: Any, row: int, column: int) -> int:
    """Read a word that another thread writes; what that thread wrote before it is visible after."""
    return _compiled_only("atomic_load")


@primitive
def atomic_store(view: Any, row: int, column: int, value: int) -> None:
    """Write a word that another thread reads."""
    _compiled_only("atomic_store")


@primitive
def atomic_add(view: Any, row: int, column: int, value: int) -> int:
    """Add to a word; returns what it was."""
    return _compiled_only("atomic_add")


@primitive
def compare_exchange(view: Any, row: int, column: int, expected: int, value: int) -> bool:
    """Replace a word if it is what was expected; returns whether it was."""
    return _compiled_only("compare_exchange")
