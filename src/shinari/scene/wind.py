"""Wind that is data: it can be written in a scene file and saved in a checkpoint."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shinari import check

# Three waves whose frequencies have the golden ratio never come back in step; the weights sum to one.
_GOLDEN = 0.5 * (1.0 + math.sqrt(5.0))
_WAVES = ((0.6, 1.0, 0.0), (0.3, _GOLDEN, 1.0), (0.1, _GOLDEN**2, 2.0))


@dataclass(frozen=True)
class Gusts:
    """Wind that comes in gusts: mean + amplitude g(t), with g between -1 and 1 and never quite the same again.

    Attributes:
        mean: Mean velocity of the air [m/s].
        amplitude: Largest departure from the mean [m/s].
        frequency: Gusts per second [Hz].
    """

    mean: tuple[float, float, float]
    amplitude: tuple[float, float, float] = (0.0, 0.0, 0.0)
    frequency: float = 0.5

    def __post_init__(self) -> None:
        for field in ("mean", "amplitude"):
            value = check.vector("Gusts", field, getattr(self, field))
            object.__setattr__(self, field, tuple(value.tolist()))
        object.__setattr__(self, "frequency", check.number("Gusts", "frequency", self.frequency, least=0.0))

    def __call__(self, time: float) -> np.ndarray:
        """Velocity of the air [m/s], (3,), at that time [s]."""
        turns = 2.0 * math.pi * self.frequency * check.number("Gusts", "time", time)
        gust = sum(weight * math.sin(factor * turns + phase) for weight, factor, phase in _WAVES)
        return np.asarray(self.mean) + gust * np.asarray(self.amplitude)


def checked_wind(label: str, value: Any) -> Any:
    """Velocity of the air [m/s], (3,), or a function of time [s] that returns it.

    Raises:
        SceneError: It is neither.
    """
    return check.function(label, "wind", value) if callable(value) else check.vector(label, "wind", value)
