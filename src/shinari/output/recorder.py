"""The recorder: writes frames of a simulation to several files at once."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from shinari import check
from shinari.api.moment import Moment
from shinari.api.simulation import Simulation
from shinari.errors import DeviceError, FileError, FrameRateWarning, require, warn
from shinari.io.frames import frame_of, layout_of
from shinari.io.results import Writer
from shinari.output.writers import FORMATS, open_writer

RATE_TOLERANCE = 1.0e-4
"""Part by which the frames written in a second may differ from those asked for: 29.97 are not 30."""


class Recorder:
    """Writes frames of a simulation to files, one frame for so many whole steps.

    As a context manager it finishes its files. When the block ends with an error other than Ctrl-C the frames so far
    are kept beside the files under partial names, and an earlier file of the same name stays as it was.

    Args:
        simulation: The simulation.
        paths: Files; the extension chooses the format, see `shinari.output.writers`.
        frames_per_second: Frames for each second of simulated time [1/s], rounded to whole steps, with a
            `FrameRateWarning` when that makes another number of them.
        title: One line about the run.
        surface: Draw fluids by their surface in .ply, .usdc, .usda, .html, pictures and videos; needs the extra
            [surface].

    Attributes:
        stride: Steps from one frame to the next.
        frames: Frames written.

    Raises:
        FileError: A file cannot be written; none was opened then.
        MissingExtraError: A format needs an extra that is not installed.
    """

    def __init__(
        self,
        simulation: Simulation,
        paths: Sequence[str | os.PathLike],
        *,
        frames_per_second: float = 30.0,
        title: str = "",
        surface: bool = False,
    ) -> None:
        frames_per_second = check.number("recorder", "frames_per_second", frames_per_second, above=0.0)
        check.kind("recorder", "simulation", simulation, Simulation)
        check.text("recorder", "title", title, least=0, most=1000)
        check.flag("recorder", "surface", surface)
        if not isinstance(paths, (list, tuple)):
            raise FileError(f"recorder: paths: expected a list of paths, got {check.short(paths)}")
        paths = [check.path("recorder", "paths", path) for path in paths]
        if len({os.path.abspath(path) for path in paths}) < len(paths):
            raise FileError(f"recorder: paths: a file is named twice in {check.names(map(str, paths))}")
        dt = simulation.settings.dt
        self.stride = max(1, round(1.0 / (frames_per_second * dt)))
        written = 1.0 / (self.stride * dt)
        if abs(written - frames_per_second) > RATE_TOLERANCE * frames_per_second:
            warn(
                f"recorder: frames_per_second: {frames_per_second:g} are no whole steps of {dt:g} s, {written:g} "
                f"frames a second are written; dt = {1.0 / (self.stride * frames_per_second):.6g} gives what was asked",
                FrameRateWarning,
            )
        self.frames = 0
        self._simulation = simulation
        # an unknown extension is refused when it is opened
        chosen = [FORMATS.get(Path(path).suffix.lower()) for path in paths]
        measured = any(form is not None and form.measured for form in chosen)
        layout = layout_of(simulation.scene, written, surface, measured)
        self._measured = measured
        self._moment: Moment | None = None
        if any(part.surface for part in layout.parts):
            require("pysplashsurf", "surface")
        self._stack = ExitStack()
        with ExitStack() as opening:
            self._writers: list[Writer] = [
                opening.enter_context(open_writer(path, layout, title=title)) for path in paths
            ]
            opening.push(self._write_last)
            self._stack = opening.pop_all()

    def plan(self, steps: int) -> None:
        """Refuse, before a long run, to write the frames of so many steps to a file that cannot hold them.

        Raises:
            FileError: A format cannot hold them.
        """
        steps = check.count("recorder", "steps", steps, least=0)
        first = self._simulation.state.frame
        count = (first + steps) // self.stride - (first - 1) // self.stride
        for writer in self._writers:
            writer.plan(count)

    def record(self, simulation: Simulation | None = None) -> None:
        """Write the moment if a frame is due; serves as `record` of `Simulation.run`.

        A frame that comes from a GPU is written when the next one is due, or at the end: it is copied meanwhile.

        Raises:
            FileError: A file cannot be written, for example because the disk is full.
        """
        if self._simulation.state.frame % self.stride == 0:
            moment = Moment(self._simulation, everything=self._measured)
            self._write()
            self._moment = moment
            if not moment.is_on_its_way:
                self._write()

    def _write(self) -> None:
        """Write the moment that was taken last, if it is not written yet."""
        moment, self._moment = self._moment, None
        if moment is None:
            return
        frame = frame_of(moment.simulation(), self._measured)
        for writer in self._writers:
            writer.write(frame)
        moment.close()
        self.frames += 1

    def _write_last(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write the moment that is still on its way, unless the GPU that it comes from has failed."""
        try:
            self._write()
        except DeviceError:
            if error is None:
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)
