"""Small scenes for the tests of many worlds."""

import numpy as np

import shinari as sn


def cloth_over(position=(0.0, 0.0, 0.0), gravity=-9.81, compliance=1e-6, mass=None):
    scene = sn.Scene(gravity=(0, gravity, 0))
    density = 0.2 if mass is None else mass / 0.09
    cloth = scene.add_cloth(
        sn.grid(shape=(9, 9), size=(0.3, 0.3)),
        material=sn.ClothMaterial(density=density, thickness=0.01, stretch_compliance=compliance),
        position=(0, 0.1, 0),
        name="cloth",
    )
    scene.add_collider(sn.Sphere(0.08), position=position, name="ball")
    return scene, cloth


def swinging(**options) -> sn.Scene:
    """A box on a driven hinge, and a rope."""
    scene = sn.Scene()
    scene.add_rope(np.linspace((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), 5), name="rope")
    box = scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(0.0, 1.0, 0.0), name="box")
    scene.add_joint("hinge", box, None, anchor=(0.0, 1.0, 0.0), axis=(0, 0, 1), name="hinge", max_force=10.0, **options)
    return scene
