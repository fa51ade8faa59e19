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


def test_plots_follow_the_simulation_until_it_is_reset(viewer: Page, visit: Callable) -> None:
    page = visit()
    plots = page.locator(".uplot")
    until(lambda: plots.count() == len(TITLES), "three plots are there")
    assert [page.get_by_text(title, exact=True).count() for title in TITLES] == [1, 1, 1]
    colors = [ENERGIES[name] for name in ("kinetic", "gravitational", "total")]
    until(lambda: drawn(page, *colors).max() < 100, "the plots are empty")
    viewer.runner.play().result(PATIENCE)
    until(lambda: drawn(page, *colors)[0].min() > 150, "the energies are drawn")
    until(lambda: drawn(page, "#b84c57")[1, 0] > 50, "the residual is drawn")
    until(lambda: drawn(page, "#8566b3")[2, 0] > 50, "the time of steps is drawn")
    viewer.runner.pause().result(PATIENCE)
    viewer.runner.reset().result(PATIENCE)
    until(lambda: drawn(page, *colors).max() < 100, "the plots are empty again")
    assert viewer.problem == ""


def test_a_mode_colours_the_cloth(viewer: Page, visit: Callable, pixels: Callable) -> None:
    page = visit()
    for _ in range(12):
        viewer.runner.step().result(PATIENCE)

    def pink() -> int:
        """Pixels of the scene in which green is least, as between the ends of the colours and not in the blue cloth."""
        picture = pixels(page)[:, :400].astype(int)
        return int(((picture[..., 0] > picture[..., 1] + 30) & (picture[..., 2] > picture[..., 1] + 15)).sum())

    assert pink() == 0
    before = "body"
    for mode, unit in (("speed", "m/s"), ("strain", "%")):
        choose(page, before, mode)
        until(lambda mode=mode: getattr(viewer.colouring, "mode", "") == mode, "the mode is chosen")
        assert viewer.runner.measured == (mode == "strain")
        until(lambda: viewer.colouring.largest > 0.0, "values were seen")
        frame = viewer.runner.latest()
        values = frame.strains if mode == "strain" else np.linalg.norm(frame.velocities, axis=1)
        assert viewer.colouring.largest == pytest.approx(values.max(), rel=1e-6)
        text = legend(mode, viewer.colouring.largest).rsplit("<span>", 1)[1].split("<")[0]
        assert text.endswith(unit)
        until(lambda text=text: page.get_by_text(text, exact=True).count() == 1, f"the legend says {text}")
        before = mode
    until(lambda: pink() > 200, "the cloth has colours between blue and yellow")
    choose(page, before, "body")
    until(lambda: viewer.colouring is None and not viewer.runner.measured, "the cloth is of one colour")
    assert viewer.problem == ""


def test_the_legend_names_the_value_and_its_unit() -> None:
    assert "rgb(45, 72, 192)" in legend("speed", 1.0)
    assert legend("strain", 0.125).count("12.5%") == 1
    assert "2.35 m/s" in legend("speed", 2.3456)
    assert "1.2e+03 N" in legend("force", 1200.0)
    assert legend("force", 1.0).count("rgb(") == len(ANCHORS)
