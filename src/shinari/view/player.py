"""Something that moves in a thread of its own, at its own rate: a simulation, or a run that was written to a file.

Whoever looks at it takes the newest frame and never holds the player up; whoever wants something of it queues it.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np

from shinari.check import short
from shinari.errors import DivergenceError, SceneError
from shinari.io.results import Frame, Layout

FRAME_PERIOD = 1.0 / 30.0
"""Time between two frames that are shown, on average at least [s]."""
SPEEDS = (1.0 / 16.0, 16.0)
"""Slowest and fastest, as a multiple of real time."""


class Player(ABC):
    """What runners and playbacks share: the thread, its queue, the newest frame.

    Args:
        layout: What the frames hold.
        title: One line about what is played.
        playing: Whether it starts by itself.

    Attributes:
        status: `"running"`, `"paused"`, `"diverged"`, `"failed"` (another error stopped it) or `"closed"`.
        message: What went wrong, when something did.
        generation: Grows with every reset.
    """

    def __init__(self, layout: Layout, title: str = "", *, playing: bool = False) -> None:
        self.layout = layout
        self.title = title
        self.status = "running" if playing else "paused"
        self.message = ""
        self.generation = 0
        self._speed = 1.0
        self._changed = threading.Condition()
        self._tasks: deque[tuple[Future, Callable[[], Any]]] = deque()
        self._closed = False
        self._number = 0
        self._newest: Frame | None = None
        self._stale = True
        self._last = self._next = 0.0
        self._thread = threading.Thread(target=self._loop, name=f"shinari {type(self).__name__}", daemon=True)

    @property
    def speed(self) -> float:
        """How fast time goes, as a multiple of real time."""
        return self._speed

    @speed.setter
    def speed(self, value: float) -> None:
        if not SPEEDS[0] <= value <= SPEEDS[1]:
            raise SceneError(f"viewer: speed: expected {SPEEDS[0]:g} to {SPEEDS[1]:g}, got {short(value)}")
        self._speed = float(value)

    def play(self) -> Future:
        """Go on by itself; does nothing after a divergence until `reset`."""
        return self._queue(self._play)

    def pause(self) -> Future:
        """Stop after the step that is being taken."""
        return self._queue(self._pause)

    def step(self) -> Future:
        """Stop, and take one step."""
        return self._queue(self._one)

    def reset(self) -> Future:
        """Go back to the start; what had gone wrong is forgotten, and waits for `play`."""
        return self._queue(self._reset)

    def latest(self) -> Frame | None:
        """The newest frame; nobody writes to its arrays any more."""
        return self._newest

    @abstractmethod
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of what a camera should see [m]."""

    def wait(self, seen: int, timeout: float) -> tuple[int, Frame | None]:
        """Wait until there is something newer than what was seen: a frame, or another status.

        Args:
            seen: Number that the last call gave, 0 at first.
            timeout: Longest time to wait [s].

        Returns:
            The number of the newest, and the newest frame.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._number != seen, timeout)
            return self._number, self._newest

    def close(self) -> None:
        """Stop the thread and wait for it; what is still queued is cancelled."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _start(self) -> None:
        self._publish()
        self._thread.start()

    def _queue(self, function: Callable[[], Any]) -> Future:
        future: Future = Future()
        with self._changed:
            if self._closed:
                future.cancel()
                return future
            self._tasks.append((future, function))
            self._changed.notify_all()
        return future

    def _loop(self) -> None:
        self._last = time.perf_counter()
        while self._wait_for_work():
            self._work_off()
            if self.status == "running":
                self._guarded(self._go_on)
            if self._stale and self._frame_is_due():
                self._publish_or_stop()
        with self._changed:
            self.status = "closed"
            while self._tasks:
                self._tasks.popleft()[0].cancel()
            self._number += 1
            self._changed.notify_all()

    def _wait_for_work(self) -> bool:
        """Sleep until a step or a frame is due, or something was queued; False when it is over."""
        waits = []
        if self._stale:
            waits.append(self._next - time.perf_counter())
        if self.status == "running":
            waits.append(self._last + self._due() / self._speed - time.perf_counter())
        timeout = float(np.clip(min(waits), 0.0, threading.TIMEOUT_MAX)) if waits else None
        with self._changed:
            if timeout != 0.0:
                self._changed.wait_for(lambda: self._tasks or self._closed, timeout)
            return not self._closed

    def _work_off(self) -> None:
        while True:
            with self._changed:
                if not self._tasks or self._closed:
                    return
                future, function = self._tasks.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)
            self._stale = True

    def _go_on(self) -> bool:
        now = time.perf_counter()
        elapsed, self._last = now - self._last, now
        return self._advance(elapsed * self._speed)

    def _guarded(self, function: Callable[[], bool]) -> None:
        """Move; whatever goes wrong stops the player and is told."""
        try:
            self._stale = function() or self._stale
        except DivergenceError as error:
            self._stop("diverged", str(error))
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self._stop("failed", f"{type(error).__name__}: {error}")

    def _stop(self, status: str, message: str = "") -> None:
        # who sees the status may read the message
        self.message, self.status, self._stale = message, status, True

    def _frame_is_due(self) -> bool:
        return time.perf_counter() >= self._next

    def _publish_or_stop(self) -> None:
        """Publish; when no frame can be made, as of a file that was cut, the last one stays and it is told why."""
        try:
            self._publish()
        except Exception as error:
            self._fail(error)
            self._announce(self._newest)

    def _publish(self) -> None:
        self._announce(self._frame())

    def _announce(self, frame: Frame | None) -> None:
        with self._changed:
            self._newest = frame
            self._number += 1
            self._stale = False
            # on a schedule: what comes late with one frame, at the end of a step, does not delay all that follow
            now = time.perf_counter()
            self._next = max(self._next + FRAME_PERIOD, now)
            self._changed.notify_all()

    def _play(self) -> None:
        if self.status == "paused":
            self.status, self._last = "running", time.perf_counter()

    def _pause(self) -> None:
        if self.status == "running":
            self.status = "paused"

    def _one(self) -> None:
        self._pause()
        if self.status == "paused":
            self._guarded(self._step)

    def _reset(self) -> None:
        self._rewind()
        self.generation += 1
        if self.status != "running":
            self._stop("paused")
        self._last = time.perf_counter()

    @abstractmethod
    def _frame(self) -> Frame:
        """The moment at which it is, in arrays of its own."""

    @abstractmethod
    def _due(self) -> float:
        """Time of its own until it moves next [s]."""

    @abstractmethod
    def _advance(self, elapsed: float) -> bool:
        """Move by a time of its own [s]; whether anything has moved."""

    @abstractmethod
    def _step(self) -> bool:
        """Move by one step."""

    @abstractmethod
    def _rewind(self) -> None:
        """Go to the start."""
