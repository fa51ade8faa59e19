"""Files that can be made again: where they lie, written in one piece, with a digest at the end.

A file that is damaged counts as missing: it is deleted, and the first one of a process is told of by a `CacheWarning`.
So is a folder that cannot be written: what is made is then kept in a temporary one, which the process removes when it
ends. It costs time and changes nothing.
"""

import atexit
import contextlib
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import threading
import uuid
from pathlib import Path

from shinari import variables
from shinari.errors import CacheWarning, SceneError, warn

_SUM = hashlib.sha256().digest_size
_warned = threading.Event()
_written: dict[Path, Path] = {}
"""Where files are written that belong into a folder: there, or in a temporary one."""


def cache_folder(kind: str) -> Path:
    """Folder to write what can be made again: in `SHINARI_CACHE_DIR`, or in `shinari` in the user's cache folder.

    A folder that cannot be written is replaced by a temporary one that lasts as long as the process.
    """
    wanted = wanted_folder(kind)
    if wanted not in _written:
        _written[wanted] = _writable_folder(wanted, kind)
    return _written[wanted]


def is_kept(kind: str) -> bool:
    """Whether the next process finds what this one writes."""
    return cache_folder(kind) == wanted_folder(kind)


def read_cached(kind: str, name: str) -> tuple[bytes, Path] | None:
    """Content and place of a file of that kind; None where there is none. A folder need not be writable for that."""
    wanted = wanted_folder(kind)
    for place in dict.fromkeys((wanted, _written.get(wanted, wanted))):
        if (content := read_verified(place / name)) is not None:
            return content, place / name
    return None


def wanted_folder(kind: str) -> Path:
    """Where files of that kind belong."""
    return Path(variables.read("SHINARI_CACHE_DIR") or _user_cache()) / kind


def _user_cache() -> Path:
    try:
        home = Path.home()
    except RuntimeError:
        raise SceneError("environment: SHINARI_CACHE_DIR: there is no home folder; expected a folder") from None
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or home / ".cache"
    return Path(base) / "shinari"


def _writable_folder(wanted: Path, kind: str) -> Path:
    try:
        wanted.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=wanted):
            return wanted
    except OSError as error:
        warn_of_cache(wanted, f"cannot be written ({error.strerror}); what is made is kept for this process only")
    made, process = Path(tempfile.mkdtemp(prefix=f"shinari-{kind}-")), os.getpid()

    def clear() -> None:
        if os.getpid() == process:  # a forked child leaves it to its parent
            shutil.rmtree(made, ignore_errors=True)

    atexit.register(clear)
    return made


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
        # a pipe would be waited for without end
        data = path.read_bytes() if stat.S_ISREG(path.stat().st_mode) else b""
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
