"""Who takes steps: one thread at a time, while no other reads or changes what is being written."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from shinari.errors import SceneError


class Stepping:
    """The thread that takes steps of a simulation, or of many worlds; none in between."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: int | None = None

    @contextmanager
    def alone(self, what: str) -> Iterator[None]:
        """For the time in which this thread takes steps.

        Raises:
            SceneError: Steps are being taken.
        """
        if not self._lock.acquire(blocking=False):
            self.refuse_within(what)
            raise _busy(what)
        try:
            self._thread = threading.get_ident()
            yield
        finally:
            self._thread = None
            self._lock.release()

    def refuse_within(self, what: str) -> None:
        """Refuse a call by another thread while steps are taken, or by a function of the scene that a step calls.

        Raises:
            SceneError: Steps are being taken.
        """
        self.refuse_elsewhere(what)
        if self._thread is not None:
            raise SceneError(
                f"simulation: {what}: called by a function of the scene within a step; call it between steps"
            )

    def refuse_elsewhere(self, what: str) -> None:
        """Refuse a call by another thread while steps are taken: what it reads is being written.

        Raises:
            SceneError: Another thread takes steps.
        """
        thread = self._thread
        if thread is not None and thread != threading.get_ident():
            raise _busy(what)


def _busy(what: str) -> SceneError:
    return SceneError(
        f"simulation: {what}: another thread is taking steps; a simulation is stepped, read and changed by one thread "
        "at a time: wait for it, with a lock of your own"
    )
