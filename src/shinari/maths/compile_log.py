"""Says which kernels are being compiled, when that takes longer than a second.

Messages go to the logger `shinari` at level INFO. Where nobody has set up logging they are printed to standard error;
`logging.getLogger("shinari").setLevel("WARNING")` or the variable `SHINARI_QUIET=1` silence them.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from numba.core import event

from shinari.compute.progress import logger
from shinari.maths.threads import held_at_fork

PATIENCE = 1.0
"""Time that compiling takes before anything is said [s]."""
EVERY, SAME = 4.0, 20.0
"""Time between two messages, about different kernels and about the same one [s]."""
OURS = ("shinari.", "shinari_kernel_")
"""How the names of the modules begin whose kernels are counted."""


class Watch(event.Listener):
    """Counts kernels as they are compiled or loaded, and tells of it from a thread of its own.

    A series of kernels ends when none has been compiled for `PATIENCE`, or with the block that `expect` surrounds.
    """

    def __init__(self) -> None:
        self._lock = held_at_fork(threading.RLock())
        self._depth = 0
        self._expected: list[int] = []
        self._forget(0.0)

    def _forget(self, now: float) -> None:
        self._count, self._name, self._total = 0, "", 0
        self._begun, self._last, self._compiled = now, now, 0
        self._told: float | None = None
        self._shown = 0
        self._ticker: threading.Thread | None = None

    @contextmanager
    def expect(self, kernels: int) -> Iterator[None]:
        """Surround work that uses about so many kernels that this process has not used before."""
        with self._lock:
            if not self._expected:
                self._finish()
            self._expected.append(kernels)
            self._total = max(self._total, kernels)
        try:
            yield
        finally:
            with self._lock:
                self._expected.pop()
                if not self._expected:
                    self._finish()

    def loaded(self) -> None:
        """A kernel was found in the cache."""
        with self._lock:
            if self._expected:
                self._count += 1

    def on_start(self, event: event.Event) -> None:
        """A function is being compiled; Numba holds its lock, and callees are compiled inside of it."""
        self._depth += 1
        function = event.data["dispatcher"].py_func  # type: ignore[index]
        if self._depth > 1 or not function.__module__.startswith(OURS):
            return
        with self._lock:
            now = time.perf_counter()
            if self._compiled == 0:
                self._begun = now
            self._count += 1
            self._compiled += 1
            self._name, self._last = function.__name__, now
            if self._ticker is None or not self._ticker.is_alive():
                self._ticker = threading.Thread(target=self._tick, name="shinari-compile-log", daemon=True)
                self._ticker.start()

    def on_end(self, event: event.Event) -> None:
        """A function has been compiled."""
        self._depth -= 1
        with self._lock:
            self._last = time.perf_counter()

    def _tick(self) -> None:
        """Tell how far it is, until the series ends."""
        while True:
            time.sleep(0.2)
            with self._lock:
                if self._ticker is not threading.current_thread():
                    return
                now = time.perf_counter()
                if self._depth == 0 and now - self._last > PATIENCE and not self._expected:
                    self._finish()
                    return
                if self._told is None:
                    due = self._begun + PATIENCE
                else:
                    due = self._told + (SAME if self._shown == self._count else EVERY)
                if self._depth > 0 and now > due:
                    self._told, self._shown = now, self._count
                    of = f" of about {self._total}" if self._total >= self._count else ""
                    logger.info("compiling kernel %d%s (%s), once on this machine ...", self._count, of, self._name)

    def _finish(self) -> None:
        if self._told is not None:
            logger.info("compiled %d kernels in %.1f s; later runs load them", self._compiled, self._last - self._begun)
        self._forget(time.perf_counter())


def install() -> Watch:
    """Begin to watch, and see to it that messages are seen."""
    watch = Watch()
    event.register("numba:compile", watch)
    return watch


WATCH = install()
