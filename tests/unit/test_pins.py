"""Pins of a simulation that runs: the bits of a scene with these pins, in and out of checkpoints."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from test_checkpoint import rich_scene, solids_scene

import shinari as sn
from shinari.scene.handle import Handle

# what tears here is pulled to a length
pytestmark = pytest.mark.filterwarnings("ignore::shinari.FailureWarning")

Pinning = dict[str, list[int]]


def with_pins(build: Callable[[], sn.Scene], pins: Pinning) -> sn.Scene:
    """A scene in which more is pinned from the start."""
    scene = build()
    for name, indices in pins.items():
        handle = scene[name]
        assert isinstance(handle, Handle)
        handle.pin(indices)
    return scene


def sheet(pins: tuple[int, ...] = (), **material: object) -> sn.Scene:
    scene = sn.Scene()
    cloth = scene.add_cloth(
        sn.grid(shape=(12, 12)),
        material=sn.ClothMaterial(**material),  # type: ignore[arg-type]
        position=(0.0, 1.0, 0.0),
        name="cloth",
    )
    cloth.pin(list(pins))
    scene.add_particles([(2.0, 0.0, 0.0), (3.0, 0.0, 0.0)], mass=[1.0, 0.0], name="balls")
    return scene


def led_scene() -> sn.Scene:
    """A sheet that flows where it is strained, led by targets that move and held by threads that break."""
    scene = sheet(yield_strain=0.002)
    cloth = scene["cloth"]
    assert isinstance(cloth, Handle)
    for k, particle in enumerate((0, 40, 0, 40, 11)):
        place = scene.positions[particle]
        scene.attach((cloth, particle), lambda t, k=k, p=place: p + t * np.array((0.1 * k, 1.0, 0.0)), compliance=1e-3)
        scene.attach((cloth, 140 - particle), place - (0.0, 0.5, 0.0), compliance=1e-2, break_force=2.0 + 9.0 * k)
    return scene


SCENES: list[tuple[Callable[[], sn.Scene], Pinning, dict]] = [
    (sheet, {"cloth": [0, 11, 77], "balls": [0]}, {"substeps": 5}),
    (sheet, {"cloth": [0, 11, 77]}, {"substeps": 5, "precision": "float64", "threads": 2}),
    (sheet, {"cloth": [0, 11, 77]}, {"substeps": 3, "sweep": "jacobi", "iterations": 4}),
    (led_scene, {"cloth": [40, 100, 77]}, {"substeps": 4}),
    (rich_scene, {"cloth": [30, 63], "rope": [5]}, {"substeps": 4, "iterations": 2}),
    (solids_scene, {"jelly": [0, 5], "clay": [0, 1, 2], "stone": [3], "rod": [7]}, {"substeps": 4}),
]


@pytest.mark.parametrize(("build", "pins", "settings"), SCENES)
def test_pinned_at_the_start_it_is_the_scene_with_these_pins(
    build: Callable[[], sn.Scene], pins: Pinning, settings: dict
) -> None:
    """And it is so later on, from the same state; and unpinned again it is the scene without them."""
    bare, pinned = build(), with_pins(build, pins)
    simulation, other = sn.Simulation(bare, **settings), sn.Simulation(pinned, **settings)
    for name, indices in pins.items():
        simulation.pin(name, indices)
        assert set(indices) <= set(simulation.pinned(name))
        assert not simulation.velocities(name)[indices].any()
    simulation.step(2)
    other.step(2)
    assert simulation.state == other.state
    for name, indices in pins.items():
        simulation.unpin(name, indices)
    simulation.step(2)
    free = sn.Simulation(bare, **settings)
    free.restore(other.state)  # takes the pins over, too
    for name, indices in pins.items():
        free.unpin(name, indices)
    free.step(2)
    assert simulation.state == free.state
    for name, indices in pins.items():
        simulation.pin(name, indices)
    other.restore(simulation.state)
    simulation.step(2)
    other.step(2)
    assert simulation.state == other.state


def test_nothing_is_built_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    simulation = sn.Simulation(sheet())

    def refuse(*arguments: object) -> None:
        raise AssertionError("the model is built anew")

    monkeypatch.setattr("shinari.api.simulation.build_model", refuse)
    simulation.pin("cloth", [3, 4])
    simulation.step()
    simulation.unpin("cloth", 3)
    simulation.step()
    assert simulation.pinned("cloth").tolist() == [4]


def test_what_the_scene_pinned_can_be_let_go() -> None:
    """It has the mass that it has in a scene without pins, and falls freely."""
    simulation = sn.Simulation(sheet((0, 11)), substeps=5, precision="float64")
    simulation.unpin("cloth", [0, 11])
    assert len(simulation.pinned("cloth")) == 0
    simulation.step(6)
    free = sn.Simulation(sheet(), substeps=5, precision="float64")
    free.step(6)
    assert simulation.state == free.state
    # the rest of the sheet was at rest: it falls as a whole
    assert simulation.velocities("cloth")[:, 1] == pytest.approx(-9.81 * simulation.time, rel=1e-12)


def test_a_pinned_particle_follows_what_is_written() -> None:
    """Evenly over the next step; and let go it keeps the velocity of that."""
    scene = sn.Scene(gravity=(0, 0, 0))
    scene.add_particles([(0.0, 0.0, 0.0)], mass=2.0, name="ball")
    simulation = sn.Simulation(scene, precision="float64")
    simulation.velocities("ball")[0] = (0.0, 5.0, 0.0)
    simulation.pin("ball", 0)
    simulation.step(2)
    assert not simulation.state.positions.any()
    assert simulation.energy().kinetic == 0.0
    assert not simulation.momentum().any()
    simulation.positions("ball")[0] = (0.1, 0.0, 0.0)
    simulation.step()
    assert simulation.positions("ball")[0] == pytest.approx((0.1, 0.0, 0.0), abs=1e-16)
    simulation.unpin("ball", 0)
    simulation.step()
    speed = 0.1 / simulation.settings.dt
    assert simulation.positions("ball")[0] == pytest.approx((0.2, 0.0, 0.0), abs=1e-14)
    assert simulation.momentum() == pytest.approx((2.0 * speed, 0.0, 0.0), rel=1e-13)


def test_pins_hold_the_weight() -> None:
    """The rows of a rope that is pinned while it falls carry what hangs below."""
    scene = sn.Scene(damping=10.0)
    scene.add_particles([(0.0, -0.1 * k, 0.0) for k in range(4)], mass=0.5, name="chain")
    scene.add_constraint("distance", [[0, 1], [1, 2], [2, 3]])
    simulation = sn.Simulation(scene, substeps=8, precision="float64")
    simulation.step(5)
    simulation.pin("chain", 0)
    simulation.step(300)
    assert simulation.forces("distance") == pytest.approx(np.array([1.5, 1.0, 0.5]) * 9.81, rel=1e-6)


def test_checkpoints_copies_and_divergence_keep_the_pins(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    simulation = sn.Simulation(sheet((0,)), substeps=4)
    simulation.step()
    before = simulation.state.copy()
    simulation.unpin("cloth", 0)
    simulation.pin("cloth", [5, 60])
    simulation.step()
    simulation.save(tmp_path / "c.vtkhdf")
    after = simulation.state.copy()
    loaded = sn.Simulation.load(tmp_path / "c.vtkhdf")
    assert loaded.pinned("cloth").tolist() == [5, 60]
    loaded.step(3)
    simulation.step(3)
    assert loaded.state == simulation.state
    simulation.restore(before)
    assert simulation.pinned("cloth").tolist() == [0]
    loaded.restore(before)
    simulation.step(2)
    loaded.step(2)
    assert simulation.state == loaded.state
    simulation.restore(after)
    simulation.velocities("cloth")[30] = np.nan
    with pytest.raises(sn.DivergenceError):
        simulation.step()
    assert simulation.pinned("cloth").tolist() == [5, 60]


def test_pins_go_together_with_changes_of_settings_and_materials(tmp_path: Path) -> None:
    """Rows are in the order of the sweep and of the pins, whichever came first, and a checkpoint knows both."""
    pytest.importorskip("h5py")
    simulation = sn.Simulation(sheet((0, 11), tear_strain=0.3), substeps=4)
    simulation.step(3)
    start = simulation.state.copy()
    simulation.change(sweep="jacobi", iterations=4)
    simulation.pin("cloth", [60, 77])
    simulation.step(2)
    simulation.change_material("cloth", stretch_compliance=1e-5)
    simulation.unpin("cloth", 0)
    simulation.change(sweep="gauss-seidel", substeps=6)
    simulation.pin("cloth", 100)
    simulation.step(2)
    simulation.save(tmp_path / "c.vtkhdf")
    loaded = sn.Simulation.load(tmp_path / "c.vtkhdf")
    assert loaded.pinned("cloth").tolist() == [11, 60, 77, 100]
    loaded.step(2)
    simulation.step(2)
    assert loaded.state == simulation.state
    described = sn.Simulation(sheet((0, 11), tear_strain=0.3, stretch_compliance=1e-5), substeps=6, iterations=4)
    for other in (simulation, loaded, described):
        other.restore(start)
        other.step(2)
    assert loaded.state == simulation.state
    assert described.state == simulation.state


def test_torn_rows_stay_torn_in_their_new_places() -> None:
    """What is torn belongs to rows, which are swept in another order after a pin."""
    scene = sheet((0, 11), tear_strain=0.05)
    simulation = sn.Simulation(scene, substeps=4)
    simulation.velocities("cloth")[100:] = (0.0, -20.0, 3.0)
    simulation.step(3)
    block = simulation.model.blocks["distance"]

    def torn() -> set[tuple[int, int]]:
        block = simulation.model.blocks["distance"]
        pairs = block.indices[simulation.state.broken["distance"]]
        return {(int(a), int(b)) for a, b in pairs}

    before, shown = torn(), simulation.surface("cloth")[1]
    assert len(before) > 10
    simulation.pin("cloth", [20, 70, 75])
    assert not np.array_equal(simulation.model.blocks["distance"].indices, block.indices)
    assert torn() == before
    assert np.array_equal(np.sort(simulation.surface("cloth")[1], axis=0), np.sort(shown, axis=0))


def test_bad_input() -> None:
    simulation = sn.Simulation(sheet(), substeps=2)
    start = simulation.state.copy()
    other = sheet()
    for verb in (simulation.pin, simulation.unpin):
        with pytest.raises(sn.SceneError, match=r"cloth: .*pin: .*144"):
            verb("cloth", [3, 144])
        with pytest.raises(sn.SceneError, match="unknown name 'sail'"):
            verb("sail", 0)
        with pytest.raises(sn.SceneError, match="another scene"):
            verb(other["cloth"], 0)  # type: ignore[arg-type]
    with pytest.raises(sn.SceneError, match="balls: unpin: particle 1 is fixed by mass 0"):
        simulation.unpin("balls", [0, 1])
    assert simulation.state == start
    tethered = sn.Simulation(sheet((0, 11), tethers=True), substeps=2)
    with pytest.raises(sn.SceneError, match="cloth: pin: its tethers are measured from its pins"):
        tethered.pin("cloth", 40)
    with pytest.raises(sn.SceneError, match="cloth: unpin: its tethers"):
        tethered.unpin("cloth", 0)
    tethered.pin("balls", 0)
    scene = sn.Scene()
    nozzle = scene.add_emitter(radius=0.05, spacing=0.03, speed=1.0, limit=20)
    with pytest.raises(sn.SceneError, match="particles of emitters and sinks cannot be fixed"):
        sn.Simulation(scene).pin(nozzle, 0)


def test_the_scene_takes_pairs_as_attachments_do() -> None:
    scene, other = sn.Scene(), sn.Scene()
    scene.add_particles([(0.0, 0.0, 0.0)])
    line = scene.add_rope([(0.0, 1.0, 0.0), (1.0, 1.0, 0.0), (2.0, 1.0, 0.0)], name="line")
    scene.pin((line, 0))
    scene.pin(("line", [1, 2]))
    scene.pin((0,))
    assert scene.pinned == {0, 1, 2, 3}
    for wrong, told in (
        ((line, 3), "index 3 is out of range 0 .. 2"),
        (("lime", 0), "unknown name 'lime'"),
        (line, r"expected indices, or \(handle, indices\)"),
        ("line", r"expected indices, or \(handle, indices\)"),
    ):
        with pytest.raises(sn.SceneError, match=told):
            scene.pin(wrong)
    with pytest.raises(sn.SceneError, match="another scene"):
        other.pin((line, 0))
