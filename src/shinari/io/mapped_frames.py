"""Frames that are mapped from a file, one after the other, in a memory that does not grow with their number."""

import mmap
from collections.abc import Iterator

import numpy as np

MOST_BYTES = 64 * 2**20
"""Bytes of frames that stay in memory after they were looked at."""


def each_frame(frames: np.ndarray) -> Iterator[np.void]:
    """The records of an array, shape (T,); the pages of those that are done with go back to the system."""
    seen = 0
    for frame in frames:
        yield frame
        seen += frames.dtype.itemsize
        if seen > MOST_BYTES:
            _let_go(frames)
            seen = 0


def _let_go(frames: np.ndarray) -> None:
    owner = frames
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):  # there is none on Windows
        owner.madvise(mmap.MADV_DONTNEED)
