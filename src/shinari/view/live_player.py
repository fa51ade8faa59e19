"""A simulation that runs while somebody looks at it."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import fields, replace
from typing import Any

import numpy as np

from shinari.api.moment import Moment
from shinari.api.simulation import Simulation
from shinari.io.frames import frame_of, layout_of
from shinari.io.results import Frame
from shinari.view.player import FRAME_PERIOD, Player
from shinari.view.stage import live_box

ROUNDING = 1e-9
"""What a step may be short of and still be due, as a part of it."""


class _Coming:
    """A frame of a simulation that may still be on its way.

    Args:
        simulation: The simulation.
        measured: Whether it holds strains, forces and measures.
    """

    def __init__(self, simulation: Simulation, measured: bool) -> None:
        self.moment, self._measured = Moment(simulation, everything=measured), measured

    def frame(self) -> Frame:
        """The frame, of arrays of its own."""
        frame = frame_of(self.moment.simulation(), self._measured)
        arrays = {field.name: getattr(frame, field.name) for field in fields(frame)}
        found = replace(frame, **{name: np.array(a) for name, a in arrays.items() if isinstance(a, np.ndarray)})
        self.moment.close()
        return found


class Runner(Player):
    """Runs a simulation in a thread of its own; only that thread touches the simulation.

    Time goes as fast as in reality, times `speed`. A simulation that is too slow for that falls behind: what it owes is
    never more than the time of a frame, or a step, and the rest is given up.

    Args:
        simulation: The simulation, from now on the runner's.
        title: One line about it.
        playing: Whether it starts by itself.
        surface: Whether fluids are drawn by their surface.
        before_step: Called with the simulation before each step, in the runner's thread: what drives it.

    Attributes:
        measured: Whether frames hold strains, forces and measures; set it when somebody shows them.
        step_seconds: Time that a step takes [s], smoothed over the last ones.
        steps: Steps taken.
    """

    def __init__(
        self,
        simulation: Simulation,
        title: str = "",
        *,
        playing: bool = False,
        surface: bool = False,
        before_step: Callable[[Simulation], Any] | None = None,
    ) -> None:
        layout = layout_of(simulation.scene, 1.0 / simulation.settings.dt, surface, measured=True)
        super().__init__(layout, title, playing=playing)
        self.measured = False
        self.step_seconds = 0.0
        self.steps = 0
        self._simulation = simulation
        self._before_step = before_step
        self._beginning = simulation.state.copy()
        self._left_over = 0.0
        self._coming: _Coming | None = None
        self._start()

    def do(self, function: Callable[[Simulation], Any]) -> Future:
        """Queue something to be done to the simulation between two steps.

        Args:
            function: Called with the simulation, in the runner's thread.

        Returns:
            Its result or its error, when it is done. Cancelled when the runner is closed.
        """
        return self._queue(lambda: function(self._simulation))

    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of what it begins with [m], containers included."""
        frame = self.latest()
        assert frame is not None
        return live_box(self.layout, frame)

    def _frame(self) -> Frame:
        """The moment; or the one before, when it comes from a GPU and a step is due that need not wait for it."""
        before, self._coming = self._coming, _Coming(self._simulation, self.measured)
        if before is None or not (self._coming.moment.is_on_its_way and self._is_behind()):
            before, self._coming = self._coming, None
        return before.frame()

    def _is_behind(self) -> bool:
        """Whether the next step is due."""
        elapsed = self.speed * (time.perf_counter() - self._last)
        return self.status == "running" and self._due() <= elapsed

    def _due(self) -> float:
        return self._simulation.settings.dt - self._left_over

    def _advance(self, elapsed: float) -> bool:
        dt, taken = self._simulation.settings.dt, 0
        # what is owed is never more than the time of a frame, or a step: the rest is given up
        self._left_over = min(self._left_over + elapsed, max(dt, FRAME_PERIOD * self.speed))
        while self._left_over >= (1.0 - ROUNDING) * dt:
            self._step()
            self._left_over = max(self._left_over - dt, 0.0)
            taken += 1
            if self._frame_is_due():
                break
        return taken > 0

    def _step(self) -> bool:
        if self._before_step is not None:
            self._before_step(self._simulation)
        begun = time.perf_counter()
        self._simulation.step()
        took = time.perf_counter() - begun
        # the first step may load or compile kernels
        self.step_seconds = 0.9 * self.step_seconds + 0.1 * took if self.steps > 1 else took
        self.steps += 1
        return True

    def _rewind(self) -> None:
        self._simulation.restore(self._beginning)
        self._coming = None
        self._left_over = 0.0
