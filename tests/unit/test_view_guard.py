"""The guard of the viewer, by real upgrades, requests and messages to a server that runs."""

import http.client
import random
import socket
import struct
from contextlib import closing, suppress

import msgspec
import numpy as np
import pytest

import shinari as sn
from browser_help import until
from shinari.errors import SceneError

viser = pytest.importorskip("viser", reason="viser is not installed")

from viser import _messages as viser_messages  # noqa: E402
from viser.infra import _infra  # noqa: E402
from websockets.exceptions import ConnectionClosed, InvalidStatus  # noqa: E402
from websockets.sync.client import connect  # noqa: E402

from shinari.view import guard as guard_module  # noqa: E402
from shinari.view.access import access_to  # noqa: E402
from shinari.view.messages import ACCEPTED, LARGEST_MESSAGE, Messages, value_problem  # noqa: E402
from shinari.view.server import page_address, serve  # noqa: E402
from shinari.view.sources import simulation_source  # noqa: E402

PATIENCE = 60.0
PROTOCOL = f"viser-v{viser.__version__}"
CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": [1.0, 0, 0, 0], "position": [0.0, 0, 3], "fov": 1.0, "near": 0.1,
    "far": 100.0, "image_height": 600, "image_width": 800, "look_at": [0.0, 0, 0], "up_direction": [0.0, 1, 0],
}  # fmt: skip
DRAG = {
    "type": "SceneNodeDragMessage", "phase": "start", "name": "/0 cloth", "instance_index": None,
    "start_position": [0.0, 1, 0], "start_screen_pos": [0.5, 0.5], "end_position": [0.0, 1, 0],
    "end_screen_pos": [0.5, 0.5], "button": "left", "modifier": None, "owner": "",
}  # fmt: skip
CLICK = {
    "type": "SceneNodeClickMessage", "name": "/0 cloth", "instance_index": None, "ray_origin": [0.0, 3, 0],
    "ray_direction": [0.0, -1, 0], "screen_pos": [0.5, 0.5], "modifier": "shift", "owner": "",
}  # fmt: skip


def scene() -> sn.Scene:
    made = sn.Scene()
    cloth = made.add_cloth(sn.grid(shape=(6, 6)), position=(0.0, 1.0, 0.0), name="cloth")
    cloth.pin([0, 5])
    return made


def opened(**options):
    table = {
        name: simulation_source(lambda: (scene(), {"substeps": 4, "threads": 1}), name, playing=False)
        for name in ("one", "other")
    }
    return serve(table, "one", port=0, **options)


@pytest.fixture(scope="module")
def page():
    made = opened()
    yield made
    made.close()


@pytest.fixture(scope="module")
def locked():
    """A page for other machines."""
    made = opened(host="0.0.0.0")
    yield made
    made.close()


def visit(page, path: str | None = None, **options):
    """A client as the page in the browser is one."""
    address = page_address(page).replace("http", "ws")
    if path is not None:
        address = f"ws://127.0.0.1:{page.server.get_port()}{path}"
    options = {"subprotocols": [PROTOCOL], "max_size": None, "open_timeout": PATIENCE, **options}
    return connect(address, **options)


def answer(page, path: str = "/", **headers: str) -> http.client.HTTPResponse:
    with closing(http.client.HTTPConnection("127.0.0.1", page.server.get_port(), timeout=PATIENCE)) as connection:
        connection.putrequest("GET", path, skip_host=True)
        for name, value in {"Host": f"127.0.0.1:{page.server.get_port()}", **headers}.items():
            connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        response.body = response.read()
        return response


def upgrade(page, path: str = "/", **headers: str) -> int:
    """Status of the answer to a request for a WebSocket."""
    given = {
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol": PROTOCOL,
    }  # fmt: skip
    return answer(page, path, **given, **headers).status


def control(page, kind: str, label: str = ""):
    """A control of the page."""
    handles = page.server.gui._gui_input_handle_from_uuid.values()
    return next(h for h in handles if type(h).__name__ == f"Gui{kind}Handle" and label in getattr(h, "label", ""))


