"""What is written on pictures: the title, the time, and what the colours mean."""

from typing import Any

import numpy as np

from shinari.errors import require
from shinari.view.colours import UNITS, Colouring, colours_of

DARK_INK, LIGHT_INK = (38, 44, 54), (236, 239, 244)


def written(image: np.ndarray, title: str, time: float, frame: int, colouring: Colouring | None) -> np.ndarray:
    """A picture with its title and time below, and a bar for the colours.

    Args:
        image: Shape (H, W, 3) uint8.
        title: One line about the run.
        time: Simulated time [s].
        frame: Number of the frame.
        colouring: What the colours mean; None: nothing.
    """
    require("PIL", "render")
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.fromarray(image)
    height, width = image.shape[:2]
    letter = max(10.0, height / 32.0)
    font: Any = ImageFont.load_default(letter)
    draw = ImageDraw.Draw(picture)
    edge, base = letter, height - letter
    # the border shows background
    ink = LIGHT_INK if np.median([image[0], image[-1]]) < 110 else DARK_INK
    moment = f"t = {time:.2f} s    frame {frame}"
    draw.text((width - edge, base), moment, ink, font, anchor="rs")
    room = width - 3.0 * edge - draw.textlength(moment, font)
    draw.text((edge, base), _shortened(title, lambda text: draw.textlength(text, font), room), ink, font, anchor="ls")
    if colouring is not None and colouring.largest > 0.0:
        _bar(picture, draw, font, letter, colouring, ink)
    return np.asarray(picture)


def _bar(picture: Any, draw: Any, font: Any, letter: float, colouring: Colouring, ink: tuple[int, int, int]) -> None:
    """The colours from 0 to the largest value, in the corner above."""
    from PIL import Image

    wide, tall = int(10 * letter), max(4, int(0.6 * letter))
    strip = np.repeat(colours_of(np.linspace(0.0, 1.0, wide))[None], tall, axis=0)
    left, top = int(letter), int(2.2 * letter)
    draw.text((left, top - 0.5 * letter), colouring.mode, ink, font, anchor="ls")
    picture.paste(Image.fromarray(strip), (left, top))
    below = top + tall + 1.2 * letter
    unit = UNITS[colouring.mode]
    draw.text((left, below), "0", ink, font, anchor="ls")
    draw.text((left + wide, below), f"{colouring.largest:.3g} {unit}".strip(), ink, font, anchor="rs")


def _shortened(text: str, length: Any, room: float) -> str:
    """A text that fits, with dots for what does not."""
    if length(text) <= room:
        return text
    while text and length(text + "...") > room:
        text = text[:-1]
    return text + "..." if text else ""
