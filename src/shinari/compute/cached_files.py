"""Files that can be made again: where they lie, written in one piece, with a digest at the end.

A file that is damaged counts as missing: it is deleted, and the first one of a process is told of by a `CacheWarning`.
A folder that cannot be written costs time and changes nothing.
"""

import contextlib
import hashlib
import os
import sys
import tempfile
import threading
import uuid
from functools import cache
from pathlib import Path

from shinari.errors import CacheWarning, warn

_SUM = hashlib.sha256().digest_size
_warned = threading.Event()


def cache_folder(kind: str) -> Path:
    """Folder for what can be made again: in `SHINARI_CACHE_DIR`, or in `shinari` in the user's cache folder.

    A folder that cannot be written is replaced by a temporary one that lasts as long as the process.
    """
    return _writable_folder(os.environ.get("SHINARI_CACHE_DIR") or _user_cache(), kind)


def _user_cache() -> str:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return str(Path(base) / "shinari")


@cache
def _writable_folder(wanted: str, kind: str) -> Path:
    place = Path(wanted) / kind
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            return place
    except OSError:
        return Path(tempfile.mkdtemp(prefix=f"shinari-{kind}-"))


def warn_of_cache(folder: Path | str, problem: str) -> None:
    """Warn of trouble with cached files, once in a process.

    Args:
        folder: Folder of the files.
        problem: What is wrong with them and what comes of it.
    """
    if not _warned.is_set():
        _warned.set()
        warn(f"cache: {folder}: {problem}", CacheWarning)


def read_verified(path: Path) -> bytes | None:
    """Content of a file that `write_verified` wrote; None where there is none, or a damaged one, which is deleted."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(data[:-_SUM]).digest() == data[-_SUM:]:
        return data[:-_SUM]
    warn_of_cache(path.parent, f"{path.name} is damaged; such files are deleted and made anew")
    remove(path)
    return None


def write_verified(path: Path, content: bytes) -> bool:
    """Write a file with its digest; returns whether that was possible, and warns where it was not."""
    try:
        write_whole(path, content + hashlib.sha256(content).digest())
    except OSError as error:
        warn_of_cache(path.parent, f"cannot be written ({error.strerror}); the next process makes it anew")
        return False
    return True


def write_whole(path: Path, content: bytes) -> None:
    """Write a file in one piece: another process finds the old content or the new one.

    Raises:
        OSError: It cannot be written; nothing is left behind.
    """
    temporary = path.with_name(f"{path.name[:40]}.{uuid.uuid4().hex[:16]}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(content)
        temporary.replace(path)
    except BaseException:
        remove(temporary)
        raise


def remove(path: Path) -> None:
    """Delete a file if that is possible."""
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
