"""The server behind the page: a viser server that no client can make do more than show what was chosen here."""

import contextlib
import io
import socket
from collections.abc import Mapping
from typing import Any

from shinari.errors import SceneError, require
from shinari.view.page import Page, Source, stop_quietly

LOCAL = "127.0.0.1"
"""The address that only this machine can reach."""
PORT = 8080


def serve(sources: Mapping[str, Source], chosen: str, *, host: str = LOCAL, port: int = PORT) -> Page:
    """Open a page.

    Args:
        sources: What can be shown, by the name under which it is offered; see `shinari.view.sources`.
        chosen: Name of what is shown first.
        host: Address to listen on; only 127.0.0.1 keeps others out.
        port: Port to listen on; when it is taken, the next one that is free. 0: any.

    Returns:
        The page; `page_address` says where. It serves until its `close` is called.

    Raises:
        MissingExtraError: viser is not installed.
        SceneError: The host or the port cannot be had.
        ShinariError: What was chosen cannot be shown.
    """
    server = start_server(host, port)
    try:
        return Page(server, sources, chosen)
    except BaseException:
        stop_quietly(server)
        raise


def start_server(host: str, port: int) -> Any:
    """A viser server; see `serve`."""
    viser = require("viser", "view")
    if not isinstance(port, int) or not 0 <= port <= 65535:
        raise SceneError(f"view: port: expected 0 to 65535, got {port!r}")
    _check_host(host)

    class Server(viser.ViserServer):
        def request_share_url(self, verbose: bool = True) -> None:
            """Clients may ask for an address on the internet; they get none."""

    with contextlib.redirect_stdout(io.StringIO()):
        return Server(host=host, port=port, label="shinari", verbose=False)


def page_address(page: Page) -> str:
    """Where a browser on this machine finds the page."""
    host = page.server.get_host()
    shown = LOCAL if host in ("0.0.0.0", "") else f"[{host}]" if ":" in host else host
    return f"http://{shown}:{page.server.get_port()}"


def _check_host(host: str) -> None:
    """Refuse a host that is none: viser would try a thousand ports on it, and then wait for ever."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(address)
    except (OSError, UnicodeError) as error:
        raise SceneError(f"view: host: cannot listen on {host!r}: {error}") from error
