"""Who may use the viewer, as a browser sees it."""

import logging
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import shinari as sn
from browser_help import PATIENCE, cloth_scene, light_simply, until
from shinari.view.server import page_address, serve

SMALL = {"width": 400, "height": 300}


@contextmanager
def site(html: str):
    """Another site on this machine, with one page; gives its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *given) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def tab(chromium):
    context = chromium.new_context(viewport=SMALL)
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    page.told = []
    page.on("console", lambda message: page.told.append(message.text))
    yield page
    context.close()


def test_the_page_works_with_a_token_and_without_one_it_is_not_there(tab, sources, caplog):
    viewer = serve(sources, "cloth", host="0.0.0.0", port=0)
    light_simply(viewer)
    try:
        address, token = page_address(viewer), viewer.server.access.token
        assert tab.goto(address.replace(token, "wrong")).status == 403
        tab.goto(address.replace(f"/{token}/", f"/?token={token}"))
        tab.get_by_role("button", name="step", exact=True).click()
        until(lambda: viewer.runner.steps == 1, "a step")
        assert f"/{token}/" in tab.url
        tab.reload()
        until(lambda: len(viewer.server.get_clients()) == 1, "it is there again")
        tab.get_by_role("button", name="step", exact=True).click()
        until(lambda: viewer.runner.steps == 2, "a step after it was loaded again")
    finally:
        viewer.close()
    assert [text for text in tab.told if "Security Policy" in text] == []
    lines = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(lines) == 1  # the wrong token
    assert "the token is missing or wrong" in lines[0]


def test_another_site_can_neither_connect_nor_show_it(tab, viewer, caplog):
    port = viewer.server.get_port()
    script = (
        "<title>waits</title><script>"
        f"const socket = new WebSocket('ws://127.0.0.1:{port}/');"
        "socket.onopen = () => document.title = 'open';"
        "socket.onerror = () => document.title = 'refused';"
        f"</script><iframe src='http://127.0.0.1:{port}/'></iframe>"
    )
    before = set(viewer.server.get_clients())
    with site(script) as other:
        tab.goto(other)
        tab.wait_for_function("() => document.title !== 'waits'")
        assert tab.title() == "refused"
        until(lambda: any("frame-ancestors" in text for text in tab.told), "the frame is not shown")
    assert set(viewer.server.get_clients()) == before
    assert f"Origin '{other.rstrip('/')}' is not the page of this server" in caplog.text


def test_an_address_cannot_lead_the_page_elsewhere(tab, viewer):
    """Not by the address, which is refused, nor by a script: what it may connect to is said with the page."""
    assert tab.goto(f"{page_address(viewer)}/?websocket=ws://127.0.0.1:1").status == 403
    tab.goto(page_address(viewer))
    tab.evaluate("() => { try { new WebSocket('ws://127.0.0.1:1/') } catch (error) { console.log(String(error)) } }")
    until(lambda: any("Security Policy" in text for text in tab.told), "the connection is refused by the browser")


def test_a_notebook_shows_the_page_in_a_frame(tab, caplog):
    shown = sn.show(cloth_scene(), playing=False, height=280)
    light_simply(shown.page)
    try:
        with site(f"<body>{shown._repr_html_()}</body>") as notebook:
            tab.goto(notebook)
            tab.frame_locator("iframe").get_by_role("button", name="step", exact=True).click()
            until(lambda: shown.page.runner.steps == 1, "a step")
    finally:
        shown.close()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
