"""What objects are coloured by: the body that they are, strain, force or speed.

The colours of values run from blue over violet and pink to light yellow. Their lightness rises evenly, from 0.46
to 0.94 in OKLab (Ottosson 2020, A perceptual color space for image processing), so that more is always lighter, in
grey and to the colour blind too; the hue turns evenly from 268 to 95 degrees.
"""

import numpy as np

from shinari import check
from shinari.errors import SceneError
from shinari.io.results import Frame, Layout

MODES = ("body", "strain", "force", "speed")
"""What colours can tell."""
UNITS = {"body": "", "strain": "", "force": "N", "speed": "m/s"}
"""Units of the values, by the mode."""
MEASURED_MODES = ("strain", "force")
"""Modes that need frames that were measured."""

ANCHORS = np.array(
    [
        (45, 72, 192),
        (110, 74, 203),
        (163, 78, 198),
        (209, 84, 179),
        (248, 97, 150),
        (255, 138, 131),
        (255, 174, 132),
        (255, 206, 146),
        (255, 235, 162),
    ],
    np.float32,
)
"""Colours of the values 0, 1/8, ..., 1, red, green and blue in 0..255."""


def modes_of(layout: Layout) -> tuple[str, ...]:
    """The modes for which the frames of a layout hold the values."""
    return tuple(mode for mode in MODES if layout.measured or mode not in MEASURED_MODES)


def colours_of(values: np.ndarray) -> np.ndarray:
    """Colours of values 0..1, shape (n, 3) uint8; what is above 1 has the colour of 1, what is no number that of 0."""
    place = np.nan_to_num(np.clip(np.asarray(values, np.float32), 0.0, 1.0)) * (len(ANCHORS) - 1)
    below = np.minimum(place.astype(np.int32), len(ANCHORS) - 2)
    low = ANCHORS[below]
    return np.round(low + (place - below)[:, None] * (ANCHORS[below + 1] - low)).astype(np.uint8)


class Colouring:
    """Colours of the points of the parts of a layout.

    Args:
        layout: The layout.
        mode: One of `MODES`.
        largest: Value of the brightest colour, in the unit of the mode; None: the largest value seen so far, which
            only grows, so that a colour never comes to mean more than it did.

    Attributes:
        mode: The mode.

    Raises:
        SceneError: There is no such mode, or the largest value is not above 0.
    """

    def __init__(self, layout: Layout, mode: str, largest: float | None = None) -> None:
        if mode not in MODES:
            raise SceneError(f"colouring: mode is {check.short(mode)}, expected one of {', '.join(MODES)}")
        self.mode = mode
        self._layout = layout
        self._grows = largest is None
        self._largest = 0.0 if largest is None else check.number("colouring", "largest", largest, above=0.0)
        self._frame: Frame | None = None
        self._values = np.zeros(0)

    @property
    def largest(self) -> float:
        """Value of the brightest colour; 0 as long as nothing above it was seen."""
        return self._largest

    def of(self, index: int, frame: Frame) -> np.ndarray | None:
        """Colours of the points of a part in a frame.

        Args:
            index: The part.
            frame: The frame; all of it counts for the largest value.

        Returns:
            Red, green and blue, shape (n, 3) uint8; None where the part has its one colour: in the mode `"body"`, and
            in a frame that was not measured when the mode needs it.
        """
        if self.mode == "body" or (self.mode in MEASURED_MODES and len(frame.strains) != self._layout.point_count):
            return None
        if frame is not self._frame:
            self._look_at(frame)
        part = self._layout.parts[index]
        over = 1.0 / self._largest if self._largest > 0.0 else 0.0
        return colours_of(self._values[part.start : part.stop] * over)

    def _look_at(self, frame: Frame) -> None:
        self._frame = frame
        if self.mode == "speed":
            v = np.asarray(frame.velocities, np.float32)
            self._values = np.sqrt(np.einsum("nc,nc->n", v, v))
        else:
            self._values = np.asarray(frame.strains if self.mode == "strain" else frame.forces)
        if self._grows:
            self._largest = max(self._largest, self._largest_drawn(frame))

    def _largest_drawn(self, frame: Frame) -> float:
        """Largest value of what is drawn: the particles of a fluid that wait are not."""
        largest, varying = 0.0, self._layout.varying
        for part in self._layout.parts:
            values = self._values[part.start : part.stop]
            if part.kind == "points" and part.varies:
                values = values[np.asarray(frame.drawn)[varying[part.name]]]
            largest = max(largest, float(values.max(initial=0.0, where=np.isfinite(values))))
        return largest
