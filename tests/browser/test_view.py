"""The viewer in a real browser: what is seen, and what the buttons do."""

from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from browser_help import PATIENCE, cloth_scene, until
from shinari.output.recorder import Recorder
from shinari.view.colours import Colouring
from shinari.view.playback import Playback
from shinari.view.sources import cache_source, simulation_source

FRAMES = 5


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """The cloth, and a run of it."""
    path = Path(tmp_path_factory.mktemp("run")) / "run.npz"
    simulation = sn.Simulation(cloth_scene(), threads=1)
    with Recorder(simulation, [path], frames_per_second=10.0, title="a run") as recorder:
        recorder.record()
        while recorder.frames < FRAMES:
            simulation.step()
            recorder.record()
    live = simulation_source(lambda: (cloth_scene(), {"threads": 1}), "a cloth", playing=False)
    return {"cloth": live, "run": cache_source(path, playing=False)}


def seen(picture: np.ndarray) -> np.ndarray:
    """Where the cloth is, which is blue; beside the panel, whose buttons are blue too, and below the notes."""
    part = picture[150:, :460].astype(int)
    return part[..., 2] > part[..., 0] + 40


def test_the_cloth_is_there_and_moves_as_the_buttons_say(viewer, visit, pixels, still):
    page = visit()
    until(lambda: seen(pixels(page)).mean() > 0.05, "the cloth is seen")
    start = seen(pixels(page))
    assert start.mean() < 0.6
    begun = viewer.runner.steps
    page.get_by_role("button", name="play").click()
    until(lambda: viewer.runner.steps >= begun + 20, "twenty steps")
    page.get_by_role("button", name="pause").click()
    until(lambda: viewer.runner.status == "paused", "the pause")
    steps = viewer.runner.steps
    still(page)
    moved = seen(pixels(page))
    # wherever it is paused in its swing: seen along its plane it covers 0.004 to 0.012
    assert moved.mean() > 0.002
    assert (moved != start).mean() > 0.02
    assert viewer.runner.steps == steps
    page.get_by_role("button", name="step", exact=True).click()
    until(lambda: viewer.runner.steps == steps + 1, "one step")
    page.get_by_text(f"t = {viewer.runner.latest().time:.3f} s").wait_for(timeout=1000 * PATIENCE)
    page.get_by_role("button", name="reset").click()
    until(lambda: viewer.runner.latest().time == 0.0, "the start")
    until(lambda: (seen(pixels(page)) != start).mean() < 0.002, "the picture of the start")
    assert viewer.runner.steps == steps + 1


def test_one_of_two_visitors_leaves_and_the_other_sees_on(viewer, visit, pixels):
    first, second = visit(), visit()
    until(lambda: seen(pixels(second)).mean() > 0.05, "the cloth is seen by the second")
    start = seen(pixels(second))
    viewer.runner.play()
    before = viewer.runner.steps
    until(lambda: viewer.runner.steps > before + 3, "it runs")
    first.context.close()
    until(lambda: len(viewer.server.get_clients()) == 1, "one has left")
    before = viewer.runner.steps
    until(lambda: viewer.runner.steps > before + 5, "it goes on")
    until(lambda: (seen(pixels(second)) != start).mean() > 0.02, "the other sees it move")
    assert viewer.runner.status == "running"
    assert viewer.problem == ""


def test_a_divergence_is_told_and_a_reset_helps(viewer, visit):
    page = visit()

    def explode(simulation: sn.Simulation) -> None:
        simulation.state.velocities[70] = np.inf

    viewer.runner.do(explode).result(PATIENCE)
    page.get_by_role("button", name="step", exact=True).click()
    page.get_by_text("no finite number").wait_for(timeout=1000 * PATIENCE)
    assert viewer.runner.status == "diverged"
    page.get_by_role("button", name="reset").click()
    page.get_by_text("no finite number").wait_for(state="detached", timeout=1000 * PATIENCE)
    before = viewer.runner.steps
    page.get_by_role("button", name="play").click()
    until(lambda: viewer.runner.steps > before + 2, "it runs again")


def test_a_coloured_cloth_is_seen_while_it_moves(viewer, visit, pixels, still):
    page = visit()
    viewer.colouring = Colouring(viewer.layout, "speed", largest=2.0)

    def coloured(picture: np.ndarray) -> float:
        """Share of what is violet or pink, which nothing else on the page is."""
        part = picture[150:, :460].astype(int)
        return float((part[..., 0] > part[..., 1] + 30).mean())

    for _ in range(15):
        viewer.runner.step()
    until(lambda: coloured(pixels(page)) > 0.01, "the colours of speed are seen")
    viewer.runner.play()
    # seen along its plane the cloth covers 0.012, less where it is slow and pale, the balls of its pins 0.0005
    for _ in range(3):
        assert (pixels(page)[150:, :460].std(axis=2) > 15).mean() > 0.0025
    still(page)
    viewer.colouring = None
    until(lambda: coloured(pixels(page)) < 0.002, "one colour again")  # the pins are red
    until(lambda: seen(pixels(page)).mean() > 0.005, "the cloth is blue again")


def test_another_scene_is_chosen_and_a_run_has_a_time_line(viewer, visit, pixels):
    page = visit()
    until(lambda: seen(pixels(page)).mean() > 0.05, "the cloth is seen")
    start = seen(pixels(page))
    page.get_by_role("combobox", name="scene").click()
    page.get_by_role("option", name="run").click()
    until(lambda: isinstance(viewer.runner, Playback), "the run is chosen")
    line = page.get_by_role("slider")
    until(lambda: line.count() == 1, "the time line is there, and the sliders of the simulation are gone")
    line.focus()
    for _ in range(FRAMES - 1):
        line.press("ArrowRight")
    until(lambda: viewer.runner.index == FRAMES - 1, "the last frame")
    until(lambda: (seen(pixels(page)) != start).mean() > 0.02, "the picture of the last frame")
    page.get_by_role("button", name="reset").click()
    until(lambda: viewer.runner.index == 0, "the first frame")
    until(lambda: line.get_attribute("aria-valuenow") == "0", "the time line follows")
    viewer.choose("cloth").result(PATIENCE)
    assert viewer.problem == ""
