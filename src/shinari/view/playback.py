"""A run that was written to a file, played again."""

from concurrent.futures import Future
from typing import Any

import numpy as np

from shinari.check import short
from shinari.errors import SceneError
from shinari.io.results import Frame
from shinari.view.player import Player
from shinari.view.stage import box_of

LOOKED_AT = 20
"""Frames that are looked at for the box of a run."""


class Playback(Player):
    """Plays a cache at the times of its frames; at the end it stops.

    Args:
        cache: What `shinari.io.run_reader.open_cache` gives, with one frame at least.
        playing: Whether it starts by itself.

    Attributes:
        index: The frame that is shown.
        count: Frames of the cache.
    """

    def __init__(self, cache: Any, *, playing: bool = False) -> None:
        if len(cache) == 0:
            raise SceneError(f"viewer: cache: {short(cache.title)} has no frames")
        super().__init__(cache.layout, cache.title, playing=playing)
        self.index = 0
        self.count = len(cache)
        self._cache = cache
        self._times = np.asarray(cache.times, np.float64)
        self._time = float(self._times[0])
        some = np.unique(np.linspace(0, self.count - 1, LOOKED_AT).astype(int))
        self._box = box_of(self.layout, (cache.frame(index) for index in some))
        self._start()

    def seek(self, index: int) -> Future:
        """Show a frame.

        Args:
            index: The frame; the future raises a SceneError when there is none of this number.
        """
        return self._queue(lambda: self._go(index))

    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner of where objects are in the run [m], as far as some of its frames tell."""
        return self._box

    def close(self) -> None:
        """Stop the thread and close the file."""
        super().close()
        self._cache.close()

    def _go(self, index: int) -> None:
        if not 0 <= index < self.count:
            raise SceneError(f"viewer: frame: expected 0 to {self.count - 1}, got {short(index)}")
        self.index, self._time = int(index), float(self._times[index])

    def _frame(self) -> Frame:
        return self._cache.frame(self.index)

    def _due(self) -> float:
        following = min(self.index + 1, self.count - 1)
        return max(float(self._times[following]) - self._time, 0.0)

    def _advance(self, elapsed: float) -> bool:
        before = self.index
        self._time += elapsed
        self.index = int(np.clip(np.searchsorted(self._times, self._time + 1e-9, "right") - 1, before, self.count - 1))
        if self.index == self.count - 1:
            self._pause()
        return self.index != before or self.status != "running"

    def _play(self) -> None:
        if self.index == self.count - 1:
            self._rewind()
        super()._play()

    def _step(self) -> bool:
        self._go(min(self.index + 1, self.count - 1))
        return True

    def _rewind(self) -> None:
        self._go(0)
