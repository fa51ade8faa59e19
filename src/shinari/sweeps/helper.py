"""The process that runs members one after another: requests come as lines of JSON, results go back alike.

It is a process of its own, started by the worker that asks it, so that a member that hangs can be killed, one that
takes too much memory or crashes takes nothing along, and workers of any kind (threads, Dask) are the same.
"""

import argparse
import contextlib
import json
import os
import queue
import signal
import threading
from typing import IO, Any

IDLE = 600.0
"""Time without a request after which the process ends [s]."""


def main() -> None:
    """Answer requests until standard input ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", type=int, default=0)
    options = parser.parse_args()
    with contextlib.suppress(ValueError, OSError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that shows the progress
    asked, answers = _take_standard_input(), _take_standard_output()
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(asked, requests), daemon=True).start()
    _bound_memory(options.memory)

    import msgspec

    from shinari.sweeps import member
    from shinari.sweeps.plan import Job

    jobs: dict[str, Job] = {}
    while True:
        try:
            request: dict[str, Any] = json.loads(requests.get(timeout=IDLE))
        except queue.Empty:
            return
        if request.get("job") is not None:
            jobs = {request["digest"]: msgspec.convert(request["job"], Job)}
        job, limits = jobs[request["digest"]], msgspec.convert(request["limits"], member.Limits)
        if request.get("warm"):
            answer = member.warm(job, request["values"], limits)
        else:
            answer = member.run(job, request["member"], request["values"], limits, request.get("frames"))
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()


def _read(asked: IO[bytes], requests: "queue.SimpleQueue[bytes]") -> None:
    """Hand requests over; the process ends with the one that sends them, also in the middle of a member."""
    for line in asked:
        requests.put(line)
    os._exit(0)


def _take_standard_input() -> IO[bytes]:
    """The pipe for requests; code of the user that reads finds the end of a file, and does not wait for an answer."""
    asked, nothing = os.fdopen(os.dup(0), "rb"), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return asked


def _take_standard_output() -> IO[bytes]:
    """The pipe for answers; what the code of the user prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _bound_memory(memory: int) -> None:
    """Let the process have so much memory [bytes]: more ends in a `MemoryError` there, not in the system."""
    if memory:
        with contextlib.suppress(ImportError, ValueError, OSError):
            import resource

            resource.setrlimit(resource.RLIMIT_DATA, (memory, resource.getrlimit(resource.RLIMIT_DATA)[1]))


if __name__ == "__main__":
    main()
