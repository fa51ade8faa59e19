"""Files that take their name only when they are whole.

A file is written beside its place as `name.partial.ext` and renamed at the end, so that a run that fails, is killed or
fills the disk leaves an earlier `name.ext` as it was. The partial name is opened exclusively: two runs at once, or a
partial file kept from before, never share one.
"""

import os
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from shinari.errors import FileError, ShinariError
from shinari.files.results import Frame, Layout, check_frame


def check_target(path: str | os.PathLike) -> Path:
    """Absolute path of a file to write; its folder is made when missing, links are followed.

    Raises:
        FileError: The path is a folder, may not be overwritten, or its folder cannot be made.
    """
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path}: cannot make the folder {target.parent}: {reason(error)}") from error
    if target.is_dir():
        raise FileError(f"{path}: is a folder")
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


def reason(error: BaseException) -> str:
    """What went wrong, in words, without the path that the caller names already."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


class FileWriter(ABC):
    """What the writers share: the state, the checks and the errors; the formats fill in four methods.

    Attributes:
        path: Where the result goes, absolute.
        layout: What the frames hold.
        title: One line about the run.
        frame_count: Frames taken so far.
    """

    def __init__(self, path: str | os.PathLike, layout: Layout, *, title: str = "") -> None:
        self.path = check_target(path)
        self.layout = layout
        self.title = title
        self.frame_count = 0
        self._open = True
        self._broken = False

    def plan(self, count: int) -> None:  # noqa: B027
        """Refuse, before a long run, to take so many frames when the format cannot hold them.

        Raises:
            FileError: The format cannot hold them.
        """

    def write(self, frame: Frame) -> None:
        """Take one frame.

        Raises:
            FileError: The writer is closed, or the file cannot be written (the disk is full); no more frames are taken.
            SceneError: The frame does not fit the layout.
        """
        if not self._open or self._broken:
            raise FileError(f"{self.path}: the file is closed, no frame can be added")
        check_frame(frame, self.layout)
        try:
            self._append(frame)
        except Exception as error:
            self._broken = True
            self._refuse(error)
        self.frame_count += 1

    def close(self) -> None:
        """Finish the file with the frames so far; without a frame no file is made. A second call does nothing.

        Raises:
            FileError: The file cannot be finished; an earlier file of that name is still there.
        """
        if not self._open:
            return
        self._open = False
        if self._broken:
            return
        if self.frame_count == 0:
            self._drop()
            return
        try:
            self._finish()
        except Exception as error:
            self._refuse(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, KeyboardInterrupt):
            self.close()
        elif self._open and not self._broken:
            self._open = False
            if self.frame_count == 0:
                self._drop()
                return
            try:
                error.add_note(f"the {self.frame_count} frames so far are in {self._keep()}")
            except Exception as second:
                error.add_note(f"{self.path}: the frames so far could not be kept: {reason(second)}")

    def _refuse(self, error: Exception) -> NoReturn:
        if isinstance(error, ShinariError):
            raise error
        kept = self._left()
        rest = f"; the {self.frame_count} frames so far are in {kept}" if self.frame_count and kept else ""
        raise FileError(f"{self.path}: cannot be written: {reason(error)}{rest}") from error

    @abstractmethod
    def _append(self, frame: Frame) -> None:
        """Store one frame."""

    @abstractmethod
    def _finish(self) -> None:
        """Put the whole file in its place."""

    @abstractmethod
    def _keep(self) -> Path:
        """Finish under the partial name and leave the place alone; gives the name."""

    @abstractmethod
    def _drop(self) -> None:
        """Remove what was made: no frame was written."""

    @abstractmethod
    def _left(self) -> Path | None:
        """After an error: let go of the file; gives where the frames so far can be found, None when nowhere."""
