"""The scene: the user's description, before anything is built."""

from shinari.scene.add_bodies import Bodies
from shinari.scene.add_colliders import Colliders
from shinari.scene.add_emitters import Emitters
from shinari.scene.add_fluids import Fluids
from shinari.scene.add_grains import Grains
from shinari.scene.add_joints import Joints
from shinari.scene.add_lumps import Lumps
from shinari.scene.add_rods import Rods
from shinari.scene.add_rows import Joining
from shinari.scene.add_sheets import Sheets
from shinari.scene.add_soft import SoftBodies


class Scene(Sheets, SoftBodies, Rods, Lumps, Fluids, Emitters, Grains, Joining, Colliders, Bodies, Joints):
    """A world to simulate. Units are SI and Y is up.

    Args:
        gravity: Acceleration of everything that is free [m/s^2].
        wind: Velocity of the air [m/s], constant or a function of time [s]; None: there is no air.
        air_density: Density of the air [kg/m^3].
        damping: Rate at which all velocities decay [1/s].

    Raises:
        SceneError: A value is no number of the right shape, or outside its bounds.
    """
