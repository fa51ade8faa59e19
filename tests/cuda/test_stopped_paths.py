"""What zones change is told on a GPU, too, in the simulator of CUDA (`make cuda`)."""

import numpy as np
import pytest
from devices import on_device

import shinari as sn
from shinari.systems.paths.system import PathCertificates

pytestmark = on_device


def ball_at_held_sheet(scene: sn.Scene) -> None:
    sheet = scene.add_cloth(sn.grid(shape=(3, 3)), position=(0, 0.5, 0), material=sn.ClothMaterial(thickness=0.01))
    sheet.pin([0, 2, 6, 8])
    scene.add_rigid_body(sn.Sphere(0.1), position=(0.031, 0.2, 0.017), velocity=(0, 60, 0))


def cube_at_wall(scene: sn.Scene) -> None:
    turn = np.array([0.9, 0.3, 0.2, 0.1])
    scene.add_rigid_body(sn.Box((0.04, 0.04, 0.04)), rotation=turn / np.linalg.norm(turn), velocity=(0, 300, 0))
    scene.add_collider(sn.Box((0.4, 0.01, 0.4)), position=(0, 0.1, 0))


@pytest.mark.parametrize(("build", "steps"), [(ball_at_held_sheet, 1), (cube_at_wall, 2)])
def test_device_tells_what_stops_paths(build, steps) -> None:
    scene = sn.Scene(gravity=(0, 0, 0))
    build(scene)
    sim = sn.Simulation(scene, substeps=1, precision="float64", device="cuda", sleep=False)
    body, zones, whole = scene.bodies[0], 0, np.abs(sim.state.body_velocities).max()
    for _ in range(steps):
        before = sim.state.body_velocities[0].copy()
        sim.step()
        zones += sim._run.bound.get(PathCertificates).zones
        contacts = sim.contacts()
        on, back = contacts.first == body.name, contacts.second == body.name
        impulse = (contacts.forces[on].sum(axis=0) - contacts.forces[back].sum(axis=0)) * sim.settings.dt
        change = sim.state.body_velocities[0] - before
        np.testing.assert_allclose(impulse / body.mass, change, atol=1e-9 * whole)
        np.testing.assert_allclose(np.linalg.norm(contacts.normals, axis=1), 1.0, atol=1e-6)
    assert zones