def set_value(handle, value) -> dict:
    return {"type": "GuiUpdateMessage", "uuid": handle._impl.uuid, "updates": {"value": value}}


def packed(message) -> bytes:
    return msgspec.msgpack.encode(message)


def joined(page, client) -> int:
    """Say where the camera is, as a client does when it comes; gives its number."""
    before = set(page.server.get_clients())
    client.send(packed(CAMERA))
    until(lambda: set(page.server.get_clients()) - before, "the client is there")
    return max(page.server.get_clients())


def steps(page, client) -> None:
    """A client presses the button for a step, and it is taken."""
    before = page.runner.steps
    client.send(packed(CAMERA))  # viser hears those only who have said where they look from
    client.send(packed(set_value(control(page, "Button", "step"), True)))
    until(lambda: page.runner.steps == before + 1, "a step", PATIENCE)


def drain(client) -> None:
    """Read until the server closes the connection."""
    with suppress(ConnectionClosed):
        while True:
            client.recv(PATIENCE)


def warnings_of(caplog) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "shinari.view"]


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://localhost"])
def test_a_page_of_another_site_is_refused(page, origin, caplog):
    with pytest.raises(InvalidStatus) as caught:
        visit(page, origin=origin)
    assert caught.value.response.status_code == 403
    assert answer(page, Origin=origin).status == 403
    first, second = warnings_of(caplog)
    assert first.startswith(f"viewer: refused a WebSocket of 127.0.0.1: Origin {origin!r} is not")
    assert second.startswith(f"viewer: refused a request of 127.0.0.1: Origin {origin!r} is not")
    assert "\n" not in first + second


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{}", "127.0.0.1", "127.0.0.1.evil.example:{}"])
def test_a_name_that_was_made_to_point_here_is_refused(page, host, caplog):
    host = host.format(page.server.get_port())
    assert upgrade(page, Host=host, Origin=f"http://{host}") == 403
    refused = answer(page, Host=host)
    assert refused.status == 403
    assert refused.body.startswith(b"shinari: refused: Host")
    assert b"<" not in refused.body
    assert len(warnings_of(caplog)) == 2


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]"])
def test_the_page_itself_and_scripts_of_this_machine_are_let_in(page, name, caplog):
    port = page.server.get_port()
    assert upgrade(page, Host=f"{name}:{port}", Origin=f"http://{name}:{port}") == 101
    assert upgrade(page, Host=f"{name}:{port}") == 101
    assert answer(page, Host=f"{name}:{port}").status == 200
    with visit(page) as client:
        steps(page, client)
    assert warnings_of(caplog) == []


def test_an_address_that_leads_the_page_to_another_server_is_refused(page):
    assert answer(page, "/?websocket=ws://evil.example").status == 403
    served = answer(page)
    host = f"127.0.0.1:{page.server.get_port()}"
    assert served.getheader("Content-Security-Policy").startswith(f"connect-src 'self' ws://{host} wss://{host} data:")
    assert served.getheader("Referrer-Policy") == "no-referrer"


def test_an_allowed_origin_is_let_in():
    made = opened(allowed_origins=["https://hub.example"])
    try:
        for host in (f"127.0.0.1:{made.server.get_port()}", "hub.example"):
            assert upgrade(made, Host=host, Origin="https://hub.example") == 101
            assert answer(made, Host=host).status == 200
        assert upgrade(made, Origin="http://hub.example") == 403
    finally:
        made.close()


