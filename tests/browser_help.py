"""What the tests in the browser share beside their fixtures."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import shinari as sn

if TYPE_CHECKING:
    from shinari.view.page import Page

PATIENCE = 180.0
"""Longest time for something to happen in the browser [s]; the machine may be busy."""


def cloth_scene() -> sn.Scene:
    """A sheet of a metre that hangs in the air from the two corners at its back."""
    scene = sn.Scene()
    cloth = scene.add_cloth(sn.grid(shape=(12, 12), size=(1.0, 1.0)), position=(0.0, 1.2, 0.0), name="cloth")
    cloth.pin([cloth.nearest((-0.5, 1.2, -0.5)), cloth.nearest((0.5, 1.2, -0.5))])
    return scene


def light_simply(page: "Page") -> None:
    """Light the scene of a viewer so that a processor can draw it.

    Shadows take ten times as long, and for light from all around each page first prepares 5 s.
    """
    page.server.scene.configure_default_lights(cast_shadow=False)
    page.server.scene.configure_environment_map(None)


def until(condition: Callable[[], object], what: str, patience: float = PATIENCE) -> None:
    """Wait until something holds, or fail and say what did not."""
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, f"in {patience:g} s this has not happened: {what}"
        time.sleep(0.02)
