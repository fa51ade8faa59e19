"""`shinari view`: a scene, a run or a demo in the browser."""

import os
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from shinari.errors import require

if TYPE_CHECKING:
    from shinari.view.page import Page

_Flag = Parameter(negative=())
_Several = Parameter(negative=())


def view(
    what: str = "demo",
    name: str | None = None,
    /,
    *,
    port: int = 8080,
    host: str = "127.0.0.1",
    token: str | None = None,
    allow_origin: Annotated[list[str] | None, _Several] = None,
    open: bool = True,
    paused: Annotated[bool, _Flag] = False,
    surface: Annotated[bool, _Flag] = False,
    package: Path | None = None,
) -> None:
    """Look at a scene, a robot, a run or a demo in the browser.

    `shinari view scene.toml` simulates a scene file, `shinari view robot.urdf` a robot on the ground whose joints are
    held (.urdf, .xml), `shinari view run.npz` plays what a run wrote (.npz, .vtkhdf), and `shinari view demo NAME`
    shows a scene that comes with the package. Ctrl-C ends it.

    Args:
        what: A scene file, a robot, a run, or `demo`.
        name: Name of the demo, see `shinari demo --list`, or of an example, when they are there.
        port: Port to listen on; when it is taken, the next one that is free. 0: any.
        host: Address to listen on. Only the default keeps other machines out; with any other the address of the page
            has a token, without which nothing is answered.
        token: The token; by default a random one, and none on 127.0.0.1.
        allow_origin: Another origin from which the page is used, http://localhost:9000 for a forwarded port; may be
            given several times.
        open: Open the page in the browser of this machine.
        paused: Wait for play.
        surface: Draw fluids by their surface instead of by their particles.
        package: Folder of the files that a robot names, where that is not its own.
    """
    require("viser", "view")
    from shinari.cli.interrupt import interruptible
    from shinari.view.server import serve
    from shinari.view.sources import offered

    sources, chosen = offered(what, name, playing=not paused, surface=surface, package=package)
    page = serve(sources, chosen, host=host, port=port, token=token, allowed_origins=allow_origin or ())
    # from here on, so that Ctrl-C right after the address is told is not lost
    with interruptible() as stopped:
        try:
            _tell(page, port, page.runner.title or chosen, open)
            while not stopped():
                time.sleep(0.2)
        finally:
            page.close()


def _tell(page: "Page", port: int, title: str, open_browser: bool) -> None:
    """Tell where the page is, and open it."""
    from shinari.view.server import page_address

    address = page_address(page)
    if page.server.get_port() != port and port != 0:
        print(f"shinari: port {port} is taken", file=sys.stderr)
    if not page.server.access.loopback:
        there = page_address(page, socket.gethostname())
        print(f"shinari: other machines find it at {there}: who has this address can use the page", file=sys.stderr)
    print(f"shinari: {title} at {address} (Ctrl-C ends)", flush=True)
    if open_browser and _has_display():
        import webbrowser

        webbrowser.open(address)


def _has_display() -> bool:
    """Whether a browser can open; without a display Python would start one that lives in the terminal."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
