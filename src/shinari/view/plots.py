"""Panel: energy, residual and step time over the last seconds.

They are measured a few times a second between two steps, and drawn from a bounded history: what they cost does not
depend on how long it runs. Frames that are measured anyway, those of a cache and those coloured by strain, are used as
they come.
"""

import time
from collections import deque
from concurrent.futures import Future
from typing import Any

import numpy as np

from shinari.api.simulation import Simulation
from shinari.io.frames import measures_of
from shinari.io.results import MEASURES
from shinari.view.live_player import Runner
from shinari.view.page import Page

PERIOD = 0.25
"""Least time between two points of a curve [s of real time]."""
HISTORY = 240
"""Points of a curve."""
WARM_UP = 60
"""Steps after which the time of a step is its own."""
HEIGHT = 150
"""Height of a plot [pixels]."""

ENERGIES = {"kinetic": "#3d7acc", "gravitational": "#4d9e5c", "elastic": "#e07533", "total": "#888888",
            "work from outside": "#b84c57"}  # fmt: skip
"""Curves of the energy and their colours; see `shinari.solver.diagnostics.Energy`."""

Point = tuple[float, ...]
"""Time [s], energies as in `ENERGIES` [J], residual in thousandths of its unit, and time of a step [ms]."""


def add_plots(page: Page) -> None:
    """Add the panel to a page."""
    Plots(page)


class Plots:
    """The plots and what they show."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._points: deque[Point] = deque(maxlen=HISTORY)
        self._sampled = -1.0
        self._drawn = 0.0
        self._pending: Future | None = None
        gui = page.server.gui
        empty = np.zeros(1)
        with gui.add_folder("plots"):
            self._energy: Any = gui.add_uplot(
                (empty, *(empty for _ in ENERGIES)),
                ({"label": "t [s]"}, *({"label": name, "stroke": c, "width": 2} for name, c in ENERGIES.items())),
                title="energy [J]",
                **_STYLE,
            )
            self._residual: Any = gui.add_uplot(
                (empty, empty), ({"label": "t [s]"}, _series("largest", "#b84c57")), title="residual [1/1000]", **_STYLE
            )
            self._steps: Any = gui.add_uplot(
                (empty, empty), ({"label": "t [s]"}, _series("a step", "#8566b3")), title="step time [ms]", **_STYLE
            )
        page.on_change(self._changed)
        page.on_status(self._follow)

    def _changed(self) -> None:
        """Another scene, or the same from its start."""
        self._points.clear()
        self._sampled = -1.0
        self._pending = None
        self._draw()

    def _follow(self) -> None:
        """Take a point from the newest frame, or ask the simulation for one."""
        runner, frame, now = self._page.runner, self._page.runner.latest(), time.monotonic()
        if self._pending is not None and self._pending.done():
            done, self._pending = self._pending, None
            self._take(done)
        if frame is None or now - self._drawn < PERIOD or frame.time == self._sampled:
            return
        self._drawn = now
        if len(frame.measures):
            self._sampled = frame.time
            self._add(frame.time, frame.measures)
        elif isinstance(runner, Runner) and self._pending is None:
            self._pending = runner.do(_sample)

    def _take(self, future: Future) -> None:
        if not future.cancelled():
            self._sampled, measures = future.result()
            self._add(self._sampled, measures)

    def _add(self, at: float, measures: np.ndarray) -> None:
        while self._points and self._points[-1][0] >= at:  # a cache that was wound back
            self._points.pop()
        values: dict[str, float] = dict(zip(MEASURES, measures.tolist(), strict=True))
        energies = [values[name] for name in ("kinetic", "gravitational", "elastic")]
        work = values["external_work"]
        # a file of version 0.1 does not know it
        known = (*energies, sum(energies), 0.0 if np.isnan(work) else work)
        self._points.append((at, *known, 1000.0 * values["residual"], self._step_time()))
        self._draw()

    def _step_time(self) -> float:
        """Time of a step [ms], not a number as long as it would tell of loading and compiling, and for a cache."""
        runner = self._page.runner
        if not isinstance(runner, Runner) or runner.steps < WARM_UP:
            return np.nan
        return 1000.0 * runner.step_seconds

    def _draw(self) -> None:
        columns = np.array(self._points or [(0.0,) * (len(ENERGIES) + 3)]).T
        t, energies, (residual, step) = columns[0], columns[1:-2], columns[-2:]
        known = np.isfinite(step)
        # a plot that was once given nothing stays empty: one point at 0 stands for none
        steps = (t[known], step[known]) if known.any() else (np.zeros(1), np.zeros(1))
        with self._page.server.atomic():
            self._energy.data = (t, *energies)
            self._residual.data = (t, residual)
            self._steps.data = steps


_STYLE: dict[str, Any] = {
    "height": HEIGHT,
    "scales": {"x": {"time": False}},
    "axes": ({}, {"size": 60}),
    "cursor": {"show": False},
    "legend": {"show": True, "live": False},
    "padding": (10, 20, 0, 0),
}


def _series(label: str, color: str) -> dict[str, Any]:
    return {"label": label, "stroke": color, "width": 2}


def _sample(simulation: Simulation) -> tuple[float, np.ndarray]:
    """Time [s] and measures of the moment at which a simulation is."""
    return simulation.time, measures_of(simulation.measure())
