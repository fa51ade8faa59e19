"""Frames kept on disk until the run is over, for the formats that need all of them to be written.

The spool is a growing NumPy file `name.partial.ext.npy` of structured records, one a frame. Its header is rewritten
with the new count after each record, so that at any moment, after a kill too, `numpy.load(spool, mmap_mode="r")` gives
every full frame. Memory does not grow with the number of frames. What the frames hold is in `name.partial.ext.layout`
beside it, so that `shinari.io.run_reader.open_cache` can open what a killed run has left.
"""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from shinari.errors import FileError
from shinari.io.file_writer import FileWriter
from shinari.io.npz import read_description, write_description
from shinari.io.results import Frame, Layout, frame_shapes
from shinari.partial_files import discard, publish, reason, reserve

HEADER_MARGIN = 24
"""Characters left for the count in the header: it must keep its length as the count grows."""

Convert = Callable[[Path, Layout, np.ndarray, str], None]
"""Writes a whole file: path, layout, frames (structured, shape (T,)), title."""


def frame_dtype(layout: Layout) -> np.dtype:
    """Type of a record: `time` [s] and measures in double precision, the numbers of a frame in single precision."""
    kinds = {"drawn": "|b1", "measures": "<f8"}
    shapes = frame_shapes(layout).items()
    columns = [("time", "<f8"), *((name, kinds.get(name, "<f4"), shape) for name, shape in shapes)]
    return np.dtype(columns, align=True)  # USD refuses numbers that are not


def frame_of_record(record: np.void) -> Frame:
    """The frame of a record, of which it is a view."""
    return Frame(**{name: record[name] for name in record.dtype.names or ()})


class FrameQueue:
    """A growing NumPy file of frames."""

    def __init__(self, path: Path, layout: Layout) -> None:
        self.path = path
        self.dtype = frame_dtype(layout)
        self.count = 0
        self._stream = path.open("rb+", buffering=0)
        self._record = np.zeros(1, self.dtype)
        self._length = 0
        self._length = len(self._header())
        self._put(0, self._header())

    def append(self, frame: Frame) -> None:
        """Add one frame; it counts only when it is whole."""
        record = self._record[0]
        with np.errstate(over="ignore"):  # a run that diverges leaves the numbers that the record can hold
            for name in self.dtype.names or ():
                record[name] = getattr(frame, name)
        self._put(self._length + self.count * self.dtype.itemsize, self._record.tobytes())
        self.count += 1
        self._put(0, self._header())

    def frames(self) -> np.ndarray:
        """The frames so far, mapped from the file, structured, shape (T,)."""
        return np.memmap(self.path, self.dtype, mode="r", offset=self._length, shape=(self.count,))

    def close(self) -> None:
        """Let go of the file, which stays."""
        self._stream.close()

    def _header(self) -> bytes:
        text = repr({"descr": np.lib.format.dtype_to_descr(self.dtype), "fortran_order": False, "shape": (self.count,)})
        length = self._length or -(-(len(text) + HEADER_MARGIN + 11) // 64) * 64
        text = text.ljust(length - 11) + "\n"
        return b"\x93NUMPY\x01\x00" + (length - 10).to_bytes(2, "little") + text.encode("ascii")

    def _put(self, offset: int, data: bytes) -> None:
        self._stream.seek(offset)
        rest = memoryview(data)
        while rest:
            rest = rest[self._stream.write(rest) :]


def layout_path(spool: Path) -> Path:
    """Where the layout of a spool is: `run.partial.npz.layout` for `run.partial.npz.npy`."""
    return spool.with_suffix(".layout")


class FrameQueueFrames:
    """The frames of a spool that a run has left; see `shinari.io.run_reader.Source`.

    Raises:
        FileError: The file is no spool, or its layout is not beside it.
    """

    def __init__(self, path: str | os.PathLike) -> None:
        beside = layout_path(Path(path))
        if not beside.exists():
            raise FileError(f"{path}: the file {beside.name} that says what the frames hold is not beside it")
        self.layout, self.title = read_description(beside)
        try:
            self._frames = np.load(path, mmap_mode="r", allow_pickle=False)
        except Exception as error:  # NumPy has an error of its own for each kind of damage
            raise FileError(f"{path}: cannot be read as frames: {reason(error)}") from error
        if self._frames.dtype != frame_dtype(self.layout) or self._frames.ndim != 1:
            raise FileError(f"{path}: the frames are not those that {beside.name} describes")
        self.times = np.array(self._frames["time"])

    def rows(self, name: str, first: int, last: int) -> np.ndarray:
        """Rows of a field of the frames, (last - first, ...)."""
        return self._frames[name][first:last]

    def close(self) -> None:
        """Nothing to do: the map ends with its last reader."""


class FrameQueueWriter(FileWriter):
    """Spools the frames and writes the file when it is closed."""

    def __init__(self, path: str | os.PathLike, layout: Layout, convert: Convert, *, title: str = "") -> None:
        super().__init__(path, layout, title=title)
        self._convert = convert
        spool = reserve(self.path, f"{self.path.suffix}.npy")
        try:
            self._queue = FrameQueue(spool, layout)
            write_description(layout_path(spool), layout, title)
        except OSError as error:
            discard(spool)
            discard(layout_path(spool))
            self._refuse(error)

    def _append(self, frame: Frame) -> None:
        self._queue.append(frame)

    def _finish(self) -> None:
        publish(self._write_partial(), self.path)
        self._drop()

    def _keep(self) -> Path:
        partial = self._write_partial()
        self._drop()
        return partial

    def _drop(self) -> None:
        self._queue.close()
        self._remove()

    def _remove(self) -> None:
        discard(self._queue.path)
        discard(layout_path(self._queue.path))

    def _left(self) -> Path | None:
        if not hasattr(self, "_queue"):
            return None
        self._queue.close()
        if self._queue.count == 0:
            self._remove()
        return self._queue.path

    def _write_partial(self) -> Path:
        partial = reserve(self.path)
        try:
            self._convert(partial, self.layout, self._queue.frames(), self.title)
        except BaseException:
            discard(partial)
            raise
        return partial
