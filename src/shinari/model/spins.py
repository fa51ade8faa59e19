"""Spins of grains that turn: their record, and the parts that all contacts with them share.

A grain is a solid ball, I = 2/5 m r^2. Contacts work with u = r theta, the displacement by which its surface turns in a
substep [m], since then its size drops out of friction. A tangential impulse over the substep, H [kg m], at the contact
with normal n, which points into the ball, and a moment T [kg m^2] change it by

    u += 5/2 w (T / r - n x H)                slip of the surface: d - u x n
                                              d: tangential displacement of the ball, which H moves by w H

so that an impulse along the surface displaces its point of contact 7/2 times as far as one along the normal. The moment
that resists rolling is at most mu_r R N (Ai, Chen, Rotter and Ooi 2011, Assessment of rolling resistance models in
discrete element simulations, eq. 5 and 10), R the radius r against a wall, r_i r_j / (r_i + r_j) between two grains.
"""

import numpy as np

from shinari.compute import Field, Record, real
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, norm, reciprocal, scale
from shinari.model.model import Model
from shinari.model.state import State
from shinari.scene.contents import Contents

# Name in the state of the angular velocities of all particles [rad/s], (N, 3).
SPINS = "grains/spins"
# Inertia of a solid ball over m r^2, and its inverse; displacement along the surface over that along the normal.
INERTIA = 0.4
GIVES = np.float32(2.5)
ALONG = np.float32(3.5)


class Spins(Record):
    """Particles as balls that may turn, N rows."""

    rate = Field(real, 3, unit="rad/s", doc="angular velocity", saved=True)
    turns = Field(np.bool_, doc="whether it turns")
    rolling = Field(real, doc="coefficient of rolling friction; -1 of what does not turn")
    radius = Field(real, unit="m")


def rolling_coefficients(scene: Contents) -> np.ndarray:
    """Coefficient of rolling friction of each object, (T,); -1 where its particles do not turn."""
    given = [getattr(obj.material, "rolling_friction", None) for obj in scene.particle_objects]
    return np.array([-1.0 if each is None else each for each in given])


def spins_of(scene: Contents, model: Model, state: State) -> Spins | None:
    """The spins of a simulation; None where nothing turns."""
    if SPINS not in state.system_arrays:
        return None
    rolling = rolling_coefficients(scene)[model.owners]
    spins = Spins.zeros(model.particle_count, model.real)
    spins.bind(rate=state.system_arrays[SPINS], radius=model.radii)
    spins.rolling[...] = rolling
    spins.turns[...] = (rolling >= 0.0) & (model.inverse_masses > 0.0) & (model.radii > 0.0)
    return spins


@steady
def bounded(moment, most):
    """A moment against rolling, or any vector, no longer than a bound."""
    size = norm(moment)
    return scale(moment, ONE if size <= most else max(most, ZERO) * reciprocal(size))
