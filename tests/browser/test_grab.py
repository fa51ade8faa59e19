"""Things are taken hold of with a real mouse: they follow it, fall when let go, and stay where they are pinned."""

from typing import Any

import numpy as np

from browser_help import PATIENCE, until
from shinari.geometry.motion import rotation_matrix

ROOM = 12
"""Pixels around a particle that is taken which show the cloth, too."""


def places(viewer: Any, name: str) -> np.ndarray:
    """Where the particles of an object are now [m], (n, 3)."""
    return viewer.runner.do(lambda simulation: simulation.positions(name).copy()).result(PATIENCE)


def on_screen(viewer: Any, page: Any, point: np.ndarray) -> np.ndarray:
    """Pixel at which a point is seen in a page, (2,)."""
    camera = list(viewer.server.get_clients().values())[-1].camera
    x, y, z = rotation_matrix(np.array(camera.wxyz)).T @ (point - np.array(camera.position))
    box = page.locator("canvas").first.bounding_box()
    focal = 0.5 * box["height"] / np.tan(0.5 * camera.fov)
    middle = np.array((box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"]))
    return middle + focal * np.array((x, y)) / z


def in_the_open(viewer: Any, page: Any, pixels: Any, nearest: tuple[float, float]) -> int:
    """The particle of the cloth that is nearest to a pixel, of those with nothing but cloth around them in the picture.

    The cloth is blue; the ground and the sky have no colour, and panels are not there where the scene is.
    """
    found: list[tuple[float, int]] = []

    def look() -> bool:
        picture = pixels(page).astype(int)
        blue = picture[..., 2] - picture[..., 0] > 40
        for index, place in enumerate(places(viewer, "cloth")):
            pixel = on_screen(viewer, page, place)
            x, y = np.round(pixel).astype(int)
            # the panels have blue, too
            inside = ROOM <= x < 460 and 150 <= y < len(blue) - ROOM
            if inside and blue[y - ROOM : y + ROOM, x - ROOM : x + ROOM].all():
                found.append((float(np.linalg.norm(pixel - nearest)), index))
        return bool(found)

    until(look, "the picture shows the cloth")
    return min(found)[1]


def press(viewer: Any, page: Any, index: int, way: tuple[float, float]) -> np.ndarray:
    """Press the mouse on a particle of the cloth and drag it by so many pixels; gives where the mouse is now."""
    at = on_screen(viewer, page, places(viewer, "cloth")[index])
    page.mouse.move(*at)
    page.mouse.down()
    for part in (0.3, 0.6, 1.0):
        page.mouse.move(*(at + part * np.array(way)))
    return at + np.array(way)


def held(viewer: Any) -> list:
    return viewer.runner.do(lambda simulation: list(simulation._grabs)).result(PATIENCE)


def distance(viewer: Any, page: Any, index: int, pixel: np.ndarray) -> float:
    """Pixels from a particle of the cloth to a place on the screen."""
    return float(np.linalg.norm(on_screen(viewer, page, places(viewer, "cloth")[index]) - pixel))


def test_what_is_grabbed_follows_the_mouse_and_is_let_go(viewer: Any, visit: Any, pixels: Any, still: Any) -> None:
    page = visit()
    still(page)
    index = in_the_open(viewer, page, pixels, (200.0, 400.0))
    mouse = press(viewer, page, index, (30.0, -30.0))
    until(lambda: held(viewer), "the cloth is held")
    (grab,) = held(viewer)
    assert grab.index == index
    viewer.runner.play().result(PATIENCE)
    until(lambda: distance(viewer, page, index, mouse) < 12.0, "the particle is at the mouse")
    pixels(page)
    # while the cloth swings up it is held back
    until(lambda: grab.force[1] > 0.1, "it is held there, against its weight")
    mouse = np.add(mouse, (10.0, 40.0))
    page.mouse.move(*mouse, steps=4)
    until(lambda: distance(viewer, page, index, mouse) < 12.0, "it follows")
    height = places(viewer, "cloth")[index, 1]
    page.mouse.up()
    until(lambda: not held(viewer), "the cloth is let go")
    until(lambda: places(viewer, "cloth")[index, 1] < height - 0.1, "it falls")
    # a client that leaves lets go, too
    still(page)
    press(viewer, page, in_the_open(viewer, page, pixels, (200.0, 400.0)), (-20.0, -30.0))
    until(lambda: held(viewer), "the cloth is held again")
    page.close()
    until(lambda: not held(viewer), "who left has let go")
    assert viewer.problem == ""


def test_a_click_pins_and_another_one_lets_go(viewer: Any, visit: Any, pixels: Any, still: Any) -> None:
    page = visit()
    start = viewer.runner.do(lambda simulation: set(simulation.pinned("cloth"))).result(PATIENCE)
    still(page)
    index = in_the_open(viewer, page, pixels, (100.0, 300.0))

    def pinned() -> set[int]:
        return viewer.runner.do(lambda simulation: set(simulation.pinned("cloth"))).result(PATIENCE) - start

    page.keyboard.down("Shift")
    page.mouse.click(*on_screen(viewer, page, places(viewer, "cloth")[index]))
    page.keyboard.up("Shift")
    until(lambda: pinned() == {index}, "it is pinned")
    before = places(viewer, "cloth")[index]
    viewer.runner.play().result(PATIENCE)
    until(lambda: viewer.runner.latest().time > 0.3, "it runs")
    still(page)
    assert np.array_equal(places(viewer, "cloth")[index], before)

    def marked() -> bool:
        """Whether the ball of the pin is seen; if a fold is before it, it is not a step later, or many."""
        still(page)
        x, y = on_screen(viewer, page, places(viewer, "cloth")[index]).astype(int)
        red, _, blue = pixels(page)[y, x].astype(int)
        if red < blue + 60:
            viewer.runner.step().result(PATIENCE)
        return bool(red >= blue + 60)

    # what is pinned is dragged itself, by the ball that marks it: the cloth that hangs from it may be behind an edge
    until(marked, "its mark is seen")
    mouse = press(viewer, page, index, (0.0, -60.0))
    viewer.runner.play().result(PATIENCE)
    until(lambda: distance(viewer, page, index, mouse) < 12.0, "the pin is at the mouse")
    page.mouse.up()
    # in the other mode a click without a key does it
    page.get_by_role("combobox", name="mouse").click()
    page.get_by_role("option", name="pin", exact=True).click()
    until(marked, "its mark is seen where it is now")
    page.mouse.click(*on_screen(viewer, page, places(viewer, "cloth")[index]))
    until(lambda: pinned() == set(), "it is let go")
    # the start has the pins of the scene
    viewer.runner.do(lambda simulation: simulation.unpin("cloth", sorted(start))).result(PATIENCE)
    viewer.runner.reset().result(PATIENCE)
    assert viewer.runner.do(lambda simulation: set(simulation.pinned("cloth"))).result(PATIENCE) == start
