"""A real browser without a window, and one viewer for all tests of a file.

`viewer` is the page of shinari on the side of the server, with a small cloth that hangs from two corners, paused at its
start; `visit` opens it in the browser and gives playwright's page, `pixels` its canvas as an array, `still` makes sure
that what a paused viewer shows has reached the browser.
"""

import io
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser_help import PATIENCE, cloth_scene, light_simply, until

pytest.importorskip("viser", reason="viser is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from shinari.view.page import Page  # noqa: E402  after what skips
from shinari.view.server import page_address, serve  # noqa: E402
from shinari.view.sources import simulation_source  # noqa: E402

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
# small, because it is drawn by the processor
SIZE = {"width": 800, "height": 600}


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser."""
    executable = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if executable is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is on the PATH")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def sources() -> dict:
    """What the viewer offers; a test file may offer something else by a fixture of this name."""
    return {"cloth": simulation_source(lambda: (cloth_scene(), {}), "a cloth", playing=False)}


@pytest.fixture(scope="module")
def shared_viewer(chromium: Any, sources: dict) -> Iterator[Page]:
    """The viewer of a test file, in whatever state the tests before have left it."""
    viewer = serve(sources, next(iter(sources)), port=0)
    light_simply(viewer)
    yield viewer
    viewer.close()


@pytest.fixture
def viewer(shared_viewer: Page) -> Page:
    """The viewer, paused at the start of what it shows."""
    shared_viewer.runner.pause().result(PATIENCE)
    shared_viewer.runner.reset().result(PATIENCE)
    return shared_viewer


@pytest.fixture
def visit(chromium: Any, viewer: Page) -> Iterator[Callable[[], Any]]:
    """Opens the viewer in a browser of its own and waits for the picture; all are closed after the test."""
    contexts = []

    def go() -> Any:
        context = chromium.new_context(viewport=SIZE)
        contexts.append(context)
        context.set_default_timeout(1000 * PATIENCE)
        page = context.new_page()
        before = set(viewer.server.get_clients())
        page.goto(page_address(viewer))
        # the first canvas is a hidden one without a size
        there = "() => [...document.querySelectorAll('canvas')].some(canvas => canvas.width > 100)"
        page.wait_for_function(there, timeout=1000 * PATIENCE)
        until(lambda: set(viewer.server.get_clients()) - before, "the page is connected")
        client = viewer.server.get_clients()[max(viewer.server.get_clients())]

        def fits() -> bool:
            camera = client.camera
            return camera.aspect < 1.0 and np.allclose(camera.position, viewer.stage.camera(camera.aspect)[0])

        until(fits, "the camera has stepped back for the panel beside the scene")
        seen(page, client)
        return page

    yield go
    for context in contexts:
        with suppress(Exception):
            context.close()


@pytest.fixture(scope="module")
def shown(shared_viewer: Page) -> list:
    """The last frame that was sent to the browser."""
    frames: list[Any] = [None]
    shared_viewer.on_frame(lambda frame: frames.__setitem__(0, frame))
    return frames


@pytest.fixture
def still(viewer: Page, shown: list) -> Callable[[Any], None]:
    """Pauses the viewer and waits until a page shows where it has stopped."""

    def wait(page: Any) -> None:
        viewer.runner.pause().result(PATIENCE)
        time = viewer.runner.do(lambda simulation: simulation.time).result(PATIENCE)
        until(lambda: shown[0] is viewer.runner.latest() and shown[0].time == time, "the last frame is sent")
        seen(page, *viewer.server.get_clients().values())

    return wait


def seen(page: Any, *clients: Any) -> None:
    """Wait until what was sent to some clients is there, and a page shows it."""
    for client in clients:
        # messages are worked off in turn: when this one is answered, those before it are
        with suppress(RuntimeError):  # this client has left
            client.local_storage.get_item("nothing", timeout=PATIENCE)
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


@pytest.fixture
def pixels(request: pytest.FixtureRequest) -> Callable[[Any], np.ndarray]:
    """Gives what a page shows as (height, width, 3) uint8; with SHINARI_PICTURES=folder the pictures are kept there."""
    from PIL import Image

    count = 0

    def take(page: Any) -> np.ndarray:
        nonlocal count
        data = page.screenshot()
        folder = os.environ.get("SHINARI_PICTURES")
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
            (Path(folder) / f"{request.node.name}_{count}.png").write_bytes(data)
            count += 1
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))

    return take
