"""Which requests the viewer answers, by its policy alone."""

import pytest

from shinari.errors import SceneError
from shinari.view.access import Access, RefusalError, Request, access_to, is_loopback

PORT = 8080
TOKEN = "dGhpcyBpcyBhIHRva2Vu"


def request(path: str = "/", host: str | None = "127.0.0.1:8080", origin: str | None = None) -> Request:
    return Request(path, () if host is None else (host,), () if origin is None else (origin,))


@pytest.fixture
def local() -> Access:
    return access_to("127.0.0.1")


@pytest.fixture
def public() -> Access:
    return access_to("0.0.0.0", token=TOKEN)


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost:8080", "[::1]:8080", "LOCALHOST:8080"])
def test_each_name_of_this_machine_is_served_to_itself_and_to_the_others(local, host):
    assert local.check(request(host=host), PORT) == "/"
    for name in ("127.0.0.1", "localhost", "[::1]"):
        assert local.check(request(host=host, origin=f"http://{name}:8080"), PORT) == "/"


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example",
        "evil.example:8080",
        "127.0.0.1",
        "127.0.0.1:8081",
        "127.0.0.1:08080",
        "127.0.0.1:8080@evil.example",
        "127.0.0.1:8080.evil.example",
        "127.0.0.1.evil.example:8080",
        "localhost.evil.example:8080",
        "evil.example#127.0.0.1:8080",
        "::1:8080",
        "0.0.0.0:8080",
        "192.168.1.5:8080",
        "127.0.0.1:8080\x00",
    ],
)
def test_a_foreign_host_is_refused(local, host):
    with pytest.raises(RefusalError, match="Host"):
        local.check(request(host=host), PORT)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://evil.example:8080",
        "https://127.0.0.1:8080",
        "http://127.0.0.1",
        "http://127.0.0.1:8081",
        "http://localhost:80800",
        "http://127.0.0.1:8080.evil.example",
        "http://evil.example/http://127.0.0.1:8080",
        "ws://127.0.0.1:8080",
        "127.0.0.1:8080",
        "file://",
        "null",
        "",
        "*",
    ],
)
@pytest.mark.parametrize("kind", ["local", "public"])
def test_a_foreign_origin_is_refused(kind, origin, request):
    access = request.getfixturevalue(kind)
    with pytest.raises(RefusalError, match="Origin"):
        access.check(Request(f"/{TOKEN}/", ("127.0.0.1:8080",), (origin,)), PORT)


@pytest.mark.parametrize("hosts", [(), ("127.0.0.1:8080",) * 2, ("evil.example", "127.0.0.1:8080")])
def test_exactly_one_host_is_expected(local, hosts):
    with pytest.raises(RefusalError, match=f"one Host header, got {len(hosts)}"):
        local.check(Request("/", hosts), PORT)


def test_a_second_origin_is_refused(local):
    with pytest.raises(RefusalError, match="Origin"):
        local.check(Request("/", ("127.0.0.1:8080",), ("http://127.0.0.1:8080", "http://evil.example")), PORT)


def test_port_80_may_be_left_out(local):
    assert local.check(request(host="localhost", origin="http://localhost"), 80) == "/"


@pytest.mark.parametrize(
    "path",
    [
        "/?websocket=ws://evil.example",
        "/?websocket=ws://127.0.0.1:8081",
        "/?websocket=ws://127.0.0.1:8080@evil.example",
        "/?websocket=",
        "/?websocket=ws://[",
        "/?websocket=ws://127.0.0.1:8080&websocket=ws://evil.example",
        "/?playbackPath=http://evil.example/run.viser",
        "/index.html?a=b&%77ebsocket=ws://evil.example",
    ],
)
def test_an_address_cannot_make_the_page_another_server_s(local, path):
    with pytest.raises(RefusalError, match="another server"):
        local.check(request(path), PORT)
    assert local.check(request("/?websocket=ws://127.0.0.1:8080"), PORT)