def test_other_machines_need_the_token(locked, caplog):
    token = locked.server.access.token
    assert page_address(locked) == f"http://127.0.0.1:{locked.server.get_port()}/{token}/"
    for path in ("/", "/wrong/", f"/{token[:-1]}/", f"/{token}x/", f"/?token={token[:-1]}"):
        assert upgrade(locked, path) == 403
        assert answer(locked, path).status == 403
    assert len(warnings_of(caplog)) == 10
    assert token not in caplog.text
    assert token.encode() not in answer(locked).body
    page = answer(locked, f"/{token}/")
    assert (page.status, b"<!doctype html>" in page.body[:200].lower()) == (200, True)
    redirect = answer(locked, f"/?token={token}")
    assert (redirect.status, redirect.getheader("Location")) == (303, f"{token}/")
    assert upgrade(locked, f"/{token}") == upgrade(locked, f"/?token={token}") == 101
    host = f"127.0.0.1:{locked.server.get_port()}"
    assert upgrade(locked, f"/{token}", Origin=f"http://{host}") == 101
    assert upgrade(locked, f"/{token}", Origin="http://evil.example") == 403
    assert upgrade(locked, f"/{token}", Host="evil.example") == 403
    with visit(locked) as client:
        steps(locked, client)


def test_what_browsers_ask_for_by_themselves_is_not_told(locked, caplog):
    assert answer(locked, "/favicon.ico").status == 404
    assert warnings_of(caplog) == []


def test_a_token_can_be_set():
    made = opened(token="of-my-own")
    try:
        assert page_address(made).endswith("/of-my-own/")
        assert (upgrade(made), upgrade(made, "/of-my-own")) == (403, 101)
    finally:
        made.close()
    with pytest.raises(SceneError, match="token"):
        opened(token="a b")


MALFORMED = {
    "nothing": b"",
    "no MessagePack": b"\xc1\xc1\xc1",
    "cut": packed(CAMERA)[:-20],
    "more than one": packed(CAMERA) + packed(CAMERA),
    "text": "play",
    "a number": packed(3),
    "a list": packed([1, 2]),
    "deep": b"\x91" * 100_000,
    "keys that are lists": b"\x81\x91\x01\x01",
    "no type": packed({"uuid": "x"}),
    "a type that is a list": packed({"type": ["x"]}),
    "an unknown type": packed({"type": "__class__"}),
    "a type for the other direction": packed({"type": "RunJavascriptMessage", "source": "alert(1)"}),
    "a form": packed({"type": "GuiFormDirtyMessage", "uuid": "x"}),
    "a file": packed({"type": "FileTransferStartUpload", "source_component_uuid": "x", "transfer_uuid": "x",
                      "filename": "/etc/passwd", "mime_type": "", "part_count": 1, "size_bytes": 1}),
    "a share": packed({"type": "ShareUrlRequest"}),
    "fields missing": packed({"type": "ViewerCameraMessage"}),
    "fields too many": packed(CAMERA | {"excluded_self_client": 0}),
    "a field of another type": packed(CAMERA | {"position": "here"}),
    "a vector that is short": packed(CAMERA | {"position": [0.0, 1.0]}),
    "no number": packed(CAMERA | {"position": [float("nan"), 0.0, 0.0]}),
    "an infinite number": packed(DRAG | {"end_position": [float("inf"), 0.0, 0.0]}),
    "a number out of float32": packed(DRAG | {"end_position": [1e300, 0.0, 0.0]}),
    "a picture without a size": packed(CAMERA | {"image_height": 0}),
    "a phase that is none": packed(DRAG | {"phase": "begin"}),
}  # fmt: skip


