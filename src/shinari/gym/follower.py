"""A player of a simulation that others step: it takes no steps of its own."""

from dataclasses import fields, replace

import numpy as np

from shinari.api.simulation import Simulation
from shinari.io.frames import frame_of, layout_of
from shinari.io.results import Frame
from shinari.view.player import Player
from shinari.view.stage import live_box


class Follower(Player):
    """Shows a simulation that somebody else steps. Its thread never touches the simulation.

    Args:
        simulation: The simulation.
        title: One line about it.
    """

    def __init__(self, simulation: Simulation, title: str) -> None:
        super().__init__(layout_of(simulation.scene, 1.0 / simulation.settings.dt), title)
        self._simulation, self._now = simulation, _copied(simulation)
        self._start()

    def update(self) -> None:
        """Show the simulation as it is now; called by whoever steps it."""
        self._now = _copied(self._simulation)
        self._queue(lambda: None)

    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of what it begins with [m]."""
        return live_box(self.layout, self._now)

    def _frame(self) -> Frame:
        return self._now

    def _due(self) -> float:
        return np.inf

    def _advance(self, elapsed: float) -> bool:
        return False

    def _step(self) -> bool:
        return False

    def _rewind(self) -> None:
        """Episodes begin when the environment says so."""


def _copied(simulation: Simulation) -> Frame:
    """The frame of a simulation now, of copies."""
    frame = frame_of(simulation)
    arrays = {field.name: getattr(frame, field.name) for field in fields(frame)}
    return replace(frame, **{name: np.array(a) for name, a in arrays.items() if isinstance(a, np.ndarray)})
