"""The panels of colours and plots on the side of the server: what a cache, a simulation and a change of scene make."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shinari as sn
from browser_help import PATIENCE, until
from shinari.io.frames import measures_of
from shinari.io.results import MEASURES
from shinari.io.run_reader import open_cache
from shinari.output.recorder import Recorder
from shinari.output.writers import open_writer

pytest.importorskip("viser", reason="viser is not installed")

from shinari.view.colour_panel import ColourPanel
from shinari.view.colours import MODES
from shinari.view.page import Page
from shinari.view.plots import HISTORY, Plots
from shinari.view.server import serve
from shinari.view.sources import cache_source, simulation_source

FRAMES = 12


def scene() -> sn.Scene:
    made = sn.Scene()
    cloth = made.add_cloth(sn.grid(shape=(6, 6)), position=(0.0, 1.0, 0.0), name="cloth")
    cloth.pin([0, 5])
    return made


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run that was measured, and the same without what was measured."""
    folder = tmp_path_factory.mktemp("runs")
    paths = {name: folder / f"{name}.npz" for name in ("measured", "plain")}
    simulation = sn.Simulation(scene(), dt=1 / 30, substeps=4, threads=1)
    with Recorder(simulation, [paths["measured"]]) as recorder:
        for _ in range(FRAMES):
            recorder.record()
            simulation.step()
    with open_cache(paths["measured"]) as cache:
        none = np.zeros(0)
        with open_writer(paths["plain"], replace(cache.layout, measured=False)) as writer:
            for index in range(FRAMES):
                writer.write(replace(cache.frame(index), strains=none, forces=none, measures=none))
    return paths


@pytest.fixture(scope="module")
def shared(runs: dict[str, Path]) -> Iterator[Page]:
    settings = {"dt": 1 / 30, "substeps": 4, "threads": 1}
    table = {name: cache_source(path, playing=False) for name, path in runs.items()}
    table["live"] = simulation_source(lambda: (scene(), settings), "live", playing=False)
    page = serve(table, "measured", port=0)
    yield page
    page.close()


@pytest.fixture
def page(shared: Page) -> Page:
    shared.choose("measured").result(PATIENCE)
    shared.runner.seek(0).result(PATIENCE)
    return shared


def values(plots: Any) -> np.ndarray:
    """Time and energies of the points, (n, 4)."""
    return np.array([point[:4] for point in list(plots._points)])


def test_the_points_of_a_cache_are_its_measures_at_the_frames_shown(page: Page, runs: dict[str, Path]) -> None:
    plots = Plots(page)
    with open_cache(runs["measured"]) as cache:
        table, times = cache.measures(), cache.times
    columns = [MEASURES.index(name) for name in ("kinetic", "gravitational", "elastic")]
    for shown in ([0, 4, 9], [5]):  # and wound back: what came later is gone
        for index in shown:
            page.runner.seek(index).result(PATIENCE)
            until(lambda t=times[index]: len(plots._points) and plots._points[-1][0] == t, f"frame {index} is drawn")
    expected = [[times[index], *table[index, columns]] for index in (0, 4, 5)]
    assert np.allclose(values(plots), expected, rtol=1e-12)
    assert np.allclose([point[4] for point in plots._points], values(plots)[:, 1:].sum(axis=1))
    assert all(np.isnan(point[-1]) for point in plots._points)


def test_a_simulation_is_measured_by_itself_a_few_times_a_second(page: Page) -> None:
    page.choose("live").result(PATIENCE)
    plots = Plots(page)
    page.runner.step().result(PATIENCE)
    until(lambda: len(plots._points) and plots._points[-1][0] == pytest.approx(1 / 30), "a step is drawn")
    time, measures = page.runner.do(lambda sim: (sim.time, measures_of(sim.measure()))).result(PATIENCE)
    assert np.allclose(values(plots)[-1], [time, *measures[:3]])
    assert not page.runner.measured
    counted: list[int] = []
    page.runner.do(lambda sim: _count(sim, counted)).result(PATIENCE)
    page.runner.play().result(PATIENCE)
    until(lambda: len(counted) >= 3, "it is measured again and again")
    assert page.runner.latest().measures.shape == (0,)
    page.runner.pause().result(PATIENCE)
    page.runner.reset().result(PATIENCE)
    until(lambda: len(plots._points) and plots._points[-1][0] == 0.0 and len(plots._points) == 1, "it begins anew")


def _count(simulation: Any, counted: list[int]) -> None:
    """Add an entry whenever the simulation is measured."""
    measure = simulation.measure

    def counting() -> Any:
        counted.append(1)
        return measure()

    vars(simulation)["measure"] = counting


def test_modes_of_what_is_shown(page: Page) -> None:
    panel = ColourPanel(page)
    assert tuple(panel._choice.options) == MODES
    panel._choice.value = "strain"
    until(lambda: page.colouring is not None and page.colouring.mode == "strain", "strain is shown")
    first = page.colouring
    page.choose("live").result(PATIENCE)
    until(lambda: page.colouring not in (None, first) and page.runner.measured, "the new scene too, and it is measured")
    assert page.colouring.mode == "strain"
    until(lambda: len(page.runner.latest().strains) == page.layout.point_count, "its frames hold strains")
    page.choose("plain").result(PATIENCE)
    until(lambda: tuple(panel._choice.options) == ("body", "speed"), "what was not measured is not offered")
    assert panel._choice.value == "body"
    until(lambda: page.colouring is None, "and the colours are those of the objects")
    assert page.problem == ""


def test_the_history_is_bounded(page: Page) -> None:
    plots = Plots(page)
    until(lambda: plots._sampled == 0.0, "the frame that is shown was taken")
    for index in range(1000):
        plots._add(float(index), np.zeros(len(MEASURES)))
    assert len(plots._points) == HISTORY
    assert (plots._points[0][0], plots._points[-1][0]) == (1000.0 - HISTORY, 999.0)
