"""Scene -> model of the rigid bodies."""

import numpy as np

from shinari.scene.contents import Contents
from shinari.systems.rigid.contact.collision_shapes import collision_shapes_of
from shinari.systems.rigid.joints.loops import warn_of_loops
from shinari.systems.rigid.joints.table import FLAGS, REDUNDANT, joints_of
from shinari.systems.rigid.model import RigidModel
from shinari.systems.rigid.tendons.table import tendons_of


def build_bodies(scene: Contents) -> RigidModel | None:
    """The rigid bodies of a scene, or None when it has none."""
    if not scene.bodies:
        return None
    masses = np.array([body.mass for body in scene.bodies])
    table = joints_of(scene.bodies, scene.joints)
    table.codes[warn_of_loops(scene.bodies, scene.joints), FLAGS] |= REDUNDANT
    return RigidModel(
        tuple(scene.bodies),
        tuple(scene.joints),
        tuple(scene.colliders),
        masses,
        collision_shapes_of(scene),
        table,
        tuple(scene.tendons),
        tendons_of(scene.bodies, scene.joints, scene.tendons, len(table.gears)),
    )
