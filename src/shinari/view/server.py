"""The server behind the page: a viser server that no client can make do more than show what was chosen here."""

import contextlib
import io
import socket
from collections.abc import Iterable, Mapping
from typing import Any

from shinari.check import short
from shinari.errors import SceneError, require
from shinari.view.access import Access, access_to
from shinari.view.guard import guarded
from shinari.view.page import Page, Source, stop_quietly

LOCAL = "127.0.0.1"
"""The address that only this machine can reach."""
ANYWHERE = {"": LOCAL, "0.0.0.0": LOCAL, "::": "::1"}
"""Hosts that stand for all addresses of this machine, and the one of them that is told."""
PORT = 8080


def serve(
    sources: Mapping[str, Source],
    chosen: str,
    *,
    host: str = LOCAL,
    port: int = PORT,
    token: str | None = None,
    allowed_origins: Iterable[str] = (),
    framed: bool = False,
) -> Page:
    """Open a page.

    Args:
        sources: What can be shown, by the name under which it is offered; see `shinari.view.sources`.
        chosen: Name of what is shown first.
        host: Address to listen on; only 127.0.0.1 keeps others out.
        port: Port to listen on; when it is taken, the next one that is free. 0: any.
        token: Secret part of the address. None: none when only this machine can connect, elsewhere a random one.
        allowed_origins: Other origins from which the page is used, `"https://hub.example"`.
        framed: Whether any page may show this one in a frame.

    Returns:
        The page; `page_address` says where. It serves until its `close` is called.

    Raises:
        MissingExtraError: viser is not installed.
        SceneError: The host or the port cannot be had, or the token or an origin has another form.
        ShinariError: What was chosen cannot be shown.
    """
    server = start_server(host, port, access_to(host, token=token, allowed_origins=allowed_origins, framed=framed))
    try:
        return Page(server, sources, chosen)
    except BaseException:
        stop_quietly(server)
        raise


def start_server(host: str, port: int, access: Access | None = None) -> Any:
    """A viser server that checks who connects; see `serve`."""
    viser = require("viser", "view")
    if not isinstance(port, int) or not 0 <= port <= 65535:
        raise SceneError(f"view: port: expected 0 to 65535, got {short(port)}")
    _check_host(host)

    class Server(viser.ViserServer):
        access: Access

        def request_share_url(self, verbose: bool = True) -> None:
            """Clients may ask for an address on the internet; they get none."""

    server = None
    try:
        with guarded(access or access_to(host)) as guard, contextlib.redirect_stdout(io.StringIO()):
            server = Server(host=host, port=port, label="shinari", verbose=False)
            server.access, guard.server = guard.access, server
    except BaseException:
        if server is not None:
            stop_quietly(server)
        raise
    return server


def page_address(page: Page, name: str | None = None) -> str:
    """Where a browser finds the page, with the token.

    Args:
        page: The page.
        name: Name or address of this machine. None: as a browser on this machine finds it.
    """
    host = name or page.server.get_host()
    host = ANYWHERE.get(host, host)
    shown = f"[{host}]" if ":" in host else host
    token = page.server.access.token
    return f"http://{shown}:{page.server.get_port()}" + (f"/{token}/" if token else "")


def _check_host(host: str) -> None:
    """Refuse a host that is none: viser would try a thousand ports on it, and then wait for ever."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(address)
    except (OSError, UnicodeError) as error:
        raise SceneError(f"view: host: cannot listen on {short(host)}: {error}") from error
