"""Bounds checks: with `SHINARI_BOUNDS=1` every index of every kernel is compared with the rows of its record.

An index that is outside is reported and replaced by 0, so that the memory stays whole; the run that used it ends in an
`IndexError`. Negative indices count as outside.
"""

import ctypes
from functools import cache
from typing import Any

from shinari import variables

CHECKED = variables.is_set("SHINARI_BOUNDS")
SYMBOL = "shinari_out_of_bounds"

_found: list[str] = []


def check() -> None:
    """Raise an error that names what was found since the last call.

    Raises:
        IndexError: A kernel used an index that is outside of its record.
    """
    if _found:
        text = "; ".join(_found[:5])
        _found.clear()
        raise IndexError(f"kernel: index: {text}")


@cache
def _callback() -> Any:
    def report(where: bytes, index: int, limit: int) -> None:
        if len(_found) < 100:
            _found.append(f"{where.decode(errors='replace')}: {index} of {limit}")

    return ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64)(report)


def address() -> int:
    """Address of the function that compiled code calls."""
    return ctypes.cast(_callback(), ctypes.c_void_p).value or 0
