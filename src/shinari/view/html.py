"""Web page `.html`: a player for any browser, in one file, without a network. Needs the extra [view].

The page is viser's client with the motion inside: play, pause, time slider, orbit with the mouse. Fluids are coloured
by speed, from their colour at rest to white at the largest speed of the run. viser records the
messages that it would send to a browser; for that it opens a port on this machine alone while the page is being made.
`docs/decisions/html_player.md` has the measurements.
"""

import contextlib
import html
import io
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from shinari.errors import require
from shinari.io.frame_queue import frame_of_record
from shinari.io.results import DrawnPart, Layout


def write_html(path: Path, layout: Layout, frames: np.ndarray, title: str = "") -> None:
    """Write a run as one web page.

    Args:
        path: File to write.
        layout: What the frames hold.
        frames: Structured array as `shinari.io.frame_queue.frame_dtype` says, shape (T,).
        title: Title of the page.

    Raises:
        MissingExtraError: viser is not installed.
    """
    viser = require("viser", "view")
    with contextlib.redirect_stdout(io.StringIO()):  # viser announces its server, which nobody is meant to visit
        server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
        try:
            page = _record(server, layout, frames)
        finally:
            server.stop()
    heading = html.escape(title or "shinari")
    page = page.replace("<title>Viser</title>", f"<title>{heading}</title>", 1)
    path.write_text(page, encoding="utf-8")


def moving_box(layout: Layout, frames: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Box around all drawn points and rigid bodies in all frames [m]; around the colliders when there are none."""
    from shinari.view.stage import box_of

    return box_of(layout, map(frame_of_record, frames))


def _record(server: Any, layout: Layout, frames: np.ndarray) -> str:
    from shinari.view.stage import VIEW_ANGLE, Stage

    server.scene.set_up_direction("+y")
    fastest = {part.name: _fastest(part, frames) for part in layout.parts if part.fluid}
    first = frame_of_record(frames[0])
    stage = Stage(server.scene, layout, first, box=moving_box(layout, frames), fastest=fastest)
    camera = server.initial_camera
    camera.position, camera.look_at = stage.camera()
    camera.up, camera.fov = (0.0, 1.0, 0.0), np.radians(VIEW_ANGLE)
    camera.near, camera.far = stage.depths
    recorder = server.get_scene_serializer()
    for before, record in pairwise(frames):
        recorder.insert_sleep(max(0.0, float(record["time"] - before["time"])))
        stage.show(frame_of_record(record))
    recorder.insert_sleep(1.0 / layout.frames_per_second)
    return recorder.as_html()


def _fastest(part: DrawnPart, frames: np.ndarray) -> float:
    """Largest speed of a part in a run [m/s]."""
    squares = [np.square(frame["velocities"][part.start : part.stop]).sum(axis=1).max(initial=0.0) for frame in frames]
    return max(float(np.sqrt(np.nanmax(squares))), 1e-9)
