"""From a run to a picture or a video: `render`, which `shinari render` and `shinari run -o x.png` call."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from shinari import check
from shinari.errors import FileError, SceneError, require
from shinari.io.frame_queue import frame_of_record
from shinari.io.results import Frame, Layout
from shinari.io.run_reader import Cache, open_cache
from shinari.partial_files import check_target, writing
from shinari.view import video
from shinari.view.camera import Camera
from shinari.view.colours import MEASURED_MODES, MODES, Colouring
from shinari.view.overlay import written
from shinari.view.pictures import BACKGROUND, SIZE, Painter, parse_color, survey

PICTURES, VIDEOS = (".png", ".jpg"), (".mp4", ".gif")
GIF_FPS = 20.0
"""Most pictures in a second of a GIF unless more are asked for: it is a large format."""
MOST_PICTURES = 1_000_000
"""Most pictures of a video: more are none that anybody waits for, but a run whose times are wrong."""
JPEG_QUALITY = 90
LARGEST = 8192
"""Most pixels along an edge: twice as many are drawn, and drivers end at 16384."""


@dataclass(frozen=True, kw_only=True)
class View:
    """How a run is looked at.

    Attributes:
        size: Width and height [pixels].
        camera: A direction of `shinari.view.camera.DIRECTIONS`, from which the camera is placed so that the whole
            motion just fits, or a `Camera`.
        colour: What the objects are coloured by, one of `shinari.view.colours.MODES`.
        largest: Value of the brightest colour; None: the largest in what is drawn.
        background: A colour by name or as #rrggbb.
        overlay: Whether the title, the time and what colours mean are written on it.
        surface: Whether fluids are drawn by their surface; needs the extra [surface].

    Raises:
        SceneError: A value is none.
    """

    size: tuple[int, int] = SIZE
    camera: str | Camera = "corner"
    colour: str = "body"
    largest: float | None = None
    background: str = BACKGROUND
    overlay: bool = False
    surface: bool = False

    def __post_init__(self) -> None:
        if len(self.size) != 2 or not all(isinstance(n, int) and 16 <= n <= LARGEST for n in self.size):
            raise SceneError(f"render: size: expected a width and a height of 16 to {LARGEST} pixels, got {self.size}")
        if self.colour not in MODES:
            raise SceneError(f"render: colour: is {check.short(self.colour)}, expected one of {', '.join(MODES)}")
        if self.largest is not None:
            check.number("render", "largest", self.largest, above=0.0)
        parse_color(self.background)


Progress = Callable[[str, int, int], None]
"""Told what is done, how many of how many frames."""


_WATCHER: ContextVar[Progress | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(progress: Progress | None) -> Iterator[None]:
    """While it lasts, `progress` is told of what is drawn without one of its own, as by the writers of a run."""
    before = _WATCHER.set(progress)
    try:
        yield
    finally:
        _WATCHER.reset(before)


def render(
    source: Cache | str | os.PathLike,
    output: str | os.PathLike,
    *,
    time: float | None = None,
    frame: int | None = None,
    fps: float | None = None,
    progress: Progress | None = None,
    **look: Any,
) -> None:
    """Draw a run.

    Args:
        source: A cache, or the path of one: `.npz` or `.vtkhdf` as a run wrote it.
        output: File to write: `.png` or `.jpg` for a picture, `.mp4` or `.gif` for a video.
        time: Moment of a picture [s]; by default the last.
        frame: Frame of a picture, instead; negative numbers count from the end.
        fps: Pictures of a video in a second of simulated time, which is a second of the video; by default as many as
            the run has, of a GIF at most 20.
        progress: Told how far it is.
        look: How it is looked at, the fields of `View`: `size`, `camera`, `colour`, ...

    Raises:
        FileError: The source cannot be read, has no frames, or the output cannot be written.
        MissingExtraError: The extra [render] is not installed, or nothing here draws without a screen.
        SceneError: An option does not fit.
    """
    if not isinstance(source, Cache):
        with open_cache(source) as cache:
            render(cache, output, time=time, frame=frame, fps=fps, progress=progress, **look)
            return
    check.known("render", "option", look, [field.name for field in fields(View)])
    view = View(**look)
    target = check_target(output)
    suffix = target.suffix.lower()
    if suffix not in (*PICTURES, *VIDEOS):
        raise FileError(
            f"{output}: unknown extension {check.short(suffix)}, expected one of {', '.join((*PICTURES, *VIDEOS))}"
        )
    if len(source) == 0:
        raise FileError(f"{source.path}: has no frames")
    chosen = _chosen(source.times, suffix in VIDEOS, time, frame)
    if suffix in VIDEOS:
        video.check_video(suffix, view.size, fps)
        fps = _rate(fps, source.layout.frames_per_second, suffix)
        chosen = _at_rate(source.times, fps)
    elif fps is not None:
        raise SceneError("render: fps: a picture has none")
    with writing(output) as place:
        run = _Run(source.layout, source.frame, source.times, source.title)
        _draw(run, place, chosen, fps or 1.0, view, progress)


def write_picture(path: Path, layout: Layout, frames: np.ndarray, title: str = "") -> None:
    """Draw the last frame of a run, see `shinari.io.frame_queue.Convert`."""
    run = _run_of(layout, frames, title)
    _draw(run, path, [len(frames) - 1], 1.0, View(), None)


def write_video(path: Path, layout: Layout, frames: np.ndarray, title: str = "") -> None:
    """Draw a run as a video, see `shinari.io.frame_queue.Convert`."""
    run = _run_of(layout, frames, title)
    fps = _rate(None, layout.frames_per_second, path.suffix.lower())
    _draw(run, path, _at_rate(run.times, fps), fps, View(), None)


@dataclass(frozen=True)
class _Run:
    layout: Layout
    frame: Callable[[int], Frame]
    times: np.ndarray
    title: str


def _run_of(layout: Layout, frames: np.ndarray, title: str) -> _Run:
    return _Run(layout, lambda index: frame_of_record(frames[index]), np.array(frames["time"]), title)


def _draw(run: _Run, path: Path, chosen: list[int], fps: float, view: View, progress: Progress | None) -> None:
    """Draw the chosen frames of a run: one as a picture, several as a video."""
    require("pyvista", "render")
    layout = _with_surfaces(run.layout) if view.surface else run.layout
    colouring = _colouring(layout, view)
    tell = progress or _WATCHER.get() or (lambda what, done, count: None)

    def looked_at():
        for number, index in enumerate(chosen):
            frame = run.frame(index)
            if colouring is not None and layout.parts and view.largest is None:
                colouring.of(0, frame)
            yield frame
            tell("looking", number + 1, len(chosen))

    direction = view.camera if isinstance(view.camera, str) else "corner"
    scenery = survey(layout, looked_at(), direction, view.size)
    if colouring is not None and colouring.largest > 0.0:
        colouring = Colouring(layout, view.colour, colouring.largest)
    camera = None if isinstance(view.camera, str) else view.camera
    options: dict[str, Any] = {"size": view.size, "camera": camera, "background": view.background}
    options["fine"] = path.suffix.lower() in PICTURES
    with Painter(layout, run.frame(chosen[0]), scenery, colouring=colouring, **options) as painter:

        def picture(number: int) -> np.ndarray:
            frame = run.frame(chosen[number])
            image = painter.image(frame)
            tell("drawing", number + 1, len(chosen))
            if not view.overlay:
                return image
            return written(image, run.title, frame.time, chosen[number], colouring)

        if path.suffix.lower() in PICTURES:
            image = require("PIL.Image", "render").fromarray(picture(0))
            if path.suffix.lower() == ".png":
                image.save(path, format="PNG", optimize=True)
            else:
                image.save(path, format="JPEG", quality=JPEG_QUALITY, optimize=True)
        else:
            video.write_video(path, view.size, fps, len(chosen), picture)


def _colouring(layout: Layout, view: View) -> Any:
    """What objects are coloured by; None: each has its colour."""
    if view.colour == "body":
        return None
    if view.colour in MEASURED_MODES and not layout.measured:
        raise SceneError(f"render: colour: the frames of this run hold no {view.colour}; run the scene anew")
    return Colouring(layout, view.colour, view.largest)


def _chosen(times: np.ndarray, moving: bool, time: float | None, frame: int | None) -> list[int]:
    """The frame of a picture."""
    count = len(times)
    if time is None and frame is None:
        return [count - 1]
    if moving:
        raise SceneError(f"render: {'time' if frame is None else 'frame'}: chooses a picture, not a video")
    if time is not None and frame is not None:
        raise SceneError("render: frame: give a time or a frame, not both")
    if frame is not None:
        if not -count <= frame < count:
            raise SceneError(f"render: frame: there is no frame {frame}, the run has {count}")
        return [frame % count]
    if not times[0] <= time <= times[-1]:
        raise SceneError(f"render: time: {time:g} s is not in the run, which goes from {times[0]:g} to {times[-1]:g} s")
    return [int(np.argmin(np.abs(times - time)))]


def _rate(fps: float | None, own: float, suffix: str) -> float:
    if fps is None:
        return min(own, GIF_FPS) if suffix == ".gif" else own
    return fps


def _at_rate(times: np.ndarray, fps: float) -> list[int]:
    """The frames that are nearest to the moments of a video."""
    span = float(times[-1] - times[0])
    if not span * fps < MOST_PICTURES:
        raise SceneError(
            f"render: fps: {fps:g} in a second are {span * fps:.3g} pictures of a run of {span:g} s; expected at most "
            f"{MOST_PICTURES:,}: give fewer"
        )
    count = int(np.floor(span * fps + 1e-6)) + 1
    moments = times[0] + np.arange(count) / fps
    after = np.clip(np.searchsorted(times, moments), 1, max(len(times) - 1, 1))
    if len(times) == 1:
        return [0]
    nearer = moments - times[after - 1] <= times[after] - moments + 1e-9  # of two as near, the earlier one
    return (after - nearer).tolist()


def _with_surfaces(layout: Layout) -> Layout:
    parts = tuple(replace(part, surface=part.fluid and part.radius > 0.0) for part in layout.parts)
    return replace(layout, parts=parts)