@pytest.mark.parametrize("message", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_message_is_left_out(page, message, caplog, capfd):
    with visit(page) as good, visit(page) as bad:
        joined(page, bad)
        bad.send(message)
        steps(page, good)
        steps(page, bad)  # it goes on, too
        (line,) = warnings_of(caplog)
        assert line.startswith("viewer: left out a message of 127.0.0.1: ")
        assert "\n" not in line
    assert "Traceback" not in capfd.readouterr().err


def test_messages_that_are_whole_and_make_no_sense_leave_no_traceback(page, caplog, capfd):
    with visit(page) as bad:
        joined(page, bad)
        for message in (
            {"type": "GuiUpdateMessage", "uuid": "unknown", "updates": {"value": 1}},
            {"type": "LocalStorageGetItemResponseMessage", "value": None, "error": None, "request_uuid": "unknown"},
            DRAG | {"name": "/unknown"},
            DRAG | {"phase": "end"},
            DRAG | {"instance_index": 10**9},
            DRAG | {"owner": "unknown"},
            DRAG | {"name": "/pins", "instance_index": 77},
            DRAG | {"name": "/pins", "phase": "start", "instance_index": None},
            CLICK | {"name": "/pins", "instance_index": -1},
            CLICK | {"ray_direction": [0.0, 0.0, 0.0]},
            CLICK | {"name": "/pins", "instance_index": 10**9},
        ):
            bad.send(packed(message))
            steps(page, bad)
    assert "Traceback" not in capfd.readouterr().err
    assert warnings_of(caplog) == []
    assert np.isfinite(page.runner.latest().positions).all()


@pytest.mark.parametrize(
    ("kind", "label", "wrong"),
    [
        ("Dropdown", "speed", ["3", "", 1, None, [], {}]),
        ("Dropdown", "scene", ["/etc/passwd", "three", True]),
        ("Checkbox", "shadows", ["yes", 1, None, "x" * 100]),
        ("Slider", "substeps", [0, 10**9, -1, "4", True, None, [4]]),
        ("Vector3", "gravity", [[1.0, 2.0], [0.0] * 4, "abc", [0.0, "1", 2.0], None, {"x": 1}]),
        ("Button", "play", ["x", 1, None]),
    ],
)
def test_a_control_takes_no_value_that_it_could_not_show(page, kind, label, wrong, caplog):
    until(lambda: any("gravity" in h.label for h in page.server.gui._gui_input_handle_from_uuid.values()), "sliders")
    handle = control(page, kind, label)
    before = handle.value
    with visit(page) as client:
        joined(page, client)
        for value in wrong:
            client.send(packed(set_value(handle, value)))
        steps(page, client)
    assert handle.value == before
    assert all(value_problem(handle, {"value": value}) for value in wrong)
    assert len(warnings_of(caplog)) == 1  # one of each connection


@pytest.mark.parametrize("field", ["update_cb", "sync_cb", "removed", "uuid", "__class__", "is_button", "props"])
def test_nothing_but_the_value_of_a_control_can_be_set(page, field, caplog):
    handle = control(page, "Dropdown", "speed")
    before = getattr(handle._impl, field)
    with visit(page) as client:
        joined(page, client)
        client.send(packed(set_value(handle, "2") | {"updates": {"value": "2", field: None}}))
        steps(page, client)
    assert getattr(handle._impl, field) is before
    assert handle.value == "1"
    assert len(warnings_of(caplog)) == 1


def test_values_that_a_control_has_are_taken(page):
    slider, gravity = control(page, "Slider", "substeps"), control(page, "Vector3", "gravity")
    with visit(page) as client:
        joined(page, client)
        for handle, value in ((slider, 6), (gravity, [0.0, -1.5, 0.0]), (control(page, "Dropdown", "speed"), "2")):
            before = handle.value
            client.send(packed(set_value(handle, value)))
            expected = tuple(value) if isinstance(value, list) else value
            until(lambda handle=handle, expected=expected: handle.value == expected, "the value")
            handle.value = before
        until(lambda: page.runner.do(lambda sim: sim.settings.substeps).result(PATIENCE) == 6, "the substeps")


def test_a_message_that_is_too_long_ends_its_connection_only(page, caplog, capfd):
    with visit(page) as good:
        joined(page, good)
        with visit(page) as bad:
            bad.send(b"\x00" * (LARGEST_MESSAGE + 1))
            drain(bad)
        steps(page, good)
    assert bad.close_code == 1009
    assert "Traceback" not in capfd.readouterr().err + caplog.text


def test_one_that_sends_nothing_else_is_shown_out(page, caplog):
    with visit(page) as bad:
        for _ in range(guard_module.MOST_MALFORMED):
            bad.send("text")
        drain(bad)
    assert bad.close_code == 1008
    assert len(warnings_of(caplog)) == 1


def frame(opcode: int, payload: bytes, *, length: int | None = None, masked: bool = True) -> bytes:
    size = len(payload) if length is None else length
    head = bytes([0x80 | opcode, (0x80 if masked else 0) | 127]) + struct.pack("!Q", size)
    return head + (b"\0\0\0\0" if masked else b"") + payload


@pytest.mark.parametrize(
    "sent",
    [
        frame(2, b"cut", length=1000),
        frame(2, b"", length=2**62),
        frame(2, packed(CAMERA), masked=False),
        frame(7, b"reserved"),
        frame(1, b"\xff\xfe"),
        frame(0, b"continued"),
        frame(8, b"\x03"),
        b"\xff" * 100,
        b"",
    ],
    ids=["cut", "huge", "unmasked", "opcode", "no text", "continued", "close", "noise", "gone"],
)
def test_frames_that_are_none_leave_no_traceback(page, sent, caplog, capfd):
    port = page.server.get_port()
    head = (
        f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        f"Sec-WebSocket-Protocol: {PROTOCOL}\r\n\r\n"
    )
    with visit(page) as good:
        joined(page, good)
        before = dict(page.server._websock_server._live_connections)
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as raw:
            raw.sendall(head.encode())
            assert raw.recv(12) == b"HTTP/1.1 101"
            raw.sendall(sent)
        until(lambda: dict(page.server._websock_server._live_connections) == before, "it is gone")
        steps(page, good)
    assert "Traceback" not in capfd.readouterr().err + caplog.text


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: \xff\r\n\r\n",
        b"GET / HTTP/1.1\r\nUpgrade: websocket\r\nUpgrade: h2c\r\nHost: 127.0.0.1:%d\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: " + b"x" * 100_000 + b"\r\n\r\n",
        b"\r\n\r\n",
        b"",
    ],
)
def test_requests_that_are_none_leave_no_traceback(page, sent, caplog, capfd):
    port = page.server.get_port()
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as raw:
        raw.sendall(sent.replace(b"%d", str(port).encode()))
        raw.shutdown(socket.SHUT_WR)
        try:
            got = b"".join(iter(lambda: raw.recv(4096), b""))
        except ConnectionResetError:
            got = b""
    assert b"200 OK" not in got
    assert answer(page).status == 200
    assert "Traceback" not in capfd.readouterr().err + caplog.text
    assert all("\n" not in line for line in warnings_of(caplog))


