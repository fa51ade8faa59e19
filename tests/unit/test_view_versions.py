"""Versions of viser, and servers that start at once: contracts of the guard with the library."""

import socket
import threading
import types

import pytest

from shinari.errors import ShinariError

viser = pytest.importorskip("viser", reason="viser is not installed")

from viser import _messages as viser_messages  # noqa: E402
from viser.infra import _infra  # noqa: E402
from websockets.exceptions import InvalidStatus  # noqa: E402
from websockets.sync.client import connect  # noqa: E402

from shinari.view import guard as guard_module  # noqa: E402
from shinari.view.access import access_to  # noqa: E402
from shinari.view.messages import ACCEPTED  # noqa: E402
from shinari.view.server import start_server  # noqa: E402

PATIENCE = 60.0
PROTOCOL = f"viser-v{viser.__version__}"


def test_a_version_that_starts_its_server_otherwise_is_not_left_open(monkeypatch):
    """Contract: viser names `websockets` in `_infra`, from where it takes `asyncio.server.serve`."""
    original = _infra.WebsockServer._background_worker
    ports = []

    def otherwise(self, ready):
        types.FunctionType(original.__code__, {**vars(_infra), "websockets": websockets})(self, ready)

    stop = viser.ViserServer.stop
    websockets = _infra.websockets
    monkeypatch.setattr(_infra.WebsockServer, "_background_worker", otherwise)
    monkeypatch.setattr(viser.ViserServer, "stop", lambda self: (ports.append(self.get_port()), stop(self)))
    with pytest.raises(ShinariError, match=r"do not fit viser .*, so it is not started"):
        start_server("127.0.0.1", 0)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", ports[0]), PATIENCE)
    assert _infra.websockets is websockets


@pytest.mark.parametrize("lost", ["parameter", "websockets", "message"])
def test_a_version_without_what_is_needed_is_not_started(lost, monkeypatch):
    if lost == "parameter":
        monkeypatch.setattr(guard_module, "PARAMETERS", (*guard_module.PARAMETERS, "unheard_of"))
    elif lost == "websockets":
        monkeypatch.delattr(_infra, "websockets")
    else:
        monkeypatch.delattr(viser_messages, ACCEPTED[0])
    with pytest.raises(ShinariError, match="do not fit viser"):
        start_server("127.0.0.1", 0)


def test_servers_that_start_together_are_each_their_own():
    made: list = []
    threads = [
        threading.Thread(
            target=lambda k=k: made.append((k, start_server("127.0.0.1", 0, access_to("127.0.0.1", token=k))))
        )
        for k in ("first", "second", "third")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    for name, server in made:
        assert server.access.token == name
        address = f"ws://127.0.0.1:{server.get_port()}/"
        with connect(address + name, subprotocols=[PROTOCOL], max_size=None):
            pass
        with pytest.raises(InvalidStatus):
            connect(address + "other", subprotocols=[PROTOCOL], max_size=None)
        server.stop()
    assert len(made) == 3
