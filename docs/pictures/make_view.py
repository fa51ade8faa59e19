"""Makes the picture of the viewer: `python docs/pictures/make_view.py`. Needs [view], playwright and Chromium.

A demo runs and is held with the mouse; `view.jpg` is what the browser shows.
"""

import io
import shutil
import time
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

from shinari.geometry.motion import rotation_matrix
from shinari.view.page import Page
from shinari.view.server import page_address, serve
from shinari.view.sources import offered

SIZE = {"width": 1180, "height": 590}
FLAGS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
PATIENCE = 120.0
"""Longest time to wait for a step [s]."""


def pixel(viewer: Page, page) -> np.ndarray:
    """Where a particle in the middle of the picture of all is seen, (2,)."""
    points = viewer.runner.do(lambda simulation: simulation.state.positions.copy()).result(PATIENCE)
    camera = list(viewer.server.get_clients().values())[-1].camera
    seen = (points - np.array(camera.position)) @ rotation_matrix(np.array(camera.wxyz))
    flat = seen[:, :2] / seen[:, 2:]
    near = np.linalg.norm(flat - np.median(flat, axis=0), axis=1) < 0.02
    x, y, z = seen[near][seen[near, 2].argmin()]
    box = page.locator("canvas").first.bounding_box()
    focal = 0.5 * box["height"] / np.tan(0.5 * camera.fov)
    return np.array((box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])) + focal * np.array((x, y)) / z


def main() -> None:
    """Open the page, hold the cloth, take the picture."""
    sources, chosen = offered("demo", "kerchief", playing=False)
    viewer = serve(sources, chosen, port=0)
    browser_file = next(found for name in ("chromium", "google-chrome") if (found := shutil.which(name)))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_file, headless=True, args=FLAGS)
        page = browser.new_context(viewport=SIZE).new_page()
        page.goto(page_address(viewer))
        page.wait_for_function("() => [...document.querySelectorAll('canvas')].some(c => c.width > 100)")
        time.sleep(5.0)
        for notice in page.locator("button.mantine-Notification-closeButton").all():
            notice.click()  # that the processor draws
        viewer.runner.do(lambda simulation: simulation.step(100)).result(PATIENCE)
        time.sleep(8.0)
        at = pixel(viewer, page)
        page.mouse.move(*at)
        page.mouse.down()
        viewer.runner.play()
        for part in np.linspace(0.0, 1.0, 16):
            page.mouse.move(*(at + part * np.array((-70.0, -90.0))))
            time.sleep(0.3)
        viewer.runner.pause()
        time.sleep(8.0)
        data = page.screenshot()
        page.mouse.up()
        browser.close()
    viewer.close()
    path = Path(__file__).parent / "view.jpg"
    Image.open(io.BytesIO(data)).convert("RGB").save(path, quality=84, optimize=True)
    print(path.name, path.stat().st_size // 1000, "kB")


if __name__ == "__main__":
    main()
