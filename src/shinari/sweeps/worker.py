"""The side that asks: runs a member in the helper process of this thread, wherever the thread is."""

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from shinari.sweeps import functions, member
from shinari.sweeps.member import Limits

GRACE = 5.0
"""Time beyond its limit after which a member that does not even end a step is killed [s]."""
ENDING = 5.0
"""Time for the end of a process that has closed its pipe [s]."""
START = 60.0
"""Time that a helper may take to start [s], beyond the limit of its first member."""
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")

_helpers: dict[int, "Helper"] = {}
_lock = threading.Lock()
_stopped: set[str] = set()
"""Sweeps that want nothing more of this process."""


def run_member(task: dict[str, Any]) -> dict[str, Any]:
    """Run a member in the helper of this thread.

    Args:
        task: `sweep`, a name of its own for each call; `digest` and `job` (JSON text); `member`, `values`, `limits`;
            `frames`, file for them or None; `versions` of the process that asks.

    Returns:
        The row of the member; `status` is `"version"` where this machine has another version.
    """
    if task["versions"] != member.versions():
        return {"member": task["member"], "status": "version", "message": told_versions(member.versions())}
    limits = msgspec.convert(task["limits"], Limits)
    if task["frames"] is not None and not Path(task["frames"]).parents[1].joinpath("plan.json").is_file():
        message = f"{task['frames']}: cannot be written: the folder of the study is not on this machine"
        return {"member": task["member"], "status": member.FAILED, "message": message, "measures": {}}
    row = {"member": task["member"], "status": member.KILLED, "message": "the sweep has ended", "measures": {}}
    for _ in range(limits.retries + 1):
        if task["sweep"] in _stopped:
            break
        row = _helper(limits).ask(task, limits)
        if row["status"] != member.KILLED:
            break
    return row


def warm(task: dict[str, Any]) -> dict[str, Any]:
    """Compile the kernels of a member here and try its measures; see `shinari.sweeps.member.warm`."""
    limits = msgspec.convert(task["limits"], Limits)
    return _helper(limits).ask({**task, "warm": True}, limits)


def probe() -> dict[str, str]:
    """Versions of this process."""
    return member.versions()


def told_versions(versions: dict[str, str]) -> str:
    """Versions in words."""
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def stop_helpers(sweep: str) -> None:
    """End the helpers of this process that work for a sweep, in the middle of a member if they are."""
    with _lock:
        _stopped.add(sweep)
        ended = [me for me, helper in _helpers.items() if helper.sweep == sweep]
        helpers = [_helpers.pop(me) for me in ended]
    for helper in helpers:
        helper.kill()


@contextlib.contextmanager
def helpers_of(sweep: str) -> Iterator[None]:
    """The helpers of this process that work for a sweep end with the block."""
    try:
        yield
    finally:
        stop_helpers(sweep)


def _helper(limits: Limits) -> "Helper":
    """The helper of this thread, started when it is needed."""
    me = threading.get_ident()
    with _lock:
        helper = _helpers.get(me)
        if helper is None or not helper.usable(limits):
            if helper is not None:
                helper.kill()
            helper = _helpers[me] = Helper(limits)
        return helper


class Helper:
    """A process that runs members, see `shinari.sweeps.helper`.

    Attributes:
        sweep: Sweep for which it works.
    """

    def __init__(self, limits: Limits) -> None:
        self.sweep = ""
        self._memory = limits.memory
        self._known = ""
        self._fresh = True
        package = str(Path(__file__).parents[2])
        paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {
            **os.environ,
            **dict.fromkeys(ONE_THREAD, "1"),
            "PYTHONPATH": os.pathsep.join(paths),
            functions.IMPORTING: "1",
        }
        words = [sys.executable, "-P", "-m", "shinari.sweeps.helper", "--memory", str(limits.memory or 0)]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)

    def usable(self, limits: Limits) -> bool:
        """Whether the process still runs and has the memory that is asked for."""
        return self._process.poll() is None and self._memory == limits.memory

    def kill(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def ask(self, task: dict[str, Any], limits: Limits) -> dict[str, Any]:
        """Have a member run; gives its row, also when the process is killed or its time is over."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.sweep = task["sweep"]
        request = {name: task.get(name) for name in ("digest", "member", "values", "limits", "frames", "warm")}
        head = json.dumps(request).encode()
        if self._known != task["digest"]:
            head = head[:-1] + b', "job": ' + task["job"].encode() + b"}"
        overdue = threading.Event()
        timer = None if limits.time is None or task.get("warm") else self._timer(limits.time, overdue)
        answer = b""
        try:
            with contextlib.suppress(OSError, ValueError):
                self._process.stdin.write(head + b"\n")
                self._process.stdin.flush()
                answer = self._process.stdout.readline()
        finally:
            if timer is not None:
                timer.cancel()
        if answer.endswith(b"\n"):
            self._known, self._fresh = task["digest"], False
            return json.loads(answer)
        code = self._ended()
        self.kill()
        if overdue.is_set():
            status, message = member.TIMED_OUT, f"the time limit of {limits.time:g} s was reached within a step"
        else:
            told = "its process closed its files" if code is None else f"its process ended: {_ending(code)}"
            status, message = member.KILLED, told
        return {"member": task.get("member", ""), "status": status, "message": message, "measures": {},
                "error": message, "bad": False}  # fmt: skip

    def _ended(self) -> int | None:
        """How the process that closed its pipe ended; None where it goes on."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(ENDING)
        return None

    def _timer(self, limit: float, overdue: threading.Event) -> threading.Timer:
        def end() -> None:
            overdue.set()
            self._process.kill()

        timer = threading.Timer(limit + GRACE + START * self._fresh, end)
        timer.daemon = True
        timer.start()
        return timer


def _ending(code: int) -> str:
    import signal

    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = str(-code)
    return f"signal {name}" + (", as the system ends processes when memory runs out" if name == "SIGKILL" else "")
