"""`shinari verify`: the ledger of measurements against closed forms and papers."""

import json as json_module
import math
import multiprocessing
import os
import signal
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict
from typing import Annotated, Any, Literal, Protocol

from cyclopts import Parameter
from cyclopts.validators import Number

from shinari.cli import FAILED, INTERRUPTED, OK
from shinari.compute.threads import processors
from shinari.errors import ShinariError
from shinari.solver.device_state import for_device
from shinari.verify.durations import seconds_of
from shinari.verify.ledger import PRECISIONS, Entry, Measurement, Skipped, select_checks
from shinari.verify.quick import quick_checks

PERIOD = 10.0
"""Least time between two lines of progress where standard error is no terminal [s]."""
ON_A_GPU = 4
"""Most processes that share a GPU unless more are asked for: each takes some hundred MB of its memory."""
LONG = 20.0
"""Durations of checks for which it pays to start further processes [s]."""
WIDTH = 160
"""Width of the table where standard output is no terminal."""
COLUMNS = 16, 16, 18, 6
"""Widths of the expected value, the measured value, the tolerance and the verdict."""


def verify(
    *names: str,
    quick: Annotated[bool, Parameter(negative=())] = False,
    json: Annotated[bool, Parameter(negative=())] = False,
    precision: Literal["float64", "float32", "both"] = "both",
    processes: Annotated[int | None, Parameter(validator=Number(gte=1))] = None,
    device: Literal["cpu", "cuda"] = "cpu",
) -> int:
    """Check every method against closed forms and papers.

    Prints a line for each measurement as soon as it is made: what theory or the paper gives, what the engine gives, how
    far they may be apart and where that tolerance comes from. Progress and the time left go to standard error. Ctrl-C
    ends with a summary of what was measured so far.

    With --quick a few checks of every family are measured, each in one precision, single where it can be: about 60
    seconds on two cores once the kernels are compiled. That leaves out the other precision, the other checks of each
    family, and what takes long: large stacks and heaps, flows of fluids and grains to their end, and convergence over
    many resolutions.

    With --device cuda all simulations of the checks run on an NVIDIA GPU. A check whose scenes are refused there, or
    that builds no simulation, is named as skipped with the reason.

    Exit codes: 0 all passed, 1 one failed, 2 there is no such check, 130 interrupted.

    Args:
        names: Checks or families; none: all. A family is a subject, `rods`, or the beginning of several, `rigid`.
        quick: Measure the essential only, of the names if there are any.
        json: Print the measurements as JSON on standard output, a line for each; one object in all.
        precision: Floating point type to check.
        processes: Processes that measure; none: one for each processor, at most 4 on a GPU, or one where that takes
            some seconds only.
        device: Where simulations run: `cpu`, or `cuda` for an NVIDIA GPU.
    """
    # says what is missing before anything is measured
    for_device(device)
    selection = select_checks(names or None, PRECISIONS if precision == "both" else (precision,))
    if quick:
        selection = quick_checks(selection)
    table = _Json() if json else _Table()
    cost = sum(seconds_of(entry.name) for entry, _ in selection)
    most = min(processors(), ON_A_GPU) if device != "cpu" else processors()
    processes = min(processes or (most if cost > LONG else 1), max(len(selection), 1))
    progress = _Progress(selection)
    measurements: list[Measurement] = []
    interrupted = False
    try:
        alone = processes == 1
        for m in _measure(selection, progress, device) if alone else _share(selection, progress, processes, device):
            progress.clear()
            if isinstance(m, Measurement):
                measurements.append(m)
            table.add(m)
    except KeyboardInterrupt:
        interrupted = True
    progress.clear()
    failed = sum(not m.passed for m in measurements)
    table.end(measurements, f"interrupted: {progress.done} of {progress}" if interrupted else "")
    if interrupted:
        return INTERRUPTED
    return FAILED if failed else OK


def _measure(selection: list[tuple[Entry, str]], progress: "_Progress", device: str) -> Iterator[Measurement | Skipped]:
    """The measurements of a selection; a check that ends in an error has failed, and the others go on."""
    for entry, precision in selection:
        progress.start(entry.name, precision)
        try:
            yield from entry.measure_on(device, precision)
        except ShinariError as error:
            yield _failure(entry, precision, f"{type(error).__name__}: {' '.join(str(error).split())}")
        progress.finish()


def _failure(entry: Entry, precision: str, case: str) -> Measurement:
    theory = "a check ends without an error"
    return Measurement(case, 0.0, math.nan, 0.0, False, theory, "equal", entry.name, entry.source, precision)


def _share(
    selection: list[tuple[Entry, str]], progress: "_Progress", processes: int, device: str
) -> Iterator[Measurement | Skipped]:
    """The measurements of a selection in its order, made by several processes."""
    # every processor is taken already: threads of OpenBLAS would keep each other waiting, four times as long as one
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, _leave_interrupts) as pool:
        try:
            futures = [pool.submit(_measure_all, entry.name, precision, device) for entry, precision in selection]
            for (entry, precision), future in zip(selection, futures, strict=True):
                progress.start(entry.name, precision)
                try:
                    yield from future.result()
                except BrokenProcessPool:
                    yield _failure(entry, precision, "a process that measures was killed")
                progress.finish()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in multiprocessing.active_children():
                child.terminate()
            raise


