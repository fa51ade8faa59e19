"""Arrays that are kept from one detection to the next, and grow."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shinari.memory import require_memory

ROOM = 1.5


def grown(buffer: NDArray[Any] | None, rows: int, dtype: Any, *columns: int) -> NDArray[Any]:
    """The buffer if it has at least so many rows of this type, else a new one with room for half as many more.

    What it held is lost. A caller uses the first `rows` rows.

    Raises:
        MemoryLimitError: There is not enough memory.
    """
    if buffer is not None and len(buffer) >= rows and buffer.dtype == dtype and buffer.shape[1:] == columns:
        return buffer
    room = int(ROOM * rows) + 1
    require_memory(room * math.prod(columns) * np.dtype(dtype).itemsize, f"contacts: lists: {rows} neighbours or pairs")
    return np.empty((room, *columns), dtype)
