"""A value under a name that there is not is refused: it would be kept, and nothing would change."""

import copy
import pickle

import numpy as np
import pytest

import shinari as sn
from shinari.io.robots.drives import Actuator


@pytest.fixture(scope="module")
def simulation() -> sn.Simulation:
    scene = sn.Scene()
    scene.add_rope([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], name="rope")
    return sn.Simulation(scene, threads=1)


def objects(simulation):
    return {
        "scene": sn.Scene(),
        "simulation": simulation,
        "state": simulation.state,
        "worlds": sn.Worlds(simulation.scene, 2, threads=1),
        "grab": simulation.grab("rope", 0),
        "Pattern": sn.Pattern(0.1),
        "actuator": Actuator("knee", "knee", on_tendon=False, gain=1.0),
    }


def test_misspelt_names_are_refused_with_the_nearest(simulation):
    right = {"scene": "gravity", "state": "velocities", "grab": "target", "worlds": "diverged", "actuator": "command",
             "simulation": "time", "Pattern": "seams"}  # fmt: skip
    for label, thing in objects(simulation).items():
        wrong = right[label] + "_"
        with pytest.raises(sn.SceneError, match=f"^{label}: unknown name '{wrong}'; known are .*{right[label]}"):
            setattr(thing, wrong, 3)
        assert not hasattr(thing, wrong)


@pytest.mark.parametrize("name", ["positions", "time", "step", "scene", "settings"])
def test_what_is_no_value_cannot_be_assigned(simulation, name):
    for thing in (simulation, sn.Worlds(simulation.scene, 1, threads=1)):
        if hasattr(thing, name):
            with pytest.raises(sn.SceneError, match=f"{name}: cannot be assigned"):
                setattr(thing, name, None)
    assert simulation.positions("rope").shape == (2, 3)


def test_handles_and_settings_are_read_only(simulation):
    rope = simulation.scene["rope"]
    for thing in (rope, simulation.settings, sn.ClothMaterial(), sn.Box((1.0, 1.0, 1.0))):
        with pytest.raises(AttributeError):
            thing.foo = 3


def test_what_can_be_assigned_can(simulation):
    scene, worlds = sn.Scene(), sn.Worlds(simulation.scene, 2, threads=1)
    scene.gravity, scene.wind, scene.damping, scene.air_density = (0, 0, 0), None, 0.1, 1.0
    worlds.state.positions = np.zeros((2, 2, 3))
    simulation.state.velocities = np.zeros((2, 3))
    for scene in (copy.deepcopy(simulation.scene), pickle.loads(pickle.dumps(simulation.scene))):
        scene.gravity = (0.0, 0.0, 0.0)
        with pytest.raises(sn.SceneError, match="unknown name"):
            scene.foo = 3


def test_classes_of_the_user_have_attributes_of_their_own(simulation):
    class Room(sn.Scene):
        def __init__(self) -> None:
            super().__init__()
            self.floor = self.add_collider(sn.Plane())

    class Recorded(sn.Simulation):
        frames_taken = 0

    room = Room()
    assert room.floor.name
    Recorded(simulation.scene, threads=1).frames_taken = 3
