"""Things are taken hold of with a real mouse: they follow it, fall when let go, and stay where they are pinned."""

from typing import Any

import numpy as np
import pytest

import shinari as sn
from browser_help import PATIENCE, cloth_scene, until
from shinari.scene.motion import rotation_matrix
from shinari.view.sources import simulation_source

HELD = 12 * 9 + 2
"""A particle of the cloth that the panels do not hide."""


def scene() -> sn.Scene:
    """The cloth, and a ball on a rope beside it."""
    made = cloth_scene()
    points = np.linspace((-0.9, 1.3, 0.0), (-0.9, 0.8, 0.0), 6)
    made.add_rope(points, material=sn.RopeMaterial(radius=0.02), name="rope").pin([0])
    return made


@pytest.fixture(scope="module")
def sources() -> dict:
    return {"cloth": simulation_source(lambda: (scene(), {}), "a cloth", playing=False)}


def places(viewer: Any, name: str) -> np.ndarray:
    """Where the particles of a thing are now [m], (n, 3)."""
    return viewer.runner.do(lambda simulation: simulation.positions(name).copy()).result(PATIENCE)


def on_screen(viewer: Any, page: Any, point: np.ndarray) -> np.ndarray:
    """Pixel at which a point is seen in a page, (2,)."""
    camera = list(viewer.server.get_clients().values())[-1].camera
    x, y, z = rotation_matrix(np.array(camera.wxyz)).T @ (point - np.array(camera.position))
    size = page.viewport_size
    focal = 0.5 * size["height"] / np.tan(0.5 * camera.fov)
    return np.array((0.5 * size["width"] + focal * x / z, 0.5 * size["height"] + focal * y / z))


def press(viewer: Any, page: Any, name: str, index: int, way: tuple[float, float]) -> np.ndarray:
    """Press the mouse on a particle and drag it by so many pixels; gives where the mouse is now."""
    at = on_screen(viewer, page, places(viewer, name)[index])
    page.mouse.move(*at)
    page.mouse.down()
    for part in (0.3, 0.6, 1.0):
        page.mouse.move(*(at + part * np.array(way)))
    return at + np.array(way)


def held(viewer: Any) -> list:
    return viewer.runner.do(lambda simulation: list(simulation._grabs)).result(PATIENCE)


def distance(viewer: Any, page: Any, name: str, index: int, pixel: np.ndarray) -> float:
    """Pixels from a particle to a place on the screen."""
    return float(np.linalg.norm(on_screen(viewer, page, places(viewer, name)[index]) - pixel))


def test_what_is_grabbed_follows_the_mouse_and_is_let_go(viewer: Any, visit: Any, pixels: Any) -> None:
    page = visit()
    mouse = press(viewer, page, "cloth", HELD, (30.0, -30.0))
    until(lambda: len(held(viewer)) == 1, "the cloth is held")
    viewer.runner.play().result(PATIENCE)
    (grab,) = held(viewer)
    until(lambda: distance(viewer, page, "cloth", grab.index, mouse) < 12.0, "the particle is at the mouse")
    assert np.linalg.norm(places(viewer, "cloth")[grab.index] - places(viewer, "cloth")[HELD]) < 0.2
    pixels(page)
    # it is held there, against its weight
    assert grab.force[1] > 0.1
    page.mouse.move(*(mouse + (10.0, 40.0)), steps=4)
    until(lambda: distance(viewer, page, "cloth", grab.index, mouse + (10.0, 40.0)) < 12.0, "it follows")
    height = places(viewer, "cloth")[grab.index, 1]
    page.mouse.up()
    until(lambda: not held(viewer), "the cloth is let go")
    until(lambda: places(viewer, "cloth")[grab.index, 1] < height - 0.1, "it falls")


def test_a_click_pins_and_another_one_lets_go(viewer: Any, visit: Any, pixels: Any) -> None:
    page = visit()
    start = viewer.runner.do(lambda simulation: set(simulation.pinned("cloth"))).result(PATIENCE)
    at = on_screen(viewer, page, places(viewer, "cloth")[HELD])

    def pinned() -> set[int]:
        return viewer.runner.do(lambda simulation: set(simulation.pinned("cloth"))).result(PATIENCE) - start

    page.keyboard.down("Shift")
    page.mouse.click(*at)
    page.keyboard.up("Shift")
    until(lambda: pinned() == {HELD}, "it is pinned")
    before = places(viewer, "cloth")[HELD]
    viewer.runner.play().result(PATIENCE)
    until(lambda: viewer.runner.latest().time > 0.3, "it runs")
    viewer.runner.pause().result(PATIENCE)
    assert np.array_equal(places(viewer, "cloth")[HELD], before)
    pixels(page)
    # what is pinned is dragged itself
    viewer.runner.play().result(PATIENCE)
    mouse = press(viewer, page, "cloth", HELD, (0.0, -60.0))
    until(lambda: distance(viewer, page, "cloth", HELD, mouse) < 12.0, "the pin is at the mouse")
    page.mouse.up()
    # in the other mode a click without a key does it
    page.get_by_role("textbox", name="mouse").click()
    page.get_by_role("option", name="pin").click()
    page.mouse.click(*on_screen(viewer, page, places(viewer, "cloth")[HELD]))
    until(lambda: pinned() == set(), "it is let go")
    # the start has the pins of the scene
    viewer.runner.do(lambda simulation: simulation.unpin("cloth", sorted(start))).result(PATIENCE)
    viewer.runner.reset().result(PATIENCE)
    assert viewer.runner.do(lambda simulation: set(simulation.pinned("cloth"))).result(PATIENCE) == start


def test_two_clients_drag_and_one_that_leaves_lets_go(viewer: Any, visit: Any) -> None:
    one, other = visit(), visit()
    viewer.runner.play().result(PATIENCE)
    press(viewer, other, "rope", 5, (-30.0, -30.0))
    until(lambda: len(held(viewer)) == 1, "the rope is held")
    press(viewer, one, "cloth", HELD, (-20.0, -40.0))
    until(lambda: len(held(viewer)) == 2, "both are held")
    assert {grab.thing for grab in held(viewer)} == {"rope", "cloth"}
    other.close()
    until(lambda: [grab.thing for grab in held(viewer)] == ["cloth"], "who left has let go")
    one.mouse.up()
    until(lambda: not held(viewer), "both have let go")
    assert viewer.problem == ""
