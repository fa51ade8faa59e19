"""A subject in a process of its own, so that engines do not share threads, runtimes or memory."""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from shinari.bench.sheet import Case
from shinari.errors import ShinariError

# Times that a thread may lose its processor, for each millisecond, before a measurement is dropped.
SWITCHES = 0.05


class Worker:
    """A subject at work.

    Args:
        name: Name of the subject.
        case: What it simulates.

    Raises:
        ShinariError: It cannot be built here, or it died.
    """

    def __init__(self, name: str, case: Case) -> None:
        self.name, self.case = name, case
        threads = {key: str(case.threads) for key in ("SHINARI_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS")}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "shinari.bench.worker", name, json.dumps(asdict(case))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | threads,
        )

    def __enter__(self) -> "Worker":
        self.ask("facts")
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(BrokenPipeError), self._process:
            pass  # closes both pipes and waits

    def ask(self, task: str, count: int = 1) -> Any:
        """Do a task and wait for its answer; see `serve`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps([task, count]), file=self._process.stdin, flush=True)
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise ShinariError(f"bench: {self.name} at {self.case.n} x {self.case.n} stopped; its message is above")
        return json.loads(answer)

    def per_row(self, turns: int) -> float:
        """Median time of a step over substeps and rows [ns], from so many undisturbed turns or a few more."""
        times: list[float] = []
        for _ in range(10 * turns):
            wait_for_quiet()
            times += self.ask("step", 6)
            if len(times) >= 5 * turns:
                break
        rows = self.case.substeps * self.case.iterations * self.case.sheet.row_count
        return statistics.median(times) * 1e6 / rows if times else float("nan")


def wait_for_quiet(patience: float = 1.0) -> None:
    """Wait until no other process wants a processor, at most so long [s]; at once where the system does not tell."""
    end, calm = time.monotonic() + patience, 0
    while calm < 3 and time.monotonic() < end:
        try:
            running = int(Path("/proc/loadavg").read_text().split()[3].split("/")[0])
        except (OSError, ValueError, IndexError):
            return
        calm = calm + 1 if running <= 1 else 0
        time.sleep(0.002)


def serve(name: str, case: Case) -> None:
    """Answer tasks on standard input until it ends.

    `step` and `sweep` return the milliseconds of each of `count` that was not disturbed, `strain` the mean and largest
    |strain|, `facts` what the subject says about itself.
    """
    # an engine may print; the answers go to a channel of their own
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    from shinari.bench.subjects import subject

    engine = subject(name, case)
    engine.step()
    for line in sys.stdin:
        task, count = json.loads(line)
        if task == "facts":
            answer: Any = engine.facts()
        elif task == "strain":
            answer = case.sheet.strains(engine.positions())
        else:
            answer = _timed(getattr(engine, task, None), count)
        print(json.dumps(answer), file=answers, flush=True)


def _timed(action: Any, count: int) -> list[float] | None:
    """Milliseconds of each call that was not disturbed, the first left out; None when there is nothing to call.

    When the system takes the processor away from one thread, the others wait for it at the next barrier, for as long
    as a hundred steps. Such a call says nothing about the engine.
    """
    if action is None:
        return None
    times = []
    for k in range(count):
        switches, start = _switches(), time.perf_counter()
        action()
        elapsed = (time.perf_counter() - start) * 1e3
        if k > 0 and _switches() - switches <= elapsed * SWITCHES:
            times.append(elapsed)
    return times


def _switches() -> int:
    """How often the system has taken the processor away from this process; 0 where it does not tell."""
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


if __name__ == "__main__":
    serve(sys.argv[1], Case(**json.loads(sys.argv[2])))
