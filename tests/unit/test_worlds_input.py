"""Bad input to many worlds: it is refused in one line, and changes nothing in any world."""

import numpy as np
import pytest
from world_scenes import cloth_over, swinging

import shinari as sn

BAD = {
    "count 0": ({"count": 0}, "worlds: count: must be at least 1, got 0"),
    "negative count": ({"count": -3}, "worlds: count: must be at least 1, got -3"),
    "count of text": ({"count": "many"}, "worlds: count: expected a whole number"),
    "unknown path": ({"vary": {"cloth.stretch_complianec": [1, 2, 3]}}, "known are cloth.stretch_compliance"),
    "unknown object": ({"vary": {"sheet.mass": [1, 2, 3]}}, "unknown parameter 'sheet.mass'"),
    "too few": ({"vary": {"damping": [0.0, 1.0]}}, r"worlds: vary: damping: expected shape \(3,\), got \(2,\)"),
    "wrong width": ({"vary": {"gravity": np.zeros((3, 2))}}, r"expected shape \(3, 3\), got \(3, 2\)"),
    "nan": ({"vary": {"cloth.mass": [1.0, np.nan, 1.0]}}, "world 1: cloth: mass: expected a finite number, got nan"),
    "negative mass": ({"vary": {"cloth.mass": [1.0, -1.0, 1.0]}}, "world 1: cloth: mass: must be above 0, got -1"),
    "bad material": ({"vary": {"cloth.friction": [0.1, 0.1, -1]}}, "world 2: cloth 'cloth'"),
    "truth values": ({"vary": {"damping": [True, False, True]}}, "world 0: scene: damping: expected a number"),
    "one truth value": ({"vary": {"cloth.friction": [0, 0, True]}}, "friction: expected a number, got True"),
    "truth value in a row": ({"vary": {"gravity": [(0, True, 0)] * 3}}, r"vary: gravity: expected numbers of shape"),
    "wind of truth": ({"vary": {"wind": True}}, r"vary: wind: expected numbers of shape \(3, 3\), got True"),
    "setting": ({"substep": 3}, "worlds: unknown setting 'substep'; known are"),
    "on_divergence": ({"on_divergence": "ignore"}, "worlds: on_divergence: expected one of"),
    "not a scene": ({"scene": 3}, "worlds: scene: expected a Scene"),
    "vary of list": ({"vary": [1]}, "worlds: vary: expected a dict"),
}


def test_some_worlds_may_have_infinite_values():
    scene, free = cloth_over()[0], {"cloth.compression_compliance": [0.0, 1e-6, np.inf]}
    worlds = sn.Worlds(scene, 3, vary=free)
    assert [worlds.world(k).material("cloth").compression_compliance for k in range(3)] == [0.0, 1e-6, np.inf]


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_told_in_one_line(name):
    options, message = BAD[name]
    options = {"scene": cloth_over()[0], "count": 3, **options}
    with pytest.raises(sn.SceneError, match=message) as told:
        sn.Worlds(options.pop("scene"), options.pop("count"), **options)
    assert "\n" not in str(told.value)


def test_more_worlds_than_there_is_memory_are_refused():
    with pytest.raises(sn.MemoryLimitError, match="worlds: count: 1000000000 worlds: they need"):
        sn.Worlds(cloth_over()[0], 10**9)


CALLS = {
    "short mask": (lambda w: w.reset([True, False]), r"worlds: mask: expected shape \(3,\), got \(2,\)"),
    "number out of range": (lambda w: w.reset([3]), "worlds: mask"),
    "steps": (lambda w: w.step(-1), "worlds: count: must be at least 0"),
    "positions": (lambda w: setattr(w.state, "positions", np.zeros((3, 4, 3))), "worlds: positions: expected numbers"),
    "nan": (lambda w: setattr(w.state, "velocities", np.full((3, 81, 3), np.nan)), "no finite number"),
    "world": (lambda w: w.world(3), "worlds: index: must be at most 2"),
    "change": (lambda w: w.change(gravity=np.zeros((2, 3))), "worlds: gravity: expected shape"),
    "truth values": (lambda w: w.change(damping=[0, 1, True]), "world 2: damping: expected a number, got True"),
    "truth value in a row": (lambda w: w.change(gravity=[(0, 1, True)] * 3), "world 0: gravity: expected numbers"),
    "unknown change": (lambda w: w.change(substeps=3), "worlds: name: expected one of 'gravity'"),
    "material": (
        lambda w: w.change_material("cloth", friction=[0.1, -0.2, 0.3]),
        "world 1: ClothMaterial: friction: must be at least 0",
    ),
    "drive": (lambda w: w.drive("hinge", 1.0), "unknown name 'hinge'"),
}


