"""Where the time of steps goes, and the small conveniences of values that are shown."""

import time

import numpy as np
import pytest

import shinari as sn


def scene() -> sn.Scene:
    result = sn.Scene()
    result.add_cloth(sn.grid(shape=(20, 20), size=(1.0, 1.0)), position=(0, 1, 0))
    result.add_collider(sn.Plane())
    result.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(3, 0.1, 0))
    return result


def test_the_times_of_kernels_add_up_to_those_of_the_steps():
    simulation = sn.Simulation(scene(), substeps=10, threads=1)
    assert str(simulation.profile()) == "no steps yet"
    simulation.step(5)
    simulation.profile()
    begun = time.perf_counter()
    simulation.step(30)
    wall = time.perf_counter() - begun
    profile = simulation.profile()
    assert profile.steps == 30
    assert 0.0 < profile.seconds <= wall
    for times in (profile.by_system, profile.by_phase, profile.by_kernel):
        # the counter and the clock are compared for a millisecond
        assert 0.0 < sum(times.values()) <= 1.1 * profile.seconds
        assert sum(times.values()) + profile.python_seconds >= 0.999 * profile.seconds
        assert list(times.values()) == sorted(times.values(), reverse=True)
    assert profile.by_system["BlockSolver"] > 0.0
    assert profile.by_phase["project"] > 0.0
    assert "project_distance_xpbd" in profile.by_kernel
    assert profile.bytes > simulation.state.x.nbytes
    assert simulation.profile().steps == 0


def test_the_table_names_what_dominates():
    simulation = sn.Simulation(scene(), substeps=40, threads=1, sleep=True)
    simulation.step(20)
    profile = simulation.profile()
    told = str(profile)
    for word in ("20 steps", "system", "phase", "kernel", "BlockSolver", "(Python between steps)"):
        assert word in told
    share = max(profile.by_system.values()) / profile.seconds
    assert bool(profile.hint) == (share > 0.6 or profile.python_seconds > 0.6 * profile.seconds)


def test_energy_shows_its_total():
    simulation = sn.Simulation(scene())
    energy = simulation.energy()
    assert f"total={energy.total:.6g}" in str(energy)


def test_a_mesh_from_both_arrays_at_once():
    vertices, faces = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]), np.array([[0, 1, 2]])
    for given in ((vertices, faces), (vertices.tolist(), faces.tolist())):
        mesh = sn.Mesh(given)
        np.testing.assert_array_equal(mesh.vertices, vertices)
        np.testing.assert_array_equal(mesh.faces, faces)
    with pytest.raises(sn.SceneError, match="faces: missing"):
        sn.Mesh(vertices)
    with pytest.raises(sn.SceneError, match="vertices"):
        sn.Mesh((1, 2))
