"""A simulation is of the scene as it was built: what came later, copies of it, and a state with other names."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import shinari as sn
from shinari import SceneError

LATE = {
    "positions": lambda sim, late: sim.positions(late[0]),
    "positions by name": lambda sim, late: sim.positions("late"),
    "velocities": lambda sim, late: sim.velocities(late[0]),
    "surface": lambda sim, late: sim.surface(late[0]),
    "surface of a body": lambda sim, late: sim.surface(late[1]),
    "pin": lambda sim, late: sim.pin(late[0], [0]),
    "pinned": lambda sim, late: sim.pinned(late[0]),
    "grab": lambda sim, late: sim.grab(late[0], 0),
    "forces": lambda sim, late: sim.forces(late[0]),
    "forces on a body": lambda sim, late: sim.forces(late[1]),
    "forces of rows": lambda sim, late: sim.forces(late[3]),
    "pose": lambda sim, late: sim.pose(late[1]),
    "joint": lambda sim, late: sim.joint(late[2]),
    "drive": lambda sim, late: sim.drive(late[2], 1.0),
}


@pytest.mark.parametrize("call", LATE.values(), ids=LATE)
def test_what_was_added_after_the_simulation_was_built_is_told(call) -> None:
    scene = sn.Scene()
    mesh = sn.grid(shape=(3, 3), size=(1.0, 1.0))
    first = scene.add_cloth(mesh)
    scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), position=(0, 2, 0))
    simulation = sn.Simulation(scene, threads=1)
    late, body = scene.add_cloth(mesh, name="late"), scene.add_rigid_body(sn.Sphere(0.1), position=(0, 4, 0))
    joint = scene.add_joint("hinge", body, anchor=(0, 4, 0), axis=(0, 0, 1))
    rows = scene.add_constraint("distance", [[0, 8]])
    with pytest.raises(SceneError, match="was added after the simulation was built; build a new Simulation"):
        call(simulation, (late, body, joint, rows))
    assert simulation.positions(first).shape == (9, 3)


def test_a_state_refuses_names_and_frames_that_there_are_not() -> None:
    scene = sn.Scene()
    scene.add_cloth(sn.grid(shape=(3, 3), size=(1.0, 1.0)))
    state: Any = sn.Simulation(scene, threads=1).state
    with pytest.raises(SceneError, match=r"state: unknown name 'position_'; known are .*positions"):
        state.position_ = state.positions
    for frame, problem in (("a", "expected a whole number"), (1.5, "expected a whole number"), (-1, "at least 0")):
        with pytest.raises(SceneError, match=f"state: frame: .*{problem}"):
            state.frame = frame
    state.frame = np.int64(3)
    assert state.frame == 3


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_simulation_that_is_copied_tells_what_to_do_instead(how) -> None:
    scene = sn.Scene()
    cloth = scene.add_cloth(sn.grid(shape=(3, 3), size=(1.0, 1.0)))
    simulation = sn.Simulation(scene, threads=1)
    with pytest.raises(SceneError, match="cannot be copied or pickled"):
        how(simulation)
    # as the message says
    kept = simulation.state.copy()
    other = sn.Simulation(pickle.loads(pickle.dumps(scene)), threads=1)
    simulation.step()
    other.restore(kept)
    other.step()
    assert np.array_equal(other.positions(cloth.name), simulation.positions(cloth))


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy])
def test_a_copy_of_a_scene_is_a_scene_of_its_own(how) -> None:
    scene = sn.Scene()
    scene.add_cloth(sn.grid(shape=(3, 3)), name="cloth")
    other = how(scene)
    other.add_rope([[0, 1, 0], [0, 2, 0]], name="rope")
    other["cloth"].pin([0])
    other.gravity = (0, 0, 0)
    assert scene.particle_count == 9
    assert not scene.pinned
    assert list(scene.handles) == ["cloth"]
    assert scene.gravity[1] == -9.81
    assert sn.Simulation(other, threads=1).positions("rope").shape == (2, 3)
    with pytest.raises(SceneError, match="'cloth' belongs to another scene"):
        sn.Simulation(other, threads=1).positions(scene["cloth"])


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps])
def test_worlds_that_are_copied_tell_what_to_do_instead(how) -> None:
    scene = sn.Scene()
    scene.add_cloth(sn.grid(shape=(3, 3), size=(1.0, 1.0)))
    with pytest.raises(SceneError, match="worlds: cannot be copied or pickled"):
        how(sn.Worlds(scene, 2, threads=1))


@pytest.mark.parametrize("where", ["after the program", "while it ends"])
def test_an_interrupted_step_is_undone_to_the_bit(where, monkeypatch) -> None:
    """An interrupt comes when the compiled step is over: particles were a step ahead of the bodies then."""
    scene = sn.Scene()
    scene.add_collider(sn.Plane())
    scene.add_rope(np.linspace([-0.3, 1.3, 0.3], [0.3, 1.4, 0.3], 20))  # about an origin of its own
    for k in range(3):
        scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), position=(0.02 * k, 0.05 + 0.12 * k, 0.0))
    simulation, other = (sn.Simulation(scene, threads=1) for _ in range(2))
    simulation.step(10)
    other.step(10)
    bound = simulation._bound

    def interrupted(call):
        def ended(*arguments):
            call(*arguments)
            raise KeyboardInterrupt

        return ended

    target, name = (bound, "advance") if where == "after the program" else (bound.systems[-1], "end")
    with monkeypatch.context() as patch:
        patch.setattr(target, name, interrupted(getattr(target, name)))
        with pytest.raises(KeyboardInterrupt):
            simulation.step()
    assert simulation.time == other.time
    assert simulation.state == other.state
    simulation.step(10)
    other.step(10)
    assert simulation.state == other.state
