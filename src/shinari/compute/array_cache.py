"""Arrays that are costly to make, kept in the user's cache folder under the sum of what they are made from.

A file holds arrays in NumPy's format, one after another, with the SHA-256 of its bytes behind them. One that is damaged
is deleted with a `CacheWarning`. Deleting the folder costs time and changes nothing.
"""

import hashlib
import io
from collections.abc import Sequence

import numpy as np

from shinari.compute.cached_files import cache_folder, read_cached, remove, warn_of_cache, write_verified
from shinari.compute.kernels import toolchain


def load_arrays(kind: str, parts: Sequence[np.ndarray], code: str) -> list[np.ndarray] | None:
    """The arrays that were made from these parts, or None; whether they fit is for the caller to see.

    Args:
        kind: Folder in the cache, `"fields"`.
        parts: Everything that they are made from.
        code: Source or version of what made them.
    """
    if (found := read_cached(kind, _name(parts, code))) is None:
        return None
    content, path = found
    try:
        stream, arrays = io.BytesIO(content), []
        while stream.tell() < len(content):
            arrays.append(np.load(stream, allow_pickle=False))
    except (ValueError, EOFError):
        warn_of_cache(path.parent, f"{path.name} is damaged; such files are deleted and made anew")
        remove(path)
        return None
    return arrays


def store_arrays(kind: str, parts: Sequence[np.ndarray], code: str, arrays: Sequence[np.ndarray]) -> None:
    """Keep arrays for the next process; a full or read-only disk is no error."""
    stream = io.BytesIO()
    for array in arrays:
        np.save(stream, array, allow_pickle=False)
    write_verified(cache_folder(kind) / _name(parts, code), stream.getvalue())


def _name(parts: Sequence[np.ndarray], code: str) -> str:
    total = hashlib.sha256("\0".join((code, *map(str, toolchain()))).encode())
    for part in parts:
        total.update(f"\0{part.dtype.str}{part.shape}".encode())
        total.update(np.ascontiguousarray(part).tobytes())
    return f"{total.hexdigest()}.npy"