def test_messages_with_changed_bytes_pass_whole_or_not_at_all():
    check, rng = Messages(viser_messages), random.Random(7)
    whole = [
        packed(message) for message in (CAMERA, DRAG, CLICK, {"type": "GuiUpdateMessage", "uuid": "", "updates": {}})
    ]
    assert all(check.problem(message, lambda name: None) is None for message in whole)
    kept = 0
    for _ in range(3000):
        raw = bytearray(rng.choice(whole))
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(len(raw))
            raw[place : place + rng.choice((0, 1, 1, 1, 3))] = rng.randbytes(rng.choice((0, 1, 1, 1, 5)))
        if check.problem(bytes(raw), lambda name: None) is None:
            kept += 1
            viser_messages.Message.deserialize(bytes(raw))
    assert 10 < kept < 2000


def test_the_messages_that_pass_are_of_viser():
    """Contract: messages of these names, and each with fields that msgspec can check."""
    check = Messages(viser_messages)
    assert tuple(check._decoders) == ACCEPTED
    for message in (CAMERA, DRAG, CLICK):
        assert isinstance(viser_messages.Message.deserialize(packed(message)), getattr(viser_messages, message["type"]))


def test_other_servers_of_viser_stay_as_they_are(page):
    before = _infra.websockets
    with guard_module.guarded(access_to("127.0.0.1")) as guard:
        assert _infra.websockets is not before
        guard.installed = True
    assert _infra.websockets is before
    assert _infra.websockets.asyncio.server.serve.__module__.startswith("websockets")
