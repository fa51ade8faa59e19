"""What the writers of the formats share: the state, the checks and the errors."""

import os
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from shinari.errors import FileError, ShinariError
from shinari.io.results import Frame, Layout, check_frame
from shinari.partial_files import check_target, reason


class FileWriter(ABC):
    """What the writers share: the state, the checks and the errors; the formats fill in five methods.

    A format that can be written frame by frame derives from this class; see `shinari.io.pc2`. One that needs all frames
    is a function for `shinari.io.frame_queue.FrameQueueWriter`, which has the five methods.

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
