"""Records of impacts: rigid lumps as bodies, the contacts that push them, and what each contact asks for."""

import numpy as np

from shinari.compute import Field, Record, real


class RigidLumps(Record):
    """Rigid lumps as bodies, L rows: the rigid motion that has their momenta."""

    centre = Field(np.float64, 3, unit="m")
    velocity = Field(np.float64, 3, unit="m/s")
    spin = Field(np.float64, 3, unit="rad/s", doc="angular velocity")
    mass = Field(np.float64, unit="kg")
    diagonal = Field(np.float64, 3, unit="kg m^2", doc="moments of inertia")
    off = Field(np.float64, 3, unit="kg m^2", doc="yz, xz, xy of the inertia")


class Changes(Record):
    """Changes of the velocities of bodies, L rows."""

    velocity = Field(np.float64, 3, unit="m/s")
    spin = Field(np.float64, 3, unit="rad/s")


class ContactParticles(Record):
    """Particles as contacts see them, N rows."""

    lump = Field(np.int64, doc="rigid lump, or -1")
    radius = Field(real, unit="m")
    law = Field(real, 4, doc="friction, static friction, restitution and compliance [m/N]")


class PairStarts(Record):
    """Rows of pairs of particles as the substep began."""

    impulse = Field(real, 3, unit="N s", doc="on the first, sum over the substeps before")


class ImpactRows(Record):
    """Contacts that push rigid lumps: those with colliders, lump after lump, then those of two lumps."""

    lumps = Field(np.int64, 2, doc="the second is -1 at a collider")
    particles = Field(np.int64, 2)
    contact = Field(np.int64, doc="row among the contacts that it is made of")
    normal = Field(np.float64, 3)
    arm = Field(np.float64, 3, unit="m", doc="from the centre of the first lump")
    far = Field(np.float64, 3, unit="m", doc="from the centre of the second lump")
    speed = Field(np.float64, unit="m/s", doc="speed along the normal that it asks for")
    carried = Field(np.float64, 3, unit="m/s", doc="velocity of the collider")
    normal_impulse = Field(np.float64, unit="N s", doc="impulse along the normal in this substep")
    friction_impulse = Field(np.float64, 3, unit="N s", doc="impulse of friction in this substep")
    friction = Field(np.float64, 2, doc="friction and static friction")
    soft = Field(np.bool_, doc="whether it changes no velocity")


class Counts(Record):
    """One row: numbers of impacts."""

    colliders = Field(np.int64, doc="with colliders")
    pairs = Field(np.int64, doc="of two lumps")
    all = Field(np.int64)
    rows = Field(np.int64, doc="rows of pairs of particles as the substep began")
    detections = Field(np.int64, doc="their detections as the substep began")
    others = Field(np.int64, doc="whether the rows have been found anew since")


class Starts(Record):
    """Where the impacts of each lump start in the list, L + 1 rows."""

    at = Field(np.int64)
