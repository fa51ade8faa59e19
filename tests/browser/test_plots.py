"""The panels of colours and plots in a real browser: what is chosen is shown, what is measured is drawn."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from browser_help import PATIENCE, until
from shinari.view.colour_panel import legend
from shinari.view.colours import ANCHORS
from shinari.view.page import Page
from shinari.view.plots import ENERGIES

TITLES = ("energy [J]", "residual [1/1000]", "step time [ms]")
COUNT = """(colors) => [...document.querySelectorAll('.uplot')].map(plot => {
    const canvas = plot.querySelector('canvas');
    const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    return colors.map(([r, g, b]) => {
        let count = 0;
        for (let k = 0; k < data.length; k += 4)
            count += data[k + 3] > 200 && Math.max(
                Math.abs(data[k] - r), Math.abs(data[k + 1] - g), Math.abs(data[k + 2] - b)) < 20;
        return count;
    });
})"""
"""Pixels of each colour in each plot, read from its canvas."""


def drawn(page: Any, *colors: str) -> np.ndarray:
    """Pixels of colours #rrggbb in the plots, (plots, colours)."""
    return np.array(page.evaluate(COUNT, [[int(color[k : k + 2], 16) for k in (1, 3, 5)] for color in colors]))


def choose(page: Any, now: str, mode: str) -> None:
    page.locator(f"input[value={now}]").first.click()
    page.get_by_role("option", name=mode, exact=True).click()


def test_plots_and_colours_follow_the_simulation(viewer: Page, visit: Callable, pixels: Callable) -> None:
    page = visit()
    until(lambda: page.locator(".uplot").count() == len(TITLES), "three plots are there")
    assert [page.get_by_text(title, exact=True).count() for title in TITLES] == [1, 1, 1]
    check_plots(viewer, page)
    for _ in range(12):
        viewer.runner.step().result(PATIENCE)
    assert pink(pixels(page)) < 20  # where the red balls of pins border on the blue cloth
    check_mode(viewer, page, "body", "speed", "m/s")
    check_mode(viewer, page, "speed", "strain", "%")
    until(lambda: pink(pixels(page)) > 200, "the cloth has colours between blue and yellow")
    choose(page, "strain", "body")
    until(lambda: viewer.colouring is None and not viewer.runner.measured, "the cloth is of one colour")
    assert viewer.problem == ""


def check_plots(viewer: Page, page: Any) -> None:
    """Curves grow while it runs, and are gone after a reset."""
    colors = [ENERGIES[name] for name in ("kinetic", "gravitational", "total")]
    until(lambda: drawn(page, *colors).max() < 100, "the plots are empty")
    viewer.runner.play().result(PATIENCE)
    until(lambda: drawn(page, *colors)[0].min() > 150, "the energies are drawn")
    until(lambda: drawn(page, "#b84c57")[1, 0] > 50, "the residual is drawn")
    until(lambda: drawn(page, "#8566b3")[2, 0] > 50, "the time of steps is drawn")
    viewer.runner.pause().result(PATIENCE)
    viewer.runner.reset().result(PATIENCE)
    until(lambda: drawn(page, *colors).max() < 100, "the plots are empty again")


def check_mode(viewer: Page, page: Any, before: str, mode: str, unit: str) -> None:
    """What is chosen is measured, and the legend tells the largest value with its unit."""
    choose(page, before, mode)
    until(lambda: getattr(viewer.colouring, "mode", "") == mode, "the mode is chosen")
    assert viewer.runner.measured == (mode == "strain")
    until(lambda: viewer.colouring.largest > 0.0, "values were seen")
    frame = viewer.runner.latest()
    assert frame is not None
    values = frame.strains if mode == "strain" else np.linalg.norm(frame.velocities, axis=1)
    assert viewer.colouring.largest == pytest.approx(values.max(), rel=1e-6)
    text = legend(mode, viewer.colouring.largest).rsplit("<span>", 1)[1].split("<")[0]
    assert text.endswith(unit)
    until(lambda: page.get_by_text(text, exact=True).count() == 1, f"the legend says {text}")


def pink(picture: np.ndarray) -> int:
    """Pixels of the scene in which green is least, as between the ends of the colours and not in the blue cloth."""
    r, g, b = np.moveaxis(picture[:, :400].astype(int), 2, 0)
    return int(((r > g + 30) & (b > g + 15)).sum())


def test_the_legend_names_the_value_and_its_unit() -> None:
    assert "rgb(45, 72, 192)" in legend("speed", 1.0)
    assert legend("strain", 0.125).count("12.5%") == 1
    assert "2.35 m/s" in legend("speed", 2.3456)
    assert "1.2e+03 N" in legend("force", 1200.0)
    assert legend("force", 1.0).count("rgb(") == len(ANCHORS)
