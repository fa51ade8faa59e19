"""Arrays that are kept from one detection to the next, and grow."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOM = 1.5


def grown(buffer: NDArray[Any] | None, rows: int, dtype: Any, *columns: int) -> NDArray[Any]:
    """The buffer if it has at least so many rows of this type, else a new one with room for half as many more.

    What it held is lost. A caller uses the first `rows` rows.
    """
    if buffer is not None and len(buffer) >= rows and buffer.dtype == dtype and buffer.shape[1:] == columns:
        return buffer
    return np.empty((int(ROOM * rows) + 1, *columns), dtype)