def _leave_interrupts() -> None:
    """Ctrl-C is for the first process, which ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _measure_all(name: str, precision: str, device: str) -> list[Measurement | Skipped]:
    """All measurements of a check."""
    selection = select_checks((name,), (precision,))
    return list(_measure(selection, _Silent(selection), device))


class _Progress:
    """How many checks are measured and the time left, on standard error: one line of a terminal, else now and then."""

    def __init__(self, selection: list[tuple[Entry, str]]) -> None:
        self._costs = [seconds_of(entry.name) for entry, _ in selection]
        self._begun = self._told = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self.done = 0

    def __str__(self) -> str:
        return f"{len(self._costs)} checks"

    def start(self, name: str, precision: str) -> None:
        """A check begins."""
        now = time.monotonic()
        if not self._terminal and now - self._told < PERIOD:
            return
        self._told = now
        line = f"{self.done + 1} of {self}, {_duration(self._left(now))} left: {name}, {precision}"
        print(f"\r\033[K{line}" if self._terminal else line, end="" if self._terminal else "\n", file=sys.stderr)
        sys.stderr.flush()

    def finish(self) -> None:
        """The check is measured."""
        self.done += 1

    def clear(self) -> None:
        """Take the line off a terminal, where rows are to be printed."""
        if self._terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def _left(self, now: float) -> float:
        """Time left [s]: the durations as they are known, at the pace of those that are measured."""
        done, elapsed = sum(self._costs[: self.done]), now - self._begun
        # the pace counts once it is known from more than compiling
        pace = (elapsed + 10.0) / (done + 10.0)
        return pace * sum(self._costs[self.done :])


class _Silent(_Progress):
    """Progress that nobody is shown."""

    def start(self, name: str, precision: str) -> None:
        """A check begins."""


def _duration(seconds: float) -> str:
    return f"about {math.ceil(seconds / 60.0)} min" if seconds > 90.0 else f"about {math.ceil(seconds)} s"


class _Output(Protocol):
    """Prints measurements as they come."""

    def add(self, m: Measurement | Skipped) -> None: ...

    def end(self, measurements: list[Measurement], note: str) -> None: ...


class _Table(_Output):
    """Lines of text for people: a heading for each check, a row for each measurement, a summary."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(highlight=False)
        width = min(self._console.width, WIDTH) if sys.stdout.isatty() else WIDTH
        self._case = max(width - sum(COLUMNS) - 2, 20)
        self._last = ("", "")
        self._skipped: set[str] = set()

    def add(self, m: Measurement | Skipped) -> None:
        """Print a row, below the heading of its check."""
        if self._last != (m.name, m.precision):
            if self._last == ("", ""):
                self._row("case", "expected", "measured", "tolerance", "pass")
            self._print(f"\n{m.name}, {m.precision}. {m.source}", "bold")
            self._last = (m.name, m.precision)
        if isinstance(m, Skipped):
            self._skipped.add(m.name)
            self._print(f"  skipped: {m.reason}")
            return
        *above, case = textwrap.wrap(m.case, self._case) or [""]
        for line in above:
            self._print(f"  {line}")
        style = None if m.passed else "bold red"
        self._row(case, _expected(m), f"{m.measured:.9g}", _tolerance(m), "yes" if m.passed else "NO", style)

    def end(self, measurements: list[Measurement], note: str) -> None:
        """Print the failures and the counts."""
        self._print("")
        for m in measurements:
            if not m.passed:
                off = f"off by {m.error:.3g}. Tolerance: {m.theory}."
                self._print(f"failed: {m.name}, {m.precision}, {m.case}: {off}", "bold red")
        failed, checks = sum(not m.passed for m in measurements), len({m.name for m in measurements})
        if note:
            self._print(note)
        skipped = f" {len(self._skipped)} skipped: {', '.join(sorted(self._skipped))}." if self._skipped else ""
        self._print(f"{checks} checks, {len(measurements)} measurements, {failed} failed.{skipped}")

    def _row(self, case: str, *cells: Any) -> None:
        *texts, style = cells if len(cells) > len(COLUMNS) else (*cells, None)
        columns = "".join(f"{text:>{width}}" for text, width in zip(texts, COLUMNS, strict=True))
        self._print(f"  {case:<{self._case}}{columns}", style)

    def _print(self, line: str, style: str | None = None) -> None:
        self._console.print(line, style=style, markup=False, soft_wrap=True)
        self._console.file.flush()


class _Json(_Output):
    """One object of JSON: `measurements`, a line for each as it comes, then `passed`.

    `skipped` has checks that were not made on a device, `note` whether it was interrupted; both where there is one.
    """

    def __init__(self) -> None:
        print('{"measurements": [', end="", flush=True)
        self._separator = "\n "
        self._skipped: list[dict[str, Any]] = []

    def add(self, m: Measurement | Skipped) -> None:
        """Print a measurement; what is no number is null."""
        if isinstance(m, Skipped):
            self._skipped.append(asdict(m))
            return
        fields = {
            key: None if value in (math.inf, -math.inf) or value != value else value for key, value in asdict(m).items()
        }
        print(f"{self._separator}{json_module.dumps(fields | {'passed': m.passed})}", end="", flush=True)
        self._separator = ",\n "

    def end(self, measurements: list[Measurement], note: str) -> None:
        """Close the object."""
        ends: dict[str, Any] = {"passed": all(m.passed for m in measurements)} | ({"note": note} if note else {})
        ends |= {"skipped": self._skipped} if self._skipped else {}
        print(f"\n], {json_module.dumps(ends)[1:]}", flush=True)


def _expected(m: Measurement) -> str:
    sign = {"equal": "", "at most": "<= ", "at least": ">= "}[m.bound]
    return f"{sign}{m.expected:.9g}"


def _tolerance(m: Measurement) -> str:
    return f"{m.tolerance:.2g} {'relative' if m.relative else 'absolute'}"
