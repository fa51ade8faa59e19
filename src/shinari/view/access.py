"""Which requests the viewer answers: the policy, without a server.

A browser sends the pages of every site that is open in it to any address, this machine included. Two headers tell such
requests apart, and no page can forge them: `Origin`, the site of the page that asks, and `Host`, the name that its
address has. A foreign `Origin` is another site; a foreign `Host` is a name that was made to point here (DNS rebinding).
Where other machines can connect a secret token in the address is required as well, since they can forge all headers.
"""

import hmac
import ipaddress
import re
import secrets
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from shinari.errors import SceneError

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
"""Names of this machine that cannot lead elsewhere."""
TOKEN_BYTES = 24
"""Random bytes of a token that nobody has set."""

_REMEDY = "to use it from there start it with --allow-origin http://NAME:PORT"
_TOKEN = re.compile(r"[A-Za-z0-9_-]+")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://([^\s/?#@\\]+)")
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]+):([0-9]+)")


@dataclass(frozen=True)
class Request:
    """What counts of an HTTP request.

    Attributes:
        path: Path with its query.
        hosts: Values of its `Host` headers.
        origins: Values of its `Origin` headers.
    """

    path: str
    hosts: tuple[str, ...]
    origins: tuple[str, ...] = ()


class RefusalError(Exception):
    """A request that is not answered; the message says why."""


@dataclass(frozen=True)
class Access:
    """Who may use a page; made by `access_to`.

    Attributes:
        names: Names under which the server is reached, as in a `Host` header, without the port.
        loopback: Whether only this machine can connect.
        token: The first part of the path of each request; None: none is required.
        allowed_origins: Other origins from which the page is used, `"https://hub.example"`.
        framed: Whether any page may show this one in a frame, as notebooks do.
    """

    names: tuple[str, ...] = LOOPBACK_NAMES
    loopback: bool = True
    token: str | None = None
    allowed_origins: tuple[str, ...] = ()
    framed: bool = False

    def check(self, request: Request, port: int) -> str:
        """Let a request in.

        Args:
            request: The request.
            port: The port that it came to.

        Returns:
            Its path without the token. Of `/?token=...` the path with the token: a page is sent there.

        Raises:
            RefusalError: It comes from elsewhere, or without the token.
        """
        host = self._check_host(request.hosts, port)
        self._check_origin(request.origins, host, port)
        path, _, query = request.path.partition("?")
        given = parse_qs(query, keep_blank_values=True)
        self._check_query(given, host)
        if self.token is None:
            return request.path
        first, _, rest = path.lstrip("/").partition("/")
        if _same(first, self.token):
            return f"/{rest}"
        if path == "/" and any(_same(token, self.token) for token in given.get("token", [])):
            return f"/{self.token}/"
        raise RefusalError("the token is missing or wrong; the address with the token is printed where the viewer runs")

    def headers(self, host: str) -> dict[str, str]:
        """Headers of an answer to a request for a host: what the page may connect to, and who may show it in a frame.

        The page of viser takes the address of its server from its own address if it is there, `?websocket=...`, and
        does what that server says.
        """
        policy = f"connect-src 'self' ws://{host} wss://{host} data: blob:"
        if not self.framed:
            policy += "; frame-ancestors " + " ".join(("'self'", *self.allowed_origins))
        return {
            "Content-Security-Policy": policy,
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }

    def _check_host(self, hosts: tuple[str, ...], port: int) -> str:
        if len(hosts) != 1:
            raise RefusalError(f"expected one Host header, got {len(hosts)}")
        host = hosts[0].lower()
        elsewhere = {_network_location(origin) for origin in self.allowed_origins}
        if host in self._own(port) or host in elsewhere or (not self.loopback and _is_address(host, port)):
            return host
        raise RefusalError(f"Host {_short(host)} is not a name of this server; {_REMEDY}")

    def _check_origin(self, origins: tuple[str, ...], host: str, port: int) -> None:
        if not origins:
            return
        origin = origins[0].lower()
        own = {f"http://{name}" for name in (*self._own(port), host)}
        if len(origins) > 1 or (origin not in own and origin not in self.allowed_origins):
            raise RefusalError(f"Origin {_short(origin)} is not the page of this server; {_REMEDY}")

    def _check_query(self, given: dict[str, list[str]], host: str) -> None:
        """Refuse an address that would make the page another server's."""
        elsewhere = any(_network_location(server.lower()) != host for server in given.get("websocket", []))
        if elsewhere or "playbackPath" in given:
            raise RefusalError("the address names another server for the page")

    def _own(self, port: int) -> set[str]:
        own = {f"{name}:{port}" for name in self.names}
        return own | set(self.names) if port == 80 else own


def access_to(
    host: str, *, token: str | None = None, allowed_origins: Iterable[str] = (), framed: bool = False
) -> Access:
    """Who may use a page on a host.

    Args:
        host: Address that the server listens on.
        token: Secret part of the address of the page. None: none where only this machine can connect, elsewhere a
            random one.
        allowed_origins: Other origins from which the page is used, `"https://hub.example"`: those of a proxy or of a
            forwarded port.
        framed: Whether any page may show this one in a frame.

    Raises:
        SceneError: The host cannot be resolved, or the token or an origin has another form.
    """
    if token is not None and not _TOKEN.fullmatch(token):
        raise SceneError(f"view: token: expected letters, digits, '-' and '_', got {_short(token)}")
    origins = tuple(origin.lower().rstrip("/") for origin in allowed_origins)
    for origin in origins:
        if not _ORIGIN.fullmatch(origin) or "*" in origin or ";" in origin or "," in origin:
            raise SceneError(
                f"view: allowed origin: {_short(origin)} is none; expected a scheme and a host, http://NAME:PORT"
            )
    loopback = is_loopback(host)
    names = [*LOOPBACK_NAMES, f"[{host}]" if ":" in host else host]
    if not loopback:
        names += [socket.gethostname(), f"{socket.gethostname()}.local"]
        token = token or secrets.token_urlsafe(TOKEN_BYTES)
    known = tuple(dict.fromkeys(name.lower() for name in names if name))
    return Access(known, loopback, token, origins, framed)


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to a host.

    Raises:
        SceneError: The host cannot be resolved.
    """
    try:
        found = socket.getaddrinfo(host or "0.0.0.0", 0, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise SceneError(f"view: host: cannot listen on {_short(host)}: {error}") from error
    return all(ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback for *_, address in found)


def _is_address(host: str, port: int) -> bool:
    """Whether a `Host` is an IP address with this port: no name can be made to be one."""
    found = _HOST.fullmatch(host)
    if found is None or int(found[2]) != port:
        return False
    try:
        ipaddress.ip_address(found[1].strip("[]"))
    except ValueError:
        return False
    return True


def _network_location(address: str) -> str:
    try:
        return urlsplit(address).netloc
    except ValueError:
        return ""


def _same(given: str, token: str) -> bool:
    """Whether a token is right, in a time that does not depend on how much of it is."""
    return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), token.encode())


def _short(text: str) -> str:
    """Text of a stranger for a message: printable, and not long."""
    return ascii(text if len(text) <= 80 else f"{text[:77]}...")
