"""Makes the pictures and the numbers of the tuning guide: `python docs/pictures/make_tuning.py [NAME ...]`.

Needs the extra [render]. Writes `tuning_NAME.jpg` beside itself and prints what was measured.
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from tuning_cases import CASES, Case, Shot

from shinari.io.frames import frame_of, layout_of
from shinari.view.colours import Colouring
from shinari.view.pictures import Painter, survey

HERE = Path(__file__).parent
SIZE = (480, 360)
"""Width and height of each half [pixels]."""
HEAD = 58
"""Height of what is written above [pixels]."""
LIMIT = 80_000
"""Largest size of a picture [bytes]."""


def drawn(case: Case, shots: list[Shot]) -> Image.Image:
    """Both shots side by side, with what is different and what was measured written above."""
    measured = case.colour != "body"
    layouts = [layout_of(shot.simulation.scene, 60.0, measured=measured) for shot in shots]
    frames = [frame_of(shot.simulation, measured=measured) for shot in shots]
    views = [survey(layout, [frame], case.direction, SIZE) for layout, frame in zip(layouts, frames, strict=True)]
    if case.together:
        views[0].bounds.join(views[1].bounds)
        views[1].bounds.join(views[0].bounds)
    picture = Image.new("RGB", (2 * SIZE[0] + 4, HEAD + SIZE[1]), "white")
    pen, font = ImageDraw.Draw(picture), ImageFont.load_default(size=17)
    for side, (shot, layout, frame, view) in enumerate(zip(shots, layouts, frames, views, strict=True)):
        colouring = None if case.colour == "body" else Colouring(layout, case.colour, case.largest)
        with Painter(layout, frame, view, size=SIZE, colouring=colouring, fine=True) as painter:
            left = side * (SIZE[0] + 4)
            picture.paste(Image.fromarray(np.asarray(painter.image(frame))), (left, HEAD))
        pen.text((left + 6, 6), shot.label, fill="#1b2733", font=font)
        pen.text((left + 6, 30), shot.value, fill="#51606e", font=font)
    return picture


def main(names: list[str]) -> None:
    """Make some of the pictures, or all."""
    for name in names or list(CASES):
        shots = list(CASES[name].shots())
        path = HERE / f"tuning_{name}.jpg"
        drawn(CASES[name], shots).save(path, quality=86, optimize=True)
        size = path.stat().st_size
        if size > LIMIT:
            raise SystemExit(f"{path.name}: {size} bytes, more than {LIMIT}")
        print(
            name + ": " + " | ".join(f"{shot.label}: {shot.value}" for shot in shots) + f" ({size // 1000} kB)",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
