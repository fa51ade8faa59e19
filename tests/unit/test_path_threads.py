"""Certified paths: one thread and two give the same bits."""

import numpy as np
import pytest
import trimesh

import shinari as sn
from shinari.geometry.topology import grid
from shinari.systems.paths.system import PathCertificates

SPEED = 200.0


def held_sheet(scene: sn.Scene, side: int) -> None:
    """A level sheet of 0.4 m with so many vertices along a side, held at its edges."""
    vertices, faces = grid(shape=(side, side), size=(0.4, 0.4))
    cloth = scene.add_cloth((vertices, faces), material=sn.ClothMaterial(thickness=0.004), self_collision="triangles")
    cloth.pin(np.flatnonzero(np.abs(vertices - vertices.mean(axis=0))[:, [0, 2]].max(axis=1) > 0.199))


def bodies_at_sheet(scene: sn.Scene) -> None:
    """A ball and a cube at a held sheet; another ball meets the cube."""
    held_sheet(scene, 21)
    for shape, x in ((sn.Sphere(0.02), -0.05), (sn.Box((0.04, 0.04, 0.04)), 0.0)):
        scene.add_rigid_body(shape, position=(x, -0.1, 0.007), velocity=(0.0, SPEED, 0.0), angular_velocity=(50, 0, 20))
    scene.add_rigid_body(sn.Sphere(0.02), position=(0.0, -0.4, 0.0), velocity=(0.0, 1.5 * SPEED, 0.0))


def particles_at_sheet(scene: sn.Scene) -> None:
    """Balls and grains at a held sheet, and a thin wall that moves at it from the other side."""
    # more particles than a block of those that threads share out
    held_sheet(scene, 65)
    points = np.random.default_rng(3).uniform(-0.15, 0.15, (12, 3)) * [1, 0, 1]
    scene.add_particles(points - [0, 0.05, 0], mass=0.01, radius=0.004, velocity=(0, SPEED, 0))
    motion = sn.Keyframes(np.array([0.0, 1.0]), np.array([[0, 0.1, 0], [0, 0.1 - 0.2 * SPEED, 0]]))
    scene.add_collider(sn.Box((0.08, 0.004, 0.08)), motion=motion)


def ropes_in_ring(scene: sn.Scene) -> None:
    """A ring is moved away from the middle of ropes that are held at both ends."""
    ring = trimesh.creation.torus(0.06, 0.005, major_sections=24, minor_sections=8)
    motion = sn.Keyframes(np.array([0.0, 1.0]), np.array([[0, 0, 0.0], [0.5 * SPEED, 0, 0]]))
    scene.add_rigid_body(sn.Mesh(ring.vertices, ring.faces), kinematic=True, motion=motion)
    z = np.linspace(-0.3, 0.3, 50)
    for x in (-0.02, 0.0, 0.02):
        rope = scene.add_rope(np.stack([x + 0 * z, 0 * z, z], axis=1), material=sn.RopeMaterial(radius=0.003))
        rope.pin([0, len(z) - 1])


@pytest.mark.filterwarnings("ignore::shinari.ContactWarning")
@pytest.mark.parametrize(
    ("build", "precision"),
    [(bodies_at_sheet, "float64"), (particles_at_sheet, "float32"), (ropes_in_ring, "float32")],
)
def test_the_same_bits_on_two_threads(build, precision):
    scene = sn.Scene(gravity=(0, 0, 0))
    build(scene)
    settings = {"dt": 1 / 240, "substeps": 2, "precision": precision}
    one, two = (sn.Simulation(scene, threads=threads, **settings) for threads in (1, 2))
    impacts = zones = 0
    for _ in range(2):
        one.step()
        two.step()
        certificates = one._bound.get(PathCertificates)
        impacts, zones = impacts + certificates.impacts, zones + certificates.zones
    assert impacts > 0
    assert zones > 0
    assert one.state == two.state
