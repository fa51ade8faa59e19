"""Compiled kernels on disk, in files that are as good as none when they are damaged.

Numba's own cache unpickles what it finds: a file that was cut short by a full disk or a killed process makes every
later run fail, and two processes that compile different signatures of one kernel at once number them alike, so that one
finds the code of the other. Here a kernel of one signature is one file, named by its signature and written in one
piece. It begins with the SHA-256 of the rest. A damaged file is deleted, its kernel is compiled anew, and the first one
of a process is told of by a `CacheWarning`. A folder that cannot be written costs time and changes nothing.

Only functions of this package and those rendered by `shinari.solver.rendered` are kept in this way.
"""

import hashlib
import os
import pickle
from pathlib import Path
from typing import Any

import numba
from numba.core import dispatcher
from numba.core.caching import FunctionCache, NullCache
from numba.core.serialize import dumps

from shinari.compute.files import remove, warn_of_cache, write_whole
from shinari.maths.compile_log import OURS, WATCH

_SUM = hashlib.sha256().digest_size


class KernelFiles:
    """Files of one kernel, one for each signature.

    Args:
        folder: Where they lie.
        name: How their names begin.
        source: Everything beside the key that a file has to be made from, such as a hash of the source.
    """

    def __init__(self, folder: str, name: str, source: Any) -> None:
        self._folder, self._name = Path(folder), name
        self._source = source

    def load(self, key: Any) -> Any:
        """What was saved under a key, or None; a damaged file is deleted."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            warn_of_cache(self._folder, f"{path.name} cannot be read ({error.strerror}); it is compiled anew")
            return None
        origin, data = content[_SUM : 2 * _SUM], content[2 * _SUM :]
        if len(content) <= 2 * _SUM or hashlib.sha256(content[_SUM:]).digest() != content[:_SUM]:
            self.discard(key)
            return None
        return pickle.loads(data) if origin == self._origin(key) else None

    def save(self, key: Any, data: Any) -> None:
        """Keep something under a key; a disk that is full or read-only is no error."""
        content = self._origin(key) + dumps(data)
        try:
            write_whole(self._path(key), hashlib.sha256(content).digest() + content)
        except OSError as error:
            self.not_kept(error)

    def discard(self, key: Any) -> None:
        """Delete a damaged file and say so."""
        path = self._path(key)
        warn_of_cache(self._folder, f"{path.name} is damaged; such files are deleted and compiled anew")
        remove(path)

    def not_kept(self, error: OSError) -> None:
        """Say that nothing can be written."""
        warn_of_cache(self._folder, f"cannot be written ({error.strerror}); the next process compiles anew")

    def flush(self) -> None:
        """Delete all files of the kernel."""
        for path in self._folder.glob(f"{self._name}.*.nbc"):
            remove(path)

    def _path(self, key: Any) -> Path:
        return self._folder / f"{self._name}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"

    def _origin(self, key: Any) -> bytes:
        return hashlib.sha256(repr((numba.__version__, self._source, key)).encode()).digest()


class KernelCache(FunctionCache):
    """Cache of a kernel of this package in `KernelFiles`."""

    def __init__(self, python_function: Any) -> None:
        super().__init__(python_function)
        locator = self._impl.locator
        self._cache_file: Any = KernelFiles(self._cache_path, self._impl.filename_base, locator.get_source_stamp())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code for a signature, or None."""
        try:
            found = super().load_overload(sig, target_context)
        except Exception:
            # the sum was right, so another version of something wrote it
            self._cache_file.discard(self._index_key(sig, target_context.codegen()))
            return None
        if found is not None:
            WATCH.loaded()
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled code for a signature."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            self._cache_file.not_kept(error)


def _cache_of(python_function: Any) -> Any:
    """What Numba asks for the cache of a function."""
    if not python_function.__module__.startswith(OURS):
        return FunctionCache(python_function)
    try:
        return KernelCache(python_function)
    except (RuntimeError, OSError):
        folder = os.path.dirname(python_function.__code__.co_filename)
        warn_of_cache(folder, "neither it nor the user's cache folder can be written; each process compiles anew")
        return NullCache()


def install() -> None:
    """Let Numba keep the kernels of this package in this way."""
    dispatcher.FunctionCache = _cache_of  # type: ignore[attr-defined]
