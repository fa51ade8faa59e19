"""Arrays that are costly to make, kept in the user's cache folder under the sum of what they are made from.

A file is one array in NumPy's format with the SHA-256 of its bytes behind it. One that is damaged, or not what is asked
for, is as good as none; one that cannot be written is not. Deleting the folder costs time and changes nothing.
"""

import hashlib
import io
import os
import tempfile
from pathlib import Path

import numba
import numpy as np

from shinari.solver.rendered import cache_folder

_SUM = hashlib.sha256().digest_size


def load_array(parts: tuple[np.ndarray, ...], code: str, shape: tuple[int, int], most: np.ndarray) -> np.ndarray | None:
    """The array that was made from these parts, or None.

    Args:
        parts: Everything that it is made from.
        code: Source of what made it.
        shape: Its shape, (R, C).
        most: Largest number of each column, (C,): nothing in a file may lead a search astray.
    """
    try:
        data = _path(parts, code).read_bytes()
        content, total = data[:-_SUM], data[-_SUM:]
        if hashlib.sha256(content).digest() != total:
            return None
        array = np.load(io.BytesIO(content), allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    fits = array.shape == shape and array.dtype == np.uint32 and bool((array.max(axis=0) <= most).all())
    return array if fits else None


def store_array(parts: tuple[np.ndarray, ...], code: str, array: np.ndarray) -> None:
    """Keep an array for the next process; a full or read-only disk is no error."""
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    content = stream.getvalue()
    path, temporary = _path(parts, code), ""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(content + hashlib.sha256(content).digest())
        Path(temporary).replace(path)
    except OSError:
        if temporary:
            Path(temporary).unlink(missing_ok=True)


def _path(parts: tuple[np.ndarray, ...], code: str) -> Path:
    total = hashlib.sha256("\0".join((code, numba.__version__, np.__version__)).encode())
    for part in parts:
        total.update(f"\0{part.dtype.str}{part.shape}".encode())
        total.update(np.ascontiguousarray(part).tobytes())
    return cache_folder("fields") / f"{total.hexdigest()}.npy"