@pytest.mark.parametrize("name", CALLS)
def test_bad_calls_change_nothing(name):
    worlds = sn.Worlds(cloth_over()[0], 3)
    worlds.step(2)
    before = worlds.state.positions.copy()
    call, message = CALLS[name]
    with pytest.raises(sn.SceneError, match=message):
        call(worlds)
    np.testing.assert_array_equal(worlds.state.positions, before)
    for k in range(3):
        assert worlds.world(k).material("cloth").friction == worlds.scene.particle_objects[0].material.friction


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda w: w.drive("hinge", [0.1, 0.2, 5.0]), "target: 5 is outside its limits"),
        (lambda w: w.drive("hinge", [sn.ForceMotor(1.0), None, "x"]), "motor: expected a number"),
        (lambda w: w.change(wind=np.ones((3, 3)), damping=[0.1, 0.2, -1.0]), "world 2: damping: must be at least 0"),
        (lambda w: w.change(gravity=[(0, 0, 0), (0, 1, 0), (0, np.nan, 0)]), "gravity"),
    ],
)
def test_what_is_refused_for_one_world_changes_none(call, message):
    scene = swinging(limits=(-1.0, 1.0))
    worlds = sn.Worlds(scene, 3)
    with pytest.raises(sn.SceneError, match=message):
        call(worlds)
    for world in map(worlds.world, range(3)):
        assert world.bodies.motor("hinge") is None
        assert (world.described.damping, world.described.wind) == (0.0, None)
        np.testing.assert_array_equal(world.described.gravity, scene.gravity)


def test_a_scene_that_was_changed_is_refused():
    scene, _ = cloth_over()
    worlds = sn.Worlds(scene, 2)
    scene.add_collider(sn.Plane((0, 1, 0), -1.0))
    with pytest.raises(sn.SceneError, match="changed after the worlds were built"):
        worlds.step()


def test_an_error_of_a_function_of_the_user_leaves_all_worlds_where_they_were():
    def motion(time):
        if time > 0.04:
            raise KeyError("mine")
        return (0, 0, 0), (1, 0, 0, 0)

    scene, _ = cloth_over()
    scene.add_collider(sn.Box((0.1, 0.1, 0.1)), position=(0, -1, 0), motion=motion)
    worlds = sn.Worlds(scene, 2)
    worlds.step(2)
    before = worlds.state.positions.copy()
    with pytest.raises(KeyError, match="mine"):
        worlds.step()
    np.testing.assert_array_equal(worlds.state.positions, before)
    np.testing.assert_allclose(worlds.times, 2 / 60)


def test_worlds_that_need_more_than_there_is_are_refused_while_they_are_built(monkeypatch):
    taken = iter(range(0, 2**60, 2**40))  # a tebibyte each time that it is asked for
    monkeypatch.setattr("shinari.api.worlds.resident_memory", lambda: next(taken))
    with pytest.raises(sn.MemoryLimitError, match="worlds: count: 100000 worlds: they need"):
        sn.Worlds(cloth_over()[0], 100_000)


def test_what_is_taken_once_is_not_counted_for_each_world(monkeypatch):
    taken = iter([0, *[2**25] * 9])
    monkeypatch.setattr("shinari.api.worlds.resident_memory", lambda: next(taken))
    assert len(sn.Worlds(cloth_over()[0], 40)) == 40