def test_an_allowed_origin_may_ask_and_its_host_is_a_name():
    access = access_to("127.0.0.1", allowed_origins=["https://hub.example", "http://localhost:9000/"])
    for host in ("127.0.0.1:8080", "hub.example", "localhost:9000"):
        for origin in ("https://hub.example", "HTTP://localhost:9000", "http://127.0.0.1:8080"):
            access.check(request(host=host, origin=origin), PORT)
    for origin in ("http://hub.example", "https://hub.example:8443", "https://not-hub.example"):
        with pytest.raises(RefusalError, match="Origin"):
            access.check(request(origin=origin), PORT)


@pytest.mark.parametrize(
    "origin", ["", "*", "null", "hub.example", "http://", "http://*", "http://a b", "http://a/b;c"]
)
def test_an_origin_that_is_none_is_refused(origin):
    with pytest.raises(SceneError, match=r"allowed origin: .* expected a scheme and a host"):
        access_to("127.0.0.1", allowed_origins=[origin])


@pytest.mark.parametrize(("host", "expected"), [("127.0.0.1", True), ("localhost", True), ("127.1.2.3", True),
                                                ("::1", True), ("0.0.0.0", False), ("", False), ("::", False),
                                                ("192.168.1.5", False)])  # fmt: skip
def test_a_token_is_needed_where_others_can_connect(host, expected):
    assert is_loopback(host) is expected
    access = access_to(host)
    assert (access.token is None) is expected
    if not expected:
        assert len(access.token) == 32
        assert access.token != access_to(host).token
        with pytest.raises(RefusalError, match="token"):
            access.check(request(), PORT)


def test_the_token_is_the_first_part_of_the_path(public):
    for path, rest in ((f"/{TOKEN}", "/"), (f"/{TOKEN}/", "/"), (f"/{TOKEN}/index.html", "/index.html"),
                       (f"/?token={TOKEN}", f"/{TOKEN}/")):  # fmt: skip
        assert public.check(request(path), PORT) == rest
    for path in ("/", f"/{TOKEN}x/", f"/{TOKEN[:-1]}", f"/{TOKEN.lower()}/", f"/index.html?token={TOKEN}", "/?token=",
                 f"/x/{TOKEN}/", "/%00/", "/\udce4/"):  # fmt: skip
        with pytest.raises(RefusalError, match="token"):
            public.check(request(path), PORT)


def test_a_token_does_not_excuse_a_foreign_name(public):
    with pytest.raises(RefusalError, match="Host"):
        public.check(request(f"/{TOKEN}/", host="evil.example:8080"), PORT)


def test_a_server_for_all_is_reached_by_addresses_and_by_its_own_name(public):
    import socket

    for host in ("192.168.1.5:8080", "[fe80::1]:8080", f"{socket.gethostname()}:8080", "localhost:8080"):
        public.check(request(f"/{TOKEN}/", host=host, origin=f"http://{host}"), PORT)
    for host in ("192.168.1.5:81", "192.168.1:8080", "192.168.1.5.evil.example:8080", "[fe80::1", "fe80::1:8080"):
        with pytest.raises(RefusalError, match="Host"):
            public.check(request(f"/{TOKEN}/", host=host), PORT)
    with pytest.raises(RefusalError, match="Origin"):
        public.check(request(f"/{TOKEN}/", host="192.168.1.5:8080", origin="http://192.168.1.6:8080"), PORT)


@pytest.mark.parametrize("token", ["", "a b", "a/b", "..", "é", "a?b"])
def test_a_token_that_no_address_can_have_is_refused(token):
    with pytest.raises(SceneError, match="token: expected letters, digits"):
        access_to("127.0.0.1", token=token)


def test_a_page_is_framed_by_itself_only_unless_a_notebook_shows_it():
    def policy(**options) -> str:
        return access_to("127.0.0.1", **options).headers("127.0.0.1:8080")["Content-Security-Policy"]

    assert policy().endswith("; frame-ancestors 'self'")
    assert policy(allowed_origins=["https://hub.example"]).endswith("frame-ancestors 'self' https://hub.example")
    assert "frame-ancestors" not in policy(framed=True)
    assert policy(framed=True) == "connect-src 'self' ws://127.0.0.1:8080 wss://127.0.0.1:8080 data: blob:"
