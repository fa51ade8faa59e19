"""Runs read back: the layout and the frames of a file that a run wrote, one frame in memory at a time.

with open_cache("run.npz") as cache:
    for index in range(len(cache)):
        frame = cache.frame(index)
"""

import os
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import numpy as np

from shinari import check
from shinari.errors import FileError, FrameError
from shinari.io.frame_queue import FrameQueueFrames, frame_dtype
from shinari.io.npz import NpzFrames
from shinari.io.results import Frame, Layout, frame_shapes
from shinari.io.vtkhdf_reader import VtkhdfFrames
from shinari.partial_files import reason

CHUNK_BYTES = 16 * 2**20
"""Bytes of frames that are in memory at a time while they are gathered."""


class Source(Protocol):
    """A file of frames in some format.

    Attributes:
        layout: What the frames hold.
        title: One line about the run.
        times: Simulated times of the frames [s], (T,).
    """

    layout: Layout
    title: str
    times: np.ndarray

    def rows(self, name: str, first: int, last: int) -> np.ndarray:
        """Rows of a field of the frames, (last - first, ...)."""
        ...

    def close(self) -> None:
        """Let go of the file."""
        ...


class Cache:
    """A run that was written, to be looked at. Closed by `close` or at the end of a `with` block.

    Attributes:
        path: The file.
        layout: What the frames hold.
        title: One line about the run.
        times: Simulated times of the frames [s], shape (T,) float64.
    """

    def __init__(self, path: str | os.PathLike, source: Source) -> None:
        self.path = Path(path)
        self.layout = source.layout
        self.title = source.title
        self.times = source.times
        self._source = source
        self._closed = False
        self._gathered: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.times)

    def frame(self, index: int) -> Frame:
        """A frame, read from the file; negative indices count from the end.

        Raises:
            FrameError: There is no such frame.
            SceneError: The index is no whole number.
            FileError: The file is damaged there, or closed.
        """
        count = len(self)
        index = check.count(str(self.path), "index", index, least=-check.MOST)
        if not -count <= index < count:
            raise FrameError(f"{self.path}: index: has {count} frames, no frame {index}")
        index %= count
        names = frame_shapes(self.layout)
        return Frame(float(self.times[index]), **{n: self._rows(n, index, index + 1)[0] for n in names})

    def measures(self) -> np.ndarray:
        """The numbers that `shinari.io.results.MEASURES` names in all frames, shape (T, M) float64.

        Raises:
            FileError: The run was not measured, or the file is damaged there.
        """
        if not self.layout.measured:
            raise FileError(
                f"{self.path}: holds no measures: write the run as .npz or .vtkhdf with this version of shinari"
            )
        return np.asarray(self._rows("measures", 0, len(self)))

    def frames(self) -> np.ndarray:
        """All frames, structured as `shinari.io.frame_queue.frame_dtype` says, shape (T,).

        They are gathered in a temporary file without a name, from which the array is mapped: memory does not grow with
        the number of frames.

        Raises:
            FileError: There is no room for that file, or the file is damaged.
        """
        if self._gathered is None:
            self._gathered = self._gather()
        return self._gathered

    def close(self) -> None:
        """Let go of the file; a second call does nothing."""
        self._closed = True
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _gather(self) -> np.ndarray:
        kind = frame_dtype(self.layout)
        if len(self) == 0:
            return np.zeros(0, kind)
        step = max(1, CHUNK_BYTES // kind.itemsize)
        try:
            with tempfile.TemporaryFile() as stream:
                for first in range(0, len(self), step):
                    stream.write(self._chunk(first, min(first + step, len(self)), kind).tobytes())
                stream.flush()
                return np.memmap(stream, kind, mode="r", shape=(len(self),))
        except FileError:
            raise
        except OSError as error:
            raise FileError(f"{self.path}: no room for its frames in {tempfile.gettempdir()}: {error}") from error

    def _chunk(self, first: int, last: int, kind: np.dtype) -> np.ndarray:
        """Some frames in memory, (last - first,)."""
        frames = np.zeros(last - first, kind)
        frames["time"] = self.times[first:last]
        for name in kind.names or ():
            if name != "time":
                frames[name] = self._rows(name, first, last)
        return frames

    def _rows(self, name: str, first: int, last: int) -> np.ndarray:
        """Rows of a field of the frames, (last - first, ...)."""
        if self._closed:
            raise FileError(f"{self.path}: is closed; open it again with open_cache")
        try:
            return self._source.rows(name, first, last)
        except (Exception, MemoryError) as error:  # the libraries of the formats fail in as many ways as files do
            where = f"frame {first}" if last == first + 1 else f"frames {first} to {last - 1}"
            raise FileError(f"{self.path}: {where}: {name} cannot be read: {reason(error)}") from error


def open_cache(path: str | os.PathLike) -> Cache:
    """Open a file that a run wrote, `.npz` or `.vtkhdf`, whole or partial; or what a killed run has left, `.npy`.

    Raises:
        FileError: The file is missing, of another kind or from elsewhere, damaged, or of an older version; the message
            says what is missing.
        MissingExtraError: A `.vtkhdf` file, and h5py is not installed.
    """
    path = check.path("cache", "path", path)
    suffix = path.suffix.lower()
    if not os.path.exists(path):
        raise FileError(f"{path}: no such file")
    if os.path.isdir(path):
        raise FileError(f"{path}: is a folder")
    if not os.path.isfile(path):
        raise FileError(f"{path}: is no regular file")
    if os.path.getsize(path) == 0:
        raise FileError(f"{path}: is empty; a run that was killed before its first frame may leave such a file")
    if suffix == ".npz":
        return Cache(path, NpzFrames(path))
    if suffix == ".vtkhdf":
        return Cache(path, VtkhdfFrames(path))
    if suffix == ".npy":
        return Cache(path, FrameQueueFrames(path))
    raise FileError(f"{path}: unknown kind of run {check.short(suffix)}, expected .npz or .vtkhdf")
