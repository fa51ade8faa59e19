"""A run from the first step to the files, with a progress bar, and what to say about it afterwards."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from shinari.api.simulation import Simulation
from shinari.cli import DIVERGED, INTERRUPTED, OK
from shinari.cli.interrupt import interruptible
from shinari.errors import DivergenceError, MissingExtraError, SceneError, ShinariError
from shinari.output.recorder import Recorder
from shinari.partial_files import check_target
from shinari.view.render import watched

LOOK, LONG = 3.0, 60.0
"""Time after which the length of a run is told, where it has longer than this to go [s]."""
HOW_TO_LOOK = {
    ".html": "open it in a browser",
    ".npz": "numpy.load(path)['positions'], (frames, points, 3)",
    ".ply": "one mesh a frame: ParaView, MeshLab, or Blender by File > Import > Stanford PLY",
    ".usdc": "Blender by File > Import > Universal Scene Description, Houdini, usdview",
    ".usda": "Blender by File > Import > Universal Scene Description, Houdini, usdview; or any text editor",
    ".vtkhdf": "ParaView by File > Open",
    ".png": "the last frame; other views by shinari render",
    ".jpg": "the last frame; other views by shinari render",
    ".mp4": "any player or browser",
    ".gif": "any browser",
    ".glb": "any glTF viewer, a game engine, or Blender by File > Import > glTF 2.0",
    ".pc2": "import the .obj beside it and put the cache on it: Blender's modifier Mesh Cache",
    ".mdd": "import the .obj beside it and put the cache on it: Houdini's node MDD, Blender's modifier Mesh Cache",
}


@dataclass
class Report:
    """How a run went.

    Attributes:
        status: `"ok"`, `"interrupted"` or `"diverged"`.
        exit_code: Exit code of the command.
        steps: Steps taken.
        time: Simulated time at the end [s].
        wall_seconds: Time that the steps and the frames took [s].
        steps_per_second: Steps in a second of that.
        particles: Particles of the scene.
        frames: Frames written.
        outputs: Files written: `path`, `bytes`, `look`.
        checkpoint: Checkpoint written, or None.
        message: What went wrong, and what is left of the files.
        cause: What went wrong.
    """

    status: str = "ok"
    exit_code: int = OK
    steps: int = 0
    time: float = 0.0
    wall_seconds: float = 0.0
    steps_per_second: float = 0.0
    particles: int = 0
    frames: int = 0
    outputs: list[dict[str, Any]] = field(default_factory=list)
    checkpoint: str | None = None
    message: str = ""
    cause: str = ""


def execute(
    simulation: Simulation,
    outputs: list[Path],
    *,
    duration: float,
    frames_per_second: float,
    title: str = "",
    checkpoint: Path | None = None,
    checkpoint_every: float = 10.0,
    quiet: bool = False,
    surface: bool = False,
    lines: bool = False,
) -> Report:
    """Run until a time, write frames, and keep what there is when the run is stopped or diverges.

    Args:
        simulation: The simulation, at its start or resumed.
        outputs: Files to write.
        duration: Simulated time to reach [s].
        frames_per_second: Frames to write for each second of simulated time [1/s].
        title: One line about the run.
        checkpoint: Checkpoint to write at the end and now and then before; None: only when the run is stopped or
            diverges, beside the first output.
        checkpoint_every: Time between two checkpoints of a run [s of real time].
        quiet: No progress bar.
        surface: Draw fluids by their surface.
        lines: Print the progress as lines of JSON on standard output, without a bar.

    Raises:
        ShinariError: A file cannot be written.
    """
    _check_targets(outputs, checkpoint)
    first = simulation.state.frame
    total = round(duration / simulation.settings.dt)
    report = Report(particles=simulation.model.particle_count)
    saver = _Saver(simulation, checkpoint, outputs, checkpoint_every)
    begun = time.perf_counter()
    recorder = Recorder(simulation, outputs, frames_per_second=frames_per_second, title=title, surface=surface)
    try:
        with drawing(quiet or lines) as tell_drawn, watched(tell_drawn), recorder:
            recorder.plan(total - first)
            recorder.record()
            with interruptible() as stopped, _progress(total, first, quiet, lines) as advance:
                while simulation.state.frame < total and not stopped():
                    simulation.step()
                    recorder.record()
                    advance(simulation.state.frame)
                    saver.keep_up()
            report.wall_seconds = time.perf_counter() - begun
            if stopped() and simulation.state.frame < total:
                report.status, report.exit_code = "interrupted", INTERRUPTED
            # before the files are finished, which may take its time
            saver.save(required=checkpoint is not None, wanted=report.status != "ok")
    except DivergenceError as error:
        report.status, report.exit_code = "diverged", DIVERGED
        report.cause = str(error)
        report.message = "; ".join([report.cause, *getattr(error, "__notes__", ())])
        report.wall_seconds = time.perf_counter() - begun
        saver.save(required=False, wanted=True)
    report.steps, report.time = simulation.state.frame - first, simulation.time
    report.steps_per_second = report.steps / max(report.wall_seconds, 1e-9)
    report.frames = recorder.frames
    report.checkpoint = saver.written
    report.outputs = [] if report.status == "diverged" else [_output(path) for path in outputs]
    if saver.failure is not None:
        if isinstance(saver.failure, MissingExtraError) and checkpoint is None:
            report.message += f"no checkpoint: {saver.failure}"
        else:
            raise saver.failure
    return report


def tell(report: Report, as_json: bool) -> int:
    """Print how a run went, for people on standard error or as JSON on standard output; gives the exit code."""
    if as_json:
        print(json.dumps(asdict(report)))
    lines = []
    if report.status == "interrupted":
        lines.append(f"interrupted at t = {report.time:g} s; the files hold the frames so far")
    if report.message:
        lines.append(report.message)
    lines.append(
        f"{report.particles} particles, {report.steps} steps to t = {report.time:g} s in {report.wall_seconds:.2f} s: "
        f"{report.steps_per_second:.0f} steps/s"
    )
    for output in report.outputs:
        lines.append(f"wrote {output['path']} ({_size(output['bytes'])}): {output['look']}")
    if report.checkpoint:
        lines.append(f"wrote {report.checkpoint}: go on with shinari run --resume {report.checkpoint}")
    for line in lines:
        print(f"shinari: {line}", file=sys.stderr)
    return report.exit_code


class _Saver:
    """Writes the checkpoint, and keeps an error for when the results are safe."""

    def __init__(self, simulation: Simulation, path: Path | None, outputs: list[Path], every: float) -> None:
        self._simulation = simulation
        self._every = every if path is not None else None
        self._last = time.perf_counter()
        beside = outputs[0] if outputs else Path("shinari")
        self._path = path or beside.with_name(f"{beside.stem}.checkpoint.vtkhdf")
        self.written: str | None = None
        self.failure: ShinariError | None = None

    def keep_up(self) -> None:
        """Write the checkpoint that was asked for, when the last one is old enough."""
        if self._every is not None and self.failure is None and time.perf_counter() - self._last >= self._every:
            self.save(required=True, wanted=True)
            self._last = time.perf_counter()

    def save(self, *, required: bool, wanted: bool) -> None:
        if not (required or wanted):
            return
        try:
            self._simulation.save(self._path)
            self.written = str(self._path)
        except ShinariError as error:
            self.failure = error


@contextmanager
def _progress(total: int, first: int, quiet: bool, lines: bool) -> Iterator[Any]:
    """A bar with the time left, on a terminal, or lines of JSON; gives a function that takes the frame."""
    if lines:
        yield _lines(total, first)
        return
    if quiet or not sys.stderr.isatty():
        yield (lambda frame: None) if quiet else _expected(total, first)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = ("simulating", BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=total, completed=first, rate="")
        begun = last = time.perf_counter()

        def advance(frame: int) -> None:
            nonlocal last
            now = time.perf_counter()
            if now - last > 0.1 or frame == total:
                last = now
                bar.update(task, completed=frame, rate=f"{(frame - first) / (now - begun):.0f} steps/s, left")

        yield advance


def _expected(total: int, first: int) -> Callable[[int], None]:
    """Tells the expected time of a long run once, after its first seconds, where there is no bar."""
    begun = time.perf_counter()
    told = False

    def advance(frame: int) -> None:
        nonlocal told
        past = time.perf_counter() - begun
        if told or past < LOOK:
            return
        told = True
        left = past * (total - frame) / (frame - first)
        if left > LONG:
            print(f"shinari: {total - frame} steps to go, about {left / 60.0:.0f} min", file=sys.stderr, flush=True)

    return advance


def _lines(total: int, first: int) -> Callable[[int], None]:
    """Prints the progress as lines of JSON on standard output, at most ten in a second."""
    begun = last = time.perf_counter()
    print(json.dumps({"step": first, "steps": total, "seconds_left": None}), flush=True)

    def advance(frame: int) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last > 0.1 or frame == total:
            last = now
            left = (now - begun) * (total - frame) / (frame - first)
            print(json.dumps({"step": frame, "steps": total, "seconds_left": round(left, 1)}), flush=True)

    return advance


@contextmanager
def drawing(quiet: bool) -> Iterator[Any]:
    """A bar for the frames of pictures and videos, on a terminal, from the first one on.

    Gives what `shinari.view.render.Progress` says, or None.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("drawing")

    def tell(what: str, done: int, count: int) -> None:
        bar.start()
        bar.update(task, description=what, completed=done, total=count)

    try:
        yield tell
    finally:
        bar.stop()


def _check_targets(outputs: list[Path], checkpoint: Path | None) -> None:
    """Find out before a long run what cannot be written after it."""
    files = [check_target(path) for path in [*outputs, *([checkpoint] if checkpoint else [])]]
    for index, file in enumerate(files):
        if file in files[:index]:
            raise SceneError(f"run: output: {file} is given twice")
    if checkpoint is not None:
        from shinari.errors import require

        require("h5py", "cache")


def _output(path: Path) -> dict[str, Any]:
    several = "*" if path.suffix.lower() in (".pc2", ".mdd") else "[0-9]*"
    files = [path] if path.is_file() else sorted(path.parent.glob(f"{path.stem}_{several}{path.suffix}"))
    size = sum(file.stat().st_size for file in files)
    shown = path if path.is_file() or not files else files[0]
    return {"path": str(shown), "bytes": size, "look": HOW_TO_LOOK.get(path.suffix.lower(), "")}


def _size(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000.0:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000.0
    return f"{count:.1f} GB"
