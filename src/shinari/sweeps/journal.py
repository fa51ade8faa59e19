"""What is known of the members of a study: `results.jsonl`, one line each, only ever added to.

One process writes, the one that holds the lock. A line that was cut short, by a full disk or because the machine
failed, is taken off when the file is opened for writing, and its member is run again, as is that of a damaged line; the
last whole line of a member counts.
"""

import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from shinari.errors import FileError, SweepError
from shinari.input_files import require_regular
from shinari.partial_files import reason

FILE = "results.jsonl"
LOCK = "lock"
SYNC = 1.0
"""Time between two calls that bring the file to the disk [s]: what a power failure can lose; a killed process loses
nothing."""

_NEEDED = {"member": str, "status": str, "measures": dict}
_NUMBER = (int, float)
_OTHERS = {
    "message": str, "warnings": str, "machine": str, "versions": dict, "seconds": _NUMBER, "solver_seconds": _NUMBER
}  # fmt: skip
"""Types of what a line holds, as others read it; a line that was damaged is none."""


def rows_of(folder: Path) -> Iterator[dict[str, Any]]:
    """The lines of a study in the order in which they were written, without those cut short or damaged.

    Raises:
        FileError: The file cannot be read.
    """
    path = folder / FILE
    try:
        require_regular(path)
        with path.open("rb") as stream:
            for line in stream:
                row = _row(line)
                if row is not None:
                    yield row
    except FileNotFoundError:
        return
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {reason(error)}") from error


def latest(folder: Path) -> dict[str, dict[str, Any]]:
    """The last row of each member by its hash."""
    return {row["member"]: row for row in rows_of(folder)}


def _row(line: bytes) -> dict[str, Any] | None:
    if not line.endswith(b"\n"):
        return None
    try:
        row = json.loads(line)
    except ValueError:
        return None
    whole = isinstance(row, dict) and all(isinstance(row.get(name), kind) for name, kind in _NEEDED.items())
    return row if whole and all(isinstance(row[name], kind) for name, kind in _OTHERS.items() if name in row) else None


class Journal:
    """The results of a study, open for writing by this process alone.

    Raises:
        SweepError: Another process writes to it.
        FileError: It cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._lock = _lock(folder / LOCK)
        self._synced = time.monotonic()
        try:
            self._stream = self.path.open("ab", buffering=0)
            self._take_off_rest()
        except OSError as error:
            self._lock.close()
            raise FileError(f"{self.path}: cannot be written: {reason(error)}") from error

    def append(self, row: dict[str, Any]) -> None:
        """Write a row; what is there when it fails is whole.

        Raises:
            FileError: It cannot be written, for example because the disk is full.
        """
        rest = memoryview(json.dumps(row).encode() + b"\n")
        size = self._stream.tell()
        try:
            while rest:
                rest = rest[self._stream.write(rest) :]
            if time.monotonic() - self._synced > SYNC:
                os.fsync(self._stream.fileno())
                self._synced = time.monotonic()
        except OSError as error:
            os.truncate(self.path, size)
            raise FileError(
                f"{self.path}: cannot be written: {reason(error)}; what it holds is whole, the same command goes on"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()
        self._lock.close()

    def _take_off_rest(self) -> None:
        os.truncate(self.path, _whole(self.path))
        self._stream.seek(0, os.SEEK_END)


def _whole(path: Path) -> int:
    """Size of a file up to its last line feed."""
    with path.open("rb") as stream:
        at = stream.seek(0, os.SEEK_END)
        while at > 0:
            first = max(0, at - 65536)
            stream.seek(first)
            found = stream.read(at - first).rfind(b"\n")
            if found >= 0:
                return first + found + 1
            at = first
    return 0


def _lock(path: Path) -> IO[str]:
    """Hold the lock of a study as long as the file stays open; the system releases it when the process ends."""
    try:
        stream = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {reason(error)}") from error
    try:
        _hold(stream)
    except OSError:
        stream.seek(0)
        holder = stream.read().strip() or "another process"
        stream.close()
        raise SweepError(f"{path.parent}: another sweep runs in this folder: {holder}") from None
    try:
        path.write_text(f"process {os.getpid()} on {platform.node()} since {time.strftime('%Y-%m-%d %H:%M:%S')}\n")
    except OSError as error:
        stream.close()
        raise FileError(f"{path}: cannot be written: {reason(error)}") from error
    return stream


def _hold(stream: IO[str]) -> None:
    if sys.platform == "win32":
        import msvcrt

        # a byte far behind the text, which others may still read
        stream.seek(1 << 20)
        msvcrt.locking(stream.fileno(), msvcrt.LK_NBLCK, 1)
        return
    import fcntl

    fcntl.flock(stream.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
