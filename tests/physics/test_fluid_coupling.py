"""Soft bodies in fluids, against what Archimedes says."""

import numpy as np
import pytest
import trimesh

import shinari as sn

GRAVITY, SPACING = 9.81, 0.02


def pool(size, depth):
    """A scene with a tank (x, z) and water in it up to a depth [m]."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    scene.add_collider(sn.Box((size, 1.0, size), inside=True), position=(0.0, 0.5, 0.0), name="tank")
    material = sn.FluidMaterial(viscosity=1.0)
    water = sn.Box((size, depth, size))
    scene.add_fluid(water, spacing=SPACING, material=material, position=(0.0, 0.5 * depth, 0.0), name="water")
    return scene


@pytest.mark.parametrize("density", [500.0, 2000.0])
def test_a_soft_cube_floats_or_sinks_by_its_density(density):
    scene = pool(0.2, 0.14)
    cube = trimesh.creation.box((0.08, 0.08, 0.08))
    material = sn.SoftMaterial(density=density, youngs_modulus=2e5, damping=1e-3)
    scene.add_soft_body(
        (cube.vertices, cube.faces), material=material, cell=0.03, position=(0.0, 0.19, 0.0), name="cube"
    )
    simulation = sn.Simulation(scene, substeps=12)
    lifts, middles = [], []
    for frame in range(110):
        simulation.step()
        if frame >= 80:
            lifts.append(simulation.forces(scene["cube"])[1])
            middles.append(simulation.positions("cube")[:, 1].mean())
    weight = GRAVITY * next(obj.masses.sum() for obj in scene.particle_objects if obj.name == "cube")
    # whether water or floor carries it, at rest it is its weight
    assert np.mean(lifts) == pytest.approx(weight, rel=0.03)
    surface = 0.14 + min(density / 1000.0, 1.0) * 0.08**3 / 0.2**2
    if density < 1000.0:
        # its middle is at the surface, to half a particle
        assert np.mean(middles) == pytest.approx(surface, abs=0.5 * SPACING)
    else:
        assert np.mean(middles) < 0.06, "it does not sink"
