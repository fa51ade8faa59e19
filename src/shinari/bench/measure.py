"""Measure subjects side by side, and compare with an earlier measurement."""

import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from shinari.bench.sheet import Case
from shinari.bench.worker import Worker, wait_for_quiet
from shinari.errors import FileError

FORMAT = 1
# Steps of a turn; the first of them wakes the threads and fills the caches, and does not count.
TURN = 6
SWEEPS = 20
# On a busy machine there are more turns, up to so many times as many, until enough steps were left alone.
PATIENCE = 4
# Threads that wait for work spin for some milliseconds: the next subject starts when they sleep.
PAUSE = 0.01


@dataclass(frozen=True)
class Spread:
    """Median and quartiles of repeated measurements."""

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: list[float]) -> "Spread":
        """Of some values; nan when there are none, on a machine that is too busy to measure."""
        if not values:
            return cls(float("nan"), float("nan"), float("nan"), 0)
        low, median, high = np.percentile(values, [25, 50, 75])
        return cls(float(median), float(low), float(high), len(values))


@dataclass
class Result:
    """What was measured of one subject in one case.

    Attributes:
        subject: Name: `"shinari"`, `"shinari, 1 thread"`, `"shinari, hierarchy"`, `"pypbd"`, `"cpp"`.
        n: Particles along an edge of the sheet.
        bending: Whether it has bending rows.
        rows: Rows of all types.
        ms: Time of a step [ms].
        sweep_ms: Time of solving every row once [ms], where the subject can tell.
        ns_per_row: Time of a step over substeps and rows [ns].
        sweep_ns_per_row: Time of a sweep over rows [ns].
        ratio: Time over that of `"shinari"`, the median over turns.
        mean_strain: Mean |strain| of the distance rows after `steps`.
        largest_strain: Largest |strain| after `steps`.
        steps: Steps taken when the strains were read.
        facts: What the subject says about itself.
    """

    subject: str
    n: int
    bending: bool
    rows: int
    ms: Spread
    sweep_ms: Spread | None
    ns_per_row: float
    sweep_ns_per_row: float | None
    ratio: float
    mean_strain: float
    largest_strain: float
    steps: int
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def scene(self) -> str:
        """Name of the scene."""
        return "sheet with bending" if self.bending else "sheet"


def measure(case: Case, peers: list[str], steps: int) -> list[Result]:
    """Measure ours, ours on one thread and with a hierarchy, and peers, in turns of a few steps.

    Args:
        case: The sheet.
        peers: Names of other subjects.
        steps: Timed steps of each subject.
    """
    plans = {"shinari": ("shinari", case)}
    if case.threads > 1:
        plans["shinari, 1 thread"] = ("shinari", replace(case, threads=1))
    plans["shinari, hierarchy"] = ("shinari", replace(case, hierarchy=True))
    plans |= {name: (name, case) for name in peers if not (case.bending and name == "cpp")}
    turns = -(-steps // (TURN - 1))
    with ExitStack() as stack:
        workers = {label: stack.enter_context(Worker(*plan)) for label, plan in plans.items()}
        times = _take_turns(workers, turns, "step", TURN, steps)
        strains = {label: worker.ask("strain") for label, worker in workers.items()}
        times = _take_turns(workers, turns * (PATIENCE - 1), "step", TURN, steps, times)
        facts = {label: worker.ask("facts") for label, worker in workers.items()}
        sweeps = _take_turns(workers, 5 * PATIENCE, "sweep", SWEEPS, 3 * SWEEPS)
    return [
        _result(label, case, times[label], times["shinari"], sweeps[label], strains[label], turns * TURN + 1, facts)
        for label in workers
    ]


Times = dict[str, list[list[float]]]


def _take_turns(
    workers: dict[str, Worker], turns: int, task: str, turn: int, enough: int, times: Times | None = None
) -> Times:
    """Let each subject do a task in turns, until each has enough undisturbed times; their times by turn.

    The first call makes all its turns, so that every subject has taken the same steps when strains are read.
    """
    result = {label: [] for label in workers} if times is None else times
    for k in range(turns):
        counts = [sum(map(len, taken)) for taken in result.values()]
        if (times is not None or task == "sweep") and k > 0 and min(counts, default=0) >= enough:
            break
        wait_for_quiet()
        for label, worker in workers.items():
            answer = worker.ask(task, turn)
            result[label].append([] if answer is None else answer)
            time.sleep(PAUSE)
    return result


def _result(
    label: str,
    case: Case,
    times: list[list[float]],
    ours: list[list[float]],
    sweeps: list[list[float]],
    strains: list[float],
    steps: int,
    facts: dict[str, Any],
) -> Result:
    rows = case.sheet.row_count
    ms = Spread.of(_flat(times))
    sweep_ms = Spread.of(_flat(sweeps)) if _flat(sweeps) else None
    pairs = [(a, b) for a, b in zip(times, ours, strict=True) if a and b]
    ratios = [float(np.median(a) / np.median(b)) for a, b in pairs]
    return Result(
        subject=label,
        n=case.n,
        bending=case.bending,
        rows=rows,
        ms=ms,
        sweep_ms=sweep_ms,
        ns_per_row=ms.median * 1e6 / (case.substeps * case.iterations * rows),
        sweep_ns_per_row=None if sweep_ms is None else sweep_ms.median * 1e6 / rows,
        ratio=float(np.median(ratios)) if ratios else float("nan"),
        mean_strain=strains[0],
        largest_strain=strains[1],
        steps=steps,
        facts=facts[label],
    )


def _flat(turns: list[list[float]]) -> list[float]:
    return [value for turn in turns for value in turn]


def cases(sizes: tuple[int, ...], threads: int) -> Iterator[Case]:
    """The sheet in all sizes, first without and then with bending."""
    for bending in (False, True):
        for n in sizes:
            yield Case(n, bending, threads=threads)


def run(
    sizes: tuple[int, ...], peers: list[str], steps: int, threads: int, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Measure all cases.

    Args:
        sizes: Particles along an edge.
        peers: Names of other subjects.
        steps: Timed steps of each subject.
        threads: Threads of all but the one-thread measurement.
        progress: Called with the name of what is measured next.

    Returns:
        What `--json` writes: the machine, and one result each.
    """
    results = []
    before = load()
    for case in cases(sizes, threads):
        progress(f"{case.n} x {case.n}{' with bending' if case.bending else ''}")
        results += [asdict(result) for result in measure(case, peers, steps)]
    return {"format": FORMAT, "machine": machine(threads), "load": [before, load()], "results": results}


def load() -> float | None:
    """Processes that ran in the last minute, on average; None where the system does not tell."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def machine(threads: int) -> dict[str, Any]:
    """Processor and versions."""
    import shinari

    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": version("numba"),
        "shinari": shinari.__version__,
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def read(path: Path) -> dict[str, Any]:
    """Read what an earlier run wrote.

    Raises:
        FileError: It is missing, damaged or of another version.
    """
    try:
        data = json.loads(path.read_text())
    except OSError as error:
        raise FileError(f"bench: cannot read {str(path)!r}: {error.strerror}") from error
    except ValueError as error:
        raise FileError(f"bench: {str(path)!r} holds no JSON: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise FileError(f"bench: {str(path)!r} was not written by this version of `shinari bench --json`")
    return data


def key(result: dict[str, Any]) -> tuple[str, int, bool]:
    """What makes two results comparable: subject, size, bending."""
    return result["subject"], result["n"], result["bending"]
