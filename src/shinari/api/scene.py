"""The scene: the user's description, before anything is built."""

from shinari.api import add_bodies as bodies
from shinari.api import add_colliders as colliders
from shinari.api import add_emitters as emitters
from shinari.api import add_fluids as fluids
from shinari.api import add_grains as grains
from shinari.api import add_joints as joints
from shinari.api import add_lumps as lumps
from shinari.api import add_meshes as meshes
from shinari.api import add_rods as rods
from shinari.api import add_rows as rows
from shinari.api import add_sheets as sheets
from shinari.api import add_soft as soft
from shinari.api import add_tendons as tendons
from shinari.scene.contents import Contents


class Scene(Contents):
    """A world to simulate. Units are SI and Y is up.

    Args:
        gravity: Acceleration of everything that is free [m/s^2].
        wind: Velocity of the air [m/s], constant or a function of time [s]; None: there is no air.
        air_density: Density of the air [kg/m^3].
        damping: Rate at which all velocities decay [1/s].

    Raises:
        SceneError: A value is no number of the right shape, or outside its bounds.
    """

    _label = "scene"

    add_particles = sheets.add_particles
    add_cloth = sheets.add_cloth
    add_rope = sheets.add_rope
    add_soft_body = soft.add_soft_body
    add_rod = rods.add_rod
    add_shape_matched = lumps.add_shape_matched
    add_fluid = fluids.add_fluid
    add_emitter = emitters.add_emitter
    add_sink = emitters.add_sink
    add_grains = grains.add_grains
    add_constraint = rows.add_constraint
    attach = rows.attach
    add_volume = rows.add_volume
    add_force_field = rows.add_force_field
    add_moving_mesh = meshes.add_moving_mesh
    add_collider = colliders.add_collider
    ignore_contact = colliders.ignore_contact
    add_rigid_body = bodies.add_rigid_body
    add_joint = joints.add_joint
    add_tendon = tendons.add_tendon
    couple_joints = tendons.couple_joints
