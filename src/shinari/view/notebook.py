"""The viewer in a notebook: `sn.show(...)` as the last line of a cell shows the page below it."""

import html
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from shinari import check
from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.errors import SceneError
from shinari.io.run_reader import Cache
from shinari.view.live_player import Runner
from shinari.view.page import Loaded, Page, Source
from shinari.view.playback import Playback
from shinari.view.server import page_address, serve
from shinari.view.sources import offered


class Shown:
    """A page that a notebook shows as a frame in the output of its cell.

    Attributes:
        page: The page.
        address: Where a browser finds it.
        height: Height of the frame [px].
    """

    def __init__(self, page: Page, height: int) -> None:
        self.page = page
        self.address = page_address(page)
        self.height = height

    def close(self) -> None:
        """Stop what is shown, and the server."""
        self.page.close()

    def _repr_html_(self) -> str:
        address = html.escape(self.address, quote=True)
        return f'<iframe src="{address}" width="100%" height="{self.height}" style="border: 0"></iframe>'

    def __repr__(self) -> str:
        return f"shinari viewer at {self.address}"


def show(
    what: Simulation | Scene | Cache | str | os.PathLike,
    *,
    playing: bool = True,
    height: int = 600,
    port: int = 0,
    allowed_origins: Iterable[str] = (),
) -> Shown:
    """Show something in the browser: in a notebook below the cell, elsewhere at the address that is printed.

    Args:
        what: A simulation, which from then on belongs to the viewer (see `Runner.do`); a scene, to be simulated with
            default settings; a run that was opened with `shinari.io.run_reader.open_cache`; or the path of a scene file
            or of a run.
        playing: Whether it runs by itself.
        height: Height of the frame in a notebook [px].
        port: Port of the server on this machine; 0: any that is free.
        allowed_origins: Other origins from which the page is used, `"https://hub.example"`: those of a proxy or of a
            forwarded port. A page on 127.0.0.1 in a frame of a notebook needs none.

    Returns:
        The viewer; it serves until it is closed or the process ends.

    Raises:
        MissingExtraError: viser is not installed.
        ShinariError: It cannot be shown.
    """
    check.flag("show", "playing", playing)
    check.count("show", "height", height)
    check.count("show", "port", port, least=0, most=65535)
    if isinstance(what, (str, os.PathLike)):
        what = check.path("show", "what", what)
        sources, chosen = offered(str(Path(what)), None, playing=playing)
    else:
        sources, chosen = {"shown": _source(what, playing)}, "shown"
    return Shown(serve(sources, chosen, port=port, allowed_origins=allowed_origins, framed=True), height)


def _source(what: Any, playing: bool) -> Source:
    if isinstance(what, Scene):
        return lambda: Loaded(Runner(Simulation(what), playing=playing), what)
    if isinstance(what, Simulation):
        return lambda: Loaded(Runner(what, playing=playing), what.scene)
    if isinstance(what, Cache):
        return lambda: Loaded(Playback(what, playing=playing))
    raise SceneError(f"show: what: expected a Simulation, a Scene, a Cache or a path, got {check.short(what)}")
