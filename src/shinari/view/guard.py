"""The guard at the door of a viser server. All that depends on the inside of viser and websockets stands here.

viser checks nobody who connects and has no option for it. It starts its server by `websockets.asyncio.server.serve`,
whose parameters are public: for the time in which a server of the viewer starts, `guarded` puts a function in its place
that adds the checks of `shinari.view.access` and `shinari.view.messages` to those parameters. When a version of viser
starts its server otherwise, the function is not called, and `guarded` raises an error instead of leaving a server open.
"""

import asyncio
import dataclasses
import http
import importlib
import inspect
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

from shinari.errors import ShinariError
from shinari.view.access import Access, RefusalError, Request
from shinari.view.messages import LARGEST_MESSAGE, Messages

LOG = logging.getLogger("shinari.view")
# the server of websockets tells of every connection at INFO
LOG.setLevel(logging.WARNING)
PARAMETERS = ("process_request", "create_connection", "max_size", "logger")
"""Parameters of `websockets.asyncio.server.serve` through which the checks come."""
MOST_MALFORMED = 100
"""Malformed messages after which a connection is closed."""
FAVICON = "/favicon.ico"
"""What browsers ask for by themselves, without the token."""

_lock = threading.Lock()


class Guard:
    """Checks what comes to one server.

    Args:
        access: Who may use the page.

    Attributes:
        access: Who may use the page.
        server: The viser server, as soon as it is there.
        installed: Whether a server was started with these checks.
    """

    def __init__(self, access: Access) -> None:
        from viser import _messages
        from websockets.asyncio.server import serve

        missing = set(PARAMETERS) - set(inspect.signature(serve).parameters)
        if missing:
            raise AttributeError(f"websockets serves without {missing}")
        self.access = access
        self.server: Any = None
        self.installed = False
        self._messages = Messages(_messages)

    def serve(self, *arguments: Any, **options: Any) -> Any:
        """`websockets.asyncio.server.serve` with the checks."""
        from websockets.asyncio.server import serve

        answer = options.get("process_request")
        checks = (partial(self._check, answer), _connection_class(self._problem), LARGEST_MESSAGE, LOG)
        asyncio.get_running_loop().set_exception_handler(_log_failure)
        self.installed = True
        return serve(*arguments, **{**options, **dict(zip(PARAMETERS, checks, strict=True))})

    def _check(self, answer: Callable[[Any, Any], Any] | None, connection: Any, request: Any) -> Any:
        """The answer to a request; None lets a WebSocket in."""
        headers = request.headers
        upgrade = bool(headers.get_all("Upgrade"))
        hosts, origins = tuple(headers.get_all("Host")), tuple(headers.get_all("Origin"))
        try:
            path = self.access.check(Request(request.path, hosts, origins), connection.local_address[1])
        except RefusalError as refusal:
            if request.path == FAVICON and not upgrade:
                return connection.respond(http.HTTPStatus.NOT_FOUND, "not found\n")
            LOG.warning("viewer: refused %s: %s", _asked(connection, upgrade), refusal)
            return connection.respond(http.HTTPStatus.FORBIDDEN, f"shinari: refused: {refusal}\n")
        if self.access.token is not None and path == f"/{self.access.token}/" and not upgrade:
            response = connection.respond(http.HTTPStatus.SEE_OTHER, "")
            # relative, since a proxy may have put something before the path
            response.headers["Location"] = path.lstrip("/")
        else:
            response = None if answer is None else answer(connection, dataclasses.replace(request, path=path))
        if response is not None:
            for name, value in self.access.headers(hosts[0].lower()).items():
                response.headers[name] = value
        return response

    def _problem(self, raw: bytes | str) -> str | None:
        return self._messages.problem(raw, self._find)

    def _find(self, identifier: str) -> Any:
        """The control of an identifier."""
        return None if self.server is None else self.server.gui._gui_input_handle_from_uuid.get(identifier)


@contextmanager
def guarded(access: Access) -> Iterator[Guard]:
    """While it lasts, a viser server that is started is guarded; its `server` is to be set by who starts it.

    Args:
        access: Who may use the page.

    Raises:
        ShinariError: At the end, when no server was started with the checks; it must be stopped.
    """
    import viser

    misfit = (
        f"view: the checks of the viewer do not fit viser {viser.__version__}, so it is not started; "
        "viser 1.1 is known to work: pip install 'viser==1.1.*'"
    )
    with _lock:
        try:
            _infra: Any = importlib.import_module("viser.infra._infra")
            guard, module = Guard(access), _infra.websockets
            replaced = _replaced(module, guard.serve)
        except (AttributeError, ImportError) as error:
            raise ShinariError(misfit) from error
        _infra.websockets = replaced
        try:
            yield guard
        finally:
            _infra.websockets = module
    if not guard.installed:
        raise ShinariError(misfit)


def _replaced(module: Any, serve: Callable[..., Any]) -> Any:
    """The package websockets as viser names it, with another `asyncio.server.serve`."""
    server = SimpleNamespace(**{**vars(module.asyncio.server), "serve": serve})
    package = SimpleNamespace(**{**vars(module.asyncio), "server": server})
    return SimpleNamespace(**{**vars(module), "asyncio": package})


def _connection_class(problem: Callable[[bytes | str], str | None]) -> type:
    """A connection that leaves out messages with a problem."""
    from websockets.asyncio.server import ServerConnection
    from websockets.frames import CloseCode

    class Connection(ServerConnection):
        malformed = 0

        async def recv(self, decode: bool | None = None) -> Any:
            while True:
                raw = await super().recv(decode)
                found = problem(raw)
                if found is None:
                    return raw
                self.malformed += 1
                if self.malformed == 1:
                    LOG.warning("viewer: left out a message of %s: %s", _peer(self), found)
                if self.malformed == MOST_MALFORMED:
                    await self.close(CloseCode.POLICY_VIOLATION, "malformed messages")

    return Connection


def _log_failure(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A line about what failed in the event loop of the server; the traceback only for who debugs."""
    error = context.get("exception")
    what = context["message"] if error is None else f"{type(error).__name__}: {error}"
    LOG.warning("viewer: %s", what)
    LOG.debug("", exc_info=error)


class _OneLine(logging.Filter):
    """Makes one line of the tracebacks that websockets logs; of those who hang up or send no HTTP it tells nothing."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno <= logging.DEBUG or not record.exc_info or record.exc_info[1] is None:
            return True
        error, text = record.exc_info[1], record.getMessage()
        record.msg, record.args = "viewer: %s: %s: %s", (text, type(error).__name__, error)
        record.exc_info = record.exc_text = None
        # browsers open connections in advance, and close them unused
        return text != "opening handshake failed"


LOG.addFilter(_OneLine())


def _asked(connection: Any, upgrade: bool) -> str:
    return f"a {'WebSocket' if upgrade else 'request'} of {_peer(connection)}"


def _peer(connection: Any) -> str:
    address = connection.remote_address
    return "a client" if address is None else str(address[0])
