"""Files that take their name only when they are whole.

A file is written beside its place as `name.partial.ext` and renamed at the end, so that a run that fails, is killed or
fills the disk leaves an earlier `name.ext` as it was. The partial name is opened exclusively: two runs at once, or a
partial file kept from before, never share one.

What is worth nothing as long as it is not whole is written into a folder of its own, `.shinari-partial-...`, that its
process holds locked: the next one that writes beside it removes those of processes that were killed.
"""

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shinari import check
from shinari.errors import FileError

try:
    import fcntl
except ImportError:  # Windows; what a killed process leaves stays there
    fcntl = None

SCRATCH = ".shinari-partial-"


def check_target(path: str | os.PathLike) -> Path:
    """Absolute path of a file to write; its folder is made when missing, links are followed.

    Raises:
        FileError: The path is too long, a folder or a device, may not be overwritten, or its folder cannot be made.
    """
    target = Path(os.path.realpath(check.path("output", "path", path)))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path}: cannot make the folder {target.parent}: {reason(error)}") from error
    if target.is_dir():
        raise FileError(f"{path}: is a folder")
    if target.exists() and not target.is_file():
        # the name would be taken from a device or a pipe
        raise FileError(f"{path}: is no regular file; expected a file, or a name that is not taken")
    if target.exists() and not os.access(target, os.W_OK):
        raise FileError(f"{path}: is there and may not be overwritten (read only)")
    return target


def reserve(target: Path, suffix: str | None = None, *, folder: bool = False) -> Path:
    """Make an empty file (or folder) beside the target, under a name nobody uses yet.

    Args:
        target: Where the result will go, `a/cloth.npz`.
        suffix: What follows `.partial`; by default that of the target: `a/cloth.partial.npz`.
        folder: Make a folder.

    Raises:
        FileError: Nothing can be written there.
    """
    suffix = target.suffix if suffix is None else suffix
    number = 1
    while True:
        mark = ".partial" if number == 1 else f".partial-{number}"
        partial = target.with_name(f"{target.stem}{mark}{suffix}")
        try:
            if folder:
                partial.mkdir()
            else:
                partial.open("xb").close()
            return partial
        except FileExistsError:
            number += 1
        except OSError as error:
            raise FileError(f"{target}: cannot write there: {reason(error)}") from error


def publish(partial: Path, target: Path) -> None:
    """Give a whole file its name, replacing an earlier one in a single step, its bytes on the disk first."""
    with partial.open("rb+") as stream:
        os.fsync(stream.fileno())
    os.replace(partial, target)


def discard(partial: Path) -> None:
    """Remove a partial file, there or not."""
    partial.unlink(missing_ok=True)


@contextmanager
def writing(path: str | os.PathLike) -> Iterator[Path]:
    """A partial file to write, which takes the name when the block ends well and is removed otherwise.

    Raises:
        FileError: The file cannot be written.
    """
    target = check_target(path)
    try:
        with scratch(target.parent) as folder:
            partial = folder / target.name
            yield partial
            publish(partial, target)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {reason(error)}") from error


@contextmanager
def scratch(beside: Path) -> Iterator[Path]:
    """A folder in a folder, locked and then removed; those that nobody holds are removed before.

    Raises:
        OSError: It cannot be made.
    """
    for left in beside.glob(f"{SCRATCH}*"):
        if (lock := _lock(left)) is not None:
            shutil.rmtree(left, ignore_errors=True)
            os.close(lock)
    name = uuid.uuid4().hex[:16]
    # others see it once it is locked
    made = beside / f".shinari-{name}"
    made.mkdir()
    lock = _lock(made)
    folder = made.rename(beside / f"{SCRATCH}{name}")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """Hold the lock of a folder until it is closed or the process ends; None: another does, or there are no locks."""
    if fcntl is None:
        return None
    try:
        held = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        return None
    return held


def reason(error: BaseException) -> str:
    """What went wrong, in words, without the path that the caller names already."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
