"""The sliders of a scene, in a real browser: what is moved there changes the simulation, and nothing else does."""

import numpy as np
import pytest

import shinari as sn
from browser_help import PATIENCE, cloth_scene, until
from shinari.view.parameters import told
from shinari.view.sources import cache_source, simulation_source


def rod_scene() -> sn.Scene:
    """Two rods of one material, and a rope."""
    scene = sn.Scene()
    for name, z in (("wire", 0.0), ("cable", 0.3)):
        material = sn.RodMaterial(radius=0.01, youngs_modulus=1e6, density=1000.0)
        rod = scene.add_rod(np.linspace((0.0, 1.0, z), (1.0, 1.0, z), 6), material=material, name=name)
        rod.pin([0])
    scene.add_rope(np.linspace((0.0, 1.0, 1.0), (1.0, 1.0, 1.0), 6), name="rope")
    return scene


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> dict:
    path = tmp_path_factory.mktemp("runs") / "cloth.npz"
    sn.Simulation(cloth_scene()).run(0.1, progress=False, record=path)
    return {
        "cloth": simulation_source(lambda: (cloth_scene(), {}), "a cloth", playing=False),
        "rods": simulation_source(lambda: (rod_scene(), {}), "rods", playing=False),
        "run": cache_source(path, playing=False),
    }


@pytest.fixture
def viewer(viewer):
    """The viewer, with its first scene as it was built."""
    viewer.choose("cloth").result(PATIENCE)
    return viewer


def row(page, label):
    """The line of a control, by what its label begins with."""
    return page.locator("label").filter(has_text=label).first.locator("xpath=ancestor::div[2]")


def box(page, label):
    """Where the number of a slider can be typed."""
    return row(page, label).locator("input[type=text]")


def typed(page, label, text):
    box(page, label).fill(text)
    box(page, label).press("Enter")


def choose(page, label, option):
    row(page, label).locator("input").first.click()
    page.get_by_role("option", name=option, exact=True).click()


def open_folder(page, name):
    page.get_by_text(name, exact=True).locator("visible=true").click()


def ask(viewer, question):
    """What the simulation says."""
    return viewer.runner.do(question).result(PATIENCE)


def test_what_is_moved_changes_the_simulation_and_all_pages_show_it(viewer, visit):
    page = visit()
    slider = row(page, "substeps").get_by_role("slider")
    slider.focus()
    for _ in range(5):
        slider.press("ArrowRight")
    until(lambda: ask(viewer, lambda sim: sim.settings.substeps) == 25, "there are five more substeps")
    open_folder(page, "cloth")
    assert box(page, "stretch compliance").input_value() == "-5"
    typed(page, "stretch compliance", "-2.5")
    soft = float(f"{10**-2.5:.2e}")
    until(lambda: ask(viewer, lambda sim: sim.material("cloth").stretch_compliance) == soft, "the cloth is softer")
    page.get_by_text(f"{told(soft)} m/N stretch compliance").wait_for()
    row(page, "gravity").locator("input").nth(1).fill("3.5")
    row(page, "gravity").locator("input").nth(1).press("Enter")
    until(lambda: ask(viewer, lambda sim: sim.model.gravity[1]) == 3.5, "gravity points up")
    # it moves with these values
    for _ in range(5):
        viewer.runner.step().result(PATIENCE)
    expected = sn.Simulation(cloth_scene(), substeps=25)
    expected.change_material("cloth", stretch_compliance=soft)
    expected.change(gravity=(0.0, 3.5, 0.0))
    expected.step(5)
    assert np.array_equal(ask(viewer, lambda sim: sim.state.positions.copy()), expected.state.positions)
    # one who comes later sees them, and what he moves the first one sees
    late = visit()
    until(lambda: box(late, "substeps").input_value() == "25", "one who comes later sees it")
    typed(late, "substeps", "7")
    until(lambda: box(page, "substeps").input_value() == "7", "the other page shows it")
    assert ask(viewer, lambda sim: sim.settings.substeps) == 7
    late.close()
    # both ends of an exponent
    slider = row(page, "stretch compliance").get_by_role("slider")
    for key, value in (("Home", 0.0), ("End", np.inf)):
        slider.focus()
        slider.press(key)
        until(lambda value=value: ask(viewer, lambda sim: sim.material("cloth").stretch_compliance) == value, key)
    page.get_by_text("\N{INFINITY} m/N stretch compliance").wait_for()
    # stiffnesses are shown with the method that reads them
    assert not row(page, "stretch stiffness").is_visible()
    choose(page, "method", "pbd")
    until(lambda: ask(viewer, lambda sim: sim.settings.method) == "pbd", "the method is another")
    row(page, "stretch stiffness").wait_for()
    typed(page, "stretch stiffness", "0.25")
    until(lambda: ask(viewer, lambda sim: sim.material("cloth").stretch_stiffness) == 0.25, "it is less stiff")


def test_what_is_refused_goes_back_and_a_cache_has_no_sliders(viewer, visit, pixels):
    page = visit()
    viewer.choose("rods").result(PATIENCE)
    page.get_by_text("wire and 1 more").wait_for()
    choose(page, "method", "pbd")
    page.get_by_text("'pbd' knows no moduli").wait_for()
    until(lambda: row(page, "method").locator("input").first.input_value() == "xpbd", "the choice goes back")
    pixels(page)
    assert ask(viewer, lambda sim: sim.settings.method) == "xpbd"
    open_folder(page, "wire and 1 more")
    typed(page, "Young's modulus", "8")
    until(lambda: ask(viewer, lambda sim: sim.material("cable").youngs_modulus) == 1e8, "both rods are stiffer")
    assert ask(viewer, lambda sim: sim.material("wire").youngs_modulus) == 1e8
    viewer.runner.reset().result(PATIENCE)
    assert box(page, "Young's modulus").input_value() == "8"
    assert ask(viewer, lambda sim: sim.material("cable").youngs_modulus) == 1e8
    viewer.choose("run").result(PATIENCE)
    until(lambda: page.get_by_text("substeps").count() == 0, "the sliders are gone")
