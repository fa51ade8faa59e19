"""What begins exactly on the surface of a mesh lies on it and slides, whatever its distance from it is rounded to."""

import numpy as np
import pytest
import trimesh
from small_scenes import precisions

import shinari as sn

SPEED, FRICTION, GRAVITY = 3.0, 0.4, 9.81


@pytest.mark.filterwarnings("ignore::shinari.ContactWarning")
@precisions
@pytest.mark.parametrize("place", [-3.0, 0.011])
def test_a_body_that_begins_on_a_belt_of_a_mesh_is_carried_by_friction(place, precision):
    """Its vertices are on the triangles, which are 12 m long: its paths were stopped, and the belt took it along."""
    belt = trimesh.creation.box((12.0, 0.2, 12.0))
    belt.apply_translation([0.0, -0.1, 0.0])
    scene = sn.Scene()
    scene.add_collider(
        sn.Mesh(belt.vertices, belt.faces), friction=FRICTION, motion=lambda time: (SPEED * time, 0.0, 0.0)
    )
    material = sn.SoftMaterial(density=1000.0, youngs_modulus=1e6, thickness=0.001, friction=FRICTION)
    body = scene.add_soft_body(sn.lattice((3, 2, 3), 0.05), material=material, position=(place, 0.0, 0.0))
    sim = sn.Simulation(scene, substeps=10, precision=precision)
    sim.step(30)
    assert sim.positions(body)[:, 1].min() == pytest.approx(0.0005, abs=2e-5)
    speed = float(np.asarray(sim.velocities(body), np.float64)[:, 0].mean())
    # it is lifted by half of its thickness in the first substep, and friction acts a substep less or more
    assert speed == pytest.approx(FRICTION * GRAVITY * 0.5, rel=2.0 / 300.0)
