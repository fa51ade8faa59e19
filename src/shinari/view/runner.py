"""A simulation that runs while somebody looks at it."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import fields, replace
from typing import Any

import numpy as np

from shinari.files.record import frame_of, layout_of
from shinari.files.results import Frame
from shinari.simulation import Simulation
from shinari.view.player import FRAME_PERIOD, Player

MOST_STEPS = 64
"""Most steps at a time, however fast they are."""


class Runner(Player):
    """Runs a simulation in a thread of its own; only that thread touches the simulation.

    Time goes as fast as in reality, times `speed`. A simulation that is too slow for that falls behind: it takes the
    steps it can, and a frame is shown after each if need be.

    Args:
        simulation: The simulation, from now on the runner's.
        title: One line about it.
        playing: Whether it starts by itself.
        surface: Whether fluids are drawn by their surface.

    Attributes:
        measured: Whether frames hold strains, forces and measures; set it when somebody shows them.
        step_seconds: Time that a step takes [s], smoothed over the last ones.
        steps: Steps taken.
    """

    def __init__(
        self, simulation: Simulation, title: str = "", *, playing: bool = False, surface: bool = False
    ) -> None:
        dt = simulation.settings.dt
        super().__init__(layout_of(simulation.scene, 1.0 / dt, surface), title, playing=playing)
        self.measured = False
        self.step_seconds = 0.0
        self.steps = 0
        self._simulation = simulation
        self._beginning = simulation.state.copy()
        self._start()

    def do(self, function: Callable[[Simulation], Any]) -> Future:
        """Queue something to be done to the simulation between two steps.

        Args:
            function: Called with the simulation, in the runner's thread.

        Returns:
            Its result or its error, when it is done. Cancelled when the runner is closed.
        """
        return self._queue(lambda: function(self._simulation))

    def _frame(self) -> Frame:
        frame = frame_of(self._simulation)
        arrays = {field.name: getattr(frame, field.name) for field in fields(frame)}
        return replace(frame, **{name: np.array(a) for name, a in arrays.items() if isinstance(a, np.ndarray)})

    def _due(self) -> float:
        return self._simulation.settings.dt - self._simulation.left_over

    def _advance(self, elapsed: float) -> bool:
        # as many steps as fit into a frame: what is queued and what is shown does not wait for longer
        fit = MOST_STEPS if self.step_seconds == 0.0 else int(FRAME_PERIOD / self.step_seconds)
        begun = time.perf_counter()
        taken = self._simulation.advance(elapsed, most_steps=min(max(fit, 1), MOST_STEPS) if self.steps else 1)
        self._took(taken, time.perf_counter() - begun)
        return taken > 0

    def _step(self) -> bool:
        begun = time.perf_counter()
        self._simulation.step()
        self._took(1, time.perf_counter() - begun)
        return True

    def _rewind(self) -> None:
        self._simulation.restore(self._beginning)

    def _took(self, taken: int, seconds: float) -> None:
        if taken == 0:
            return
        each = seconds / taken
        # the first step may load or compile kernels
        self.step_seconds = 0.9 * self.step_seconds + 0.1 * each if self.steps > 1 else each
        self.steps += taken
